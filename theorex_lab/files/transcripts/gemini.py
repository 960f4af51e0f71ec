"""Chats of Gemini CLI: ~/.gemini/tmp/*/chats/session-*.json, and its logs.json.

A chat is an object with a `sessionId` and `messages`; newer versions write its head and
each message in a line of its own. A line may tell an earlier message again, with more of
its calls. A line `$rewindTo` takes back the message that it names and those after it:
the program loads them no more, and they are counted as left out. A message of the agent
holds its calls of tools with their answers. logs.json holds prompts alone, also those of
the chats beside it: a prompt has its id by its words, so that it comes in once.

A checkpoint, which a user or the program saved, repeats a chat without its times: its
messages are counted as left out.

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
from theorex_lab.files.transcripts.messages import Row, kind_name, object_of, time_of
from theorex_lab.files.transcripts.pieces import (
    CALL,
    LEFT_OUT,
    PROMPT,
    TOOL,
    UNREAD,
    Piece,
    ToldAtOnce,
    TraceEntry,
)
from theorex_lab.files.transcripts.time_order import by_time

_ROLES = {"user": "user", "gemini": "assistant"}
_HELPER = "helper"
_HEAD = frozenset({"sessionId", "projectHash"})
_FAILED = ("error", "cancelled")
_UNDER_WAY = ("validating", "scheduled", "awaiting_approval", "executing")
_FILES = re.compile(r"(?m)^[ \t]*--- Content from referenced files ---[ \t]*$")
_DIGEST_DIGITS = 16


class Gemini(ToldAtOnce):
    """Finds the pieces in chats.

    Args:
        stem: The session where no head names it.
    """

    name = "gemini"

    def __init__(self, stem: str) -> None:
        self._session = stem
        self._has_session = False
        self._is_helper = False
        self._is_told_of_helper = False
        self._has_lines = False
        # The ids of messages in lines: those that stand, in order, and the others.
        self._standing_ids: dict[str, None] = {}
        self._taken_back = set[str]()
        # By session and words, how often they were a prompt.
        self._n_prompts = Counter[tuple[str, str]]()
        # By session and id of a message, the id of its prompt.
        self._prompt_ids: dict[tuple[str, str], str] = {}

    @staticmethod
    def reads(row: Row) -> bool:
        """Return whether an object is of this form."""
        is_logged = {"sessionId", "messageId"} <= row.keys()
        is_entry = is_logged and isinstance(row.get("message"), str)
        return row.keys() >= _HEAD or is_entry or _is_checkpoint(row)

    def entries(
        self,
        row: Row,
        number: int | str,
    ) -> Iterator[TraceEntry]:
        """See `PieceForm`."""
        if isinstance(row.get("sessionId"), str):
            self._session = row["sessionId"]
            self._has_session = True
        if "kind" in row and "sessionId" in row:
            self._is_helper = row["kind"] == "subagent"
        if "messageId" not in row:
            self._has_lines |= "type" in row
            self._note(row)
        at = row.get("timestamp") or row.get("startTime")
        kind = _HELPER if self._is_helper else ""
        session = self._session if self._has_session else ""
        yield TraceEntry(
            row,
            number,
            time_of(at),
            kind=kind,
            session=session,
        )

    def _note(self, row: Row) -> None:
        """Note a message of a line, or that messages are taken back.

        They are the message that is named and all after it; all where none is so named.
        """
        message_id = row.get("id")
        if isinstance(row.get("$rewindTo"), str):
            ids = list(self._standing_ids)
            is_named = row["$rewindTo"] in self._standing_ids
            start = ids.index(row["$rewindTo"]) if is_named else 0
            for taken_id in ids[start:]:
                del self._standing_ids[taken_id]
                self._taken_back.add(taken_id)
        elif isinstance(message_id, str):
            self._standing_ids[message_id] = None
            self._taken_back.discard(message_id)

    def ending(self, entry: TraceEntry) -> Iterator[Piece]:
        """See `PieceForm`."""
        row = entry.row
        self._is_told_of_helper = entry.kind == _HELPER
        session = entry.session or self._session
        messages = row.get("messages") or self._messages_set(row)
        if _is_checkpoint(row):
            origin = MessageOrigin(session, entry.number)
            for _ in row["history"]:
                yield origin.left_out("message in a checkpoint of a chat")
        elif not isinstance(messages, list):
            yield from self._line(row, MessageOrigin(session, entry.number))
        else:
            yield from self._chat(entry, messages, session)

    def _chat(
        self, entry: TraceEntry, messages: list[object], session: str
    ) -> Iterator[Piece]:
        """Yield the pieces of the messages of a chat, at least one."""
        pieces = list[Piece]()
        for index, message in enumerate(by_time(messages, _time_of_message)):
            origin = MessageOrigin(
                session,
                f"{entry.number}.{index}",
            )
            pieces += self._message(message, origin)
        if pieces:
            yield from pieces[:-1]
            yield pieces[-1]._replace(ends="messages" in entry.row)
        else:
            origin = MessageOrigin(
                session,
                entry.number,
            )
            yield origin.left_out("object without messages")

    def _messages_set(self, row: Row) -> object:
        """Return the messages that a change sets, where no line holds them.

        Else they are what a model gets, which repeats or sums up what lines have told.
        """
        return None if self._has_lines else object_of(row.get("$set")).get("messages")

    def _line(self, row: Row, origin: MessageOrigin) -> Iterator[Piece]:
        """Yield the pieces of a line: a head, a message, or an entry of the log."""
        if "messageId" in row:
            message_id = row["messageId"]
            row = {"id": f"log {message_id}", "content": row.get("message"), **row}
        if "type" in row:
            is_taken_back = str(row.get("id")) in self._taken_back
            for piece in self._message(row, origin):
                yield _as_taken_back(piece) if is_taken_back else piece
        else:
            is_rewind = "$rewindTo" in row
            yield origin.left_out(
                "going back in a chat"
                if is_rewind
                else "head of a chat, or a change of one"
            )

    def _message(self, message: object, origin: MessageOrigin) -> list[Piece]:
        """Return the pieces of a message, at least one."""
        if not isinstance(message, dict):
            return [origin.unread("a message is no object of JSON")]
        kind = message.get("type")
        role = _ROLES.get(kind) if isinstance(kind, str) else None
        message_id = message.get("id") or origin.own
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
        if self._is_told_of_helper:
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


def _is_checkpoint(row: Row) -> bool:
    """Return whether an object is a chat that was saved under a name.

    Its messages have no ids and no times, and those of the chat have both.
    """
    history = row.get("history")
    if not isinstance(history, list) or not history:
        return False
    return "parts" in object_of(history[0])


def _time_of_message(message: object) -> int | None:
    return time_of(object_of(message).get("timestamp"))


def _as_taken_back(piece: Piece) -> Piece:
    """Return what is told of a piece that its user took back."""
    if piece.kind in (LEFT_OUT, UNREAD):
        return piece
    origin = MessageOrigin(
        piece.session,
        piece.own,
        piece.timestamp,
    )
    return origin.left_out("message that was taken back")


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
    response = _response_in(call.get("result"), call.get("id"))
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


def _response_in(result: object, call_id: object) -> Row:
    """Return the response to a call in a result, else the first in it.

    A result may hold the responses to all calls of a message.
    """
    functions = list[Row]()
    for part in result if isinstance(result, list) else [result]:
        function = object_of(object_of(part).get("functionResponse"))
        if function:
            functions.append(function)
    for function in functions:
        if call_id is not None and function.get("id") == call_id:
            return object_of(function.get("response"))
    return object_of(functions[0].get("response")) if functions else {}
