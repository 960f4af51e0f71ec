"""Check the paths of memory files: nothing leads out of /memories.

The tree is virtual: a path is a key of the journal and never opened on a disk. So no
link exists in it, and nothing could be reached by a path that gets past this check. It
refuses whatever another program might read as a way out, when it gets the path.
"""

from __future__ import annotations

import unicodedata
from urllib.parse import unquote

from theorex_lab.core.errors import InvalidInput
from theorex_lab.text.redact.redaction_scope import kept_path
from theorex_lab.text.visible import visible

ROOT = "/memories"
_MOST_CHARACTERS = 1_024
_MOST_PART_BYTES = 255
_MOST_PARTS = 32
_MOST_DECODINGS = 8  # %252e is %2e is .


class RefusedPath(InvalidInput):
    """A path that may lead out of /memories, or that no file may have."""


def checked_path(path: object) -> str:
    """Return a path below /memories, or /memories itself, without a slash at its end.

    Raises:
        RefusedPath: The path is outside the rules.

    >>> checked_path("/memories/till/"), checked_path("/memories")
    ('/memories/till', '/memories')
    >>> checked_path("/memories/%2e%2e/etc")
    Traceback (most recent call last):
        ...
    theorex_lab.designs.dropin.file_paths.RefusedPath: got the part '..' of the \
path '/memories/%2e%2e/etc'; allowed are names of files and folders
    """
    if not isinstance(path, str):
        raise RefusedPath(f"got {path!r:.60} for a path; allowed is a text")
    if len(path) > _MOST_CHARACTERS:
        raise RefusedPath(
            f"got a path of {len(path)} characters; allowed are up to"
            f" {_MOST_CHARACTERS}"
        )
    plain = visible(path)
    for form in _readings(plain):
        _check_reading(path, form)
    stripped = plain.removesuffix("/")
    parts = stripped.removeprefix(ROOT).split("/")[1:]
    _check_parts(path, parts)
    # Each name is masked by itself first, so that the files of one folder stay in it.
    names = [kept_path(part) for part in parts]
    return kept_path("/".join([ROOT, *names]))


def _readings(path: str) -> list[str]:
    """Return every form in which a program may read a path.

    Raises:
        RefusedPath: The path is encoded again and again.
    """
    readings = [path]
    while len(readings) <= _MOST_DECODINGS:
        decoded = unquote(readings[-1])
        if decoded == readings[-1]:
            break
        readings.append(decoded)
    else:
        raise RefusedPath(
            f"got the path {path[:80]!r}, which is encoded more than"
            f" {_MOST_DECODINGS} times; allowed is a plain path"
        )
    alike = [unicodedata.normalize("NFKC", reading) for reading in readings]
    return [*readings, *alike]


def _check_reading(path: str, reading: str) -> None:
    """Refuse one form of a path.

    Raises:
        RefusedPath: It leads out of /memories, or holds a character that no name has.
    """
    refused = _refused_character(reading)
    if refused:
        raise RefusedPath(
            f"got the path {path[:80]!r} with the character {refused!r}; allowed are"
            " characters that one sees"
        )
    if reading != ROOT and not reading.startswith(f"{ROOT}/"):
        raise RefusedPath(f"got the path {path[:80]!r}; allowed is one below {ROOT}")
    for part in reading.split("/"):
        if part.strip() in (".", ".."):
            raise RefusedPath(
                f"got the part {part!r} of the path {path[:80]!r}; allowed are names of"
                " files and folders"
            )


def _refused_character(text: str) -> str:
    """Return the first character that no name may hold, '' without one."""
    for character in text:
        is_control = unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
        if is_control or character == "\\":
            return character
    return ""


def _check_parts(path: str, parts: list[str]) -> None:
    """Refuse names that no file or folder may have.

    Raises:
        RefusedPath: There are too many, or one is empty or too long.
    """
    if len(parts) > _MOST_PARTS:
        raise RefusedPath(
            f"got the path {path[:80]!r} of {len(parts)} parts; allowed are up to"
            f" {_MOST_PARTS}"
        )
    for part in parts:
        n_bytes = len(part.encode())
        if not part.strip() or n_bytes > _MOST_PART_BYTES:
            raise RefusedPath(
                f"got a part of {n_bytes} bytes in the path {path[:80]!r}; allowed are"
                f" 1 to {_MOST_PART_BYTES}, not all of them blanks"
            )
