"""Tell search the texts of facts."""

from __future__ import annotations

import re
from collections.abc import Iterable

from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import ItemKind, ItemText

_WORD = re.compile(r"\w+")


def told_of(entity: str, text: str) -> str:
    """Return a fact as a reader understands it by itself.

    Its entity's name stands in front where the text does not say it.

    >>> told_of("people/ann", "Prefers tabs"), told_of("people/ann", "Ann prefers tabs")
    ('ann: Prefers tabs', 'Ann prefers tabs')
    """
    name = entity.partition("/")[2]
    words = {word.lower() for word in _WORD.findall(text)}
    return f"{name}: {text}" if words.isdisjoint(name.split("-")) else text


def _fact(event: Event) -> tuple[ItemText, ...]:
    body = event.body
    text = told_of(body["entity"], body["text"])
    tags = tuple(body["tags"])
    return (ItemText(body["fact_id"], text, tags, echo=body.get("noted", "")),)


def _replaced(event: Event) -> Iterable[str]:
    return () if event.body["undo"] else event.body["facts"]


def _restored(event: Event) -> Iterable[str]:
    return event.body["facts"] if event.body["undo"] else ()


# What a later fact replaced sleeps: it is found only where what is cold is asked for.
FACT = ItemKind(
    "fact",
    {"fact": _fact},
    sleeps={"fact_superseded": _replaced},
    wakes={"fact_superseded": _restored},
)
