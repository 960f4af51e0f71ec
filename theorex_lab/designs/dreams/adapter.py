"""Any agent loop and this memory: a run becomes a trajectory, and a strategy that answers becomes a section of a prompt."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from theorex_lab.designs.dreams.capture import capture
from theorex_lab.designs.dreams.recall import Recollection, recall
from theorex_lab.errors import InvalidInput
from theorex_lab.home import Home
from theorex_lab.memory.filling import count_tokens
from theorex_lab.memory.giving import note_recalled
from theorex_lab.text.line import fence, one_line

_KNOWN = {"thought", "tool", "input", "output", "error"}
_FINISHED = 0.9  # confidence in a run that answered, and that nobody checked
_MOST_STEPS, _MOST_CONSTRAINTS = 20, 10
_CHARACTERS = (300, 600, 120)  # of why, what and what came of it that a step shows
_ADVICE = "IMPORTANT: work like this was done before, {how}. Use the steps where they fit; do not repeat what failed."


def capture_run(home: Home, goal: str, turns: Iterable[Mapping[str, Any]], *, answer: str | None, outcome: str = "",
                **about: Any) -> str:  # fmt: skip
    """Capture an agent's run, turns of {thought, tool, input, output, error}; returns the trajectory's id.

    answer: what the run ended with, None where it ended without.  outcome: as whoever checked the answer says.  Where nobody
    did, a run without an answer, or whose last call failed, is a failure, and another a success with a confidence of .9.
    about: as in `capture.SessionLog`. Raises InvalidInput for other members, and as `capture.capture` does.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     run = [{"thought": "look", "tool": "get_user", "input": {"id": 1}, "output": "Ann"}]
    ...     captured = lab.dreams.trajectory(capture_run(lab.home, "who is user 1", run, answer=None))
    >>> captured.outcome.value, captured.actions[0].action
    ('failure', 'get_user({"id": 1})')
    """
    home.designs  # noqa: B018 - their kinds of events become known
    done, failed = [], False
    for number, turn in enumerate(turns, start=1):
        if turn.keys() - _KNOWN or not turn.get("tool"):
            raise InvalidInput(f"got {dict(turn)!r:.200} for turn {number}; allowed are {', '.join(sorted(_KNOWN))}")
        failed = bool(turn.get("error"))
        given = turn.get("input", "")
        action = f"{turn['tool']}({given if given == '' else json.dumps(given, ensure_ascii=False, default=str)})"
        result = str(turn.get("output") or turn.get("error") or "")
        done.append({"reasoning": turn.get("thought", ""), "action": action, "result": result, "ok": not failed})
    ended = outcome or ("failure" if answer is None or failed else "success")
    sure = 1.0 if outcome or ended == "failure" else _FINISHED
    return capture(home, goal, done, outcome=ended, confidence=sure, **about)[0]


def memory_section(home: Home, goal: str, *, domain: str | None = None, agent: str = "main") -> str:
    """What a prompt gets before the task: the strategy that answers to a goal, its steps and constraints; '' where none does.

    That it was given is noted, for `agent`. Raises as `recall.recall`.
    """
    found = recall(home, goal, domain=domain)
    text = section_of(found)
    if found.entry_point is not None:
        note_recalled(home, "prompt", query=goal, items=[found.entry_point.id], tokens=count_tokens(text), agent=agent)
    return text


def section_of(found: Recollection) -> str:
    """A recalled strategy as a section of a prompt: advice of our own, and what was recorded in fences that name whose words it is."""
    if (strategy := found.entry_point) is None:
        return ""
    how = f"and succeeded {strategy.worked}" if strategy.worked else "how it came out is not known"
    lines = [f"Strategy: {strategy.summary}", *(f"Noted: {line}" for line in strategy.content.splitlines() if line)]
    for number, step in enumerate(strategy.steps[:_MOST_STEPS], start=1):
        texts = zip((step.why or step.reasoning, step.action, step.result), _CHARACTERS, strict=True)
        lines.append(f"{number}. {' → '.join(filter(None, (one_line(text, most) for text, most in texts)))}")
    told = [_ADVICE.format(how=how), *fence(lines, f"{strategy.source},tools")]
    avoided = strategy.constraints[-_MOST_CONSTRAINTS:]
    for source in dict.fromkeys(constraint.source for constraint in avoided):
        said = [constraint.text for constraint in avoided if constraint.source == source]
        shown = [text if text.startswith("Do not") else f"DO NOT: {text}" for text in said]
        told += ["CONSTRAINTS, from what failed:", *fence(shown, source)]
    return "\n".join(told)
