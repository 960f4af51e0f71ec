"""The write-ahead log of a crashed home: would SQLite, which stops at the first bad
frame in silence, find all of it?

The format is SQLite's (sqlite.org/fileformat2.html#walformat, walformat.html). Standard
library only; paths are texts.
"""

import struct
import sys
from array import array
from contextlib import ExitStack, suppress

from theorex_lab.journal.sqlite.connection import LOG_HEADER_BYTES

# The last bit of the magic number tells the byte order; journals are made with pages of
# this size.
_MAGIC = 0x377F0682
_FRAME_HEADER_BYTES = 24
_PAGE_BYTES = 4_096
# The byte of the shared-memory file on which every connection holds a shared lock
# (SQLite's "dead man's switch").
_LIVE_BYTE = 128


def lost_commits(path: str) -> str:
    """What is wrong with the log beside the journal at `path`, '' where SQLite will
    find every commit in it.

    To be asked before SQLite opens the file, and never in a process that has it open
    already: to close a file gives back the locks that this process holds on it. Nothing
    is changed. Asks nothing of a log that another process uses. A commit is synced
    before the next one begins, so that a crash can tear one at most: the last commit
    may be damaged.
    """
    try:
        log = _read_alone(path)
    except (
        OSError
    ):  # a log that is gone has lost nothing; SQLite says why another cannot be opened
        return ""
    magic = int.from_bytes(log[:4], "big")
    big = log[3:4] == b"\x83"
    sums = _checksum(log[:24], (0, 0), big=big)
    is_sound = (
        magic | 1 == _MAGIC | 1
        and struct.pack(">II", *sums) == log[24:LOG_HEADER_BYTES]
    )
    salts = log[16:24] if is_sound else log[LOG_HEADER_BYTES + 8 :][:8]
    sound = 0
    torn = []
    size = _FRAME_HEADER_BYTES + (
        int.from_bytes(log[8:12], "big") if is_sound else _PAGE_BYTES
    )
    for number, start in enumerate(
        range(LOG_HEADER_BYTES, len(log) - size + 1, size), 1
    ):
        head = log[start : start + _FRAME_HEADER_BYTES]
        sums = (
            _checksum(head[:8] + log[start + len(head) : start + size], sums, big=big)
            if is_sound
            else sums
        )
        is_sound = is_sound and head[8:] == salts + struct.pack(">II", *sums)
        if is_sound:
            sound = (
                number if any(head[4:8]) else sound
            )  # a frame that ends a commit states the size of the file
        elif (
            any(head[4:8]) and head[8:16] == salts
        ):  # else it is of an earlier generation of the log
            torn.append(number)
    return (
        f"{path}-wal holds commits up to frame {torn[-1]}; frame {sound + 1} is damaged"
        if len(torn) > 1
        else ""
    )


def _checksum(data: bytes, start: tuple[int, int], *, big: bool) -> tuple[int, int]:
    """SQLite's running checksum over pairs of 32-bit words."""
    words, (one, two) = array("I", data), start
    if big != (sys.byteorder == "big"):
        words.byteswap()
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = (one + first + two) & 0xFFFFFFFF
        two = (two + second + one) & 0xFFFFFFFF
    return one, two


def _read_alone(path: str) -> bytes:
    """The log, while no process has the journal open or opens it. Raises OSError, also
    where one has.
    """
    with ExitStack() as held:
        with suppress(
            ImportError, FileNotFoundError
        ):  # without shared memory nobody has it open
            import fcntl  # not on Windows, where a file that is in use cannot be opened

            index = held.enter_context(open(f"{path}-shm", "r+b", buffering=0))
            try:
                fcntl.lockf(index, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _LIVE_BYTE)
            except BlockingIOError:
                fcntl.lockf(
                    index, fcntl.LOCK_SH, 1, _LIVE_BYTE
                )  # waits for a process that is asking the same
                fcntl.lockf(index, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _LIVE_BYTE)
        return held.enter_context(open(f"{path}-wal", "rb")).read()
