"""The decisive step of a failed run, and who made it.

It is the first mistake without which the run might have succeeded.

The signs of `failure_signs` are read from every step, in a run that a conductor leads
those of `team_signs` too, and their weighted sums give each step a chance. In a run with
known tool calls the signs were measured to be worse than the last call, so that it is
given. A step is named where its chance is above one half; below that the decisive step
is not known, and the likeliest are given with their chances. Deterministic,
without a language model.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import add, mul
from typing import NamedTuple

from theorex_lab.evolution import failure_patterns
from theorex_lab.evolution import failure_signs as signs
from theorex_lab.evolution.failure_signs import (
    SHARPNESS,
    WEIGHTS,
    RunStep,
    StepReading,
    candidates,
    is_foreign,
)
from theorex_lab.evolution.team_signs import TeamRun
from theorex_lab.text.line import one_line

__all__ = [
    "WEIGHTS",
    "DecisiveStep",
    "FailureClass",
    "RunStep",
    "StepQuote",
    "find_decisive",
]

# How often the last call is the labelled step: in about three runs of as many as a run
# has calls, and at most in .62. Read off all 102 of tau-bench's failures with calls, so
# that no other runs confirm it (tests/helpers/decisive_standins.py).
LAST_CALL_SHARE = 0.62
LAST_CALL_RUNS = 3.0
KNOWN_FROM = 0.5  # above it a step is the decisive one more likely than not
LIKELY_STEPS = 3
# An agent's chances are summed by this power, between the likeliest step alone and the
# mere number of steps. Chosen on the development half of Who&When.
_AGENT_POWER = 2.0
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


class LikelyStep(NamedTuple):
    """A step and the chance that it is the decisive one.

    Attributes:
        step: Its index.
        chance: 0..1.
    """

    step: int
    chance: float


@dataclass(frozen=True, slots=True)
class DecisiveStep:
    """The step that most likely decided a failure.

    Attributes:
        step: Its index.
        agent: Who most likely made the mistake. Where the step is not known it need not
            be who took that step.
        confidence: 0..1, the chance that this step is the decisive one.
        scores: Such a chance for each step, in order, summing to 1; 0 for answers of
            tools.
        likely_steps: The likeliest steps with their chances, the likeliest first: at
            most three, and after the first none that is no likelier than the mean.
    """

    step: int
    agent: str
    failure_class: FailureClass
    confidence: float
    evidence: tuple[StepQuote, ...]
    scores: tuple[float, ...]
    likely_steps: tuple[LikelyStep, ...] = ()

    @property
    def is_known(self) -> bool:
        """Return whether the step is the decisive one more likely than not."""
        return self.confidence > KNOWN_FROM


def likely_words(likely_steps: Sequence[LikelyStep]) -> str:
    """Return steps and their chances in words.

    >>> likely_words([LikelyStep(4, 0.31), LikelyStep(2, 0.2), LikelyStep(7, 0.1)])
    'step 4 (31 %), 2 (20 %) or 7 (10 %)'
    """
    words = []
    for likely in likely_steps:
        percent = round(likely.chance * 100)
        words.append(f"{likely.step} ({percent} %)")
    last = words.pop()
    if not words:
        return f"step {last}"
    return f"step {', '.join(words)} or {last}"


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
    if any(step.tool is not None for step in steps):
        chances = _chances_of_last_call(steps, readings)
    else:
        chances = _chances_by_signs(steps, readings, task)
    ranking = sorted(chances, key=lambda position: (-chances[position], position))
    position = ranking[0]
    failure_class = _classify(readings, position, task)
    evidence = _evidence(steps, readings, position, failure_class)
    scores = [chances.get(k, 0.0) for k in range(len(steps))]
    return DecisiveStep(
        steps[position].index,
        _likely_agent(steps, chances),
        failure_class,
        chances[position],
        evidence,
        tuple(scores),
        _likely_steps(steps, chances, ranking),
    )


def _likely_steps(
    steps: Sequence[RunStep], chances: Mapping[int, float], ranking: Sequence[int]
) -> tuple[LikelyStep, ...]:
    """Return the likeliest steps, of those that are likelier than the mean."""
    mean_chance = 1 / len(chances)
    likely_steps: list[LikelyStep] = []
    for position in ranking[:LIKELY_STEPS]:
        chance = chances[position]
        if not likely_steps or chance > mean_chance:
            likely_steps.append(LikelyStep(steps[position].index, chance))
    return tuple(likely_steps)


def _likely_agent(steps: Sequence[RunStep], chances: Mapping[int, float]) -> str:
    """Return who most likely made the mistake.

    Of agents that are as likely, who took the likeliest step comes first, then who came
    first.
    """
    weights: dict[str, float] = {}
    best_chances: dict[str, float] = {}
    for position, chance in sorted(chances.items()):
        agent = steps[position].agent
        weights[agent] = weights.get(agent, 0.0) + chance**_AGENT_POWER
        best_chances[agent] = max(best_chances.get(agent, 0.0), chance)
    return max(weights, key=lambda agent: (weights[agent], best_chances[agent]))


def _chances_by_signs(
    steps: Sequence[RunStep], readings: Sequence[StepReading], task: str
) -> dict[int, float]:
    """Return the chance of each position by a conditional logit."""
    positions = candidates(readings)
    weights = list(WEIGHTS.values())
    sums = []
    for values in signs.sign_values(readings, task):
        weighted = map(mul, weights, values)
        sums.append(SHARPNESS * math.fsum(weighted))
    if signs.is_led(readings):
        team = TeamRun(steps, readings, positions, task)
        sums = list(map(add, sums, team.sums()))
    highest = max(sums)
    masses = [math.exp(value - highest) for value in sums]
    total = math.fsum(masses)
    chances = [mass / total for mass in masses]
    return dict(zip(positions, chances, strict=True))


def _chances_of_last_call(
    steps: Sequence[RunStep], readings: Sequence[StepReading]
) -> dict[int, float]:
    """Return the chance of each position, the last call first.

    It has the measured share, which falls with the number of calls. The rest is spread
    evenly over the other candidates.
    """
    last = _last_call(steps, readings)
    n_calls = max(1, sum(step.tool is not None for step in steps))
    measured_share = min(LAST_CALL_SHARE, LAST_CALL_RUNS / n_calls)
    others = [position for position in candidates(readings) if position != last]
    if not others:
        return {last: 1.0}
    share = max(measured_share, 1 / (1 + len(others)))
    chances = dict.fromkeys(others, (1 - share) / len(others))
    chances[last] = share
    return chances


def _last_call(steps: Sequence[RunStep], readings: Sequence[StepReading]) -> int:
    """Return the position of the last call of a tool, else of the last message."""
    last_message = len(steps) - 1
    last_call = None
    for position, (step, reading) in enumerate(zip(steps, readings, strict=True)):
        if reading.of_user or _is_output(step, reading):
            continue
        last_message = position
        if _is_tool_answer(steps, position + 1):
            last_call = position
    return last_message if last_call is None else last_call


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
        if signs.is_checked_by_hand(reading.text):
            return FailureClass.UNVERIFIED_ANSWER
        return FailureClass.MADE_UP_DATA
    if reading.has_code:
        return FailureClass.WRONG_CODE
    result = _result_before(readings, position)
    if result is not None and result.failed and not reading.repairs:
        return FailureClass.TOOL_ERROR_IGNORED
    return _class_of_prose(reading, follows_result=result is not None)


def _class_of_prose(reading: StepReading, *, follows_result: bool) -> FailureClass:
    """Return the kind of mistake of a step that states or asks something.

    A step whose facts stand in sentences that ask or announce states none.
    """
    if reading.approves or _states(reading):
        if follows_result:
            return FailureClass.WRONG_EXTRACTION
        return FailureClass.UNVERIFIED_ANSWER
    if reading.asks or reading.announces or reading.idle:
        return FailureClass.NO_ANSWER
    return FailureClass.OTHER


def _states(reading: StepReading) -> bool:
    """Return whether a step states new facts, outside of what it asks or announces."""
    if not reading.new_facts:
        return False
    return not reading.announces or signs.stated_line(reading) != ""


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
        line = signs.stated_line(reading)
        if line:
            return line
    lines = [line.strip() for line in reading.prose.splitlines()]
    return max(lines, key=len, default="")
