"""Calls of models as the events of the document's EventBus, in and out.

A call is LM_INFERENCE_START, any number of TOOL_USE, and LM_INFERENCE_END. Each is a
JSON object with the member `event`, its name. The id of the trace is that which the
START gives. An END or a tool that names no trace belongs to the agent's oldest open
call; where calls of one agent overlap, `trace_id` says which of them it is.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import new_event_id
from theorex_lab.dispatch.traces import Trace
from theorex_lab.files.formats.flat_files import (
    FlatRecord,
    append_new,
    each_noted,
    read_lines,
    without_nulls,
)
from theorex_lab.files.formats.records import trace_of
from theorex_lab.files.formats.reports import FileReport, ImportOptions
from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import Home
from theorex_lab.text.redact.redaction_scope import kept_value

START = "LM_INFERENCE_START"
TOOL = "TOOL_USE"
END = "LM_INFERENCE_END"
EVENT_NAMES = (START, TOOL, END)
# Members of a START that its trace has under the same names.
_OF_START = (
    "agent_id",
    "model",
    "query_type",
    "prompt_tokens",
    "task",
    "tags",
    "session_id",
    "outcome_id",
)
# And of an END.
_OF_END = (
    "model",
    "success",
    "latency_ms",
    "total_tokens",
    "prompt_tokens",
    "completion_tokens",
    "error",
    "response",
)


def bus_events(trace: Trace) -> list[FlatRecord]:
    """Return the events of a call: its START, its tools, and its END where it ended.

    >>> from theorex_lab.designs.theorex.bus_events import EVENT_NAMES
    >>> EVENT_NAMES
    ('LM_INFERENCE_START', 'TOOL_USE', 'LM_INFERENCE_END')
    """
    owner = {"trace_id": trace.id, "agent_id": trace.agent_id}
    start: FlatRecord = {
        "event": START,
        "timestamp": trace.start_time,
        **owner,
        "model": trace.model,
        "prompt_tokens": trace.prompt_tokens,
        "query_type": trace.query_type,
        "task": trace.task,
        "tags": list(trace.tags),
        "outcome_id": trace.outcome_id,
    }
    events = [start]
    events += [{"event": TOOL, **owner, **tool} for tool in trace.events]
    if trace.success is not None:
        end = {
            "event": END,
            "timestamp": trace.end_time,
            **owner,
            "model": trace.model,
            "success": trace.success,
            "latency_ms": trace.latency_ms,
            "total_tokens": trace.total_tokens,
            "completion_tokens": trace.completion_tokens,
            "error": trace.error,
            "response": trace.response,
        }
        events.append(end)
    return [without_nulls(event) for event in events]


def emit_events(home: Home, file: Path, *, agent: str = "main") -> FileReport:
    """Append the traces that the events in a file make, all in one transaction.

    An event without a time happens now. An END without a START is reported and writes
    nothing. A call without an END is open, and is closed as lost when a dispatcher is
    opened next. A trace that is here already stays as it is.

    Args:
        home: The home of the traces.
        file: An event a line.
        agent: Whose the calls are that name nobody.

    Returns:
        How many traces are new, and what could not be read.

    Raises:
        InvalidInput: The file is none.
        StorageError: The traces cannot be written.
    """
    report = FileReport(file.name)
    now = home.clock.now()
    options = ImportOptions(home.settings, now, agent, trusted=True)
    assembly = _Assembly(agent, now)
    lines = read_lines(file, report.problems)
    for _ in each_noted(report.problems, lines, assembly.take):
        pass
    records = [(str(record["id"]), record) for record in assembly.records]
    noted = each_noted(report.problems, records, _trace_events, options)
    counted = _counted([events for _, events in noted])
    report.imported, report.skipped = append_new(home.journal, counted)
    report.keep_problems(report.problems)
    return report


def _trace_events(record: FlatRecord, options: ImportOptions) -> list[Event]:
    return trace_of(kept_value(record), options, {})


def _counted(traces: Sequence[Sequence[Event]]) -> Iterator[tuple[Event, int]]:
    """Yield the events of traces; the START of each stands for it."""
    for events in traces:
        for event in events:
            yield event, int(event.kind == "trace_started")


class _Assembly:
    """Puts the events of a file together to traces.

    Args:
        agent: Whose the events are that name nobody.
        now: When those happened that name no time (µs UTC).

    Attributes:
        records: The traces, in the order of their STARTs.
    """

    def __init__(self, agent: str, now: int) -> None:
        self.records: list[FlatRecord] = []
        self._agent = agent
        self._now = now
        self._open: dict[str, FlatRecord] = {}

    def take(self, event: FlatRecord) -> FlatRecord:
        """Take in one event, and return the trace that it belongs to.

        Raises:
            InvalidInput: It has no known name, or belongs to no open call.
        """
        event = {
            "agent_id": self._agent,
            "timestamp": to_iso(self._now),
            **without_nulls(event),
        }
        name = event.get("event")
        if name == START:
            return self._start(event)
        if name not in EVENT_NAMES:
            allowed = ", ".join(EVENT_NAMES)
            raise InvalidInput(f"got the event {name!r:.80}; allowed are {allowed}")
        record = self._call_of(event)
        if name == TOOL:
            record["events"].append({**event, "at": event["timestamp"]})
        else:
            record |= _members(event, _OF_END)
            record["end_time"] = event["timestamp"]
            record.setdefault("success", False)
            del self._open[record["id"]]
        return record

    def _start(self, event: FlatRecord) -> FlatRecord:
        """Open a trace under the id that the START gives, else under a new one."""
        trace_id = str(event.get("trace_id", new_event_id(self._now)))
        if any(record["id"] == trace_id for record in self.records):
            raise InvalidInput(
                f"got the trace id {trace_id!r:.140} twice; every call needs its own"
            )
        record: FlatRecord = {
            **_members(event, _OF_START),
            "id": trace_id,
            "start_time": event["timestamp"],
            "events": [],
        }
        self.records.append(record)
        self._open[trace_id] = record
        return record

    def _call_of(self, event: FlatRecord) -> FlatRecord:
        """Return the open call of an event: by its trace id, else by its agent."""
        trace_id = event.get("trace_id")
        for record in self._open.values():
            is_agents = trace_id is None and record["agent_id"] == event["agent_id"]
            if is_agents or record["id"] == trace_id:
                return record
        raise InvalidInput(
            f"got {event['event']} of no open call; allowed is one after its {START}"
        )


def _members(event: FlatRecord, names: Sequence[str]) -> dict[str, Any]:
    return {name: event[name] for name in names if name in event}
