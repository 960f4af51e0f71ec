"""The decisive step of a failed run: the first mistake without which it might have succeeded, and by whom.

A step's score is a weighted sum of the signs of `failure_signs`; the highest is the finding. Deterministic, without a
language model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from theorex_lab.evolution.failure_signs import (
    Reading,
    Step,
    candidates,
    code_quote,
    failure_quote,
    is_claim,
    is_foreign,
    line_around,
    made_up_quote,
    read_run,
    sign_values,
)

__all__ = ["WEIGHTS", "Evidence", "FailureClass", "Finding", "Step", "find_decisive", "propose_fix"]

QUOTE_CHARACTERS = 200
FIX_CHARACTERS = 400
_FIX_QUOTE_CHARACTERS = 110
_NAME_CHARACTERS = 48
_ERROR_CHARACTERS = 2_000

# Conditional logit with a ridge of 3 on the 67 runs of Who&When whose question falls into the development half, by
# `python -c "from theorex_lab.experiments.failures import fit_weights; print(fit_weights())"`.
WEIGHTS: dict[str, float] = {
    "foreign_task": 0.79,
    "opening_run": 0.78,
    "first_code": 0.45,
    "first_commitment": 0.37,
    "made_up": 0.68,
    "placeholder": 0.46,
    "first_claim": 0.71,
    "new_facts": 0.53,
    "brief": -0.53,
    "approval": -0.35,
    "repair": -0.39,
}

_MODEL_DOWN = re.compile(
    r"ModelUnavailable|\brate[- ]limit|\bmodel unavailable\b"
    r"|\b(?:model|endpoint|llm|completion)s? (?:(?:is|was|are) )?"
    r"(?:unavailable|unreachable|not available|overloaded|timed out|did not (?:answer|respond))",
    re.I,
)


class FailureClass(StrEnum):
    """What kind of mistake the decisive step is.

    WRONG_PLAN           the plan is for another task, or leads elsewhere
    MADE_UP_DATA         data were assumed, simulated or remembered instead of looked up
    WRONG_CODE           code that failed or computed the wrong thing
    TOOL_ERROR_IGNORED   a tool answered with an error, and the run went on as if it had not
    WRONG_EXTRACTION     the tool's answer was there, and the wrong thing was read out of it
    UNVERIFIED_ANSWER    facts stated or confirmed without anything that backs them
    NO_ANSWER            asking, announcing or silence in place of work
    MODEL_UNAVAILABLE    the language model did not answer
    OTHER                none of these
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


# What went wrong, and what to do next time.
_LESSONS: dict[FailureClass, tuple[str, str]] = {
    FailureClass.WRONG_PLAN: ("set a plan that does not lead to the task", "restate the task and check that every step serves it"),
    FailureClass.MADE_UP_DATA: ("used made-up data", "fetch the real data, or say that they cannot be had, before computing on them"),
    FailureClass.WRONG_CODE: ("relied on code that was wrong", "inspect the input first and check the output against the task before building on it"),
    FailureClass.TOOL_ERROR_IGNORED: ("went on after an error", "mend the call or take another tool before drawing conclusions"),
    FailureClass.WRONG_EXTRACTION: ("read the wrong thing out of what came back", "quote the passage that answers the task and compare it with the conditions"),
    FailureClass.UNVERIFIED_ANSWER: ("stated facts that nothing in the run backs", "look them up with a tool and cite the source before answering"),
    FailureClass.NO_ANSWER: ("brought the task no further", "call a tool or give a result in the same step instead of asking or announcing"),
    FailureClass.MODEL_UNAVAILABLE: ("got no answer from the language model", "check that the endpoint is up and repeat the call before giving up"),
    FailureClass.OTHER: ("took the run off its way", "check this step's result against the task before going on"),
}  # fmt: skip


# Errors whose cure is known by their name; the first that fits.
_MENDABLE = {FailureClass.WRONG_CODE, FailureClass.MADE_UP_DATA, FailureClass.TOOL_ERROR_IGNORED}
_REMEDIES = tuple(
    (re.compile(sign, re.I), remedy)
    for sign, remedy in (
        (r"(?:output|stdout):\"$", "print what was found, and take an empty output for a failure"),
        (r"FileNotFound|no such file|cannot open|file .{0,40}not found", "check that the file is there, and fetch it before use"),
        (r"ModuleNotFound|No module named|command not found|not installed", "check what is installed, and take another way where it cannot be"),
        (r"NameError|is not defined|ImportError", "import or define every name before its use"),
        (r"KeyError|IndexError|AttributeError|not in (?:the )?index", "print the keys and types that are there before reading them"),
        (r"SyntaxError|IndentationError|unknown language", "send one clean block of code of a known language"),
        (r"\b40[13]\b|api.?key|denied|unauthori[sz]ed|not subscribed", "check the credentials first, or take a source that needs none"),
        (r"time(?:d )?.?out|ConnectionError|unreachable|refused", "split the call or take another source after the first timeout"),
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Evidence:
    """A quote of at most 200 characters on one line. step: the index of the step that it is from."""

    step: int
    quote: str


@dataclass(frozen=True, slots=True)
class Finding:
    """The step that decided a failure.

    step: its index.  agent: who took it.  confidence: 0..1, the chance the scores give it among all steps.
    scores: such a chance for each step, in order, summing to 1; 0 for answers of tools.
    """

    step: int
    agent: str
    failure_class: FailureClass
    confidence: float
    evidence: tuple[Evidence, ...]
    scores: tuple[float, ...]


def find_decisive(steps: Sequence[Step], *, task: str = "") -> Finding:
    """The step that most likely decided the failure; of equal ones the first.

    task: what the run was to do, where it is known.  Texts past 20,000 characters are cut to their head and tail.
    Raises InvalidInput for a run without steps, or with an agent or text that is no string.

    >>> steps = [
    ...     Step(0, "planner", "Find the height of the tower in the archive of the city."),
    ...     Step(1, "coder", "We cannot reach the archive, so let's assume the tower is 120 m high."),
    ...     Step(2, "checker", "I agree, 120 m is accurate. TERMINATE"),
    ... ]
    >>> found = find_decisive(steps)
    >>> found.step, found.agent, found.failure_class.value
    (1, 'coder', 'made_up_data')
    """
    readings = read_run(steps, task)
    positions = candidates(readings)
    raw = [math.fsum(w * x for w, x in zip(WEIGHTS.values(), row, strict=True)) for row in sign_values(readings, task)]
    highest = max(raw)
    mass = [math.exp(each - highest) for each in raw]
    total = math.fsum(mass)
    scores = [0.0] * len(steps)
    for position, each in zip(positions, mass, strict=True):
        scores[position] = each / total
    found = positions[raw.index(highest)]
    failure_class = _classify(readings, found, task)
    return Finding(
        step=steps[found].index,
        agent=steps[found].agent,
        failure_class=failure_class,
        confidence=scores[found],
        evidence=_evidence(steps, readings, found, failure_class),
        scores=tuple(scores),
    )


def propose_fix(finding: Finding, steps: Sequence[Step], task: str = "") -> str:
    """A sentence for the next run: what was done, what went wrong, what to do instead; one line, at most 400 characters.

    Words of the run and of the task stand in double quotes, cut, without markup or control characters.

    >>> steps = [Step(0, "coder", "```python\\nprint(total)\\n```"), Step(1, "python", "NameError: total", tool="python")]
    >>> propose_fix(find_decisive(steps), steps)
    'Step 0 by coder relied on code that was wrong with the tool python ("print(total)", then "NameError: total"); next time import or define every name before its use.'
    """
    wrong, instead = _LESSONS[finding.failure_class]
    quotes = [_plain(each.quote, _FIX_QUOTE_CHARACTERS) for each in finding.evidence[:2]]
    told = ", then ".join(f'"{each}"' for each in quotes if each)
    if finding.failure_class in _MENDABLE:
        instead = next((remedy for sign, remedy in _REMEDIES if sign.search(told)), instead)
    tool = next((each.tool for each in _from(steps, finding.step) if each.tool), None)
    by = f" with the tool {_name(tool)}" if tool else ""
    start = f"Step {finding.step} by {_name(finding.agent)} {wrong}{by}{f' ({told})' if told else ''}"
    sentence = f"{start}; next time {instead}."
    room = FIX_CHARACTERS - len(sentence) - len('In "", s') + 1
    about = _plain(task, min(room, _FIX_QUOTE_CHARACTERS)) if room > _NAME_CHARACTERS // 2 else ""
    return f'In "{about}", s{sentence[1:]}' if about else sentence


def _classify(readings: Sequence[Reading], found: int, task: str) -> FailureClass:
    each = readings[found]
    answer = readings[each.answer] if each.answer is not None else None
    before = next((readings[k] for k in range(found - 1, -1, -1) if not readings[k].idle), None)
    after_result = before is not None and before.is_result
    spoken = "" if each.has_code else each.text[:_ERROR_CHARACTERS]
    if _MODEL_DOWN.search(spoken) or (answer and answer.failed and _MODEL_DOWN.search(answer.text)):
        return FailureClass.MODEL_UNAVAILABLE
    if found == 0 and is_foreign(each.text, task):
        return FailureClass.WRONG_PLAN
    if each.made_up and found > 0:
        return FailureClass.MADE_UP_DATA
    if each.has_code:
        return FailureClass.WRONG_CODE
    if found == 0:
        return FailureClass.WRONG_PLAN if not each.is_result else FailureClass.OTHER
    if after_result and before is not None and before.failed and not each.repairs:
        return FailureClass.TOOL_ERROR_IGNORED
    if each.new_facts or each.approves or is_claim(each):
        return FailureClass.WRONG_EXTRACTION if after_result else FailureClass.UNVERIFIED_ANSWER
    if each.asks or each.announces or each.idle:
        return FailureClass.NO_ANSWER
    return FailureClass.OTHER


def _evidence(
    steps: Sequence[Step], readings: Sequence[Reading], found: int, failure_class: FailureClass
) -> tuple[Evidence, ...]:
    """What the step said; then the error that followed, or that it passed over."""
    each = readings[found]
    quoted = [(found, _telling_line(each, failure_class))]
    if failure_class is FailureClass.TOOL_ERROR_IGNORED:
        earlier = next(k for k in range(found - 1, -1, -1) if readings[k].is_result and readings[k].failed)
        quoted.append((earlier, failure_quote(readings[earlier].text)))
    elif each.answer is not None and readings[each.answer].failed:
        quoted.append((each.answer, failure_quote(readings[each.answer].text)))
    elif each.answer is not None and failure_class is FailureClass.WRONG_CODE:
        quoted.append((each.answer, readings[each.answer].text.strip().splitlines()[-1]))
    return tuple(Evidence(steps[k].index, _shortened(line, QUOTE_CHARACTERS)) for k, line in quoted if line)


def _telling_line(each: Reading, failure_class: FailureClass) -> str:
    """The line that shows the fault: the made-up datum, the first working line of code, the new fact, or the longest."""
    if failure_class is FailureClass.MADE_UP_DATA:
        return made_up_quote(each.text)
    if each.has_code and failure_class is FailureClass.WRONG_CODE:
        return code_quote(each.text)
    if each.new_facts and not each.has_code:
        return line_around(each.prose, max(0, each.prose.lower().find(each.new_facts[0])))
    return max((line.strip() for line in each.prose.splitlines()), key=len, default="")


def _from(steps: Sequence[Step], index: int) -> Sequence[Step]:
    """The step of this index and the one after it, whose tool answered."""
    start = next((k for k, each in enumerate(steps) if each.index == index), 0)
    return steps[start : start + 2]


def _shortened(text: str, n: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= n else line[: n - 1].rstrip() + "…"


def _plain(text: str, n: int) -> str:
    """One line of at most n characters without quotes, markup or control characters; a product of numbers keeps its sign."""
    kept = "".join(each if each.isprintable() else " " for each in text[: 20 * n])
    kept = re.sub(r"(?<=\d) ?\* ?(?=\d)", " × ", kept)
    return _shortened(re.sub(r"[\"`*#<>\[\]{}|\\]+", " ", kept), n)


def _name(text: str | None) -> str:
    return _plain(text or "", _NAME_CHARACTERS) or "an unnamed agent"
