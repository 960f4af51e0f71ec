"""The write-ahead log of a crashed home: would SQLite, which stops at the first bad frame in silence, find all of it?

The format is SQLite's (sqlite.org/fileformat2.html#walformat, walformat.html). Standard library only; paths are texts.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections import namedtuple
from contextlib import contextmanager

from theorex_lab.journal.sqlite.connection import LOG_HEADER_BYTES

TYPE_CHECKING = False  # what type checkers take for true
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

# One frame of the log's current generation: its number from 1, its page, whether it ends a commit, where its content starts.
Frame = namedtuple("Frame", "number page commits start")
FRAME_HEADER_BYTES = 24
_INDEX_HEADER_BYTES = 48
_LITTLE_ENDIAN_MAGIC, _BIG_ENDIAN_MAGIC = 0x377F0682, 0x377F0683
# The byte of the shared-memory file on which every connection holds a shared lock (SQLite's "dead man's switch").
_LIVE_BYTE = 128
_MASK = 0xFFFFFFFF


def lost_commits(path: str) -> str:
    """What is wrong with the log beside the journal at `path`, '' where SQLite will find every commit in it.

    To be asked before SQLite opens the file, and never in a process that has it open already: to close a file gives
    back the locks that this process holds on it. Nothing is changed. Asks nothing of a log that another process uses.
    """
    try:
        with _nobody_else(f"{path}-shm") as (alone, index):
            if not alone:
                return ""
            with open(f"{path}-wal", "rb") as file:
                log = file.read()
    except OSError:
        return ""
    frames, sound = list(current_frames(log)), _sound_frames(log)
    committed = _noted_commits(index, log)
    if committed is None:
        # Without SQLite's own note: a commit is synced before the next one begins, so that a crash can tear one at most.
        after = [frame.number for frame in frames if frame.commits and frame.number > sound]
        committed = after[-1] if len(after) > 1 else 0
    if committed <= sound:
        return ""
    return f"{path}-wal holds commits up to frame {committed}, and frame {sound + 1} of them is damaged"


def current_frames(log: bytes) -> Iterator[Frame]:
    """The frames that carry the log's present salts, in order, without looking at their checksums."""
    if len(log) < LOG_HEADER_BYTES + FRAME_HEADER_BYTES:
        return
    size = FRAME_HEADER_BYTES + page_size(log)
    salts = log[16:24] if _header_is_sound(log) else log[LOG_HEADER_BYTES + 8 : LOG_HEADER_BYTES + 16]
    for number, start in enumerate(range(LOG_HEADER_BYTES, len(log) - size + 1, size), 1):
        page, pages = struct.unpack_from(">II", log, start)
        if log[start + 8 : start + 16] == salts:
            yield Frame(number, page, pages > 0, start + FRAME_HEADER_BYTES)


def page_size(log: bytes) -> int:
    """The size of a page as the log states it; 4,096, which is what journals are made with, where it is not a power of two."""
    stated = int(struct.unpack_from(">I", log, 8)[0])
    return stated if 512 <= stated <= 65_536 and stated & (stated - 1) == 0 else 4_096


def _header_is_sound(log: bytes) -> bool:
    if (magic := struct.unpack_from(">I", log)[0]) not in (_LITTLE_ENDIAN_MAGIC, _BIG_ENDIAN_MAGIC):
        return False
    return _checksum(log[:24], (0, 0), big=magic == _BIG_ENDIAN_MAGIC) == struct.unpack_from(">II", log, 24)


def _sound_frames(log: bytes) -> int:
    """How many frames SQLite will take: up to the last commit before the first frame that is not as it was written."""
    if len(log) < LOG_HEADER_BYTES or not _header_is_sound(log):
        return 0
    big = struct.unpack_from(">I", log)[0] == _BIG_ENDIAN_MAGIC
    sums: tuple[int, int] = struct.unpack_from(">II", log, 24)
    size, expected, sound = page_size(log), 1, 0
    for number, _, commits, start in current_frames(log):
        head = start - FRAME_HEADER_BYTES
        sums = _checksum(log[start : start + size], _checksum(log[head : head + 8], sums, big=big), big=big)
        if number != expected or sums != struct.unpack_from(">II", log, head + 16):
            break
        expected += 1
        if commits:
            sound = number
    return sound


def _checksum(data: bytes, start: tuple[int, int], *, big: bool) -> tuple[int, int]:
    """SQLite's running checksum over pairs of 32-bit words."""
    words = array("I", data)
    if big != (sys.byteorder == "big"):
        words.byteswap()
    one, two = start
    pairs = iter(words)
    for first, second in zip(pairs, pairs, strict=True):
        one = (one + first + two) & _MASK
        two = (two + second + one) & _MASK
    return one, two


def _noted_commits(index: bytes, log: bytes) -> int | None:
    """The last committed frame as SQLite noted it in shared memory; None where that is of another log, or torn."""
    header = index[:_INDEX_HEADER_BYTES]
    if len(index) < 2 * _INDEX_HEADER_BYTES or header != index[_INDEX_HEADER_BYTES : 2 * _INDEX_HEADER_BYTES]:
        return None
    sums = _checksum(header[:40], (0, 0), big=sys.byteorder == "big")
    if sums != struct.unpack_from("=II", header, 40) or header[32:40] != log[16:24] or not header[12]:
        return None
    return int(struct.unpack_from("=I", header, 16)[0])


@contextmanager
def _nobody_else(index_path: str) -> Iterator[tuple[bool, bytes]]:
    """Whether no process has the journal open, and the shared-memory file's start; nobody opens it meanwhile."""
    try:
        import fcntl
    except ImportError:  # Windows, where a file that is in use cannot be opened
        yield True, b""
        return
    try:
        file: BinaryIO = open(index_path, "r+b", buffering=0)  # noqa: SIM115
    except FileNotFoundError:
        yield True, b""
        return
    with file:
        alone = _locked(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not alone:
            fcntl.lockf(file, fcntl.LOCK_SH, 1, _LIVE_BYTE)  # waits for a process that is asking the same
            alone = _locked(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield alone, file.read(2 * _INDEX_HEADER_BYTES)


def _locked(file: BinaryIO, how: int) -> bool:
    import fcntl

    try:
        fcntl.lockf(file, how, 1, _LIVE_BYTE)
    except OSError:
        return False
    return True
