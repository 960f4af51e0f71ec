"""What an export and an import report, and names that every system takes for plain files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from theorex_lab.errors import FilesThere, InvalidInput
from theorex_lab.exchange.problems import merged
from theorex_lab.journal.foreign import check_inside

_DEVICE = re.compile(r"con|prn|aux|nul|com\d|lpt\d")
_NAMED_FILES = 5  # of those that are in the way


@dataclass
class Exported:
    """Which files were written into the folder, with their number of lines or nodes and edges, and what was left out."""

    folder: Path
    files: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, other: Exported) -> Exported:
        """Take over what another wrote; returns itself."""
        self.files |= other.files
        self.notes += other.notes
        return self


@dataclass
class FileReport:
    """What became of one file: records imported, those that were there already, and what could not be read, by place."""

    file: str
    imported: int = 0
    skipped: int = 0
    problems: list[str] = field(default_factory=list)


def each_file(
    path: Path, files: Iterable[Path], take: Callable[[Path, list[str]], tuple[int, int]]
) -> list[FileReport]:
    """What became of these files, which lie below a folder or are the path itself.

    take: imports one file and returns how many records were new and how many known; what it could not read it notes from
    the place on: ":12: reason". A file that it refuses is reported, and so is a link to what lies outside.
    """
    reports = []
    for file in files:
        report = FileReport(str(file.relative_to(path)) if path.is_dir() else file.name)
        try:
            if path.is_dir():
                check_inside(path, file)
            report.imported, report.skipped = take(file, report.problems)
        except InvalidInput as error:
            report.problems.append(f": {error}")
        report.problems = merged(report.file + problem for problem in report.problems)
        reports.append(report)
    return reports


def refuse_to_replace(files: Iterable[Path]) -> None:
    """Raise FilesThere where one of these is there."""
    there = [str(path) for path in files if path.exists()]
    if there:
        more = f" and {len(there) - _NAMED_FILES} more" if len(there) > _NAMED_FILES else ""
        raise FilesThere(
            f"got files that are there already: {', '.join(there[:_NAMED_FILES])}{more}; import them first and then replace "
            "them with --replace, or export into an empty folder"
        )


def portable(agent: str) -> str:
    """The folder of an agent in an export: its name, between underscores where Windows knows that for a device.

    No agent's name begins with an underscore.

    >>> portable("main"), portable("con"), portable("nul.txt"), portable("a.")
    ('main', '_con_', '_nul.txt_', '_a._')
    """
    return f"_{agent}_" if is_device(agent) or agent.endswith(".") else agent


def is_device(name: str) -> bool:
    """Whether Windows takes a file of this name for a device, whatever follows a dot.

    >>> is_device("con"), is_device("nul.txt"), is_device("console")
    (True, True, False)
    """
    return _DEVICE.fullmatch(name.partition(".")[0]) is not None
