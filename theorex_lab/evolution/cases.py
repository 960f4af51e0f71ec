"""What a reviewer is given and gives back, and the panel of models that is asked.

The panel also judges outcomes that nobody else has to score. What it does not answer
waits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.sections import read_sections
from theorex_lab.evolution import failure_patterns
from theorex_lab.evolution.decisive import FailureClass, LikelyStep, RunStep
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
_RECORD_FIELDS = (
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
    """A failure as reviewers get it.

    Attributes:
        outcome: The failure.
        trace: The trace of its last call, None without one.
        steps: The run's steps.
        tried: Names of the reviewers who had it before and found nothing of use.
    """

    outcome: Outcome
    trace: Trace | None
    steps: tuple[RunStep, ...]
    tried: frozenset[str] = frozenset()

    @property
    def untrusted_texts(self) -> list[str]:
        """Return the texts of the run that are not the owner's words of it.

        These are commands, and answers of tools and models.
        """
        texts = [step.text for step in self.steps[1:-1]]
        if self.trace is not None and self.trace.error:
            texts.append(self.trace.error)
        return texts

    @property
    def task(self) -> str:
        """Return what was to be done: the task of the call, else the decision."""
        return self.trace.task if self.trace is not None else self.outcome.decision


@dataclass(frozen=True)
class ReviewVerdict:
    """A reviewer's word on a failure; with a `problem` nothing of it is remembered.

    Attributes:
        score: 0..1, how sure it is that the fix would have prevented the failure.
        fix_description: The fix, one sentence.
        model_used: Who reviewed it.
        decisive_step: Index into the steps.
        failure_class: The kind of mistake.
        problem: Why the review cannot be used, None where it can.
        reply: The beginning of a reply that could not be used.
        about: A text whose concepts the fix has in place of its own, for one whose
            words are the same each time; None for its own.
        confidence: 0..1, how often such a step was the labelled one where that was
            measured; None for models, whose word on it is not calibrated.
        likely_steps: Where rules reviewed it, the likeliest steps with their chances,
            at most three. `decisive_step` is None where none is above one half.
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
    likely_steps: tuple[LikelyStep, ...] = ()


@dataclass(frozen=True)
class TraceReviewRecord(ReviewVerdict):
    """The result of one review; where no fix is remembered, `problem` says why.

    Attributes:
        outcome_id: The id of the failure.
        trace_id: The id of its last call; None without one.
        observation_id: The id of the fix, by which a person trusts it; None without
            one.
    """

    outcome_id: str = ""
    trace_id: str | None = None
    observation_id: str | None = None

    @property
    def written_to_axon(self) -> bool:
        """Return whether the fix is remembered."""
        return self.observation_id is not None

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON holds it."""
        record = {name: getattr(self, name) for name in _RECORD_FIELDS}
        record["likely_steps"] = [likely._asdict() for likely in self.likely_steps]
        return record


class Reviewer(Protocol):
    """Anything that reviews failures.

    A reviewer with `names`, a tuple of texts, does not get a failure again once all
    these names failed to review it.
    """

    def review(self, case: FailureCase) -> ReviewVerdict:
        """Return the review of one failure.

        What cannot be reviewed gives one with a `problem`.
        """
        ...


def case_of(outcome: Outcome, trace: Trace | None) -> FailureCase:
    """Return the failure with its run as steps, numbered from 0.

    The steps are the decision, tool calls and their answers, and the result. From more
    than 80 tool events the first and last 40 are taken. Failed attempts count only
    where no model answered. A call that ended without any answer is no step of the run:
    it teaches nothing about the task.
    """
    if trace is not None and trace.unavailable and not trace.events:
        trace = None
    run = _Run(outcome)
    if trace is None:
        run.add(outcome.agent_id, outcome.decision)
    else:
        texts = dict.fromkeys(filter(None, [outcome.decision, trace.task]))
        run.add(outcome.agent_id, "\n".join(texts))
        _add_call(run, trace)
    # Begins as answers of the surroundings do, so that no agent is taken to have
    # written it.
    run.add("result", f"observation: {outcome.result}", is_error=True)
    return FailureCase(outcome, trace, tuple(run.steps))


class _Run:
    """The steps of a run, as they are added."""

    def __init__(self, outcome: Outcome) -> None:
        self.agent_id = outcome.agent_id
        self.steps: list[RunStep] = []

    def add(
        self,
        agent: str,
        text: str,
        *,
        tool: str | None = None,
        is_error: bool | None = None,
    ) -> None:
        """Add a step with the next number."""
        self.steps.append(RunStep(len(self.steps), agent, text, tool, is_error))

    def add_tool_use(self, event: Mapping[str, str]) -> None:
        """Add the call of a tool and its answer."""
        response = event["response"]
        is_error = says(failure_patterns.TOOL_FAILED, response)
        self.add(self.agent_id, f"```\n{event['input']}\n```")
        self.add(
            event["tool"],
            response,
            tool=event["tool"],
            is_error=True if is_error else None,
        )


def _add_call(run: _Run, trace: Trace) -> None:
    """Add the tool events of a call, and its answer in the order of time."""
    is_answered = False
    for event in both_ends(trace.events):
        if not is_answered and _is_after_end(event, trace):
            _add_answer(run, trace)
            is_answered = True
        run.add_tool_use(event)
    if not is_answered:
        _add_answer(run, trace)


def _is_after_end(event: Mapping[str, str], trace: Trace) -> bool:
    """Return whether a tool event came after the end of the call."""
    return trace.end_time is not None and event["timestamp"] > trace.end_time


def _add_answer(run: _Run, trace: Trace) -> None:
    """Add the model's answer, or why none came."""
    if trace.unavailable:
        return
    if trace.response:
        run.add(trace.model, trace.response)
        return
    if trace.success is not False:
        return
    failed = [attempt for attempt in trace.attempts if not attempt["success"]]
    for attempt in failed or [{"model": trace.model, "error": None}]:
        error = attempt["error"] or trace.error
        run.add(str(attempt["model"] or "dispatch"), f"model unavailable: {error}")


def fenced_outcome(outcome: Outcome) -> list[str]:
    """Return the words of an outcome, as lines of data for a model."""
    texts = {
        "decision": outcome.decision,
        "result": outcome.result,
        "tags": ", ".join(outcome.tags) or "none",
    }
    lines = [
        f"{name}: {one_line(text, WORDS_CHARACTERS)}" for name, text in texts.items()
    ]
    return fence(lines, "outcome")


def both_ends(events: Sequence[Any]) -> Sequence[Any]:
    """Return all of up to 80 events; of more, the first and the last 40.

    >>> len(both_ends(range(1_000)))
    80
    """
    if len(events) <= MOST_TOOL_EVENTS:
        return events
    half = MOST_TOOL_EVENTS // 2
    return [*events[:half], *events[-half:]]


class ReviewPanel:
    """Asks the models of the setting `reviewers` in their order.

    Each is asked for reviewTimeoutSeconds at most.
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
        """Return the models that are asked, in their order."""
        return tuple(self._settings.reviewers)

    def __call__(
        self,
        prompt: str,
        json_schema: dict[str, Any] | None = None,
        *,
        skipped: Collection[str] = (),
    ) -> ChainAnswer:
        """Return the answer of the first model that gives one; see `dispatch.llm.ask`.

        Without any attempt nobody was asked.
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
            if answer.kinds.get(attempt.model) in ("silent", "busy"):
                self._silences[attempt.model] += 1
            else:
                self._silences[attempt.model] = 0
        return answer


def why_none(answer: ChainAnswer) -> str:
    """Return why an answer holds no completion: what each model did, on one line."""
    errors = "; ".join(
        f"{attempt.model}: {attempt.error}" for attempt in answer.attempts
    )
    return one_line(errors, PROBLEM_CHARACTERS) or NOBODY_ASKED


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
    """What a judge did.

    Attributes:
        judged: The outcomes it scored, as they stand now.
        problems: Why the others wait, by their ids.
    """

    judged: list[Outcome]
    problems: dict[str, str]


def judge(log: OutcomeLog, outcomes: Iterable[Outcome], ask: Ask) -> JudgeReport:
    """Let a model score outcomes, one at a time.

    Each score is on disk before the next is asked for. An outcome whose answer cannot
    be used stays as it is.

    Args:
        log: The log of the outcomes.
        outcomes: The outcomes to score.
        ask: Takes a prompt and the JSON schema of the answer to the first model that
            answers, as `dispatch.llm.ask` does.
    """
    judged = list[Outcome]()
    problems = dict[str, str]()
    for outcome in outcomes:
        answer = ask(judge_prompt(outcome), SCHEMA)
        try:
            model = answer.completion.model if answer.completion else ""
            score = _score(answer)
            judged.append(
                log.correct(outcome.outcome_id, judge_score=score, model=model)
            )
        except InvalidInput as error:  # of no use, or the outcome was erased meanwhile
            problems[outcome.outcome_id] = one_line(str(error), 2 * PROBLEM_CHARACTERS)
    return JudgeReport(judged, problems)


def judge_pending(home: Home, agent: str | None) -> str:
    """Let models score the outcomes that no judge has scored; return what was done.

    Those of the setting `reviewers` are asked that have a url in config.json, or run
    offline. One that costs money is asked only where config.json names it among the
    `reviewers` too.

    Args:
        home: The home of the outcomes.
        agent: The agent whose outcomes are scored; None for all.
    """
    settings = home.settings
    log = OutcomeLog(home)
    may_cost = settings.is_set("reviewers")
    names = []
    for name in settings.reviewers:
        model = settings.models.get(name)
        if model is None or not model.url or name in names:
            continue
        if may_cost or model.cost_per_million_tokens == 0:
            names.append(name)
    if not names:
        return "no model was set up for it"
    panel = ReviewPanel(settings.replaced(reviewers=names))
    report = judge(log, log.pending(agent=agent), panel)
    text = f"{len(report.judged)} outcomes judged"
    for problem, n_outcomes in Counter(report.problems.values()).most_common(3):
        text += f"; {n_outcomes} wait on: {problem}"
    return text


def judge_prompt(outcome: Outcome) -> str:
    """Return what the judge is asked.

    It holds the outcome's words, cut and fenced as data, and whether it was called a
    success.
    """
    answer = PROMPTS["judge_answer"].format(
        called="success" if outcome.success else "failure", highest=HIGHEST
    )
    return "\n".join([PROMPTS["judge"], *fenced_outcome(outcome), answer])


def _score(answer: ChainAnswer) -> float:
    """Return the score, 0..1; a decimal fraction up to 1 is taken for one of 0..1.

    Raises:
        InvalidInput: For an answer without one.
    """
    completion = answer.completion
    if completion is None:
        raise InvalidInput(why_none(answer))
    data = completion.data
    score = data.get("score") if isinstance(data, dict) else None
    if isinstance(score, float) and 0 <= score <= 1:
        return score
    if isinstance(score, int | float) and not isinstance(score, bool):
        is_whole = 0 <= score <= HIGHEST and score % 1 == 0
        if is_whole:
            return score / HIGHEST
    reply = one_line(completion.text, PROBLEM_CHARACTERS)
    raise InvalidInput(
        f"{completion.model} answered {reply!r}; allowed is a score of 0 to {HIGHEST}"
    )
