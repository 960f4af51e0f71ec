"""Outcomes: how what an agent decided went, on up to three channels.

Which failures wait for a review is here too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import AlreadyThere, InvalidInput
from theorex_lab.core.ids import check_agent, check_session, derived_event_id
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.project import check_project
from theorex_lab.core.readable import Report
from theorex_lab.core.settings import Settings
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Event, new_event
from theorex_lab.journal.view import View
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import check_tags, check_text
from theorex_lab.text.redact.redaction_scope import door, kept_text

if TYPE_CHECKING:
    from theorex_lab.dispatch.traces import Trace

WEIGHTS = {
    "explicit": 0.4,
    "thumbs": 0.2,
    "judge": 0.4,
}
SUCCESS_WITHOUT_SCORE = 0.6
FAILURE_WITHOUT_SCORE = 0.0


def composite_score(
    success: bool,
    *,
    explicit: float | None = None,
    thumbs: float | None = None,
    judge: float | None = None,
) -> float:
    """Return the weighted mean of the channels that are present.

    They weigh explicit .4, thumbs .2, judge .4, each cut to 0..1. Without any channel a
    success counts .6 and a failure 0.

    Args:
        success: Whether it went well.
        explicit: The score that was stated, None for none.
        thumbs: The user's thumb, 1 up and 0 down, None for none.
        judge: The judge's score, None for none.

    >>> round(composite_score(True, explicit=0.9, thumbs=1.0, judge=0.8), 6)
    0.88
    >>> round(composite_score(True, explicit=0.8, thumbs=0.0), 6)
    0.533333
    >>> composite_score(False)
    0.0
    """
    channels = [
        math.nan if value is None else value for value in (explicit, thumbs, judge)
    ]
    scores = _composite_scores(np.array([success]), np.array([channels]))
    return float(scores[0])


def _composite_scores(
    success: NDArray[np.bool_], channels: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return `composite_score` row by row.

    Args:
        success: One truth a row.
        channels: Shape (rows, 3) in the order of WEIGHTS, NaN where not given.
    """
    weights = np.where(np.isnan(channels), 0.0, np.array(list(WEIGHTS.values())))
    total = weights.sum(axis=1)
    weighted = (np.nan_to_num(channels.clip(0.0, 1.0)) * weights).sum(axis=1)
    scores: NDArray[np.float64] = np.where(
        success, SUCCESS_WITHOUT_SCORE, FAILURE_WITHOUT_SCORE
    )
    np.divide(weighted, total, out=scores, where=total > 0)
    return scores


@dataclass(frozen=True, repr=False)
class Outcome(Report):
    """One outcome as it stands now, corrections and later scores taken in.

    Scores are 0..1 or None.

    Attributes:
        thumbs_up: None where nobody raised or lowered one.
        trace_id: The id of the last call that was made for it, else of the call that it
            is about.
        reviewed: Whether its failure was reviewed.
        decided_at: When its success was stated last.
    """

    outcome_id: str
    agent_id: str
    decision: str
    result: str
    success: bool
    timestamp: str
    concept_ids: list[int] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    explicit_score: float | None = None
    thumbs_up: bool | None = None
    judge_score: float | None = None
    trace_id: str | None = None
    score: float = 0.0
    reviewed: bool = False
    session: str = ""
    decided_at: str = ""

    def _facts(self) -> tuple[str, ...]:
        ending = "success" if self.success else "failure"
        return (self.outcome_id, self.agent_id, ending, self.decision)

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as JSON holds it.

        Its id stands under two names. Concept ids are texts, since they exceed what
        some readers keep exact.
        """
        return {
            "id": self.outcome_id,
            **asdict(self),
            "concept_ids": [*map(str, self.concept_ids)],
        }


class Outcomes(View):
    """The outcomes of all agents.

    It holds scores by channel, the last trace, whether a review was written, the tags.

    Attributes:
        rows: seq and at (µs) of the outcome, 0 while it is only named; agent; success
            and decided, the seq of the event that stated it last; explicit, thumbs and
            judge (0..1, NaN where not given); trace_seq; silent_at (µs), when its last
            call ended where no model answered it, else 0; reviewed.
        tagged: outcome (a row) and tag, one entry a tag.
        silent: Ids of the calls that no model answered.
    """

    name = "outcomes"
    code = 4
    kinds = ("outcome", "outcome_scored", "trace_started", "trace_ended", "reviewed")

    def __init__(self) -> None:
        super().__init__()
        self.ids = Names()
        self.agents = Names()
        self.tags = Names()
        self.silent = Names()
        self.rows = Table(
            seq="i8",
            at="i8",
            agent="i4",
            success="?",
            decided="i8",
            explicit="f8",
            thumbs="f8",
            judge="f8",
            trace_seq="i8",
            silent_at="i8",
            reviewed="?",
        )
        self.tagged = Table(outcome="i8", tag="i4")

    def apply(self, events: Sequence[Event]) -> None:
        """Take in outcomes, their later scores, their calls and their reviews."""
        for event in events:
            if event.kind == "outcome":
                self._take(event)
            elif event.kind == "outcome_scored":
                self._score(self._row(event.body["outcome_id"]), event)
            elif event.kind == "reviewed":
                self.rows.put(self._row(event.body["outcome_id"]), reviewed=True)
            elif event.kind == "trace_ended":
                self._end(event)
            elif event.body.get("outcome_id"):
                self.rows.put(self._row(event.body["outcome_id"]), trace_seq=event.seq)

    def scores(self) -> NDArray[np.float64]:
        """Return the composite score of each row."""
        channels = np.stack([self.rows[name] for name in WEIGHTS], axis=1)
        return _composite_scores(self.rows["success"], channels)

    def select(
        self, *, agent: str | None = None, since: int | None = None
    ) -> NDArray[np.int64]:
        """Return rows of outcomes (of an agent, from a time on), oldest first."""
        mask = self.rows["seq"] > 0
        if agent is not None:
            mask &= self.rows["agent"] == self.agents.find(agent)
        if since is not None:
            mask &= self.rows["at"] >= since
        rows = np.flatnonzero(mask)
        return rows[np.argsort(self.rows["seq"][rows], kind="stable")]

    def queue(
        self,
        *,
        agent: str | None = None,
        threshold: float = 0.3,
        again: bool = False,
    ) -> NDArray[np.int64]:
        """Return the rows of failures that wait for a review.

        A failure that was recorded after no model had answered its call teaches nothing
        about the task, and is left out.

        Args:
            agent: The agent whose outcomes count; None for all.
            threshold: The highest score of a failure that waits.
            again: Take those in that were reviewed.
        """
        rows = self.select(agent=agent)
        silent_at = self.rows["silent_at"][rows]
        is_failure = ~self.rows["success"][rows]
        is_low = self.scores()[rows] <= threshold
        teaches = (silent_at == 0) | (silent_at >= self.rows["at"][rows])
        waits = is_failure & is_low & teaches
        if not again:
            waits &= ~self.rows["reviewed"][rows]
        return np.asarray(rows[waits])

    def _row(self, outcome_id: str) -> int:
        """Return the row of an outcome, which is added where it is new.

        A call may name an outcome before it is recorded. Its row waits with seq 0.
        """
        row = self.ids.number(outcome_id)
        if row == len(self.rows):
            self.rows.add(**dict.fromkeys(WEIGHTS, math.nan))
        return row

    def _end(self, event: Event) -> None:
        """Take in whether a model answered a call."""
        unavailable = bool(event.body.get("unavailable"))
        outcome_id = event.body.get("outcome_id")
        if unavailable:
            self.silent.number(event.body["trace_id"])
        if outcome_id:
            silent_at = event.at if unavailable else 0
            self.rows.put(self._row(outcome_id), silent_at=silent_at)

    def _take(self, event: Event) -> None:
        """Take in an outcome, with its scores and tags."""
        row = self._row(event.id)
        self.rows.put(
            row, seq=event.seq, at=event.at, agent=self.agents.number(event.agent)
        )
        if event.body.get("reviewed"):  # as a file stated it
            self.rows.put(row, reviewed=True)
        if self.silent.find(event.body.get("trace_id", "")) is not None:
            # It was recorded after the call, whatever the clock says.
            self.rows["silent_at"][row] = event.at - 1
        self._score(row, event)
        tags = [(row, self.tags.number(tag)) for tag in event.body["tags"]]
        self.tagged.extend(("outcome", "tag"), tags)

    def _score(self, row: int, event: Event) -> None:
        """Take in the success and the scores that an event states."""
        body = event.body
        if body.get("success") is not None:
            self.rows.put(row, success=body["success"], decided=event.seq)
        scores = {name: body[name] for name in WEIGHTS if body.get(name) is not None}
        self.rows.put(row, **scores)


def outcome_event(
    *,
    agent: str,
    decision: str,
    result: str,
    success: bool,
    settings: Settings,
    at: int,
    tags: Sequence[str] = (),
    concept_ids: Sequence[int] = (),
    explicit_score: float | None = None,
    thumbs_up: bool | None = None,
    session: str = "",
    source: str = "agent",
    project: str = "",
) -> Event:
    """Return the event of one outcome.

    Args:
        agent: Who decided.
        decision: What was decided.
        result: How it went, in words.
        success: Whether it went well.
        settings: The settings, which bound the length of texts.
        at: When it was recorded, in µs UTC.
        tags: Words that it is counted under.
        concept_ids: Concepts besides those of its texts, which are added.
        explicit_score: A score that was stated, 0..1.
        thumbs_up: Whether the user liked it, None where nobody said.
        session: The session that it belongs to, '' for none.
        source: Whose word it is.
        project: The project, '' for none.

    Raises:
        InvalidInput: For anything outside the rules.
    """
    from theorex_lab.text.extract import extract

    decision = check_text(decision, settings.max_text_bytes)
    result = check_text(result, settings.max_text_bytes)
    if not isinstance(success, bool):
        raise InvalidInput(f"got the success {success!r}; allowed are True and False")
    decision = kept_text(decision)
    result = kept_text(result)
    mentions = extract(f"{decision}\n{result}")
    text_concepts = [mention.concept_id for mention in mentions]
    body = {
        "decision": decision,
        "result": result,
        "success": success,
        "tags": [kept_text(tag) for tag in check_tags(tags)],
        "concepts": list(dict.fromkeys([*map(int, concept_ids), *text_concepts])),
        "source": source,
        "explicit": check_score(explicit_score, "explicit score"),
        "project": check_project(project),
        "thumbs": None if thumbs_up is None else float(bool(thumbs_up)),
    }
    return new_event(
        "outcome", body, agent=check_agent(agent), session=check_session(session), at=at
    )


def check_score(score: float | None, what: str) -> float | None:
    """Return the score cut to 0..1; None stays.

    Args:
        score: The score.
        what: What it is called in an error.

    Raises:
        InvalidInput: For what is no finite number.

    >>> check_score(1.4, "explicit score")
    1.0
    """
    if score is None:
        return None
    is_number = isinstance(score, int | float) and not isinstance(score, bool)
    if not is_number or not math.isfinite(score):
        raise InvalidInput(f"got the {what} {score!r}; allowed is a number, 0 to 1")
    return min(1.0, max(0.0, float(score)))


class OutcomeLog:
    """The outcomes of a home: record, correct, list.

    Every change is a new event; a recorded event never changes.
    """

    def __init__(self, home: Home) -> None:
        self.home = home

    def record(
        self,
        agent: str,
        decision: str,
        result: str,
        *,
        success: bool,
        tags: Sequence[str] = (),
        concept_ids: Sequence[int] = (),
        explicit_score: float | None = None,
        thumbs_up: bool | None = None,
        session: str = "",
        source: str = "agent",
        keep_secrets: bool = False,
    ) -> Outcome:
        """Record one outcome and return it.

        Args:
            agent: Who decided.
            decision: What was decided.
            result: How it went, in words.
            success: Whether it went well.
            tags: Words that it is counted under.
            concept_ids: Concepts besides those of its texts.
            explicit_score: A score that was stated, 0..1.
            thumbs_up: Whether the user liked it, None where nobody said.
            session: The session that it belongs to.
            source: Whose word it is.
            keep_secrets: Do not mask what looks like a secret.

        Raises:
            InvalidInput: For anything outside the rules.
        """
        with door(keep_secrets=keep_secrets):
            event = outcome_event(
                agent=agent,
                decision=decision,
                result=result,
                success=success,
                settings=self.home.settings,
                at=self.home.clock.now(),
                tags=tags,
                concept_ids=concept_ids,
                explicit_score=explicit_score,
                thumbs_up=thumbs_up,
                session=session,
                source=source,
                project=self.home.project,
            )
            self.home.journal.append([event])
        return self.get(event.id)

    def record_of_trace(
        self,
        trace_id: str,
        result: str,
        *,
        success: bool,
        agent: str | None = None,
        decision: str | None = None,
        tags: Sequence[str] = (),
        explicit_score: float | None = None,
        thumbs_up: bool | None = None,
        session: str = "",
        keep_secrets: bool = False,
    ) -> Outcome:
        """Record how a call went that has ended and was made for no outcome.

        As evidence it counts so.

        Args:
            trace_id: The id of the call.
            result: How it went, in words.
            success: Whether it went well.
            agent: Who made it.
            decision: What was decided, None for the task of the call.
            tags: Words that it is counted under.
            explicit_score: A score that was stated, 0..1.
            thumbs_up: Whether the user liked it, None where nobody said.
            session: The session that it belongs to.
            keep_secrets: Do not mask what looks like a secret.

        Raises:
            InvalidInput: For a trace that is unknown, open or erased, for one that has
                an outcome, and for an `agent` that did not make it.
        """
        from theorex_lab.dispatch.traces import outcome_id_of, trace

        call = trace(self.home.views, trace_id)
        _check_recordable(call, trace_id, agent)
        (end,) = self.home.journal.read(ids=[derived_event_id("trace ended", trace_id)])
        with door(keep_secrets=keep_secrets):
            event = outcome_event(
                agent=call.agent_id,
                decision=call.task if decision is None else decision,
                result=result,
                success=success,
                settings=self.home.settings,
                at=self.home.clock.now(),
                tags=tags,
                explicit_score=explicit_score,
                thumbs_up=thumbs_up,
                session=session,
                project=self.home.project,
            )
        body = {**event.body, "trace_id": trace_id}
        answer = _answer_of(call, end)
        if answer is not None:
            body["answer"] = answer
        event = event._replace(id=outcome_id_of(trace_id), body=body, lineage=(end.id,))
        try:
            with door(keep_secrets=keep_secrets):
                self.home.journal.append([event])
        except AlreadyThere as error:
            problem = (
                "has an outcome that was erased, or that another process recorded just"
                " now"
            )
            raise InvalidInput(f"the call {trace_id} {problem}") from error
        return self.get(event.id)

    def correct(
        self,
        outcome_id: str,
        *,
        success: bool | None = None,
        explicit_score: float | None = None,
        thumbs_up: bool | None = None,
        judge_score: float | None = None,
        reason: str = "",
        model: str = "",
    ) -> Outcome:
        """Give an outcome later scores, or set right what was recorded.

        What is None stays as it was.

        Args:
            outcome_id: The outcome.
            success: Whether it went well.
            explicit_score: A score that is stated, 0..1.
            thumbs_up: Whether the user liked it.
            judge_score: The judge's score, 0..1.
            reason: Why the judge gave it; 500 characters are kept.
            model: The judge.

        Raises:
            InvalidInput: For an unknown outcome or a score that is no number.
        """
        recorded = self.get(outcome_id)
        body = {
            "outcome_id": outcome_id,
            "success": success,
            "explicit": check_score(explicit_score, "explicit score"),
            "thumbs": None if thumbs_up is None else float(thumbs_up),
            "judge": check_score(judge_score, "judge's score"),
            "reason": kept_text(reason)[:500],
            "model": model,
        }
        event = new_event(
            "outcome_scored",
            body,
            agent=recorded.agent_id,
            at=self.home.clock.now(),
            lineage=[outcome_id],
        )
        self.home.journal.append([event])
        return self.get(outcome_id)

    def get(self, outcome_id: str) -> Outcome:
        """Return one outcome.

        Raises:
            InvalidInput: Where there is none of that id.
        """
        outcomes = []
        with self.home.views.reading(Outcomes) as view:
            row = view.ids.find(outcome_id)
            if row is not None and view.rows["seq"][row]:
                outcomes = self._outcomes(view, [row])
        if not outcomes:
            problem = "there is no such outcome: `theorex outcome` gives one"
            raise InvalidInput(f"got the outcome id {outcome_id!r}; {problem}")
        return outcomes[0]

    def outcomes(
        self,
        *,
        agent: str | None = None,
        since: int | None = None,
        limit: int | None = None,
    ) -> list[Outcome]:
        """Return outcomes, oldest first.

        Args:
            agent: The agent whose outcomes are taken; None for all.
            since: A time (µs) from which on they count, None for all.
            limit: How many of the newest are returned, None for all.
        """
        if agent is not None:
            agent = check_agent(agent)
        with self.home.views.reading(Outcomes) as view:
            rows = view.select(agent=agent, since=since).tolist()
            if limit is not None:
                # The last 0 of a list are not rows[-0:].
                rows = rows[-limit:] if limit else []
            return self._outcomes(view, rows)

    def queue(self, *, agent: str | None = None, again: bool = False) -> list[Outcome]:
        """Return failures that wait for a review, oldest first.

        With `again`, those that were reviewed are returned too.
        """
        if agent is not None:
            agent = check_agent(agent)
        threshold = self.home.settings.review_threshold
        with self.home.views.reading(Outcomes) as view:
            rows = view.queue(agent=agent, threshold=threshold, again=again)
            return self._outcomes(view, rows.tolist())

    def pending(self, *, agent: str | None = None) -> list[Outcome]:
        """Return outcomes that no judge has scored, oldest first."""
        return [
            outcome
            for outcome in self.outcomes(agent=agent)
            if outcome.judge_score is None
        ]

    def _outcomes(self, view: Outcomes, rows: Sequence[int]) -> list[Outcome]:
        """Return the outcomes of these rows, without those erased meanwhile."""
        table = view.rows
        recorded_seqs = table["seq"][rows].tolist()
        decided_seqs = table["decided"][rows].tolist()
        call_seqs = table["trace_seq"][rows].tolist()
        scores = view.scores()[rows].tolist()
        seqs = {*recorded_seqs, *decided_seqs, *call_seqs} - {0}
        events = {
            event.seq: event for event in self.home.journal.read(seqs=sorted(seqs))
        }
        columns = zip(
            rows,
            recorded_seqs,
            decided_seqs,
            call_seqs,
            scores,
            strict=True,
        )
        outcomes = []
        for row, recorded_seq, decided_seq, call_seq, score in columns:
            if recorded_seq not in events or decided_seq not in events:
                continue
            outcome = _outcome(
                table,
                row,
                recorded=events[recorded_seq],
                decided=events[decided_seq],
                call=events.get(call_seq),
                score=score,
            )
            outcomes.append(outcome)
        return outcomes


def _outcome(
    rows: Table,
    row: int,
    *,
    recorded: Event,
    decided: Event,
    call: Event | None,
    score: float,
) -> Outcome:
    """Return the outcome of a row.

    Args:
        rows: The table of outcomes.
        row: The row.
        recorded: The event of the outcome.
        decided: The event that stated its success last.
        call: The START of the last call that was made for it, None without one.
        score: The composite score.
    """
    body = recorded.body
    explicit, thumbs, judge = (_channel(rows, name, row) for name in WEIGHTS)
    trace_id = body.get("trace_id") if call is None else call.body["trace_id"]
    return Outcome(
        recorded.id,
        recorded.agent,
        body["decision"],
        body["result"],
        bool(rows["success"][row]),
        to_iso(recorded.at),
        list(body["concepts"]),
        list(body["tags"]),
        explicit,
        None if thumbs is None else bool(thumbs),
        judge,
        trace_id=trace_id,
        score=round(score, 6),
        reviewed=bool(rows["reviewed"][row]),
        session=recorded.session,
        decided_at=decided.body.get("decided_at", to_iso(decided.at)),
    )


def _channel(
    rows: Table,
    name: str,
    row: int,
) -> float | None:
    """Return the score of a channel, None where it was not given."""
    value = float(rows[name][row])
    return None if math.isnan(value) else value


def _check_recordable(
    call: Trace,
    trace_id: str,
    agent: str | None,
) -> None:
    """Raise InvalidInput for a call of another agent, with an outcome, or still open."""
    if agent not in (None, call.agent_id):
        raise InvalidInput(
            f"got the agent {agent!r}; the call {trace_id} was made by {call.agent_id}"
        )
    if call.outcome_id is not None:
        advice = f"set that right: theorex outcome --id {call.outcome_id}"
        raise InvalidInput(
            f"the call {trace_id} has the outcome {call.outcome_id}; {advice}"
        )
    if call.success is None:
        raise InvalidInput(
            f"the call {trace_id} has not ended; record how it went once it has"
        )


def _answer_of(call: Trace, end: Event) -> dict[str, Any] | None:
    """Return what the outcome of a call keeps of its answer, None without an answer."""
    models = [attempt["model"] for attempt in call.attempts if attempt["success"]]
    if not models:
        return None
    answer = {
        "query_type": call.query_type,
        "model": models[-1],
        "at": end.at,
    }
    if "source" in end.body:
        answer["source"] = end.body["source"]
    return answer
