"""Indexes over every kind of item, one of texts and one of labels: which documents
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


class ItemIndex(View):
    """One document an item, in order of arrival. Its kinds of items stand in a
    subclass: see `item_index`.

    documents: seq (of the event that holds the text), kind (number in item_kinds),
    agent, item (see `item_number`),
        session (number in sessions, -1 without one), speaker (number in speakers of who
        is named before a text's first colon, -1 for nobody), asked (whether a person
        said it to an agent), echo (the item that it echoes, 0 for none), hidden,
        asleep, dismissed and corrected (by a person), key (two 64-bit halves of the
        text's hash, for the vectors).
    tagged: pairs of document and tag.  located: pairs of document and project, each
    once: those in which the item was named
        ('' among them: without one).  lexical: the words, with those of the date.
        Texts stay in the journal.
    """

    name = "items"
    code = 8
    kinds: ClassVar[tuple[str, ...]] = ()
    items: ClassVar[tuple[ItemKind, ...]] = ()
    readers: ClassVar[
        Mapping[str, tuple[ItemKind, ...]]
    ] = {}  # by event kind, in the order of `items`

    def __init__(self) -> None:
        super().__init__()
        self.agents = Names()
        self.tags = Names()
        self.item_kinds = Names()
        self.projects = Names()
        self.sessions = Names()
        self.speakers = Names()
        said = {"session": "i4", "speaker": "i4", "asked": "?", "echo": "i8"}
        marks = dict.fromkeys(("hidden", "asleep", "dismissed", "corrected"), "?")
        self.documents = Table(
            seq="i8", kind="i2", agent="i4", item="i8", **said, **marks, key=("u8", 2)
        )
        self.tagged = Table(document="i4", tag="i4")
        self.located = Table(document="i4", project="i4")
        self.lexical = LexicalIndex()
        self._once: (
            dict[_Key, int] | None
        ) = {}  # items that keep their first text, and their documents
        self._named: set[tuple[int, int, int, int]] = (
            set()
        )  # those items, each with a project that it was named in
        self._flagged: dict[
            _Key, list[int]
        ] = {}  # documents of items that events hide, put to sleep or wake

    def fold(self, events: Sequence[Event]) -> None:
        """Take in the texts of items that are new to the agent, and what events do to
        those that are there.
        """
        new = _Arrivals(len(self.documents))
        for event in events:
            agent = self.agents.number(event.agent)
            project = self.projects.number(event.body.get("project", ""))
            for kind in self.readers.get(event.kind, ()):
                self._take_in(
                    event, kind, self.item_kinds.number(kind.name), agent, project, new
                )
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
        """Set what a person says of an item on the agent's documents of it that were
        there before.
        """
        rows = self.rows_of(event.body["item"])
        undo = event.body["undo"]
        documents = self.documents
        agent = self.agents.number(event.agent)
        rows = rows[
            (documents["seq"][rows] < event.seq) & (documents["agent"][rows] == agent)
        ]
        if event.kind == "dismissed" or not undo:
            documents["dismissed"][rows] = event.kind == "dismissed" and not undo
        if event.kind == "corrected":
            documents["corrected"][rows] = (
                self.of_kinds([CORRECTION.name])[rows] if undo else True
            )

    def _take_in(
        self,
        event: Event,
        kind: ItemKind,
        number: int,
        agent: int,
        project: int,
        new: _Arrivals,
    ) -> None:
        once, flagged = self._known()
        has_flags = kind.has_flags
        if has_flags:
            new.flags["hidden"] += self._flags(
                event, kind.hides, number, agent, value=True
            )
        for item_id, text, tags, _, echo in (
            kind.texts[event.kind](event) if event.kind in kind.texts else ()
        ):
            item = item_number(item_id)
            document = new.first + len(new.rows)
            if kind.once:
                if (named := (number, agent, item, project)) in self._named:
                    continue
                self._named.add(named)
                if (known := once.setdefault(named[:3], document)) != document:
                    new.located.append((known, project))
                    continue
            new.located.append((document, project))
            if has_flags:
                flagged.setdefault((number, agent, item), []).append(document)
            said = self._said(event, text, kind)
            new.rows.append(
                (
                    event.seq,
                    number,
                    agent,
                    item,
                    *said,
                    item_number(echo) if echo else 0,
                )
            )
            new.texts.append(text)
            new.words.append(
                tokenize(text if kind.label else f"{text} {date_in_words(event.at)}")
            )
            new.tagged += [(document, self.tags.number(tag)) for tag in tags]
        if has_flags:
            new.flags["asleep"] += self._flags(
                event, kind.sleeps, number, agent, value=True
            )
            new.flags["asleep"] += self._flags(
                event, kind.wakes, number, agent, value=False
            )

    def _said(self, event: Event, text: str, kind: ItemKind) -> tuple[int, int, bool]:
        """The numbers of the session and of the speaker, and whether a person asks an
        agent.
        """
        if kind.label:
            return -1, -1, False
        session = (
            self.sessions.number(f"{event.agent}\n{event.session}")
            if event.session
            else -1
        )
        speaker = SPEAKER.match(text)
        return (
            session,
            self.speakers.number(speaker[1]) if speaker else -1,
            event.kind == "prompt",
        )

    def _flags(
        self, event: Event, named: Named, number: int, agent: int, *, value: bool
    ) -> Iterator[tuple[int, bool]]:
        """The documents of the items that the event names, each with the value that its
        flag gets.
        """
        flagged = self._known()[1]
        for item_id in named[event.kind](event) if event.kind in named else ():
            yield from (
                (document, value)
                for document in flagged.get((number, agent, item_number(item_id)), ())
            )

    def _append(self, new: _Arrivals) -> None:
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
        own = {
            name.removeprefix("lexical."): array
            for name, array in columns.items()
            if name.startswith("lexical.")
        }
        self.lexical = LexicalIndex.from_columns(own)
        self._once = None

    def allowed(
        self, *, agents: Texts = None, tag: str | None = None, projects: Texts = None
    ) -> Mask:
        """A mask of the documents that belong to these agents, carry the tag, and are
        of these projects or of none (or of any).
        """
        mask = np.ones(len(self.documents), bool)
        if agents is not None:
            mask &= np.isin(self.documents["agent"], self.agents.numbers(*agents))
        if tag is not None:
            mask &= self._holding(
                self.tagged["document"][self.tagged["tag"] == self.tags.find(tag)]
            )
        if projects is not None:
            wanted = np.isin(
                self.located["project"], self.projects.numbers("", *projects)
            )
            mask &= self._holding(self.located["document"][wanted])
        return mask

    def _holding(self, documents: NDArray[np.int64]) -> Mask:
        mask = np.zeros(len(self.documents), bool)
        mask[documents] = True
        return mask

    def of_kinds(self, kinds: Iterable[str]) -> Mask:
        """A mask of the documents of these kinds of items."""
        return np.isin(self.documents["kind"], self.item_kinds.numbers(*kinds))

    def kind_of(self, document: int) -> str:
        """The kind of item that a document is."""
        return self.item_kinds[int(self.documents["kind"][document])]

    def rows_of(self, item_id: str) -> NDArray[np.int64]:
        """The documents of an item, of all agents."""
        return np.flatnonzero(self.documents["item"] == item_number(item_id))

    def item_of(self, document: int, event: Event) -> ItemText | None:
        """A document's item, from the event that holds its text; None where that
        carries it no more.
        """
        name = self.kind_of(document)
        number = self.documents["item"][document]
        key = self.documents["key"][document]
        for kind in self.readers.get(event.kind, ()):
            if kind.name == name and event.kind in kind.texts:
                for item in kind.texts[event.kind](event):
                    if (
                        item_number(item.item_id) == number
                        and text_key(item.text) == key.tobytes()
                    ):
                        return item
        return None

    def keys(self, documents: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The text hashes of these documents, two halves each: (n, 2)."""
        return np.asarray(self.documents["key"][documents])

    def holds(self, keys: NDArray[np.uint64]) -> Mask:
        """Which of these text hashes, (n, 2), are of texts that are remembered."""
        known = self.documents["key"]
        return np.isin(keys[:, 0], known[:, 0]) & np.isin(keys[:, 1], known[:, 1])

    def only_within(self, projects: Iterable[str]) -> NDArray[np.bool_]:
        """A mask of the documents that are of these projects and of no other."""
        inside = np.isin(self.located["project"], self.projects.numbers(*projects))
        documents = self.located["document"]
        return self._holding(documents[inside]) & ~self._holding(documents[~inside])

    def _known(self) -> tuple[dict[_Key, int], dict[_Key, list[int]]]:
        if self._once is None:
            keys, documents = self._items(kind.name for kind in self.items if kind.once)
            self._once = dict(zip(keys, documents, strict=True))
            key_of = dict(zip(documents, keys, strict=True))
            pairs = zip(
                self.located["document"].tolist(),
                self.located["project"].tolist(),
                strict=True,
            )
            self._named = {
                (*key_of[document], project)
                for document, project in pairs
                if document in key_of
            }
            self._flagged = {}
            for key, document in zip(
                *self._items(kind.name for kind in self.items if kind.has_flags),
                strict=True,
            ):
                self._flagged.setdefault(key, []).append(document)
        return self._once, self._flagged

    def _items(self, kinds: Iterable[str]) -> tuple[list[_Key], list[int]]:
        """The items of these kinds, and their documents."""
        rows = np.flatnonzero(self.of_kinds(kinds))
        kind, agent, item = (
            self.documents[name][rows].tolist() for name in ("kind", "agent", "item")
        )
        return list(zip(kind, agent, item, strict=True)), rows.tolist()


def date_in_words(at: int) -> str:
    """Month and year of a time (µs UTC), as people ask for them.

    >>> date_in_words(1_683_500_000_000_000)
    'May 2023'
    """
    date = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)
    return f"{_MONTHS[date.month - 1]} {date.year}"


@cache
def item_index(items: tuple[ItemKind, ...], name: str) -> type[ItemIndex]:
    """The index over these kinds of items: the same class for the same ones, so that
    views are found by it.
    """
    by_event: dict[str, tuple[ItemKind, ...]] = {}
    for kind in items:
        for event_kind in kind.event_kinds:
            by_event[event_kind] = (*by_event.get(event_kind, ()), kind)

    class Index(ItemIndex):
        kinds = tuple(dict.fromkeys((*by_event, *MARKS)))
        reads = (
            *(
                f"{kind.name}.{kind.code}:{read}"
                for kind in items
                for read in kind.event_kinds
            ),
            *MARKS,
        )
        readers = by_event

    Index.items, Index.name = items, name
    return Index
