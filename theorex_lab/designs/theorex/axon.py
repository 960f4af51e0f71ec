"""The axon: every agent's concepts and the links between them, as columns folded from
the journal.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, count, groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import EARLIEST, LATEST, MICROSECONDS_PER_DAY
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
NODE_TYPE = (
    "concept"  # of what was found in a text; another one is of a file that stated it
)
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


class _Mentions(NamedTuple):
    """Mentions of concepts, column by column: which row, how often, when, and in what
    kind of text.
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
    """Concepts (one row per agent and concept), links between them, and which
    observation mentions what.

    concepts: concept_id, agent, count, fix_count (mentions in a trace_fix), first_seen,
    last_seen (µs), source_weight
        (0..1), sentiment_sum (Σ sentiment × count), type (of the last mention),
        node_type (what kind of node a file stated; 0 is a concept), trust (see
        affirmed), tier (as last scanned; NEUTRAL = not yet), alive, decayed (n × 6: Σ
        2^(−age/h) at last_seen). affirmed, refused, heard: highest trust (−1: none) of
        the mentions by an agent or a user, of those that refuse it, and of those by
        anybody else; trust is the first of them that there is.  own_count,
        own_fix_count, own_first_seen, own_last_seen: over the affirming mentions alone.
    links: a < b (rows of concepts), count of texts that mention both (0 = dropped),
    last_seen (µs). observations: seq, at (µs), agent, type, trust, project ('' for
    none).  mentions: observation and concept rows. entered: pairs of concept row and
    project, of what came in without an observation.
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

    def apply(self, events: Sequence[Event]) -> None:
        """Take in observations, graduations, scans, prunes, and what files stated."""
        alone = {
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
                    alone[kind](event)

    @property
    def concept_counts(self) -> Counts:
        """The counts of the concepts, row by row."""
        table = self.concepts
        return Counts(
            table["count"], table["first_seen"], table["last_seen"], table["decayed"]
        )

    @property
    def link_counts(self) -> Links:
        """The links, row by row."""
        return Links(*(self.links[name] for name in ("a", "b", "count", "last_seen")))

    def _after_load(self) -> None:
        # The look-up dictionaries are made when a fold first needs them.
        self._row_of = self._link_of = None

    def row(self, agent: str, concept_id: int) -> int | None:
        """The row of an agent's concept, or None."""
        number = self.agents.find(agent)
        return None if number is None else self._rows().get((number, concept_id))

    def rows_of(
        self, agents: Iterable[str] | None = None, among: Mask | None = None
    ) -> Ints:
        """Rows of the living concepts of these agents, or of all; with a mask such as
        `within` gives, of those in it.
        """
        alive = self.concepts["alive"]
        if agents is not None:
            alive = alive & np.isin(
                self.concepts["agent"], self.agents.numbers(*agents)
            )
        return np.flatnonzero(alive if among is None else alive & among)

    def within(self, projects: Iterable[str] | None, *, alone: bool = False) -> Mask:
        """A mask of the concept rows that were mentioned in one of these projects or
        without one; None: of all.

        `alone`: instead of those that were mentioned in no other project, and never
        without one.
        """
        mask = np.ones(len(self.concepts), bool)
        if projects is None:
            return mask
        wanted = self._wanted(projects, alone=alone)
        mentioned = self.observations["project"][self.mentions["observation"]]
        for table, project in (
            (self.mentions, mentioned),
            (self.entered, self.entered["project"]),
        ):
            mask[table["concept"][~wanted[project] if alone else wanted[project]]] = (
                False
            )
        return mask if alone else ~mask

    def observed_within(self, projects: Iterable[str] | None) -> Mask:
        """A mask of the observations that are of one of these projects or of none;
        None: of all.
        """
        if projects is None:
            return np.ones(len(self.observations), bool)
        return np.asarray(self._wanted(projects)[self.observations["project"]])

    def _wanted(self, projects: Iterable[str], *, alone: bool = False) -> Mask:
        wanted = np.zeros(len(self.projects), bool)
        wanted[self.projects.numbers(*(projects if alone else ("", *projects)))] = True
        return wanted

    def asleep(self) -> tuple[Ints, Ints]:
        """Rows of the concepts that sleep or were pruned, and of the observations all
        of whose concepts are among them.
        """
        tier = self.concepts["tier"]
        alive = self.concepts["alive"]
        gone = (tier == Tier.SLEEPING) | ~alive
        if not gone.any():
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        observation = self.mentions["observation"]
        total = np.bincount(observation, minlength=len(self.observations))
        away = np.bincount(
            observation[gone[self.mentions["concept"]]],
            minlength=len(self.observations),
        )
        return np.flatnonzero(gone), np.flatnonzero((total > 0) & (away == total))

    def _rows(self) -> dict[tuple[int, int], int]:
        if self._row_of is None:
            living = self.rows_of()
            agents, ids = (
                self.concepts[name][living].tolist() for name in ("agent", "concept_id")
            )
            self._row_of = dict(
                zip(zip(agents, ids, strict=True), living.tolist(), strict=True)
            )
        return self._row_of

    def _linked(self) -> dict[int, int]:
        if self._link_of is None:
            living = np.flatnonzero(self.links["count"] > 0)
            keys = (self.links["a"][living].astype(np.int64) << 32) | self.links["b"][
                living
            ]
            self._link_of = dict(zip(keys.tolist(), living.tolist(), strict=True))
        return self._link_of

    def _fold_observations(self, events: Sequence[Event]) -> None:
        """One pass in Python to find the rows, then one numpy expression a column.

        What is not `counted` came with a file that states its concepts' numbers; its
        concepts that had `faded` are gone.
        """
        facts = list[tuple[int, ...]]()
        # Of each mention its row, count, whether it refuses, and its event's position;
        # of each link its key and that.
        found, counts, refused, by, keys, linked_by = (list[int]() for _ in range(6))
        for position, event in enumerate(events):
            body, concepts, agent = (
                event.body,
                event.body["concepts"],
                self.agents.number(event.agent),
            )
            numbers = (
                agent,
                self.types.number(body["type"]),
                self.projects.number(body.get("project", "")),
            )
            facts.append((event.seq, event.at, *numbers, TRUST[body["source"]]))
            by += [position] * len(concepts)
            denied = body.get("refused", ())
            refused += [concept[0] in denied for concept in concepts]
            if not body.get("counted", True):
                found += [
                    self._known_row(agent, concept, body["faded"])
                    for concept in concepts
                ]
                counts += [0] * len(concepts)
                continue
            rows = [self._find_row(agent, concept) for concept in concepts]
            found += rows
            counts += [concept[3] for concept in concepts]
            pairs = [one << 32 | other for one, other in combinations(sorted(rows), 2)]
            keys += pairs
            linked_by += [position] * len(pairs)
        first = self.observations.extend(
            ("seq", "at", "agent", "type", "project", "trust"), facts
        ).start
        at, _, kind, _, trust = np.array(facts, np.int64).T[1:]
        row, number, event_of = (
            np.array(numbers, np.int64) for numbers in (found, counts, by)
        )
        self.mentions.put(
            self.mentions.grow(len(row)), observation=event_of + first, concept=row
        )
        new = number > 0
        of = event_of[new]
        weight, sentiment = (
            np.array([event.body[name] for event in events])[of]
            for name in ("weight", "sentiment")
        )
        said = (
            kind[of],
            trust[of].astype(np.int8),
            np.array(refused, bool)[new],
            weight,
            sentiment,
        )
        self._count_mentions(_Mentions(row[new], number[new], at[of], *said))
        if keys:
            links = np.array(
                self._find_links(keys), np.int64
            )  # before the counts are looked at, since it makes rows
            self.link_counts.take_in(links, at[linked_by])

    def _find_row(self, agent: int, concept: Sequence[Any]) -> int:
        """The row of a mentioned concept; a new one gets its identity here and its
        numbers afterwards.
        """
        rows = self._rows()
        key = (agent, concept[0])
        row = rows.get(key)
        return (
            rows.setdefault(key, self._new_row(agent, concept)) if row is None else row
        )

    def _known_row(
        self, agent: int, concept: Sequence[Any], faded: Sequence[int]
    ) -> int:
        """The living row of a concept whose numbers are known already, else one that is
        gone.
        """
        row = None if concept[0] in faded else self._rows().get((agent, concept[0]))
        if row is None:
            row = self._new_row(agent, concept)
            self.concepts.put(row, alive=False, first_seen=0, last_seen=0)
        return row

    def _new_row(self, agent: int, concept: Sequence[Any]) -> int:
        self.labels.append(concept[1])
        self.surfaces.append(concept[2])
        return self.concepts.add(
            concept_id=concept[0], agent=agent, alive=True, **_UNSEEN
        )

    def _count_mentions(self, mentions: _Mentions) -> None:
        rows = mentions.rows
        counts = mentions.counts
        at = mentions.at
        table = self.concepts
        touched = self.concept_counts.take_in(rows, counts, at)
        np.add.at(
            table["fix_count"],
            rows,
            np.where(mentions.type == self.types.find(FIX_TYPE), counts, 0),
        )
        np.add.at(table["sentiment_sum"], rows, mentions.sentiment * counts)
        np.maximum.at(table["source_weight"], rows, mentions.weight)
        self._believe(mentions, touched)
        table["type"][rows] = mentions.type  # of a repeated row the last one stays
        table["tier"][touched[table["tier"][touched] == Tier.SLEEPING]] = Tier.NEUTRAL

    def _believe(self, mentions: _Mentions, touched: Ints) -> None:
        """Take in how far each mention is trusted, and count the affirming ones apart."""
        table = self.concepts
        own = mentions.trust >= TRUST["agent"]
        affirms = own & ~mentions.refused
        for name, chosen in zip(
            _LEVELS, (affirms, own & mentions.refused, ~own), strict=True
        ):
            np.maximum.at(table[name], mentions.rows[chosen], mentions.trust[chosen])
        rows = mentions.rows[affirms]
        counts = mentions.counts[affirms]
        at = mentions.at[affirms]
        fixes = mentions.type[affirms] == self.types.find(FIX_TYPE)
        np.add.at(table["own_count"], rows, counts)
        np.add.at(table["own_fix_count"], rows, np.where(fixes, counts, 0))
        np.minimum.at(table["own_first_seen"], rows, at)
        np.maximum.at(table["own_last_seen"], rows, at)
        self._set_trust(touched)

    def _set_trust(self, rows: Ints) -> None:
        """Trust from its parts: a refusal lifts nothing that a stranger said."""
        affirmed, refused, heard = (self.concepts[name][rows] for name in _LEVELS)
        lower = np.where(heard >= 0, heard, np.maximum(refused, 0))
        self.concepts["trust"][rows] = np.where(affirmed >= 0, affirmed, lower)

    def _find_links(self, keys: Iterable[int]) -> list[int]:
        """The rows of these links; a new one gets its ends here and its numbers
        afterwards.
        """
        links = self._linked()
        wanted = list(keys)
        new = list(dict.fromkeys(key for key in wanted if key not in links))
        links.update(zip(new, count(len(self.links)), strict=False))
        fresh = np.array(new, np.int64)
        self.links.put(
            self.links.grow(len(new)),
            a=fresh >> 32,
            b=fresh & 0xFFFFFFFF,
            last_seen=-LATEST,
        )
        return [links[key] for key in wanted]

    def _graduate(self, event: Event) -> None:
        """A concept enters with every mention that short-term memory counted, each at
        its own time.
        """
        body = event.body
        row = self._find_row(
            self.agents.number(event.agent),
            [body["concept_id"], body["label"], body["surface"]],
        )
        self._enter([row], body.get("project", ""))
        n = min(len(body["counts"]), len(body["times"]))
        counts, at = (
            np.array(body[name][:n], np.int64) for name in ("counts", "times")
        )
        n = len(at)
        kind = self.types.number(GRADUATED_TYPE)
        trust = np.full(n, TRUST[body["source"]], np.int8)
        weight = np.full(n, body["weight"])
        who = np.full(n, kind), trust, np.zeros(n, bool), weight
        self._count_mentions(_Mentions(np.full(n, row), counts, at, *who, np.zeros(n)))

    def _enter(self, rows: Sequence[int], project: str) -> None:
        self.entered.put(
            self.entered.grow(len(rows)),
            concept=rows,
            project=self.projects.number(project),
        )

    def _fold_imported(self, events: Sequence[Event]) -> None:
        """Distinct concepts as a file stated them; of what was known already the larger
        number stays.
        """
        bodies = [event.body for event in events]
        agents = [self.agents.number(event.agent) for event in events]
        found = [
            self._find_row(agent, body["concepts"][0])
            for agent, body in zip(agents, bodies, strict=True)
        ]
        self._enter(found, "")
        rows = np.array(found, np.int64)
        table = self.concepts
        stated = {name: np.array([body[name] for body in bodies]) for name in _STATED}
        stated["count"] = np.array([body["concepts"][0][3] for body in bodies])
        stated["type"] = np.array([self.types.number(body["type"]) for body in bodies])
        stated["tier"] = np.array([Tier[body["tier"]] for body in bodies])
        kind = np.array(
            [
                self.node_types.number(body.get("node_type", NODE_TYPE))
                for body in bodies
            ]
        )
        table["node_type"][rows] = np.where(kind, kind, table["node_type"][rows])
        before = table["last_seen"][rows]
        at = stated["last_seen"]
        last = np.maximum(before, at)
        new = before == -LATEST
        later = at > before
        more = stated["count"] > table["count"][rows]
        wakes = later & (table["tier"][rows] == Tier.SLEEPING)
        for name, takes in (
            ("sentiment_sum", more),
            ("type", later),
            ("tier", new | wakes),
        ):
            table[name][rows] = np.where(takes, stated[name], table[name][rows])
        # An unreadable time of a file is the earliest one; it says nothing about a
        # concept that is known.
        first = np.where(
            ~new & (stated["first_seen"] == EARLIEST), LATEST, stated["first_seen"]
        )
        table["first_seen"][rows] = np.minimum(first, table["first_seen"][rows])
        told = np.array(
            [_told_apart(*pair) for pair in zip(bodies, first.tolist(), strict=True)],
            np.int64,
        )
        for column, name in enumerate(_APART):
            larger = np.minimum if name == "own_first_seen" else np.maximum
            table[name][rows] = larger(told[:, column], table[name][rows])
        self._set_trust(rows)
        for name in ("count", "fix_count", "source_weight"):
            table[name][rows] = np.maximum(stated[name], table[name][rows])
        faded = table["decayed"][rows] * remaining(
            (last - before) / MICROSECONDS_PER_DAY
        )
        table["decayed"][rows] = np.maximum(
            faded, stated["decayed"] * remaining((last - at) / MICROSECONDS_PER_DAY)
        )
        table["last_seen"][rows] = last

    def _link(self, event: Event) -> None:
        agent = self.agents.number(event.agent)
        known = self._rows()
        keys: dict[int, tuple[int, int]] = {}
        for one, other, n, last_seen in event.body["links"]:
            ends = sorted(
                row
                for concept in (one, other)
                if (row := known.get((agent, concept))) is not None
            )
            if len(ends) == 2:
                keys[ends[0] << 32 | ends[1]] = n, last_seen
        rows = self._find_links(keys)
        numbers = np.array(list(keys.values()), np.int64).reshape(-1, 2)
        np.maximum.at(self.links["count"], rows, numbers[:, 0])
        np.maximum.at(self.links["last_seen"], rows, numbers[:, 1])

    def _scan(self, event: Event) -> None:
        for agent, tiers in event.body["tiers"].items():
            for tier, concepts in tiers.items():
                self.concepts["tier"][self._known(agent, concepts)] = Tier[tier]
        for agent, pairs in event.body["dropped_links"].items():
            ends = (sorted(self._known(agent, pair)) for pair in pairs)
            self._drop_links(pair[0] << 32 | pair[1] for pair in ends if len(pair) == 2)

    def _prune(self, event: Event) -> None:
        for agent, concepts in event.body["concepts"].items():
            rows = self._known(agent, [concept["concept_id"] for concept in concepts])
            self.concepts["alive"][rows] = False
            for row in rows:
                del self._rows()[
                    int(self.concepts["agent"][row]),
                    int(self.concepts["concept_id"][row]),
                ]
            gone = np.isin(self.links["a"], rows) | np.isin(self.links["b"], rows)
            lost = np.flatnonzero(gone & (self.links["count"] > 0))
            self._drop_links(
                (
                    (self.links["a"][lost].astype(np.int64) << 32)
                    | self.links["b"][lost]
                ).tolist()
            )

    def _known(self, agent: str, concepts: Iterable[int]) -> list[int]:
        return [
            row for concept in concepts if (row := self.row(agent, concept)) is not None
        ]

    def _drop_links(self, keys: Iterable[int]) -> None:
        links = self._linked()
        self.links["count"][[links.pop(key) for key in keys if key in links]] = 0


def _without_repeats(events: Iterable[Event]) -> Iterator[list[Event]]:
    """The events in runs in which no concept of an agent comes twice."""
    run: dict[tuple[str, int], Event] = {}
    for event in events:
        if (key := (event.agent, event.body["concepts"][0][0])) in run:
            yield list(run.values())
            run = {}
        run[key] = event
    yield list(run.values())


def _told_apart(body: Body, first_seen: int) -> list[int]:
    """What _APART names, of one imported concept: as its file told it apart, else by
    whose the whole concept is.

    `first_seen` is what counts as the file's.
    """
    if (said := body.get("said")) is not None:
        levels = [-1 if said[name] is None else TRUST[said[name]] for name in _LEVELS]
        if said["affirmed"] is None:
            return [*levels, 0, 0, LATEST, -LATEST]
        return [
            *levels,
            *(said[name] for name in ("count", "fix_count", "first_seen", "last_seen")),
        ]
    trust = TRUST[body["source"]]
    if trust < TRUST["agent"]:
        return [-1, -1, trust, 0, 0, LATEST, -LATEST]
    # An agent's own concept is stated with an agent's own numbers.
    return [
        trust,
        -1,
        -1,
        body["concepts"][0][3],
        body["fix_count"],
        first_seen,
        body["last_seen"],
    ]
