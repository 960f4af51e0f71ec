"""The write-ahead log of a crashed home: would SQLite find all of it?

SQLite stops at the first bad frame in silence. The format is SQLite's
(sqlite.org/fileformat2.html#walformat, walformat.html). Standard library only; paths
are texts.
"""

import struct
import sys
from array import array
from collections.abc import Iterator
from contextlib import ExitStack, suppress

from theorex_lab.journal.sqlite.connection import LOG_HEADER_BYTES

# The last bit of the magic number tells the byte order; journals are made with pages of
# this size.
_MAGIC = 0x377F0682
_FRAME_HEADER_BYTES = 24
_SUMMED_HEADER_BYTES = 24  # of the log's header; its checksum follows
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
    except OSError:
        # A log that is gone has lost nothing; SQLite says why another cannot be opened.
        return ""
    last_sound, torn_commits = _commits(log)
    if len(torn_commits) <= 1:
        return ""
    return (
        f"{path}-wal holds commits up to frame {torn_commits[-1]}; frame"
        f" {last_sound + 1} is damaged"
    )


def _commits(log: bytes) -> tuple[int, list[int]]:
    """Return the last sound commit of a log, and the commits behind what is damaged.

    Each is the number of its frame, from 1 on; 0 stands for no sound commit.
    """
    is_sound = _is_sound_header(log)
    is_big = _is_big_endian(log)
    header = log[:_SUMMED_HEADER_BYTES]
    sums = _checksum(header, (0, 0), big=is_big)
    salts = _salts(log, is_sound)
    last_sound = 0
    torn_commits: list[int] = []
    for number, frame in enumerate(_frames(log, is_sound), 1):
        head = frame[:_FRAME_HEADER_BYTES]
        page = frame[_FRAME_HEADER_BYTES:]
        # The frame that ends a commit states the size of the file.
        is_commit = any(head[4:8])
        # A frame with other salts is of an earlier generation of the log.
        is_of_this_log = head[8:16] == salts
        if is_sound:
            sums = _checksum(head[:8] + page, sums, big=is_big)
            is_sound = head[8:] == salts + _packed(sums)
        if not is_commit:
            continue
        if is_sound:
            last_sound = number
        elif is_of_this_log:
            torn_commits.append(number)
    return last_sound, torn_commits


def _frames(log: bytes, is_sound: bool) -> Iterator[bytes]:
    """Yield the whole frames of a log: a header and a page each.

    The log's header states the size of a page, where it is sound.
    """
    page_bytes = _PAGE_BYTES
    if is_sound:
        page_bytes = int.from_bytes(log[8:12], "big")
    size = _FRAME_HEADER_BYTES + page_bytes
    last_start = len(log) - size
    for start in range(LOG_HEADER_BYTES, last_start + 1, size):
        yield log[start : start + size]


def _salts(log: bytes, is_sound: bool) -> bytes:
    """Return the salts of a log: those of its header, or else of its first frame."""
    if is_sound:
        return log[16:24]
    first_frame = log[LOG_HEADER_BYTES:]
    return first_frame[8:16]


def _is_sound_header(log: bytes) -> bool:
    """Return whether the header of a log is one of SQLite's with its checksum."""
    magic = int.from_bytes(log[:4], "big")
    if magic | 1 != _MAGIC | 1:
        return False
    header = log[:_SUMMED_HEADER_BYTES]
    sums = _checksum(header, (0, 0), big=_is_big_endian(log))
    return _packed(sums) == log[_SUMMED_HEADER_BYTES:LOG_HEADER_BYTES]


def _is_big_endian(log: bytes) -> bool:
    """Return whether the checksums of a log are over words in that byte order."""
    return log[3:4] == b"\x83"


def _packed(sums: tuple[int, int]) -> bytes:
    """Return a checksum as a log holds it."""
    return struct.pack(">II", *sums)


def _checksum(data: bytes, start: tuple[int, int], *, big: bool) -> tuple[int, int]:
    """Return SQLite's running checksum over pairs of 32-bit words."""
    words = array("I", data)
    sum_1, sum_2 = start
    if big != (sys.byteorder == "big"):
        words.byteswap()
    for first, second in zip(words[::2], words[1::2], strict=True):
        sum_1 = (sum_1 + first + sum_2) & 0xFFFFFFFF
        sum_2 = (sum_2 + second + sum_1) & 0xFFFFFFFF
    return sum_1, sum_2


def _read_alone(path: str) -> bytes:
    """Return the log, while no process has the journal open or opens it.

    Raises:
        OSError: The log cannot be read, or a process has the journal open.
    """
    with ExitStack() as files:
        # Without shared memory nobody has it open.
        with suppress(ImportError, FileNotFoundError):
            import fcntl  # not on Windows, where a file that is in use cannot be opened

            alone = fcntl.LOCK_EX | fcntl.LOCK_NB
            index = files.enter_context(open(f"{path}-shm", "r+b", buffering=0))
            try:
                fcntl.lockf(index, alone, 1, _LIVE_BYTE)
            except BlockingIOError:
                # The shared lock waits for a process that is asking the same.
                fcntl.lockf(index, fcntl.LOCK_SH, 1, _LIVE_BYTE)
                fcntl.lockf(index, alone, 1, _LIVE_BYTE)
        log = files.enter_context(open(f"{path}-wal", "rb"))
        return log.read()
