"""Failures that wait: which step is suspected, which fix is proposed, and one's word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from theorex_lab.app.server.memory_page.events import shown_text
from theorex_lab.app.server.memory_page.scope import (
    TIME,
    Limit,
    Offset,
    Project,
    in_scope,
    object_schema,
    row_schema,
    shown_projects,
    tells_the_owner,
)
from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import derived_event_id
from theorex_lab.evolution.failures import HEURISTIC, HeuristicReviewer, failure_case
from theorex_lab.evolution.outcomes import Outcome
from theorex_lab.journal.event import Event
from theorex_lab.memory.annotations import Marks
from theorex_lab.memory.contract import Route, RouteRefused
from theorex_lab.store.lab import Lab

_MOST_REVIEWS = 500  # that are looked through for fixes without a person's word

OutcomeId = Annotated[
    str, Field(description="The id of the failure.", min_length=1, max_length=64)
]


@tells_the_owner
def read_failures(
    lab: Lab, *, project: Project = "", offset: Offset = 0, limit: Limit = 10
) -> dict[str, Any]:
    """Return the failures that wait for a review, then the fixes that nobody trusts yet.

    Nothing is written: what is proposed for a failure that waits is what the rules
    would say of it.
    """
    scoped_lab = in_scope(lab, project)
    waiting = _waiting(scoped_lab)
    proposed = _unsettled_reviews(scoped_lab)
    rows: list[dict[str, Any]] = []
    last = offset + limit
    for outcome in waiting[offset:last]:
        rows.append(_waiting_row(scoped_lab, outcome))
    first_review = max(0, offset - len(waiting))
    for review in proposed[first_review : max(0, last - len(waiting))]:
        rows.append(_review_row(scoped_lab, review))
    return {"failures": rows, "total": len(waiting) + len(proposed)}


@tells_the_owner
def trust_failure(
    lab: Lab, *, outcome: OutcomeId, project: Project = ""
) -> dict[str, Any]:
    """Review one failure by the rules, and trust the fix that comes of it."""
    scoped_lab = in_scope(lab, project)
    if outcome not in [waiting.outcome_id for waiting in _waiting(scoped_lab)]:
        raise InvalidInput(
            f"got the failure {outcome!r:.80}, which does not wait for a review here;"
            " load the page again"
        )
    (record,) = scoped_lab.review_failures(reviewer=HEURISTIC, outcomes=[outcome])
    if record.observation_id is None:
        raise RouteRefused(409, f"nothing was written: {record.problem}")
    return {"item": scoped_lab.trust(record.observation_id)}


def _waiting(lab: Lab) -> list[Outcome]:
    """Return the failures that wait in the lab's project, the newest first."""
    outcomes = lab.outcomes.queue()
    projects = shown_projects(lab)
    with lab.views.reading(Marks) as marks:
        dismissed = set(marks.dismissed)
    ids = [outcome.outcome_id for outcome in outcomes]
    project_by_id = {
        event.id: event.body.get("project", "") for event in lab.journal.read(ids=ids)
    }
    waiting: list[Outcome] = []
    for outcome in reversed(outcomes):
        is_open = projects is None or project_by_id.get(outcome.outcome_id) in projects
        if is_open and outcome.outcome_id not in dismissed:
            waiting.append(outcome)
    return waiting


def _waiting_row(lab: Lab, outcome: Outcome) -> dict[str, Any]:
    """Return a failure that waits, with what the rules say of it."""
    case = failure_case(lab.home, outcome)
    verdict = HeuristicReviewer().review(case)
    row = _outcome_row(outcome)
    if verdict.decisive_step is not None and case.trace is not None:
        row["step"] = verdict.decisive_step
        row["step_text"] = _step_text(case.steps, verdict.decisive_step)
    return row | {
        "failure_class": verdict.failure_class,
        "fix": verdict.fix_description,
        "problem": verdict.problem or "",
        "confidence": verdict.confidence if case.trace is not None else None,
        "fix_id": "",
    }


def _step_text(steps: Sequence[Any], number: int) -> str:
    texts = [step.text for step in steps if step.index == number]
    return shown_text(texts[0])[0] if texts else ""


def _outcome_row(outcome: Outcome) -> dict[str, Any]:
    return {
        "outcome": outcome.outcome_id,
        "agent": outcome.agent_id,
        "timestamp": outcome.timestamp,
        "decision": shown_text(outcome.decision)[0],
        "result": shown_text(outcome.result)[0],
        "score": outcome.score,
        "step": None,
        "step_text": "",
    }


def _unsettled_reviews(lab: Lab) -> list[Event]:
    """Return the last reviews whose fix nobody trusted or dismissed, the newest first."""
    events = lab.journal.tail(0, kinds=["reviewed"])
    newest_first = list(events)[-_MOST_REVIEWS:][::-1]
    review_by_fix: dict[str, Event] = {}
    for review in newest_first:
        fix_id = review.body["observation_id"]
        if fix_id:
            review_by_fix[fix_id] = review
    settled = _settled(lab, list(review_by_fix))
    projects = shown_projects(lab)
    is_open: set[str] = set()
    for fix in lab.journal.read(ids=list(review_by_fix)):
        if projects is None or fix.body.get("project", "") in projects:
            is_open.add(fix.id)
    open_ids = [fix_id for fix_id in review_by_fix if fix_id in is_open - settled]
    return [review_by_fix[fix_id] for fix_id in open_ids]


def _settled(lab: Lab, fix_ids: Sequence[str]) -> set[str]:
    """Return those of the fixes that a person trusted or dismissed."""
    with lab.views.reading(Marks) as marks:
        settled = set(marks.dismissed)
    fix_by_trust = {derived_event_id("confirmed", fix_id): fix_id for fix_id in fix_ids}
    for event in lab.journal.read(ids=list(fix_by_trust)):
        settled.add(fix_by_trust[event.id])
    return settled


def _review_row(lab: Lab, review: Event) -> dict[str, Any]:
    """Return a failure that was reviewed, with the fix that was written."""
    body = review.body
    try:
        row = _outcome_row(lab.outcomes.get(body["outcome_id"]))
    except InvalidInput:  # the outcome was erased
        row = {
            "outcome": body["outcome_id"],
            "agent": review.agent,
            "timestamp": to_iso(review.at),
            "decision": "",
            "result": "",
            "score": 0.0,
            "step": None,
            "step_text": "",
        }
    return row | {
        "step": body.get("decisive_step"),
        "failure_class": str(body.get("failure_class", "")),
        "fix": shown_text(body.get("fix_description", ""))[0],
        "problem": "",
        "confidence": body.get("confidence"),
        "fix_id": body["observation_id"],
    }


FAILURE_ROUTES = (
    Route(
        "GET",
        "/memory/failures",
        read_failures,
        object_schema(
            {
                "failures": row_schema(
                    {
                        "outcome": "string",
                        "agent": "string",
                        "timestamp": TIME,
                        "decision": "string",
                        "result": "string",
                        "score": "number",
                        "step": {"type": ["integer", "null"]},
                        "step_text": "string",
                        "failure_class": "string",
                        "fix": "string",
                        "problem": "string",
                        "confidence": {"type": ["number", "null"]},
                        "fix_id": "string",
                    }
                ),
                "total": "integer",
            }
        ),
    ),
    Route(
        "POST",
        "/memory/failures/trust",
        trust_failure,
        object_schema({"item": "string"}),
    ),
)
