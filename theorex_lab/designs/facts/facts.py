"""Facts as columns: what is said about whom, since when, in whose place, and how often
it was used.
"""

import json
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.facts import pairs, statements, superseding
from theorex_lab.journal.columns import Names, Strings, Table
from theorex_lab.journal.event import Event
from theorex_lab.journal.view import View
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import TRUST

Rows = NDArray[np.int64]
Scope = tuple[str, str]  # entity and project: facts are compared with those of the same
_NEAREST = 8  # facts that share most words with a new one, which are compared with it


class Fact(NamedTuple):
    """A fact. Times in µs UTC, None where not known.

    at: when it was written.  superseded_by: the id of the fact in its place, '' where
    it ended.  source: who it is from, a key of `TRUST`.  origin: where it is from, in
    words.  valid_from, valid_to: when it is true in the world.
    """

    id: str
    entity: str
    text: str
    category: str
    confidence: float
    abstraction: str
    tags: tuple[str, ...]
    source: str
    origin: str
    at: int
    superseded_at: int | None
    superseded_by: str
    supersedes: tuple[str, ...]
    access_count: int
    last_accessed: int | None
    valid_from: int | None
    valid_to: int | None
    event_id: str
    project: str
    agent: str

    @property
    def active(self) -> bool:
        """Whether nothing stands in its place."""
        return self.superseded_at is None

    def holds_at(self, at: int) -> bool:
        """Whether it is true of the world at a time (µs), as far as that was told."""
        return (self.valid_from is None or self.valid_from <= at) and (
            self.valid_to is None or at < self.valid_to
        )

    def to_dict(self) -> dict[str, Any]:
        """The fact in the members of Engram's schema, with those that it lacks; times
        as ISO.
        """
        return {
            "id": self.id,
            "entity": self.entity,
            "fact": self.text,
            "category": self.category,
            "confidence": self.confidence,
            "abstractionLevel": self.abstraction,
            "tags": list(self.tags),
            "timestamp": to_iso(self.at),
            "status": "active" if self.active else "superseded",
            "source": self.origin,
            "trust": self.source,
            "accessCount": self.access_count,
            "lastAccessed": _iso(self.last_accessed),
            "supersededBy": self.superseded_by or None,
            "supersededAt": _iso(self.superseded_at),
            "supersedes": list(self.supersedes),
            "validFrom": _iso(self.valid_from),
            "validTo": _iso(self.valid_to),
            "project": self.project,
            "event": self.event_id,
        }


def _iso(at: int | None) -> str | None:
    return None if at is None else to_iso(at)


def split_id(fact_id: str) -> tuple[str, int]:
    """The entity's slug and the number of a fact's id; 0 where it has none.

    >>> split_id("ann-lee-012")
    ('ann-lee', 12)
    """
    slug, _, number = fact_id.rpartition("-")
    return (
        (slug, int(number))
        if slug and number.isdecimal() and len(number) < 16
        else (fact_id, 0)
    )


class Facts(View):
    """A row a fact, in the order in which they were written.

    facts: agent, entity, slug, project (numbers of names), trust, accesses, accessed_at
    (µs), superseded_at (µs, 0 while it is active), superseded_by (row + 1, 0 for none),
    number (of its id), digest (of its normal form).  details: its other members as
    JSON.  marks: up to which seq captures were read for facts.
    """

    name = "facts"
    code = 3
    kinds = (
        "fact",
        "fact_superseded",
        "facts_accessed",
        "entity_archived",
        "extracted",
    )

    def __init__(self) -> None:
        super().__init__()
        self.ids = Names()
        self.entities = Names()
        self.slugs = Names()
        self.agents = Names()
        self.projects = Names()
        self.texts = Strings()
        self.details = Strings()
        self.marks = Table(upto="i8")
        self.facts = Table(
            agent="i4",
            entity="i4",
            slug="i4",
            project="i4",
            trust="i1",
            accesses="i8",
            accessed_at="i8",
            superseded_at="i8",
            superseded_by="i4",
            number="i8",
            digest="i8",
        )
        self._compared: dict[
            Scope, tuple[superseding.Superseding, pairs.SharedWords]
        ] = {}  # once it was asked for

    def _after_load(self) -> None:
        self._compared = {}

    def _fact(self, event: Event) -> None:
        body = event.body
        if self.ids.find(body["fact_id"]) is not None:
            return
        self.ids.number(body["fact_id"])
        slug, number = split_id(body["fact_id"])
        self.facts.add(
            agent=self.agents.number(event.agent),
            entity=self.entities.number(body["entity"]),
            slug=self.slugs.number(slug),
            project=self.projects.number(body.get("project", "")),
            trust=TRUST[body["source"]],
            number=number,
            digest=form_number(body["text"]),
        )
        self.texts.append(body["text"])
        details = {name: body[name] for name in _TOLD} | {
            "at": event.at,
            "event_id": event.id,
        }
        self.details.append(json.dumps(details))
        self._compare(
            (body["entity"], body.get("project", "")), body["fact_id"], body["text"]
        )

    def _fact_superseded(self, event: Event) -> None:
        body, undo = event.body, event.body["undo"]
        by = self.ids.find(body["by"])
        for fact_id in body["facts"]:
            if (row := self.ids.find(fact_id)) is None:
                continue
            successor = 0 if undo or by is None else by + 1
            self.facts.put(
                row, superseded_at=0 if undo else event.at, superseded_by=successor
            )
            scope = (
                self.entities[int(self.facts["entity"][row])],
                self.projects[int(self.facts["project"][row])],
            )
            if undo:
                self._compared.pop(scope, None)
            for known in self._compared.get(scope, ()):
                known.remove(fact_id)

    def _facts_accessed(self, event: Event) -> None:
        for row in [
            row
            for fact_id in event.body["facts"]
            if (row := self.ids.find(fact_id)) is not None
        ]:
            self.facts["accesses"][row] += 1
            self.facts["accessed_at"][row] = max(
                event.at, int(self.facts["accessed_at"][row])
            )

    def _extracted(self, event: Event) -> None:
        self.marks.add(upto=event.body["upto"])

    def _entity_archived(self, event: Event) -> None:
        old, new = (self.entities.number(event.body[name]) for name in ("entity", "to"))
        self.facts["entity"][self.facts["entity"] == old] = new
        self._compared = {}

    def _compare(self, scope: Scope, fact_id: str, text: str) -> None:
        if scope in self._compared:
            judge, shared = self._compared[scope]
            judge.hold(fact_id, statements.as_statement(scope[0], text))
            shared.add(fact_id, text)

    def comparing(
        self, scope: Scope
    ) -> tuple[superseding.Superseding, pairs.SharedWords]:
        """What the active facts of a scope state, and their words, to judge a new one
        by.
        """
        if scope not in self._compared:
            self._compared[scope] = superseding.Superseding(), pairs.SharedWords()
            for row in self.active_in(scope).tolist():
                self._compare(scope, self.ids[row], self.texts[row])
        return self._compared[scope]

    def rows(self, entity: str | None = None, *, active: bool | None = None) -> Rows:
        """The facts of an entity, or of all; those that are active, those that are not,
        or both.
        """
        number = None if entity is None else self.entities.find(entity)
        of = self.facts["entity"]
        rows = (
            np.arange(len(of))
            if entity is None
            else np.flatnonzero(of == (-1 if number is None else number))
        )
        return (
            rows
            if active is None
            else rows[(self.facts["superseded_at"][rows] == 0) == active]
        )

    def active_in(self, scope: Scope) -> Rows:
        """The active facts of an entity in one project alone: what is said in a group
        means nothing for what others know.
        """
        rows = self.rows(scope[0], active=True)
        project = self.projects.find(scope[1])
        kept: Rows = rows[
            self.facts["project"][rows] == (-1 if project is None else project)
        ]
        return kept

    def near(self, scope: Scope, text: str) -> list[tuple[str, str]]:
        """Ids and texts of the active facts of a scope that share words with a text,
        those that share most first.
        """
        found = self.comparing(scope)[1].near(text, _NEAREST)
        return [
            (fact_id, self.texts[self.ids.number(fact_id)]) for fact_id, _, _ in found
        ]

    def trust_of(self, fact_id: str) -> int:
        """How far a fact is trusted."""
        return int(self.facts["trust"][self.ids.number(fact_id)])

    def next_id(self, entity: str) -> str:
        """The id of the next fact of an entity."""
        slug = entity.partition("/")[2]
        number = self.slugs.find(slug)
        taken = self.facts["number"][
            self.facts["slug"] == (-1 if number is None else number)
        ]
        return f"{slug}-{int(taken.max(initial=0)) + 1:03d}"

    def fact(self, row: int) -> Fact:
        """The fact in a row."""
        return self.listed(np.array([row]))[0]

    def listed(self, rows: Rows) -> list[Fact]:
        """The facts in these rows."""
        columns = (self.facts[name][rows].tolist() for name in _READ)
        return [
            self._read(*cells) for cells in zip(rows.tolist(), *columns, strict=True)
        ]

    def _read(self, row: int, *cells: int) -> Fact:
        entity, project, agent, ended, by, used, used_at = cells
        told = json.loads(self.details[row])
        told |= {name: tuple(told[name]) for name in ("tags", "supersedes")}
        return Fact(
            self.ids[row],
            self.entities[entity],
            self.texts[row],
            project=self.projects[project],
            agent=self.agents[agent],
            superseded_at=ended or None,
            superseded_by=self.ids[by - 1] if by else "",
            access_count=used,
            last_accessed=used_at or None,
            **told,
        )


_TOLD = "category confidence abstraction tags source origin supersedes valid_from valid_to".split()
_READ = "entity project agent superseded_at superseded_by accesses accessed_at".split()


@lru_cache(1_024)  # who writes a fact and who folds it read the same
def form_number(text: str) -> int:
    """The first 63 bits of the hash of a fact's normal form."""
    return int(pairs.fact_hash(text)[:16], 16) >> 1


def facts_of(
    home: Home,
    entity: str | None = None,
    *,
    as_of: int | None = None,
    active: bool | None = True,
) -> list[Fact]:
    """The facts of an entity or of all, of the home's project or of none, in the order
    in which they were written.

    active: those that hold, those that something stands in the place of, or with None
    both.  as_of: as it was believed at that time (µs UTC): the fold of what was written
    until then, without what was not yet, or no longer, true by then.
    """
    if as_of is None:
        with home.views.reading(Facts) as view:
            found = view.listed(view.rows(entity, active=active))
    else:
        view = Facts()
        view.apply(
            [
                event
                for event in home.journal.tail(0, kinds=Facts.kinds)
                if event.at <= as_of
            ]
        )
        found = view.listed(view.rows(entity, active=active))
        found = [fact for fact in found if not active or fact.holds_at(as_of)]
    return [fact for fact in found if is_open_to(home, fact)]


def is_open_to(home: Home, fact: Fact) -> bool:
    """Whether a fact is of the home's project, or of none."""
    return home.project in ("", fact.project) or not fact.project


def fact_by_id(home: Home, fact_id: str) -> Fact:
    """The fact of this id. Raises InvalidInput where there is none in the home's
    project, naming the nearest.
    """
    with home.views.reading(Facts) as view:
        row = view.ids.find(fact_id)
        if row is not None and is_open_to(home, found := view.fact(row)):
            return found
        near = [
            f": the nearest is {known}"
            for known in get_close_matches(fact_id, list(view.ids)[-10_000:], 1)
        ]
    raise InvalidInput(
        f"got the fact {fact_id!r}; allowed is the id of one{''.join(near)}"
    )


def chain_of(home: Home, fact_id: str) -> list[Fact]:
    """The facts that stood in each other's place, from the first to those that hold: of
    this one, oldest first. Raises as `fact_by_id`.
    """
    found: dict[str, Fact] = {}
    waiting = [fact_id]
    while waiting:
        fact = fact_by_id(home, waiting.pop())
        found[fact.id] = fact
        waiting += {
            *fact.supersedes,
            *filter(None, [fact.superseded_by]),
            *_replaced_by(home, fact.id),
        } - found.keys()
    return sorted(found.values(), key=lambda fact: (fact.at, fact.id))


def _replaced_by(home: Home, fact_id: str) -> list[str]:
    """The ids of the facts in whose place a fact stands."""
    with home.views.reading(Facts) as view:
        rows = view.facts["superseded_by"] == view.ids.number(fact_id) + 1
        return [view.ids[old] for old in np.flatnonzero(rows).tolist()]


class ChainCheck(NamedTuple):
    """How many facts were read, and what is wrong."""

    facts: int
    problems: list[str]


def check_home(home: Home) -> ChainCheck:
    """Check that the chains of the facts here are complete and without a circle."""
    facts = facts_of(home, active=None)
    links = {fact.id: fact.superseded_by for fact in facts}
    found = []
    for fact_id, successor in links.items():
        if successor and successor not in links:
            found.append(
                f"{fact_id}: supersededBy is {successor!r}, which is no fact that is there"
            )
        members = [fact_id]
        at = successor
        while at and at not in members:
            members.append(at)
            at = links.get(at, "")
        if at == fact_id == min(members):
            found.append(
                f"{fact_id}: the chain {' → '.join([*members, fact_id])} is a circle"
            )
    lost = [
        (fact.id, old) for fact in facts for old in fact.supersedes if old not in links
    ]
    found += [
        f"{fact_id}: it supersedes {old!r}, which is no fact that is there"
        for fact_id, old in lost
    ]
    return ChainCheck(len(facts), found)
