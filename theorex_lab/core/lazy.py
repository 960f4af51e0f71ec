"""Modules that are imported when something in them is first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LazyModule:
    """Stand in for a module, and import it at the first access to one of its names.

    Write the same import for editors and type checkers, which then follow it:

        if TYPE_CHECKING:
            from theorex_lab.app.cli import memory
        else:
            memory = LazyModule("theorex_lab.app.cli.memory")

    Args:
        name: The module's full name.

    >>> colours = LazyModule("colorsys")
    >>> colours
    LazyModule('colorsys')
    >>> colours.rgb_to_hsv(0, 0, 1)
    (0.6666666666666666, 1.0, 1)
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        """Import the module and return what it calls `attribute`."""
        return getattr(import_module(self._name), attribute)

    def __repr__(self) -> str:
        return f"LazyModule({self._name!r})"
