"""What commands show of a replay of maintenance."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from theorex_lab.files.command_line import emit, fail, given_options

if TYPE_CHECKING:
    from theorex_lab.evolution.replay import ReplayReport


def emit_replay(report: ReplayReport, folder: Path) -> None:
    """Show what came of a replay; end the command with 1 where a step failed."""
    if report.holder is not None:
        under_way = f"another {report.holder.what} is under way in {folder}"
        emit(report.to_dict(), f"{under_way}, {report.holder}; nothing was done")
        return
    if report.ok or not given_options().get("as_json"):
        emit(report.to_dict(), "\n".join(replay_lines(report)))
    if not report.ok:
        failed = ", ".join(report.failed_steps)
        fail(f"these steps of the replay failed: {failed}", **report.to_dict())


def replay_lines(report: ReplayReport) -> list[str]:
    """Return what came of a replay, for people."""
    if not report.evenings:
        return ["nothing was replayed: maintenance has seen every day"]
    counts = [f"{count} {name}" for name, count in report.results.items()]
    lines = [
        f"{report.days} days were replayed in {report.evenings} evenings",
        f"{report.events:8d} events: {', '.join(counts)}",
    ]
    for name, problem in report.failed.items():
        lines.append(f"FAILED {name:<11} {problem}")
    for step in report.steps:
        ending = "ok" if step.ok else "FAILED"
        lines.append(f"{ending:<6} {step.name:<11} {step.detail}")
    return lines
