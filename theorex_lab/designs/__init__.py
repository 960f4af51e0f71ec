"""Hold the memory designs, one folder each.

None knows another, and no room below knows one of them.
"""

from __future__ import annotations

import os
import sys
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

    Reading the files costs a tenth of importing the library that knows.
    """
    folders = [folder or "." for folder in dict.fromkeys(sys.path)]
    if any(map(os.path.isfile, folders)):  # packages in an archive
        return True
    for folder in folders:
        files = glob(f"{escape(folder)}/*-info/entry_points.txt")
        if any(map(_names_group, files)):
            return True
    return False


def _names_group(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return ENTRY_POINTS.encode() in file.read()
    except OSError:  # a package was taken away meanwhile
        return False
