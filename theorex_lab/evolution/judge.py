"""The judge: a language model that scores outcomes nobody else has to; what it does not answer waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from theorex_lab.errors import InvalidInput
from theorex_lab.evolution.cases import PROBLEM_CHARACTERS, PROMPTS, Panel, fenced_outcome, why_none
from theorex_lab.evolution.outcomes import Outcome, OutcomeLog
from theorex_lab.home import Home
from theorex_lab.text.line import one_line

if TYPE_CHECKING:
    from theorex_lab.config import Settings
    from theorex_lab.dispatch.llm import ChainAnswer

Ask = Callable[[str, dict[str, Any]], "ChainAnswer"]
HIGHEST = 100
SCHEMA: dict[str, Any] = {
    "type": "object", "properties": {"score": {"type": "number", "minimum": 0, "maximum": HIGHEST}},
    "required": ["score"], "additionalProperties": False}  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """What a judge did: the outcomes it scored, as they stand now, and why the others wait, by their ids."""

    judged: list[Outcome]
    problems: dict[str, str]


def judge(log: OutcomeLog, outcomes: Iterable[Outcome], ask: Ask) -> Judged:
    """Let a model score outcomes, one at a time; each score is on disk before the next is asked for.

    `ask`: takes a prompt and the JSON schema of the answer to the first model that answers, as `dispatch.llm.ask` does.
    An outcome whose answer cannot be used stays as it is.
    """
    judged, problems = list[Outcome](), dict[str, str]()
    for outcome in outcomes:
        answer = ask(judge_prompt(outcome), SCHEMA)
        score, problem = _score(answer)
        if problem is None:
            try:
                model = answer.completion.model if answer.completion else ""
                judged.append(log.correct(outcome.outcome_id, judge_score=score, model=model))
            except InvalidInput as error:  # it was erased meanwhile
                problem = one_line(str(error), PROBLEM_CHARACTERS)
        if problem is not None:
            problems[outcome.outcome_id] = problem
    return Judged(judged, problems)


def judge_pending(home: Home, agent: str | None) -> str:
    """Let the models that were set up for it score the outcomes of an agent, or of all, that no judge has; says what was done.

    Asked are those of the setting `reviewers` that have a url in config.json, or run offline; one that costs money only
    where config.json names it among the `reviewers` too.
    """
    settings = home.settings
    names = [name for name in settings.reviewers if _may_be_asked(name, settings)]
    if not names:
        return "no model was set up for it"
    log = OutcomeLog(home)
    found = judge(log, log.pending(agent=agent), Panel(settings.model_copy(update={"reviewers": names})))
    waiting = "".join(f"; {n} wait on: {problem}" for problem, n in Counter(found.problems.values()).most_common(3))
    return f"{len(found.judged)} outcomes judged{waiting}"


def _may_be_asked(name: str, settings: Settings) -> bool:
    model = settings.models.get(name)
    if model is None or model.url is None:
        return False
    return model.cost_per_million_tokens == 0 or settings.is_set("reviewers")


def judge_prompt(outcome: Outcome) -> str:
    """What the judge is asked: the outcome's words, cut and fenced as data, and whether it was called a success."""
    answer = PROMPTS["judge_answer"].format(called="success" if outcome.success else "failure", highest=HIGHEST)
    return "\n".join([PROMPTS["judge"], *fenced_outcome(outcome), answer])


def _score(answer: ChainAnswer) -> tuple[float, str | None]:
    """The score, 0..1, or what was wrong with the answer; a decimal fraction up to 1 is taken for a score of 0..1."""
    done = answer.completion
    if done is None:
        return 0.0, why_none(answer)
    score = done.data.get("score") if isinstance(done.data, dict) else None
    if isinstance(score, float) and 0 <= score <= 1:
        return score, None
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= HIGHEST or score % 1:
        return 0.0, f"{done.model} answered {one_line(done.text, PROBLEM_CHARACTERS)!r}; allowed is a score of 0 to {HIGHEST}"  # fmt: skip
    return score / HIGHEST, None
