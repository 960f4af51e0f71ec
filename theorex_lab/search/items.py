"""Describe what is searched: the kinds of items, and which events carry, hide, archive
or restore them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

from theorex_lab.journal.event import Event

_LONGEST_NUMBER = 18  # digits; such a number lies below 2^62
_HASHED = 1 << 62


# the type of an observation that tells a story, which a design may take for a kind of
# its own
MOMENT_TYPE = "moment"
# What a person says of an item: its id in `item`, and in `undo` whether that holds no
# longer; see `memory.marks`.
MARKS = ("pinned", "dismissed", "corrected")


class ItemText(NamedTuple):
    """A text that an event carries.

    Attributes:
        item_id: The id of the item.
        text: The text.
        tags: Its tags.
        about: What a reader is told that it is about.
        echo: The id of an item that it duplicates, '' for none. A duplicate does not
            make its words common. Where that item is a result, the duplicate is one
            only for a search that names its kind.
    """

    item_id: str
    text: str
    tags: tuple[str, ...] = ()
    about: str = ""
    echo: str = ""


@dataclass(frozen=True, eq=False)
class ItemKind:
    """Texts of one kind, which search finds.

    An event hides items before its own texts come in, so that a new text can stand for
    an old one under the same id. It archives, then restores after them.

    Attributes:
        name: The name of the kind.
        texts: By event kind, the texts that such an event carries.
        once: Whether an agent's item that is named again is the same item, and its
            first text stays.
        label: Whether it is a name rather than a text. It has an index of its own and
            no vector, and is a result where its kind is asked for.
        hides: By event kind, the ids of the agent's items that it takes out of search
            for good (superseded, merged), of those that the index has by then.
        sleeps: By event kind, the ids of those that it archives.
        wakes: By event kind, the ids of those that it restores.
        code: Raised whenever these functions change, so that what they gave before is
            read again.
    """

    name: str
    texts: Mapping[str, Callable[[Event], Iterable[ItemText]]]
    once: bool = False
    label: bool = False
    hides: Mapping[str, Callable[[Event], Iterable[str]]] = field(default_factory=dict)
    sleeps: Mapping[str, Callable[[Event], Iterable[str]]] = field(default_factory=dict)
    wakes: Mapping[str, Callable[[Event], Iterable[str]]] = field(default_factory=dict)
    code: int = 1

    @property
    def event_kinds(self) -> list[str]:
        """The kinds of events that are read for it, those with texts first."""
        return list(
            dict.fromkeys([*self.texts, *self.hides, *self.sleeps, *self.wakes])
        )

    @property
    def has_flags(self) -> bool:
        """Whether events hide its items, put them to sleep or wake them."""
        return bool(self.hides or self.sleeps or self.wakes)


def item_number(item_id: str) -> int:
    """Return the number that stands for an id in the index, below 2^63: a plain number
    itself, else a hash of the id.

    >>> item_number("4711")
    4711
    >>> item_number("04711") == item_number("4711")
    False
    """
    if item_id.isdecimal() and len(item_id) <= _LONGEST_NUMBER:
        number = int(item_id)
        if str(number) == item_id:
            return number
    digest = blake2b(item_id.encode(), digest_size=8).digest()
    return _HASHED | int.from_bytes(digest) >> 2


def _corrected(event: Event) -> tuple[ItemText, ...]:
    """Return the text that a person gave an item."""
    text = "" if event.body["undo"] else event.body.get("text", "")
    return (ItemText(event.body["item"], text),) if text else ()


# The text that a person gave an item, under the item's own id; the index hides the
# other texts of that id meanwhile.
CORRECTION = ItemKind("correction", {"corrected": _corrected})


def observed_text(event: Event) -> tuple[ItemText, ...]:
    """Return the text of an observation, about the concepts that it names."""
    about = ", ".join(concept[1] for concept in event.body["concepts"])
    return (ItemText(event.id, event.body["text"], event.body["tags"], about),)


def _observed(event: Event) -> tuple[ItemText, ...]:
    """Return the text of an observation that tells no story."""
    return () if event.body["type"] == MOMENT_TYPE else observed_text(event)


# What was written, which any design may bring, and several may.
OBSERVATION = ItemKind("observation", {"observation": _observed})


def _parts(code: bool) -> Callable[[Event], Iterable[ItemText]]:
    """Return a reader of the parts of an ingested file: its symbols, or its sections;
    their names are searched too.
    """

    def texts(event: Event) -> Iterable[ItemText]:
        file = event.body["file"]
        for number, node_type, name, text, line, _ in event.body["parts"]:
            if node_type.startswith("code_") == code:
                yield ItemText(number, f"{name}\n{text}", (), f"{file}:{line} › {name}")

    return texts


def _gone(event: Event) -> Iterable[str]:
    """Return the ids of the parts that a file has no more."""
    return list(event.body["gone"])


SECTION = ItemKind(
    "section", {"document": _parts(code=False)}, hides={"document": _gone}
)
SYMBOL = ItemKind("symbol", {"document": _parts(code=True)}, hides={"document": _gone})
# What every home finds, whichever designs work in it.
OWN_ITEMS = (CORRECTION, SECTION, SYMBOL)
