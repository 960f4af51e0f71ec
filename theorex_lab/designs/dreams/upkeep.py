"""What a dream does to the strategies that are there: carries them to another version, and tells long ones shorter."""

import asyncio
import inspect
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Protocol

from theorex_lab.designs.dreams.consolidate import Mind
from theorex_lab.designs.dreams.dreamers import HeuristicDreamer
from theorex_lab.designs.dreams.strategies import Step, Strategy
from theorex_lab.errors import InvalidInput, ModelUnavailable
from theorex_lab.journal.event import encode
from theorex_lab.memory.observation import TRUST
from theorex_lab.text.line import one_line

UNASSESSED = "unassessed"  # the tag of a strategy whose migration failed
_PROBLEM_CHARACTERS = 200
Done = tuple[int, list[str]]  # how many, and what went wrong


class MigrationTransform(Protocol):
    """Carries a strategy from one version to another; plain or async.

    node: with goal, summary, content, confidence, tags and the like, which may be changed.  children: its steps, with
    reasoning, action and result.  llm: the model that dreams, with `await llm.complete(prompt)`.  It returns both, or None where it changed them in place.
    """

    from_version: str
    to_version: str

    def transform(self, node: Any, children: list[Any], llm: Any) -> Any:
        """The strategy and its steps as the other version has them."""


def migrate(mind: Mind, ways: Sequence[MigrationTransform], dreamer: HeuristicDreamer, domain: str | None) -> Done:
    """Carry every strategy as far as the transforms lead; returns how many came further, and what went wrong.

    One that fails stays at its version with the tag `unassessed`, and is tried again in the next cycle.
    """

    async def complete(prompt: str, system: str = "") -> str:
        if (asked := getattr(dreamer, "complete", None)) is None:
            raise ModelUnavailable("no model dreams here; set designs.dreams.dreamingModel, or dream with one")
        return str(asked(f"{system}\n{prompt}".strip()).text)

    by_version, moved, problems = {way.from_version: way for way in ways}, set[str](), list[str]()
    for old in [one for one in mind.known.values() if domain in (None, one.domain)] if ways else ():
        for _ in by_version:
            if (way := by_version.get(old.isa_version)) is None:
                break
            one, problem = _transformed(old, way, SimpleNamespace(complete=complete))
            said = {"from": old.isa_version, "to": way.to_version, "ok": not problem, "problem": problem}
            if one != old:
                problem = mind.rewrite("strategy_migrated", old, one, **said) or problem
            if problem:
                problems.append(f"{old.id} stays at {old.isa_version}: {problem}")
                break
            moved.add(old.id)
            old = mind.known[old.id]
    return len(moved), problems


def _transformed(old: Strategy, way: MigrationTransform, llm: Any) -> tuple[Strategy, str]:
    """The strategy at the other version; or as it was with the tag, and what was wrong."""
    node = SimpleNamespace(**old.state() | {"id": old.id, "node_id": old.id, "trigger_goals": [*old.goals]})
    children = [SimpleNamespace(**step._asdict(), step_index=at) for at, step in enumerate(old.steps)]

    def run() -> Strategy:
        found = way.transform(node, children, llm)
        found = asyncio.run(found) if inspect.iscoroutine(found) else found
        return _taken_back(old, way.to_version, *(found or (node, children)))

    # In a thread of its own: here a loop may run already, and what a user's function raises comes back as a value.
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(run)
    if (error := asked.exception()) is None:
        return asked.result(), ""
    if not isinstance(error, Exception):
        raise error
    tags = tuple(sorted({*old.tags, UNASSESSED}))
    return replace(old, tags=tags), one_line(f"{type(error).__name__}: {error}", _PROBLEM_CHARACTERS)


def _taken_back(old: Strategy, version: str, node: Any, children: Sequence[Any]) -> Strategy:
    """What a transform gave back, checked: JSON must hold it. Raises InvalidInput for what no strategy can hold."""
    steps = tuple(Step(*(getattr(child, name) for name in Step._fields)) for child in children)
    texts = [node.goal, node.summary, node.content, *node.tags, *(text for step in steps for text in step[:4])]
    encode(texts)
    if not node.goal or not all(isinstance(text, str) for text in texts) or not 0 <= node.confidence <= 1:
        raise InvalidInput("got a strategy without a goal, with a text that is none, or a confidence outside 0..1")
    return replace(
        old, goal=node.goal, summary=node.summary, content=node.content, confidence=float(node.confidence), steps=steps,
        branches=old.branches if len(steps) == len(old.steps) else (), goals=tuple(dict.fromkeys((node.goal, *old.goals))),
        isa_version=version, tags=tuple(tag for tag in node.tags if tag != UNASSESSED))  # fmt: skip


def shorten_summaries(mind: Mind, dreamer: HeuristicDreamer, domain: str | None) -> Done:
    """Tell strategies shorter that are told at length, little used and not yet settled; how many, and what went wrong."""
    done, problems, settings = 0, list[str](), mind.settings
    chosen = (one for one in [*mind.known.values()] if settings.compaction and domain in (None, one.domain))
    for old in chosen:
        long = len(old.summary) > settings.compaction_min_characters and old.version < settings.compaction_max_version
        try:
            shorter = dreamer.shorten(old) if long and mind.may_change(old) else ""
        except ModelUnavailable as error:
            return done, [*problems, str(error)]
        if 0 < len(shorter) < len(old.summary):
            source = old.source if dreamer.name == "heuristic" else min(old.source, "model", key=TRUST.__getitem__)
            one = replace(old, summary=shorter, version=old.version + 1, source=source)
            problem = mind.rewrite("strategy_compacted", old, one, pruned=False, undo=False)
            problems += [f"{old.id} stays as it is: {problem}"] * bool(problem)
            done += not problem
    return done, problems
