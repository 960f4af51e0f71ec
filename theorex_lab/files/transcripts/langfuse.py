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
)

_MODEL_CALL = "GENERATION"
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

    def pieces(self, row: Row, number: int | str) -> Iterator[Piece]:
        """See `PieceForm`."""
        session = self._stem
        elements: list[object] = [row]
        for name in _LISTS:
            if isinstance(row.get(name), list):
                elements = row[name]
                session = str(row.get("id") or session)
        # A page lists the latest first.
        elements = sorted(elements, key=_start_of)
        for element in elements:
            if not isinstance(element, dict):
                origin = MessageOrigin(session, number)
                yield origin.unread("a trace is no object of JSON")
            elif _is_trace(element):
                yield from self._trace(element, session)
            else:
                yield from self._observation(element, session)

    def _trace(self, row: Row, session: str) -> Iterator[Piece]:
        """Yield the pieces of a trace, in the order of time."""
        trace = {**row, **object_of(row.get("trace"))}
        session = str(trace.get("sessionId") or trace.get("id") or session)
        has_model_call = False
        observations = list[Row]()
        for value in row.get("observations", ()):
            if isinstance(value, dict):
                observations.append(value)
                has_model_call |= value.get("type") == _MODEL_CALL
            else:
                origin = MessageOrigin(session, "")
                yield origin.left_out("observation that is named alone")
        if not has_model_call:
            start = trace.get("timestamp")
            yield from _model_call(trace, session, start).pieces(self._requests)
        observations.sort(key=_start_of)
        for observation in observations:
            named = {"sessionId": session, **observation}
            yield from self._observation(named, session)

    def _observation(self, row: Row, session: str) -> Iterator[Piece]:
        """Yield the pieces of an observation, at least one."""
        session = str(row.get("sessionId") or row.get("traceId") or session)
        kind = row.get("type")
        pieces = list[Piece]()
        if kind == _MODEL_CALL:
            call = _model_call(row, session, row.get("startTime"))
            pieces = [*call.pieces(self._requests)]
        elif kind == "TOOL":
            pieces = [_tool_piece(row, session)]
        if not pieces:
            origin = MessageOrigin(session, "", row.get("startTime"))
            pieces = [origin.left_out(f"observation: {kind_name(kind)}")]
        yield from pieces


def _is_trace(row: Row) -> bool:
    """Return whether an object is a trace with its observations."""
    is_named = "id" in row or isinstance(row.get("trace"), dict)
    is_in_table = row.keys() >= _TABLE_MEMBERS
    return (is_named and isinstance(row.get("observations"), list)) or is_in_table


def _start_of(value: object) -> int:
    """Return when a trace or an observation began, in µs UTC; 0 where it is unknown."""
    members = object_of(value)
    members = {**members, **object_of(members.get("trace"))}
    return time_of(members.get("startTime") or members.get("timestamp")) or 0


def _is_observation(row: Row) -> bool:
    return "traceId" in row and row.get("type") in _TYPES


def _model_call(row: Row, session: str, start: object) -> ModelCall:
    """Return the call of a model that an observation or a trace records."""
    return ModelCall(
        id=str(row.get("id")),
        session=session,
        start=start,
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
