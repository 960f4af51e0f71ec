"""Whether the time for a hostile text grows with its length alone.

A time that is at most a square of the length is at most a sixteenth for a quarter of the
text. So where a quarter takes less than a sixteenth of what is allowed, the whole text
takes less than that, and need not be timed.
"""

from __future__ import annotations

from collections.abc import Callable


def is_surely_within(
    seconds: Callable[[int], float], length: int, bound: float
) -> bool:
    """Return whether a quarter of a text shows that the text takes less than is allowed.

    >>> is_surely_within(lambda length: length / 1_000, 400, 1.7)
    True
    >>> is_surely_within(lambda length: length / 1_000, 400, 1.5)
    False
    """
    return seconds(length // 4) < bound / 16


def is_within(seconds: Callable[[int], float], length: int, bound: float) -> bool:
    """Return whether a text takes less time than is allowed, be it a square of its length.

    Args:
        seconds: Returns what a text of some length takes.
        length: The length that is asked about.
        bound: The seconds that are allowed for it.

    >>> is_within(lambda length: length / 1_000, 400, 0.5)
    True
    >>> is_within(lambda length: length**2 / 200_000, 400, 0.5)
    False
    """
    if is_surely_within(seconds, length, bound):
        return True
    return seconds(length // 2) < bound / 4 or seconds(length) < bound
