"""The command of homes that share a journal with other machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from theorex_lab.app.cli.context import open_lab
from theorex_lab.files.command_line import command, emit

if TYPE_CHECKING:
    from theorex_lab.evolution.syncing import SyncReport


@command("sync")
def sync() -> None:
    """It is for a home whose setting journalUrl names a shared journal.

    What hooks and `theorex write` captured waits in a file of this machine, the spool,
    and is forwarded now. What was erased on another machine is erased here too: in the
    spool, in views and vectors, and in briefings. Merges of projects and the policy in
    force come from there as well.

    Reading commands forward what waits, and the end of a session and `theorex maintain`
    sync by themselves, so this command is for a machine that was offline or from which
    nobody reads. It may be stopped at any time and repeated: nothing is lost, and
    nothing arrives twice.

    Projects of several machines that begin with the same commit are listed with the
    command that makes them one, on all machines.

    JSON: {sent, erased, merged, policy, hints: [{old, new, do}], refused}
    """
    from theorex_lab.evolution.syncing import SyncReport, sync_if_shared

    lab = open_lab(all_projects=True)
    report = sync_if_shared(lab.home)
    if report is None:
        nothing = SyncReport(
            sent=0,
            erased=0,
            merged=0,
            policy=None,
            hints=[],
            refused={},
        )
        emit(nothing.to_dict(), "this home shares no journal: journalUrl is not set")
        return
    lines = _lines_of(report)
    if lab.home.policy_problem:
        lines.append(lab.home.policy_problem)
    text = "\n".join(lines)
    emit(report.to_dict(), text)


def _lines_of(report: SyncReport) -> list[str]:
    """Return for people what a sync did."""
    lines = [f"{report.sent} events forwarded"]
    if report.erased:
        lines.append(f"{report.erased} events erased here as elsewhere")
    if report.merged:
        lines.append(f"{report.merged} merges of projects taken over")
    if report.policy is not None:
        lines.append(f"policy {report.policy} is in force")
    for event_id, reason in report.refused.items():
        lines.append(f"event {event_id!r} stays in this machine's spool: {reason}")
    for hint in report.hints:
        pair = f"{hint.old} and {hint.new}"
        advice = f"if they are one: {hint.do}"
        lines.append(f"({pair} begin with the same commit; {advice})")
    return lines
