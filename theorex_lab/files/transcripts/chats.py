"""Messages as the interfaces of OpenAI and Anthropic take them, in lines of JSON.

A line is a message, with `role` and `content`, an item beside messages, as a call of a
tool, or a conversation, with `messages`. A page of a thread has them in `data`.
Neither interface knows of times and sessions: what programs add by the usual names is
read, else the file says it.
"""

from __future__ import annotations

from collections.abc import Iterator

from theorex_lab.files.transcripts.message_pieces import (
    is_item,
    is_message,
    message_pieces,
    stated_place,
)
from theorex_lab.files.transcripts.messages import Row, object_of, time_of
from theorex_lab.files.transcripts.pieces import Piece, ToldAtOnce, TraceEntry
from theorex_lab.files.transcripts.time_order import by_time


class Chats(ToldAtOnce):
    """Finds the pieces of messages, or of whole conversations.

    Args:
        stem: The session where its lines name none.
    """

    name = "chat"

    def __init__(self, stem: str) -> None:
        self._stem = stem

    @staticmethod
    def reads(row: Row) -> bool:
        """Return whether a line is of this form."""
        if is_message(row) or is_item(row):
            return True
        messages = _messages_of(row)
        if not messages:
            return False
        objects = [message for message in messages if isinstance(message, dict)]
        return any(map(is_message, objects))

    def entries(self, row: Row, number: int | str) -> Iterator[TraceEntry]:
        """See `PieceForm`."""
        yield TraceEntry(
            row,
            number,
            _start_of(row),
        )

    def ending(self, entry: TraceEntry) -> Iterator[Piece]:
        """See `PieceForm`."""
        row = entry.row
        number = entry.number
        messages = _messages_of(row)
        if messages is not None:
            yield from self._conversation(
                row,
                messages,
                number,
            )
        elif is_message(row) or is_item(row):
            origin = stated_place(
                row,
                self._stem,
                number,
            )
            yield from message_pieces(row, origin)
        else:
            origin = stated_place(row, self._stem, number)
            yield origin.unread("no message: it has no role and content")

    def _conversation(
        self, row: Row, messages: list[object], number: int | str
    ) -> Iterator[Piece]:
        """Yield the pieces of the messages of one conversation."""
        head = stated_place(row, "", f"{self._stem} {number}")
        thread = object_of(messages[0]).get("thread_id") if messages else None
        session = head.session or str(thread or head.own)
        pieces = list[Piece]()
        for index, message in enumerate(by_time(messages, _time_in)):
            origin = stated_place(
                object_of(message), session, f"{number}.{index}", head.timestamp
            )
            origin = origin._replace(session=session, cwd=head.cwd)
            pieces += message_pieces(message, origin)
        if not pieces:
            silent = "conversation in which nothing was said"
            pieces = [head._replace(session=session).left_out(silent)]
        yield from pieces[:-1]
        yield pieces[-1]._replace(ends=True)


def _messages_of(row: Row) -> list[object] | None:
    """Return the messages of a conversation, or of a page of a thread; None for none."""
    for name in ("messages", "data"):
        if isinstance(row.get(name), list):
            messages: list[object] = row[name]
            return messages
    return None


def _time_in(
    message: object,
) -> int | None:
    origin = stated_place(
        object_of(message),
        "",
        "",
    )
    return time_of(origin.timestamp)


def _start_of(row: Row) -> int | None:
    """Return when a message was given, or a conversation began; None for no time."""
    start = _time_in(row)
    messages = _messages_of(row)
    if start is None and messages is not None:
        times = map(_time_in, messages)
        start = min(filter(None, times), default=None)
    return start
