"""What a person is told of the context: why each line stands there, what was given before, and what of it was used."""

import re
from collections import deque
from collections.abc import Iterable
from typing import Any

from theorex_lab.clock import to_iso
from theorex_lab.home import Home
from theorex_lab.journal.event import Event
from theorex_lab.memory.context import HEARD, ChosenLines
from theorex_lab.memory.marks import Marks, known_item
from theorex_lab.memory.observation import TRUST
from theorex_lab.search.lexical import tokenize

# What an agent said or did itself; a tool's answer is not its word.
_LIVED = ("tool_used", "prompt", "turn_ended", "turn_message", "observation")
_WORDS = ("input", "command", "text", "message")
_FILE = re.compile(r"[\w-][\w.-]*\.[A-Za-z]\w{0,7}\b")


def shown_lines(home: Home, chosen: ChosenLines) -> list[dict[str, Any]]:
    """The lines of a context in their order: each with its section, text, why it is given, its items, the ids of the
    events that it rests on, and its trust.
    """
    marks, heard = home.views.get(Marks), {*chosen.heard}
    with marks.lock:
        pinned, corrected = {*marks.pinned}, marks.corrected
    lines = []
    for line in chosen.lines:
        is_new = not corrected.keys().isdisjoint(line.items)
        why = getattr(line, "why", "") or f"{line.kind} of {line.owner}"
        why += ", pinned by you" * (not pinned.isdisjoint(line.items)) + ", in your words" * is_new
        section = HEARD if line in heard else chosen.titles.get(line.kind, line.owner)
        known = filter(None, (known_item(home, item) for item in line.items))
        events = tuple(dict.fromkeys(event.id for item in known for event in item.events))
        level = TRUST["user" if is_new else "agent"] if line.heard_from is None else line.heard_from[1]
        trust = next(name for name in reversed(TRUST) if TRUST[name] == level)
        told = {"section": section, "text": line.text, "why": why, "items": line.items}
        lines.append({**told, "events": events, "trust": trust})
    return lines


def given_before(home: Home, most: int) -> list[dict[str, Any]]:
    """The last `most` times that an agent was given something, oldest first: of the home's project, or of all.

    Each with at, how, agent, session, query, tokens, items (how many), and used: how many of them the session then used,
    None where no session or no item is known. An item counts as used where the session later touches a file that its
    text names, or says at least half of its words.
    """
    projects = [home.project] if home.project else None
    found = deque(home.journal.tail(0, kinds=["recalled"], projects=projects), maxlen=most)
    first = found[0].seq if found else home.journal.last_seq()
    later: dict[tuple[str, str], list[Event]] = {(event.agent, event.session): [] for event in found if event.session}
    for event in home.journal.tail(first, kinds=_LIVED) if later else ():
        if (lived := later.get((event.agent, event.session))) is not None:
            lived.append(event)
    rows = []
    for event in found:
        body, lived = event.body, later.get((event.agent, event.session), [])
        used = _used(home, event, lived) if event.session and body["items"] else None
        told = {"at": to_iso(event.at), "agent": event.agent, "session": event.session, "items": len(body["items"])}
        rows.append({**told, "how": body["how"], "query": body["query"], "tokens": body["tokens"], "used": used})
    return rows


def _used(home: Home, given: Event, lived: Iterable[Event]) -> int:
    """How many of the items that were given occur in what was done after."""
    said = "\n".join(text for event in lived if event.seq > given.seq for text in _texts(event.body))
    words, files, used = {*tokenize(said)}, {*_FILE.findall(said)}, 0
    for known in filter(None, (known_item(home, item) for item in given.body["items"])):
        wanted = {*tokenize(known.text)}
        used += not files.isdisjoint(_FILE.findall(known.text)) or 0 < len(wanted) <= 2 * len(wanted & words)
    return used


def _texts(body: dict[str, Any]) -> list[str]:
    paths = body.get("paths", {})
    return [*(str(body.get(name, "")) for name in _WORDS), *paths.get("read", ()), *paths.get("edited", ())]
