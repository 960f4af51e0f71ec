"""The audit log: the decisions about the memory.

They are read from the journal, which is their only record.

Each design lists its own decisions. What every home has (outcomes, reviews, acceptance
tests, erasures) is listed here.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from theorex_lab.core.clock import EARLIEST, to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.readable import Report
from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import (
    AuditMatch,
    AuditPart,
    AuditQuery,
    AuditRecord,
    Home,
)
from theorex_lab.text.line import one_line

_WORDS_CHARACTERS = 200


@dataclass(frozen=True, repr=False)
class AuditEntry(Report):
    """One thing that happened.

    Attributes:
        timestamp: When, ISO 8601, UTC.
        agent: To which agent.
        kind: One of `kinds_of`.
        detail: What the entry says.
    """

    timestamp: str
    agent: str
    kind: str
    detail: Mapping[str, Any]

    to_dict = asdict  # as JSON holds it

    def _facts(self) -> tuple[str, ...]:
        return (self.timestamp[:19], self.agent, self.kind)


def kinds_of(home: Home) -> tuple[str, ...]:
    """Return the kinds of entries: those of each design, then those of every home."""
    kinds: dict[str, None] = {}
    for part in _parts(home):
        kinds.update(dict.fromkeys(part.read_from))
    return tuple(kinds)


def audit(
    home: Home,
    *,
    since: int | None = None,
    kinds: Sequence[str] | None = None,
    limit: int | None = None,
) -> list[AuditEntry]:
    """Return what happened, in the journal's order.

    Detail names the event it was read from in `event_id`. Concept ids are texts, since
    they exceed what some readers keep exact. For erased events only
    the erasure is listed.

    Args:
        home: The home whose journal is read.
        since: A time (µs UTC) from which on entries count, None for all.
        kinds: The kinds that count, None for all.
        limit: How many of the last entries are returned, None for all.

    Raises:
        InvalidInput: For an unknown kind or a negative limit.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     _ = lab.agent("main").write("a stale cache", observation_type="moment")
    ...     [entry.kind for entry in audit(lab.home)]
    ['moment_capture']
    """
    query = _query(home, since, kinds, limit)
    if limit == 0:
        return []
    matches: list[AuditMatch] = []
    for part in _parts(home):
        matches.extend(_matches_of(part, home, query))
    matches.sort(key=lambda match: match[0].seq)
    if limit is not None:
        matches = matches[-limit:]
    return [_entry(event, record) for event, record in matches]


def _query(
    home: Home,
    since: int | None,
    kinds: Sequence[str] | None,
    limit: int | None,
) -> AuditQuery:
    """Return the query, or raise InvalidInput for an unknown kind or negative limit."""
    allowed = kinds_of(home)
    chosen = allowed if kinds is None else tuple(kinds)
    unknown = [kind for kind in chosen if kind not in allowed]
    if unknown:
        raise InvalidInput(
            f"got the kind {unknown[0]!r}; allowed are {', '.join(allowed)}"
        )
    if limit is not None and limit < 0:
        raise InvalidInput(f"got a limit of {limit} entries; allowed is 0 or more")
    return AuditQuery(
        chosen,
        EARLIEST if since is None else since,
        limit,
        upto=home.journal.last_seq(),
    )


def _entry(event: Event, record: AuditRecord) -> AuditEntry:
    """Return the entry of a record that was read from an event."""
    kind, agent, detail = record
    return AuditEntry(to_iso(event.at), agent, kind, {**detail, "event_id": event.id})


def matches_in(
    events: Iterable[Event],
    records_of: Callable[[Event], Iterable[AuditRecord]],
    query: AuditQuery,
) -> list[AuditMatch]:
    """Return the records of these events that match the query, the last `limit` only.

    Args:
        events: The events, in order.
        records_of: Returns the records of an event. It takes one event after the other.
        query: What is searched for.
    """
    matches: deque[AuditMatch] = deque(maxlen=query.limit)
    for event in events:
        for record in records_of(event):
            kind = record[0]
            if kind in query.kinds and event.at >= query.since:
                matches.append((event, record))
    return list(matches)


def cut(text: str) -> str:
    """Return a stored text in one line of at most 200 characters."""
    return one_line(text, _WORDS_CHARACTERS)


def _parts(home: Home) -> tuple[AuditPart, ...]:
    """Return the parts of the designs, then that of every home."""
    parts = [design.audit for design in home.designs if design.audit is not None]
    return (*parts, _HOME_PART)


def _matches_of(
    part: AuditPart,
    home: Home,
    query: AuditQuery,
) -> list[AuditMatch]:
    """Return the entries of one part, of the kinds that are its own."""
    kinds = tuple(kind for kind in query.kinds if kind in part.read_from)
    if not kinds:
        return []
    part_query = query._replace(kinds=kinds)
    if part.entries is not None:
        return part.entries(home, part_query, part.reading())
    event_kinds: set[str] = set()
    for kind in kinds:
        event_kinds.update(part.read_from[kind])
    events = home.journal.tail(0, kinds=sorted(event_kinds), upto=query.upto)
    return matches_in(events, part.reading(), part_query)


def _records_of(event: Event) -> Iterator[AuditRecord]:
    """Yield the one record of an event of the home's own kinds."""
    kind, _ = _RECORDS[event.kind]
    yield kind, event.agent, _detail(event)


def _detail(event: Event) -> dict[str, Any]:
    """Return what the record of an event says."""
    if event.kind == "salvaged":
        return {
            "kept": event.body.get("events"),
            "lost": _ranges(event.body["lost"]) or "nothing",
            "set_aside": _cut_if_text(event.body.get("set_aside")),
        }
    if event.kind == "erasure":
        return {"events": len(event.body["ids"])}
    _, names = _RECORDS[event.kind]
    detail = {}
    for name in names.split():
        if name == "text" and name not in event.body:
            continue
        detail[name] = _cut_if_text(event.body.get(name))
    if event.kind == "reviewed":
        detail["fix"] = detail.pop("fix_description")
    return detail


def _cut_if_text(value: Any) -> Any:
    return cut(value) if isinstance(value, str) else value


def _ranges(ranges: Iterable[tuple[int, int]]) -> str:
    """Return ranges of numbers as a text, such as `3–5, 9`."""
    texts = []
    for first, last in ranges:
        texts.append(f"{first}–{last}" if last > first else f"{first}")
    return ", ".join(texts)


# Kind of an event -> the kind of its one entry, and the fields that stand in it.
_RECORDS: dict[str, tuple[str, str]] = {
    "outcome": ("outcome_record", "decision success tags"),
    "reviewed": (
        "review",
        "outcome_id score confidence failure_class model_used fix_description",
    ),
    "gated": ("policy_test", "decision before after n policy"),
    "erasure": ("erasure", ""),
    "salvaged": ("salvage", "events lost set_aside"),
    "pinned": ("pin", "item undo text"),
    "dismissed": ("dismiss", "item undo text"),
    "corrected": ("correct", "item undo text"),
    "trusted": ("trust", "item undo"),
}
_HOME_PART = AuditPart(
    {kind: (event_kind,) for event_kind, (kind, _) in _RECORDS.items()},
    lambda: _records_of,
)
