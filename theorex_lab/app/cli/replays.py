"""What commands show of a replay of maintenance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from theorex_lab.files.command_line import emit, fail, given_options

if TYPE_CHECKING:
    from theorex_lab.evolution.maintenance import StepReport
    from theorex_lab.evolution.replay import ReplayReport


def emit_replay(report: ReplayReport, memory: str) -> None:
    """Show what came of a replay; end the command with 1 where a step failed.

    Args:
        report: What came of it.
        memory: Which memory it was, for people.
    """
    result = report.to_dict()
    holder = report.holder
    if holder is not None:
        under_way = f"another {holder.what} is under way in {memory}"
        text = f"{under_way}, {holder}; nothing was done"
        emit(result, text)
        return
    options = given_options()
    is_told_by_failure = options.get("as_json") and not report.ok
    if not is_told_by_failure:
        lines = replay_lines(report)
        text = "\n".join(lines)
        emit(result, text)
    if not report.ok:
        failed = ", ".join(report.failed_steps)
        fail(f"these steps of the replay failed: {failed}", **result)


def replay_lines(report: ReplayReport) -> list[str]:
    """Return what came of a replay, for people."""
    if not report.evenings:
        return ["nothing was replayed: maintenance has seen every day"]
    rows = [
        (report.days, "days were replayed"),
        (report.evenings, "times maintenance ran"),
        (report.events, "events were appended"),
    ]
    for name, count in report.results.items():
        row = (count, name)
        rows.append(row)
    lines = []
    for count, name in rows:
        line = f"{count:8d} {name}"
        lines.append(line)
    for name, problem in report.failed.items():
        line = _line_of(name, "FAILED", problem)
        lines.append(line)
    for step in report.steps:
        line = step_line(step)
        lines.append(line)
    return lines


def step_line(step: StepReport) -> str:
    """Return how a step of maintenance ended, for people."""
    ending = "ok"
    if not step.ok:
        ending = "FAILED"
    return _line_of(
        step.name,
        ending,
        step.detail,
    )


def _line_of(name: str, ending: str, detail: str) -> str:
    return f"{ending:<6} {name:<11} {detail}"
