"""Commands of Theorex's document that stand beside its life cycle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from theorex_lab.core.ids import new_event_id
from theorex_lab.files.command_line import (
    command,
    emit,
    fail,
    keeps_secrets,
    one_row,
    open_lab,
)
from theorex_lab.files.command_line.options import (
    ANY_AGENT,
    OWN_AGENT,
    PERCENT,
    SESSION,
    own_agent,
)
from theorex_lab.journal.event import encode

if TYPE_CHECKING:
    from theorex_lab.memory.contract import Home


@command("export")
@ANY_AGENT
@click.option(
    "--layout",
    type=click.Choice(["files"]),
    default="files",
    expose_value=False,  # there is one
    help="How the memory is written: files, the document's data folder.",
)
@click.option(
    "--replace", is_flag=True, help="Write into a folder that is not empty, too."
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def export(folder: Path, agent: str | None, replace: bool) -> None:
    """DIR is the data folder of Theorex's document.

    It gets agents/AGENT/axon.json, shared-axon.json, stm.jsonl, moments, traces/ID.json
    and outcomes/ID.json; what sessions hold (flash/SESSION.json), tasks
    (a2a/AGENT/ID.json), kept policies (policy-snapshots/NUMBER.json), and a line a
    maintenance (evolution.jsonl).

    `theorex import DIR` reads it, but for flash, a2a, policy-snapshots and
    evolution.jsonl, which `theorex backup` moves to another home.

    JSON: {folder, files}
    """
    from theorex_lab.designs.theorex.document_files import export_document

    home = open_lab().theorex.home
    exported = export_document(home, folder, agent=agent, replace=replace)
    lines = [f"{count:8d}  {name}" for name, count in exported.files.items()]
    emit(
        {"folder": str(exported.folder), "files": exported.files},
        "\n".join(lines),
    )


@command("submit")
@OWN_AGENT
@click.option(
    "--context",
    "context_pct",
    type=PERCENT,
    default=50.0,
    help=(
        "How much of the agent's context is in use, in percent; below the setting"
        " dispatchContextPct no model is called."
    ),
)
@click.option(
    "--tag",
    "tags",
    multiple=True,
    help="A tag; `urgent` asks for a quick answer; may be repeated.",
)
@click.option(
    "--outcome-id", metavar="ID", help="The outcome that the call belongs to."
)
@click.option(
    "--trace-id", metavar="ID", help="The id of the trace; default: a new one."
)
@click.option(
    "--run", "run_id", metavar="ID", help="Ask the model for the task of this trace."
)
@SESSION
@click.argument("task", nargs=-1)
@keeps_secrets
def submit(
    task: tuple[str, ...],
    agent: str | None,
    context_pct: float,
    tags: tuple[str, ...],
    outcome_id: str | None,
    trace_id: str | None,
    run_id: str | None,
    session: str,
) -> None:
    """A process of its own asks the model; the command waits for no answer.

    It prints the id of the trace, which is known before the call begins. `theorex
    dispatch` does the same and waits. Where nothing is called because too little of the
    context is in use, trace_id is null.

    That process calls this command with --run.

    Next: `theorex traces ID` shows the call, as soon as it has begun.

    JSON: {trace_id}
    """
    if (run_id is None) is not bool(task):
        raise click.UsageError("Give one of TASK and --run ID.")
    home: Home = open_lab().theorex.home
    if run_id is not None:
        _run_submitted(home, run_id)
        return
    from theorex_lab.designs.theorex import submission
    from theorex_lab.dispatch.worker import Dispatcher, DispatchTask

    dispatch_task = DispatchTask(
        new_event_id(home.clock.now()),
        own_agent(agent),
        " ".join(task),
        context_pct=context_pct,
        tags=tags,
        outcome_id=outcome_id,
        trace_id=trace_id,
        session=session,
    )
    started_id = submission.submit(home, Dispatcher(home), dispatch_task)
    least_pct = home.settings.dispatch_context_pct
    text = f"nothing was called: dispatchContextPct is {least_pct:g}"
    emit({"trace_id": started_id}, started_id or text)


def _run_submitted(home: Home, trace_id: str) -> None:
    """Ask the model for the task of a trace; end with 1 where none answered."""
    from theorex_lab.designs.theorex.submission import run_submitted

    result = run_submitted(home, trace_id)
    if result.error is not None:
        fail(one_row(result.error), trace_id=result.trace_id)
    emit({"trace_id": result.trace_id}, str(result.trace_id))


@command("trace-events")
@click.argument("trace_id", metavar="ID")
def show_bus_events(trace_id: str) -> None:
    """They are LM_INFERENCE_START, TOOL_USE and LM_INFERENCE_END, an event a line.

    `trace-emit` takes the same lines.

    JSON: {events}
    """
    from theorex_lab.designs.theorex.bus_events import bus_events
    from theorex_lab.dispatch.traces import trace

    events = bus_events(trace(open_lab().theorex.home.views, trace_id))
    emit({"events": events}, "\n".join(one_row(encode(event)) for event in events))


@command("trace-emit")
@OWN_AGENT
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@keeps_secrets
def trace_emit(file: Path, agent: str | None) -> None:
    """FILE has an event a line, as `trace-events` prints them.

    LM_INFERENCE_START and LM_INFERENCE_END of one call make a trace, with the id that
    the START gives. An END or a tool without trace_id belongs to its agent's oldest
    open call. An END without a START writes nothing.

    JSON: {file, imported, skipped, problems, left_out, changed}
    """
    from theorex_lab.designs.theorex.bus_events import emit_events

    report = emit_events(open_lab().theorex.home, file, agent=own_agent(agent))
    result = {
        "file": report.file,
        "imported": report.imported,
        "skipped": report.skipped,
        "problems": report.problems,
        "left_out": report.left_out,
        "changed": report.changed,
    }
    counts = f"{report.imported} new traces, {report.skipped} there already"
    if report.left_out:
        counts += f", {report.left_out} left out"
    emit(result, "\n".join(map(one_row, [*report.problems, counts])))
