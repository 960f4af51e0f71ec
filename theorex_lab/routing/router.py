"""Which model a query goes to: role preference, energy, recall, confidence matrix,
heuristic, in that order.

The role that takes such queries proposes a model; energy rules out large ones; recall
picks by calls on (nearly) the same query, the matrix by those on the type of query, and
both overrule a role only where the evidence is clear; the heuristic decides what is
left. Each step says what it did, or why it did nothing.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_agent
from theorex_lab.core.settings import ModelSettings, ModelTier, QueryType, Settings
from theorex_lab.memory.contract import Home
from theorex_lab.memory.evidence import QUERY_TYPE_PREFIX, EvidenceTable, evidence_view
from theorex_lab.memory.intervals import wilson_of_one
from theorex_lab.routing.confidence import (
    Cell,
    cheapest,
    confidence_of,
    matrix,
    near_best,
    priced,
)
from theorex_lab.routing.energy import Power, describe_power, veto
from theorex_lab.routing.heuristic import (
    advise,
    classify,
    complexity_of,
    estimated_tokens,
)
from theorex_lab.routing.recall import NOTHING_RECALLED, Recall, RecalledRuns
from theorex_lab.routing.roles import route_to_agent

# Sizes to try, by the size that is wanted.
_SMALL_FIRST: tuple[ModelTier, ...] = ("small", "medium", "large")
FALLBACK_TIERS = {
    "large": _SMALL_FIRST[::-1],
    "medium": ("medium", "small", "large"),
    "small": _SMALL_FIRST,
}
Charge = Power | None
PREFERENCE_CONFIDENCE = 1.0  # a preference is a setting, not an estimate
LEAST_WEIGHT = 1.0  # of the runs that are recalled of a model; fewer say nothing
# How many recalled runs the matrix counts for; chosen with `recall.NEARNESS`.
PRIOR_RUNS = 0.5
_STEPS = ("role preference", "energy", "recall", "confidence matrix", "heuristic")


@dataclass(frozen=True)
class Decision:
    """What a query is, and the model for it.

    `model`: None where the settings name none that may run; else its size is `tier`.
    `confidence`: 0 to 1, of the step that decided. `reasons`: one text a step of the
    chain, beginning with the step's name. `fallbacks`: what to try after `model`, in
    order, those without an address last. A model whose settings have no `url` is
    advice: it cannot be called.
    """

    query_type: QueryType
    tier: ModelTier
    model: str | None
    confidence: float
    reasons: list[str]
    fallbacks: list[str]


class _Step(NamedTuple):
    """The result of a step of the chain: a model or None, its confidence, and its
    reason.
    """

    model: str | None
    confidence: float
    reason: str


_LIKE_CALLS_KNOWN = _Step(None, 0.0, "not needed; recall takes it into account")


def route_in(
    home: Home,
    query: str,
    settings: Settings | None = None,
    *,
    power: Charge = None,
    **how: Any,
) -> Decision:
    """`route` by what a home has recorded; `settings` None: its own; `power` None: read
    from the machine; `how` as there.
    """
    from theorex_lab.routing.energy import read_power

    with (
        home.views.reading(evidence_view(home)) as evidence,
        home.views.reading(Recall) as recall,
    ):
        known: Any = {
            "evidence": evidence.table,
            "recall": recall,
            "now": home.clock.now(),
        }
        return route(
            query,
            settings or home.settings,
            power=power or read_power(),
            **known,
            **how,
        )


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

    `evidence`: how calls went by type of query, `recall`: by its words, or None; `now`:
    µs UTC, by which evidence ages where `matrix_half_life_days` is set; `agent`: who
    asks (see `roles.route_to_agent`); `urgent`: a small model, unless a role prefers
    otherwise; `context_pct`: share of the context in use, 0 to 100; `query_tokens`:
    length of the query, 0 to estimate it. Raises InvalidInput for a blank query and
    numbers outside their ranges.

    >>> decision = route(
    ...     "a haiku", Settings(), evidence=None, power=Power(90.0, False), now=0
    ... )
    >>> decision.query_type, decision.model, decision.fallbacks
    ('creative', 'ministral-3b', ['qwen3-32b', 'claude-sonnet'])
    >>> decision.reasons[4]
    "heuristic: medium (0.60) for creative, by 'haiku': ministral-3b"
    """
    _check(query, context_pct, query_tokens)
    if agent is not None:
        check_agent(agent)
    query_type, sign = classify(query)
    tokens = query_tokens or estimated_tokens(query)
    advice = advise(
        query_type, urgent=urgent, context_pct=context_pct, query_tokens=tokens
    )
    complexity = complexity_of(query_type, context_pct=context_pct, query_tokens=tokens)
    no_large = veto(power, complexity, settings)
    allowed = {
        name: model
        for name, model in settings.models.items()
        if not (no_large and model.tier == "large")
    }

    role = _role_preference(settings, query_type, agent)
    energy = _energy(power, no_large, role.model if role.model not in allowed else None)
    preferred = role.model if role.model in allowed else None
    candidates = _candidates(allowed, preferred) if urgent else [*allowed]
    cells = [] if evidence is None else _cells(evidence, settings, now, query_type)
    alike = (
        recall.like(query, settings.recall_calls)
        if recall is not None and settings.recall_calls
        else {}
    )
    like = _like(alike, query_type, candidates, cells)
    recalled = _recall(priced(like, settings), cells, settings, query_type, preferred)
    known = (
        _confidence_matrix(cells, settings, query_type, candidates, preferred)
        if not like
        else _LIKE_CALLS_KNOWN
    )
    decided = next(
        (
            step
            for step in (recalled, known, role._replace(model=preferred))
            if step.model
        ),
        None,
    )
    model, confidence = (None, advice.confidence) if decided is None else decided[:2]
    tiers = FALLBACK_TIERS[advice.tier if model is None else allowed[model].tier]
    ordered = sorted(
        allowed, key=lambda name: tiers.index(allowed[name].tier)
    )  # within a size as the settings have them
    heuristic = f"{advice.tier} ({advice.confidence:.2f}) for {advice.reason}" + (
        f", by {sign!r}" if sign else ""
    )
    if model is not None:
        heuristic = f"not needed; it says {heuristic}"
    else:
        model = next(iter(ordered), None)
        heuristic += f": {_found(model, allowed, advice.tier)}"
    said = (role.reason, energy, recalled.reason, known.reason, heuristic)
    tier = advice.tier if model is None else allowed[model].tier
    reasons = [f"{step}: {reason}" for step, reason in zip(_STEPS, said, strict=True)]
    fallbacks = sorted(
        (name for name in ordered if name != model),
        key=lambda name: allowed[name].url is None,
    )
    return Decision(query_type, tier, model, confidence, reasons, fallbacks)


def _role_preference(
    settings: Settings, query_type: QueryType, asker: str | None
) -> _Step:
    """The model that the agent prefers to whom the registry of roles gives this type of
    query.
    """
    if not any(
        role.active and query_type in role.capabilities for role in settings.roles
    ):
        return _Step(None, 0.0, f"no active agent takes {query_type}")
    agent, role, preference, _ = route_to_agent(query_type, settings.roles, asker)
    if preference is None:
        return _Step(None, 0.0, f"{agent} prefers no model")
    if preference not in settings.models:
        return _Step(
            None,
            0.0,
            f"{agent} prefers {preference}, which is not among the models of the"
            " settings",
        )
    return _Step(
        preference,
        PREFERENCE_CONFIDENCE,
        f"{agent} ({role}) takes {query_type} and prefers {preference}",
    )


def _energy(power: Power, no_large: str | None, turned_down: str | None) -> str:
    if no_large is None:
        return f"every size may run ({describe_power(power)})"
    return f"no large model: {no_large}" + (
        f"; {turned_down} is turned down" if turned_down else ""
    )


def _candidates(allowed: dict[str, ModelSettings], preferred: str | None) -> list[str]:
    """Under urgency: the small models, and those of the size that a role prefers."""
    tiers = {"small", allowed[preferred].tier if preferred else "small"}
    return [name for name, model in allowed.items() if model.tier in tiers]


def _like(
    found: dict[str, RecalledRuns],
    query_type: str,
    candidates: Collection[str],
    cells: list[Cell],
) -> list[Cell]:
    """How the models did on queries like this one: as cells, drawn to those of the
    matrix; none where too little is like it.
    """
    found = {name: recalled for name, recalled in found.items() if name in candidates}
    if all(recalled.weight < LEAST_WEIGHT for recalled in found.values()):
        return []
    usable = {
        cell.model: cell for cell in cells if cell.usable and cell.model in candidates
    }
    recalled = {name: found.get(name, NOTHING_RECALLED) for name in candidates}
    told = [
        name
        for name in candidates
        if name in usable or recalled[name].weight >= LEAST_WEIGHT
    ]
    return [_drawn(recalled[name], usable.get(name), query_type, name) for name in told]


def _drawn(
    recalled: RecalledRuns, cell: Cell | None, query_type: str, model: str
) -> Cell:
    n = PRIOR_RUNS + recalled.weight
    successes = (
        PRIOR_RUNS * (0.5 if cell is None else cell.success_rate) + recalled.successes
    )
    low, high = wilson_of_one(successes, n)
    held = cell or Cell(
        query_type,
        model,
        0.0,
        math.nan,
        0.0,
        1.0,
        math.nan,
        math.nan,
        math.nan,
        math.nan,
        0.0,
        False,
    )
    rate = successes / n
    sure = confidence_of(n)
    return held._replace(
        n=n,
        success_rate=rate,
        low=low,
        high=high,
        score=rate,
        confidence=sure,
        usable=True,
    )


def _recall(
    like: list[Cell],
    cells: list[Cell],
    settings: Settings,
    query_type: QueryType,
    preferred: str | None,
) -> _Step:
    """The cheapest model that is not worse than the best on queries like this one, nor
    on their type, unless a preference stands.
    """
    if not settings.recall_calls:
        return _Step(None, 0.0, "recallCalls is 0")
    if not like:
        return _Step(None, 0.0, "no earlier call is enough like this query")
    first, *others = near_best(like, settings.worse_at)
    names = {cell.model for cell in like}
    usable = [cell for cell in cells if cell.usable and cell.model in names]
    worse = {cell.model for cell in usable} - {
        cell.model for cell in near_best(usable, settings.worse_at)
    }
    near = [first, *(cell for cell in others if cell.model not in worse)]
    return _proposed(
        cheapest(near),
        near,
        like,
        f"queries like this {query_type} one",
        preferred,
        "succeeds by",
    )


def _confidence_matrix(
    cells: list[Cell],
    settings: Settings,
    query_type: QueryType,
    candidates: Collection[str],
    preferred: str | None,
) -> _Step:
    """The best usable cell's model, unless a preference stands that the evidence does
    not clearly speak against.
    """
    usable = [cell for cell in cells if cell.usable and cell.model in candidates]
    near = near_best(
        usable, settings.worse_at, success_weight=settings.matrix_success_weight
    )
    if not near:
        return _Step(
            None, 0.0, _why_nothing(cells, query_type, settings.matrix_min_samples)
        )
    return _proposed(cheapest(near), near, cells, query_type, preferred, "scores")


def _proposed(
    found: Cell,
    near: list[Cell],
    cells: list[Cell],
    where: str,
    preferred: str | None,
    does: str,
) -> _Step:
    """The cell that was found among the `near` ones, those that are not distinguishably
    worse than the first.
    """
    facts = (
        f"{found.model} {does} {found.score:.2f} ({found.success_rate:.0%} of"
        f" {found.n:.4g} runs)"
    )
    facts += f", {_standing(found, near)} for {where}"
    if preferred is None:
        return _Step(found.model, found.confidence, facts)
    if found.model == preferred:
        return _Step(None, 0.0, f"{facts}: the preference stands")
    own = next(
        (cell for cell in cells if cell.model == preferred and cell.usable), None
    )
    if own is None:
        return _Step(
            None,
            0.0,
            f"{facts}, but too few runs of {preferred} are known: the preference"
            " stands",
        )
    if own.high < found.low:
        rates = (
            f"{own.low:.0%} to {own.high:.0%}, not {found.low:.0%} to {found.high:.0%}"
        )
        against = f"{preferred} is clearly worse ({rates})"
        return _Step(
            found.model,
            found.confidence,
            f"{facts}; {against}: the preference is overruled",
        )
    return _Step(
        None,
        0.0,
        f"{facts}, but the intervals of success overlap: the preference for {preferred}"
        " stands",
    )


def _standing(found: Cell, near: list[Cell]) -> str:
    best = near[0].model
    if len(near) == 1:
        return "the best"
    decided = (
        ("cheapest", found.cost),
        ("quickest", found.latency_ms),
        ("most reliable", found.n),
    )
    by = next(word for word, amount in decided if not math.isnan(amount))
    return (
        f"the {by} of {len(near)} not distinguishably worse than"
        f" {'the best' if found.model == best else best}"
    )


def _cells(
    evidence: EvidenceTable, settings: Settings, now: int, query_type: QueryType
) -> list[Cell]:
    """The cells of a query type, with costs where runs or prices tell them."""
    cells = evidence.cells(
        QUERY_TYPE_PREFIX + query_type,
        now=now,
        half_life_days=settings.matrix_half_life_days,
    )
    scored = matrix(
        cells,
        min_samples=settings.matrix_min_samples,
        success_weight=settings.matrix_success_weight,
    )
    return priced([cell for cell in scored if cell.query_type == query_type], settings)


def _why_nothing(cells: list[Cell], query_type: QueryType, min_samples: int) -> str:
    if not cells:
        return f"no evidence for {query_type}"
    if not any(cell.usable for cell in cells):
        return (
            f"no cell for {query_type} has the {min_samples} runs that make it usable"
        )
    return f"no usable cell for {query_type} is of a model that may be chosen"


def _found(
    model: str | None, allowed: dict[str, ModelSettings], wanted: ModelTier
) -> str:
    if model is None:
        return "no model of the settings may run"
    return (
        model
        if allowed[model].tier == wanted
        else f"no {wanted} model may run, so {model}"
    )


def _check(query: str, context_pct: float, query_tokens: int) -> None:
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput(
            f"got the query {query!r}; allowed is a text that is not blank"
        )
    if not 0 <= context_pct <= 100:
        raise InvalidInput(f"got context_pct {context_pct!r}; allowed is 0 to 100")
    if (
        not isinstance(query_tokens, int)
        or isinstance(query_tokens, bool)
        or query_tokens < 0
    ):
        raise InvalidInput(
            f"got query_tokens {query_tokens!r}; allowed is a whole number from 0 (0:"
            " estimated)"
        )
