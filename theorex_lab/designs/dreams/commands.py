"""The commands of dreams, and of their files: `theorex dream …`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from theorex_lab.files.command_line import (
    command,
    emit,
    one_row,
    open_lab,
    reads_project,
    tends_project,
)
from theorex_lab.files.command_line.options import OWN_AGENT, own_agent
from theorex_lab.text.line import one_line

if TYPE_CHECKING:
    from theorex_lab.designs.dreams.strategies import Strategy, StrategyStep

_GOAL_CHARACTERS = 120
_DOMAIN = click.option("--domain", metavar="D", help="Only of this domain.")


@command("run")
@tends_project
@_DOMAIN
@click.option(
    "--limit",
    type=click.IntRange(1),
    metavar="N",
    help="Trajectories at most; default maxTracesPerCycle.",
)
def dream_run(domain: str | None, limit: int | None) -> None:
    """One cycle: curate, make strategies, merge and link them, tell them shorter. What
    a silent model or the gate holds back waits on. Where a night or a dream is under
    way, nothing is done.

    JSON: {ran, journal_id, traces_processed, nodes_created, nodes_merged,
    edges_created, constraints_extracted, phase_log, …}
    """
    done = open_lab().dreams.dream(domain=domain, limit=limit, progress=_tell)
    told = done.to_dict()
    if not done.ran:
        return emit(told, f"nothing was done: {done.holder}")
    names = (
        "traces_processed",
        "nodes_created",
        "nodes_merged",
        "cross_edges_created",
        "constraints_extracted",
    )
    counts = ", ".join(f"{told[name]} {name.replace('_', ' ')}" for name in names)
    emit(told, "\n".join([*map(one_row, done.phase_log), counts]))


def _tell(event: dict[str, Any]) -> None:
    if event["event"] == "phase" and sys.stderr.isatty():
        click.echo(one_row(" ".join(str(value) for value in event.values())), err=True)


@command("recall")
@reads_project
@OWN_AGENT
@_DOMAIN
@click.argument("query")
def dream_recall(query: str, domain: str | None, agent: str | None) -> None:
    """The strategy that answers a task with its steps, or why there is none. What tools
    answered is told as data.

    JSON: {path, reasoning, confidence, similarity, entry_point: {node_id, goal,
    summary, …, steps, negative_constraints}}
    """
    from theorex_lab.memory.retrieval_log import note_recalled

    lab = open_lab()
    found = lab.dreams.query(query, domain=domain)
    told = found._asdict()
    if found.entry_point is None:
        return emit(told, f"zero shot: {found.reasoning}")
    note_recalled(
        lab.home,
        "dream_recall",
        query=query,
        items=[found.entry_point.id],
        agent=own_agent(agent),
    )
    told["entry_point"] = as_told(found.entry_point)
    emit(told, f"{found.reasoning}\n{strategy_in_words(found.entry_point)}")


@command("traverse")
@reads_project
@click.option(
    "--context",
    default="",
    help="What is going on now: where it fits no more, the way leads elsewhere.",
)
@click.argument("strategy")
def dream_traverse(strategy: str, context: str) -> None:
    """Follow a strategy step by step to its end; a jump tells the strategy that it
    leads to.

    JSON: {node_id, path, reasoning, steps: [{number, reasoning, action, result, why}]}
    """
    dreams = open_lab().dreams
    state = dreams.begin_traversal(strategy)
    rows = []
    while (found := dreams.next_step(state, context)).step is not None:
        rows.append({"number": found.number, **found.step._asdict()})
    told = {
        "node_id": state.node_id,
        "path": found.path,
        "reasoning": found.reasoning,
        "steps": rows,
    }
    lines = [f"{row['number'] + 1}. {one_row(row['action'])}" for row in rows]
    if found.path != "memory_traversal":
        lines.append(f"{found.path.replace('_', ' ')}: {one_row(found.reasoning)}")
    emit(told, "\n".join(lines) or "no steps")


@command("strategies")
@reads_project
@_DOMAIN
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="With those that were taken into others or put to sleep.",
)
@click.argument("strategy", required=False)
def dream_strategies(
    strategy: str | None, domain: str | None, everything: bool
) -> None:
    """Or one of them, with its steps and what it warns of.

    JSON: {strategies: [{node_id, goal, summary, confidence, success_rate, version,
    steps, negative_constraints, …}], recall_floor}
    """
    from theorex_lab.designs.dreams.strategies import floor_of

    dreams = open_lab().dreams
    every = None if everything else True
    found = (
        [dreams.strategy(strategy)]
        if strategy
        else dreams.strategies(domain=domain, active=every)
    )
    told = {
        "strategies": [as_told(one) for one in found],
        "recall_floor": floor_of(dreams.home),
    }
    shown = (
        [strategy_in_words(one) for one in found]
        if strategy
        else [_row(one) for one in found]
    )
    emit(
        told,
        "\n".join(shown)
        or "no strategies yet: theorex dream run makes them of what was done",
    )


def _row(one: Strategy) -> str:
    gone = (
        ""
        if one.active
        else f" [{f'taken into {one.absorbed_by}' if one.absorbed_by else 'asleep'}]"
    )
    known = one.success + one.failure
    goal = one_line(one.goal, _GOAL_CHARACTERS)
    rate = f"{one.success} of {known} succeeded" if known else "no outcome known"
    return f"{one.id}  {goal} ({len(one.steps)} steps, {rate}, {one.confidence:.0%} sure){gone}"


def as_told(one: Strategy) -> dict[str, Any]:
    """A strategy with its steps, as JSON holds it."""
    return {**one.to_dict(), "steps": [step._asdict() for step in one.steps]}


def strategy_in_words(one: Strategy) -> str:
    """A strategy for people: what it is for, its steps with what came of them, and what
    it warns of.
    """
    lines = [
        f"{one.id}  {one_row(one.goal)}",
        f"  {one_row(one.summary)}",
        *map(_step, range(1, 101), one.steps),
    ]
    lines += [
        f"     or, after {branch.after + 1}: {one_row(branch.step.action)}"
        for branch in one.branches
    ]
    lines += [
        f"  avoid: {one_row(found.text)} ({found.source}'s words)"
        for found in one.constraints
    ]
    return "\n".join(lines)


def _step(number: int, step: StrategyStep) -> str:
    seen = f" (seen {step.seen} times)" if step.seen > 1 else ""
    came = f"\n       -> {one_row(step.result)}" if step.result.strip() else ""
    return f"  {number}. {one_row(step.action)}{seen}{came}"


@command("undo")
@click.argument("strategy")
def dream_undo(strategy: str) -> None:
    """The strategy is again as it was before its last merge; what was taken into it
    stands by itself again.

    JSON: {strategy_id, version}
    """
    dreams = open_lab().dreams
    dreams.undo_merge(strategy)
    now = dreams.strategy(strategy)
    emit(
        {"strategy_id": now.id, "version": now.version},
        f"{now.id} is as it was in version {now.version}",
    )
