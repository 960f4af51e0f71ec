"""The axon: every agent's concepts and the links between them.

They are columns that are folded from the journal.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, count, groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import EARLIEST, LATEST, MICROSECONDS_PER_DAY
from theorex_lab.designs.theorex.concept_rows import (
    NO_ROW,
    FindRows,
    dictionary_finder,
    sorted_finder,
)
from theorex_lab.designs.theorex.sleepers import Sleepers
from theorex_lab.journal.columns import Names, Strings, Table
from theorex_lab.journal.event import Body, Event
from theorex_lab.journal.view import View
from theorex_lab.memory.counts import Counts, Links, remaining
from theorex_lab.memory.decay import COUNT_HALF_LIVES_DAYS, Tier
from theorex_lab.memory.observation import FIX_TYPE, TRUST

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

GRADUATED_TYPE = "graduated"
# A dictionary of all concepts, or of all links, takes as long as some hundreds of looks
# through their columns.
_MOST_LOOKS = 100
# A scan that names a greater share of the concepts is looked up in sorted columns.
_LARGE_SCAN = 0.1
_LOOKS_OF_A_SORT = 10
# Of what was found in a text; another one is of a file that stated it.
NODE_TYPE = "concept"
# Columns that an imported concept states under their own names.
_STATED = (
    "fix_count",
    "first_seen",
    "last_seen",
    "source_weight",
    "sentiment_sum",
    "decayed",
)
_LEVELS = ("affirmed", "refused", "heard")
# Of a concept that was only just named.
_UNSEEN = {
    "first_seen": LATEST,
    "last_seen": -LATEST,
    "own_first_seen": LATEST,
    "own_last_seen": -LATEST,
}
_UNSEEN |= dict.fromkeys(_LEVELS, -1)
_APART = (*_LEVELS, "own_count", "own_fix_count", "own_first_seen", "own_last_seen")


_SECOND_END = 0xFFFFFFFF  # of the key of a link


class _Mentions(NamedTuple):
    """Mentions of concepts, column by column.

    Attributes:
        rows: Rows of concepts.
        counts: How often each is mentioned.
        at: When, µs.
        type: In what kind of text, a number of `Axon.types`.
        trust: How far the text is trusted.
        refused: Whether the mention refuses the concept.
        weight: Of the source, 0..1.
        sentiment: Of the text.
    """

    rows: Ints
    counts: Ints
    at: Ints
    type: Ints
    trust: NDArray[np.int8]
    refused: Mask
    weight: Floats
    sentiment: Floats


class Axon(View):
    """Concepts, links between them, and which observation mentions what.

    There is one row per agent and concept.

    Attributes:
        concepts: The columns concept_id, agent, count, fix_count (mentions in a
            trace_fix), first_seen, last_seen (µs), source_weight (0..1), sentiment_sum
            (Σ sentiment × count), type (of the last mention), node_type (what kind of
            node a file stated; 0 is a concept), tier (as last scanned; NEUTRAL = not
            yet), alive, decayed (n × 6: Σ 2^(−age/h) at last_seen). affirmed, refused,
            heard: highest trust (−1: none) of the mentions by an agent or a user, of
            those that refuse it, and of those by anybody else; trust is the first of
            them that there is. own_count, own_fix_count, own_first_seen,
            own_last_seen: over the affirming mentions alone.
        links: The columns a < b (rows of concepts), count of texts that mention both
            (0 = dropped), last_seen (µs).
        observations: The columns seq, at (µs), agent, type, trust, project ('' for
            none).
        mentions: Rows of observations and of the concepts that they mention.
        entered: Pairs of concept row and project, of what came in without an
            observation.
    """

    name = "axon"
    code = 6
    kinds = ("observation", "graduated", "scan", "prune", "imported", "imported_links")

    def __init__(self) -> None:
        super().__init__()
        self.agents = Names()
        self.types = Names()
        self.projects = Names()
        self.node_types = Names()
        self.node_types.number(NODE_TYPE)
        self.labels = Strings()
        self.surfaces = Strings()
        self.concepts = Table(
            concept_id="i8",
            agent="i4",
            count="i8",
            fix_count="i8",
            first_seen="i8",
            last_seen="i8",
            source_weight="f8",
            sentiment_sum="f8",
            type="i4",
            node_type="i4",
            trust="i1",
            tier="i1",
            alive="?",
            decayed=("f8", len(COUNT_HALF_LIVES_DAYS)),
            affirmed="i1",
            refused="i1",
            heard="i1",
            own_count="i8",
            own_fix_count="i8",
            own_first_seen="i8",
            own_last_seen="i8",
        )
        self.links = Table(a="i4", b="i4", count="i4", last_seen="i8")
        self.observations = Table(
            seq="i8", at="i8", agent="i4", type="i4", trust="i1", project="i4"
        )
        self.mentions = Table(observation="i4", concept="i4")
        self.entered = Table(concept="i4", project="i4")
        self._row_of: dict[tuple[int, int], int] | None = {}
        self._link_of: dict[int, int] | None = {}
        # How many more concepts or links are looked for in the columns after a load.
        self._n_looks = 0
        # Of each concept that has a number but no row yet its agent, and itself.
        self._named: list[tuple[int, Sequence[Any]]] = []
        self._sleepers = Sleepers()

    def apply(self, events: Sequence[Event]) -> None:
        """Take in observations, graduations, scans, prunes, and what files stated."""
        fold_event = {
            "scan": self._scan,
            "prune": self._prune,
            "graduated": self._graduate,
            "imported_links": self._link,
        }
        for kind, run in groupby(events, key=lambda event: event.kind):
            if kind == "observation":
                self._fold_observations(list(run))
            elif kind == "imported":
                for distinct in _without_repeats(run):
                    self._fold_imported(distinct)
            else:
                for event in run:
                    fold_event[kind](event)

    @property
    def concept_counts(self) -> Counts:
        """The counts of the concepts, row by row."""
        table = self.concepts
        return Counts(
            table["count"],
            table["first_seen"],
            table["last_seen"],
            table["decayed"],
        )

    @property
    def link_counts(self) -> Links:
        """The links, row by row."""
        table = self.links
        return Links(
            table["a"],
            table["b"],
            table["count"],
            table["last_seen"],
        )

    def _after_load(self) -> None:
        # The look-up dictionaries are made when a fold first needs them.
        self._row_of = self._link_of = None
        self._n_looks = _MOST_LOOKS
        self._sleepers = Sleepers()

    def _looks_for(self, n_sought: int) -> bool:
        """Return whether so few are sought that no dictionary is worth making."""
        if n_sought > self._n_looks:
            return False
        self._n_looks -= n_sought
        return True

    def row(self, agent: str, concept_id: int) -> int | None:
        """Return the row of an agent's concept, or None."""
        number = self.agents.find(agent)
        if number is None:
            return None
        rows = self._rows()
        return rows.get((number, concept_id))

    def rows_of(
        self, agents: Iterable[str] | None = None, among: Mask | None = None
    ) -> Ints:
        """Return the rows of living concepts.

        Args:
            agents: Whose they are; None: all agents'.
            among: A mask of rows such as `within` gives, for those in it.
        """
        mask = self.concepts["alive"]
        if agents is not None:
            numbers = self.agents.numbers(*agents)
            n_agents = len(self.agents)
            is_wanted = np.zeros(n_agents, bool)
            is_wanted[numbers] = True
            mask = mask & is_wanted[self.concepts["agent"]]
        if among is not None:
            mask = mask & among
        return np.flatnonzero(mask)

    def within(self, projects: Iterable[str] | None, *, alone: bool = False) -> Mask:
        """Return a mask of the concept rows that were mentioned in some projects.

        Args:
            projects: A row is in the mask that was mentioned in one of these or without
            a
                project; None: all rows are.
            alone: A row is in the mask that was mentioned in no other project, and
            never
                without one.
        """
        if projects is None:
            return np.ones(len(self.concepts), bool)
        in_projects = self._project_mask(projects, with_none=not alone)
        if not alone:
            return self._mentioned_in(in_projects)
        is_outside = self._mentioned_in(~in_projects)
        return ~is_outside

    def _mentioned_in(self, project_mask: Mask) -> Mask:
        """Return a mask of the concept rows that were mentioned in the masked projects."""
        mask = np.zeros(len(self.concepts), bool)
        observation = self.mentions["observation"]
        project_of_mention = self.observations["project"][observation]
        is_mentioned = project_mask[project_of_mention]
        mask[self.mentions["concept"][is_mentioned]] = True
        has_entered = project_mask[self.entered["project"]]
        mask[self.entered["concept"][has_entered]] = True
        return mask

    def observed_within(self, projects: Iterable[str] | None) -> Mask:
        """Return a mask of the observations of one of these projects or of none.

        With None it is of all.
        """
        if projects is None:
            return np.ones(len(self.observations), bool)
        in_projects = self._project_mask(projects, with_none=True)
        return np.asarray(in_projects[self.observations["project"]])

    def _project_mask(self, projects: Iterable[str], *, with_none: bool) -> Mask:
        """Return a mask of the numbers of these projects, and of '' where `with_none`."""
        names = list(projects)
        if with_none:
            names.append("")
        numbers = self.projects.numbers(*names)
        mask = np.zeros(len(self.projects), bool)
        mask[numbers] = True
        return mask

    def asleep(self) -> tuple[Ints, Ints]:
        """Return the rows of the concepts and of the observations that sleep.

        They are the concepts that sleep or were pruned, and the observations all of
        whose concepts are among them.
        """
        is_pruned = ~self.concepts["alive"]
        is_sleeping = self.concepts["tier"] == Tier.SLEEPING
        is_gone = is_sleeping | is_pruned
        if not is_gone.any():
            none = np.zeros(0, np.int64)
            return none, none
        is_asleep = self._sleepers.now(
            is_gone,
            self.mentions["observation"],
            self.mentions["concept"],
            n_observations=len(self.observations),
        )
        return np.flatnonzero(is_gone), np.flatnonzero(is_asleep)

    def _rows(self) -> dict[tuple[int, int], int]:
        if self._row_of is None:
            living = self.rows_of()
            agents = self.concepts["agent"][living].tolist()
            ids = self.concepts["concept_id"][living].tolist()
            keys = zip(agents, ids, strict=True)
            rows = living.tolist()
            self._row_of = dict(zip(keys, rows, strict=True))
        return self._row_of

    def _linked(self) -> dict[int, int]:
        if self._link_of is None:
            living = np.flatnonzero(self.links["count"] > 0)
            keys = self._link_keys(living).tolist()
            rows = living.tolist()
            self._link_of = dict(zip(keys, rows, strict=True))
        return self._link_of

    def _links_among(self, keys: Sequence[int]) -> dict[int, int]:
        """Return the rows of links by key, at least of those of these keys that live."""
        if self._link_of is not None or not self._looks_for(len(keys)):
            return self._linked()
        row_of: dict[int, int] = {}
        is_living = self.links["count"] > 0
        for key in keys:
            is_sought = self.links["a"] == key >> 32
            is_sought &= self.links["b"] == key & _SECOND_END
            rows = np.flatnonzero(is_sought & is_living)
            for row in rows.tolist():
                row_of[key] = row
        return row_of

    def _link_keys(self, rows: Ints) -> Ints:
        """Return one key a link: its first end's row above its second end's."""
        first = self.links["a"][rows].astype(np.int64)
        second = self.links["b"][rows]
        keys: Ints = (first << 32) | second
        return keys

    def _fold_observations(self, events: Sequence[Event]) -> None:
        """Take in observations.

        One pass in Python finds the rows; then there is one numpy expression a column.
        What is not `counted` came with a file that states its concepts' numbers; its
        concepts that had `faded` are gone.
        """
        is_partial = self._look_up_few(events)
        facts = list[tuple[int, ...]]()  # one row an event
        # Of each mention its concept's row, its count, whether it refuses, and its event's
        # position.
        mention_rows = list[int]()
        mention_counts = list[int]()
        mention_refused = list[bool]()
        mention_events = list[int]()
        # Of each link its key and its event's position.
        link_keys = list[int]()
        link_events = list[int]()
        for position, event in enumerate(events):
            body = event.body
            concepts = body["concepts"]
            agent = self.agents.number(event.agent)
            kind = self.types.number(body["type"])
            project = self.projects.number(body.get("project", ""))
            trust = TRUST[body["source"]]
            fact = (event.seq, event.at, agent, kind, project, trust)
            facts.append(fact)
            mention_events += [position] * len(concepts)
            refused = body.get("refused", ())
            mention_refused += _refusals(concepts, refused)
            if not body.get("counted", True):
                mention_rows += self._known_rows(agent, concepts, body["faded"])
                mention_counts += [0] * len(concepts)
                continue
            rows = [self._find_row(agent, concept) for concept in concepts]
            mention_rows += rows
            mention_counts += [concept[3] for concept in concepts]
            pairs = combinations(sorted(rows), 2)
            keys = [a << 32 | b for a, b in pairs]
            link_keys += keys
            link_events += [position] * len(keys)
        self._place_named()
        names = ("seq", "at", "agent", "type", "project", "trust")
        first = self.observations.extend(names, facts).start
        columns = np.array(facts, np.int64).T
        _, at, _, kinds, _, trusts = columns
        row = np.array(mention_rows, np.int64)
        number = np.array(mention_counts, np.int64)
        event_of = np.array(mention_events, np.int64)
        refuses = np.array(mention_refused, bool)
        self.mentions.put(
            self.mentions.grow(len(row)),
            observation=event_of + first,
            concept=row,
        )
        is_counted = number > 0
        counted_events = event_of[is_counted]
        weights = np.array([event.body["weight"] for event in events])
        sentiments = np.array([event.body["sentiment"] for event in events])
        trust = trusts[counted_events]
        mentions = _Mentions(
            rows=row[is_counted],
            counts=number[is_counted],
            at=at[counted_events],
            type=kinds[counted_events],
            trust=trust.astype(np.int8),
            refused=refuses[is_counted],
            weight=weights[counted_events],
            sentiment=sentiments[counted_events],
        )
        self._count_mentions(mentions)
        if link_keys:
            # The rows of the links come first, since new ones change the table of counts.
            links = np.array(self._find_links(link_keys), np.int64)
            self.link_counts.take_in(links, at[link_events])
        if is_partial:
            self._row_of = None

    def _look_up_few(self, events: Sequence[Event]) -> bool:
        """Look up the rows of a few observations' concepts, without those of all others.

        Returns:
            Whether the dictionary of rows has these alone, until it is dropped.
        """
        if self._row_of is not None:
            return False
        n_sought = 0
        for event in events:
            n_sought += len(event.body["concepts"])
        if not self._looks_for(n_sought):
            return False
        row_of: dict[tuple[int, int], int] = {}
        for event in events:
            agent = self.agents.number(event.agent)
            is_agents = self.concepts["agent"] == agent
            is_living = self.concepts["alive"] & is_agents
            for concept in event.body["concepts"]:
                concept_id = concept[0]
                is_sought = self.concepts["concept_id"] == concept_id
                rows = np.flatnonzero(is_sought & is_living)
                for row in rows.tolist():
                    row_of[agent, concept_id] = row
        self._row_of = row_of
        return True

    def _find_row(self, agent: int, concept: Sequence[Any]) -> int:
        """Return the row of a mentioned concept.

        A new one is only named: `_place_named` gives it its row and identity, and its
        numbers come afterwards.
        """
        rows = self._rows()
        key = (agent, concept[0])
        row = rows.get(key)
        if row is None:
            row = self._name(agent, concept)
            rows[key] = row
        return row

    def _name(self, agent: int, concept: Sequence[Any]) -> int:
        """Note a new concept, and return the row that it will have."""
        row = len(self.concepts) + len(self._named)
        self._named.append((agent, concept))
        return row

    def _place_named(self) -> None:
        """Give all concepts that were only named their rows."""
        named = self._named
        if not named:
            return
        self._named = []
        agents: list[int] = []
        concept_ids: list[int] = []
        for agent, concept in named:
            concept_id, label, surface = concept[:3]
            agents.append(agent)
            concept_ids.append(concept_id)
            self.labels.append(label)
            self.surfaces.append(surface)
        new_rows = self.concepts.grow(len(named))
        self.concepts.put(
            new_rows,
            concept_id=concept_ids,
            agent=agents,
            alive=True,
            **_UNSEEN,
        )

    def _known_rows(
        self, agent: int, concepts: Iterable[Sequence[Any]], faded: Sequence[int]
    ) -> list[int]:
        """Return the living rows of concepts whose numbers are known already.

        For those that are gone they are new rows that do not live.
        """
        living_rows = self._rows()
        gone_rows = []
        rows = []
        for concept in concepts:
            concept_id = concept[0]
            row = None
            if concept_id not in faded:
                row = living_rows.get((agent, concept_id))
            if row is None:
                row = self._name(agent, concept)
                gone_rows.append(row)
            rows.append(row)
        self._place_named()
        for row in gone_rows:
            self.concepts.put(row, alive=False, first_seen=0, last_seen=0)
        return rows

    def _count_mentions(self, mentions: _Mentions) -> None:
        rows = mentions.rows
        counts = mentions.counts
        table = self.concepts
        touched = self.concept_counts.take_in(rows, counts, mentions.at)
        is_fix = mentions.type == self.types.find(FIX_TYPE)
        fix_counts = np.where(is_fix, counts, 0)
        sentiments = mentions.sentiment * counts
        np.add.at(table["fix_count"], rows, fix_counts)
        np.add.at(table["sentiment_sum"], rows, sentiments)
        np.maximum.at(table["source_weight"], rows, mentions.weight)
        self._believe(mentions, touched)
        table["type"][rows] = mentions.type  # of a repeated row the last one stays
        slept = table["tier"][touched] == Tier.SLEEPING
        woken = touched[slept]
        table["tier"][woken] = Tier.NEUTRAL

    def _believe(self, mentions: _Mentions, touched: Ints) -> None:
        """Take in how far each mention is trusted, and count the affirming ones apart."""
        table = self.concepts
        is_trusted = mentions.trust >= TRUST["agent"]
        affirms = is_trusted & ~mentions.refused
        refuses = is_trusted & mentions.refused
        masks = {"affirmed": affirms, "refused": refuses, "heard": ~is_trusted}
        for name, mask in masks.items():
            masked_rows = mentions.rows[mask]
            np.maximum.at(table[name], masked_rows, mentions.trust[mask])
        rows = mentions.rows[affirms]
        counts = mentions.counts[affirms]
        at = mentions.at[affirms]
        type_of_fixes = self.types.find(FIX_TYPE)
        is_fix = mentions.type[affirms] == type_of_fixes
        fix_counts = np.where(is_fix, counts, 0)
        np.add.at(table["own_count"], rows, counts)
        np.add.at(table["own_fix_count"], rows, fix_counts)
        np.minimum.at(table["own_first_seen"], rows, at)
        np.maximum.at(table["own_last_seen"], rows, at)
        self._set_trust(touched)

    def _set_trust(self, rows: Ints) -> None:
        """Set the trust from its parts: a refusal lifts nothing that a stranger said."""
        table = self.concepts
        affirmed = table["affirmed"][rows]
        refused = table["refused"][rows]
        unverified = table["heard"][rows]
        least = np.maximum(refused, 0)
        lower = np.where(unverified >= 0, unverified, least)
        table["trust"][rows] = np.where(affirmed >= 0, affirmed, lower)

    def _find_links(self, keys: Iterable[int]) -> list[int]:
        """Return the rows of these links.

        A new one gets its ends here and its numbers afterwards.
        """
        all_keys = list(keys)
        links = self._links_among(all_keys)
        unknown_keys = [key for key in all_keys if key not in links]
        new_keys = list(dict.fromkeys(unknown_keys))
        new_rows = count(len(self.links))
        links.update(zip(new_keys, new_rows, strict=False))
        ends = np.array(new_keys, np.int64)
        self.links.put(
            self.links.grow(len(new_keys)),
            a=ends >> 32,
            b=ends & _SECOND_END,
            last_seen=-LATEST,
        )
        return [links[key] for key in all_keys]

    def _graduate(self, event: Event) -> None:
        """Let a concept enter with every mention that short-term memory counted.

        Each mention has its own time.
        """
        body = event.body
        agent = self.agents.number(event.agent)
        concept = [body["concept_id"], body["label"], body["surface"]]
        row = self._find_row(agent, concept)
        self._place_named()
        self._enter([row], body.get("project", ""))
        counts = body["counts"]
        times = body["times"]
        n = min(len(counts), len(times))
        mentions = _Mentions(
            rows=np.full(n, row),
            counts=np.array(counts[:n], np.int64),
            at=np.array(times[:n], np.int64),
            type=np.full(n, self.types.number(GRADUATED_TYPE)),
            trust=np.full(n, TRUST[body["source"]], np.int8),
            refused=np.zeros(n, bool),
            weight=np.full(n, body["weight"]),
            sentiment=np.zeros(n),
        )
        self._count_mentions(mentions)

    def _enter(self, rows: Sequence[int], project: str) -> None:
        self.entered.put(
            self.entered.grow(len(rows)),
            concept=rows,
            project=self.projects.number(project),
        )

    def _fold_imported(self, events: Sequence[Event]) -> None:
        """Take in distinct concepts as a file stated them.

        The larger number stays of what was known already.
        """
        bodies = [event.body for event in events]
        row_numbers = []
        for event in events:
            agent = self.agents.number(event.agent)
            concept = event.body["concepts"][0]
            row_numbers.append(self._find_row(agent, concept))
        self._place_named()
        self._enter(row_numbers, "")
        rows = np.array(row_numbers, np.int64)
        table = self.concepts
        columns = self._imported_columns(bodies)
        stated = columns["node_type"]
        held = table["node_type"][rows]
        table["node_type"][rows] = np.where(stated, stated, held)
        before = table["last_seen"][rows]
        at = columns["last_seen"]
        last = np.maximum(before, at)
        is_new = before == -LATEST
        is_later = at > before
        has_more = columns["count"] > table["count"][rows]
        sleeps = table["tier"][rows] == Tier.SLEEPING
        wakes = is_later & sleeps
        replaces = {
            "sentiment_sum": has_more,
            "type": is_later,
            "tier": is_new | wakes,
        }
        for name, mask in replaces.items():
            values = table[name]
            values[rows] = np.where(mask, columns[name], values[rows])
        # An unreadable time of a file is the earliest one; it says nothing about a concept
        # that is known.
        first = columns["first_seen"]
        is_unreadable = first == EARLIEST
        first = np.where(~is_new & is_unreadable, LATEST, first)
        first_seen = table["first_seen"]
        first_seen[rows] = np.minimum(first, first_seen[rows])
        self._take_levels(rows, bodies, first)
        for name in ("count", "fix_count", "source_weight"):
            values = table[name]
            values[rows] = np.maximum(columns[name], values[rows])
        days_since_before = (last - before) / MICROSECONDS_PER_DAY
        days_since_stated = (last - at) / MICROSECONDS_PER_DAY
        decayed = table["decayed"]
        decayed[rows] = np.maximum(
            decayed[rows] * remaining(days_since_before),
            columns["decayed"] * remaining(days_since_stated),
        )
        table["last_seen"][rows] = last

    def _imported_columns(self, bodies: Sequence[Body]) -> dict[str, NDArray[Any]]:
        """Return what files stated of concepts, by column."""
        columns: dict[str, NDArray[Any]] = {}
        for name in _STATED:
            values = [body[name] for body in bodies]
            columns[name] = np.array(values)
        counts: list[int] = []
        types: list[int] = []
        tiers: list[Tier] = []
        node_types: list[int] = []
        for body in bodies:
            concept = body["concepts"][0]
            counts.append(concept[3])
            types.append(self.types.number(body["type"]))
            tiers.append(Tier[body["tier"]])
            node_type = body.get("node_type", NODE_TYPE)
            node_types.append(self.node_types.number(node_type))
        columns["count"] = np.array(counts)
        columns["type"] = np.array(types)
        columns["tier"] = np.array(tiers)
        columns["node_type"] = np.array(node_types)
        return columns

    def _take_levels(
        self, rows: Ints, bodies: Sequence[Body], first_seen: Ints
    ) -> None:
        """Take in who said the imported concepts.

        The numbers of their owners' own mentions belong to it.
        """
        pairs = zip(bodies, first_seen.tolist(), strict=True)
        levels = [_levels_and_own_numbers(body, first) for body, first in pairs]
        columns = np.array(levels, np.int64)
        for column, name in enumerate(_APART):
            larger = np.minimum if name == "own_first_seen" else np.maximum
            values = self.concepts[name]
            stated = columns[:, column]
            values[rows] = larger(stated, values[rows])
        self._set_trust(rows)

    def _link(self, event: Event) -> None:
        self.agents.number(event.agent)  # also an agent without links has a number
        numbers_of: dict[int, tuple[int, int]] = {}  # by key of a link
        for first_id, second_id, n_texts, last_seen in event.body["links"]:
            ends = (first_id, second_id)
            for key in self._living_link_keys(event.agent, [ends]):
                numbers_of[key] = (n_texts, last_seen)
        rows = self._find_links(numbers_of)
        stated = list(numbers_of.values())
        numbers = np.array(stated, np.int64).reshape(-1, 2)
        counts = numbers[:, 0]
        times = numbers[:, 1]
        np.maximum.at(self.links["count"], rows, counts)
        np.maximum.at(self.links["last_seen"], rows, times)

    def _scan(self, event: Event) -> None:
        finders: dict[str, FindRows] = {}
        for agent, tiers in event.body["tiers"].items():
            n_named = sum(map(len, tiers.values()))
            finders[agent] = self._finder(agent, n_named)
            for tier, concept_ids in tiers.items():
                rows = finders[agent](concept_ids)
                living_rows = rows[rows != NO_ROW]
                self.concepts["tier"][living_rows] = Tier[tier]
        for agent, pairs in event.body["dropped_links"].items():
            if not pairs:
                continue
            find_rows = finders.get(agent) or self._finder(agent, len(pairs))
            first_ids = [pair[0] for pair in pairs]
            second_ids = [pair[1] for pair in pairs]
            first = find_rows(first_ids)
            second = find_rows(second_ids)
            are_living = (first != NO_ROW) & (second != NO_ROW)
            lower = np.minimum(first, second)
            upper = np.maximum(first, second)
            keys = (lower << 32) | upper
            self._drop_links(keys[are_living])

    def _finder(self, agent: str, n_sought: int) -> FindRows:
        """Return what gives the rows of an agent's living concepts by their ids.

        Args:
            agent: The agent.
            n_sought: For about how many of them it is asked.
        """
        number = self.agents.find(agent)
        if number is None:
            return dictionary_finder({}, 0)
        n_concepts = len(self.concepts)
        is_large = n_sought > _LARGE_SCAN * n_concepts
        if is_large or (self._row_of is None and self._looks_for(_LOOKS_OF_A_SORT)):
            rows = self.rows_of([agent])
            return sorted_finder(rows, self.concepts["concept_id"][rows])
        return dictionary_finder(self._rows(), number)

    def _living_link_keys(
        self, agent: str, pairs: Iterable[Sequence[int]]
    ) -> list[int]:
        """Return the keys of the links between concepts that both live."""
        number = self.agents.find(agent)
        if number is None:
            return []
        row_of = self._rows()
        keys: list[int] = []
        for first_id, second_id, *_ in pairs:
            first = row_of.get((number, first_id))
            second = row_of.get((number, second_id))
            if first is None or second is None:
                continue
            if first > second:
                first, second = second, first
            keys.append(first << 32 | second)
        return keys

    def _prune(self, event: Event) -> None:
        for agent, concepts in event.body["concepts"].items():
            concept_ids = [concept["concept_id"] for concept in concepts]
            row_of = self._rows()
            rows = self._living_rows(agent, concept_ids)
            self.concepts["alive"][rows] = False
            for row in rows:
                number = int(self.concepts["agent"][row])
                concept_id = int(self.concepts["concept_id"][row])
                del row_of[number, concept_id]
            first_is_pruned = np.isin(self.links["a"], rows)
            second_is_pruned = np.isin(self.links["b"], rows)
            has_pruned_end = first_is_pruned | second_is_pruned
            is_living = self.links["count"] > 0
            lost = np.flatnonzero(has_pruned_end & is_living)
            self._drop_links(self._link_keys(lost))

    def _living_rows(
        self,
        agent: str,
        concept_ids: Iterable[int],
    ) -> list[int]:
        """Return the rows of those of these concepts that live."""
        rows = []
        for concept_id in concept_ids:
            row = self.row(agent, concept_id)
            if row is not None:
                rows.append(row)
        return rows

    def _drop_links(self, keys: Ints) -> None:
        """Drop the links of these keys that there are."""
        first_ends = keys >> 32
        is_first_end = np.zeros(len(self.concepts), bool)
        is_first_end[first_ends] = True
        may_be_dropped = is_first_end[self.links["a"]]
        may_be_dropped &= self.links["count"] > 0
        rows = np.flatnonzero(may_be_dropped)
        row_keys = self._link_keys(rows)
        find_rows = sorted_finder(rows, row_keys)
        dropped_rows = find_rows(keys)
        are_there = dropped_rows != NO_ROW
        dropped_rows = dropped_rows[are_there]
        self.links["count"][dropped_rows] = 0
        if self._link_of is not None:
            for key in keys[are_there].tolist():
                self._link_of.pop(key, None)


def _refusals(concepts: Sequence[Sequence[Any]], refused: Sequence[int]) -> list[bool]:
    """Return of each concept whether it is among those that are refused."""
    if not refused:
        return [False] * len(concepts)
    return [concept[0] in refused for concept in concepts]


def _without_repeats(events: Iterable[Event]) -> Iterator[list[Event]]:
    """Yield the events in runs in which no concept of an agent comes twice."""
    run: dict[tuple[str, int], Event] = {}
    for event in events:
        concept = event.body["concepts"][0]
        key = (event.agent, concept[0])
        if key in run:
            yield list(run.values())
            run = {}
        run[key] = event
    yield list(run.values())


def _levels_and_own_numbers(body: Body, first_seen: int) -> list[int]:
    """Return what _APART names, of one imported concept.

    It is as its file states it, else by whose the whole concept is.

    Args:
        body: What was imported.
        first_seen: What counts as the first time that the file states.
    """
    unowned = [0, 0, LATEST, -LATEST]
    speakers = body.get("said")
    if speakers is not None:
        levels = []
        for name in _LEVELS:
            source = speakers[name]
            if source is None:
                levels.append(-1)
            else:
                levels.append(TRUST[source])
        if speakers["affirmed"] is None:
            return levels + unowned
        names = ("count", "fix_count", "first_seen", "last_seen")
        return levels + [speakers[name] for name in names]
    trust = TRUST[body["source"]]
    if trust < TRUST["agent"]:
        return [-1, -1, trust, *unowned]
    # An agent's own concept is stated with an agent's own numbers.
    count_in_file = body["concepts"][0][3]
    numbers = [count_in_file, body["fix_count"], first_seen, body["last_seen"]]
    return [trust, -1, -1, *numbers]
