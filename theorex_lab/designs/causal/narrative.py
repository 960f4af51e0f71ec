"""Tell in words what was tried and what came of it.

The text never exceeds its size: the oldest outcomes are left out.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import Home
from theorex_lab.text.line import NOTICE, escape, one_line

NARRATIVE_CHARACTERS = 12_000
SUMMARY_CHARACTERS = 4_000
SUMMARY_ENTRIES = 8
_TITLE = f"# Evolution narrative\n\n{NOTICE}\n"
_MOST_ENTRIES = 400  # an entry has at least thirty characters
_MOST_SIGNALS = 6
_WORD_CHARACTERS = 80


def narrative(
    home: Home,
    *,
    agent: str | None = None,
    entries: int = _MOST_ENTRIES,
    characters: int = NARRATIVE_CHARACTERS,
) -> str:
    """Return the last outcomes in Markdown, the newest last.

    What was stored stands on lines of its own, with its signs escaped.

    Args:
        home: Where they are kept.
        agent: Whose outcomes; None for all.
        entries: How many at most.
        characters: The length of the text at most.

    Returns:
        The text; '' where nothing was tried, or where nothing fits.

    Raises:
        InvalidInput: A number is below 0.
    """
    if entries < 0 or characters < 0:
        raise InvalidInput(
            f"got {entries} entries of {characters} characters; allowed are whole"
            " numbers from 0"
        )
    remaining = characters - len(_TITLE)
    sections: list[str] = []
    for event in _newest_outcomes(home, agent, entries):
        section = _section(event)
        remaining -= len(section)
        if remaining < 0:
            break
        sections.append(section)
    if not sections:
        return ""
    return _TITLE + "".join(reversed(sections))


def narrative_summary(
    home: Home, *, agent: str | None = None, characters: int = SUMMARY_CHARACTERS
) -> str:
    """Return the last eight entries of the narrative, or as many of them as fit."""
    return narrative(home, agent=agent, entries=SUMMARY_ENTRIES, characters=characters)


def _newest_outcomes(home: Home, agent: str | None, most: int) -> list[Event]:
    """Return the last outcomes of an agent or of all, the newest first."""
    projects = None if home.projects is None else ("", *home.projects)
    outcomes = deque[Event](maxlen=most)
    for event in home.journal.tail(0, kinds=["attempt_closed"], projects=projects):
        if agent is None or agent == event.agent:
            outcomes.append(event)
    return [*reversed(outcomes)]


def _section(event: Event) -> str:
    """Return an outcome in words."""
    body = event.body
    when = to_iso(event.at)[:16].replace("T", " ")
    origin = " (told by a file)" if body["source"] == "import" else ""
    first_signals = body["signal"]["signals"][:_MOST_SIGNALS]
    signals = ", ".join(map(_word, first_signals))
    gene = _parts(body.get("gene") or {}, "id", "category")
    mutation = _parts(body.get("mutation") or {}, "category", "risk_level")
    tried = gene or "no gene"
    if mutation:
        tried += f" ({mutation} risk)"
    outcome = _parts(body["outcome"], "status", "note", "score")
    return (
        f"\n### {when} UTC{origin}\n\n"
        f"- Signals: {signals or 'none'}\n"
        f"- Tried: {tried}\n"
        f"- Outcome: {outcome}\n"
    )


def _parts(members: Mapping[str, Any], *names: str) -> str:
    """Return the members of these names that are there, in words."""
    words = []
    for name in names:
        value = members.get(name)
        if value not in (None, ""):
            words.append(_word(value))
    return ", ".join(words)


def _word(value: object) -> str:
    return escape(one_line(str(value), _WORD_CHARACTERS))
