"""Which model a query goes to, by a chain of steps.

They are role preference, energy, recall, confidence matrix, and heuristic, in that
order. The role that takes such queries proposes a model; energy rules out large ones;
recall picks by calls on (nearly) the same query, the matrix by those on the type of
query, and both overrule a role only where the evidence is clear; the heuristic decides
what is left. Each step says what it did, or why it did nothing. Recall and the matrix
take a cheaper model only where it is shown to be not worse than the best
(`routing.noninferiority`).
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_agent
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.readable import Report
from theorex_lab.core.settings import ModelSettings, ModelTier, QueryType, Settings
from theorex_lab.memory.contract import Home
from theorex_lab.memory.evidence import QUERY_TYPE_PREFIX, EvidenceTable, evidence_view
from theorex_lab.memory.intervals import wilson_of_one
from theorex_lab.routing.confidence import (
    SUCCESS_ALONE,
    Cell,
    CellChoice,
    choose_cell,
    confidence_of,
    highest_score,
    matrix,
    priced,
    scopes_of,
)
from theorex_lab.routing.energy import Power, describe_power, veto
from theorex_lab.routing.heuristic import (
    GUESSED_CONFIDENCE,
    Advice,
    Complexity,
    advise,
    classify,
    complexity_of,
    estimated_tokens,
)
from theorex_lab.routing.noninferiority import (
    PooledDifferences,
    RouteRule,
    Scope,
    Verdict,
    narrowed,
    pooled,
)
from theorex_lab.routing.recall import NOTHING_RECALLED, Nearest, Recall, RecalledRuns
from theorex_lab.routing.roles import route_to_agent

# Sizes to try, by the size that is advised.
_SMALL_FIRST: tuple[ModelTier, ...] = ("small", "medium", "large")
FALLBACK_TIERS = {
    "large": _SMALL_FIRST[::-1],
    "medium": ("medium", "small", "large"),
    "small": _SMALL_FIRST,
}
Charge = Power | None
PREFERENCE_CONFIDENCE = 1.0  # a preference is a setting, not an estimate
LEAST_WEIGHT = 1.0  # of the runs that are recalled of a model; fewer say nothing
# How many recalled runs the matrix counts for in a cell of similar queries.
PRIOR_RUNS = 0.5
# The share of successes on the very same query from which a model solved it.
SOLVED_FROM = 0.5
_STEPS = ("role preference", "energy", "recall", "confidence matrix", "heuristic")


@dataclass(frozen=True, repr=False)
class Decision(Report):
    """What a query is, and the model for it.

    A model whose settings have no `url` is advice: it cannot be called.

    Attributes:
        query_type: The type of the query.
        tier: The size of `model`, else the size that is advised.
        model: None where the settings name none that may run.
        confidence: 0 to 1, of the step that decided; 0 without a model.
        reasons: One text a step of the chain, beginning with the step's name.
        fallbacks: What to try after `model`, in order, those without an address last.
        is_measured: Whether the confidence rests on recorded calls. It is a prior
            otherwise: set by hand, or of a role's preference.
        is_guessed: Whether the type of the query is guessed, since the rules read
            neither its words nor its script. The confidence is low then.
    """

    query_type: QueryType
    tier: ModelTier
    model: str | None
    confidence: float
    reasons: list[str]
    fallbacks: list[str]
    is_measured: bool = False
    is_guessed: bool = False

    def _facts(self) -> tuple[str, ...]:
        return (
            self.query_type,
            self.model or f"no model; {self.tier}",
            f"{self.confidence:.2f}",
        )


class _Step(NamedTuple):
    """The result of a step of the chain.

    Attributes:
        model: The model, None where the step chose none.
        confidence: How sure the step is, 0 to 1.
        reason: What it did, or why it did nothing.
    """

    model: str | None
    confidence: float
    reason: str


class _Choice(NamedTuple):
    """The model that a step chose, and how sure the step is."""

    model: str
    confidence: float


_MATRIX_NOT_NEEDED = _Step(None, 0.0, "not needed; recall takes it into account")


def route_in(
    home: Home,
    query: str,
    settings: Settings | None = None,
    *,
    power: Charge = None,
    agent: str | None = None,
    urgent: bool = False,
    context_pct: float = 0.0,
    query_tokens: int = 0,
) -> Decision:
    """Call `route` with what a home has recorded.

    Args:
        home: The home whose evidence counts.
        query: The query.
        settings: None for the home's own.
        power: None to read it from the machine.
        agent: As `route` has it, like the following.
        urgent: Ask for a small model, unless a role prefers otherwise.
        context_pct: Share of the context in use, 0 to 100.
        query_tokens: Length of the query, 0 to estimate it.

    Raises:
        InvalidInput: For a blank query and numbers outside their ranges.
    """
    from theorex_lab.routing.energy import read_power

    with (
        home.views.reading(evidence_view(home)) as evidence,
        home.views.reading(Recall) as recall,
    ):
        return route(
            query,
            settings or home.settings,
            power=power or read_power(),
            evidence=evidence.table,
            recall=recall,
            now=home.clock.now(),
            agent=agent,
            urgent=urgent,
            context_pct=context_pct,
            query_tokens=query_tokens,
        )


def routes_in(
    home: Home,
    queries: Iterable[str],
    settings: Sequence[Settings],
    *,
    power: Power,
) -> list[list[Decision]]:
    """Return what `route_in` returns for each query under each of these settings.

    What neither a query nor a setting changes is computed once.

    Args:
        home: The home whose evidence counts.
        queries: The queries.
        settings: Settings that differ in when a cheaper model is taken, and in nothing
            else (see `routing.noninferiority.with_knobs`).
        power: What the machine runs on.

    Raises:
        InvalidInput: A query is blank, or there are no settings.
    """
    if not settings:
        raise InvalidInput("got no settings; allowed are one or more")
    with (
        home.views.reading(evidence_view(home)) as evidence,
        home.views.reading(Recall) as recall,
    ):
        now = home.clock.now()
        runs = _RecordedRuns(evidence.table, recall, settings[0], now)
        decisions = []
        for query in queries:
            asked = _AskedQuery(_request(query), runs)
            decisions.append([_decided(asked, variant, power) for variant in settings])
    return decisions


def route(
    query: str,
    settings: Settings,
    *,
    evidence: EvidenceTable | None,
    power: Power,
    now: int,
    recall: Recall | None = None,
    agent: str | None = None,
    urgent: bool = False,
    context_pct: float = 0.0,
    query_tokens: int = 0,
) -> Decision:
    """Decide which model a query goes to; the same arguments give the same decision.

    Args:
        query: The query.
        settings: The models, the roles and the weights of the steps.
        evidence: How calls went by type of query, or None.
        power: What the machine runs on.
        now: µs UTC, by which evidence ages where `matrix_half_life_days` is set.
        recall: How calls went by the words of the query, or None.
        agent: Who asks (see `routing.roles.route_to_agent`).
        urgent: Ask for a small model, unless a role prefers otherwise.
        context_pct: Share of the context in use, 0 to 100.
        query_tokens: Length of the query, 0 to estimate it.

    Raises:
        InvalidInput: For a blank query and numbers outside their ranges.

    >>> decision = route(
    ...     "a haiku",
    ...     Settings(preset="paper"),
    ...     evidence=None,
    ...     power=Power(90.0, False),
    ...     now=0,
    ... )
    >>> decision.query_type, decision.model, decision.fallbacks
    ('creative', 'ministral-3b', ['qwen3-32b', 'claude-sonnet'])
    >>> decision.reasons[4]
    "heuristic: medium (0.60) for creative, by 'haiku': ministral-3b"
    """
    request = _request(
        query,
        agent=agent,
        urgent=urgent,
        context_pct=context_pct,
        query_tokens=query_tokens,
    )
    runs = _RecordedRuns(evidence, recall, settings, now)
    return _decided(_AskedQuery(request, runs), settings, power)


class _Request(NamedTuple):
    """A query, what the rules read of it, and who asks.

    Attributes:
        query: The query.
        query_type: Its type.
        sign: The sign of the type, '' without one.
        unread: Why the type could not be read, '' where it could.
        agent: Who asks, None for nobody.
        urgent: Whether a small model is asked for.
        advice: The size that the heuristic advises.
        complexity: Whether a large model is advised.
    """

    query: str
    query_type: QueryType
    sign: str
    unread: str
    agent: str | None
    urgent: bool
    advice: Advice
    complexity: Complexity


def _request(
    query: str,
    *,
    agent: str | None = None,
    urgent: bool = False,
    context_pct: float = 0.0,
    query_tokens: int = 0,
) -> _Request:
    """Return a query with what the rules read of it; see `route`.

    Raises:
        InvalidInput: For a blank query and numbers outside their ranges.
    """
    _check(query, context_pct, query_tokens)
    if agent is not None:
        check_agent(agent)
    query_type, sign, unread = classify(query)
    tokens = query_tokens or estimated_tokens(query)
    return _Request(
        query,
        query_type,
        sign,
        unread,
        agent,
        urgent,
        advise(query_type, urgent=urgent, context_pct=context_pct, query_tokens=tokens),
        complexity_of(query_type, context_pct=context_pct, query_tokens=tokens),
    )


def _decided(asked: "_AskedQuery", settings: Settings, power: Power) -> Decision:
    """Return the decision of the chain; see `route`."""
    request = asked.request
    query_type = request.query_type
    advice = request.advice
    no_large = veto(power, request.complexity, settings)
    allowed = _allowed_models(settings, no_large)

    role = _role_preference(settings, query_type, request.agent)
    preferred = role.model if role.model in allowed else None
    turned_down = role.model if preferred is None else None
    energy_reason = _energy(power, no_large, turned_down)
    candidates = _candidates(allowed, preferred) if request.urgent else [*allowed]

    similar = asked.similar(candidates)
    recalled = _recall(asked, similar, settings, preferred)
    if similar is not None:
        scored = _MATRIX_NOT_NEEDED
    else:
        scored = _confidence_matrix(asked, candidates, settings, preferred)

    decided = _first_decided([recalled, scored, role._replace(model=preferred)])
    decided_tier = advice.tier if decided is None else allowed[decided.model].tier
    ordered = _by_tier(allowed, decided_tier)
    final = _heuristic(advice, request.sign, decided, ordered, allowed)
    step_reasons = (
        role.reason,
        energy_reason,
        recalled.reason,
        scored.reason,
        final.reason,
    )
    reasons = [
        f"{step}: {reason}" for step, reason in zip(_STEPS, step_reasons, strict=True)
    ]
    if final.model is None:
        decision = Decision(query_type, advice.tier, None, 0.0, reasons, [])
    else:
        decision = Decision(
            query_type,
            allowed[final.model].tier,
            final.model,
            final.confidence,
            reasons,
            _fallbacks(ordered, final.model, allowed),
            is_measured=_has_chosen(recalled, scored),
        )
    return _with_guess(decision, request.unread, is_known_alike=similar is not None)


def _with_guess(decision: Decision, unread: str, *, is_known_alike: bool) -> Decision:
    """Return a decision, which says so where its type was guessed.

    Args:
        decision: The decision.
        unread: Why the type could not be read, '' where it could.
        is_known_alike: Whether queries like it are recalled, which need no type.
    """
    if is_known_alike or not unread:
        return decision
    reason = f"guessed: the type {decision.query_type}, since {unread}"
    return replace(
        decision,
        confidence=min(decision.confidence, GUESSED_CONFIDENCE),
        reasons=[*decision.reasons, reason],
        is_guessed=True,
    )


def _has_chosen(*steps: _Step) -> bool:
    """Return whether one of these steps chose a model."""
    return any(step.model is not None for step in steps)


def _allowed_models(
    settings: Settings, no_large: str | None
) -> dict[str, ModelSettings]:
    """Return the models that may run, by name; no large ones where energy forbids."""
    if no_large is None:
        return dict(settings.models)
    return {
        name: model for name, model in settings.models.items() if model.tier != "large"
    }


def _first_decided(steps: Sequence[_Step]) -> _Choice | None:
    """Return the choice of the first step that chose a model, None without one."""
    for step in steps:
        if step.model:
            return _Choice(step.model, step.confidence)
    return None


def _by_tier(allowed: dict[str, ModelSettings], tier: ModelTier) -> list[str]:
    """Return the models in the order to try.

    Within a size they come as the settings have them.
    """
    tiers = FALLBACK_TIERS[tier]
    return sorted(allowed, key=lambda name: tiers.index(allowed[name].tier))


def _fallbacks(
    ordered: Sequence[str], model: str | None, allowed: dict[str, ModelSettings]
) -> list[str]:
    """Return the other models in their order, those without an address last."""
    others = [name for name in ordered if name != model]
    return sorted(others, key=lambda name: allowed[name].url is None)


def _heuristic(
    advice: Advice,
    sign: str,
    decided: _Choice | None,
    ordered: Sequence[str],
    allowed: dict[str, ModelSettings],
) -> _Step:
    """Return the choice of an earlier step, else the first model in the order to try.

    Args:
        advice: The size that the heuristic advises.
        sign: The sign of the type of query, '' without one.
        decided: The choice of an earlier step, None without one.
        ordered: The models in the order to try.
        allowed: The models that may run.
    """
    description = f"{advice.tier} ({advice.confidence:.2f}) for {advice.reason}"
    if sign:
        description += f", by {sign!r}"
    if decided is not None:
        reason = f"not needed; it says {description}"
        return _Step(decided.model, decided.confidence, reason)
    model = ordered[0] if ordered else None
    choice = _heuristic_choice(model, allowed, advice.tier)
    return _Step(model, advice.confidence, f"{description}: {choice}")


def _role_preference(
    settings: Settings, query_type: QueryType, asker: str | None
) -> _Step:
    """Return the model that the agent prefers which takes this type of query."""
    if not any(
        role.active and query_type in role.capabilities for role in settings.roles
    ):
        return _Step(None, 0.0, f"no active agent takes {query_type}")
    agent, role, preference, _ = route_to_agent(query_type, settings.roles, asker)
    if preference is None:
        return _Step(None, 0.0, f"{agent} prefers no model")
    if preference not in settings.models:
        reason = (
            f"{agent} prefers {preference}, which is not among the models of the"
            " settings"
        )
        return _Step(None, 0.0, reason)
    reason = f"{agent} ({role}) takes {query_type} and prefers {preference}"
    return _Step(preference, PREFERENCE_CONFIDENCE, reason)


def _energy(power: Power, no_large: str | None, turned_down: str | None) -> str:
    """Return what energy allows, and which preferred model it turns down."""
    if no_large is None:
        return f"every size may run ({describe_power(power)})"
    reason = f"no large model: {no_large}"
    return f"{reason}; {turned_down} is turned down" if turned_down else reason


def _candidates(allowed: dict[str, ModelSettings], preferred: str | None) -> list[str]:
    """Return the small models, and those of the size that a role prefers."""
    tiers: set[ModelTier] = {"small"}
    if preferred is not None:
        tiers.add(allowed[preferred].tier)
    return [name for name, model in allowed.items() if model.tier in tiers]


class _RecordedRuns:
    """What is known of how models did, whatever is asked and whatever a rule allows.

    What several decisions need is computed once, so it may not outlive the evidence.

    Attributes:
        cells: The cells of every type of query.
        recall: The calls by their words, None without them.
        settings: The settings, whose rule does not count here.
    """

    def __init__(
        self,
        evidence: EvidenceTable | None,
        recall: Recall | None,
        settings: Settings,
        now: int,
    ) -> None:
        self.cells = _cells(evidence, settings, now)
        self.recall = recall
        self.settings = settings
        self._now = now
        self._pooled: dict[tuple[str, ...], PooledDifferences] = {}

    def pooled(self, models: Sequence[str]) -> PooledDifferences:
        """Return how these models differ on each type of query."""
        names = tuple(models)
        if names not in self._pooled:
            self._pooled[names] = pooled(self._scopes(names))
        return self._pooled[names]

    def _scopes(self, models: Sequence[str]) -> dict[str, Scope]:
        """Return how these models did on each type of query.

        The calls themselves say it, with pairs, unless cells count more runs: those of
        calls whose words were erased.
        """
        recall = self.recall
        n_counted = sum(cell.n for cell in self.cells)
        if recall is not None and len(recall.runs) >= n_counted:
            half_life_days = self.settings.matrix_half_life_days
            recalled = recall.scopes(
                models, now=self._now, half_life_days=half_life_days
            )
            if recalled:
                return recalled
        return scopes_of(self.cells, models)


class _AskedQuery:
    """A query, and what is known of such queries under whatever rule.

    Attributes:
        request: The query, and what the rules read of it.
        runs: What is known of how models did.
        cells: The cells of its type, with costs where they are known.
    """

    def __init__(self, request: _Request, runs: _RecordedRuns) -> None:
        self.request = request
        self.runs = runs
        query_type = request.query_type
        of_type = [cell for cell in runs.cells if cell.query_type == query_type]
        self.cells = priced(of_type, runs.settings)
        self._similar: dict[tuple[str, ...], _SimilarRuns | None] = {}

    def similar(self, candidates: Collection[str]) -> "_SimilarRuns | None":
        """Return how these models did on queries like this one.

        It is None where too little is known.
        """
        names = tuple(candidates)
        if names not in self._similar:
            self._similar[names] = self._similar_runs(names)
        return self._similar[names]

    def _similar_runs(self, candidates: Sequence[str]) -> "_SimilarRuns | None":
        recall = self.runs.recall
        most = self.runs.settings.recall_calls
        if recall is None or not most:
            return None
        nearest = recall.nearest(self.request.query, most)
        recalled_runs = recall.runs_of(nearest)
        query_type = self.request.query_type
        cells = _similar_cells(recalled_runs, query_type, candidates, self.cells)
        return _SimilarRuns(cells, recall, nearest) if cells else None


class _SimilarRuns:
    """How models did on queries like one query.

    Attributes:
        cells: A cell of each model that is known well enough.
    """

    def __init__(self, cells: list[Cell], recall: Recall, nearest: Nearest) -> None:
        self.cells = cells
        self._recall = recall
        self._nearest = nearest
        self._scopes: dict[tuple[str, ...], Scope] = {}

    @cached_property
    def repeats(self) -> Scope:
        """How the models did on the very same query."""
        models = [cell.model for cell in self.cells]
        return self._recall.repeats(self._nearest, models)

    def scope(self, models: Sequence[str]) -> Scope:
        """Return how some of the models did, each query by its likeness."""
        names = tuple(models)
        if names not in self._scopes:
            self._scopes[names] = self._recall.scope_of(self._nearest, names)
        return self._scopes[names]


def _not_failed(similar: _SimilarRuns, margin: float) -> list[Cell]:
    """Return the cells of the models that did best on the very same query.

    Models that failed it are left out. Where all that were asked failed mostly, those
    that were not asked are left.

    Args:
        similar: How models did on queries like this one.
        margin: By how much the success of a model may be lower than the best.
    """
    cells = similar.cells
    scope = similar.repeats
    is_tried = scope.n > 0
    if not is_tried.any():
        return cells
    rates = scope.successes / np.maximum(scope.n, 1.0)
    best_rate = float(rates[is_tried].max())
    is_left = ~is_tried
    if best_rate >= SOLVED_FROM:
        is_left = is_tried & (rates >= best_rate - margin)
    left = []
    for cell, is_kept in zip(cells, is_left.tolist(), strict=True):
        if is_kept:
            left.append(cell)
    return left or cells


def _similar_cells(
    recalled_runs: dict[str, RecalledRuns],
    query_type: str,
    candidates: Collection[str],
    cells: list[Cell],
) -> list[Cell]:
    """Return how the models did on queries like this one, none where too little is.

    The results are cells, drawn to those of the matrix.
    """
    runs = {name: recalled_runs.get(name, NOTHING_RECALLED) for name in candidates}
    recalled_enough = {
        name for name, recalled in runs.items() if recalled.weight >= LEAST_WEIGHT
    }
    if not recalled_enough:
        return []
    usable = {cell.model: cell for cell in cells if cell.usable}
    similar = []
    for name in candidates:
        if name in usable or name in recalled_enough:
            similar.append(
                _cell_with_prior(runs[name], usable.get(name), query_type, name)
            )
    return similar


def _cell_with_prior(
    recalled: RecalledRuns, cell: Cell | None, query_type: str, model: str
) -> Cell:
    """Return the cell of recalled runs, with the matrix' cell as its prior."""
    prior = cell or _unknown_cell(query_type, model)
    n = PRIOR_RUNS + recalled.weight
    successes = PRIOR_RUNS * prior.success_rate + recalled.successes
    ci_low, ci_high = wilson_of_one(successes, n)
    rate = successes / n
    return prior._replace(
        n=n,
        success_rate=rate,
        ci_low=ci_low,
        ci_high=ci_high,
        score=rate,
        confidence=confidence_of(n),
        usable=True,
    )


def _unknown_cell(query_type: str, model: str) -> Cell:
    """Return the cell of a model without runs, which succeeds every other time."""
    return Cell(
        query_type,
        model,
        n=0.0,
        success_rate=0.5,
        ci_low=0.0,
        ci_high=1.0,
        latency_ms=math.nan,
        tokens=math.nan,
        cost=math.nan,
        score=math.nan,
        confidence=0.0,
        usable=False,
    )


def _recall(
    asked: _AskedQuery,
    similar: _SimilarRuns | None,
    settings: Settings,
    preferred: str | None,
) -> _Step:
    """Return the model for queries like this one.

    It is the cheapest that is shown to be not worse than the best. A preference may
    stand against it.
    """
    if not settings.recall_calls:
        return _Step(None, 0.0, "recallCalls is 0")
    if similar is None:
        return _Step(None, 0.0, "no earlier call is enough like this query")
    rule = RouteRule.of(settings)
    cells = priced(_not_failed(similar, rule.margin), settings)
    models = [cell.model for cell in cells]
    query_type = asked.request.query_type
    pooled_runs = asked.runs.pooled(models)
    differences = narrowed(pooled_runs.on(query_type), similar.scope(models))
    choice = choose_cell(cells, pooled_runs, rule, differences)
    scope = f"queries like this {query_type} one"
    return _proposed(choice, cells, scope, preferred, "succeeds by", rule)


def _confidence_matrix(
    asked: _AskedQuery,
    candidates: Collection[str],
    settings: Settings,
    preferred: str | None,
) -> _Step:
    """Return the model for the type of query.

    It is the cheapest that is shown to be not worse than the best. A preference stands
    that the evidence does not clearly speak against.
    """
    query_type = asked.request.query_type
    usable = [cell for cell in asked.cells if cell.usable and cell.model in candidates]
    if not usable:
        reason = _why_nothing(asked.cells, query_type, settings.matrix_min_samples)
        return _Step(None, 0.0, reason)
    rule = RouteRule.of(settings)
    if settings.matrix_success_weight < SUCCESS_ALONE:
        choice = _by_score(usable)
    else:
        pooled_runs = asked.runs.pooled([cell.model for cell in usable])
        choice = choose_cell(usable, pooled_runs, rule)
    return _proposed(choice, asked.cells, query_type, preferred, "scores", rule)


def _by_score(cells: Sequence[Cell]) -> CellChoice:
    """Return the choice of the cell with the highest score."""
    cell = highest_score(cells)
    position = [other.model for other in cells].index(cell.model)
    return CellChoice(cell, cell, Verdict(position, position, 0.0, 0.0, 0.0, 0))


def _proposed(
    chosen: CellChoice,
    cells: Sequence[Cell],
    scope: str,
    preferred: str | None,
    verb: str,
    rule: RouteRule,
) -> _Step:
    """Return the chosen model, unless a preference stands.

    Args:
        chosen: The choice among the cells.
        cells: All cells, among them that of the preferred model.
        scope: What the cells are about, for people.
        preferred: The model that a role prefers.
        verb: What the score says, for people.
        rule: When a cheaper model is taken.
    """
    choice = chosen.cell
    facts = (
        f"{choice.model} {verb} {choice.score:.2f} ({choice.success_rate:.0%} of"
        f" {choice.n:.4g} runs), {_standing(chosen, rule)} for {scope}"
    )
    if preferred is None:
        return _Step(choice.model, choice.confidence, facts)
    if choice.model == preferred:
        return _Step(None, 0.0, f"{facts}: the preference stands")
    preferred_cell = next(
        (cell for cell in cells if cell.model == preferred and cell.usable), None
    )
    if preferred_cell is None:
        reason = (
            f"{facts}, but too few runs of {preferred} are known: the preference stands"
        )
        return _Step(None, 0.0, reason)
    if preferred_cell.ci_high >= choice.ci_low:
        reason = (
            f"{facts}, but the intervals of success overlap: the preference for"
            f" {preferred} stands"
        )
        return _Step(None, 0.0, reason)
    preferred_interval = f"{preferred_cell.ci_low:.0%} to {preferred_cell.ci_high:.0%}"
    choice_interval = f"{choice.ci_low:.0%} to {choice.ci_high:.0%}"
    reason = (
        f"{facts}; {preferred} is clearly worse ({preferred_interval}, not"
        f" {choice_interval}): the preference is overruled"
    )
    return _Step(choice.model, choice.confidence, reason)


def _standing(choice: CellChoice, rule: RouteRule) -> str:
    """Return how the choice compares with the best model, for people."""
    verdict = choice.verdict
    if choice.cell.model == choice.best.model:
        if not verdict.n_compared or not rule.takes_cheaper:
            return "the best"
        return "the best; nothing cheaper is shown to be not worse"
    quality = "quicker" if math.isnan(choice.cell.cost) else "cheaper"
    return (
        f"{quality} than {choice.best.model} and shown to be not worse by more than"
        f" {100 * verdict.allowed_loss:.3g} points ({100 * verdict.difference:+.1f},"
        f" at least {100 * verdict.ci_low:+.1f} at {rule.confidence:.0%})"
    )


def _cells(evidence: EvidenceTable | None, settings: Settings, now: int) -> list[Cell]:
    """Return the cells of every type of query."""
    if evidence is None:
        return []
    cells = evidence.cells(
        QUERY_TYPE_PREFIX, now=now, half_life_days=settings.matrix_half_life_days
    )
    scored = matrix(
        cells,
        min_samples=settings.matrix_min_samples,
        success_weight=settings.matrix_success_weight,
    )
    return list(scored)


def _why_nothing(cells: list[Cell], query_type: QueryType, min_samples: int) -> str:
    """Return why the matrix has no cell to choose."""
    if not cells:
        return f"no evidence for {query_type}"
    if not any(cell.usable for cell in cells):
        return (
            f"no cell for {query_type} has the {min_samples} runs that make it usable"
        )
    return f"no usable cell for {query_type} is of a model that may be chosen"


def _heuristic_choice(
    model: str | None, allowed: dict[str, ModelSettings], advised_tier: ModelTier
) -> str:
    """Return the model that the heuristic chose, and why it has another size."""
    if model is None:
        return "no model is there that may run"
    if allowed[model].tier == advised_tier:
        return model
    return f"no {advised_tier} model may run, so {model}"


def _check(query: str, context_pct: float, query_tokens: int) -> None:
    """Raise InvalidInput for a blank query and numbers outside their ranges."""
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput(
            f"got the query {query!r}; allowed is a text that is not blank"
        )
    if not 0 <= context_pct <= 100:
        raise InvalidInput(f"got context_pct {context_pct!r}; allowed is 0 to 100")
    is_whole = isinstance(query_tokens, int) and not isinstance(query_tokens, bool)
    if not is_whole or query_tokens < 0:
        raise InvalidInput(
            f"got query_tokens {query_tokens!r}; allowed is a whole number from 0 (0:"
            " estimated)"
        )
