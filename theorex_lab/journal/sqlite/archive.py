"""Archiving: raw events that are consolidated leave the journal's file.

They are moved into segments, from which reading takes them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from theorex_lab.core.files import told
from theorex_lab.journal.event import RAW_KINDS, Event, encode, new_event, segment_of
from theorex_lab.journal.segments import (
    ARCHIVE_FOLDER,
    read_segment,
    stub,
    write_segment,
)
from theorex_lab.journal.sqlite.connection import (
    damaged,
)
from theorex_lab.journal.sqlite.erase import compact
from theorex_lab.journal.sqlite.inserting import insert
from theorex_lab.journal.stored import COLUMNS, has_checksum, row_checksum

if TYPE_CHECKING:
    from theorex_lab.journal.sqlite.store import SqliteJournal

SEGMENT_EVENTS = 10_000
_RAW = ", ".join(f"'{kind}'" for kind in RAW_KINDS)


class Archiving(NamedTuple):
    """What an archiving moved: how many events, into which segments."""

    events: int
    segments: list[str]


def archive(
    journal: SqliteJournal,
    before: int,
    *,
    consolidated: Mapping[tuple[str, str], int],
    agent: str,
    at: int,
    project: str | None = None,
) -> Archiving:
    """Move the bodies of earlier raw events into segments, and note it as an event.

    Moved are events of RAW_KINDS, as tool events, prompts and ends of turns: those of
    sessions that are over, and of others what no design waits for any more. Segments
    are on disk before the journal, in one transaction, refers to them; after a crash in
    between, repeating ends in the same state. Reading gives the events back whole.

    Args:
        journal: The journal.
        before: The time (µs) before which an event is old.
        consolidated: For an agent and session, the seq up to which no design waits for
            their events any more.
        agent: The agent of the note.
        at: The time of the note (µs).
        project: The project whose events alone are moved, None for all.

    Raises:
        StorageError: The disk is full.
    """
    folder = journal.path.parent / ARCHIVE_FOLDER
    with journal.writing() as connection:
        projects = None if project is None else journal.places().names_of(project)
        due = _due(connection, before, consolidated, projects)
        notes = []
        for start in range(0, len(due), SEGMENT_EVENTS):
            part = due[start : start + SEGMENT_EVENTS]
            notes.append(_move(connection, folder, part))
        if due:
            body = {"before": before, "events": len(due), "segments": notes}
            insert(connection, new_event("archived", body, agent=agent, at=at))
        _remove_unused(_referred(connection), folder)
    compact(journal, done="the events are archived")
    return Archiving(len(due), [str(note["name"]) for note in notes])


def erase_from_segments(journal: SqliteJournal) -> list[str]:
    """Rewrite every segment without the events that the journal no longer refers to.

    To be called once their bodies are erased in the journal. Safe to repeat.

    Returns:
        The ids of these events.

    Raises:
        StorageError: A segment cannot be written.
        CorruptJournal: A segment cannot be read.
    """
    folder = journal.path.parent / ARCHIVE_FOLDER
    gone: list[str] = []
    if not any(folder.glob("*")) and not any(folder.glob(".*")):
        return gone
    # The transaction writes nothing: it keeps out another process that archives or
    # erases.
    with journal.writing() as connection:
        wanted = _referred(connection)
        _remove_unused(wanted, folder)
        for path in sorted(folder.glob("*.jsonl.gz")):
            wanted_ids = wanted[path.name]
            rest: list[Event] = []
            gone_ids: list[str] = []
            for event in read_segment(path):
                if event.id in wanted_ids:
                    rest.append(event)
                else:
                    gone_ids.append(event.id)
            if gone_ids:
                write_segment(path, rest)
                gone += gone_ids
    return gone


def _due(
    connection: sqlite3.Connection,
    before: int,
    upto: Mapping[tuple[str, str], int],
    projects: Sequence[str] | None,
) -> list[int]:
    """Return the seqs of the events to archive."""
    # What was erased has no session any more; that of other events without one is not
    # over.
    here = "json_extract(body, '$.erased') IS NULL"
    ended = set(
        connection.execute(
            f"SELECT agent, session FROM events WHERE kind = 'session_ended' AND {here}"
        )
    )
    due = (
        f"kind IN ({_RAW}) AND at < ?1 AND {here} AND json_extract(body, '$.archived')"
        " IS NULL"
    )
    project_is = (
        "(?2 IS NULL OR json_extract(body, '$.project') IN (SELECT value FROM"
        " json_each(?2)))"
    )
    query = (
        f"SELECT seq, agent, session FROM events WHERE {due} AND {project_is} ORDER"
        " BY seq"
    )
    wanted = None if projects is None else json.dumps(projects)
    due_seqs = []
    for seq, agent, session in connection.execute(query, [before, wanted]):
        key = (agent, session)
        last_seq = upto.get(key, 0)
        if key in ended or seq <= last_seq:
            due_seqs.append(seq)
    return due_seqs


def _move(
    connection: sqlite3.Connection, folder: Path, seqs: Sequence[int]
) -> dict[str, object]:
    """Write one segment and put stubs into the journal.

    Returns:
        The segment's name and size. Not its hash, by which an erased body could be
        guessed: each stub has one of its own, which is erased with it.
    """
    name = f"{seqs[0]:012d}-{seqs[-1]:012d}.jsonl.gz"
    query = f"SELECT {COLUMNS}, crc FROM events WHERE seq = ?"
    rows = [connection.execute(query, [seq]).fetchone() for seq in seqs]
    events = []
    for row in rows:
        if not has_checksum(row):
            problem = f"event {row[0]} does not have its checksum"
            raise damaged(str(folder.parent), problem)
        *plain, lineage, body, _ = row
        parents = json.loads(lineage)
        content = json.loads(body)
        events.append(Event._make([*plain, parents, content]))
    write_segment(folder / name, events)
    for row, event in zip(rows, events, strict=True):
        body = encode(stub(event.body, name))
        crc = row_checksum(*row[:7], body)
        connection.execute(
            "UPDATE events SET body = ?, crc = ? WHERE seq = ?", [body, crc, event.seq]
        )
    return {"name": name, "events": len(events)}


def _referred(connection: sqlite3.Connection) -> dict[str, set[str]]:
    """Return by segment the ids of the events that the journal takes from it."""
    ids_by_segment: dict[str, set[str]] = {}
    moved = f"kind IN ({_RAW}) AND json_extract(body, '$.archived') IS NOT NULL"
    query = f"SELECT id, body FROM events WHERE {moved}"
    for event_id, body in connection.execute(query):
        segment = segment_of(json.loads(body))
        if segment:
            ids = ids_by_segment.setdefault(segment, set())
            ids.add(event_id)
    return ids_by_segment


def _remove_unused(wanted: Container[str], folder: Path) -> None:
    """Remove the segments that nothing refers to.

    Such a one was left by a crash, or all of its events were erased.
    """
    unused = [path for path in folder.glob("*.jsonl.gz") if path.name not in wanted]
    for path in [*unused, *folder.glob(".*.jsonl.gz.*")]:
        with told(f"cannot remove {path}"):
            path.unlink(missing_ok=True)
