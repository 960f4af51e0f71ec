"""Personality: five parameters by which genes are chosen, and the mutations that they allow."""

import math
from collections.abc import Mapping
from typing import Any

from theorex_lab.errors import InvalidInput
from theorex_lab.ids import derived_event_id

PARAMETERS = {"rigor": 0.7, "creativity": 0.35, "verbosity": 0.25, "risk_tolerance": 0.4, "obedience": 0.85}
CATEGORIES, RISKS = ("repair", "optimize", "innovate"), ("low", "medium", "high")
_TEXT_CHARACTERS, _MOST_TRIGGERS = 500, 64


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
