"""Say a strategy as a procedure: its steps in words, those that several runs share."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from theorex_lab.designs.dreams.strategies import Strategy, StrategyStep
from theorex_lab.memory.briefing.step_words import step_phrases
from theorex_lab.text.line import one_line

MOST_SHOWN_STEPS = 12
_SHARED_FROM = 2  # runs from which a step has to be one of several
_FEWEST_SHARED = 2
_STEP_CHARACTERS = 200
_EDIT = "Edit "
_RUN = "Run"
_MOST_FILES = 3
_CHECKS = ("Run the tests", "Check the code", "Format the code", "Build")
_WORDS_OF_CHECK = 2


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
    where there are two such steps. What differs only in its options or its target is
    one step. Where the work was checked, all edits are one step before the first check,
    which names the files that were edited most; else those that follow each other are
    one. Of many, those done most often stay.

    Args:
        strategy: The strategy.
        most: How many at most.
    """
    steps = _with_variants_as_one(strategy)
    shared = [step for step in steps if step.seen > 1]
    if strategy.runs >= _SHARED_FROM and len(shared) >= _FEWEST_SHARED:
        steps = shared
    if any(step.text.startswith(_CHECKS) for step in steps):
        steps = _with_edits_as_one(steps)
    else:
        steps = _with_edits_in_a_row_as_one(steps)
    if len(steps) <= most:
        return steps
    by_times = sorted(range(len(steps)), key=lambda index: -steps[index].seen)
    most_done = sorted(by_times[:most])
    return [steps[index] for index in most_done]


def _with_variants_as_one(strategy: Strategy) -> list[ProcedureStep]:
    """Return steps whose variants stand as the one done most, where the first stood.

    How often it was done counts all of them, at most once a run.
    """
    most_done: dict[str, ProcedureStep] = {}
    for step in _distinct(_ordered(strategy)):
        key = _without_variants(step.text)
        most = most_done.setdefault(key, step)
        if step.seen > most.seen:
            most_done[key] = step
    every_step = [branch.step for branch in strategy.branches]
    every_step += strategy.steps
    times = Counter[str]()
    for step in _distinct(every_step):
        times[_without_variants(step.text)] += step.seen
    joined = []
    for key, step in most_done.items():
        n_done = min(strategy.runs, times[key])
        joined.append(step._replace(seen=max(step.seen, n_done)))
    return joined


def _without_variants(text: str) -> str:
    """Return a step without the options and the target of its command.

    >>> _without_variants("Run the tests (`bun test <file>`)")
    'Run the tests bun test'
    >>> _without_variants("Run `till orders get <number> --json`")
    'Run till orders get'
    """
    kind, _, command = text.rstrip("`)").partition("`")
    kind = kind.rstrip("( ")
    words = command.split()
    if kind in _CHECKS:
        words = words[:_WORDS_OF_CHECK]
    elif kind != _RUN:
        return text
    name: list[str] = []
    for word in words:
        if word.startswith(("-", "<", ".")) and name:
            break
        name.append(word)
    return " ".join([kind, *name])


def _with_edits_as_one(steps: Sequence[ProcedureStep]) -> list[ProcedureStep]:
    """Return steps whose edits are one, before the first check or where one stood."""
    edits = []
    others: list[ProcedureStep] = []
    edit_index = None
    for step in steps:
        is_edit = step.text.startswith(_EDIT)
        if edit_index is None and (is_edit or step.text.startswith(_CHECKS)):
            edit_index = len(others)
        if is_edit:
            edits.append(step)
        else:
            others.append(step)
    if not edits:
        return others
    before = others[:edit_index]
    after = others[edit_index:]
    return [
        *before,
        _one_edit(edits),
        *after,
    ]


def _with_edits_in_a_row_as_one(steps: Iterable[ProcedureStep]) -> list[ProcedureStep]:
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


def _one_edit(edits: Sequence[ProcedureStep]) -> ProcedureStep:
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
        phrases = step_phrases(step.action)
        for text in phrases:
            times = times_by_text.get(text, 0)
            times_by_text[text] = max(times, step.seen)
        if not phrases and not passing:
            passing = one_line(step.action, _STEP_CHARACTERS)
    if passing and not times_by_text:
        times_by_text[passing] = 1
    distinct = []
    for text, times in times_by_text.items():
        step_of_text = ProcedureStep(text, times)
        distinct.append(step_of_text)
    return distinct
