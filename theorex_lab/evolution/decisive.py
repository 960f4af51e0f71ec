"""The decisive step of a failed run: the first mistake without which it might have
succeeded, and by whom.

In runs like those that the signs of `failure_signs` were weighted on, short chats of
agents whose tools answer in the chat, the step with the highest weighted sum of its
signs is the finding. In any other run the signs were measured to be worse than the
trivial answer, so that this is given: the last call of a tool, or, where no call is
known, the last step. Deterministic, without a language model.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from theorex_lab.evolution import failure_patterns
from theorex_lab.evolution import failure_signs as signs
from theorex_lab.evolution.failure_signs import (
    WEIGHTS,
    RunStep,
    StepReading,
    candidates,
    is_foreign,
)
from theorex_lab.text.line import one_line

__all__ = [
    "WEIGHTS",
    "DecisiveStep",
    "FailureClass",
    "RunStep",
    "StepQuote",
    "find_decisive",
]

LONGEST_CHAT_STEPS = 10  # of the runs that the signs were weighted on
# How often the trivial answer is the labelled step: about one in ten for the last step
# of Who&When's hand-crafted runs,
# which was known when it was chosen; 45 of 102 for the last call of tau-bench's
# failures (tests/helpers/decisive_standins.py).
LAST_STEP_SHARE = 0.1
LAST_CALL_SHARE = 0.44
QUOTE_CHARACTERS = 200
_ERROR_CHARACTERS = 2_000


class FailureClass(StrEnum):
    """What kind of mistake the decisive step is.

    WRONG_PLAN           the plan is for another task, or leads elsewhere MADE_UP_DATA
    data were assumed, simulated or remembered instead of looked up WRONG_CODE
    code that failed or computed the wrong thing TOOL_ERROR_IGNORED   a tool answered
    with an error, and the run went on as if it had not WRONG_EXTRACTION     the tool's
    answer was there, and the wrong thing was read out of it UNVERIFIED_ANSWER    facts
    stated or confirmed without anything that backs them NO_ANSWER            asking,
    announcing or silence in place of work MODEL_UNAVAILABLE    the language model did
    not answer OTHER                none of these
    """

    WRONG_PLAN = "wrong_plan"
    MADE_UP_DATA = "made_up_data"
    WRONG_CODE = "wrong_code"
    TOOL_ERROR_IGNORED = "tool_error_ignored"
    WRONG_EXTRACTION = "wrong_extraction"
    UNVERIFIED_ANSWER = "unverified_answer"
    NO_ANSWER = "no_answer"
    MODEL_UNAVAILABLE = "model_unavailable"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class StepQuote:
    """A quote of at most 200 characters on one line. step: the index of the step that
    it is from.
    """

    step: int
    quote: str


@dataclass(frozen=True, slots=True)
class DecisiveStep:
    """The step that decided a failure.

    step: its index.  agent: who took it.  confidence: 0..1, the chance the scores give
    it among all steps: by the signs in a run like those that they were weighted on,
    else how often the trivial answer was right. scores: such a chance for each step, in
    order, summing to 1; 0 for answers of tools.
    """

    step: int
    agent: str
    failure_class: FailureClass
    confidence: float
    evidence: tuple[StepQuote, ...]
    scores: tuple[float, ...]


def find_decisive(steps: Sequence[RunStep], *, task: str = "") -> DecisiveStep:
    """The step that most likely decided the failure; see the module for which runs the
    signs are asked.

    task: what the run was to do, where it is known.  Texts past 20,000 characters are
    cut to their head and tail. Raises InvalidInput for a run without steps, or with an
    agent or text that is no string.

    >>> steps = [
    ...     RunStep(
    ...         0, "planner", "Find the height of the tower in the archive of the city."
    ...     ),
    ...     RunStep(
    ...         1,
    ...         "coder",
    ...         "We cannot reach the archive, so let's assume the tower is 120 m high.",
    ...     ),
    ...     RunStep(2, "checker", "I agree, 120 m is accurate. TERMINATE"),
    ... ]
    >>> found = find_decisive(steps)
    >>> found.step, found.agent, found.failure_class.value
    (1, 'coder', 'made_up_data')
    """
    readings = signs.read_run(steps, task)
    chances = (
        _chances_by_signs(readings, task)
        if carries_over(steps, readings)
        else _chances_of_last(steps, readings)
    )
    found = max(chances, key=chances.__getitem__)
    failure_class = _classify(readings, found, task)
    evidence = _evidence(steps, readings, found, failure_class)
    scores = tuple(chances.get(position, 0.0) for position in range(len(steps)))
    return DecisiveStep(
        steps[found].index,
        steps[found].agent,
        failure_class,
        chances[found],
        evidence,
        scores,
    )


def carries_over(steps: Sequence[RunStep], readings: Sequence[StepReading]) -> bool:
    """Whether a run is like those that the signs were weighted on: at most ten steps,
    no user in it, no known tool call.
    """
    strange = any(
        reading.of_user or step.tool is not None
        for step, reading in zip(steps, readings, strict=True)
    )
    return len(steps) <= LONGEST_CHAT_STEPS and not strange


def _chances_by_signs(readings: Sequence[StepReading], task: str) -> dict[int, float]:
    """Position → chance; a conditional logit."""
    rows = signs.sign_values(readings, task)
    raw = [
        math.fsum(w * x for w, x in zip(WEIGHTS.values(), row, strict=True))
        for row in rows
    ]
    mass = [math.exp(value - max(raw)) for value in raw]
    total = math.fsum(mass)
    return {
        position: value / total
        for position, value in zip(candidates(readings), mass, strict=True)
    }


def _chances_of_last(
    steps: Sequence[RunStep], readings: Sequence[StepReading]
) -> dict[int, float]:
    """Position → chance, the trivial answer first: the measured share; the rest is
    spread evenly over the others.
    """
    said = [
        k
        for k in range(len(steps))
        if not (readings[k].of_user or _is_output(steps[k], readings[k]))
    ]
    calls = [k for k in said if steps[k + 1 : k + 2] and steps[k + 1].tool is not None]
    last = (calls or said or [len(steps) - 1])[-1]
    others = [k for k in candidates(readings) if k != last]
    share = max(LAST_CALL_SHARE if calls else LAST_STEP_SHARE, 1 / (1 + len(others)))
    return {last: share} | {k: min(share, (1 - share) / len(others)) for k in others}


def _is_output(step: RunStep, reading: StepReading) -> bool:
    """Whether nobody said a step. A page that a browsing agent shows begins as an
    answer does, and is that agent's act.
    """
    return step.tool is not None or (
        reading.is_result and not reading.text.lower().startswith("address:")
    )


def _classify(readings: Sequence[StepReading], found: int, task: str) -> FailureClass:
    reading = readings[found]
    answer = readings[reading.answer] if reading.answer is not None else None
    before = next(
        (readings[k] for k in range(found - 1, -1, -1) if not readings[k].idle), None
    )
    after_result = before is not None and before.is_result
    spoken = "" if reading.has_code else reading.text[:_ERROR_CHARACTERS]
    if signs.says(failure_patterns.MODEL_DOWN, spoken) or (
        answer
        and answer.failed
        and signs.says(failure_patterns.MODEL_DOWN, answer.text)
    ):
        return FailureClass.MODEL_UNAVAILABLE
    if found == 0 and is_foreign(reading.text, task):
        return FailureClass.WRONG_PLAN
    if reading.made_up and found > 0:
        return FailureClass.MADE_UP_DATA
    if reading.has_code:
        return FailureClass.WRONG_CODE
    if found == 0:
        return FailureClass.WRONG_PLAN if not reading.is_result else FailureClass.OTHER
    if after_result and before is not None and before.failed and not reading.repairs:
        return FailureClass.TOOL_ERROR_IGNORED
    if reading.new_facts or reading.approves or signs.is_claim(reading):
        return (
            FailureClass.WRONG_EXTRACTION
            if after_result
            else FailureClass.UNVERIFIED_ANSWER
        )
    if reading.asks or reading.announces or reading.idle:
        return FailureClass.NO_ANSWER
    return FailureClass.OTHER


def _evidence(
    steps: Sequence[RunStep],
    readings: Sequence[StepReading],
    found: int,
    failure_class: FailureClass,
) -> tuple[StepQuote, ...]:
    """What the step said; then the error that followed, or that it passed over."""
    reading = readings[found]
    answer = reading.answer
    quoted = [(found, _telling_line(reading, failure_class))]
    if failure_class is FailureClass.TOOL_ERROR_IGNORED:
        earlier = next(
            k
            for k in range(found - 1, -1, -1)
            if readings[k].is_result and readings[k].failed
        )
        quoted.append((earlier, signs.failure_quote(readings[earlier].text)))
    elif answer is not None and (
        readings[answer].failed or failure_class is FailureClass.WRONG_CODE
    ):
        text = readings[answer].text
        failed = readings[answer].failed
        quoted.append(
            (
                answer,
                signs.failure_quote(text) if failed else text.strip().splitlines()[-1],
            )
        )
    shown = ((k, one_line(line, QUOTE_CHARACTERS)) for k, line in quoted)
    return tuple(StepQuote(steps[k].index, line) for k, line in shown if line)


def _telling_line(reading: StepReading, failure_class: FailureClass) -> str:
    """The line that shows the fault: the made-up datum, the first working line of code,
    the new fact, or the longest.
    """
    if failure_class is FailureClass.MADE_UP_DATA:
        return signs.made_up_quote(reading.text)
    if reading.has_code and failure_class is FailureClass.WRONG_CODE:
        return signs.code_quote(reading.text)
    if reading.new_facts and not reading.has_code:
        return signs.line_around(
            reading.prose, max(0, reading.prose.lower().find(reading.new_facts[0]))
        )
    return max(
        (line.strip() for line in reading.prose.splitlines()), key=len, default=""
    )
