"""Strategies: what trajectories became, with their steps, constraints and links, their
vectors in one matrix, and recall.

Recall is which strategy answers a task, step by step, and when it no longer fits. A
strategy has to be alike before it counts how far it is trusted, so that a trusted one
about something else never answers.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from threading import RLock
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import InvalidInput, ModelUnavailable
from theorex_lab.core.ids import derived_event_id
from theorex_lab.core.sections import read_sections
from theorex_lab.designs.dreams import DEFAULT_DOMAIN, ISA_VERSION, STATED, Edge, Level
from theorex_lab.designs.dreams.items import strategy_text
from theorex_lab.designs.dreams.settings import DreamSettings, dream_settings
from theorex_lab.designs.dreams.trajectories import (
    Projects,
    Trajectories,
    rows_in,
    unknown_id,
)
from theorex_lab.journal.columns import Names, Strings, Table
from theorex_lab.journal.event import Event
from theorex_lab.journal.view import View
from theorex_lab.memory.contract import Home
from theorex_lab.search.embed import Embedder
from theorex_lab.search.fuse import best_first
from theorex_lab.search.vectors import VectorCache, text_key
from theorex_lab.text.line import one_line

Matrix = NDArray[np.float32]


class StrategyStep(NamedTuple):
    """A step as it was recorded. why: what a dream said it is for.  seen: how often.
    event: what recorded it.

    ok: whether it did its work, None where that is not known.
    """

    reasoning: str
    action: str
    result: str
    why: str = ""
    seen: int = 1
    event: str = ""
    ok: bool | None = True


class StrategyBranch(NamedTuple):
    """What was done instead, after a step (-1: before the first)."""

    after: int
    step: StrategyStep


class Constraint(NamedTuple):
    """What is not to be done again. source: whose words they are, a key of `TRUST`.
    event: what said it.  at: µs UTC.
    """

    id: str
    text: str
    fault: str
    source: str
    trajectory: str
    event: str
    at: int


class EdgeRow(NamedTuple):
    """An edge of the graph; a step's id is its strategy's, a dot and its number from 0."""

    edge_id: str
    source: str
    target: str
    type: str
    weight: float = 1.0


@dataclass(frozen=True)
class Strategy:
    """What was made of trajectories. Times in µs UTC.

    goals: the goals that it was made of, `goal` first.  confidence: 0..1.  origin:
    where it was lived, a key of `FIDELITY`.  success, failure: trajectories that came
    out so.  content: what migrations added.  source: whose words it is told in, a key
    of `TRUST`.  accesses: how often it was given.  event: the last that told it.
    absorbed_by: the strategy that it was taken into, or ''.
    """

    id: str
    goal: str
    summary: str
    steps: tuple[StrategyStep, ...] = ()
    branches: tuple[StrategyBranch, ...] = ()
    goals: tuple[str, ...] = ()
    confidence: float = 0.5
    outcome: str = "unknown"
    level: int = Level.TACTICAL
    domain: str = DEFAULT_DOMAIN
    origin: str = "agent"
    success: int = 0
    failure: int = 0
    version: int = 1
    isa_version: str = ISA_VERSION
    content: str = ""
    source: str = "agent"
    tags: tuple[str, ...] = ()
    project: str = ""
    agent: str = "main"
    created_at: int = 0
    updated_at: int = 0
    accesses: int = 0
    constraints: tuple[Constraint, ...] = field(default=(), repr=False)
    event: str = ""
    active: bool = True
    absorbed_by: str = ""

    @property
    def success_rate(self) -> float | None:
        """The share of its trajectories that succeeded; None where none is known to
        have succeeded or failed.
        """
        return (
            self.success / (self.success + self.failure)
            if self.success or self.failure
            else None
        )

    @property
    def worked(self) -> str:
        """How many of its trajectories succeeded, in words; '' where it is not known of
        any.
        """
        return (
            ""
            if self.success_rate is None
            else f"{self.success} of {self.success + self.failure} times"
        )

    @property
    def text(self) -> str:
        """The text that it is found by."""
        return strategy_text(self.goal, self.summary, self.source)

    def state(self) -> dict[str, Any]:
        """What an event carries of it, as JSON holds it."""
        return {name: getattr(self, name) for name in _STATE.split()} | {
            "steps": [step._asdict() for step in self.steps],
            "goals": [*self.goals],
            "tags": [*self.tags],
            "branches": [
                {"after": branch.after, "step": branch.step._asdict()}
                for branch in self.branches
            ],
        }

    def to_dict(self) -> dict[str, Any]:
        """The strategy with the members of Evolving Memory's parent nodes."""
        return {
            "node_id": self.id,
            "type": "parent",
            "hierarchy_level": int(self.level),
            "goal": self.goal,
            "summary": self.summary,
            "content": self.content,
            "confidence": self.confidence,
            "outcome": self.outcome,
            "success_rate": self.success_rate,
            "success_count": self.success,
            "failure_count": self.failure,
            "version": self.version,
            "isa_version": self.isa_version,
            "domain": self.domain,
            "child_count": len(self.steps),
            "trigger_goals": [*self.goals],
            "negative_constraints": [found.text for found in self.constraints],
            "access_count": self.accesses,
            "created_at": to_iso(self.created_at),
            "updated_at": to_iso(self.updated_at),
        }


_STATE = (
    "goal summary confidence outcome level domain origin success failure version"
    " isa_version content source"
)


def strategy_of(state: dict[str, Any], **known: Any) -> Strategy:
    """The strategy that an event's `state` tells, with what is `known` of it beside."""
    given: dict[str, Any] = {name: state[name] for name in _STATE.split()}
    branches = tuple(
        StrategyBranch(branch["after"], StrategyStep(**branch["step"]))
        for branch in state["branches"]
    )
    steps = tuple(StrategyStep(**step) for step in state["steps"])
    given |= {name: tuple(state[name]) for name in ("goals", "tags")}
    return Strategy(steps=steps, branches=branches, **given, **known)


class Strategies(View):
    """A row a strategy, in the order in which they were made.

    rows: created_at, updated_at (µs), agent, project, domain (numbers of names), state
    (number of its last text), accesses, asleep (pruned), absorbed_by (row + 1, 0 for
    none).  states: as JSON.  events: the last of each state.  links and constraints: in
    the order in which they were told, as JSON in `edges` and `told`.  cycles: seqs of
    dreams.
    """

    name = "strategies"
    code = 2
    kinds = (*STATED, "strategy_linked", "constraint", "dream", "recalled")

    def __init__(self) -> None:
        super().__init__()
        self.ids = Names()
        self.agents = Names()
        self.projects = Names()
        self.domains = Names()
        self.states = Strings()
        self.events = Strings()
        self.told = Strings()
        self.link_ids = Names()
        self.rows = Table(
            created_at="i8",
            updated_at="i8",
            agent="i4",
            project="i4",
            domain="i4",
            state="i4",
            accesses="i8",
            asleep="?",
            absorbed_by="i4",
        )
        self.links = Table(source="i4", target="i4")
        self.edges = Strings()
        self.constraints = Table(row="i4")
        self.cycles = Table(seq="i8", traces="i8")

    def _strategy(self, event: Event) -> None:
        if self.ids.find(event.body["strategy_id"]) is None:
            self.ids.number(event.body["strategy_id"])
            who = {
                "agent": self.agents.number(event.agent),
                "project": self.projects.number(event.body["project"]),
            }
            self.rows.add(created_at=event.at, state=-1, **who)
            self._told(event)

    def _told(self, event: Event) -> int | None:
        row = self.ids.find(event.body["strategy_id"])
        if row is not None and (state := event.body["state"]):
            self.rows.put(
                row,
                state=len(self.states),
                updated_at=event.at,
                domain=self.domains.number(state["domain"]),
            )
            self.states.append(json.dumps(state, separators=(",", ":")))
            self.events.append(event.id)
        return row

    _strategy_migrated = _told

    def _strategy_merged(self, event: Event) -> None:
        row = self._told(event)
        absorbed = self.ids.find(event.body["absorbed"])
        if row is not None and absorbed is not None:
            self.rows.put(absorbed, absorbed_by=0 if event.body["undo"] else row + 1)

    def _strategy_compacted(self, event: Event) -> None:
        if (row := self._told(event)) is not None and (
            event.body["pruned"] or event.body["undo"]
        ):
            self.rows.put(row, asleep=event.body["pruned"] and not event.body["undo"])

    def _strategy_linked(self, event: Event) -> None:
        edge = _edge(
            *(event.body[name] for name in ("from_id", "to_id", "type", "weight"))
        )
        source, target = map(self.ids.find, edge[1:3])
        if None not in (source, target) and self.link_ids.find(edge.edge_id) is None:
            self.link_ids.number(edge.edge_id)
            self.links.add(source=source, target=target)
            self.edges.append(json.dumps(edge))

    def _constraint(self, event: Event) -> None:
        body = event.body
        if (row := self.ids.find(body["strategy_id"])) is not None:
            self.constraints.add(row=row)
            said = [
                body[name]
                for name in ("constraint_id", "text", "fault", "source", "trajectory")
            ]
            self.told.append(json.dumps([*said, event.id, event.at]))

    def _dream(self, event: Event) -> None:
        self.cycles.add(seq=event.seq, traces=event.body["traces_processed"])

    def _recalled(self, event: Event) -> None:
        for item in event.body["items"]:
            if (row := self.ids.find(item)) is not None:
                self.rows["accesses"][row] += 1

    def chosen(
        self,
        *,
        domain: str | None = None,
        active: bool | None = True,
        projects: Projects = None,
    ) -> list[int]:
        """Rows in their order; active: neither pruned nor taken into another."""
        mask = np.ones(len(self.rows), np.bool_)
        if active is not None:
            mask = ((self.rows["absorbed_by"] == 0) & ~self.rows["asleep"]) == active
        return rows_in(self, mask, domain, projects)

    def strategy(self, row: int) -> Strategy:
        """The strategy in a row."""
        names = ("created_at", "updated_at", "accesses", "state", "absorbed_by")
        cells = {name: self.rows[name][row].item() for name in names}
        number = cells.pop("state")
        absorbed = cells.pop("absorbed_by")
        told = [
            json.loads(self.told[at])
            for at in np.flatnonzero(self.constraints["row"] == row).tolist()
        ]
        return strategy_of(
            json.loads(self.states[number]),
            id=self.ids[row],
            event=self.events[number],
            project=self.projects[int(self.rows["project"][row])],
            agent=self.agents[int(self.rows["agent"][row])],
            constraints=tuple(Constraint(*said) for said in told),
            active=not (absorbed or self.rows["asleep"][row]),
            absorbed_by=self.ids[absorbed - 1] if absorbed else "",
            **cells,
        )


def new_strategy_id(*parts: object) -> str:
    """The id of a strategy that is made of these: the same for the same."""
    return f"st-{derived_event_id('strategy', *parts).replace('-', '')[-12:]}"


def strategies_of(
    home: Home, *, domain: str | None = None, active: bool | None = True
) -> list[Strategy]:
    """The strategies of the home's project or of none, of a domain or of all, in the
    order in which they were made.

    active: those that hold, those that were pruned or taken into others, or with None
    both.
    """
    with home.views.reading(Strategies) as view:
        return [
            view.strategy(row)
            for row in view.chosen(domain=domain, active=active, projects=home.projects)
        ]


def strategy_by_id(home: Home, strategy_id: str) -> Strategy:
    """The strategy of this id. Raises InvalidInput where there is none in the home's
    project, naming the nearest.
    """
    with home.views.reading(Strategies) as view:
        row = view.ids.find(strategy_id) if isinstance(strategy_id, str) else None
        if row is not None and (
            (found := view.strategy(row)).project in ("", home.project)
            or not home.project
        ):
            return found
        if row is not None:
            told = f"got the strategy {strategy_id}, of project {found.project}"
            raise InvalidInput(f"{told}; allowed are those of this one")
        raise unknown_id("strategy", strategy_id, view.ids)


def edges_of(home: Home, node_id: str) -> tuple[list[EdgeRow], list[EdgeRow]]:
    """Edges that lead out of a node and those that lead to it; a node is a strategy or
    a step, `ID.NUMBER`.

    Raises InvalidInput as `strategy_by_id`.
    """
    edges = all_edges(home, [strategy_by_id(home, node_id.partition(".")[0])])
    return [edge for edge in edges if edge.source == node_id], [
        edge for edge in edges if edge.target == node_id
    ]


def all_edges(home: Home, strategies: Iterable[Strategy]) -> list[EdgeRow]:
    """Every edge of these strategies."""
    return [
        *dict.fromkeys(
            edge
            for one in strategies
            for edge in (*_own_edges(one), *_links(home, one.id))
        )
    ]


def _own_edges(strategy: Strategy) -> list[EdgeRow]:
    nodes = [f"{strategy.id}.{number}" for number in range(len(strategy.steps))]
    pairs = [(node, strategy.id, Edge.IS_CHILD_OF) for node in nodes]
    for one, after in pairwise(nodes):
        pairs += [(one, after, Edge.NEXT_STEP), (after, one, Edge.PREVIOUS_STEP)]
    return [_edge(*pair) for pair in pairs]


def _edge(source: str, target: str, kind: str, weight: float = 1.0) -> EdgeRow:
    return EdgeRow(f"{source}>{target}>{kind}", source, target, str(kind), weight)


def _links(home: Home, strategy_id: str) -> list[EdgeRow]:
    with home.views.reading(Strategies) as view:
        row = view.ids.find(strategy_id)
        links = view.links
        found = np.flatnonzero(
            (links["source"] == row) | (links["target"] == row)
        ).tolist()
        return [EdgeRow(*json.loads(view.edges[at])) for at in found]


def vectors_of(home: Home, texts: Sequence[str]) -> Matrix:
    """Vectors of these texts by the home's embedder, (len(texts), dimensions), kept
    beside those of search.

    Raises ModelUnavailable where the embedder does not answer with vectors.
    """
    return StrategyVectors(home).of(texts)


class StrategyVectors:
    """The vectors of the active strategies of a home's project, or of none; what
    changed is looked up again.
    """

    def __init__(self, home: Home) -> None:
        self.home = home
        self._lock = RLock()
        self._known: tuple[int, ...] = ()
        self._asked: tuple[str, Matrix] | None = None
        self.ids: list[str] = []
        self._domains = self._records = np.zeros(0, np.int64)

    @cached_property
    def cache(self) -> VectorCache:
        """Vectors on disk."""
        return VectorCache(
            self.home.folder / "vectors",
            self.home.embedder.id,
            self.home.embedder.dimensions,
        )

    def of(self, texts: Sequence[str]) -> Matrix:
        """As `vectors_of`."""
        with self._lock:
            keys = [text_key(text) for text in texts]
            held, matrix = self.cache.get(keys)
            lacking = {
                keys[place]: texts[place] for place in np.flatnonzero(~held).tolist()
            }
            if lacking:
                self.cache.add(list(lacking), self.made([*lacking.values()]))
                matrix = self.cache.get(keys)[1]
            return matrix

    def made(self, texts: Sequence[str]) -> Matrix:
        """Vectors that are computed and not kept. Raises ModelUnavailable where what
        comes is not one a text, finite.
        """
        found = np.asarray(self.home.embedder.embed(texts), np.float32)
        embedder = self.home.embedder
        if (
            found.shape != (len(texts), embedder.dimensions)
            or not np.isfinite(found).all()
        ):
            told = f"{embedder.id} gave vectors of the shape {found.shape}"
            raise ModelUnavailable(f"{told}; allowed is one a text, finite")
        return found

    def follow(self) -> None:
        """Take over what was made or changed meanwhile. Raises ModelUnavailable as
        `vectors_of`.
        """
        with self.home.views.reading(Strategies) as view:
            gone = int(view.rows["asleep"].sum() + (view.rows["absorbed_by"] > 0).sum())
            self.cache.refresh()
            known = (len(view.states), gone, self.cache.generation)
            if known == self._known:
                return
            rows = view.chosen(projects=self.home.projects)
            states = [
                json.loads(view.states[int(view.rows["state"][row])]) for row in rows
            ]
            self.ids = [view.ids[row] for row in rows]
            self._domains = view.rows["domain"][rows].astype(np.int64)
        texts = [
            strategy_text(state["goal"], state["summary"], state["source"])
            for state in states
        ]
        self.of(texts)
        self._records = self.cache.find([text_key(text) for text in texts])
        self._known = known

    def nearest(
        self, text: str | Matrix, most: int, domain: str | None = None
    ) -> list[tuple[str, float]]:
        """Ids of the strategies nearest to a text or vector, of a domain or of all,
        with their cosines, best first.
        """
        with self._lock:
            self.follow()
            if isinstance(text, str) and (
                self._asked is None or self._asked[0] != text
            ):
                self._asked = text, self.made([text])[0]
            vector = (
                self._asked[1]
                if isinstance(text, str) and self._asked
                else np.asarray(text, np.float32)
            )
            rows = np.arange(len(self.ids))
            if domain is not None:
                number = self.home.views.get(Strategies).domains.find(domain)
                rows = np.flatnonzero(
                    self._domains == (-1 if number is None else number)
                )
            rows = rows[self.cache.likely(self._records[rows], vector, most)]
            found, scores = best_first(
                rows, self.cache.read(self._records[rows])[1] @ vector, most
            )
        return [
            (self.ids[place], score)
            for place, score in zip(found.tolist(), scores.tolist(), strict=True)
        ]


def status(home: Home, _agent: str | None) -> dict[str, Any]:
    """How many trajectories there are, how many of them were dreamt, how many
    strategies hold, and of how many dreams.
    """
    lived = home.views.get(Trajectories).rows
    view = home.views.get(Strategies)
    known = {
        "strategies": len(view.chosen(projects=home.projects)),
        "cycles": len(view.cycles),
    }
    return {
        "dreams": {
            "trajectories": len(lived),
            "dreamt": int(lived["dreamt"].sum()),
            **known,
        }
    }


def agents_of(home: Home) -> list[str]:
    """Who has a strategy."""
    with home.views.reading(Strategies) as view:
        return list(view.agents)


def undreamt(home: Home) -> dict[tuple[str, str], int]:
    """By agent and session, the first seq of what was not dreamt yet: nothing that
    waits is archived.
    """
    with home.views.reading(Trajectories) as view:
        waits = np.flatnonzero(~view.rows["dreamt"])[::-1].tolist()
        keys = (
            (
                view.keys[int(view.rows["key"][row])].partition("/"),
                int(view.rows["goal"][row]),
            )
            for row in waits
        )
        return {(agent, session): seq for (agent, _, session), seq in keys}


Path = Literal["memory_traversal", "zero_shot", "context_jump"]
_FLOORS: dict[str, float] = {}  # by the id of an embedder
_QUERY_CHARACTERS = 2_000


class RecallResult(NamedTuple):
    """What a recall gave. entry_point: the strategy to begin with, None for zero_shot.
    confidence: the weighted sum, 0..1.

    similarity: the cosine with the strategy.  reasoning: why, in words.
    """

    path: Path
    reasoning: str
    confidence: float = 0.0
    entry_point: Strategy | None = None
    similarity: float | None = None


class NextStep(NamedTuple):
    """What comes next on a way: a step and its number, None at the end; after a jump,
    the strategy that it leads to.
    """

    path: Path
    step: StrategyStep | None = None
    number: int = 0
    entry: Strategy | None = None
    reasoning: str = ""


@dataclass
class TraversalState:
    """Where one is on a strategy. node_id: the strategy.  index: of the step that comes
    next.  jumps: strategies left behind.
    """

    node_id: str
    index: int = 0
    drifted: bool = False
    jumps: list[str] = field(default_factory=list)


def weighed(
    settings: DreamSettings,
    similarity: float,
    confidence: float,
    success_rate: float | None,
) -> float:
    """Likeness, confidence and success, weighted; where no success is known its weight
    goes to the other two in proportion.

    >>> (
    ...     round(weighed(DreamSettings(), 0.8, 0.6, None), 3),
    ...     round(weighed(DreamSettings(), 0.8, 0.6, 1.0), 3),
    ... )
    (0.725, 0.78)
    """
    parts = [
        (settings.recall_similarity, similarity),
        (settings.recall_confidence, confidence),
    ]
    if success_rate is not None:
        parts.append((settings.recall_success, success_rate))
    total = sum(weight for weight, _ in parts)
    return sum(weight * value for weight, value in parts) / total if total else 0.0


def recall(home: Home, query: str, **among: Any) -> RecallResult:
    """The strategy that answers a task, of the home's project or of none: the best of
    those alike, if good enough.

    among: which, as `ranking` takes it. Raises InvalidInput for a query without words,
    ModelUnavailable where the embedder does not answer.
    """
    ranked = ranking(home, query, **among)
    settings = dream_settings(home)
    floor = floor_of(home)
    if not ranked:
        return RecallResult("zero_shot", "nothing was dreamt yet")
    fitting = [found for found in ranked if (found.similarity or 0.0) >= floor]
    if not fitting:
        nearest = max(found.similarity or 0.0 for found in ranked)
        return RecallResult(
            "zero_shot",
            f"nothing is alike: the nearest has {nearest:.2f}, the floor is"
            f" {floor:.2f}",
        )
    best = fitting[0]
    if best.confidence < settings.recall_threshold:
        told = (
            f"the best is too doubtful: {best.confidence:.2f} of"
            f" {settings.recall_threshold:.2f}"
        )
        return RecallResult("zero_shot", told, best.confidence, None, best.similarity)
    return best


def ranking(
    home: Home,
    query: str,
    *,
    domain: str | None = None,
    top: int | None = None,
    vectors: StrategyVectors | None = None,
) -> list[RecallResult]:
    """The strategies nearest to a query, weighed, best first, whether they answer it or
    not.

    domain: only its.  top: how many are compared, by default recallTop.  vectors: those
    of the home, where they are kept. Raises as `recall`.
    """
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput(
            f"got the query {query!r:.100}; allowed is a text that says what is to be"
            " done"
        )
    settings = dream_settings(home)
    known = vectors or StrategyVectors(home)
    found = []
    asked = one_line(query, _QUERY_CHARACTERS)
    with home.views.reading(Strategies) as view:
        for strategy_id, similarity in known.nearest(
            asked, top or settings.recall_top, domain
        ):
            strategy = view.strategy(view.ids.number(strategy_id))
            total = weighed(
                settings, similarity, strategy.confidence, strategy.success_rate
            )
            told = (
                f"alike {similarity:.2f}, {strategy.confidence:.0%} sure,"
                f" {f'worked {strategy.worked}' if strategy.worked else 'no success known'}"
            )
            found.append(
                RecallResult(
                    "memory_traversal",
                    told,
                    round(total, 6),
                    strategy,
                    round(similarity, 6),
                )
            )
    return sorted(found, key=lambda one: -one.confidence)


def begin_traversal(home: Home, strategy_id: str) -> TraversalState:
    """Begin to follow a strategy. Raises InvalidInput for an unknown one."""
    return TraversalState(strategy_by_id(home, strategy_id).id)


def next_step(home: Home, state: TraversalState, context: str = "") -> NextStep:
    """The next step; where the present context fits the strategy no more, the strategy
    to jump to, or zero_shot.

    context: what is going on, in words; '' asks nothing. The state goes on with it.
    """
    strategy = strategy_by_id(home, state.node_id)
    state.drifted = bool(context.strip()) and not _fits(home, strategy, context)
    if state.drifted:
        found = recall(home, context, domain=strategy.domain)
        if found.entry_point is None or found.entry_point.id in (
            strategy.id,
            *state.jumps,
        ):
            return NextStep(
                "zero_shot",
                reasoning=f"it no longer fits {strategy.id}; {found.reasoning}",
            )
        state.jumps.append(state.node_id)
        state.node_id, state.index = found.entry_point.id, 0
        return NextStep(
            "context_jump",
            None,
            0,
            found.entry_point,
            f"it no longer fits {strategy.id}; {found.reasoning}",
        )
    if state.index >= len(strategy.steps):
        return NextStep("memory_traversal", None, state.index)
    state.index += 1
    return NextStep(
        "memory_traversal", strategy.steps[state.index - 1], state.index - 1
    )


def _fits(home: Home, strategy: Strategy, context: str) -> bool:
    """Whether the context is as near to a strategy, or to the step that comes, as the
    threshold asks.
    """
    settings = dream_settings(home)
    limit = (
        floor_of(home) if settings.drift_threshold is None else settings.drift_threshold
    )
    texts = [strategy.text, *strategy.goals, *(step.action for step in strategy.steps)]
    vectors = StrategyVectors(home).made(
        [one_line(text, _QUERY_CHARACTERS) for text in (context, *texts)]
    )
    return float((vectors[1:] @ vectors[0]).max()) >= limit


def floor_of(home: Home) -> float:
    """The cosine below which nothing answers: the setting, else what unrelated tasks
    reach with the home's embedder.
    """
    given = dream_settings(home).recall_floor
    return calibrated(home.embedder) if given is None else given


def calibrated(embedder: Embedder) -> float:
    """The greatest cosine of two of the packaged tasks, which have nothing to do with
    each other; computed once an embedder.

    >>> from theorex_lab.search.embed import HashedNgramEmbedder
    >>> 0 < calibrated(HashedNgramEmbedder()) < 0.6
    True
    """
    if embedder.id not in _FLOORS:
        texts = read_sections(__file__, "unrelated.txt")["tasks"].splitlines()
        vectors = np.asarray(embedder.embed(texts), np.float32)
        _FLOORS[embedder.id] = round(float(np.triu(vectors @ vectors.T, 1).max()), 3)
    return _FLOORS[embedder.id]
