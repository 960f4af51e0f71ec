"""Tell search the texts of facts."""

from __future__ import annotations

from collections.abc import Iterable

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import ItemKind, ItemText

_WORD = lazy_pattern(r"\w+")


def told_of(entity: str, text: str) -> str:
    """Return a fact as a reader understands it by itself.

    Its entity's name stands in front where the text does not say it.

    >>> told_of("people/ann", "Prefers tabs"), told_of("people/ann", "Ann prefers tabs")
    ('ann: Prefers tabs', 'Ann prefers tabs')
    """
    _, _, name = entity.partition("/")
    words = {word.lower() for word in _WORD.findall(text)}
    parts_of_name = name.split("-")
    if words.isdisjoint(parts_of_name):
        return f"{name}: {text}"
    return text


def _fact(event: Event) -> tuple[ItemText, ...]:
    body = event.body
    fact = ItemText(
        body["fact_id"],
        told_of(body["entity"], body["text"]),
        tuple(body["tags"]),
        echo=body.get("noted", ""),
    )
    return (fact,)


def _replaced(event: Event) -> Iterable[str]:
    body = event.body
    if body["undo"]:
        return ()
    replaced_ids: list[str] = body["facts"]
    return replaced_ids


def _restored(event: Event) -> Iterable[str]:
    body = event.body
    if not body["undo"]:
        return ()
    restored_ids: list[str] = body["facts"]
    return restored_ids


# What a later fact replaced sleeps: it is found only where what is cold is asked for.
FACT = ItemKind(
    "fact",
    {"fact": _fact},
    sleeps={"fact_superseded": _replaced},
    wakes={"fact_superseded": _restored},
)
