"""Carry strategies and trajectories from one version of the instruction set to another.

It is phase 0 of a dream. A transform leads from one version to the next, and transforms
chain. Each step of a strategy is one entry of the journal: where a transform fails, the
strategy stays as it was before it, with the tag `unassessed`, and the next dream tries
again.
"""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from theorex_lab.core.errors import InvalidInput, ModelUnavailable
from theorex_lab.designs.dreams.opcodes import get_registry, version_numbers
from theorex_lab.designs.dreams.strategies import Strategy, StrategyStep
from theorex_lab.journal.event import encode
from theorex_lab.text.line import one_line

if TYPE_CHECKING:
    from theorex_lab.designs.dreams.consolidate import ActiveStrategies
    from theorex_lab.designs.dreams.trajectories import Trajectory

UNASSESSED = "unassessed"  # the tag of a strategy whose transform failed
_PROBLEM_CHARACTERS = 300
_LONGEST_CHARACTERS = 65_536  # of a text that a transform gives
_MOST_STEPS = 100
_MOST_TAGS = 64
_STEP_TEXTS = ("reasoning", "action", "result", "why")
Transformed = tuple[Any, Sequence[Any]]
Ask = Callable[[str], str]


class MigrationTransform(ABC):
    r"""Carry a strategy from one version of the instruction set to another.

    A transform is a class with the two versions and `transform`, which may be a
    coroutine.

    Attributes:
        from_version: The version of the strategies that it takes.
        to_version: The version that they have afterwards.

    >>> class AddRisk(MigrationTransform):
    ...     from_version, to_version = "1.0", "2.0"
    ...
    ...     async def transform(self, node, children, llm):
    ...         node.content += "\\n[risk_level: low]"
    ...         return node, children
    >>> AddRisk().to_version
    '2.0'
    """

    from_version: str = ""
    to_version: str = ""

    @abstractmethod
    def transform(
        self, node: Any, children: list[Any], llm: Any
    ) -> Awaitable[Transformed | None] | Transformed | None:
        """Return a strategy and its steps at the other version.

        They may be changed in place; then None may be returned.

        Args:
            node: The strategy: goal, summary, content, confidence, tags and what else
                a strategy has.
            children: Its steps: reasoning, action, result, why and step_index.
            llm: `await llm.complete(prompt)` asks the model that dreams.
        """


class MigrationReport(NamedTuple):
    """Hold what phase 0 did.

    Attributes:
        nodes: How many strategies have another version now.
        enriched: How many of them a transform has changed.
        problems: Why others stay as they are.
    """

    nodes: int = 0
    enriched: int = 0
    problems: tuple[str, ...] = ()


def check_transform(transform: Any) -> None:
    """Refuse what is no transform, and one that leads to no later version.

    Raises:
        InvalidInput: It is none.
    """
    first = getattr(transform, "from_version", None)
    last = getattr(transform, "to_version", None)
    is_named = isinstance(first, str) and isinstance(last, str)
    is_callable = callable(getattr(transform, "transform", None))
    numbers = (version_numbers(str(first)), version_numbers(str(last)))
    leads_on = numbers[0] and numbers[0] < numbers[1]
    if not (is_named and is_callable and leads_on):
        raise InvalidInput(
            f"got the transform {transform!r:.100} from {first!r:.40} to {last!r:.40};"
            " allowed is an object with transform(node, children, llm) whose"
            " to_version is later than its from_version, such as 1.0 and 2.0"
        )


def has_older(
    strategies: Sequence[Strategy], transforms: Sequence[MigrationTransform]
) -> bool:
    """Return whether a strategy is of a version that it can leave."""
    starts = {transform.from_version for transform in transforms}
    for strategy in strategies:
        version = strategy.isa_version
        if version in starts or _is_older(version):
            return True
    return False


def restamped(
    trajectory: Trajectory, transforms: Sequence[MigrationTransform]
) -> Trajectory:
    """Return a trajectory at the present version, where no transform takes it further.

    One of a version that a transform takes stays as it is, so that what is made of it
    goes through the transform.
    """
    starts = {transform.from_version for transform in transforms}
    version = trajectory.isa_version
    if version in starts or not _is_older(version):
        return trajectory
    return replace(trajectory, isa_version=get_registry().current())


def migrate(
    mind: ActiveStrategies,
    transforms: Sequence[MigrationTransform],
    ask: Ask | None,
    domain: str | None = None,
) -> MigrationReport:
    """Carry every strategy as far as the transforms lead, then to the present version.

    Args:
        mind: The strategies.
        transforms: The transforms.
        ask: Asks the model that dreams; None where none does.
        domain: Only of this domain; None: of all.
    """
    by_version = {transform.from_version: transform for transform in transforms}
    n_nodes = 0
    n_enriched = 0
    problems: list[str] = []
    for old in list(mind.strategies.values()):
        if domain not in (None, old.domain):
            continue
        latest, problem = _carried(mind, old, by_version, ask)
        if problem:
            problems.append(f"{old.id} stays at {latest.isa_version}: {problem}")
        elif _is_older(latest.isa_version):
            latest = _stamped(mind, latest)
        n_nodes += latest.isa_version != old.isa_version
        n_enriched += old.isa_version in by_version and latest.event != old.event
    return MigrationReport(n_nodes, n_enriched, tuple(problems))


def _carried(
    mind: ActiveStrategies,
    old: Strategy,
    by_version: dict[str, MigrationTransform],
    ask: Ask | None,
) -> tuple[Strategy, str]:
    """Return a strategy as far as the transforms lead, and why it goes no further."""
    for _ in by_version:
        transform = by_version.get(old.isa_version)
        if transform is None:
            break
        new, problem = _transformed(old, transform, ask)
        body = {
            "from": old.isa_version,
            "to": transform.to_version,
            "ok": not problem,
            "problem": problem,
        }
        if new != old:
            problem = mind.rewrite("strategy_migrated", old, new, body) or problem
        if problem:
            return old, problem
        old = mind.strategies[old.id]
    return old, ""


def _stamped(mind: ActiveStrategies, old: Strategy) -> Strategy:
    """Return a strategy with the present version and nothing else changed."""
    current = get_registry().current()
    new = replace(old, isa_version=current)
    body = {"from": old.isa_version, "to": current, "ok": True, "problem": ""}
    if mind.rewrite("strategy_migrated", old, new, body):
        return old
    return mind.strategies[old.id]


def _is_older(version: str) -> bool:
    """Return whether a version is known, and before the present one."""
    registry = get_registry()
    if not registry.supports(version):
        return False
    return version_numbers(version) < version_numbers(registry.current())


def _transformed(
    old: Strategy, transform: MigrationTransform, ask: Ask | None
) -> tuple[Strategy, str]:
    """Return a strategy at the other version.

    Where the transform fails, it is as it was, with a tag, and the problem is told.
    """
    node = _node_of(old)
    children = _children_of(old)
    llm = _Asked(ask)

    def run() -> Strategy:
        result: Any = transform.transform(node, children, llm)
        if inspect.isawaitable(result):
            result = asyncio.run(_awaited(result))
        new_node, new_children = result or (node, children)
        return _strategy_from(old, transform.to_version, new_node, new_children)

    # In a thread of its own, since a loop may run already in this one.
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run)
    error = running.exception()
    if error is None:
        return running.result(), ""
    if not isinstance(error, Exception):
        raise error
    tags = tuple(sorted({*old.tags, UNASSESSED}))
    problem = one_line(f"{type(error).__name__}: {error}", _PROBLEM_CHARACTERS)
    return replace(old, tags=tags), problem


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result


class _Asked:
    """Ask the model that dreams, as a transform does."""

    def __init__(self, ask: Ask | None) -> None:
        self._ask = ask

    async def complete(self, prompt: str, system: str = "") -> str:
        """Return the model's answer.

        Raises:
            ModelUnavailable: No model dreams here, or it does not answer.
        """
        if self._ask is None:
            raise ModelUnavailable(
                "no model dreams here; set designs.dreams.dreamingModel, or dream with"
                " a provider"
            )
        return self._ask(f"{system}\n{prompt}".strip())


def _node_of(strategy: Strategy) -> SimpleNamespace:
    """Return a strategy as a transform may change it."""
    members = strategy.state()
    members["id"] = strategy.id
    members["node_id"] = strategy.id
    members["trigger_goals"] = list(strategy.goals)
    members["negative_constraints"] = [
        constraint.text for constraint in strategy.constraints
    ]
    return SimpleNamespace(**members)


def _children_of(strategy: Strategy) -> list[SimpleNamespace]:
    """Return the steps of a strategy as a transform may change them."""
    return [
        SimpleNamespace(**step._asdict(), step_index=index)
        for index, step in enumerate(strategy.steps)
    ]


def _strategy_from(
    old: Strategy, version: str, node: Any, children: Sequence[Any]
) -> Strategy:
    """Return what a transform gave as a strategy.

    Raises:
        InvalidInput: No strategy can hold it.
    """
    steps = tuple(_step_from(child) for child in children)
    texts = [node.goal, node.summary, node.content, *node.tags]
    _check_texts(texts)
    if not node.goal.strip():
        raise InvalidInput("got a strategy without a goal; allowed is one with words")
    if len(steps) > _MOST_STEPS or len(node.tags) > _MOST_TAGS:
        raise InvalidInput(
            f"got {len(steps)} steps and {len(node.tags)} tags; allowed are"
            f" {_MOST_STEPS} and {_MOST_TAGS}"
        )
    if not 0 <= node.confidence <= 1:
        raise InvalidInput(
            f"got a confidence of {node.confidence!r:.40}, which is outside 0..1"
        )
    # A branch stands after a step of the old ones.
    branches = old.branches if len(steps) == len(old.steps) else ()
    return replace(
        old,
        goal=node.goal,
        summary=node.summary,
        content=node.content,
        confidence=float(node.confidence),
        steps=steps,
        branches=branches,
        goals=tuple(dict.fromkeys((node.goal, *old.goals))),
        isa_version=version,
        tags=tuple(tag for tag in node.tags if tag != UNASSESSED),
    )


def _step_from(child: Any) -> StrategyStep:
    """Return a step as a transform gave it.

    Raises:
        InvalidInput: A text is none, or too long.
    """
    _check_texts([getattr(child, name) for name in _STEP_TEXTS])
    return StrategyStep(*(getattr(child, name) for name in StrategyStep._fields))


def _check_texts(texts: Sequence[object]) -> None:
    """Refuse what the journal cannot hold as a text.

    Raises:
        InvalidInput: It is no text, or too long.
    """
    for text in texts:
        if not isinstance(text, str) or len(text) > _LONGEST_CHARACTERS:
            raise InvalidInput(
                f"got {text!r:.60} for a text; allowed are texts of up to"
                f" {_LONGEST_CHARACTERS} characters"
            )
    encode(list(texts))
