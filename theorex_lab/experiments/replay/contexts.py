"""What the contexts of one setting would have held while a recording is replayed: prices, room, tiers and lines."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.config import Settings
from theorex_lab.designs.theorex.scores import law_of
from theorex_lab.experiments.replay.event_log import EventLog, KnownItems, source_number
from theorex_lab.memory.counts import Integers, Links
from theorex_lab.memory.decay import Floats, Items, Law, Tier, rank_order, tiers
from theorex_lab.memory.filling import (
    CONCEPT_HEADING_TOKENS,
    HEADING_TOKENS,
    HEARSAY_LINES,
    HEARSAY_PART,
    SENTENCE_HEADING_TOKENS,
    age_in_words,
    count_tokens,
    fill,
    first_of_each,
    price_of,
)
from theorex_lab.memory.observation import TRUST

Booleans = NDArray[np.bool_]

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
        """Fixes, then what to avoid: those not LESS, newest first, and their prices."""
        found = [self._sentences(now, settings, law, avoid=avoid) for avoid in (False, True)]
        rows, prices = (np.concatenate(column) for column in zip(*found, strict=True))
        return rows, prices

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
        awake = awake[np.argsort(age[awake], kind="stable")]
        awake = awake[np.sort(np.unique(recorded.sentence_same[rows[awake]], return_index=True)[1])]
        rows, age = rows[awake], age[awake]
        return rows, price_of(recorded.sentence_bytes[rows] + self._age_bytes(age) + _HEARD_NOTE_BYTES)


class _Filled:
    """A context while it is filled, as `memory.filling.Room` fills one."""

    def __init__(self, lines: LinePrices, tokens: int) -> None:
        self.lines, self.recorded = lines, lines.recorded
        self.left, self.for_hearsay, self.heard_from = (
            tokens - HEADING_TOKENS,
            tokens // HEARSAY_PART,
            np.zeros(0, np.int64),
        )

    def sentences(self, rows: Integers, price: Integers) -> Integers:
        """Those that are taken: the owner's own in half of the room at most, then what was heard."""
        recorded, n = self.recorded, len(self.lines.of_sentences)
        own = recorded.sentence_heard[rows] < 0
        section, section_price = recorded.sentence_owner[rows], np.tile(self.lines.of_sentences, 2)
        by_kind = recorded.sentence_avoid[rows] * n + section
        told = rows[own][self._fill(price[own], by_kind[own], section_price, self.left // 2)]
        few = np.flatnonzero(~own)[self._few(recorded.sentence_heard[rows][~own])]
        return np.append(told, rows[few][self._hear(price[few], section[few], section_price)])

    def concepts(self, agent: Integers, price: Integers) -> Booleans:
        """Which of these lines of an agent's own words are taken."""
        return self._fill(price, agent, self.lines.of_concepts, self.left)

    def hearsay(self, agent: Integers, price: Integers, source: Integers) -> Booleans:
        """Which of these lines of concepts that were only heard are taken."""
        few = np.flatnonzero(self._few(source))
        taken = np.zeros(len(source), np.bool_)
        taken[few] = self._hear(price[few], agent[few], self.lines.of_concepts)
        return taken

    def _few(self, source: Integers) -> Booleans:
        """Which lines are looked at: of each source so many in all."""
        few = first_of_each(np.append(self.heard_from, source), HEARSAY_LINES)[len(self.heard_from) :]
        self.heard_from = np.append(self.heard_from, source[few])
        return few

    def _hear(self, price: Integers, section: Integers, section_price: Integers) -> Booleans:
        before = self.left
        taken = self._fill(price, section, section_price, min(self.left, self.for_hearsay))
        self.for_hearsay -= before - self.left
        return taken

    def _fill(self, price: Integers, section: Integers, section_price: Integers, budget: int) -> Booleans:
        taken, left = fill(price, section, section_price, budget)
        self.left -= budget - left
        return taken


class ContextReplay:
    """One setting's memory while the steps pass: what sleeps, what the context shows, what was asked for again."""

    def __init__(self, recorded: EventLog, settings: Settings) -> None:
        n = len(recorded.names)
        self.settings, self.law = settings, law_of(settings)
        self.asleep, self.shown = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        self.steps: list[list[int]] = []
        self.injected: list[tuple[Integers, Integers]] = []
        self.asked: list[list[int]] = []
        self.reasks: list[tuple[Integers, Integers, Floats, Booleans]] = []

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
        recorded, (price, source) = moment.recorded, prices
        rows, sentence_price = lines.sentences(moment.now, self.settings, self.law)
        filled = _Filled(lines, self.settings.context_tokens)
        told = filled.sentences(rows, sentence_price)
        agent = recorded.item_agent[moment.rows]
        own = self._own(moment, raw, awake[source[awake] < 0], agent, price, filled)
        known = self._ordered(moment, raw, awake[source[awake] >= 0])
        items = np.append(own, known[filled.hearsay(agent[known], price[known], source[known])])
        return moment.rows[items], told, self.settings.context_tokens - filled.left

    def _own(
        self, moment: KnownItems, raw: Floats, awake: Integers, agent: Integers, price: Integers, filled: _Filled
    ) -> Integers:
        """The concepts of agents' own words that find room, hottest first."""
        cheapest = int(price.min())
        most = max(filled.left, 0) // cheapest + 1
        hottest = awake
        if len(awake) > 2 * most:
            hottest = awake[raw[awake] >= np.partition(raw[awake], -most)[-most]]
        for chosen in (hottest, awake):
            before, order = filled.left, self._ordered(moment, raw, chosen)
            taken = filled.concepts(agent[order], price[order])
            if len(chosen) == len(awake) or filled.left < cheapest:  # else a cooler one may find room
                break
            filled.left = before
        return order[taken]

    def _ordered(self, moment: KnownItems, raw: Floats, chosen: Integers) -> Integers:
        ids = moment.recorded.item_id[moment.rows[chosen]]
        return chosen[rank_order(raw[chosen], moment.count[chosen], moment.last[chosen], ids)]
