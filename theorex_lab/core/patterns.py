"""Regular expressions that are compiled when they are first used.

A command that only counts what is stored imports the modules that read texts, and uses
few of their patterns. To compile all of them took a quarter of its time.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False  # what type checkers take for true
if TYPE_CHECKING:
    from typing import Any

_METHODS = (
    "findall",
    "finditer",
    "flags",
    "fullmatch",
    "groupindex",
    "groups",
    "match",
    "pattern",
    "scanner",
    "search",
    "split",
    "sub",
    "subn",
)


class LazyPattern:
    """Stand in for a compiled pattern, and compile it at the first use.

    From then on its methods are those of the compiled pattern, at the same cost.

    Args:
        source: The regular expression.
        flags: As `re.compile` takes them.
    """

    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """Compile the pattern where its attribute needs that, and return it."""
        if name not in _METHODS:
            raise AttributeError(f"a pattern has no attribute {name!r}")
        if name == "pattern":
            return self._source
        # What begins with a group may set flags of its own.
        if name == "flags" and not self._source.lstrip().startswith("(?"):
            return int(self._flags | re.UNICODE)
        compiled = re.compile(self._source, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)

    def __repr__(self) -> str:
        return f"lazy_pattern({self._source!r}, {self._flags!r})"


def lazy_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that is compiled when it is first used.

    It has the methods of a compiled one. Functions of `re` do not take it: call its own.

    Args:
        source: The regular expression. An error in it is raised at the first use.
        flags: As `re.compile` takes them.

    >>> lazy_pattern("[0-9]+").findall("3 tills, 12 keys")
    ['3', '12']
    """
    pattern: Any = LazyPattern(source, flags)
    return pattern  # type: ignore[no-any-return]
