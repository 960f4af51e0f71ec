"""Recorded files that come with the project: gzipped JSON Lines, a header and then one record of a fixed type a line."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from theorex_lab.errors import InvalidInput, NewerVersion

_SHOWN_DAMAGES = 5

T = TypeVar("T")


def read_header(path: str | Path, mark: dict[str, Any], version: int) -> dict[str, Any]:
    """The header of a file whose header holds `mark`. Raises as `read_lines`."""
    return _header(path, _read(path)[0], mark, version)


def read_lines(path: str | Path, record: type[T], mark: dict[str, Any], version: int) -> tuple[dict[str, Any], list[T]]:
    """The header, which holds `mark`, and the records of such a file.

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
