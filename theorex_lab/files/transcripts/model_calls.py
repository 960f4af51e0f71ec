"""Calls of models as tracing programs record them: what went in, and what came out.

Both may be a text, a message, a list of messages, or an object that holds one of these
under a usual name. Messages may be LangChain's own, with a type in place of a role.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from theorex_lab.files.transcripts.message_pieces import (
    AGENTS,
    ROLES,
    TOOLS,
    MessageOrigin,
    is_item,
    message_pieces,
    parsed_json,
    speaker_of,
)
from theorex_lab.files.transcripts.messages import Row, object_of
from theorex_lab.files.transcripts.pieces import Piece, Requests

_USER = "user"
_ASSISTANT = "assistant"
_WRAPPERS = (
    "messages",
    "message",
    "generations",
    "choices",
    "input",
    "output",
    "question",
    "prompt",
    "prompts",
    "query",
    "answer",
)
_DEEPEST = 8  # of messages within wrappers
_ROLES = {
    "human": _USER,
    "HumanMessage": _USER,
    "HumanMessageChunk": _USER,
    "ai": _ASSISTANT,
    "AIMessage": _ASSISTANT,
    "AIMessageChunk": _ASSISTANT,
    "system": "system",
    "SystemMessage": "system",
    "tool": "tool",
    "ToolMessage": "tool",
    "function": "tool",
    "FunctionMessage": "tool",
}


class ModelCall(NamedTuple):
    """One call of a model.

    Attributes:
        id: Its id.
        session: Its session.
        start: When it began, as stated.
        end: When it ended.
        request: What went in.
        reply: What came out.
    """

    id: str
    session: str
    start: object
    end: object
    request: object
    reply: object

    @property
    def has_messages(self) -> bool:
        """Return whether anything went in or came out."""
        messages = chain(
            _messages_in(self.request, _USER),
            _messages_in(self.reply, _ASSISTANT),
        )
        return next(messages, None) is not None

    def request_pieces(self, requests: Requests) -> Iterator[Piece]:
        """Yield the pieces of what went in; what was told before is left out.

        Args:
            requests: Tells what is new.
        """
        request = list[Piece]()
        for index, message in enumerate(_messages_in(self.request, _USER)):
            own_id = f"{self.id}.in.{index}"
            origin = MessageOrigin(self.session, own_id, self.start)
            request += message_pieces(message, origin)
        yield from requests.request(request, f"{self.session} {self.id}")

    def reply_pieces(self, requests: Requests) -> Iterator[Piece]:
        """Yield the pieces of what came out, as `request_pieces`."""
        reply = list[Piece]()
        for index, message in enumerate(_messages_in(self.reply, _ASSISTANT)):
            own_id = f"{self.id}.out.{index}"
            origin = MessageOrigin(self.session, own_id, self.end or self.start)
            reply += message_pieces(message, origin)
        yield from requests.reply(reply)


def _messages_in(value: object, role: str, depth: int = 0) -> Iterator[object]:
    """Yield the messages that a value is or holds.

    Args:
        value: The value.
        role: Who speaks where that is not stated.
        depth: In how many others it lies.
    """
    if value is None:
        return
    if isinstance(value, str):
        yield from _messages_in_text(value, role, depth)
    elif isinstance(value, list) and depth < _DEEPEST:
        for element in value:
            yield from _messages_in(element, role, depth + 1)
    elif isinstance(value, dict):
        yield from _messages_of_object(value, role, depth)
    else:
        yield value


def _messages_in_text(text: str, role: str, depth: int) -> list[object]:
    """Return the messages that a text holds as JSON, else the one that it is.

    A model may answer in JSON. Its answer holds messages only where each states that an
    agent or a tool says it: no answer is a person's word.
    """
    is_reply = role == _ASSISTANT
    value = parsed_json(text)
    if isinstance(value, dict | list) and depth < _DEEPEST:
        default_role = "" if is_reply else role
        allowed = AGENTS | TOOLS if is_reply else ROLES
        messages = list(_messages_in(value, default_role, depth + 1))
        speakers = [_stated_speaker(message) for message in messages]
        if messages and all(speaker in allowed for speaker in speakers):
            return messages
    return [{"role": role, "content": text}]


def _stated_speaker(message: object) -> str:
    return speaker_of(object_of(message))


def _messages_of_object(value: Row, role: str, depth: int) -> Iterator[object]:
    """Yield the message that an object is, or those that it holds."""
    if is_item(value):
        yield value
        return
    message = _as_message(value, role)
    if message is not None:
        yield message
        return
    for name in _WRAPPERS:
        if value.get(name) is not None and depth < _DEEPEST:
            yield from _messages_in(value[name], role, depth + 1)
            return
    if isinstance(value.get("text"), str):
        yield {"role": role, "content": value["text"]}
    else:
        yield value


def _as_message(value: Row, role: str) -> Row | None:
    """Return the message that an object is, None where it is none."""
    members = _members_of(value)
    stated_role = members.get("role") or _langchain_role(value, members)
    has_words = "content" in members or "tool_calls" in members
    if stated_role is None and not has_words:
        return None
    calls = members.get("tool_calls")
    if not calls:
        further = object_of(members.get("additional_kwargs"))
        calls = further.get("tool_calls")
    failed = members.get("status") == "error"
    return {
        **members,
        "role": stated_role or role,
        "tool_calls": calls,
        "is_error": members.get("is_error") or failed,
    }


def _members_of(value: Row) -> Row:
    """Return the members of a message, which LangChain wraps in one of two ways."""
    for name in ("kwargs", "data"):
        if isinstance(value.get(name), dict):
            return object_of(value[name])
    return value


def _langchain_role(value: Row, members: Row) -> str | None:
    """Return who speaks by the type of a message, None for another type."""
    kind = value.get("type")
    class_path = value.get("id")
    if members is not value and isinstance(class_path, list) and class_path:
        kind = class_path[-1]
    return _ROLES.get(kind) if isinstance(kind, str) else None
