"""The commands of homes that share a journal with other machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from theorex_lab.app.cli.context import open_lab
from theorex_lab.files.command_line import command, emit

if TYPE_CHECKING:
    from theorex_lab.evolution.syncing import SyncReport
    from theorex_lab.journal.shared_snapshots import SnapshotTransfer

_MEGABYTE = 1_000_000
_NOT_SHARED = "this home shares no journal: journalUrl is not set"


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
        emit(nothing.to_dict(), _NOT_SHARED)
        return
    lines = _lines_of(report)
    if lab.home.policy_problem:
        lines.append(lab.home.policy_problem)
    text = "\n".join(lines)
    emit(report.to_dict(), text)


@command("snapshot")
@click.argument("action", metavar="push|pull", type=click.Choice(["push", "pull"]))
def snapshot(action: str) -> None:
    """Views are what is computed from the journal.

    A machine that joins a large shared journal computes them from its first event,
    unless it takes over those of another.

    `push` brings the views of this machine up to date and keeps a copy of each in the
    shared database, in the place of an older one. `pull` takes over those that are newer
    than this machine's. What follows is computed here.

    `theorex maintain` pushes what has grown by a third, and the first `theorex sync` of
    a machine pulls, so this command is for a machine that is to be quick at once, or
    long after. The role needs rights of its own; see docs/how-to/team.md.

    A copy is taken over only where its checksums hold, where it has the columns of the
    view, and where the journal has the event that it ends with. `theorex verify`
    computes every view again and compares. An erasure removes the copies it reaches.

    JSON: {action, names, n_bytes, refused}
    """
    from theorex_lab.evolution.syncing import is_shared
    from theorex_lab.journal.shared_snapshots import SnapshotTransfer

    lab = open_lab(all_projects=True)
    if not is_shared(lab.home):
        nothing = SnapshotTransfer([], 0, [])
        result = {"action": action, **nothing._asdict()}
        emit(result, _NOT_SHARED)
        return
    transfer = lab.push_views() if action == "push" else lab.pull_views()
    result = {"action": action, **transfer._asdict()}
    emit(result, _transfer_text(action, transfer))


def _transfer_text(action: str, transfer: SnapshotTransfer) -> str:
    """Return for people what a push or a pull did."""
    n_views = len(transfer.names)
    megabytes = transfer.n_bytes / _MEGABYTE
    what = "pushed" if action == "push" else "pulled"
    text = f"{n_views} views {what}, {megabytes:.1f} MB"
    if transfer.refused:
        names = ", ".join(transfer.refused)
        text += f"\nnot taken, and computed here instead: {names}"
    return text


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
