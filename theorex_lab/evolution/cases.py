"""What a reviewer is given and gives back, the panel of models that is asked, and what
it judges: outcomes that nobody else has to score; what it does not answer waits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.sections import read_sections
from theorex_lab.evolution import failure_patterns
from theorex_lab.evolution.decisive import FailureClass, RunStep
from theorex_lab.evolution.failure_signs import says
from theorex_lab.evolution.outcomes import Outcome, OutcomeLog
from theorex_lab.memory.contract import Home
from theorex_lab.text.line import fence, one_line

if TYPE_CHECKING:
    from theorex_lab.core.settings import Settings
    from theorex_lab.dispatch.llm import ChainAnswer
    from theorex_lab.dispatch.traces import Trace

MOST_TOOL_EVENTS = 80
FIX_CHARACTERS = 300
PROBLEM_CHARACTERS = 500
WORDS_CHARACTERS = 1_500  # of each text of an outcome or call that a model is shown
PROMPTS = read_sections(__file__, "prompts.txt")
MOST_SILENCES = 2
_TOLD = (
    "outcome_id",
    "trace_id",
    "score",
    "fix_description",
    "decisive_step",
    "failure_class",
    "written_to_axon",
    "model_used",
    "problem",
    "observation_id",
    "confidence",
)
_SILENT = f"silent {MOST_SILENCES} times in a row in this run"
NOBODY_ASKED = (
    f"nobody was asked: each model of the setting reviewers was {_SILENT}, or none is"
    " named"
)


@dataclass(frozen=True)
class FailureCase:
    """A failure as reviewers see it: the outcome, the trace of its last call (None
    without one) and the run's steps.

    tried: names of the reviewers who had it before and could say nothing of use.
    """

    outcome: Outcome
    trace: Trace | None
    steps: tuple[RunStep, ...]
    tried: frozenset[str] = frozenset()

    @property
    def heard(self) -> list[str]:
        """The texts of the run that are not the owner's words of it: commands, answers
        of tools and models.
        """
        error = (
            [self.trace.error] if self.trace is not None and self.trace.error else []
        )
        return [*(step.text for step in self.steps[1:-1]), *error]

    @property
    def task(self) -> str:
        """What was to be done: the task of the call, else the decision."""
        return self.trace.task if self.trace is not None else self.outcome.decision


@dataclass(frozen=True)
class ReviewVerdict:
    """What a reviewer said of a failure; with a `problem` nothing of it may enter the
    memory.

    score: 0..1, how sure it is that the fix would have prevented the failure.
    decisive_step: index into the steps. confidence: 0..1, how often such a step was the
    labelled one where that was measured; None for models, whose word on it is not
    calibrated. reply: the beginning of a reply that could not be used.  about: a text
    whose concepts the fix has in place of its own, for one whose words are the same
    each time; None for its own.
    """

    score: float
    fix_description: str
    model_used: str
    decisive_step: int | None = None
    failure_class: str = FailureClass.OTHER.value
    problem: str | None = None
    reply: str = ""
    about: str | None = None
    confidence: float | None = None


@dataclass(frozen=True)
class TraceReviewRecord(ReviewVerdict):
    """What came of one review; where no fix is remembered, `problem` says why.

    observation_id: of the fix, by which a person confirms it; None for none.
    """

    outcome_id: str = ""
    trace_id: str | None = None
    observation_id: str | None = None

    @property
    def written_to_axon(self) -> bool:
        """Whether the fix is remembered."""
        return self.observation_id is not None

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON holds it."""
        return {name: getattr(self, name) for name in _TOLD}


class Reviewer(Protocol):
    """Anything that reviews failures.

    A reviewer with `names`, a tuple of texts, does not get a failure again once all
    these names failed to review it.
    """

    def review(self, case: FailureCase) -> ReviewVerdict:
        """The review of one failure; what cannot be reviewed gives one with a
        `problem`.
        """
        ...


def case_of(outcome: Outcome, trace: Trace | None) -> FailureCase:
    """The failure with its run as steps, numbered from 0: the decision, tool calls and
    their answers, and the result.

    Of more than 80 tool events the first and last 40 are taken; failed attempts count
    only where no model answered. A call that ended without any answer is no step of the
    run: it teaches nothing about the task.
    """
    if trace is not None and trace.unavailable and not trace.events:
        trace = None
    said: list[RunStep] = []

    def say(
        agent: str, text: str, tool: str | None = None, is_error: bool | None = None
    ) -> None:
        said.append(RunStep(len(said), agent, text, tool, is_error))

    task = trace.task if trace is not None else ""
    say(
        outcome.agent_id,
        "\n".join(dict.fromkeys(filter(None, [outcome.decision, task]))),
    )
    ended = False
    for event in both_ends(trace.events) if trace is not None else ():
        if (
            trace is not None
            and not ended
            and trace.end_time is not None
            and event["at"] > trace.end_time
        ):
            ended = True
            _say_answer(trace, say)
        say(outcome.agent_id, f"```\n{event['input']}\n```")
        say(
            event["tool"],
            event["response"],
            event["tool"],
            says(failure_patterns.TOOL_FAILED, event["response"]) or None,
        )
    if trace is not None and not ended:
        _say_answer(trace, say)
    # Begins as answers of the surroundings do, so that no agent is held to have said
    # it.
    say("result", f"observation: {outcome.result}", None, True)
    return FailureCase(outcome, trace, tuple(said))


def fenced_outcome(outcome: Outcome) -> list[str]:
    """What an outcome says, as lines of data for a model."""
    words = [
        ("decision", outcome.decision),
        ("result", outcome.result),
        ("tags", ", ".join(outcome.tags) or "none"),
    ]
    return fence(
        [f"{name}: {one_line(text, WORDS_CHARACTERS)}" for name, text in words],
        "outcome",
    )


def both_ends(events: Sequence[Any]) -> Sequence[Any]:
    """All of up to 80 events; of more, the first and the last 40.

    >>> len(both_ends(range(1_000)))
    80
    """
    half = MOST_TOOL_EVENTS // 2
    return (
        events if len(events) <= MOST_TOOL_EVENTS else [*events[:half], *events[-half:]]
    )


def _say_answer(trace: Trace, say: Callable[[str, str], None]) -> None:
    """The model's answer, or why none came."""
    if trace.unavailable:
        return
    if trace.response:
        say(trace.model, trace.response)
    elif trace.success is False:
        failed = [attempt for attempt in trace.attempts if not attempt["success"]]
        for attempt in failed or [{"model": trace.model, "error": None}]:
            say(
                str(attempt["model"] or "dispatch"),
                f"model unavailable: {attempt['error'] or trace.error}",
            )


class ReviewPanel:
    """Asks the models of the setting `reviewers` in their order, each for
    reviewTimeoutSeconds at most.

    A model that refused the connection, broke it, was busy or took too long two times
    in a row is not asked again by this panel: what hangs once hangs for each of a
    hundred failures.

    >>> from theorex_lab.core.settings import Settings
    >>> ReviewPanel(Settings(reviewers=[]))("Why?").attempts
    []
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._silences: Counter[str] = Counter()

    @property
    def names(self) -> tuple[str, ...]:
        """The models that are asked, in their order."""
        return tuple(self._settings.reviewers)

    def __call__(
        self,
        prompt: str,
        json_schema: dict[str, Any] | None = None,
        *,
        skipped: Collection[str] = (),
    ) -> ChainAnswer:
        """The answer of the first that gives one; see `dispatch.llm.ask`. Without any
        attempt nobody was asked.
        """
        from theorex_lab.dispatch.llm import ask

        settings = self._settings
        names = [
            name
            for name in self.names
            if self._silences[name] < MOST_SILENCES and name not in skipped
        ]
        answer = ask(
            names,
            prompt,
            settings,
            json_schema=json_schema,
            timeout_seconds=settings.review_timeout_seconds,
        )
        for attempt in answer.attempts:
            silent = answer.kinds.get(attempt.model) in ("silent", "busy")
            self._silences[attempt.model] = (
                self._silences[attempt.model] + 1 if silent else 0
            )
        return answer


def why_none(answer: ChainAnswer) -> str:
    """Why an answer holds no completion: what each model did, on one line."""
    tried = "; ".join(
        f"{attempt.model}: {attempt.error}" for attempt in answer.attempts
    )
    return one_line(tried, PROBLEM_CHARACTERS) or NOBODY_ASKED


Ask = Callable[[str, dict[str, Any]], "ChainAnswer"]
HIGHEST = 100
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"score": {"type": "number", "minimum": 0, "maximum": HIGHEST}},
    "required": ["score"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class JudgeReport:
    """What a judge did: the outcomes it scored, as they stand now, and why the others
    wait, by their ids.
    """

    judged: list[Outcome]
    problems: dict[str, str]


def judge(log: OutcomeLog, outcomes: Iterable[Outcome], ask: Ask) -> JudgeReport:
    """Let a model score outcomes, one at a time; each score is on disk before the next
    is asked for.

    `ask`: takes a prompt and the JSON schema of the answer to the first model that
    answers, as `dispatch.llm.ask` does. An outcome whose answer cannot be used stays as
    it is.
    """
    judged = list[Outcome]()
    problems = dict[str, str]()
    for outcome in outcomes:
        answer = ask(judge_prompt(outcome), SCHEMA)
        try:
            model = answer.completion.model if answer.completion else ""
            judged.append(
                log.correct(outcome.outcome_id, judge_score=_score(answer), model=model)
            )
        except InvalidInput as error:  # of no use, or the outcome was erased meanwhile
            problems[outcome.outcome_id] = one_line(str(error), 2 * PROBLEM_CHARACTERS)
    return JudgeReport(judged, problems)


def judge_pending(home: Home, agent: str | None) -> str:
    """Let the models that were set up for it score the outcomes of an agent, or of all,
    that no judge has; says what was done.

    Asked are those of the setting `reviewers` that have a url in config.json, or run
    offline; one that costs money only where config.json names it among the `reviewers`
    too.
    """
    settings = home.settings
    log = OutcomeLog(home)
    models = {
        name: settings.models[name]
        for name in settings.reviewers
        if name in settings.models
    }
    paid = settings.is_set("reviewers")
    names = [
        name
        for name, one in models.items()
        if one.url and (paid or one.cost_per_million_tokens == 0)
    ]
    if not names:
        return "no model was set up for it"
    found = judge(
        log, log.pending(agent=agent), ReviewPanel(settings.replaced(reviewers=names))
    )
    waiting = "".join(
        f"; {n} wait on: {problem}"
        for problem, n in Counter(found.problems.values()).most_common(3)
    )
    return f"{len(found.judged)} outcomes judged{waiting}"


def judge_prompt(outcome: Outcome) -> str:
    """What the judge is asked: the outcome's words, cut and fenced as data, and whether
    it was called a success.
    """
    answer = PROMPTS["judge_answer"].format(
        called="success" if outcome.success else "failure", highest=HIGHEST
    )
    return "\n".join([PROMPTS["judge"], *fenced_outcome(outcome), answer])


def _score(answer: ChainAnswer) -> float:
    """The score, 0..1; a decimal fraction up to 1 is taken for one of 0..1. Raises
    InvalidInput for an answer without one.
    """
    done = answer.completion
    if done is None:
        raise InvalidInput(why_none(answer))
    score = done.data.get("score") if isinstance(done.data, dict) else None
    if isinstance(score, float) and 0 <= score <= 1:
        return score
    if (
        isinstance(score, bool)
        or not isinstance(score, int | float)
        or not 0 <= score <= HIGHEST
        or score % 1
    ):
        said = one_line(done.text, PROBLEM_CHARACTERS)
        raise InvalidInput(
            f"{done.model} answered {said!r}; allowed is a score of 0 to {HIGHEST}"
        )
    return score / HIGHEST
