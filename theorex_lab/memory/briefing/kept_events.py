"""Events of a few kinds that every briefing asks for, read once in a process.

Most homes have few notes, marks and wordings among many tool calls. To look for them in
the whole journal at each briefing costs more than all else that a briefing does again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from theorex_lab.journal.base import Journal
from theorex_lab.journal.erasing import ERASURE
from theorex_lab.journal.event import Event
from theorex_lab.journal.places import KINDS as PLACE_KINDS
from theorex_lab.memory.contract import Home

# How many events of earlier queries stay in memory, such as the notes of other projects,
# beside those that were asked for last.
_MOST_KEPT_EVENTS = 5_000


class _EventQuery(NamedTuple):
    """Which events are asked for; projects None are all."""

    kinds: tuple[str, ...]
    projects: tuple[str, ...] | None
    most: int | None


class _KeptEvents(NamedTuple):
    """The events of a query as of a seq of the journal."""

    last_seq: int
    events: tuple[Event, ...]


class _Presence(NamedTuple):
    """Whether a journal had an event of some kinds as of a seq."""

    last_seq: int
    is_there: bool


_presences: WeakKeyDictionary[Journal, dict[tuple[str, ...], _Presence]] = (
    WeakKeyDictionary()
)
_kept: WeakKeyDictionary[Journal, dict[_EventQuery, _KeptEvents]] = WeakKeyDictionary()


def newest_events(
    home: Home, kinds: Sequence[str], *, most: int | None = None
) -> tuple[Event, ...]:
    """Return the newest events of these kinds, in journal order.

    They are of the home's project or of none. Those that were read before are kept in
    memory, and only what was appended since is read. All are read again after an
    erasure or a merge of projects.

    Args:
        home: The home.
        kinds: The kinds of events.
        most: How many are returned at most; None for all.
    """
    projects = None
    if home.projects is not None:
        projects = (*home.projects, "")
    query = _EventQuery(
        kinds=tuple(kinds),
        projects=projects,
        most=most,
    )
    journal = home.journal
    last_seq = journal.last_seq()
    kept_queries = _kept.setdefault(journal, {})
    before = kept_queries.get(query)
    if before is None or _is_outdated(journal, before.last_seq, last_seq):
        before = _KeptEvents(0, ())
    if before.last_seq < last_seq:
        new_events = _read_behind(home, query, before.last_seq, last_seq)
        events = deque(before.events, maxlen=most)
        events.extend(new_events)
        before = _KeptEvents(last_seq, tuple(events))
    _keep(kept_queries, query, before)
    return before.events


def _keep(
    kept_queries: dict[_EventQuery, _KeptEvents],
    query: _EventQuery,
    result: _KeptEvents,
) -> None:
    """Keep the events of a query, and let go of those not asked for longest.

    Args:
        kept_queries: What is kept, the query that was asked last at the end.
        query: The query.
        result: Its events.
    """
    kept_queries.pop(query, None)
    n_events = 0
    for earlier_query, earlier_result in reversed(list(kept_queries.items())):
        n_events += len(earlier_result.events)
        if n_events > _MOST_KEPT_EVENTS:
            kept_queries.pop(earlier_query, None)
    kept_queries[query] = result


def _read_behind(
    home: Home, query: _EventQuery, after: int, upto: int
) -> Iterable[Event]:
    """Return the events of a query behind a seq, no more than it asks for."""
    if query.most is None:
        return home.views.events(
            query.kinds, projects=query.projects, after=after, upto=upto
        )
    return home.views.newest_events(
        query.most, query.kinds, projects=query.projects, after=after, upto=upto
    )


def has_events(home: Home, kinds: Sequence[str]) -> bool:
    """Return whether there is an event of these kinds, of whatever project.

    What was looked through before is not looked through again, until an erasure.

    Args:
        home: The home.
        kinds: The kinds of events.
    """
    journal = home.journal
    last_seq = journal.last_seq()
    presences = _presences.setdefault(journal, {})
    before = presences.get(tuple(kinds))
    if before is None or _is_outdated(journal, before.last_seq, last_seq):
        before = _Presence(0, is_there=False)
    is_there = before.is_there
    if not is_there and before.last_seq < last_seq:
        new_events = home.views.events(kinds, after=before.last_seq, upto=last_seq)
        is_there = next(new_events, None) is not None
    presences[tuple(kinds)] = _Presence(last_seq, is_there)
    return is_there


def _is_outdated(journal: Journal, seq: int, last_seq: int) -> bool:
    """Return whether what was appended behind a seq changes what stands before it.

    An erasure takes events out, and a merge of projects gives a project old ones.
    """
    if seq > last_seq:  # the journal was replaced
        return True
    if seq == last_seq:
        return False
    kinds = (*PLACE_KINDS, ERASURE)
    changes = journal.tail(seq, kinds=kinds, upto=last_seq)
    return next(changes, None) is not None
