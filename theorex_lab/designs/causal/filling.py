"""Read attempts from what was captured.

An attempt is a call that failed, what was done about it, and how the same call then
went. Signals are the error and what was called. What was done becomes a gene, by the
kind of act, as `remedies` names it; so does a fix or a strategy that was given
meanwhile, and another model. The next
call of the same kind closes the attempt, else the outcome that is recorded in the
session.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from theorex_lab.core.ids import derived_event_id
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.designs.causal.capture import (
    USED,
    asset_event,
    closing,
    infer_outcome,
    signal_member,
)
from theorex_lab.designs.causal.failing import (
    failed_program,
    runs_program,
)
from theorex_lab.designs.causal.graph import own_assets
from theorex_lab.designs.causal.keys import ERROR_SIGNAL, stable_hash
from theorex_lab.designs.causal.remedies import (
    AGAIN,
    WITHOUT,
    acts_in_words,
    changes_in_words,
    covers,
)
from theorex_lab.designs.causal.signatures import error_signature_of
from theorex_lab.journal.base import append_once
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Event, new_event, tool_key
from theorex_lab.journal.view import View
from theorex_lab.memory.annotations import known_item
from theorex_lab.memory.checks import error_line, error_of, family_of, has_failed
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import FIX_TYPE

# Commands and tools that only look, and tools that do not tell what they changed.
_LOOKS = lazy_pattern(
    r"""
    (?:\s*cd(?:[ ][^\s;&]+)?[ ]*(?:&&|;)\s*)*(?:
          ls
        | cat
        | head
        | tail
        | less
        | grep
        | rg
        | ag
        | find
        | fd
        | wc
        | pwd
        | echo
        | which
        | tree
        | stat
        | file
        | diff
        | env
        | printenv
        | sed[ ]-n
        | jq
        | ps
        | du
        | df
        | date
        | git[ ](?:status|log|diff|show|branch|blame|remote|ls-files)
        | read\w*
        | glob
        | search\w*
        | list\w*
        | websearch
        | webfetch
        | todo\w*
        | think
        | fetch\w*
        | ask\w*
        | exitplanmode
        | task\w*
        | edit
        | multiedit
        | write
        | notebookedit
    )(?=\s|$|\|)
    """,
    re.VERBOSE,
)
_HOUR = 3_600_000_000  # µs
_CALLS = 40  # of a session, among which the same call is sought
_MOST_ACTS = 3
_ERROR_CHARACTERS = 300
_GIVEN_KINDS = ("fix", "strategy", "gene")  # of items that say what to do
_READ_KINDS = ("tool_used", "outcome", "recalled")


class Failures(View):
    """Hold calls that failed, a row each, and the last event of each session.

    A command that only looks fails where nothing is found, which is no failure. A trace
    in which a model failed and another was asked is a row without a session (-1).

    Attributes:
        rows: seq of the call; session: its number; answered: whether an attempt tells
            what was done about it.
        ends: Of each session the seq and the time (µs) of its last call.
    """

    name = "causal_failures"
    code = 1
    kinds = ("tool_used", "trace_ended", "attempt")

    def __init__(self) -> None:
        super().__init__()
        self.sessions = Names()
        self.ids = Names()
        self.rows = Table(seq="i8", session="i4", answered="?")
        self.ends = Table(seq="i8", at="i8")

    def _tool_used(self, event: Event) -> None:
        session = self.sessions.number(f"{event.agent}/{event.session}")
        if session == len(self.ends):
            self.ends.add()
        self.ends.put(session, seq=event.seq, at=event.at)
        if has_failed(event) and not (event.body.get("command") and _only_looks(event)):
            self._failed(event, session)

    def _trace_ended(self, event: Event) -> None:
        if any(True for _ in _models(event)):
            self._failed(event, -1)

    def _failed(self, event: Event, session: int) -> None:
        self.ids.number(event.id)
        self.rows.add(seq=event.seq, session=session)

    def _attempt(self, event: Event) -> None:
        row = self.ids.find(event.body.get("cause", ""))
        if row is not None:
            self.rows.put(row, answered=True)


class FailureRepair(NamedTuple):
    """Hold what was done about a failure.

    Attributes:
        acts: What was done, in words.
        given: Ids of items that were given meanwhile and say what to do.
        closed_by: The event that told how it went; None where nothing did.
        success: Whether it went well.
    """

    acts: tuple[str, ...]
    given: tuple[str, ...]
    closed_by: Event | None
    success: bool


def fill_in_maintenance(home: Home, agent: str | None) -> str:
    """Tell the attempts of sessions without a call for sessionIdleHours.

    It is a step of maintenance.
    """
    return f"{fill(home, agent)} attempts"


def fill(home: Home, agent: str | None = None, session: str | None = None) -> int:
    """Tell the attempts of the failures that are not answered yet.

    Repeating it changes nothing.

    Args:
        home: Where they are kept.
        agent: Only of this agent; default: of all.
        session: Only of this session; default: of those that are idle.

    Returns:
        How many attempts were told.
    """
    traces, sessions = _unanswered(home, agent, session)
    n_attempts = 0
    for event in home.journal.read(seqs=sorted(traces)):
        if agent in (None, event.agent):
            n_attempts += _tell_trace(home, event)
    for owner, failures in sessions.items():
        # What may close an attempt: up to the last call, and what followed at once.
        start = min(failures.seqs) - 1
        end = failures.last_call + _CALLS
        captured = home.journal.tail(start, kinds=_READ_KINDS, upto=end)
        events = [event for event in captured if (event.agent, event.session) == owner]
        for index, event in enumerate(events):
            if event.seq in failures.seqs:
                tried = what_was_tried(home, event, events[index + 1 :])
                n_attempts += _tell(home, event, tried)
    return n_attempts


class _SessionFailures(NamedTuple):
    """Hold the failures of a session.

    Attributes:
        seqs: The seqs of the calls that failed.
        last_call: The seq of the session's last call.
    """

    seqs: set[int]
    last_call: int


def _unanswered(
    home: Home, agent: str | None, session: str | None
) -> tuple[set[int], dict[tuple[str, str], _SessionFailures]]:
    """Return the failures that are not answered yet: of traces, and of sessions.

    Those of sessions stand by agent and session: of the one that is asked for, or of
    those that are idle.
    """
    idle_since = home.clock.now() - round(home.settings.session_idle_hours * _HOUR)
    by_number = dict[int, set[int]]()
    sessions = dict[tuple[str, str], _SessionFailures]()
    with home.views.reading(Failures) as view:
        is_unanswered = ~view.rows["answered"]
        for row in np.flatnonzero(is_unanswered).tolist():
            number = int(view.rows["session"][row])
            seqs = by_number.setdefault(number, set())
            seqs.add(int(view.rows["seq"][row]))
        traces = by_number.pop(-1, set())
        for number, seqs in by_number.items():
            owner, _, name = view.sessions[number].partition("/")
            is_idle = view.ends["at"][number] <= idle_since
            is_over = session is not None or is_idle
            is_asked_for = agent in (None, owner) and session in (None, name)
            if is_over and is_asked_for:
                last_call = int(view.ends["seq"][number])
                sessions[owner, name] = _SessionFailures(seqs, last_call)
    return traces, sessions


def signals_of(event: Event) -> list[str]:
    r"""Return the signals of a call that failed.

    They say that it did, its error without what changes from time to time, what was
    called, and the class of the error of a check.

    >>> from theorex_lab.journal.event import new_event
    >>> body = {
    ...     "tool": "Bash",
    ...     "command": "go test ./...",
    ...     "response": "Exit code 1\n--- FAIL: TestSync",
    ...     "ok": True,
    ... }
    >>> signals = signals_of(new_event("tool_used", body, agent="main", at=0))
    >>> signals[:3]
    ['log_error', 'errsig:--- FAIL: TestSync', 'tool:bash']
    >>> signals[3:]
    ['command:go test', 'class:a failed test']
    """
    body = event.body
    signals = ["log_error"]
    line = error_line(body.get("response", ""))
    error = error_signature_of(line[:_ERROR_CHARACTERS])
    if error:
        signals.append(ERROR_SIGNAL + error)
    signals.append(f"tool:{body['tool'].rpartition('__')[2].lower()}")
    program = _failed_program(event)
    if program:
        signals.append(f"command:{program}")
    if family_of(program):
        signals.append(f"class:{error_of(body.get('response', ''))}")
    return signals


def _failed_program(failed: Event) -> str:
    """Return the check or the program of a call that failed; '' without a command."""
    command = failed.body.get("command", "")
    response = failed.body.get("response", "")
    error = error_line(response)
    error_class = error_of(response) if family_of(command) else ""
    return failed_program(command, error, error_class)


def what_was_tried(home: Home, failed: Event, after: Sequence[Event]) -> FailureRepair:
    """Return what was done after a call that failed.

    It counts until the same kind of call was made again, among the next 40 calls of its
    session.

    Args:
        home: Where the items are that were given meanwhile.
        failed: The call that failed.
        after: What its session did after it, in order.
    """
    item_ids: list[str] = []
    between: list[Event] = []
    for event in after[:_CALLS]:
        if event.kind == "recalled":
            item_ids += _telling_items(home, event)
        elif _closes(event, failed):
            return _repair(failed, between, item_ids, event)
        elif not _only_looks(event):
            between.append(event)
    acts = acts_in_words(failed, between)
    return FailureRepair(_few(acts), _few(item_ids), None, False)


def _repair(
    failed: Event, between: Sequence[Event], item_ids: Sequence[str], closed_by: Event
) -> FailureRepair:
    """Return what was done up to the event that told how it went."""
    acts = acts_in_words(failed, between)
    program = _failed_program(failed)
    if closed_by.kind == "outcome":
        success = bool(closed_by.body["success"])
    else:
        acts = acts or changes_in_words(failed, closed_by, program)
        success = not has_failed(closed_by)
    return FailureRepair(_few(acts), _few(item_ids), closed_by, success)


def _closes(event: Event, failed: Event) -> bool:
    """Return whether an event tells how what was done about a failure went."""
    if event.kind == "outcome":
        return True
    if _call(event) != _call(failed):
        return False
    program = _failed_program(failed)
    command = event.body.get("command", "")
    if not program:
        return not command
    return runs_program(command, program) and covers(event, failed, program)


def _telling_items(home: Home, event: Event) -> list[str]:
    """Return the items that were given and say what to do."""
    return [item for item in event.body["items"] if _says_what_to_do(home, item)]


def _few(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the first texts, each once."""
    return tuple(dict.fromkeys(texts))[:_MOST_ACTS]


def _call(event: Event) -> tuple[str, str]:
    """Return what makes two calls the same kind beside the program that they run.

    It is the tool, and the file that is edited.
    """
    edited = _edited(event)
    file = edited[0] if edited else ""
    return tool_key(event.body["tool"]), file


def _edited(event: Event) -> list[str]:
    """Return the paths that a call edited."""
    return list((event.body.get("paths") or {}).get("edited") or ())


def _only_looks(event: Event) -> bool:
    """Return whether a call changes nothing: its command, or its tool, only looks."""
    command = event.body.get("command", "")
    if _edited(event) or family_of(command):
        return False
    callee = command or tool_key(event.body["tool"])
    return bool(_LOOKS.match(callee))


def _says_what_to_do(home: Home, item: str) -> bool:
    """Return whether an item is a fix, a strategy or a gene."""
    annotated = known_item(home, item)
    if annotated is None or not annotated.text:
        return False
    index = home.views.get(home.item_view)
    kinds = {index.kind_of(row) for row in index.rows_of(item).tolist()}
    if kinds.intersection(_GIVEN_KINDS):
        return True
    return any(event.body.get("type") == FIX_TYPE for event in annotated.events)


def _tell(home: Home, failed: Event, tried: FailureRepair) -> int:
    """Append the attempts at a failure and how they were closed, in one transaction.

    Returns:
        How many attempts; 0 where that was done meanwhile.
    """
    signals = signals_of(failed)
    genes: list[tuple[str, dict[str, Any] | None]] = [
        (item, None) for item in tried.given
    ]
    if tried.acts or not genes:
        gene = _gene_of(tried, signals)
        genes.append((gene["id"], gene))
    events = _attempts(home, failed, signals, genes, tried.closed_by, tried.success)
    return len(genes) if append_once(home.journal, events) else 0


def _gene_of(tried: FailureRepair, signals: Sequence[str]) -> dict[str, Any]:
    """Return the gene of what was done about a failure."""
    acts = tried.acts
    if not acts:
        again = tried.closed_by is not None and tried.closed_by.kind == "tool_used"
        acts = (AGAIN if again else WITHOUT,)
    return {
        "type": "Gene",
        "id": f"gene_seen_{stable_hash('; '.join(acts))}",
        "category": "repair",
        "signals_match": [
            signal
            for signal in signals
            if signal != "log_error" and not signal.startswith(ERROR_SIGNAL)
        ],
        "strategy": list(acts),
    }


def _attempts(
    home: Home,
    failed: Event,
    signals: Sequence[str],
    genes: Sequence[tuple[str, dict[str, Any] | None]],
    closed_by: Event | None,
    success: bool,
    used: dict[str, float | None] | None = None,
) -> list[Event]:
    """Return the events of the attempts at a failure.

    They are each gene, if it is new, its attempt, and how that was closed.

    Args:
        home: Where they are to be kept.
        failed: The failure.
        signals: Its signals.
        genes: The genes that were tried, with their assets where they may be new.
        closed_by: The event that told how it went; None where nothing did.
        success: Whether it went well.
        used: latency_ms, tokens and cost, where they are known.
    """
    about = {
        "source": failed.body.get("source", "agent"),
        "project": failed.body.get("project", ""),
    }
    who: dict[str, Any] = {"agent": failed.agent, "session": failed.session}
    # What was done is in the agent's own words; what failed is told in the tool's.
    gene_source = "agent" if about["source"] == "tool" else about["source"]
    events = []
    trusted_ids = own_assets(home, [gene for gene, _ in genes])
    for gene, asset in genes:
        if asset is not None and gene not in trusted_ids:
            new_gene = asset_event(
                asset,
                source=gene_source,
                project=about["project"],
                **who,
                at=failed.at,
                lineage=[failed.id],
            )
            events.append(new_gene)
        body = {**_attempt_body(failed, signals, gene, asset), **about}
        attempt = new_event(
            "attempt",
            body,
            **who,
            lineage=[failed.id],
            at=failed.at,
            event_id=derived_event_id("attempt", failed.id, gene),
        )
        events.append(attempt)
        if closed_by is not None:
            events.append(_closed(attempt, closed_by, signals, success, used or {}))
    return events


def _attempt_body(
    failed: Event, signals: Sequence[str], gene: str, asset: dict[str, Any] | None
) -> dict[str, Any]:
    """Return what an attempt at a failure says, but for its source and project."""
    return {
        "signal": signal_member(signals),
        "mutation": None,
        "personality": None,
        "gene": {"id": gene, "category": "repair"},
        "action": {
            "id": f"act_{derived_event_id('attempt', failed.id, gene)}",
            "drift": False,
            "selected_by": "captured",
            "selector": None,
        },
        "capsules": {"used": []},
        "had_error": True,
        "observed": None,
        "hypothesis": None,
        "cause": failed.id,
        "told": _in_words(signals, asset),
    }


def _closed(
    attempt: Event,
    closed_by: Event,
    signals: Sequence[str],
    success: bool,
    used: dict[str, float | None],
) -> Event:
    """Return the event that closes an attempt, by the event that told how it went."""
    signals_now: Sequence[str] = []
    if not success and closed_by.kind == "tool_used":
        signals_now = signals_of(closed_by)
    elif not success:
        signals_now = signals
    return closing(
        attempt,
        infer_outcome(True, not success),
        signals_now,
        current=None,
        used=used,
        at=closed_by.at,
        lineage=[closed_by.id],
    )


def _in_words(signals: Sequence[str], asset: dict[str, Any] | None) -> str:
    """Return an attempt for who searches; '' without a gene of its own.

    It tells the error, in the words of the tool, and what was done.
    """
    if not asset:
        return ""
    errors = [signal for signal in signals if signal.startswith(ERROR_SIGNAL)]
    error = errors[0].removeprefix(ERROR_SIGNAL) if errors else ""
    where = []
    for signal in signals:
        name, _, value = signal.partition(":")
        if name in ("tool", "command", "class"):
            where.append(value)
    acts = "; ".join(asset["strategy"])
    return f"{error or 'an error'} ({', '.join(where)}): {acts}"


def _models(event: Event) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield pairs of a model's failed attempt and the next model's.

    They are those of a call that went on.
    """
    attempts = [
        attempt
        for attempt in event.body.get("attempts", ())
        if not attempt.get("unavailable")
    ]
    for attempt, next_attempt in pairwise(attempts):
        if not attempt["success"] and attempt.get("error"):
            yield attempt, next_attempt


def _tell_trace(home: Home, event: Event) -> int:
    """Tell another model that was asked after one had failed; return how many.

    Its gene is `model:NAME`.
    """
    events: list[Event] = []
    for attempt, next_attempt in _models(event):
        error = error_signature_of(attempt["error"][:_ERROR_CHARACTERS])
        signals = [
            "log_error",
            f"{ERROR_SIGNAL}{error}",
            f"query_type:{event.body['query_type']}",
        ]
        events += _attempts(
            home,
            event,
            signals,
            [(f"model:{next_attempt['model']}", None)],
            event,
            next_attempt["success"],
            {name: next_attempt.get(name) for name in USED},
        )
    if not append_once(home.journal, events):
        return 0
    return sum(event.kind == "attempt" for event in events)
