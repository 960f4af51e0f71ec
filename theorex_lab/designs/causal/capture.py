"""Record what happens: signals, hypotheses, attempts, and outcomes, which are told or
inferred from what is seen after them.

Figures that are missing change no score. Each is in the journal when the call returns.
An attempt and its outcome are matched by the id of the action, so that several may be
open, a killed process loses neither, and no outcome is recorded twice.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import AlreadyThere, InvalidInput
from theorex_lab.core.ids import check_agent, derived_event_id, new_event_id
from theorex_lab.designs.causal import FAILED, SUCCESS
from theorex_lab.designs.causal.graph import Graph, attempt_of
from theorex_lab.designs.causal.keys import (
    checked_signals,
    compute_signal_key,
    error_signature,
    has_error,
)
from theorex_lab.designs.causal.settings import causal_settings
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.contract import DesignApi, Home
from theorex_lab.text.redact.redaction_scope import kept_value

_ERRORS_PER_SCORE = 50
_MOST_BY_ERRORS = 0.12
_MOST_BY_SCAN = 0.06
_SUCCESS_FROM = 0.5
_OBSERVED_SCORES = {SUCCESS: 0.75, FAILED: 0.25}
_LAST_LINES = 400
_MOST = 1e300  # of a number that is taken for finite
# By whether there was an error before and is one now.
_INFERRED = {
    (True, False): (SUCCESS, 0.85, "error_cleared"),
    (True, True): (FAILED, 0.2, "error_persisted"),
    (False, True): (FAILED, 0.15, "new_error_appeared"),
    (False, False): (SUCCESS, 0.6, "stable_no_error"),
}


class InferredOutcome(NamedTuple):
    """Hold how it came out.

    Attributes:
        status: success or failed.
        score: From 0 to 1.
        note: What that was read from.
    """

    status: str
    score: float
    note: str


def infer_outcome(had_error: bool, has_error: bool) -> InferredOutcome:
    """Return the outcome by whether an error was there before and is there now.

    >>> infer_outcome(True, False)
    InferredOutcome(status='success', score=0.85, note='error_cleared')
    """
    return InferredOutcome(*_INFERRED[had_error, has_error])


def infer_outcome_enhanced(
    had_error: bool,
    has_error: bool,
    baseline: Mapping[str, Any] | None = None,
    current: Mapping[str, Any] | None = None,
    evidence: str = "",
) -> InferredOutcome:
    """Return the outcome that a log tells, else the one that is inferred.

    The score rises with errors that are gone (recent_error_count, up to .12) and with a
    quicker scan (scan_ms, up to .06) where both figures are known.

    Args:
        had_error: Whether an error was there before.
        has_error: Whether one is there now.
        baseline: What was observed before.
        current: What is observed now.
        evidence: A log; an EvolutionEvent among its last 400 lines says how it came
            out.

    >>> infer_outcome_enhanced(
    ...     True,
    ...     True,
    ...     {"recent_error_count": 5, "scan_ms": 100},
    ...     {"recent_error_count": 8, "scan_ms": 50},
    ... )
    InferredOutcome(status='failed', score=0.2, note='error_persisted|heuristic_delta')
    """
    observed = _observed(evidence)
    if observed:
        return observed
    base = infer_outcome(had_error, has_error)
    score = base.score
    for name, unit, most in (
        ("recent_error_count", _ERRORS_PER_SCORE, _MOST_BY_ERRORS),
        ("scan_ms", 0, _MOST_BY_SCAN),
    ):
        before = number_of(baseline, name)
        now = number_of(current, name)
        if before is None or now is None:
            continue
        divisor = unit or before
        if divisor > 0:
            score += at_most((before - now) / divisor, most)
    return InferredOutcome(
        base.status,
        round(min(1.0, max(0.0, score)), 12),
        f"{base.note}|heuristic_delta",
    )


def at_most(value: float, most: float) -> float:
    """Return the value, no further than `most` from 0."""
    return max(-most, min(most, value))


def number_of(observed: Mapping[str, Any] | None, name: str) -> float | None:
    """Return the finite number that a member is; None for another value and without one."""
    value = (observed or {}).get(name)
    usable = (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) < _MOST
    )
    return float(value) if usable else None  # type: ignore[arg-type]


def _observed(evidence: str) -> InferredOutcome | None:
    """Return what the newest EvolutionEvent of a log says."""
    for line in reversed(evidence.splitlines()[-_LAST_LINES:]):
        if '"EvolutionEvent"' in line:
            outcome = _outcome_in(line)
            if outcome is not None:
                return outcome
    return None


def _outcome_in(line: str) -> InferredOutcome | None:
    """Return the outcome that a line of a log tells; None where it tells none."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):  # a line that was cut, or is something else
        return None
    if not isinstance(event, dict) or event.get("type") != "EvolutionEvent":
        return None
    outcome = event.get("outcome")
    return _outcome_of(outcome) if isinstance(outcome, dict) else None


def _outcome_of(outcome: Mapping[str, Any]) -> InferredOutcome | None:
    """Return an outcome that an event tells; None without a status and a score."""
    status = outcome.get("status")
    score = number_of(outcome, "score")
    if status not in _OBSERVED_SCORES:
        if score is None:
            return None
        status = SUCCESS if score >= _SUCCESS_FROM else FAILED
    score = _OBSERVED_SCORES[status] if score is None else min(1.0, max(0.0, score))
    return InferredOutcome(status, score, "evolutionevent_observed")


State = Mapping[str, Any]
PARAMETERS = {
    "rigor": 0.7,
    "creativity": 0.35,
    "verbosity": 0.25,
    "risk_tolerance": 0.4,
    "obedience": 0.85,
}
CATEGORIES = ("repair", "optimize", "innovate")
RISKS = ("low", "medium", "high")
_TEXTS = ("id", "target", "expected_effect")
_TEXT_CHARACTERS = 500
_MOST_TRIGGERS = 64


def checked_state(state: State) -> dict[str, float]:
    """Return the five parameters of a personality, clipped to 0..1.

    One that is not given has its default.

    Raises:
        InvalidInput: A parameter is no finite number, or there is no such parameter.
    """
    for name in state:
        if name != "type" and (
            name not in PARAMETERS or number_of(state, name) is None
        ):
            got = f"got {name!s:.60}={state[name]!r:.60} in a personality"
            raise InvalidInput(
                f"{got}; allowed are numbers from 0 to 1 for {', '.join(PARAMETERS)}"
            )
    return {
        name: min(1.0, max(0.0, float(state.get(name, default))))
        for name, default in PARAMETERS.items()
    }


def personality_key(state: State) -> str:
    """Return the key of a personality: its parameters rounded to .1, halves up.

    One that is not given has its default.

    >>> personality_key({"rigor": 0.72})
    'rigor=0.7|creativity=0.4|verbosity=0.3|risk_tolerance=0.4|obedience=0.9'
    """
    return "|".join(
        f"{name}={math.floor(value * 10 + 0.5) / 10:.1f}"
        for name, value in checked_state(state).items()
    )


def checked_mutation(mutation: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return a mutation as events hold it: its category and what else was said of it.

    None for none, or an invalid one. Without a risk_level it is low, without an id it
    gets one from its content.

    >>> (
    ...     checked_mutation({"category": "repair", "trigger_signals": ["log_error"]})[
    ...         "risk_level"
    ...     ],
    ...     checked_mutation({"category": "break"}),
    ... )
    ('low', None)
    """
    members: dict[str, Any] = {"risk_level": "low", "trigger_signals": []}
    if isinstance(mutation, Mapping):
        members |= mutation
    texts = {name: members.get(name, "") for name in _TEXTS}
    triggers = members["trigger_signals"]
    if members.get("category") not in CATEGORIES or members["risk_level"] not in RISKS:
        return None
    if not isinstance(triggers, list | tuple):
        return None
    if not all(isinstance(text, str) for text in [*triggers, *texts.values()]):
        return None
    checked: dict[str, Any] = {
        name: text[:_TEXT_CHARACTERS] for name, text in texts.items()
    }
    checked |= {"category": members["category"], "risk_level": members["risk_level"]}
    checked["trigger_signals"] = [
        text[:_TEXT_CHARACTERS] for text in triggers[:_MOST_TRIGGERS]
    ]
    if not checked["id"]:
        event_id = derived_event_id("mutation", json.dumps(checked))
        checked["id"] = f"mut_{event_id}"
    return checked


Given = Mapping[str, Any]
EVENT_TYPE = "MemoryGraphEvent"
USED = ("latency_ms", "tokens", "cost")
_LINE_OF = {
    "signal_snapshot": "signal",
    "attempt_closed": "outcome",
}  # kinds as the document calls them
_KEPT = (
    "signal mutation personality gene action hypothesis capsules".split()
)  # of an attempt, by what closes it
_OBSERVED_CHARACTERS = 2_000
MOST_OBSERVED = 64
_ACTION = "act_"  # before the id of its attempt
_ID_CHARACTERS = 200
_NOTE_CHARACTERS = 2_000
# What the sums of evidence hold.
_MOST_CAPSULES = 64
_MOST_USED = 2**62
_ADVICE = {
    "repair": "reduce errors",
    "optimize": "improve what is there",
    "innovate": "open a new way",
}


class RecordedAction(NamedTuple):
    """Hold what was recorded.

    Attributes:
        id: Its id.
        signal_key: The key of its signals.
        event: The event in the document's form.
    """

    id: str
    signal_key: str
    event: dict[str, Any]


def document_form(event: Event) -> dict[str, Any]:
    """Return an event as the document writes it on a line."""
    members = {
        name: value
        for name, value in event.body.items()
        if name not in ("v", "project", "source")
    }
    kind = _LINE_OF.get(event.kind, event.kind)
    return {
        "type": EVENT_TYPE,
        "kind": kind,
        "id": event.id,
        "ts": in_ms(event.at),
        **members,
    }


def in_ms(at: int) -> str:
    """Return a time (µs UTC) as lines have it, in whole milliseconds."""
    return f"{to_iso(at)[:-4]}Z"


def record_signal_snapshot(
    home: Home,
    signals: Sequence[str],
    observations: Given | None = None,
    *,
    agent: str = "main",
) -> dict[str, Any]:
    """Record the signals that are there now; return the event in the document's form.

    Args:
        home: Where it is kept.
        signals: The signals.
        observations: {name: text, number or truth value}, such as recent_error_count and
            scan_ms; long texts are cut.
        agent: Who met them.

    Raises:
        InvalidInput: As `keys.checked_signals` raises it.
    """
    body = {
        "signal": signal_member(signals),
        "observed": checked_observations(observations),
    }
    return _append(home, "signal_snapshot", body, agent)


def record_hypothesis(
    home: Home,
    signals: Sequence[str],
    selected_gene: Given | None = None,
    *,
    observations: Given | None = None,
    agent: str = "main",
    **about: Any,
) -> RecordedAction:
    """Record what is expected of a gene before it is tried; return its id.

    Args:
        home: Where it is kept.
        signals: The signals.
        selected_gene: The gene that is to be tried.
        observations: As `record_signal_snapshot` takes them.
        agent: Who expects it.
        about: mutation, personality_state, selector, drift_enabled, selected_by,
            capsules_used.

    Raises:
        InvalidInput: Something is outside the rules.
    """
    body = _about(home, signals, selected_gene, observations, **about)
    hypothesis_id = f"hyp_{new_event_id(home.clock.now())}"
    signal = body.pop("signal")
    hypothesis = {
        "id": hypothesis_id,
        "text": _expectation(body, signal["key"])[:_NOTE_CHARACTERS],
        "predicted_outcome": {"status": None, "score": None},
    }
    event = _append(
        home,
        "hypothesis",
        {"signal": signal, "hypothesis": hypothesis, **body},
        agent,
    )
    return RecordedAction(hypothesis_id, signal["key"], event)


def _expectation(body: Given, signal_key: str) -> str:
    """Return what is expected of a gene, in words."""
    gene = body["gene"] or {}
    mutation = body["mutation"] or {}
    category = mutation.get("category") or gene.get("category")
    aim = _ADVICE.get(str(category), "help")
    name = gene.get("id") or "none"
    return f"The gene {name} is expected to {aim} under {signal_key}."


def record_attempt(
    home: Home,
    signals: Sequence[str],
    selected_gene: Given | None = None,
    *,
    hypothesis_id: str | None = None,
    observations: Given | None = None,
    agent: str = "main",
    **about: Any,
) -> RecordedAction:
    """Record that a gene is tried, before it is known what comes of it.

    Args:
        home: Where it is kept.
        signals: The signals.
        selected_gene: The gene that is tried.
        hypothesis_id: The hypothesis that it tests.
        observations: As `record_signal_snapshot` takes them.
        agent: Who tries it.
        about: As `record_hypothesis` takes it.

    Returns:
        The id of the action.

    Raises:
        InvalidInput: Something is outside the rules.
    """
    body = _about(home, signals, selected_gene, observations, **about)
    event_id = new_event_id(home.clock.now())
    action_id = f"{_ACTION}{event_id}"
    body["action"]["id"] = action_id
    body["hypothesis"] = None
    if hypothesis_id:
        body["hypothesis"] = {"id": checked_id("hypothesis", hypothesis_id)}
    event = _append(home, "attempt", body, agent, event_id)
    return RecordedAction(action_id, body["signal"]["key"], event)


def record_outcome_from_state(
    home: Home,
    signals: Sequence[str],
    observations: Given | None = None,
    *,
    evidence: str = "",
    action_id: str | None = None,
    agent: str = "main",
    **used: float | None,
) -> dict[str, Any] | None:
    """Close an attempt by the signals that are there now.

    Args:
        home: Where it is kept.
        signals: The signals that are there now.
        observations: As `record_signal_snapshot` takes them.
        evidence: A log in which an EvolutionEvent may say how it came out; it is not kept.
        action_id: The attempt; default: the agent's last open one.
        agent: Whose attempt it is.
        used: latency_ms, tokens, cost.

    Returns:
        The event in the document's form, None where nothing is open.

    Raises:
        InvalidInput: The action is unknown or closed.
    """
    now = checked_signals(signals)

    def inferred(body: Given) -> InferredOutcome:
        error_now = has_error(now, causal_settings(home).error_tokens)
        return infer_outcome_enhanced(
            body["had_error"], error_now, body.get("observed"), observations, evidence
        )

    return _close(
        home, action_id, agent, inferred, now, checked_observations(observations), used
    )


def close(
    home: Home,
    action_id: str,
    status: str,
    score: float | None = None,
    note: str = "",
    *,
    agent: str = "main",
    signals: Sequence[str] = (),
    **used: float | None,
) -> dict[str, Any]:
    """Close an attempt as a success or a failure that is known.

    Args:
        home: Where it is kept.
        action_id: The attempt.
        status: success or failed.
        score: From 0 to 1.
        note: How that is known.
        agent: Whose attempt it is.
        signals: The signals that are there now.
        used: latency_ms, tokens, cost.

    Raises:
        InvalidInput: As `record_outcome_from_state` raises it.
    """
    if status not in (SUCCESS, FAILED):
        raise InvalidInput(
            f"got the status {status!r}; allowed are {SUCCESS} and {FAILED}"
        )
    worth = (
        float(status == SUCCESS) if score is None else checked_fraction("score", score)
    )
    outcome = InferredOutcome(status, worth, note[:_NOTE_CHARACTERS] or "told")
    event = _close(
        home,
        action_id,
        agent,
        lambda _body: outcome,
        checked_signals(signals),
        None,
        used,
    )
    assert event is not None  # an action that is named is there, or refused
    return event


def _close(
    home: Home,
    action_id: str | None,
    agent: str,
    infer: Any,
    now: list[str],
    current: Given | None,
    used: Mapping[str, float | None],
) -> dict[str, Any] | None:
    check_used(used)
    while (attempt := _attempt_to_close(home, action_id, agent)) is not None:
        event = closing(
            attempt, infer(attempt.body), now, current, used, at=home.clock.now()
        )
        try:
            home.journal.append([event])
        except AlreadyThere as error:
            if action_id is not None:
                raise _closed(action_id) from error
            # another process closed it just now: the one before it is the last
            continue
        return document_form(event)
    return None


def _attempt_to_close(home: Home, action_id: str | None, agent: str) -> Event | None:
    """Return the attempt of an action, which may be closed.

    Without one it is the agent's last open attempt.
    """
    if action_id is None:
        with home.views.reading(Graph) as view:
            last = view.last_open(check_agent(agent))
        return home.journal.read(seqs=[last.seq])[0] if last else None
    # Most attempts have the id of their action: they are found without folding what
    # came since.
    events = home.journal.read(ids=[action_id.removeprefix(_ACTION)])
    if events and events[0].kind == "attempt":
        return events[0]
    attempt = attempt_of(home, action_id)
    if not attempt.open:
        raise _closed(action_id)
    return home.journal.read(seqs=[attempt.seq])[0]


def _closed(action_id: str) -> InvalidInput:
    what_to_do = "record what is tried next as an attempt of its own"
    return InvalidInput(
        f"got the action {action_id}, which has an outcome; {what_to_do}"
    )


def closing(
    attempt: Event,
    outcome: InferredOutcome,
    now: Sequence[str],
    current: Given | None,
    used: Mapping[str, float | None],
    *,
    at: int,
    lineage: Sequence[str] = (),
) -> Event:
    """Return the event that closes an attempt.

    A second one for the same attempt has the same id.

    Args:
        attempt: The attempt.
        outcome: How it came out.
        now: The signals that are there now.
        current: What is observed now.
        used: latency_ms, tokens and cost, where they are known.
        at: When, in µs UTC.
        lineage: Ids of other events that it rests on.
    """
    body = attempt.body
    closed = {name: body.get(name) for name in _KEPT}
    # What the attempt says was masked when it was told.
    members = {**outcome._asdict(), "observed": {"current_signals": list(now)}}
    masked = kept_value(
        {
            "outcome": members,
            "observed": current,
            "error_signature": error_signature(now),
        }
    )
    closed["signal"] = {
        **body["signal"],
        "error_signature": masked.pop("error_signature"),
    }
    closed |= {
        **masked,
        "confidence": {"half_life_days": 30},
        "baseline": body.get("observed"),
    }
    closed |= {name: value for name, value in used.items() if value is not None}
    closed |= {
        name: body[name] for name in ("source", "project", "told") if name in body
    }
    return new_event(
        "attempt_closed",
        closed,
        agent=attempt.agent,
        session=attempt.session,
        lineage=[attempt.id, *lineage],
        at=at,
        event_id=derived_event_id("attempt_closed", body["action"]["id"]),
    )


def asset_id(asset: Given) -> str:
    """Return the id of what an asset holds.

    It is sha256 of its JSON with sorted keys, without `asset_id`.

    >>> asset_id({"type": "Gene", "id": "g"})[:20]
    'sha256:559aed474e9e6'
    """
    members = {name: value for name, value in asset.items() if name != "asset_id"}
    text = json.dumps(
        members, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def asset_event(
    asset: Given,
    *,
    source: str,
    project: str,
    agent: str,
    at: int,
    session: str = "",
    lineage: Sequence[str] = (),
) -> Event:
    """Return the event that tells a gene or a capsule as it is now, its secrets masked."""
    masked = kept_value(dict(asset))
    body = {
        "asset": masked,
        "asset_id": asset_id(masked),
        "source": source,
        "project": project,
    }
    return new_event(
        "asset", body, agent=agent, session=session, lineage=lineage, at=at
    )


def signal_member(signals: Sequence[str]) -> dict[str, Any]:
    """Return signals as events hold them.

    They are their key, as they were given, and the normal form of the first error.
    """
    masked = checked_signals(
        kept_value(signals if isinstance(signals, str) else list(signals))
    )
    return {
        "key": compute_signal_key(masked),
        "signals": masked,
        "error_signature": error_signature(masked),
    }


def checked_observations(observations: Given | None) -> dict[str, Any] | None:
    """Return what was observed, in plain members; long texts are cut.

    Raises:
        InvalidInput: It has other values.
    """
    if observations is None:
        return None
    plain = [
        isinstance(value, str | int | float | None) for value in observations.values()
    ]
    if (
        not all(plain)
        or not all(isinstance(name, str) for name in observations)
        or len(plain) > MOST_OBSERVED
    ):
        allowed = f"up to {MOST_OBSERVED} texts, numbers and truth values by name"
        raise InvalidInput(
            f"got the observations {observations!r:.200}; allowed are {allowed}"
        )
    cut = {
        name: value[:_OBSERVED_CHARACTERS]
        for name, value in observations.items()
        if isinstance(value, str)
    }
    return {**observations, **cut}


def checked_id(name: str, value: object) -> str:
    """Return an id.

    Raises:
        InvalidInput: It is not 1 to 200 printable ASCII characters. Others may look like
            another id.
    """
    plain = (
        isinstance(value, str)
        and value.isascii()
        and value.isprintable()
        and value.strip()
    )
    if not plain or len(str(value)) > _ID_CHARACTERS:
        allowed = f"1 to {_ID_CHARACTERS} printable ASCII characters"
        raise InvalidInput(f"got the {name} id {value!r:.100}; allowed are {allowed}")
    return str(value)


def checked_fraction(name: str, value: Any) -> float:
    """Return a number from 0 to 1.

    Raises:
        InvalidInput: It is another value.
    """
    if not _within(value, 1):
        raise InvalidInput(
            f"got the {name} {value!r:.60}; allowed is a number from 0 to 1"
        )
    return float(value)


def check_used(used: Mapping[str, object]) -> None:
    """Raise InvalidInput for a latency_ms, tokens or cost that is no finite number from
    0, and for other names.
    """
    for name, value in used.items():
        if name not in USED or not (value is None or _within(value, _MOST_USED)):
            raise InvalidInput(
                f"got {name}={value!r}; allowed are latency_ms, tokens and cost,"
                " numbers from 0 to 2^62"
            )


def _within(value: Any, most: int) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 <= value <= most
    )


def _about(
    home: Home,
    signals: Sequence[str],
    selected_gene: Given | None,
    observations: Given | None,
    *,
    mutation: Given | None = None,
    personality_state: Given | None = None,
    selector: Given | None = None,
    drift_enabled: bool = False,
    selected_by: str = "selector",
    capsules_used: Sequence[str] = (),
) -> dict[str, Any]:
    """Return what hypotheses and attempts say alike."""
    if len(capsules_used) > _MOST_CAPSULES:
        raise InvalidInput(
            f"got {len(capsules_used)} capsules; allowed are {_MOST_CAPSULES}"
        )
    signal = signal_member(signals)
    checked = checked_mutation(mutation)
    personality = None
    if personality_state:
        key = personality_key(personality_state)
        personality = {"key": key, "state": dict(personality_state)}
    gene = None
    if selected_gene:
        gene_id = checked_id("gene", selected_gene.get("id"))
        gene = {"id": gene_id, "category": selected_gene.get("category")}
    return {
        "signal": signal,
        "mutation": checked,
        "personality": personality,
        "gene": gene,
        "action": {
            "drift": bool(drift_enabled),
            "selected_by": str(selected_by),
            "selector": dict(selector) if selector else None,
        },
        "capsules": {"used": [checked_id("capsule", used) for used in capsules_used]},
        "had_error": has_error(signal["signals"], causal_settings(home).error_tokens),
        "observed": checked_observations(observations),
    }


def _append(
    home: Home, kind: str, body: dict[str, Any], agent: str, event_id: str = ""
) -> dict[str, Any]:
    """Append an event; return it in the document's form."""
    event = DesignApi(home).append(
        kind, {"source": "agent", **body}, agent=check_agent(agent), event_id=event_id
    )
    return document_form(event)
