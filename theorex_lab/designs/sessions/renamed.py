"""Which name each file has now.

Touches and moves are taken in the order of time, and chains of names are folded onto
the last one. Only what sessions did is known of the files: a folder that no session
touched may be there all the same. Where a move can be read in two ways, its files count
as gone until they are touched again.
"""

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
    """A file that was surely there.

    Attributes:
        at: When (µs) it was.
        seq: The seq of the event.
        path: Its name at that time.
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
    """Return the steps of a tool call that did not fail.

    They are those that it states, then those of its command.
    """
    body = event.body
    if body.get("ok") is False:
        return []
    steps: list[FileStep] = []
    for pair in body.get("moves") or ():
        steps += _stated_steps(pair)
    command = body.get("command")
    folder = body.get("folder")
    if not isinstance(folder, str):
        folder = None
    if isinstance(command, str) and command:
        steps += steps_of(command, folder)
    return steps


def _stated_steps(pair: Any) -> Iterator[FileStep]:
    """Yield the step of a pair of an old and a new path; nothing for what is none."""
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        return
    if not all(isinstance(path, str) for path in pair):
        return
    old, new = pair
    if old and new:
        yield FileStep(MOVE, ("",), (old,), new, into=False)
    elif old:
        yield FileStep(REMOVE, ("",), (old,))


def names_now(touched: Sequence[FileSighting], moves: Iterable[FileMoves]) -> list[str]:
    """Return the name that each file has after all moves.

    Args:
        touched: The files, each as it was surely there once.
        moves: What calls did to the names, in any order.

    Returns:
        A name a file; GONE for one that is gone.

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
    changes: list[_Change] = []
    for row, sighting in enumerate(touched):
        time = (sighting.at, sighting.seq, 0)
        changes.append(_Change(time, row, ()))
    for move in moves:
        time = (move.at, move.seq, 1)
        changes.append(_Change(time, None, move.steps))
    changes.sort(key=_time_of)
    for change in changes:
        if change.row is not None:
            tree.touch(change.row, touched[change.row].path)
        for step in change.steps:
            tree.take(step)
    names = [GONE] * len(touched)
    for name, rows in tree.rows.items():
        for row in rows:
            names[row] = name
    return names


class _Change(NamedTuple):
    """A sighting of a file, or what a call did to the names of files.

    Attributes:
        time: Its order: when (µs), the seq, and 0 for a sighting, 1 for a call.
        row: Of a sighting, its position; else None.
        steps: Of a call.
    """

    time: tuple[int, int, int]
    row: int | None
    steps: Sequence[FileStep]


def _time_of(change: _Change) -> tuple[int, int, int]:
    return change.time


class _Tree:
    """The names of files that exist, each with its rows, and what is known of folders.

    Attributes:
        rows: By name of a file its rows.
        folders: How many of the files each folder holds.
        made: Folders that were made.
        left: Folders whose last file went.
        removed: By name of a removed file its rows.
    """

    def __init__(self) -> None:
        self.rows: dict[str, list[int]] = {}
        self.folders = Counter[str]()
        self.made: set[str] = set()
        self.left: set[str] = set()
        self.removed: dict[str, list[int]] = defaultdict(list)

    def touch(self, row: int, path: str) -> None:
        """Note that a file exists."""
        self._put(path, [row])

    def take(self, step: FileStep) -> None:
        """Do what a step says."""
        if step.verb == FOLDER:
            self._make(step)
        elif step.verb == REMOVE:
            for source in self._sources(step):
                for name in self._names_in(source):
                    self.removed[name] += self._pop(name)
                self._rename_made(source, None)
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
        if source not in self.folders:
            return []
        start = f"{source}/"
        return [name for name in self.rows if name.startswith(start)]

    def _sources(self, step: FileStep) -> list[str]:
        """Return what a step's operands stand for: files and folders that exist."""
        sources: dict[str, None] = {}
        for path in step.paths:
            for folder in step.folders:
                matches = self._matches(folder, path)
                if matches:
                    sources.update(dict.fromkeys(matches))
                    break
        return list(sources)

    def _matches(self, folder: str, path: str) -> list[str]:
        """Return the files and folders that a path, or a pattern, stands for.

        Args:
            folder: The folder that the path starts from.
            path: A path, or a pattern behind the sign of patterns.
        """
        name = joined_path(folder, path.removeprefix(PATTERN))
        if not name:
            return []
        if path.startswith(PATTERN):
            if path.count("*") > _MOST_STARS:
                return []
            return self._fitting(name)
        if name in self.made or self._exists(name):
            return [name]
        return []

    def _fitting(self, name: str) -> list[str]:
        """Return the files and folders that a pattern stands for."""
        pattern = _compiled(name)
        matches = [file for file in self.rows if pattern.fullmatch(file)]
        matches += [folder for folder in self.folders if pattern.fullmatch(folder)]
        return matches

    def _exists(self, name: str) -> bool:
        """Return whether a file, or a folder with files, has a name."""
        return name in self.rows or name in self.folders

    def _make(self, step: FileStep) -> None:
        start = step.folders[0]
        for path in step.paths:
            if path.startswith(PATTERN):
                continue
            folder = joined_path(start, path)
            if folder:
                self.made.add(folder)
                self.made.update(_folders_of(folder))
                self.left.discard(folder)

    def _restore(self, step: FileStep) -> None:
        for path in step.paths:
            for folder in step.folders:
                target = joined_path(folder, path)
                if target is None:
                    continue
                for name in self._removed_in(target):
                    rows = self.removed.pop(name)
                    self._put(name, rows)

    def _removed_in(self, target: str) -> list[str]:
        """Return the removed files that a path names: itself, or those below it."""
        start = f"{target}/" if target else ""
        names: list[str] = []
        for name in self.removed:
            if name == target or name.startswith(start):
                names.append(name)
        return names

    def _move(self, step: FileStep) -> None:
        sources = self._sources(step)
        # Names are read before any of them changes, since a folder may move into another of
        # the step.
        names_in = {source: self._names_in(source) for source in sources}
        for source in sources:
            target = self._target(step, source)
            names = names_in[source]
            is_folder = names != [source]
            if is_folder:
                self._rename_made(source, target)
            self._move_files(source, names, target)
            if is_folder and target is not None:
                self.made.add(target)

    def _rename_made(self, source: str, target: str | None) -> None:
        """Give made folders below a source their names below the target.

        Without a target they are gone.
        """
        start = f"{source}/"
        inside: list[str] = []
        for folder in self.made:
            if folder == source or folder.startswith(start):
                inside.append(folder)
        for folder in inside:
            self.made.discard(folder)
            if target is not None:
                rest = folder.removeprefix(source)
                self.made.add(target + rest)

    def _move_files(
        self, source: str, names: Sequence[str], target: str | None
    ) -> None:
        """Give the files of a source their names below the target.

        Without a target they are gone.
        """
        rows_by_name = {name: self._pop(name) for name in names}
        if target is None:
            return
        for name, rows in rows_by_name.items():
            if not rows:
                continue
            rest = name.removeprefix(source)
            new_name = target + rest
            self._pop(new_name)
            self._put(new_name, rows)

    def _target(self, step: FileStep, source: str) -> str | None:
        """Return the new name of a file or folder.

        It is None where the step leads elsewhere, or can be read in two ways.
        """
        if step.target == ELSEWHERE or step.target.startswith(PATTERN):
            return None
        path = self._target_path(step)
        if path is None:
            return None
        into = step.into
        if into is None:
            into = self._is_into(step, path, source)
        if into is None:
            return None
        if not into:
            return path
        name = posixpath.basename(source)
        return posixpath.normpath(posixpath.join(path, name))

    def _target_path(self, step: FileStep) -> str | None:
        """Return the target as a path.

        It is in the folder in which the target is a folder, else in the first one.
        """
        paths = [joined_path(folder, step.target) for folder in step.folders]
        for path in paths:
            if path is not None and self._is_folder(path):
                return path
        return paths[0]

    def _is_into(self, step: FileStep, path: str, source: str) -> bool | None:
        """Return whether a source moves into a target rather than being named like it.

        It is None where the step can be read in two ways.
        """
        if self._is_folder(path):
            return True
        if path in self.rows:
            return False
        return self._guess(step.target, path, source)

    def _is_folder(self, path: str) -> bool:
        return path == "" or path in self.folders or path in self.made

    def _guess(self, target: str, path: str, source: str) -> bool | None:
        """Return whether a name that nothing is known of is a folder.

        It is None where it may be one or not.
        """
        is_file = source in self.rows
        ends_in_slash = target.endswith("/")
        if ends_in_slash and is_file:
            return True
        if path in self.left:
            return None
        if ends_in_slash or not is_file:
            return False
        source_has_ending = "." in posixpath.basename(source)[1:]
        path_has_ending = "." in posixpath.basename(path)
        if source_has_ending and not path_has_ending:
            return None
        return False


def _folders_of(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _compiled(path: str) -> re.Pattern[str]:
    """Return a regular expression of the names that a pattern stands for.

    The signs * and ? never stand for a slash, nor for a dot at the start of a name.
    """
    text = ""
    for part in re.split(r"(\*+|\?)", path):
        is_wildcard = part.startswith(("*", "?"))
        if is_wildcard and (not text or text.endswith("/")):
            text += r"(?!\.)"
        if part.startswith("*"):
            text += "[^/]*"
        elif part == "?":
            text += "[^/]"
        else:
            text += re.escape(part)
    return re.compile(text, re.S)


def followed(counts: Mapping[str, int], names: Mapping[str, str]) -> dict[str, int]:
    """Return how often each file was edited, by the names that the files have now.

    Files that are gone are left out.

    Args:
        counts: How often each was edited, by its name at that time.
        names: By name the name now, GONE for a file that is gone.
    """
    counts_now = Counter[str]()
    for path, times in counts.items():
        name = names.get(path, path)
        if name != GONE:
            counts_now[name] += times
    return dict(counts_now)
