"""The decisive step of a failed run, and who made it.

It is the first mistake without which the run might have succeeded.

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

    Attributes:
        WRONG_PLAN: The plan is for another task, or leads elsewhere.
        MADE_UP_DATA: Data were assumed, simulated or remembered instead of looked up.
        WRONG_CODE: Code failed or computed the wrong thing.
        TOOL_ERROR_IGNORED: A tool answered with an error, and the run went on as if it
            had not.
        WRONG_EXTRACTION: The tool answered, and the wrong thing was read out of it.
        UNVERIFIED_ANSWER: Facts were stated or confirmed without anything that backs
            them.
        NO_ANSWER: The step asked, announced or was silent in place of work.
        MODEL_UNAVAILABLE: The language model did not answer.
        OTHER: None of these.
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
    """A quote of at most 200 characters on one line.

    Attributes:
        step: The index of the quoted step.
    """

    step: int
    quote: str


@dataclass(frozen=True, slots=True)
class DecisiveStep:
    """The step that decided a failure.

    Attributes:
        step: Its index.
        agent: Who took it.
        confidence: 0..1, the chance that the scores give it among all steps. It comes
            from the signs in a run like those that they were weighted on. In any other
            run it says how often the trivial answer was right.
        scores: Such a chance for each step, in order, summing to 1; 0 for answers of
            tools.
    """

    step: int
    agent: str
    failure_class: FailureClass
    confidence: float
    evidence: tuple[StepQuote, ...]
    scores: tuple[float, ...]


def find_decisive(steps: Sequence[RunStep], *, task: str = "") -> DecisiveStep:
    """Return the step that most likely decided the failure.

    The module says for which runs the signs are used.

    Args:
        steps: The run. Texts past 20,000 characters are cut to their head and tail.
        task: What the run was to do, where it is known.

    Raises:
        InvalidInput: For a run without steps, or with an agent or text that is no
            string.

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
    >>> decisive = find_decisive(steps)
    >>> decisive.step, decisive.agent, decisive.failure_class.value
    (1, 'coder', 'made_up_data')
    """
    readings = signs.read_run(steps, task)
    if carries_over(steps, readings):
        chances = _chances_by_signs(readings, task)
    else:
        chances = _chances_of_last(steps, readings)
    position = max(chances, key=chances.__getitem__)
    failure_class = _classify(readings, position, task)
    evidence = _evidence(steps, readings, position, failure_class)
    scores = tuple(chances.get(k, 0.0) for k in range(len(steps)))
    return DecisiveStep(
        steps[position].index,
        steps[position].agent,
        failure_class,
        chances[position],
        evidence,
        scores,
    )


def carries_over(steps: Sequence[RunStep], readings: Sequence[StepReading]) -> bool:
    """Return whether a run is like those that the signs were weighted on.

    Those have at most ten steps, no user in them and no known tool call.
    """
    if len(steps) > LONGEST_CHAT_STEPS:
        return False
    has_user = any(reading.of_user for reading in readings)
    has_tool = any(step.tool is not None for step in steps)
    return not has_user and not has_tool


def _chances_by_signs(readings: Sequence[StepReading], task: str) -> dict[int, float]:
    """Return the chance of each position by a conditional logit."""
    weights = list(WEIGHTS.values())
    sums = []
    for values in signs.sign_values(readings, task):
        products = [
            weight * value for weight, value in zip(weights, values, strict=True)
        ]
        sums.append(math.fsum(products))
    highest = max(sums)
    masses = [math.exp(value - highest) for value in sums]
    total = math.fsum(masses)
    positions = candidates(readings)
    return {
        position: mass / total for position, mass in zip(positions, masses, strict=True)
    }


def _chances_of_last(
    steps: Sequence[RunStep], readings: Sequence[StepReading]
) -> dict[int, float]:
    """Return the chance of each position, the trivial answer first.

    The trivial answer has the measured share. The rest is spread evenly over the other
    candidates.
    """
    agent_positions = []
    call_positions = []
    for position, (step, reading) in enumerate(zip(steps, readings, strict=True)):
        if reading.of_user or _is_output(step, reading):
            continue
        agent_positions.append(position)
        if _is_tool_answer(steps, position + 1):
            call_positions.append(position)
    if call_positions:
        last = call_positions[-1]
        measured_share = LAST_CALL_SHARE
    else:
        last = agent_positions[-1] if agent_positions else len(steps) - 1
        measured_share = LAST_STEP_SHARE
    others = [position for position in candidates(readings) if position != last]
    share = max(measured_share, 1 / (1 + len(others)))
    chances = {last: share}
    for position in others:
        chances[position] = min(share, (1 - share) / len(others))
    return chances


def _is_tool_answer(steps: Sequence[RunStep], position: int) -> bool:
    """Return whether the run has a step at this position and a tool gave it."""
    return position < len(steps) and steps[position].tool is not None


def _is_output(step: RunStep, reading: StepReading) -> bool:
    """Return whether a step is an answer of the surroundings, which no agent wrote.

    A page that a browsing agent shows begins as an answer does, and is that agent's
    act.
    """
    if step.tool is not None:
        return True
    return reading.is_result and not reading.text.lower().startswith("address:")


def _classify(
    readings: Sequence[StepReading], position: int, task: str
) -> FailureClass:
    """Return the kind of mistake of the step at this position."""
    reading = readings[position]
    if _is_model_down(readings, reading):
        return FailureClass.MODEL_UNAVAILABLE
    if position == 0:
        return _class_of_opening(reading, task)
    if reading.made_up:
        return FailureClass.MADE_UP_DATA
    if reading.has_code:
        return FailureClass.WRONG_CODE
    result = _result_before(readings, position)
    if result is not None and result.failed and not reading.repairs:
        return FailureClass.TOOL_ERROR_IGNORED
    return _class_of_prose(reading, follows_result=result is not None)


def _class_of_prose(reading: StepReading, *, follows_result: bool) -> FailureClass:
    """Return the kind of mistake of a step that states or asks something."""
    if reading.new_facts or reading.approves or signs.is_claim(reading):
        if follows_result:
            return FailureClass.WRONG_EXTRACTION
        return FailureClass.UNVERIFIED_ANSWER
    if reading.asks or reading.announces or reading.idle:
        return FailureClass.NO_ANSWER
    return FailureClass.OTHER


def _is_model_down(readings: Sequence[StepReading], reading: StepReading) -> bool:
    """Return whether a step, or the failed answer to it, says that no model answered."""
    if not reading.has_code:
        beginning = reading.text[:_ERROR_CHARACTERS]
        if signs.says(failure_patterns.MODEL_DOWN, beginning):
            return True
    if reading.answer is None:
        return False
    answer = readings[reading.answer]
    return answer.failed and signs.says(failure_patterns.MODEL_DOWN, answer.text)


def _class_of_opening(reading: StepReading, task: str) -> FailureClass:
    """Return the kind of mistake of the first step, which sets the plan."""
    if is_foreign(reading.text, task):
        return FailureClass.WRONG_PLAN
    if reading.has_code:
        return FailureClass.WRONG_CODE
    if reading.is_result:
        return FailureClass.OTHER
    return FailureClass.WRONG_PLAN


def _result_before(
    readings: Sequence[StepReading], position: int
) -> StepReading | None:
    """Return the last step before this one that is not idle, where it is a result."""
    for reading in reversed(readings[:position]):
        if not reading.idle:
            return reading if reading.is_result else None
    return None


def _evidence(
    steps: Sequence[RunStep],
    readings: Sequence[StepReading],
    position: int,
    failure_class: FailureClass,
) -> tuple[StepQuote, ...]:
    """Quote the step; then the error that followed, or that it passed over."""
    reading = readings[position]
    answer = reading.answer
    lines = [(position, _telling_line(reading, failure_class))]
    if failure_class is FailureClass.TOOL_ERROR_IGNORED:
        earlier = _failed_result_before(readings, position)
        lines.append((earlier, signs.failure_quote(readings[earlier].text)))
    elif answer is not None:
        text = readings[answer].text
        if readings[answer].failed:
            lines.append((answer, signs.failure_quote(text)))
        elif failure_class is FailureClass.WRONG_CODE:
            lines.append((answer, text.strip().splitlines()[-1]))
    quotes = []
    for quoted_position, line in lines:
        quote = one_line(line, QUOTE_CHARACTERS)
        if quote:
            quotes.append(StepQuote(steps[quoted_position].index, quote))
    return tuple(quotes)


def _failed_result_before(readings: Sequence[StepReading], position: int) -> int:
    """Return the position of the last failed result before this position."""
    return next(
        k
        for k in range(position - 1, -1, -1)
        if readings[k].is_result and readings[k].failed
    )


def _telling_line(reading: StepReading, failure_class: FailureClass) -> str:
    """Return the line that shows the fault.

    It is the made-up datum, the first working line of code, the new fact, or the
    longest line.
    """
    if failure_class is FailureClass.MADE_UP_DATA:
        return signs.made_up_quote(reading.text)
    if reading.has_code and failure_class is FailureClass.WRONG_CODE:
        return signs.code_quote(reading.text)
    if reading.new_facts and not reading.has_code:
        fact_position = reading.prose.lower().find(reading.new_facts[0])
        return signs.line_around(reading.prose, max(0, fact_position))
    lines = [line.strip() for line in reading.prose.splitlines()]
    return max(lines, key=len, default="")
