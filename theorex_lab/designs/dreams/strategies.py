"""Hold strategies, which trajectories became, and recall them.

Strategies have steps, constraints and links, and their vectors stand in one matrix.
Recall finds the strategy that answers a task, gives it step by step, and notices when
it no longer fits. A strategy has to be alike before it counts how far it is trusted, so
that a trusted one about something else never answers.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
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
from theorex_lab.designs.dreams import DEFAULT_DOMAIN, ISA_VERSION, Edge, Level
from theorex_lab.designs.dreams.items import strategy_text
from theorex_lab.designs.dreams.settings import DreamSettings, dream_settings
from theorex_lab.designs.dreams.strategy_view import (
    Constraint,
    EdgeRow,
    Strategies,
    edge_row,
)
from theorex_lab.designs.dreams.tasks import task_in_words
from theorex_lab.designs.dreams.trajectories import (
    Trajectories,
    unknown_id,
)
from theorex_lab.designs.dreams.verdicts import EVIDENCE_IN_WORDS
from theorex_lab.memory.contract import Home
from theorex_lab.search.embed import Embedder
from theorex_lab.search.fuse import best_first
from theorex_lab.search.vectors import VectorCache, text_key
from theorex_lab.text.line import one_line

Matrix = NDArray[np.float32]


class StrategyStep(NamedTuple):
    """Hold a step as it was recorded.

    Attributes:
        why: What a dream said it is for.
        seen: How often it was done.
        event: What recorded it.
        ok: Whether it did its work, None where that is not known.
    """

    reasoning: str
    action: str
    result: str
    why: str = ""
    seen: int = 1
    event: str = ""
    ok: bool | None = True


class StrategyBranch(NamedTuple):
    """Hold what was done instead, after a step (-1: before the first)."""

    after: int
    step: StrategyStep


@dataclass(frozen=True)
class Strategy:
    """Hold what was made of trajectories. Times in µs UTC.

    Attributes:
        goals: The goals that it was made of, `goal` first.
        confidence: From 0 to 1.
        origin: Where it was lived, a key of `FIDELITY`.
        success: How many trajectories succeeded.
        failure: How many trajectories failed.
        evidence: By what their outcomes are known, as `verdicts` names it, and of how
            many.
        content: What migrations added.
        source: Whose words it is told in, a key of `TRUST`.
        accesses: How often it was recalled.
        event: The last event that has its state.
        absorbed_by: The strategy that it was taken into, or ''.
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
    evidence: Mapping[str, int] = field(default_factory=dict)
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
        """The share of its trajectories that succeeded.

        It is None where none is known to have succeeded or failed.
        """
        n_known = self.success + self.failure
        return self.success / n_known if n_known else None

    @property
    def worked(self) -> str:
        """How many of its trajectories succeeded, in words; '' where none is known."""
        n_known = self.success + self.failure
        return f"{self.success} of {n_known} times" if n_known else ""

    @property
    def runs(self) -> int:
        """How many trajectories it was made of, at least."""
        return max(self.version, self.success + self.failure)

    @property
    def known_by(self) -> str:
        """By what its outcomes are known, in words; '' where none is known so."""
        parts = []
        for name, n_times in sorted(self.evidence.items()):
            parts.append(f"{EVIDENCE_IN_WORDS[name]} {n_times}")
        return ", ".join(parts)

    @property
    def text(self) -> str:
        """The text that it is found by."""
        return strategy_text(self.goal, self.summary, self.source)

    def state(self) -> dict[str, Any]:
        """Return what an event carries of it, as JSON holds it."""
        state: dict[str, Any] = {name: getattr(self, name) for name in _STATE}
        state["steps"] = [step._asdict() for step in self.steps]
        state["goals"] = list(self.goals)
        state["tags"] = list(self.tags)
        if self.evidence:
            state["evidence"] = dict(sorted(self.evidence.items()))
        state["branches"] = [
            {"after": branch.after, "step": branch.step._asdict()}
            for branch in self.branches
        ]
        return state

    def to_dict(self) -> dict[str, Any]:
        """Return the strategy with the members of Evolving Memory's parent nodes."""
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
            "negative_constraints": [
                constraint.text for constraint in self.constraints
            ],
            "access_count": self.accesses,
            "created_at": to_iso(self.created_at),
            "updated_at": to_iso(self.updated_at),
        }


# Members of a strategy that are the same in an event's `state`.
_STATE = (
    "goal",
    "summary",
    "confidence",
    "outcome",
    "level",
    "domain",
    "origin",
    "success",
    "failure",
    "version",
    "isa_version",
    "content",
    "source",
)


def _members_of(state: dict[str, Any]) -> dict[str, Any]:
    """Return the members of a strategy that an event's `state` tells."""
    members: dict[str, Any] = {name: state[name] for name in _STATE}
    members["goals"] = tuple(state["goals"])
    members["tags"] = tuple(state["tags"])
    members["evidence"] = state.get("evidence", {})
    members["steps"] = tuple(StrategyStep(**step) for step in state["steps"])
    branches = []
    for branch in state["branches"]:
        step = StrategyStep(**branch["step"])
        branches.append(StrategyBranch(branch["after"], step))
    members["branches"] = tuple(branches)
    return members


# Columns of `Strategies.rows` that a strategy is read from.
_CELLS = (
    "created_at",
    "updated_at",
    "agent",
    "project",
    "state",
    "accesses",
    "asleep",
    "absorbed_by",
)


def strategy_at(view: Strategies, row: int) -> Strategy:
    """Return the strategy in a row of the view."""
    cells = {name: view.rows[name][row].item() for name in _CELLS}
    absorbed = cells["absorbed_by"]
    absorbed_by = view.ids[absorbed - 1] if absorbed else ""
    is_of_strategy = view.constraints["row"] == row
    numbers = np.flatnonzero(is_of_strategy)
    constraints = []
    for number in numbers.tolist():
        members = json.loads(view.told[number])
        constraints.append(Constraint(*members))
    state = json.loads(view.states[cells["state"]])
    return Strategy(
        id=view.ids[row],
        event=view.events[cells["state"]],
        project=view.projects[cells["project"]],
        agent=view.agents[cells["agent"]],
        created_at=cells["created_at"],
        updated_at=cells["updated_at"],
        accesses=cells["accesses"],
        constraints=tuple(constraints),
        active=not (absorbed or cells["asleep"]),
        absorbed_by=absorbed_by,
        **_members_of(state),
    )


def new_strategy_id(*parts: object) -> str:
    """Return the id of a strategy that is made of these: the same for the same."""
    digits = derived_event_id("strategy", *parts).replace("-", "")
    return f"st-{digits[-12:]}"


def strategies_of(
    home: Home, *, domain: str | None = None, active: bool | None = True
) -> list[Strategy]:
    """Return strategies of the home's project or of none, in the order of their making.

    Args:
        home: Whose strategies they are.
        domain: Only of this domain.
        active: True for those that hold, False for those that were pruned or merged
            into others, None for both.
    """
    with home.views.reading(Strategies) as view:
        rows = view.chosen(domain=domain, active=active, projects=home.projects)
        return [strategy_at(view, row) for row in rows]


def strategy_by_id(home: Home, strategy_id: str) -> Strategy:
    """Return the strategy of this id.

    Raises:
        InvalidInput: There is none in the home's project; it names the nearest.
    """
    with home.views.reading(Strategies) as view:
        row = view.ids.find(strategy_id) if isinstance(strategy_id, str) else None
        if row is None:
            raise unknown_id("strategy", strategy_id, view.ids)
        strategy = strategy_at(view, row)
    if home.project and strategy.project not in ("", home.project):
        raise InvalidInput(
            f"got the strategy {strategy_id}, of project {strategy.project}; allowed"
            " are those of this one"
        )
    return strategy


def edges_of(home: Home, node_id: str) -> tuple[list[EdgeRow], list[EdgeRow]]:
    """Return the edges that lead out of a node and those that lead to it.

    A node is a strategy or a step, `ID.NUMBER`.

    Raises:
        InvalidInput: As `strategy_by_id`.
    """
    strategy_id, _, _ = node_id.partition(".")
    strategy = strategy_by_id(home, strategy_id)
    edges = all_edges(home, [strategy])
    out = [edge for edge in edges if edge.source == node_id]
    into = [edge for edge in edges if edge.target == node_id]
    return out, into


def all_edges(home: Home, strategies: Iterable[Strategy]) -> list[EdgeRow]:
    """Return every edge of these strategies."""
    edges: dict[EdgeRow, None] = {}
    for strategy in strategies:
        edges.update(dict.fromkeys(_own_edges(strategy)))
        edges.update(dict.fromkeys(_links(home, strategy.id)))
    return list(edges)


def _own_edges(strategy: Strategy) -> list[EdgeRow]:
    """Return the edges between a strategy and its steps."""
    nodes = [f"{strategy.id}.{number}" for number in range(len(strategy.steps))]
    edges = [edge_row(node, strategy.id, Edge.IS_CHILD_OF) for node in nodes]
    for node, next_node in pairwise(nodes):
        edges.append(edge_row(node, next_node, Edge.NEXT_STEP))
        edges.append(edge_row(next_node, node, Edge.PREVIOUS_STEP))
    return edges


def _links(home: Home, strategy_id: str) -> list[EdgeRow]:
    """Return the links of a strategy to others, and of others to it."""
    with home.views.reading(Strategies) as view:
        row = view.ids.find(strategy_id)
        leads_out = view.links["source"] == row
        leads_in = view.links["target"] == row
        numbers = np.flatnonzero(leads_out | leads_in)
        edges = []
        for number in numbers.tolist():
            members = json.loads(view.edges[number])
            edges.append(EdgeRow(*members))
        return edges


def vectors_of(home: Home, texts: Sequence[str]) -> Matrix:
    """Return vectors of these texts by the home's embedder, (len(texts), dimensions).

    They are kept beside those of search.

    Raises:
        ModelUnavailable: The embedder does not answer with vectors.
    """
    return StrategyVectors(home).of(texts)


class StrategyVectors:
    """Hold the vectors of the active strategies of a home's project, or of none.

    What changed is looked up again.
    """

    def __init__(self, home: Home) -> None:
        self.home = home
        self._lock = RLock()
        self._version: tuple[int, ...] = ()
        self._latest_query = ""
        self._latest_vector: Matrix | None = None
        self.ids: list[str] = []
        self._domains = self._records = np.zeros(0, np.int64)

    @cached_property
    def cache(self) -> VectorCache:
        """Return the vectors on disk."""
        return VectorCache(
            self.home.folder / "vectors",
            self.home.embedder.id,
            self.home.embedder.dimensions,
        )

    def of(self, texts: Sequence[str]) -> Matrix:
        """Return vectors of texts, as `vectors_of` does."""
        with self._lock:
            keys = [text_key(text) for text in texts]
            is_cached, matrix = self.cache.get(keys)
            lacking = {}
            for index in np.flatnonzero(~is_cached).tolist():
                lacking[keys[index]] = texts[index]
            if lacking:
                vectors = self.made(list(lacking.values()))
                self.cache.add(list(lacking), vectors)
                _, matrix = self.cache.get(keys)
            return matrix

    def made(self, texts: Sequence[str]) -> Matrix:
        """Return vectors that are computed and not kept.

        Raises:
            ModelUnavailable: What comes is not one a text, finite.
        """
        embedder = self.home.embedder
        vectors = np.asarray(embedder.embed(texts), np.float32)
        shape = (len(texts), embedder.dimensions)
        if vectors.shape != shape or not np.isfinite(vectors).all():
            raise ModelUnavailable(
                f"{embedder.id} gave vectors of the shape {vectors.shape}; allowed is"
                " one a text, finite"
            )
        return vectors

    def follow(self) -> None:
        """Take over what was made or changed meanwhile.

        Raises:
            ModelUnavailable: As `vectors_of`.
        """
        with self.home.views.reading(Strategies) as view:
            n_asleep = int(view.rows["asleep"].sum())
            n_absorbed = int((view.rows["absorbed_by"] > 0).sum())
            self.cache.refresh()
            version = (len(view.states), n_asleep + n_absorbed, self.cache.generation)
            if version == self._version:
                return
            rows = view.chosen(projects=self.home.projects)
            numbers = [int(view.rows["state"][row]) for row in rows]
            states = [json.loads(view.states[number]) for number in numbers]
            self.ids = [view.ids[row] for row in rows]
            self._domains = view.rows["domain"][rows].astype(np.int64)
        texts = []
        for state in states:
            text = strategy_text(
                state["goal"],
                state["summary"],
                state["source"],
            )
            texts.append(text)
        self.of(texts)
        keys = [text_key(text) for text in texts]
        self._records = self.cache.find(keys)
        self._version = version

    def nearest(
        self, text: str | Matrix, most: int, domain: str | None = None
    ) -> list[tuple[str, float]]:
        """Return the strategies nearest to a text or vector, best first.

        They are of a domain or of all, and come as ids with their cosines.

        Args:
            text: The text or its vector.
            most: How many at most.
            domain: Only of this domain; None: of all.
        """
        with self._lock:
            self.follow()
            if isinstance(text, str):
                vector = self._query_vector(text)
            else:
                vector = np.asarray(text, np.float32)
            rows = np.arange(len(self.ids))
            if domain is not None:
                view = self.home.views.get(Strategies)
                number = view.domains.find(domain)
                if number is None:
                    number = -1  # of no strategy
                rows = np.flatnonzero(self._domains == number)
            likely = self.cache.likely(self._records[rows], vector, most)
            rows = rows[likely]
            _, vectors = self.cache.read(self._records[rows])
            cosines = vectors @ vector
            best_rows, scores = best_first(rows, cosines, most)
        nearest = []
        for row, score in zip(best_rows.tolist(), scores.tolist(), strict=True):
            nearest.append((self.ids[row], score))
        return nearest

    def _query_vector(self, query: str) -> Matrix:
        """Return the vector of a query; that of the latest one is kept."""
        if self._latest_vector is None or query != self._latest_query:
            vectors = self.made([query])
            self._latest_vector = vectors[0]
            self._latest_query = query
        return self._latest_vector


def agents_of(home: Home) -> list[str]:
    """Return the agents that have a strategy."""
    with home.views.reading(Strategies) as view:
        return list(view.agents)


def undreamt(home: Home) -> dict[tuple[str, str], int]:
    """Return the first seq of what was not dreamt yet, by agent and session.

    Nothing that waits is archived.
    """
    with home.views.reading(Trajectories) as view:
        first_seqs: dict[tuple[str, str], int] = {}
        is_waiting = ~view.rows["dreamt"]
        rows = np.flatnonzero(is_waiting)
        # From the latest to the earliest, so that the earliest stays.
        for row in rows[::-1].tolist():
            number = int(view.rows["key"][row])
            key = view.keys[number]
            agent, _, session = key.partition("/")
            first_seqs[agent, session] = int(view.rows["goal"][row])
        return first_seqs


Path = Literal["memory_traversal", "zero_shot", "context_jump"]
_FLOORS: dict[str, float] = {}  # by the id of an embedder
_QUERY_CHARACTERS = 2_000


class RecallResult(NamedTuple):
    """Hold what a recall gave.

    Attributes:
        reasoning: Why, in words.
        confidence: The weighted sum, 0..1.
        entry_point: The strategy to begin with, None for zero_shot.
        similarity: The cosine with the strategy.
    """

    path: Path
    reasoning: str
    confidence: float = 0.0
    entry_point: Strategy | None = None
    similarity: float | None = None


class NextStep(NamedTuple):
    """Hold what comes next on a way: a step and its number, None at the end.

    After a jump, `entry` is the strategy that it leads to.
    """

    path: Path
    step: StrategyStep | None = None
    number: int = 0
    entry: Strategy | None = None
    reasoning: str = ""


@dataclass
class TraversalState:
    """Hold the position on a strategy that is followed.

    Attributes:
        node_id: The strategy.
        index: The index of the step that comes next.
        drifted: Whether the context fits the strategy no more.
        jumps: Strategies left behind.
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
    """Return likeness, confidence and success, weighted.

    Where no success is known its weight goes to the other two in proportion.

    Args:
        settings: The weights.
        similarity: The cosine with the task.
        confidence: How far the strategy is trusted, 0 to 1.
        success_rate: The share of its trajectories that succeeded; None: unknown.

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
    if not total:
        return 0.0
    return sum(weight * value for weight, value in parts) / total


def recall(
    home: Home,
    query: str,
    *,
    domain: str | None = None,
    top: int | None = None,
    vectors: StrategyVectors | None = None,
) -> RecallResult:
    """Return the strategy that answers a task: the best of those alike, if good enough.

    Args:
        home: Whose strategies they are; of its project or of none.
        query: The task.
        domain: Only of this domain.
        top: How many are compared, by default recallTop.
        vectors: Those of the home, where they are kept.

    Raises:
        InvalidInput: The query has no words.
        ModelUnavailable: The embedder does not answer.
    """
    results = ranking(home, query, domain=domain, top=top, vectors=vectors)
    threshold = dream_settings(home).recall_threshold
    floor = floor_of(home)
    if not results:
        return RecallResult("zero_shot", "there are no strategies yet")
    alike = [result for result in results if (result.similarity or 0.0) >= floor]
    if not alike:
        nearest = max(result.similarity or 0.0 for result in results)
        return RecallResult(
            "zero_shot",
            f"no strategy is similar: the nearest has {nearest:.2f}, the least is"
            f" {floor:.2f}",
        )
    best = alike[0]
    if best.confidence < threshold:
        return RecallResult(
            "zero_shot",
            f"the best is too doubtful: {best.confidence:.2f} of {threshold:.2f}",
            best.confidence,
            None,
            best.similarity,
        )
    return best


def ranking(
    home: Home,
    query: str,
    *,
    domain: str | None = None,
    top: int | None = None,
    vectors: StrategyVectors | None = None,
) -> list[RecallResult]:
    """Return the strategies nearest to a query, weighed, best first.

    They are listed whether they answer it or not. A strategy is as near as it is to the
    whole query, or to the task that the query names.

    Args:
        home: Whose strategies they are.
        query: The task.
        domain: Only of this domain.
        top: How many are compared, by default recallTop.
        vectors: Those of the home, where they are kept.

    Raises:
        InvalidInput: As `recall`.
        ModelUnavailable: As `recall`.
    """
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput(
            f"got the query {query!r:.100}; allowed is a text that says what is to be"
            " done"
        )
    settings = dream_settings(home)
    vectors = vectors or StrategyVectors(home)
    line = one_line(query, _QUERY_CHARACTERS)
    results = []
    similarities: dict[str, float] = {}
    for text in dict.fromkeys((line, task_in_words(query) or line)):
        for strategy_id, cosine in vectors.nearest(
            text, top or settings.recall_top, domain
        ):
            nearer = max(cosine, similarities.get(strategy_id, cosine))
            similarities[strategy_id] = nearer
    with home.views.reading(Strategies) as view:
        for strategy_id, similarity in similarities.items():
            strategy = strategy_at(view, view.ids.number(strategy_id))
            results.append(_weighed_result(settings, strategy, similarity))
    return sorted(results, key=lambda result: -result.confidence)


def _weighed_result(
    settings: DreamSettings, strategy: Strategy, similarity: float
) -> RecallResult:
    """Return a strategy as the result of a recall, with the reasons in words."""
    confidence = weighed(
        settings, similarity, strategy.confidence, strategy.success_rate
    )
    success = f"worked {strategy.worked}" if strategy.worked else "no success known"
    return RecallResult(
        path="memory_traversal",
        reasoning=(
            f"similarity {similarity:.2f}, confidence {strategy.confidence:.0%}, {success}"
        ),
        confidence=round(confidence, 6),
        entry_point=strategy,
        similarity=round(similarity, 6),
    )


def begin_traversal(home: Home, strategy_id: str) -> TraversalState:
    """Begin to follow a strategy.

    Raises:
        InvalidInput: The strategy is unknown.
    """
    return TraversalState(strategy_by_id(home, strategy_id).id)


def next_step(
    home: Home,
    state: TraversalState,
    context: str = "",
) -> NextStep:
    """Return the next step, and let the state go on with it.

    Where the present context fits the strategy no more, it is the strategy to jump to,
    or zero_shot.

    Args:
        home: Whose strategies they are.
        state: The position.
        context: What is going on, in words; '' asks nothing.
    """
    strategy = strategy_by_id(home, state.node_id)
    state.drifted = bool(context.strip()) and not _fits(home, strategy, context)
    if state.drifted:
        return _jump(home, state, strategy, context)
    if state.index >= len(strategy.steps):
        return NextStep("memory_traversal", None, state.index)
    state.index += 1
    number = state.index - 1
    return NextStep("memory_traversal", strategy.steps[number], number)


def _jump(
    home: Home, state: TraversalState, strategy: Strategy, context: str
) -> NextStep:
    """Return the strategy that fits the context, or zero_shot.

    The state jumps to it.
    """
    result = recall(home, context, domain=strategy.domain)
    reasoning = f"it no longer fits {strategy.id}; {result.reasoning}"
    entry = result.entry_point
    if entry is None or entry.id in (strategy.id, *state.jumps):
        return NextStep("zero_shot", reasoning=reasoning)
    state.jumps.append(state.node_id)
    state.node_id = entry.id
    state.index = 0
    return NextStep("context_jump", None, 0, entry, reasoning)


def _fits(
    home: Home,
    strategy: Strategy,
    context: str,
) -> bool:
    """Return whether the context is near enough to a strategy.

    It may be near to one of its steps.
    """
    limit = dream_settings(home).drift_threshold
    if limit is None:
        limit = floor_of(home)
    texts = [context, strategy.text, *strategy.goals]
    texts += [step.action for step in strategy.steps]
    lines = [one_line(text, _QUERY_CHARACTERS) for text in texts]
    vectors = StrategyVectors(home).made(lines)
    context_vector = vectors[0]
    cosines = vectors[1:] @ context_vector
    return float(cosines.max()) >= limit


def floor_of(home: Home) -> float:
    """Return the cosine below which nothing answers.

    It is the setting, else what unrelated tasks reach with the home's embedder.
    """
    floor = dream_settings(home).recall_floor
    if floor is None:
        return calibrated(home.embedder)
    return floor


def calibrated(embedder: Embedder) -> float:
    """Return the greatest cosine of two of the packaged tasks.

    The tasks have nothing to do with each other. It is computed once an embedder.

    >>> from theorex_lab.search.embed import HashedNgramEmbedder
    >>> 0 < calibrated(HashedNgramEmbedder()) < 0.6
    True
    """
    if embedder.id not in _FLOORS:
        sections = read_sections(__file__, "unrelated.txt")
        texts = sections["tasks"].splitlines()
        vectors = np.asarray(embedder.embed(texts), np.float32)
        cosines = vectors @ vectors.T
        cosines_of_two = np.triu(cosines, 1)
        greatest = float(cosines_of_two.max())
        _FLOORS[embedder.id] = round(greatest, 3)
    return _FLOORS[embedder.id]
