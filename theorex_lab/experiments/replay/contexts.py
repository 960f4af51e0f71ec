"""What the contexts of one setting would have held while a recording is replayed: prices, room, tiers and lines."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.config import Settings
from theorex_lab.designs.theorex.scores import law_of
from theorex_lab.designs.theorex.sentences import plain
from theorex_lab.experiments.replay.event_log import EventLog, KnownItems, source_number
from theorex_lab.memory.counts import Integers, Links
from theorex_lab.memory.decay import Floats, Items, Law, Tier, rank_order, tiers
from theorex_lab.memory.filling import (
    CONCEPT_HEADING_TOKENS,
    HEADING_TOKENS,
    SENTENCE_HEADING_TOKENS,
    Room,
    age_in_words,
    count_tokens,
    price_of,
)
from theorex_lab.memory.observation import TRUST

TIERS = (Tier.ACTIVE, Tier.MILD, Tier.LESS, Tier.SLEEPING)
# What surrounds the age of a line of one's own words, ` _(age)_`, and of one that was heard, ` (age)`.
_NOTE_BYTES, _HEARD_NOTE_BYTES = 5, 3


class LinePrices:
    """Prices in tokens of the lines that a context would hold, as `memory.context.render` counts them."""

    def __init__(self, recorded: EventLog, span_days: float) -> None:
        self.recorded = recorded
        self.age_bytes = np.array([len(age_in_words(day)) for day in range(int(span_days) + 2)])
        owners, agents = ([count_tokens(name) for name in names] for names in (recorded.owners, recorded.agents))
        self.of_sentences = SENTENCE_HEADING_TOKENS + np.array(owners, np.int64)
        texts = {text: number for number, text in enumerate(map(plain, recorded.sentence_texts))}
        self.said = np.array([texts[plain(text)] for text in recorded.sentence_texts], np.int64)
        self.of_concepts = CONCEPT_HEADING_TOKENS + np.array(agents, np.int64)

    def _age_bytes(self, age: Floats) -> Integers:
        bytes_of: Integers = self.age_bytes[np.clip(age, 0, len(self.age_bytes) - 1).astype(np.int64)]
        return bytes_of

    def concepts(self, moment: KnownItems) -> tuple[Integers, Integers]:
        """Price of every known item, and the number of who it was heard from, -1 for an agent's own."""
        recorded, rows = self.recorded, moment.rows
        trust = moment.memory.trust[rows].astype(np.int64)
        trusted = (trust >= TRUST["agent"]).astype(np.int64)
        times = np.where(moment.count > 3, 3 + np.floor(np.log10(np.maximum(moment.count, 1))) + 1, 0).astype(np.int64)
        name = recorded.item_bytes[rows, 1 - trusted]
        note = self._age_bytes(moment.age) + times + np.where(trusted, _NOTE_BYTES, _HEARD_NOTE_BYTES)
        return price_of(name + note), np.where(trusted, -1, source_number(recorded.item_agent[rows], trust))

    def sentences(self, now: int, settings: Settings, law: Law) -> tuple[Integers, Integers]:
        """Fixes, then what to avoid: those not LESS, the owner's own before what was heard, newest first; their prices."""
        found = [self._sentences(now, settings, law, avoid=avoid) for avoid in (False, True)]
        rows, prices = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.argsort(self.recorded.sentence_heard[rows] >= 0, kind="stable")
        said = self.said[self.recorded.sentence_text[rows[order]]]
        order = order[np.sort(np.unique(said, return_index=True)[1])]
        return rows[order], prices[order]

    def _sentences(self, now: int, settings: Settings, law: Law, *, avoid: bool) -> tuple[Integers, Integers]:
        recorded = self.recorded
        known = recorded.sentence_avoid == avoid
        known[np.searchsorted(recorded.sentence_time, now, "right") :] = False
        rows = np.flatnonzero(known)
        if not len(rows):
            return rows, rows
        age = (now - recorded.sentence_time[rows]) / MICROSECONDS_PER_DAY
        items = Items.of(age, half_life_cap_days=math.inf if avoid else settings.fix_half_life_days)
        awake = np.flatnonzero(law.importance(law.raw(items)) >= settings.mild_threshold)
        awake = awake[np.lexsort((age[awake], recorded.sentence_heard[rows[awake]] >= 0))]
        awake = awake[np.sort(np.unique(recorded.sentence_same[rows[awake]], return_index=True)[1])]
        rows, age = rows[awake], age[awake]
        return rows, price_of(recorded.sentence_bytes[rows] + self._age_bytes(age) + _HEARD_NOTE_BYTES)


class ContextReplay:
    """One setting's memory while the steps pass: what sleeps, what the context shows, what was asked for again."""

    def __init__(self, recorded: EventLog, settings: Settings) -> None:
        n = len(recorded.names)
        self.settings, self.law = settings, law_of(settings)
        self.asleep, self.shown = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        self.steps: list[list[int]] = []
        self.injected: list[tuple[Integers, Integers]] = []
        self.asked: list[list[int]] = []
        self.reasks: list[tuple[Any, ...]] = []

    def ask(self, time: Integers, item: Integers, days_unseen: Floats) -> None:
        """Known items are mentioned again, each for the first time since the last scan."""
        asleep, absent = self.asleep[item], ~self.shown[item]
        self.reasks.append((time[absent], item[absent], days_unseen[absent], asleep[absent]))
        self.asked.append([len(item), int(asleep.sum()), int(absent.sum())])

    def scan(self, moment: KnownItems, links: Links, lines: LinePrices, prices: tuple[Integers, Integers]) -> None:
        """Set tiers anew and render the context."""
        settings, rows = self.settings, moment.rows
        raw = self.law.raw(moment.items(settings, self.law, links))
        tier = tiers(self.law.importance(raw), settings.active_threshold, settings.mild_threshold)
        tier[self.asleep[rows]] = Tier.SLEEPING
        tier[(tier == Tier.LESS) & (moment.age >= settings.sleep_after_days)] = Tier.SLEEPING
        self.asleep[rows] = tier == Tier.SLEEPING
        held = np.bincount(tier, minlength=len(Tier))
        awake = np.flatnonzero((tier == Tier.ACTIVE) | (tier == Tier.MILD))
        items, sentences, tokens = self._render(moment, lines, prices, raw, awake)
        self.shown[:] = False
        self.shown[items] = True
        self.injected.append((items, sentences))
        avoided = int(moment.recorded.sentence_avoid[sentences].sum())
        self.steps.append([*held[list(TIERS)].tolist(), len(items), len(sentences) - avoided, avoided, tokens])

    def _render(
        self, moment: KnownItems, lines: LinePrices, prices: tuple[Integers, Integers], raw: Floats, awake: Integers
    ) -> tuple[Integers, Integers, int]:
        """(items, sentences, tokens) of the context; `awake` are positions among the known items."""
        (price, source), agent = prices, moment.recorded.item_agent[moment.rows]
        room = Room(self.settings.context_tokens, used=HEADING_TOKENS)
        told = self._told(lines, *lines.sentences(moment.now, self.settings, self.law), room)
        own = self._own(moment, raw, awake[source[awake] < 0], price, lines.of_concepts, room)
        known = self._ordered(moment, raw, awake[source[awake] >= 0])
        items = np.append(own, known[room.hear(source[known], price[known], agent[known], lines.of_concepts)])
        return moment.rows[items], told, self.settings.context_tokens - room.left

    def _told(self, lines: LinePrices, rows: Integers, price: Integers, room: Room) -> Integers:
        """The sentences that are taken: the owner's own in half of the room at most, then what was heard."""
        recorded, section_price = lines.recorded, np.tile(lines.of_sentences, 2)
        source, section = recorded.sentence_heard[rows], recorded.sentence_owner[rows]
        own, heard = np.flatnonzero(source < 0), np.flatnonzero(source >= 0)
        by_kind = recorded.sentence_avoid[rows] * len(lines.of_sentences) + section
        told = own[room.fill(price[own], by_kind[own], section_price, room.left // 2)]
        heard = heard[room.hear(source[heard], price[heard], section[heard], section_price)]
        return rows[np.append(told, heard)]

    def _own(
        self, moment: KnownItems, raw: Floats, awake: Integers, price: Integers, section_price: Integers, room: Room
    ) -> Integers:
        """The concepts of agents' own words that find room, hottest first."""
        cheapest, agent = int(price.min()), moment.recorded.item_agent[moment.rows]
        most = max(room.left, 0) // cheapest + 1
        hottest = awake
        if len(awake) > 2 * most:
            hottest = awake[raw[awake] >= np.partition(raw[awake], -most)[-most]]
        for chosen in (hottest, awake):
            before, order = room.left, self._ordered(moment, raw, chosen)
            taken = room.fill(price[order], agent[order], section_price, room.left)
            if len(chosen) == len(awake) or room.left < cheapest:  # else a cooler one may find room
                break
            room.left = before
        return order[taken]

    def _ordered(self, moment: KnownItems, raw: Floats, chosen: Integers) -> Integers:
        ids = moment.recorded.item_id[moment.rows[chosen]]
        return chosen[rank_order(raw[chosen], moment.count[chosen], moment.last[chosen], ids)]
