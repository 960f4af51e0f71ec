"""Read a trajectory by rules alone.

They say which actions counted, what failed, and what worked instead.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from theorex_lab.designs.dreams import Ended, Fault, patterns
from theorex_lab.designs.dreams.trajectories import TEXTS, CapturedAction, Trajectory
from theorex_lab.evolution.decisive import find_decisive
from theorex_lab.evolution.failure_signs import RunStep, failure_quote, says_failed
from theorex_lab.memory.briefing.step_words import step_in_words
from theorex_lab.memory.briefing.tool_failures import cut_commands
from theorex_lab.text.line import one_line

MOST_STEPS = 40
MOST_LESSONS = 8
CONFIDENCE = {
    "success": 1.0,
    "partial": 0.6,
    "unknown": 0.5,
    "aborted": 0.3,
    "failure": 0.2,
}
_MOST_NAMED = 6
_MOST_KINDS = 40
_DECISIVE_AMONG = 20
_INSTEAD_WITHIN = 200
_SHOWN_CHARACTERS = 130
_VALUE_CHARACTERS = 60
_LESSON_CHARACTERS = 400
_READ_CHARACTERS = 2_000
# share of words that an action has in common with the one that worked instead of it
_ALIKE = 0.6
_TALK = "talking"
Values = Mapping[tuple[str, int], str]  # by name, and how many of the name came before
# A sentence, its fault class, and whose words it is told in.
Lesson = tuple[str, str, str]
# Words of a fault class; the first that fits.
_FAULTS = {
    "timeout": re.compile(r"time(?:d )?[- ]?out|deadline|took too long", re.I),
    "physical_slip": re.compile(
        r"\bslip(?:ped|s|ping)?\b|lost (?:its )?grip|wheel ?spin", re.I
    ),
    "mechanical_stall": re.compile(
        r"\bstall(?:ed|s|ing)?\b|motor (?:jam|stuck)|over-?current", re.I
    ),
    "vlm_hallucination": re.compile(
        r"hallucinat|not in the (?:image|frame|picture)", re.I
    ),
    "lighting_glare": re.compile(r"\bglare\b|over-?exposed|too (?:dark|bright)", re.I),
    "command_lost": re.compile(
        r"command (?:was )?lost|no ack|packet loss|link (?:was )?lost", re.I
    ),
    "sensor_occlusion": re.compile(
        r"occlu(?:ded|sion)|sensor (?:is |was )?blocked", re.I
    ),
}


def went_wrong(action: CapturedAction) -> bool:
    """Return whether an action failed.

    It is recorded so, its result states an exit code or, where nothing is known, an
    error. A change that the user refused is one too; a question or a plan that they
    refused still tells what was meant.
    """
    if action.ok is False or patterns.STATED.match(action.result):
        return True
    if action.changed and patterns.REFUSED.match(action.result):
        return True
    if action.ok is not None:
        return False
    start = action.result[:_SHOWN_CHARACTERS].strip()
    first_line, _, _ = start.partition("\n")
    return says_failed(first_line)


def critical_of(actions: Sequence[CapturedAction], goal: str = "") -> tuple[int, ...]:
    """Return the indices of the actions that did their work and changed something.

    Of actions that are the same the last one counts. A call that only looked is among
    them where it tells or asks with an id that a later change was given, and the goal
    does not name. Where none changed anything, they are those that did their work, the
    first of the same. Of many, they are the first and the last 20. Shell lines are the
    same where they say the same in words; those that only echo or try are none.

    Args:
        actions: The actions of a trajectory.
        goal: What they were for.
    """
    sound = []
    telling = []
    for index, action in enumerate(actions):
        if went_wrong(action):
            continue
        sound.append(index)
        if not _is_passing(action):
            telling.append(index)
    sound = telling or sound
    sound.reverse()
    order = _changes_and_lookups(actions, sound, goal)
    if not any(actions[index].changed for index in order):
        order = sound
    # A later entry takes the place of an earlier one of the same action.
    index_by_action = {_words_of(actions[index]): index for index in order}
    indices = sorted(index_by_action.values())
    if len(indices) > MOST_STEPS:
        half = MOST_STEPS // 2
        indices = indices[:half] + indices[-half:]
    return tuple(indices)


def _is_passing(action: CapturedAction) -> bool:
    """Return whether an action of a tool only looks, echoes or tries, or tells nothing."""
    if not action.changed or not action.tool:
        return False
    return not step_in_words(action.action)


def _is_shell_line(action: CapturedAction) -> bool:
    """Return whether an action is a line that a tool gave to a shell."""
    if not action.tool or patterns.NAMED.match(action.action):
        return False
    return not action.action.startswith(f"{action.tool} ")


def _words_of(action: CapturedAction) -> str:
    """Return by what actions are the same: a shell line's words, else the action."""
    if _is_shell_line(action):
        return step_in_words(action.action) or action.action
    return action.action


def _changes_and_lookups(
    actions: Sequence[CapturedAction], sound_backwards: Iterable[int], goal: str
) -> list[int]:
    """Return, in order, the indices of changes and of lookups that a change needed."""
    order = list[int]()
    needed_ids = set[str]()
    for index in sound_backwards:
        action = actions[index]
        name, values = call_of(action.action)
        call_ids = {value for value in values.values() if patterns.ID.fullmatch(value)}
        if action.changed:
            new_ids = call_ids - _ids(goal)
            needed_ids |= new_ids
            order.insert(0, index)
        elif name:
            shown_ids = call_ids | _ids(action.result)
            if needed_ids & shown_ids:
                order.insert(0, index)
    return order


def lessons_of(trajectory: Trajectory) -> tuple[Lesson, ...]:
    """Return what is not to be done again, at most eight lessons.

    A lesson is a sentence, its fault class, and whose words it is told in. The last
    failure of each tool and error gives one, with what worked instead. A failed
    trajectory without any failure gives the decisive step.
    """
    failures: dict[tuple[str, str], list[int]] = {}
    for index, action in enumerate(trajectory.actions):
        if not went_wrong(action):
            continue
        quote = _quote(action)
        if quote:
            error = re.sub(r"\d+", "0", quote)
            indices = failures.setdefault((action.tool, error), [])
            indices.append(index)
    # What only followed from a check or a reply tells of no decisive step.
    has_failed = trajectory.outcome is Ended.FAILURE and not trajectory.evidence
    if not failures and has_failed and trajectory.actions:
        return (_decisive(trajectory),)
    lessons = []
    last_kinds = list(failures.values())[-_MOST_KINDS:]
    for failure_indices in last_kinds:
        lesson = _lesson(trajectory.actions, failure_indices)
        if lesson is not None:
            lessons.append(lesson)
    distinct = dict.fromkeys(lessons[-MOST_LESSONS:])
    return tuple(distinct)


def summary_of(trajectory: Trajectory) -> str:
    """Return what was done for the goal in plain words.

    It names the tools in their order, the files, and how the trajectory came out.
    """
    changes = []
    lookups = []
    for action in trajectory.actions:
        if went_wrong(action):
            continue
        if action.changed:
            changes.append(action)
        else:
            lookups.append(action)
    work = _work_in_words(changes, lookups, trajectory.agent)
    outcome = TEXTS[trajectory.outcome.value]
    return f"{trajectory.goal}: {work}; {outcome}."


def _work_in_words(
    changes: Sequence[CapturedAction], lookups: Sequence[CapturedAction], agent: str
) -> str:
    """Return by which tools work was done, after which lookups, in which files."""
    tools = _named(_label(action, agent) for action in changes)
    lookup_tools = _named(_label(action, agent) for action in lookups)
    files = _named(filter(_is_file, _values_of(changes)))
    parts = []
    if tools:
        parts.append(f"done by {tools}")
    if lookup_tools and tools:
        parts.append(f"after {lookup_tools}")
    elif lookup_tools:
        parts.append(f"looked up with {lookup_tools}")
    if files:
        parts.append(f"in {files}")
    if not parts:
        return "nothing worked"
    return ", ".join(parts)


def _values_of(actions: Iterable[CapturedAction]) -> Iterator[str]:
    """Yield the values of each call, and the words after the first."""
    for action in actions:
        _, values = call_of(action.action)
        yield from values.values()
        words = action.action.split()
        yield from words[1:]


def _is_file(value: str) -> bool:
    return patterns.FILE.fullmatch(value) is not None


def _lesson(
    actions: Sequence[CapturedAction], failure_indices: Sequence[int]
) -> Lesson | None:
    """Return what one kind of failure teaches; None where it teaches nothing.

    A failure that work in between mended teaches nothing, nor does one that tells
    nothing of the task.
    """
    last = failure_indices[-1]
    failed = actions[last]
    quote = _quote(failed)
    if patterns.FRICTION.search(quote):
        return None
    remedy = None
    remedy_index = _remedy_index(actions, last)
    if remedy_index is not None:
        if _is_mended(actions[last + 1 : remedy_index]):
            return None
        remedy = actions[remedy_index]
    contrast = _contrast(failed, remedy)
    if contrast is None:
        return None
    times = ""
    n_failures = len(failure_indices)
    if n_failures > 1:
        times = f" {n_failures} times"
    form = _lesson_form(failed, remedy)
    text = TEXTS[form].format(
        shown=contrast.shown,
        quote=quote,
        times=times,
        worked=contrast.worked,
    )
    return one_line(text, _LESSON_CHARACTERS), _fault_of(quote), "tool"


class _Contrast(NamedTuple):
    """Hold how a failed action differs from its remedy, in words.

    Attributes:
        shown: What failed.
        worked: What worked.
    """

    shown: str
    worked: str


def _contrast(
    failed: CapturedAction, remedy: CapturedAction | None
) -> _Contrast | None:
    """Return how a failed action differs from its remedy.

    None where that tells nothing.
    """
    name, values = call_of(failed.action)
    remedy_values: Values = {}
    if remedy is not None:
        _, remedy_values = call_of(remedy.action)
    program = _failed_program(failed)
    failed = _with_one_command(failed, program)
    if remedy is not None:
        remedy = _with_one_command(remedy, program)
    failed_values = _apart(values, remedy_values) or values
    shown = _shown(name, failed_values, failed)
    worked_values = _apart(remedy_values, values)
    worked = _shown("", worked_values, failed if remedy is None else remedy)
    only_quoted = worked[0] == "`"
    if shown == name:
        if remedy is None or only_quoted:
            return None
        shown = f"{shown} as it was called"
    if name and only_quoted:
        worked = "other values"
    return _Contrast(shown, worked)


def _failed_program(failed: CapturedAction) -> str:
    """Return the program of a shell line that says the error; '' where none does."""
    if not _is_shell_line(failed):
        return ""
    speaker = patterns.SPEAKER.match(_quote(failed))
    if speaker is None:
        return ""
    return speaker[1]


def _with_one_command(action: CapturedAction, program: str) -> CapturedAction:
    """Return a shell line with nothing but its command of a program, where it has one."""
    if not program:
        return action
    for simple in cut_commands(action.action):
        if simple.words and simple.words[0] == program:
            return action._replace(action=simple.text)
    return action


def _lesson_form(failed: CapturedAction, remedy: CapturedAction | None) -> str:
    """Return the section of `TEXTS` that a lesson is written by."""
    if patterns.REFUSED.match(failed.result):
        return "refused"
    if remedy is None:
        return "repeat"
    is_same = remedy.action == failed.action
    # What is cut may differ in the rest.
    is_cut = failed.action.endswith("…)")
    return "again" if is_same and not is_cut else "instead"


def _remedy_index(actions: Sequence[CapturedAction], failure: int) -> int | None:
    """Return the index of the action that worked in place of a failed one, or None."""
    end = min(len(actions), failure + 1 + _INSTEAD_WITHIN)
    for index in range(failure + 1, end):
        if _replaces(actions[index], actions[failure]):
            return index
    return None


def _is_mended(actions: Iterable[CapturedAction]) -> bool:
    """Return whether one of the actions changed something and did its work."""
    changes = [action for action in actions if action.changed]
    return not all(map(went_wrong, changes))


def _fault_of(quote: str) -> str:
    """Return the first fault class whose words an error has."""
    for fault, words in _FAULTS.items():
        if words.search(quote):
            return fault
    return str(Fault.LOGIC_ERROR)


def _replaces(action: CapturedAction, failed: CapturedAction) -> bool:
    """Return whether an action that worked is a failed one done otherwise.

    It is of the same tool, and has most of its words.
    """
    if action.tool != failed.tool:
        return False
    words = _words(action)
    failed_words = _words(failed)
    shared = words & failed_words
    either = words | failed_words
    n_shared = len(shared)
    n_all = len(either)
    if n_shared < _ALIKE * n_all:
        return False
    return not went_wrong(action)


def _words(action: CapturedAction) -> set[str]:
    """Return the words of what was done."""
    text = action.action[:_READ_CHARACTERS]
    return set(patterns.WORD.findall(text))


def _decisive(trajectory: Trajectory) -> Lesson:
    """Return what a failed run teaches in which nothing failed by itself.

    It is the step, of those that changed something, that most likely decided the run.
    """
    error = trajectory.error
    steps = _run_steps(trajectory.actions)
    index = -1
    if steps:
        index = find_decisive(steps, task=trajectory.goal).step
    action = trajectory.actions[index]
    label = _label(action, trajectory.agent)
    name, values = call_of(action.action)
    shown = _shown(name, values, action)

    # What an action says may be copied from a tool's answer.
    source = "tool"
    if error:
        kind = "raised"
    elif not steps:
        kind = "looked up"
        source = "agent"
    elif label == _TALK:
        kind = "talked"
        source = "agent"
    else:
        kind = "decided"
        shown = label
        if label == action.tool:
            source = "agent"  # the name of a tool is no word of an answer
    text = TEXTS[kind].format(shown=shown, error=error)
    fault = trajectory.fault
    if not fault:
        fault = Fault.LOGIC_ERROR if error else Fault.UNKNOWN_FAILURE
    return one_line(text, _LESSON_CHARACTERS), str(fault), source


def _run_steps(actions: Iterable[CapturedAction]) -> list[RunStep]:
    """Return the last changes as steps of a run.

    Each has what the agent did, and what came of it.
    """
    changes = []
    for index, action in enumerate(actions):
        if action.changed:
            changes.append((index, action))
    steps = []
    for index, action in changes[-_DECISIVE_AMONG:]:
        text = f"{action.reasoning}\n{action.action}"
        deed = RunStep(index, "agent", text[:_READ_CHARACTERS])
        steps.append(deed)
        result = action.result[:_READ_CHARACTERS]
        answer = RunStep(
            index,
            "tool",
            result,
            action.tool or "tool",
            is_error=False,
        )
        steps.append(answer)
    return steps


def _quote(action: CapturedAction) -> str:
    """Return the line that says what failed, without tags.

    It is '' where a check ran and failed, or nothing is said.
    """
    result = action.result
    stated = patterns.STATED.match(result)
    if stated:
        result = result[stated.end() :]
    result = result[:_READ_CHARACTERS]
    message = patterns.MESSAGE.search(result)
    line = message[1] if message else failure_quote(result)
    bare_line = patterns.FURNITURE.sub("", line)
    quote = one_line(bare_line, _SHOWN_CHARACTERS).rstrip(".")
    if patterns.EMPTY.fullmatch(quote):
        return ""
    needed = patterns.WORD
    if stated and stated[1]:
        needed = patterns.MISUSE if _is_check(action.action) else patterns.TELLING
    if not needed.search(quote):
        return ""
    return quote


def _is_check(action: str) -> bool:
    """Return whether a command checks something, and so may fail and be called well."""
    if patterns.CALL.match(action):
        return False
    return patterns.CHECK.search(action) is not None


def call_of(action: str) -> tuple[str, Values]:
    """Return a call's name and its plain values; '' for what is no call."""
    call = patterns.CALL.match(action)
    if not call:
        return "", {}
    name_counts = Counter[str]()
    values = {}
    for name, text, plain in patterns.VALUE.findall(action, call.end()):
        value = text or plain
        if value:
            values[name, name_counts[name]] = value
            name_counts[name] += 1
    return call[1], values


def _ids(text: str) -> set[str]:
    """Return the ids in the beginning of a text."""
    return set(patterns.ID.findall(text[:_READ_CHARACTERS]))


def _apart(values: Values, others: Values) -> Values:
    """Return the values that the others do not have under the same key."""
    differing = {}
    for key, value in values.items():
        if others.get(key) != value:
            differing[key] = value
    return differing


def _shown(name: str, values: Values, action: CapturedAction) -> str:
    """Return a call by its name and values, anything else as it was recorded; short."""
    if not name and not values:
        text = one_line(action.action, _SHOWN_CHARACTERS)
        return f"`{text}`"
    pairs = []
    for (key, _), value in values.items():
        text = one_line(value, _VALUE_CHARACTERS)
        pairs.append(f"{key}={text}")
    listing = ", ".join(pairs)
    joint = " with " if name and listing else ""
    return f"{name}{joint}{one_line(listing, _SHOWN_CHARACTERS)}"


def _label(action: CapturedAction, agent: str) -> str:
    """Return what an action is called in a summary.

    It is its tool; a command is called by its program.
    """
    tool = action.tool
    if not tool:
        return "a step"
    if action.action.startswith((f"{tool}(", f"{tool} ")):
        return tool
    if tool == agent:
        return _TALK
    program = patterns.PROGRAM.search(action.action[:_READ_CHARACTERS])
    if program is None:
        return "a script"
    return program[1]


def _named(labels: Iterable[str]) -> str:
    """Return names in their order, and how many more there are.

    Each comes once, where it first came.
    """
    distinct = list(dict.fromkeys(labels))
    if not distinct:
        return ""
    names = [one_line(name, _SHOWN_CHARACTERS) for name in distinct[:_MOST_NAMED]]
    n_more = len(distinct) - _MOST_NAMED
    if n_more > 0:
        names.append(f"{n_more} more")
    *leading, last = names
    if not leading:
        return last
    listing = ", ".join(leading)
    return f"{listing} and {last}"
