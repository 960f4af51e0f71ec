"""Trajectories as data to train a model on: in a chat the reasoning asks and the action answers."""

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
_EVERY, _HELD_BACK = 3, 0.1
Chat = dict[str, Any]
Chosen = tuple[Trajectory, list[Act]]


def training_data(home: Home, *, min_actions: int = 1, agent: str | None = None, **of: str | None) -> Iterator[Chat]:
    """Yield a chat for each action that has reasoning: the goal as the system's word, the reasoning as the user's, the action.

    min_actions: fewer are left out.  agent: whose they are, None for all's.  of: `outcome` of the trajectories, one of
    `Ended`; `source`, where they were lived, a key of `FIDELITY`. Secrets are masked. Raises InvalidInput for others.
    """
    for trajectory, actions in _chosen(home, **of):
        if len(trajectory.actions) >= min_actions and agent in (None, trajectory.agent):
            yield from (_chat(trajectory, action) for action in actions)


def export_training(home: Home, folder: Path, *, min_actions: int = 3, seed: int = 42,
                    **of: str | None) -> dict[str, Any]:  # fmt: skip
    """Write train.jsonl, validation.jsonl and stats.json below a folder; returns the stats. Each file is replaced whole.

    Taken are calls of tools, of trajectories (by default those that succeeded) that have `min_actions` of them: of the same call in a row every third, of one
    tool at most 60 % where there are others, drawn by `seed`. A tenth of the chats is held back. Raises as `training_data`,
    StorageError where nothing can be written.
    """
    chats, used = list[tuple[str, Chat]](), 0
    for trajectory, actions in _chosen(home, **{"outcome": "success", **of}):
        calls = [action for action in actions if action.tool]
        if len(calls) >= min_actions:
            kept = [one for _, run in groupby(calls, lambda call: call.action) for one in [*run][::_EVERY]]
            chats += [(action.tool, _chat(trajectory, action)) for action in kept]
            used += 1
    random.Random(seed).shuffle(chats)
    (tool, count), *others = Counter(tool for tool, _ in chats).most_common() or [("", 0)]
    most = sum(number for _, number in others) * 3 // 2 if others else count  # three fifths of the whole
    chats = [pair for pair in chats if pair[0] != tool] + [pair for pair in chats if pair[0] == tool][:most]
    random.Random(seed).shuffle(chats)
    held = round(_HELD_BACK * len(chats))
    parts = {"validation": chats[:held], "train": chats[held:]}
    for name, pairs in parts.items():
        write_lines(folder / f"{name}.jsonl", [encode(chat) for _, chat in pairs])
    stats: dict[str, Any] = {"trajectories": used, "chats": len(chats), **{name: len(parts[name]) for name in parts}}
    stats |= {"seed": seed, "tools": dict(Counter(tool for tool, _ in chats).most_common())}
    write_lines(folder / "stats.json", [encode(stats)])
    return stats


def _chosen(home: Home, outcome: str | None = None, source: str | None = None) -> Iterator[Chosen]:
    """Trajectories that came out so and were lived there, with their actions that say why and what."""
    wanted = member_of(Ended, "outcome", outcome) if outcome else None
    if (source or "agent") not in FIDELITY:
        raise InvalidInput(f"got the source {source!r}; allowed are {', '.join(FIDELITY)}")
    for found in trajectories_of(home):
        if wanted in (None, found.outcome) and (source or found.origin) == found.origin:
            yield found, [action for action in found.actions if action.reasoning.strip() and action.action.strip()]


def _chat(trajectory: Trajectory, action: Act) -> Chat:
    texts = {"system": SYSTEM.format(goal=trajectory.goal), "user": action.reasoning, "assistant": action.action}
    return {"messages": [{"role": role, "content": mask(text)} for role, text in texts.items()]}
