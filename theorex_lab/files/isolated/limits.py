"""What reading one file may cost, and an unpacked file that keeps to it.

Standard library only, since each process that reads starts with it.
"""

from __future__ import annotations

import gzip
import io
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from theorex_lab.core.errors import InvalidInput

if TYPE_CHECKING:
    from theorex_lab.core.settings import Settings

_PACKED = b"\x1f\x8b"


class ReadLimits(NamedTuple):
    """What reading one file may cost.

    Attributes:
        seconds: How long its reader may be waited for.
        memory_bytes: How much memory the process may have that reads it.
        unpacked_bytes: How large a packed file may become.
        output_bytes: How much its reader may give, at a time where it gives it one by
            one.
    """

    seconds: float = 60.0
    memory_bytes: int = 2 << 30
    unpacked_bytes: int = 1 << 30
    output_bytes: int = 256 << 20

    @classmethod
    def of(cls, settings: Settings) -> ReadLimits:
        """Return the limits that a home's settings state."""
        return cls(
            settings.read_seconds,
            settings.read_memory_bytes,
            settings.read_unpacked_bytes,
            settings.read_output_bytes,
        )


class FileNotRead(InvalidInput):
    """A file that is not read, since it would cost too much or ends its reader."""


def in_mebibytes(n_bytes: int) -> str:
    """Return a number of bytes as an error says it.

    >>> in_mebibytes(3 << 20), in_mebibytes(100)
    ('3 MiB', '100 bytes')
    """
    if n_bytes < 1 << 20:
        return f"{n_bytes} bytes"
    return f"{n_bytes / (1 << 20):g} MiB"


_CURRENT = {"limits": ReadLimits()}


def set_limits(limits: ReadLimits) -> None:
    """Set what the file may cost that this process reads next."""
    _CURRENT["limits"] = limits


def is_packed(file: io.BufferedReader) -> bool:
    """Return whether gzip packed a file, by its first bytes."""
    return file.peek(2)[:2] == _PACKED


def unpacked(file: BinaryIO) -> io.BufferedReader:
    """Return the content of a file that gzip packed.

    Reading it raises `FileNotRead` where it becomes larger than the limits allow.
    """
    return io.BufferedReader(_UnpackedFile(file), 1 << 16)


class _UnpackedFile(io.RawIOBase):
    """What a packed file holds, as far as the limits allow."""

    def __init__(self, file: BinaryIO) -> None:
        self._content = gzip.GzipFile(fileobj=file)
        self._most = _CURRENT["limits"].unpacked_bytes
        self._left = self._most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        data = self._content.read1(len(memoryview(buffer)))
        self._left -= len(data)
        if self._left < 0:
            raise FileNotRead(
                f"left out: unpacks to more than {in_mebibytes(self._most)} (setting"
                " readUnpackedBytes)"
            )
        memoryview(buffer)[: len(data)] = data
        return len(data)
