"""Failures, reviewed once each: the fix enters the memory together with the review, or
nothing does.

Reviewers are rules or a model; which one is chosen, what a model is asked and what of
its reply is taken is here. A fix by rules names the class of the mistake or of the
error, the tool and its exit code, and quotes nothing: what a tool answered may have
been written by anybody, so that of its text only the row of the table is taken into a
sentence that comes back in later sessions.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from theorex_lab.core.errors import (
    AlreadyThere,
    ConfigError,
    InvalidInput,
    ModelUnavailable,
)
from theorex_lab.core.ids import derived_event_id
from theorex_lab.dispatch.traces import Trace, trace, trace_events
from theorex_lab.evolution import acceptance, cases, failure_patterns, fix_words
from theorex_lab.evolution.cases import (
    FailureCase,
    Reviewer,
    ReviewPanel,
    ReviewVerdict,
    TraceReviewRecord,
    both_ends,
    case_of,
)
from theorex_lab.evolution.decisive import (
    DecisiveStep,
    FailureClass,
    RunStep,
    find_decisive,
)
from theorex_lab.evolution.failure_signs import read_run, says
from theorex_lab.evolution.outcomes import Outcome, OutcomeLog, Outcomes
from theorex_lab.evolution.rule_fix_table import ERRORS, LESSONS
from theorex_lab.journal.event import Body, Event, new_event
from theorex_lab.journal.view import Views
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import (
    FIX_TYPE,
    TRUST,
    ObservationEntry,
    common_project,
    new_observation,
)
from theorex_lab.search.endpoint import excerpt
from theorex_lab.text.extract import extract
from theorex_lab.text.line import fence, one_line

if TYPE_CHECKING:
    from theorex_lab.core.settings import Settings
    from theorex_lab.dispatch.llm import ChainAnswer

HEURISTIC = "heuristic"
KINDS = ("auto", HEURISTIC, "model")
_NO_TRACE = (
    "no trace was kept of this run, and rules read nothing else; what failed stands in"
    " the context"
)
_NOTHING_FOUND = (
    "the rules find nothing in the trace that would help the next run; what failed"
    " stands in the context"
)
_CONNECT_SECONDS = 1.0
# How often the first unmended call was the step labelled in tau-bench's failures (8 of
# 11; tests/helpers/decisive_standins.py).
UNMENDED_SHARE = 0.7
SURE = 0.5  # below it, a fix says that its cause is probable
UNAVAILABLE = "unavailable"
_PROMPT_STEPS = 24
_STEP_CHARACTERS = 500
_SHOWN_CHARACTERS = 120
# A usable reply begins with its object; a model that is still talking here has answered
# something else.
_READ_CHARACTERS = 20_000
Ask = Callable[[str], "ChainAnswer"]


class HeuristicReviewer:
    """Reviews offline, by rules: the decisive step of the run and a fix by the class of
    its error.
    """

    names = (HEURISTIC,)

    def review(self, case: FailureCase) -> ReviewVerdict:
        """The first tool call that failed and was not mended decides; without one, what
        `find_decisive` finds.

        Without a trace, or where no model answered and no tool was used, there is a
        problem in place of a fix: that an endpoint was silent says nothing of the
        failure that it was asked about.
        """
        if case.trace is None:
            return ReviewVerdict(0.0, "", HEURISTIC, problem=_NO_TRACE)
        unanswered = case.trace.success is False and not case.trace.events
        found = _finding(case, unanswered)
        fix = "" if unanswered else rule_fix(found, case.steps)
        if fix and found.confidence < SURE:
            fix = f"Probably the cause: {fix[0].lower()}{fix[1:]}"
        about = f"{case.outcome.decision}\n{case.outcome.result}"
        told = found.step, found.failure_class.value, None if fix else _NOTHING_FOUND
        return ReviewVerdict(
            found.confidence,
            fix,
            HEURISTIC,
            *told,
            about=about,
            confidence=found.confidence,
        )


def _finding(case: FailureCase, unanswered: bool) -> DecisiveStep:
    if (start := _first_unmended(case.steps)) is not None:
        return replace(
            find_decisive(case.steps[start : start + 2]), confidence=UNMENDED_SHARE
        )
    return (
        find_decisive(case.steps[1:])
        if unanswered
        else find_decisive(case.steps, task=case.task)
    )


def _first_unmended(steps: Sequence[RunStep]) -> int | None:
    """The position of the first tool call that failed and after which no like call
    succeeded; None without one.
    """
    readings = read_run(steps)
    calls = [
        k
        for k in range(len(steps) - 1)
        if steps[k].tool is None and steps[k + 1].tool is not None
    ]
    like = {
        k: (steps[k + 1].tool, *readings[k].text.strip("`\n{").split(maxsplit=1)[:1])
        for k in calls
    }
    mended_until = {like[k]: k for k in calls if not readings[k + 1].failed}
    return next(
        (
            k
            for k in calls
            if readings[k + 1].failed and mended_until.get(like[k], -1) < k
        ),
        None,
    )


def choose_reviewer(kind: str, settings: Settings) -> tuple[Reviewer, str]:
    """The reviewer of a kind (auto, heuristic, model), and why it.

    auto: the model, where one of the setting `reviewers` has a url in config.json (or
    runs offline) that accepts a connection now, else the heuristic one. Raises
    InvalidInput for another kind.

    >>> from theorex_lab.core.settings import Settings
    >>> choose_reviewer("heuristic", Settings())[1]
    'heuristic: it was asked for'
    """
    if kind not in KINDS:
        raise InvalidInput(f"got the reviewer {kind!r}; allowed are {', '.join(KINDS)}")
    asked = settings.reviewers if kind == "auto" else ()
    reached = next((name for name in asked if is_reached(name, settings)), None)
    if kind == HEURISTIC:
        return HeuristicReviewer(), "heuristic: it was asked for"
    if kind == "auto" and reached is None:
        return (
            HeuristicReviewer(),
            f"heuristic: of the models that review, {_why_none(settings)}",
        )
    why = "it was asked for" if reached is None else f"{reached} accepts connections"
    return (
        ModelReviewer(ReviewPanel(settings)),
        f"model: {why}; asked in turn are {', '.join(settings.reviewers) or 'none'}",
    )


def _why_none(settings: Settings) -> str:
    if not settings.reviewers:
        return "none is set"
    named = [
        name
        for name in settings.reviewers
        if name in settings.models and settings.models[name].url is not None
    ]
    if not named:
        names = ", ".join(settings.reviewers)
        return (
            f"none of {names} has a url; set models.{settings.reviewers[0]}.url in"
            " config.json to let it review"
        )
    return f"none of {', '.join(named)} accepts a connection"


def is_reached(name: str, settings: Settings) -> bool:
    """Whether the model has an address that may be called, and something accepts a
    connection there.
    """
    import socket
    from urllib.parse import urlsplit

    from theorex_lab.dispatch.llm import client_for

    try:
        with client_for(name, settings) as client:
            address = urlsplit(client.url)
        port = address.port or (443 if address.scheme == "https" else 80)
        with socket.create_connection(
            (address.hostname or "", port), timeout=_CONNECT_SECONDS
        ):
            return True
    except (ModelUnavailable, ConfigError, OSError):
        return False


class ModelReviewer:
    """Asks a language model. `ask`: takes a prompt to the first endpoint that answers,
    as `dispatch.llm.ask` does.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.names = ask.names if isinstance(ask, cases.ReviewPanel) else ()

    def review(self, case: FailureCase) -> ReviewVerdict:
        """The model's review; a problem where none answered, or the reply holds no
        usable JSON object.

        Models that have tried this failure before are not asked.
        """
        ask = (
            partial(self._ask, skipped=case.tried)
            if isinstance(self._ask, cases.ReviewPanel)
            else self._ask
        )
        answer = ask(review_prompt(case))
        if (done := answer.completion) is None:
            return ReviewVerdict(0.0, "", UNAVAILABLE, problem=cases.why_none(answer))
        verdict = read_reply(done.text, done.model, len(case.steps))
        if verdict.problem and done.cut:
            return replace(
                verdict, problem=f"{verdict.problem} (it was cut at its longest)"
            )
        return verdict


def review_prompt(case: FailureCase) -> str:
    """What a model is asked: the outcome, its call and its steps, each cut and fenced
    as data.
    """
    trace = case.trace
    lines = [cases.PROMPTS["review"], *cases.fenced_outcome(case.outcome)]
    if trace is None:
        lines.append("No trace was kept of this run: judge by the outcome alone.")
    else:
        tokens = trace.total_tokens
        latency = trace.latency_ms
        told = [
            f"model: {trace.model or 'none'}",
            f"tokens: {'unknown' if tokens is None else tokens}",
        ]
        told.append(f"latency: {'unknown' if latency is None else f'{latency:.0f} ms'}")
        told.append(f"error: {one_line(trace.error or 'none', cases.WORDS_CHARACTERS)}")
        lines += [
            "The call:",
            *fence(told, "call"),
            "Its steps:",
            *fence(_told_steps(case.steps), "steps"),
        ]
    classes = ", ".join(member.value for member in FailureClass)
    return "\n".join([*lines, cases.PROMPTS["review_answer"].format(classes=classes)])


def _told_steps(steps: Sequence[RunStep]) -> list[str]:
    told = [
        (step, f"{'tool ' if step.tool else ''}{one_line(step.agent, 64)}")
        for step in steps
    ]
    lines = [
        f"step {step.index}, {who}: {one_line(step.text, _STEP_CHARACTERS)}"
        for step, who in told
    ]
    if (left_out := len(lines) - _PROMPT_STEPS) <= 0:
        return lines
    return [
        *lines[: _PROMPT_STEPS // 2],
        f"({left_out} steps are left out)",
        *lines[-(_PROMPT_STEPS // 2) :],
    ]


def read_reply(text: str, model: str, step_count: int) -> ReviewVerdict:
    """The review in a model's reply: its first balanced JSON object with a numeric
    score and a fix that is not blank.

    A reply without one gives a review with a `problem` that says what was wrong.

    >>> read_reply(
    ...     'Sure: {"score": 1.7, "fix_description": "Use {braces}."}', "qwen", 3
    ... ).score
    1.0
    >>> read_reply('{"score": "high", "fix_description": "Retry."}', "qwen", 3).problem
    "the score is 'high'; allowed is a number, 0 to 1"
    """
    problems: list[str] = []
    for found in _objects(text[:_READ_CHARACTERS]):
        verdict = checked_verdict(found, model, step_count)
        if verdict.problem is None:
            return verdict
        if found.keys() & {"score", "fix_description"}:
            problems.append(verdict.problem)
    problem = (
        problems[0]
        if problems
        else "the reply holds no JSON object with a score and a fix_description"
    )
    return ReviewVerdict(
        0.0, "", model, problem=problem, reply=excerpt(text.encode(errors="replace"))
    )


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Every JSON object in the text, also those inside others, in the order of their
    opening braces.
    """
    decoder = json.JSONDecoder()
    for brace in re.finditer(r"\{", text):
        try:
            found, _ = decoder.raw_decode(text, brace.start())
        # ValueError: not balanced, or a number of thousands of digits.
        except (ValueError, RecursionError):
            continue
        yield found


def checked_verdict(
    found: dict[str, Any], model: str, step_count: int
) -> ReviewVerdict:
    """A review from untrusted members, the score cut to 0..1 and the fix to one line;
    or one that says what is wrong.

    A step that is not there becomes None, an unknown class `other`.
    """
    score = found.get("score")
    fix = found.get("fix_description")
    empty = ReviewVerdict(0.0, "", model)
    if (
        isinstance(score, bool)
        or not isinstance(score, int | float)
        or not math.isfinite(min(max(score, -1), 2))
    ):
        return replace(
            empty, problem=f"the score is {_shown(score)}; allowed is a number, 0 to 1"
        )
    told = (
        fix_words.plain_names(fix.strip().removeprefix("trace_fix:"))
        if isinstance(fix, str)
        else ""
    )
    line = one_line(told, cases.FIX_CHARACTERS)
    if not re.search(r"\w", line):
        return replace(
            empty,
            problem=f"the fix_description is {_shown(fix)}; allowed is a sentence",
        )
    if says(failure_patterns.ORDERS, line):
        problem = (
            f"the fix_description {_shown(line)} gives orders to its reader; allowed is"
            " a fix"
        )
        return replace(empty, problem=problem)
    step = found.get("decisive_step")
    kind = found.get("failure_class")
    known = (
        isinstance(step, int) and not isinstance(step, bool) and 0 <= step < step_count
    )
    kind = (
        kind
        if isinstance(kind, str) and kind in set(FailureClass)
        else FailureClass.OTHER.value
    )
    return ReviewVerdict(
        float(min(1, max(0, score))), line, model, step if known else None, kind
    )


def _shown(value: object) -> str:
    """A wrong member, as an error may show it."""
    if value is None:
        return "missing"
    return (
        repr(value[:_SHOWN_CHARACTERS])
        if isinstance(value, str)
        else f"of the type {type(value).__name__}"
    )


_TOOL_NAME = re.compile(r"[A-Za-z][\w.-]{0,63}")
_CODE = (
    r"(?:\b(?:exit|return)[_ ]?code\b|\bexit status\b|\bexited with(?: code| status)?)"
)
_EXIT_CODE = re.compile(rf"{_CODE}[\"']?[:= ]{{1,3}}(-?[1-9]\d{{0,2}})\b", re.I)


def rule_fix(finding: DecisiveStep, steps: Sequence[RunStep]) -> str:
    """A sentence for the next run, in the words of this module alone; '' where the
    rules have nothing to say.

    >>> from theorex_lab.evolution.decisive import find_decisive
    >>> steps = [RunStep(0, "coder", "```python\\nprint(total)\\n```")]
    >>> steps += [RunStep(1, "python", "NameError: total", tool="python")]
    >>> rule_fix(find_decisive(steps), steps)
    'The tool python answered with a name that was not defined; next time import or define every name before its use.'
    """
    answer = _answer(finding, steps)
    if answer is not None:
        text = answer.text[:_READ_CHARACTERS]
        code = _EXIT_CODE.search(text)
        told = (
            f"{_tool_name(answer)} answered with"
            f" {{}}{f' (exit code {code[1]})' if code else ''}"
        )
        for error in ERRORS:
            if error.sign.search(text):
                return f"{told.format(error.name)}; next time {error.remedy}."
    by = (
        f" with {_tool_name(answer)[0].lower()}{_tool_name(answer)[1:]}"
        if answer is not None
        else ""
    )
    for lesson in LESSONS:
        if lesson.failure_class == finding.failure_class:
            return f"The run {lesson.wrong}{by}; next time {lesson.instead}."
    return ""


def _answer(finding: DecisiveStep, steps: Sequence[RunStep]) -> RunStep | None:
    """The answer of the tool that the decisive step called, or whose error it passed
    over.
    """
    after = [
        steps[k + 1] for k in range(len(steps) - 1) if steps[k].index == finding.step
    ]
    cited = {quote.step for quote in finding.evidence}
    answers = [*after, *(step for step in steps if step.index in cited)]
    return next((answer for answer in answers if answer.tool), None)


def _tool_name(answer: RunStep) -> str:
    return (
        f"The tool {answer.tool}"
        if _TOOL_NAME.fullmatch(answer.tool or "")
        else "A tool"
    )


REPLY_CHARACTERS = 300
_MEANWHILE = "it no longer waits: it was reviewed, corrected or erased meanwhile"
_ERASED = "what the review was made from was erased meanwhile"
_UNDER_WAY = "a call for it is still under way"
_TRIED = "it waits for another reviewer; tried have"
_ALLOWED = (
    "allowed is a sentence in words of its own, without addresses, commands and quotes"
    " of the run"
)


def review_failures(
    home: Home, reviewer: Reviewer, *, agent: str | None = None, again: bool = False
) -> list[TraceReviewRecord]:
    """Review the failures of `agent` (None: of all) that wait for it; `again`: also
    those that were reviewed.

    A usable review is appended together with its fix; any other leaves the memory as it
    is and the failure waiting, with the reason and the reviewer appended unless nobody
    was asked; whoever could say nothing of use does not get the same failure and trace
    again. Those that were tried least come first. Raises InvalidInput for an agent
    outside the rule, StorageError where nothing can be written; what was reviewed
    before that stands.
    """
    waiting = OutcomeLog(home).queue(agent=agent, again=again)
    tries = defaultdict[str, list[Body]](list)
    for event in home.journal.tail(0, kinds=["review_failed"]) if waiting else ():
        tries[event.body["outcome_id"]].append(event.body)
    work = _Work(home, reviewer, again, tries)
    # Two failures on which every model hangs must not block the rest.
    return [
        work.review(one)
        for one in sorted(waiting, key=lambda one: len(tries.get(one.outcome_id, ())))
    ]


class _Work:
    """Reviews one failure at a time."""

    def __init__(
        self, home: Home, reviewer: Reviewer, again: bool, tries: dict[str, list[Body]]
    ) -> None:
        self.home = home
        self.reviewer = reviewer
        self.again = again
        self.tries = tries
        self.names: frozenset[str] = frozenset(getattr(reviewer, "names", ()))

    def review(self, outcome: Outcome) -> TraceReviewRecord:
        # Counted before it is looked whether it still waits: of two processes one then
        # fails to append.
        number = 1 + sum(
            1
            for _ in acceptance.numbered_events(
                self.home.journal, "reviewed", outcome.outcome_id
            )
        )
        if not self._waits(outcome):
            return _record(outcome, ReviewVerdict(0.0, "", "", problem=_MEANWHILE))
        tries = [] if self.again else self.tries.get(outcome.outcome_id, [])
        tried = frozenset(
            attempt["reviewer"]
            for attempt in tries
            if attempt["trace_id"] == outcome.trace_id
        )
        if self.names and self.names <= tried:
            return _record(
                outcome,
                ReviewVerdict(
                    0.0, "", "", problem=f"{_TRIED}: {', '.join(sorted(self.names))}"
                ),
            )
        found = _trace_of(self.home.views, outcome)
        if found is not None and found.success is None:
            return _record(outcome, ReviewVerdict(0.0, "", "", problem=_UNDER_WAY))
        sources = _sources(self.home.views, outcome, found)
        case = replace(case_of(outcome, found), tried=tried)
        return self._settle(
            case, _in_own_words(self.reviewer.review(case), case), sources, number
        )

    def _waits(self, outcome: Outcome) -> bool:
        """Whether it is still a failure that nobody has reviewed or erased since the
        queue was read.
        """
        if not self.home.journal.read(ids=[outcome.outcome_id]):
            return False
        with self.home.views.reading(Outcomes) as view:
            rows = view.queue(
                agent=outcome.agent_id,
                threshold=self.home.settings.review_threshold,
                again=self.again,
            )
            return view.ids.find(outcome.outcome_id) in rows.tolist()

    def _settle(
        self,
        case: FailureCase,
        verdict: ReviewVerdict,
        sources: list[Event],
        number: int,
    ) -> TraceReviewRecord:
        # While a model thought, what it was shown may have been erased.
        if any(
            event.erased
            for event in self.home.journal.read(
                ids=[event.id for event in sources], erased=True
            )
        ):
            return _record(
                case.outcome, replace(verdict, fix_description="", problem=_ERASED)
            )
        if verdict.problem is None:
            try:
                events = self._reviewed(case, verdict, sources, number)
                self.home.journal.append(events)
                return _record(case.outcome, verdict, observation_id=events[0].id)
            except AlreadyThere:
                return _record(case.outcome, replace(verdict, problem=_MEANWHILE))
            except (
                InvalidInput
            ) as error:  # the fix is longer than the setting maxTextBytes allows
                verdict = replace(verdict, problem=str(error))
        if verdict.problem != cases.NOBODY_ASKED:
            self.home.journal.append([self._failed(case, verdict, sources)])
        return _record(case.outcome, verdict)

    def _reviewed(
        self,
        case: FailureCase,
        verdict: ReviewVerdict,
        sources: list[Event],
        number: int,
    ) -> list[Event]:
        """The fix as an observation, trusted no more than what it was made from, and
        the review that it is from.
        """
        outcome = case.outcome
        now = self.home.clock.now()
        source = min(
            ("model", *(event.body.get("source", "model") for event in sources)),
            key=lambda name: TRUST[name],
        )
        text = f"{FIX_TYPE}: {verdict.fix_description}"
        said = outcome.tags, outcome.session, common_project(sources[:1])
        fix, _ = new_observation(
            ObservationEntry(text, outcome.agent_id, now, FIX_TYPE, source, *said),
            self.home.settings,
            now,
        )
        lineage = tuple(event.id for event in sources)
        if verdict.about is not None:  # its words are a rule's
            found = extract(verdict.about)
            fix.body["concepts"] = [
                [one.concept_id, one.label, one.surface, one.count] for one in found
            ]
        fix = fix._replace(lineage=lineage)
        record = _record(outcome, verdict, observation_id=fix.id).to_dict()
        body = {
            name: value
            for name, value in record.items()
            if name not in ("written_to_axon", "problem")
        }
        rests_on = (*lineage, fix.id)
        made = derived_event_id("reviewed", outcome.outcome_id, number)
        whose: Any = {"agent": outcome.agent_id, "session": outcome.session}
        return [
            fix,
            new_event(
                "reviewed", body, **whose, at=now, lineage=rests_on, event_id=made
            ),
        ]

    def _failed(
        self, case: FailureCase, verdict: ReviewVerdict, sources: list[Event]
    ) -> Event:
        outcome = case.outcome
        body = {
            "outcome_id": outcome.outcome_id,
            "trace_id": outcome.trace_id,
            "model_used": verdict.model_used,
            "problem": one_line(verdict.problem or "", cases.PROBLEM_CHARACTERS),
            "reply": verdict.reply[:REPLY_CHARACTERS],
            # Whom silence of an endpoint kept from it has not tried.
            "reviewer": "" if verdict.model_used == UNAVAILABLE else verdict.model_used,
        }
        whose = {"agent": outcome.agent_id, "session": outcome.session}
        lineage = [event.id for event in sources]
        now = self.home.clock.now()
        return new_event("review_failed", body, **whose, at=now, lineage=lineage)


def _in_own_words(verdict: ReviewVerdict, case: FailureCase) -> ReviewVerdict:
    """The review; with a problem where its fix holds an address, a command, or words of
    the run.
    """
    found = (
        ""
        if verdict.problem
        else fix_words.problem_with(verdict.fix_description, case.heard)
    )
    if not found:
        return verdict
    reply = excerpt(verdict.fix_description.encode(errors="replace"))
    return replace(
        verdict,
        fix_description="",
        problem=f"the fix_description holds {found}; {_ALLOWED}",
        reply=reply,
    )


def _trace_of(views: Views, outcome: Outcome) -> Trace | None:
    """The trace of the last call that was made for the outcome; None where there is
    none, or it was erased.
    """
    with suppress(InvalidInput):  # erased
        return None if outcome.trace_id is None else trace(views, outcome.trace_id)
    return None


def _sources(views: Views, outcome: Outcome, found: Trace | None) -> list[Event]:
    """The events that a review is made from: the outcome, the end (or start) of its
    call and its tool events.
    """
    sources = views.journal.read(ids=[outcome.outcome_id], erased=True)
    if found is None:
        return sources
    steps, tools = trace_events(views, found.id)
    return [*sources, *steps[-1:], *both_ends(tools)]


def _record(
    outcome: Outcome, verdict: ReviewVerdict, observation_id: str | None = None
) -> TraceReviewRecord:
    return TraceReviewRecord(
        **vars(verdict),
        outcome_id=outcome.outcome_id,
        trace_id=outcome.trace_id,
        observation_id=observation_id,
    )
