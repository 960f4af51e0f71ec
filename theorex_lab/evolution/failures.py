"""Failures, reviewed once each: the fix enters the memory together with the review, or nothing does."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from theorex_lab.clock import Clock
from theorex_lab.config import Settings
from theorex_lab.errors import AlreadyThere, InvalidInput
from theorex_lab.evolution.cases import (
    PROBLEM_CHARACTERS,
    Case,
    Reviewer,
    TraceReviewRecord,
    Verdict,
    both_ends,
    case_of,
    one_line,
)
from theorex_lab.evolution.outcomes import Outcome, OutcomeLog, Outcomes
from theorex_lab.evolution.panel import NOBODY_ASKED
from theorex_lab.ids import derived_event_id
from theorex_lab.journal.event import Event, new_event
from theorex_lab.journal.sqlite import Journal
from theorex_lab.journal.view import Views
from theorex_lab.memory.extract import extract
from theorex_lab.memory.observation import FIX_TYPE, TRUST, Entry, new_observation
from theorex_lab.memory.traces import Trace, Traces, trace

REPLY_CHARACTERS = 300
_MEANWHILE = "it no longer waits: it was reviewed, corrected or erased meanwhile"
_ERASED = "what the review was made from was erased meanwhile"
_UNDER_WAY = "a call for it is still under way"


def review_failures(
    views: Views, settings: Settings, clock: Clock, reviewer: Reviewer, *, agent: str | None = None, again: bool = False
) -> list[TraceReviewRecord]:
    """Review the failures of `agent` (None: of all) that wait for it; `again`: also those that were reviewed.

    A usable review is appended together with its fix; any other leaves the memory as it is and the failure waiting,
    with the reason appended unless nobody was asked. Those that were tried least come first. Raises InvalidInput for an agent outside the rule, StorageError where nothing can be
    written; what was reviewed before that stands.
    """
    waiting = OutcomeLog(views, settings, clock).queue(agent=agent, again=again)
    work = _Work(views, settings, clock, reviewer, again)
    return [work.review(each) for each in _least_tried_first(views.journal, waiting)]


def _least_tried_first(journal: Journal, waiting: list[Outcome]) -> list[Outcome]:
    """So that two at which every model hangs do not keep the others from theirs for ever."""
    if len(waiting) < 2:
        return waiting
    failed = journal.tail(0, kinds=["review_failed"])
    tries = Counter(event.body["outcome_id"] for event in failed if not event.erased)
    return sorted(waiting, key=lambda each: tries[each.outcome_id])


class _Work:
    """Reviews one failure at a time."""

    def __init__(self, views: Views, settings: Settings, clock: Clock, reviewer: Reviewer, again: bool) -> None:
        self.views, self.settings, self.clock, self.reviewer, self.again = views, settings, clock, reviewer, again

    def review(self, outcome: Outcome) -> TraceReviewRecord:
        # Counted before it is looked whether it still waits: of two processes one then fails to append.
        number = _next_number(self.views.journal, outcome.outcome_id)
        if not self._waits(outcome):
            return _record(outcome, Verdict(0.0, "", "", problem=_MEANWHILE))
        found = _trace_of(self.views, outcome)
        if found is not None and found.success is None:
            return _record(outcome, Verdict(0.0, "", "", problem=_UNDER_WAY))
        sources = _sources(self.views, outcome, found)
        case = case_of(outcome, found)
        return self._settle(case, self.reviewer.review(case), sources, number)

    def _waits(self, outcome: Outcome) -> bool:
        """Whether it is still a failure that nobody has reviewed or erased since the queue was read."""
        if any(event.erased for event in self.views.journal.read(ids=[outcome.outcome_id])):
            return False
        view = self.views.get(Outcomes)
        with view.lock:
            rows = view.queue(agent=outcome.agent_id, threshold=self.settings.review_threshold, again=self.again)
            return view.ids.find(outcome.outcome_id) in rows.tolist()

    def _settle(self, case: Case, verdict: Verdict, sources: list[Event], number: int) -> TraceReviewRecord:
        # While a model thought, what it was shown may have been erased.
        if any(event.erased for event in self.views.journal.read(ids=[each.id for each in sources])):
            return _record(case.outcome, replace(verdict, fix_description="", problem=_ERASED))
        if verdict.problem is None:
            try:
                self.views.journal.append(self._reviewed(case, verdict, sources, number))
                return _record(case.outcome, verdict, written=True)
            except AlreadyThere:
                return _record(case.outcome, replace(verdict, problem=_MEANWHILE))
            except InvalidInput as error:  # the fix is longer than the setting maxTextBytes allows
                verdict = replace(verdict, problem=str(error))
        if verdict.problem != NOBODY_ASKED:
            self.views.journal.append([self._failed(case, verdict, sources)])
        return _record(case.outcome, verdict)

    def _reviewed(self, case: Case, verdict: Verdict, sources: list[Event], number: int) -> list[Event]:
        """The fix as an observation, trusted no more than what it was made from, and the review that it is from."""
        outcome, now = case.outcome, self.clock.now()
        source = min(("model", *(each.body.get("source", "model") for each in sources)), key=lambda each: TRUST[each])
        text = f"{FIX_TYPE}: {verdict.fix_description}"
        entry = Entry(text, outcome.agent_id, now, FIX_TYPE, source, outcome.tags, outcome.session)
        fix, _ = new_observation(entry, self.settings, now)
        lineage = tuple(each.id for each in sources)
        fix = fix._replace(body={**fix.body, "concepts": _concepts(fix, verdict)}, lineage=lineage)
        body = {
            "outcome_id": outcome.outcome_id,
            "trace_id": outcome.trace_id,
            "score": verdict.score,
            "fix_description": verdict.fix_description,
            "decisive_step": verdict.decisive_step,
            "failure_class": verdict.failure_class,
            "model_used": verdict.model_used,
            "observation_id": fix.id,
        }
        event = new_event(
            "reviewed",
            body,
            agent=outcome.agent_id,
            session=outcome.session,
            at=now,
            lineage=(*lineage, fix.id),
            event_id=_review_id(outcome.outcome_id, number),
        )
        return [fix, event]

    def _failed(self, case: Case, verdict: Verdict, sources: list[Event]) -> Event:
        outcome = case.outcome
        body = {
            "outcome_id": outcome.outcome_id,
            "trace_id": outcome.trace_id,
            "model_used": verdict.model_used,
            "problem": one_line(verdict.problem or "", PROBLEM_CHARACTERS),
            "reply": verdict.reply[:REPLY_CHARACTERS],
        }
        return new_event(
            "review_failed",
            body,
            agent=outcome.agent_id,
            session=outcome.session,
            at=self.clock.now(),
            lineage=[each.id for each in sources],
        )


def _concepts(fix: Event, verdict: Verdict) -> list[Any]:
    """The concepts of a fix, of which the wording of a rule adds none."""
    found: list[Any] = fix.body["concepts"]
    if verdict.about is None:
        return found
    own = {mention.concept_id for mention in extract(verdict.about)}
    return [each for each in found if each[0] in own]


def _review_id(outcome_id: str, number: int) -> str:
    return derived_event_id("reviewed", outcome_id, number)


def _next_number(journal: Journal, outcome_id: str) -> int:
    """From 1 on; an erased review keeps its number for ever."""
    number = 1
    while journal.read(ids=[_review_id(outcome_id, number)]):
        number += 1
    return number


def _trace_of(views: Views, outcome: Outcome) -> Trace | None:
    """The trace of the last call that was made for the outcome; None where there is none, or it was erased."""
    if outcome.trace_id is None:
        return None
    try:
        return trace(views, outcome.trace_id)
    except InvalidInput:  # erased
        return None


def _sources(views: Views, outcome: Outcome, found: Trace | None) -> list[Event]:
    """The events that a review is made from: the outcome, the end (or start) of its call and its tool events."""
    journal = views.journal
    sources = journal.read(ids=[outcome.outcome_id])
    if found is None:
        return sources
    ids = [derived_event_id(step, found.id) for step in ("trace ended", "trace started")]
    sources += journal.read(ids=ids)[-1:]
    view = views.get(Traces)
    with view.lock:
        row = view.row(found.id)
        seqs = [] if row is None else view.tool_seqs(row)
    tools = [event for event in journal.read(seqs=seqs) if not event.erased]
    return [*sources, *both_ends(tools)]


def _record(outcome: Outcome, verdict: Verdict, *, written: bool = False) -> TraceReviewRecord:
    return TraceReviewRecord(
        outcome.outcome_id,
        outcome.trace_id,
        verdict.score,
        verdict.fix_description,
        verdict.decisive_step,
        verdict.failure_class,
        written,
        verdict.model_used,
        verdict.problem,
    )
