"""Trajectories as data to train a model on: chats in which the reasoning asks and the action answers."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from theorex_lab.designs.dreams import FIDELITY, Ended
from theorex_lab.designs.dreams.capture import member_of
from theorex_lab.designs.dreams.trajectories import Act, Trajectory, trajectories_of
from theorex_lab.errors import InvalidInput
from theorex_lab.exchange.flat_files import write_lines
from theorex_lab.home import Home
from theorex_lab.journal.event import encode
from theorex_lab.text.masking import mask

SYSTEM = "You work towards a goal with tools, one call at a time. Goal: {goal}"
_KEPT_OF_REPEATS, _MOST_OF_ONE, _HELD_BACK = 3, 0.6, 0.1
# Format -> the name of a chat's list, of who says a text and of the text, and how the three who speak are called.
FORMATS = {
    "messages": ("messages", "role", "content", ("system", "user", "assistant")),
    "sharegpt": ("conversations", "from", "value", ("system", "human", "gpt")),
}


def training_data(
    home: Home, *, outcome: str | None = None, source: str | None = None, min_actions: int = 1, format: str = "messages"
) -> Iterator[dict[str, Any]]:
    """Yield a chat for each action that has reasoning: the goal as the system's word, the reasoning as the user's, the action.

    outcome: of the trajectories, one of `Ended`.  source: where they were lived, a key of `FIDELITY`.  min_actions: fewer are
    left out.  format: messages or sharegpt. Secrets are masked. Raises InvalidInput for others.
    """
    for trajectory in _chosen(home, outcome, source, min_actions):
        yield from (_chat(trajectory, action, format) for action in trajectory.actions if _spoken(action))


def export_training(
    home: Home, folder: Path, *, outcome: str | None = "success", source: str | None = None, min_actions: int = 3,
    format: str = "messages", seed: int = 42,
) -> dict[str, Any]:  # fmt: skip
    """Write train.jsonl, validation.jsonl and stats.json below a folder; returns the stats. Each file is replaced whole.

    Taken are calls of tools, of trajectories that have `min_actions` of them: of the same call in a row every third, of one
    tool at most 60 % where there are others, drawn by `seed`. A tenth of the chats is held back. Raises as `training_data`,
    StorageError where nothing can be written.
    """
    drawn, found, stats = random.Random(seed), list[tuple[str, dict[str, Any]]](), Counter[str]()
    for trajectory in _chosen(home, outcome, source, 1):
        calls = [action for action in trajectory.actions if action.tool and _spoken(action)]
        stats["actions"] += len(trajectory.actions)
        stats["no_call"] += len(trajectory.actions) - len(calls)
        if len(calls) < min_actions:
            stats["too_short"] += len(calls)
            continue
        kept = [one for _, run in groupby(calls, lambda call: call.action) for one in list(run)[::_KEPT_OF_REPEATS]]
        stats["repeated"] += len(calls) - len(kept)
        stats["trajectories"] += 1
        found += [(action.tool, _chat(trajectory, action, format)) for action in kept]
    drawn.shuffle(found)
    (tool, count), *others = Counter(tool for tool, _ in found).most_common() or [("", 0)]
    most = int(_MOST_OF_ONE / (1 - _MOST_OF_ONE) * sum(number for _, number in others) + 1e-9) if others else count
    left_out = {place for place, (named, _) in enumerate(found) if named == tool}
    left_out = set(sorted(left_out)[most:])
    kept_chats = [pair for place, pair in enumerate(found) if place not in left_out]
    held = round(_HELD_BACK * len(kept_chats))
    parts = {"validation": kept_chats[:held], "train": kept_chats[held:]}
    for name, chats in parts.items():
        write_lines(folder / f"{name}.jsonl", [encode(chat) for _, chat in chats])
    told: dict[str, Any] = {
        **stats,
        "balanced_away": len(left_out),
        **{name: len(chats) for name, chats in parts.items()},
    }
    told |= {"tools": dict(Counter(named for named, _ in kept_chats).most_common()), "seed": seed, "format": format}
    write_lines(folder / "stats.json", [encode(told)])
    return told


def _chosen(home: Home, outcome: str | None, source: str | None, min_actions: int) -> Iterator[Trajectory]:
    wanted = member_of(Ended, "outcome", outcome) if outcome else None
    if source and source not in FIDELITY:
        raise InvalidInput(f"got the source {source!r}; allowed are {', '.join(FIDELITY)}")
    for found in trajectories_of(home):
        fits = wanted in (None, found.outcome) and source in (None, "", found.origin)
        if fits and len(found.actions) >= min_actions:
            yield found


def _spoken(action: Act) -> bool:
    return bool(action.reasoning.strip() and action.action.strip())


def _chat(trajectory: Trajectory, action: Act, format: str) -> dict[str, Any]:
    if format not in FORMATS:
        raise InvalidInput(f"got the format {format!r}; allowed are {', '.join(FORMATS)}")
    chat, speaker, said, names = FORMATS[format]
    texts = SYSTEM.format(goal=trajectory.goal), action.reasoning, action.action
    return {chat: [{speaker: name, said: mask(text)} for name, text in zip(names, texts, strict=True)]}
