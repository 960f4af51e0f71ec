"""What Theorex has in search: each observation, each moment, and each concept of an agent once."""

from __future__ import annotations

from collections.abc import Iterator

from theorex_lab.design import ItemKind, ItemText
from theorex_lab.journal.event import Event
from theorex_lab.memory.observation import AVOID_TYPE, FIX_TYPE

MOMENT_TYPE = "moment"
# Kinds of sentences of a context, and the titles that they stand under.
TITLES = {FIX_TYPE: "Known fixes", AVOID_TYPE: "To avoid"}


def _text(event: Event) -> tuple[ItemText, ...]:
    return () if event.body["type"] == MOMENT_TYPE else _story(event)


def _moment(event: Event) -> tuple[ItemText, ...]:
    return _story(event) if event.body["type"] == MOMENT_TYPE else ()


def _story(event: Event) -> tuple[ItemText, ...]:
    return (ItemText(event.id, event.body["text"], event.body["tags"]),)


def _labels(event: Event) -> Iterator[ItemText]:
    """The concepts that an event names: ids and canonical forms."""
    body = event.body
    for concept_id, label, *_ in body["concepts"] if "concepts" in body else [[body["concept_id"], body["label"]]]:
        yield ItemText(str(concept_id), label)


# A moment never sleeps.
MOMENT = ItemKind("moment", {"observation": _moment})
OBSERVATION = ItemKind("observation", {"observation": _text})
CONCEPT = ItemKind("concept", dict.fromkeys(("observation", "graduated", "imported"), _labels), once=True, label=True)
