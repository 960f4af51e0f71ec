"""Commands of learning from failure: trace-review, evolve-review."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from theorex_lab.cli import open_lab
from theorex_lab.cli.outcomes import each_once
from theorex_lab.console import command, emit, one_row
from theorex_lab.console.agents import agent_option, own_agent
from theorex_lab.console.number import NumberType
from theorex_lab.console.options import REVIEWER

if TYPE_CHECKING:
    from theorex_lab.designs.theorex.refine import Refined
    from theorex_lab.evolution.cases import TraceReviewRecord
    from theorex_lab.lab import Lab

ALL = "all"
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
