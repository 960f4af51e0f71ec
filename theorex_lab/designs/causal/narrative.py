"""What was tried and what came of it, in words: the last outcomes, of a size that is never exceeded."""

from collections import deque
from collections.abc import Mapping
from typing import Any

from theorex_lab.clock import to_iso
from theorex_lab.errors import InvalidInput
from theorex_lab.home import Home
from theorex_lab.journal.event import Event
from theorex_lab.text.line import NOTICE, escape, one_line

MOST_CHARACTERS, SUMMARY_CHARACTERS, SUMMARY_ENTRIES = 12_000, 4_000, 8
_TITLE = f"# What was tried\n\n{NOTICE}\n"
_MOST_ENTRIES = 400  # an entry has at least thirty characters
_SIGNALS, _WORD_CHARACTERS = 6, 80


def narrative(home: Home, *, agent: str | None = None, entries: int = _MOST_ENTRIES,
              characters: int = MOST_CHARACTERS) -> str:  # fmt: skip
    """The last outcomes in Markdown, of an agent or of all, the newest last; the oldest are left out until it is short enough.

    What was stored stands on lines of its own with its signs escaped. '' where nothing was tried, or where nothing fits.
    Raises InvalidInput for fewer than 0 entries or characters.
    """
    if entries < 0 or characters < 0:
        raise InvalidInput(f"got {entries} entries of {characters} characters; allowed are whole numbers from 0")
    told, room, projects = list[str](), characters - len(_TITLE), home.projects and ("", *home.projects)
    found = home.journal.tail(0, kinds=["attempt_closed"], projects=projects)
    for event in reversed(deque((event for event in found if agent in (None, event.agent)), entries)):
        line = _entry(event)
        room -= len(line)
        if room < 0:
            break
        told.append(line)
    return _TITLE + "".join(reversed(told)) if told else ""


def last_of_narrative(home: Home, *, agent: str | None = None, characters: int = SUMMARY_CHARACTERS) -> str:
    """The last eight entries of the narrative, or as many of them as fit."""
    return narrative(home, agent=agent, entries=SUMMARY_ENTRIES, characters=characters)


def _entry(event: Event) -> str:
    body, when = event.body, to_iso(event.at)[:16].replace("T", " ")
    signals = ", ".join(map(_word, body["signal"]["signals"][:_SIGNALS])) or "none"
    tried, came = _parts(body["gene"] or {}, "id", "category"), _parts(body["outcome"], "status", "note", "score")
    heard = " (told by a file)" if body["source"] == "import" else ""
    return f"\n### {when} UTC{heard}\n\n- Signals: {signals}\n- Tried: {tried or 'no gene'}\n- Outcome: {came}\n"


def _parts(told: Mapping[str, Any], *names: str) -> str:
    return ", ".join([_word(told[name]) for name in names if told.get(name) is not None])


def _word(value: object) -> str:
    return escape(one_line(str(value), _WORD_CHARACTERS))
