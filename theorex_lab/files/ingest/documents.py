"""Files become captures: found in folders, read by a reader of their form, each in one
transaction, and again when they change.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_agent
from theorex_lab.core.progress import bar
from theorex_lab.core.project import checkout_root, project_at, repository_of
from theorex_lab.journal.event import new_event
from theorex_lab.journal.identity import project_in
from theorex_lab.memory.contract import Home
from theorex_lab.memory.documents import Documents, KnownFile, Part, document_body
from theorex_lab.text.line import one_line
from theorex_lab.text.redact.redaction_scope import door, kept_text, kept_value

_MOST_PROBLEMS = 10_000
_OUTSIDE = re.compile(
    r"[A-Za-z0-9._-]+-[0-9a-f]{8}/"
)  # how names of files outside of the home's project begin


class FileReader(NamedTuple):
    """How files of some form become parts.

    name: raised with a number whenever it reads otherwise, so that files are read
    again.  suffixes: of the files in folders that it takes.  read: of the file's path,
    its name and its content the parts, and what could not be read of it. It raises
    InvalidInput for a broken file.  extra: of the package, that it needs.  whole:
    whether it is given the content; else it reads the path itself, however large the
    file is.
    """

    name: str
    suffixes: Callable[[], Iterable[str]]
    read: Callable[[Path, str, bytes], tuple[list[Part], list[str]]]
    extra: str
    whole: bool = True


@dataclass
class Ingested:
    """What came in, or would by a dry run.

    files: those looked at.  new, changed, unchanged, moved, gone: what became of them.
    parts: sections or symbols that were written.  links: those that they hold.  masked:
    secrets taken out.  problems: what was not read, and why.
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


class _Source(NamedTuple):
    """A file to be read: its path, and its name in the memory."""

    path: Path
    name: str


def ingest(
    home: Home,
    paths: Sequence[Path],
    reader: FileReader,
    *,
    agent: str = "main",
    trust_own: bool = False,
    sync: bool = False,
    dry_run: bool = False,
    progress: bool | None = None,
) -> Ingested:
    """Take in files and what folders hold of the reader's form, as an agent's, in the
    home's project.

    One transaction a file: an unchanged one is skipped, a changed one takes the place
    of what was read of it before, one that lies elsewhere by now is moved and keeps its
    ids. A run that was killed is repeated, and does the rest.

    trust_own: they are the user's own words; otherwise the source is `import`, which is
    hearsay.  sync: what was taken in from these folders and is there no more is hidden.
    dry_run: nothing is written.  progress: a bar (None: where somebody watches).

    Raises InvalidInput for a path that is not there, or where the reader's extra is not
    installed; StorageError on a full disk.
    """
    run = _IngestRun(
        home, reader, check_agent(agent), "user" if trust_own else "import", dry_run
    )
    if missing := [path for path in paths if not path.exists()]:
        raise InvalidInput(
            f"got {str(missing[0])!r}, which is no file or folder; give those that are"
            " there"
        )
    try:
        sources = {}
        for path in paths:
            for source in run.sources(path):
                sources[source.name] = source
        with closing(bar(len(sources), 0, progress, "file", "ingest")) as progress_bar:
            for source in sources.values():
                run.take(source)
                progress_bar.update(1)
    except ImportError as error:
        problem_text = (
            f"got {', '.join(map(str, paths))!r}, which needs the package {error.name}"
        )
        raise InvalidInput(
            f'{problem_text}; install it: pip install "theorex-lab[{reader.extra}]"'
        ) from error
    if sync:
        run.hide(paths, sources)
    run.report.problems = [
        one_line(problem) for problem in run.report.problems[:_MOST_PROBLEMS]
    ]
    return run.report


class _IngestRun:
    """One run: takes files one by one, and writes what is new of them."""

    def __init__(
        self, home: Home, reader: FileReader, agent: str, source: str, dry_run: bool
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

    def sources(self, path: Path) -> Iterator[_Source]:
        """Yield the file, or the files of the reader's form below a folder, without
        hidden ones and those that .gitignore leaves out.
        """
        root = Path(checkout_root(str(path if path.is_dir() else path.parent)))
        inside = bool(self._home.project) and self._home.project in self._names(
            str(root)
        )
        before = "" if inside else project_at(str(root)) + "/"
        self._roots[before] = root
        for file in (
            [path]
            if path.is_file()
            else files_below(path, root, self._suffixes, self.report.problems)
        ):
            try:
                path = Path(os.path.realpath(file.parent), file.name)
                relative = path.relative_to(root).as_posix()
                name = os.path.normpath(f"{before}{relative}")
                name.encode()
            except UnicodeEncodeError:
                self._problem(ascii(str(file)), "its name is no text; rename it")
                continue
            yield _Source(file, kept_text(name))

    def _names(self, root: str) -> tuple[str, str]:
        """Return what the project of a checkout is called: by the home, and by its path
        alone.
        """
        return project_in(
            self._home.journal, repository_of(root), bind=False
        ), project_at(root)

    def take(self, source: _Source) -> None:
        """Read a file, and write it where it is new or changed."""
        self.report.files += 1
        try:
            content, digest = self._content(source.path)
            before = self._known.get(source.name)
            if before is not None and before.digest == digest:
                self.report.unchanged += 1
                return
            parts, problems = self._reader.read(source.path, source.name, content)
            self.report.problems += [
                f"{source.name}: {problem}" for problem in problems
            ]
            self._write(source.name, digest, parts, moved_from=self._moved(digest))
        except (OSError, InvalidInput) as error:
            self._problem(source.name, getattr(error, "strerror", None) or str(error))

    def _content(self, path: Path) -> tuple[bytes, str]:
        """Return the content of a file, empty where the reader reads it itself, and a
        hash of it and of who reads it.
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
        folders = [os.path.realpath(path) + os.sep for path in paths if path.is_dir()]
        for name in sorted(self._state().keys() - {*present_names}):
            file = self._file_of(name)
            if (
                file is not None
                and str(file).startswith(tuple(folders))
                and not file.exists()
            ):
                self._write(name, "", [])

    def _file_of(self, name: str) -> Path | None:
        """Return where the file of a name lay, of those that this run looks at."""
        before = outside[0] if (outside := _OUTSIDE.match(name)) else ""
        return (
            self._roots[before] / name.removeprefix(before)
            if before in self._roots
            else None
        )

    def _moved(self, digest: str) -> str:
        """Return the name under which this content was known, where no file lies there
        any more.
        """
        name = self._by_digest.get(digest, "")
        path = self._file_of(name) if name else None
        return name if path is not None and not path.exists() else ""

    def _write(
        self, name: str, digest: str, parts: list[Part], moved_from: str = ""
    ) -> None:
        """Write the state of a file, unless another run has written it meanwhile."""
        with door() as secret_door:
            parts = [Part(*kept_value(list(part))) for part in parts]
        project = self._home.project
        journal = self._home.journal
        with journal.exclusive() as append, self._home.views.reading(Documents) as view:
            now = view.state(self._agent, project, name)
            if (now.digest if now else "") == digest:
                self.report.unchanged += 1
                return
            if now:  # what lay here before is changed, not moved
                moved_from = ""
            before = view.state(self._agent, project, moved_from) if moved_from else now
            if not self._dry_run:
                stored = (
                    next(iter(journal.read(seqs=[before.seq])), None)
                    if before is not None
                    else None
                )

                salt = f"{self._agent} {view.moves(self._agent, project, name)}"
                old_name = moved_from if before else ""
                body = document_body(
                    name,
                    digest,
                    parts,
                    before=stored.body if stored is not None else None,
                    salt=salt,
                    source=self._source,
                    project=project,
                    moved_from=old_name,
                )
                append(
                    new_event(
                        "document", body, agent=self._agent, at=self._home.clock.now()
                    )
                )
        if not digest:
            count_name = "gone"
        elif before is None:
            count_name = "new"
        elif moved_from:
            count_name = "moved"
        else:
            count_name = "changed"
        setattr(self.report, count_name, getattr(self.report, count_name) + 1)
        self.report.parts += len(parts)
        self.report.links += sum(len(part.links) for part in parts)
        self.report.masked += secret_door.masked

    def _problem(self, name: str, why: str) -> None:
        self.report.problems.append(f"{name}: {why}")


def _opened(file: Path) -> BinaryIO:
    """Return a regular file, opened. Raises InvalidInput for another one."""
    raw = os.fdopen(
        os.open(
            file,
            os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0),
        ),
        "rb",
    )
    if not stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
        raw.close()
        raise InvalidInput("it is no regular file")
    return raw


def files_below(
    folder: Path, root: Path, suffixes: tuple[str, ...], problems: list[str]
) -> Iterator[Path]:
    """Yield the files with these endings below a folder, in order: no hidden ones, none
    that a .gitignore from `root` on leaves out.

    Links are not followed; one that leads out of the folder is named among the
    problems.
    """
    top = os.path.realpath(folder)
    waiting = [(top, _rules_above(top, root))]
    while waiting:
        path, rules = waiting.pop()
        try:
            entries = sorted(os.scandir(path), key=lambda entry: entry.name)
        except OSError as error:
            problems.append(f"{path}: {error.strerror}")
            continue
        rules_here = _spec_of(path)
        if rules_here is not None:
            rules = [*rules, rules_here]
        folders = []
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if _leads_out(entry, top):
                problems.append(
                    f"{entry.path}: a link that leads out of the folder; name what it"
                    " leads to"
                )
            elif entry.is_dir(follow_symlinks=False):
                if not _is_ignored(f"{entry.path}/", rules):
                    folders.append(entry.path)
            elif (
                entry.is_file(follow_symlinks=False)
                and entry.name.lower().endswith(suffixes)
                and not _is_ignored(entry.path, rules)
            ):
                yield Path(entry.path)
        waiting += [(below, rules) for below in reversed(folders)]


def _rules_above(top: str, root: Path) -> list[tuple[str, Any]]:
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


def _spec_of(folder: str) -> tuple[str, Any] | None:
    """Return a folder, and the rules of its .gitignore; None where it has none."""
    try:
        lines = (
            Path(folder, ".gitignore")
            .read_text(encoding="utf-8", errors="replace")
            .splitlines()
        )
    except OSError:  # it has none, or none that may be read
        return None
    from pathspec import GitIgnoreSpec

    return folder, GitIgnoreSpec.from_lines(lines)


def _is_ignored(path: str, rules: list[tuple[str, Any]]) -> bool:
    """Return whether the nearest rule that says something of a path leaves it out."""
    verdicts = (
        spec.check_file(path[len(folder) + 1 :]).include
        for folder, spec in reversed(rules)
    )
    return bool(next((verdict for verdict in verdicts if verdict is not None), False))
