"""The audit log: the decisions about the memory, read from the journal, which is their
only record.

Each design tells of what it decided; what every home has (outcomes, reviews, gates,
erasures) is told here.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from theorex_lab.core.clock import EARLIEST, to_iso
from theorex_lab.core.errors import InvalidInput
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


@dataclass(frozen=True)
class AuditEntry:
    """One thing that happened: when (ISO 8601, UTC), to which agent, its kind (one of
    `kinds_of`), what there is to say.
    """

    at: str
    agent: str
    kind: str
    detail: Mapping[str, Any]

    to_dict = asdict  # as JSON holds it


def kinds_of(home: Home) -> tuple[str, ...]:
    """The kinds of entries that there are: those of each design, then those that every
    home has.
    """
    return tuple(
        dict.fromkeys(kind for part in _parts(home) for kind in part.read_from)
    )


def audit(
    home: Home,
    *,
    since: int | None = None,
    kinds: Sequence[str] | None = None,
    limit: int | None = None,
) -> list[AuditEntry]:
    """What happened, in the journal's order: from a time on (µs UTC), of these kinds or
    all, the last `limit`.

    Detail names the event it was read from in `event_id`; concept ids are texts, since
    they exceed what some readers keep exact. What was erased is told only as an
    erasure. Raises InvalidInput for an unknown kind or a negative limit.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     _ = lab.agent("main").write("a stale cache", observation_type="moment")
    ...     [entry.kind for entry in audit(lab.home)]
    ['moment_capture']
    """
    known = kinds_of(home)
    chosen = known if kinds is None else tuple(kinds)
    if unknown := [kind for kind in chosen if kind not in known]:
        raise InvalidInput(
            f"got the kind {unknown[0]!r}; allowed are {', '.join(known)}"
        )
    if limit is not None and limit < 0:
        raise InvalidInput(f"got a limit of {limit} entries; allowed is 0 or more")
    asked = AuditQuery(
        chosen,
        EARLIEST if since is None else since,
        limit,
        upto=home.journal.last_seq(),
    )
    found = [
        entry
        for part in _parts(home)
        if limit != 0
        for entry in _told_by(part, home, asked)
    ]
    found = sorted(found, key=lambda pair: pair[0].seq)[-(limit or 0) :]
    told = (
        (event, agent, kind, {**detail, "event_id": event.id})
        for event, (kind, agent, detail) in found
    )
    return [
        AuditEntry(to_iso(event.at), agent, kind, detail)
        for event, agent, kind, detail in told
    ]


def found_in(
    events: Iterable[Event],
    take: Callable[[Event], Iterable[AuditRecord]],
    asked: AuditQuery,
) -> list[AuditMatch]:
    """The wanted entries among what these events did, as `take` tells it of one after
    the other.
    """
    told = ((event, entry) for event in events for entry in take(event))
    wanted = (
        found
        for found in told
        if found[1][0] in asked.kinds and found[0].at >= asked.since
    )
    return list(deque(wanted, maxlen=asked.limit))


def cut(text: str) -> str:
    """A stored text in one line of at most 200 characters."""
    return one_line(text, _WORDS_CHARACTERS)


def _parts(home: Home) -> tuple[AuditPart, ...]:
    return (
        *(design.audit for design in home.designs if design.audit is not None),
        _OWN,
    )


def _told_by(part: AuditPart, home: Home, asked: AuditQuery) -> list[AuditMatch]:
    """What one part tells of the kinds that are its own."""
    mine = asked._replace(
        kinds=tuple(kind for kind in asked.kinds if kind in part.read_from)
    )
    if not mine.kinds:
        return []
    if part.entries is not None:
        return part.entries(home, mine, part.reading())
    read = sorted(
        {read_kind for kind in mine.kinds for read_kind in part.read_from[kind]}
    )
    return found_in(
        home.journal.tail(0, kinds=read, upto=asked.upto), part.reading(), mine
    )


def _take(event: Event) -> Iterator[AuditRecord]:
    """What an event of the home's own kinds tells: one entry."""
    kind, names = _TELL[event.kind]
    body = event.body
    told = {
        name: body.get(name) for name in names.split() if name != "text" or name in body
    }
    told = {
        name: cut(value) if isinstance(value, str) else value
        for name, value in told.items()
    }
    if event.kind == "salvaged":
        lost = ", ".join(
            f"{first}–{last}" if last > first else f"{first}"
            for first, last in body["lost"]
        )
        told = {
            "kept": told["events"],
            "lost": lost or "nothing",
            "set_aside": told["set_aside"],
        }
    elif event.kind == "reviewed":
        told["fix"] = told.pop("fix_description")
    elif event.kind == "erasure":
        told = {"events": len(body["ids"])}
    yield kind, event.agent, told


# Kind of an event -> the kind of the one entry that it is told as, and what it tells.
_TELL: dict[str, tuple[str, str]] = {
    "outcome": ("outcome_record", "decision success tags"),
    "reviewed": (
        "review",
        "outcome_id score confidence failure_class model_used fix_description",
    ),
    "gated": ("gate", "decision before after n policy"),
    "erasure": ("erasure", ""),
    "salvaged": ("salvage", "events lost set_aside"),
    "pinned": ("pin", "item undo text"),
    "dismissed": ("dismiss", "item undo text"),
    "corrected": ("correct", "item undo text"),
}
_OWN = AuditPart({kind: (event,) for event, (kind, _) in _TELL.items()}, lambda: _take)
