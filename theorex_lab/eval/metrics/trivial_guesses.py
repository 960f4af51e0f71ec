"""Guesses of the decisive step that need no reading: what a review has to beat."""

import re
from collections import Counter
from collections.abc import Callable

from theorex_lab.eval.datasets.parsing import FailedRun

Guess = tuple[int, str]
_CODE = re.compile("```")
_ERROR_WORD = re.compile(r"\b(?:error|failed|exception|traceback)\b", re.I)


def first_code(run: FailedRun) -> Guess:
    """Return the first step that holds code, the opening without one."""
    return _at(run, _first_with(run, _CODE))


def before_first_error_word(run: FailedRun) -> Guess:
    """Return the step before the first that holds a word of an error.

    It is the opening where nothing goes before, or no step has such a word.
    """
    position = _first_with(run, _ERROR_WORD)
    return _at(run, max(0, position - 1))


def last_step(run: FailedRun) -> Guess:
    """Return the last step."""
    return _at(run, len(run.steps) - 1)


def first_step(run: FailedRun) -> Guess:
    """Return the first step."""
    return _at(run, 0)


def most_frequent_agent(run: FailedRun) -> Guess:
    """Return the agent with most steps, and its first; of as many who came first."""
    agents = [step.agent for step in run.steps]
    counts = Counter(agents)
    agent, _ = counts.most_common(1)[0]
    return agents.index(agent), agent


def _first_with(run: FailedRun, sign: re.Pattern[str]) -> int:
    """Return the position of the first step with a sign, 0 without one."""
    for position, step in enumerate(run.steps):
        if sign.search(step.text):
            return position
    return 0


def _at(run: FailedRun, position: int) -> Guess:
    """Return a step and who took it."""
    step = run.steps[position]
    return position, step.agent


TRIVIAL_GUESSES: dict[str, Callable[[FailedRun], Guess]] = {
    "first_code": first_code,
    "before_first_error_word": before_first_error_word,
    "last_step": last_step,
    "first_step": first_step,
    "most_frequent_agent": most_frequent_agent,
}
