"""The commands of dreams, and of their files: `theorex dreams …`."""

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
    from theorex_lab.designs.dreams.strategies import Strategy

_GOAL_CHARACTERS = 120
_DOMAIN = click.option(
    "--domain",
    metavar="D",
    help="Only this domain (the field of work, such as coding).",
)


@command("run")
@tends_project
@_DOMAIN
@click.option(
    "--limit",
    type=click.IntRange(1),
    metavar="N",
    help="Read at most this many trajectories; default: maxTracesPerCycle.",
)
def dream_run(domain: str | None, limit: int | None) -> None:
    """It reads new trajectories and makes, merges and links strategies of them.

    A dream has four steps: it curates the trajectories, makes strategies, merges and
    links them, and writes shorter summaries. A trajectory waits for the next dream
    where a model gives no answer, or where the acceptance test refuses the result.
    Where maintenance or another dream is under way, nothing is done.

    Next: `strategies` lists the result, `recall` finds one for a task.

    JSON: {ran, journal_id, traces_processed, nodes_created, nodes_merged,
    edges_created, constraints_extracted, phase_log, …}
    """
    report = open_lab().dreams.dream(domain=domain, limit=limit, progress=_tell)
    result = report.to_dict()
    if not report.ran:
        return emit(result, f"nothing was done: {report.holder}")
    names = (
        "traces_processed",
        "nodes_created",
        "nodes_merged",
        "cross_edges_created",
        "constraints_extracted",
    )
    counts = ", ".join(f"{result[name]} {name.replace('_', ' ')}" for name in names)
    emit(result, "\n".join([*map(one_row, report.phase_log), counts]))


def _tell(event: dict[str, Any]) -> None:
    if event["event"] == "phase" and sys.stderr.isatty():
        click.echo(one_row(" ".join(str(value) for value in event.values())), err=True)


@command("recall")
@reads_project
@OWN_AGENT
@_DOMAIN
@click.argument("query")
def dream_recall(query: str, domain: str | None, agent: str | None) -> None:
    """It prints the strategy with its steps, or says why no strategy fits (zero shot).

    Steps are in words; those of several runs are the steps that runs share. JSON has
    each step as it was recorded.

    JSON: {path, reasoning, confidence, similarity, entry_point: {node_id, goal,
    summary, …, steps, negative_constraints}}
    """
    from theorex_lab.memory.retrieval_log import note_recalled

    lab = open_lab()
    recalled = lab.dreams.query(query, domain=domain)
    result = recalled._asdict()
    strategy = recalled.entry_point
    if strategy is None:
        return emit(result, f"zero shot: {recalled.reasoning}")
    note_recalled(
        lab.home,
        "dream_recall",
        query=query,
        items=[strategy.id],
        agent=own_agent(agent),
    )
    result["entry_point"] = strategy_document(strategy)
    emit(result, f"{recalled.reasoning}\n{strategy_in_words(strategy)}")


@command("traverse")
@reads_project
@click.option(
    "--context",
    default="",
    help="What is going on now; it may lead to another strategy.",
)
@click.argument("strategy")
def dream_traverse(strategy: str, context: str) -> None:
    """STRATEGY is an id that `strategies` shows.

    Steps that only look or echo are left out; JSON has each one.

    With --context the traversal ends where the context no longer fits the strategy. It
    then names another strategy that fits (a jump), or says that none does (zero shot).

    JSON: {node_id, path, reasoning, steps: [{number, reasoning, action, result, why,
    seen, event, ok}]}
    """
    from theorex_lab.memory.briefing.step_words import step_in_words

    dreams = open_lab().dreams
    state = dreams.begin_traversal(strategy)
    steps = []
    following = dreams.next_step(state, context)
    while following.step is not None:
        steps.append({"number": following.number, **following.step._asdict()})
        following = dreams.next_step(state, context)
    result = {
        "node_id": state.node_id,
        "path": following.path,
        "reasoning": following.reasoning,
        "steps": steps,
    }
    lines = []
    for step in steps:
        text = step_in_words(step["action"])
        if text:
            lines.append(f"{step['number'] + 1}. {one_row(text)}")
    if steps and not lines:
        first_action = one_line(steps[0]["action"], _GOAL_CHARACTERS)
        lines.append(f"1. {one_row(first_action)}")
    if following.path != "memory_traversal":
        path = following.path.replace("_", " ")
        lines.append(f"{path}: {one_row(following.reasoning)}")
    emit(result, "\n".join(lines) or "no steps")


@command("strategies")
@reads_project
@_DOMAIN
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Also list those that were merged into others or archived.",
)
@click.argument("strategy", required=False)
def dream_strategies(
    strategy: str | None, domain: str | None, everything: bool
) -> None:
    """With STRATEGY, an id, it shows its steps in words, and its warnings.

    Of each it shows how many runs it was made of, and how they came out. An outcome is
    known by checks and commits that followed, by the user's next words, by the same
    request again, or since the user went on to another task.

    JSON: {strategies: [{node_id, goal, summary, confidence, success_rate, version,
    steps, negative_constraints, …}], recall_floor}
    """
    from theorex_lab.designs.dreams.strategies import floor_of

    dreams = open_lab().dreams
    if strategy:
        listed = [dreams.strategy(strategy)]
        lines = list(map(strategy_in_words, listed))
    else:
        active = None if everything else True
        listed = dreams.strategies(domain=domain, active=active)
        lines = list(map(_row, listed))
    result = {
        "strategies": list(map(strategy_document, listed)),
        "recall_floor": floor_of(dreams.home),
    }
    if not lines:
        lines = ["no strategies yet: `theorex dreams run` makes them of what was done"]
    emit(result, "\n".join(lines))


def _row(strategy: Strategy) -> str:
    """Return a strategy as a line of a listing."""
    if strategy.active:
        state = ""
    elif strategy.absorbed_by:
        state = f" [merged into {strategy.absorbed_by}]"
    else:
        state = " [archived]"
    goal = one_line(strategy.goal, _GOAL_CHARACTERS)
    runs = "1 run"
    if strategy.runs > 1:
        runs = f"{strategy.runs} runs"
    return (
        f"{strategy.id}  {goal} ({runs}, {len(strategy.steps)} steps,"
        f" {_outcome(strategy)}, confidence {strategy.confidence:.0%}){state}"
    )


def strategy_document(strategy: Strategy) -> dict[str, Any]:
    """Return a strategy with its steps, as JSON holds it."""
    steps = [step._asdict() for step in strategy.steps]
    return {**strategy.to_dict(), "steps": steps}


def strategy_in_words(strategy: Strategy) -> str:
    """Return a strategy for people.

    It has the task, how often it was done and how it came out, its steps in words, and
    what it warns of.
    """
    from theorex_lab.designs.dreams.procedure import procedure_steps

    steps = procedure_steps(strategy)
    lines = [
        f"{strategy.id}  {one_row(strategy.goal)}",
        f"  {_record(strategy)}",
    ]
    for number, step in enumerate(steps, start=1):
        times = f" (done {step.seen} times)" if step.seen > 1 else ""
        lines.append(f"  {number}. {one_row(step.text)}{times}")
    for constraint in strategy.constraints:
        text = one_row(constraint.text)
        lines.append(f"  avoid: {text} ({constraint.source}'s words)")
    return "\n".join(lines)


def _record(strategy: Strategy) -> str:
    """Return how often a strategy was done, and how it came out."""
    runs = "done once"
    if strategy.runs > 1:
        runs = f"done {strategy.runs} times"
    parts = [runs, _outcome(strategy)]
    if strategy.known_by:
        parts.append(strategy.known_by)
    return "; ".join(parts)


def _outcome(strategy: Strategy) -> str:
    """Return how the runs of a strategy came out, in words."""
    n_outcomes = strategy.success + strategy.failure
    if n_outcomes:
        return f"{strategy.success} of {n_outcomes} succeeded"
    if strategy.evidence:
        return "succeeded in part"
    return "no outcome known"


@command("undo")
@click.argument("strategy")
def dream_undo(strategy: str) -> None:
    """A merge takes one strategy into another; both are then again as they were before.

    JSON: {strategy_id, version}
    """
    dreams = open_lab().dreams
    dreams.undo_merge(strategy)
    now = dreams.strategy(strategy)
    emit(
        {"strategy_id": now.id, "version": now.version},
        f"{now.id} is as it was in version {now.version}",
    )
