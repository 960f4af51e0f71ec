"""The number of the newest event, kept beside the journal.

A write-ahead log that was cut, or a file that was replaced by an older copy, ends at an
earlier event and looks sound. What is kept here tells. Each transaction writes one slot
of a small file after its commit, so that no slot is ever ahead of the journal; the
newest event goes by the highest slot. Nothing waits for the disk: after a power cut the
file may lag behind, and then it tells less. Standard library only; paths are texts.
"""

import os
import zlib
from contextlib import suppress

LAST_WRITTEN_FILE = "theorex.db-last"
_FOLDERS_FILE = "projects.json"  # as `journal.places` names it; it begins with a seq
_SLOTS = 64  # processes that commit at once write different ones
_SLOT_BYTES = 64
_FILE_BYTES = _SLOTS * _SLOT_BYTES
_START_BYTES = 100
_TO_WRITE = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0)


class LastWritten:
    """The newest event of which something beside the journal knows.

    Attributes:
        seq: Its seq, 0 for none.
        id_sum: The checksum of its id, '' where the id is not known.
        source: What knows it.
    """

    __slots__ = ("id_sum", "seq", "source")

    def __init__(self, seq: int, id_sum: str, source: str) -> None:
        self.seq = seq
        self.id_sum = id_sum
        self.source = source


def write_last(path: str, seq: int, event_id: str) -> None:
    """Note that a journal's newest event is this one, once it is on the disk.

    Where the note cannot be written, nothing is said: the event is kept all the same.

    Args:
        path: The journal's file.
        seq: The seq of the event.
        event_id: Its id.
    """
    text = f"{seq} {id_sum(event_id)}"
    slot = f"{text} {_sum(text)}".ljust(_SLOT_BYTES - 1) + "\n"
    offset = seq % _SLOTS * _SLOT_BYTES
    with suppress(OSError):
        file = os.open(_beside(path), _TO_WRITE, 0o600)
        try:
            os.lseek(file, offset, os.SEEK_SET)
            os.write(file, slot.encode())
        finally:
            os.close(file)


def last_written(path: str) -> LastWritten:
    """Return the newest event that the file of slots, or that of folders, knows.

    Its seq is 0 where neither knows any. A slot that is torn or damaged is passed over.

    Args:
        path: The journal's file.
    """
    newest = LastWritten(_seq_of_folders(path), "", _FOLDERS_FILE)
    content = _start_of(_beside(path), _FILE_BYTES)
    for start in range(0, len(content), _SLOT_BYTES):
        slot = _slot_of(content[start : start + _SLOT_BYTES])
        if slot.seq and slot.seq >= newest.seq:
            newest = slot
    return newest


def id_sum(event_id: str) -> str:
    """Return the checksum of an event's id, as a slot holds it."""
    return _sum(event_id)


def _sum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def _beside(path: str) -> str:
    return os.path.join(os.path.dirname(path), LAST_WRITTEN_FILE)


def _slot_of(content: bytes) -> LastWritten:
    """Return what a slot says; the seq 0 where it is empty, torn or damaged."""
    words = content.decode("ascii", "replace").split()
    if len(words) == 3:
        seq, event_sum, slot_sum = words
        if seq.isdecimal() and slot_sum == _sum(f"{seq} {event_sum}"):
            return LastWritten(int(seq), event_sum, LAST_WRITTEN_FILE)
    return LastWritten(0, "", "")


def _seq_of_folders(path: str) -> int:
    """Return the seq with which the home's file of folders begins; 0 without one."""
    folder = os.path.dirname(path)
    start = _start_of(os.path.join(folder, _FOLDERS_FILE), _START_BYTES)
    _, is_there, after = start.partition(b'"seq":')
    digits = after.partition(b",")[0].strip()
    return int(digits) if is_there and digits.isdigit() else 0


def _start_of(path: str, size: int) -> bytes:
    """Return the first bytes of a file; none where it cannot be read."""
    with suppress(OSError), open(path, "rb") as file:
        return file.read(size)
    return b""
