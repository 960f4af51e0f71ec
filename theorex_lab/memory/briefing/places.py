"""Say where things are: the files that work returns to, and what was said of places.

A file is named with the symbols that messages name with it and with the files that
change together with it. Files that were removed are not named, and those that were
moved are named as they are called now. Their order is that of
`memory.file_order.order_of_files`, whose steps are the sessions.
"""

from __future__ import annotations

import math
import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heappop, heappush
from typing import NamedTuple

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.memory.briefing.candidates import (
    PLACES,
    Candidate,
    dated,
    fits_a_line,
    short_date,
)
from theorex_lab.memory.briefing.session_log import Message, Prompt, Session, ToolUse
from theorex_lab.memory.claims import (
    PLACE,
    POINTING_BACK,
    SPEAKERS,
    is_bound,
    read_claim,
)
from theorex_lab.memory.file_order import (
    FileOrder,
    WorkStep,
    order_of_files,
    ranked_like,
)
from theorex_lab.memory.superseding import DatedStatement, superseded
from theorex_lab.text.file_moves import (
    ELSEWHERE,
    MOVE,
    PATTERN,
    REMOVE,
    RESTORE,
    FileStep,
    joined_path,
    steps_of,
)
from theorex_lab.text.wording import content_words

_DAY = 86_400_000_000  # µs
_HALF_LIFE = 30 * _DAY  # of how much an edit counts
_MOST_PLACES = 8
_MOST_STATED = 4  # places that a statement tells
_FEWEST_SESSIONS = 2  # in which a file is edited that is a place
_MOST_SYMBOLS = 2  # that a line names
_MOST_PARTNERS = 2  # files that change together, in a line
_MOST_FILES = 3  # in the line of a folder
_LEAST_TOGETHER = 0.5  # share of the sessions in which a partner changes too
# How much more often than usual a partner changes with a file, so that a file which
# changes in every session is nobody's partner.
_LEAST_LIFT = 1.5
_MOST_EVENTS = 5  # that a line names

# What a statement weighs, by who made it, and what an edited file weighs at most.
_WEIGHT_OF_USER = 0.25
_WEIGHT_OF_AGENT = 0.12
_WEIGHT_OF_FILE = 0.22
_WEIGHT_OF_FOLDER = 0.14
_MANY_SESSIONS = 4.0  # recent sessions from which on a file weighs most of it

# A path that is written out: with a folder, or with an ending.
_PATH = r"`?(?:~|\.{1,2})?/?[\w.@-]*(?:/[\w.@*{}#-]+)+/?`?|`?[\w-]+\.[a-z]{1,5}\b`?"
# Words that say where something is, before the path, or that it is a neighbour.
_WHERE = lazy_pattern(
    rf"""
    (?:
        \b(?:is|are|lives?|sits?|stays?|located|stored|defined|implemented|documented
            |declared|found|kept)
        \s+(?:now\s+|only\s+|located\s+|checked\s+out\s+)*
        (?:in|at|under|inside)\s+
      | \bmoved\s+(?:from\s+\S+\s+)?(?:in)?to\s+
      | \b(?:sibling|neighbou?ring)\s+
    )
    [^.;:?]{{0,40}}?(?P<path>{_PATH})
    """,
    re.VERBOSE,
)
# A path first, then what it is.
_WHAT = lazy_pattern(
    rf"(?P<path>{_PATH})\s+(?:is|contains|holds)\s+(?:the|a|an|our|my|all)\b"
)
_MOST_WORDS_BEFORE = 8  # of the thing whose place is told
# First words of an answer, not of a statement.
_ANSWERING = frozenset("ok okay yes no so well hmm oh and but also then".split())
_OUTSIDE = lazy_pattern(r"`?(?:~/|\.\./)")
# Names in code: with a capital inside, with an underscore, or called.
_SYMBOL = lazy_pattern(
    r"(?<![\w/.-])(?:\w*[a-z]\w*[A-Z]\w*|[a-z]+_\w+|\w+(?=\(\)))(?![\w/]|\.\w)"
)
_TEST_PART = lazy_pattern(r"(?i)^test_|[._-](?:tests?|spec)(?=\.|$)")
_NAME_OF_FILE = lazy_pattern(r"[\w@.+-]+\.\w+")
_FIRST_WORD = lazy_pattern(r"[\w'’]+")
_SHORTEST_SYMBOL = 5
# Files that a program writes: that they change says nothing.
_WRITTEN_BY_PROGRAMS = frozenset(
    "package-lock.json pnpm-lock.yaml yarn.lock bun.lock bun.lockb uv.lock poetry.lock"
    " Pipfile.lock Cargo.lock go.sum Gemfile.lock composer.lock flake.lock"
    " npm-shrinkwrap.json lake-manifest.json mix.lock pubspec.lock Podfile.lock"
    " Manifest.toml packages.lock.json gradle.lockfile".split()
)


def place_candidates(
    sessions: Sequence[Session],
    now: int,
    *,
    exists: Callable[[str], bool] | None = None,
) -> list[Candidate]:
    """Return at most eight places, each with what it is for or when it changes.

    Args:
        sessions: The sessions up to now, by their start.
        now: The time (µs UTC).
        exists: Tells whether a path of the project exists; without it, what the
            sessions did to files tells.
    """
    history = _history(sessions)
    files = _Files(history, exists)
    stated = _stated_places(
        sessions,
        files,
        now,
    )
    edited = _edited_places(
        sessions,
        files,
        now,
    )
    places = [*stated[:_MOST_STATED], *edited]
    places.sort(key=lambda candidate: (-candidate.weight, candidate.text))
    return places[:_MOST_PLACES]


def _recency(at: int, now: int) -> float:
    """Return how much what happened at a time counts now, 0..1."""
    half_lives = max(0, now - at) / _HALF_LIFE
    return math.pow(0.5, half_lives)


@dataclass(slots=True)
class _Edits:
    """The edits of one file.

    Attributes:
        sessions: The sessions that edited it, each with the time of its last edit.
        events: The ids of the last events, in time order.
    """

    sessions: dict[str, int] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)

    @property
    def last(self) -> int:
        """When it was last edited (µs UTC)."""
        return max(self.sessions.values())

    def worth(self, now: int) -> float:
        """Return the number of its sessions, the older ones counting less."""
        return math.fsum(_recency(at, now) for at in self.sessions.values())


@dataclass(slots=True)
class _History:
    """What sessions did to files, by the present names of the files."""

    edits: dict[str, _Edits] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)  # files and folders

    def edit(
        self,
        path: str,
        session: str,
        at: int,
        event: str,
    ) -> None:
        """Note an edit; a file that is edited is there."""
        self.restore(path)
        edits = self.edits.setdefault(path, _Edits())
        edits.sessions[session] = at
        edits.events.append(event)
        del edits.events[:-_MOST_EVENTS]

    def restore(self, path: str) -> None:
        """Note that a file is there, and with it its folders."""
        self.gone = {old for old in self.gone if not _is_within(path, old)}

    def move(
        self,
        old: str,
        new: str,
    ) -> None:
        """Give all that is known of a file or folder to its new name."""
        inner_paths = [path for path in self.edits if _is_within(path, old)]
        for path in inner_paths:
            new_path = new + path[len(old) :]
            self.restore(new_path)
            moved = self.edits.pop(path)
            edits = self.edits.setdefault(new_path, _Edits())
            edits.sessions.update(moved.sessions)
            edits.events += moved.events
            del edits.events[:-_MOST_EVENTS]
        self.restore(new)
        self.gone.add(old)

    def is_gone(self, path: str) -> bool:
        """Return whether a path was removed or moved away."""
        return any(_is_within(path, old) for old in self.gone)


def _is_within(path: str, folder: str) -> bool:
    """Return whether a path is a folder or in it."""
    return path == folder or path.startswith(f"{folder}/")


def _history(sessions: Sequence[Session]) -> _History:
    """Return what sessions did to files, in time order."""
    history = _History()
    for change in _changes_by_time(sessions):
        for path in change.edits:
            history.edit(
                path,
                change.session,
                change.at,
                change.event,
            )
        for step in change.steps:
            _take_step(history, step)
    return history


class _Change(NamedTuple):
    """What a call did to files, without what it ran and what came of it.

    Attributes:
        at: When (µs UTC).
        session: The session.
        event: The id of its event.
        edits: The paths that it edited.
        steps: What its command did to files.
    """

    at: int
    session: str
    event: str
    edits: tuple[str, ...]
    steps: Sequence[FileStep]


class _BegunSession(NamedTuple):
    """A session that has begun by a time, with its next change; the first one is least.

    Attributes:
        at: When the change was (µs UTC).
        number: The place of the session in the log, of which no two have the same.
        change: The change.
        later: Gives those after it.
    """

    at: int
    number: int
    change: _Change
    later: Iterator[_Change]


def _changes_by_time(sessions: Sequence[Session]) -> Iterator[_Change]:
    """Yield what the calls of sessions did to files, in time order.

    Of two at one time the one of the earlier session comes first. Only the sessions
    that lie at one time are held at once: those of a large log would take 100 MB.
    """
    begun: list[_BegunSession] = []  # a heap
    by_start = sorted(enumerate(sessions), key=lambda numbered: numbered[1].start)
    for number, session in by_start:
        yield from _changes_before(session.start, begun)
        changes = sorted(_changes_in(session), key=_time_of)
        _push_next(begun, number, iter(changes))
    yield from _changes_before(math.inf, begun)


def _changes_before(at: float, begun: list[_BegunSession]) -> Iterator[_Change]:
    """Yield the changes before a time, and take them from the sessions that began."""
    while begun and begun[0].at < at:
        first = heappop(begun)
        yield first.change
        _push_next(begun, first.number, first.later)


def _push_next(
    begun: list[_BegunSession], number: int, changes: Iterator[_Change]
) -> None:
    """Put a session on the heap with its next change, if it has one."""
    change = next(changes, None)
    if change is not None:
        heappush(begun, _BegunSession(change.at, number, change, changes))


def _time_of(change: _Change) -> int:
    return change.at


def _changes_in(session: Session) -> Iterator[_Change]:
    """Yield what the calls of a session did to files."""
    for use in session.tools:
        if use.ok is False:
            continue
        steps = steps_of(use.command)
        if use.edits or steps:
            yield _Change(
                at=use.at,
                session=use.session,
                event=use.event,
                edits=use.edits,
                steps=steps,
            )


def _take_step(history: _History, step: FileStep) -> None:
    """Note what a part of a command does to files."""
    folder = step.folders[0] if step.folders else ""
    for path in step.paths:
        whole_path = _whole_path(folder, path)
        if not whole_path:
            continue
        if step.verb == REMOVE:
            history.gone.add(whole_path)
        elif step.verb == RESTORE:
            history.restore(whole_path)
        elif step.verb == MOVE:
            _take_move(
                history,
                step,
                whole_path,
            )


def _take_move(
    history: _History,
    step: FileStep,
    path: str,
) -> None:
    """Note the move of one path."""
    folder = step.folders[0] if step.folders else ""
    target = _whole_path(folder, step.target)
    name = posixpath.basename(path)
    is_into = step.into or len(step.paths) > 1 or step.target.endswith("/")
    has_same_ending = _ending(path) == _ending(step.target)
    if not is_into and step.into is None and not has_same_ending:
        # "mv a.py lib" names a folder.
        is_into = not _ending(step.target)
    if target is None:
        history.gone.add(path)
    elif is_into:
        history.move(path, posixpath.join(target, name))
    else:
        history.move(path, target)


def _ending(path: str) -> str:
    """Return the ending of a file's name."""
    _, ending = posixpath.splitext(path)
    return ending


def _whole_path(folder: str, path: str) -> str | None:
    """Return a path from the project's root; None for an unknown or a far one."""
    if path.startswith((ELSEWHERE, PATTERN)):
        return None
    return joined_path(folder, path)


class _Files:
    """The files that were edited in several sessions and are there."""

    def __init__(
        self,
        history: _History,
        exists: Callable[[str], bool] | None,
    ) -> None:
        self._history = history
        self._exists = exists
        self.edits: dict[str, _Edits] = {}
        for path, edits in history.edits.items():
            if len(edits.sessions) >= _FEWEST_SESSIONS and self.is_there(path):
                self.edits[path] = edits

    def steps(self) -> list[WorkStep]:
        """Return the sessions with the files that they edited and that are there."""
        last_edit: dict[str, int] = {}
        changed: dict[str, set[str]] = defaultdict(set)
        for path, edits in self._history.edits.items():
            if not self.is_there(path):
                continue
            for session, at in edits.sessions.items():
                last_edit[session] = max(at, last_edit.get(session, at))
                changed[session].add(path)
        in_time = sorted(last_edit.items(), key=lambda item: (item[1], item[0]))
        return [WorkStep(at, frozenset(changed[session])) for session, at in in_time]

    def is_there(self, path: str) -> bool:
        """Return whether a path of the project is there, as far as anybody knows."""
        if self._history.is_gone(path):
            return False
        return self._exists is None or self._exists(path)

    def may_be_a_place(self, path: str) -> bool:
        """Return whether a file was edited in several sessions, and tells of the work."""
        if path not in self.edits or is_test_file(path):
            return False
        return not is_written_by_program(path)

    def may_be_named(self, text: str) -> bool:
        """Return whether a statement names no path that is known to be gone."""
        for match in re.finditer(_PATH, text):
            path = match[0].strip("`").rstrip("/.,")
            is_outside = _OUTSIDE.match(path) is not None
            if not is_outside and self._was_removed(path):
                return False
        return True

    def _was_removed(self, path: str) -> bool:
        """Return whether a path, or the last part of one, was removed or moved away."""
        for old in self._history.gone:
            if _is_within(path, old) or old.endswith(f"/{path}"):
                return True
        is_whole_path = "/" in path and path in self._history.edits
        return is_whole_path and not self.is_there(path)


def _edited_places(
    sessions: Sequence[Session], files: _Files, now: int
) -> list[Candidate]:
    """Return the files that work returns to, the rest of them by their folders."""
    symbols = _symbols_by_file(sessions, files.edits)
    order = order_of_files(files.steps(), now)
    worth = _worth_by_file(order, files.edits, now)
    company = _Company(files.edits)
    candidates: list[Candidate] = []
    named: set[str] = set()  # as partners of others
    rest: dict[str, list[str]] = defaultdict(list)
    for path in filter(files.may_be_a_place, order.paths):
        partners = company.partners_of(path)
        own_symbols = symbols.get(path, ())
        if not own_symbols and not partners:
            rest[posixpath.dirname(path)].append(path)
        elif own_symbols or path not in named:
            candidate = _place_of_file(
                path,
                files.edits[path],
                own_symbols,
                worth[path],
                partners=partners,
            )
            candidates += _of_one(candidate)
            if candidate is not None:
                named.update(partner for partner, _ in partners)
    for folder, paths in rest.items():
        candidates += _of_one(
            _place_of_folder(
                folder,
                paths,
                files.edits,
                now,
            )
        )
    return candidates


def _worth_by_file(
    order: FileOrder, edits: Mapping[str, _Edits], now: int
) -> dict[str, float]:
    """Return the worth of each file in sessions, the most for the first in the order.

    How much places weigh, compared with other lines, hangs on how many sessions edited
    files recently; which of the places weighs most hangs on their order.
    """
    worth: dict[str, float] = {}
    for path, file_edits in edits.items():
        worth[path] = file_edits.worth(now)
    return ranked_like(order.paths, worth)


def steps_of_edits(sessions: Sequence[Session]) -> list[WorkStep]:
    """Return the sessions that edited files, as the steps by which places are ordered.

    Args:
        sessions: The sessions.
    """
    return _Files(_history(sessions), None).steps()


def _of_one(candidate: Candidate | None) -> list[Candidate]:
    """Return a list of a line, an empty one where there is none."""
    return [] if candidate is None else [candidate]


class _Company:
    """Which files change in the same sessions."""

    def __init__(self, edits: Mapping[str, _Edits]) -> None:
        """Note by session which files it edited.

        Args:
            edits: The edits of each file, by its path.
        """
        self._edits = edits
        self._files_of: dict[str, list[str]] = defaultdict(list)
        for path, file_edits in edits.items():
            for session in file_edits.sessions:
                self._files_of[session].append(path)

    def partners_of(self, path: str) -> list[tuple[str, int]]:
        """Return the files that change in most sessions of a file, with in how many.

        They are in the order of that number. A file's own test is left out, and what a
        program writes.
        """
        own_sessions = self._edits[path].sessions
        n_shared_by_file: Counter[str] = Counter()
        for session in own_sessions:
            n_shared_by_file.update(self._files_of[session])
        del n_shared_by_file[path]
        partners: list[tuple[str, int]] = []
        for other, n_shared in n_shared_by_file.items():
            share = n_shared / len(own_sessions)
            if n_shared < _FEWEST_SESSIONS or share < _LEAST_TOGETHER:
                continue
            usual_share = len(self._edits[other].sessions) / len(self._files_of)
            if share < _LEAST_LIFT * usual_share:
                continue
            is_news = not are_file_and_test(path, other)
            if is_news and not is_written_by_program(other):
                partners.append((other, n_shared))
        partners.sort(key=lambda partner: (-partner[1], partner[0]))
        return partners


def are_file_and_test(path: str, other: str) -> bool:
    """Return whether one of two files is the test of the other, as everybody expects.

    >>> are_file_and_test("a/store.go", "a/store_test.go")
    True
    """
    return _without_test(path) == _without_test(other)


def is_test_file(path: str) -> bool:
    """Return whether a file's name says that it holds tests."""
    return _TEST_PART.search(posixpath.basename(path)) is not None


def is_written_by_program(path: str) -> bool:
    """Return whether a program writes a file, as those that pin versions.

    >>> is_written_by_program("web/package-lock.json")
    True
    """
    return posixpath.basename(path) in _WRITTEN_BY_PROGRAMS


@lru_cache(10_000)  # files are compared with many others
def _without_test(path: str) -> str:
    """Return a file's name without its ending and the part that says it is a test."""
    name = posixpath.basename(path)
    stem, _ = posixpath.splitext(name)
    return _TEST_PART.sub("", stem)


def _place_of_file(
    path: str,
    own_edits: _Edits,
    symbols: Sequence[str],
    worth: float,
    *,
    partners: Sequence[tuple[str, int]],
) -> Candidate | None:
    """Return the line of a file; None where it does not fit.

    Args:
        path: The file.
        own_edits: Its edits.
        symbols: The names in code that it is named with.
        worth: How much it will be needed, in recent sessions.
        partners: The files that change together with it.
    """
    n_sessions = len(own_edits.sessions)
    purpose = ""
    if symbols:
        quoted = [f"`{symbol}`" for symbol in symbols]
        purpose = f" ({', '.join(quoted)})"
    together = _together(partners, n_sessions)
    last = short_date(own_edits.last)
    text = f"`{path}`{purpose}: edited in {n_sessions} sessions{together}, last {last}."
    if not fits_a_line(text):
        return None
    share = min(1.0, worth / _MANY_SESSIONS)
    return _candidate(
        text,
        "file",
        _WEIGHT_OF_FILE * (0.4 + 0.6 * share),
        own_edits,
    )


def _together(partners: Sequence[tuple[str, int]], n_sessions: int) -> str:
    """Return the part of a line that tells which files change together with one.

    Files of one name in sibling folders are one pattern.
    """
    if not partners:
        return ""
    n_shared = partners[0][1]
    paths = [path for path, number in partners if number == n_shared]
    names = _patterns(paths)[:_MOST_PARTNERS]
    quoted = [f"`{name}`" for name in names]
    return f", together with {' and '.join(quoted)} in {n_shared} of {n_sessions}"


def _patterns(paths: Sequence[str]) -> list[str]:
    """Return paths with one pattern for those of one name in sibling folders.

    >>> _patterns(["p/a/watcher.go", "main.go", "p/b/watcher.go"])
    ['p/*/watcher.go', 'main.go']
    """
    siblings: dict[tuple[str, str], list[str]] = {}
    for path in paths:
        folder, name = posixpath.split(path)
        key = (posixpath.dirname(folder), name)
        siblings.setdefault(key, []).append(path)
    patterns: list[str] = []
    for (parent, name), group in siblings.items():
        if len(group) == 1:
            patterns += group
        else:
            patterns.append(
                posixpath.join(
                    parent,
                    "*",
                    name,
                )
            )
    return patterns


def _place_of_folder(
    folder: str, paths: Sequence[str], edits: dict[str, _Edits], now: int
) -> Candidate | None:
    """Return the line of a folder with its files that are edited most."""
    all_edits = _Edits()
    for path in paths:
        all_edits.sessions |= edits[path].sessions
        all_edits.events += edits[path].events
    names = [f"`{posixpath.basename(path)}`" for path in paths[:_MOST_FILES]]
    folder_name = f"`{folder}/`" if folder else "The project's root"
    n_sessions = len(all_edits.sessions)
    last = short_date(all_edits.last)
    text = f"{folder_name}: {', '.join(names)} edited in {n_sessions} sessions, last {last}."
    if not fits_a_line(text):
        return None
    worth = min(1.0, all_edits.worth(now) / _MANY_SESSIONS)
    weight = _WEIGHT_OF_FOLDER * (0.4 + 0.6 * worth)
    return _candidate(
        text,
        "folder",
        weight,
        all_edits,
    )


def _candidate(
    text: str,
    kind: str,
    weight: float,
    edits: _Edits,
) -> Candidate:
    """Return the candidate of a line that edits are the reason of."""
    n_sessions = len(edits.sessions)
    return Candidate(
        section=PLACES,
        kind=kind,
        text=text,
        weight=weight,
        at=edits.last,
        session="",
        words=content_words(text),
        events=tuple(edits.events[-_MOST_EVENTS:]),
        why=f"edited in {n_sessions} sessions",
        features={"sessions": float(n_sessions)},
    )


def _symbols_by_file(
    sessions: Sequence[Session], edits: dict[str, _Edits]
) -> dict[str, list[str]]:
    """Return the names in code that statements name together with a file.

    A statement that names several files, or a file's name that several have, tells
    nothing of one.
    """
    paths_by_name: dict[str, list[str]] = defaultdict(list)
    for path in edits:
        paths_by_name[posixpath.basename(path)].append(path)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for text, names in _naming_statements(sessions, paths_by_name):
        if len(names) != 1:
            continue
        paths = paths_by_name[names.pop()]
        if len(paths) == 1:
            counts[paths[0]].update(set(_symbols_in(text)))
    symbols: dict[str, list[str]] = {}
    for path, counter in counts.items():
        by_count = sorted(counter, key=lambda symbol: (-counter[symbol], symbol))
        symbols[path] = [symbol for symbol in by_count if counter[symbol] > 1]
        symbols[path] = symbols[path][:_MOST_SYMBOLS]
    return symbols


def _naming_statements(
    sessions: Sequence[Session], file_names: Iterable[str]
) -> Iterator[tuple[str, set[str]]]:
    """Yield the statements that may name some of these files, with the names."""
    names_with_ending = {name for name in file_names if "." in name}
    # Most statements hold none of their endings, and need no pattern.
    endings = {name[name.rindex(".") :] for name in names_with_ending}
    for text in _all_statements(sessions):
        if any(map(text.__contains__, endings)):
            names = names_with_ending.intersection(_NAME_OF_FILE.findall(text))
            yield text, names


def _symbols_in(text: str) -> Iterator[str]:
    """Yield the names in code of a statement."""
    for symbol in _SYMBOL.findall(text):
        if len(symbol) >= _SHORTEST_SYMBOL and not symbol.endswith("_"):
            yield symbol


def _all_statements(sessions: Sequence[Session]) -> Iterator[str]:
    """Yield the statements of agents, and of users the own ones."""
    for session in sessions:
        for step in session.steps:
            yield from _statements_of(step)


def _statements_of(step: object) -> Iterator[str]:
    """Yield the statements of a message, or the own ones of a prompt."""
    if isinstance(step, Message):
        for statement in step.statements:
            yield statement.text
    elif isinstance(step, Prompt):
        for statement, words_of in step.statements:
            if words_of in ("own", "repeated"):
                yield statement.text


def _stated_places(
    sessions: Sequence[Session], files: _Files, now: int
) -> list[Candidate]:
    """Return what users and agents say of where something is, the best first.

    Where one thing has two places, the newer one is returned.
    """
    candidates: list[Candidate] = []
    statements: list[DatedStatement] = []
    for step, text in _statements_of_place(sessions, files):
        line = dated(text, step.at)
        if fits_a_line(line):
            candidates.append(
                _stated_place(
                    line,
                    text,
                    step,
                    now,
                )
            )
            statements.append(DatedStatement(text, step.at))
    replaced_by = superseded(statements)
    standing: list[Candidate] = []
    for candidate, newer in zip(
        candidates,
        replaced_by,
        strict=True,
    ):
        if newer is None:
            standing.append(candidate)
    standing.sort(key=lambda candidate: (-candidate.weight, candidate.text))
    return standing


def _statements_of_place(
    sessions: Sequence[Session], files: _Files
) -> Iterator[tuple[Prompt | Message | ToolUse, str]]:
    """Yield the statements that say where something is that is there."""
    for session in sessions:
        for step in session.steps:
            is_users = isinstance(step, Prompt)
            for text in _statements_of(step):
                says_where = _says_where(text, is_users=is_users)
                if says_where and files.may_be_named(text):
                    yield step, text


def _says_where(text: str, *, is_users: bool = False) -> bool:
    """Return whether a statement by itself says where something is.

    The user's word on a path out of the project is taken wherever it stands in the
    sentence.

    >>> _says_where("The Intent repo is at ../../intent."), _says_where("It is in a/b.")
    (True, False)
    """
    if not _stands_alone(text):
        return False
    match = _WHERE.search(text)
    if match is None:
        return _WHAT.match(text) is not None
    is_outside = _OUTSIDE.match(match["path"]) is not None
    if is_users and is_outside:
        return True
    n_words_before = len(text[: match.start()].split())
    if not 0 < n_words_before <= _MOST_WORDS_BEFORE:
        return False
    claim = read_claim(text)
    if claim is None or claim.is_event or claim.is_negative:
        return False
    return claim.attribute == PLACE


def _stands_alone(text: str) -> bool:
    """Return whether a statement begins with its subject, and asks nothing."""
    first = _FIRST_WORD.match(text.lstrip("`"))
    if first is None or text.endswith(("?", ":")) or is_bound(text):
        return False
    word = first[0].lower()
    return word not in POINTING_BACK | SPEAKERS | _ANSWERING


def _stated_place(
    line: str, text: str, step: Prompt | Message | object, now: int
) -> Candidate:
    """Return the candidate of a statement that says where something is."""
    assert isinstance(step, Prompt | Message)
    is_users = isinstance(step, Prompt)
    recency = _recency(step.at, now)
    base = _WEIGHT_OF_USER if is_users else _WEIGHT_OF_AGENT
    is_outside = _OUTSIDE.search(text) is not None
    weight = base * (0.5 + 0.5 * recency)
    if is_outside:
        # Nothing in the project shows where its neighbours are.
        weight *= 1.4
    who = "the user" if is_users else "the agent"
    return Candidate(
        section=PLACES,
        kind="stated",
        text=line,
        weight=min(weight, 1.0),
        at=step.at,
        session=step.session,
        words=content_words(text),
        events=(step.event,),
        why=f"{who} said where it is",
        features={"recency": recency, "outside": float(is_outside)},
    )
