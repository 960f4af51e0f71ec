"""Attempts that are read from what was captured: a call that failed, what was done
about it, and how the same call then went.

Signals are the error and what was called. What was done becomes a gene: the files that
were edited, the commands that were run, the arguments that were changed until the call
was repeated; a fix or a strategy that was given meanwhile; another model. The next call
of the same kind closes the attempt, else the outcome that is recorded in the session.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from theorex_lab.core.ids import derived_event_id
from theorex_lab.designs.causal.capture import (
    USED,
    asset_event,
    closing,
    infer_outcome,
    signal_member,
)
from theorex_lab.designs.causal.graph import own_assets
from theorex_lab.designs.causal.keys import ERROR_SIGNAL, stable_hash
from theorex_lab.journal.base import append_once
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Event, new_event, tool_key
from theorex_lab.journal.view import View
from theorex_lab.memory.annotations import known_item
from theorex_lab.memory.checks import error_line, error_of, family_of, has_failed
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import FIX_TYPE
from theorex_lab.text.line import one_line
from theorex_lab.text.paths import shown_path

# Commands and tools that only look, and tools that do not tell what they changed.
_LOOKS = re.compile(
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
# What stands before the program of a command.
_BEFORE = re.compile(
    r"""
    ^(?:
        \s*(?:
              cd(?:[ ][^\s;&]+)?[ ]*(?:&&|;)
            | [A-Za-z_]\w*=\S+
            | sudo
            | time
            | uv[ ]run
            | poetry[ ]run
            | npx
            | bundle[ ]exec
        )\s+
    )*
    """,
    re.VERBOSE,
)
_HOUR = 3_600_000_000  # µs
_CALLS = 40  # of a session, among which the same call is sought
_MOST_ACTS = 6
_ACT_CHARACTERS = 120
_ERROR_CHARACTERS = 300
_GIVEN_KINDS = ("fix", "strategy", "gene")  # of items that say what to do
AGAIN, WITHOUT = (
    "make the same call again",
    "go on without it",
)  # where nothing else was done
_READ_KINDS = ("tool_used", "outcome", "recalled")


class Failures(View):
    """Calls that failed, a row each, and the last event of each session. A command that
    only looks fails where nothing is found.

    rows: seq of the call, session (its number), answered: whether an attempt tells what
    was done about it.  ends: of each session the seq and the time (µs) of its last
    call.  A trace in which a model failed and another was asked is a row without a
    session (-1).
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
        if (row := self.ids.find(event.body.get("cause", ""))) is not None:
            self.rows.put(row, answered=True)


class FailureRepair(NamedTuple):
    """What was done about a failure. acts: in words.  given: ids of items that were
    given meanwhile and say what to do.

    closed_by: the event that told how it went, None where nothing did.  success: how.
    """

    acts: tuple[str, ...]
    given: tuple[str, ...]
    closed_by: Event | None
    success: bool


def fill_at_night(home: Home, agent: str | None) -> str:
    """Tell the attempts of sessions without a call for flushIdleHours; a step of the
    night.
    """
    return f"{fill(home, agent)} attempts"


def fill(home: Home, agent: str | None = None, session: str | None = None) -> int:
    """Tell the attempts of the failures that are not answered yet: of an agent, or of
    all; of a session, or of those that are idle.

    Returns how many attempts were told. Repeating it changes nothing.
    """
    idle_since = home.clock.now() - round(home.settings.flush_idle_hours * _HOUR)
    failed = dict[int, set[int]]()
    over = dict[tuple[str, str], tuple[set[int], int]]()
    with home.views.reading(Failures) as view:
        for row in np.flatnonzero(~view.rows["answered"]).tolist():
            failed.setdefault(int(view.rows["session"][row]), set()).add(
                int(view.rows["seq"][row])
            )
        traces = failed.pop(-1, set())
        for number, seqs in failed.items():
            who, _, named = view.sessions[number].partition("/")
            asked = agent in (None, who) and session in (None, named)
            if asked and (session is not None or view.ends["at"][number] <= idle_since):
                over[who, named] = seqs, int(view.ends["seq"][number])
    switched = home.journal.read(seqs=sorted(traces))
    made = sum(
        _tell_trace(home, event) for event in switched if agent in (None, event.agent)
    )
    for (
        name,
        (seqs, last),
    ) in (
        over.items()
    ):  # what may close an attempt: up to the last call, and what followed at once
        told = home.journal.tail(min(seqs) - 1, kinds=_READ_KINDS, upto=last + _CALLS)
        events = [event for event in told if (event.agent, event.session) == name]
        for place, event in enumerate(events):
            if event.seq in seqs:
                made += _tell(
                    home, event, what_was_tried(home, event, events[place + 1 :])
                )
    return made


def signals_of(event: Event) -> list[str]:
    """The signals of a call that failed: that it did, its error, what was called, and
    the class of the error of a check.

    >>> from theorex_lab.journal.event import new_event
    >>> body = {
    ...     "tool": "Bash",
    ...     "command": "go test ./...",
    ...     "response": "Exit code 1\\n--- FAIL: TestSync",
    ...     "ok": True,
    ... }
    >>> signals = signals_of(new_event("tool_used", body, agent="main", at=0))
    >>> signals[:3]
    ['log_error', 'errsig:--- FAIL: TestSync', 'tool:bash']
    >>> signals[3:]
    ['command:go test', 'class:a failed test']
    """
    body, response = event.body, event.body.get("response", "")
    error = one_line(error_line(response), _ERROR_CHARACTERS)
    tool = body["tool"].rpartition("__")[2].lower()
    found = ["log_error", *([ERROR_SIGNAL + error] if error else []), f"tool:{tool}"]
    if command := _program(body.get("command", "")):
        found.append(f"command:{command}")
    return found + (
        [f"class:{error_of(response)}"] if family_of(body.get("command", "")) else []
    )


def what_was_tried(home: Home, failed: Event, after: Sequence[Event]) -> FailureRepair:
    """What was done after a call that failed until the same kind of call was made
    again, among the next 40 calls of its session.
    """
    acts: list[str] = []
    given: list[str] = []
    for event in after[:_CALLS]:
        if event.kind == "recalled":
            given += (
                item for item in event.body["items"] if _says_what_to_do(home, item)
            )
        elif event.kind == "outcome":
            return FailureRepair(
                _few(acts), _few(given), event, bool(event.body["success"])
            )
        elif _call(event) == _call(failed):
            acts += _repeated(failed, event)
            return FailureRepair(_few(acts), _few(given), event, not has_failed(event))
        else:
            acts += filter(None, [_act(event)])
    return FailureRepair(_few(acts), _few(given), None, False)


def _few(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))[:_MOST_ACTS]


def _call(event: Event) -> tuple[str, str, str]:
    """What makes two calls the same kind: the tool, the program that a command runs,
    the file that is edited.
    """
    body = event.body
    return (
        tool_key(body["tool"]),
        _program(body.get("command", "")),
        next(iter(_edited(event)), ""),
    )


def _program(command: str) -> str:
    """The kind of check that a command runs, else its program.

    >>> _program("cd cli && LANG=C cat -A notes"), _program("cd cli && go test ./...")
    ('cat', 'go test')
    """
    words = _BEFORE.sub("", command).split()
    return family_of(command) or (one_line(words[0], 40) if words else "")


def _act(event: Event) -> str:
    """What a call did, in words; '' for one that only looked or failed."""
    body = event.body
    edited = _edited(event)
    if (
        has_failed(event)
        or ((body.get("paths") or {}).get("read") and not edited)
        or _only_looks(event)
    ):
        return ""
    command = _BEFORE.sub("", body.get("command", ""))
    done = (
        f"edit {', '.join(filter(None, map(shown_path, edited)))}"
        if edited
        else f"run {command}"
        if command
        else f"call {body['tool']}"
    )
    return one_line(done, _ACT_CHARACTERS)


def _edited(event: Event) -> list[str]:
    return list((event.body.get("paths") or {}).get("edited") or ())


def _only_looks(event: Event) -> bool:
    command = event.body.get("command", "")
    return (
        not _edited(event)
        and not family_of(command)
        and bool(_LOOKS.match(command or tool_key(event.body["tool"])))
    )


def _repeated(before: Event, after: Event) -> list[str]:
    """What was another in the same kind of call, as far as that was recorded."""
    command = after.body.get("command", "")
    tool = before.body["tool"]
    if command:
        done = one_line(f"run {_BEFORE.sub('', command)}", _ACT_CHARACTERS)
        return [done] if command != before.body.get("command", "") else []
    one, other = (_arguments(event.body.get("input", "")) for event in (before, after))
    names = [
        name
        for name in dict.fromkeys([*one, *other])
        if one.get(name) != other.get(name)
    ]
    return [f"call {tool} with another {name}" for name in names]


def _arguments(text: str) -> dict[str, Any]:
    """The arguments that the preview of a call's input holds whole, and what is there
    of the one at which it was cut.
    """
    read = json.JSONDecoder().raw_decode
    found = dict[str, Any]()
    place = 1
    while place < len(text) - 1:
        try:
            name, end = read(text, place)
            found[str(name)] = text[end + 1 :]
            found[str(name)], place = read(text, end + 1)
        except (ValueError, RecursionError):  # cut here, or no JSON
            break
        place += 1
    return found


def _says_what_to_do(home: Home, item: str) -> bool:
    """Whether an item is a fix, a strategy or a gene."""
    known = known_item(home, item)
    if known is None or not known.text:
        return False
    index = home.views.get(home.item_view)
    kinds = {index.kind_of(row) for row in index.rows_of(item).tolist()}
    return bool(kinds.intersection(_GIVEN_KINDS)) or any(
        event.body.get("type") == FIX_TYPE for event in known.events
    )


def _tell(home: Home, failed: Event, tried: FailureRepair) -> int:
    """Append the attempts at a failure and how they were closed, in one transaction; 0
    where that was done meanwhile.
    """
    signals = signals_of(failed)
    genes = list[tuple[str, dict[str, Any] | None]](
        (item, None) for item in tried.given
    )
    if tried.acts or not genes:
        again = tried.closed_by is not None and tried.closed_by.kind == "tool_used"
        acts = tried.acts or (AGAIN if again else WITHOUT,)
        made: dict[str, Any] = {
            "type": "Gene",
            "id": f"gene_seen_{stable_hash('; '.join(acts))}",
            "category": "repair",
        }
        matched = [
            signal
            for signal in signals
            if signal != "log_error" and not signal.startswith(ERROR_SIGNAL)
        ]
        genes.append(
            (made["id"], {**made, "signals_match": matched, "strategy": list(acts)})
        )
    told = _attempts(home, failed, signals, genes, tried.closed_by, tried.success)
    return len(genes) if append_once(home.journal, told) else 0


def _attempts(
    home: Home,
    failed: Event,
    signals: Sequence[str],
    genes: Sequence[tuple[str, dict[str, Any] | None]],
    closed_by: Event | None,
    success: bool,
    used: dict[str, float | None] | None = None,
) -> list[Event]:
    """The events of the attempts at a failure: each gene, if it is new, its attempt,
    and how that was closed.
    """
    about = {
        "source": failed.body.get("source", "agent"),
        "project": failed.body.get("project", ""),
    }
    who: dict[str, Any] = {"agent": failed.agent, "session": failed.session}
    # What was done is in the agent's own words; what failed is told in the tool's.
    own = {**about, "source": "agent" if about["source"] == "tool" else about["source"]}
    events = list[Event]()
    known = own_assets(home, [gene for gene, _ in genes])
    for gene, asset in genes:
        if asset is not None and gene not in known:
            events.append(
                asset_event(asset, **own, **who, at=failed.at, lineage=[failed.id])
            )
        made = derived_event_id("attempt", failed.id, gene)
        body = {
            "signal": signal_member(signals),
            "mutation": None,
            "personality": None,
            "gene": {"id": gene, "category": "repair"},
            "action": {
                "id": f"act_{made}",
                "drift": False,
                "selected_by": "captured",
                "selector": None,
            },
            "capsules": {"used": []},
            "had_error": True,
            "observed": None,
            "hypothesis": None,
            "cause": failed.id,
            "told": _told(signals, asset),
            **about,
        }
        events.append(
            new_event(
                "attempt", body, **who, lineage=[failed.id], at=failed.at, event_id=made
            )
        )
        if closed_by is not None:
            again = signals_of(closed_by) if closed_by.kind == "tool_used" else signals
            inferred = infer_outcome(True, not success)
            now = [] if success else again
            events.append(
                closing(
                    events[-1],
                    inferred,
                    now,
                    None,
                    used or {},
                    at=closed_by.at,
                    lineage=[closed_by.id],
                )
            )
    return events


def _told(signals: Sequence[str], asset: dict[str, Any] | None) -> str:
    """An attempt for who searches: the error, in the words of the tool, and what was
    done.
    """
    error = next(
        (
            signal.removeprefix(ERROR_SIGNAL)
            for signal in signals
            if signal.startswith(ERROR_SIGNAL)
        ),
        "",
    )
    where = [
        signal.partition(":")[2]
        for signal in signals
        if signal.startswith(("tool:", "command:", "class:"))
    ]
    return (
        f"{error or 'an error'} ({', '.join(where)}): {'; '.join(asset['strategy'])}"
        if asset
        else ""
    )


def _models(event: Event) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Pairs of a model's failed attempt and the next model's, of a call that went on."""
    attempts = [
        attempt
        for attempt in event.body.get("attempts", ())
        if not attempt.get("unavailable")
    ]
    return (
        (one, other)
        for one, other in pairwise(attempts)
        if not one["success"] and one.get("error")
    )


def _tell_trace(home: Home, event: Event) -> int:
    """Another model that was asked after one had failed: its gene is `model:NAME`."""
    told: list[Event] = []
    for one, other in _models(event):
        error = one_line(one["error"], _ERROR_CHARACTERS)
        used = {name: other.get(name) for name in USED}
        signals = [
            "log_error",
            f"{ERROR_SIGNAL}{error}",
            f"query_type:{event.body['query_type']}",
        ]
        told += _attempts(
            home,
            event,
            signals,
            [(f"model:{other['model']}", None)],
            event,
            other["success"],
            used,
        )
    return (
        sum(event.kind == "attempt" for event in told)
        if append_once(home.journal, told)
        else 0
    )
