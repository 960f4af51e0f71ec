"""What a question gets of sessions."""

from collections.abc import Iterable

from theorex_lab.designs.sessions import said
from theorex_lab.memory.briefing.compose import prompt_lines
from theorex_lab.memory.briefing.session_log import recorded_sessions
from theorex_lab.memory.contract import Home, Item
from theorex_lab.memory.retrieve import Searcher

_MOST_HITS = 100
# So many hits come before what a prompt of these words brings. On the packaged team's
# log this keeps the answers within 150 tokens, and costs prompts few of their lines.
_FIRST_HITS = 3
_MARKS = " .,;:!?…*_`\"'"


def retrieve(
    home: Home,
    searcher: Searcher,
    query: str,
    *,
    now: int,
    tokens: int,
) -> list[Item]:
    """Return what a query gets, best first.

    It may be a question or the first prompt of a session, and gets of both: first the
    best hits of a search, then what a prompt of these words brings where sessions
    touched files, then the other hits.

    Args:
        home: Whose sessions they are.
        searcher: What searches the home.
        query: What is asked.
        now: The time of the query, µs UTC.
        tokens: The budget. More may come: who asks cuts the answer off.
    """
    hits = _hits(home, searcher, query)
    lines = _lines(home, query, now, tokens)
    ranked = [*hits[:_FIRST_HITS], *lines, *hits[_FIRST_HITS:]]
    return _without_repeats(ranked)


def _hits(home: Home, searcher: Searcher, query: str) -> list[Item]:
    """Return what search finds."""
    hits = searcher.search(query, limit=_MOST_HITS, projects=home.projects)
    return [
        Item(hit.text, (event,)) for hit, event in zip(hits, hits.events, strict=True)
    ]


def _lines(home: Home, query: str, now: int, tokens: int) -> list[Item]:
    """Return what a prompt brings; nothing where no session touched a file."""
    if not len(home.views.get(said.FileTouches).rows):
        return []
    lines = prompt_lines(
        recorded_sessions(home, now),
        query,
        now,
        tokens=tokens,
    )
    return [Item(line.text, line.events) for line in lines]


def _without_repeats(ranked: Iterable[Item]) -> list[Item]:
    """Return each text once, with all events that it rests on.

    Texts that differ in case, or in marks at their ends, are equal. What rests only on
    events that came before in other words is left out.
    """
    items: dict[str, Item] = {}
    shown_events = set[str]()
    for item in ranked:
        text = item.text.casefold().strip(_MARKS)
        is_new = not item.events or not shown_events.issuperset(item.events)
        if text in items:
            shown = items[text]
            events = dict.fromkeys([*shown.events, *item.events])
            items[text] = shown._replace(events=tuple(events))
        elif is_new:
            items[text] = item
        shown_events.update(item.events)
    return list(items.values())
