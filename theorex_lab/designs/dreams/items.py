"""What strategies have in search, and the settings of the design."""

from __future__ import annotations

from collections.abc import Iterable

from theorex_lab.designs.dreams import STATED
from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import ItemKind, ItemText


def strategy_text(goal: str, summary: str, source: str) -> str:
    """The text whose vector stands for a strategy: its goal, and what a model summed
    up.

    What rules sum up are names of tools and files, which make unlike work alike, and
    like work unlike.
    """
    return _whole(goal, summary) if source == "model" else goal


def _whole(goal: str, summary: str) -> str:
    return (
        summary
        if summary.startswith(goal)
        else f"{goal}. {summary}"
        if summary
        else goal
    )


def _strategy(event: Event) -> Iterable[ItemText]:
    if (state := event.body["state"]) and not event.body.get("pruned"):
        yield ItemText(
            event.body["strategy_id"], _whole(state["goal"], state["summary"])
        )


def _replaced(event: Event) -> Iterable[str]:
    return (
        (event.body["strategy_id"],)
        if event.body["state"] and not event.body.get("pruned")
        else ()
    )


def _asleep(event: Event) -> Iterable[str]:
    body = event.body
    if body.get("pruned"):
        yield body["strategy_id"]
    if body.get("absorbed") and not body["undo"]:
        yield body["absorbed"]


def _awake(event: Event) -> Iterable[str]:
    return (
        (event.body["absorbed"],)
        if event.body.get("absorbed") and event.body["undo"]
        else ()
    )


STRATEGY = ItemKind(
    "strategy",
    dict.fromkeys(STATED, _strategy),
    hides=dict.fromkeys(STATED[1:], _replaced),
    sleeps={"strategy_merged": _asleep, "strategy_compacted": _asleep},
    wakes={"strategy_merged": _awake},
)
_TOLD = {
    "constraint": lambda event: (
        ItemText(event.body["constraint_id"], event.body["text"]),
    )
}
CONSTRAINT = ItemKind("constraint", _TOLD)
