"""Commands of policies and of the night: policy-snapshot, policy-list, policy-rollback, gate, nightly, schedule."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from theorex_lab.cli import open_lab
from theorex_lab.console import command, emit, fail, given_options, named_home, one_row, tends_project
from theorex_lab.console.agents import agent_option
from theorex_lab.console.options import REVIEWER
from theorex_lab.errors import InvalidInput

ALL = "all"
_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")


@command("policy-snapshot")
@click.option("--reason", default="", help="Why it is kept; up to 500 characters.")
def policy_snapshot(reason: str) -> None:
    """A policy is every setting that decides what is remembered and which model is asked; kept with it is how it scores
    on the later half of the recorded outcomes and calls.

    JSON: {number, at, settings, metrics, reason, parent, …}
    """
    from theorex_lab.evolution.gate import score_policy
    from theorex_lab.evolution.policy import policy_settings, snapshot

    lab = open_lab()
    metrics = score_policy(lab.home)
    now = policy_settings(lab.settings)
    kept = snapshot(lab.journal, now, at=lab.clock.now(), reason=reason, metrics=metrics)
    emit(kept.to_dict(), f"policy {kept.number} kept: {_metrics(kept.metrics)}")


@command("policy-list")
def policy_list() -> None:
    """In the order in which they were kept; the last one that `policy-rollback` or the gate kept is in force.

    JSON: {policies: [{number, settings, metrics, reason, parent, in_force}]}
    """
    from theorex_lab.evolution.policy import policies, policy_settings

    lab = open_lab()
    now = policy_settings(lab.settings)
    rows = [{**policy.to_dict(), "in_force": policy.settings == now} for policy in policies(lab.journal)]
    lines = []
    for row in rows:
        kept = f"{'*' if row['in_force'] else ' '} {row['number']:>4}  {row['at'][:19]}"
        lines.append(f"{kept}  {_metrics(row['metrics'])}  {one_row(row['reason'])}")
    emit({"policies": rows}, "\n".join([*lines, "* as the settings are now"]) if rows else "no policy was kept yet")


@command("policy-rollback")
@click.argument("number", type=int, metavar="N")
def policy_rollback(number: int) -> None:
    """Settings that do not belong to a policy stay as they are. What was in force is kept, so that this can be undone.

    JSON: {number, at, settings, metrics, reason, parent, …}
    """
    from theorex_lab.evolution.policy import rollback

    lab = open_lab()
    kept, _ = rollback(lab.journal, lab.settings, lab.folder, number, at=lab.clock.now())
    emit(kept.to_dict(), f"policy {number} is in force again, as policy {kept.number}, in {lab.config_file}")


@command("gate")
def gate() -> None:
    """A policy is proposed from the earlier half of what was recorded, and judged on the later half: put in force where
    it gains gateMargin, held where there are fewer than gateMinSamples records. Repeating changes nothing.

    JSON: {gated: [{part, decision, before, after, n, proposed, policy}]}
    """
    from theorex_lab.evolution.gate import gate as judge
    from theorex_lab.evolution.nightly import told

    lab = open_lab()
    said = judge(lab.home)
    emit({"gated": [result.to_dict() for result in said]}, "\n".join(map(told, said)))


@command("nightly")
@tends_project
@agent_option("The agent, or all.", default=ALL)
@REVIEWER
def nightly(agent: str, reviewer: str) -> None:
    """They are judge, review, refine, gate, flush, scan, graduate, promote, embed and boot-inject. A step that fails does not stop the others, and ends
    the command with 1. Repeating changes nothing; where a night or heartbeat is under way already, nothing is done, and
    it is said who holds the lease until when: one that was killed keeps it for leaseSeconds at most.

    JSON: {ran, ok, steps: [{name, ok, seconds, detail}]}, and held_by and until where it did not run
    """
    lab = open_lab()
    report = lab.nightly(agent=None if agent == ALL else agent, reviewer=reviewer)
    if report.holder is not None:
        under_way = f"another {report.holder.what} is under way in {lab.folder}, {report.holder}"
        emit(report.to_dict(), f"{under_way}; nothing was done")
        return
    lines = [f"{'ok' if step.ok else 'FAILED':<6} {step.name:<11} {step.detail}" for step in report.steps]
    failed = ", ".join(step.name for step in report.steps if not step.ok)
    if report.ok or not given_options().get("as_json"):
        emit(report.to_dict(), "\n".join(lines))
    if not report.ok:
        fail(f"these steps of the night failed: {failed}", **report.to_dict())


@command("schedule")
@click.option("--print", "kind", type=click.Choice(["cron"]), required=True, help="For which scheduler.")
@click.option("--at", default="03:00", metavar="HH:MM", help="When, in the machine's own time.")
def schedule(kind: str, at: str) -> None:
    """Prints what runs `nightly` every day, with this environment's command and home; installs nothing.

    JSON: {kind, files}
    """
    if (found := _TIME.fullmatch(at)) is None:
        raise click.BadParameter(f"got {at!r}; allowed are 00:00 to 23:59", param_hint="--at")
    home = str(Path(named_home()).expanduser().absolute())
    words = [*_theorex(), "--home", home, "nightly", "--agent", ALL]
    if any(character in word for word in words for character in "\r\n"):
        raise InvalidInput(f"got the home {home!r}; allowed is a path without line breaks")
    hour, minute = map(int, found.groups())
    text = f"{minute} {hour} * * * {shlex.join(words)}".replace("%", r"\%")  # a bare % would end the command
    emit({"kind": kind, "files": {"crontab": f"{text}\n"}}, text)


def _theorex() -> list[str]:
    """The absolute command of this environment."""
    script = Path(sys.executable).with_name("theorex")
    return [str(script)] if script.is_file() else [sys.executable, "-m", "theorex_lab"]


def _metrics(metrics: dict[str, Any]) -> str:
    parts = (f"{part} {value['score']:.3f} on {value['n']}" for part, value in metrics.items())
    return ", ".join(parts) or "nothing measured"
