"""What a question gets of sessions."""

from theorex_lab.designs.sessions import said
from theorex_lab.memory.briefing.compose import prompt_lines
from theorex_lab.memory.briefing.session_log import recorded_sessions
from theorex_lab.memory.contract import Home, Item
from theorex_lab.memory.retrieve import Searcher

_MOST_HITS = 100


def retrieve(
    home: Home,
    searcher: Searcher,
    query: str,
    *,
    now: int,
    tokens: int,
) -> list[Item]:
    """Return what a query gets, best first.

    It is what a prompt of these words brings where sessions touched files, else what
    search finds.

    Args:
        home: Whose sessions they are.
        searcher: What searches the home.
        query: What is asked.
        now: The time of the query, µs UTC.
        tokens: The budget.
    """
    if len(home.views.get(said.FileTouches).rows):
        sessions = recorded_sessions(home, now)
        lines = prompt_lines(
            sessions,
            query,
            now,
            tokens=tokens,
        )
        return [Item(line.text, line.events) for line in lines]
    hits = searcher.search(query, limit=_MOST_HITS, projects=home.projects)
    items: list[Item] = []
    for hit, event in zip(hits, hits.events, strict=True):
        items.append(Item(hit.text, (event,)))
    return items
