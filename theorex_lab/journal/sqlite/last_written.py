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
# Else Windows writes two characters for the end of a line.
_AS_IT_IS = getattr(os, "O_BINARY", 0)
_TO_WRITE = os.O_WRONLY | os.O_CREAT | _AS_IT_IS


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
    slots_path = _beside(path)
    write_slot(slots_path, seq, event_id)


def write_slot(slots_path: str, seq: int, event_id: str) -> None:
    """Note in a file of slots that a journal's newest event is this one.

    Args:
        slots_path: The file.
        seq: The seq of the event.
        event_id: Its id.
    """
    event_sum = id_sum(event_id)
    text = f"{seq} {event_sum}"
    slot_sum = _sum(text)
    line = f"{text} {slot_sum}"
    padded = line.ljust(_SLOT_BYTES - 1)
    slot = f"{padded}\n"
    number = seq % _SLOTS
    offset = number * _SLOT_BYTES
    with suppress(OSError):
        file = os.open(slots_path, _TO_WRITE, 0o600)
        try:
            os.lseek(file, offset, os.SEEK_SET)
            content = slot.encode()
            os.write(file, content)
        finally:
            os.close(file)


def last_written(path: str) -> LastWritten:
    """Return the newest event that the file of slots, or that of folders, knows.

    Its seq is 0 where neither knows any. A slot that is torn or damaged is passed over.

    Args:
        path: The journal's file.
    """
    folders_seq = _seq_of_folders(path)
    newest = LastWritten(folders_seq, "", _FOLDERS_FILE)
    slots_path = _beside(path)
    written = newest_slot(slots_path)
    if written.seq == 0:
        return newest
    if written.seq < newest.seq:
        return newest
    return written


def newest_slot(slots_path: str) -> LastWritten:
    """Return the newest event that a file of slots knows; its seq is 0 for none.

    Args:
        slots_path: The file.
    """
    source = os.path.basename(slots_path)
    newest = LastWritten(0, "", source)
    content = _start_of(slots_path, _FILE_BYTES)
    size = len(content)
    for start in range(0, size, _SLOT_BYTES):
        end = start + _SLOT_BYTES
        slot = _slot_of(content[start:end], source)
        if slot.seq > newest.seq:
            newest = slot
    return newest


def id_sum(event_id: str) -> str:
    """Return the checksum of an event's id, as a slot holds it."""
    return _sum(event_id)


def _sum(text: str) -> str:
    content = text.encode()
    crc = zlib.crc32(content)
    return f"{crc:08x}"


def _beside(path: str) -> str:
    folder = os.path.dirname(path)
    return os.path.join(folder, LAST_WRITTEN_FILE)


def _slot_of(content: bytes, source: str) -> LastWritten:
    """Return what a slot says; the seq 0 where it is empty, torn or damaged."""
    nothing = LastWritten(0, "", "")
    text = content.decode("ascii", "replace")
    words = text.split()
    if len(words) != 3:
        return nothing
    seq, event_sum, slot_sum = words
    expected_sum = _sum(f"{seq} {event_sum}")
    if slot_sum != expected_sum:
        return nothing
    if not seq.isdecimal():
        return nothing
    number = int(seq)
    return LastWritten(number, event_sum, source)


def _seq_of_folders(path: str) -> int:
    """Return the seq with which the home's file of folders begins; 0 without one."""
    folder = os.path.dirname(path)
    folders_path = os.path.join(folder, _FOLDERS_FILE)
    start = _start_of(folders_path, _START_BYTES)
    _, _, after = start.partition(b'"seq":')
    digits, _, _ = after.partition(b",")
    if not digits.isdigit():
        return 0
    return int(digits)


def _start_of(path: str, size: int) -> bytes:
    """Return the first bytes of a file; none where it cannot be read."""
    with suppress(OSError), open(path, "rb") as file:
        return file.read(size)
    return b""
