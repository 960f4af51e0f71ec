"""Show what dreams made.

It is the procedure that worked for a task like this, and what is not to be done again.
Any agent loop may use it: a run becomes a trajectory, and a strategy that answers
becomes a section of a prompt.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.errors import InvalidInput, ModelUnavailable
from theorex_lab.designs.dreams import DEFAULT_DOMAIN
from theorex_lab.designs.dreams.capture import capture
from theorex_lab.designs.dreams.procedure import procedure_steps
from theorex_lab.designs.dreams.strategies import (
    RecallResult,
    Strategy,
    StrategyStep,
    floor_of,
    ranking,
    recall,
    strategies_of,
)
from theorex_lab.designs.dreams.strategy_view import Constraint
from theorex_lab.designs.dreams.trajectories import Trajectories
from theorex_lab.memory.briefing.token_budget import (
    age_in_words,
    count_tokens,
    items_within,
)
from theorex_lab.memory.contract import ContextLine, ContextRequest, Home, Item
from theorex_lab.memory.observation import TRUST
from theorex_lab.memory.retrieval_log import note_recalled
from theorex_lab.memory.retrieve import Searcher
from theorex_lab.text.line import fence, folded, one_line

# Kinds of lines.
WORKED = "strategy"
AVOID = "avoid"
_ACTION_CHARACTERS = 240
_LINE_CHARACTERS = 700
_MOST_SHOWN = 20
_MOST_CONSTRAINTS = 5
_MOST_HITS = 100
_MOST_STEPS_OF_LINE = 8


def strategy_lines(home: Home, request: ContextRequest) -> Iterator[ContextLine]:
    """Yield the strategies alike a query and their constraints, best first.

    Without a query, as at a session's start, they are the recent ones that worked.
    """
    if not request.query:
        recent = sorted(
            strategies_of(home),
            key=lambda strategy: (-strategy.updated_at, strategy.id),
        )
        yield from _lines_of(
            home,
            [
                (strategy, "the last that was dreamt")
                for strategy in recent[:_MOST_SHOWN]
            ],
            request.now,
        )
        return
    try:
        floor = floor_of(home)
        results = ranking(home, request.query, top=_MOST_SHOWN)
    except ModelUnavailable:  # words alone find what they find
        return
    alike: list[tuple[Strategy, str]] = []
    for result in results:
        similarity = result.similarity or 0.0
        if result.entry_point is not None and similarity >= floor:
            alike.append((result.entry_point, f"alike {result.similarity:.2f}"))
    yield from _lines_of(home, alike, request.now)


def _lines_of(
    home: Home, strategies: Sequence[tuple[Strategy, str]], now: int
) -> Iterator[ContextLine]:
    """Yield the lines of strategies; each is given with why it is shown."""
    by_hand = _captured_by_hand(home, [strategy for strategy, _ in strategies])
    for strategy, why in strategies:
        yield from _lines(strategy, now, why, by_hand)


def _captured_by_hand(home: Home, strategies: Iterable[Strategy]) -> frozenset[str]:
    """Return the ids of the steps and constraints that an agent's program captured.

    Others were made of recorded sessions. A step is named by the id of its event, a
    constraint by its own.
    """
    step_ids: list[str] = []
    constraints: list[Constraint] = []
    for strategy in strategies:
        step_ids += [step.event for step in strategy.steps if step.event]
        constraints += strategy.constraints[:_MOST_CONSTRAINTS]
    steps = home.journal.read(ids=list(dict.fromkeys(step_ids)))
    by_hand = {step.id for step in steps if step.kind == "acted"}
    started = _started_by_hand(home, constraints)
    for constraint in constraints:
        if constraint.trajectory in started:
            by_hand.add(constraint.id)
    return frozenset(by_hand)


def _started_by_hand(home: Home, constraints: Iterable[Constraint]) -> set[str]:
    """Return the ids of the constraints' trajectories that a program began."""
    trajectory_of: dict[int, str] = {}
    with home.views.reading(Trajectories) as view:
        goal_seqs = view.rows["goal"]
        for constraint in constraints:
            row = view.ids.find(constraint.trajectory)
            if row is not None:
                trajectory_of[int(goal_seqs[row])] = constraint.trajectory
    goals = home.journal.read(seqs=sorted(trajectory_of))
    return {
        trajectory_of[goal.seq] for goal in goals if goal.kind == "trajectory_started"
    }


def _lines(
    strategy: Strategy, now: int, why: str, by_hand: frozenset[str]
) -> Iterator[ContextLine]:
    """Yield the constraints of a strategy, then its steps where it worked.

    Args:
        strategy: The strategy.
        now: The time (µs UTC).
        why: Why it is shown.
        by_hand: Ids of the steps' events and of the constraints that an agent's program
            captured.
    """
    goal = one_line(strategy.goal, 80)
    for constraint in strategy.constraints[:_MOST_CONSTRAINTS]:
        yield ContextLine(
            AVOID,
            strategy.agent,
            one_line(f"{constraint.text} (for: {goal})", _LINE_CHARACTERS),
            _unverified(strategy.agent, constraint.source),
            (constraint.id,),
            (constraint.event,),
            why,
            statement=f"{goal}: {folded(constraint.text)}",
            at=constraint.at,
            automatic=constraint.id not in by_hand,
        )
    events = dict.fromkeys(step.event for step in strategy.steps if step.event)
    is_automatic = by_hand.isdisjoint(events)
    if _is_worth_offering(strategy, is_automatic):
        age = age_in_words((now - strategy.updated_at) / MICROSECONDS_PER_DAY)
        yield ContextLine(
            WORKED,
            strategy.agent,
            one_line(f"{strategy_line(strategy)} ({age})", _LINE_CHARACTERS),
            _unverified(strategy.agent, strategy.source),
            (strategy.id,),
            tuple(events),
            why,
            statement=folded(strategy_line(strategy)),
            at=strategy.updated_at,
            automatic=is_automatic,
        )


def _is_worth_offering(strategy: Strategy, is_automatic: bool) -> bool:
    """Return whether a strategy may be offered as how a task is done.

    What was made of recorded sessions has to have succeeded, and at least as often as
    it failed; what was captured on purpose may not only have failed.
    """
    if not strategy.steps:
        return False
    if is_automatic:
        return strategy.success > 0 and strategy.success >= strategy.failure
    return strategy.success > 0 or not strategy.failure


def _unverified(agent: str, source: str) -> tuple[str, int] | None:
    """Return whose unverified words these are, and their trust; None for verified."""
    return None if TRUST[source] >= TRUST["agent"] else (agent, TRUST[source])


def strategy_line(strategy: Strategy) -> str:
    """Return a strategy in a line: what it is for, its steps, how often it succeeded.

    Steps are in words. What tools answered is no part of it.
    """
    actions = []
    for step in procedure_steps(strategy, _MOST_STEPS_OF_LINE):
        actions.append(one_line(step.text, _ACTION_CHARACTERS))
    steps = "; ".join(f"{number}. {action}" for number, action in enumerate(actions, 1))
    worked = f" Worked {strategy.worked}." if strategy.worked else ""
    return f"{one_line(strategy.goal, 200)}: {steps}.{worked}"


def retrieve_strategies(
    home: Home, searcher: Searcher, query: str, *, now: int, tokens: int
) -> list[Item]:
    """Return what a query gets within `tokens`, best first.

    It gets the strategies alike and what they warn of, then what search finds.

    Args:
        home: Where the strategies are.
        searcher: Searches the home.
        query: What is asked; '' gets what search finds.
        now: The time (µs UTC) from which ages count.
        tokens: What all of it may take.
    """
    hits = searcher.search(query, limit=_MOST_HITS, projects=home.projects)
    items: list[Item] = []
    if query.strip():
        for line in strategy_lines(home, ContextRequest(now, tokens, query)):
            items.append(Item(line.text, line.events))
    for hit, event in zip(hits, hits.events, strict=True):
        items.append(Item(hit.text, (event,)))
    return items_within(items, tokens)


_TURN_MEMBERS = {"thought", "tool", "input", "output", "error"}
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
    domain: str = DEFAULT_DOMAIN,
    origin: str = "agent",
    tags: Sequence[str] = (),
    agent: str = "main",
    source: str = "agent",
) -> str:
    """Capture an agent's run; return the trajectory's id.

    Args:
        home: Where it is captured.
        goal: What it was for.
        turns: Of {thought, tool, input, output, error}.
        answer: What the run ended with, None where it ended without.
        outcome: As whoever checked the answer says. Where nobody did, a run without an
            answer, or whose last call failed, is a failure, and another a success with
            a confidence of .9.
        domain: What the run belongs to.
        origin: Where it was lived, a key of `FIDELITY`.
        tags: What it is about.
        agent: Who ran.
        source: Who set the goal, a key of `TRUST`.

    Raises:
        InvalidInput: A turn has other members, and as `designs.dreams.capture.capture`
            does.

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
    home.designs  # noqa: B018  # the designs bring the kinds of events
    actions: list[dict[str, Any]] = []
    for number, turn in enumerate(turns, start=1):
        if turn.keys() - _TURN_MEMBERS or not turn.get("tool"):
            raise InvalidInput(
                f"got {dict(turn)!r:.200} for turn {number}; allowed are"
                f" {', '.join(sorted(_TURN_MEMBERS))}"
            )
        actions.append(_turn_action(turn))
    failed = bool(actions) and not actions[-1]["ok"]
    confidence = 1.0
    if not outcome and (answer is None or failed):
        outcome = "failure"
    elif not outcome:
        outcome = "success"
        confidence = _FINISHED
    trajectory_id, _ = capture(
        home,
        goal,
        actions,
        outcome=outcome,
        confidence=confidence,
        domain=domain,
        origin=origin,
        tags=tags,
        agent=agent,
        source=source,
    )
    return trajectory_id


def _turn_action(turn: Mapping[str, Any]) -> dict[str, Any]:
    """Return a turn of a run as an action of a trajectory."""
    arguments = turn.get("input", "")
    if arguments != "":
        arguments = json.dumps(arguments, ensure_ascii=False, default=str)
    return {
        "reasoning": turn.get("thought", ""),
        "action": f"{turn['tool']}({arguments})",
        "result": str(turn.get("output") or turn.get("error") or ""),
        "ok": not turn.get("error"),
    }


def memory_section(
    home: Home, goal: str, *, domain: str | None = None, agent: str = "main"
) -> str:
    """Return what a prompt gets before the task.

    It is the strategy that answers to a goal, its steps and constraints; '' where none
    does. That it was recalled is noted, for `agent`. It raises as
    `designs.dreams.strategies.recall`.

    Args:
        home: Whose strategies they are.
        goal: The task.
        domain: Only of this domain.
        agent: For whom it is.
    """
    result = recall(home, goal, domain=domain)
    text = section_of(result)
    if result.entry_point is not None:
        note_recalled(
            home,
            "prompt",
            query=goal,
            items=[result.entry_point.id],
            tokens=count_tokens(text),
            agent=agent,
        )
    return text


def section_of(result: RecallResult) -> str:
    """Return a recalled strategy as a section of a prompt.

    It has advice in words of this project, and what was recorded in fences that name
    whose words it is.
    """
    strategy = result.entry_point
    if strategy is None:
        return ""
    how = "how it came out is not known"
    if strategy.worked:
        how = f"and succeeded {strategy.worked}"
    lines = [f"Strategy: {strategy.summary}"]
    lines += [f"Noted: {line}" for line in strategy.content.splitlines() if line]
    for number, step in enumerate(strategy.steps[:_MOST_STEPS], start=1):
        lines.append(f"{number}. {_step_line(step)}")
    section = [_ADVICE.format(how=how), *fence(lines, f"{strategy.source},tools")]
    section += _constraint_lines(strategy.constraints[-_MOST_WARNINGS:])
    return "\n".join(section)


def _step_line(step: StrategyStep) -> str:
    """Return a step as why it is done, what is done, and what came of it."""
    texts = (step.why or step.reasoning, step.action, step.result)
    parts = [
        one_line(text, most) for text, most in zip(texts, _CHARACTERS, strict=True)
    ]
    return " → ".join(filter(None, parts))


def _constraint_lines(constraints: Sequence[Constraint]) -> Iterator[str]:
    """Yield constraints, fenced by whose words they are told in."""
    for source in dict.fromkeys(constraint.source for constraint in constraints):
        lines: list[str] = []
        for constraint in constraints:
            if constraint.source != source:
                continue
            is_order = constraint.text.startswith("Do not")
            lines.append(constraint.text if is_order else f"DO NOT: {constraint.text}")
        yield "CONSTRAINTS, from what failed:"
        yield from fence(lines, source)
