"""The file config.json, read as a JSON object."""

import json
import stat
from functools import partial
from pathlib import Path
from typing import Any

from theorex_lab.errors import ConfigError

_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}


def read_object(file: Path) -> dict[str, Any]:
    """The JSON object in a file; an empty one where there is no file.

    Raises ConfigError where it is no regular file, cannot be read, is not UTF-8, holds a key twice, or anything else.
    """
    try:
        # A pipe would be waited for, and a device may never end.
        if (kind := stat.S_IFMT(file.stat().st_mode)) != stat.S_IFREG:
            what = _KINDS.get(kind, "a device")
            raise ConfigError(f"{file} is {what}; allowed is a regular file: remove it to use the defaults")
        values = json.loads(file.read_bytes().decode(), object_pairs_hook=partial(unambiguous, file))
    except FileNotFoundError:
        return {}
    except ConfigError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{file} cannot be read: {error}; mend it, or remove it to use the defaults") from error
    if not isinstance(values, dict):
        raise ConfigError(f"{file} holds a {type(values).__name__}; allowed is a JSON object of settings")
    return values


def unambiguous(file: Path | str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs. Raises ConfigError for a key that stands twice: nobody knows which value is meant.

    >>> unambiguous("config.json", [("a", 1), ("a", 2)])
    Traceback (most recent call last):
    theorex_lab.errors.ConfigError: config.json: the key 'a' stands there twice; keep one of them
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ConfigError(f"{file}: the key {twice!r} stands there twice; keep one of them")
    return found
