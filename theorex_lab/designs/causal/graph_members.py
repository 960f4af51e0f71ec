"""Read the members of a line of a memory graph as the bodies of events hold them.

Members that no event has stay in the line alone.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.causal.capture import (
    MOST_OBSERVED,
    PARAMETERS,
    USED,
    check_used,
    checked_fraction,
    checked_id,
    checked_mutation,
    checked_observations,
    personality_key,
    signal_member,
)
from theorex_lab.designs.causal.keys import checked_signals, has_error
from theorex_lab.designs.causal.settings import causal_settings
from theorex_lab.memory.contract import Home

_DEEPEST = 32
_LARGEST_NUMBER = 2**62
# The members that lines of each kind must have.
_NEEDED = {
    "signal_snapshot": ("signal",),
    "hypothesis": ("signal", "action", "hypothesis"),
    "attempt": ("signal", "action"),
    "attempt_closed": ("signal", "action", "outcome"),
    "external_candidate": ("asset",),
}
# Of these members the id is needed.
_WITH_ID = {
    "hypothesis": ("hypothesis",),
    "attempt": ("action",),
    "attempt_closed": ("action",),
    "external_candidate": ("asset",),
}


def check_plain(value: object, levels: int = _DEEPEST) -> None:
    """Raise an error for JSON that no event holds.

    Args:
        value: The JSON.
        levels: How deep it may be nested.

    Raises:
        InvalidInput: A number is beyond 2^62, or it is nested more deeply.
    """
    is_number = isinstance(value, int | float)
    if not levels or (is_number and abs(value) > _LARGEST_NUMBER):  # type: ignore[arg-type]
        raise InvalidInput(
            f"got a number beyond 2^62, or more than {_DEEPEST} levels of JSON; allowed"
            " is less"
        )
    parts: list[object] = []
    if isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, list):
        parts = value
    for part in parts:
        check_plain(part, levels - 1)


def checked_object(value: object) -> dict[str, Any]:
    """Return a JSON object.

    Raises:
        InvalidInput: It is another value.
    """
    if not isinstance(value, dict):
        raise InvalidInput(f"got {value!r:.80}; allowed is an object")
    return value


def event_members(home: Home, line: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the members of a line as an event of a kind holds them.

    Args:
        home: Says which signals are errors.
        line: The line.
        kind: The kind of the event.

    Raises:
        InvalidInput: A member is missing, or holds what it may not.
    """
    members = {}
    for name, read in _MEMBERS.items():
        if name in line:
            members[name] = read(line[name])
    check_used({name: members[name] for name in USED if name in members})
    _check_needed(members, kind)
    if kind == "attempt":
        # Whoever closes the attempt reads these.
        members["had_error"] = _had_error(home, line, members)
        members.setdefault("observed", None)
    return members


def _check_needed(members: dict[str, Any], kind: str) -> None:
    """Raise an error where a line lacks a member, or the id in it."""
    missing = [name for name in _NEEDED[kind] if not members.get(name)]
    for name in _WITH_ID.get(kind, ()):
        if name not in missing and not members[name].get("id"):
            missing.append(f"{name}.id")
    if missing:
        raise InvalidInput(
            f"got no {', '.join(missing)}; allowed is a line of its kind with them"
        )


def _had_error(home: Home, line: dict[str, Any], members: dict[str, Any]) -> bool:
    """Return whether an error was there before an attempt: it says so, or its signals."""
    if line.get("had_error") is True:
        return True
    tokens = causal_settings(home).error_tokens
    return has_error(members["signal"]["signals"], tokens)


def _as_it_is(value: Any) -> Any:
    return value


def _signal(value: Any) -> dict[str, Any]:
    """Return signals with their key, which is computed."""
    members = checked_object(value)
    signals = members.get("signals")
    if not isinstance(signals, list):
        raise InvalidInput(f"signals is {signals!r:.80}; allowed is a list of texts")
    signature = members.get("error_signature")
    error = None if signature is None else str(signature)
    return {**signal_member(signals), "error_signature": error}


def _observed(value: Any) -> dict[str, Any] | None:
    """Return what was observed, without what lies deeper, such as ends of logs."""
    if not isinstance(value, dict):
        return None
    plain = []
    for name, member in value.items():
        if not isinstance(member, dict | list):
            plain.append((name, member))
    return checked_observations(dict(plain[:MOST_OBSERVED]))


def _named(what: str, value: Any) -> dict[str, Any] | None:
    """Return an object whose id is sound where it has one; None for none."""
    if not value:
        return None
    members = checked_object(value)
    if members.get("id") is not None:
        checked_id(what, members["id"])
    return members


def _action(value: Any) -> dict[str, Any]:
    """Return an action with the members that events have."""
    action = _named("action", value) or {}
    selector = action.get("selector")
    members: dict[str, Any] = {
        "drift": bool(action.get("drift")),
        "selected_by": str(action.get("selected_by") or "selector"),
        "selector": selector if isinstance(selector, dict) else None,
    }
    if action.get("id") is not None:
        members["id"] = action["id"]
    return members


def _personality(value: Any) -> dict[str, Any] | None:
    """Return a personality with the five parameters; None without any."""
    if not value:
        return None
    state = {}
    for name, parameter in checked_object(checked_object(value).get("state")).items():
        if name in PARAMETERS:
            state[name] = parameter
    return {"key": personality_key(state), "state": state} if state else None


def _outcome(value: Any) -> dict[str, Any]:
    """Return an outcome with its status, score, note and the signals after it."""
    outcome = checked_object(value)
    score = outcome.get("score")
    if score is not None:
        checked_fraction("score", score)
    observed = outcome.get("observed")
    signals: Any = []
    if observed:
        signals = checked_object(observed).get("current_signals") or []
    return {
        "status": checked_id("status", outcome.get("status")),
        "score": score,
        "note": str(outcome.get("note") or ""),
        "observed": {"current_signals": checked_signals(signals)},
    }


def _capsules(value: Any) -> dict[str, Any]:
    """Return the ids of the capsules that were used."""
    used = checked_object(value or {}).get("used") or []
    if not isinstance(used, list):
        used = [used]
    return {"used": [checked_id("capsule", capsule) for capsule in used]}


# How each member of a line is read; the line keeps the others.
_MEMBERS: dict[str, Callable[[Any], Any]] = {
    "signal": _signal,
    "observed": _observed,
    "baseline": _observed,
    "mutation": checked_mutation,
    "personality": _personality,
    "gene": partial(_named, "gene"),
    "action": _action,
    "hypothesis": partial(_named, "hypothesis"),
    "asset": partial(_named, "asset"),
    "external": partial(_named, "external"),
    "candidate": partial(_named, "candidate"),
    "content": partial(_named, "content"),
    "confidence": partial(_named, "confidence"),
    "capsules": _capsules,
    "outcome": _outcome,
    "cause": partial(checked_id, "cause"),
    "told": str,
    "latency_ms": _as_it_is,
    "tokens": _as_it_is,
    "cost": _as_it_is,
}
