"""Commands of tasks between agents: a2a-send, a2a-tasks, a2a-claim, a2a-complete, a2a-fail."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NoReturn

import click

from theorex_lab.cli import open_lab
from theorex_lab.console import command, emit, keeps_secrets
from theorex_lab.console.agents import agent_option, own_agent
from theorex_lab.console.number import LEASE_SECONDS

if TYPE_CHECKING:
    from theorex_lab.dispatch.tasks import Task

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
    value = _json_or_text(result) if result else None
    task = open_lab().tasks.complete(task_id, value, worker=_working(worker))
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
