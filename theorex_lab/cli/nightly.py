"""Commands of policies, of the night, and of learning from failure: policy-*, gate, nightly, schedule, *-review."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from theorex_lab.cli import open_lab
from theorex_lab.cli.outcomes import each_once
from theorex_lab.console import command, emit, fail, given_options, named_home, one_row, tends_project
from theorex_lab.console.agents import agent_option, own_agent
from theorex_lab.console.number import NumberType
from theorex_lab.console.options import REVIEWER
from theorex_lab.errors import InvalidInput

if TYPE_CHECKING:
    from theorex_lab.designs.theorex.refine import Refined
    from theorex_lab.evolution.cases import TraceReviewRecord
    from theorex_lab.lab import Lab

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


_AGENT = agent_option("The agent, or all; default $THEOREX_AGENT, else main.")


def _named(agent: str | None) -> str | None:
    """The agent's name; None for all."""
    name = own_agent(agent)
    return None if name == ALL else name


@command("trace-review")
@_AGENT
@REVIEWER
@click.option("--again", is_flag=True, help="Also those that were reviewed before.")
def trace_review(agent: str | None, reviewer: str, again: bool) -> None:
    """A failure waits where its score is at most reviewThreshold. Its fix is written as a trace_fix; where a review
    fails, nothing is, and the failure waits for another reviewer (--again: for the same too). A model that is silent
    twice in a row is asked no more in that run. The confidence of rules is how often such a step was the right one
    where that was measured; a model's is not known.

    JSON: {reviews: [{outcome_id, trace_id, score, fix_description, decisive_step, failure_class, written_to_axon, model_used, problem, observation_id, confidence}], reviewer}
    """
    name = _named(agent)
    reviews, reason = _reviews(open_lab(), name, reviewer, again=again)
    emit({"reviews": [review.to_dict() for review in reviews], "reviewer": reason}, "\n".join(_told(reviews, reason)))


@command("evolve-review")
@_AGENT
@REVIEWER
@click.option("--days", type=NumberType(min=0, min_open=True, max=3_650), help="Default: evolveWindowDays.")
def evolve_review(agent: str | None, reviewer: str, days: float | None) -> None:
    """Failures are reviewed; what won in the last days is said again, what lost is written to avoid; then concepts are
    promoted and the context is rendered. Doing it twice writes nothing more.

    JSON: {reviews, reviewer, refined: [{agent, won, lost, observations, …}], promoted: {concepts, links}, context: {path, concepts, fixes}}
    """
    from theorex_lab.evolution.nightly import agents_of

    name = _named(agent)
    lab = open_lab(all_projects=True)
    reviews, reason = _reviews(lab, name, reviewer)
    names = [name] if name is not None else agents_of(lab.home)
    refined = [lab.theorex.refine(agent=agent_name, days=days) for agent_name in names]
    promoted = [lab.theorex.promote(agent=agent_name) for agent_name in names]
    concepts, links = sum(promotion.concepts for promotion in promoted), sum(promotion.links for promotion in promoted)
    context = lab.boot_inject()
    result: dict[str, Any] = {"reviews": [review.to_dict() for review in reviews], "reviewer": reason}
    result |= {"refined": [tags.to_dict() for tags in refined], "promoted": {"concepts": concepts, "links": links}}
    result["context"] = {"path": str(lab.context_file), "concepts": context.concepts, "fixes": context.fixes}
    lines = [*_told(reviews, reason), *map(_refined_line, refined), f"promoted: {concepts} concepts, {links} links"]
    lines.append(f"context: {context.concepts} concepts and {context.fixes} fixes in {lab.context_file}")
    emit(result, "\n".join(lines))


def _refined_line(refined: Refined) -> str:
    won, lost = (one_row(", ".join(tag.tag for tag in tags)) or "nothing" for tags in (refined.won, refined.lost))
    return f"{refined.agent}: won {won}, lost {lost}; {len(refined.observations)} observations written"


def _reviews(lab: Lab, agent: str | None, kind: str, *, again: bool = False) -> tuple[list[TraceReviewRecord], str]:
    reviewer, reason = lab.reviewer(kind)
    return lab.review_failures(agent=agent, reviewer=reviewer, again=again), reason


def _sure(review: TraceReviewRecord) -> str:
    return "" if review.confidence is None else f", step {review.decisive_step} with confidence {review.confidence:.2f}"


def _told(reviews: Sequence[TraceReviewRecord], reason: str) -> list[str]:
    """The reviews for people: what was written, and what waits on and why, each reason once."""
    lines, left = [f"reviewer: {reason}"], []
    for review in reviews:
        if review.written_to_axon:
            about = f"{review.failure_class}, {review.score:.2f} by {review.model_used}{_sure(review)}"
            lines.append(f"{review.outcome_id}  {about}: {review.fix_description}")
        else:
            left.append((review.outcome_id, f"by {review.model_used or 'nobody'}: not written: {review.problem}"))
    return [*lines, *each_once(left)] if reviews else [*lines, "no failure waits for a review"]
