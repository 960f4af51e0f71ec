"""Exports of LangSmith: runs, an object each, which may hold runs of their own.

A run of the type `llm` is a call of a model, one of the type `tool` a call of a tool.
Chains and what else surrounds them repeat what these say.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator

from theorex_lab.files.transcripts.message_pieces import (
    MessageOrigin,
    answer_of,
    first_of,
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

_SESSIONS = ("session_id", "thread_id", "conversation_id")
_LISTS = ("runs", "data")
_MODEL_CALL = "llm"
_NO_RUN = "a run is no object of JSON"
_LITERAL_CHARACTERS = 16_000  # of arguments that are read as Python writes them
_TIMES_AROUND = ("inputs", "outputs", "trace_id", "start_time")


class LangSmith:
    """Finds the pieces in runs.

    Args:
        stem: The session of runs without a trace.
    """

    name = "langsmith"

    def __init__(self, stem: str) -> None:
        self._stem = stem
        self._requests = Requests()

    @staticmethod
    def reads(row: Row) -> bool:
        """Return whether an object is of this form."""
        for name in _LISTS:
            elements = row.get(name)
            if isinstance(elements, list) and elements:
                return _is_run(object_of(elements[0]))
        return _is_run(row)

    def entries(self, row: Row, number: int | str) -> Iterator[TraceEntry]:
        """See `PieceForm`."""
        for run in _runs_in(row):
            if not isinstance(run, dict):
                yield TraceEntry({}, number, kind=_NO_RUN)
                continue
            start = time_of(run.get("start_time"))
            end = time_of(run.get("end_time"))
            yield TraceEntry(_without_children(run), number, start, end)

    def beginning(self, entry: TraceEntry) -> Iterator[Piece]:
        """See `PieceForm`."""
        if entry.row.get("run_type") == _MODEL_CALL:
            yield from self._model_call(entry.row).request_pieces(self._requests)

    def ending(self, entry: TraceEntry) -> Iterator[Piece]:
        """See `PieceForm`."""
        run = entry.row
        kind = run.get("run_type")
        session = self._session_of(run)
        if entry.kind == _NO_RUN:
            yield MessageOrigin(self._stem, entry.number).unread(_NO_RUN)
        elif kind == "tool":
            yield _tool_piece(run, session)
        elif kind == _MODEL_CALL and self._model_call(run).has_messages:
            yield from self._model_call(run).reply_pieces(self._requests)
        else:
            origin = MessageOrigin(session, "", run.get("start_time"))
            yield origin.left_out(f"run: {kind_name(kind)}")

    def _session_of(self, run: Row) -> str:
        metadata = object_of(object_of(run.get("extra")).get("metadata"))
        named_session = first_of(metadata, _SESSIONS) or run.get("trace_id")
        return str(named_session or run.get("id") or self._stem)

    def _model_call(self, run: Row) -> ModelCall:
        return ModelCall(
            id=str(run.get("id")),
            session=self._session_of(run),
            start=run.get("start_time"),
            end=run.get("end_time"),
            request=run.get("inputs"),
            reply=run.get("outputs"),
        )


def _without_children(run: Row) -> Row:
    """Return a run without the runs in it, which are entries of their own."""
    return {name: value for name, value in run.items() if name != "child_runs"}


def _is_run(row: Row) -> bool:
    is_typed = isinstance(row.get("run_type"), str)
    return is_typed and any(name in row for name in _TIMES_AROUND)


def _runs_in(row: Row) -> Iterator[object]:
    """Yield the runs in an object: itself or a list, and those within each."""
    waiting: list[object] = [row]
    for name in _LISTS:
        if isinstance(row.get(name), list):
            waiting = row[name][::-1]
    while waiting:
        run = waiting.pop()
        yield run
        children = object_of(run).get("child_runs")
        if isinstance(children, list):
            waiting += children[::-1]


def _arguments_in(value: object) -> object:
    """Return what a tool is given, which LangChain writes down as Python does.

    >>> _arguments_in("{'path': 'till.toml'}")
    {'path': 'till.toml'}
    """
    arguments = parsed_json(value)
    if not isinstance(arguments, str) or not arguments.startswith("{"):
        return arguments
    if len(arguments) > _LITERAL_CHARACTERS:
        return arguments
    try:
        literal: object = ast.literal_eval(arguments)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return arguments
    return literal if _is_json(literal) else arguments


def _is_json(value: object) -> bool:
    """Return whether JSON can state a value as it is."""
    try:
        return bool(json.loads(json.dumps(value, allow_nan=False)) == value)
    except (ValueError, TypeError, RecursionError):
        return False


def _tool_piece(
    run: Row,
    session: str,
) -> Piece:
    """Return the call of a tool that a run is."""
    inputs = run.get("inputs")
    arguments = _arguments_in(object_of(inputs).get("input", inputs))
    outputs = run.get("outputs")
    answer = object_of(outputs).get("output", outputs)
    members = object_of(answer)
    members = object_of(members.get("kwargs")) or members
    failed = bool(run.get("error")) or members.get("status") == "error"
    if run.get("error") and answer is None:
        answer = run["error"]
    at = run.get("end_time") or run.get("start_time")
    origin = MessageOrigin(
        session,
        str(run.get("id")),
        at,
    )
    return origin.piece(TOOL)._replace(
        call=members.get("tool_call_id"),
        tool=run.get("name"),
        arguments=arguments,
        answer=answer_of(members.get("content", answer)),
        failed=failed,
    )
