"""The file of a sweep that is done in part."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from theorex_lab.errors import InvalidInput, StorageError
from theorex_lab.journal.files import write_atomically

Metrics = dict[str, float]

FILE_VERSION = 1


class ResumeFile:
    """JSON lines: a header with the fingerprint, then a setting's key and metrics each. A torn last line is dropped."""

    def __init__(self, path: Path, fingerprint: str) -> None:
        self.path, self.header = path, {"sweep": FILE_VERSION, "fingerprint": fingerprint}

    def read(self) -> dict[str, Metrics]:
        """What was done before; makes the file where there is none, and cuts off a torn last line."""
        try:
            data = self.path.read_bytes() if self.path.exists() else b""
            if not data:
                write_atomically(self.path, json.dumps(self.header).encode() + b"\n")
                return {}
            lines = data.split(b"\n")
            header, *rows = [self._parsed(line, number) for number, line in enumerate(lines[:-1], start=1)] or [{}]
            self._check(header)
            if lines[-1]:
                os.truncate(self.path, len(data) - len(lines[-1]))
        except OSError as error:
            raise self._storage(error) from error
        return {row["key"]: row["metrics"] for row in rows}

    def add(self, rows: Mapping[str, Metrics]) -> None:
        """Append rows, each a line; on disk when this returns."""
        lines = "".join(json.dumps({"key": key, "metrics": metrics}) + "\n" for key, metrics in rows.items())
        try:
            with self.path.open("ab") as file:
                file.write(lines.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise self._storage(error) from error

    def _parsed(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InvalidInput(f"{self.path}: line {number} is not JSON ({error}); {self._remedy()}") from error
        fits = isinstance(row, dict) and (
            number == 1 or ({"key", "metrics"} <= row.keys() and isinstance(row["metrics"], dict))
        )
        if not fits:
            raise InvalidInput(f"{self.path}: line {number} is no row of a sweep; {self._remedy()}")
        return dict(row)

    def _check(self, header: dict[str, Any]) -> None:
        if header.get("sweep") != FILE_VERSION:
            raise InvalidInput(f"{self.path} does not begin as the file of a sweep; {self._remedy()}")
        if header.get("fingerprint") != self.header["fingerprint"]:
            raise InvalidInput(f"{self.path} was made from another recording or with another metric; {self._remedy()}")

    def _remedy(self) -> str:
        return "give another file to resume, or remove this one to start anew"

    def _storage(self, error: OSError) -> StorageError:
        return StorageError(
            f"cannot use {self.path}: {error.strerror}; what is in it is kept; give another file to resume"
        )
