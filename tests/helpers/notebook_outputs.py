"""Notebooks with their outputs: run them as a stranger would, write or compare them.

    python tests/helpers/notebook_outputs.py [NAME…]          # runs, writes the outputs
    python tests/helpers/notebook_outputs.py --check [NAME…]  # runs, compares the texts

NAME is the beginning of a notebook's name, such as `05`; without one all are run. Each
runs on the packaged data alone, with an empty home and in an empty folder. A comparison
looks at texts and tables; of a picture it wants that one is there.
"""

from __future__ import annotations

import argparse
import base64
import difflib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import nbformat
from nbclient import NotebookClient
from PIL import Image

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "notebooks"
LONGEST_SECONDS = 300  # for one cell, on a busy machine
LARGEST_PICTURE = 150_000  # bytes

PICTURE = "image/png"
WIDGET = "application/vnd.jupyter.widget-view+json"
WIDGET_NOTE = "The controls need a running kernel. The picture below needs none."
_BAR = re.compile(r"\d%\|")  # as tqdm prints one
PICTURE_NOTE = "<picture>"
# What a kernel takes over from whoever runs the tool, and must not.
_LEFT_OUT = (
    *("THEOREX_", "IPYTHON", "JUPYTER", "PYTHON", "MPL", "MATPLOTLIB", "COLUMNS"),
    "XDG_",
)


class Refused(Exception):
    """An output that must not be committed."""


def notebooks(names: Sequence[str] = ()) -> list[Path]:
    """Return the notebooks whose names begin so; all of them without a name."""
    paths = sorted(FOLDER.glob("*.ipynb"))
    if not names:
        return paths
    chosen = [path for path in paths if path.name.startswith(tuple(names))]
    if not chosen:
        known = ", ".join(path.stem for path in paths)
        raise SystemExit(f"No notebook begins with {' or '.join(names)}: {known}.")
    return chosen


def read(path: Path) -> Any:
    """Return a notebook as nbformat reads it."""
    return nbformat.read(path, as_version=4)


def executed(path: Path) -> Any:
    """Return a notebook with the outputs that it has now, fit to be committed.

    Raises:
        Refused: Where an output names a folder of this machine, is too large, or went
            to the standard error.
    """
    notebook = read(path)
    with tempfile.TemporaryDirectory(prefix="notebook-") as folder:
        home, work = Path(folder, "home"), Path(folder, "work")
        home.mkdir()
        work.mkdir()
        client = NotebookClient(
            notebook,
            timeout=LONGEST_SECONDS,
            kernel_name="python3",
            coalesce_streams=True,
            store_widget_state=True,  # nbclient needs it for widgets that hold outputs
            resources={"metadata": {"path": str(work)}},
        )
        client.execute(env=environment(home))
    make_fit(notebook, folder)
    return notebook


def make_fit(notebook: Any, *folders: str) -> None:
    """Make a notebook that has run fit to be committed.

    Args:
        notebook: A notebook that has run.
        *folders: Folders of this machine that no output may name.

    Raises:
        Refused: Where an output names a folder of this machine, is too large, or went
            to the standard error.
    """
    clean(notebook)
    refused = list(complaints(notebook, *folders))
    if refused:
        raise Refused("\n".join(refused))


def environment(home: Path) -> dict[str, str]:
    """Return the variables of a kernel: those of nobody's own settings."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_LEFT_OUT)
    }
    return kept | {
        "HOME": str(home),
        "THEOREX_HOME": str(home / ".theorex"),
        "IPYTHONDIR": str(home / ".ipython"),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        # The list of fonts takes seconds to make, so it is taken from the cache.
        "MPLCONFIGDIR": matplotlib.get_cachedir(),
        "MATPLOTLIBRC": str(Path(matplotlib.get_data_path(), "matplotlibrc")),
    }


def clean(notebook: Any) -> None:
    """Take out of a notebook that ran what says when and where it ran."""
    notebook.metadata = {
        "kernelspec": notebook.metadata["kernelspec"],
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [
                _clean_output(output) for output in cell.outputs if not _is_bar(output)
            ]


def _is_bar(output: Any) -> bool:
    """Return whether an output is a bar of progress; a fast machine shows none."""
    data = output.get("data", {})
    return WIDGET in data and bool(_BAR.search(data.get("text/plain", "")))


def _clean_output(output: Any) -> Any:
    """Return an output without its widget, and with a smaller picture."""
    data = output.get("data", {})
    if WIDGET in data:
        return nbformat.v4.new_output("display_data", {"text/plain": WIDGET_NOTE})
    if PICTURE in data:
        output.data = {PICTURE: _smaller(data[PICTURE])}
        output.metadata = {}
    return output


def _smaller(picture: str) -> str:
    """Return a picture in base64 with 256 colours: it looks the same."""
    image = Image.open(io.BytesIO(base64.b64decode(picture)))
    few_colours = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    smaller = io.BytesIO()
    few_colours.save(smaller, "PNG", optimize=True)
    return base64.b64encode(smaller.getvalue()).decode("ascii")


def complaints(notebook: Any, *folders: str) -> Iterator[str]:
    """Yield what is wrong with the outputs of a notebook.

    Args:
        notebook: A notebook, which has run or is committed.
        *folders: Folders of this machine that no output may name.
    """
    # Homes of tests lie in memory where they may: see tests/conftest.py.
    temporary = (tempfile.gettempdir(), "/dev/shm/")
    named = re.compile(
        "|".join(map(re.escape, (*folders, str(ROOT), *temporary, "/home/")))
    )
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            yield from (f"{cell.id}: {fault}" for fault in _faults(output, named))


def _faults(output: Any, named: re.Pattern[str]) -> Iterator[str]:
    if output.output_type == "error":
        yield f"it fails: {output.evalue}"
    if output.get("name") == "stderr":
        yield f"it writes to the standard error: {output.text[:300]}"
    data = output.get("data", {})
    if WIDGET in data:
        yield "it holds a widget, which needs a kernel"
    size = len(base64.b64decode(data.get(PICTURE, "")))
    if size > LARGEST_PICTURE:
        yield f"its picture has {size:,} bytes; at most {LARGEST_PICTURE:,} are allowed"
    for text in _texts(output):
        if found := named.search(text):
            yield f"it names a folder of this machine, {found[0]}"
        if found := re.search(r"\bat 0x[0-9a-f]+", text):
            yield f"it prints where an object is in the memory, {found[0]}"


def _texts(output: Any) -> Iterator[str]:
    """Yield the texts of an output; a picture is a short note."""
    if output.output_type == "stream":
        yield output.text
    data: Mapping[str, Any] = output.get("data", {})
    if PICTURE in data:
        yield PICTURE_NOTE
        return
    for mime in ("text/plain", "text/html", "text/markdown"):
        if mime in data:
            yield data[mime]


def lines_of(notebook: Any) -> list[str]:
    """Return what a reader sees below the code cells, line by line."""
    lines = []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        lines.append(f"=== cell {cell.id}")
        for output in cell.outputs:
            for text in _texts(output):
                lines += text.splitlines()
    return lines


def differences(path: Path, ran: Any) -> list[str]:
    """Return how the outputs of a notebook that ran differ from the committed ones.

    Args:
        path: The committed notebook.
        ran: The same notebook after a run, as `make_fit` leaves it.
    """
    return list(
        difflib.unified_diff(
            lines_of(read(path)),
            lines_of(ran),
            f"{path.name} as committed",
            f"{path.name} as it runs now",
            lineterm="",
            n=1,
        )
    )


def run_check(
    path: Path, kernels: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Compare a notebook in a process of its own, which no test's settings reach.

    Args:
        path: The notebook.
        kernels: The variables by which Jupyter finds its kernel.
    """
    return subprocess.run(
        [sys.executable, __file__, "--check", path.name],
        env={**os.environ, **kernels},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def main() -> int:
    """Run the notebooks that are named; return how many are wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument(
        "--check", action="store_true", help="compare, and write nothing"
    )
    options = parser.parse_args()
    n_wrong = 0
    for path in notebooks(options.names):
        try:
            if options.check:
                problem = "\n".join(differences(path, executed(path)))
            else:
                nbformat.write(executed(path), path)
                problem = ""
        except Refused as error:
            problem = str(error)
        n_wrong += bool(problem)
        print(f"{path.name}: {problem or 'ok'}")
    return min(n_wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
