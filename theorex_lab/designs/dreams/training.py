"""Give trajectories as chats to train a model on.

In a chat the goal is the system's word, the reasoning asks, and the action answers.
Secrets are masked.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.dreams import FIDELITY, Ended
from theorex_lab.designs.dreams.capture import member_of
from theorex_lab.designs.dreams.trajectories import (
    CapturedAction,
    Trajectory,
    trajectories_of,
)
from theorex_lab.files.formats.flat_files import read_lines, write_lines
from theorex_lab.journal.event import encode
from theorex_lab.memory.contract import Home
from theorex_lab.text.redact.masking import mask

SYSTEM_PROMPT = "You work towards a goal with tools, one call at a time. Goal: {goal}"
TRAIN_FILE = "train.jsonl"
VALIDATION_FILE = "val.jsonl"
STATS_FILE = "stats.json"
_EVERY = 3  # of calls that repeat the one before
_VALIDATION_SHARE = 0.1
# A call as robots write it.
_TOOL_CALL = re.compile(r'\s*TOOLCALL:\s*\{\s*"name"\s*:\s*"([\w.-]{1,128})"')
_ROLES = ("system", "user", "assistant")
Chat = dict[str, Any]


class TrainingFilter(NamedTuple):
    """Hold which trajectories and actions are taken.

    Attributes:
        outcome: How a trajectory came out, a value of `Ended`; '' for any.
        source: Where it was lived, a key of `FIDELITY`; '' for anywhere.
        min_actions: How many of its actions have to be taken.
        calls_only: Whether only calls of tools are taken, as `search(query='…')`.
        agent: Whose it is; None for all.
    """

    outcome: str = ""
    source: str = ""
    min_actions: int = 1
    calls_only: bool = False
    agent: str | None = None


def training_chats(home: Home, chosen: TrainingFilter | None = None) -> Iterator[Chat]:
    """Yield a chat for each action that has reasoning.

    Args:
        home: Whose trajectories they are.
        chosen: Which are taken; by default all.

    Raises:
        InvalidInput: There is no such outcome or source.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     done = [{"reasoning": "the wall is near", "action": "turn(angle=90)"}]
    ...     _ = lab.dreams.capture("reach the door", done)
    ...     (chat,) = training_chats(lab.home)
    >>> [message["content"] for message in chat["messages"]][1:]
    ['the wall is near', 'turn(angle=90)']
    """
    for trajectory, actions in _chosen(home, chosen or TrainingFilter()):
        for action in actions:
            yield _chat(trajectory, action)


def write_training_data(home: Home, file: Path, chosen: TrainingFilter) -> int:
    """Write the chats into a file, one a line; return how many.

    Args:
        home: Whose trajectories they are.
        file: The file, which is replaced as a whole.
        chosen: Which are taken.

    Raises:
        InvalidInput: There is no such outcome or source.
        StorageError: The file cannot be written.
    """
    return write_lines(file, map(encode, training_chats(home, chosen)))


def prepare_training_files(
    file: Path, folder: Path, *, seed: int = 42
) -> dict[str, Any]:
    """Write train.jsonl, val.jsonl and stats.json from a file of chats.

    Of the same answer in a row every third chat stays, of one tool at most three
    fifths, where there are others. A tenth of the chats is for validation.

    Args:
        file: A file of chats, one a line.
        folder: The folder of the files, which are replaced as a whole.
        seed: The seed of what is drawn.

    Returns:
        What stats.json has: chats (read), kept, train, validation, seed, tools,
        problems.

    Raises:
        InvalidInput: It is no file.
        StorageError: It cannot be read, or the others cannot be written.
    """
    problems: list[str] = []
    chats: list[Chat] = []
    for number, record in read_lines(file, problems):
        if _is_chat(record):
            chats.append(record)
        else:
            problems.append(
                f":{number}: got another object; allowed are messages of system, user"
                " and assistant"
            )
    balanced = balanced_chats(thinned_chats(chats), seed)
    n_validation = round(_VALIDATION_SHARE * len(balanced))
    parts = {
        VALIDATION_FILE: balanced[:n_validation],
        TRAIN_FILE: balanced[n_validation:],
    }
    for name, part in parts.items():
        write_lines(folder / name, map(encode, part))
    tools = Counter(map(_tool_of, balanced))
    stats = {
        "chats": len(chats),
        "kept": len(balanced),
        "train": len(parts[TRAIN_FILE]),
        "validation": n_validation,
        "seed": seed,
        "tools": dict(tools.most_common()),
        "problems": [problem.lstrip(": ") for problem in problems],
    }
    write_lines(folder / STATS_FILE, [encode(stats)])
    return stats


def thinned_chats(chats: Sequence[Chat]) -> list[Chat]:
    """Return the chats, of the same answer in a row every third."""
    thinned: list[Chat] = []
    for _, repeated in groupby(chats, _answer_of):
        thinned += list(repeated)[::_EVERY]
    return thinned


def balanced_chats(chats: Sequence[Chat], seed: int) -> list[Chat]:
    """Return the chats in a drawn order, of one tool at most three fifths.

    Args:
        chats: The chats.
        seed: The seed of the order.
    """
    shuffled = list(chats)
    draw = random.Random(seed)
    draw.shuffle(shuffled)
    counts = Counter(map(_tool_of, shuffled)).most_common()
    if len(counts) < 2:  # there is no other tool
        return shuffled
    frequent, _ = counts[0]
    n_others = sum(count for _, count in counts[1:])
    most = n_others * 3 // 2  # three fifths of the whole
    balanced = []
    n_frequent = 0
    for chat in shuffled:
        if _tool_of(chat) == frequent:
            n_frequent += 1
            if n_frequent > most:
                continue
        balanced.append(chat)
    return balanced


def _chosen(
    home: Home, chosen: TrainingFilter
) -> Iterator[tuple[Trajectory, list[CapturedAction]]]:
    """Yield the trajectories that are taken, with their actions.

    Raises:
        InvalidInput: There is no such outcome or source.
    """
    outcome = member_of(Ended, "outcome", chosen.outcome) if chosen.outcome else None
    if chosen.source and chosen.source not in FIDELITY:
        raise InvalidInput(
            f"got the source {chosen.source!r:.100}; allowed are {', '.join(FIDELITY)}"
        )
    for trajectory in trajectories_of(home):
        if outcome not in (None, trajectory.outcome):
            continue
        if not _is_lived_so(trajectory, chosen):
            continue
        actions = [
            action
            for action in trajectory.actions
            if _is_worth_learning(action, calls_only=chosen.calls_only)
        ]
        if len(actions) >= chosen.min_actions:
            yield trajectory, actions


def _is_lived_so(trajectory: Trajectory, chosen: TrainingFilter) -> bool:
    """Return whether a trajectory is of the agent, and was lived where it has to be."""
    if chosen.source not in ("", trajectory.origin):
        return False
    return chosen.agent in (None, trajectory.agent)


def _is_worth_learning(action: CapturedAction, *, calls_only: bool) -> bool:
    """Return whether an action says why and what, and is a call where it has to be."""
    if not action.reasoning.strip() or not action.action.strip():
        return False
    is_call = bool(action.tool) or _TOOL_CALL.match(action.action) is not None
    return is_call or not calls_only


def _chat(trajectory: Trajectory, action: CapturedAction) -> Chat:
    texts = (
        SYSTEM_PROMPT.format(goal=trajectory.goal),
        action.reasoning,
        action.action,
    )
    messages = []
    for role, text in zip(_ROLES, texts, strict=True):
        messages.append({"role": role, "content": mask(text)})
    return {"messages": messages}


def _is_chat(record: Chat) -> bool:
    """Return whether an object of a file is a chat as it is written here."""
    messages = record.get("messages")
    if not isinstance(messages, list) or len(messages) != len(_ROLES):
        return False
    for role, message in zip(_ROLES, messages, strict=True):
        if not isinstance(message, dict) or message.get("role") != role:
            return False
        if not isinstance(message.get("content"), str):
            return False
    return True


def _answer_of(chat: Chat) -> str:
    return str(chat["messages"][-1]["content"])


def _tool_of(chat: Chat) -> str:
    """Return the tool that an answer calls; its first word where it is no call."""
    answer = _answer_of(chat).strip()
    call = _TOOL_CALL.match(answer)
    if call:
        return call[1]
    words = answer.partition("(")[0].split()
    return words[0] if words else ""
