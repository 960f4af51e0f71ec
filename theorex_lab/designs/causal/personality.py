"""What attempts may say of who made them, a personality of five parameters, and of the mutation that was tried."""

import json
import math
from collections.abc import Mapping
from typing import Any

from theorex_lab.designs.causal.outcomes import number_of
from theorex_lab.errors import InvalidInput
from theorex_lab.ids import derived_event_id

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
