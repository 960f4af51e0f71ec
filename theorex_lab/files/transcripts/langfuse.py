"""Exports of Langfuse: traces with their observations, or observations alone.

A trace comes as an object with `observations`, a session as one with `traces`, a page of
the interface as one with `data`. A generation is a call of a model. What a trace itself
got and gave counts where it has no generation.
"""

from __future__ import annotations

from collections.abc import Iterator

from theorex_lab.files.transcripts.message_pieces import (
    MessageOrigin,
    answer_of,
    parsed_json,
)
from theorex_lab.files.transcripts.messages import Row, kind_name, object_of, time_of
from theorex_lab.files.transcripts.model_calls import ModelCall
from theorex_lab.files.transcripts.pieces import (
    TOOL,
    Piece,
    Requests,
    TraceEntry,
)

_MODEL_CALL = "GENERATION"
_TOOL = "TOOL"
_NO_TRACE = "a trace is no object of JSON"
_NAMED_ALONE = "observation that is named alone"
_TYPES = (
    _MODEL_CALL,
    "SPAN",
    "EVENT",
    "TOOL",
    "AGENT",
    "CHAIN",
    "RETRIEVER",
    "EVALUATOR",
    "EMBEDDING",
    "GUARDRAIL",
)
_LISTS = ("traces", "data")
# Of a trace in an export of the table of traces, which is without observations.
_TABLE_MEMBERS = frozenset(
    {"id", "timestamp", "sessionId", "input", "output", "bookmarked"}
)


class Langfuse:
    """Finds the pieces in traces and observations.

    Args:
        stem: The session of what names none.
    """

    name = "langfuse"

    def __init__(self, stem: str) -> None:
        self._stem = stem
        self._requests = Requests()

    @staticmethod
    def reads(row: Row) -> bool:
        """Return whether an object is of this form."""
        for name in _LISTS:
            elements = row.get(name)
            if isinstance(elements, list) and elements:
                first = object_of(elements[0])
                if _is_trace(first) or _is_observation(first):
                    return True
        return _is_trace(row) or _is_observation(row)

    def entries(self, row: Row, number: int | str) -> Iterator[TraceEntry]:
        """See `PieceForm`."""
        session = self._stem
        elements: list[object] = [row]
        for name in _LISTS:
            if isinstance(row.get(name), list):
                elements = row[name]
                session = str(row.get("id") or session)
        for element in elements:
            if not isinstance(element, dict):
                yield TraceEntry({}, number, kind=_NO_TRACE)
            elif _is_trace(element):
                yield from _trace_entries(element, session, number)
            else:
                yield _observation_entry(element, session, number)

    def beginning(self, entry: TraceEntry) -> Iterator[Piece]:
        """See `PieceForm`."""
        if entry.kind == _MODEL_CALL:
            yield from _model_call(entry.row).request_pieces(self._requests)

    def ending(self, entry: TraceEntry) -> Iterator[Piece]:
        """See `PieceForm`."""
        row = entry.row
        session = str(row.get("sessionId") or self._stem)
        origin = MessageOrigin(session, "", row.get("startTime"))
        if entry.kind == _NO_TRACE:
            yield MessageOrigin(session, entry.number).unread(_NO_TRACE)
        elif entry.kind == _NAMED_ALONE:
            yield origin.left_out(_NAMED_ALONE)
        elif entry.kind == _TOOL:
            yield _tool_piece(row, session)
        elif entry.kind == _MODEL_CALL and _model_call(row).has_messages:
            yield from _model_call(row).reply_pieces(self._requests)
        else:
            kind = kind_name(row.get("type"))
            yield origin.left_out(f"observation: {kind}")


def _trace_entries(row: Row, session: str, number: int | str) -> Iterator[TraceEntry]:
    """Yield the observations of a trace, and what the trace itself got and gave.

    The latter only where it has no generation. It ends with its last observation.
    """
    trace = {**row, **object_of(row.get("trace"))}
    session = str(trace.get("sessionId") or trace.get("id") or session)
    has_model_call = False
    latest: TraceEntry | None = None
    for value in row.get("observations", ()):
        if not isinstance(value, dict):
            alone = {"sessionId": session}
            yield TraceEntry(alone, number, kind=_NAMED_ALONE)
            continue
        entry = _observation_entry({"sessionId": session, **value}, session, number)
        has_model_call |= entry.kind == _MODEL_CALL
        if latest is None or _end_of(entry) > _end_of(latest):
            latest = entry
        yield entry
    if not has_model_call:
        call = {
            "id": trace.get("id"),
            "sessionId": session,
            "type": "trace",
            "startTime": trace.get("timestamp"),
            "endTime": None if latest is None else _stated_end(latest.row),
            "input": trace.get("input"),
            "output": trace.get("output"),
        }
        yield _observation_entry(call, session, number)._replace(kind=_MODEL_CALL)


def _observation_entry(row: Row, session: str, number: int | str) -> TraceEntry:
    """Return an observation with its times."""
    stated_session = row.get("sessionId") or row.get("traceId") or session
    kind = row.get("type")
    return TraceEntry(
        {**row, "sessionId": str(stated_session)},
        number,
        time_of(row.get("startTime")),
        time_of(row.get("endTime")),
        kind if isinstance(kind, str) else "",
    )


def _end_of(entry: TraceEntry) -> int:
    """Return when an observation ended, in µs UTC; 0 where that is unknown."""
    return time_of(_stated_end(entry.row)) or 0


def _stated_end(row: Row) -> object:
    return row.get("endTime") or row.get("startTime")


def _is_trace(row: Row) -> bool:
    """Return whether an object is a trace with its observations."""
    is_named = "id" in row or isinstance(row.get("trace"), dict)
    is_in_table = row.keys() >= _TABLE_MEMBERS
    return (is_named and isinstance(row.get("observations"), list)) or is_in_table


def _is_observation(row: Row) -> bool:
    return "traceId" in row and row.get("type") in _TYPES


def _model_call(row: Row) -> ModelCall:
    """Return the call of a model that an observation or a trace records."""
    return ModelCall(
        id=str(row.get("id")),
        session=str(row.get("sessionId")),
        start=row.get("startTime"),
        end=row.get("endTime"),
        request=row.get("input"),
        reply=row.get("output"),
    )


def _tool_piece(row: Row, session: str) -> Piece:
    """Return the call of a tool that an observation is."""
    failed = row.get("level") == "ERROR"
    answer = parsed_json(row.get("output"))
    call = object_of(answer).get("tool_call_id")
    if failed and answer is None:
        answer = row.get("statusMessage")
    at = row.get("endTime") or row.get("startTime")
    origin = MessageOrigin(session, str(row.get("id")), at)
    return origin.piece(TOOL)._replace(
        call=call,
        tool=row.get("name"),
        arguments=parsed_json(row.get("input")),
        answer=answer_of(object_of(answer).get("content", answer)),
        failed=failed,
    )
