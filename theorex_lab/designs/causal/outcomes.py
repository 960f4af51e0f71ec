"""How an attempt came out, inferred from what is seen after it; figures that are missing change nothing."""

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from theorex_lab.designs.causal import FAILED, SUCCESS
from theorex_lab.errors import InvalidInput
from theorex_lab.ids import derived_event_id

_ERRORS_PER_SCORE, _MOST_BY_ERRORS, _MOST_BY_SCAN = 50, 0.12, 0.06
_SUCCESS_FROM = 0.5
_OBSERVED_SCORES = {SUCCESS: 0.75, FAILED: 0.25}
_LAST_LINES = 400
_MOST = 1e300  # of a number that is taken for finite
# By whether there was an error before and is one now.
_INFERRED = {
    (True, False): (SUCCESS, 0.85, "error_cleared"), (True, True): (FAILED, 0.2, "error_persisted"),
    (False, True): (FAILED, 0.15, "new_error_appeared"), (False, False): (SUCCESS, 0.6, "stable_no_error")}  # fmt: skip


class Inferred(NamedTuple):
    """How it came out: success or failed, 0..1, and what that was read from."""

    status: str
    score: float
    note: str


def infer_outcome(had_error: bool, has_error: bool) -> Inferred:
    """By whether an error was there before and is there now.

    >>> infer_outcome(True, False)
    Inferred(status='success', score=0.85, note='error_cleared')
    """
    return Inferred(*_INFERRED[had_error, has_error])


def infer_outcome_enhanced(had_error: bool, has_error: bool, baseline: Mapping[str, Any] | None = None,
                           current: Mapping[str, Any] | None = None, evidence: str = "") -> Inferred:  # fmt: skip
    """As `infer_outcome`, unless an EvolutionEvent among the last 400 lines of `evidence` says how it came out.

    The score rises with errors that are gone (recent_error_count, up to .12) and with a quicker scan (scan_ms, up to .06)
    where both figures are known.

    >>> infer_outcome_enhanced(True, True, {"recent_error_count": 5, "scan_ms": 100}, {"recent_error_count": 8, "scan_ms": 50})
    Inferred(status='failed', score=0.2, note='error_persisted|heuristic_delta')
    """
    if observed := _observed(evidence):
        return observed
    base = infer_outcome(had_error, has_error)
    score = base.score
    for name, part, most in (("recent_error_count", _ERRORS_PER_SCORE, _MOST_BY_ERRORS), ("scan_ms", 0, _MOST_BY_SCAN)):
        before, now = number_of(baseline, name), number_of(current, name)
        if before is not None and now is not None and (part or before) > 0:
            score += at_most((before - now) / (part or before), most)
    return Inferred(base.status, round(min(1.0, max(0.0, score)), 12), f"{base.note}|heuristic_delta")


def at_most(value: float, most: float) -> float:
    """The value, no further than `most` from 0."""
    return max(-most, min(most, value))


def number_of(observed: Mapping[str, Any] | None, name: str) -> float | None:
    """The finite number that a member is; None for another value and without one."""
    value = (observed or {}).get(name)
    usable = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MOST
    return float(value) if usable else None  # type: ignore[arg-type]


def _observed(evidence: str) -> Inferred | None:
    """What the newest EvolutionEvent of a log says."""
    for line in reversed(evidence.splitlines()[-_LAST_LINES:]):
        if '"EvolutionEvent"' not in line:
            continue
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):  # a line that was cut, or is something else
            continue
        said = event.get("outcome") if isinstance(event, dict) and event.get("type") == "EvolutionEvent" else None
        if isinstance(said, dict) and (found := _said(said)):
            return found
    return None


def _said(outcome: Mapping[str, Any]) -> Inferred | None:
    status, score = outcome.get("status"), number_of(outcome, "score")
    if status not in _OBSERVED_SCORES:
        if score is None:
            return None
        status = SUCCESS if score >= _SUCCESS_FROM else FAILED
    score = _OBSERVED_SCORES[status] if score is None else min(1.0, max(0.0, score))
    return Inferred(status, score, "evolutionevent_observed")


State = Mapping[str, Any]
PARAMETERS = {"rigor": 0.7, "creativity": 0.35, "verbosity": 0.25, "risk_tolerance": 0.4, "obedience": 0.85}
CATEGORIES, RISKS = ("repair", "optimize", "innovate"), ("low", "medium", "high")
_TEXTS, _TEXT_CHARACTERS, _MOST_TRIGGERS = ("id", "target", "expected_effect"), 500, 64


def checked_state(state: State) -> dict[str, float]:
    """The five parameters of a personality, clipped to 0..1; one that is not given has its default.

    Raises InvalidInput for a parameter that is no finite number, and for one that there is not.
    """
    for name in state:
        if name != "type" and (name not in PARAMETERS or number_of(state, name) is None):
            got = f"got {name!s:.60}={state[name]!r:.60} in a personality"
            raise InvalidInput(f"{got}; allowed are numbers from 0 to 1 for {', '.join(PARAMETERS)}")
    return {name: min(1.0, max(0.0, float(state.get(name, default)))) for name, default in PARAMETERS.items()}


def personality_key(state: State) -> str:
    """The key of a personality: its parameters rounded to .1, halves up; one that is not given has its default.

    >>> personality_key({"rigor": 0.72})
    'rigor=0.7|creativity=0.4|verbosity=0.3|risk_tolerance=0.4|obedience=0.9'
    """
    return "|".join(f"{name}={math.floor(value * 10 + 0.5) / 10:.1f}" for name, value in checked_state(state).items())


def checked_mutation(mutation: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A mutation as events hold it: its category and what else was said of it; None for none, or an invalid one.

    Without a risk_level it is low, without an id it gets one from its content.

    >>> checked_mutation({"category": "repair", "trigger_signals": ["log_error"]})["risk_level"], checked_mutation({"category": "break"})
    ('low', None)
    """
    given = {"risk_level": "low", "trigger_signals": [], **(mutation if isinstance(mutation, Mapping) else {})}
    texts, triggers = {name: given.get(name, "") for name in _TEXTS}, given["trigger_signals"]
    known = given.get("category") in CATEGORIES and given["risk_level"] in RISKS and isinstance(triggers, list | tuple)
    if not known or not all(isinstance(text, str) for text in [*triggers, *texts.values()]):
        return None
    made = {name: text[:_TEXT_CHARACTERS] for name, text in texts.items()}
    made |= {"category": given["category"], "risk_level": given["risk_level"]}
    made["trigger_signals"] = [text[:_TEXT_CHARACTERS] for text in triggers[:_MOST_TRIGGERS]]
    return {**made, "id": made["id"] or f"mut_{derived_event_id('mutation', json.dumps(made))}"}
