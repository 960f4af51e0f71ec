"""Tell in words what was tried and what came of it.

The text never exceeds its size: the oldest outcomes are left out.
"""

from collections import deque
from collections.abc import Mapping
from functools import partial
from itertools import groupby

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.causal.graph import assets_of
from theorex_lab.designs.causal.items import gene_text
from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import Home
from theorex_lab.text.line import NOTICE, escape, one_line

NARRATIVE_CHARACTERS = 12_000
SUMMARY_CHARACTERS = 4_000
SUMMARY_ENTRIES = 8
_TITLE = f"# Evolution narrative\n\n{NOTICE}\n"
_MOST_ENTRIES = 400  # an entry has at least thirty characters
_MOST_SIGNALS = 6
_WORD_CHARACTERS = 120


def narrative(
    home: Home,
    *,
    agent: str | None = None,
    entries: int = _MOST_ENTRIES,
    characters: int = NARRATIVE_CHARACTERS,
) -> str:
    """Return the last outcomes in Markdown, the newest last.

    What was stored stands on lines of its own, with its signs escaped. Outcomes in a
    row that say the same are told once, with their number.

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
    newest = _newest_outcomes(home, agent, entries)
    strategies = {}
    for gene in assets_of(home):
        strategies[gene["id"]] = gene_text(gene)
    in_words = partial(_entry, strategies=strategies)
    for entry, same in groupby(newest, in_words):
        heading = _heading([*same])
        section = heading + entry
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
    projects = None
    if home.projects is not None:
        projects = ("", *home.projects)
    outcomes = deque[Event](maxlen=most)
    for event in home.journal.tail(0, kinds=["attempt_closed"], projects=projects):
        if agent is None or agent == event.agent:
            outcomes.append(event)
    return [*reversed(outcomes)]


def _heading(events: list[Event]) -> str:
    """Return when outcomes were that say the same, the newest first, and who says so."""
    newest = events[0]
    first_time = _minute(events[-1])
    last_time = _minute(newest)
    when = last_time
    if len(events) > 1:
        when += f", {len(events)} times"
    if first_time != last_time:
        when += f" since {first_time}"
    origin = " (told by a file)" if newest.body["source"] == "import" else ""
    return f"\n### {when}{origin}\n\n"


def _minute(event: Event) -> str:
    iso = to_iso(event.at)
    minute = iso[:16]
    when = minute.replace("T", " ")
    return f"{when} UTC"


def _entry(event: Event, strategies: Mapping[str, str]) -> str:
    """Return an outcome in words, without its time.

    Args:
        event: The outcome.
        strategies: What each gene does, in words, by its id.
    """
    signals = event.body["signal"]["signals"]
    first_signals = signals[:_MOST_SIGNALS]
    lines = [
        f"- Signals: {_listed(*first_signals) or 'none'}\n",
        f"- Tried: {_tried(event, strategies)}\n",
        f"- Outcome: {_outcome(event)}\n",
    ]
    return "".join(lines)


def _tried(event: Event, strategies: Mapping[str, str]) -> str:
    """Return what was tried: what the gene does, its id, and the mutation."""
    gene = event.body.get("gene")
    mutation = event.body.get("mutation")
    tried = "no gene"
    if gene:
        gene_id = gene["id"]
        strategy = strategies.get(gene_id)
        category = gene.get("category")
        tried = _listed(gene_id, category)
        if strategy:
            tried = f"{_words(strategy)} ({tried})"
    if mutation:
        category = mutation.get("category")
        risk = mutation.get("risk_level")
        kind = _listed(category, risk)
        tried += f"; mutation: {kind} risk"
    return tried


def _outcome(event: Event) -> str:
    """Return an outcome: its status, why it is said, and its score."""
    outcome = event.body["outcome"]
    status = outcome["status"]
    score = outcome["score"]
    note = outcome.get("note") or ""
    # What follows the bar says how the score was computed.
    reason, _, _ = note.partition("|")
    plain_reason = reason.replace("_", " ")
    words = _listed(status, plain_reason)
    if score is not None:
        words += f", score {score:.2f}"
    return words


def _listed(*values: object) -> str:
    """Return the values that are there, in words."""
    words = []
    for value in values:
        if value:
            text = _words(value)
            words.append(text)
    return ", ".join(words)


def _words(value: object) -> str:
    """Return a value on one line with its signs escaped, cut where a word ends."""
    text = str(value)
    line = one_line(text, _WORD_CHARACTERS)
    beginning, _, last_word = line.rpartition(" ")
    is_cut = last_word.endswith("…")
    is_short = len(beginning) < _WORD_CHARACTERS // 2
    if is_cut and not is_short:
        line = f"{beginning} …"
    return escape(line)
