"""What a trajectory says by rules alone: which of its actions counted, what failed and what worked instead, in sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from theorex_lab.designs.dreams import Ended, Fault
from theorex_lab.designs.dreams.trajectories import Action, Trajectory
from theorex_lab.evolution.decisive import find_decisive
from theorex_lab.evolution.failure_signs import RunStep, failure_quote, says_failed
from theorex_lab.text.line import one_line
from theorex_lab.text.sections import read_sections

MOST_STEPS = 40
MOST_LESSONS = 8
CONFIDENCE = {Ended.SUCCESS: 1.0, Ended.PARTIAL: 0.6, Ended.UNKNOWN: 0.5, Ended.ABORTED: 0.3, Ended.FAILURE: 0.2}
_MOST_NAMED, _VALUES_CHARACTERS, _COMMAND_CHARACTERS, _QUOTE_CHARACTERS = 5, 120, 120, 140
_LESSON_CHARACTERS, _READ_CHARACTERS = 400, 2_000
_DECISIVE_AMONG = 20  # the last actions of a run
_TALK = "talking"
_ALIKE = 0.6  # share of words that an action has in common with the one that worked instead of it

TEXTS = read_sections(__file__, "prompts.txt")
_FAULTS = [(Fault(name), re.compile(words, re.I)) for name, words in (line.split(" ", 1) for line in TEXTS["faults"].splitlines())]  # fmt: skip
_SAYS_NOTHING, _TELLS, _MISUSE, _CHECK = (
    re.compile(TEXTS[name], re.I) for name in ("says nothing", "tells", "misuse", "checks")
)
_STATED = re.compile(r"\s*(?:<tool_use_error>|(exit code:? *[1-9]\d*))\s*", re.I)
_FURNITURE = re.compile(r"</?\w+>|^\s*error:\s*", re.I)
_CALL = re.compile(r"([A-Za-z_][\w.-]*)\(\{")
_VALUE = re.compile(r'"(\w+)": ?(?:"((?:[^"\\]|\\.)*)"|([\w.+-]+))')
_PROGRAM = re.compile(r"(?:^|&&|[;|\n]|\bdo\b|\bthen\b)\s*(?:\w+=\S*\s+|sudo )*([a-z][\w.+-]*)(?: ([a-z][a-z-]+)\b)?")
_WITH_VERB, _SHELL = (frozenset(TEXTS[name].split()) for name in ("with verb", "shell"))
_WORD = re.compile(r"\w+")
_FILE = re.compile(r"[\w@+./-]*\w\.[A-Za-z]\w{0,5}")


def has_failed(action: Action) -> bool:
    """Whether an action failed: it is recorded so, its result states an exit code or, where nothing is known, an error."""
    if action.ok is False or _STATED.match(action.result):
        return True
    return action.ok is None and says_failed(action.result[:_QUOTE_CHARACTERS].strip().partition("\n")[0])


def critical_of(actions: Sequence[Action]) -> tuple[int, ...]:
    """Indices of the actions that did their work and changed something, the last of those that are the same.

    Where none changed anything, those that did their work, the first of the same. Of many, the first and the last 20.
    """
    sound = [place for place, action in enumerate(actions) if not has_failed(action)]
    order = [place for place in sound if actions[place].changed] or sound[::-1]
    kept = sorted({actions[place].action: place for place in order}.values())
    half = MOST_STEPS // 2
    return tuple(kept if len(kept) <= MOST_STEPS else kept[:half] + kept[-half:])


def lessons_of(trajectory: Trajectory) -> tuple[tuple[str, str, str], ...]:
    """What is not to be done again, at most eight: a sentence, its fault class, and whose words it is told in.

    Of each tool and error the last failure, with what worked instead. Of a failed trajectory without any, the decisive step.
    """
    failed: dict[tuple[str, str], list[int]] = {}
    for place, action in enumerate(trajectory.actions):
        if has_failed(action) and not _SAYS_NOTHING.fullmatch(quote := _quote(action)):
            failed.setdefault((action.tool, re.sub(r"\d+", "0", quote)), []).append(place)
    told = [one for places in failed.values() if (one := _lesson(trajectory.actions, places))][-MOST_LESSONS:]
    if not failed and trajectory.outcome is Ended.FAILURE and trajectory.actions:
        told = [_decisive(trajectory)]
    return tuple(dict.fromkeys(told))


def summary_of(trajectory: Trajectory) -> str:
    """What was done in plain words: the tools in their order, the files, and how it came out."""
    sound = [action for action in trajectory.actions if not has_failed(action)]
    did = _named(_label(action, trajectory.agent) for action in sound if action.changed)
    looked = _named(_label(action, trajectory.agent) for action in sound if not action.changed)
    values = (value for action in sound if action.changed for value in _call(action.action)[1].values())
    files = _named((value for value in values if _FILE.fullmatch(value)))
    parts = [f"Done by {did}" if did else "", f"{'after' if did else 'Looked up with'} {looked}" if looked else ""]
    way = ", ".join(filter(None, [*parts, f"in {files}" if files else ""]))
    return f"{way or 'Nothing worked'}; {TEXTS[trajectory.outcome.value]}."


def _lesson(actions: Sequence[Action], places: Sequence[int]) -> tuple[str, str, str] | None:
    """What one kind of failure teaches, which was met at `places`; None where work in between mended it."""
    failed, later = actions[places[-1]], places[-1] + 1
    at = next((place for place in range(later, len(actions)) if _replaces(actions[place], failed)), None)
    if at is not None and any(action.changed and not has_failed(action) for action in actions[later:at]):
        return None
    quote, times = _quote(failed), f" {len(places)} times" if len(places) > 1 else ""
    (name, given), how = _call(failed.action), f'it failed{times} with "{quote}"'
    right, other = ({}, failed) if at is None else (_call(actions[at].action)[1], actions[at])
    shown = _shown(name, {key: value for key, value in given.items() if right.get(key) != value} or given, failed)
    if at is not None and other.action == failed.action and not failed.action.endswith("…)"):
        text = f"Do not give up on {shown} at once: {how}, and it worked later."
    else:
        now = _shown("", {key: value for key, value in right.items() if given.get(key) != value}, other)
        worked = "" if at is None else f"; {'other values' if name and now.startswith('`') else now} worked"
        text = f"Do not repeat {shown}{' as it was called' * (shown == name)}: {how}{worked}."
    fault = next((kind for kind, words in _FAULTS if words.search(quote)), Fault.LOGIC_ERROR)
    return one_line(text, _LESSON_CHARACTERS), fault.value, "tool"


def _replaces(action: Action, failed: Action) -> bool:
    """Whether an action that worked is a failed one done otherwise: of the same tool, with most of its words."""
    if action.tool != failed.tool or has_failed(action):
        return False
    words, wanted = (set(_WORD.findall(text[:1_000])) for text in (action.action, failed.action))
    return len(words & wanted) >= _ALIKE * len(words | wanted)


def _decisive(trajectory: Trajectory) -> tuple[str, str, str]:
    """What a failed run teaches in which nothing failed by itself: of what it changed, the step that most likely decided it."""
    steps = list[RunStep]()
    for place, action in [(k, one) for k, one in enumerate(trajectory.actions) if one.changed][-_DECISIVE_AMONG:]:
        steps.append(RunStep(place, "agent", f"{action.reasoning}\n{action.action}"[:_READ_CHARACTERS]))
        steps.append(RunStep(place, "tool", action.result[:_READ_CHARACTERS], action.tool or "tool", is_error=False))
    action = trajectory.actions[find_decisive(steps, task=trajectory.goal).step if steps else -1]
    shown, error = _shown(*_call(action.action), action), trajectory.error
    if error:
        text = f'Do not repeat {shown} unchecked: the run ended with "{error}".'
    elif not steps:
        text = "Do not stop where things were only looked up: the run changed nothing, and failed."
    elif _label(action, trajectory.agent) == _TALK:
        text = "Do not only talk where something is to be done: the run used no tool, and failed."
    else:
        text = f"Do not repeat {shown} unchecked: the run failed, though nothing before said so."
    fault = trajectory.fault or (Fault.LOGIC_ERROR if error else Fault.UNKNOWN_FAILURE)
    return one_line(text, _LESSON_CHARACTERS), str(fault), "tool" if error else "agent"


def _quote(action: Action) -> str:
    """The line that says what failed, without tags; '' where a check ran and failed, or nothing is said."""
    stated = _STATED.match(action.result)
    told = failure_quote(action.result[stated.end() if stated else 0 :][:_READ_CHARACTERS])
    quote = one_line(_FURNITURE.sub("", told), _QUOTE_CHARACTERS).rstrip(".")
    needed = _MISUSE if _CHECK.search(action.action) and not _CALL.match(action.action) else _TELLS
    return "" if stated and stated[1] and not needed.search(quote) else quote


def _call(action: str) -> tuple[str, dict[tuple[str, int], str]]:
    """A call's name and its plain values, by their names and how many of the name came before; '' for what is no call."""
    if not (found := _CALL.match(action)):
        return "", {}
    met, values = Counter[str](), dict[tuple[str, int], str]()
    for name, text, plain in _VALUE.findall(action, found.end()):
        if text or plain:
            values[name, met[name]] = text or plain
            met[name] += 1
    return found[1], values


def _shown(name: str, values: Mapping[tuple[str, int], str], action: Action) -> str:
    """A call by its name and values, anything else as it was recorded; short."""
    if not name and not values:
        return f"`{one_line(action.action, _COMMAND_CHARACTERS)}`"
    told = one_line(", ".join(f"{key}={one_line(value, 60)}" for (key, _), value in values.items()), _VALUES_CHARACTERS)
    return f"{name}{' with ' * bool(name and told)}{told}"


def _label(action: Action, agent: str) -> str:
    """What an action is called in a summary: its tool, a command by its program."""
    if action.action.startswith(f"{action.tool}("):
        return action.tool or "a step"
    if action.tool == agent:
        return _TALK
    for program, verb in _PROGRAM.findall(action.action[:_READ_CHARACTERS]):
        if program not in _SHELL:
            return f"{program} {verb}" if verb and program in _WITH_VERB else str(program)
    return "a script"


def _named(labels: Iterable[str]) -> str:
    """Names in the order in which they first came, and how many more there are."""
    names = [*dict.fromkeys(labels)]
    if len(names) > _MOST_NAMED + 1:
        names = [*names[:_MOST_NAMED], f"{len(names) - _MOST_NAMED} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
