"""What agents were given before, and what of it they used."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from theorex_lab.core.clock import to_iso
from theorex_lab.journal.event import Event
from theorex_lab.memory.annotations import known_item
from theorex_lab.memory.briefing.candidates import bare_text
from theorex_lab.memory.briefing.design_lines import design_candidates
from theorex_lab.memory.briefing.lines_by_id import lines_by_id
from theorex_lab.memory.contract import Home
from theorex_lab.search.lexical import tokenize

# What an agent said or did itself; a tool's answer is not its word.
_SESSION_KINDS = ("tool_used", "prompt", "turn_ended", "turn_message", "observation")
_WORDS = ("input", "command", "text", "message")
_FILE = re.compile(r"[\w-][\w.-]*\.[A-Za-z]\w{0,7}\b")


def given_before(home: Home, most: int) -> list[dict[str, Any]]:
    """Return the last `most` times that an agent was given something, oldest first.

    They are of the home's project, or of all. A line or item counts as used where the
    session later touches a file that its text names, or says at least half of its words.

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
    texts_by_id: dict[str, str] = {}
    if session_events:
        texts_by_id = _texts_of_lines(home)
    rows = []
    for recall in recalls:
        body = recall.body
        used = None
        if recall.session and body["items"]:
            events = session_events.get((recall.agent, recall.session), [])
            later_text = _later_text(recall, events)
            texts = [
                _text_of_item(home, item_id) or texts_by_id.get(item_id, "")
                for item_id in body["items"]
            ]
            used = _count_used(texts, later_text)
        rows.append(
            {
                "timestamp": to_iso(recall.at),
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


def _texts_of_lines(home: Home) -> dict[str, str]:
    """Return by id what each line says that the home may show, without its date."""
    lines = lines_by_id(home)
    for line in design_candidates(home, home.clock.now(), automatic=True):
        lines.setdefault(line.id, line)
    return {line_id: bare_text(line.text) for line_id, line in lines.items()}


def _text_of_item(home: Home, item_id: str) -> str:
    """Return the text of an item, '' for what is no item."""
    item = known_item(home, item_id)
    return item.text if item is not None else ""


def _later_text(recall: Event, events: Iterable[Event]) -> str:
    """Return what a session said and did after a recall."""
    texts: list[str] = []
    for event in events:
        if event.seq > recall.seq:
            texts += _texts(event.body)
    return "\n".join(texts)


def _count_used(texts: Iterable[str], later_text: str) -> int:
    """Return how many of what was given occurs in what was said and done later.

    Args:
        texts: What was given: texts of lines and items, '' for what is not known.
        later_text: What the session said and did afterwards.
    """
    later_words = {*tokenize(later_text)}
    later_files = {*_FILE.findall(later_text)}
    n_used = 0
    for text in texts:
        words = {*tokenize(text)}
        names_file = not later_files.isdisjoint(_FILE.findall(text))
        says_half = 0 < len(words) <= 2 * len(words & later_words)
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
