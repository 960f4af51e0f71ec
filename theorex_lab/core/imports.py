"""Objects that a user names, such as a decay law of their own in the settings."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from theorex_lab.core.errors import InvalidInput


def import_string(place: str) -> Any:
    """Import what a user names as `module:Name`.

    Code of the package imports what it needs by an import statement.

    Raises:
        InvalidInput: It cannot be imported.

    >>> import_string("math:tau") > 6
    True
    """
    module, _, name = place.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidInput(
            f"got {place!r} ({error}); give module:Name of something that can be imported"
        ) from error
