"""Chats of Gemini CLI: ~/.gemini/tmp/*/chats/session-*.json, and its logs.json.

A chat is an object with a `sessionId` and `messages`; newer versions write its head and
each message in a line of its own. A message of the agent holds its calls of tools with
their answers. logs.json holds prompts alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from theorex_lab.files.transcripts.message_pieces import (
    MessageOrigin,
    answer_of,
    message_pieces,
)
from theorex_lab.files.transcripts.messages import Row, kind_name, object_of
from theorex_lab.files.transcripts.pieces import TOOL, Piece

_ROLES = {"user": "user", "gemini": "assistant"}
_HEAD = frozenset({"sessionId", "projectHash"})
_FAILED = ("error", "cancelled")


class Gemini:
    """Finds the pieces in chats.

    Args:
        stem: The session where no head names it.
    """

    name = "gemini"

    def __init__(self, stem: str) -> None:
        self._session = stem

    @staticmethod
    def reads(row: Row) -> bool:
        """Return whether an object is of this form."""
        is_logged = {"sessionId", "messageId"} <= row.keys()
        return row.keys() >= _HEAD or (
            is_logged and isinstance(row.get("message"), str)
        )

    def pieces(
        self,
        row: Row,
        number: int | str,
    ) -> Iterator[Piece]:
        """See `PieceForm`."""
        if isinstance(row.get("sessionId"), str):
            self._session = row["sessionId"]
        messages = row.get("messages")
        if not isinstance(messages, list):
            yield from self._line(row, number)
            return
        pieces = list[Piece]()
        for index, message in enumerate(messages):
            pieces += self._message(message, f"{number}.{index}")
        if pieces:
            yield from pieces[:-1]
            yield pieces[-1]._replace(ends=True)

    def _line(
        self,
        row: Row,
        number: int | str,
    ) -> Iterator[Piece]:
        """Yield the pieces of a line: a head, a message, or an entry of the log."""
        if "messageId" in row:
            message_id = row["messageId"]
            row = {"id": f"log {message_id}", "content": row.get("message"), **row}
        if "type" in row:
            yield from self._message(row, str(number))
        else:
            origin = MessageOrigin(self._session, number)
            yield origin.left_out("head of a chat, or a change of one")

    def _message(
        self,
        message: object,
        own_id: str,
    ) -> list[Piece]:
        """Return the pieces of a message, at least one."""
        origin = MessageOrigin(self._session, own_id)
        if not isinstance(message, dict):
            return [origin.unread("a message is no object of JSON")]
        kind = message.get("type")
        role = _ROLES.get(kind) if isinstance(kind, str) else None
        message_id = message.get("id") or own_id
        at = message.get("timestamp")
        origin = origin._replace(own=message_id, timestamp=at)
        if role is None:
            return [origin.left_out(f"message: {kind_name(kind)}")]
        calls = message.get("toolCalls")
        call_values = calls if isinstance(calls, list) else []
        pieces = list[Piece]()
        content = message.get("content")
        if content not in (None, "") or not call_values:
            words = {"role": role, "content": _blocks(content)}
            pieces += message_pieces(words, origin)
        for index, call in enumerate(call_values):
            pieces.append(
                _tool_piece(
                    call,
                    index,
                    origin,
                )
            )
        return pieces


def _blocks(content: object) -> object:
    """Return a content with blocks of text in place of Gemini's parts."""
    if not isinstance(content, list):
        return content
    blocks = list[object]()
    for part in content:
        members = object_of(part)
        if isinstance(members.get("text"), str):
            blocks.append(members["text"])
        elif members:
            blocks.append({"type": next(iter(members))})
        else:
            blocks.append(part)
    return blocks


def _tool_piece(
    call: object,
    index: int,
    origin: MessageOrigin,
) -> Piece:
    """Return a call of a tool with its answer."""
    if not isinstance(call, dict):
        return origin.unread("a call of a tool is no object of JSON")
    failed = call.get("status") in _FAILED
    response = _response_in(call.get("result"))
    answer = response.get("output", response.get("error"))
    if answer is None:
        answer = call.get("resultDisplay") or response
    at = call.get("timestamp") or origin.timestamp
    origin = origin._replace(own=f"{origin.own}.{index}", timestamp=at)
    return origin.piece(TOOL)._replace(
        call=call.get("id"),
        tool=call.get("name"),
        arguments=call.get("args"),
        answer=answer_of(answer),
        failed=failed or "error" in response,
    )


def _response_in(result: object) -> Row:
    """Return the first response of a function in a result."""
    for part in result if isinstance(result, list) else [result]:
        function = object_of(object_of(part).get("functionResponse"))
        if function:
            return object_of(function.get("response"))
    return {}
