"""Segment files: bodies of raw events that left the journal's file.

They are compressed, and never written to again.
"""

import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from theorex_lab.core.errors import CorruptJournal
from theorex_lab.core.files import make_folder, write_atomically, writing
from theorex_lab.journal.event import Body, Event, encode
from theorex_lab.journal.sqlite.connection import WAYS_OUT

ARCHIVE_FOLDER = "archive"
_HELD = 4  # segments whose bodies stay in memory
_OWNER_READS = 0o400


class Segments:
    """Reads bodies from the segments of a home.

    The bodies of the few segments that were last used stay in memory.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._held: dict[str, dict[str, Body]] = {}

    def body(self, segment: str, event_id: str) -> Body | None:
        """Return the event's body, or None where the segment lacks it.

        Raises:
            CorruptJournal: The segment is gone or damaged.
        """
        bodies = self._held.get(segment)
        if bodies is None or event_id not in bodies:
            bodies = {}
            for event in read_segment(self.folder / segment):
                bodies[event.id] = event.body
            segments = [*self._held.items(), (segment, bodies)]
            self._held = dict(segments[-_HELD:])
        return bodies.get(event_id)


def stub(body: Body, segment: str) -> Body:
    """Return what stands in the journal for a body that lies in `segment`.

    >>> from theorex_lab.journal.event import segment_of
    >>> segment_of(stub({"v": 1, "text": "x"}, "000000000001-000000000009.jsonl.gz"))
    '000000000001-000000000009.jsonl.gz'
    """
    return {
        "v": body.get("v", 1),
        "archived": segment,
        "sha256": body_hash(body),
    }


def body_hash(body: Body) -> str:
    """Return the SHA-256 of a body as the journal writes it, in hexadecimal digits."""
    text = encode(body)
    return hashlib.sha256(text.encode()).hexdigest()


def write_segment(path: Path, events: Iterable[Event]) -> None:
    """Write a segment; it is on disk when this returns.

    The same events give the same bytes.

    Raises:
        StorageError: The segment cannot be written.
    """
    import gzip  # few journals have archives

    lines = [f"{encode(event._asdict())}\n" for event in events]
    text = "".join(lines)
    data = gzip.compress(text.encode(), mtime=0)
    with writing(path, "make room or permit it, and repeat"):
        make_folder(str(path.parent))
        write_atomically(path, data, mode=_OWNER_READS)


def read_segment(path: Path) -> Iterator[Event]:
    """Yield the events of a segment, in journal order.

    Raises:
        CorruptJournal: The file is gone or damaged.
    """
    import gzip  # few journals have archives

    try:
        text = gzip.decompress(path.read_bytes()).decode()
        for line in text.splitlines():
            members = json.loads(line)
            yield Event(**members)
    except (OSError, EOFError, zlib.error, ValueError, TypeError) as error:
        raise CorruptJournal(
            f"the segment {path} cannot be read ({error}); {WAYS_OUT}"
        ) from error


def body_hashes(path: Path) -> dict[str, str]:
    """Return the `body_hash` of each event of a segment, by its id.

    Raises:
        CorruptJournal: The file is gone or damaged.
    """
    return {event.id: body_hash(event.body) for event in read_segment(path)}


def check_segment(path: Path, hashes: Mapping[str, str]) -> list[str]:
    """Return what is wrong with a segment.

    Args:
        path: The segment's file.
        hashes: The `body_hash` of each body that it should hold, by event id.
    """
    try:
        present = body_hashes(path)
    except CorruptJournal as error:
        return [str(error)]
    lost = []
    for event_id, noted in hashes.items():
        if present.get(event_id) != noted:
            lost.append(event_id)
    if not lost:
        return []
    problem = (
        f"the segment {path} lacks {len(lost)} events, or has them changed, such as"
        f" {lost[0]}"
    )
    return [problem]
