"""The file config.json, and beside it the note of what was found in it when it was last checked.

Checking takes pydantic, whose import costs more than all else that a short command does.
"""

import hashlib
import json
import stat
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from theorex_lab.errors import ConfigError

_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}


def read_object(file: Path) -> tuple[bytes, dict[str, Any]]:
    """The bytes of a file and the JSON object that they are; none and an empty one where there is no file.

    Raises ConfigError where it is no regular file, cannot be read, is not UTF-8, holds a key twice, or anything else.
    """
    try:
        content = _read(file)
        values = json.loads(content.decode(), object_pairs_hook=partial(unambiguous, file))
    except FileNotFoundError:
        return b"", {}
    except ConfigError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{file} cannot be read: {error}; mend it, or remove it to use the defaults") from error
    if not isinstance(values, dict):
        raise ConfigError(f"{file} holds a {type(values).__name__}; allowed is a JSON object of settings")
    return content, values


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


def remembered(file: Path, content: bytes, rules: str) -> dict[str, Any] | None:
    """The values that a check by these rules found in these bytes of `file`, or None: they must be checked (again).

    The note is not trusted: one that is stale, torn, of another release, or no regular file is passed over.
    """
    try:
        seal, _, values = _read(_note(file)).partition(b"\n")
        if seal.decode() != _seal(content, rules, values):
            return None
        known: dict[str, Any] = json.loads(values)
    except (OSError, ValueError, RecursionError):
        return None
    return known


def remember(file: Path, content: bytes, rules: str, values: dict[str, Any]) -> None:
    """Note the values that were found in these bytes; where the folder cannot be written, they are checked every time."""
    from theorex_lab.journal.files import write_atomically

    found = json.dumps(values).encode()
    with suppress(OSError):
        write_atomically(_note(file), f"{_seal(content, rules, found)}\n".encode() + found, mode=0o600)


def _note(file: Path) -> Path:
    return file.with_name(f".{file.name}.checked")


def _seal(content: bytes, rules: str, values: bytes) -> str:
    parts = (content, rules.encode(), values)
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def _read(file: Path) -> bytes:
    """The bytes of a regular file: a pipe would be waited for, and a device may never end."""
    if (kind := stat.S_IFMT(file.stat().st_mode)) != stat.S_IFREG:
        what = _KINDS.get(kind, "a device")
        raise ConfigError(f"{file} is {what}; allowed is a regular file: remove it to use the defaults")
    return file.read_bytes()
