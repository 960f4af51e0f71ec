"""Count the processor time that a memory was spared, as if it had been used.

A comparison gives again what it has: the hits of a question within the next budget, the
vectors of texts that another design stored. What a memory costs must not depend on what
was asked before.
"""

from __future__ import annotations

import threading
import time

_spared = threading.local()


def seconds_used() -> float:
    """Return the processor time of this thread, with what it was spared."""
    return time.thread_time() + _spared_seconds()


def spare(seconds: float) -> None:
    """Note that this thread was spared so much processor time.

    >>> before = seconds_used()
    >>> spare(60)
    >>> seconds_used() - before >= 60
    True
    """
    _spared.seconds = _spared_seconds() + seconds


def _spared_seconds() -> float:
    seconds: float = getattr(_spared, "seconds", 0.0)
    return seconds
