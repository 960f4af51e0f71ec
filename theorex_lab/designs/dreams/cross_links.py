"""Tell by a rule which strategies lead to which: what one made, another works with.

A strategy leads to a later one where a step of the first wrote a whole file, and a step
of the second works with that file without writing the whole of it itself. Likeness alone is no
reason: what leads to what is not told by it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from theorex_lab.designs.dreams import Edge
from theorex_lab.designs.dreams.strategies import Strategy

_READ_CHARACTERS = 2_000
_MOST_FILES = 200
# A file with its folders, as it stands in a command or in the arguments of a call.
_FILE = re.compile(
    r"""
    (?<![\w./~-])
    (?:~|\.{1,2})?/?
    (?:[\w.@-]{1,100}/){0,20}
    [\w@-][\w.@-]{0,100}
    \.[A-Za-z][A-Za-z0-9]{0,7}
    (?![\w/(-])
    """,
    re.VERBOSE,
)
# An action whose first word says that it writes a whole file.
_WRITES = re.compile(r"\s*(?:write|create|save|touch|generate)\w*[\s(:]", re.IGNORECASE)
_REDIRECTED = re.compile(r"(?<![0-9&])>>?\s*['\"]?([^\s'\"|;&<>()]{1,200})")
_REMOVES = re.compile(r"(?:^|&&|;)\s*(?:rm|git rm|unlink|delete)\b([^;&|]{0,400})")
# What is written there is nobody's to keep.
_PASSING = ("/tmp/", "/var/", "/dev/", "~/.", ".claude/")


def links_by_rule(
    new: Strategy, others: Sequence[Strategy]
) -> list[tuple[str, str, str]]:
    """Return the links from earlier strategies to a new one, as (from, to, type).

    Args:
        new: The new strategy.
        others: The strategies that were there before it.

    >>> from theorex_lab.designs.dreams.strategies import StrategyStep
    >>> def strategy(name, *actions):
    ...     steps = tuple(StrategyStep("", action, "") for action in actions)
    ...     return Strategy(name, name, "", steps)
    >>> made = strategy("st-1", "Write src/jwt_utils.py", "pytest -q")
    >>> links_by_rule(strategy("st-2", "Edit src/jwt_utils.py"), [made])
    [('st-1', 'st-2', 'causal')]
    >>> links_by_rule(strategy("st-3", "pytest -q"), [made])
    []
    """
    used = used_files(new)
    links = []
    for other in others:
        if other.id == new.id or not used:
            continue
        if _share_file(made_files(other), used):
            links.append((other.id, new.id, Edge.CAUSAL.value))
    return links


def _share_file(made: Sequence[str], used: Sequence[str]) -> bool:
    """Return whether one of the files that were made is one of those in use."""
    return any(_is_among(file, used) for file in made)


def _is_among(file: str, names: Sequence[str]) -> bool:
    """Return whether one of the names is the file's."""
    return any(_is_same_file(file, name) for name in names)


def made_files(strategy: Strategy) -> list[str]:
    """Return the files that the steps of a strategy wrote as a whole, and left there."""
    made: dict[str, None] = {}
    for step in strategy.steps:
        action = step.action[:_READ_CHARACTERS]
        for removed in _removed_by(action):
            made.pop(removed, None)
        if step.ok is not False:
            made.update(dict.fromkeys(_written_by(action)))
    return list(made)[:_MOST_FILES]


def used_files(strategy: Strategy) -> list[str]:
    """Return the files that a strategy works with and did not write as a whole before."""
    used: dict[str, None] = {}
    written_before: set[str] = set()
    for step in strategy.steps:
        action = step.action[:_READ_CHARACTERS]
        written_before.update(_written_by(action))
        for name in _files_in(action):
            if name not in written_before:
                used[name] = None
    return list(used)[:_MOST_FILES]


def _written_by(action: str) -> list[str]:
    """Return the files that an action writes as a whole."""
    if _WRITES.match(action):
        first_line, _, _ = action.partition("\n")
        return _files_in(first_line)[:1]
    names: list[str] = []
    for target in _REDIRECTED.findall(action):
        names += _files_in(target)
    return names


def _removed_by(action: str) -> list[str]:
    names: list[str] = []
    for arguments in _REMOVES.findall(action):
        names += _files_in(arguments)
    return names


def _files_in(text: str) -> list[str]:
    """Return the files that a text names, without those that are passing."""
    names: dict[str, None] = {}
    for name in _FILE.findall(text):
        if not _is_passing(name):
            names[name.removeprefix("./")] = None
    return list(names)


def _is_passing(name: str) -> bool:
    return name.startswith(_PASSING) or "/.claude/" in name


def _is_same_file(first: str, second: str) -> bool:
    """Return whether two names may be of one file: one is the end of the other.

    A name without a folder is the same as itself alone.
    """
    if first == second:
        return True
    short, long = sorted((first, second), key=len)
    return "/" in short and _ends_with_path(long, short)


def _ends_with_path(long: str, short: str) -> bool:
    return long.endswith(f"/{short.lstrip('/')}")
