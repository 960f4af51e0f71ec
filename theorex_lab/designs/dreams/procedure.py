"""Say a strategy as a procedure: its steps in words, those that several runs share."""

from collections.abc import Iterable
from typing import NamedTuple

from theorex_lab.designs.dreams.strategies import Strategy, StrategyStep
from theorex_lab.memory.briefing.step_words import step_in_words
from theorex_lab.text.line import one_line

MOST_SHOWN_STEPS = 12
_SHARED_FROM = 2  # runs from which a step has to be one of several
_FEWEST_SHARED = 2
_STEP_CHARACTERS = 200
_EDIT = "Edit "
_MOST_FILES = 3
_WORDS_OF_PROGRAM = 2
_CHECKS = ("Run the tests", "Check the code", "Format the code", "Build")


class ProcedureStep(NamedTuple):
    """Hold a step of a procedure.

    Attributes:
        text: The step in words.
        seen: How often it was done.
    """

    text: str
    seen: int


def procedure_steps(
    strategy: Strategy, most: int = MOST_SHOWN_STEPS
) -> list[ProcedureStep]:
    """Return the steps of a strategy in words, in their order.

    Of a strategy of several runs, they are the steps that were done at least twice,
    where there are two such steps. Its edits are one step, which names the files that
    were edited most; those of one run are one where they follow each other. Checks of
    one kind are one step. Of many, those done most often stay.

    Args:
        strategy: The strategy.
        most: How many at most.
    """
    steps = _with_checks_as_one(_distinct(_ordered(strategy)))
    shared = [step for step in steps if step.seen > 1]
    if strategy.runs >= _SHARED_FROM and len(shared) >= _FEWEST_SHARED:
        steps = _with_edits_as_one(shared)
    else:
        steps = _with_edits_in_a_row_as_one(steps)
    if len(steps) <= most:
        return steps
    by_times = sorted(range(len(steps)), key=lambda index: -steps[index].seen)
    most_done = sorted(by_times[:most])
    return [steps[index] for index in most_done]


def _with_checks_as_one(steps: list[ProcedureStep]) -> list[ProcedureStep]:
    """Return steps whose checks of one kind stand as the one done most, at its place."""
    most_by_kind: dict[str, ProcedureStep] = {}
    for step in steps:
        kind = _check_kind(step)
        most = most_by_kind.get(kind)
        if kind and (most is None or step.seen > most.seen):
            most_by_kind[kind] = step
    left = []
    for step in steps:
        kind = _check_kind(step)
        if not kind or most_by_kind[kind] is step:
            left.append(step)
    return left


def _check_kind(step: ProcedureStep) -> str:
    """Return what kind of check a step is, with its program; '' for another step."""
    kind, _, command = step.text.partition(" (`")
    if kind not in _CHECKS or ", then " in command:
        return ""
    program = " ".join(command.split()[:_WORDS_OF_PROGRAM])
    return f"{kind} {program}"


def _with_edits_in_a_row_as_one(steps: list[ProcedureStep]) -> list[ProcedureStep]:
    """Return steps in which edits that follow each other are one."""
    joined: list[ProcedureStep] = []
    edits: list[ProcedureStep] = []
    for step in steps:
        if step.text.startswith(_EDIT):
            edits.append(step)
            continue
        if edits:
            joined.append(_one_edit(edits))
            edits = []
        joined.append(step)
    if edits:
        joined.append(_one_edit(edits))
    return joined


def _with_edits_as_one(steps: list[ProcedureStep]) -> list[ProcedureStep]:
    """Return steps whose edits of single files stand as one, where the first stood."""
    edits = []
    others = []
    edit_index = 0
    for step in steps:
        if step.text.startswith(_EDIT):
            edits.append(step)
            continue
        others.append(step)
        # What checks an edit comes after it.
        if not edits and not step.text.startswith(_CHECKS):
            edit_index = len(others)
    if len(edits) <= 1:
        return steps
    merged = _one_edit(edits)
    return [
        *others[:edit_index],
        merged,
        *others[edit_index:],
    ]


def _one_edit(edits: list[ProcedureStep]) -> ProcedureStep:
    """Return edits as one, which names the files that were edited most."""
    by_times = sorted(edits, key=lambda step: -step.seen)
    files = []
    for step in by_times[:_MOST_FILES]:
        name = step.text.removeprefix(_EDIT)
        files.append(name)
    text = f"{_EDIT}{', '.join(files)}"
    if len(edits) > _MOST_FILES:
        text += " and others"
    return ProcedureStep(text, by_times[0].seen)


def _ordered(strategy: Strategy) -> Iterable[StrategyStep]:
    """Yield steps, each with what several runs did after it in its stead."""
    frequent = [branch for branch in strategy.branches if branch.step.seen > 1]
    for index in range(-1, len(strategy.steps)):
        if index >= 0:
            yield strategy.steps[index]
        for branch in frequent:
            if branch.after == index:
                yield branch.step


def _distinct(steps: Iterable[StrategyStep]) -> list[ProcedureStep]:
    """Return steps in words, each text once; a step without words stays out."""
    times_by_text: dict[str, int] = {}
    passing = ""
    for step in steps:
        text = step_in_words(step.action)
        if text:
            times = times_by_text.get(text, 0)
            times_by_text[text] = max(times, step.seen)
        elif not passing:
            passing = one_line(step.action, _STEP_CHARACTERS)
    if passing and not times_by_text:
        times_by_text[passing] = 1
    distinct = []
    for text, times in times_by_text.items():
        step_of_text = ProcedureStep(text, times)
        distinct.append(step_of_text)
    return distinct
