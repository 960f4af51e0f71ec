"""What agents were given before, and what of it they used."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from theorex_lab.core.clock import to_iso
from theorex_lab.journal.event import Event
from theorex_lab.memory.annotations import known_item
from theorex_lab.memory.contract import Home
from theorex_lab.search.lexical import tokenize

# What an agent said or did itself; a tool's answer is not its word.
_SESSION_KINDS = ("tool_used", "prompt", "turn_ended", "turn_message", "observation")
_WORDS = ("input", "command", "text", "message")
_FILE = re.compile(r"[\w-][\w.-]*\.[A-Za-z]\w{0,7}\b")


def given_before(home: Home, most: int) -> list[dict[str, Any]]:
    """Return the last `most` times that an agent was given something, oldest first.

    They are of the home's project, or of all. An item counts as used where the session
    later touches a file that its text names, or says at least half of its words.

    Returns:
        Each time with at, how, agent, session, query, tokens, items (how many), and
        used: how many of the items the session then used, None where no session or no
        item is known.
    """
    projects = [home.project] if home.project else None
    recalls = deque(
        home.journal.tail(0, kinds=["recalled"], projects=projects), maxlen=most
    )
    session_events = _session_events(home, recalls)
    rows = []
    for recall in recalls:
        body = recall.body
        used = None
        if recall.session and body["items"]:
            events = session_events.get((recall.agent, recall.session), [])
            used = _count_used(home, recall, events)
        rows.append(
            {
                "at": to_iso(recall.at),
                "agent": recall.agent,
                "session": recall.session,
                "items": len(body["items"]),
                "how": body["how"],
                "query": body["query"],
                "tokens": body["tokens"],
                "used": used,
            }
        )
    return rows


def _session_events(
    home: Home, recalls: Sequence[Event]
) -> dict[tuple[str, str], list[Event]]:
    """Return what was said or done after the first recall.

    It is sorted by agent and session of the recalls.
    """
    events: dict[tuple[str, str], list[Event]] = {
        (recall.agent, recall.session): [] for recall in recalls if recall.session
    }
    if not events:
        return events
    for event in home.journal.tail(recalls[0].seq, kinds=_SESSION_KINDS):
        of_session = events.get((event.agent, event.session))
        if of_session is not None:
            of_session.append(event)
    return events


def _count_used(home: Home, recall: Event, events: Iterable[Event]) -> int:
    """Return how many of a recall's items occur in the session's events after it."""
    later_texts: list[str] = []
    for event in events:
        if event.seq > recall.seq:
            later_texts += _texts(event.body)
    later_text = "\n".join(later_texts)
    later_words = {*tokenize(later_text)}
    later_files = {*_FILE.findall(later_text)}
    n_used = 0
    for item_id in recall.body["items"]:
        item = known_item(home, item_id)
        if item is None:
            continue
        item_words = {*tokenize(item.text)}
        names_file = not later_files.isdisjoint(_FILE.findall(item.text))
        says_half = 0 < len(item_words) <= 2 * len(item_words & later_words)
        if names_file or says_half:
            n_used += 1
    return n_used


def _texts(body: dict[str, Any]) -> list[str]:
    """Return the texts of an event's body, and the paths that it names."""
    paths = body.get("paths", {})
    return [
        *(str(body.get(name, "")) for name in _WORDS),
        *paths.get("read", ()),
        *paths.get("edited", ()),
    ]
