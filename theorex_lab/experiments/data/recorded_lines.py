"""Recorded files that come with the project: gzipped JSON Lines, a header and then one record of a fixed type a line."""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from theorex_lab.errors import InvalidInput, NewerVersion
from theorex_lab.journal.files import write_atomically, writing

_SHOWN_DAMAGES = 5
T = TypeVar("T")


def write_lines(path: str | Path, header: dict[str, Any], records: Iterable[Any]) -> None:
    """Write a header and dataclasses, the same bytes on every machine. Raises StorageError where that fails.

    The gzip blocks are stored and not compressed, because builds of zlib compress differently.
    """
    lines = [header, *(asdict(record) for record in records)]
    text = "".join(json.dumps(line, sort_keys=True, separators=(",", ":"), allow_nan=False) + "\n" for line in lines)
    with writing(path, "allowed is a file in a folder that exists"):
        write_atomically(Path(path), _stored_gzip(text.encode("ascii")))


def read_header(path: str | Path, mark: dict[str, Any], version: int) -> dict[str, Any]:
    """The header of a file whose header holds `mark`. Raises as `read_lines`."""
    return _header(path, _read(path)[0], mark, version)


def read_lines(path: str | Path, record: type[T], mark: dict[str, Any], version: int) -> tuple[dict[str, Any], list[T]]:
    """The header, which holds `mark`, and the records of a file that `write_lines` wrote.

    Raises InvalidInput for a file that cannot be read or has another header, and for the damaged lines, each with its
    number and the reason; NewerVersion for a file of a newer release than `version`.
    """
    lines = _read(path)
    header, adapter = _header(path, lines[0], mark, version), TypeAdapter(record)
    records, wrong = [], []
    for number, line in enumerate(lines[1:], start=2):
        try:
            records.append(adapter.validate_json(line, strict=True))
        except ValidationError as error:
            wrong.append(f"line {number}: {_told(error)}")
    if wrong:
        raise damaged(path, wrong)
    return header, records


def damaged(path: str | Path, wrong: list[str]) -> InvalidInput:
    """The error that names the first few damaged lines; the caller raises it."""
    more = f"; and {len(wrong) - _SHOWN_DAMAGES} more" if len(wrong) > _SHOWN_DAMAGES else ""
    shown = "; ".join(wrong[:_SHOWN_DAMAGES])
    return InvalidInput(f"{path} has {len(wrong)} damaged lines; restore it or make it again: {shown}{more}")


def _read(path: str | Path) -> list[str]:
    try:
        return gzip.decompress(Path(path).read_bytes()).decode("utf-8").removesuffix("\n").split("\n")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read as recorded lines: {error}; restore it or make it again") from error


def _header(path: str | Path, line: str, mark: dict[str, Any], version: int) -> dict[str, Any]:
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or type(header.get("version")) is not int or not mark.items() <= header.items():
        raise InvalidInput(f"{path}: got line 1 {line:.60}; allowed is a header with {mark} and a version")
    if header["version"] > version:
        raise NewerVersion(f"{path} has version {header['version']}; this release reads up to {version}: upgrade it")
    return header


def _told(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    return ": ".join(map(str, [*first["loc"], first["msg"]]))


def _stored_gzip(data: bytes) -> bytes:
    """RFC 1952 and RFC 1951 (3.2.4) with stored blocks: no time, no file name, operating system unknown."""
    parts = [b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"]
    for first in range(0, len(data), 65_535):
        block = data[first : first + 65_535]
        parts += [struct.pack("<BHH", first + 65_535 >= len(data), len(block), len(block) ^ 0xFFFF), block]
    return b"".join([*parts, struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)])
