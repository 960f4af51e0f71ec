"""What comes back of dreams: the procedure that worked for a task like this, and what
is not to be done again.

Any agent loop may use it: a run becomes a trajectory, and a strategy that answers
becomes a section of a prompt.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.errors import InvalidInput, ModelUnavailable
from theorex_lab.designs.dreams.capture import capture
from theorex_lab.designs.dreams.strategies import (
    RecallResult,
    Strategy,
    floor_of,
    ranking,
    recall,
    strategies_of,
)
from theorex_lab.memory.briefing.token_budget import (
    age_in_words,
    count_tokens,
    items_within,
)
from theorex_lab.memory.contract import ContextLine, ContextRequest, Home, Item
from theorex_lab.memory.observation import TRUST
from theorex_lab.memory.retrieval_log import note_recalled
from theorex_lab.memory.retrieve import Searcher
from theorex_lab.text.line import fence, one_line

WORKED, AVOID = "strategy", "avoid"  # kinds of lines
_ACTION_CHARACTERS = 240
_LINE_CHARACTERS = 700
_MOST_SHOWN = 20
_MOST_CONSTRAINTS = 5
_MOST_HITS = 100


def strategy_lines(home: Home, wanted: ContextRequest) -> Iterator[ContextLine]:
    """For a query the strategies alike and their constraints, best first; at a
    session's start those of late that worked.
    """
    if not wanted.query:
        found = sorted(strategies_of(home), key=lambda one: (-one.updated_at, one.id))
        for strategy in found[:_MOST_SHOWN]:
            yield from _lines(strategy, wanted.now, "the last that was dreamt")
        return
    try:
        floor = floor_of(home)
        near = ranking(home, wanted.query, top=_MOST_SHOWN)
    except ModelUnavailable:  # words alone find what they find
        return
    for one in near:
        if one.entry_point is not None and (one.similarity or 0.0) >= floor:
            yield from _lines(
                one.entry_point, wanted.now, f"alike {one.similarity:.2f}"
            )


def _lines(strategy: Strategy, now: int, why: str) -> Iterator[ContextLine]:
    for found in strategy.constraints[:_MOST_CONSTRAINTS]:
        text = one_line(
            f"{found.text} (for: {one_line(strategy.goal, 80)})", _LINE_CHARACTERS
        )
        yield ContextLine(
            AVOID,
            strategy.agent,
            text,
            _heard(strategy.agent, found.source),
            (found.id,),
            (found.event,),
            why,
        )
    if strategy.steps and (strategy.success or not strategy.failure):
        age = age_in_words((now - strategy.updated_at) / MICROSECONDS_PER_DAY)
        text = one_line(f"{told(strategy)} ({age})", _LINE_CHARACTERS)
        events = tuple(
            dict.fromkeys(step.event for step in strategy.steps if step.event)
        )
        yield ContextLine(
            WORKED,
            strategy.agent,
            text,
            _heard(strategy.agent, strategy.source),
            (strategy.id,),
            events,
            why,
        )


def _heard(agent: str, source: str) -> tuple[str, int] | None:
    return None if TRUST[source] >= TRUST["agent"] else (agent, TRUST[source])


def told(strategy: Strategy) -> str:
    """A strategy in a line: what it is for, its steps in order, and how often it came
    out well.

    What tools answered is no part of it.
    """
    actions = [one_line(step.action, _ACTION_CHARACTERS) for step in strategy.steps]
    steps = "; ".join(f"{number}. {action}" for number, action in enumerate(actions, 1))
    return (
        f"{one_line(strategy.goal, 200)}:"
        f" {steps}.{f' Worked {strategy.worked}.' if strategy.worked else ''}"
    )


def retrieve_strategies(
    home: Home, searcher: Searcher, query: str, now: int, tokens: int
) -> list[Item]:
    """What a query gets within `tokens`, best first: strategies alike and what they
    warn of, then what search finds.
    """
    found = (
        strategy_lines(home, ContextRequest(now, tokens, query))
        if query.strip()
        else ()
    )
    hits = searcher.search(query, limit=_MOST_HITS, projects=home.projects)
    heard = (
        Item(hit.text, (event,)) for hit, event in zip(hits, hits.events, strict=True)
    )
    return items_within(
        [*(Item(line.text, line.events) for line in found), *heard], tokens
    )


_KNOWN = {"thought", "tool", "input", "output", "error"}
_FINISHED = 0.9  # confidence in a run that answered, and that nobody checked
_MOST_STEPS = 20
_MOST_WARNINGS = 10
_CHARACTERS = (300, 600, 120)  # of why, what and what came of it that a step shows
_ADVICE = (
    "IMPORTANT: work like this was done before, {how}. Use the steps where they fit; do"
    " not repeat what failed."
)


def capture_run(
    home: Home,
    goal: str,
    turns: Iterable[Mapping[str, Any]],
    *,
    answer: str | None,
    outcome: str = "",
    **about: Any,
) -> str:
    """Capture an agent's run, turns of {thought, tool, input, output, error}; returns
    the trajectory's id.

    answer: what the run ended with, None where it ended without.  outcome: as whoever
    checked the answer says.  Where nobody did, a run without an answer, or whose last
    call failed, is a failure, and another a success with a confidence of .9. about: as
    in `capture.SessionLog`. Raises InvalidInput for other members, and as
    `capture.capture` does.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     run = [
    ...         {
    ...             "thought": "look",
    ...             "tool": "get_user",
    ...             "input": {"id": 1},
    ...             "output": "Ann",
    ...         }
    ...     ]
    ...     captured = lab.dreams.trajectory(
    ...         capture_run(lab.home, "who is user 1", run, answer=None)
    ...     )
    >>> captured.outcome.value, captured.actions[0].action
    ('failure', 'get_user({"id": 1})')
    """
    home.designs
    done = []
    failed = False
    for number, turn in enumerate(turns, start=1):
        if turn.keys() - _KNOWN or not turn.get("tool"):
            raise InvalidInput(
                f"got {dict(turn)!r:.200} for turn {number}; allowed are"
                f" {', '.join(sorted(_KNOWN))}"
            )
        failed = bool(turn.get("error"))
        given = turn.get("input", "")
        action = f"{turn['tool']}({given if given == '' else json.dumps(given, ensure_ascii=False, default=str)})"
        result = str(turn.get("output") or turn.get("error") or "")
        done.append(
            {
                "reasoning": turn.get("thought", ""),
                "action": action,
                "result": result,
                "ok": not failed,
            }
        )
    ended = outcome or ("failure" if answer is None or failed else "success")
    sure = 1.0 if outcome or ended == "failure" else _FINISHED
    return capture(home, goal, done, outcome=ended, confidence=sure, **about)[0]


def memory_section(
    home: Home, goal: str, *, domain: str | None = None, agent: str = "main"
) -> str:
    """What a prompt gets before the task: the strategy that answers to a goal, its
    steps and constraints; '' where none does.

    That it was given is noted, for `agent`. Raises as `recall.recall`.
    """
    found = recall(home, goal, domain=domain)
    text = section_of(found)
    if found.entry_point is not None:
        note_recalled(
            home,
            "prompt",
            query=goal,
            items=[found.entry_point.id],
            tokens=count_tokens(text),
            agent=agent,
        )
    return text


def section_of(found: RecallResult) -> str:
    """A recalled strategy as a section of a prompt: advice of our own, and what was
    recorded in fences that name whose words it is.
    """
    if (strategy := found.entry_point) is None:
        return ""
    how = (
        f"and succeeded {strategy.worked}"
        if strategy.worked
        else "how it came out is not known"
    )
    lines = [
        f"Strategy: {strategy.summary}",
        *(f"Noted: {line}" for line in strategy.content.splitlines() if line),
    ]
    for number, step in enumerate(strategy.steps[:_MOST_STEPS], start=1):
        texts = zip(
            (step.why or step.reasoning, step.action, step.result),
            _CHARACTERS,
            strict=True,
        )
        lines.append(
            f"{number}."
            f" {' → '.join(filter(None, (one_line(text, most) for text, most in texts)))}"
        )
    told = [_ADVICE.format(how=how), *fence(lines, f"{strategy.source},tools")]
    avoided = strategy.constraints[-_MOST_WARNINGS:]
    for source in dict.fromkeys(constraint.source for constraint in avoided):
        said = [
            constraint.text for constraint in avoided if constraint.source == source
        ]
        shown = [
            text if text.startswith("Do not") else f"DO NOT: {text}" for text in said
        ]
        told += ["CONSTRAINTS, from what failed:", *fence(shown, source)]
    return "\n".join(told)
