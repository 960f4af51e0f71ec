"""Commands of outcomes and what watches the memory: outcome, judge, evolve-status, audit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from theorex_lab.cli import open_lab
from theorex_lab.console import command, emit, keeps_secrets, one_row
from theorex_lab.console.agents import own_agent
from theorex_lab.console.number import NumberType
from theorex_lab.console.options import ANY_AGENT, OWN_AGENT, SESSION
from theorex_lab.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable

    from theorex_lab.evolution.judge import Judged
    from theorex_lab.evolution.outcomes import Outcome
    from theorex_lab.lab import Lab


@command("outcome")
@OWN_AGENT
@click.option("--decision", help="What was decided.")
@click.option("--result", help="What came of it.")
@click.option("--success", "succeeded", is_flag=True, help="It went well.")
@click.option("--fail", "failed", is_flag=True, help="It went wrong.")
@click.option("--score", type=NumberType(0, 1), help="How well, from 0 to 1.")
@click.option("--thumbs-up", "up", is_flag=True, help="A person approves.")
@click.option("--thumbs-down", "down", is_flag=True, help="A person disapproves.")
@click.option("--tags", "--tag", "tags", multiple=True, help="Tags, parted by commas; may be repeated.")
@SESSION
@click.option("--judge", "judged", is_flag=True, help="Ask the judge at once, a model of the setting reviewers.")
@click.option("--trace-id", metavar="ID", help="The call that it is about, dispatched without --outcome-id.")
@click.option("--id", "outcome_id", metavar="ID", help="Set right, or score, this outcome of before.")
@keeps_secrets
def outcome(
    agent: str | None, decision: str | None, result: str | None, succeeded: bool, failed: bool, score: float | None,
    up: bool, down: bool, tags: tuple[str, ...], session: str, judged: bool, trace_id: str | None, outcome_id: str | None,
) -> None:  # fmt: skip
    """A new one needs --decision, --result, and --success or --fail; with --trace-id the decision is the task of the
    call, and how it went counts for its model. With --id, success, score and thumb may be corrected: what was recorded
    stays, the correction is an event of its own.

    The score weighs --score by .4, a thumb by .2 and the judge by .4, of those that are given.

    JSON: {id, outcome_id, score}, with --judge also judge_score and problem
    """
    success = _either(succeeded, failed, "--success", "--fail")
    thumb = _either(up, down, "--thumbs-up", "--thumbs-down")
    given: dict[str, Any] = {"success": success, "explicit_score": score, "thumbs_up": thumb}
    if outcome_id is not None and (decision or result or tags or session or trace_id):
        raise click.UsageError("With --id only --success, --fail, --score, --thumbs-up, --thumbs-down and --judge go.")
    if outcome_id is not None and not judged and all(value is None for value in given.values()):
        raise click.UsageError("With --id give what is to be set: --success, --fail, --score, a thumb, or --judge.")
    if outcome_id is None and ((decision or trace_id) is None or result is None or given["success"] is None):
        raise click.UsageError("Give --decision or --trace-id, --result, and one of --success and --fail; or --id.")
    lab = open_lab()
    if outcome_id is None:
        given["tags"] = [tag.strip() for several in tags for tag in several.split(",") if tag.strip()]
        given["session"] = session
        if trace_id is None:
            done = lab.outcomes.record(own_agent(agent), str(decision), str(result), **given)
        else:
            done = lab.outcomes.record_of_trace(trace_id, str(result), agent=agent, decision=decision, **given)
    else:
        done = lab.outcomes.get(outcome_id)
        if agent not in (None, done.agent_id):
            raise InvalidInput(f"got the agent {agent!r}; the outcome {outcome_id} is of {done.agent_id}")
        if any(value is not None for value in given.values()):
            done = lab.outcomes.correct(outcome_id, **given)
    emit(*_told(lab, done, judged=judged))


def _told(lab: Lab, done: Outcome, *, judged: bool) -> tuple[dict[str, Any], str]:
    """What is said of an outcome, after the judge was asked where that is wanted."""
    shown: dict[str, Any] = {"id": done.outcome_id, "outcome_id": done.outcome_id, "score": done.score}
    text = f"{done.outcome_id}  score {done.score:.2f}"
    if judged:
        found = _ask_judge(lab, [done])
        now = found.judged[0] if found.judged else done
        problem = found.problems.get(done.outcome_id)
        shown |= {"score": now.score, "judge_score": now.judge_score, "problem": problem}
        text = f"{now.outcome_id}  score {now.score:.2f}"
        text += f"\nthe judge did not score it: {problem}" if problem else ""
    return shown, text


@command("judge")
@ANY_AGENT
@click.option("--pending", is_flag=True, help="The outcomes that no judge has scored.")
def judge(agent: str | None, pending: bool) -> None:
    """The models of the setting reviewers are asked in their order. What they do not answer usably stays pending.

    JSON: {judged: [{outcome_id, judge_score, score}], pending, problems}
    """
    if not pending:
        raise click.UsageError("Give --pending; one outcome is judged by `theorex outcome --id ID --judge`.")
    lab = open_lab()
    found = _ask_judge(lab, lab.outcomes.pending(agent=agent))
    keys = ("outcome_id", "judge_score", "score")
    judged = [{key: getattr(outcome, key) for key in keys} for outcome in found.judged]
    problems = [{"outcome_id": outcome_id, "problem": problem} for outcome_id, problem in found.problems.items()]
    left = len(lab.outcomes.pending(agent=agent))
    lines = [f"{own.outcome_id}  judge {own.judge_score:.2f}, score {own.score:.2f}" for own in found.judged]
    lines += each_once((outcome_id, f"not judged: {problem}") for outcome_id, problem in found.problems.items())
    emit({"judged": judged, "pending": left, "problems": problems}, "\n".join([*lines, f"{left} pending"]))


@command("evolve-status")
@ANY_AGENT
@click.option("--n", "--count", "count", type=click.IntRange(min=0), default=10, help="Show the latest so many.")
def evolve_status(agent: str | None, count: int) -> None:
    """Win rates by tag with 95 % intervals and trends; outcomes, failures that wait for a review, those reviewed.

    JSON: {outcomes, success_rate, tags: [{tag, n, rate, low, high, trend}], queue, reviewed, recent}
    """
    from dataclasses import asdict

    from theorex_lab.evolution.outcomes import Outcomes
    from theorex_lab.evolution.review import look_back

    lab = open_lab()
    recent = lab.outcomes.outcomes(agent=agent, limit=count)[::-1]
    with lab.views.reading(Outcomes) as view:
        review = look_back(view, agent=agent)
        reviewed = int(view.rows["reviewed"][view.select(agent=agent)].sum())
    queue = len(lab.outcomes.queue(agent=agent))
    result: dict[str, Any] = {"outcomes": review.outcomes, "success_rate": review.success_rate}
    result |= {"tags": [asdict(tag) for tag in review.tags], "queue": queue, "reviewed": reviewed}
    result["recent"] = [outcome.to_dict() for outcome in recent]
    rate = "" if review.success_rate is None else f", {review.success_rate:.0%} of them successes"
    lines = [f"{review.outcomes} outcomes{rate}; {queue} failures wait for a review, {reviewed} were reviewed"]
    for tag in review.tags:
        interval = f"{tag.rate:.0%} of {tag.n} ({tag.low:.0%} – {tag.high:.0%})"
        lines.append(f"  {one_row(tag.tag)}: {interval}{f', {tag.trend}' if tag.trend else ''}")
    lines += [f"{outcome.at[:16]}  {outcome.agent_id}  {'ok  ' if outcome.success else 'fail'}  {outcome.score:.2f}  {one_row(outcome.decision)}" for outcome in recent]  # fmt: skip
    emit(result, "\n".join(lines))


@command("audit")
@click.option("--since", metavar="ISO", help="Only what happened from this time on.")
@click.option("--kind", "kinds", multiple=True, help="Such as tier_change, prune; may be repeated.")
@click.option("--limit", type=click.IntRange(min=0), default=100, help="The latest so many.")
def audit(since: str | None, kinds: tuple[str, ...], limit: int) -> None:
    """Read from the journal: tier changes, flips of sentiment, graduations, prunes, moments, outcomes, reviews, gates,
    erasures; oldest first.

    JSON: {entries: [{at, agent, kind, detail}]}
    """
    from theorex_lab.clock import to_microseconds
    from theorex_lab.evolution.audit import audit as read

    start = None if since is None else to_microseconds(since)
    found = read(open_lab().home, since=start, kinds=kinds or None, limit=limit)
    entries = [entry.to_dict() for entry in found]
    lines = []
    for entry in entries:
        detail = {key: value for key, value in entry["detail"].items() if key not in ("event_id", "concept_id")}
        told = ", ".join(f"{key} {value}" for key, value in detail.items())
        lines.append(one_row(f"{entry['at'][:19]}  {entry['agent']}  {entry['kind']}  {told}"))
    emit({"entries": entries}, "\n".join(lines) or "nothing happened")


def _either(yes: bool, no: bool, yes_name: str, no_name: str) -> bool | None:
    if yes and no:
        raise click.UsageError(f"Give one of {yes_name} and {no_name}.")
    return True if yes else False if no else None


def _ask_judge(lab: Lab, outcomes: Iterable[Outcome]) -> Judged:
    from theorex_lab.dispatch.local_model import with_local_model
    from theorex_lab.evolution.cases import Panel
    from theorex_lab.evolution.judge import judge as score

    return score(lab.outcomes, outcomes, Panel(with_local_model(lab.settings, lab.folder)))


def each_once(reasons: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each reason, after the one outcome that has it, or after the number of them."""
    found: dict[str, list[str]] = {}
    for outcome_id, reason in reasons:
        found.setdefault(reason, []).append(outcome_id)
    return [f"{ids[0] if len(ids) == 1 else f'{len(ids)} outcomes'}  {reason}" for reason, ids in found.items()]
