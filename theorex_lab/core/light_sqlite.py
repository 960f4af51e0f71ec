"""SQLite as `sqlite3` has it, without what that imports for dates.

`sqlite3` is the module in C beneath it, and converters of dates, for which it imports
`datetime` and `collections.abc`. An agent's hook stores no dates, and waits for every
import. Functions, classes and errors are the same objects here and there; outside of
CPython, `sqlite3` itself stands here.
"""

# what type checkers take for true; importing `typing` would cost every start 5 ms
TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
else:
    try:
        import _sqlite3 as sqlite3

        sqlite3.connect  # noqa: B018 - a module of this name without it is another
    except (ImportError, AttributeError):
        import sqlite3

__all__ = ["sqlite3"]
