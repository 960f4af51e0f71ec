"""Which name each file has now: touches and moves in the order of time, chains of names
folded onto the last one.

Only what sessions did is known of the files: a folder that no session touched may be
there all the same. Where a move can be read in two ways, its files count as gone until
they are touched again.
"""

import heapq
import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from theorex_lab.journal.event import Event
from theorex_lab.text.file_moves import (
    ELSEWHERE,
    FOLDER,
    MOVE,
    PATTERN,
    REMOVE,
    RESTORE,
    FileStep,
    joined_path,
    steps_of,
)

GONE = ""
_MOST_STARS = 4  # of a pattern that is tried on names


class FileSighting(NamedTuple):
    """A file that was surely there: when (µs), in which event (its seq), and under
    which name.
    """

    at: int
    seq: int
    path: str


class FileMoves(NamedTuple):
    """What one call did to the names of files."""

    at: int
    seq: int
    steps: Sequence[FileStep]


def moves_of(event: Event) -> list[FileStep]:
    """The steps of a tool call that did not fail: those that it states, then those of
    its command.
    """
    body = event.body
    if body.get("ok") is False:
        return []
    steps = [step for pair in body.get("moves") or () for step in _stated(pair)]
    command = body.get("command")
    folder = body.get("folder")
    if isinstance(command, str) and command:
        steps += steps_of(command, folder if isinstance(folder, str) else None)
    return steps


def _stated(pair: Any) -> Iterator[FileStep]:
    if not (
        isinstance(pair, list | tuple)
        and len(pair) == 2
        and all(isinstance(path, str) for path in pair)
    ):
        return
    old, new = pair
    if old and new:
        yield FileStep(MOVE, ("",), (old,), new, into=False)
    elif old:
        yield FileStep(REMOVE, ("",), (old,))


def names_now(touched: Sequence[FileSighting], moves: Iterable[FileMoves]) -> list[str]:
    """The name that each file of `touched` has after all moves, GONE for one that is
    gone.

    >>> moves = [
    ...     FileMoves(2, 2, steps_of("git mv lib src")),
    ...     FileMoves(4, 4, steps_of("rm src/b.py")),
    ... ]
    >>> names_now(
    ...     [
    ...         FileSighting(1, 1, "lib/a.py"),
    ...         FileSighting(1, 1, "lib/b.py"),
    ...         FileSighting(3, 3, "lib/a.py"),
    ...     ],
    ...     moves,
    ... )
    ['src/a.py', '', 'lib/a.py']
    """
    tree = _Tree()
    first = [((event.at, event.seq, 0), row, None) for row, event in enumerate(touched)]
    second = [((move.at, move.seq, 1), -1, move.steps) for move in moves]
    ordered = heapq.merge(
        sorted(first, key=_time_of), sorted(second, key=_time_of), key=_time_of
    )
    for _, row, steps in ordered:
        if steps is None:
            tree.touch(row, touched[row].path)
        else:
            for step in steps:
                tree.take(step)
    names = [GONE] * len(touched)
    for name, rows in tree.rows.items():
        for row in rows:
            names[row] = name
    return names


def _time_of(
    entry: tuple[tuple[int, int, int], int, Sequence[FileStep] | None],
) -> tuple[int, int, int]:
    return entry[0]


class _Tree:
    """The names of files that are there, each with its rows, and what is known of
    folders.

    folders: how many of the files each holds.  made: folders that were made.  left:
    those whose last file went.
    """

    def __init__(self) -> None:
        self.rows: dict[str, list[int]] = {}
        self.folders = Counter[str]()
        self.made: set[str] = set()
        self.left: set[str] = set()
        self.removed: dict[str, list[int]] = defaultdict(list)

    def touch(self, row: int, path: str) -> None:
        """A file is there."""
        self._put(path, [row])

    def take(self, step: FileStep) -> None:
        """Do what a step says."""
        if step.verb == FOLDER:
            self._make(step)
        elif step.verb == REMOVE:
            for source in self._sources(step):
                for name in self._names_in(source):
                    self.removed[name] += self._pop(name)
        elif step.verb == RESTORE:
            self._restore(step)
        elif step.verb == MOVE:
            self._move(step)

    def _put(self, path: str, rows: list[int]) -> None:
        if path not in self.rows:
            for folder in _folders_of(path):
                self.folders[folder] += 1
                self.left.discard(folder)
        self.rows.setdefault(path, []).extend(rows)

    def _pop(self, path: str) -> list[int]:
        rows = self.rows.pop(path, None)
        if rows is None:
            return []
        for folder in _folders_of(path):
            self.folders[folder] -= 1
            if self.folders[folder] == 0:
                del self.folders[folder]
                self.left.add(folder)
        return rows

    def _names_in(self, source: str) -> list[str]:
        if source in self.rows:
            return [source]
        return (
            [name for name in self.rows if name.startswith(f"{source}/")]
            if source in self.folders
            else []
        )

    def _sources(self, step: FileStep) -> list[str]:
        """What a step's operands stand for: files and folders that are there."""
        found: dict[str, None] = {}
        for path in step.paths:
            for folder in step.folders:
                places = self._places(folder, path)
                if places:
                    found.update(dict.fromkeys(places))
                    break
        return list(found)

    def _places(self, folder: str, path: str) -> list[str]:
        place = joined_path(folder, path.removeprefix(PATTERN))
        if not place or (path.startswith(PATTERN) and path.count("*") > _MOST_STARS):
            return []
        if not path.startswith(PATTERN):
            return [place] if place in self.rows or place in self.folders else []
        pattern = _compiled(place)
        return [name for name in (*self.rows, *self.folders) if pattern.fullmatch(name)]

    def _make(self, step: FileStep) -> None:
        for path in step.paths:
            place = joined_path(step.folders[0], path)
            if place and not path.startswith(PATTERN):
                self.made.update((place, *_folders_of(place)))
                self.left.discard(place)

    def _restore(self, step: FileStep) -> None:
        for path in step.paths:
            for folder in step.folders:
                place = joined_path(folder, path)
                if place is None:
                    continue
                start = f"{place}/" if place else ""
                names = [
                    name
                    for name in self.removed
                    if name == place or name.startswith(start)
                ]
                for name in names:
                    self._put(name, self.removed.pop(name))

    def _move(self, step: FileStep) -> None:
        sources = self._sources(step)
        # Names are read before any of them changes, since a folder may move into
        # another of the step.
        names = {source: self._names_in(source) for source in sources}
        for source in sources:
            target = self._target(step, source)
            moved = [(name, self._pop(name)) for name in names[source]]
            is_folder = names[source] != [source]
            if is_folder and source in self.made:
                self.made.discard(source)
            for name, rows in moved:
                if target is not None and rows:
                    new = target + name[len(source) :]
                    self._pop(new)
                    self._put(new, rows)
            if target is not None and is_folder:
                self.made.add(target)

    def _target(self, step: FileStep, source: str) -> str | None:
        """The new name of a file or folder; None where it leads elsewhere, or can be
        read in two ways.
        """
        if step.target == ELSEWHERE or step.target.startswith(PATTERN):
            return None
        places = [joined_path(folder, step.target) for folder in step.folders]
        place = next(
            (place for place in places if place is not None and self._is_folder(place)),
            places[0],
        )
        if place is None:
            return None
        into = step.into
        if into is None:
            into = self._is_folder(place)
            if not into and place not in self.rows:
                into = self._guess(step.target, place, source)
        if into is None:
            return None
        return (
            posixpath.normpath(posixpath.join(place, posixpath.basename(source)))
            if into
            else place
        )

    def _is_folder(self, place: str) -> bool:
        return place == "" or place in self.folders or place in self.made

    def _guess(self, target: str, place: str, source: str) -> bool | None:
        """Whether a name that nothing is known of is a folder; None where it may be or
        not.
        """
        is_file = source in self.rows
        if target.endswith("/"):
            return True if is_file else (None if place in self.left else False)
        if place in self.left:
            return None
        has_ending = "." in posixpath.basename(place)
        return (
            None
            if is_file and "." in posixpath.basename(source)[1:] and not has_ending
            else False
        )


def _folders_of(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _compiled(place: str) -> re.Pattern[str]:
    """The names that a pattern stands for: * and ? never stand for a slash, nor for a
    dot at the start of a name.
    """
    text = ""
    for sign in re.split(r"(\*+|\?)", place):
        if sign and sign[0] in "*?" and (not text or text.endswith("/")):
            text += r"(?!\.)"
        if sign.startswith("*"):
            text += "[^/]*"
        elif sign == "?":
            text += "[^/]"
        else:
            text += re.escape(sign)
    return re.compile(text, re.S)


def followed(counts: Mapping[str, int], names: Mapping[str, str]) -> dict[str, int]:
    """Files with how often each was edited, under the names that they have now; without
    those that are gone.
    """
    found = Counter[str]()
    for path, times in counts.items():
        name = names.get(path, path)
        if name != GONE:
            found[name] += times
    return dict(found)
