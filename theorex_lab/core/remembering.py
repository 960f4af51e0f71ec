"""What functions remember of texts, within bounds, and how all of it is forgotten.

Many functions read the same sentences, and remember what they made of the last ones.
What they hold is the text of a memory. It is dropped together: at the end of a
maintenance, and when something is erased.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import _lru_cache_wrapper, lru_cache

# what type checkers take for true; `typing` would cost every hook 7 ms
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")

_caches: list[_lru_cache_wrapper[Any]] = []


def remembered(most: int) -> Callable[[Callable[..., T]], _lru_cache_wrapper[T]]:
    """Return a decorator that lets a function remember its latest results.

    Args:
        most: Of how many calls, 1 or more; the ones used least recently are dropped.

    >>> @remembered(2)
    ... def length_of(text):
    ...     return len(text)
    >>> length_of("till"), length_of("till"), length_of.cache_info().hits
    (4, 4, 1)
    >>> forget_texts()
    >>> length_of.cache_info().currsize
    0
    """

    def decorate(function: Callable[..., T]) -> _lru_cache_wrapper[T]:
        cached = lru_cache(most)(function)
        _caches.append(cached)
        return cached

    return decorate


def forget_texts() -> None:
    """Drop all that functions remember of texts, in this process."""
    for cached in _caches:
        cached.cache_clear()
