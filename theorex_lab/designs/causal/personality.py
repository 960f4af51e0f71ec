"""Personality: five parameters by which genes are chosen, and the mutations that they allow."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theorex_lab.designs.causal.graph import Graph
from theorex_lab.designs.causal.items import causal_settings
from theorex_lab.designs.causal.keys import has_error
from theorex_lab.errors import InvalidInput
from theorex_lab.home import Home
from theorex_lab.ids import check_agent, derived_event_id
from theorex_lab.journal.base import append_once
from theorex_lab.journal.event import new_event

PARAMETERS = {"rigor": 0.7, "creativity": 0.35, "verbosity": 0.25, "risk_tolerance": 0.4, "obedience": 0.85}
CATEGORIES, RISKS = ("repair", "optimize", "innovate"), ("low", "medium", "high")
_TEXT_CHARACTERS, _MOST_TRIGGERS = 500, 64
_KEY = re.compile(r"\|".join(rf"{name}=([01]\.\d)" for name in PARAMETERS))
_HISTORY, _FEWEST_OUTCOMES, _FULL_OUTCOMES = 120, 3, 8
_NUDGE, _LEAST_NUDGE, _MOST_NUDGED, _MUTATION = 0.1, 0.05, 2, 0.2
_LATE, _MOST_FAILED = 4, 3
_OPPORTUNITIES = ("opportunity", "feature_request", "improvement", "capability_gap", "plateau")


def checked_state(state: Mapping[str, Any]) -> dict[str, float]:
    """The five parameters of a personality, clipped to 0..1; one that is not given has its default.

    Raises InvalidInput for a parameter that is no finite number, and for one that there is not.
    """
    for name, value in state.items():
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if name not in PARAMETERS or not number:
            allowed = f"numbers from 0 to 1 for {', '.join(PARAMETERS)}"
            raise InvalidInput(f"got {name!s:.60}={value!r:.60} in a personality; allowed are {allowed}")
    return {name: min(1.0, max(0.0, float(state.get(name, default)))) for name, default in PARAMETERS.items()}


def personality_key(state: Mapping[str, Any]) -> str:
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
    if not isinstance(mutation, Mapping) or mutation.get("category") not in CATEGORIES:
        return None
    given, triggers = {"risk_level": "low", **mutation}, mutation.get("trigger_signals", ())
    texts = {name: given.get(name, "") for name in ("id", "target", "expected_effect")}
    if given["risk_level"] not in RISKS or not isinstance(triggers, list | tuple):
        return None
    if not all(isinstance(text, str) for text in [*triggers, *texts.values()]):
        return None
    kept = {name: text[:_TEXT_CHARACTERS] for name, text in texts.items()}
    kept["id"] = (
        kept["id"] or f"mut_{derived_event_id('mutation', kept, triggers, given['category'], given['risk_level'])}"
    )
    short = [text[:_TEXT_CHARACTERS] for text in triggers[:_MOST_TRIGGERS]]
    return {**kept, "category": given["category"], "trigger_signals": short, "risk_level": given["risk_level"]}


def build_mutation(home: Home, signals: Sequence[str], *, drift_enabled: bool | None = None, personality: Mapping[str, Any] | None = None,
                   risk_level: str | None = None, target: str = "", expected_effect: str = "") -> dict[str, Any]:  # fmt: skip
    """The mutation that signals call for: repair where they tell of an error, innovate by drift or an opportunity, else optimize.

    Where the personality (None: the home's) forbids it, it becomes milder: innovation, which wants a rigor from .5 and a
    risk_tolerance up to .6, becomes optimization; a high risk, which wants .6 and .5, a medium one. Raises InvalidInput for
    another risk_level than low, medium and high; None is medium for innovation, else low.
    """
    if risk_level not in (None, *RISKS):
        raise InvalidInput(f"got the risk_level {risk_level!r}; allowed are {', '.join(RISKS)}")
    settings, state = causal_settings(home), checked_state(current_state(home) if personality is None else personality)
    new = (settings.drift if drift_enabled is None else drift_enabled) or any(
        word in signal.lower() for signal in signals for word in _OPPORTUNITIES
    )
    category = "repair" if has_error(signals, settings.error_tokens) else "innovate" if new else "optimize"
    if category == "innovate" and (state["rigor"] < 0.5 or state["risk_tolerance"] > 0.6):
        category, risk_level = "optimize", "low"
    risk = risk_level or ("medium" if category == "innovate" else "low")
    if risk == "high" and (state["rigor"] < 0.6 or state["risk_tolerance"] > 0.5):
        risk = "medium"
    made = {"category": category, "risk_level": risk, "trigger_signals": list(signals)}
    found = checked_mutation({**made, "target": target, "expected_effect": expected_effect})
    assert found is not None  # its category is one of the three
    return found


def current_state(home: Home) -> dict[str, float]:
    """The personality as it was set last; the defaults where it never was."""
    with home.views.reading(Graph) as view:
        return checked_state(json.loads(view.states[-1])) if len(view.states) else dict(PARAMETERS)


def personality(home: Home) -> dict[str, Any]:
    """The personality as it is now: state, key, what came of each personality by its key, and the last 120 states.

    statistics: {key: {success, failed, score}}, the score 0..1, None before the third outcome.
    """
    with home.views.reading(Graph) as view:
        rows = [view.people[name].tolist() for name in ("success", "failed", "score")]
        lived = {key: (row[0], row[1], _score(*row)) for key, *row in zip(view.personalities, *rows, strict=True)}
        history = [
            json.loads(view.states[place]) for place in range(max(0, len(view.states) - _HISTORY), len(view.states))
        ]
    state = current_state(home)
    told = {key: dict(zip(("success", "failed", "score"), row, strict=True)) for key, row in lived.items()}
    return {"state": state, "key": personality_key(state), "statistics": told, "history": history}


def _score(success: int, failed: int, scores: float) -> float | None:
    n = success + failed
    if n < _FEWEST_OUTCOMES:
        return None
    return 0.75 * (success + 1) / (n + 2) + 0.25 * scores / n * min(1.0, n / _FULL_OUTCOMES)


def set_personality(home: Home, state: Mapping[str, Any], why: str = "told", *, agent: str = "main") -> dict[str, Any]:
    """Set parameters of the personality; those that are not given stay. Returns `personality`. Raises InvalidInput as `checked_state`."""
    _set(home, checked_state({**current_state(home), **state}), why, agent, [])
    return personality(home)


def adapt_personality(
    home: Home, *, drift_enabled: bool | None = None, seed: int = 0, agent: str = "main"
) -> dict[str, Any]:
    """Adapt the personality to the outcomes since it was set last; returns `personality`. Without any nothing changes.

    Up to two parameters go by up to .1 towards the personality that did best. Where three of the last four outcomes failed,
    or the last three mutations, it becomes more rigorous and takes less risk; by drift a parameter that is drawn changes by up to .2.
    """
    known, drift = personality(home), causal_settings(home).drift if drift_enabled is None else drift_enabled
    with home.views.reading(Graph) as view:
        since = int(view.set_at["seq"][-1]) if len(view.set_at) else 0
        fresh = view.lived["seq"] > since
        seqs, failed = view.lived["seq"][fresh].tolist(), view.lived["failed"][fresh]
        mutated, turns = failed[view.lived["mutated"][fresh]], len(view.states)
    if not seqs:
        return known
    changes = _towards_best(known)
    why = ["towards the personality that did best"] if changes else []
    if failed[-_LATE:].sum() >= _MOST_FAILED or mutated[-_MOST_FAILED:].sum() == _MOST_FAILED:
        changes |= {
            "rigor": changes.get("rigor", 0.0) + _NUDGE,
            "risk_tolerance": changes.get("risk_tolerance", 0.0) - _NUDGE,
        }
        why.append("what was tried last failed")
    if drift:
        draw = np.random.default_rng([seed, turns])
        name = str(draw.choice(list(PARAMETERS)))
        changes[name] = changes.get(name, 0.0) + float(draw.uniform(-_MUTATION, _MUTATION))
        why.append("drift")
    moved = {name: round(known["state"][name] + min(_MUTATION, max(-_MUTATION, by)), 6) for name, by in changes.items()}
    state = checked_state({**known["state"], **moved})
    if state != known["state"]:
        ids = [event.id for event in home.journal.read(seqs=seqs[-_HISTORY:])]
        _set(home, state, "; ".join(why), agent, ids)
    return personality(home)


def _towards_best(known: Mapping[str, Any]) -> dict[str, float]:
    scored = {
        key: row["score"]
        for key, row in known["statistics"].items()
        if row["score"] is not None and _KEY.fullmatch(key)
    }
    best = max(scored, key=lambda key: scored[key], default=known["key"])
    if best == known["key"]:
        return {}
    wanted = zip(PARAMETERS, _KEY.fullmatch(best).groups(), strict=True)  # type: ignore[union-attr]
    apart = {name: round(float(value) - known["state"][name], 6) for name, value in wanted}
    most = sorted(apart, key=lambda name: -abs(apart[name]))[:_MOST_NUDGED]
    return {name: min(_NUDGE, max(-_NUDGE, apart[name])) for name in most if abs(apart[name]) >= _LEAST_NUDGE}


def _set(home: Home, state: Mapping[str, float], why: str, agent: str, lineage: Sequence[str]) -> None:
    body = {"state": dict(state), "why": why, "source": "agent", "project": home.project}
    # Of the last outcome that it rests on, so that whoever adapts to the same ones changes nothing more.
    made = derived_event_id("personality", lineage[-1]) if lineage else None
    who: dict[str, Any] = {"agent": check_agent(agent), "lineage": lineage, "at": home.clock.now(), "event_id": made}
    append_once(home.journal, [new_event("personality", body, **who)])
