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
    """
    return _whole(goal, summary) if source == "model" else goal


def _whole(goal: str, summary: str) -> str:
    if not summary:
        return goal
    return summary if summary.startswith(goal) else f"{goal}. {summary}"


def _strategy(event: Event) -> Iterable[ItemText]:
    if _has_text(event):
        state = event.body["state"]
        text = _whole(state["goal"], state["summary"])
        yield ItemText(event.body["strategy_id"], text)


def _has_text(event: Event) -> bool:
    """Return whether an event tells what a strategy is, and does not prune it."""
    return bool(event.body["state"]) and not event.body.get("pruned")


def _replaced(event: Event) -> Iterable[str]:
    return (event.body["strategy_id"],) if _has_text(event) else ()


def _asleep(event: Event) -> Iterable[str]:
    body = event.body
    if body.get("pruned"):
        yield body["strategy_id"]
    if body.get("absorbed") and not body["undo"]:
        yield body["absorbed"]


def _awake(event: Event) -> Iterable[str]:
    absorbed = event.body.get("absorbed")
    return (absorbed,) if absorbed and event.body["undo"] else ()


STRATEGY = ItemKind(
    "strategy",
    dict.fromkeys(STATED, _strategy),
    hides=dict.fromkeys(STATED[1:], _replaced),
    sleeps={"strategy_merged": _asleep, "strategy_compacted": _asleep},
    wakes={"strategy_merged": _awake},
)


def _constraint(event: Event) -> Iterable[ItemText]:
    yield ItemText(event.body["constraint_id"], event.body["text"])


CONSTRAINT = ItemKind("constraint", {"constraint": _constraint})
