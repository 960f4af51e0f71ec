"""What a trajectory says by rules alone: which of its actions counted, what failed and
what worked instead, in sentences.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from theorex_lab.designs.dreams import Ended, Fault, patterns
from theorex_lab.designs.dreams.trajectories import TEXTS, CapturedAction, Trajectory
from theorex_lab.evolution.decisive import find_decisive
from theorex_lab.evolution.failure_signs import RunStep, failure_quote, says_failed
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
Lesson = tuple[
    str, str, str
]  # a sentence, its fault class, and whose words it is told in
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
    """Whether an action failed: it is recorded so, its result states an exit code or,
    where nothing is known, an error.

    A change that the user refused is one too; a question or a plan that they refused
    still tells what was meant.
    """
    refused = action.changed and patterns.REFUSED.match(action.result)
    if action.ok is False or refused or patterns.STATED.match(action.result):
        return True
    return action.ok is None and says_failed(
        action.result[:_SHOWN_CHARACTERS].strip().partition("\n")[0]
    )


def critical_of(actions: Sequence[CapturedAction], goal: str = "") -> tuple[int, ...]:
    """Indices of the actions that did their work and changed something, the last of
    those that are the same.

    A call that only looked is among them where it tells or asks with an id that a later
    change was given, and the goal does not name. Where none changed anything, those
    that did their work, the first of the same. Of many, the first and the last 20.
    """
    sound = [place for place, action in enumerate(actions) if not went_wrong(action)]
    order = list[int]()
    needed = set[str]()
    for place in sound[::-1]:
        name, values = call_of(actions[place].action)
        given = {value for value in values.values() if patterns.ID.fullmatch(value)}
        if actions[place].changed:
            needed |= given - _ids(goal)
        elif not (name and needed & (given | _ids(actions[place].result))):
            continue
        order.insert(0, place)
    order = order if any(actions[place].changed for place in order) else sound[::-1]
    kept = sorted({actions[place].action: place for place in order}.values())
    half = MOST_STEPS // 2
    return tuple(kept if len(kept) <= MOST_STEPS else kept[:half] + kept[-half:])


def lessons_of(trajectory: Trajectory) -> tuple[Lesson, ...]:
    """What is not to be done again, at most eight: a sentence, its fault class, and
    whose words it is told in.

    Of each tool and error the last failure, with what worked instead. Of a failed
    trajectory without any, the decisive step.
    """
    failed: dict[tuple[str, str], list[int]] = {}
    for place, action in enumerate(trajectory.actions):
        if went_wrong(action) and (quote := _quote(action)):
            failed.setdefault((action.tool, re.sub(r"\d+", "0", quote)), []).append(
                place
            )
    latest = list(failed.values())[-_MOST_KINDS:]
    told = [
        found for places in latest if (found := _lesson(trajectory.actions, places))
    ][-MOST_LESSONS:]
    if not failed and trajectory.outcome is Ended.FAILURE and trajectory.actions:
        told = [_decisive(trajectory)]
    return tuple(dict.fromkeys(told))


def summary_of(trajectory: Trajectory) -> str:
    """What was done for the goal in plain words: the tools in their order, the files,
    and how it came out.
    """
    sound = [action for action in trajectory.actions if not went_wrong(action)]
    acts, looks = (
        [action for action in sound if action.changed is changed]
        for changed in (True, False)
    )
    did, looked = (
        _named(_label(action, trajectory.agent) for action in found)
        for found in (acts, looks)
    )
    values = (
        value
        for action in acts
        for value in (*call_of(action.action)[1].values(), *action.action.split()[1:])
    )
    files = _named(value for value in values if patterns.FILE.fullmatch(value))
    sought = looked and f"{'after' if did else 'Looked up with'} {looked}"
    done = (
        ", ".join(
            filter(None, [did and f"Done by {did}", sought, files and f"in {files}"])
        )
        or "Nothing worked"
    )
    return f"{trajectory.goal}: {done[0].lower()}{done[1:]}; {TEXTS[trajectory.outcome.value]}."


def _lesson(actions: Sequence[CapturedAction], places: Sequence[int]) -> Lesson | None:
    """What one kind of failure teaches, which was met at `places`; None where work in
    between mended it.
    """
    failed = actions[places[-1]]
    later = places[-1] + 1
    quote = _quote(actions[places[-1]])
    after = range(later, min(len(actions), later + _INSTEAD_WITHIN))
    at = next((place for place in after if _replaces(actions[place], failed)), None)
    if at is not None and any(
        action.changed and not went_wrong(action) for action in actions[later:at]
    ):
        return None
    (name, given), other = call_of(failed.action), failed if at is None else actions[at]
    right = {} if at is None else call_of(other.action)[1]
    shown = _shown(name, _apart(given, right) or given, failed)
    worked = _shown("", _apart(right, given), other)
    if patterns.FRICTION.search(quote) or (
        shown == name and (at is None or worked[0] == "`")
    ):
        return None  # it teaches nothing of the task
    same = other.action == failed.action and not failed.action.endswith(
        "…)"
    )  # what is cut may differ in the rest
    text = TEXTS["repeat" if at is None else "again" if same else "instead"].format(
        shown=f"{shown} as it was called" if shown == name else shown,
        quote=quote,
        times=f" {len(places)} times" if len(places) > 1 else "",
        worked="other values" if name and worked[0] == "`" else worked,
    )
    fault = next(
        (kind for kind, words in _FAULTS.items() if words.search(quote)),
        Fault.LOGIC_ERROR,
    )
    return one_line(text, _LESSON_CHARACTERS), str(fault), "tool"


def _replaces(action: CapturedAction, failed: CapturedAction) -> bool:
    """Whether an action that worked is a failed one done otherwise: of the same tool,
    with most of its words.
    """
    words, wanted = (
        set(patterns.WORD.findall(text[:_READ_CHARACTERS]))
        for text in (action.action, failed.action)
    )
    alike = len(words & wanted) >= _ALIKE * len(words | wanted)
    return alike and action.tool == failed.tool and not went_wrong(action)


def _decisive(trajectory: Trajectory) -> Lesson:
    """What a failed run teaches in which nothing failed by itself: of what it changed,
    the step that most likely decided it.
    """
    steps = list[RunStep]()
    error = trajectory.error
    for place, action in [
        (k, one) for k, one in enumerate(trajectory.actions) if one.changed
    ][-_DECISIVE_AMONG:]:
        steps.append(
            RunStep(
                place,
                "agent",
                f"{action.reasoning}\n{action.action}"[:_READ_CHARACTERS],
            )
        )
        steps.append(
            RunStep(
                place,
                "tool",
                action.result[:_READ_CHARACTERS],
                action.tool or "tool",
                is_error=False,
            )
        )
    action = trajectory.actions[
        find_decisive(steps, task=trajectory.goal).step if steps else -1
    ]
    talked = _label(action, trajectory.agent) == _TALK
    kind = (
        "raised"
        if error
        else "looked up"
        if not steps
        else "talked"
        if talked
        else "decided"
    )
    shown = (
        _label(action, trajectory.agent)
        if kind == "decided"
        else _shown(*call_of(action.action), action)
    )
    text = TEXTS[kind].format(shown=shown, error=error)
    fault = trajectory.fault or (Fault.LOGIC_ERROR if error else Fault.UNKNOWN_FAILURE)
    # What an action says may be copied from a tool's answer.
    return (
        one_line(text, _LESSON_CHARACTERS),
        str(fault),
        "agent" if kind in ("looked up", "talked") else "tool",
    )


def _quote(action: CapturedAction) -> str:
    """The line that says what failed, without tags; '' where a check ran and failed, or
    nothing is said.
    """
    stated = patterns.STATED.match(action.result)
    said = action.result[stated.end() if stated else 0 :][:_READ_CHARACTERS]
    told = (
        message[1]
        if (message := patterns.MESSAGE.search(said))
        else failure_quote(said)
    )
    quote = one_line(patterns.FURNITURE.sub("", told), _SHOWN_CHARACTERS).rstrip(".")
    is_check = not patterns.CALL.match(action.action) and patterns.CHECK.search(
        action.action
    )
    needed = (
        (patterns.MISUSE if is_check else patterns.TELLING)
        if stated and stated[1]
        else patterns.WORD
    )
    return quote if needed.search(quote) and not patterns.EMPTY.fullmatch(quote) else ""


def call_of(action: str) -> tuple[str, Values]:
    """A call's name and its plain values; '' for what is no call."""
    if not (found := patterns.CALL.match(action)):
        return "", {}
    met = Counter[str]()
    values = dict[tuple[str, int], str]()
    for name, text, plain in patterns.VALUE.findall(action, found.end()):
        if text or plain:
            values[name, met[name]] = text or plain
            met[name] += 1
    return found[1], values


def _ids(text: str) -> set[str]:
    return {*patterns.ID.findall(text[:_READ_CHARACTERS])}


def _apart(values: Values, others: Values) -> Values:
    return {key: value for key, value in values.items() if others.get(key) != value}


def _shown(name: str, values: Values, action: CapturedAction) -> str:
    """A call by its name and values, anything else as it was recorded; short."""
    if not name and not values:
        return f"`{one_line(action.action, _SHOWN_CHARACTERS)}`"
    told = ", ".join(
        f"{key}={one_line(value, _VALUE_CHARACTERS)}"
        for (key, _), value in values.items()
    )
    return f"{name}{' with ' * bool(name and told)}{one_line(told, _SHOWN_CHARACTERS)}"


def _label(action: CapturedAction, agent: str) -> str:
    """What an action is called in a summary: its tool, a command by its program."""
    if not action.tool or action.action.startswith(
        (f"{action.tool}(", f"{action.tool} ")
    ):
        return action.tool or "a step"
    program = patterns.PROGRAM.search(action.action[:_READ_CHARACTERS])
    return _TALK if action.tool == agent else program[1] if program else "a script"


def _named(labels: Iterable[str]) -> str:
    """Names in the order in which they first came, and how many more there are."""
    found = [*dict.fromkeys(labels)]
    names = [one_line(name, _SHOWN_CHARACTERS) for name in found[:_MOST_NAMED]]
    names += [f"{len(found) - _MOST_NAMED} more"] * (len(found) > _MOST_NAMED)
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
