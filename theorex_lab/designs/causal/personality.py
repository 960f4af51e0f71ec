"""Personality: five parameters by which genes are chosen, and the mutations that they allow."""

import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theorex_lab.designs.causal.graph import Graph
from theorex_lab.designs.causal.items import causal_settings
from theorex_lab.designs.causal.keys import has_error
from theorex_lab.designs.causal.outcomes import at_most, number_of
from theorex_lab.errors import InvalidInput
from theorex_lab.home import Home
from theorex_lab.ids import check_agent, derived_event_id
from theorex_lab.journal.base import append_once
from theorex_lab.journal.event import new_event

State = Mapping[str, Any]
PARAMETERS = {"rigor": 0.7, "creativity": 0.35, "verbosity": 0.25, "risk_tolerance": 0.4, "obedience": 0.85}
CATEGORIES, RISKS = ("repair", "optimize", "innovate"), ("low", "medium", "high")
_TEXTS, _TEXT_CHARACTERS, _MOST_TRIGGERS = ("id", "target", "expected_effect"), 500, 64
_KEY = re.compile(r"\|".join(rf"{name}=([01]\.\d)" for name in PARAMETERS))
_HISTORY, _FEWEST_OUTCOMES, _FULL_OUTCOMES = 120, 3, 8
_NUDGE, _LEAST_NUDGE, _MOST_NUDGED, _MUTATION = 0.1, 0.05, 2, 0.2
_LATE, _MOST_FAILED = 4, 3
_OPPORTUNITY = re.compile("opportunity|feature_request|improvement|capability_gap|plateau", re.I)


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


def build_mutation(home: Home, signals: Sequence[str], *, drift_enabled: bool = False, personality: State | None = None,
                   risk_level: str = "", **about: str) -> dict[str, Any] | None:  # fmt: skip
    """The mutation that signals call for: repair where they tell of an error, innovate by drift or an opportunity, else optimize.

    Where the personality (None: the home's) forbids it, it becomes milder: innovation, which wants a rigor from .5 and a
    risk_tolerance up to .6, becomes optimization at a low risk; a high risk, which wants .6 and .5, a medium one.
    risk_level: '' is medium for innovation, else low.  about: target and expected_effect. None for what is no mutation.
    """
    settings, state = causal_settings(home), checked_state(current_state(home) if personality is None else personality)
    new = drift_enabled or settings.drift or any(map(_OPPORTUNITY.search, signals))
    category = "repair" if has_error(signals, settings.error_tokens) else "innovate" if new else "optimize"
    if category == "innovate" and (state["rigor"] < 0.5 or state["risk_tolerance"] > 0.6):
        category, risk_level = "optimize", "low"
    if risk_level == "high" and (state["rigor"] < 0.6 or state["risk_tolerance"] > 0.5):
        risk_level = "medium"
    risk = risk_level or ("medium" if category == "innovate" else "low")
    return checked_mutation({**about, "category": category, "risk_level": risk, "trigger_signals": list(signals)})


def current_state(home: Home) -> dict[str, float]:
    """The personality as it was set last; the defaults where it never was."""
    with home.views.reading(Graph) as view:
        return checked_state(json.loads(view.states[len(view.states) - 1]) if len(view.states) else {})


def personality(home: Home) -> dict[str, Any]:
    """The personality as it is now: state, key, what came of each personality by its key, and the last 120 states.

    statistics: {key: {success, failed, score}}, the score 0..1, None before the third outcome.
    """
    with home.views.reading(Graph) as view:
        columns = [view.people[name].tolist() for name in ("success", "failed", "score")]
        lived = {key: _statistics(*row) for key, *row in zip(view.personalities, *columns, strict=True)}
        history = [json.loads(text) for text in list(view.states)[-_HISTORY:]]
    state = current_state(home)
    return {"state": state, "key": personality_key(state), "statistics": lived, "history": history}


def _statistics(success: int, failed: int, scores: float) -> dict[str, Any]:
    n = max(success + failed, 1)
    score = 0.75 * (success + 1) / (n + 2) + 0.25 * scores / n * min(1.0, n / _FULL_OUTCOMES)
    return {"success": success, "failed": failed, "score": score if n >= _FEWEST_OUTCOMES else None}


def set_personality(home: Home, state: State, why: str = "told", *, agent: str = "main",
                    outcomes: Sequence[str] = ()) -> dict[str, Any]:  # fmt: skip
    """Set parameters of the personality, the others stay; returns `personality`. Raises InvalidInput as `checked_state`.

    outcomes: ids of the events that it rests on; nothing is set a second time for the last of them.
    """
    whole, made = {**current_state(home), **state}, derived_event_id("personality", outcomes[-1]) if outcomes else None
    body = {"state": checked_state(whole), "why": why, "source": "agent", "project": home.project}
    who: dict[str, Any] = {"agent": check_agent(agent), "lineage": outcomes, "at": home.clock.now(), "event_id": made}
    append_once(home.journal, [new_event("personality", body, **who)])
    return personality(home)


def adapt_personality(home: Home, *, drift_enabled: bool = False, seed: int = 0, agent: str = "main") -> dict[str, Any]:
    """Adapt the personality to the outcomes since it was set last; returns `personality`. Without any nothing changes.

    Up to two parameters go by up to .1 towards the personality that did best. Where three of the last four outcomes failed,
    or the last three mutations, it becomes more rigorous and takes less risk; by drift a parameter that is drawn changes by
    up to .2. No parameter changes by more.
    """
    known = personality(home)
    with home.views.reading(Graph) as view:
        fresh = view.lived["seq"] > (view.set_at["seq"][-1] if len(view.set_at) else 0)
        seqs, failed = view.lived["seq"][fresh].tolist(), view.lived["failed"][fresh]
        mutated, turns = failed[view.lived["mutated"][fresh]], len(view.states)
    changes = defaultdict[str, float](float, _towards_best(known))
    why = ["towards the personality that did best"] if changes else []
    if failed[-_LATE:].sum() >= _MOST_FAILED or mutated[-_MOST_FAILED:].sum() == _MOST_FAILED:
        changes["rigor"] += _NUDGE
        changes["risk_tolerance"] -= _NUDGE
        why.append("what was tried last failed")
    if drift_enabled or causal_settings(home).drift:
        draw = np.random.default_rng([seed, turns])
        changes[str(draw.choice(list(PARAMETERS)))] += draw.uniform(-_MUTATION, _MUTATION)
        why.append("drift")
    changed = {name: round(value + at_most(changes[name], _MUTATION), 6) for name, value in known["state"].items()}
    state = checked_state(changed)
    if not seqs or state == known["state"]:
        return known
    outcomes = [event.id for event in home.journal.read(seqs=seqs[-_HISTORY:])]
    return set_personality(home, state, "; ".join(why), agent=agent, outcomes=outcomes)


def _towards_best(known: Mapping[str, Any]) -> dict[str, float]:
    scores = {key: row["score"] for key, row in known["statistics"].items() if row["score"] is not None}
    best = max(scores, key=lambda key: scores[key], default=known["key"])
    wanted = _KEY.fullmatch(best)
    if wanted is None or scores.get(best, 0.0) <= scores.get(known["key"], 0.5):
        return {}
    pairs = zip(PARAMETERS, wanted.groups(), strict=True)
    apart = {name: round(float(value) - known["state"][name], 6) for name, value in pairs}
    most = sorted(apart, key=lambda name: -abs(apart[name]))[:_MOST_NUDGED]
    return {name: at_most(apart[name], _NUDGE) for name in most if abs(apart[name]) >= _LEAST_NUDGE}
