"""Erasure: the one exception to append-only.

A body is replaced by a hash without a key, and so are those derived from it.
"""

import hashlib
import hmac
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from theorex_lab.core.errors import InvalidInput, StorageError
from theorex_lab.journal.event import RAW_KINDS, encode, new_event, segment_of
from theorex_lab.journal.places import MERGED
from theorex_lab.journal.segments import ARCHIVE_FOLDER, Segments
from theorex_lab.journal.sqlite import connection as connections
from theorex_lab.journal.sqlite.free_space import free_space
from theorex_lab.journal.sqlite.store import SqliteJournal, insert
from theorex_lab.journal.stored import row_checksum

_RETRY_SECONDS = 0.01
_BUSY = (
    "another process is reading, or writing, for longer than this one could wait;"
    " close it"
)


def compact(journal: SqliteJournal, *, done: str, always: bool = True) -> None:
    """Empty the write-ahead log, rewrite the file, and empty the log again.

    Safe to repeat.

    Args:
        journal: The journal.
        done: What has been done already, for the error.
        always: Whether the file is rewritten also where no old bytes are left in it,
            and little of it is free.

    Raises:
        StorageError: Another process reads or writes for so long that a log could not
            be emptied or the file not be rewritten; or the disk is full.
    """
    try:
        with journal.explained():
            connection = journal.connection()
            # A log that cannot be emptied now cannot be afterwards either, and the
            # rewriting would double it.
            if emptied := _checkpoint(connection):
                if not (always or _is_worth_rewriting(journal)):
                    return
                connection.execute("VACUUM")
                emptied = _checkpoint(connection)
    except StorageError as error:
        raise StorageError(
            f"{done}, but old bytes are left in {journal.path}: {error}; repeat the"
            " command"
        ) from error
    if not emptied:
        left = f"old bytes are left in the write-ahead log of {journal.path}"
        raise StorageError(f"{done}, but {left}: {_BUSY} and repeat the command")


def _is_worth_rewriting(journal: SqliteJournal) -> bool:
    """Return whether old bytes stand in free room of the file, or much of it is free."""
    is_left, free_share = free_space(str(journal.path))
    return is_left or free_share > _MOST_FREE


def _checkpoint(connection: sqlite3.Connection) -> bool:
    """Return whether the whole log was moved into the file and cut to nothing.

    SQLite waits for those who read or write, but not for one who moves the log himself,
    as every writer does at times.
    """
    deadline = time.monotonic() + connections.BUSY_TIMEOUT_SECONDS
    while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if time.monotonic() >= deadline:
            return False
        time.sleep(_RETRY_SECONDS)
    return True


ERASURE = "erasure"
DONE = "the bodies are erased"
_KEY_BYTES = 32
_MOST_FREE = 0.33  # of a journal's file that is not rewritten
_ERASED = '{"erased":1'
_ARCHIVED = '"archived":'


class EraseSelection(NamedTuple):
    """What to erase by.

    Attributes:
        ids: The ids of events.
        agent: An agent.
        match: A text that stands in the body or in the session's id.
        project: Then what is of it alone, and only where all else holds too that is
            chosen by.
    """

    ids: Sequence[str] = ()
    agent: str | None = None
    match: str | None = None
    project: str | None = None


class ErasedPart(NamedTuple):
    """What an erasure reached.

    Attributes:
        ids: The ids of the events.
        projects: Their projects, as the events named them; '' for none.
        seq: The seq of its note; 0 where nothing was left to erase.
    """

    ids: list[str]
    projects: frozenset[str] = frozenset()
    seq: int = 0

    @property
    def is_of_projects(self) -> bool:
        """Whether it is known to have reached nothing but events of its projects."""
        return self.seq > 0 and "" not in self.projects


def select(
    journal: SqliteJournal,
    *,
    ids: Sequence[str] = (),
    agent: str | None = None,
    match: str | None = None,
    project: str | None = None,
) -> list[str]:
    """Return the ids of the events that an erasure would reach, in journal order.

    These are the chosen ones and all derived from them. With a project, those of its
    events are chosen to which each of the others applies that is given. Events that are
    erased already are left out.

    Args:
        journal: The journal.
        ids: The ids of events.
        agent: An agent.
        match: A text that stands somewhere in the body or the session's id (exactly,
            with the case of letters).
        project: A project.

    Raises:
        InvalidInput: An id is unknown, or nothing was chosen by.
    """
    with journal.explained():
        return _reached(
            journal, journal.connection(), EraseSelection(ids, agent, match, project)
        )


def erase_chosen(
    journal: SqliteJournal, chosen: EraseSelection, *, agent: str, at: int
) -> list[str]:
    """Erase the bodies of what `select` would return, and note it as an event.

    A body is replaced by {erased, hmac_sha256}, and its session becomes ''. All in one
    transaction, so that nothing is derived from them in between. The key of the hash is
    thrown away: nobody can try out what the body was. The old bytes are there until
    `wipe`. Safe to repeat: what was erased before is left alone.

    Args:
        journal: The journal.
        chosen: What to erase by.
        agent: The agent of the note.
        at: The time of the note (µs).

    Returns:
        The ids of the events.

    Raises:
        InvalidInput: As `select`.
        StorageError: The journal cannot be written.
    """
    return erase_part(journal, chosen, agent=agent, at=at).ids


def erase_part(
    journal: SqliteJournal, chosen: EraseSelection, *, agent: str, at: int
) -> ErasedPart:
    """Erase as `erase_chosen` does, and return also of which projects that was.

    The journal does not tell it afterwards.

    Args:
        journal: The journal.
        chosen: What to erase by.
        agent: The agent of the note.
        at: The time of the note (µs).

    Raises:
        InvalidInput: As `select`.
        StorageError: The journal cannot be written.
    """
    segments = Segments(journal.path.parent / ARCHIVE_FOLDER)
    with journal.writing() as connection:
        reached = _reached(journal, connection, chosen)
        projects: set[str] = set()
        for event_id in reached:
            projects.add(_project_of(connection, segments, event_id))
        seq = _erase(connection, reached, agent=agent, at=at)
    return ErasedPart(reached, frozenset(projects), seq)


def erase_as_noted(
    journal: SqliteJournal, ids: Iterable[str], *, agent: str, at: int
) -> list[str]:
    """Erase here what was erased in another journal that shares events with this one.

    These are the events of the ids, as far as they are here, and all that was derived
    from any of them, also from one that is not here. Safe to repeat.

    Args:
        journal: The journal.
        ids: The ids that the note of the other journal lists.
        agent: The agent of the note.
        at: The time of the note (µs).

    Returns:
        The ids of the events that were erased now.

    Raises:
        StorageError: The journal cannot be written.
    """
    tree = set(ids)
    reached: list[str] = []
    with journal.writing() as connection:
        rows = connection.execute(
            "SELECT id, lineage, body FROM events WHERE lineage <> '[]'"
            " OR id IN (SELECT value FROM json_each(?)) ORDER BY seq",
            [json.dumps(sorted(tree))],
        )
        for event_id, lineage, body in rows.fetchall():
            if event_id not in tree and not _is_derived(lineage, tree):
                continue
            tree.add(event_id)
            if not body.startswith(_ERASED):
                reached.append(event_id)
        if reached:
            _erase(connection, reached, agent=agent, at=at)
    return reached


def _project_of(
    connection: sqlite3.Connection, segments: Segments, event_id: str
) -> str:
    """Return the project of an event, '' where it has none or may be of several."""
    query = "SELECT kind, body FROM events WHERE id = ?"
    kind, body = connection.execute(query, [event_id]).fetchone()
    if kind in (MERGED, ERASURE):
        return ""
    try:
        content = json.loads(_text_of(segments, event_id, kind, body))
    except ValueError:  # an event that is set aside
        return ""
    project = content.get("project") if isinstance(content, dict) else None
    return project if isinstance(project, str) else ""


def wipe(journal: SqliteJournal) -> None:
    """Wipe the bytes of erased bodies from the journal's file and its write-ahead log.

    SQLite has overwritten them in their rows (`secure_delete`). The file is rewritten
    only where old bytes stand in its free room, as where rows were moved between pages,
    or where much of it is free.

    Raises:
        StorageError: As `compact`.
    """
    compact(journal, done=DONE, always=False)


def _reached(
    journal: SqliteJournal, connection: sqlite3.Connection, chosen: EraseSelection
) -> list[str]:
    """Return what `select` does, within the caller's transaction where it has one."""
    if not _is_chosen_by(chosen):
        raise InvalidInput(
            "got nothing to erase by; give event ids, an agent, a text to match, or a"
            " project"
        )
    _refuse_unknown(connection, chosen.ids)
    projects: list[str] = []
    if chosen.project:
        projects = journal.places().names_of(chosen.project)
    segments = Segments(journal.path.parent / ARCHIVE_FOLDER)
    is_chosen = _Chooser(chosen, segments, projects)
    reached: list[str] = []
    tree: set[str] = set()
    for row in _candidates(connection, chosen):
        event_id, _, session, _, lineage, body = row
        # Parents stand before their children, so that one pass reaches the whole tree.
        if not is_chosen(*row) and not _is_derived(lineage, tree):
            continue
        tree.add(event_id)
        # A release that left the session of an erased event alone may have erased it.
        if session or not body.startswith(_ERASED):
            reached.append(event_id)
    return reached


def _candidates(
    connection: sqlite3.Connection, chosen: EraseSelection
) -> Iterable[tuple[str, str, str, str, str, str]]:
    """Yield the rows, `id` to `body`, that may be chosen or derived, in journal order.

    For a choice by ids alone, rows that are neither chosen nor derived from anything are
    left out by the database.
    """
    columns = "id, agent, session, kind, lineage, body"
    if chosen.agent is not None or chosen.match or chosen.project:
        return connection.execute(f"SELECT {columns} FROM events ORDER BY seq")
    ids = json.dumps(list(chosen.ids))
    named = "id IN (SELECT value FROM json_each(?))"
    first = f"SELECT min(seq) FROM events WHERE {named}"
    # The rows themselves are looked at, not an index of lineages: where one is damaged,
    # what was derived would stay.
    return connection.execute(
        f"SELECT {columns} FROM events WHERE seq >= ({first})"
        f" AND (lineage <> '[]' OR {named}) ORDER BY seq",
        [ids, ids],
    )


def _is_chosen_by(chosen: EraseSelection) -> bool:
    """Return whether a selection names anything to erase by."""
    if chosen.agent is not None:
        return True
    return bool(chosen.ids or chosen.match or chosen.project)


def _refuse_unknown(connection: sqlite3.Connection, ids: Sequence[str]) -> None:
    """Raise InvalidInput for an event id that is not in the journal."""
    query = (
        "SELECT value FROM json_each(?) WHERE value NOT IN (SELECT id FROM events)"
        " ORDER BY value LIMIT 1"
    )
    for (missing,) in connection.execute(query, [json.dumps(list(ids))]):
        raise InvalidInput(
            f"got the event id {missing!r}, which is not in the journal; nothing was"
            " erased: `theorex search` shows ids, and `theorex erase --match TEXT"
            " --dry-run` shows those of a text"
        )


def _is_derived(lineage: str, ids: set[str]) -> bool:
    """Return whether one of the events is in a lineage, which is a list in JSON."""
    if lineage == "[]" or not ids:
        return False
    return not ids.isdisjoint(json.loads(lineage))


class _Chooser:
    """Tells whether a row, `id` to `body`, is chosen itself."""

    def __init__(
        self, chosen: EraseSelection, segments: Segments, projects: Sequence[str]
    ) -> None:
        self._ids = frozenset(chosen.ids)
        self._agent = chosen.agent
        # The text that is looked for, as JSON writes it; None for none.
        self._needle = encode(chosen.match)[1:-1] if chosen.match else None
        # The chosen project, and those merged into it.
        self._projects = projects
        self._segments = segments

    def __call__(
        self,
        event_id: str,
        agent: str,
        session: str,
        kind: str,
        _lineage: str,
        body: str,
    ) -> bool:
        is_named = self._is_named(event_id, agent)
        if not self._projects:
            if any(is_named):
                return True
            if self._needle is None:
                return False
            text = _text_of(self._segments, event_id, kind, body)
            return self._is_matched(text, session)
        if not all(is_named):
            return False
        text = _text_of(self._segments, event_id, kind, body)
        if not self._is_matched(text, session):
            return False
        return json.loads(text).get("project") in self._projects

    def _is_named(self, event_id: str, agent: str) -> list[bool]:
        """Return whether a row is chosen by its id, and whether by its agent.

        Only that is returned which the rows are chosen by.
        """
        is_named: list[bool] = []
        if self._ids:
            is_named.append(event_id in self._ids)
        if self._agent is not None:
            is_named.append(agent == self._agent)
        return is_named

    def _is_matched(self, text: str, session: str) -> bool:
        """Return whether the text that is looked for stands in a row; True for none."""
        if self._needle is None:
            return True
        return self._needle in text or self._needle in session


def _text_of(segments: Segments, event_id: str, kind: str, body: str) -> str:
    """Return what the event says, as JSON.

    A text of hexadecimal digits must not be found in the hash of an erased body.
    """
    if body.startswith(_ERASED):
        return "{}"
    is_stub = kind in RAW_KINDS and _ARCHIVED in body[:24]
    segment = segment_of(json.loads(body)) if is_stub else None
    if segment is None:
        return body
    return encode(segments.body(segment, event_id) or {})


def _erase(
    connection: sqlite3.Connection, ids: Sequence[str], *, agent: str, at: int
) -> int:
    """Erase these events, and note them in one more event.

    The note says also from where on each kind was reached.

    Returns:
        The seq of the note; 0 where all was erased before, and none is written.
    """
    key = os.urandom(_KEY_BYTES)
    erased: list[str] = []
    first_seqs: dict[str, int] = {}
    for event_id in ids:
        erased_now = _erase_one(connection, event_id, key)
        if erased_now is None:
            continue
        kind, seq = erased_now
        erased.append(event_id)
        first_seqs[kind] = min(seq, first_seqs.get(kind, seq))
    if not erased:
        return 0
    body = {"ids": erased, "first_seqs": first_seqs}
    return insert(connection, new_event(ERASURE, body, agent=agent, at=at))


def _erase_one(
    connection: sqlite3.Connection, event_id: str, key: bytes
) -> tuple[str, int] | None:
    """Erase an event; return its kind and seq.

    It is None where the event is not there or was erased.
    """
    query = "SELECT at, agent, kind, lineage, body, seq FROM events WHERE id = ?"
    row = connection.execute(query, [event_id]).fetchone()
    if row is None:
        return None
    at, agent, kind, lineage, body, seq = row
    if body.startswith(_ERASED):
        return None
    digest = hmac.new(key, body.encode(), hashlib.sha256)
    rest = encode({"erased": 1, "hmac_sha256": digest.hexdigest()})
    crc = row_checksum(seq, event_id, at, agent, "", kind, lineage, rest)
    connection.execute(
        "UPDATE events SET session = '', body = ?, crc = ? WHERE id = ?",
        [rest, crc, event_id],
    )
    return kind, seq
