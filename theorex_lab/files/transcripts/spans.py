"""Spans of OpenTelemetry that follow its conventions for generative AI.

They come in lines of JSON, as the SDK of a language prints them, or as OTLP writes them
down: `resourceSpans` and `resourceLogs`. Their messages stand

- in the attributes `gen_ai.input.messages` and `gen_ai.output.messages`, and, of tools,
  in `gen_ai.tool.*`;
- in the events of earlier versions: `gen_ai.user.message`, `gen_ai.choice` and others,
  within a span or as records of a log;
- in numbered attributes, `gen_ai.prompt.0.content` and so on.

Every request repeats the conversation before it, and a span often repeats the spans
within it. What was told before is counted as repeated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from theorex_lab.files.transcripts.message_pieces import (
    PERSONS,
    MessageOrigin,
    answer_of,
    message_pieces,
    parsed_json,
    speaker_of,
)
from theorex_lab.files.transcripts.messages import Row, kind_name, object_of, time_of
from theorex_lab.files.transcripts.pieces import (
    TOOL,
    Piece,
    Requests,
    TraceEntry,
)

_SESSIONS = ("gen_ai.conversation.id", "session.id")
_MESSAGE_EVENT = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message")
_CHOICE = "gen_ai.choice"
_NUMBERED = re.compile(
    r"gen_ai\.(prompt|completion)\.(\d{1,6})\.(?:tool_calls\.(\d{1,6})\.)?(\w{1,32})"
)
# Of a span around others, what it answers is what one of them answered.
# Tuples, since a broken span may have anything at the place of a name.
_AROUND = ("invoke_agent", "create_agent", "invoke_workflow")
_FAILED = (2, "2", "ERROR", "STATUS_CODE_ERROR", "StatusCode.ERROR")
_NO_SPAN = "a span is no object of JSON"
_STARTS = ("startTimeUnixNano", "start_time")
_ENDS = ("endTimeUnixNano", "end_time")
_RECORDED = (
    "timeUnixNano",
    "timestamp",
    "observedTimeUnixNano",
    "observed_timestamp",
)
_PROMPTS = ("gen_ai.input.messages", "gen_ai.prompt")
_WRAPPERS = (
    ("resourceSpans", "scopeSpans", "spans"),
    ("resourceLogs", "scopeLogs", "logRecords"),
)
_MESSAGE_MEMBERS = frozenset({"role", "content", "tool_calls", "parts"})
_REPLIES = ("gen_ai.output.messages", "gen_ai.completion")


class _Event(NamedTuple):
    """An event: its name, its time as stated, and what it states."""

    name: object
    at: object
    members: Row


class _Span(NamedTuple):
    """A span, or a record of a log.

    Attributes:
        id: Its id, '' for none.
        session: The conversation, else its trace.
        start: When it began, as stated.
        end: When it ended.
        attributes: Its attributes, by name.
        events: Its events: name, time and members.
        failed: Whether it failed.
    """

    id: str
    session: str
    start: object
    end: object
    attributes: Row
    events: list[_Event]
    failed: bool = False


class Spans:
    """Finds the pieces in spans.

    Args:
        stem: The session of spans without a trace.
    """

    name = "otel"

    def __init__(self, stem: str) -> None:
        self._stem = stem
        self._requests = Requests()

    @staticmethod
    def reads(row: Row) -> bool:
        """Return whether an object is of this form."""
        for name in ("resourceSpans", "resourceLogs"):
            if isinstance(row.get(name), list):
                return True
        is_record = {"trace_id", "span_id", "body"} <= row.keys()
        is_span = {"traceId", "spanId"} <= row.keys()
        return is_record or is_span or "trace_id" in object_of(row.get("context"))

    def entries(self, row: Row, number: int | str) -> Iterator[TraceEntry]:
        """See `PieceForm`."""
        for span_row in _span_rows(row):
            if not isinstance(span_row, dict):
                yield TraceEntry({}, number, kind=_NO_SPAN)
                continue
            start = time_of(_start_of(span_row))
            end = time_of(_first_time(span_row, *_ENDS))
            yield TraceEntry(span_row, number, start, end)

    def beginning(self, entry: TraceEntry) -> Iterator[Piece]:
        """See `PieceForm`."""
        if entry.kind == _NO_SPAN:
            return
        span = _span_of(entry.row, self._stem, entry.number)
        if not _is_tool(span):
            request = _pieces_of(_requests_of(span), span, "in", span.start)
            yield from self._requests.request(request, f"{span.session} {span.id}")

    def ending(self, entry: TraceEntry) -> Iterator[Piece]:
        """See `PieceForm`."""
        if entry.kind == _NO_SPAN:
            origin = MessageOrigin(self._stem, entry.number)
            yield origin.unread(_NO_SPAN)
            return
        span = _span_of(entry.row, self._stem, entry.number)
        if _is_tool(span):
            yield _tool_piece(span)
            return
        operation = span.attributes.get("gen_ai.operation.name")
        replies = _replies_of(span)
        if not replies and not _requests_of(span):
            origin = MessageOrigin(span.session, span.id, span.start)
            yield origin.left_out(f"span without messages: {kind_name(operation)}")
            return
        reply = _pieces_of(replies, span, "out", span.end or span.start)
        if operation in _AROUND:
            yield from self._requests.request(reply, f"{span.id} out")
        else:
            yield from self._requests.reply(reply)


def _is_tool(span: _Span) -> bool:
    """Return whether a span is the call of a tool."""
    attributes = span.attributes
    is_call = attributes.get("gen_ai.operation.name") == "execute_tool"
    return is_call or "gen_ai.tool.name" in attributes


def _requests_of(span: _Span) -> list[object]:
    """Return the messages that a model got."""
    messages = _attribute_messages(span.attributes, _PROMPTS)
    for event in span.events:
        messages += _event_messages(event, is_reply=False)
    return messages


def _replies_of(span: _Span) -> list[object]:
    """Return the messages that a model gave."""
    messages = _attribute_messages(span.attributes, _REPLIES)
    for event in span.events:
        messages += _event_messages(event, is_reply=True)
    return messages


def _span_rows(row: Row) -> list[object]:
    """Return the spans and records in an object, which may be one itself."""
    rows = list[object]()
    is_wrapped = False
    for outer, middle, inner in _WRAPPERS:
        if outer in row:
            is_wrapped = True
            scopes = _members_in(
                [row],
                outer,
                rows,
            )
            scopes = _members_in(
                scopes,
                middle,
                rows,
            )
            rows += _members_in(
                scopes,
                inner,
                rows,
            )
    return rows if is_wrapped else [row]


def _members_in(
    objects: list[object],
    name: str,
    others: list[object],
) -> list[object]:
    """Return the elements of a list that objects have.

    Args:
        objects: The objects.
        name: The name of the list.
        others: Is added to: what is no object.
    """
    elements = list[object]()
    for value in objects:
        if isinstance(value, dict):
            elements += _list_of(value.get(name))
        else:
            others.append(value)
    return elements


def _list_of(value: object) -> list[object]:
    """Return a list as it is, nothing for no value, and anything else as its element."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _span_of(
    row: Row,
    stem: str,
    number: int | str,
) -> _Span:
    """Return a span of either form, or a record of a log."""
    context = {**row, **object_of(row.get("context"))}
    trace = context.get("traceId") or context.get("trace_id") or stem
    span_id = context.get("spanId") or context.get("span_id") or number
    attributes = _attributes_of(row.get("attributes"))
    start = _start_of(row)
    end = _first_time(row, *_ENDS)
    session = _first(attributes, *_SESSIONS) or trace
    status = object_of(row.get("status"))
    code = _first(
        status,
        "code",
        "status_code",
    )
    failed = code in _FAILED or "error.type" in attributes
    events = _events_of(row, start)
    return _Span(
        str(span_id),
        str(session),
        start,
        end,
        attributes,
        events,
        failed,
    )


def _events_of(
    row: Row,
    start: object,
) -> list[_Event]:
    """Return the events of a span; a record of a log is one itself."""
    events = list[_Event]()
    for value in _list_of(row.get("events")):
        event = object_of(value)
        at = _first_time(event, *_RECORDED)
        events.append(
            _Event(
                event.get("name"),
                at,
                _event_members(event),
            )
        )
    if "body" in row:
        members = _event_members(row)
        name = _first(
            row,
            "eventName",
            "event_name",
        )
        events.append(
            _Event(
                name or members.get("event.name"),
                start,
                members,
            )
        )
    return events


def _start_of(row: Row) -> object:
    """Return when a span began, or a record was made, as stated."""
    return _first_time(row, *_STARTS, *_RECORDED)


def _first_time(row: Row, *names: str) -> object:
    """Return the first member of these names that states a time; None for none.

    A record of a log may have the time 0, and the time at which it was observed.
    """
    for name in names:
        if time_of(row.get(name)) is not None:
            return row[name]
    return None


def _first(row: Row, *names: str) -> Any:
    for name in names:
        if row.get(name) is not None:
            return row[name]
    return None


def _attributes_of(value: object) -> Row:
    """Return attributes by name: an object, or OTLP's list of keys and values."""
    if isinstance(value, dict):
        return value
    attributes: Row = {}
    for member in _list_of(value):
        pair = object_of(member)
        if isinstance(pair.get("key"), str):
            attributes[pair["key"]] = _plain(pair.get("value"))
    return attributes


def _plain(value: object) -> object:
    """Return the value that OTLP wraps by its type."""
    if not isinstance(value, dict):
        return value
    if "kvlistValue" in value:
        return _attributes_of(object_of(value["kvlistValue"]).get("values"))
    if "arrayValue" in value:
        values = _list_of(object_of(value["arrayValue"]).get("values"))
        return [_plain(element) for element in values]
    for name in ("stringValue", "intValue", "doubleValue", "boolValue", "bytesValue"):
        if name in value:
            return value[name]
    return value or None


def _event_members(event: Row) -> Row:
    """Return what an event states, in its body or its attributes."""
    members = _attributes_of(event.get("attributes"))
    content = parsed_json(members.get("gen_ai.event.content"))
    body = _plain(event.get("body"))
    words = {} if body is None or isinstance(body, dict) else {"content": body}
    return {**members, **object_of(content), **object_of(body), **words}


def _attribute_messages(
    attributes: Row,
    names: tuple[str, ...],
) -> list[object]:
    """Return the messages in attributes, in either of their forms."""
    messages = list[object]()
    for name in names:
        if name in attributes:
            messages += _messages_in(attributes[name])
    return messages + _numbered_messages(attributes, names[1].removeprefix("gen_ai."))


def _messages_in(value: object) -> list[object]:
    """Return the messages in an attribute; a text that holds none is one itself.

    A model may answer in JSON, or with a number alone.
    """
    messages = _list_of(parsed_json(value))
    if not isinstance(value, str):
        return messages
    has_speaker = any("role" in object_of(message) for message in messages)
    return messages if has_speaker else [value]


def _numbered_messages(
    attributes: Row,
    group: str,
) -> list[object]:
    """Return the messages whose parts stand in attributes with numbers."""
    messages: dict[int, Row] = {}
    calls: dict[tuple[int, int], Row] = {}
    for key, value in attributes.items():
        match = _NUMBERED.fullmatch(key)
        if match is None or match[1] != group:
            continue
        index = int(match[2])
        default_role = "user" if group == "prompt" else "assistant"
        message = messages.setdefault(index, {"role": default_role})
        if match[3] is None:
            message[match[4]] = value
            continue
        call_key = (index, int(match[3]))
        if call_key not in calls:
            calls[call_key] = {}
            message.setdefault("tool_calls", []).append(calls[call_key])
        calls[call_key][match[4]] = value
    listed: list[object] = [messages[index] for index in sorted(messages)]
    return _with_blocks(listed) if group == "prompt" else listed


def _with_blocks(messages: list[object]) -> list[object]:
    """Return the messages of a request, with the blocks that contents hold as JSON."""
    parsed_messages = list[object]()
    for message in messages:
        members = object_of(message)
        blocks = parsed_json(members.get("content"))
        is_list = isinstance(blocks, list) and bool(blocks)
        if is_list and all("type" in object_of(block) for block in _list_of(blocks)):
            members = {**members, "content": blocks}
        parsed_messages.append(members)
    return parsed_messages


def _event_messages(
    event: _Event,
    *,
    is_reply: bool,
) -> list[object]:
    """Return the messages that an event tells, of the request or of the reply."""
    name = event.name
    members = event.members
    if not isinstance(name, str):
        return []
    messages = _attribute_messages(members, _REPLIES if is_reply else _PROMPTS)
    match = _MESSAGE_EVENT.fullmatch(name)
    if match is not None and not is_reply:
        call = members.get("tool_call_id") or members.get("id")
        stated = {"role": match[1], "tool_call_id": call, "at": event.at}
        messages.append({**stated, **members})
    if name == _CHOICE and is_reply:
        message = _message_in(members.get("message"))
        stated = {"role": "assistant", "at": event.at}
        messages.append({**stated, **members, **message})
    return messages


def _message_in(value: object) -> Row:
    """Return the message of a choice, which may be a text alone."""
    message = object_of(parsed_json(value))
    if isinstance(value, str) and _MESSAGE_MEMBERS.isdisjoint(message):
        return {"content": value}
    return message


def _pieces_of(
    messages: list[object], span: _Span, side: str, at: object
) -> list[Piece]:
    """Return the pieces of a span's messages."""
    pieces = list[Piece]()
    for index, message in enumerate(messages):
        own_id = f"{span.id}.{side}.{index}"
        stated_at = object_of(message).get("at") or at
        origin = MessageOrigin(
            span.session,
            own_id,
            stated_at,
        )
        pieces += message_pieces(_as_message(message, side), origin)
    return pieces


def _as_message(
    message: object,
    side: str,
) -> object:
    """Return a message with blocks in place of the parts of the conventions."""
    if isinstance(message, str):
        return {"role": "assistant" if side == "out" else "user", "content": message}
    if not isinstance(message, dict):
        return message
    if side == "out" and speaker_of(message) in PERSONS:
        # What a model gives is no person's word, whatever it states.
        message = {**message, "role": "assistant"}
    if "parts" not in message:
        return message
    blocks = [_block_of(part) for part in _list_of(message["parts"])]
    return {**message, "content": blocks}


def _block_of(part: object) -> object:
    """Return a part of a message as a block of its content."""
    members = object_of(part)
    kind = members.get("type")
    if kind == "text":
        return {"type": "text", "text": members.get("content")}
    if kind == "tool_call":
        return {**members, "type": "tool_use"}
    if kind == "tool_call_response":
        content = _first(
            members,
            "response",
            "result",
            "content",
        )
        call = members.get("id")
        return {"type": "tool_result", "tool_use_id": call, "content": content}
    if kind == "server_tool_call":
        arguments = members.get("server_tool_call")
        return {**members, "type": "tool_use", "arguments": arguments}
    if kind == "server_tool_call_response":
        return {
            "type": "tool_result",
            "tool_use_id": members.get("id"),
            "content": members.get("server_tool_call_response"),
        }
    return part


def _tool_piece(span: _Span) -> Piece:
    """Return the call of a tool that a span is."""
    attributes = span.attributes
    arguments = _first(
        attributes, "gen_ai.tool.call.arguments", "gen_ai.tool.arguments"
    )
    answer = _first(
        attributes,
        "gen_ai.tool.call.result",
        "gen_ai.tool.result",
    )
    if span.failed and answer is None:
        answer = attributes.get("error.type", "the tool failed")
    origin = MessageOrigin(
        span.session,
        span.id,
        span.end or span.start,
    )
    return origin.piece(TOOL)._replace(
        call=attributes.get("gen_ai.tool.call.id"),
        tool=attributes.get("gen_ai.tool.name"),
        arguments=parsed_json(arguments),
        answer=answer_of(parsed_json(answer)),
        failed=span.failed,
    )
