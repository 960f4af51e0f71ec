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
    TOOL,
    UNREAD,
    Piece,
)

PERSONS = frozenset({"user", "human"})
AGENTS = frozenset({"assistant", "ai", "model"})
TOOLS = frozenset({"tool", "function"})
PROGRAMS = frozenset({"system", "developer"})
ROLES = PERSONS | AGENTS | TOOLS | PROGRAMS
# A tuple, since a broken block may have anything at the place of a name.
_TEXT_BLOCKS = ("text", "input_text", "output_text")
# Calls and answers that stand in the content of a message.
_CALL_BLOCKS = ("tool_use", "server_tool_use", "mcp_tool_use")
_ANSWER_BLOCK = "tool_result"  # the kinds of others end with it
# Items of a conversation beside its messages, in OpenAI's newer interface.
_CALL_ITEM = "_call"
_ANSWER_ITEM = "_call_output"
_ARGUMENTS = ("arguments", "input", "action", "queries", "code", "operation")
_RESULTS = ("output", "outputs", "results", "result")
_FAILED = ("failed", "incomplete")
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

    def left_out(self, what: str) -> Piece:
        """Return a piece that tells nothing, by what it is."""
        return self.piece(LEFT_OUT, what)

    def unread(self, why: str) -> Piece:
        """Return a piece that cannot be read, by the reason."""
        return self.piece(UNREAD, why)


def first_of(
    row: Row,
    names: tuple[str, ...],
) -> object:
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
    return MessageOrigin(
        str(stated_session),
        own_id,
        stated_at,
        row.get("cwd"),
    )


def speaker_of(message: Row) -> str:
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
    return speaker_of(row) in ROLES and has_words


def is_item(row: Row) -> bool:
    """Return whether an object is a call of a tool, or an answer, beside messages.

    >>> is_item({"type": "function_call", "call_id": "c", "name": "look"})
    True
    """
    kind = row.get("type")
    if not isinstance(kind, str) or "role" in row:
        return False
    is_known = kind.endswith((_CALL_ITEM, _ANSWER_ITEM)) or kind == "reasoning"
    return is_known and ("call_id" in row or "id" in row)


def message_pieces(
    message: object,
    origin: MessageOrigin,
) -> list[Piece]:
    """Return the pieces of a message, at least one.

    >>> origin = MessageOrigin("talk", 1)
    >>> message = {"role": "user", "content": "Which port?"}
    >>> [(piece.kind, piece.text) for piece in message_pieces(message, origin)]
    [('prompt', 'Which port?')]
    """
    if not isinstance(message, dict):
        return [origin.unread("no message: no object of JSON")]
    role = speaker_of(message)
    kind = message.get("type")
    if not role and isinstance(kind, str):
        return [_item_piece(message, kind, origin)]
    if role in AGENTS:
        return _agent_pieces(message, origin)
    if role in PERSONS:
        return _person_pieces(message, origin)
    if role in TOOLS:
        return _tool_pieces(message, origin)
    if role in PROGRAMS:
        return [origin.left_out(kind_name(role))]
    name = kind_name(message.get("role"))
    return [origin.unread(f"no message: its role is {name}")]


def _agent_pieces(
    message: Row,
    origin: MessageOrigin,
) -> list[Piece]:
    """Return the words of an agent, and behind them the tools that it calls."""
    texts, pieces = _content_of(message, origin)
    if isinstance(message.get("refusal"), str):
        texts.append(message["refusal"])
    # Some programs state a call in the content and beside it.
    ids = {piece.call for piece in pieces if isinstance(piece.call, str)}
    for call in _listed_calls(message, origin):
        is_stated = isinstance(call.call, str) and call.call in ids
        if not is_stated:
            pieces.append(call)
    if not any(texts):
        return pieces or [origin.left_out("assistant: no text and no call")]
    n_answered = _answered_pieces(pieces)
    words = origin.piece(MESSAGE, *texts)
    return [*pieces[:n_answered], words, *pieces[n_answered:]]


def _answered_pieces(pieces: list[Piece]) -> int:
    """Return how many pieces come before the last words of a message.

    They are those up to the last answer that a tool gave within it.
    """
    n_answered = 0
    for index, piece in enumerate(pieces, start=1):
        if piece.kind in (ANSWER, TOOL):
            n_answered = index
    return n_answered


def _person_pieces(
    message: Row,
    origin: MessageOrigin,
) -> list[Piece]:
    """Return the answers of tools in a person's message, and behind them its words."""
    texts, pieces = _content_of(message, origin)
    if any(texts):
        return [*pieces, origin.piece(PROMPT, *texts)]
    return pieces or [origin.left_out("user: no text")]


def _tool_pieces(
    message: Row,
    origin: MessageOrigin,
) -> list[Piece]:
    """Return the answers that a tool's message holds, or the one that it is."""
    content = message.get("content")
    if isinstance(content, dict):
        return [
            _tool_message(
                message,
                content,
                origin,
            )
        ]
    texts, pieces = _content_of(message, origin)
    if any(piece.kind == ANSWER for piece in pieces):
        return pieces
    answer = "\n".join(texts)
    return [
        *pieces,
        _tool_message(
            message,
            answer,
            origin,
        ),
    ]


def _content_of(
    message: Row,
    origin: MessageOrigin,
) -> tuple[list[str], list[Piece]]:
    """Return the words of a message's content, and the pieces that are none."""
    content = message.get("content")
    texts = list[str]()
    pieces = list[Piece]()
    if content is None:
        return texts, pieces
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, str):
            texts.append(block)
            continue
        if not isinstance(block, dict):
            pieces.append(origin.unread("a part of a message is no text"))
            continue
        text = _words_of(block)
        if isinstance(text, str):
            texts.append(text)
        else:
            pieces.append(_block_piece(block, origin))
    return texts, pieces


def _words_of(block: Row) -> object:
    """Return the words of a block, None where it is of another type."""
    kind = block.get("type", "text")
    if kind == "refusal":
        return block.get("refusal")
    if kind not in _TEXT_BLOCKS:
        return None
    text = block.get("text")
    return text.get("value") if isinstance(text, dict) else text


def _block_piece(
    block: Row,
    origin: MessageOrigin,
) -> Piece:
    """Return the piece of a block that is no text."""
    kind = block.get("type")
    if kind in _CALL_BLOCKS:
        return _call_with_answer(block, origin)
    if isinstance(kind, str) and kind.endswith(_ANSWER_BLOCK):
        content = block.get("content")
        error = object_of(content).get("error_code")
        return origin.piece(ANSWER)._replace(
            call=block.get("tool_use_id"),
            tool=block.get("name"),
            answer=answer_of(content),
            failed=block.get("is_error") is True or error is not None,
        )
    return origin.left_out(f"part: {kind_name(kind)}")


def _call_with_answer(
    block: Row,
    origin: MessageOrigin,
) -> Piece:
    """Return a call in a content, with its answer where the block holds it as well."""
    call = call_piece(block, origin)
    error = block.get("error")
    if block.get("result") is None and not error:
        return call
    answer = answer_of(parsed_json(block.get("result")))
    return call._replace(
        kind=TOOL,
        answer=answer or error,
        failed=bool(error),
    )


def _item_piece(
    item: Row,
    kind: str,
    origin: MessageOrigin,
) -> Piece:
    """Return the piece of an item that no one speaks: a call, an answer, or its kind."""
    call_id = item.get("call_id") or item.get("id")
    if kind.endswith(_ANSWER_ITEM):
        return origin.piece(ANSWER)._replace(
            call=call_id,
            answer=answer_of(item.get("output")),
            failed=item.get("status") in _FAILED,
        )
    if not kind.endswith(_CALL_ITEM):
        return origin.left_out(f"item: {kind_name(kind)}")
    call = origin.piece(CALL)._replace(
        call=call_id,
        tool=item.get("name") or kind.removesuffix(_CALL_ITEM),
        arguments=parsed_json(_member_of(item, _ARGUMENTS)),
    )
    answer = _member_of(item, (*_RESULTS, "error"))
    if answer is None:
        return call
    failed = bool(item.get("error")) or item.get("status") in _FAILED
    return call._replace(
        kind=TOOL,
        answer=answer_of(answer),
        failed=failed,
    )


def _member_of(
    row: Row,
    names: tuple[str, ...],
) -> object:
    """Return the first member of these names that there is; None for none."""
    for name in names:
        if row.get(name) is not None:
            return row[name]
    return None


def _tool_message(
    message: Row,
    answer: object,
    origin: MessageOrigin,
) -> Piece:
    """Return the answer that a message of a tool is, with what went wrong."""
    error = object_of(message.get("error")).get("message")
    if isinstance(error, str) and isinstance(answer, str) and error not in answer:
        answer = f"{answer}\n{error}".strip()
    return origin.piece(ANSWER)._replace(
        call=message.get("tool_call_id"),
        tool=message.get("name"),
        answer=answer,
        failed=bool(message.get("is_error") or message.get("error")),
    )


def _listed_calls(
    message: Row,
    origin: MessageOrigin,
) -> Iterator[Piece]:
    """Yield the calls that stand beside a message's content."""
    listed = message.get("tool_calls")
    if isinstance(listed, list):
        for value in listed:
            if isinstance(value, dict):
                yield call_piece(value, origin)
            else:
                yield origin.unread("a call of a tool is no object of JSON")
    former = object_of(message.get("function_call"))
    if former:
        yield call_piece(former, origin)


def call_piece(
    call: Row,
    origin: MessageOrigin,
) -> Piece:
    """Return a call of a tool, in any of the forms that it is stated in."""
    function = call.get("function")
    members = {**call, **object_of(function)}
    name = function if isinstance(function, str) else members.get("name")
    arguments = _member_of(members, ("arguments", "args", "input"))
    return origin.piece(CALL)._replace(
        call=call.get("id"),
        tool=name,
        arguments=parsed_json(arguments),
    )


def parsed_json(value: object) -> object:
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
