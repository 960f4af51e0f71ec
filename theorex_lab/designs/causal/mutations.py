"""Build the mutation that signals call for, within what the personality allows."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.causal.capture import RISKS, checked_mutation, checked_state
from theorex_lab.designs.causal.keys import checked_signals, has_error
from theorex_lab.designs.causal.personalities import current_personality
from theorex_lab.designs.causal.settings import causal_settings
from theorex_lab.memory.contract import Home

_OPPORTUNITY = re.compile(
    "opportunity|feature_request|improvement|capability_gap|plateau", re.IGNORECASE
)
_INNOVATE_RIGOR = 0.5
_INNOVATE_RISK = 0.6
_HIGH_RISK_RIGOR = 0.6
_HIGH_RISK_TOLERANCE = 0.5


def build_mutation(
    home: Home,
    signals: Sequence[str],
    *,
    drift_enabled: bool = False,
    personality_state: Mapping[str, Any] | None = None,
    risk_level: str = "",
    target: str = "",
    expected_effect: str = "",
) -> dict[str, Any]:
    """Return the mutation that signals call for.

    It is to repair where they tell of an error, to innovate under drift or where they
    tell of an opportunity, else to optimize. What the personality forbids becomes
    milder: innovation needs a rigor from .5 and a risk_tolerance up to .6, and becomes
    optimization of a low risk; a high risk needs .6 and .5, and becomes a medium one.

    Args:
        home: Holds the personality and the settings.
        signals: The signals.
        drift_enabled: Whether drift is on; the settings may say so too.
        personality_state: The parameters; default: those in force.
        risk_level: low, medium or high; default: medium for innovation, else low.
        target: What is changed.
        expected_effect: What is expected of it.

    Raises:
        InvalidInput: The signals, the parameters or the risk are outside the rules.
    """
    checked = checked_signals(signals)
    if risk_level not in ("", *RISKS):
        raise InvalidInput(f"got the risk {risk_level!r:.60}; allowed are {RISKS}")
    if personality_state is None:
        personality_state = current_personality(home)
    state = checked_state(personality_state)
    category = _category(home, checked, drift_enabled)
    if category == "innovate" and not _may_innovate(state):
        category = "optimize"
        risk_level = "low"
    if risk_level == "high" and not _may_risk_much(state):
        risk_level = "medium"
    default_risk = "medium" if category == "innovate" else "low"
    mutation = checked_mutation(
        {
            "category": category,
            "risk_level": risk_level or default_risk,
            "trigger_signals": checked,
            "target": target,
            "expected_effect": expected_effect,
        }
    )
    assert mutation is not None  # its members are of the right types
    return mutation


def _category(home: Home, signals: Sequence[str], drift_enabled: bool) -> str:
    """Return what signals call for."""
    settings = causal_settings(home)
    if has_error(signals, settings.error_tokens):
        return "repair"
    if drift_enabled or settings.drift:
        return "innovate"
    if any(map(_OPPORTUNITY.search, signals)):
        return "innovate"
    return "optimize"


def _may_innovate(state: Mapping[str, float]) -> bool:
    return (
        state["rigor"] >= _INNOVATE_RIGOR and state["risk_tolerance"] <= _INNOVATE_RISK
    )


def _may_risk_much(state: Mapping[str, float]) -> bool:
    return (
        state["rigor"] >= _HIGH_RISK_RIGOR
        and state["risk_tolerance"] <= _HIGH_RISK_TOLERANCE
    )
