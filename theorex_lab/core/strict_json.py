"""JSON that says one thing only: an object with a key twice is refused."""

from pathlib import Path
from typing import Any

from theorex_lab.core.errors import ConfigError


def unambiguous(file: Path | str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build the object of these pairs; for `object_pairs_hook` of `json.loads`.

    Args:
        file: What is read, as the error names it.
        pairs: Keys and values in their order.

    Raises:
        ConfigError: A key stands twice, so that nobody knows which value is meant.

    >>> unambiguous("x", [("a", 1), ("a", 2)])
    Traceback (most recent call last):
    theorex_lab.core.errors.ConfigError: x: the key 'a' stands there twice; keep one of them
    """
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise ConfigError(
                f"{file}: the key {key!r} stands there twice; keep one of them"
            )
        values[key] = value
    return values
