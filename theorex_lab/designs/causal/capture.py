"""What happens is recorded: signals, hypotheses, attempts, and outcomes, which are told
or inferred from what is seen after them.

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
    """How it came out: success or failed, 0..1, and what that was read from."""

    status: str
    score: float
    note: str


def infer_outcome(had_error: bool, has_error: bool) -> InferredOutcome:
    """By whether an error was there before and is there now.

    >>> infer_outcome(True, False)
    Inferred(status='success', score=0.85, note='error_cleared')
    """
    return InferredOutcome(*_INFERRED[had_error, has_error])


def infer_outcome_enhanced(
    had_error: bool,
    has_error: bool,
    baseline: Mapping[str, Any] | None = None,
    current: Mapping[str, Any] | None = None,
    evidence: str = "",
) -> InferredOutcome:
    """As `infer_outcome`, unless an EvolutionEvent among the last 400 lines of
    `evidence` says how it came out.

    The score rises with errors that are gone (recent_error_count, up to .12) and with a
    quicker scan (scan_ms, up to .06) where both figures are known.

    >>> infer_outcome_enhanced(
    ...     True,
    ...     True,
    ...     {"recent_error_count": 5, "scan_ms": 100},
    ...     {"recent_error_count": 8, "scan_ms": 50},
    ... )
    Inferred(status='failed', score=0.2, note='error_persisted|heuristic_delta')
    """
    if observed := _observed(evidence):
        return observed
    base = infer_outcome(had_error, has_error)
    score = base.score
    for name, part, most in (
        ("recent_error_count", _ERRORS_PER_SCORE, _MOST_BY_ERRORS),
        ("scan_ms", 0, _MOST_BY_SCAN),
    ):
        before = number_of(baseline, name)
        now = number_of(current, name)
        if before is not None and now is not None and (part or before) > 0:
            score += at_most((before - now) / (part or before), most)
    return InferredOutcome(
        base.status,
        round(min(1.0, max(0.0, score)), 12),
        f"{base.note}|heuristic_delta",
    )


def at_most(value: float, most: float) -> float:
    """The value, no further than `most` from 0."""
    return max(-most, min(most, value))


def number_of(observed: Mapping[str, Any] | None, name: str) -> float | None:
    """The finite number that a member is; None for another value and without one."""
    value = (observed or {}).get(name)
    usable = (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) < _MOST
    )
    return float(value) if usable else None  # type: ignore[arg-type]


def _observed(evidence: str) -> InferredOutcome | None:
    """What the newest EvolutionEvent of a log says."""
    for line in reversed(evidence.splitlines()[-_LAST_LINES:]):
        if '"EvolutionEvent"' not in line:
            continue
        try:
            event = json.loads(line)
        except (
            ValueError,
            RecursionError,
        ):  # a line that was cut, or is something else
            continue
        said = (
            event.get("outcome")
            if isinstance(event, dict) and event.get("type") == "EvolutionEvent"
            else None
        )
        if isinstance(said, dict) and (found := _said(said)):
            return found
    return None


def _said(outcome: Mapping[str, Any]) -> InferredOutcome | None:
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
    """The five parameters of a personality, clipped to 0..1; one that is not given has
    its default.

    Raises InvalidInput for a parameter that is no finite number, and for one that there
    is not.
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
    """The key of a personality: its parameters rounded to .1, halves up; one that is
    not given has its default.

    >>> personality_key({"rigor": 0.72})
    'rigor=0.7|creativity=0.4|verbosity=0.3|risk_tolerance=0.4|obedience=0.9'
    """
    return "|".join(
        f"{name}={math.floor(value * 10 + 0.5) / 10:.1f}"
        for name, value in checked_state(state).items()
    )


def checked_mutation(mutation: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A mutation as events hold it: its category and what else was said of it; None for
    none, or an invalid one.

    Without a risk_level it is low, without an id it gets one from its content.

    >>> (
    ...     checked_mutation({"category": "repair", "trigger_signals": ["log_error"]})[
    ...         "risk_level"
    ...     ],
    ...     checked_mutation({"category": "break"}),
    ... )
    ('low', None)
    """
    given = {
        "risk_level": "low",
        "trigger_signals": [],
        **(mutation if isinstance(mutation, Mapping) else {}),
    }
    texts = {name: given.get(name, "") for name in _TEXTS}
    triggers = given["trigger_signals"]
    known = (
        given.get("category") in CATEGORIES
        and given["risk_level"] in RISKS
        and isinstance(triggers, list | tuple)
    )
    if not known or not all(
        isinstance(text, str) for text in [*triggers, *texts.values()]
    ):
        return None
    made = {name: text[:_TEXT_CHARACTERS] for name, text in texts.items()}
    made |= {"category": given["category"], "risk_level": given["risk_level"]}
    made["trigger_signals"] = [
        text[:_TEXT_CHARACTERS] for text in triggers[:_MOST_TRIGGERS]
    ]
    return {
        **made,
        "id": made["id"] or f"mut_{derived_event_id('mutation', json.dumps(made))}",
    }


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
_MOST_CAPSULES, _MOST_USED = 64, 2**62  # what the sums of evidence hold
_ADVICE = {
    "repair": "reduce errors",
    "optimize": "improve what is there",
    "innovate": "open a new way",
}


class RecordedAction(NamedTuple):
    """The id of what was recorded, the key of its signals, and the event in the
    document's form.
    """

    id: str
    signal_key: str
    event: dict[str, Any]


def document_form(event: Event) -> dict[str, Any]:
    """An event as the document writes it on a line."""
    kept = {
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
        **kept,
    }


def in_ms(at: int) -> str:
    """A time (µs UTC) as lines have it, in whole milliseconds."""
    return f"{to_iso(at)[:-4]}Z"


def record_signal_snapshot(
    home: Home,
    signals: Sequence[str],
    observations: Given | None = None,
    *,
    agent: str = "main",
) -> dict[str, Any]:
    """Record the signals that are there now; returns the event in the document's form.
    Raises InvalidInput as `keys.checked_signals`.

    observations: {name: text, number or truth value}, such as recent_error_count and
    scan_ms; long texts are cut.
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
    """Record what is expected of a gene before it is tried; returns its id.

    about: mutation, personality_state, selector, drift_enabled, selected_by,
    capsules_used. Raises InvalidInput for what is outside the rules.
    """
    body = _about(home, signals, selected_gene, observations, **about)
    gene = body["gene"] or {}
    at = home.clock.now()
    hypothesis_id = f"hyp_{new_event_id(at)}"
    key = body["signal"]["key"]
    aim = _ADVICE.get(
        str((body["mutation"] or {}).get("category") or gene.get("category")), "help"
    )
    text = f"The gene {gene.get('id') or 'none'} is expected to {aim} under {key}."
    said = {
        "id": hypothesis_id,
        "text": text[:_NOTE_CHARACTERS],
        "predicted_outcome": {"status": None, "score": None},
    }
    told = _append(
        home,
        "hypothesis",
        {"signal": body.pop("signal"), "hypothesis": said, **body},
        agent,
    )
    return RecordedAction(hypothesis_id, key, told)


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
    """Record that a gene is tried, before it is known what comes of it; returns the id
    of the action.

    about: as `record_hypothesis`. Raises InvalidInput for what is outside the rules.
    """
    body = _about(home, signals, selected_gene, observations, **about)
    made = new_event_id(home.clock.now())
    body["action"]["id"] = f"{_ACTION}{made}"
    body["hypothesis"] = (
        {"id": checked_id("hypothesis", hypothesis_id)} if hypothesis_id else None
    )
    return RecordedAction(
        body["action"]["id"],
        body["signal"]["key"],
        _append(home, "attempt", body, agent, made),
    )


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
    """Close an attempt by the signals that are there now: that of `action_id`, else the
    agent's last open one.

    Returns the event in the document's form, None where nothing is open. evidence: a
    log in which an EvolutionEvent may say how it came out; it is not kept.  used:
    latency_ms, tokens, cost. Raises InvalidInput for an action that is unknown or
    closed.
    """
    now = checked_signals(signals)

    def inferred(body: Given) -> InferredOutcome:
        found = has_error(now, causal_settings(home).error_tokens)
        return infer_outcome_enhanced(
            body["had_error"], found, body.get("observed"), observations, evidence
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
    """Close an attempt as a success or a failure that is known; score: 0..1. Raises
    InvalidInput as `record_outcome_from_state`.
    """
    if status not in (SUCCESS, FAILED):
        raise InvalidInput(
            f"got the status {status!r}; allowed are {SUCCESS} and {FAILED}"
        )
    worth = (
        float(status == SUCCESS) if score is None else checked_fraction("score", score)
    )
    said = InferredOutcome(status, worth, note[:_NOTE_CHARACTERS] or "told")
    found = _close(
        home, action_id, agent, lambda _body: said, checked_signals(signals), None, used
    )
    assert found is not None  # an action that is named is there, or refused
    return found


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
    """The attempt of an action, which may be closed; without one the agent's last open
    attempt.
    """
    if action_id is None:
        with home.views.reading(Graph) as view:
            last = view.last_open(check_agent(agent))
        return home.journal.read(seqs=[last.seq])[0] if last else None
    # Most attempts have the id of their action: they are found without folding what
    # came since.
    told = home.journal.read(ids=[action_id.removeprefix(_ACTION)])
    if told and told[0].kind == "attempt":
        return told[0]
    found = attempt_of(home, action_id)
    if not found.open:
        raise _closed(action_id)
    return home.journal.read(seqs=[found.seq])[0]


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
    """The event that closes an attempt; a second one for the same attempt has the same
    id.
    """
    body = attempt.body
    kept = {name: body.get(name) for name in _KEPT}
    # What the attempt says was masked when it was told.
    said = {**outcome._asdict(), "observed": {"current_signals": list(now)}}
    seen = kept_value(
        {"outcome": said, "observed": current, "error_signature": error_signature(now)}
    )
    kept["signal"] = {**body["signal"], "error_signature": seen.pop("error_signature")}
    kept |= {
        **seen,
        "confidence": {"half_life_days": 30},
        "baseline": body.get("observed"),
    }
    kept |= {name: value for name, value in used.items() if value is not None}
    kept |= {name: body[name] for name in ("source", "project", "told") if name in body}
    made = derived_event_id("attempt_closed", body["action"]["id"])
    who = {"agent": attempt.agent, "session": attempt.session}
    return new_event(
        "attempt_closed",
        kept,
        **who,
        lineage=[attempt.id, *lineage],
        at=at,
        event_id=made,
    )


def asset_id(asset: Given) -> str:
    """The id of what an asset holds: sha256 of its JSON with sorted keys, without
    `asset_id`.

    >>> asset_id({"type": "Gene", "id": "g"})[:20]
    'sha256:559aed474e9e6'
    """
    kept = {name: value for name, value in asset.items() if name != "asset_id"}
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
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
    """The event that tells a gene or a capsule as it is now, its secrets masked."""
    kept = kept_value(dict(asset))
    body = {
        "asset": kept,
        "asset_id": asset_id(kept),
        "source": source,
        "project": project,
    }
    return new_event(
        "asset", body, agent=agent, session=session, lineage=lineage, at=at
    )


def signal_member(signals: Sequence[str]) -> dict[str, Any]:
    """Signals as events hold them: their key, as they were given, and the normal form
    of the first error.
    """
    found = checked_signals(
        kept_value(signals if isinstance(signals, str) else list(signals))
    )
    return {
        "key": compute_signal_key(found),
        "signals": found,
        "error_signature": error_signature(found),
    }


def checked_observations(observations: Given | None) -> dict[str, Any] | None:
    """What was observed, in plain members; long texts are cut. Raises InvalidInput for
    other values.
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


def checked_id(what: str, given: object) -> str:
    """An id. Raises InvalidInput for one that is not 1 to 200 printable ASCII
    characters: others may look like another id.
    """
    plain = (
        isinstance(given, str)
        and given.isascii()
        and given.isprintable()
        and given.strip()
    )
    if not plain or len(str(given)) > _ID_CHARACTERS:
        allowed = f"1 to {_ID_CHARACTERS} printable ASCII characters"
        raise InvalidInput(f"got the {what} id {given!r:.100}; allowed are {allowed}")
    return str(given)


def checked_fraction(what: str, given: Any) -> float:
    """A number from 0 to 1. Raises InvalidInput for another value."""
    if not _within(given, 1):
        raise InvalidInput(
            f"got the {what} {given!r:.60}; allowed is a number from 0 to 1"
        )
    return float(given)


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
    """What hypotheses and attempts say alike."""
    if len(capsules_used) > _MOST_CAPSULES:
        raise InvalidInput(
            f"got {len(capsules_used)} capsules; allowed are {_MOST_CAPSULES}"
        )
    signal = signal_member(signals)
    gene = selected_gene or {}
    return {
        "signal": signal,
        "mutation": checked_mutation(mutation),
        "personality": (
            {
                "key": personality_key(personality_state),
                "state": dict(personality_state),
            }
            if personality_state
            else None
        ),
        "gene": (
            {
                "id": checked_id("gene", gene.get("id")),
                "category": gene.get("category"),
            }
            if gene
            else None
        ),
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
    event = DesignApi(home).append(
        kind, {"source": "agent", **body}, agent=check_agent(agent), event_id=event_id
    )
    return document_form(event)
