"""What facts have in search, and the settings of the design."""

from __future__ import annotations

import re

from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import ItemKind, ItemText

_WORD = re.compile(r"\w+")


def told_of(entity: str, text: str) -> str:
    """A fact as a reader understands it by itself: with its entity's name in front
    where the text does not say it.

    >>> told_of("people/ann", "Prefers tabs"), told_of("people/ann", "Ann prefers tabs")
    ('ann: Prefers tabs', 'Ann prefers tabs')
    """
    name = entity.partition("/")[2]
    return (
        text
        if {word.lower() for word in _WORD.findall(text)} & set(name.split("-"))
        else f"{name}: {text}"
    )


def _fact(event: Event) -> tuple[ItemText, ...]:
    body = event.body
    told = told_of(body["entity"], body["text"])
    return (
        ItemText(
            body["fact_id"], told, tuple(body["tags"]), echo=body.get("noted", "")
        ),
    )


# What a later fact replaced sleeps: it is found only where what is cold is asked for.
FACT = ItemKind(
    "fact",
    {"fact": _fact},
    sleeps={
        "fact_superseded": lambda event: (
            () if event.body["undo"] else event.body["facts"]
        )
    },
    wakes={
        "fact_superseded": lambda event: (
            event.body["facts"] if event.body["undo"] else ()
        )
    },
)
