"""Failures, reviewed once each.

The fix enters the memory together with the review, or nothing does. Reviewers are rules
or a model. This module chooses one, asks the model, and reads its reply. A fix by rules
names the class of the mistake or of the error, the tool and its exit code, and quotes
nothing: anybody may have written what a tool answered. So only the row of the table is
taken into a sentence that comes back in later sessions.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeGuard

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
    LIKELY_STEPS,
    DecisiveStep,
    FailureClass,
    LikelyStep,
    RunStep,
    find_decisive,
    likely_words,
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
_NOT_KNOWN = (
    "the decisive step is not known; most likely it is {likely}; what failed stands in"
    " the context"
)
_NONE_STANDS_OUT = (
    "the decisive step is not known, and none stands out; what failed stands in the"
    " context"
)
STANDS_OUT_FROM = 0.1  # a step with a smaller chance is not worth a look before others
_CONNECT_SECONDS = 1.0
# How often the first unmended call was the step labelled in tau-bench's failures (8 of
# 11; tests/helpers/decisive_standins.py).
UNMENDED_SHARE = 0.7
MOST_MEASURED_CALLS = 27
_FIRST_VALUE = re.compile(r'\{\s*"[^"]{0,80}"\s*:\s*"([^"]*)')
UNAVAILABLE = "unavailable"
PERSON = "person"
_PROMPT_STEPS = 24
_STEP_CHARACTERS = 500
_SHOWN_CHARACTERS = 120
# A usable reply begins with its object; a model that is still talking here has answered
# something else.
_READ_CHARACTERS = 20_000
Ask = Callable[[str], "ChainAnswer"]


class HeuristicReviewer:
    """Reviews offline, by rules.

    It finds the decisive step of the run, and a fix by the class of its error.
    """

    names = (HEURISTIC,)

    def review(self, case: FailureCase) -> ReviewVerdict:
        """Return the review of a failure by its decisive step.

        The first tool call that failed and was not mended decides; without one, what
        `find_decisive` finds. Without a trace, where no model answered and no tool was
        used, or where no step is the decisive one more likely than not, there is a
        problem in place of a fix: that an endpoint was silent says nothing of the
        failure that it was asked about, and a lesson from a guessed step misleads.
        """
        if case.trace is None:
            return ReviewVerdict(0.0, "", HEURISTIC, problem=_NO_TRACE)
        is_unanswered = case.trace.success is False and not case.trace.events
        decisive = _decisive_step(case, is_unanswered)
        about = f"{case.outcome.decision}\n{case.outcome.result}"
        if not decisive.is_known and not is_unanswered:
            problem = _NONE_STANDS_OUT
            if decisive.confidence >= STANDS_OUT_FROM:
                likely = likely_words(decisive.likely_steps)
                problem = _NOT_KNOWN.format(likely=likely)
            return ReviewVerdict(
                0.0,
                "",
                HEURISTIC,
                failure_class=FailureClass.OTHER.value,
                problem=problem,
                about=about,
                confidence=decisive.confidence,
                likely_steps=decisive.likely_steps,
            )
        fix = ""
        if not is_unanswered and not _is_sound_call(decisive, case.steps):
            fix = rule_fix(decisive, case.steps)
        return ReviewVerdict(
            decisive.confidence,
            fix,
            HEURISTIC,
            decisive.step,
            decisive.failure_class.value,
            None if fix else _NOTHING_FOUND,
            about=about,
            confidence=decisive.confidence,
            likely_steps=decisive.likely_steps,
        )


def _decisive_step(case: FailureCase, is_unanswered: bool) -> DecisiveStep:
    """Return the decisive step of a run.

    Where no model answered, the first step is left out.
    """
    unmended = _unmended(case.steps)
    if unmended:
        return _first_of_unmended(case.steps, unmended)
    if is_unanswered:
        return find_decisive(case.steps[1:])
    return find_decisive(case.steps, task=case.task)


def _uncapitalized(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _first_of_unmended(
    steps: Sequence[RunStep], unmended: Sequence[int]
) -> DecisiveStep:
    """Return the first of the calls that failed and were not mended.

    In a run with more calls than the measured ones have, each of them is as likely.
    """
    start = unmended[0]
    decisive = find_decisive(steps[start : start + 2])
    is_code = decisive.failure_class is FailureClass.WRONG_CODE
    if is_code and not _error_fix(steps[start + 1]):
        # The text of any call looks like code.
        decisive = replace(decisive, failure_class=FailureClass.TOOL_ERROR_IGNORED)
    n_calls = sum(step.tool is not None for step in steps)
    if n_calls <= MOST_MEASURED_CALLS:
        confidence = UNMENDED_SHARE
        positions = unmended[:1]
    else:
        confidence = UNMENDED_SHARE / len(unmended)
        positions = unmended[:LIKELY_STEPS]
    likely_steps = [
        LikelyStep(steps[position].index, confidence) for position in positions
    ]
    return replace(
        decisive,
        confidence=confidence,
        likely_steps=tuple(likely_steps),
    )


def _unmended(steps: Sequence[RunStep]) -> list[int]:
    """Return the positions of the tool calls that failed and were not mended.

    A call is mended by a later call like it that succeeded: one of the same tool whose
    text begins with the same word.
    """
    readings = read_run(steps)
    kinds: dict[int, tuple[str, str]] = {}  # of each call, by its position
    for position in range(len(steps) - 1):
        tool = steps[position + 1].tool
        if steps[position].tool is None and tool is not None:
            kinds[position] = (tool, _first_word(readings[position].text))
    last_success = {
        kind: position
        for position, kind in kinds.items()
        if not readings[position + 1].failed
    }
    return [
        position
        for position, kind in kinds.items()
        if readings[position + 1].failed and last_success.get(kind, -1) < position
    ]


def _is_sound_call(decisive: DecisiveStep, steps: Sequence[RunStep]) -> bool:
    """Return whether all that is known of a step is that it called a tool.

    The text of any call looks like code, so that nothing says what was wrong with it.
    """
    if decisive.failure_class is not FailureClass.WRONG_CODE:
        return False
    answer = _answer(decisive, steps)
    return answer is not None and not read_run([answer])[0].failed


def _first_word(call_text: str) -> str:
    r"""Return the first word of a call, of the first value where it is JSON.

    >>> _first_word('```\n{"command": "git push origin"}\n```'), _first_word("git push")
    ('git', 'git')
    """
    text = call_text.strip("`\n ")
    value = _FIRST_VALUE.match(text)
    words = (value[1] if value else text.lstrip("{")).split(maxsplit=1)
    return words[0] if words else ""


def choose_reviewer(kind: str, settings: Settings) -> tuple[Reviewer, str]:
    """Return the reviewer of a kind, and why it.

    Args:
        kind: auto, heuristic or model. auto is the model, where one of the setting
            `reviewers` has a url in config.json (or runs offline) that accepts a
            connection now, else the heuristic one.
        settings: The settings that name the models.

    Raises:
        InvalidInput: For another kind.

    >>> from theorex_lab.core.settings import Settings
    >>> choose_reviewer("heuristic", Settings())[1]
    'heuristic: it was asked for'
    """
    if kind not in KINDS:
        raise InvalidInput(f"got the reviewer {kind!r}; allowed are {', '.join(KINDS)}")
    if kind == HEURISTIC:
        return HeuristicReviewer(), "heuristic: it was asked for"
    reason = "it was asked for"
    if kind == "auto":
        reached = _first_reached(settings)
        if reached is None:
            return (
                HeuristicReviewer(),
                f"heuristic: of the models that review, {_why_none(settings)}",
            )
        reason = f"{reached} accepts connections"
    names = ", ".join(settings.reviewers) or "none"
    return (
        ModelReviewer(ReviewPanel(settings)),
        f"model: {reason}; asked in turn are {names}",
    )


def _first_reached(settings: Settings) -> str | None:
    """Return the first model of the reviewers that accepts a connection, or None."""
    for name in settings.reviewers:
        if is_reached(name, settings):
            return name
    return None


def _why_none(settings: Settings) -> str:
    """Return why no model can review."""
    if not settings.reviewers:
        return "none is set"
    with_url = [
        name
        for name in settings.reviewers
        if name in settings.models and settings.models[name].url is not None
    ]
    if not with_url:
        names = ", ".join(settings.reviewers)
        return (
            f"none of {names} has a url; set models.{settings.reviewers[0]}.url in"
            " config.json to let it review"
        )
    return f"none of {', '.join(with_url)} accepts a connection"


def is_reached(name: str, settings: Settings) -> bool:
    """Return whether a model has an address that accepts a connection.

    A model whose address may not be called is not reached. One in a file is, where the
    library that runs it is installed.
    """
    import socket
    from urllib.parse import urlsplit

    from theorex_lab.dispatch.llm import client_for
    from theorex_lab.dispatch.local_model import is_local

    try:
        with client_for(name, settings) as client:
            if is_local(client.base_url):
                return True
            address = urlsplit(client.url)
        default_port = 443 if address.scheme == "https" else 80
        port = address.port or default_port
        with socket.create_connection(
            (address.hostname or "", port), timeout=_CONNECT_SECONDS
        ):
            return True
    except (ModelUnavailable, ConfigError, OSError):
        return False


class ModelReviewer:
    """Asks a language model.

    Args:
        ask: Takes a prompt to the first endpoint that answers, as `dispatch.llm.ask`
            does.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.names = ask.names if isinstance(ask, cases.ReviewPanel) else ()

    def review(self, case: FailureCase) -> ReviewVerdict:
        """Return the model's review.

        It has a problem where none answered, or the reply holds no usable JSON object.
        Models that have tried this failure before are not asked.
        """
        prompt = review_prompt(case)
        if isinstance(self._ask, cases.ReviewPanel):
            answer = self._ask(prompt, skipped=case.tried)
        else:
            answer = self._ask(prompt)
        completion = answer.completion
        if completion is None:
            return ReviewVerdict(0.0, "", UNAVAILABLE, problem=cases.why_none(answer))
        verdict = read_reply(completion.text, completion.model, len(case.steps))
        if verdict.problem and completion.cut:
            problem = f"{verdict.problem} (it was cut at its longest)"
            return replace(verdict, problem=problem)
        return verdict


def review_prompt(case: FailureCase) -> str:
    """Return what a model is asked.

    It holds the outcome, its call and its steps, each cut and fenced as data.
    """
    lines = [cases.PROMPTS["review"], *cases.fenced_outcome(case.outcome)]
    if case.trace is None:
        lines.append("No trace was kept of this run: judge by the outcome alone.")
    else:
        lines += [
            "The call:",
            *fence(_call_lines(case.trace), "call"),
            "Its steps:",
            *fence(_step_lines(case.steps), "steps"),
        ]
    classes = ", ".join(member.value for member in FailureClass)
    lines.append(cases.PROMPTS["review_answer"].format(classes=classes))
    return "\n".join(lines)


def _call_lines(call: Trace) -> list[str]:
    """Return what is known of a call, as lines."""
    tokens = "unknown" if call.total_tokens is None else call.total_tokens
    latency = "unknown" if call.latency_ms is None else f"{call.latency_ms:.0f} ms"
    return [
        f"model: {call.model or 'none'}",
        f"tokens: {tokens}",
        f"latency: {latency}",
        f"error: {one_line(call.error or 'none', cases.WORDS_CHARACTERS)}",
    ]


def _step_lines(steps: Sequence[RunStep]) -> list[str]:
    """Return a line for each step; of many the first and the last."""
    lines = []
    for step in steps:
        author = f"{'tool ' if step.tool else ''}{one_line(step.agent, 64)}"
        text = one_line(step.text, _STEP_CHARACTERS)
        lines.append(f"step {step.index}, {author}: {text}")
    n_left_out = len(lines) - _PROMPT_STEPS
    if n_left_out <= 0:
        return lines
    half = _PROMPT_STEPS // 2
    return [*lines[:half], f"({n_left_out} steps are left out)", *lines[-half:]]


def read_reply(text: str, model: str, step_count: int) -> ReviewVerdict:
    """Return the review in a model's reply.

    It is read from the first balanced JSON object with a numeric score and a fix that
    is not blank. A reply without one gives a review with a `problem` that says what was
    wrong.

    Args:
        text: The reply.
        model: Who replied.
        step_count: How many steps the run has.

    >>> read_reply(
    ...     'Sure: {"score": 1.7, "fix_description": "Use {braces}."}', "qwen", 3
    ... ).score
    1.0
    >>> read_reply('{"score": "high", "fix_description": "Retry."}', "qwen", 3).problem
    "the score is 'high'; allowed is a number, 0 to 1"
    """
    problems: list[str] = []
    for members in _objects(text[:_READ_CHARACTERS]):
        verdict = checked_verdict(members, model, step_count)
        if verdict.problem is None:
            return verdict
        if members.keys() & {"score", "fix_description"}:
            problems.append(verdict.problem)
    problem = "the reply holds no JSON object with a score and a fix_description"
    if problems:
        problem = problems[0]
    reply = excerpt(text.encode(errors="replace"))
    return ReviewVerdict(0.0, "", model, problem=problem, reply=reply)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield every JSON object in the text, in the order of their opening braces.

    Those inside others are yielded too.
    """
    decoder = json.JSONDecoder()
    for brace in re.finditer(r"\{", text):
        try:
            members, _ = decoder.raw_decode(text, brace.start())
        # ValueError: not balanced, or a number of thousands of digits.
        except (ValueError, RecursionError):
            continue
        yield members


def checked_verdict(
    members: dict[str, Any], model: str, step_count: int
) -> ReviewVerdict:
    """Return a review from untrusted members, or one that says what is wrong.

    The score is cut to 0..1 and the fix to one line. A step that is not in the run
    becomes None, an unknown class `other`.

    Args:
        members: What the model answered.
        model: The model.
        step_count: How many steps the run has.
    """
    empty = ReviewVerdict(0.0, "", model)
    score = members.get("score")
    if not _is_finite_number(score):
        problem = f"the score is {_shown(score)}; allowed is a number, 0 to 1"
        return replace(empty, problem=problem)
    fix = members.get("fix_description")
    line = _fix_line(fix)
    if not re.search(r"\w", line):
        problem = f"the fix_description is {_shown(fix)}; allowed is a sentence"
        return replace(empty, problem=problem)
    if says(failure_patterns.ORDERS, line):
        problem = (
            f"the fix_description {_shown(line)} gives orders to its reader; allowed is"
            " a fix"
        )
        return replace(empty, problem=problem)
    return ReviewVerdict(
        float(min(1, max(0, score))),
        line,
        model,
        _step_in_run(members.get("decisive_step"), step_count),
        _failure_class(members.get("failure_class")),
    )


def _is_finite_number(value: Any) -> TypeGuard[int | float]:
    """Return whether a value is a number; integers may be of any size."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(min(max(value, -1), 2))


def _fix_line(fix: Any) -> str:
    """Return a fix as one line, '' for what is no text."""
    if not isinstance(fix, str):
        return ""
    sentence = fix_words.plain_names(fix.strip().removeprefix("trace_fix:"))
    return one_line(sentence, cases.FIX_CHARACTERS)


def _step_in_run(step: Any, step_count: int) -> int | None:
    """Return the number of a step, None for what is no step of the run."""
    if isinstance(step, bool) or not isinstance(step, int):
        return None
    return step if 0 <= step < step_count else None


def _failure_class(name: Any) -> str:
    """Return the name of a class of failures, `other` for an unknown one."""
    if isinstance(name, str) and name in set(FailureClass):
        return name
    return FailureClass.OTHER.value


def _shown(value: object) -> str:
    """Return a wrong member as an error may show it."""
    if value is None:
        return "missing"
    if isinstance(value, str):
        return repr(value[:_SHOWN_CHARACTERS])
    return f"of the type {type(value).__name__}"


_TOOL_NAME = re.compile(r"[A-Za-z][\w.-]{0,63}")
_CODE = (
    r"(?:\b(?:exit|return)[_ ]?code\b|\bexit status\b|\bexited with(?: code| status)?)"
)
_EXIT_CODE = re.compile(rf"{_CODE}[\"']?[:= ]{{1,3}}(-?[1-9]\d{{0,2}})\b", re.I)


def rule_fix(finding: DecisiveStep, steps: Sequence[RunStep]) -> str:
    r"""Return a sentence for the next run, in the words of this module alone.

    It is '' where no rule fits.

    >>> from theorex_lab.evolution.decisive import find_decisive
    >>> steps = [RunStep(0, "coder", "```python\nprint(total)\n```")]
    >>> steps += [RunStep(1, "python", "NameError: total", tool="python")]
    >>> fix = rule_fix(find_decisive(steps), steps)
    >>> fix.partition("; ")[0]
    'The tool python answered with a name that was not defined'
    >>> fix.partition("; ")[2]
    'next time import or define every name before its use.'
    """
    answer = _answer(finding, steps)
    if answer is not None:
        fix = _error_fix(answer)
        if fix:
            return fix
    tool_phrase = ""
    if answer is not None:
        tool_phrase = f" with {_uncapitalized(_tool_name(answer))}"
    for lesson in LESSONS:
        if lesson.failure_class == finding.failure_class:
            return f"The run {lesson.wrong}{tool_phrase}; next time {lesson.instead}."
    return ""


def _error_fix(answer: RunStep) -> str:
    """Return the fix by the class of a tool's error, '' where no class fits."""
    text = answer.text[:_READ_CHARACTERS]
    for error in ERRORS:
        if not error.sign.search(text):
            continue
        code = _EXIT_CODE.search(text)
        code_phrase = f" (exit code {code[1]})" if code else ""
        return (
            f"{_tool_name(answer)} answered with {error.name}{code_phrase}; next time"
            f" {error.remedy}."
        )
    return ""


def _answer(finding: DecisiveStep, steps: Sequence[RunStep]) -> RunStep | None:
    """Return the tool's answer that the decisive step called for, or passed over."""
    for step, following in pairwise(steps):
        if step.index == finding.step and following.tool:
            return following
    cited_steps = {quote.step for quote in finding.evidence}
    for step in steps:
        if step.index in cited_steps and step.tool:
            return step
    return None


def _tool_name(answer: RunStep) -> str:
    """Return the name of an answer's tool, unless it is no plain name."""
    if _TOOL_NAME.fullmatch(answer.tool or ""):
        return f"The tool {answer.tool}"
    return "A tool"


REPLY_CHARACTERS = 300
_MEANWHILE = "it no longer waits: it was reviewed, corrected or erased meanwhile"
_ERASED = "what the review was made from was erased meanwhile"
_UNDER_WAY = "a call for it is still under way"
_TRIED = "it waits for another reviewer; tried have"
_ALLOWED = (
    "allowed is a sentence in words of its own, without addresses, commands and quotes"
    " of the run"
)


def failure_case(home: Home, outcome: Outcome) -> FailureCase:
    """Return a failure as reviewers get it, with the steps of its run."""
    return case_of(outcome, _trace_of(home.views, outcome))


def review_failures(
    home: Home,
    reviewer: Reviewer,
    *,
    agent: str | None = None,
    again: bool = False,
    outcomes: Collection[str] = (),
) -> list[TraceReviewRecord]:
    """Review the failures that wait for it.

    A usable review is appended together with its fix. Any other leaves the memory as it
    is and the failure waiting, with the reason and the reviewer appended unless nobody
    was asked. A reviewer that found nothing of use does not get the same failure and
    trace again. Those that were tried least come first.

    Args:
        home: The home of the failures.
        reviewer: Who reviews them.
        agent: The agent whose failures are taken; None for all.
        again: Review those too that were reviewed.
        outcomes: The ids of the failures that are taken, where they wait; none for all.

    Raises:
        InvalidInput: For an agent outside the rule.
        StorageError: Where nothing can be written; what was reviewed before that
            stands.
    """
    waiting = OutcomeLog(home).queue(agent=agent, again=again)
    if outcomes:
        waiting = [failure for failure in waiting if failure.outcome_id in outcomes]
    if not waiting:
        return []
    tries = defaultdict[str, list[Body]](list)
    for event in home.journal.tail(0, kinds=["review_failed"]):
        tries[event.body["outcome_id"]].append(event.body)
    work = _ReviewWork(home, reviewer, again, tries)
    # Two failures on which every model hangs must not block the rest.
    waiting.sort(key=lambda outcome: len(tries.get(outcome.outcome_id, ())))
    return [work.review(outcome) for outcome in waiting]


class PersonReviewer:
    """Gives the fix that a person wrote.

    Args:
        fix: One sentence.
        decisive_step: The step that the person holds for the decisive one; None for
            none.
    """

    names = (PERSON,)

    def __init__(self, fix: str, decisive_step: int | None = None) -> None:
        self.fix = fix
        self.decisive_step = decisive_step

    def review(self, case: FailureCase) -> ReviewVerdict:
        """Return the person's fix as a review, or why it is none."""
        members = {
            "score": 1.0,
            "fix_description": self.fix,
            "decisive_step": self.decisive_step,
        }
        return checked_verdict(members, PERSON, len(case.steps))


def review_failure(
    home: Home, outcome_id: str, reviewer: Reviewer
) -> TraceReviewRecord:
    """Review one failure, reviewed before or not.

    Args:
        home: The home of the failure.
        outcome_id: The id of the failure.
        reviewer: Who reviews it.

    Raises:
        InvalidInput: There is no failure of this id.
        StorageError: Nothing can be written.
    """
    for outcome in OutcomeLog(home).queue(again=True):
        if outcome.outcome_id == outcome_id:
            work = _ReviewWork(home, reviewer, True, {})
            return work.review(outcome)
    raise InvalidInput(
        f"got the outcome {outcome_id!r}, which is no failure here; `theorex outcomes"
        " --json` lists the ids"
    )


class _ReviewWork:
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
        """Review one failure, and append the review and its fix."""
        # Counted before the queue is asked again: of two processes one then fails to
        # append.
        number = self._next_number(outcome)
        if not self._waits(outcome):
            return _unreviewed(outcome, _MEANWHILE)
        tried = self._tried(outcome)
        if self.names and self.names <= tried:
            return _unreviewed(outcome, f"{_TRIED}: {', '.join(sorted(self.names))}")
        call = _trace_of(self.home.views, outcome)
        if call is not None and call.success is None:
            return _unreviewed(outcome, _UNDER_WAY)
        sources = _sources(self.home.views, outcome, call)
        case = replace(case_of(outcome, call), tried=tried)
        verdict = _in_own_words(self.reviewer.review(case), case)
        return self._settle(case, verdict, sources, number)

    def _next_number(self, outcome: Outcome) -> int:
        """Return the number of the next review of this outcome, from 1."""
        reviews = acceptance.numbered_events(
            self.home.journal, "reviewed", outcome.outcome_id
        )
        return 1 + len(list(reviews))

    def _tried(self, outcome: Outcome) -> frozenset[str]:
        """Return the reviewers who had this failure and trace before."""
        if self.again:
            return frozenset()
        return frozenset(
            attempt["reviewer"]
            for attempt in self.tries.get(outcome.outcome_id, [])
            if attempt["trace_id"] == outcome.trace_id
        )

    def _waits(self, outcome: Outcome) -> bool:
        """Return whether it still is a failure that nobody has reviewed or erased."""
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
        """Append the review and its fix, or why there is none."""
        # While a model thought, what it was shown may have been erased.
        if self._is_any_erased(sources):
            erased = replace(verdict, fix_description="", problem=_ERASED)
            return _record(case.outcome, erased)
        if verdict.problem is None:
            try:
                events = self._reviewed(case, verdict, sources, number)
                self.home.journal.append(events)
                return _record(case.outcome, verdict, observation_id=events[0].id)
            except AlreadyThere:
                return _record(case.outcome, replace(verdict, problem=_MEANWHILE))
            except InvalidInput as error:
                # The fix is longer than the setting maxTextBytes allows.
                verdict = replace(verdict, problem=str(error))
        if verdict.problem != cases.NOBODY_ASKED:
            self.home.journal.append([self._failed(case, verdict, sources)])
        return _record(case.outcome, verdict)

    def _is_any_erased(self, events: list[Event]) -> bool:
        """Return whether one of these events is erased by now."""
        ids = [event.id for event in events]
        return any(
            event.erased for event in self.home.journal.read(ids=ids, erased=True)
        )

    def _reviewed(
        self,
        case: FailureCase,
        verdict: ReviewVerdict,
        sources: list[Event],
        number: int,
    ) -> list[Event]:
        """Return the fix as an observation, and the review that it is from.

        The fix is trusted no more than what it was made from.
        """
        outcome = case.outcome
        now = self.home.clock.now()
        entry = ObservationEntry(
            f"{FIX_TYPE}: {verdict.fix_description}",
            outcome.agent_id,
            now,
            FIX_TYPE,
            _least_trusted_source(sources),
            outcome.tags,
            outcome.session,
            common_project(sources[:1]),
        )
        fix, _ = new_observation(entry, self.home.settings, now)
        if verdict.about is not None:  # its words are a rule's
            fix.body["concepts"] = [
                [mention.concept_id, mention.label, mention.surface, mention.count]
                for mention in extract(verdict.about)
            ]
        lineage = tuple(event.id for event in sources)
        fix = fix._replace(lineage=lineage)
        record = _record(outcome, verdict, observation_id=fix.id).to_dict()
        body = {
            name: value
            for name, value in record.items()
            if name not in ("written_to_axon", "problem", "likely_steps")
        }
        review = new_event(
            "reviewed",
            body,
            agent=outcome.agent_id,
            session=outcome.session,
            at=now,
            lineage=(*lineage, fix.id),
            event_id=derived_event_id("reviewed", outcome.outcome_id, number),
        )
        return [fix, review]

    def _failed(
        self, case: FailureCase, verdict: ReviewVerdict, sources: list[Event]
    ) -> Event:
        """Return the event that says why a review gave no fix."""
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
        return new_event(
            "review_failed",
            body,
            agent=outcome.agent_id,
            session=outcome.session,
            at=self.home.clock.now(),
            lineage=[event.id for event in sources],
        )


def _unreviewed(outcome: Outcome, problem: str) -> TraceReviewRecord:
    """Return the record of a failure that no reviewer got."""
    return _record(outcome, ReviewVerdict(0.0, "", "", problem=problem))


def _least_trusted_source(events: Sequence[Event]) -> str:
    """Return the source of these events and of a model that is trusted least."""
    sources: list[str] = [
        "model",
        *(event.body.get("source", "model") for event in events),
    ]
    return min(sources, key=lambda name: TRUST[name])


def _in_own_words(verdict: ReviewVerdict, case: FailureCase) -> ReviewVerdict:
    """Return the review, with a problem where its fix may not be kept.

    A fix may not hold an address, a command, or words of the run.
    """
    if verdict.problem:
        return verdict
    fix = verdict.fix_description
    part = fix_words.problem_with(fix, case.untrusted_texts)
    if not part:
        return verdict
    return replace(
        verdict,
        fix_description="",
        problem=f"the fix_description holds {part}; {_ALLOWED}",
        reply=excerpt(fix.encode(errors="replace")),
    )


def _trace_of(views: Views, outcome: Outcome) -> Trace | None:
    """Return the trace of the last call that was made for the outcome.

    It is None where there is none, or it was erased.
    """
    if outcome.trace_id is None:
        return None
    try:
        return trace(views, outcome.trace_id)
    except InvalidInput:  # erased
        return None


def _sources(views: Views, outcome: Outcome, call: Trace | None) -> list[Event]:
    """Return the events that a review is made from.

    These are the outcome, the end (or start) of its call and its tool events.
    """
    sources = views.journal.read(ids=[outcome.outcome_id], erased=True)
    if call is None:
        return sources
    steps, tools = trace_events(views, call.id)
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
