"""The notebooks as files: clean, numbered, introduced, readable without a kernel.

That they run, and print what is committed, is tested in tests/docs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import nbformat
import pytest
from notebook_outputs import LARGEST_PICTURE, PICTURE, WIDGET
from notebook_outputs import complaints as output_complaints

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
EXPLORER = re.compile(r"\b\w+_explorer\(")  # what makes a widget is named *_explorer,
DRAWING = re.compile(r"\bdraw_\w+\(")  # and the pure drawing beneath it draw_*
MAGIC = re.compile(r"^\s*[!%]|get_ipython|^\s*(?:pip|conda) ", re.MULTILINE)
LONGEST_CELL = 40  # lines of code
NOT_RUN = {"skip-execution", "raises-exception", "remove-cell"}


def complaints(notebook: Any) -> Iterator[str]:
    """What is wrong with a notebook, cell by cell."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if not notebook.cells or notebook.cells[0].cell_type != "markdown":
        yield "the first cell is not an introduction"
    else:
        first = notebook.cells[0].source
        yield from (
            f"the introduction lacks {part}"
            for part in ("# ", "**You will learn**", "**Data:**", "**Time:**")
            if part not in first
        )
    if notebook.metadata.get("kernelspec", {}).get("name") != "python3":
        yield "the kernel is not python3"
    if "widgets" in notebook.metadata:
        yield "widget state is stored"
    for cell in notebook.cells:
        if NOT_RUN & set(cell.metadata.get("tags", [])):
            yield f"{cell.id} is tagged as not run"
    yield from output_complaints(notebook)
    for cell in code:
        yield from _complaints_of_code(cell)
    for cell, following in zip(code, [*code[1:], None], strict=True):
        if EXPLORER.search(cell.source) and (
            following is None or not DRAWING.search(following.source)
        ):
            yield f"{cell.id} shows a widget and no static drawing follows"


def _complaints_of_code(cell: Any) -> Iterator[str]:
    if "execution" in cell.metadata:
        yield f"{cell.id} says when it was executed"
    if MAGIC.search(cell.source):
        yield f"{cell.id} holds a magic or a shell command"
    if ".show()" in cell.source:
        yield f"{cell.id} calls show()"
    if not cell.source.strip():
        yield f"{cell.id} is empty"
    if (lines := len(cell.source.splitlines())) > LONGEST_CELL:
        yield (
            f"{cell.id} has {lines} lines of code; move what is no step of the story"
            " into a module"
        )


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)


def test_they_are_numbered_from_the_quickstart_on() -> None:
    assert NOTEBOOKS[0].name == "00_quickstart.ipynb"
    assert all(re.fullmatch(r"\d\d_[a-z0-9_]+\.ipynb", path.name) for path in NOTEBOOKS)
    numbers = [path.name[:2] for path in NOTEBOOKS]
    assert len(numbers) == len(set(numbers)) >= 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
class TestEveryNotebook:
    def test_it_is_a_valid_notebook_with_cell_ids(self, path: Path) -> None:
        notebook = read(path)
        nbformat.validate(notebook)
        assert (notebook.nbformat, notebook.nbformat_minor >= 5) == (4, True)
        ids = [cell.id for cell in notebook.cells]
        assert len(ids) == len(set(ids))

    def test_nothing_is_wrong_with_it(self, path: Path) -> None:
        assert list(complaints(read(path))) == []

    def test_its_code_is_python_and_names_no_path_of_one_machine(
        self, path: Path
    ) -> None:
        for cell in read(path).cells:
            if cell.cell_type == "code":
                ast.parse(cell.source)
                assert not re.search(r"['\"](?:/|~|[A-Z]:\\)", cell.source), (
                    f"{cell.id} names a path of one machine"
                )

    def test_its_time_is_bound_by_a_minute(self, path: Path) -> None:
        assert re.search(
            r"\*\*Time:\*\* .*(?:second|minute)", read(path).cells[0].source
        )

    def test_notebooks_that_it_names_exist(self, path: Path) -> None:
        text = "\n".join(cell.source for cell in read(path).cells)
        names = set(re.findall(r"`(\d\d_[a-z0-9_]+)`", text))
        assert names <= {other.stem for other in NOTEBOOKS}


def _sound() -> Any:
    new = nbformat.v4
    introduction = (
        "# Title\n**You will learn** a thing. **Data:** none. **Time:** a second."
    )
    cells = [
        new.new_markdown_cell(introduction),
        new.new_code_cell("decay_explorer(items)", id="widget"),
        new.new_markdown_cell("The same without sliders:"),
        new.new_code_cell("draw_decay(items)", id="static"),
    ]
    return new.new_notebook(
        cells=cells,
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )


def _print(book: Any, text: str, name: str = "stdout") -> None:
    output = nbformat.v4.new_output("stream", name=name, text=text)
    book.cells[3].outputs.append(output)


def _show(book: Any, data: dict[str, Any]) -> None:
    book.cells[3].outputs.append(nbformat.v4.new_output("display_data", data))


def test_a_sound_notebook_passes() -> None:
    assert list(complaints(_sound())) == []


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda book: book.cells.pop(0), "the first cell is not an introduction"),
        (
            lambda book: book.cells[0].update(source="# Title **Data:** **Time:**"),
            "lacks \\*\\*You will learn",
        ),
        (
            lambda book: book.metadata.kernelspec.update(name="ir"),
            "the kernel is not python3",
        ),
        (lambda book: book.metadata.update(widgets={}), "widget state is stored"),
        (
            lambda book: book.cells[3].metadata.update(execution={"iopub": "now"}),
            "static says when it was executed",
        ),
        (
            lambda book: _print(book, "an error", name="stderr"),
            "static: it writes to the standard error: an error",
        ),
        (
            lambda book: _print(book, f"kept in {gettempdir()}/x"),
            "static: it names a folder of this machine",
        ),
        (
            lambda book: _print(book, "<function f at 0x7f00>"),
            "static: it prints where an object is in the memory",
        ),
        (
            lambda book: _show(book, {WIDGET: {}}),
            "static: it holds a widget",
        ),
        (
            lambda book: _show(book, {PICTURE: "A" * 4 * LARGEST_PICTURE}),
            "static: its picture has .* bytes",
        ),
        (
            lambda book: book.cells[3].metadata.update(tags=["skip-execution"]),
            "static is tagged as not run",
        ),
        (
            lambda book: book.cells[3].update(source="draw_decay(1)\n!ls"),
            "static holds a magic or a shell command",
        ),
        (
            lambda book: book.cells[3].update(
                source="%matplotlib inline\ndraw_decay(1)"
            ),
            "static holds a magic",
        ),
        (
            lambda book: book.cells[3].update(source="draw_decay(1)\nplt.show()"),
            "static calls show",
        ),
        (
            lambda book: book.cells[3].update(source="print(1)"),
            "widget shows a widget and no static drawing follows",
        ),
        (
            lambda book: book.cells[3].update(source="draw_decay(1)\n" * 41),
            "static has 41 lines of code",
        ),
        (
            lambda book: book.cells.pop(3),
            "widget shows a widget and no static drawing follows",
        ),
    ],
)
def test_each_fault_is_found(spoil: Any, complaint: str) -> None:
    book = deepcopy(_sound())
    spoil(book)
    found = list(complaints(book))
    assert any(re.search(complaint, each) for each in found), found


def test_all_of_them_together_are_small() -> None:
    assert sum(path.stat().st_size for path in NOTEBOOKS) < 4_000_000
