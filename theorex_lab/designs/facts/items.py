"""What facts have in search, and the settings of the design."""

from __future__ import annotations

import re

from theorex_lab.config import part_of
from theorex_lab.config_record import SettingsRecord, tunable
from theorex_lab.design import ItemKind, ItemText
from theorex_lab.home import Home
from theorex_lab.journal.event import Event

_WORD = re.compile(r"\w+")


def told_of(entity: str, text: str) -> str:
    """A fact as a reader understands it by itself: with its entity's name in front where the text does not say it.

    >>> told_of("people/ann", "Prefers tabs"), told_of("people/ann", "Ann prefers tabs")
    ('ann: Prefers tabs', 'Ann prefers tabs')
    """
    name = entity.partition("/")[2]
    return text if {word.lower() for word in _WORD.findall(text)} & set(name.split("-")) else f"{name}: {text}"


def _fact(event: Event) -> tuple[ItemText, ...]:
    body = event.body
    told = told_of(body["entity"], body["text"])
    return (ItemText(body["fact_id"], told, tuple(body["tags"]), echo=body.get("noted", "")),)


# What a later fact replaced sleeps: it is found only where what is cold is asked for.
FACT = ItemKind(
    "fact", {"fact": _fact}, sleeps={"fact_superseded": lambda event: () if event.body["undo"] else event.body["facts"]},
    wakes={"fact_superseded": lambda event: event.body["facts"] if event.body["undo"] else ()})  # fmt: skip


class FactSettings(SettingsRecord):
    """The settings of the design of facts."""

    timezone: str = tunable("", "of days and weeks, such as Europe/Moscow; '' is $ENGRAM_TZ, else $TZ, else UTC")
    near_duplicate_threshold: float = tunable(0.82, "likeness from which an entity's fact is not kept", ge=0, le=1)
    hot_days: float = tunable(7, "days after its last use that a fact is hot", unit="days", gt=0, le=36_500)
    warm_days: float = tunable(30, "days that it is warm", unit="days", gt=0, le=36_500)
    doubtful_days: float = tunable(14, "days that a doubtful fact is warm", unit="days", gt=0, le=36_500)
    doubtful_below: float = tunable(0.5, "confidence below which a fact is doubtful", ge=0, le=1)
    warm_accesses: int = tunable(10, "uses from which a cold fact is warm", ge=1, le=1_000_000)
    heartbeat_minutes: float = tunable(30, "between two heartbeats", unit="minutes", ge=1, le=1_440)
    observation_alerts: int = tunable(20, "pending notes above which the heartbeat gives an alert", ge=1, le=10_000)
    tension_alerts: int = tunable(5, "pending tensions above which the heartbeat gives an alert", ge=1, le=10_000)


def fact_settings(home: Home) -> FactSettings:
    """The settings of the design in a home. Raises ConfigError for what is wrong in them."""
    found: FactSettings = part_of(home.settings, "facts", FactSettings, home.config_file)
    return found
