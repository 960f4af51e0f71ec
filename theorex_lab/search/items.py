"""Describe what is searched: the kinds of items.

A kind says which events carry, hide, archive or restore its items.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from hashlib import blake2b
from typing import NamedTuple

from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.journal.event import Event

_LONGEST_NUMBER = 18  # digits; such a number lies below 2^62
_HASHED = 1 << 62


# The type of an observation that tells a story, which a design may take for a kind of
# its own.
MOMENT_TYPE = "moment"
# What a person says of an item: its id in `item`, and in `undo` whether that holds no
# longer; see `memory.annotations`.
MARKS = ("pinned", "dismissed", "corrected", "trusted")


class ItemText(NamedTuple):
    """A text that an event carries.

    Attributes:
        item_id: The id of the item.
        text: The text.
        tags: Its tags.
        subject: What a reader is told that it is about.
        echo: The id of an item that it duplicates, '' for none. A duplicate does not
            make its words common. Where that item is a result, the duplicate is one
            only for a search that names its kind.
    """

    item_id: str
    text: str
    tags: tuple[str, ...] = ()
    subject: str = ""
    echo: str = ""


TextReader = Callable[[Event], Iterable[ItemText]]
IdReader = Callable[[Event], Iterable[str]]


@dataclass(frozen=True, eq=False)
class ItemKind:
    """Texts of one kind, which search finds.

    An event hides items before its own texts come in, so that a new text can replace
    an old one under the same id. It archives, then restores after them.

    Attributes:
        name: The name of the kind.
        texts: By event kind, the texts that such an event carries.
        once: Whether an agent's item that is named again is the same item, and its
            first text stays.
        label: Whether it is a name rather than a text. It has an index of its own and
            no vector, and is a result where its kind is asked for.
        on_demand: Whether a text gets its vector where a search has it among the best
            by words, and not as soon as there is time. That is for kinds of which there
            are very many texts, most of them never looked for, as single sentences.
        hides: By event kind, the ids of the agent's items that it takes out of search
            for good (superseded, merged), of those that the index has by then.
        sleeps: By event kind, the ids of those that it archives.
        wakes: By event kind, the ids of those that it restores.
        code: Raised whenever these functions change, so that what they gave before is
            read again.

    >>> def texts(event):
    ...     return [ItemText(event.id, event.body["text"])]
    >>> ItemKind("memo", {"memo": texts}).event_kinds
    ['memo']
    """

    name: str
    texts: Mapping[str, TextReader]
    once: bool = False
    label: bool = False
    on_demand: bool = False
    hides: Mapping[str, IdReader] = field(default_factory=dict)
    sleeps: Mapping[str, IdReader] = field(default_factory=dict)
    wakes: Mapping[str, IdReader] = field(default_factory=dict)
    code: int = 1

    @property
    def event_kinds(self) -> list[str]:
        """The kinds of events that are read for it, those with texts first."""
        event_kinds: dict[str, None] = {}
        for readers in (
            self.texts,
            self.hides,
            self.sleeps,
            self.wakes,
        ):
            event_kinds.update(dict.fromkeys(readers))
        return list(event_kinds)

    @property
    def has_flags(self) -> bool:
        """Whether events hide its items, archive them or restore them."""
        return bool(self.hides or self.sleeps or self.wakes)


def item_number(item_id: str) -> int:
    """Return the number that stands for an id in the index, below 2^63.

    A plain number stands for itself; for any other id it is a hash of the id.

    >>> item_number("4711")
    4711
    >>> item_number("04711") == item_number("4711")
    False
    """
    if item_id.isdecimal() and len(item_id) <= _LONGEST_NUMBER:
        number = int(item_id)
        if str(number) == item_id:
            return number
    content = item_id.encode()
    digest = blake2b(content, digest_size=8).digest()
    first_bits = int.from_bytes(digest) >> 2
    return _HASHED | first_bits


def _corrected(event: Event) -> tuple[ItemText, ...]:
    """Return the text that a person gave an item."""
    if event.body["undo"]:
        return ()
    text = event.body.get("text", "")
    if not text:
        return ()
    item = ItemText(
        item_id=event.body["item"],
        text=text,
    )
    return (item,)


# The text that a person gave an item, under the item's own id; the index hides the
# other texts of that id meanwhile.
CORRECTION = ItemKind(
    name="correction",
    texts={"corrected": _corrected},
)


def observed_text(event: Event) -> tuple[ItemText, ...]:
    """Return the text of an observation, about the concepts that it names."""
    labels = [concept[1] for concept in event.body["concepts"]]
    item = ItemText(
        item_id=event.id,
        text=event.body["text"],
        tags=event.body["tags"],
        subject=", ".join(labels),
    )
    return (item,)


def _observed(event: Event) -> tuple[ItemText, ...]:
    """Return the text of an observation that tells no story."""
    if event.body["type"] == MOMENT_TYPE:
        return ()
    return observed_text(event)


# What was written, which any design may bring, and several may.
OBSERVATION = ItemKind(
    name="observation",
    texts={"observation": _observed},
)


def _parts(code: bool) -> TextReader:
    """Return a reader of the parts of an ingested file.

    Their names are searched too.

    Args:
        code: Whether the symbols are read; if not, the sections are.
    """

    def texts(event: Event) -> Iterable[ItemText]:
        file = event.body["file"]
        for part in event.body["parts"]:
            number, node_type, name, text, line, _ = part
            is_code = node_type.startswith("code_")
            if is_code == code:
                yield ItemText(
                    item_id=number,
                    text=f"{name}\n{text}",
                    subject=f"{file}:{line} › {name}",
                )

    return texts


def _gone(event: Event) -> Iterable[str]:
    """Return the ids of the parts that a file has no more."""
    return list(event.body["gone"])


SECTION = ItemKind(
    name="section",
    texts={"document": _parts(code=False)},
    hides={"document": _gone},
)
SYMBOL = ItemKind(
    name="symbol",
    texts={"document": _parts(code=True)},
    hides={"document": _gone},
)
# What every home finds, whichever designs work in it.
OWN_ITEMS = (
    CORRECTION,
    SECTION,
    SYMBOL,
)
