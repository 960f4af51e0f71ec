"""Notebooks as pages: each is executed in a kernel of its own and written as HTML, to be looked at without Jupyter."""

from collections.abc import Sequence
from contextlib import closing
from html import escape
from pathlib import Path
from typing import NamedTuple

from theorex_lab.errors import InvalidInput
from theorex_lab.progress import bar

SECONDS = 600  # that a cell may take


class Page(NamedTuple):
    """A notebook: its name, its first heading, and why it could not be executed, '' where it was."""

    name: str
    title: str
    problem: str = ""


def chosen_notebooks(notebooks: Path, names: Sequence[str] = ()) -> list[Path]:
    """The numbered notebooks of a folder, or those whose names begin so, in order.

    Raises InvalidInput for a name that none has, and where there is none at all.
    """
    found = sorted(notebooks.glob("[0-9]*.ipynb"))
    unknown = [name for name in names if not any(path.name.startswith(name) for path in found)]
    if unknown or not found:
        allowed = ", ".join(path.stem for path in found) or "notebooks whose names begin with a number; it has none"
        raise InvalidInput(f"got the notebook {', '.join(unknown) or notebooks}; allowed are {allowed}")
    return [path for path in found if not names or path.name.startswith(tuple(names))]


def write_gallery(notebooks: Sequence[Path], folder: Path, *, seconds: int = SECONDS) -> list[Page]:
    """Execute notebooks and write each as a page into a folder, with an index.html; one that fails has no page.

    seconds: that a cell may take. Raises StorageError where nothing can be written.
    """
    from theorex_lab.journal.files import writing

    pages = []
    shown = bar(len(notebooks), 0, None, "pages", "gallery")
    with writing(folder, "choose another folder"), closing(shown):
        folder.mkdir(parents=True, exist_ok=True)
        for path in notebooks:
            pages.append(_page(path, folder, seconds))
            shown.update(1)
        (folder / "index.html").write_text(_index(pages), encoding="utf-8")
    return pages


def _page(path: Path, folder: Path, seconds: int) -> Page:
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
    from nbconvert import HTMLExporter

    file, title, at = folder / f"{path.stem}.html", path.stem, 0
    file.unlink(missing_ok=True)  # a page of an earlier run would hide that this one failed

    def started(cell_index: int, **_: object) -> None:
        nonlocal at
        at = cell_index + 1

    try:
        notebook = nbformat.read(path, 4)  # type: ignore[no-untyped-call]
        headings = (line for cell in notebook.cells for line in cell.source.splitlines() if line.startswith("# "))
        title = next(headings, title).lstrip("# ")
        client = NotebookClient(notebook, timeout=seconds, resources={"metadata": {"path": str(path.parent)}})
        client.on_cell_start = started
        client.execute()
    except CellExecutionError as error:
        return Page(path.stem, title, f"cell {at}: {error.ename}: {error.evalue}")
    except CellTimeoutError:
        return Page(path.stem, title, f"cell {at}: it took longer than {seconds} s")
    except (DeadKernelError, nbformat.reader.NotJSONError, nbformat.ValidationError) as error:
        return Page(path.stem, title, f"cell {at}: {type(error).__name__}: {error}")
    html, _ = HTMLExporter().from_notebook_node(notebook)  # type: ignore[no-untyped-call]
    file.write_text(html, encoding="utf-8")
    return Page(path.stem, title)


def _index(pages: Sequence[Page]) -> str:
    rows = "".join(
        f"<li>{escape(page.title)}: not executed, {escape(page.problem)}</li>" if page.problem
        else f'<li><a href="{escape(page.name)}.html">{escape(page.title)}</a></li>'
        for page in pages
    )  # fmt: skip
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>theorex_lab</title><h1>Notebooks</h1><ul>{rows}</ul>\n'
