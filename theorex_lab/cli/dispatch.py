"""Commands of dispatch, and of tasks between agents: dispatch, trace-show, model, a2a-*."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NoReturn

import click

from theorex_lab.cli import open_lab
from theorex_lab.console import command, emit, fail, keeps_secrets, one_row
from theorex_lab.console.agents import agent_option, own_agent
from theorex_lab.console.number import LEASE_SECONDS, PERCENT, TOKENS
from theorex_lab.console.options import SESSION
from theorex_lab.serve.signals import ended_in_order

if TYPE_CHECKING:
    from theorex_lab.dispatch.tasks import Task

_CONTEXT = "Percent of the agent's context in use; nothing is called below dispatchContextPct."


@command("dispatch")
@agent_option("Whose task it is; default $THEOREX_AGENT, else main.")
@click.option("--context", "context_pct", type=PERCENT, default=50.0, help=_CONTEXT)
@click.option("--tokens", "query_tokens", type=TOKENS, help="Length of the task; default: estimated.")
@click.option("--tag", "tags", multiple=True, help="A tag; `urgent` asks for a quick answer; may be repeated.")
@click.option("--outcome-id", metavar="ID", help="The outcome that the trace is linked to; its failure is the call's.")
@SESSION
@click.argument("task", nargs=-1, required=True)
@keeps_secrets
def dispatch(task: tuple[str, ...], agent: str | None, **details: Any) -> None:
    """Several words are one task. Exit code 1 where no model answered; 0 where one did, and where none was called since
    too little of the context is in use (then trace_id is null).

    JSON: {task_id, model_used, success, trace_id, latency_ms, response, written_to_axon}, and error where there is one
    """
    asker = open_lab().agent(own_agent(agent))
    with ended_in_order():
        done = asdict(asker.dispatch(" ".join(task), **details))
    error, _ = done.pop("error"), done.pop("reasons")
    if error is not None and done["trace_id"] is not None:
        fail(one_row(error), **done)
    result = done if error is None else {**done, "error": error}
    kept = "kept" if done["written_to_axon"] else "not kept"
    about = f"({done['model_used']}, {done['latency_ms'] or 0:.0f} ms, {kept}, trace {done['trace_id']})"
    emit(result, error or f"{done['response']}\n{about}")


@command("trace-show")
@click.argument("trace_id", metavar="ID")
def trace_show(trace_id: str) -> None:
    """What was asked, why this model, each attempt and tool call in its order, and how it ended.

    JSON: {id, agent_id, task, tags, reasons, events, attempts, start_time, end_time, success, response, error, …}
    """
    trace = open_lab().trace(trace_id).to_dict()
    emit(trace, "\n".join(_timeline(trace)))


@command("model")
@click.argument("action", type=click.Choice(["start", "stop", "status"]))
def model(action: str) -> None:
    """It comes with theorex-lab[local-llm], is served on 127.0.0.1, and joins the small models while it runs.

    JSON: {running, url, pid, model, installed}
    """
    from theorex_lab.dispatch import local_model

    home = open_lab().folder
    getattr(local_model, action)(home)
    running, installed = local_model.status(home), local_model.installed()
    text = f"{local_model.MODEL} does not run" if installed else local_model.INSTALL
    if running is not None:
        text = f"{local_model.MODEL} runs at {running.url}, process {running.pid}"
    where = {name: getattr(running, name, None) for name in ("url", "pid")}
    emit({"running": running is not None, **where, "model": local_model.MODEL, "installed": installed}, text)


def _timeline(trace: dict[str, Any]) -> list[str]:
    """A trace in the order of what happened, for people; each step is one line, so that no text can pass for a step."""
    lines = [f"{trace['id']}  agent {trace['agent_id']}  {', '.join(trace['tags'])}"]
    lines += [f"{trace['start_time']}  started: {trace['task']}", *(f"    {reason}" for reason in trace["reasons"])]
    lines += [f"{event['at']}  {event['tool']}: {event['input']}" for event in trace["events"]]
    for attempt in trace["attempts"]:
        went = f"answered in {attempt['latency_ms']:.0f} ms" if attempt["success"] else f"failed: {attempt['error']}"
        lines.append(f"    {attempt['model']} {went}")
    ended = "lost" if trace["lost"] else "answered" if trace["success"] else "failed"
    detail = f"{trace['model']}, {trace['total_tokens']} tokens" if trace["error"] is None else trace["error"]
    lines.append("still under way" if trace["end_time"] is None else f"{trace['end_time']}  {ended}: {detail}")
    return [*map(one_row, lines), *filter(None, [trace["response"]])]


_STATES = ("submitted", "working", "completed", "failed")  # the module that defines them imports numpy
_SHOWN_CHARACTERS = 100
_WORKER = click.option("--worker", help="Who works on it; default $THEOREX_WORKER, else the agent.")
_ID = click.argument("task_id", metavar="ID")


def _working(worker: str | None) -> str | None:
    """None where nobody was named: the board then takes the agent's name."""
    return worker if worker is not None else os.environ.get("THEOREX_WORKER") or None


def _json_or_text(words: tuple[str, ...]) -> Any:
    text = " ".join(words)
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return text


def _no_constant(name: str) -> NoReturn:
    """NaN and Infinity are words, not JSON."""
    raise ValueError(name)


def _line(task: Task) -> str:
    what = json.dumps(task.payload, ensure_ascii=False)
    cut = what if len(what) <= _SHOWN_CHARACTERS else what[:_SHOWN_CHARACTERS] + "…"
    holder = f" by {task.worker}" if task.worker else ""
    return f"{task.id}  {task.state}{holder}  {task.type} from {task.sender}: {cut}"


@command("a2a-send")
@agent_option("Who asks; default $THEOREX_AGENT, else main.", "--from", "sender")
@agent_option("The agent that is asked.", "--to", required=True)
@click.option("--type", "task_type", required=True, help="Such as review or summary: a-z 0-9 _.")
@click.argument("payload", nargs=-1, required=True)
@keeps_secrets
def a2a_send(sender: str | None, to: str, task_type: str, payload: tuple[str, ...]) -> None:
    """PAYLOAD is JSON, or else a text; several words are one text. One that begins with a dash goes after `--`.

    JSON: {task_id}
    """
    task_id = open_lab().tasks.send(own_agent(sender), to, task_type, _json_or_text(payload))
    emit({"task_id": task_id}, task_id)


@command("a2a-tasks")
@agent_option("The agent that was asked; default $THEOREX_AGENT, else main.")
@click.option("--state", type=click.Choice(_STATES), help="Only those in this state.")
def a2a_tasks(agent: str | None, state: str | None) -> None:
    """Oldest first. A task whose lease ran out is submitted again.

    JSON: {tasks: [{id, from, to, type, payload, state, attempt, …}]}
    """
    found = open_lab().tasks.tasks(own_agent(agent), state=state)
    emit({"tasks": [task.as_dict() for task in found]}, "\n".join(map(_line, found)) or "no tasks")


@command("a2a-claim")
@agent_option("The agent that was asked; default $THEOREX_AGENT, else main.")
@_WORKER
@click.option("--lease", type=LEASE_SECONDS, metavar="SECONDS", help="Default taskLeaseSeconds.")
def a2a_claim(agent: str | None, worker: str | None, lease: float | None) -> None:
    """When the lease is over the task may be claimed again. Workers at one time need names of their own.

    JSON: {task: {id, from, to, type, payload, state, attempt, worker, result, …}}; task is null where none waits
    """
    task = open_lab().tasks.claim(own_agent(agent), worker=_working(worker), lease_seconds=lease)
    emit({"task": task.as_dict() if task else None}, _line(task) if task else "nothing waits")


@command("a2a-complete")
@_WORKER
@_ID
@click.argument("result", nargs=-1)
@keeps_secrets
def a2a_complete(task_id: str, result: tuple[str, ...], worker: str | None) -> None:
    """RESULT is JSON, or else a text. Accepted from the worker who claimed it, unless another has claimed it since.

    JSON: {task: {id, from, to, type, payload, state, attempt, worker, result, …}}
    """
    task = open_lab().tasks.complete(task_id, _json_or_text(result) if result else None, worker=_working(worker))
    emit({"task": task.as_dict()}, _line(task))


@command("a2a-fail")
@_WORKER
@_ID
@click.argument("reason", nargs=-1, required=True)
@keeps_secrets
def a2a_fail(task_id: str, reason: tuple[str, ...], worker: str | None) -> None:
    """REASON says why; it becomes the task's result.

    JSON: {task: {id, from, to, type, payload, state, attempt, worker, result, …}}
    """
    task = open_lab().tasks.fail(task_id, " ".join(reason), worker=_working(worker))
    emit({"task": task.as_dict()}, _line(task))
