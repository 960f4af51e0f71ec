"""Erasure: the one exception to append-only. A body is replaced by its hash, and so are those derived from it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence

from theorex_lab.errors import InvalidInput, StorageError
from theorex_lab.journal.connection import connect, transaction
from theorex_lab.journal.event import encode, new_event, segment_of
from theorex_lab.journal.segments import ARCHIVE_FOLDER, Segments
from theorex_lab.journal.sqlite import Journal, checksum, insert


def select(
    journal: Journal, *, ids: Sequence[str] = (), agent: str | None = None, match: str | None = None
) -> list[str]:
    """Ids of the events that an erasure would reach, in journal order: the chosen ones and all derived from them.

    Chosen by id, by agent, or by a text that stands somewhere in the body (exactly, upper and lower case told apart).
    Events that are erased already are left out. Raises InvalidInput for an unknown id or when nothing was chosen by.
    """
    if not ids and agent is None and not match:
        raise InvalidInput("got nothing to erase by; give event ids, an agent, or a text to match")
    chosen = set(ids)
    needle = encode(match)[1:-1] if match else None
    reached: list[str] = []
    seen: set[str] = set()
    known: set[str] = set()
    with journal.explained():
        rows = journal.connection().execute("SELECT id, agent, lineage, body FROM events ORDER BY seq").fetchall()
    segments = Segments(journal.path.parent / ARCHIVE_FOLDER)
    for event_id, owner, lineage, body in rows:
        hit = (
            event_id in chosen or owner == agent or (needle is not None and needle in _whole(segments, event_id, body))
        )
        if hit:
            known.add(event_id)
        # Parents stand before their children, so that one pass reaches the whole tree.
        if hit or (lineage != "[]" and seen.intersection(json.loads(lineage))):
            seen.add(event_id)
            if "erased" not in json.loads(body):
                reached.append(event_id)
    if missing := sorted(chosen - known):
        raise InvalidInput(f"got the event id {missing[0]!r}, which is not in the journal; nothing was erased")
    return reached


def _whole(segments: Segments, event_id: str, body: str) -> str:
    """The body as it was written, from its segment where it was archived."""
    segment = segment_of(json.loads(body)) if '"archived"' in body else None
    return body if segment is None else encode(segments.body(segment, event_id) or {})


def erase(journal: Journal, ids: Sequence[str], *, agent: str, at: int) -> None:
    """Replace the bodies of these events by {erased, sha256}, note it as an event, and wipe the old bytes.

    All in one transaction, then the write-ahead log is emptied and the file rewritten. Safe to repeat: what was
    erased before is left alone, and the wiping is done again. Raises StorageError where another process reads for so
    long that the log cannot be emptied: the bodies are gone then, and repeating wipes their bytes.
    """
    with journal.explained():
        connection = connect(journal.path)
    try:
        with journal.explained():
            with transaction(connection):
                erased = [event_id for event_id in ids if _erase_one(connection, event_id)]
                if erased:
                    insert(connection, new_event("erasure", {"ids": erased}, agent=agent, at=at))
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            connection.execute("VACUUM")
            busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    finally:
        connection.close()
    if busy:
        raise StorageError(
            f"{journal.path}: the bodies are erased, but another process is reading, so that old bytes are left in the "
            "write-ahead log; close it and repeat the command"
        )


def _erase_one(connection: sqlite3.Connection, event_id: str) -> bool:
    row = connection.execute(
        "SELECT id, at, agent, session, kind, lineage, body FROM events WHERE id = ?", [event_id]
    ).fetchone()
    if row is None or "erased" in json.loads(row[6]):
        return False
    content = json.loads(row[6])
    digest = content["sha256"] if segment_of(content) else hashlib.sha256(row[6].encode()).hexdigest()
    body = encode({"erased": 1, "sha256": digest})
    crc = checksum(*row[:6], body)
    connection.execute("UPDATE events SET body = ?, crc = ? WHERE id = ?", [body, crc, event_id])
    return True
