"""Commands of outcomes, reviews of failures, policies, maintenance and the audit."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from theorex_lab.app.cli.context import open_lab
from theorex_lab.app.cli.replays import emit_replay, step_line
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.processes import theorex_command
from theorex_lab.files.command_line import (
    command,
    emit,
    fail,
    given_options,
    keeps_secrets,
    named_home,
    one_row,
    tends_project,
)
from theorex_lab.files.command_line.options import (
    ANY_AGENT,
    FURTHER_DESIGNS,
    NO_VECTORS,
    OWN_AGENT,
    REVIEWER,
    SESSION,
    NumberType,
    agent_option,
    own_agent,
)

if TYPE_CHECKING:
    from theorex_lab.designs.theorex.upkeep import RefinementResult
    from theorex_lab.evolution.cases import JudgeReport, TraceReviewRecord
    from theorex_lab.evolution.outcomes import Outcome
    from theorex_lab.store.lab import Lab


@command("outcome")
@OWN_AGENT
@click.option("--decision", help="What was decided.")
@click.option("--result", help="What came of it.")
@click.option("--success", "succeeded", is_flag=True, help="The result is a success.")
@click.option("--fail", "failed", is_flag=True, help="The result is a failure.")
@click.option(
    "--score", type=NumberType(0, 1), help="How good the result is, from 0 to 1."
)
@click.option("--thumbs-up", "up", is_flag=True, help="A person approves.")
@click.option("--thumbs-down", "down", is_flag=True, help="A person disapproves.")
@click.option(
    "--tags",
    "--tag",
    "tags",
    multiple=True,
    help="Tags, separated by commas; may be repeated.",
)
@SESSION
@click.option(
    "--judge",
    "judged",
    is_flag=True,
    help="Ask the judge for a score now: a model of the setting reviewers.",
)
@click.option(
    "--trace-id",
    metavar="ID",
    help="The trace of the call; not one that was sent with --outcome-id.",
)
@click.option(
    "--id",
    "outcome_id",
    metavar="ID",
    help="Correct or score this earlier outcome.",
)
@keeps_secrets
def outcome(
    agent: str | None,
    decision: str | None,
    result: str | None,
    succeeded: bool,
    failed: bool,
    score: float | None,
    up: bool,
    down: bool,
    tags: tuple[str, ...],
    session: str,
    judged: bool,
    trace_id: str | None,
    outcome_id: str | None,
) -> None:
    """A new outcome needs --decision, --result, and --success or --fail.

    With --trace-id it is the outcome of a call of a model: the call's task is the
    decision, and success or failure counts for the model. `theorex dispatch` prints the
    id of the trace.

    With --id it corrects the success, the score or the thumb of an earlier outcome.
    What was recorded stays in the journal, and the correction is an event of its own.

    The final score weighs --score by .4, a thumb by .2 and the judge by .4; only what
    is given counts. `theorex outcomes` shows all outcomes, and `theorex review` looks
    for the cause of failures.

    JSON: {id, outcome_id, score}, with --judge also judge_score and problem
    """
    success = _either(succeeded, failed, "--success", "--fail")
    thumb = _either(up, down, "--thumbs-up", "--thumbs-down")
    scores: dict[str, Any] = {
        "success": success,
        "explicit_score": score,
        "thumbs_up": thumb,
    }
    if outcome_id is not None:
        if decision or result or tags or session or trace_id:
            raise click.UsageError(
                "Give --id only with --success, --fail, --score, --thumbs-up,"
                " --thumbs-down and --judge."
            )
        lab, recorded = _corrected(outcome_id, agent, scores, judged=judged)
    else:
        details = {**scores, "tags": _split_tags(tags), "session": session}
        lab, recorded = _recorded(agent, decision, result, trace_id, details)
    emit(*_outcome_report(lab, recorded, judged=judged))


def _recorded(
    agent: str | None,
    decision: str | None,
    result: str | None,
    trace_id: str | None,
    details: dict[str, Any],
) -> tuple[Lab, Outcome]:
    """Return the lab, and the outcome that was recorded in it.

    The outcome is of a decision or of a call.
    """
    has_subject = bool(decision) or trace_id is not None
    if not has_subject or result is None or details["success"] is None:
        raise click.UsageError(
            "Give --decision or --trace-id, --result, and one of --success and"
            " --fail; or --id."
        )
    lab = open_lab()
    if trace_id is None:
        name = own_agent(agent)
        return lab, lab.outcomes.record(name, str(decision), result, **details)
    recorded = lab.outcomes.record_of_trace(
        trace_id, result, agent=agent, decision=decision, **details
    )
    return lab, recorded


def _split_tags(tags: Iterable[str]) -> list[str]:
    """Return the tags; an option may hold several with commas."""
    names = []
    for tag_list in tags:
        for tag in tag_list.split(","):
            if tag.strip():
                names.append(tag.strip())
    return names


def _corrected(
    outcome_id: str, agent: str | None, scores: dict[str, Any], *, judged: bool
) -> tuple[Lab, Outcome]:
    """Return the lab, and the outcome of this id after its scores were corrected."""
    is_correction = any(value is not None for value in scores.values())
    if not judged and not is_correction:
        raise click.UsageError(
            "Give with --id what to correct: --success, --fail, --score, --thumbs-up,"
            " --thumbs-down or --judge."
        )
    lab = open_lab()
    recorded = lab.outcomes.get(outcome_id)
    if agent not in (None, recorded.agent_id):
        raise InvalidInput(
            f"got the agent {agent!r}; the outcome {outcome_id} is of"
            f" {recorded.agent_id}"
        )
    if is_correction:
        recorded = lab.outcomes.correct(outcome_id, **scores)
    return lab, recorded


def _outcome_report(
    lab: Lab, outcome: Outcome, *, judged: bool
) -> tuple[dict[str, Any], str]:
    """Return the result and the text on an outcome; `judged` asks the judge first."""
    judge_fields = dict[str, Any]()
    text = ""
    if judged:
        judgement = _ask_judge(lab, [outcome])
        problem = judgement.problems.get(outcome.outcome_id)
        if judgement.judged:
            outcome = judgement.judged[0]
        judge_fields = {"judge_score": outcome.judge_score, "problem": problem}
        if problem:
            text = f"\nthe judge did not score it: {problem}"
    result = {
        "id": outcome.outcome_id,
        "outcome_id": outcome.outcome_id,
        "score": outcome.score,
        **judge_fields,
    }
    return result, f"{outcome.outcome_id}  score {outcome.score:.2f}{text}"


def _judge_pending(agent: str | None) -> None:
    """Let a model score the outcomes that no judge has scored."""
    lab = open_lab()
    judgement = _ask_judge(lab, lab.outcomes.pending(agent=agent))
    keys = ("outcome_id", "judge_score", "score")
    judged = []
    for outcome in judgement.judged:
        judged.append({key: getattr(outcome, key) for key in keys})
    problems = [
        {"outcome_id": outcome_id, "problem": problem}
        for outcome_id, problem in judgement.problems.items()
    ]
    n_pending = len(lab.outcomes.pending(agent=agent))
    lines = [
        f"{scored.outcome_id}  judge {scored.judge_score:.2f}, score {scored.score:.2f}"
        for scored in judgement.judged
    ]
    lines += [
        f"{outcome_id}  not judged: {problem}"
        for outcome_id, problem in judgement.problems.items()
    ]
    emit(
        {"judged": judged, "pending": n_pending, "problems": problems},
        "\n".join([*lines, f"{n_pending} pending"]),
    )


@command("outcomes")
@ANY_AGENT
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=10,
    help="Show this many of the latest outcomes.",
)
@click.option(
    "--judge",
    "judges",
    is_flag=True,
    help="Let a model score the outcomes that no judge has scored.",
)
def outcomes(agent: str | None, limit: int, judges: bool) -> None:
    """A success rate has its 95 % interval and a trend, and the number of outcomes.

    It also counts the failures that wait for a review and those that were reviewed.
    `theorex review` reviews them.

    With --judge it asks a model for scores instead: the models of the setting
    reviewers, in their order. An outcome without a usable answer waits for the next
    time.

    JSON: {outcomes, success_rate, tags: [{tag, n, rate, ci_low, ci_high, trend}],
    queue, reviewed, recent}; with --judge {judged: [{outcome_id, judge_score, score}],
    pending, problems}
    """
    if judges:
        _judge_pending(agent)
    else:
        _show_outcomes(agent, limit)


@command("evolve-status")
@ANY_AGENT
@click.option(
    "--n",
    "--limit",
    "limit",
    type=click.IntRange(min=0),
    default=10,
    help="Show this many of the latest outcomes.",
)
def evolve_status(agent: str | None, limit: int) -> None:
    """A success rate has its 95 % interval and a trend, and the number of outcomes.

    It also counts the failures that wait for a review and those that were reviewed.

    JSON: {outcomes, success_rate, tags: [{tag, n, rate, ci_low, ci_high, trend}],
    queue, reviewed, recent}
    """
    _show_outcomes(agent, limit)


def _show_outcomes(agent: str | None, limit: int) -> None:
    """Show how outcomes went, by tag, and which failures wait."""
    from dataclasses import asdict

    from theorex_lab.evolution.outcomes import Outcomes
    from theorex_lab.evolution.review import look_back

    lab = open_lab()
    recent = lab.outcomes.outcomes(agent=agent, limit=limit)[::-1]
    with lab.views.reading(Outcomes) as view:
        summary = look_back(view, agent=agent)
        reviewed = int(view.rows["reviewed"][view.select(agent=agent)].sum())
    queue = len(lab.outcomes.queue(agent=agent))
    result: dict[str, Any] = {
        "outcomes": summary.outcomes,
        "success_rate": summary.success_rate,
    }
    result |= {
        "tags": [asdict(tag) for tag in summary.tags],
        "queue": queue,
        "reviewed": reviewed,
    }
    result["recent"] = [outcome.to_dict() for outcome in recent]
    rate = (
        ""
        if summary.success_rate is None
        else f", {summary.success_rate:.0%} of them successes"
    )
    lines = [
        f"{summary.outcomes} outcomes{rate}; {queue} failures wait for a review,"
        f" {reviewed} were reviewed"
    ]
    for tag in summary.tags:
        interval = f"{tag.rate:.0%} of {tag.n} ({tag.ci_low:.0%} – {tag.ci_high:.0%})"
        lines.append(
            f"  {one_row(tag.tag)}: {interval}{f', {tag.trend}' if tag.trend else ''}"
        )
    lines += [
        f"{outcome.timestamp[:16]}  {outcome.agent_id} "
        f" {'ok  ' if outcome.success else 'fail'}  {outcome.score:.2f} "
        f" {one_row(outcome.decision)}"
        for outcome in recent
    ]
    emit(result, "\n".join(lines))


@command("audit")
@click.option(
    "--since", metavar="ISO", help="Only show what happened from this time on."
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    help="Only show this kind, such as tier_change or outcome; may be repeated.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=100,
    help="Show this many of the latest entries.",
)
def audit(since: str | None, kinds: tuple[str, ...], limit: int) -> None:
    """It reads the journal and prints the entries from the oldest to the newest.

    The entries are changes of tier and sentiment, concepts that became long-term or
    shared, removals, outcomes, reviews, tests of policies and erasures.

    JSON: {entries: [{timestamp, agent, kind, detail}]}
    """
    from theorex_lab.core.clock import to_microseconds
    from theorex_lab.evolution.audit import audit as read

    start = None if since is None else to_microseconds(since)
    entries = [
        entry.to_dict()
        for entry in read(
            open_lab().home, since=start, kinds=kinds or None, limit=limit
        )
    ]
    lines = []
    for entry in entries:
        head = "{timestamp:.19}  {agent}  {kind}".format(**entry)
        values = [f"{key} {value}" for key, value in entry["detail"].items()]
        lines.append(one_row(f"{head}  {', '.join(values)}"))
    emit({"entries": entries}, "\n".join(lines) or "nothing happened")


def _either(yes: bool, no: bool, yes_name: str, no_name: str) -> bool | None:
    if yes and no:
        raise click.UsageError(f"Give one of {yes_name} and {no_name}.")
    if yes:
        return True
    if no:
        return False
    return None


def _ask_judge(lab: Lab, outcomes: Iterable[Outcome]) -> JudgeReport:
    from theorex_lab.evolution import cases

    return cases.judge(lab.outcomes, outcomes, cases.ReviewPanel(lab.settings))


ALL = "all"
_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")


_REASON = click.option(
    "--reason", default="", help="Why the policy is kept, in up to 500 characters."
)


@command("policy")
@click.option(
    "--test",
    "tests",
    is_flag=True,
    help="Propose a policy, test it, and use it where it does better.",
)
@click.option("--snapshot", "keeps", is_flag=True, help="Keep the policy in force.")
@click.option(
    "--rollback", "number", type=int, metavar="N", help="Put policy N in force again."
)
@_REASON
def policy(tests: bool, keeps: bool, number: int | None, reason: str) -> None:
    """A policy is the settings that decide what is remembered and which model is asked.

    Without an option the kept policies are listed, the oldest first.

    --test proposes a policy from the earlier half of the recorded outcomes and calls,
    and scores it on the later half (an offline acceptance test). The policy comes into
    force where it gains at least acceptanceMargin. With fewer than acceptanceMinSamples
    records nothing changes. Repeating the test changes nothing.

    --snapshot keeps the policy in force, with its scores on the later half. --rollback
    N puts policy N in force again. It keeps the present policy first, so that a
    rollback can be undone. Settings that belong to no policy stay as they are.

    JSON: {policies: [{number, timestamp, settings, metrics, reason, parent, in_force,
    …}]}; with --test {tested: [{part, decision, before, after, n, margin, repeated,
    proposed, policy}]}; with --snapshot or --rollback {number, timestamp, settings,
    metrics, reason, parent, …}
    """
    if tests + keeps + (number is not None) > 1:
        raise click.UsageError("Give one of --test, --snapshot and --rollback.")
    if reason and not keeps:
        raise click.UsageError("Give --reason with --snapshot.")
    if tests:
        _test_policy()
    elif keeps:
        _keep_policy(reason)
    elif number is not None:
        _roll_back(number)
    else:
        _list_policies()


@command("policy-snapshot")
@_REASON
def policy_snapshot(reason: str) -> None:
    """A policy is the settings that decide what is remembered and which model is asked.

    Its scores on the later half of the recorded outcomes and calls are kept with it. It
    is the same as `theorex policy --snapshot`.

    JSON: {number, timestamp, settings, metrics, reason, parent, …}
    """
    _keep_policy(reason)


def _keep_policy(reason: str) -> None:
    """Keep the policy in force, with its scores."""
    from theorex_lab.evolution.acceptance import policy_settings, score_policy, snapshot

    lab = open_lab()
    details: dict[str, Any] = {
        "at": lab.clock.now(),
        "reason": reason,
        "metrics": score_policy(lab.home),
    }
    entry = snapshot(lab.journal, policy_settings(lab.settings), **details)
    emit(entry.to_dict(), f"policy {entry.number} kept: {_metrics(entry.metrics)}")


def _list_policies() -> None:
    """Show the kept policies in the order in which they were kept."""
    from theorex_lab.evolution.acceptance import policies, policy_settings

    lab = open_lab()
    now = policy_settings(lab.settings)
    rows = [
        {**entry.to_dict(), "in_force": entry.settings == now}
        for entry in policies(lab.journal)
    ]
    row_format = "{mark} {number:>4}  {timestamp:.19}  {said}  {why}"
    lines = [
        row_format.format(
            **row,
            mark=" *"[row["in_force"]],
            said=_metrics(row["metrics"]),
            why=one_row(row["reason"]),
        )
        for row in rows
    ]
    emit(
        {"policies": rows},
        (
            "\n".join([*lines, "* in force now"])
            if rows
            else "no policy is kept yet: keep one with `theorex policy --snapshot`"
        ),
    )


def _roll_back(number: int) -> None:
    """Put an earlier policy in force again."""
    from theorex_lab.evolution.acceptance import rollback

    lab = open_lab()
    restored, _ = rollback(
        lab.journal, lab.settings, lab.folder, number, at=lab.clock.now()
    )
    emit(
        restored.to_dict(),
        f"policy {number} is in force again, as policy {restored.number}, in"
        f" {lab.config_file}",
    )


def _test_policy() -> None:
    """Propose a policy, and put it in force where it does better."""
    from theorex_lab.evolution.acceptance import gate as judge
    from theorex_lab.evolution.maintenance import describe_acceptance

    results = judge(open_lab().home)
    emit(
        {"tested": [result.to_dict() for result in results]},
        "\n".join(map(describe_acceptance, results)),
    )


@command("maintain")
@tends_project
@agent_option("The agent to maintain, or all.", default=ALL)
@REVIEWER
@click.option(
    "--schedule",
    "scheduler",
    type=click.Choice(["cron"]),
    help="Print the line that runs it every day; install nothing.",
)
@click.option(
    "--at",
    "time_of_day",
    metavar="HH:MM",
    help="With --schedule: the time of day, by this machine's clock; default: 03:00.",
)
@click.option(
    "--replay",
    is_flag=True,
    help="Run it for each past day that no maintenance has seen, as of that day.",
)
@NO_VECTORS
@FURTHER_DESIGNS
def maintain(
    agent: str,
    reviewer: str,
    scheduler: str | None,
    time_of_day: str | None,
    replay: bool,
    no_vectors: bool,
    designs: tuple[str, ...],
) -> None:
    """It reviews failures, tests the policy and brings the active designs up to date.

    It also computes missing vectors and writes the briefings. Run it once a day, for
    example with the line that --schedule prints. Repeating it changes nothing. A step
    that fails does not stop the others; the exit code is then 1.

    The designs facts, dreams, causal and research are not active by themselves, since
    their lines covered no more of what agents needed to know. --design runs the steps of
    one this time; `theorex config activeDesigns '["theorex", "facts"]'` makes it active.

    Where another maintenance is under way, nothing is done, and the message says which
    process holds the lease and until when. A process of this machine that was killed
    holds it no longer, one of another machine for leaseSeconds at most.

    --replay is for sessions that were imported. Maintenance runs as it would have run
    at the end of each day on which something happened, and of the day after: what
    happened later is not there yet, and every window of days ends on that day. What
    maintenance has seen in its own time is not run through again. A replay that was
    killed goes on where it stopped. No policy is tested, and no model is asked unless
    --reviewer model is given.

    JSON: {ran, ok, steps: [{name, ok, seconds, detail}]}, with held_by and until where
    it did not run; with --replay {ran, ok, days, evenings, events, results, failed,
    steps: [{name, ok, seconds, detail}]}; with --schedule {kind, files}
    """
    if no_vectors and not replay:
        raise click.UsageError("Give --no-vectors with --replay.")
    if scheduler is not None:
        _print_schedule(scheduler, "03:00" if time_of_day is None else time_of_day)
        return
    if time_of_day is not None:
        raise click.UsageError("Give --at with --schedule.")
    if replay:
        _replay(agent, reviewer, designs, vectors=not no_vectors)
        return
    _run_maintenance(agent, reviewer, designs)


def _replay(
    agent: str, reviewer: str, designs: Collection[str], *, vectors: bool
) -> None:
    """Run maintenance for each past day, and show what came of it."""
    from theorex_lab.evolution.lease import leased_memory

    lab = open_lab()
    chosen = "heuristic" if reviewer == "auto" else reviewer
    report = lab.replay(
        agent=None if agent == ALL else agent,
        reviewer=chosen,
        designs=designs,
        vectors=vectors,
    )
    emit_replay(report, leased_memory(lab.home))


def _run_maintenance(agent: str, reviewer: str, designs: Collection[str]) -> None:
    """Run the steps of maintenance, and show how each went."""
    lab = open_lab()
    report = lab.maintain(
        agent=None if agent == ALL else agent, reviewer=reviewer, designs=designs
    )
    if report.holder is not None:
        from theorex_lab.evolution.lease import leased_memory

        under_way = (
            f"another {report.holder.what} is under way in {leased_memory(lab.home)},"
            f" {report.holder}"
        )
        emit(
            report.to_dict(),
            f"{under_way}; nothing was done here. Run it again then: if that process was"
            " killed on another machine, its lease is over by that time",
        )
        return
    lines = [step_line(step) for step in report.steps]
    failed = ", ".join(step.name for step in report.steps if not step.ok)
    if report.ok or not given_options().get("as_json"):
        emit(report.to_dict(), "\n".join(lines))
    if not report.ok:
        fail(f"these steps of the maintenance failed: {failed}", **report.to_dict())


def _print_schedule(kind: str, at: str) -> None:
    """Print the line that runs the maintenance every day, with this home."""
    if (time_match := _TIME.fullmatch(at)) is None:
        raise click.BadParameter(
            f"got {at!r}; allowed are 00:00 to 23:59", param_hint="--at"
        )
    home = str(Path(named_home()).expanduser().absolute())
    words = [*theorex_command(), "--home", home, "maintain", "--agent", ALL]
    if any("\r" in word or "\n" in word for word in words):
        raise InvalidInput(
            f"got the home {home!r}; allowed is a path without line breaks"
        )
    hour, minute = map(int, time_match.groups())
    text = f"{minute} {hour} * * * {shlex.join(words)}".replace(
        "%", r"\%"
    )  # a bare % would end the command
    emit({"kind": kind, "files": {"crontab": f"{text}\n"}}, text)


def _metrics(metrics: dict[str, Any]) -> str:
    parts = (
        f"{part} {value['score']:.3f} on {value['n']}"
        for part, value in metrics.items()
    )
    return ", ".join(parts) or "nothing measured"


_AGENT = agent_option("The agent, or all; default: $THEOREX_AGENT, else main.")


def _named(agent: str | None) -> str | None:
    """Return the agent's name; None for all."""
    return None if (name := own_agent(agent)) == ALL else name


@command("review")
@_AGENT
@REVIEWER
@click.option(
    "--again", is_flag=True, help="Also review failures that were reviewed before."
)
def review(agent: str | None, reviewer: str, again: bool) -> None:
    """A failure waits for a review where its score is at most reviewThreshold.

    A review names the decisive step and writes a fix, a text of the type trace_fix,
    which comes back when something like it is done again. `theorex trust ID` makes it a
    known fix.

    Where a review fails, nothing is written, and the failure waits for another
    reviewer; with --again the same one tries once more. A model that gives no answer
    twice in a row is not asked again in that run. The confidence of a rule says how
    often such a step was the right one in measured runs. Where no step is above one
    half, the rules say that it is not known, and which are most likely. The confidence
    of a model is not known.

    JSON: {reviews: [{outcome_id, trace_id, score, fix_description, decisive_step,
    failure_class, written_to_axon, model_used, problem, observation_id, confidence,
    likely_steps: [{step, chance}]}], reviewer}
    """
    reviews, reason = _reviews(open_lab(), _named(agent), reviewer, again=again)
    emit(
        {"reviews": [review.to_dict() for review in reviews], "reviewer": reason},
        "\n".join(_review_lines(reviews, reason)),
    )


@command("evolve-review")
@_AGENT
@REVIEWER
@click.option(
    "--days",
    type=NumberType(min=0, min_open=True, max=3_650),
    help="Learn from the outcomes of this many days; default: evolveWindowDays.",
)
def evolve_review(agent: str | None, reviewer: str, days: float | None) -> None:
    """It reviews the failures that wait, as `theorex review` does.

    Then it strengthens what succeeded in the last days, and writes down what failed as
    something to avoid. At the end it publishes strong concepts to the shared ones and
    writes the briefing. Repeating it writes nothing.

    JSON: {reviews, reviewer, refined: [{agent, won, lost, observations, …}], promoted:
    {concepts, links}, briefing: {path, lines, tokens}}
    """
    from theorex_lab.evolution.maintenance import agents_of

    name = _named(agent)
    lab = open_lab(all_projects=True)
    reviews, reason = _reviews(lab, name, reviewer)
    names = [name] if name is not None else agents_of(lab.home)
    refined = [lab.theorex.refine(agent=agent_name, days=days) for agent_name in names]
    promoted = [lab.theorex.promote(agent=agent_name) for agent_name in names]
    concepts = sum(promotion.concepts for promotion in promoted)
    links = sum(promotion.links for promotion in promoted)
    briefing = lab.save_briefing()
    result: dict[str, Any] = {
        "reviews": [review.to_dict() for review in reviews],
        "reviewer": reason,
        "refined": [tags.to_dict() for tags in refined],
        "promoted": {"concepts": concepts, "links": links},
        "briefing": {
            "path": str(lab.context_file),
            "lines": len(briefing.lines),
            "tokens": briefing.tokens,
        },
    }
    lines = _review_lines(reviews, reason)
    lines += [_refined_line(tags) for tags in refined]
    lines.append(f"published: {concepts} concepts, {links} links")
    lines.append(
        f"briefing: {len(briefing.lines)} lines, {briefing.tokens} tokens in"
        f" {lab.context_file}"
    )
    emit(result, "\n".join(lines))


def _refined_line(tags: RefinementResult) -> str:
    """Return what was learned from an agent's outcomes, for people."""
    won = one_row(", ".join(tag.tag for tag in tags.won)) or "nothing"
    lost = one_row(", ".join(tag.tag for tag in tags.lost)) or "nothing"
    n_observations = len(tags.observations)
    return (
        f"{tags.agent}: won {won}, lost {lost}; {n_observations} observations written"
    )


def _reviews(
    lab: Lab, agent: str | None, kind: str, *, again: bool = False
) -> tuple[list[TraceReviewRecord], str]:
    reviewer, reason = lab.reviewer(kind)
    return lab.review_failures(agent=agent, reviewer=reviewer, again=again), reason


def _review_lines(reviews: Sequence[TraceReviewRecord], reason: str) -> list[str]:
    """Return the reviews for people.

    They say what was written, and which failures still wait and why, each reason once.
    """
    lines = [f"reviewer: {reason}"]
    ids_by_text = dict[str, list[str]]()
    for review in reviews:
        if review.written_to_axon:
            sure = review.confidence
            step = (
                ""
                if sure is None
                else f", step {review.decisive_step} with confidence {sure:.2f}"
            )
            about = (
                f"{review.failure_class}, {review.score:.2f} by"
                f" {review.model_used}{step}"
            )
            lines.append(f"{review.outcome_id}  {about}: {review.fix_description}")
        else:
            text = f"by {review.model_used or 'nobody'}: not written: {review.problem}"
            ids_by_text.setdefault(text, []).append(review.outcome_id)
    lines += [
        f"{ids[0] if len(ids) == 1 else f'{len(ids)} outcomes'}  {text}"
        for text, ids in ids_by_text.items()
    ]
    return lines if reviews else [*lines, "no failure waits for a review"]
