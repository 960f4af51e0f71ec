"""Hold the memory designs, one folder each.

None knows another, and no room below knows one of them.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from glob import escape, glob
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from theorex_lab.memory.contract import Design

ENTRY_POINTS = "theorex_lab.designs"
BUILT_IN = ("sessions", "theorex", "facts", "dreams", "causal", "research")


def installed() -> tuple[Design, ...]:
    """Return the built-in designs and those of other packages.

    The built-in ones come first, in the order of `BUILT_IN`, then `dropin`: it keeps
    what agents write through other products' tools, and learns nothing by itself.

    >>> [design.name for design in installed()][:3]
    ['sessions', 'theorex', 'facts']
    """
    from theorex_lab.designs.causal import design as causal
    from theorex_lab.designs.dreams import design as dreams
    from theorex_lab.designs.dropin import design as dropin
    from theorex_lab.designs.facts import design as facts
    from theorex_lab.designs.research import design as research
    from theorex_lab.designs.sessions import design as sessions
    from theorex_lab.designs.theorex import design as theorex

    built_in = (sessions, theorex, facts, dreams, causal, research, dropin)
    return (*(module.DESIGN for module in built_in), *others())


def others() -> tuple[Design, ...]:
    """Return the designs of other packages.

    They are the entry points of the group `theorex_lab.designs`.
    """
    if not _may_have_others():
        return ()
    from importlib.metadata import entry_points

    return tuple(point.load() for point in entry_points(group=ENTRY_POINTS))


def _may_have_others() -> bool:
    """Return whether a package on the path names the group.

    Reading the files costs a tenth of importing the library that knows. They are read
    again where a folder of the path changed, as it does with each package that comes or
    goes.
    """
    folders = dict.fromkeys(folder or "." for folder in sys.path)
    return _names_others(tuple((folder, _changed_at(folder)) for folder in folders))


@lru_cache(maxsize=1)
def _names_others(folders: tuple[tuple[str, int], ...]) -> bool:
    """Return whether a package of the folders names the group.

    Args:
        folders: The folders of the path, each with the time of its last change.
    """
    names = [folder for folder, _ in folders]
    if any(map(os.path.isfile, names)):  # packages in an archive
        return True
    for folder in names:
        files = glob(f"{escape(folder)}/*-info/entry_points.txt")
        if any(map(_names_group, files)):
            return True
    return False


def _changed_at(folder: str) -> int:
    """Return when a folder last changed, in nanoseconds of the system; 0 without one."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def _names_group(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return ENTRY_POINTS.encode() in file.read()
    except OSError:  # a package was taken away meanwhile
        return False
