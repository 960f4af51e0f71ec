"""When memory is searched for garbage, and when what was freed is given back.

The search for cycles is kept from running while much is made that has none.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# Python's own count is 700: several searches a module. A status makes 60,000.
_OBJECTS_BETWEEN = 100_000


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the search for cycles of garbage from running until the block ends.

    What is no longer referred to is freed as ever: cycles alone wait. The search looks
    at every object that lives, again each time that their number has grown by a
    quarter. It takes a fifth of the time of a fold, and of a maintenance.

    >>> with collector_paused():
    ...     gc.isenabled()
    False
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def collect_more_rarely() -> None:
    """Let the search for cycles of garbage wait for more objects, in this process.

    What a command line imports is no garbage, and lives until the end. To search it
    again and again took a tenth of the time of `theorex status`.
    """
    gc.set_threshold(_OBJECTS_BETWEEN)


def give_back_memory() -> None:
    """Give memory that was freed back to the system, after much was freed at once.

    The C library of Linux keeps it for the process otherwise. Others have no such
    function, and nothing is done there.
    """
    import ctypes

    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
