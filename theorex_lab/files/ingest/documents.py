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
from theorex_lab.files.ingest.file_reader import FileReader
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
# A folder, and the rules of its .gitignore.
_IgnoreRules = tuple[str, Any]


@dataclass(repr=False)
class Ingested(Report):
    """What came in, or would by a dry run.

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
        problems: What was not read, and why.
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

    def _facts(self) -> tuple[str, ...]:
        problems = f"{len(self.problems)} problems" if self.problems else ""
        changes = f"{self.new} new, {self.changed} changed"
        return (f"{self.files} files", changes, f"{self.parts} parts", problems)


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
        sync: What was taken in from these folders and is there no more is hidden.
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
        run.hide(paths, names)
    problems = run.report.problems[:_MOST_PROBLEMS]
    run.report.problems = [one_line(problem) for problem in problems]
    return run.report


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
        self._suffixes = tuple(reader.suffixes())
        self._known = self._state()
        self._by_digest = {
            document.digest: name for name, document in self._known.items()
        }
        self._roots: dict[str, Path] = {}  # by the beginning of names
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

        Hidden ones are left out, and those that .gitignore leaves out.
        """
        folder = path if path.is_dir() else path.parent
        root = Path(checkout_root(str(folder)))
        before = "" if self._is_own(str(root)) else project_at(str(root)) + "/"
        self._roots[before] = root
        files: Iterable[Path] = [path]
        if not path.is_file():
            files = files_below(path, root, self._suffixes, self.report.problems)
        for file in files:
            try:
                real_path = Path(os.path.realpath(file.parent), file.name)
                relative = real_path.relative_to(root).as_posix()
                name = os.path.normpath(f"{before}{relative}")
                name.encode()
            except UnicodeEncodeError:
                self._problem(ascii(str(file)), "its name is no text; rename it")
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
                self._problem(source.name, problem)
            former_name = self._moved(unread.digest)
            self._write(source.name, unread.digest, parts, former_name)
        except (OSError, InvalidInput) as error:
            self._note(source, error)

    def _note(self, source: _Source, error: OSError | InvalidInput) -> None:
        """Note what is wrong with a file."""
        why = getattr(error, "strerror", None) or str(error)
        self._problem(source.name, why)

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

    def hide(self, paths: Sequence[Path], present_names: Iterable[str]) -> None:
        """Hide what was taken in from these folders and is there no more."""
        folders = tuple(
            os.path.realpath(path) + os.sep for path in paths if path.is_dir()
        )
        former_names = self._state().keys() - set(present_names)
        for name in sorted(former_names):
            file = self._file_of(name)
            if file is None or not str(file).startswith(folders):
                continue
            if not file.exists():
                self._write(name, "", [], "")

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
        if path is None or path.exists():
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


def files_below(
    folder: Path,
    root: Path,
    suffixes: tuple[str, ...],
    problems: list[str],
) -> Iterator[Path]:
    """Yield the files with these endings below a folder, in order.

    Hidden ones are left out, and those that a .gitignore from `root` on leaves out.
    Links are not followed.

    Args:
        folder: The folder.
        root: Where the checkout begins that the folder lies in.
        suffixes: The endings, in lower case.
        problems: Is added to: folders that cannot be read, and links that lead out of
            the folder.
    """
    top = os.path.realpath(folder)
    waiting = [(top, _rules_above(top, root))]
    while waiting:
        path, rules = waiting.pop()
        rules_here = _spec_of(path)
        if rules_here is not None:
            rules = [*rules, rules_here]
        folders = []
        for entry in _entries_of(path, problems):
            if _leads_out(entry, top):
                problems.append(
                    f"{entry.path}: a link that leads out of the folder; name what it"
                    " leads to"
                )
            elif _is_folder(entry, rules):
                folders.append(entry.path)
            elif _is_file(entry, suffixes, rules):
                yield Path(entry.path)
        waiting += [(below, rules) for below in reversed(folders)]


def _entries_of(folder: str, problems: list[str]) -> list[os.DirEntry[str]]:
    """Return what is in a folder, in order, without what is hidden."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        problems.append(f"{folder}: {error.strerror}")
        return []
    return [entry for entry in entries if not entry.name.startswith(".")]


def _is_folder(entry: os.DirEntry[str], rules: list[_IgnoreRules]) -> bool:
    """Return whether an entry is a folder that no rule leaves out."""
    if not entry.is_dir(follow_symlinks=False):
        return False
    return not _is_ignored(f"{entry.path}/", rules)


def _is_file(
    entry: os.DirEntry[str],
    suffixes: tuple[str, ...],
    rules: list[_IgnoreRules],
) -> bool:
    """Return whether an entry is a file of these endings that no rule leaves out."""
    if not entry.is_file(follow_symlinks=False):
        return False
    if not entry.name.lower().endswith(suffixes):
        return False
    return not _is_ignored(entry.path, rules)


def _rules_above(top: str, root: Path) -> list[_IgnoreRules]:
    """Return the rules of the folders from `root` down to above `top`."""
    rules = []
    for parent in reversed(Path(top).parents):
        if parent == root or root in parent.parents:
            spec = _spec_of(str(parent))
            if spec is not None:
                rules.append(spec)
    return rules


def _leads_out(entry: os.DirEntry[str], top: str) -> bool:
    """Return whether an entry is a link that leads out of the folder `top`."""
    if not entry.is_symlink():
        return False
    target = f"{os.path.realpath(entry.path)}{os.sep}"
    return not target.startswith(top + os.sep)


def _spec_of(folder: str) -> _IgnoreRules | None:
    """Return a folder, and the rules of its .gitignore; None where it has none."""
    file = Path(folder, ".gitignore")
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:  # it has none, or none that may be read
        return None
    from pathspec import GitIgnoreSpec

    return folder, GitIgnoreSpec.from_lines(text.splitlines())


def _is_ignored(path: str, rules: list[_IgnoreRules]) -> bool:
    """Return whether the nearest rule that says something of a path leaves it out."""
    for folder, spec in reversed(rules):
        relative = path[len(folder) + 1 :]
        verdict = spec.check_file(relative).include
        if verdict is not None:
            return bool(verdict)
    return False
