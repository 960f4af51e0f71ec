"""Files become captures.

They are found in folders and read by a reader of their form, each in one transaction,
and again when they change.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_agent
from theorex_lab.core.progress import bar
from theorex_lab.core.project import checkout_root, project_at, repository_of
from theorex_lab.core.readable import Report
from theorex_lab.files.ingest.file_reader import Account, FileReader
from theorex_lab.files.ingest.folders import UNREAD, FolderWalk, is_dead_link
from theorex_lab.files.isolated.limits import ReadLimits
from theorex_lab.files.isolated.process import ReaderProcess
from theorex_lab.journal.event import Body, new_event
from theorex_lab.journal.identity import project_in
from theorex_lab.memory.contract import Home
from theorex_lab.memory.document_part import Part
from theorex_lab.memory.documents import Documents, KnownFile, document_body
from theorex_lab.text.line import one_line
from theorex_lab.text.redact.redaction_scope import door, kept_text, kept_value

_MOST_PROBLEMS = 10_000
# How names of files outside of the home's project begin.
_OUTSIDE = re.compile(r"[A-Za-z0-9._-]+-[0-9a-f]{8}/")
# Removals that `sync` makes without being asked for a second time: at most so many
# files, or this share of those that were read from the folders, and never all of them.
_FEW_REMOVALS = 10
_SMALL_SHARE = 0.1


@dataclass
class LeftOut:
    """What was left out for one reason.

    Attributes:
        reason: The reason.
        count: How many files and folders these are.
        paths: Their paths. A folder ends with "/", and stands for all that is in it.
    """

    reason: str
    count: int = 0
    paths: list[str] = field(default_factory=list)


@dataclass(repr=False)
class Ingested(Report):
    """What came in, or would by a dry run, and all that did not.

    Each file that lies below the paths is new, changed, moved or unchanged, or stands
    in `left_out`. Each character of a document that was read is in a part, or counted
    in `characters_left_out`.

    Attributes:
        files: How many were looked at.
        new: How many of them were not there before.
        changed: How many took the place of what was read of them before.
        unchanged: How many were skipped.
        moved: How many lie elsewhere by now.
        gone: How many are there no more.
        parts: How many sections or symbols were written.
        links: How many links they hold.
        masked: How many secrets were taken out.
        problems: What was not read or was guessed, and why.
        left_out: The files and folders that were not read, by the reason.
        held_back: The files that are gone and were not hidden, since they are many.
        characters: How many characters, blanks aside, the documents have that were read.
        characters_left_out: How many of them are in no part, by what they are.
    """

    files: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    moved: int = 0
    gone: int = 0
    parts: int = 0
    links: int = 0
    masked: int = 0
    problems: list[str] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    held_back: list[str] = field(default_factory=list)
    characters: int = 0
    characters_left_out: dict[str, int] = field(default_factory=dict)

    def leave_out(self, reason: str, path: str) -> None:
        """Note a file or folder that is not read."""
        for group in self.left_out:
            if group.reason == reason:
                break
        else:
            group = LeftOut(reason)
            self.left_out.append(group)
        group.count += 1
        group.paths.append(_printable_path(path))

    def add_account(self, account: Account) -> None:
        """Count the characters of a document that was read."""
        self.characters += account.characters
        for what, count in account.left_out.items():
            count_before = self.characters_left_out.get(what, 0)
            self.characters_left_out[what] = count_before + count

    def _facts(self) -> tuple[str, ...]:
        problems = f"{len(self.problems)} problems" if self.problems else ""
        n_left_out = sum(group.count for group in self.left_out)
        left_out = f"{n_left_out} left out" if n_left_out else ""
        held_back = f"{len(self.held_back)} held back" if self.held_back else ""
        changes = f"{self.new} new, {self.changed} changed"
        return (
            f"{self.files} files",
            changes,
            f"{self.parts} parts",
            problems,
            left_out,
            held_back,
        )


def _printable_path(path: str) -> str:
    """Return a path as it can be printed, whatever bytes its name has."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return ascii(path)
    return one_line(path, len(path) + 1)


class _Source(NamedTuple):
    """A file to be read: its path, and its name in the memory."""

    path: Path
    name: str


class _Unread(NamedTuple):
    """A file that is new or changed, with its content and the hash of that."""

    source: _Source
    digest: str
    content: bytes


def ingest(
    home: Home,
    paths: Sequence[Path],
    reader: FileReader,
    *,
    agent: str = "main",
    trusted: bool = False,
    sync: bool = False,
    yes: bool = False,
    dry_run: bool = False,
    progress: bool | None = None,
) -> Ingested:
    """Take in files, and what folders hold of the reader's form.

    They are taken in as an agent's, in the home's project, one transaction a file. An
    unchanged file is skipped, a changed one takes the place of what was read of it
    before, and one that lies elsewhere by now is moved and keeps its ids. A run that
    was killed is repeated, and does the rest.

    Args:
        home: The home that they are kept in.
        paths: Files and folders.
        reader: How the files are read.
        agent: Whose they are.
        trusted: They are the user's own words; otherwise the source is `import`,
            which is untrusted.
        sync: What was taken in from these folders and is there no more is hidden. Where
            that is all that was taken in from them, or more than 10 files and more than
            a tenth, none of it is hidden without `yes`.
        yes: It is hidden however much it is.
        dry_run: Nothing is written.
        progress: Show a bar; None where somebody watches.

    Raises:
        InvalidInput: For a path that is not there, or where the reader's extra is not
            installed.
        StorageError: On a full disk.
    """
    capture_source = "user" if trusted else "import"
    run = _IngestRun(
        home,
        reader,
        check_agent(agent),
        capture_source,
        dry_run,
    )
    missing = [path for path in paths if not path.exists()]
    if missing:
        raise InvalidInput(
            f"got {str(missing[0])!r}, which is no file or folder; give those that are"
            " there"
        )
    try:
        names = run.take_all(paths, progress)
    except ImportError as error:
        problem_text = (
            f"got {', '.join(map(str, paths))!r}, which needs the package {error.name}"
        )
        raise InvalidInput(
            f'{problem_text}; install it: pip install "theorex-lab[{reader.extra}]"'
        ) from error
    if sync:
        run.hide(paths, names, is_confirmed=yes)
    run.report.problems = _shown_problems(run.report.problems)
    return run.report


def _shown_problems(problems: list[str]) -> list[str]:
    """Return problems on a line each, and how many there are beyond the most."""
    lines = [one_line(problem) for problem in problems[:_MOST_PROBLEMS]]
    n_more = len(problems) - len(lines)
    if n_more:
        lines.append(f"there are {n_more:,} more problems")
    return lines


class _IngestRun:
    """One run: takes files one by one, and writes what is new of them."""

    def __init__(
        self,
        home: Home,
        reader: FileReader,
        agent: str,
        source: str,
        dry_run: bool,
    ) -> None:
        self._home = home
        self._reader = reader
        self._agent = agent
        self._source = source
        self._dry_run = dry_run
        self._walk = FolderWalk(tuple(reader.suffixes()))
        self._known = self._state()
        self._by_digest = {
            document.digest: name for name, document in self._known.items()
        }
        self._roots: dict[str, Path] = {}  # by the beginning of names
        self._former_names = set[str]()  # of files that were moved
        self.report = Ingested()

    def _state(self) -> dict[str, KnownFile]:
        with self._home.views.reading(Documents) as view:
            return view.known(self._agent, self._home.project)

    def take_all(self, paths: Sequence[Path], progress: bool | None) -> set[str]:
        """Read the files of these paths, each once, and return their names."""
        sources = {}
        for path in paths:
            for source in self._sources(path):
                sources[source.name] = source
        for why, left_out_path in self._walk.left_out:
            self.report.leave_out(why, left_out_path)
        for problem_path, why in self._walk.problems:
            self._problem(_printable_path(problem_path), why)
        progress_bar = bar(len(sources), unit="file", what="ingest", progress=progress)
        limits = ReadLimits.of(self._home.settings)
        with closing(progress_bar), ReaderProcess(limits) as process:
            if not self._known:
                process.prepare(self._reader.read)
            self._take_each(sources.values(), process, progress_bar)
        return set(sources)

    def _take_each(
        self,
        sources: Iterable[_Source],
        process: ReaderProcess,
        progress_bar: Any,
    ) -> None:
        """Read files, and write those that are new or changed.

        The process reads a file while the one before it is written.
        """
        before: _Unread | None = None
        for source in sources:
            self.report.files += 1
            unread = self._looked_at(source)
            if unread is not None:
                value = self._received(before, process)
                is_asked = self._ask(unread, process)
                self._finish(before, value)
                before = unread if is_asked else None
            progress_bar.update(1)
        self._finish(before, self._received(before, process))

    def _sources(self, path: Path) -> Iterator[_Source]:
        """Yield the file, or the files of the reader's form below a folder.

        What is left out is noted by the walk.
        """
        folder = path if path.is_dir() else path.parent
        root = Path(checkout_root(str(folder)))
        before = "" if self._is_own(str(root)) else project_at(str(root)) + "/"
        self._roots[before] = root
        files: Iterable[Path] = [path]
        if not path.is_file():
            files = self._walk.files(path, root)
        for file in files:
            try:
                real_path = Path(os.path.realpath(file.parent), file.name)
                relative = real_path.relative_to(root).as_posix()
                name = os.path.normpath(f"{before}{relative}")
                name.encode()
            except UnicodeEncodeError:
                self.report.files += 1
                self._leave_unread(
                    file, ascii(str(file)), "its name is no text; rename it"
                )
                continue
            yield _Source(file, kept_text(name))

    def _is_own(self, root: str) -> bool:
        """Return whether a checkout is the home's project.

        It is so by what the home calls it, or by its path alone.
        """
        project = self._home.project
        if not project:
            return False
        repository = repository_of(root)
        name_here = project_in(self._home.journal, repository, bind=False)
        return project in (name_here, project_at(root))

    def _looked_at(self, source: _Source) -> _Unread | None:
        """Return a file that is new or changed; one that is as it was is counted."""
        try:
            content, digest = self._content(source.path)
        except (OSError, InvalidInput) as error:
            self._note(source, error)
            return None
        before = self._known.get(source.name)
        if before is not None and before.digest == digest:
            self.report.unchanged += 1
            return None
        return _Unread(source, digest, content)

    def _ask(self, unread: _Unread, process: ReaderProcess) -> bool:
        """Ask the process to read a file, and return whether it was asked."""
        reader = self._reader
        source = unread.source
        try:
            process.send(
                reader.read,
                source.path,
                source.name,
                *reader.options,
                content=unread.content if reader.whole else None,
            )
        except InvalidInput as error:
            self._note(source, error)
            return False
        return True

    def _received(self, unread: _Unread | None, process: ReaderProcess) -> Any:
        """Return what the process made of a file; None where it could not read it."""
        if unread is None:
            return None
        try:
            return process.receive()
        except InvalidInput as error:
            self._note(unread.source, error)
            return None

    def _finish(self, unread: _Unread | None, value: Any) -> None:
        """Write what the process made of a file."""
        if unread is None or value is None:
            return
        source = unread.source
        try:
            parts, problems = self._reader.finish(source.path, value)
            for problem in problems:
                if isinstance(problem, Account):
                    self.report.add_account(problem)
                else:
                    self._problem(source.name, problem)
            former_name = self._moved(unread.digest)
            self._write(source.name, unread.digest, parts, former_name)
        except (OSError, InvalidInput) as error:
            self._note(source, error)

    def _note(self, source: _Source, error: OSError | InvalidInput) -> None:
        """Note a file that could not be read, and why."""
        why = getattr(error, "strerror", None) or str(error)
        self._leave_unread(source.path, source.name, why)

    def _leave_unread(self, path: Path, name: str, why: str) -> None:
        """Note a file that could not be read, and why."""
        self.report.leave_out(UNREAD, str(path))
        self._problem(name, why)

    def _content(self, path: Path) -> tuple[bytes, str]:
        """Return the content of a file, and a hash of it and of who reads it.

        The content is empty where the reader reads it itself.
        """
        hashed = hashlib.sha256(f"{self._reader.name}\0".encode())
        with _opened(path) as raw:
            if not self._reader.whole:
                while block := raw.read(1 << 20):
                    hashed.update(block)
                return b"", hashed.hexdigest()[:32]
            most = self._home.settings.ingest_max_bytes
            size = os.fstat(raw.fileno()).st_size
            content = raw.read(most + 1) if size <= most else b""
            if max(size, len(content)) > most:
                raise InvalidInput(
                    f"it has {size:,} bytes; allowed are {most:,} (setting"
                    " ingestMaxBytes)"
                )
        hashed.update(content)
        return content, hashed.hexdigest()[:32]

    def hide(
        self, paths: Sequence[Path], present_names: Iterable[str], *, is_confirmed: bool
    ) -> None:
        """Hide what was taken in from these folders and is there no more.

        Nothing of it is hidden where it is much and nobody confirmed it.
        """
        folders = tuple(
            os.path.realpath(path) + os.sep for path in paths if path.is_dir()
        )
        if not folders:
            return
        known_names = self._names_below(folders, self._known)
        former_names = self._names_below(folders, self._state())
        candidates = set(former_names) - set(present_names) - self._former_names
        gone = [name for name in sorted(candidates) if self._is_gone(name)]
        if _is_much(len(gone), len(known_names)) and not is_confirmed:
            self.report.held_back = gone
            return
        for name in gone:
            self._write(name, "", [], "")

    def _names_below(self, folders: tuple[str, ...], names: Iterable[str]) -> list[str]:
        """Return those of the names whose files lay below these folders."""
        names_below = []
        for name in names:
            file = self._file_of(name)
            if file is not None and str(file).startswith(folders):
                names_below.append(name)
        return names_below

    def _is_gone(self, name: str) -> bool:
        """Return whether the file of a name is there no more.

        One that cannot be looked at now, as behind a broken link or in a folder that
        may not be read, may be there.
        """
        file = self._file_of(name)
        if file is None:
            return False
        if str(file).startswith(
            tuple(f"{path}/" for path in self._walk.unread_folders)
        ):
            return False
        return _is_missing(file)

    def _file_of(self, name: str) -> Path | None:
        """Return where the file of a name lay, of those that this run looks at."""
        outside = _OUTSIDE.match(name)
        before = outside[0] if outside else ""
        if before not in self._roots:
            return None
        return self._roots[before] / name.removeprefix(before)

    def _moved(self, digest: str) -> str:
        """Return the name under which this content was known.

        It is '' where it was not, or where a file lies there still.
        """
        name = self._by_digest.get(digest, "")
        path = self._file_of(name) if name else None
        if path is None or not _is_missing(path):
            return ""
        return name

    def _write(
        self,
        name: str,
        digest: str,
        parts: list[Part],
        moved_from: str,
    ) -> None:
        """Write the state of a file, unless another run has written it meanwhile."""
        with door() as secret_door:
            parts = [Part(*kept_value(list(part))) for part in parts]
        project = self._home.project
        journal = self._home.journal
        with journal.exclusive() as append, self._home.views.reading(Documents) as view:
            before = view.state(self._agent, project, name)
            digest_before = before.digest if before else ""
            if digest_before == digest:
                self.report.unchanged += 1
                return
            if before:  # what lay here before is changed, not moved
                moved_from = ""
            elif moved_from:
                before = view.state(self._agent, project, moved_from)
                self._former_names.add(moved_from)
            if not self._dry_run:
                n_moves = view.moves(self._agent, project, name)
                body = document_body(
                    name,
                    digest,
                    parts,
                    before=self._stored_body(before),
                    salt=f"{self._agent} {n_moves}",
                    source=self._source,
                    project=project,
                    moved_from=moved_from if before else "",
                )
                now = self._home.clock.now()
                append(new_event("document", body, agent=self._agent, at=now))
        self._count(digest, is_new=before is None, is_moved=bool(moved_from))
        self.report.parts += len(parts)
        self.report.links += sum(len(part.links) for part in parts)
        self.report.masked += secret_door.masked

    def _stored_body(self, state: KnownFile | None) -> Body | None:
        """Return the body of the event that a state of a file stands in."""
        if state is None:
            return None
        for event in self._home.journal.read(seqs=[state.seq]):
            return event.body
        return None

    def _count(
        self,
        digest: str,
        *,
        is_new: bool,
        is_moved: bool,
    ) -> None:
        """Count what became of a file, whose content has this digest by now."""
        if not digest:
            self.report.gone += 1
        elif is_new:
            self.report.new += 1
        elif is_moved:
            self.report.moved += 1
        else:
            self.report.changed += 1

    def _problem(self, name: str, why: str) -> None:
        self.report.problems.append(f"{name}: {why}")


def _is_much(n_gone: int, n_known: int) -> bool:
    """Return whether so many removals look like a folder that is not there by mistake.

    >>> [_is_much(n_gone, 200) for n_gone in (0, 10, 20, 21, 200)]
    [False, False, False, True, True]
    """
    if n_gone and n_gone >= n_known:
        return True
    return n_gone > max(_FEW_REMOVALS, _SMALL_SHARE * n_known)


def _is_missing(file: Path) -> bool:
    """Return whether a file is not there, rather than out of reach."""
    try:
        os.lstat(file)
    except (FileNotFoundError, NotADirectoryError):
        return not any(is_dead_link(parent) for parent in file.parents)
    except OSError:
        return False
    return False


def _opened(file: Path) -> BinaryIO:
    """Return a regular file, opened.

    Raises:
        InvalidInput: For another one.
    """
    # Should it be a pipe: with this flag none is waited for.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    raw = os.fdopen(os.open(file, flags), "rb")
    if not stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
        raw.close()
        raise InvalidInput("it is no regular file")
    return raw
