"""The sentences of a context: fixes and what to avoid, the owner's own apart from what was only heard."""

import math
from collections.abc import Hashable

import numpy as np

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.config import Settings
from theorex_lab.design import Line
from theorex_lab.designs.theorex.axon import Axon, Mask
from theorex_lab.designs.theorex.confirm import confirmed, short_id
from theorex_lab.designs.theorex.items import TITLES
from theorex_lab.designs.theorex.scores import Chosen, law_of
from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import Event
from theorex_lab.memory.decay import Items, Tier, tiers
from theorex_lab.memory.filling import age_in_words
from theorex_lab.memory.observation import AVOID_TYPE, FIX_TYPE, TRUST, owner_of
from theorex_lab.text.line import one_line


def sentences(axon: Axon, journal: Journal, now: int, settings: Settings, projects: Chosen = None) -> list[Line]:
    """Fixes, then what to avoid: those ACTIVE or MILD by their own age, newest first; of these projects or of none.

    Of what to avoid the newest of an agent's tag. What was heard comes last, each with the id by which a person confirms
    it. No sentence comes twice: what was heard never stands in the place of the owner's own words, nor beside them.
    """
    among = axon.observed_within(projects)
    events = [event for kind in TITLES for event in _of_type(axon, journal, now, settings, kind, among)]
    said = confirmed(journal, [event.id for event in events if is_heard(event)])
    told = [(event, _line(event, now, event.id in said)) for event in events]
    kept: dict[Hashable, tuple[str, Line]] = {}
    for event, line in sorted(told, key=lambda pair: not pair[1].trusted):
        kept.setdefault(dedup_key(event, heard=not line.trusted), (plain(one_line(event.body["text"])), line))
    lines: dict[str, Line] = {}
    for text, line in kept.values():
        lines.setdefault(text, line)
    return list(lines.values())


def _of_type(axon: Axon, journal: Journal, now: int, settings: Settings, wanted: str, among: Mask) -> list[Event]:
    kind = axon.types.find(wanted)
    if kind is None:
        return []
    table = axon.observations
    rows, law = np.flatnonzero((table["type"] == kind) & among), law_of(settings)
    age = (now - table["at"][rows]) / MICROSECONDS_PER_DAY
    items = Items.of(age, half_life_cap_days=settings.fix_half_life_days if wanted == FIX_TYPE else math.inf)
    present = tiers(law.importance(law.raw(items)), settings.active_threshold, settings.mild_threshold) >= Tier.MILD
    rows = rows[present][np.argsort(-table["at"][rows[present]], kind="stable")]
    by_seq = {event.seq: event for event in journal.read(seqs=table["seq"][rows].tolist())}
    return [by_seq[seq] for seq in table["seq"][rows].tolist() if seq in by_seq]


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


def dedup_key(event: Event, *, heard: bool) -> Hashable:
    """The key under which only the newest sentence is kept: its text, or the agent and tags of an anti-pattern.

    heard: not verified; such sentences have keys of their own.
    """
    tags = event.body["tags"] if event.body["type"] == AVOID_TYPE else ()
    return (heard, event.agent, *tags) if tags else plain(event.body["text"])


def plain(text: str) -> str:
    """A sentence without its type in front, by which two are told to say the same.

    >>> plain("trace_fix:  shorten the TTL") == plain("shorten the TTL")
    True
    """
    return " ".join(text.removeprefix(f"{FIX_TYPE}:").split())
