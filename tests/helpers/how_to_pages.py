"""Pages whose examples are run in their order, as a person runs them.

A block of Python or TOML whose first line is a comment with a file's name is that file.
Any other block of Python is a program, and what stands behind `$ ` in a block of the
console is a command.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import NamedTuple

from doc_references import ROOT
from first_day import Newcomer, Step, steps_of

PAGES = [
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
    ROOT / "docs" / "concepts.md",
    ROOT / "docs" / "reference" / "settings.md",
]
_PLACEHOLDER = "```python\n# a file\n```"
_FILE = re.compile(r"^```(?:python|toml)\n# ([\w.]+\.\w+)\n(.*?)^```$", re.S | re.M)


class PageFile(NamedTuple):
    """A file that a page shows.

    Attributes:
        name: Its name, in the folder in which one works.
        text: What is in it.
    """

    name: str
    text: str


def parts_of(page: str) -> list[PageFile | Step]:
    """Return the files, programs and commands of a page, in their order."""
    files = [PageFile(name, text) for name, text in _FILE.findall(page)]
    parts: list[PageFile | Step] = []
    for step in steps_of(_FILE.sub(_PLACEHOLDER, page)):
        is_file = f"```python\n{step.command}```" == _PLACEHOLDER
        parts.append(files.pop(0) if is_file else step)
    return parts


def write(file: PageFile, newcomer: Newcomer) -> None:
    """Write a file of a page; a package that is declared is installed."""
    path = newcomer.repository / file.name
    path.write_text(file.text, encoding="utf-8")
    if file.name == "pyproject.toml":
        _install(path, newcomer)


def _install(project: Path, newcomer: Newcomer) -> None:
    """Do what `pip install -e .` does, without a package index.

    It leaves the entry points of the project, and the path to its modules.
    """
    declared = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    name, version = declared["name"], declared["version"]
    folder = project.parent / f"{name}-{version}.dist-info"
    folder.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (folder / "METADATA").write_text(metadata, encoding="utf-8")
    lines = []
    for group, points in declared["entry-points"].items():
        lines.append(f"[{group}]")
        lines += [f"{point} = {target}" for point, target in points.items()]
    (folder / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    newcomer.environment["PYTHONPATH"] = str(project.parent)
