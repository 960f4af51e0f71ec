"""Outcomes: how what an agent decided went, on up to three channels, and which failures
wait for a review.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import AlreadyThere, InvalidInput
from theorex_lab.core.ids import check_agent, check_session, derived_event_id
from theorex_lab.core.project import check_project
from theorex_lab.core.settings import Settings
from theorex_lab.dispatch.traces import outcome_id_of, trace
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Event, new_event
from theorex_lab.journal.view import View
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import check_tags, check_text
from theorex_lab.text.extract import extract
from theorex_lab.text.redact.redaction_scope import door, kept_text

WEIGHTS = {"explicit": 0.4, "thumbs": 0.2, "judge": 0.4}
SUCCESS_WITHOUT_SCORE = 0.6
FAILURE_WITHOUT_SCORE = 0.0


def composite_score(
    success: bool,
    *,
    explicit: float | None = None,
    thumbs: float | None = None,
    judge: float | None = None,
) -> float:
    """The weighted mean of the channels that are there (explicit .4, thumbs .2, judge
    .4), each cut to 0..1.

    Without any channel a success counts .6 and a failure 0.

    >>> round(composite_score(True, explicit=0.9, thumbs=1.0, judge=0.8), 6)
    0.88
    >>> round(composite_score(True, explicit=0.8, thumbs=0.0), 6)
    0.533333
    >>> composite_score(False)
    0.0
    """
    given = [
        math.nan if value is None else value for value in (explicit, thumbs, judge)
    ]
    return float(_composite_scores(np.array([success]), np.array([given]))[0])


def _composite_scores(
    success: NDArray[np.bool_], channels: NDArray[np.float64]
) -> NDArray[np.float64]:
    """`composite_score` row by row; channels: shape (rows, 3) in the order of WEIGHTS,
    NaN where not given.
    """
    weights = np.where(np.isnan(channels), 0.0, np.array(list(WEIGHTS.values())))
    total = weights.sum(axis=1)
    weighted = (np.nan_to_num(channels.clip(0.0, 1.0)) * weights).sum(axis=1)
    scores: NDArray[np.float64] = np.where(
        success, SUCCESS_WITHOUT_SCORE, FAILURE_WITHOUT_SCORE
    )
    np.divide(weighted, total, out=scores, where=total > 0)
    return scores


@dataclass(frozen=True)
class Outcome:
    """One outcome as it stands now, corrections and later scores taken in.

    Scores are 0..1 or None; `thumbs_up` is None where nobody raised or lowered one.
    `trace_id`: of the last call that was made for it, else of the call that it is
    about. `reviewed`: whether its failure was reviewed. `decided_at`: when its success
    was said last.
    """

    outcome_id: str
    agent_id: str
    decision: str
    result: str
    success: bool
    at: str
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

    def to_dict(self) -> dict[str, Any]:
        """The outcome as JSON holds it, its id under two names; concept ids as texts,
        since they exceed what some readers keep exact.
        """
        return {
            "id": self.outcome_id,
            **asdict(self),
            "concept_ids": [*map(str, self.concept_ids)],
        }


class Outcomes(View):
    """The outcomes of all agents: scores by channel, the last trace, whether a review
    was written, the tags.

    rows: seq and at (µs) of the outcome, 0 while it is only named; agent; success and
    decided, the seq of the event that said so last; explicit, thumbs and judge (0..1,
    NaN where not given); trace_seq; silent_at (µs), when its last call ended where no
    model answered it, else 0; reviewed.  tagged: outcome (a row) and tag, one entry a
    tag.  silent: ids of the calls that no model answered.
    """

    name = "outcomes"
    code = 3
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
        """Take in outcomes, their later scores, the calls made for them and their
        reviews.
        """
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
        """The composite score of each row."""
        return _composite_scores(
            self.rows["success"],
            np.stack([self.rows[name] for name in WEIGHTS], axis=1),
        )

    def select(
        self, *, agent: str | None = None, since: int | None = None
    ) -> NDArray[np.int64]:
        """Rows of outcomes (of an agent, from a time on), oldest first."""
        mask = self.rows["seq"] > 0
        if agent is not None:
            mask &= self.rows["agent"] == self.agents.find(agent)
        if since is not None:
            mask &= self.rows["at"] >= since
        rows = np.flatnonzero(mask)
        return rows[np.argsort(self.rows["seq"][rows], kind="stable")]

    def queue(
        self, *, agent: str | None = None, threshold: float = 0.3, again: bool = False
    ) -> NDArray[np.int64]:
        """Rows of failures scored up to `threshold` that were not reviewed (or,
        `again`, of all of them).

        A failure that was recorded after no model had answered its call teaches nothing
        about the task, and is left out.
        """
        rows = self.select(agent=agent)
        silent = self.rows["silent_at"][rows]
        taught = (silent == 0) | (silent >= self.rows["at"][rows])
        waits = (
            ~self.rows["success"][rows] & (self.scores()[rows] <= threshold) & taught
        )
        return np.asarray(rows[waits & (again | ~self.rows["reviewed"][rows])])

    def _row(self, outcome_id: str) -> int:
        # A call may name an outcome before it is recorded; its row waits with seq 0.
        row = self.ids.number(outcome_id)
        if row == len(self.rows):
            self.rows.add(**dict.fromkeys(WEIGHTS, math.nan))
        return row

    def _end(self, event: Event) -> None:
        silent = bool(event.body.get("unavailable"))
        outcome_id = event.body.get("outcome_id")
        if silent:
            self.silent.number(event.body["trace_id"])
        if outcome_id:
            self.rows.put(self._row(outcome_id), silent_at=event.at if silent else 0)

    def _take(self, event: Event) -> None:
        row = self._row(event.id)
        self.rows.put(
            row, seq=event.seq, at=event.at, agent=self.agents.number(event.agent)
        )
        if self.silent.find(event.body.get("trace_id", "")) is not None:
            self.rows["silent_at"][row] = (
                event.at - 1
            )  # it was recorded afterwards, whatever the clock says
        self._score(row, event)
        self.tagged.extend(
            ("outcome", "tag"),
            [(row, self.tags.number(tag)) for tag in event.body["tags"]],
        )

    def _score(self, row: int, event: Event) -> None:
        body = event.body
        if body.get("success") is not None:
            self.rows.put(row, success=body["success"], decided=event.seq)
        self.rows.put(
            row, **{name: body[name] for name in WEIGHTS if body.get(name) is not None}
        )


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
    """The event of one outcome; the concepts of its texts are added to those given.

    Raises InvalidInput for anything outside the rules.
    """
    decision, result = (
        check_text(text, settings.max_text_bytes) for text in (decision, result)
    )
    if not isinstance(success, bool):
        raise InvalidInput(f"got the success {success!r}; allowed are True and False")
    decision = kept_text(decision)
    result = kept_text(result)
    found = [mention.concept_id for mention in extract(f"{decision}\n{result}")]
    body = {
        "decision": decision,
        "result": result,
        "success": success,
        "tags": [kept_text(tag) for tag in check_tags(tags)],
        "concepts": list(dict.fromkeys([*map(int, concept_ids), *found])),
        "source": source,
        "explicit": check_score(explicit_score, "explicit score"),
        "project": check_project(project),
        "thumbs": None if thumbs_up is None else float(bool(thumbs_up)),
    }
    return new_event(
        "outcome", body, agent=check_agent(agent), session=check_session(session), at=at
    )


def check_score(score: float | None, what: str) -> float | None:
    """The score cut to 0..1; None stays. Raises InvalidInput for what is no finite
    number.

    >>> check_score(1.4, "explicit score")
    1.0
    """
    if score is None:
        return None
    if (
        isinstance(score, bool)
        or not isinstance(score, int | float)
        or not math.isfinite(score)
    ):
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
        keep_secrets: bool = False,
        **more: Any,
    ) -> Outcome:
        """Record one outcome and return it; see `outcome_event` for `more`. Raises
        InvalidInput.

        What looks like a secret is masked, unless `keep_secrets` is given.
        """
        event = self._event(
            keep_secrets,
            agent=agent,
            decision=decision,
            result=result,
            success=success,
            **more,
        )
        self.home.journal.append([event])
        return self.get(event.id)

    def _event(self, keep_secrets: bool, **stated: Any) -> Event:
        defaults = {
            "settings": self.home.settings,
            "at": self.home.clock.now(),
            "project": self.home.project,
        }
        with door(keep_secrets=keep_secrets):
            return outcome_event(**{**defaults, **stated})

    def record_of_trace(
        self,
        trace_id: str,
        result: str,
        *,
        success: bool,
        agent: str | None = None,
        decision: str | None = None,
        keep_secrets: bool = False,
        **more: Any,
    ) -> Outcome:
        """Record how a call went that has ended and was made for no outcome, and return
        it; as evidence it counts so.

        `decision`: the task of the call where none is given; see `outcome_event` for
        `more`. Raises InvalidInput for a trace that is unknown, open or erased, for one
        that has an outcome, and for an `agent` that did not make it.
        """
        call = trace(self.home.views, trace_id)
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
        (end,) = self.home.journal.read(ids=[derived_event_id("trace ended", trace_id)])
        told = call.task if decision is None else decision
        event = self._event(
            keep_secrets,
            agent=call.agent_id,
            decision=told,
            result=result,
            success=success,
            **more,
        )
        body = {**event.body, "trace_id": trace_id}
        if answered := [
            attempt["model"] for attempt in call.attempts if attempt["success"]
        ]:
            heard = {"source": end.body["source"]} if "source" in end.body else {}
            body["answer"] = {
                "query_type": call.query_type,
                "model": answered[-1],
                "at": end.at,
                **heard,
            }
        event = event._replace(id=outcome_id_of(trace_id), body=body, lineage=(end.id,))
        try:
            self.home.journal.append([event])
        except AlreadyThere as error:
            problem = "has an outcome that was erased, or that another process recorded just now"
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
        """Give an outcome later scores, or set right what was recorded; what is None
        stays as it was.

        Raises InvalidInput for an unknown outcome or a score that is no number.
        """
        known = self.get(outcome_id)
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
            agent=known.agent_id,
            at=self.home.clock.now(),
            lineage=[outcome_id],
        )
        self.home.journal.append([event])
        return self.get(outcome_id)

    def get(self, outcome_id: str) -> Outcome:
        """One outcome. Raises InvalidInput where there is none of that id."""
        with self.home.views.reading(Outcomes) as view:
            row = view.ids.find(outcome_id)
            found = self._outcomes(
                view, [] if row is None or not view.rows["seq"][row] else [row]
            )
        if not found:
            problem = "there is no such outcome: `theorex outcome` gives one"
            raise InvalidInput(f"got the outcome id {outcome_id!r}; {problem}")
        return found[0]

    def outcomes(
        self,
        *,
        agent: str | None = None,
        since: int | None = None,
        limit: int | None = None,
    ) -> list[Outcome]:
        """The outcomes of an agent (or all) from a time on (µs), oldest first; the
        newest `limit` of them.
        """
        with self.home.views.reading(Outcomes) as view:
            rows = view.select(
                agent=check_agent(agent) if agent is not None else None, since=since
            )
            return self._outcomes(
                view,
                (
                    rows if limit is None else rows[-limit:] if limit else rows[:0]
                ).tolist(),
            )

    def queue(self, *, agent: str | None = None, again: bool = False) -> list[Outcome]:
        """Failures that wait for a review, oldest first (`again`: also those that were
        reviewed).
        """
        with self.home.views.reading(Outcomes) as view:
            owner = None if agent is None else check_agent(agent)
            rows = view.queue(
                agent=owner, threshold=self.home.settings.review_threshold, again=again
            )
            return self._outcomes(view, rows.tolist())

    def pending(self, *, agent: str | None = None) -> list[Outcome]:
        """Outcomes that no judge has scored, oldest first."""
        return [
            outcome
            for outcome in self.outcomes(agent=agent)
            if outcome.judge_score is None
        ]

    def _outcomes(self, view: Outcomes, rows: Iterable[int]) -> list[Outcome]:
        chosen = list(rows)
        columns = [
            view.rows[name][chosen].tolist() for name in ("seq", "decided", "trace_seq")
        ]
        seqs = sorted({seq for column in columns for seq in column} - {0})
        events = {event.seq: event for event in self.home.journal.read(seqs=seqs)}
        told = zip(chosen, *columns, view.scores()[chosen].tolist(), strict=True)
        return [
            _outcome(view.rows, events, *found)
            for found in told
            if events.keys() >= {*found[1:3]}
        ]


def _outcome(
    rows: Table,
    events: Mapping[int, Event],
    row: int,
    seq: int,
    decided: int,
    call: int,
    score: float,
) -> Outcome:
    event = events[seq]
    said = events[decided]
    body = events[seq].body
    explicit, thumbs, judge = (
        None if np.isnan(rows[name][row]) else float(rows[name][row])
        for name in WEIGHTS
    )
    return Outcome(
        event.id,
        event.agent,
        body["decision"],
        body["result"],
        bool(rows["success"][row]),
        to_iso(event.at),
        list(body["concepts"]),
        list(body["tags"]),
        explicit,
        None if thumbs is None else bool(thumbs),
        judge,
        trace_id=events[call].body["trace_id"]
        if call in events
        else body.get("trace_id"),
        score=round(score, 6),
        reviewed=bool(rows["reviewed"][row]),
        session=event.session,
        decided_at=said.body.get("decided_at", to_iso(said.at)),
    )
