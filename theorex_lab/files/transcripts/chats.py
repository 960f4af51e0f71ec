"""Messages as the interfaces of OpenAI and Anthropic take them, in lines of JSON.

A line is a message, with `role` and `content`, or a conversation, with `messages`. Calls
of tools stand in the member `tool_calls`, or in blocks of the content; so do their
answers, which may also be messages of the role `tool`. Neither interface knows of times
and sessions: what programs add by the usual names is read, else the file says it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.files.transcripts.messages import (
    MessageSource,
    OpenCalls,
    OpenTurns,
    Row,
    Utterance,
    blocks_of,
    kind_name,
    object_of,
    texts_of,
)

_PERSONS = frozenset({"user", "human"})
_AGENTS = frozenset({"assistant", "ai", "model"})
_TOOLS = frozenset({"tool", "function"})
_PROGRAMS = frozenset({"system", "developer"})
_ROLES = _PERSONS | _AGENTS | _TOOLS | _PROGRAMS
_SESSIONS = ("session_id", "sessionId", "conversation_id", "thread_id", "session")
_TIMES = ("timestamp", "created_at", "createdAt", "created", "create_time", "at")
_IDS = ("id", "uuid", "message_id")
_TEXT_BLOCKS = ("input_text", "output_text")


class Chats:
    """Reads messages, or whole conversations, of one file.

    Args:
        stem: The session where its lines name none.
    """

    name = "chat"

    def __init__(self, stem: str) -> None:
        self._stem = stem
        self._calls = OpenCalls()
        self._turns = OpenTurns()

    @staticmethod
    def reads(row: Row) -> bool:
        """Return whether a line is of this form."""
        if is_message(row):
            return True
        messages = row.get("messages")
        if not isinstance(messages, list) or not messages:
            return False
        objects = [message for message in messages if isinstance(message, dict)]
        return any(map(is_message, objects))

    def feed(
        self,
        row: Row,
        number: int | str,
        size: int,
    ) -> Iterator[Utterance]:
        """See `Reader`."""
        messages = row.get("messages")
        if isinstance(messages, list):
            yield from self._conversation(row, messages, number, size)
        elif is_message(row):
            session = self._session_of(row, self._stem)
            own_id = _first(row, _IDS) or number
            at = _first(row, _TIMES)
            cwd = row.get("cwd")
            source = MessageSource(session, own_id, at, cwd, rows=(number,))
            yield from self._message(row, source, size)

    def end(self) -> Iterator[Utterance]:
        """See `Reader`."""
        yield from self._turns.all_ended()

    def kind_of(self, row: Row) -> str:
        """See `Reader`."""
        if "messages" in row:
            return "conversation in which nothing was said"
        role = _role_of(row)
        if role in _AGENTS:
            is_call = any(_calls_of(row))
            what = "call without an answer" if is_call else "message within a turn"
            return f"assistant: {what}"
        if role in _PERSONS:
            return "user: no text"
        return kind_name(row.get("role"))

    def _conversation(
        self, row: Row, messages: list[object], number: int | str, size: int
    ) -> Iterator[Utterance]:
        """Yield what the messages of one conversation tell, and its end.

        Raises:
            InvalidInput: A message cannot be read; after what all others tell.
        """
        name = _first(row, _IDS) or f"{self._stem} {number}"
        session = self._session_of(row, str(name))
        began_at = _first(row, _TIMES)
        self._calls = OpenCalls()
        problems = list[InvalidInput]()
        for index, value in enumerate(messages):
            message = object_of(value)
            own_id = _first(message, _IDS) or f"{number}.{index}"
            at = _first(message, _TIMES) or began_at
            cwd = row.get("cwd")
            source = MessageSource(session, own_id, at, cwd, rows=(number,))
            try:
                yield from self._message(message, source, size)
            except InvalidInput as error:
                problems.append(error)
        yield from self._turns.all_ended()
        if problems:
            raise problems[0]

    def _message(
        self, message: Row, source: MessageSource, size: int
    ) -> Iterator[Utterance]:
        """Yield what one message tells.

        Raises:
            InvalidInput: It answers a call that is not there, or is no message.
        """
        role = _role_of(message)
        if role in _AGENTS:
            self._agent(message, source, size)
        elif role in _TOOLS:
            call = message.get("tool_call_id") or message.get("name")
            content = message.get("content")
            text = "\n".join(texts_of(content, *_TEXT_BLOCKS))
            yield self._calls.answered(source, call, {"tool_response": text})
        elif role in _PERSONS:
            yield from self._person(message, source)
        elif role not in _PROGRAMS:
            name = kind_name(message.get("role"))
            raise InvalidInput(f"no message: its role is {name}")

    def _agent(self, message: Row, source: MessageSource, size: int) -> None:
        """Note what an agent says, and the tools that it calls."""
        content = message.get("content")
        texts = texts_of(content, *_TEXT_BLOCKS)
        self._turns.says(source, "\n".join(texts))
        for call in _calls_of(message):
            self._turns.goes_on()
            self._calls.begin(
                call.id,
                call.tool,
                call.arguments,
                size=size,
                row=source.rows[0],
            )

    def _person(self, message: Row, source: MessageSource) -> Iterator[Utterance]:
        """Yield the answers of tools in a message, and what a person asked.

        Raises:
            InvalidInput: An answer is of no call; after all else in the message.
        """
        content = message.get("content")
        problems = list[InvalidInput]()
        for block in blocks_of(content):
            if block.get("type") != "tool_result":
                continue
            call = block.get("tool_use_id")
            answer = _answer(block)
            try:
                yield self._calls.answered(source, call, answer)
            except InvalidInput as error:
                problems.append(error)
        texts = texts_of(content, *_TEXT_BLOCKS)
        prompts = source.prompt(texts)
        if prompts:
            yield from [*self._turns.ended(), *prompts]
        if problems:
            raise problems[0]

    def _session_of(self, row: Row, default: str) -> str:
        return str(_first(row, _SESSIONS) or default)


def is_message(row: Row) -> bool:
    """Return whether an object is a message.

    >>> is_message({"role": "user", "content": "Which port?"})
    True
    >>> is_message({"role": "admin", "content": ""})
    False
    """
    has_words = "content" in row or "tool_calls" in row or "function_call" in row
    return _role_of(row) in _ROLES and has_words


def _role_of(message: Row) -> str:
    """Return who speaks; '' where that is no text."""
    role = message.get("role")
    return role if isinstance(role, str) else ""


def _first(row: Row, names: tuple[str, ...]) -> object:
    """Return the first member of these names that is a text or a number."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str | int | float) and value != "":
            return value
    return None


class _Call(NamedTuple):
    """A call of a tool.

    Attributes:
        id: The id by which its answer names it.
        tool: The name of the tool.
        arguments: What it is given.
    """

    id: object
    tool: object
    arguments: object


def _calls_of(message: Row) -> Iterator[_Call]:
    """Yield the calls in a message, in each form that they are stated in."""
    listed = message.get("tool_calls")
    if isinstance(listed, list):
        for value in listed:
            call = object_of(value)
            function = object_of(call.get("function"))
            arguments = _parsed(function.get("arguments"))
            yield _Call(call.get("id"), function.get("name"), arguments)
    former = object_of(message.get("function_call"))
    if former:
        name = former.get("name")
        arguments = _parsed(former.get("arguments"))
        yield _Call(name, name, arguments)
    for block in blocks_of(message.get("content")):
        if block.get("type") == "tool_use":
            call_id = block.get("id")
            tool = block.get("name")
            yield _Call(call_id, tool, block.get("input"))


def _parsed(arguments: object) -> object:
    """Return arguments, which are stated as JSON in a text; other texts as they are."""
    if not isinstance(arguments, str):
        return arguments
    try:
        value: object = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return value


def _answer(block: Row) -> Row:
    """Return what a tool answered."""
    text = "\n".join(texts_of(block.get("content")))
    failed = block.get("is_error") is True
    if failed:
        return {"error": text}
    return {"tool_response": text}
