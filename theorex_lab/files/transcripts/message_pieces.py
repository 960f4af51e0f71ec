"""The pieces of one message, as the interfaces of models take it.

A message has a `role` and a `content`, a text or blocks. Calls of tools stand in
`tool_calls`, in `function_call`, or in blocks of the content; so do their answers, which
may also be messages of the role `tool`. Readers of other forms write their messages
down in this one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from theorex_lab.files.transcripts.messages import Row, kind_name, object_of
from theorex_lab.files.transcripts.pieces import (
    ANSWER,
    CALL,
    LEFT_OUT,
    MESSAGE,
    PROMPT,
    UNREAD,
    Piece,
)

PERSONS = frozenset({"user", "human"})
AGENTS = frozenset({"assistant", "ai", "model"})
TOOLS = frozenset({"tool", "function"})
PROGRAMS = frozenset({"system", "developer"})
ROLES = PERSONS | AGENTS | TOOLS | PROGRAMS
_TEXT_BLOCKS = frozenset({"text", "input_text", "output_text"})
_SESSIONS = ("session_id", "sessionId", "conversation_id", "thread_id", "session")
_TIMES = ("timestamp", "created_at", "createdAt", "created", "create_time", "at")
_IDS = ("id", "uuid", "message_id")


class MessageOrigin(NamedTuple):
    """Where a message stands.

    Attributes:
        session: In which session.
        own: Its id within the session.
        timestamp: When, as it is stated.
        cwd: In which folder.
    """

    session: str
    own: object
    timestamp: object = None
    cwd: object = None

    def piece(self, kind: str, *texts: str) -> Piece:
        """Return a piece of the message."""
        return Piece(kind, *self, texts=texts)


def first_of(row: Row, names: tuple[str, ...]) -> object:
    """Return the first member of these names that is a text or a number."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str | int | float) and value != "":
            return value
    return None


def stated_place(
    row: Row, session: str, own: object, at: object = None
) -> MessageOrigin:
    """Return the place that a message states by the usual names.

    Args:
        row: The message.
        session: The session where it names none.
        own: The id where it names none.
        at: The time where it states none.
    """
    stated_session = first_of(row, _SESSIONS) or session
    own_id = first_of(row, _IDS) or own
    stated_at = first_of(row, _TIMES) or at
    return MessageOrigin(str(stated_session), own_id, stated_at, row.get("cwd"))


def role_of(message: Row) -> str:
    """Return who speaks; '' where that is no text."""
    role = message.get("role")
    return role if isinstance(role, str) else ""


def is_message(row: Row) -> bool:
    """Return whether an object is a message.

    >>> is_message({"role": "user", "content": "Which port?"})
    True
    >>> is_message({"role": "admin", "content": ""})
    False
    """
    has_words = "content" in row or "tool_calls" in row or "function_call" in row
    return role_of(row) in ROLES and has_words


def message_pieces(message: object, origin: MessageOrigin) -> list[Piece]:
    """Return the pieces of a message, at least one.

    >>> place = MessageOrigin("talk", 1)
    >>> [(piece.kind, piece.text) for piece in message_pieces(
    ...     {"role": "user", "content": "Which port?"}, place
    ... )]
    [('prompt', 'Which port?')]
    """
    if not isinstance(message, dict):
        return [origin.piece(UNREAD, "no message: no object of JSON")]
    role = role_of(message)
    if role in PROGRAMS:
        return [origin.piece(LEFT_OUT, kind_name(role))]
    if role not in ROLES:
        name = kind_name(message.get("role"))
        return [origin.piece(UNREAD, f"no message: its role is {name}")]
    pieces = [*_content_pieces(message, role, origin)]
    if role in AGENTS:
        # Some programs state a call in the content and beside it.
        ids = {str(piece.call) for piece in pieces if piece.call is not None}
        for call in _listed_calls(message, origin):
            if call.call is None or str(call.call) not in ids:
                pieces.append(call)
    if not pieces:
        silent = "no text and no call" if role in AGENTS else "no text"
        speaker = "assistant" if role in AGENTS else "user"
        pieces = [origin.piece(LEFT_OUT, f"{speaker}: {silent}")]
    return pieces


def _content_pieces(message: Row, role: str, origin: MessageOrigin) -> Iterator[Piece]:
    """Yield the pieces of a message's content, its words last or first as they count.

    A call stands behind the words, an answer before them.
    """
    texts = list[str]()
    others = list[Piece]()
    content = message.get("content")
    for block in _blocks(content):
        text = block.get("text") if isinstance(block, dict) else block
        kind = block.get("type", "text") if isinstance(block, dict) else "text"
        if kind in _TEXT_BLOCKS and isinstance(text, str):
            texts.append(text)
        elif isinstance(block, dict):
            others.append(_block_piece(block, origin))
        else:
            others.append(origin.piece(UNREAD, "a part of a message is no text"))
    has_answer = any(piece.kind == ANSWER for piece in others)
    words = list[Piece]()
    if role in TOOLS and not has_answer:
        words = [_tool_message(message, texts, origin)]
    elif any(texts):
        kind = MESSAGE if role in AGENTS else PROMPT
        words = [origin.piece(kind, *texts)]
    if role in AGENTS:
        yield from [*words, *others]
    else:
        yield from [*others, *words]


def _blocks(content: object) -> list[object]:
    if isinstance(content, list):
        return content
    return [] if content is None else [content]


def _block_piece(block: Row, origin: MessageOrigin) -> Piece:
    """Return the piece of a block that is no text."""
    kind = block.get("type")
    if kind == "tool_use":
        return call_piece(block, origin)
    if kind == "tool_result":
        return origin.piece(ANSWER)._replace(
            call=block.get("tool_use_id"),
            tool=block.get("name"),
            answer=answer_of(block.get("content")),
            failed=block.get("is_error") is True,
        )
    return origin.piece(LEFT_OUT, f"part: {kind_name(kind)}")


def _tool_message(message: Row, texts: list[str], origin: MessageOrigin) -> Piece:
    """Return the answer that a message of a tool is."""
    return origin.piece(ANSWER)._replace(
        call=message.get("tool_call_id"),
        tool=message.get("name"),
        answer="\n".join(texts),
        failed=bool(message.get("is_error") or message.get("error")),
    )


def _listed_calls(message: Row, origin: MessageOrigin) -> Iterator[Piece]:
    """Yield the calls that stand beside a message's content."""
    listed = message.get("tool_calls")
    if isinstance(listed, list):
        for value in listed:
            if isinstance(value, dict):
                yield call_piece(value, origin)
            else:
                yield origin.piece(UNREAD, "a call of a tool is no object of JSON")
    former = object_of(message.get("function_call"))
    if former:
        yield call_piece(former, origin)


def call_piece(call: Row, origin: MessageOrigin) -> Piece:
    """Return a call of a tool, in any of the forms that it is stated in."""
    function = call.get("function")
    members = {**call, **object_of(function)}
    name = function if isinstance(function, str) else members.get("name")
    arguments = None
    for member in ("arguments", "args", "input"):
        if members.get(member) is not None:
            arguments = members[member]
            break
    return origin.piece(CALL)._replace(
        call=call.get("id"),
        tool=name,
        arguments=parsed(arguments),
    )


def parsed(value: object) -> object:
    """Return what a text holds as JSON; other texts and values as they are."""
    if not isinstance(value, str):
        return value
    try:
        parsed_value: object = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return parsed_value


def answer_of(content: object) -> object:
    """Return what a tool answers: the words in blocks as a text, else the value.

    >>> answer_of([{"type": "text", "text": "port = 8080"}])
    'port = 8080'
    """
    if not isinstance(content, list):
        return content
    texts = list[str]()
    for block in content:
        text = block.get("text") if isinstance(block, dict) else block
        if not isinstance(text, str):
            return content
        texts.append(text)
    return "\n".join(texts)
