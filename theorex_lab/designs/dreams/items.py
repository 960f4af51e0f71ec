"""What strategies have in search, and the settings of the design."""

from __future__ import annotations

from collections.abc import Iterable

from theorex_lab.config import part_of
from theorex_lab.config_record import SettingsRecord, tunable
from theorex_lab.design import ItemKind, ItemText
from theorex_lab.designs.dreams import STATED
from theorex_lab.home import Home
from theorex_lab.journal.event import Event


def strategy_text(goal: str, summary: str, source: str) -> str:
    """The text whose vector stands for a strategy: its goal, and what a model summed up.

    What rules sum up are names of tools and files, which make unlike work alike, and like work unlike.
    """
    return _whole(goal, summary) if source == "model" else goal


def _whole(goal: str, summary: str) -> str:
    return summary if summary.startswith(goal) else f"{goal}. {summary}" if summary else goal


def _strategy(event: Event) -> Iterable[ItemText]:
    if (state := event.body["state"]) and not event.body.get("pruned"):
        yield ItemText(event.body["strategy_id"], _whole(state["goal"], state["summary"]))


def _replaced(event: Event) -> Iterable[str]:
    return (event.body["strategy_id"],) if event.body["state"] and not event.body.get("pruned") else ()


def _asleep(event: Event) -> Iterable[str]:
    body = event.body
    if body.get("pruned"):
        yield body["strategy_id"]
    if body.get("absorbed") and not body["undo"]:
        yield body["absorbed"]


def _awake(event: Event) -> Iterable[str]:
    return (event.body["absorbed"],) if event.body.get("absorbed") and event.body["undo"] else ()


STRATEGY = ItemKind(
    "strategy", dict.fromkeys(STATED, _strategy), hides=dict.fromkeys(STATED[1:], _replaced),
    sleeps={"strategy_merged": _asleep, "strategy_compacted": _asleep}, wakes={"strategy_merged": _awake})  # fmt: skip
_TOLD = {"constraint": lambda event: (ItemText(event.body["constraint_id"], event.body["text"]),)}
CONSTRAINT = ItemKind("constraint", _TOLD)


class DreamSettings(SettingsRecord):
    """The settings of the design of dreams."""

    merge_similarity: float = tunable(0.85, "cosine from which a trajectory is taken into a strategy", ge=0, le=1)
    max_traces_per_cycle: int = tunable(50, "trajectories that one cycle takes; the rest wait", ge=1, le=10_000)
    min_actions: int = tunable(2, "actions from which a trajectory is worth a strategy", ge=1, le=1_000)
    link_similarity: float = tunable(0.3, "cosine from which two strategies may be linked", ge=0, le=1)
    most_links: int = tunable(5, "links of a new strategy to others", ge=0, le=100)
    compaction: bool = tunable(False, "whether strategies told at length are told shorter")
    compaction_max_uses: int = tunable(3, "uses from which a strategy is left as it is", ge=0, le=1_000_000)
    compaction_min_characters: int = tunable(200, "of a summary that may be told shorter", ge=1, le=100_000)
    compaction_max_version: int = tunable(5, "version from which a strategy is left as it is", ge=1, le=10_000)
    recall_similarity: float = tunable(0.5, "weight of likeness in a recall", ge=0, le=1)
    recall_confidence: float = tunable(0.3, "weight of a strategy's confidence", ge=0, le=1)
    recall_success: float = tunable(0.2, "weight of how often it succeeded, where that is known", ge=0, le=1)
    recall_threshold: float = tunable(0.25, "sum from which a strategy answers", ge=0, le=1)
    recall_floor: float | None = tunable(
        None, "cosine below which nothing answers; null: unrelated tasks'", ge=-1, le=1)  # fmt: skip
    recall_top: int = tunable(5, "strategies that are compared", ge=1, le=1_000)
    drift_threshold: float | None = tunable(
        None, "cosine below which a way no longer fits; null: the floor", ge=-1, le=1)  # fmt: skip
    isa_max_instructions: int = tunable(500, "instructions that a program may run", ge=1, le=1_000_000)
    dreaming_model: str = tunable("", "the model that dreams, of `models`; '' for rules without a model")
    night_tokens: int = tunable(0, "tokens that a night may spend on a dreaming model that costs", ge=0, le=10**9)


def dream_settings(home: Home) -> DreamSettings:
    """The settings of the design in a home. Raises ConfigError for what is wrong in them."""
    found: DreamSettings = part_of(home.settings, "dreams", DreamSettings, home.config_file)
    return found
