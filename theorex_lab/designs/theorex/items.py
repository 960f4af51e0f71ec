"""What Theorex has in search: each observation, and each concept of an agent once."""

from __future__ import annotations

from collections.abc import Iterator

from theorex_lab.design import ItemKind, ItemText
from theorex_lab.journal.event import Event


def _text(event: Event) -> tuple[ItemText]:
    return (ItemText(event.id, event.body["text"], event.body["tags"]),)


def _labels(event: Event) -> Iterator[ItemText]:
    """The concepts that an event names: ids and canonical forms."""
    body = event.body
    for concept_id, label, *_ in body["concepts"] if "concepts" in body else [[body["concept_id"], body["label"]]]:
        yield ItemText(str(concept_id), label)


OBSERVATION = ItemKind("observation", {"observation": _text})
CONCEPT = ItemKind("concept", dict.fromkeys(("observation", "graduated", "imported"), _labels), once=True)
