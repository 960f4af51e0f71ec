"""The last messages of turns, from the transcript that an agent's program keeps, where the events of their ends held none.

A transcript is in Claude Code's form: one JSON object a line, with `type`, `timestamp`, `sessionId`, `isSidechain` (a
helper's line) and the `message`, whose content is a text or a list of blocks.
"""

import json
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from theorex_lab.clock import to_microseconds
from theorex_lab.errors import TheorexError
from theorex_lab.home import Home
from theorex_lab.ids import derived_event_id
from theorex_lab.journal.base import append_once
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.captured import MESSAGE_CHARACTERS
from theorex_lab.text.preview import preview

TAIL_BYTES = 1 << 20
_NOT_ITS_OWN = ("isSidechain", "isApiErrorMessage", "isMeta")


class _Message(NamedTuple):
    at: int
    text: str


def keep_messages(home: Home, transcript: Path, *, agent: str, session: str) -> int:
    """Append, of each turn of the session that ended without a message, the last one before its end; returns how many.

    A message is the agent's own word, kept and not extracted from. Repeating appends nothing, nor does the setting
    keepMessages when it is off. A transcript that is missing, no regular file or broken has no messages: no error.
    """
    if not home.settings.keep_messages:
        return 0
    turns = _turns(home, agent, session)
    if not any(_lacks(turn) for turn in turns):
        return 0
    made = [_message_event(turn, text) for turn, text in _matched(turns, list(_messages(_tail(transcript), session)))]
    return sum(append_once(home.journal, [event]) for event in made)


def _turns(home: Home, agent: str, session: str) -> list[Event]:
    """The agent's own turns of the session that ended, in order."""
    ended = (event for event in home.journal.tail(0, kinds=["turn_ended"]) if not event.body.get("subagent"))
    return [event for event in ended if not event.erased and (event.agent, event.session) == (agent, session)]


def _lacks(turn: Event) -> bool:
    return not turn.body.get("message")


def _matched(turns: Sequence[Event], messages: Sequence[_Message]) -> Iterator[tuple[Event, str]]:
    """Each turn without a message, with the last of the messages between the end of the turn before and its own."""
    begin = 0
    for turn in turns:
        found = [message.text for message in messages if begin < message.at <= turn.at]
        if found and _lacks(turn):
            yield turn, found[-1]
        begin = turn.at


def _message_event(turn: Event, text: str) -> Event:
    body = {"turn": turn.id, "text": preview(text, MESSAGE_CHARACTERS), "source": "agent"}
    body["project"] = turn.body.get("project", "")
    made_by = {"agent": turn.agent, "session": turn.session, "event_id": derived_event_id("turn_message", turn.id)}
    return new_event("turn_message", body, at=turn.at, lineage=[turn.id], **made_by)


def _tail(transcript: Path) -> bytes:
    """The last MiB of a regular file, from the first line that begins in it; nothing of anything else."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(transcript, flags), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                return b""
            begin = max(found.st_size - TAIL_BYTES, 0)
            file.seek(begin)
            content = file.read(TAIL_BYTES)
    except (OSError, ValueError):  # missing, a link, a folder, not ours to read, or no path at all
        return b""
    return content.partition(b"\n")[2] if begin else content


def _messages(content: bytes, session: str) -> Iterator[_Message]:
    """What the agent itself said to the person in the session, with its time; other lines and broken ones are passed over."""
    for line in content.split(b"\n"):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(entry, dict) or any(entry.get(name) for name in _NOT_ITS_OWN):
            continue
        if entry.get("type") != "assistant" or entry.get("sessionId", session) != session:
            continue
        at, text = _time(entry.get("timestamp")), _text(entry.get("message"))
        if at is not None and text:
            yield _Message(at, text)


def _time(given: object) -> int | None:
    try:
        return to_microseconds(given) if isinstance(given, str) else None
    except (TheorexError, ValueError, OverflowError):
        return None


def _text(message: Any) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content.strip()
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str)).strip()
