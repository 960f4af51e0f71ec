"""Record what happens: signals, hypotheses, attempts, and outcomes.

Outcomes are told, or inferred from what is observed after an attempt. Figures that are
missing change no score. Each is in the journal when the call returns.
An attempt and its outcome are matched by the id of the action, so that several may be
open, a killed process loses neither, and no outcome is recorded twice.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
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

    Args:
        had_error: Whether there was one before.
        has_error: Whether there is one now.

    >>> infer_outcome(True, False)
    InferredOutcome(status='success', score=0.85, note='error_cleared')
    """
    return InferredOutcome(*_INFERRED[had_error, has_error])


def infer_outcome_enhanced(
    had_error: bool,
    has_error: bool,
    baseline: Mapping[str, Any] | None = None,
    current: Mapping[str, Any] | None = None,
    *,
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
        round(_clipped(score), 12),
        f"{base.note}|heuristic_delta",
    )


def _clipped(value: float) -> float:
    """Return the value, at least 0 and at most 1."""
    return min(1.0, max(0.0, value))


def at_most(value: float, most: float) -> float:
    """Return the value, no further than `most` from 0."""
    return max(-most, min(most, value))


def number_of(observed: Mapping[str, Any] | None, name: str) -> float | None:
    """Return the finite number that a member is.

    None for another value and without one.

    Args:
        observed: What was observed, by name.
        name: The name of the member.
    """
    value = (observed or {}).get(name)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    if not abs(value) < _MOST:  # not a number is below nothing
        return None
    return float(value)


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
    score = _OBSERVED_SCORES[status] if score is None else _clipped(score)
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
    for name, value in state.items():
        if name == "type":
            continue
        if name not in PARAMETERS or number_of(state, name) is None:
            got = f"got {name!s:.60}={value!r:.60} in a personality"
            raise InvalidInput(
                f"{got}; allowed are numbers from 0 to 1 for {', '.join(PARAMETERS)}"
            )
    parameters = {}
    for name, default in PARAMETERS.items():
        value = float(state.get(name, default))
        parameters[name] = _clipped(value)
    return parameters


def personality_key(state: State) -> str:
    """Return the key of a personality: its parameters rounded to .1, halves up.

    One that is not given has its default.

    >>> personality_key({"rigor": 0.72})
    'rigor=0.7|creativity=0.4|verbosity=0.3|risk_tolerance=0.4|obedience=0.9'
    """
    parts = []
    for name, value in checked_state(state).items():
        rounded = math.floor(value * 10 + 0.5) / 10
        parts.append(f"{name}={rounded:.1f}")
    return "|".join(parts)


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
    if not _is_mutation(members):
        return None
    checked: dict[str, Any] = {}
    for name in _TEXTS:
        text = members.get(name, "")
        checked[name] = text[:_TEXT_CHARACTERS]
    checked["category"] = members["category"]
    checked["risk_level"] = members["risk_level"]
    triggers = members["trigger_signals"][:_MOST_TRIGGERS]
    checked["trigger_signals"] = [text[:_TEXT_CHARACTERS] for text in triggers]
    if not checked["id"]:
        event_id = derived_event_id("mutation", json.dumps(checked))
        checked["id"] = f"mut_{event_id}"
    return checked


def _is_mutation(members: Mapping[str, Any]) -> bool:
    """Return whether the members of a mutation have values that are allowed."""
    if members.get("category") not in CATEGORIES:
        return False
    if members["risk_level"] not in RISKS:
        return False
    triggers = members["trigger_signals"]
    if not isinstance(triggers, list | tuple):
        return False
    texts = [*triggers]
    texts += [members.get(name, "") for name in _TEXTS]
    return all(isinstance(text, str) for text in texts)


Given = Mapping[str, Any]
EVENT_TYPE = "MemoryGraphEvent"
USED = ("latency_ms", "tokens", "cost")
_LINE_OF = {
    "signal_snapshot": "signal",
    "attempt_closed": "outcome",
}  # kinds as the document calls them
# Members of an attempt that the event that closes it repeats.
_KEPT = (
    "signal",
    "mutation",
    "personality",
    "gene",
    "action",
    "hypothesis",
    "capsules",
)
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
        if name not in ("v", "project", "source", "line")
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
        observations: {name: text, number or truth value}, such as recent_error_count
            and scan_ms; long texts are cut.
        agent: Who met them.

    Raises:
        InvalidInput: As `designs.causal.keys.checked_signals` raises it.
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
    mutation: Given | None = None,
    personality_state: Given | None = None,
    selector: Given | None = None,
    drift_enabled: bool = False,
    selected_by: str = "selector",
    capsules_used: Sequence[str] = (),
    agent: str = "main",
) -> RecordedAction:
    """Record what is expected of a gene before it is tried; return its id.

    Args:
        home: Where it is kept.
        signals: The signals.
        selected_gene: The gene that is to be tried.
        observations: As `record_signal_snapshot` takes them.
        mutation: What is to be changed, as `checked_mutation` takes it; an invalid one
            is recorded as none.
        personality_state: The parameters of the personality, 0 to 1 each.
        selector: How the gene was chosen, as `GeneSelection.to_dict` returns it.
        drift_enabled: Whether drift was on.
        selected_by: What chose the gene.
        capsules_used: Ids of the capsules that are used, up to 64.
        agent: Who expects it.

    Raises:
        InvalidInput: Something is outside the rules.
    """
    body = _tried_body(
        home,
        signals,
        selected_gene,
        observations=observations,
        mutation=mutation,
        personality_state=personality_state,
        selector=selector,
        drift_enabled=drift_enabled,
        selected_by=selected_by,
        capsules_used=capsules_used,
    )
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
    category = mutation.get("category")
    if not category:
        category = gene.get("category")
    aim = _ADVICE.get(str(category), "help")
    name = gene.get("id", "") or "none"
    return f"The gene {name} is expected to {aim} under {signal_key}."


def record_attempt(
    home: Home,
    signals: Sequence[str],
    selected_gene: Given | None = None,
    *,
    hypothesis_id: str | None = None,
    observations: Given | None = None,
    mutation: Given | None = None,
    personality_state: Given | None = None,
    selector: Given | None = None,
    drift_enabled: bool = False,
    selected_by: str = "selector",
    capsules_used: Sequence[str] = (),
    agent: str = "main",
) -> RecordedAction:
    """Record that a gene is tried, before it is known what comes of it.

    Args:
        home: Where it is kept.
        signals: The signals.
        selected_gene: The gene that is tried.
        hypothesis_id: The hypothesis that it tests.
        observations: As `record_signal_snapshot` takes them.
        mutation: As `record_hypothesis` takes it, like the following.
        personality_state: The parameters of the personality.
        selector: How the gene was chosen.
        drift_enabled: Whether drift was on.
        selected_by: What chose the gene.
        capsules_used: Ids of the capsules that are used.
        agent: Who tries it.

    Returns:
        The id of the action.

    Raises:
        InvalidInput: Something is outside the rules.
    """
    body = _tried_body(
        home,
        signals,
        selected_gene,
        observations=observations,
        mutation=mutation,
        personality_state=personality_state,
        selector=selector,
        drift_enabled=drift_enabled,
        selected_by=selected_by,
        capsules_used=capsules_used,
    )
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
    latency_ms: float | None = None,
    tokens: float | None = None,
    cost: float | None = None,
    agent: str = "main",
) -> dict[str, Any] | None:
    """Close an attempt by the signals that are there now.

    Args:
        home: Where it is kept.
        signals: The signals that are there now.
        observations: As `record_signal_snapshot` takes them.
        evidence: A log in which an EvolutionEvent may say how it came out; it is not
            kept.
        action_id: The attempt; default: the agent's last open one.
        latency_ms: How long it took.
        tokens: How many tokens it took.
        cost: What it cost.
        agent: Whose attempt it is.

    Returns:
        The event in the document's form, None where nothing is open.

    Raises:
        InvalidInput: The action is unknown or closed.
    """
    now = checked_signals(signals)

    def inferred(body: Given) -> InferredOutcome:
        error_tokens = causal_settings(home).error_tokens
        return infer_outcome_enhanced(
            body["had_error"],
            has_error(now, error_tokens),
            body.get("observed"),
            observations,
            evidence=evidence,
        )

    current = checked_observations(observations)
    used = {"latency_ms": latency_ms, "tokens": tokens, "cost": cost}
    return _close(home, action_id, agent, inferred, now, current, used)


def close(
    home: Home,
    action_id: str,
    status: str,
    score: float | None = None,
    *,
    note: str = "",
    signals: Sequence[str] = (),
    latency_ms: float | None = None,
    tokens: float | None = None,
    cost: float | None = None,
    agent: str = "main",
) -> dict[str, Any]:
    """Close an attempt as a success or a failure that is known.

    Args:
        home: Where it is kept.
        action_id: The attempt.
        status: success or failed.
        score: From 0 to 1.
        note: How that is known.
        signals: The signals that are there now.
        latency_ms: How long it took.
        tokens: How many tokens it took.
        cost: What it cost.
        agent: Whose attempt it is.

    Raises:
        InvalidInput: As `record_outcome_from_state` raises it.
    """
    if status not in (SUCCESS, FAILED):
        raise InvalidInput(
            f"got the status {status!r}; allowed are {SUCCESS} and {FAILED}"
        )
    worth = float(status == SUCCESS)
    if score is not None:
        worth = checked_fraction("score", score)
    outcome = InferredOutcome(status, worth, note[:_NOTE_CHARACTERS] or "told")
    now = checked_signals(signals)
    used = {"latency_ms": latency_ms, "tokens": tokens, "cost": cost}
    event = _close(home, action_id, agent, lambda _body: outcome, now, None, used)
    assert event is not None  # an action that is named is there, or refused
    return event


def _close(
    home: Home,
    action_id: str | None,
    agent: str,
    infer: Callable[[Given], InferredOutcome],
    now: list[str],
    current: Given | None,
    used: Mapping[str, float | None],
) -> dict[str, Any] | None:
    """Close an attempt by the outcome that is inferred from its body.

    Returns:
        The event in the document's form, None where nothing is open.

    Raises:
        InvalidInput: The action is unknown or closed, or a figure in `used` is refused.
    """
    check_used(used)
    while True:
        attempt = _attempt_to_close(home, action_id, agent)
        if attempt is None:
            return None
        outcome = infer(attempt.body)
        event = closing(
            attempt,
            outcome,
            now,
            current=current,
            used=used,
            at=home.clock.now(),
        )
        try:
            home.journal.append([event])
        except AlreadyThere as error:
            if action_id is not None:
                raise _closed(action_id) from error
            # another process closed it just now: the one before it is the last
            continue
        return document_form(event)


def _attempt_to_close(home: Home, action_id: str | None, agent: str) -> Event | None:
    """Return the attempt of an action, which may be closed.

    Without one it is the agent's last open attempt.
    """
    if action_id is None:
        with home.views.reading(Graph) as view:
            last = view.last_open(check_agent(agent))
        if last is None:
            return None
        return home.journal.read(seqs=[last.seq])[0]
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
    *,
    current: Given | None,
    used: Mapping[str, float | None],
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
    for name, value in used.items():
        if value is not None:
            closed[name] = value
    for name in ("source", "project", "told"):
        if name in body:
            closed[name] = body[name]
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
    members = dict(asset)
    members.pop("asset_id", None)
    text = json.dumps(
        members,
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
    )
    content = text.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(content).hexdigest()
    return f"sha256:{digest}"


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
    """Return the event that tells a gene or a capsule as it is now, its secrets masked.

    Args:
        asset: The gene or the capsule.
        source: Whose word it is.
        project: The project that it belongs to.
        agent: Who tells it.
        at: When, in µs UTC.
        session: In which session.
        lineage: Ids of the events that it rests on.
    """
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
    # A text is no list of signals: it is refused as it is.
    if not isinstance(signals, str):
        signals = list(signals)
    masked = checked_signals(kept_value(signals))
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
    cut = dict(observations)
    has_names = all(isinstance(name, str) for name in observations)
    is_plain = has_names and len(cut) <= MOST_OBSERVED
    for name, value in observations.items():
        if not isinstance(value, str | int | float | None):
            is_plain = False
        if isinstance(value, str):
            cut[name] = value[:_OBSERVED_CHARACTERS]
    if not is_plain:
        allowed = f"up to {MOST_OBSERVED} texts, numbers and truth values by name"
        raise InvalidInput(
            f"got the observations {observations!r:.200}; allowed are {allowed}"
        )
    return cut


def checked_id(name: str, value: object) -> str:
    """Return an id.

    Args:
        name: What it is the id of, as an error calls it.
        value: The id.

    Raises:
        InvalidInput: It is not 1 to 200 printable ASCII characters. Others may look
            like another id.
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

    Args:
        name: As an error calls it.
        value: The number.

    Raises:
        InvalidInput: It is another value.
    """
    if not _within(value, 1):
        raise InvalidInput(
            f"got the {name} {value!r:.60}; allowed is a number from 0 to 1"
        )
    return float(value)


def check_used(used: Mapping[str, object]) -> None:
    """Raise an error for what an attempt cannot have used.

    Raises:
        InvalidInput: A latency_ms, tokens or cost is no finite number from 0, or has
            another name.
    """
    for name, value in used.items():
        is_allowed = value is None or _within(value, _MOST_USED)
        if name not in USED or not is_allowed:
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


def _tried_body(
    home: Home,
    signals: Sequence[str],
    selected_gene: Given | None,
    *,
    observations: Given | None,
    mutation: Given | None,
    personality_state: Given | None,
    selector: Given | None,
    drift_enabled: bool,
    selected_by: str,
    capsules_used: Sequence[str],
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
