"""Erasure: the one exception to append-only, in any journal of rows.

A body is replaced by a hash without a key, and so are those derived from it. Here it is
said what is chosen, what is derived from that, and what is left of a body; the database
of the journal replaces it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from theorex_lab.core.errors import InvalidInput, StorageError
from theorex_lab.journal.event import RAW_KINDS, encode, new_event, segment_of
from theorex_lab.journal.places import MERGED
from theorex_lab.journal.stored import StoredJournal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from theorex_lab.journal.base import Journal
    from theorex_lab.journal.event import Event
    from theorex_lab.journal.segments import Segments

ERASURE = "erasure"
DONE = "the bodies are erased"
ERASED_START = '{"erased":1'
_ARCHIVED = '"archived":'
_KEY_BYTES = 32


class OnlyOwnerWipes(StorageError):
    """Bodies are erased whose old bytes only the owner of the table may wipe."""


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
    journal: Journal,
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
        StorageError: As `erasable`.
    """
    chosen = EraseSelection(ids, agent, match, project)
    if isinstance(journal, ReachedJournal):
        return journal.reached_by(chosen)
    return erasable(journal).reached_by(chosen)


@runtime_checkable
class ReachedJournal(Protocol):
    """A journal that tells itself what an erasure reaches, in all that it is made of."""

    def reached_by(self, chosen: EraseSelection) -> list[str]:
        """Return the ids of what an erasure would reach, as `select` does."""


def refuse_no_choice(chosen: EraseSelection) -> None:
    """Raise InvalidInput where a selection names nothing to erase by."""
    if chosen.agent is not None or chosen.ids or chosen.match or chosen.project:
        return
    raise InvalidInput(
        "got nothing to erase by; give event ids, an agent, a text to match, or a"
        " project"
    )


def _is_derived(lineage: str, ids: set[str]) -> bool:
    """Return whether one of the events is in a lineage, which is a list in JSON."""
    if lineage == "[]" or not ids:
        return False
    return not ids.isdisjoint(json.loads(lineage))


class RowChooser:
    """Tells whether a row, `id` to `body`, is chosen itself."""

    def __init__(
        self, chosen: EraseSelection, segments: Segments | None, projects: Sequence[str]
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
        """Return whether the row is chosen."""
        is_named = self._is_named(event_id, agent)
        if not self._projects:
            if any(is_named):
                return True
            if self._needle is None:
                return False
            text = text_of_row(self._segments, event_id, kind, body)
            return self._is_matched(text, session)
        if not all(is_named):
            return False
        text = text_of_row(self._segments, event_id, kind, body)
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


def text_of_row(segments: Segments | None, event_id: str, kind: str, body: str) -> str:
    """Return what the event says, as JSON.

    A text of hexadecimal digits must not be found in the hash of an erased body.
    """
    if body.startswith(ERASED_START):
        return "{}"
    is_stub = kind in RAW_KINDS and _ARCHIVED in body[:24]
    segment = segment_of(json.loads(body)) if is_stub else None
    if segment is None or segments is None:
        return body
    return encode(segments.body(segment, event_id) or {})


def refuse_unknown_id(event_id: str) -> None:
    """Raise InvalidInput for an event id that is not in the journal."""
    raise InvalidInput(
        f"got the event id {event_id!r}, which is not in the journal; nothing was"
        " erased: `theorex search` shows ids, and `theorex erase --match TEXT"
        " --dry-run` shows those of a text"
    )


def reached_rows(
    rows: Iterable[tuple[str, str, str, str, str, str]],
    is_chosen: Callable[..., bool],
) -> list[str]:
    """Return the ids of the rows that are chosen, and of all derived from them.

    Those that are erased already are left out.

    Args:
        rows: The rows that may be chosen or derived, with the columns id, agent,
            session, kind, lineage and body, in journal order.
        is_chosen: Tells of such a row whether it is chosen itself.
    """
    reached: list[str] = []
    tree: set[str] = set()
    for row in rows:
        event_id, _, session, _, lineage, body = row
        # Parents stand before their children, so that one pass reaches the whole tree.
        if not is_chosen(*row) and not _is_derived(lineage, tree):
            continue
        tree.add(event_id)
        # A release that left the session of an erased event alone may have erased it.
        if session or not body.startswith(ERASED_START):
            reached.append(event_id)
    return reached


def project_of_row(
    segments: Segments | None, event_id: str, kind: str, body: str
) -> str:
    """Return the project of an event, '' where it has none or may be of several."""
    if kind in (MERGED, ERASURE):
        return ""
    try:
        content = json.loads(text_of_row(segments, event_id, kind, body))
    except ValueError:  # an event that is set aside
        return ""
    project = content.get("project") if isinstance(content, dict) else None
    return project if isinstance(project, str) else ""


class BodyEraser:
    """Says what is left of bodies, and notes what was erased.

    The key of its hashes is thrown away with it: nobody can try out what a body was.
    """

    def __init__(self) -> None:
        self._key = os.urandom(_KEY_BYTES)
        self._ids: list[str] = []
        self._first_seqs: dict[str, int] = {}

    def left_of(self, body: str) -> str:
        """Return what stands in the place of a body; '' where it was erased before."""
        if body.startswith(ERASED_START):
            return ""
        digest = hmac.new(self._key, body.encode(), hashlib.sha256)
        return encode({"erased": 1, "hmac_sha256": digest.hexdigest()})

    def note(self, event_id: str, kind: str, seq: int) -> None:
        """Take down that an event was erased."""
        self._ids.append(event_id)
        self._first_seqs[kind] = min(seq, self._first_seqs.get(kind, seq))

    def event(self, agent: str, at: int) -> Event | None:
        """Return the event that notes all that; None where nothing was erased.

        It says also from where on each kind was reached.
        """
        if not self._ids:
            return None
        body = {"ids": self._ids, "first_seqs": self._first_seqs}
        return new_event(ERASURE, body, agent=agent, at=at)


def erasable(journal: Journal) -> StoredJournal:
    """Return a journal whose bodies can be erased.

    Raises:
        StorageError: It is another, whose rows this package does not write.
    """
    stored = journal.rows_of
    if isinstance(stored, StoredJournal):
        return stored
    raise StorageError(
        f"this home's journal is a {type(journal).__name__}; allowed here is one in an"
        " SQLite file or in a PostgreSQL database"
    )
