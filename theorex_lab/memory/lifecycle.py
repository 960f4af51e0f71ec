"""One memory's way through the house, from a sentence that is written to the context of the next session.

    write  →  journal (an observation event)  →  axon (concepts, links)  →  scan (tiers)  →  prune  →  context

Read this file first: each step is one function, and each leaves at most one event.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from theorex_lab.clock import Clock
from theorex_lab.config import Settings
from theorex_lab.errors import StorageError
from theorex_lab.journal.files import write_atomically
from theorex_lab.journal.sqlite import Journal
from theorex_lab.memory.observation import DEFAULT_TYPE, Written, new_observation

if TYPE_CHECKING:  # a write opens no view, and so does not wait for numpy
    from theorex_lab.journal.view import Views
    from theorex_lab.memory.context import Context

CONTEXT_FILE = "SHARED_CONTEXT.md"


@dataclass(frozen=True)
class Entry:
    """What is handed to `write_all`: a text and when, by whom and from where it came."""

    text: str
    agent: str
    at: int | str | datetime | None = None
    observation_type: str = DEFAULT_TYPE
    source: str = "agent"
    tags: Sequence[str] = ()
    session: str = ""


class Scanned(NamedTuple):
    """What a scan found: concepts by tier after it, how many changed tier, fell asleep, and links dropped."""

    tiers: dict[str, int]
    changed: int
    slept: int
    links_dropped: int


def write(journal: Journal, settings: Settings, clock: Clock, entry: Entry) -> Written:
    """Write one text; it is on disk when this returns. Raises InvalidInput, and then nothing was written."""
    return write_all(journal, settings, clock, [entry])[0]


def write_all(
    journal: Journal, settings: Settings, clock: Clock, entries: Sequence[Entry], *, imported: bool = False
) -> list[Written]:
    """Write many texts in one transaction: all or none. An import may bear dates of the future."""
    now = clock.now()
    events, written = [], []
    for entry in entries:
        event, mentions = new_observation(
            entry.text,
            agent=entry.agent,
            settings=settings,
            now=now,
            observation_type=entry.observation_type,
            source=entry.source,
            tags=entry.tags,
            session=entry.session,
            at=entry.at,
        )
        events.append(event)
        written.append(Written(event.id, [mention.label for mention in mentions]))
    journal.append(events, allow_future=imported)
    return written


def scan(views: Views, settings: Settings, clock: Clock, *, agents: Sequence[str] | None = None) -> Scanned:
    """Set tiers anew, put to sleep what is LESS and long unseen, drop links that faded. Repeating changes nothing."""
    from theorex_lab.memory import standing
    from theorex_lab.memory.axon import Axon

    axon = views.get(Axon)
    with axon.lock:
        event = standing.scan(axon, clock.now(), settings, agents=agents)
    changed = slept = dropped = 0
    if event is not None:
        views.journal.append([event])
        by_agent = event.body["tiers"].values()
        changed = sum(len(concepts) for tiers in by_agent for concepts in tiers.values())
        slept = sum(len(tiers.get("SLEEPING", ())) for tiers in by_agent)
        dropped = sum(len(pairs) for pairs in event.body["dropped_links"].values())
    axon = views.get(Axon)
    with axon.lock:
        counts = standing.standing(axon, clock.now(), settings, agents=agents).counts()
    return Scanned(counts, changed, slept, dropped)


def prune(views: Views, settings: Settings, clock: Clock, *, agents: Sequence[str] | None = None) -> int:
    """Take LESS concepts unseen for longer than pruneThresholdDays out of the axon; returns how many."""
    from theorex_lab.memory import standing
    from theorex_lab.memory.axon import Axon

    axon = views.get(Axon)
    with axon.lock:
        event = standing.prune(axon, clock.now(), settings, agents=agents)
    if event is None:
        return 0
    views.journal.append([event])
    return sum(len(concepts) for concepts in event.body["concepts"].values())


def context(views: Views, settings: Settings, clock: Clock, *, tokens: int | None = None) -> Context:
    """What the next session is given."""
    from theorex_lab.memory.axon import Axon
    from theorex_lab.memory.context import render

    axon = views.get(Axon)
    with axon.lock:
        return render(axon, views.journal, clock.now(), settings, tokens=tokens)


def boot_inject(views: Views, settings: Settings, clock: Clock, output: Path) -> Context:
    """Render the context into `output`, which is replaced as a whole. Raises StorageError where that fails."""
    rendered = context(views, settings, clock)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(output, rendered.text.encode())
    except OSError as error:
        raise StorageError(
            f"cannot write {output}: {error.strerror}; the old file is untouched; choose another with --output"
        ) from error
    return rendered
