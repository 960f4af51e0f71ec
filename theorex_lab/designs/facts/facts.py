"""Hold facts as columns.

They say what is said about whom, since when, in whose place, and how often it was used.
"""

from __future__ import annotations

import json
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.lazy import LazyModule
from theorex_lab.journal.columns import Names, Strings, Table
from theorex_lab.journal.event import Event
from theorex_lab.journal.view import View
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import TRUST

if TYPE_CHECKING:
    from theorex_lab.designs.facts import pairs, superseding
    from theorex_lab.memory import assertions
else:
    assertions = LazyModule("theorex_lab.memory.assertions")
    pairs = LazyModule("theorex_lab.designs.facts.pairs")
    superseding = LazyModule("theorex_lab.designs.facts.superseding")

Rows = NDArray[np.int64]
Scope = tuple[str, str]  # entity and project: facts are compared with those of the same
_NEAREST = 8  # facts that share most words with a new one, which are compared with it


class Fact(NamedTuple):
    """A fact. Times in µs UTC, None where not known.

    Attributes:
        source: Who it is from, a key of `TRUST`.
        origin: Where it is from, in words.
        at: When it was written.
        superseded_by: The id of the fact in its place, '' where it ended.
        valid_from: Since when it is true in the world.
        valid_to: Until when it is true in the world.
        attribute: What it says of its entity: a property or a verb; '' where not read.
        value: What it says the attribute is.
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
    attribute: str = ""
    value: str = ""

    @property
    def active(self) -> bool:
        """Whether nothing stands in its place."""
        return self.superseded_at is None

    def holds_at(self, at: int) -> bool:
        """Return whether it is true of the world at a time (µs), as far as that is known."""
        if self.valid_from is not None and at < self.valid_from:
            return False
        return self.valid_to is None or at < self.valid_to

    def to_dict(self) -> dict[str, Any]:
        """Return the fact in the members of Engram's schema, with those that it lacks.

        Times are ISO.
        """
        return {
            "id": self.id,
            "entity": self.entity,
            "fact": self.text,
            "attribute": self.attribute or None,
            "value": self.value or None,
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
    """Return the entity's slug and the number of a fact's id; 0 where it has none.

    >>> split_id("ann-lee-012")
    ('ann-lee', 12)
    """
    slug, _, number = fact_id.rpartition("-")
    if slug and number.isdecimal() and len(number) < 16:
        return slug, int(number)
    return fact_id, 0


class Facts(View):
    """A row a fact, in the order in which they were written.

    facts: agent, entity, slug, project (numbers of names), trust, accesses, accessed_at
    (µs), superseded_at (µs, 0 while it is active), superseded_by (row + 1, 0 for none),
    number (of its id), digest (of its normal form).  details: its other members as
    JSON.  marks: up to which seq captures were read for facts.
    """

    name = "facts"
    code = 4
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
        # By scope, once it was asked for.
        self._compared: dict[
            Scope, tuple[superseding.Superseding, pairs.SharedWords]
        ] = {}

    def _after_load(self) -> None:
        self._compared = {}

    def _fact(self, event: Event) -> None:
        body = event.body
        fact_id = body["fact_id"]
        if self.ids.find(fact_id) is not None:
            return
        self.ids.number(fact_id)
        slug, number = split_id(fact_id)
        project = body.get("project", "")
        self.facts.add(
            agent=self.agents.number(event.agent),
            entity=self.entities.number(body["entity"]),
            slug=self.slugs.number(slug),
            project=self.projects.number(project),
            trust=TRUST[body["source"]],
            number=number,
            digest=form_number(body["text"]),
        )
        self.texts.append(body["text"])
        details = {name: body[name] for name in _DETAILS}
        for name in _READ_PARTS:
            details[name] = body.get(name, "")
        details["at"] = event.at
        details["event_id"] = event.id
        self.details.append(json.dumps(details))
        self._compare((body["entity"], project), fact_id, body["text"])

    def _fact_superseded(self, event: Event) -> None:
        body = event.body
        undo = body["undo"]
        by_row = self.ids.find(body["by"])
        successor = 0 if undo or by_row is None else by_row + 1
        superseded_at = 0 if undo else event.at
        for fact_id in body["facts"]:
            row = self.ids.find(fact_id)
            if row is None:
                continue
            self.facts.put(row, superseded_at=superseded_at, superseded_by=successor)
            scope = (
                self.entities[int(self.facts["entity"][row])],
                self.projects[int(self.facts["project"][row])],
            )
            if undo:
                self._compared.pop(scope, None)
            for index in self._compared.get(scope, ()):
                index.remove(fact_id)

    def _facts_accessed(self, event: Event) -> None:
        for fact_id in event.body["facts"]:
            row = self.ids.find(fact_id)
            if row is None:
                continue
            self.facts["accesses"][row] += 1
            last = int(self.facts["accessed_at"][row])
            self.facts["accessed_at"][row] = max(event.at, last)

    def _extracted(self, event: Event) -> None:
        self.marks.add(upto=event.body["upto"])

    def _entity_archived(self, event: Event) -> None:
        old = self.entities.number(event.body["entity"])
        new = self.entities.number(event.body["to"])
        self.facts["entity"][self.facts["entity"] == old] = new
        self._compared = {}

    def _compare(self, scope: Scope, fact_id: str, text: str) -> None:
        if scope in self._compared:
            judge, shared = self._compared[scope]
            judge.hold(fact_id, assertions.as_statement(scope[0], text))
            shared.add(fact_id, text)

    def comparing(
        self, scope: Scope
    ) -> tuple[superseding.Superseding, pairs.SharedWords]:
        """Return what the active facts of a scope state, and their words.

        A new fact is judged by them.
        """
        if scope not in self._compared:
            self._compared[scope] = superseding.Superseding(), pairs.SharedWords()
            for row in self.active_in(scope).tolist():
                self._compare(scope, self.ids[row], self.texts[row])
        return self._compared[scope]

    def rows(self, entity: str | None = None, *, active: bool | None = None) -> Rows:
        """Return the rows of the facts of an entity, or of all.

        They are those that are active, those that are not, or with None both.
        """
        entity_numbers = self.facts["entity"]
        rows: Rows
        if entity is None:
            rows = np.arange(len(entity_numbers))
        else:
            number = self.entities.find(entity)
            rows = np.flatnonzero(entity_numbers == (-1 if number is None else number))
        if active is not None:
            is_active = self.facts["superseded_at"][rows] == 0
            rows = rows[is_active == active]
        return rows

    def active_in(self, scope: Scope) -> Rows:
        """Return the rows of the active facts of an entity in one project alone.

        What is said in a group means nothing for what others know.
        """
        entity, project = scope
        rows = self.rows(entity, active=True)
        number = self.projects.find(project)
        in_project = self.facts["project"][rows] == (-1 if number is None else number)
        rows_in_project: Rows = rows[in_project]
        return rows_in_project

    def active_of_project(self, project: str) -> Rows:
        """Return the rows of the active facts of all entities in one project."""
        number = self.projects.find(project)
        if number is None:
            return np.empty(0, np.int64)
        in_project = self.facts["project"] == number
        is_active = self.facts["superseded_at"] == 0
        rows: Rows = np.flatnonzero(
            in_project & is_active,
        )
        return rows

    def near(self, scope: Scope, text: str) -> list[tuple[str, str]]:
        """Return ids and texts of the active facts of a scope that share words with a text.

        Those that share most come first.
        """
        shared_words = self.comparing(scope)[1]
        return [
            (fact_id, self.texts[self.ids.number(fact_id)])
            for fact_id, _, _ in shared_words.near(text, _NEAREST)
        ]

    def trust_of(self, fact_id: str) -> int:
        """How far a fact is trusted."""
        return int(self.facts["trust"][self.ids.number(fact_id)])

    def next_id(self, entity: str) -> str:
        """Return the id of the next fact of an entity."""
        slug = entity.partition("/")[2]
        slug_number = self.slugs.find(slug)
        has_slug = self.facts["slug"] == (-1 if slug_number is None else slug_number)
        last = int(self.facts["number"][has_slug].max(initial=0))
        return f"{slug}-{last + 1:03d}"

    def fact(self, row: int) -> Fact:
        """Return the fact in a row."""
        return self.listed(np.array([row]))[0]

    def listed(self, rows: Rows) -> list[Fact]:
        """Return the facts in these rows."""
        columns = [self.facts[name][rows].tolist() for name in _READ]
        facts: list[Fact] = []
        for row, *cells in zip(rows.tolist(), *columns, strict=True):
            facts.append(self._read(row, *cells))
        return facts

    def _read(self, row: int, *cells: int) -> Fact:
        entity, project, agent, superseded_at, by, accesses, accessed_at = cells
        details = json.loads(self.details[row])
        for name in ("tags", "supersedes"):
            details[name] = tuple(details[name])
        return Fact(
            self.ids[row],
            self.entities[entity],
            self.texts[row],
            project=self.projects[project],
            agent=self.agents[agent],
            superseded_at=superseded_at or None,
            superseded_by=self.ids[by - 1] if by else "",
            access_count=accesses,
            last_accessed=accessed_at or None,
            **details,
        )


_DETAILS = (
    "category",
    "confidence",
    "abstraction",
    "tags",
    "source",
    "origin",
    "supersedes",
    "valid_from",
    "valid_to",
)
# What is read from a fact's words; facts of older releases lack it.
_READ_PARTS = (
    "attribute",
    "value",
)
_READ = (
    "entity",
    "project",
    "agent",
    "superseded_at",
    "superseded_by",
    "accesses",
    "accessed_at",
)


@lru_cache(1_024)  # who writes a fact and who folds it read the same
def form_number(text: str) -> int:
    """Return the first 63 bits of the hash of a fact's normal form."""
    return int(pairs.fact_hash(text)[:16], 16) >> 1


def facts_of(
    home: Home,
    entity: str | None = None,
    *,
    as_of: int | None = None,
    active: bool | None = True,
) -> list[Fact]:
    """Return facts of the home's project or of none, in the order of their writing.

    Args:
        home: Whose facts they are.
        entity: Only of this entity.
        as_of: As it was believed at that time (µs UTC): by what was written until then,
            without what was not yet, or no longer, true by then.
        active: Those that hold, those that something stands in the place of, or with
            None both.
    """
    if as_of is None:
        with home.views.reading(Facts) as view:
            facts = view.listed(view.rows(entity, active=active))
    else:
        view = Facts()
        events = home.journal.tail(0, kinds=Facts.kinds)
        view.apply([event for event in events if event.at <= as_of])
        facts = view.listed(view.rows(entity, active=active))
        if active:
            facts = [fact for fact in facts if fact.holds_at(as_of)]
    return [fact for fact in facts if is_open_to(home, fact)]


def is_open_to(home: Home, fact: Fact) -> bool:
    """Return whether a fact is of the home's project, or of none."""
    return home.project in ("", fact.project) or not fact.project


def fact_by_id(home: Home, fact_id: str) -> Fact:
    """Return the fact of this id.

    Raises:
        InvalidInput: There is none in the home's project; it names the nearest.
    """
    with home.views.reading(Facts) as view:
        row = view.ids.find(fact_id)
        fact = None if row is None else view.fact(row)
        if fact is not None and is_open_to(home, fact):
            return fact
        near = get_close_matches(fact_id, list(view.ids)[-10_000:], 1)
    if fact is not None:
        raise InvalidInput(
            f"got the fact {fact_id!r}, which is of another project; allowed is one of"
            " this project or of none: call it from the folder of that project"
        )
    hint = f": the nearest is {near[0]}" if near else ""
    raise InvalidInput(
        f"got the fact {fact_id!r}; allowed is the id of one{hint}; `theorex facts"
        " list` shows them"
    )


def chain_of(home: Home, fact_id: str) -> list[Fact]:
    """Return the facts that stood in each other's place, oldest first.

    They go from the first to those that hold, and this one is among them.

    Raises:
        InvalidInput: There is no such fact in the home's project.
    """
    chain: dict[str, Fact] = {}
    waiting = [fact_id]
    while waiting:
        fact = fact_by_id(home, waiting.pop())
        chain[fact.id] = fact
        neighbours = {*fact.supersedes, *_replaced_by(home, fact.id)}
        if fact.superseded_by:
            neighbours.add(fact.superseded_by)
        waiting += neighbours - chain.keys()
    return sorted(chain.values(), key=lambda fact: (fact.at, fact.id))


def _replaced_by(home: Home, fact_id: str) -> list[str]:
    """Return the ids of the facts in whose place a fact stands."""
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
    successors = {fact.id: fact.superseded_by for fact in facts}
    problems: list[str] = []
    for fact_id, successor in successors.items():
        if successor and successor not in successors:
            problems.append(
                f"{fact_id}: supersededBy is {successor!r}, which is no fact that is"
                " there"
            )
        circle = _circle(fact_id, successors)
        if circle:
            problems.append(
                f"{fact_id}: the chain {' → '.join([*circle, fact_id])} is a circle"
            )
    for fact in facts:
        for old in fact.supersedes:
            if old not in successors:
                problems.append(
                    f"{fact.id}: it supersedes {old!r}, which is no fact that is there"
                )
    return ChainCheck(len(facts), problems)


def _circle(fact_id: str, successors: dict[str, str]) -> list[str]:
    """Return the circle that a fact is the first of, by its id; else nothing."""
    members = [fact_id]
    successor = successors[fact_id]
    while successor and successor not in members:
        members.append(successor)
        successor = successors.get(successor, "")
    return members if successor == fact_id == min(members) else []
