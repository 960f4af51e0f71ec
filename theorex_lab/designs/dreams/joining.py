"""What two strategies make together: the better way, how often each step was seen, and what was done instead.

The result is the same whichever comes first, but for its id, and it does not grow with what is repeated.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from theorex_lab.designs.dreams import FIDELITY, Ended, Fault
from theorex_lab.designs.dreams.dreamers import Curated
from theorex_lab.designs.dreams.strategies import Branch, Step, Strategy, new_strategy_id
from theorex_lab.designs.dreams.trajectories import PATTERNS, Act, Trajectory
from theorex_lab.memory.observation import TRUST
from theorex_lab.search.lexical import tokenize
from theorex_lab.text.line import one_line

MOST_STEPS, MOST_BRANCHES, MOST_GOALS, MOST_CONSTRAINTS = 100, 16, 32, 32
_LEARNT = 0.1  # of its fidelity, what another trajectory adds to the confidence
_SAID_AGAIN = 0.8  # share of words in common from which a constraint is one that is there
_READ_CHARACTERS, _CONSTRAINT_CHARACTERS, _READ_STEPS = 2_000, 400, 12
Kind = tuple[str, int]  # what a step is in kind, and the how manieth of its kind it is


@lru_cache(16_384)
def kind_of(action: str) -> str:
    """What an action is in kind: its tool, the names of what it was given, and paths, without other values.

    >>> kind_of('get_user({"id": "mia_3"})') == kind_of('get_user({"id": "raj_1"})')
    True
    >>> kind_of("pytest -q tests/a.py") == kind_of("pytest -q tests/b.py")
    False
    """
    text = action[:_READ_CHARACTERS]
    if called := PATTERNS["named"].match(text):
        places = {quoted for _, quoted in PATTERNS["quoted"].findall(text) if PATTERNS["place"].search(quoted)}
        return " ".join([called[1], *sorted(places | {one or other for one, other in PATTERNS["key"].findall(text)})])
    plain = PATTERNS["quoted"].sub(lambda found: found[0] if PATTERNS["place"].search(found[2]) else '""', text)
    return one_line(re.sub(r"\d+", "0", plain).lower(), _READ_CHARACTERS)


def strategy_from(trajectory: Trajectory, curated: Curated) -> Strategy:
    """What a trajectory says by itself, as a dream has read it; its steps are the recorded actions."""
    chosen = [trajectory.actions[place] for place in curated.critical]
    kinds = enumerate(_kinds(chosen))
    # Where there are too many, the first of each kind come before those that repeat one.
    kept = sorted(sorted(kinds, key=lambda found: found[1][1])[:MOST_STEPS])
    whys = [curated.whys.get(place, "") for place in curated.critical]
    steps = [Step(*chosen[at][2:5], whys[at], 1, chosen[at].event, chosen[at].ok) for at, _ in kept]
    source = min(trajectory.source, curated.source, key=TRUST.__getitem__)
    return Strategy(
        new_strategy_id(trajectory.id, trajectory.upto), trajectory.goal, curated.summary, tuple(steps),
        goals=(trajectory.goal,), confidence=round(curated.confidence * FIDELITY.get(trajectory.origin, 0.5), 6),
        outcome=trajectory.outcome.value, level=int(trajectory.level), domain=trajectory.domain, origin=trajectory.origin,
        success=int(trajectory.outcome is Ended.SUCCESS), failure=int(trajectory.outcome is Ended.FAILURE),
        isa_version=trajectory.isa_version, source=source, tags=trajectory.tags, project=trajectory.project,
        agent=trajectory.agent)  # fmt: skip


def joined(one: Strategy, other: Strategy, *, reworded: bool = True) -> Strategy:
    """The first with what the second adds to it. It has the better one's steps, and its words unless it is not `reworded`.

    A failure adds to its count and to nothing else.
    """
    best, rest = sorted((one, other), key=_rank, reverse=True)
    said = best if reworded else one
    steps, branches = (best.steps, best.branches) if _failed(rest) else _aligned(best, rest)
    goals = [said.goal, *sorted({*one.goals, *other.goals} - {said.goal})]
    return replace(
        one, goal=said.goal, summary=said.summary, steps=steps, branches=branches, goals=tuple(goals[:MOST_GOALS]),
        confidence=round(min(1.0, max(_sure(one, other), _sure(other, one))), 6), outcome=best.outcome, origin=best.origin, level=min(one.level, other.level),
        success=one.success + other.success, failure=one.failure + other.failure, version=one.version + 1,
        isa_version=best.isa_version, content=best.content or rest.content, tags=tuple(sorted({*one.tags, *other.tags})),
        source=min(one.source, other.source, key=TRUST.__getitem__))  # fmt: skip


def _sure(one: Strategy, other: Strategy) -> float:
    """The confidence in the one with what each trajectory of the other adds that did not fail."""
    adds = 0 if _failed(other) else max(1, other.version - other.failure)
    return one.confidence + _LEARNT * FIDELITY.get(other.origin, 0.5) * adds


def _failed(strategy: Strategy) -> bool:
    return strategy.outcome == Ended.FAILURE


def _rank(strategy: Strategy) -> tuple[object, ...]:
    """By what the better way is told: success, how real it was, then the fewest steps, of two at least beside those that
    hand the work over; where it is not known to have succeeded, as many steps as are read at once.
    """
    length = sum(not PATTERNS["handed"].match(step.action) for step in strategy.steps)
    succeeded = strategy.outcome == Ended.SUCCESS
    return (
        [int(number) for number in re.findall(r"\d+", strategy.isa_version)], not _failed(strategy), succeeded,
        FIDELITY.get(strategy.origin, 0.5), min(length, 2 if succeeded else _READ_STEPS), -length,
        [step[:3] for step in strategy.steps], strategy.goal, strategy.summary)  # fmt: skip


def _aligned(best: Strategy, rest: Strategy) -> tuple[tuple[Step, ...], tuple[Branch, ...]]:
    """The better one's steps with how often each was seen in both, and what only the other did, after the step before it."""
    mine, others = (_kinds([*one.steps, *(branch.step for branch in one.branches)]) for one in (best, rest))
    steps, places = [*best.steps], {-1: -1}  # where the other's steps are among the better one's
    main = {kind: place for place, kind in enumerate(mine[: len(steps)])}
    aside = dict(zip(mine[len(steps) :], best.branches, strict=True))
    done = [*(Branch(place - 1, step) for place, step in enumerate(rest.steps)), *rest.branches]
    for number, (kind, (after, step)) in enumerate(zip(others, done, strict=True)):
        before = places[min(after, len(rest.steps) - 1)]
        if number < len(rest.steps):
            places[number] = main.get(kind, before)
        if kind in main:
            known = steps[main[kind]]
            steps[main[kind]] = known._replace(seen=known.seen + step.seen, why=known.why or step.why)
        else:
            known_at, known = aside.get(kind, Branch(before, step._replace(seen=0)))
            chosen = min(known, step, key=lambda found: (found.ok is not True, found[:3]))
            aside[kind] = Branch(known_at, chosen._replace(seen=known.seen + step.seen))
    ordered = sorted(aside.values(), key=lambda branch: (-branch.step.seen, branch.step[:3]))
    return tuple(steps), tuple(ordered[:MOST_BRANCHES])


def _kinds(done: Iterable[Step | Act]) -> list[Kind]:
    before, found = Counter[str](), list[Kind]()
    for kind in (kind_of(step.action) for step in done):
        found.append((kind, before[kind]))
        before[kind] += 1
    return found


def new_constraints(known: list[str], said: Iterable[tuple[str, str, str]]) -> Iterator[tuple[str, str, str]]:
    """Text, fault and source of those that no known one says already in nearly the same words; they are known from then on."""
    for text, fault, source in said:
        line = one_line(text, _CONSTRAINT_CHARACTERS)
        is_known = any(_alike({*tokenize(line)}, {*tokenize(old)}) for old in known)
        if line and len(known) < MOST_CONSTRAINTS and not is_known:
            known.append(line)
            fault = fault if fault in [*Fault] else Fault.UNKNOWN_FAILURE.value
            yield line, fault, source if source in TRUST else "tool"


def _alike(one: set[str], other: set[str]) -> bool:
    return len(one & other) >= _SAID_AGAIN * len(one | other)
