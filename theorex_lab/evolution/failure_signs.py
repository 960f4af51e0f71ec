"""Signs of a mistake in the steps of a run: what each step did, read from its text by
rules.

No sign looks at names of agents or at absolute positions, so that they mean the same in
runs of five steps and of fifty; only who asked, a user, is never at fault. Standard
library only.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from theorex_lab.core.errors import InvalidInput
from theorex_lab.evolution import failure_patterns as patterns

HEAD_CHARACTERS = 16_000
TAIL_CHARACTERS = 4_000
BRIEF_CHARACTERS = 250
_BEGINNING_CHARACTERS = 300
_ENDING_CHARACTERS = 220
_REQUEST_CHARACTERS = 300
_FOREIGN_SHARE = 0.7
_MIN_TASK_WORDS = 4
# A ridge shrinks the weight of a rare sign; what it says is certain enough to be told
# three times.
_FOREIGN_SCALE = 3.0

SIGNS = {sign.name: sign.about for sign in patterns.SIGNS}
WEIGHTS = {sign.name: sign.weight for sign in patterns.SIGNS}
_USERS = {"human", "user"}
_WORD = re.compile(r"\w+")
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")


@dataclass(frozen=True, slots=True)
class RunStep:
    """One step of a run.

    index: its number in the run, as the reader knows it.  agent: who took it.  text:
    what was said or came back. tool: the tool whose answer this is, None for what an
    agent said itself.  is_error: whether that answer is an error, None where it is not
    known and the text must tell.
    """

    index: int
    agent: str
    text: str
    tool: str | None = None
    is_error: bool | None = None


@dataclass(frozen=True, slots=True)
class StepReading:
    """What a step did. text: cut to its head and tail.  prose: without code.
    new_facts: those no earlier step held.

    of_user: said by who asked, no agent.  answer: the position of the tool's answer to
    this step, None without one.
    """

    text: str
    prose: str
    has_code: bool
    is_result: bool
    of_user: bool
    failed: bool
    idle: bool
    asks: bool
    announces: bool
    done: bool
    made_up: bool
    placeholder: bool
    approves: bool
    repairs: bool
    new_facts: tuple[str, ...]
    answer: int | None


def cut(text: str) -> str:
    """The head and tail of a text that is longer than 20,000 characters, else the text.

    >>> len(cut("a" * 1_000_000))
    20001
    """
    if len(text) <= HEAD_CHARACTERS + TAIL_CHARACTERS:
        return text
    return f"{text[:HEAD_CHARACTERS]}\n{text[-TAIL_CHARACTERS:]}"


def read_run(steps: Sequence[RunStep], task: str = "") -> list[StepReading]:
    """What each step did, in order; time grows with the length of the (cut) texts.

    Raises InvalidInput where there are no steps, or a step's agent or text is no
    string.
    """
    if not steps:
        raise InvalidInput("got a run of 0 steps; allowed is one or more")
    if wrong := [
        step
        for step in steps
        if not isinstance(step.text, str) or not isinstance(step.agent, str)
    ]:
        got = (
            f"agent {wrong[0].agent!r} and text of type {type(wrong[0].text).__name__}"
            f" in step {wrong[0].index!r}"
        )
        raise InvalidInput(f"got {got}; allowed are strings")
    texts = [cut(step.text) for step in steps]
    told = zip(steps, texts, strict=True)
    results = [
        step.tool is not None or bool(patterns.RESULT.match(text))
        for step, text in told
    ]
    known = set(_words(cut(task)))
    readings = []
    for position, (step, text) in enumerate(zip(steps, texts, strict=True)):
        new_facts = _new_facts(text, known) if position else ()
        known.update(_words(text))
        readings.append(
            _reading(
                step,
                text,
                results[position],
                new_facts,
                _answer(texts, results, position),
            )
        )
    return readings


def _reading(
    step: RunStep,
    text: str,
    is_result: bool,
    new_facts: tuple[str, ...],
    answer: int | None,
) -> StepReading:
    prose = patterns.CODE_BLOCK.sub(" ", text)
    return StepReading(
        text,
        prose,
        has_code="```" in text,
        is_result=is_result,
        of_user=step.agent.strip().lower() in _USERS,
        failed=(
            step.is_error
            if step.is_error is not None
            else is_result and says(patterns.FAILED, text)
        ),
        idle=_is_idle(text),
        asks=says(patterns.REQUEST, text[-_REQUEST_CHARACTERS:]),
        announces=says(patterns.ANNOUNCEMENT, prose[-_ENDING_CHARACTERS:]),
        done=says(patterns.DONE, text),
        made_up=says(patterns.MADE_UP, text),
        placeholder=says(patterns.PLACEHOLDER, text),
        approves="```" not in text and says(patterns.APPROVAL, text),
        repairs=says(patterns.REPAIR, text[:_BEGINNING_CHARACTERS]),
        new_facts=new_facts,
        answer=answer,
    )


def says(pattern: re.Pattern[str], text: str) -> bool:
    """Whether a pattern is found in a text."""
    return pattern.search(text) is not None


def candidates(readings: Sequence[StepReading]) -> list[int]:
    """Positions of the steps that can be at fault: what agents said; every step where
    they said nothing.
    """
    acting = [
        k
        for k, reading in enumerate(readings)
        if not (reading.is_result or reading.idle or reading.of_user)
    ]
    return acting or list(range(len(readings)))


def sign_values(
    readings: Sequence[StepReading], task: str = ""
) -> list[tuple[float, ...]]:
    """The values of `SIGNS`, in its order, for each of `candidates`."""
    positions = candidates(readings)
    later = [k for k in positions if k > 0]
    first_code = next((k for k in positions if readings[k].has_code), None)
    first_commitment = next(
        (k for k in later if readings[k].has_code or not readings[k].asks), None
    )
    first_claim = next((k for k in later if is_claim(readings[k])), None)
    foreign = is_foreign(readings[0].text, task)
    rows: list[tuple[float, ...]] = []
    for k in positions:
        reading = readings[k]
        rows.append(
            (
                _FOREIGN_SCALE * (k == 0 and foreign),
                float(k == 0 and reading.has_code and reading.answer is not None),
                float(k == first_code),
                float(k == first_commitment),
                float(k > 0 and reading.made_up),
                float(reading.placeholder),
                float(k == first_claim),
                math.log1p(len(reading.new_facts)),
                float(len(reading.text) < BRIEF_CHARACTERS),
                float(reading.approves),
                float(reading.repairs),
            )
        )
    return rows


def is_claim(reading: StepReading) -> bool:
    """Whether a step states new facts without code, without announcing more, and before
    the run is declared done.
    """
    return bool(reading.new_facts) and not (
        reading.has_code or reading.announces or reading.done
    )


def is_foreign(opening: str, task: str) -> bool:
    """Whether most words of the task are missing in the opening; False for a task of
    few words.

    >>> is_foreign(
    ...     "Exit code 1: unknown language. Debug the script.",
    ...     "Which country has the longest river of Europe?",
    ... )
    True
    """
    wanted = {word.lower() for word in _LONG_WORD.findall(cut(task))}
    held = {word.lower() for word in _LONG_WORD.findall(opening)}
    return len(wanted) >= _MIN_TASK_WORDS and len(wanted - held) > _FOREIGN_SHARE * len(
        wanted
    )


def made_up_quote(text: str) -> str:
    """The line that shows made-up data or a placeholder; empty without one."""
    found = patterns.MADE_UP.search(text) or patterns.PLACEHOLDER.search(text)
    return line_around(text, found.start()) if found else ""


def code_quote(text: str) -> str:
    """The first line of a text's code that is no comment, import or brief bracket; else
    its first line.
    """
    block = patterns.CODE_BLOCK.search(text)
    lines = (
        [line.strip() for line in block.group().strip("`").splitlines()[1:]]
        if block
        else []
    )
    idle = re.compile(r"#|//|import\b|from\b|def\b|class\b|\"\"\"")
    return next(
        iter(
            [line for line in lines if len(line) > 3 and not idle.match(line)] or lines
        ),
        "",
    )


def says_failed(text: str) -> bool:
    """Whether a tool's answer says by itself that the call failed.

    >>> says_failed("ValueError: no number"), says_failed("0 errors")
    (True, False)
    """
    return says(patterns.FAILED, text)


def failure_quote(text: str) -> str:
    """The line that says what failed, the last line of a traceback before all; empty
    without one.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = [
        line
        for line in lines
        if re.match(r"[\w.]{0,80}(?:Error|Exception|Timeout)\b", line)
    ]
    told = [
        line
        for line in lines
        if re.search(r"error|fail|not found|time(?:d )?out|denied|refused", line, re.I)
    ]
    return (named or told or lines or [""])[-1 if named else 0]


def line_around(text: str, position: int) -> str:
    """The line of a text that holds a position."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    return text[start : len(text) if end < 0 else end].strip()


def _is_idle(text: str) -> bool:
    return not text.strip() or text.strip().strip("*.").upper() == "TERMINATE"


def _answer(texts: Sequence[str], results: Sequence[bool], position: int) -> int | None:
    following = next(
        (k for k in range(position + 1, len(texts)) if not _is_idle(texts[k])), None
    )
    if following is None or results[position] or not results[following]:
        return None
    return (
        None if texts[following].lower().startswith("there is no code") else following
    )


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _new_facts(text: str, known: set[str]) -> tuple[str, ...]:
    """Numbers, names and quoted words of the prose that hold a word never seen before."""
    prose = patterns.CODE_BLOCK.sub(" ", text)
    found = dict.fromkeys(
        match.group().strip(' *"').lower() for match in patterns.CLAIM.finditer(prose)
    )
    return tuple(
        fact
        for fact in found
        if not says(patterns.FURNITURE, fact) and not known.issuperset(_words(fact))
    )
