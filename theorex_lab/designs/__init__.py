"""Memory designs, one folder each; none knows another, and no room below knows one of them."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from theorex_lab.design import Design

ENTRY_POINTS = "theorex_lab.designs"
# Name of a design -> the module that holds it as DESIGN.
BUILT_IN = {name: f"theorex_lab.designs.{name}.design" for name in ("sessions", "theorex", "facts", "dreams", "causal")}


def installed() -> tuple[Design, ...]:
    """The built-in designs, and those of other packages."""
    return (*(import_module(module).DESIGN for module in BUILT_IN.values()), *others())


def others() -> tuple[Design, ...]:
    """The designs of other packages: the entry points of the group `theorex_lab.designs`."""
    if not _may_have_others():
        return ()
    from importlib.metadata import entry_points

    return tuple(point.load() for point in entry_points(group=ENTRY_POINTS))


def _may_have_others() -> bool:
    """Whether a package on the path names the group: reading the files costs a tenth of importing the library that knows."""
    return any(os.path.isfile(folder) or _names_group(folder) for folder in dict.fromkeys(sys.path))


def _names_group(folder: str) -> bool:
    try:
        with os.scandir(folder or ".") as found:
            infos = [entry.path for entry in found if entry.name.endswith((".dist-info", ".egg-info"))]
    except OSError:  # a folder that is not there holds no package
        return False
    for info in infos:
        try:
            with open(os.path.join(info, "entry_points.txt"), "rb") as file:
                if ENTRY_POINTS.encode() in file.read():
                    return True
        except OSError:  # most packages have no entry points
            continue
    return False
