"""What an export and an import report, names that every system takes for plain files,
and how far what comes in is trusted.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from theorex_lab.core.errors import FilesThere, InvalidInput, StorageError
from theorex_lab.core.settings import Settings
from theorex_lab.files.formats.flat_files import (
    FlatRecord,
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


@dataclass
class Exported:
    """Which files were written into the folder, with their number of lines or nodes and
    edges.
    """

    folder: Path
    files: dict[str, int] = field(default_factory=dict)

    def write(self, name: str, records: Iterable[FlatRecord]) -> None:
        """Write the file of this name, a record a line. Raises StorageError."""
        self.files[name] = write_lines(self.folder / name, map(encode, records))

    def write_each(
        self, name: str, documents: Iterable[tuple[str, FlatRecord]], pattern: str = ""
    ) -> None:
        """Write a file a document into the folder of this name; told as the `pattern`,
        or as its *.json. Raises StorageError.
        """
        label = pattern or f"{name}/*.json"
        for file, document in documents:
            self.files[label] = self.files.get(label, 0) + write_lines(
                self.folder / name / file, [encode(document)]
            )


@dataclass
class FileReport:
    """What became of one file: records imported, those that were there already, and
    what could not be read, by place.
    """

    file: str
    imported: int = 0
    skipped: int = 0
    problems: list[str] = field(default_factory=list)


Reports = list[FileReport]
Read = Iterator[
    tuple[Event, int]
]  # what a file's records become, each event with how many of them it stands for
Reader = Callable[
    [Lines, list[str]], Read
]  # of a file's lines, with the problems that it adds to


def each_file(
    path: Path,
    files: Iterable[Path],
    take: Callable[[Path, list[str]], tuple[int, int]],
) -> Reports:
    """Return what became of these files, which lie below a folder or are the path
    itself.

    take: imports one file and returns how many records were new and how many known;
    what it could not read it notes from the place on: ":12: reason". A file that it
    refuses is reported, and so is a link to what lies outside.
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


def read_group(
    journal: Journal, name: str, files: Iterable[Path], path: Path, reader: Reader
) -> FileReport:
    """Return what became of these files together, as `each_file`; reader: makes events of
    their objects, which come with places.
    """
    report = FileReport(name)
    events = reader(
        _objects(files, path, name.partition("/")[0], report.problems), report.problems
    )
    report.imported, report.skipped = append_new(journal, events)
    report.problems = merged(problem.lstrip(": ") for problem in report.problems)
    return report


def _objects(
    files: Iterable[Path], path: Path, folder: str, problems: list[str]
) -> Lines:
    """Return each document with its place in `folder`; what is wrong with others is
    noted. Links in a folder of settings are followed.
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
    if existing := [str(path) for path in files if path.exists()]:
        more = (
            f" and {len(existing) - _NAMED_FILES} more"
            if len(existing) > _NAMED_FILES
            else ""
        )
        advice = (
            "import them first and then replace them with --replace, or export into an"
            " empty folder"
        )
        raise FilesThere(
            "got files that are there already:"
            f" {', '.join(existing[:_NAMED_FILES])}{more}; {advice}"
        )


def portable(agent: str) -> str:
    """Return the folder of an agent in an export: its name, between underscores where
    Windows knows that for a device.

    No agent's name begins with an underscore.

    >>> portable("main"), portable("con"), portable("nul.txt"), portable("a.")
    ('main', '_con_', '_nul.txt_', '_a._')
    """
    return f"_{agent}_" if is_device(agent) or agent.endswith(".") else agent


def is_device(name: str) -> bool:
    """Return whether Windows takes a file of this name for a device, whatever follows a
    dot.

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
    """How to read: the settings, the present (µs), whose a record is that names nobody,
    and whether sources are kept.

    Without `trust_own` everything has the source `import`, whatever the file says.
    """

    settings: Settings
    now: int
    agent: str = "main"
    trust_own: bool = False

    @property
    def latest(self) -> int:
        """The latest time (µs) that is believed: clocks differ by some minutes, and
        what is ahead would never fade.
        """
        return self.now + _AHEAD_MICROSECONDS

    def source(self, record: FlatRecord, key: str, default: str = "import") -> str:
        """Return the source to be noted; `default` where one's own file names none.

        Raises InvalidInput for one that does not exist.
        """
        stated = record.get(key, default)
        if not isinstance(stated, str) or stated not in TRUST:
            raise InvalidInput(f"{key} is {stated!r}; allowed are {', '.join(TRUST)}")
        return stated if self.trust_own else "import"

    def believed(self, event: Event, problems: list[str], where: int | str) -> Event:
        """Return the event not ahead of the clock; where it was, that is noted."""
        if event.at > self.latest:
            problems.append(
                f":{where}: the time is ahead of the clock; the clock's is taken"
            )
        return event._replace(at=min(event.at, self.latest))
