"""What comes back of dreams: the procedure that worked for a task like this, and what is not to be done again."""

from collections.abc import Iterator

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.design import Item, Line, Wanted
from theorex_lab.designs.dreams.recall import floor_of, ranking
from theorex_lab.designs.dreams.strategies import Strategy, strategies_of
from theorex_lab.errors import ModelUnavailable
from theorex_lab.home import Home
from theorex_lab.memory.filling import age_in_words, items_within
from theorex_lab.memory.observation import TRUST
from theorex_lab.memory.retrieve import Searcher
from theorex_lab.text.line import one_line

WORKED, AVOID = "strategy", "avoid"  # kinds of lines
_ACTION_CHARACTERS, _LINE_CHARACTERS = 240, 700
_MOST_SHOWN, _MOST_CONSTRAINTS, _MOST_HITS = 20, 5, 100


def strategy_lines(home: Home, wanted: Wanted) -> Iterator[Line]:
    """For a query the strategies alike and their constraints, best first; at a session's start those of late that worked."""
    if not wanted.query:
        found = sorted(strategies_of(home), key=lambda one: (-one.updated_at, one.id))
        for strategy in found[:_MOST_SHOWN]:
            yield from _lines(strategy, wanted.now, "the last that was dreamt")
        return
    try:
        floor, near = floor_of(home), ranking(home, wanted.query, top=_MOST_SHOWN)
    except ModelUnavailable:  # words alone find what they find
        return
    for one in near:
        if one.entry_point is not None and (one.similarity or 0.0) >= floor:
            yield from _lines(one.entry_point, wanted.now, f"alike {one.similarity:.2f}")


def _lines(strategy: Strategy, now: int, why: str) -> Iterator[Line]:
    for found in strategy.constraints[:_MOST_CONSTRAINTS]:
        text = one_line(f"{found.text} (for: {one_line(strategy.goal, 80)})", _LINE_CHARACTERS)
        yield Line(AVOID, strategy.agent, text, _heard(strategy.agent, found.source), (found.id,), (found.event,), why)
    if strategy.steps and (strategy.success or not strategy.failure):
        age = age_in_words((now - strategy.updated_at) / MICROSECONDS_PER_DAY)
        text = one_line(f"{told(strategy)} ({age})", _LINE_CHARACTERS)
        events = tuple(dict.fromkeys(step.event for step in strategy.steps if step.event))
        yield Line(WORKED, strategy.agent, text, _heard(strategy.agent, strategy.source), (strategy.id,), events, why)


def _heard(agent: str, source: str) -> tuple[str, int] | None:
    return None if TRUST[source] >= TRUST["agent"] else (agent, TRUST[source])


def told(strategy: Strategy) -> str:
    """A strategy in a line: what it is for, its steps in order, and how often it came out well.

    What tools answered is no part of it.
    """
    actions = [one_line(step.action, _ACTION_CHARACTERS) for step in strategy.steps]
    steps = "; ".join(f"{number}. {action}" for number, action in enumerate(actions, 1))
    return f"{one_line(strategy.goal, 200)}: {steps}.{f' Worked {strategy.worked}.' if strategy.worked else ''}"


def retrieve_strategies(home: Home, searcher: Searcher, query: str, now: int, tokens: int) -> list[Item]:
    """What a query gets within `tokens`, best first: strategies alike and what they warn of, then what search finds."""
    found = strategy_lines(home, Wanted(now, tokens, query)) if query.strip() else ()
    hits = searcher.search(query, limit=_MOST_HITS, projects=home.projects)
    heard = (Item(hit.text, (event,)) for hit, event in zip(hits, hits.events, strict=True))
    return items_within([*(Item(line.text, line.events) for line in found), *heard], tokens)
