"""Which model a query goes to: role preference, energy, confidence matrix, heuristic, in that order.

A role proposes a model; energy rules out large ones; the matrix picks by evidence, and overrules a role only where the
evidence is clear; the heuristic decides what is left. Each step says what it did, or why it did nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from theorex_lab.config import ModelSettings, QueryType, Settings, Tier
from theorex_lab.errors import InvalidInput
from theorex_lab.ids import check_agent
from theorex_lab.memory.evidence import QUERY_TYPE_PREFIX, EvidenceTable
from theorex_lab.routing.confidence import Cell, best, matrix
from theorex_lab.routing.energy import Power, describe_power, veto
from theorex_lab.routing.heuristic import advise, classify, complexity_of, estimated_tokens
from theorex_lab.routing.roles import highest_priority

# Sizes to try, by the size that is wanted.
FALLBACK_TIERS: dict[Tier, tuple[Tier, ...]] = {
    "large": ("large", "medium", "small"),
    "medium": ("medium", "small", "large"),
    "small": ("small", "medium", "large"),
}
PREFERENCE_CONFIDENCE = 1.0  # a preference is a setting, not an estimate
_STEPS = ("role preference", "energy", "confidence matrix", "heuristic")


@dataclass(frozen=True)
class Decision:
    """What a query is, and the model for it.

    `model`: None where the settings name none that may run; else its size is `tier`. `confidence`: 0 to 1, of the step
    that decided. `reasons`: one text a step of the chain, beginning with the step's name. `fallbacks`: what to try
    after `model`, in order, those without an address last. A model whose settings have no `url` is advice: it cannot be
    called.
    """

    query_type: QueryType
    tier: Tier
    model: str | None
    confidence: float
    reasons: list[str]
    fallbacks: list[str]


class _Step(NamedTuple):
    """What a step of the chain came to: a model or None, how sure it is, and its reason."""

    model: str | None
    confidence: float
    reason: str


def route(
    query: str,
    settings: Settings,
    *,
    evidence: EvidenceTable | None,
    power: Power,
    now: int,
    agent: str | None = None,
    urgent: bool = False,
    context_pct: float = 0.0,
    query_tokens: int = 0,
) -> Decision:
    """Decide which model a query goes to; the same arguments give the same decision.

    `evidence`: how calls went, or None; `now`: µs UTC, by which evidence ages where `matrix_half_life_days` is set;
    `agent`: who asks, for its role's preference; `urgent`: a small model, unless a role prefers otherwise;
    `context_pct`: share of the context in use, 0 to 100; `query_tokens`: length of the query, 0 to estimate it.
    Raises InvalidInput for a blank query, an agent's name outside the rule, numbers outside their ranges.

    >>> decision = route("debug this parser", Settings(), evidence=None, power=Power(90.0, False), now=0)
    >>> decision.query_type, decision.model, decision.fallbacks
    ('code', 'claude-sonnet', ['qwen3-32b', 'ministral-3b'])
    >>> decision.reasons[3]
    "heuristic: large (0.80) for code, by 'debug': claude-sonnet"
    """
    _check(query, agent, context_pct, query_tokens)
    query_type, sign = classify(query)
    tokens = query_tokens or estimated_tokens(query)
    advice = advise(query_type, urgent=urgent, context_pct=context_pct, query_tokens=tokens)
    complexity = complexity_of(query_type, context_pct=context_pct, query_tokens=tokens)
    no_large = veto(power, complexity, settings)
    allowed = {name: model for name, model in settings.models.items() if not (no_large and model.tier == "large")}

    role = _role_preference(settings, agent, query_type)
    energy = _energy(power, no_large, role.model if role.model not in allowed else None)
    preferred = role.model if role.model in allowed else None
    candidates = _candidates(allowed, preferred) if urgent else allowed.keys()
    known = _confidence_matrix(evidence, settings, now, query_type, candidates, preferred)
    model = known.model or preferred
    ordered = _ordered(allowed, advice.tier if model is None else allowed[model].tier)
    heuristic = f"{advice.tier} ({advice.confidence:.2f}) for {advice.reason}" + (f", by {sign!r}" if sign else "")
    if model is not None:
        confidence = known.confidence if known.model else role.confidence
        heuristic = f"not needed; it says {heuristic}"
    else:
        model, confidence = next(iter(ordered), None), advice.confidence
        heuristic += f": {_found(model, allowed, advice.tier)}"
    said = (role.reason, energy, known.reason, heuristic)
    return Decision(
        query_type,
        advice.tier if model is None else allowed[model].tier,
        model,
        confidence,
        [f"{step}: {reason}" for step, reason in zip(_STEPS, said, strict=True)],
        sorted((name for name in ordered if name != model), key=lambda name: allowed[name].url is None),
    )


def _role_preference(settings: Settings, agent: str | None, query_type: QueryType) -> _Step:
    """The model that the agent's role prefers for this type of query."""
    if agent is None:
        return _Step(None, 0.0, "no agent is named")
    profiles = [role for role in settings.roles if role.agent_id == agent and role.active]
    if not profiles:
        return _Step(None, 0.0, f"{agent} has no active role")
    able = [role for role in profiles if query_type in role.capabilities]
    if not able:
        return _Step(None, 0.0, f"{agent} does not take {query_type}")
    preference = highest_priority(able).model_preference
    if preference is None:
        return _Step(None, 0.0, f"{agent} prefers no model")
    if preference not in settings.models:
        return _Step(None, 0.0, f"{agent} prefers {preference}, which is not among the models of the settings")
    return _Step(preference, PREFERENCE_CONFIDENCE, f"{agent} takes {query_type} and prefers {preference}")


def _energy(power: Power, no_large: str | None, turned_down: str | None) -> str:
    if no_large is None:
        return f"every size may run ({describe_power(power)})"
    return f"no large model: {no_large}" + (f"; {turned_down} is turned down" if turned_down else "")


def _candidates(allowed: dict[str, ModelSettings], preferred: str | None) -> list[str]:
    """Under urgency: the small models, and those of the size that a role prefers."""
    tiers = {"small", allowed[preferred].tier if preferred else "small"}
    return [name for name, model in allowed.items() if model.tier in tiers]


def _confidence_matrix(
    evidence: EvidenceTable | None,
    settings: Settings,
    now: int,
    query_type: QueryType,
    candidates: Collection[str],
    preferred: str | None,
) -> _Step:
    """The best usable cell's model, unless a preference stands that the evidence does not clearly speak against."""
    if evidence is None:
        return _Step(None, 0.0, "no evidence is given")
    cells = _cells(evidence, settings, now, query_type)
    found = best(cells, query_type, candidates)
    if found is None:
        return _Step(None, 0.0, _why_nothing(cells, query_type, settings.matrix_min_samples))
    facts = f"{found.model} scores {found.score:.2f} ({found.success_rate:.0%} of {found.n:.4g} runs)"
    if preferred is None:
        return _Step(found.model, found.confidence, f"{facts}, the best for {query_type}")
    if found.model == preferred:
        return _Step(None, 0.0, f"{facts}, the best for {query_type}: the preference stands")
    own = next((cell for cell in cells if cell.model == preferred and cell.usable), None)
    if own is None:
        return _Step(None, 0.0, f"{facts}, but too few runs of {preferred} are known: the preference stands")
    if own.high < found.low:
        against = (
            f"{preferred} is clearly worse ({own.low:.0%} to {own.high:.0%}, not {found.low:.0%} to {found.high:.0%})"
        )
        return _Step(found.model, found.confidence, f"{facts}; {against}: the preference is overruled")
    return _Step(None, 0.0, f"{facts}, but the intervals of success overlap: the preference for {preferred} stands")


def _cells(evidence: EvidenceTable, settings: Settings, now: int, query_type: QueryType) -> list[Cell]:
    """The cells of a query type."""
    cells = evidence.cells(QUERY_TYPE_PREFIX + query_type, now=now, half_life_days=settings.matrix_half_life_days)
    scored = matrix(cells, min_samples=settings.matrix_min_samples, success_weight=settings.matrix_success_weight)
    return [cell for cell in scored if cell.query_type == query_type]


def _why_nothing(cells: list[Cell], query_type: QueryType, min_samples: int) -> str:
    if not cells:
        return f"no evidence for {query_type}"
    if not any(cell.usable for cell in cells):
        return f"no cell for {query_type} has the {min_samples} runs that make it usable"
    return f"no usable cell for {query_type} is of a model that may be chosen"


def _ordered(allowed: dict[str, ModelSettings], wanted: Tier) -> list[str]:
    """The models by how near their size is to the wanted one; within a size in the order of the settings."""
    tiers = FALLBACK_TIERS[wanted]
    return sorted(allowed, key=lambda name: tiers.index(allowed[name].tier))


def _found(model: str | None, allowed: dict[str, ModelSettings], wanted: Tier) -> str:
    if model is None:
        return "no model of the settings may run"
    return model if allowed[model].tier == wanted else f"no {wanted} model may run, so {model}"


def _check(query: str, agent: str | None, context_pct: float, query_tokens: int) -> None:
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput(f"got the query {query!r}; allowed is a text that is not blank")
    if agent is not None:
        check_agent(agent)
    if not 0 <= context_pct <= 100:
        raise InvalidInput(f"got context_pct {context_pct!r}; allowed is 0 to 100")
    if not isinstance(query_tokens, int) or isinstance(query_tokens, bool) or query_tokens < 0:
        raise InvalidInput(f"got query_tokens {query_tokens!r}; allowed is a whole number from 0 (0: estimated)")
