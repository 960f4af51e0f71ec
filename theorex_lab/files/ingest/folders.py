"""Files below a folder: those that are read, and all that is left out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Why a file is left out, as a report says it.
HIDDEN = "hidden"
IGNORED = "named by .gitignore"
OTHER_KIND = "of kinds that are not read"
LINK = "links within the folder"
LEADS_OUT = "links that lead out of the folder"
BROKEN_LINK = "links to nothing"
NO_FILE = "no regular files"
UNREADABLE = "not to be listed"
UNREAD = "could not be read"

# A folder, and the rules of its .gitignore.
_IgnoreRules = tuple[str, Any]
_Entry = os.DirEntry[str]


class FolderWalk:
    """The files with some endings below folders, and what else is there.

    Links are not followed. A folder that is left out stands for all that is in it.

    Args:
        suffixes: The endings, in lower case.

    Attributes:
        left_out: Why something was left out, with its path; a folder ends with "/".
        problems: What of it is to be mended: a path, and what is the matter.
        unread_folders: The folders that could not be listed.
    """

    def __init__(self, suffixes: tuple[str, ...]) -> None:
        self.left_out: list[tuple[str, str]] = []
        self.problems: list[tuple[str, str]] = []
        self.unread_folders: list[str] = []
        self._suffixes = suffixes

    def files(self, folder: Path, root: Path) -> Iterator[Path]:
        """Yield the files below a folder, in order.

        Hidden ones are left out, and those that a .gitignore from `root` on leaves out.

        Args:
            folder: The folder.
            root: Where the checkout begins that the folder lies in.
        """
        top = os.path.realpath(folder)
        waiting = [(top, _rules_above(top, root))]
        while waiting:
            path, rules = waiting.pop()
            rules_here = _spec_of(path)
            if rules_here is not None:
                rules = [*rules, rules_here]
            folders = []
            for entry in self._entries_of(path):
                why = self._why_left_out(entry, top, rules)
                if why:
                    self._leave_out(entry, why)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    yield Path(entry.path)
            waiting += [(below, rules) for below in reversed(folders)]

    def _entries_of(self, folder: str) -> list[_Entry]:
        """Return what is in a folder, in order."""
        try:
            with os.scandir(folder) as entries:
                return sorted(entries, key=_name_of)
        except OSError as error:
            why = error.strerror or str(error)
            self.problems.append((folder, why))
            self.left_out.append((UNREADABLE, f"{folder}/"))
            self.unread_folders.append(folder)
            return []

    def _why_left_out(
        self,
        entry: _Entry,
        top: str,
        rules: list[_IgnoreRules],
    ) -> str:
        """Return why an entry is left out, '' where it is not."""
        if entry.name.startswith("."):
            return HIDDEN
        is_folder = entry.is_dir(follow_symlinks=False)
        ruled_path = f"{entry.path}/" if is_folder else entry.path
        if _leads_out(entry, top):
            return LEADS_OUT
        if _is_ignored(ruled_path, rules):
            return IGNORED
        if entry.is_symlink():
            return BROKEN_LINK if is_dead_link(entry.path) else LINK
        return "" if is_folder else self._why_not_read(entry)

    def _why_not_read(self, entry: _Entry) -> str:
        """Return why a file is left out for what it is, '' where it is not."""
        if not entry.is_file(follow_symlinks=False):
            return NO_FILE
        file_name = entry.name.lower()
        is_read = file_name.endswith(self._suffixes)
        return "" if is_read else OTHER_KIND

    def _leave_out(self, entry: _Entry, why: str) -> None:
        is_folder = entry.is_dir(follow_symlinks=False)
        path = f"{entry.path}/" if is_folder else entry.path
        self.left_out.append((why, path))
        if why == LEADS_OUT:
            problem = "a link that leads out of the folder; name what it leads to"
            self.problems.append((entry.path, problem))


def _name_of(entry: _Entry) -> str:
    return entry.name


def _rules_above(
    top: str,
    root: Path,
) -> list[_IgnoreRules]:
    """Return the rules of the folders from `root` down to above `top`."""
    rules = []
    for parent in reversed(Path(top).parents):
        if parent == root or root in parent.parents:
            spec = _spec_of(str(parent))
            if spec is not None:
                rules.append(spec)
    return rules


def _leads_out(
    entry: _Entry,
    top: str,
) -> bool:
    """Return whether an entry is a link that leads out of the folder `top`."""
    if not entry.is_symlink():
        return False
    target = f"{os.path.realpath(entry.path)}{os.sep}"
    return not target.startswith(top + os.sep)


def is_dead_link(path: str | Path) -> bool:
    """Return whether a path is a link to what is not there, or to itself."""
    link = Path(path)
    try:
        return link.is_symlink() and not link.exists()
    except OSError:  # it is out of reach
        return True


def _spec_of(folder: str) -> _IgnoreRules | None:
    """Return a folder, and the rules of its .gitignore; None where it has none."""
    file = Path(folder, ".gitignore")
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:  # it has none, or none that may be read
        return None
    from pathspec import GitIgnoreSpec

    return folder, GitIgnoreSpec.from_lines(text.splitlines())


def _is_ignored(
    path: str,
    rules: list[_IgnoreRules],
) -> bool:
    """Return whether the nearest rule that says something of a path leaves it out."""
    for folder, spec in reversed(rules):
        relative = path[len(folder) + 1 :]
        verdict = spec.check_file(relative).include
        if verdict is not None:
            return bool(verdict)
    return False
