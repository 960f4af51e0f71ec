"""Commands of routing, of calls of models and their traces, and of agents' tasks."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NoReturn, get_args

import click

from theorex_lab.app.cli.context import open_lab
from theorex_lab.app.cli.ending import ended_in_order
from theorex_lab.core.settings import NO_MODEL, NO_ROLE, ModelTier
from theorex_lab.files.command_line import command, emit, fail, keeps_secrets, one_row
from theorex_lab.files.command_line.options import (
    DAYS,
    LEASE_SECONDS,
    MARGIN,
    PERCENT,
    SESSION,
    TOKENS,
    WILLINGNESS,
    agent_option,
    own_agent,
)

if TYPE_CHECKING:
    from theorex_lab.dispatch.tasks import Task
    from theorex_lab.routing.heuristic import Complexity
    from theorex_lab.routing.router import Decision


_NO_CALL = "no call has ended: `theorex dispatch` makes one"
_NO_EVIDENCE = (
    "no evidence yet: `theorex dispatch` and `theorex outcome --trace-id ID` make it"
)


@command("route")
@agent_option("The agent that asks; the model that its role prefers is proposed first.")
@click.option(
    "--urgent",
    is_flag=True,
    help="Prefer a small model, unless a role prefers another one.",
)
@click.option(
    "--context",
    "context_pct",
    type=PERCENT,
    default=0.0,
    help="How much of the agent's context is in use, in percent.",
)
@click.option(
    "--tokens",
    "query_tokens",
    type=TOKENS,
    default=0,
    help="Length of the query in tokens; default: estimated.",
)
@MARGIN
@WILLINGNESS
@click.argument("query", nargs=-1, required=True)
def route(
    query: tuple[str, ...],
    agent: str | None,
    urgent: bool,
    context_pct: float,
    query_tokens: int,
    margin: float | None,
    willingness: float | None,
) -> None:
    """It calls no model; `theorex dispatch` routes a task and calls the model.

    Five rules are asked in this order: the model that the agent's role prefers, the
    power of the machine, how like queries went before, the confidence matrix (`theorex
    matrix`), and a rule of thumb by the kind of query. The output says what each of
    them did. Of measured models the best is chosen, or a cheaper one that is shown to
    be not worse by more than the margin.

    JSON: {query_type, tier, model, confidence, reasons, fallbacks, is_measured,
    is_guessed}
    """
    lab = open_lab()
    decision = lab.route(
        " ".join(query),
        agent=agent,
        urgent=urgent,
        context_pct=context_pct,
        query_tokens=query_tokens,
        margin=margin,
        willingness=willingness,
    )
    if lab.settings.models:
        lines = _decision_lines(decision)
    else:
        basis = "guessed" if decision.is_guessed else "by rule, not measured"
        lines = [
            NO_MODEL,
            f"  the query is of type {decision.query_type}; a {decision.tier} model"
            f" would be tried ({basis})",
        ]
        if decision.is_guessed:
            lines.append(f"  {decision.reasons[-1]}")
    emit(asdict(decision), "\n".join(lines))


def _decision_lines(decision: Decision) -> list[str]:
    """Return for people which model a query should go to, and why."""
    basis = "measured" if decision.is_measured else "by rule, not measured"
    if decision.is_guessed:
        basis = "guessed"
    name = decision.model or "no model may run"
    return [
        f"{name}  ({decision.tier}, {decision.query_type},"
        f" confidence {decision.confidence:.2f}, {basis})",
        *(f"  {reason}" for reason in decision.reasons),
        f"  then: {', '.join(decision.fallbacks) or 'nothing'}",
    ]


@command("role-route")
@click.argument("query", nargs=-1, required=True)
def role_route(query: tuple[str, ...]) -> None:
    """It names the operative of the highest priority that takes this type of query.

    An operative is an agent with a role for some types of queries; `roles` lists them.
    Where none takes the query, the answer is the orchestrator, the agent that shares
    out work. No model is called.

    JSON: {agent, role, model, query_type, reason}
    """
    from theorex_lab.routing.heuristic import classify
    from theorex_lab.routing.roles import route_to_agent

    query_type, _, unread = classify(" ".join(query))
    roles = open_lab().settings.roles
    if not roles:
        nobody = dict.fromkeys(("agent", "role", "model"))
        emit({**nobody, "query_type": query_type, "reason": NO_ROLE}, NO_ROLE)
        return
    agent, role, model, reason = route_to_agent(query_type, roles)
    if unread:
        reason = f"{reason}; {query_type} is guessed, since {unread}"
    result = {
        "agent": agent,
        "role": role,
        "model": model,
        "query_type": query_type,
        "reason": reason,
    }
    emit(result, f"{agent} ({role}, {model or 'any model'}): {reason}")


@command("roles")
def roles() -> None:
    """A role says which types of queries an agent takes, and which model it prefers.

    Roles are set in config.json under `roles`.

    JSON: {roles: [{agent_id, role, capabilities, model_preference, priority, active}]}
    """
    rows = [asdict(role) for role in open_lab().settings.roles]
    emit({"roles": rows}, _as_table(rows) if rows else NO_ROLE)


@command("energy-check")
@click.option(
    "--complexity",
    type=click.Choice(["low", "high"]),
    default="high",
    help="How hard the query is.",
)
def energy_check(complexity: Complexity) -> None:
    """On battery a query of low complexity gets no large model.

    Below the setting batteryThreshold no query gets one.

    JSON: {percent, on_battery, source, allowed, reason}
    """
    from theorex_lab.routing import energy

    settings = open_lab().settings
    power = energy.read_power()
    allowed = {
        tier: energy.allows(tier, power, complexity, settings)
        for tier in get_args(ModelTier)
    }
    reason = (
        energy.veto(power, complexity, settings)
        or f"{energy.describe_power(power)}: every size may run"
    )
    names = ", ".join(tier for tier, may in allowed.items() if may)
    emit(
        {**asdict(power), "allowed": allowed, "reason": reason},
        f"{names}  ({reason}; source: {power.source})",
    )


_AGENTS_CALLS = agent_option("Only count this agent's calls.")


@command("traces")
@_AGENTS_CALLS
@click.argument("trace_id", metavar="[ID]", required=False)
def traces(agent: str | None, trace_id: str | None) -> None:
    """For each query type and model it shows success, latency and tokens.

    The success rate has its 95 % interval. Lost calls, and calls that no model
    answered, are counted separately.

    With ID it shows one call: what was asked, why this model was chosen, each attempt
    and tool call in its order, and how the call ended. `theorex dispatch` prints the
    ID.

    JSON: {stats: [{query_type, model, n, success_rate, ci_low, ci_high, lost,
    unavailable, …}], open}; with ID {id, agent_id, task, tags, reasons, events,
    attempts, start_time, end_time, success, response, error, …}
    """
    if trace_id is None:
        _show_statistics(agent)
        return
    if agent is not None:
        raise click.UsageError("Give one of --agent and ID.")
    trace = open_lab().trace(trace_id).to_dict()
    emit(trace, "\n".join(one_row(f"{name}: {value}") for name, value in trace.items()))


@command("trace-stats")
@_AGENTS_CALLS
def trace_stats(agent: str | None) -> None:
    """For each query type and model it shows success, latency and tokens.

    The success rate has its 95 % interval. Lost calls, and calls that no model
    answered, are counted separately.

    JSON: {stats: [{query_type, model, n, success_rate, ci_low, ci_high, lost,
    unavailable, …}], open}
    """
    _show_statistics(agent)


def _show_statistics(agent: str | None) -> None:
    """Show how calls of models went."""
    stats = open_lab().trace_stats(agent=agent)
    rows = stats.to_dict()
    table = _as_table(rows) if rows else _NO_CALL
    emit({"stats": rows, "open": stats.open}, f"{table}\n{stats.open} calls are open")


@command("matrix-build")
def matrix_build() -> None:
    """It reads what other processes have recorded since the last time.

    The result is kept for the next start. `matrix-show` shows it.

    JSON: {records, cells}
    """
    from theorex_lab.memory.evidence import QUERY_TYPE_PREFIX, evidence_view

    lab = open_lab()
    with lab.views.reading(evidence_view(lab.home)) as view:
        cells = view.table.cells(QUERY_TYPE_PREFIX)
        lab.views.snapshot(view)
    records = int(cells.n.sum())
    emit(
        {"records": records, "cells": len(cells)},
        f"{records} runs in {len(cells)} cells",
    )


@command("matrix")
@click.option(
    "--half-life",
    "half_life_days",
    type=DAYS,
    metavar="DAYS",
    help="After this time a run counts half; default: matrixHalfLifeDays.",
)
@click.option(
    "--min-samples",
    type=click.IntRange(min=1),
    help="How many runs a usable cell needs; default: matrixMinSamples.",
)
def matrix(half_life_days: float | None, min_samples: int | None) -> None:
    """Each cell of this confidence matrix is a type of query and a model.

    A call is a success where a model answered, unless an outcome says later that it
    failed. A cell without enough runs is not usable: it has no score, and `theorex
    route` does not use it. Runs that were imported without --trusted stand in a table
    of their own and are not used either.

    JSON: {cells: [{query_type, model, n, success_rate, ci_low, ci_high, latency_ms,
    score, usable, …}], untrusted}
    """
    lab = open_lab()
    measured = lab.matrix(half_life_days=half_life_days, min_samples=min_samples)
    imported = lab.matrix(
        half_life_days=half_life_days, min_samples=min_samples, untrusted=True
    )
    rows = measured.to_dict()
    imported_rows = imported.to_dict()
    table = _as_table(rows) if rows else _NO_EVIDENCE
    if imported_rows:
        table += (
            f"\n\nimported without --trusted, not used:\n{_as_table(imported_rows)}"
        )
    emit({"cells": rows, "untrusted": imported_rows}, table)


def _as_table(rows: Sequence[dict[str, Any]]) -> str:
    """Return a line a row, its keys as the head.

    What was imported may be named anything, also with line breaks.
    """
    import pandas as pd

    safe_rows = []
    for row in rows:
        safe_row = {}
        for key, value in row.items():
            safe_row[key] = one_row(value) if isinstance(value, str) else value
        safe_rows.append(safe_row)
    return pd.DataFrame(safe_rows).to_string(
        index=False, na_rep="–", float_format="{:.3g}".format
    )


_CONTEXT = (
    "How much of the agent's context is in use, in percent; below the setting"
    " dispatchContextPct no model is called."
)


@command("dispatch")
@agent_option("The agent whose task it is; default: $THEOREX_AGENT, else main.")
@click.option("--context", "context_pct", type=PERCENT, default=50.0, help=_CONTEXT)
@click.option(
    "--tokens",
    "query_tokens",
    type=TOKENS,
    help="Length of the task in tokens; default: estimated.",
)
@click.option(
    "--tag",
    "tags",
    multiple=True,
    help="A tag; `urgent` asks for a quick answer; may be repeated.",
)
@click.option(
    "--outcome-id",
    metavar="ID",
    help="The outcome that the call belongs to; where it fails, so does the call.",
)
@click.option(
    "--trace-id", metavar="ID", help="The id of the trace; default: a new one."
)
@click.option(
    "--check",
    help=(
        "A check of the answer: not_empty, json or regex:PATTERN; the next model is"
        " asked where an answer does not pass."
    ),
)
@click.option(
    "--cascade",
    is_flag=True,
    help="Ask a cheap model first, and the strong one where the check fails.",
)
@SESSION
@click.argument("task", nargs=-1, required=True)
@keeps_secrets
def dispatch(
    task: tuple[str, ...],
    agent: str | None,
    context_pct: float,
    query_tokens: int | None,
    tags: tuple[str, ...],
    outcome_id: str | None,
    trace_id: str | None,
    check: str | None,
    cascade: bool,
    session: str,
) -> None:
    """`theorex route` says which model a task would go to; this command also asks it.

    Several words are one task. If a model does not answer, the next one is asked. The
    exit code is 1 where no model answered. It is 0 where one did, and where none was
    called because too little of the context is in use; trace_id is then null.

    Next: `theorex traces ID` shows the call, `theorex outcome --trace-id ID` records
    how its answer turned out.

    JSON: {task_id, model_used, success, trace_id, latency_ms, response,
    written_to_axon}, and error where there is one
    """
    asker = open_lab().agent(own_agent(agent))
    with ended_in_order():
        answer = asker.dispatch(
            " ".join(task),
            context_pct=context_pct,
            query_tokens=query_tokens,
            tags=tags,
            outcome_id=outcome_id,
            trace_id=trace_id,
            session=session,
            check=check,
            cascade=cascade,
        )
    fields = asdict(answer)
    error = fields.pop("error")
    _ = fields.pop("reasons")
    if error is not None and fields["trace_id"] is not None:
        fail(one_row(error), **fields)
    result = fields if error is None else {**fields, "error": error}
    memory_note = "kept" if fields["written_to_axon"] else "not kept"
    about = (
        f"({fields['model_used']}, {fields['latency_ms'] or 0:.0f} ms, {memory_note}, trace"
        f" {fields['trace_id']})"
    )
    emit(result, error or f"{fields['response']}\n{about}")


_STATES = (
    "submitted",
    "working",
    "completed",
    "failed",
)  # the module that defines them imports numpy
_SHOWN_CHARACTERS = 100
_WORKER = click.option(
    "--worker", help="The name of the worker; default: $THEOREX_WORKER, else the agent."
)
_ID = click.argument("task_id", metavar="ID")


def _working(worker: str | None) -> str | None:
    """Return who works on a task; None where nobody was named.

    The board then takes the agent's name.
    """
    return worker if worker is not None else os.environ.get("THEOREX_WORKER") or None


def _json_or_text(words: tuple[str, ...]) -> Any:
    text = " ".join(words)
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return text


def _no_constant(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which are words and not JSON."""
    raise ValueError(name)


def _line(task: Task) -> str:
    payload = json.dumps(task.payload, ensure_ascii=False)
    cut = (
        payload
        if len(payload) <= _SHOWN_CHARACTERS
        else payload[:_SHOWN_CHARACTERS] + "…"
    )
    holder = f" by {task.worker}" if task.worker else ""
    return f"{task.id}  {task.state}{holder}  {task.type} from {task.sender}: {cut}"


@command("a2a-send")
@agent_option(
    "The agent that asks; default: $THEOREX_AGENT, else main.", "--from", "sender"
)
@agent_option("The agent that is asked.", "--to", required=True)
@click.option(
    "--type",
    "task_type",
    required=True,
    help="The type of task, such as review or summary: letters a-z, digits and _.",
)
@click.argument("payload", nargs=-1, required=True)
@keeps_secrets
def a2a_send(
    sender: str | None, to: str, task_type: str, payload: tuple[str, ...]
) -> None:
    """The task waits until a worker of that agent takes it with `a2a-claim`.

    PAYLOAD is JSON, or else a text; several words are one text. A text that begins with
    a dash goes after `--`. The output is the id of the task.

    JSON: {task_id}
    """
    task_id = open_lab().tasks.send(
        own_agent(sender), to, task_type, _json_or_text(payload)
    )
    emit({"task_id": task_id}, task_id)


@command("a2a-tasks")
@agent_option("The agent that was asked; default: $THEOREX_AGENT, else main.")
@click.option(
    "--state", type=click.Choice(_STATES), help="Only show tasks in this state."
)
def a2a_tasks(agent: str | None, state: str | None) -> None:
    """It lists the tasks that were sent to the agent, the oldest first.

    A task is submitted, working, completed or failed. A task whose lease has run out is
    submitted again.

    JSON: {tasks: [{id, from, to, type, payload, state, attempt, …}]}
    """
    tasks = open_lab().tasks.tasks(own_agent(agent), state=state)
    emit(
        {"tasks": [task.as_dict() for task in tasks]},
        "\n".join(map(_line, tasks)) or "no tasks",
    )


@command("a2a-claim")
@agent_option("The agent that was asked; default: $THEOREX_AGENT, else main.")
@_WORKER
@click.option(
    "--lease",
    type=LEASE_SECONDS,
    metavar="SECONDS",
    help="How long the lease lasts; default: taskLeaseSeconds.",
)
def a2a_claim(agent: str | None, worker: str | None, lease: float | None) -> None:
    """The worker then has a lease: until it ends nobody else gets the task.

    When the lease has ended, the task may be claimed again. Workers that run at the
    same time need different names (--worker). Next: `a2a-complete` or `a2a-fail`
    reports what became of the task.

    JSON: {task: {id, from, to, type, payload, state, attempt, worker, result, …}}; task
    is null where none waits
    """
    task = open_lab().tasks.claim(
        own_agent(agent), worker=_working(worker), lease_seconds=lease
    )
    emit(
        {"task": task.as_dict() if task else None},
        _line(task) if task else "nothing waits",
    )


@command("a2a-complete")
@_WORKER
@_ID
@click.argument("result", nargs=-1)
@keeps_secrets
def a2a_complete(task_id: str, result: tuple[str, ...], worker: str | None) -> None:
    """RESULT is JSON, or else a text.

    Only the worker that claimed the task may report it, and only until another worker
    has claimed it.

    JSON: {task: {id, from, to, type, payload, state, attempt, worker, result, …}}
    """
    task = open_lab().tasks.complete(
        task_id, _json_or_text(result) if result else None, worker=_working(worker)
    )
    emit({"task": task.as_dict()}, _line(task))


@command("a2a-fail")
@_WORKER
@_ID
@click.argument("reason", nargs=-1, required=True)
@keeps_secrets
def a2a_fail(task_id: str, reason: tuple[str, ...], worker: str | None) -> None:
    """REASON says why; it becomes the result of the task.

    Only the worker that claimed the task may report it, and only until another worker
    has claimed it.

    JSON: {task: {id, from, to, type, payload, state, attempt, worker, result, …}}
    """
    task = open_lab().tasks.fail(task_id, " ".join(reason), worker=_working(worker))
    emit({"task": task.as_dict()}, _line(task))
