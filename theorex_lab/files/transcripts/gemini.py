"""Chats of Gemini CLI: ~/.gemini/tmp/*/chats/session-*.json, and its logs.json.

A chat is an object with a `sessionId` and `messages`; newer versions write its head and
each message in a line of its own. A line may tell an earlier message again, with more of
its calls. A message of the agent holds its calls of tools with their answers. logs.json
holds prompts alone, also those of the chats beside it: a prompt has its id by its words,
so that it comes in once.

The program puts files that a prompt names behind it. They are not the user's words.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator

from theorex_lab.files.ingest.words import own_words
from theorex_lab.files.transcripts.message_pieces import (
    MessageOrigin,
    answer_of,
    message_pieces,
)
from theorex_lab.files.transcripts.messages import Row, kind_name, object_of
from theorex_lab.files.transcripts.pieces import CALL, PROMPT, TOOL, Piece

_ROLES = {"user": "user", "gemini": "assistant"}
_HEAD = frozenset({"sessionId", "projectHash"})
_FAILED = ("error", "cancelled")
_UNDER_WAY = ("validating", "scheduled", "awaiting_approval", "executing")
_FILES = re.compile(r"(?m)^[ \t]*--- Content from referenced files ---[ \t]*$")
_DIGEST_DIGITS = 16


class Gemini:
    """Finds the pieces in chats.

    Args:
        stem: The session where no head names it.
    """

    name = "gemini"

    def __init__(self, stem: str) -> None:
        self._session = stem
        self._is_helper = False
        self._has_lines = False
        # By session and words, how often they were a prompt.
        self._n_prompts = Counter[tuple[str, str]]()
        # By session and id of a message, the id of its prompt.
        self._prompt_ids: dict[tuple[str, str], str] = {}

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
        if "kind" in row and "sessionId" in row:
            self._is_helper = row["kind"] == "subagent"
        messages = row.get("messages") or self._messages_set(row)
        if not isinstance(messages, list):
            yield from self._line(row, number)
            return
        pieces = list[Piece]()
        for index, message in enumerate(messages):
            pieces += self._message(message, f"{number}.{index}")
        if pieces:
            yield from pieces[:-1]
            yield pieces[-1]._replace(ends="messages" in row)

    def _messages_set(self, row: Row) -> object:
        """Return the messages that a change sets, where no line holds them.

        Else they are what a model gets, which repeats or sums up what lines have told.
        """
        return None if self._has_lines else object_of(row.get("$set")).get("messages")

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
            self._has_lines = True
            yield from self._message(row, str(number))
        else:
            origin = MessageOrigin(self._session, number)
            is_rewind = "$rewindTo" in row
            yield origin.left_out(
                "going back in a chat: what was said before is kept"
                if is_rewind
                else "head of a chat, or a change of one"
            )

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
        if message.get("content") not in (None, "") or not call_values:
            pieces += self._words(message, role, origin)
        for index, call in enumerate(call_values):
            pieces.append(
                _tool_piece(
                    call,
                    index,
                    origin,
                )
            )
        return pieces

    def _words(
        self,
        message: Row,
        role: str,
        origin: MessageOrigin,
    ) -> list[Piece]:
        """Return the pieces of a message's content, at least one."""
        content = message.get("content")
        if role == "user":
            content = message.get("displayContent") or content
        pieces = list[Piece]()
        words = {"role": role, "content": _blocks(content)}
        for piece in message_pieces(words, origin):
            pieces.append(self._as_prompt(piece) if piece.kind == PROMPT else piece)
        return pieces

    def _as_prompt(self, piece: Piece) -> Piece:
        """Return a prompt under the id of its words, the same in chats and in the log."""
        origin = MessageOrigin(piece.session, piece.own, piece.timestamp)
        if self._is_helper:
            return origin.left_out("prompt that the agent gave to a helper")
        texts = _without_files(piece.texts)
        text = own_words(texts)
        if not text:
            return origin.left_out("user: words of the program")
        message_key = (piece.session, str(piece.own))
        words = text.encode("utf-8", "replace")
        digest = hashlib.sha256(words).hexdigest()[:_DIGEST_DIGITS]
        prompt_id = self._prompt_ids.get(message_key, "")
        if not prompt_id.startswith(digest):
            self._n_prompts[piece.session, digest] += 1
            n_prompts = self._n_prompts[piece.session, digest]
            prompt_id = f"{digest} {n_prompts}"
            self._prompt_ids[message_key] = prompt_id
        return piece._replace(own=prompt_id, texts=texts)


def _without_files(texts: tuple[str, ...]) -> tuple[str, ...]:
    r"""Return the words before the files that the program put behind them.

    >>> _without_files(("Explain @a.txt\n--- Content from referenced files ---\nb",))
    ('Explain @a.txt',)
    """
    typed = list[str]()
    for text in texts:
        files = _FILES.search(text)
        if files:
            typed.append(text[: files.start()].rstrip())
            break
        typed.append(text)
    return tuple(typed)


def _blocks(content: object) -> object:
    """Return a content with blocks of text in place of Gemini's parts."""
    if not isinstance(content, list):
        return content
    blocks = list[object]()
    for part in content:
        blocks.append(_block_of(part))
    return blocks


def _block_of(part: object) -> object:
    """Return a part of Gemini as a block: words, a call, an answer, or its kind."""
    members = object_of(part)
    if members.get("thought") is True:
        return {"type": "thought"}
    if isinstance(members.get("text"), str):
        return members["text"]
    call = object_of(members.get("functionCall"))
    if call:
        return {**call, "type": "tool_use"}
    answered = object_of(members.get("functionResponse"))
    if answered:
        response = object_of(answered.get("response"))
        return {
            "type": "tool_result",
            "tool_use_id": answered.get("id"),
            "name": answered.get("name"),
            "content": response.get("output", response.get("error", response)),
            "is_error": "error" in response,
        }
    return {"type": next(iter(members))} if members else part


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
    is_under_way = call.get("status") in _UNDER_WAY and not response
    return origin.piece(CALL if is_under_way else TOOL)._replace(
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
