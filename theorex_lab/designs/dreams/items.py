"""Tell search the texts of strategies and constraints."""

from __future__ import annotations

from collections.abc import Iterable

from theorex_lab.designs.dreams import STATED
from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import ItemKind, ItemText


def strategy_text(goal: str, summary: str, source: str) -> str:
    """Return the text whose vector stands for a strategy.

    It is its goal, and what a model summed up. What rules sum up are names of tools and
    files, which make unlike work alike, and like work unlike.

    Args:
        goal: What it is for.
        summary: What was summed up.
        source: Whose words the summary is, a key of `TRUST`.
    """
    if source == "model":
        return _whole(goal, summary)
    return goal


def _whole(goal: str, summary: str) -> str:
    """Return a goal and its summary in one, the goal once."""
    if not summary:
        return goal
    if summary.startswith(goal):
        return summary
    return f"{goal}. {summary}"


def _strategy(event: Event) -> Iterable[ItemText]:
    if not _has_text(event):
        return
    body = event.body
    state = body["state"]
    text = _whole(state["goal"], state["summary"])
    yield ItemText(body["strategy_id"], text)


def _has_text(event: Event) -> bool:
    """Return whether an event tells what a strategy is, and does not prune it."""
    body = event.body
    if not body["state"]:
        return False
    return not body.get("pruned")


def _replaced(event: Event) -> Iterable[str]:
    if _has_text(event):
        yield event.body["strategy_id"]


def _asleep(event: Event) -> Iterable[str]:
    body = event.body
    if body.get("pruned"):
        yield body["strategy_id"]
    absorbed = body.get("absorbed")
    if absorbed and not body["undo"]:
        yield absorbed


def _awake(event: Event) -> Iterable[str]:
    body = event.body
    absorbed = body.get("absorbed")
    if absorbed and body["undo"]:
        yield absorbed


STRATEGY = ItemKind(
    "strategy",
    dict.fromkeys(STATED, _strategy),
    hides=dict.fromkeys(STATED[1:], _replaced),
    sleeps={
        "strategy_merged": _asleep,
        "strategy_compacted": _asleep,
    },
    wakes={"strategy_merged": _awake},
)


def _constraint(event: Event) -> Iterable[ItemText]:
    body = event.body
    yield ItemText(body["constraint_id"], body["text"])


CONSTRAINT = ItemKind("constraint", {"constraint": _constraint})
