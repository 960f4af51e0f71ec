"""Signs of a mistake in the steps of a run.

What each step did is read from its text by rules.

No sign looks at names of agents or at absolute positions, so that they mean the same in
runs of five steps and of fifty; only who asked, a user, is never at fault. Standard
library only.
"""

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.patterns import lazy_pattern
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
# What the signs are worth, as `theorex_lab.eval.metrics.decisive_fit` learned it.
_LEARNED = json.loads(
    (Path(__file__).parent / "decisive_weights.json").read_text(encoding="utf-8")
)
WEIGHTS: dict[str, float] = _LEARNED["weights"]
# The sums of a run are multiplied by it, so that chances are as often right as they say.
SHARPNESS: float = _LEARNED["sharpness"]
_USERS = {"human", "user"}
# Modes of a conductor in which it notes the end of a run.
_RECORD_MODES = {"termination condition"}
_WORD = lazy_pattern(r"\w+")
_LONG_WORD = lazy_pattern(r"[^\W\d_]{4,}")
_IDLE_CODE = lazy_pattern(r"#|//|import\b|from\b|def\b|class\b|\"\"\"")
_ERROR_NAME = lazy_pattern(r"[\w.]{0,80}(?:Error|Exception|Timeout)\b")
_FAILURE_WORD = lazy_pattern(
    r"error|fail|not found|time(?:d )?out|denied|refused", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class RunStep:
    """One step of a run.

    Attributes:
        index: Its number in the run, as the reader knows it.
        agent: Who took it.
        text: What the agent wrote, or what the tool answered.
        tool: The tool whose answer this is, None for what an agent wrote itself.
        is_error: Whether that answer is an error, None where the text must tell.
        address: To whom a conductor of a team speaks, or in which mode, as its
            framework wrote it: `-> WebSurfer`, `thought`; '' in other runs.
    """

    index: int
    agent: str
    text: str
    tool: str | None = None
    is_error: bool | None = None
    address: str = ""

    @property
    def directs(self) -> bool:
        """Return whether the step tells another agent what to do."""
        return self.address.startswith("->")


@dataclass(frozen=True, slots=True)
class StepReading:
    """What a step did.

    Attributes:
        text: The text, cut to its head and tail.
        prose: The agent's own words: the text without code and shown pages.
        of_user: Whether the user wrote it, and no agent.
        is_page: Whether it shows a page that an agent opened.
        is_record: Whether a conductor of a team notes how the run goes.
        stalls: Whether such a note says that the run does not get on.
        directs: Whether a conductor tells another agent what to do.
        new_facts: The facts that no earlier step held.
        answer: The position of the tool's answer to this step, None without one.
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
    is_page: bool = False
    is_record: bool = False
    stalls: bool = False
    directs: bool = False


def cut(text: str) -> str:
    """Return the head and tail of a text longer than 20,000 characters, else the text.

    >>> len(cut("a" * 1_000_000))
    20001
    """
    if len(text) <= HEAD_CHARACTERS + TAIL_CHARACTERS:
        return text
    return f"{text[:HEAD_CHARACTERS]}\n{text[-TAIL_CHARACTERS:]}"


def read_run(steps: Sequence[RunStep], task: str = "") -> list[StepReading]:
    """Return what each step did, in order.

    Time grows with the length of the (cut) texts.

    Raises:
        InvalidInput: Where there are no steps, or a step's agent or text is no string.
    """
    _check_steps(steps)
    texts = [cut(step.text) for step in steps]
    results = [_is_result(step, text) for step, text in zip(steps, texts, strict=True)]
    earlier_words = set(step_words(cut(task)))
    is_opened = False
    readings = []
    for position, (step, text) in enumerate(zip(steps, texts, strict=True)):
        new_facts: tuple[str, ...] = ()
        if is_opened and not says(patterns.PLAN, text):
            new_facts = _new_facts(_without_page(text), earlier_words)
        is_opened = is_opened or not _is_user(step.agent)
        earlier_words.update(step_words(text))
        answer = _answer(texts, results, position)
        readings.append(
            _reading(
                step,
                text,
                results[position],
                new_facts,
                answer,
            )
        )
    return readings


def _check_steps(steps: Sequence[RunStep]) -> None:
    """Raise InvalidInput for a run without steps, and for a step without texts."""
    if not steps:
        raise InvalidInput("got a run of 0 steps; allowed is one or more")
    wrong = [
        step
        for step in steps
        if not isinstance(step.text, str) or not isinstance(step.agent, str)
    ]
    if wrong:
        step = wrong[0]
        got = (
            f"agent {step.agent!r} and text of type {type(step.text).__name__}"
            f" in step {step.index!r}"
        )
        raise InvalidInput(f"got {got}; allowed are strings")


def _is_result(step: RunStep, text: str) -> bool:
    """Return whether a step is a tool's answer, or reads like one."""
    return step.tool is not None or bool(patterns.RESULT.match(text))


def _reading(
    step: RunStep,
    text: str,
    is_result: bool,
    new_facts: tuple[str, ...],
    answer: int | None,
) -> StepReading:
    """Return what one step did, by the patterns that its text matches."""
    own_text = _without_page(text)
    prose = patterns.CODE_BLOCK.sub(" ", own_text)
    has_code = "```" in own_text
    is_record = (
        step.address in _RECORD_MODES
        or says(patterns.LEDGER, text)
        or says(patterns.NOTE, text)
    )
    if step.is_error is not None:
        failed = step.is_error
    else:
        failed = is_result and says(patterns.FAILED, text)
    return StepReading(
        text,
        prose,
        has_code=has_code,
        is_result=is_result,
        of_user=_is_user(step.agent),
        failed=failed,
        idle=_is_idle(text),
        asks=says(patterns.REQUEST, text[-_REQUEST_CHARACTERS:]),
        announces=says(patterns.ANNOUNCEMENT, prose[-_ENDING_CHARACTERS:]),
        done=says(patterns.DONE, own_text),
        made_up=says(patterns.MADE_UP, own_text),
        placeholder=says(patterns.PLACEHOLDER, own_text),
        approves=not has_code and says(patterns.APPROVAL, own_text),
        repairs=says(patterns.REPAIR, text[:_BEGINNING_CHARACTERS]),
        new_facts=new_facts,
        answer=answer,
        is_page=step.tool is None and text.lower().startswith("address:"),
        is_record=is_record,
        stalls=is_record and says(patterns.STALLED, text),
        directs=step.directs,
    )


def _is_user(agent: str) -> bool:
    return agent.strip().lower() in _USERS


def _without_page(text: str) -> str:
    """Return what an agent writes itself, before the page that it shows."""
    page = patterns.PAGE.search(text)
    return text if page is None else text[: page.start()]


def says(pattern: re.Pattern[str], text: str) -> bool:
    """Return whether a text matches a pattern anywhere."""
    return pattern.search(text) is not None


def opening_position(readings: Sequence[StepReading]) -> int:
    """Return the position of the first step that no user wrote, 0 without one."""
    for position, reading in enumerate(readings):
        if not reading.of_user:
            return position
    return 0


def is_led(readings: Sequence[StepReading]) -> bool:
    """Return whether a conductor leads the run: it directs, or keeps a ledger."""
    return any(reading.directs or reading.is_record for reading in readings)


def candidates(readings: Sequence[StepReading]) -> list[int]:
    """Return the positions of the steps that can be at fault.

    These are the messages of agents, or every step where agents wrote nothing. In a run
    that a conductor leads, pages count as the act of who opened them, and the
    conductor's notes do not: what it decides stands in its plans and instructions.
    """
    led = is_led(readings)
    acting = []
    for position, reading in enumerate(readings):
        is_output = reading.is_result and not (led and reading.is_page)
        if is_output or reading.idle or reading.of_user or reading.is_record:
            continue
        acting.append(position)
    return acting or list(range(len(readings)))


def sign_values(
    readings: Sequence[StepReading], task: str = ""
) -> list[tuple[float, ...]]:
    """Return the values of `SIGNS`, in its order, for each of `candidates`."""
    positions = candidates(readings)
    opening = opening_position(readings)
    later = [position for position in positions if position > opening]
    first_code = _first_position(readings, positions, _has_code)
    first_commitment = _first_position(readings, later, _is_commitment)
    first_claim = _first_position(readings, later, is_claim)
    foreign = is_foreign(readings[opening].text, task)
    rows: list[tuple[float, ...]] = []
    for position in positions:
        reading = readings[position]
        is_first = position == opening
        is_answered_code = reading.has_code and reading.answer is not None
        row = (
            _FOREIGN_SCALE * (is_first and foreign),
            float(is_first and is_answered_code),
            float(position == first_code),
            float(position == first_commitment),
            float(not is_first and reading.made_up),
            float(reading.placeholder),
            float(position == first_claim),
            math.log1p(len(reading.new_facts)),
            float(len(reading.text) < BRIEF_CHARACTERS),
            float(reading.approves),
            float(reading.repairs),
            float(_is_doubted(readings, position)),
        )
        rows.append(row)
    return rows


def _is_doubted(readings: Sequence[StepReading], position: int) -> bool:
    """Return whether the next act names a problem, or records that nothing moves.

    A call that failed does not count: its error is a sign of its own.
    """
    answer = readings[position].answer
    if answer is not None and readings[answer].failed:
        return False
    for reading in readings[position + 1 :]:
        if reading.idle or reading.of_user or reading.is_result:
            continue
        if reading.is_record:
            return reading.stalls
        return reading.repairs
    return False


def _first_position(
    readings: Sequence[StepReading],
    positions: Sequence[int],
    condition: Callable[[StepReading], bool],
) -> int | None:
    """Return the first position whose reading meets the condition, None without one."""
    for position in positions:
        if condition(readings[position]):
            return position
    return None


def _has_code(reading: StepReading) -> bool:
    return reading.has_code


def _is_commitment(reading: StepReading) -> bool:
    """Return whether a step does something, rather than only asks."""
    return reading.has_code or not reading.asks


def is_claim(reading: StepReading) -> bool:
    """Return whether a step states new facts in prose while the run goes on.

    A step with code, an announcement of more work, or the end of the run is no claim.
    """
    if not reading.new_facts:
        return False
    return not (reading.has_code or reading.announces or reading.done)


def is_foreign(opening: str, task: str) -> bool:
    """Return whether most words of the task are missing in the opening.

    It is False for a task of few words.

    >>> is_foreign(
    ...     "Exit code 1: unknown language. Debug the script.",
    ...     "Which country has the longest river of Europe?",
    ... )
    True
    """
    task_words = _long_words(cut(task))
    if len(task_words) < _MIN_TASK_WORDS:
        return False
    missing_words = task_words - _long_words(opening)
    return len(missing_words) > _FOREIGN_SHARE * len(task_words)


def _long_words(text: str) -> set[str]:
    return {word.lower() for word in _LONG_WORD.findall(text)}


def made_up_quote(text: str) -> str:
    """Return the line that shows made-up data or a placeholder; empty without one."""
    match = patterns.MADE_UP.search(text) or patterns.PLACEHOLDER.search(text)
    return line_around(text, match.start()) if match else ""


def is_checked_by_hand(text: str) -> bool:
    """Return whether a text's first sign of made-up data is a check by hand.

    >>> is_checked_by_hand("I will do a manual verification of the list.")
    True
    """
    match = patterns.MADE_UP.search(text)
    return match is not None and match.group().lower().startswith("manual")


def stated_line(reading: StepReading) -> str:
    """Return the first line with a new fact that neither asks nor announces.

    It is '' where there is none.
    """
    for line in reading.prose.splitlines():
        if says(patterns.REQUEST, line) or says(patterns.ANNOUNCEMENT, line):
            continue
        lowered = line.lower()
        for fact in reading.new_facts:
            if fact in lowered:
                return line.strip()
    return ""


def code_quote(text: str) -> str:
    """Return the first working line of a text's code, else the first line of the code.

    A comment, an import, a definition or a brief bracket is no working line.
    """
    block = patterns.CODE_BLOCK.search(text)
    if block is None:
        return ""
    lines = [line.strip() for line in block.group().strip("`").splitlines()[1:]]
    for line in lines:
        if len(line) > 3 and not _IDLE_CODE.match(line):
            return line
    return lines[0] if lines else ""


def says_failed(text: str) -> bool:
    """Return whether a tool's answer says by itself that the call failed.

    >>> says_failed("ValueError: no number"), says_failed("0 errors")
    (True, False)
    """
    return says(patterns.FAILED, text)


def failure_quote(text: str) -> str:
    """Return the line that says what failed; empty without one.

    It is the last line that begins with the name of an error, else the first that
    reports a failure, else the first line.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    for line in reversed(lines):
        if _ERROR_NAME.match(line):
            return line
    for line in lines:
        if _FAILURE_WORD.search(line):
            return line
    return lines[0]


def line_around(text: str, position: int) -> str:
    """Return the line of a text that holds a position."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    if end < 0:
        end = len(text)
    return text[start:end].strip()


def _is_idle(text: str) -> bool:
    """Return whether a step is blank, or only ends the run."""
    stripped = text.strip()
    return not stripped or stripped.strip("*.").upper() == "TERMINATE"


def _answer(
    texts: Sequence[str],
    results: Sequence[bool],
    position: int,
) -> int | None:
    """Return the position of the result that answers a step, None without one.

    It is the next step that is not idle, where the step itself is no result. An answer
    that only says that no code was given counts as none.
    """
    if results[position]:
        return None
    for later in range(position + 1, len(texts)):
        if _is_idle(texts[later]):
            continue
        is_empty_answer = texts[later].lower().startswith("there is no code")
        return later if results[later] and not is_empty_answer else None
    return None


def step_words(text: str) -> list[str]:
    """Return the words and numbers of a text, in lower case."""
    return _WORD.findall(text.lower())


def _new_facts(text: str, earlier_words: set[str]) -> tuple[str, ...]:
    """Return the numbers, names and quoted words of the prose that hold a new word."""
    prose = patterns.CODE_BLOCK.sub(" ", text)
    facts = dict.fromkeys(
        match.group().strip(' *"').lower() for match in patterns.CLAIM.finditer(prose)
    )
    return tuple(
        fact
        for fact in facts
        if not says(patterns.FURNITURE, fact)
        and not earlier_words.issuperset(step_words(fact))
    )
