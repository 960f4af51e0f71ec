"""What an export and an import report.

The module also has the names that every system takes for plain files, and the trust of
imported records.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from theorex_lab.core.errors import FilesThere, InvalidInput, StorageError
from theorex_lab.core.readable import Report
from theorex_lab.core.settings import Settings
from theorex_lab.files.formats.flat_files import (
    FlatRecord,
    ImportRemark,
    Lines,
    append_new,
    merged,
    parse_object,
    write_lines,
)
from theorex_lab.files.formats.foreign import check_inside, read_file
from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import Event, encode
from theorex_lab.memory.observation import TRUST

# Neither what begins with a dot or differs only in case from another.
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
_DEVICE = re.compile(r"con|prn|aux|nul|com\d|lpt\d")
_AHEAD_MICROSECONDS = 300_000_000
_NAMED_FILES = 5  # of those that are in the way


@dataclass(repr=False)
class Exported(Report):
    """Which files were written into a folder.

    Attributes:
        folder: The folder.
        files: By name, how many lines, or nodes and edges, a file has.
    """

    folder: Path
    files: dict[str, int] = field(default_factory=dict)

    def _facts(self) -> tuple[str, ...]:
        n_lines = sum(self.files.values())
        return (str(self.folder), f"{len(self.files)} files", f"{n_lines} lines")

    def write(self, name: str, records: Iterable[FlatRecord]) -> None:
        """Write the file of this name, a record a line.

        Raises:
            StorageError: Where it cannot be written.
        """
        self.files[name] = write_lines(self.folder / name, map(encode, records))

    def write_each(
        self,
        name: str,
        documents: Iterable[tuple[str, FlatRecord]],
        pattern: str = "",
    ) -> None:
        """Write a file a document into the folder of this name.

        Args:
            name: The folder's name.
            documents: The names of the files, and what they hold.
            pattern: How the files are reported; '' for the folder's *.json.

        Raises:
            StorageError: Where one cannot be written.
        """
        label = pattern or f"{name}/*.json"
        for file, document in documents:
            path = self.folder / name / file
            n_lines = write_lines(path, [encode(document)])
            self.files[label] = self.files.get(label, 0) + n_lines


@dataclass(repr=False)
class FileReport(Report):
    """What became of one file.

    Attributes:
        file: Its name.
        imported: How many records are new.
        skipped: How many were there already.
        problems: What could not be read, by place, those alike in one line.
        left_out: How many records or lines could not be read.
        changed: How many records came in otherwise than they stand in the file, such as
            with another time.
        unlinked: How many references to what is neither here nor in the file were left
            out.
    """

    file: str
    imported: int = 0
    skipped: int = 0
    problems: list[str] = field(default_factory=list)
    unlinked: int = 0
    left_out: int = 0
    changed: int = 0

    def keep_problems(self, problems: Iterable[str], prefix: str = "") -> None:
        """Count what could not be read, and keep it with those alike in one line.

        Each importer ends with this, so that every record is imported, skipped or left
        out.

        Args:
            problems: One for each record or line, from the place on.
            prefix: What stands before each.
        """
        lines = []
        for problem in problems:
            if isinstance(problem, ImportRemark):
                self.changed += 1
            else:
                self.left_out += 1
            line = f"{prefix}{problem}"
            lines.append(line.lstrip(": "))
        self.problems = merged(lines)

    def _facts(self) -> tuple[str, ...]:
        problems = f"{len(self.problems)} problems" if self.problems else ""
        counts = f"{self.imported} imported, {self.skipped} skipped"
        return (self.file, counts, problems)


Reports = list[FileReport]
# What a file's records become, each event with how many of them it stands for.
Read = Iterator[tuple[Event, int]]
# Takes a file's lines, and the problems that it adds to.
Reader = Callable[[Lines, list[str]], Read]


def each_file(
    path: Path,
    files: Iterable[Path],
    take: Callable[[Path, list[str]], tuple[int, int]],
) -> Reports:
    """Return what became of these files.

    A file that `take` refuses is reported, and so is a link to what lies outside.

    Args:
        path: The folder that the files lie below, or the file itself.
        files: The files.
        take: Imports one file and returns how many records were new and how many known.
            What it could not read it notes from the place on: ":12: reason".
    """
    reports = []
    for file in files:
        name = str(file.relative_to(path)) if path.is_dir() else file.name
        report = FileReport(name)
        try:
            if path.is_dir():
                check_inside(path, file)
            report.imported, report.skipped = take(file, report.problems)
        except InvalidInput as error:
            report.problems.append(f": {error}")
        report.keep_problems(report.problems, prefix=report.file)
        reports.append(report)
    return reports


def read_group(
    journal: Journal,
    files: Iterable[Path],
    path: Path,
    *,
    name: str,
    reader: Reader,
) -> FileReport:
    """Return what became of these files together, as `each_file` does of single ones.

    Args:
        journal: Where the events are appended, in one transaction.
        files: The files.
        path: As in `each_file`.
        name: How the files are reported, such as `folder/*.json`.
        reader: Makes events of their objects, which come with places.
    """
    report = FileReport(name)
    folder = name.partition("/")[0]
    objects = _objects(files, path, folder, report.problems)
    events = reader(objects, report.problems)
    report.imported, report.skipped = append_new(journal, events)
    report.keep_problems(report.problems)
    return report


def _objects(
    files: Iterable[Path],
    path: Path,
    folder: str,
    problems: list[str],
) -> Lines:
    """Yield each document with its place in `folder`.

    What is wrong with others is noted. Links in a folder of settings are followed.
    """
    for file in files:
        try:
            if path.is_dir() and path != file.parent:
                check_inside(path, file)
            yield f"{folder}/{file.name}", parse_object(read_file(file))
        except (InvalidInput, StorageError) as error:
            problems.append(f"{folder}/{file.name}: {error}")


def refuse_to_replace(files: Iterable[Path]) -> None:
    """Raise FilesThere where one of these is there."""
    existing = [str(path) for path in files if path.exists()]
    if not existing:
        return
    names = ", ".join(existing[:_NAMED_FILES])
    n_more = len(existing) - _NAMED_FILES
    if n_more > 0:
        names += f" and {n_more} more"
    advice = (
        "import them first and then replace them with --replace, or export into an"
        " empty folder"
    )
    raise FilesThere(f"got files that are there already: {names}; {advice}")


def portable(agent: str) -> str:
    """Return the folder of an agent in an export.

    It is the agent's name, between underscores where Windows knows that for a device.
    No agent's name begins with an underscore.

    >>> portable("main"), portable("con"), portable("nul.txt"), portable("a.")
    ('main', '_con_', '_nul.txt_', '_a._')
    """
    return f"_{agent}_" if is_device(agent) or agent.endswith(".") else agent


def is_device(name: str) -> bool:
    """Return whether Windows takes a file of this name for a device.

    It does so whatever follows a dot.

    >>> is_device("con"), is_device("nul.txt"), is_device("console")
    (True, True, False)
    """
    return _DEVICE.fullmatch(name.partition(".")[0]) is not None


def file_name(run_id: str) -> str:
    """Return the name of a trace's or an outcome's file.

    >>> file_name("run-7"), file_name("../run")
    ('run-7.json', '5dc648769241816064b84cb4435542be.id.json')
    """
    if _PLAIN.fullmatch(run_id) and not is_device(run_id):
        return f"{run_id}.json"
    # No plain name holds a dot, so that a hash is never taken for one.
    return f"{sha256(run_id.encode()).hexdigest()[:32]}.id.json"


@dataclass(frozen=True)
class ImportOptions:
    """How to read files.

    Attributes:
        settings: The settings.
        now: The present, in µs UTC.
        agent: Whose a record is that names nobody.
        trusted: Whether sources are kept. Without it everything has the source
            `import`, whatever the file says.
    """

    settings: Settings
    now: int
    agent: str = "main"
    trusted: bool = False

    @property
    def latest(self) -> int:
        """Return the latest time (µs UTC) that is believed.

        Clocks differ by some minutes, and what is ahead would never fade.
        """
        return self.now + _AHEAD_MICROSECONDS

    def source(
        self,
        record: FlatRecord,
        key: str,
        default: str = "import",
    ) -> str:
        """Return the source to be noted.

        Args:
            record: The record.
            key: The member that names it.
            default: The source where one's own file names none.

        Raises:
            InvalidInput: For a source that does not exist.
        """
        stated = record.get(key, default)
        if not isinstance(stated, str) or stated not in TRUST:
            raise InvalidInput(f"{key} is {stated!r}; allowed are {', '.join(TRUST)}")
        return stated if self.trusted else "import"

    def believed(
        self,
        event: Event,
        problems: list[str],
        where: int | str,
    ) -> Event:
        """Return the event not ahead of the clock; where it was, that is noted.

        Args:
            event: The event.
            problems: Is added to.
            where: The number or name of its place.
        """
        if event.at > self.latest:
            remark = f":{where}: the time is ahead of the clock; the clock's is taken"
            problems.append(ImportRemark(remark))
        return event._replace(at=min(event.at, self.latest))
