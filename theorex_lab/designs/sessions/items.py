"""What sessions have in search: sentences worth finding, sessions in short, and fixes."""

from __future__ import annotations

from collections.abc import Iterator

from theorex_lab.designs.sessions.sentences import item_id, texts_of_event
from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import ItemKind, ItemText


def _sentences(event: Event) -> Iterator[ItemText]:
    for number, text in enumerate(texts_of_event(event)):
        yield ItemText(item_id(event.id, number), text)


def digest_id(event: Event) -> str:
    """Return the id under which search knows a session in short.

    It is the same when the session is kept again.
    """
    return f"digest.{event.lineage[0] if event.lineage else event.id}"


SENTENCE = ItemKind(
    "sentence",
    {"prompt": _sentences, "turn_ended": _sentences, "turn_message": _sentences},
    on_demand=True,
)
DIGEST = ItemKind(
    "session",
    {"digest": lambda event: (ItemText(digest_id(event), event.body["text"]),)},
    hides={"digest": lambda event: (digest_id(event),)},
)
FIX = ItemKind(
    "fix", {"fixed": lambda event: (ItemText(event.id, event.body["text"]),)}
)
