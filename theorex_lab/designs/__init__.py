"""Memory designs, one folder each; none knows another, and no room below knows one of them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from theorex_lab.design import Design

ENTRY_POINTS = "theorex_lab.designs"
# Name of a design -> the module that holds it as DESIGN.
BUILT_IN = {"theorex": "theorex_lab.designs.theorex.design"}


def installed() -> tuple[Design, ...]:
    """The built-in designs, and those of other packages: the entry points of the group `theorex_lab.designs`."""
    from importlib.metadata import entry_points

    built_in = [import_module(module).DESIGN for module in BUILT_IN.values()]
    return (*built_in, *(point.load() for point in entry_points(group=ENTRY_POINTS)))
