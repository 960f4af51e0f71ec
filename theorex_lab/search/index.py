"""Index every kind of item, in one index of texts and one of labels.

An index holds which documents there are, whose they are, and their words.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.journal.columns import Columns, Names, Table
from theorex_lab.journal.event import Event
from theorex_lab.journal.view import View
from theorex_lab.search.fuse import Mask
from theorex_lab.search.items import (
    CORRECTION,
    MARKS,
    IdReader,
    ItemKind,
    ItemText,
    item_number,
)
from theorex_lab.search.lexical import LexicalIndex, tokenize
from theorex_lab.search.vectors import text_key

_Key = tuple[int, int, int]  # kind, agent, item
_Row = tuple[int, int, int, int, int, int, bool, int]  # in the order of _COLUMNS
_Flag = tuple[int, bool]  # document, value
Texts = Iterable[str] | None
_COLUMNS = (
    "seq",
    "kind",
    "agent",
    "item",
    "session",
    "speaker",
    "asked",
    "echo",
)
_NAME = r"[^\W\d_][\w.'-]{0,30}"
# One to three words with a capital at the beginning, as transcripts name who speaks.
SPEAKER = lazy_pattern(rf"((?=[A-Z]){_NAME}(?: {_NAME}){{0,2}}): ")
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ALL = slice(None)


class _Arrivals:
    """What a batch of events adds to the index.

    Those are documents, their texts and tags, and flags that are set in order.
    """

    def __init__(self, first: int) -> None:
        self.first = first
        self.rows: list[_Row] = []
        self.located: list[tuple[int, int]] = []
        self.texts: list[str] = []
        self.words: list[list[str]] = []
        self.tagged: list[tuple[int, int]] = []
        self.flags: dict[str, list[_Flag]] = {
            "hidden": [],
            "asleep": [],
        }

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
            duplicates, 0 for none. hidden, `asleep` (archived). dismissed and corrected: by a
            person. key: two 64-bit halves of the text's hash, for the vectors.
        tagged: Pairs of document and tag.
        located: Pairs of document and project, each once: the projects in which the
            item was named, '' among them where it was named without one.
        lexical: The words, with those of the date.
    """

    name = "items"
    code = 9
    kinds: ClassVar[tuple[str, ...]] = ()
    items: ClassVar[tuple[ItemKind, ...]] = ()
    # By event kind, in the order of `items`.
    readers: ClassVar[Mapping[str, tuple[ItemKind, ...]]] = {}

    def __init__(self) -> None:
        """Begin without documents."""
        super().__init__()
        self.agents = Names()
        self.tags = Names()
        self.item_kinds = Names()
        self.projects = Names()
        self.sessions = Names()
        self.speakers = Names()
        self.documents = Table(
            seq="i8",
            kind="i2",
            agent="i4",
            item="i8",
            session="i4",
            speaker="i4",
            asked="?",
            echo="i8",
            hidden="?",
            asleep="?",
            dismissed="?",
            corrected="?",
            key=("u8", 2),
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
        """Add the texts of items that are new to the agent.

        What events do to items that the index has is noted too.
        """
        new = _Arrivals(len(self.documents))
        for event in events:
            agent = self.agents.number(event.agent)
            project_name = event.body.get("project", "")
            project = self.projects.number(project_name)
            for kind in self.readers.get(event.kind, ()):
                kind_number = self.item_kinds.number(kind.name)
                owner = (kind_number, agent)
                self._add_event(event, kind, owner, project, new)
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
        if event.kind == "dismissed":
            documents["dismissed"][rows] = not undo
        elif not undo:
            documents["dismissed"][rows] = False
        if event.kind != "corrected":
            return
        if undo:
            is_correction = self.of_kinds([CORRECTION.name])
            documents["corrected"][rows] = is_correction[rows]
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
        hidden = new.flags["hidden"]
        asleep = new.flags["asleep"]
        if kind.has_flags:
            hidden += self._flags(event, kind.hides, owner, value=True)
        if event.kind in kind.texts:
            read_texts = kind.texts[event.kind]
            for item in read_texts(event):
                self._add_item(event, kind, item, owner, project, new)
        if kind.has_flags:
            asleep += self._flags(event, kind.sleeps, owner, value=True)
            asleep += self._flags(event, kind.wakes, owner, value=False)

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
        number = item_number(item.item_id)
        key = (*owner, number)
        document = new.next_document
        first_documents, flagged = self._known_items()
        if kind.once:
            naming = (*key, project)
            if naming in self._named:
                return
            self._named.add(naming)
            first_document = first_documents.setdefault(key, document)
            if first_document != document:
                new.located.append((first_document, project))
                return
        new.located.append((document, project))
        if kind.has_flags:
            flagged.setdefault(key, []).append(document)
        original = 0
        if item.echo:
            original = item_number(item.echo)
        speech = self._speech(event, item.text, kind)
        new.rows.append((event.seq, *key, *speech, original))
        new.texts.append(item.text)
        searched_text = item.text
        if not kind.label:
            searched_text = f"{item.text} {date_in_words(event.at)}"
        new.words.append(tokenize(searched_text))
        for tag in item.tags:
            tag_number = self.tags.number(tag)
            new.tagged.append((document, tag_number))

    def _speech(self, event: Event, text: str, kind: ItemKind) -> tuple[int, int, bool]:
        """Return who says a text, and where.

        Returns:
            The number of the session, that of the speaker, and whether a person asks an
            agent.
        """
        if kind.label:
            return -1, -1, False
        session = -1
        if event.session:
            session_name = f"{event.agent}\n{event.session}"
            session = self.sessions.number(session_name)
        speaker = -1
        match = SPEAKER.match(text)
        if match:
            speaker = self.speakers.number(match[1])
        is_asked = event.kind == "prompt"
        return session, speaker, is_asked

    def _flags(
        self,
        event: Event,
        readers: Mapping[str, IdReader],
        owner: tuple[int, int],
        *,
        value: bool,
    ) -> Iterator[_Flag]:
        """Yield the documents of the items that the event names, and a value for each.

        Args:
            event: The event.
            readers: By event kind, what reads the ids of the items.
            owner: The numbers of the kind of item and of the agent.
            value: The value that the flag of each document gets.
        """
        if event.kind not in readers:
            return
        _, flagged = self._known_items()
        read_ids = readers[event.kind]
        for item_id in read_ids(event):
            number = item_number(item_id)
            for document in flagged.get((*owner, number), ()):
                yield document, value

    def _append(self, new: _Arrivals) -> None:
        """Append the documents of a batch."""
        where = self.documents.extend(_COLUMNS, new.rows)
        keys = b"".join(map(text_key, new.texts))
        halves = np.frombuffer(keys, np.uint64)
        self.documents["key"][where] = halves.reshape(-1, 2)
        self.tagged.extend(("document", "tag"), new.tagged)
        self.lexical.add(new.words)

    def columns(self) -> Columns:
        """See View."""
        columns = super().columns()
        for name, array in self.lexical.columns().items():
            columns[f"lexical.{name}"] = array
        return columns

    def load(self, columns: Columns) -> None:
        """See View."""
        super().load(columns)
        lexical_columns: Columns = {}
        for name, array in columns.items():
            if name.startswith("lexical."):
                lexical_name = name.removeprefix("lexical.")
                lexical_columns[lexical_name] = array
        self.lexical = LexicalIndex.from_columns(lexical_columns)
        self._once = None

    def allowed(
        self,
        *,
        agents: Texts = None,
        tag: str | None = None,
        projects: Texts = None,
    ) -> Mask:
        """Return a mask of the documents that meet all conditions.

        Args:
            agents: The agents to one of which they belong; None for any.
            tag: The tag that they carry; None for any or none.
            projects: The projects of one of which they are, or of none; None for any.
        """
        mask = np.ones(len(self.documents), bool)
        if agents is not None:
            agent_numbers = self.agents.numbers(*agents)
            mask &= np.isin(self.documents["agent"], agent_numbers)
        if tag is not None:
            has_tag = self.tagged["tag"] == self.tags.find(tag)
            tagged_documents = self.tagged["document"][has_tag]
            mask &= self._holding(tagged_documents)
        if projects is not None:
            project_numbers = self.projects.numbers("", *projects)
            is_inside = np.isin(self.located["project"], project_numbers)
            documents_inside = self.located["document"][is_inside]
            mask &= self._holding(documents_inside)
        return mask

    def _holding(self, documents: NDArray[np.int64]) -> Mask:
        """Return a mask of these documents."""
        mask = np.zeros(len(self.documents), bool)
        mask[documents] = True
        return mask

    def of_kinds(
        self, kinds: Iterable[str], documents: NDArray[np.int64] | slice = _ALL
    ) -> Mask:
        """Return which of these documents are of one of these kinds of items.

        Args:
            kinds: The kinds.
            documents: The documents; all where none are given.
        """
        asked_numbers = self.item_kinds.numbers(*kinds)
        n_kinds = len(self.item_kinds)
        is_asked_for = np.zeros(n_kinds, bool)
        is_asked_for[asked_numbers] = True
        all_numbers = self.documents["kind"]
        kind_numbers = all_numbers[documents]
        return is_asked_for[kind_numbers]

    def on_demand(self, documents: NDArray[np.int64]) -> Mask:
        """Return which of these get their vector where a search is near them."""
        kinds: list[str] = []
        for kind in self.items:
            if kind.on_demand:
                kinds.append(kind.name)
        return self.of_kinds(kinds, documents)

    def kind_of(self, document: int) -> str:
        """Return the kind of item that a document is."""
        kind_number = int(self.documents["kind"][document])
        return self.item_kinds[kind_number]

    def rows_of(self, item_id: str) -> NDArray[np.int64]:
        """Return the documents of an item, of all agents."""
        is_item = self.documents["item"] == item_number(item_id)
        return np.flatnonzero(is_item)

    def item_of(self, document: int, event: Event) -> ItemText | None:
        """Return a document's item from the event that holds its text.

        Returns:
            The item; None where the event does not hold it any more.
        """
        name = self.kind_of(document)
        number = self.documents["item"][document]
        key = self.documents["key"][document].tobytes()
        for kind in self.readers.get(event.kind, ()):
            if kind.name != name or event.kind not in kind.texts:
                continue
            read_texts = kind.texts[event.kind]
            for item in read_texts(event):
                is_item = item_number(item.item_id) == number
                if is_item and text_key(item.text) == key:
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
        project_numbers = self.projects.numbers(*projects)
        is_inside = np.isin(self.located["project"], project_numbers)
        documents = self.located["document"]
        within = self._holding(documents[is_inside])
        without = self._holding(documents[~is_inside])
        return within & ~without

    def _known_items(self) -> tuple[dict[_Key, int], dict[_Key, list[int]]]:
        """Return the documents of items that later events may name.

        After a load they are read from the columns.

        Returns:
            The documents of items that keep their first text, and those of items that
            events hide, archive or restore.
        """
        if self._once is not None:
            return self._once, self._flagged
        kinds_once = [kind.name for kind in self.items if kind.once]
        keys, documents = self._items(kinds_once)
        self._once = dict(zip(keys, documents, strict=True))
        self._named = self._namings(keys, documents)
        kinds_with_flags = [kind.name for kind in self.items if kind.has_flags]
        keys, documents = self._items(kinds_with_flags)
        self._flagged = {}
        for key, document in zip(keys, documents, strict=True):
            self._flagged.setdefault(key, []).append(document)
        return self._once, self._flagged

    def _namings(
        self,
        keys: list[_Key],
        documents: list[int],
    ) -> set[tuple[int, int, int, int]]:
        """Return items, each with a project that it was named in.

        Args:
            keys: The items.
            documents: The document of each.
        """
        key_of = dict(zip(documents, keys, strict=True))
        located_documents = self.located["document"].tolist()
        located_projects = self.located["project"].tolist()
        namings = set()
        for document, project in zip(located_documents, located_projects, strict=True):
            if document in key_of:
                key = key_of[document]
                namings.add((*key, project))
        return namings

    def _items(self, kinds: Iterable[str]) -> tuple[list[_Key], list[int]]:
        """Return the items of these kinds, and their documents."""
        rows = np.flatnonzero(self.of_kinds(kinds))
        kind_numbers = self.documents["kind"][rows].tolist()
        agents = self.documents["agent"][rows].tolist()
        items = self.documents["item"][rows].tolist()
        keys = list(zip(kind_numbers, agents, items, strict=True))
        return keys, rows.tolist()


def date_in_words(at: int) -> str:
    """Return month and year of a time (µs UTC), as people ask for them.

    >>> date_in_words(1_683_500_000_000_000)
    'May 2023'
    """
    date = _EPOCH + timedelta(microseconds=at)
    month = _MONTHS[date.month - 1]
    return f"{month} {date.year}"


@cache
def item_index(items: tuple[ItemKind, ...], name: str) -> type[ItemIndex]:
    """Return the index over these kinds of items.

    It is the same class for the same kinds, so that views are found by it.
    """
    by_event: dict[str, tuple[ItemKind, ...]] = {}
    item_reads: list[str] = []
    for kind in items:
        for event_kind in kind.event_kinds:
            readers_before = by_event.get(event_kind, ())
            by_event[event_kind] = (*readers_before, kind)
            item_reads.append(f"{kind.name}.{kind.code}:{event_kind}")

    class Index(ItemIndex):
        kinds = tuple(dict.fromkeys((*by_event, *MARKS)))
        reads = (*item_reads, *MARKS)
        readers = by_event

    Index.items = items
    Index.name = name
    return Index
