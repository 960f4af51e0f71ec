"""The sentences of a context: fixes and what to avoid, the owner's own apart from what was only heard."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.config import Settings
from theorex_lab.design import Line
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.confirm import confirmed, short_id
from theorex_lab.designs.theorex.scores import law_of
from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import Event
from theorex_lab.memory.decay import Items, Tier, tiers
from theorex_lab.memory.filling import age_in_words
from theorex_lab.memory.observation import AVOID_TYPE, FIX_TYPE, TRUST, owner_of
from theorex_lab.text.line import one_line


def sentences(
    axon: Axon, journal: Journal, now: int, settings: Settings, projects: Sequence[str] | None = None
) -> list[Line]:
    """Fixes, then what to avoid: those ACTIVE or MILD by their own age, newest first, each once; of these projects or of none.

    Of what to avoid the newest of an agent's tag. What was heard ends with the id by which a person confirms it.
    """
    among = axon.observed_within(projects)
    return [line for wanted in (FIX_TYPE, AVOID_TYPE) for line in _of_type(axon, journal, now, settings, wanted, among)]


def _of_type(
    axon: Axon, journal: Journal, now: int, settings: Settings, wanted: str, among: NDArray[np.bool_]
) -> list[Line]:
    kind = axon.types.find(wanted)
    if kind is None:
        return []
    table = axon.observations
    rows = np.flatnonzero((table["type"] == kind) & among)
    law = law_of(settings)
    age = (now - table["at"][rows]) / MICROSECONDS_PER_DAY
    items = Items.of(age, half_life_cap_days=settings.fix_half_life_days if wanted == FIX_TYPE else math.inf)
    present = tiers(law.importance(law.raw(items)), settings.active_threshold, settings.mild_threshold) >= Tier.MILD
    rows = rows[present][np.argsort(-table["at"][rows[present]], kind="stable")]
    by_seq = {event.seq: event for event in journal.read(seqs=table["seq"][rows].tolist())}
    events = [by_seq[seq] for seq in table["seq"][rows].tolist() if seq in by_seq]
    said = confirmed(journal, [event.id for event in events if is_heard(event)])
    lines: dict[Hashable, Line] = {}
    for event in events:
        line = _line(event, now, event.id in said)
        # What was heard never stands in the place of the owner's own words.
        lines.setdefault((line.trusted, dedup_key(event)), line)
    return list(lines.values())


def _line(event: Event, now: int, is_confirmed: bool) -> Line:
    owner = f"{owner_of(event)},confirmed" if is_confirmed else owner_of(event)
    heard = is_heard(event) and not is_confirmed
    age = age_in_words((now - event.at) / MICROSECONDS_PER_DAY)
    told = f"{age}, id {short_id(event.id)}" if heard else age
    heard_from = (event.agent, TRUST[event.body["source"]]) if heard else None
    return Line(event.body["type"], owner, f"{one_line(event.body['text'])} ({told})", heard_from, (event.id,))


def is_heard(event: Event) -> bool:
    """Whether a sentence holds the words of a tool, an import or a model.

    What to avoid is put together by a rule from the owner's own outcomes, and says only what those say.
    """
    source = event.body["source"]
    if event.body["type"] == AVOID_TYPE and source == "model" and event.lineage:
        return False
    return TRUST[source] < TRUST["agent"]


def dedup_key(event: Event) -> Hashable:
    """Equal for sentences of which the newest is enough: those of one text, and those that say what to avoid for one tag."""
    tags = event.body["tags"] if event.body["type"] == AVOID_TYPE else ()
    return (event.agent, *tags) if tags else " ".join(event.body["text"].split())
