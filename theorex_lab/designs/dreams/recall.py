"""Recall: which strategy answers a task, step by step, and when it no longer fits.

A strategy has to be alike before it counts how far it is trusted, so that a trusted one about something else never answers.
"""

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from theorex_lab.designs.dreams import strategies as made
from theorex_lab.designs.dreams.items import DreamSettings, dream_settings
from theorex_lab.designs.dreams.strategies import Step, Strategy, StrategyVectors
from theorex_lab.errors import InvalidInput
from theorex_lab.home import Home
from theorex_lab.search.embed import Embedder
from theorex_lab.text.line import one_line
from theorex_lab.text.sections import read_sections

Path = Literal["memory_traversal", "zero_shot", "context_jump"]
_FLOORS: dict[str, float] = {}  # by the id of an embedder
_QUERY_CHARACTERS = 2_000


class Recollection(NamedTuple):
    """What a recall gave. entry_point: the strategy to begin with, None for zero_shot.  confidence: the weighted sum, 0..1.

    similarity: the cosine with the strategy.  reasoning: why, in words.
    """

    path: Path
    reasoning: str
    confidence: float = 0.0
    entry_point: Strategy | None = None
    similarity: float | None = None


class Next(NamedTuple):
    """What comes next on a way: a step and its number, None at the end; after a jump, the strategy that it leads to."""

    path: Path
    step: Step | None = None
    number: int = 0
    entry: Strategy | None = None
    reasoning: str = ""


@dataclass
class TraversalState:
    """Where one is on a strategy. node_id: the strategy.  index: of the step that comes next.  jumps: strategies left behind."""

    node_id: str
    index: int = 0
    drifted: bool = False
    jumps: list[str] = field(default_factory=list)


def weighed(settings: DreamSettings, similarity: float, confidence: float, success_rate: float | None) -> float:
    """Likeness, confidence and success, weighted; where no success is known its weight goes to the other two in proportion.

    >>> round(weighed(DreamSettings(), 0.8, 0.6, None), 3), round(weighed(DreamSettings(), 0.8, 0.6, 1.0), 3)
    (0.725, 0.78)
    """
    parts = [(settings.recall_similarity, similarity), (settings.recall_confidence, confidence)]
    if success_rate is not None:
        parts.append((settings.recall_success, success_rate))
    total = sum(weight for weight, _ in parts)
    return sum(weight * value for weight, value in parts) / total if total else 0.0


def recall(home: Home, query: str, **among: Any) -> Recollection:
    """The strategy that answers a task, of the home's project or of none: the best of those alike, if good enough.

    among: which, as `ranking` takes it. Raises InvalidInput for a query without words, ModelUnavailable where the embedder
    does not answer.
    """
    ranked = ranking(home, query, **among)
    settings, floor = dream_settings(home), floor_of(home)
    if not ranked:
        return Recollection("zero_shot", "nothing was dreamt yet")
    fitting = [found for found in ranked if (found.similarity or 0.0) >= floor]
    if not fitting:
        nearest = max(found.similarity or 0.0 for found in ranked)
        return Recollection("zero_shot", f"nothing is alike: the nearest has {nearest:.2f}, the floor is {floor:.2f}")
    best = fitting[0]
    if best.confidence < settings.recall_threshold:
        told = f"the best is too doubtful: {best.confidence:.2f} of {settings.recall_threshold:.2f}"
        return Recollection("zero_shot", told, best.confidence, None, best.similarity)
    return best


def ranking(home: Home, query: str, *, domain: str | None = None, top: int | None = None,
            vectors: StrategyVectors | None = None) -> list[Recollection]:  # fmt: skip
    """The strategies nearest to a query, weighed, best first, whether they answer it or not.

    domain: only its.  top: how many are compared, by default recallTop.  vectors: those of the home, where they are kept.
    Raises as `recall`.
    """
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput(f"got the query {query!r:.100}; allowed is a text that says what is to be done")
    settings, known = dream_settings(home), vectors or StrategyVectors(home)
    found = []
    with home.views.reading(made.Strategies) as view:
        for strategy_id, similarity in known.nearest(
            one_line(query, _QUERY_CHARACTERS), top or settings.recall_top, domain
        ):
            strategy = view.strategy(view.ids.number(strategy_id))
            total = weighed(settings, similarity, strategy.confidence, strategy.success_rate)
            told = f"alike {similarity:.2f}, {strategy.confidence:.0%} sure, {f'worked {strategy.worked}' if strategy.worked else 'no success known'}"
            found.append(Recollection("memory_traversal", told, round(total, 6), strategy, round(similarity, 6)))
    return sorted(found, key=lambda one: -one.confidence)


def begin_traversal(home: Home, strategy_id: str) -> TraversalState:
    """Begin to follow a strategy. Raises InvalidInput for an unknown one."""
    return TraversalState(made.strategy_by_id(home, strategy_id).id)


def next_step(home: Home, state: TraversalState, context: str = "") -> Next:
    """The next step; where the present context fits the strategy no more, the strategy to jump to, or zero_shot.

    context: what is going on, in words; '' asks nothing. The state goes on with it.
    """
    strategy = made.strategy_by_id(home, state.node_id)
    state.drifted = bool(context.strip()) and not _fits(home, strategy, context)
    if state.drifted:
        found = recall(home, context, domain=strategy.domain)
        if found.entry_point is None or found.entry_point.id in (strategy.id, *state.jumps):
            return Next("zero_shot", reasoning=f"it no longer fits {strategy.id}; {found.reasoning}")
        state.jumps.append(state.node_id)
        state.node_id, state.index = found.entry_point.id, 0
        return Next("context_jump", None, 0, found.entry_point, f"it no longer fits {strategy.id}; {found.reasoning}")
    if state.index >= len(strategy.steps):
        return Next("memory_traversal", None, state.index)
    state.index += 1
    return Next("memory_traversal", strategy.steps[state.index - 1], state.index - 1)


def _fits(home: Home, strategy: Strategy, context: str) -> bool:
    """Whether the context is as near to a strategy, or to the step that comes, as the threshold asks."""
    settings = dream_settings(home)
    limit = floor_of(home) if settings.drift_threshold is None else settings.drift_threshold
    texts = [strategy.text, *strategy.goals, *(step.action for step in strategy.steps)]
    vectors = StrategyVectors(home).made([one_line(text, _QUERY_CHARACTERS) for text in (context, *texts)])
    return float((vectors[1:] @ vectors[0]).max()) >= limit


def floor_of(home: Home) -> float:
    """The cosine below which nothing answers: the setting, else what unrelated tasks reach with the home's embedder."""
    given = dream_settings(home).recall_floor
    return calibrated(home.embedder) if given is None else given


def calibrated(embedder: Embedder) -> float:
    """The greatest cosine of two of the packaged tasks, which have nothing to do with each other; computed once an embedder.

    >>> from theorex_lab.search.embed import HashedNgramEmbedder
    >>> 0 < calibrated(HashedNgramEmbedder()) < 0.6
    True
    """
    if embedder.id not in _FLOORS:
        texts = read_sections(__file__, "unrelated.txt")["tasks"].splitlines()
        vectors = np.asarray(embedder.embed(texts), np.float32)
        _FLOORS[embedder.id] = round(float(np.triu(vectors @ vectors.T, 1).max()), 3)
    return _FLOORS[embedder.id]
