"""Traces: every call of a model from its START to its END, and the tool events that
belong to it.
"""

import difflib
import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import derived_event_id
from theorex_lab.journal.columns import Names, Strings, Table
from theorex_lab.journal.event import Body, Event
from theorex_lab.journal.view import View, Views
from theorex_lab.memory.intervals import wilson
from theorex_lab.memory.rows import Rows

OPEN = 0
SUCCESS = 1
FAILURE = 2
LOST = 3
UNAVAILABLE = 4
_AMOUNTS = ("latency_ms", "tokens", "prompt_tokens", "completion_tokens")
# an unknown id is compared with so many of the newest ids, to name the nearest
_NEAREST_AMONG = 2_000


class Traces(View):
    """One row a trace, in the order of their STARTs; an END without START adds nothing.

    traces: key (64 bits of the id's hash), started and ended (seqs of its events, 0
    while open), at (µs of its START), agent, session, query_type, model (numbers of
    names; the first choice, later the model that answered), state, and latency_ms,
    tokens and both their parts (NaN where not stated).  tools: row of the trace and
    seq, one a tool event.  Texts stay in the journal.
    """

    name = "traces"
    code = 4
    kinds = ("trace_started", "trace_ended", "tool_used")

    def __init__(self) -> None:
        super().__init__()
        self.ids = Strings()
        self.agents = Names()
        self.sessions = Names()
        self.query_types = Names()
        self.models = Names()
        names = dict.fromkeys(("agent", "session", "query_type", "model"), "i4")
        seqs = dict.fromkeys(("started", "ended", "at"), "i8")
        amounts = dict.fromkeys(_AMOUNTS, "f8")
        self.traces = Table(key="u8", **seqs, **names, state="i1", **amounts)
        self.tools = Table(trace="i8", seq="i8")
        self.open: dict[str, int] = {}  # the row by id, in the order of their STARTs

    def apply(self, events: Sequence[Event]) -> None:
        """Take in STARTs, ENDs and tool events."""
        take = {
            "tool_used": self._use_tool,
            "trace_started": self._start,
            "trace_ended": self._end,
        }
        for event in events:
            take[event.kind](event)

    def _after_load(self) -> None:
        self.open = {
            self.ids[row]: row
            for row in np.flatnonzero(self.traces["state"] == OPEN).tolist()
        }

    def row(self, trace_id: str) -> int | None:
        """The row of a trace; None where there is none of this id."""
        if trace_id in self.open:
            return self.open[trace_id]
        rows = np.flatnonzero(self.traces["key"] == _key(trace_id)).tolist()
        return next((row for row in rows if self.ids[row] == trace_id), None)

    def tool_seqs(self, row: int) -> list[int]:
        """Seqs of the tool events of a trace, in order."""
        return [*map(int, self.tools["seq"][self.tools["trace"] == row])]

    def _start(self, event: Event) -> None:
        body = event.body
        if (trace_id := body["trace_id"]) in self.open:
            return
        self.open[trace_id] = self.traces.add(
            key=_key(trace_id),
            started=event.seq,
            at=event.at,
            agent=self.agents.number(event.agent),
            session=self.sessions.number(event.session),
            query_type=self.query_types.number(body["query_type"]),
            model=self.models.number(body["model"] or ""),
            **dict.fromkeys(_AMOUNTS, np.nan),
        )
        self.ids.append(trace_id)

    def _end(self, event: Event) -> None:
        body = event.body
        if (row := self.open.pop(body["trace_id"], None)) is None:
            return
        failure = UNAVAILABLE if body.get("unavailable") else FAILURE
        state = LOST if body["lost"] else SUCCESS if body["success"] else failure
        amounts = {
            name: np.nan if body.get(name) is None else body[name] for name in _AMOUNTS
        }
        self.traces.put(
            row,
            ended=event.seq,
            state=state,
            model=self.models.number(body.get("model", "")),
            **amounts,
        )

    def _use_tool(self, event: Event) -> None:
        trace_id = event.body.get("trace_id")
        if not trace_id and not self.open:
            return
        row = (
            self.row(trace_id)
            if trace_id
            else self._open_row(event.agent, event.session)
        )
        if row is not None:
            self.tools.add(trace=row, seq=event.seq)

    def _open_row(self, agent: str, session: str) -> int | None:
        """The open trace of the agent that started last; of the same session, where
        both have one.
        """
        owner = self.agents.find(agent)
        fits = (self.sessions.find(session), self.sessions.find(""))
        for row in reversed(self.open.values()):
            if self.traces["agent"][row] == owner and (
                not session or self.traces["session"][row] in fits
            ):
                return row
        return None


@dataclass(frozen=True)
class Trace:
    """One call of a model. Times are ISO 8601, UTC; None stands for what is not known.

    success: None while the call is open.  lost: the process ended during the call.
    unavailable: no answer came from any model.  outcome_id: of the outcome that it was
    made for, or that was recorded of it afterwards.  events: tool events as dicts of
    tool, input, response, at.  attempts: the models that were asked in turn, as dicts.
    reasons: why this model.
    """

    id: str
    agent_id: str
    model: str
    start_time: str
    end_time: str | None
    total_tokens: int | None
    prompt_tokens: int | None
    completion_tokens: int | None
    latency_ms: float | None
    success: bool | None
    lost: bool
    unavailable: bool
    error: str | None
    tags: tuple[str, ...]
    query_type: str
    task: str
    response: str
    events: tuple[dict[str, str], ...]
    outcome_id: str | None
    attempts: tuple[dict[str, Any], ...]
    reasons: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The trace as JSON holds it."""
        return {
            name: [*value] if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }


def trace(views: Views, trace_id: str) -> Trace:
    """The trace of this id, with its tool events; of an open one only what its START
    says.

    Raises InvalidInput for an unknown id, naming the nearest of the newest ones, and
    for a trace that was erased.
    """
    if not isinstance(trace_id, str) or not trace_id.isascii():
        raise InvalidInput(
            f"got the trace id {trace_id!r}; allowed are 1 to 128 of A-Z a-z 0-9 . _ : -"
        )
    steps, tools = trace_events(views, trace_id)
    if any(event.erased for event in steps):
        raise InvalidInput(
            f"the trace {trace_id!r} was erased; nothing is left of what it said"
        )
    if not steps or steps[0].kind != "trace_started":
        known = views.get(Traces).ids
        newest = [
            known[row] for row in range(max(len(known) - _NEAREST_AMONG, 0), len(known))
        ]
        nearest = difflib.get_close_matches(trace_id[:128], newest, n=1, cutoff=0)
        near = f"the nearest is {nearest[0]}" if nearest else "there are no traces yet"
        raise InvalidInput(
            f"got the trace id {trace_id!r}, which is not in the journal; {near}"
        )
    start, *end = steps
    if (outcome_id := start.body["outcome_id"]) is None:
        outcome_id = next(
            (event.id for event in views.journal.read(ids=[outcome_id_of(trace_id)])),
            None,
        )
    return _trace(start, end[0] if end else None, tools, outcome_id)


def trace_events(views: Views, trace_id: str) -> tuple[list[Event], list[Event]]:
    """START and END of a trace, as far as they are there, also erased ones; and its
    tool events, without those erased.
    """
    with views.reading(Traces) as view:
        row = view.row(trace_id)
        seqs = (
            []
            if row is None
            else [int(view.traces[step][row]) for step in ("started", "ended")]
        )
        tool_seqs = [] if row is None else view.tool_seqs(row)
    ids = [
        derived_event_id(step, trace_id) for step in ("trace started", "trace ended")
    ]
    # A START that was not made by the dispatch may have an id of its own; the view
    # knows where it stands.
    steps = views.journal.read(ids=ids, erased=True) or views.journal.read(seqs=seqs)
    return steps, views.journal.read(seqs=tool_seqs)


def outcome_id_of(trace_id: str) -> str:
    """The id of the outcome that is recorded of a trace after its END: there is one at
    most.
    """
    return derived_event_id("outcome of a trace", trace_id)


class TraceStatistics(Rows[dict[str, Any]]):
    """How the calls of a model on a type of query went: a row for both, in their order;
    `open`: how many calls have not ended.

    n: calls that got an answer, or failed by what it was.  success_rate: 0..1 with its
    95 % Wilson interval low..high. lost: calls whose process ended.  unavailable: calls
    that no model answered.  median_latency_ms, p95_latency_ms, mean_tokens and those of
    its parts: over the calls that state them. NaN: unknown.
    """

    def __init__(self, rows: Sequence[dict[str, Any]], open_count: int) -> None:
        super().__init__(rows)
        self.open = open_count


def trace_stats(views: Views, *, agent: str | None = None) -> TraceStatistics:
    """Statistics of the traces of `agent` (None: of all)."""
    with views.reading(Traces) as view:
        table = view.traces
        kinds = (view.query_types, view.models)
        mine = (
            np.ones(len(table), np.bool_)
            if agent is None
            else table["agent"] == view.agents.find(agent)
        )
        rows = np.flatnonzero(mine & (table["state"] != OPEN))
        both = np.stack([table["query_type"][rows], table["model"][rows]])
        pairs, numbers = np.unique(both, axis=1, return_inverse=True)
        named = [
            tuple(names[number] for names, number in zip(kinds, pair, strict=True))
            for pair in pairs.T.tolist()
        ]
        found = {
            pair: _statistic(table, rows[numbers.ravel() == number])
            for number, pair in enumerate(named)
        }
        told = [
            {"query_type": pair[0], "model": pair[1], **found[pair]}
            for pair in sorted(found)
        ]
        return TraceStatistics(told, int(np.count_nonzero(mine)) - len(rows))


def _statistic(table: Table, rows: NDArray[np.int64]) -> dict[str, float]:
    state = table["state"][rows]
    success, failure, lost, unavailable = np.bincount(
        state, minlength=UNAVAILABLE + 1
    ).tolist()[SUCCESS:]
    n = success + failure
    ended = rows[np.isin(state, (SUCCESS, FAILURE))]
    low, high = wilson(success, n)
    latency, *tokens = (
        column[~np.isnan(column)]
        for column in (table[name][ended] for name in _AMOUNTS)
    )
    late = (
        np.percentile(latency, [50, 95]).tolist() if len(latency) else (np.nan, np.nan)
    )
    means = {
        f"mean_{name}": float(part.mean()) if len(part) else np.nan
        for name, part in zip(_AMOUNTS[1:], tokens, strict=True)
    }
    return {
        "n": n,
        "success_rate": success / n if n else np.nan,
        "low": float(low),
        "high": float(high),
        "lost": lost,
        "unavailable": unavailable,
        "median_latency_ms": late[0],
        "p95_latency_ms": late[1],
        **means,
    }


def _trace(
    start: Event, end: Event | None, tools: Sequence[Event], outcome_id: str | None
) -> Trace:
    asked: Body = start.body
    answered: Body = {} if end is None else end.body
    known: dict[str, Any] = {
        name: answered.get(name) for name in (*_AMOUNTS, "success", "error")
    }
    known |= {name: answered.get(name, False) for name in ("lost", "unavailable")}
    known |= {name: tuple(asked[name]) for name in ("tags", "reasons")}
    texts = [
        {name: tool.body.get(name, "") for name in ("tool", "input", "response")}
        for tool in tools
    ]
    return Trace(
        id=asked["trace_id"],
        agent_id=start.agent,
        model=str(answered.get("model", asked["model"]) or ""),
        outcome_id=outcome_id,
        start_time=to_iso(start.at),
        end_time=None if end is None else to_iso(end.at),
        query_type=asked["query_type"],
        task=asked["task"],
        response=answered.get("response", ""),
        attempts=tuple(answered.get("attempts", ())),
        events=tuple(
            {**said, "at": to_iso(tool.at)}
            for said, tool in zip(texts, tools, strict=True)
        ),
        total_tokens=known.pop("tokens"),
        **known,
    )


def _key(trace_id: str) -> np.uint64:
    return np.uint64(
        int.from_bytes(
            hashlib.blake2b(trace_id.encode(), digest_size=8).digest(), "little"
        )
    )
