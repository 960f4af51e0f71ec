"""Mark the functions that read what others wrote.

They run in a process of their own, and nowhere else. A function of this package that is
not marked is refused there. What another package brings need not be marked.
"""

from collections.abc import Callable
from typing import Any, TypeVar

_PACKAGE = "theorex_lab."
Reader = TypeVar("Reader", bound=Callable[..., Any])

# By a reader's module and name, how many times the seconds of the limits it may take.
_PATIENCE = dict[str, int]()


def reads_apart(*, patience: int = 1) -> Callable[[Reader], Reader]:
    """Mark a function as one that reads files of others, in a process apart.

    Args:
        patience: How many times the seconds of the limits it may take; at least 1.

    Example:
        >>> @reads_apart(patience=30)
        ... def watch(path): ...
        >>> patience_of(watch)
        30
    """

    def mark(function: Reader) -> Reader:
        name = full_name_of(function)
        _PATIENCE[name] = patience
        return function

    return mark


def full_name_of(function: Callable[..., Any]) -> str:
    """Return a function's module and name, as another process finds it."""
    module = function.__module__
    name = function.__name__
    return f"{module}:{name}"


def patience_of(function: Callable[..., Any]) -> int:
    """Return how many times the seconds of the limits a function may take.

    Raises:
        ValueError: It is a function of this package that is not marked.
    """
    name = full_name_of(function)
    if name in _PATIENCE:
        return _PATIENCE[name]
    if name.startswith(_PACKAGE):
        raise ValueError(
            f"got {name}, which is not marked; mark it with reads_apart",
        )
    return 1
