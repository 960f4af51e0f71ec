"""The write-ahead log of a crashed home: would SQLite find all of it?

SQLite stops at the first bad frame in silence. The format is SQLite's
(sqlite.org/fileformat2.html#walformat, walformat.html). Standard library only; paths
are texts.
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
    """Return what is wrong with the log beside the journal at `path`.

    It is '' where SQLite will find every commit in the log. To be asked before SQLite
    opens the file, and never in a process that has it open already: to close a file
    gives back the locks that this process holds on it. Nothing is changed. Asks nothing
    of a log that another process uses. A commit is synced before the next one begins,
    so that a crash can tear one at most: the last commit may be damaged.
    """
    try:
        log = _read_alone(path)
    except (
        OSError
    ):  # a log that is gone has lost nothing; SQLite says why another cannot be opened
        return ""
    is_sound = _is_sound_header(log)
    page_bytes = int.from_bytes(log[8:12], "big") if is_sound else _PAGE_BYTES
    size = _FRAME_HEADER_BYTES + page_bytes
    big = log[3:4] == b"\x83"
    sums = _checksum(log[:24], (0, 0), big=big)
    salts = log[16:24] if is_sound else log[LOG_HEADER_BYTES + 8 :][:8]
    last_sound = 0
    torn_commits = []
    starts = range(LOG_HEADER_BYTES, len(log) - size + 1, size)
    for number, start in enumerate(starts, 1):
        frame = log[start : start + size]
        head = frame[:_FRAME_HEADER_BYTES]
        # The frame that ends a commit states the size of the file.
        is_commit = any(head[4:8])
        if is_sound:
            sums = _checksum(head[:8] + frame[len(head) :], sums, big=big)
            is_sound = head[8:] == salts + struct.pack(">II", *sums)
        if is_sound and is_commit:
            last_sound = number
        # A frame with other salts is of an earlier generation of the log.
        if not is_sound and is_commit and head[8:16] == salts:
            torn_commits.append(number)
    if len(torn_commits) <= 1:
        return ""
    return (
        f"{path}-wal holds commits up to frame {torn_commits[-1]}; frame"
        f" {last_sound + 1} is damaged"
    )


def _is_sound_header(log: bytes) -> bool:
    """Return whether the header of a log is one of SQLite's with its checksum."""
    if int.from_bytes(log[:4], "big") | 1 != _MAGIC | 1:
        return False
    sums = _checksum(log[:24], (0, 0), big=log[3:4] == b"\x83")
    return struct.pack(">II", *sums) == log[24:LOG_HEADER_BYTES]


def _checksum(data: bytes, start: tuple[int, int], *, big: bool) -> tuple[int, int]:
    """SQLite's running checksum over pairs of 32-bit words."""
    words = array("I", data)
    sum_1, sum_2 = start
    if big != (sys.byteorder == "big"):
        words.byteswap()
    for first, second in zip(words[::2], words[1::2], strict=True):
        sum_1 = (sum_1 + first + sum_2) & 0xFFFFFFFF
        sum_2 = (sum_2 + second + sum_1) & 0xFFFFFFFF
    return sum_1, sum_2


def _read_alone(path: str) -> bytes:
    """The log, while no process has the journal open or opens it.

    Raises OSError, also where one has.
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
