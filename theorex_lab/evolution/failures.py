"""Failures, reviewed once each: the fix enters the memory together with the review, or nothing does."""

from collections import defaultdict
from contextlib import suppress
from dataclasses import replace
from typing import Any

from theorex_lab.dispatch.traces import Trace, trace, trace_events
from theorex_lab.errors import AlreadyThere, InvalidInput
from theorex_lab.evolution import cases, fix_words, gate, reviewers
from theorex_lab.evolution.cases import Case, Reviewer, ReviewVerdict, TraceReviewRecord, both_ends, case_of
from theorex_lab.evolution.outcomes import Outcome, OutcomeLog, Outcomes
from theorex_lab.home import Home
from theorex_lab.ids import derived_event_id
from theorex_lab.journal.event import Body, Event, new_event
from theorex_lab.journal.view import Views
from theorex_lab.memory.observation import FIX_TYPE, TRUST, Entry, new_observation, project_in
from theorex_lab.search.endpoint import excerpt
from theorex_lab.text.extract import extract
from theorex_lab.text.line import one_line

REPLY_CHARACTERS = 300
_MEANWHILE = "it no longer waits: it was reviewed, corrected or erased meanwhile"
_ERASED = "what the review was made from was erased meanwhile"
_UNDER_WAY = "a call for it is still under way"
_TRIED = "it waits for another reviewer; tried have"
_ALLOWED = "allowed is a sentence in words of its own, without addresses, commands and quotes of the run"


def review_failures(home: Home, reviewer: Reviewer, *, agent: str | None = None,
                    again: bool = False) -> list[TraceReviewRecord]:  # fmt: skip
    """Review the failures of `agent` (None: of all) that wait for it; `again`: also those that were reviewed.

    A usable review is appended together with its fix; any other leaves the memory as it is and the failure waiting,
    with the reason and the reviewer appended unless nobody was asked; whoever could say nothing of use does not get the
    same failure and trace again. Those that were tried least come first. Raises InvalidInput for an agent outside the
    rule, StorageError where nothing can be written; what was reviewed before that stands.
    """
    waiting, tries = OutcomeLog(home).queue(agent=agent, again=again), defaultdict[str, list[Body]](list)
    for event in home.journal.tail(0, kinds=["review_failed"]) if waiting else ():
        tries[event.body["outcome_id"]].append(event.body)
    work = _Work(home, reviewer, again, tries)
    # Two failures on which every model hangs must not block the rest.
    return [work.review(one) for one in sorted(waiting, key=lambda one: len(tries.get(one.outcome_id, ())))]


class _Work:
    """Reviews one failure at a time."""

    def __init__(self, home: Home, reviewer: Reviewer, again: bool, tries: dict[str, list[Body]]) -> None:
        self.home, self.reviewer, self.again, self.tries = home, reviewer, again, tries
        self.names: frozenset[str] = frozenset(getattr(reviewer, "names", ()))

    def review(self, outcome: Outcome) -> TraceReviewRecord:
        # Counted before it is looked whether it still waits: of two processes one then fails to append.
        number = 1 + sum(1 for _ in gate.numbered_events(self.home.journal, "reviewed", outcome.outcome_id))
        if not self._waits(outcome):
            return _record(outcome, ReviewVerdict(0.0, "", "", problem=_MEANWHILE))
        tries = [] if self.again else self.tries.get(outcome.outcome_id, [])
        tried = frozenset(attempt["reviewer"] for attempt in tries if attempt["trace_id"] == outcome.trace_id)
        if self.names and self.names <= tried:
            return _record(outcome, ReviewVerdict(0.0, "", "", problem=f"{_TRIED}: {', '.join(sorted(self.names))}"))
        found = _trace_of(self.home.views, outcome)
        if found is not None and found.success is None:
            return _record(outcome, ReviewVerdict(0.0, "", "", problem=_UNDER_WAY))
        sources = _sources(self.home.views, outcome, found)
        case = replace(case_of(outcome, found), tried=tried)
        return self._settle(case, _in_own_words(self.reviewer.review(case), case), sources, number)

    def _waits(self, outcome: Outcome) -> bool:
        """Whether it is still a failure that nobody has reviewed or erased since the queue was read."""
        if not self.home.journal.read(ids=[outcome.outcome_id]):
            return False
        with self.home.views.reading(Outcomes) as view:
            rows = view.queue(agent=outcome.agent_id, threshold=self.home.settings.review_threshold, again=self.again)
            return view.ids.find(outcome.outcome_id) in rows.tolist()

    def _settle(self, case: Case, verdict: ReviewVerdict, sources: list[Event], number: int) -> TraceReviewRecord:
        # While a model thought, what it was shown may have been erased.
        if any(event.erased for event in self.home.journal.read(ids=[event.id for event in sources], erased=True)):
            return _record(case.outcome, replace(verdict, fix_description="", problem=_ERASED))
        if verdict.problem is None:
            try:
                events = self._reviewed(case, verdict, sources, number)
                self.home.journal.append(events)
                return _record(case.outcome, verdict, observation_id=events[0].id)
            except AlreadyThere:
                return _record(case.outcome, replace(verdict, problem=_MEANWHILE))
            except InvalidInput as error:  # the fix is longer than the setting maxTextBytes allows
                verdict = replace(verdict, problem=str(error))
        if verdict.problem != cases.NOBODY_ASKED:
            self.home.journal.append([self._failed(case, verdict, sources)])
        return _record(case.outcome, verdict)

    def _reviewed(self, case: Case, verdict: ReviewVerdict, sources: list[Event], number: int) -> list[Event]:
        """The fix as an observation, trusted no more than what it was made from, and the review that it is from."""
        outcome, now = case.outcome, self.home.clock.now()
        source = min(("model", *(event.body.get("source", "model") for event in sources)), key=lambda name: TRUST[name])
        text = f"{FIX_TYPE}: {verdict.fix_description}"
        said = outcome.tags, outcome.session, project_in(sources[:1])
        fix, _ = new_observation(Entry(text, outcome.agent_id, now, FIX_TYPE, source, *said), self.home.settings, now)
        lineage = tuple(event.id for event in sources)
        if verdict.about is not None:  # its words are a rule's
            found = extract(verdict.about)
            fix.body["concepts"] = [[one.concept_id, one.label, one.surface, one.count] for one in found]
        fix = fix._replace(lineage=lineage)
        record = _record(outcome, verdict, observation_id=fix.id).to_dict()
        body = {name: value for name, value in record.items() if name not in ("written_to_axon", "problem")}
        rests_on, made = (*lineage, fix.id), derived_event_id("reviewed", outcome.outcome_id, number)
        whose: Any = {"agent": outcome.agent_id, "session": outcome.session}
        return [fix, new_event("reviewed", body, **whose, at=now, lineage=rests_on, event_id=made)]

    def _failed(self, case: Case, verdict: ReviewVerdict, sources: list[Event]) -> Event:
        outcome = case.outcome
        body = {
            "outcome_id": outcome.outcome_id, "trace_id": outcome.trace_id, "model_used": verdict.model_used,
            "problem": one_line(verdict.problem or "", cases.PROBLEM_CHARACTERS), "reply": verdict.reply[:REPLY_CHARACTERS],
            # Whom silence of an endpoint kept from it has not tried.
            "reviewer": "" if verdict.model_used == reviewers.UNAVAILABLE else verdict.model_used}  # fmt: skip
        whose = {"agent": outcome.agent_id, "session": outcome.session}
        lineage, now = [event.id for event in sources], self.home.clock.now()
        return new_event("review_failed", body, **whose, at=now, lineage=lineage)


def _in_own_words(verdict: ReviewVerdict, case: Case) -> ReviewVerdict:
    """The review; with a problem where its fix holds an address, a command, or words of the run."""
    found = "" if verdict.problem else fix_words.problem_with(verdict.fix_description, case.heard)
    if not found:
        return verdict
    reply = excerpt(verdict.fix_description.encode(errors="replace"))
    return replace(verdict, fix_description="", problem=f"the fix_description holds {found}; {_ALLOWED}", reply=reply)


def _trace_of(views: Views, outcome: Outcome) -> Trace | None:
    """The trace of the last call that was made for the outcome; None where there is none, or it was erased."""
    with suppress(InvalidInput):  # erased
        return None if outcome.trace_id is None else trace(views, outcome.trace_id)
    return None


def _sources(views: Views, outcome: Outcome, found: Trace | None) -> list[Event]:
    """The events that a review is made from: the outcome, the end (or start) of its call and its tool events."""
    sources = views.journal.read(ids=[outcome.outcome_id], erased=True)
    if found is None:
        return sources
    steps, tools = trace_events(views, found.id)
    return [*sources, *steps[-1:], *both_ends(tools)]


def _record(outcome: Outcome, verdict: ReviewVerdict, observation_id: str | None = None) -> TraceReviewRecord:
    return TraceReviewRecord(
        **vars(verdict), outcome_id=outcome.outcome_id, trace_id=outcome.trace_id, observation_id=observation_id)  # fmt: skip
