"""What Theorex has in search: each observation, and each concept of an agent once."""

from __future__ import annotations

from collections.abc import Iterator

from theorex_lab.design import ItemKind, ItemText
from theorex_lab.journal.event import Event


def _text(event: Event) -> tuple[ItemText]:
    return (ItemText(event.id, event.body["text"], event.body["tags"]),)


def _labels(event: Event) -> Iterator[ItemText]:
    for concept_id, label, *_ in event.body["concepts"]:
        yield ItemText(str(concept_id), label)


def _label(event: Event) -> tuple[ItemText]:
    return (ItemText(str(event.body["concept_id"]), event.body["label"]),)


OBSERVATION = ItemKind("observation", {"observation": _text})
CONCEPT = ItemKind("concept", {"observation": _labels, "graduated": _label, "imported": _label}, once=True)
