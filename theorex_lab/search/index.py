"""Index every kind of item, in one index of texts and one of labels: which documents
there are, whose they are, and their words.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from theorex_lab.journal.columns import Columns, Names, Table
from theorex_lab.journal.event import Event
from theorex_lab.journal.view import View
from theorex_lab.search.fuse import Mask
from theorex_lab.search.items import CORRECTION, MARKS, ItemKind, ItemText, item_number
from theorex_lab.search.lexical import LexicalIndex, tokenize
from theorex_lab.search.vectors import text_key

_Key = tuple[int, int, int]  # kind, agent, item
Texts = Iterable[str] | None
Named = Mapping[str, Callable[[Event], Iterable[str]]]
_COLUMNS = ("seq", "kind", "agent", "item", "session", "speaker", "asked", "echo")
_NAME = r"[^\W\d_][\w.'-]{0,30}"
# One to three words with a capital at the beginning, as transcripts name who speaks.
SPEAKER = re.compile(rf"((?=[A-Z]){_NAME}(?: {_NAME}){{0,2}}): ")
_MONTHS = (
    "January February March April May June July August September October November"
    " December".split()
)


class _Arrivals:
    """What a batch of events adds to the index: documents, their texts and tags, and
    flags that are set in order.
    """

    def __init__(self, first: int) -> None:
        self.first = first
        self.rows: list[tuple[int, int, int, int, int, int, bool, int]] = []
        self.located: list[tuple[int, int]] = []
        self.texts: list[str] = []
        self.words: list[list[str]] = []
        self.tagged: list[tuple[int, int]] = []
        self.flags: dict[str, list[tuple[int, bool]]] = {"hidden": [], "asleep": []}

    @property
    def next_document(self) -> int:
        """The document that the next row becomes."""
        return self.first + len(self.rows)


class ItemIndex(View):
    """One document for each item, in order of arrival.

    A subclass has the kinds of items: see `item_index`. The texts stay in the journal.

    Attributes:
        documents: A row for each document. seq: of the event that holds the text.
            kind: number in item_kinds. agent: number in agents. item: see
            `item_number`. session: number in sessions, -1 without one. speaker: number
            in speakers of who is named before a text's first colon, -1 for nobody.
            asked: whether a person said it to an agent. echo: the item that it
            duplicates, 0 for none. hidden, asleep. dismissed and corrected: by a
            person. key: two 64-bit halves of the text's hash, for the vectors.
        tagged: Pairs of document and tag.
        located: Pairs of document and project, each once: the projects in which the
            item was named, '' among them where it was named without one.
        lexical: The words, with those of the date.
    """

    name = "items"
    code = 8
    kinds: ClassVar[tuple[str, ...]] = ()
    items: ClassVar[tuple[ItemKind, ...]] = ()
    # By event kind, in the order of `items`.
    readers: ClassVar[Mapping[str, tuple[ItemKind, ...]]] = {}

    def __init__(self) -> None:
        super().__init__()
        self.agents = Names()
        self.tags = Names()
        self.item_kinds = Names()
        self.projects = Names()
        self.sessions = Names()
        self.speakers = Names()
        speech = {"session": "i4", "speaker": "i4", "asked": "?", "echo": "i8"}
        marks = dict.fromkeys(("hidden", "asleep", "dismissed", "corrected"), "?")
        self.documents = Table(
            seq="i8", kind="i2", agent="i4", item="i8", **speech, **marks, key=("u8", 2)
        )
        self.tagged = Table(document="i4", tag="i4")
        self.located = Table(document="i4", project="i4")
        self.lexical = LexicalIndex()
        # Items that keep their first text, and their documents.
        self._once: dict[_Key, int] | None = {}
        # Those items, each with a project that it was named in.
        self._named: set[tuple[int, int, int, int]] = set()
        # Documents of items that events hide, archive or restore.
        self._flagged: dict[_Key, list[int]] = {}

    def apply(self, events: Sequence[Event]) -> None:
        """Add the texts of items that are new to the agent, and what events do to those
        that the index has.
        """
        new = _Arrivals(len(self.documents))
        for event in events:
            agent = self.agents.number(event.agent)
            project = self.projects.number(event.body.get("project", ""))
            for kind in self.readers.get(event.kind, ()):
                number = self.item_kinds.number(kind.name)
                self._add_event(event, kind, (number, agent), project, new)
        if new.rows:
            self._append(new)
        if new.located:
            self.located.extend(("document", "project"), new.located)
        for column, flags in new.flags.items():
            for document, value in flags:
                self.documents[column][document] = value
        for event in events:
            if event.kind in MARKS:
                self._mark(event)

    def _mark(self, event: Event) -> None:
        """Set what a person says of an item on the agent's earlier documents of it."""
        documents = self.documents
        rows = self.rows_of(event.body["item"])
        undo = event.body["undo"]
        agent = self.agents.number(event.agent)
        is_earlier = documents["seq"][rows] < event.seq
        is_of_agent = documents["agent"][rows] == agent
        rows = rows[is_earlier & is_of_agent]
        if event.kind == "dismissed" or not undo:
            documents["dismissed"][rows] = event.kind == "dismissed" and not undo
        if event.kind != "corrected":
            return
        if undo:
            documents["corrected"][rows] = self.of_kinds([CORRECTION.name])[rows]
        else:
            documents["corrected"][rows] = True

    def _add_event(
        self,
        event: Event,
        kind: ItemKind,
        owner: tuple[int, int],
        project: int,
        new: _Arrivals,
    ) -> None:
        """Add what an event says of one kind of item.

        Args:
            event: The event.
            kind: The kind of item.
            owner: The numbers of the kind and of the agent.
            project: The number of the project.
            new: What the batch adds, to which it is added.
        """
        flags = new.flags
        if kind.has_flags:
            flags["hidden"] += self._flags(event, kind.hides, owner, value=True)
        if event.kind in kind.texts:
            for item in kind.texts[event.kind](event):
                self._add_item(event, kind, item, owner, project, new)
        if kind.has_flags:
            flags["asleep"] += self._flags(event, kind.sleeps, owner, value=True)
            flags["asleep"] += self._flags(event, kind.wakes, owner, value=False)

    def _add_item(
        self,
        event: Event,
        kind: ItemKind,
        item: ItemText,
        owner: tuple[int, int],
        project: int,
        new: _Arrivals,
    ) -> None:
        """Add a document for an item, unless it keeps its first text and has one."""
        item_id, text, tags, _, echo = item
        key = (*owner, item_number(item_id))
        document = new.next_document
        first_documents, flagged = self._known_items()
        if kind.once:
            named = (*key, project)
            if named in self._named:
                return
            self._named.add(named)
            first_document = first_documents.setdefault(key, document)
            if first_document != document:
                new.located.append((first_document, project))
                return
        new.located.append((document, project))
        if kind.has_flags:
            flagged.setdefault(key, []).append(document)
        session, speaker, is_asked = self._speech(event, text, kind)
        original = item_number(echo) if echo else 0
        new.rows.append((event.seq, *key, session, speaker, is_asked, original))
        new.texts.append(text)
        if kind.label:
            new.words.append(tokenize(text))
        else:
            new.words.append(tokenize(f"{text} {date_in_words(event.at)}"))
        for tag in tags:
            new.tagged.append((document, self.tags.number(tag)))

    def _speech(self, event: Event, text: str, kind: ItemKind) -> tuple[int, int, bool]:
        """Return the numbers of the session and of the speaker, and whether a person
        asks an agent.
        """
        if kind.label:
            return -1, -1, False
        session = -1
        if event.session:
            session = self.sessions.number(f"{event.agent}\n{event.session}")
        speaker = -1
        match = SPEAKER.match(text)
        if match:
            speaker = self.speakers.number(match[1])
        return session, speaker, event.kind == "prompt"

    def _flags(
        self, event: Event, named: Named, owner: tuple[int, int], *, value: bool
    ) -> Iterator[tuple[int, bool]]:
        """Yield the documents of the items that the event names, each with the value
        that its flag gets.
        """
        if event.kind not in named:
            return
        flagged = self._known_items()[1]
        for item_id in named[event.kind](event):
            for document in flagged.get((*owner, item_number(item_id)), ()):
                yield document, value

    def _append(self, new: _Arrivals) -> None:
        """Append the documents of a batch."""
        where = self.documents.extend(_COLUMNS, new.rows)
        keys = b"".join(text_key(text) for text in new.texts)
        self.documents["key"][where] = np.frombuffer(keys, np.uint64).reshape(-1, 2)
        self.tagged.extend(("document", "tag"), new.tagged)
        self.lexical.add(new.words)

    def columns(self) -> Columns:
        """See View."""
        return super().columns() | {
            f"lexical.{name}": array for name, array in self.lexical.columns().items()
        }

    def load(self, columns: Columns) -> None:
        """See View."""
        super().load(columns)
        lexical_columns = {
            name.removeprefix("lexical."): array
            for name, array in columns.items()
            if name.startswith("lexical.")
        }
        self.lexical = LexicalIndex.from_columns(lexical_columns)
        self._once = None

    def allowed(
        self, *, agents: Texts = None, tag: str | None = None, projects: Texts = None
    ) -> Mask:
        """Return a mask of the documents that belong to these agents, carry the tag,
        and are of these projects or of none; None stands for any.
        """
        mask = np.ones(len(self.documents), bool)
        if agents is not None:
            mask &= np.isin(self.documents["agent"], self.agents.numbers(*agents))
        if tag is not None:
            has_tag = self.tagged["tag"] == self.tags.find(tag)
            mask &= self._holding(self.tagged["document"][has_tag])
        if projects is not None:
            numbers = self.projects.numbers("", *projects)
            is_inside = np.isin(self.located["project"], numbers)
            mask &= self._holding(self.located["document"][is_inside])
        return mask

    def _holding(self, documents: NDArray[np.int64]) -> Mask:
        """Return a mask of these documents."""
        mask = np.zeros(len(self.documents), bool)
        mask[documents] = True
        return mask

    def of_kinds(self, kinds: Iterable[str]) -> Mask:
        """Return a mask of the documents of these kinds of items."""
        return np.isin(self.documents["kind"], self.item_kinds.numbers(*kinds))

    def kind_of(self, document: int) -> str:
        """Return the kind of item that a document is."""
        return self.item_kinds[int(self.documents["kind"][document])]

    def rows_of(self, item_id: str) -> NDArray[np.int64]:
        """Return the documents of an item, of all agents."""
        return np.flatnonzero(self.documents["item"] == item_number(item_id))

    def item_of(self, document: int, event: Event) -> ItemText | None:
        """Return a document's item from the event that holds its text; None where the
        event does not hold it any more.
        """
        name = self.kind_of(document)
        number = self.documents["item"][document]
        key = self.documents["key"][document].tobytes()
        for kind in self.readers.get(event.kind, ()):
            if kind.name != name or event.kind not in kind.texts:
                continue
            for item in kind.texts[event.kind](event):
                if item_number(item.item_id) == number and text_key(item.text) == key:
                    return item
        return None

    def keys(self, documents: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the text hashes of these documents, two halves each: (n, 2)."""
        return np.asarray(self.documents["key"][documents])

    def holds(self, keys: NDArray[np.uint64]) -> Mask:
        """Return which of these text hashes, (n, 2), are of texts in the index."""
        text_keys = self.documents["key"]
        has_first_half = np.isin(keys[:, 0], text_keys[:, 0])
        has_second_half = np.isin(keys[:, 1], text_keys[:, 1])
        return has_first_half & has_second_half

    def only_within(self, projects: Iterable[str]) -> NDArray[np.bool_]:
        """Return a mask of the documents that are of these projects and of no other."""
        inside = np.isin(self.located["project"], self.projects.numbers(*projects))
        documents = self.located["document"]
        return self._holding(documents[inside]) & ~self._holding(documents[~inside])

    def _known_items(self) -> tuple[dict[_Key, int], dict[_Key, list[int]]]:
        """Return the documents of items that keep their first text, and of items that
        events hide, archive or restore; read from the columns after a load.
        """
        if self._once is not None:
            return self._once, self._flagged
        keys, documents = self._items(kind.name for kind in self.items if kind.once)
        self._once = dict(zip(keys, documents, strict=True))
        key_of = dict(zip(documents, keys, strict=True))
        located_documents = self.located["document"].tolist()
        located_projects = self.located["project"].tolist()
        self._named = {
            (*key_of[document], project)
            for document, project in zip(
                located_documents, located_projects, strict=True
            )
            if document in key_of
        }
        keys, documents = self._items(
            kind.name for kind in self.items if kind.has_flags
        )
        self._flagged = {}
        for key, document in zip(keys, documents, strict=True):
            self._flagged.setdefault(key, []).append(document)
        return self._once, self._flagged

    def _items(self, kinds: Iterable[str]) -> tuple[list[_Key], list[int]]:
        """Return the items of these kinds, and their documents."""
        rows = np.flatnonzero(self.of_kinds(kinds))
        kind_numbers = self.documents["kind"][rows].tolist()
        agents = self.documents["agent"][rows].tolist()
        items = self.documents["item"][rows].tolist()
        return list(zip(kind_numbers, agents, items, strict=True)), rows.tolist()


def date_in_words(at: int) -> str:
    """Return month and year of a time (µs UTC), as people ask for them.

    >>> date_in_words(1_683_500_000_000_000)
    'May 2023'
    """
    date = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)
    return f"{_MONTHS[date.month - 1]} {date.year}"


@cache
def item_index(items: tuple[ItemKind, ...], name: str) -> type[ItemIndex]:
    """Return the index over these kinds of items.

    It is the same class for the same kinds, so that views are found by it.
    """
    by_event: dict[str, tuple[ItemKind, ...]] = {}
    item_reads: list[str] = []
    for kind in items:
        for event_kind in kind.event_kinds:
            by_event[event_kind] = (*by_event.get(event_kind, ()), kind)
            item_reads.append(f"{kind.name}.{kind.code}:{event_kind}")

    class Index(ItemIndex):
        kinds = tuple(dict.fromkeys((*by_event, *MARKS)))
        reads = (*item_reads, *MARKS)
        readers = by_event

    Index.items = items
    Index.name = name
    return Index
