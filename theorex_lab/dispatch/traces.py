"""Traces: every call of a model from its START to its END.

The tool events that belong to a call are part of its trace.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import derived_event_id
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.readable import Report
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

    Texts stay in the journal.

    Attributes:
        traces: key (64 bits of the id's hash), started and ended (seqs of its events, 0
            while open), at (µs of its START), agent, session, query_type, model
            (numbers of names; the first choice, later the model that answered), state,
            and latency_ms, tokens and both their parts (NaN where not stated).
        tools: Row of the trace and seq, one a tool event.
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
        self.traces = Table(
            key="u8",
            **seqs,
            **names,
            state="i1",
            **amounts,
        )
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
        is_open = self.traces["state"] == OPEN
        open_rows = np.flatnonzero(is_open).tolist()
        self.open = {self.ids[row]: row for row in open_rows}

    def row(self, trace_id: str) -> int | None:
        """Return the row of a trace; None where there is none of this id."""
        if trace_id in self.open:
            return self.open[trace_id]
        has_key = self.traces["key"] == _key(trace_id)
        for row in np.flatnonzero(has_key).tolist():
            if self.ids[row] == trace_id:
                return int(row)
        return None

    def tool_seqs(self, row: int) -> list[int]:
        """Return the seqs of the tool events of a trace, in order."""
        is_of_trace = self.tools["trace"] == row
        seqs: list[int] = self.tools["seq"][is_of_trace].tolist()
        return seqs

    def _start(self, event: Event) -> None:
        """Open a trace, unless one of its id is open."""
        body = event.body
        trace_id = body["trace_id"]
        if trace_id in self.open:
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
        """Close an open trace."""
        body = event.body
        row = self.open.pop(body["trace_id"], None)
        if row is None:
            return
        amounts = dict.fromkeys(_AMOUNTS, np.nan)
        for name in _AMOUNTS:
            if body.get(name) is not None:
                amounts[name] = body[name]
        self.traces.put(
            row,
            ended=event.seq,
            state=_state_of(body),
            model=self.models.number(body.get("model", "")),
            **amounts,
        )

    def _use_tool(self, event: Event) -> None:
        """Add a tool event to its trace."""
        trace_id = event.body.get("trace_id")
        if trace_id:
            row = self.row(trace_id)
        elif self.open:
            row = self._open_row(event.agent, event.session)
        else:
            return
        if row is not None:
            self.tools.add(trace=row, seq=event.seq)

    def _open_row(self, agent: str, session: str) -> int | None:
        """Return the open trace of the agent that started last.

        It is of the same session, where both have one.
        """
        agent_number = self.agents.find(agent)
        session_numbers = (self.sessions.find(session), self.sessions.find(""))
        for row in reversed(self.open.values()):
            if self.traces["agent"][row] != agent_number:
                continue
            if not session or self.traces["session"][row] in session_numbers:
                return row
        return None


# By whether a call succeeded.
_STATE_WORDS = {
    True: "success",
    False: "failure",
    None: "open",
}


@dataclass(frozen=True, repr=False)
class Trace(Report):
    """One call of a model. Times are ISO 8601, UTC; None stands for what is not known.

    Attributes:
        success: None while the call is open.
        lost: The process ended during the call.
        unavailable: No answer came from any model.
        outcome_id: The id of the outcome for which it was made, or which was recorded
            for it afterwards.
        events: Tool events as dicts of tool, input, response, timestamp.
        attempts: The models that were asked in turn, as dicts.
        reasons: Why this model.
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

    def _facts(self) -> tuple[str, ...]:
        state = _STATE_WORDS[self.success]
        return (
            self.id,
            self.model,
            state,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the trace as JSON holds it."""
        fields = asdict(self)
        for name, value in fields.items():
            if isinstance(value, tuple):
                fields[name] = list(value)
        return fields


def trace(views: Views, trace_id: str) -> Trace:
    """Return the trace of this id, with its tool events.

    An open trace holds only what its START says.

    Raises:
        InvalidInput: For an unknown id, naming the nearest of the newest ones, and for
            a trace that was erased.
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
        raise InvalidInput(
            f"got the trace id {trace_id!r}, which is not in the journal;"
            f" {_nearest(views, trace_id)}"
        )
    start, *later = steps
    end = later[0] if later else None
    outcome_id = start.body["outcome_id"]
    if outcome_id is None:
        for outcome in views.journal.read(ids=[outcome_id_of(trace_id)]):
            outcome_id = outcome.id
    return _trace(start, end, tools, outcome_id)


def _nearest(views: Views, trace_id: str) -> str:
    """Return in words which of the newest ids is nearest to an unknown one."""
    ids = views.get(Traces).ids
    first = max(len(ids) - _NEAREST_AMONG, 0)
    newest = [ids[row] for row in range(first, len(ids))]
    start = trace_id[:128]
    import difflib  # for an unknown id alone

    matches = difflib.get_close_matches(start, newest, n=1, cutoff=0)
    if not matches:
        return "there are no traces yet: `theorex dispatch` makes them"
    return f"the nearest is {matches[0]}"


def trace_events(views: Views, trace_id: str) -> tuple[list[Event], list[Event]]:
    """Return START and END of a trace, and its tool events.

    START and END are returned as far as they exist, also erased ones. Erased tool
    events are left out.
    """
    step_seqs: list[int] = []
    tool_seqs: list[int] = []
    with views.reading(Traces) as view:
        row = view.row(trace_id)
        if row is not None:
            step_seqs = [int(view.traces[step][row]) for step in ("started", "ended")]
            tool_seqs = view.tool_seqs(row)
    ids = [
        derived_event_id(step, trace_id) for step in ("trace started", "trace ended")
    ]
    steps = views.journal.read(ids=ids, erased=True)
    if not steps:
        # A START that was not made by the dispatch may have an id of its own. The view
        # knows its seq.
        steps = views.journal.read(seqs=step_seqs)
    return steps, views.journal.read(seqs=tool_seqs)


def outcome_id_of(trace_id: str) -> str:
    """Return the id of the outcome that is recorded of a trace after its END.

    A trace has one at most.
    """
    return derived_event_id("outcome of a trace", trace_id)


class TraceStatistics(Rows[dict[str, Any]]):
    """How the calls of a model on a type of query went: a row for both, in their order.

    A row holds n: calls that got an answer, or failed by what it was; success_rate:
    0..1 with its 95 % Wilson interval ci_low..ci_high; lost: calls whose process ended;
    unavailable: calls that no model answered; median_latency_ms, p95_latency_ms,
    mean_tokens and those of its parts: over the calls that state them. NaN: unknown.

    Attributes:
        open: How many calls have not ended.
    """

    def __init__(self, rows: Sequence[dict[str, Any]], open_count: int) -> None:
        super().__init__(rows)
        self.open = open_count

    def __repr__(self) -> str:
        counts = [row["n"] for row in self]
        n_calls = sum(counts)
        n_rows = len(self)
        return f"TraceStatistics({n_calls} calls in {n_rows} rows, {self.open} open)"


def trace_stats(views: Views, *, agent: str | None = None) -> TraceStatistics:
    """Return statistics of the traces of `agent` (None: of all)."""
    with views.reading(Traces) as view:
        table = view.traces
        is_counted = np.ones(len(table), np.bool_)
        if agent is not None:
            is_counted = table["agent"] == view.agents.find(agent)
        rows = np.flatnonzero(is_counted & (table["state"] != OPEN))
        query_types = table["query_type"][rows]
        models = table["model"][rows]
        numbers = np.stack([query_types, models])
        pairs, pair_of_row = np.unique(numbers, axis=1, return_inverse=True)
        pair_of_row = pair_of_row.ravel()
        statistics = []
        for index, (query_type, model) in enumerate(pairs.T.tolist()):
            statistics.append(
                {
                    "query_type": view.query_types[query_type],
                    "model": view.models[model],
                    **_statistic(table, rows[pair_of_row == index]),
                }
            )
        statistics.sort(key=lambda row: (row["query_type"], row["model"]))
        open_count = int(np.count_nonzero(is_counted)) - len(rows)
        return TraceStatistics(statistics, open_count)


def _statistic(table: Table, rows: NDArray[np.int64]) -> dict[str, Any]:
    """Return how the calls of these rows went."""
    state = table["state"][rows]
    counts = np.bincount(state, minlength=UNAVAILABLE + 1).tolist()
    n_won = counts[SUCCESS]
    n = n_won + counts[FAILURE]
    ci_low, ci_high = wilson(n_won, n)
    has_answer = np.isin(state, (SUCCESS, FAILURE))
    ended = rows[has_answer]
    latencies = _stated(table["latency_ms"][ended])
    median_latency = np.nan
    late_latency = np.nan
    if len(latencies):
        median_latency, late_latency = np.percentile(latencies, [50, 95]).tolist()
    statistic = {
        "n": n,
        "success_rate": n_won / n if n else np.nan,
        "ci_low": float(ci_low),
        "ci_high": float(ci_high),
        "lost": counts[LOST],
        "unavailable": counts[UNAVAILABLE],
        "median_latency_ms": median_latency,
        "p95_latency_ms": late_latency,
    }
    for name in _AMOUNTS[1:]:
        tokens = _stated(table[name][ended])
        statistic[f"mean_{name}"] = float(tokens.mean()) if len(tokens) else np.nan
    return statistic


def _stated(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values that calls stated."""
    is_missing = np.isnan(column)
    return column[~is_missing]


def _trace(
    start: Event,
    end: Event | None,
    tools: Sequence[Event],
    outcome_id: str | None,
) -> Trace:
    """Return the trace of these events."""
    start_body: Body = start.body
    end_body: Body = {} if end is None else end.body
    model = end_body.get("model", start_body["model"])
    return Trace(
        id=start_body["trace_id"],
        agent_id=start.agent,
        model=str(model or ""),
        start_time=to_iso(start.at),
        end_time=None if end is None else to_iso(end.at),
        total_tokens=end_body.get("tokens"),
        prompt_tokens=end_body.get("prompt_tokens"),
        completion_tokens=end_body.get("completion_tokens"),
        latency_ms=end_body.get("latency_ms"),
        success=end_body.get("success"),
        lost=end_body.get("lost", False),
        unavailable=end_body.get("unavailable", False),
        error=end_body.get("error"),
        tags=tuple(start_body["tags"]),
        query_type=start_body["query_type"],
        task=start_body["task"],
        response=end_body.get("response", ""),
        events=tuple(_tool_event(tool) for tool in tools),
        outcome_id=outcome_id,
        attempts=tuple(end_body.get("attempts", ())),
        reasons=tuple(start_body["reasons"]),
    )


def _tool_event(event: Event) -> dict[str, str]:
    """Return a tool event as a trace lists it."""
    body = event.body
    return {
        "tool": body.get("tool", ""),
        "input": body.get("input", ""),
        "response": body.get("response", ""),
        "timestamp": to_iso(event.at),
    }


def _state_of(body: Body) -> int:
    """Return the state of a trace that an END says."""
    if body["lost"]:
        return LOST
    if body["success"]:
        return SUCCESS
    return UNAVAILABLE if body.get("unavailable") else FAILURE


def _key(trace_id: str) -> np.uint64:
    """Return 64 bits of the hash of an id."""
    digest = hashlib.blake2b(trace_id.encode(), digest_size=8).digest()
    number = int.from_bytes(digest, "little")
    return np.uint64(number)
