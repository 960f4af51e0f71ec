"""One index over every kind of item: which documents there are, whose they are, and their words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from theorex_lab.journal.columns import Columns, Names, Table
from theorex_lab.journal.event import Body, Event
from theorex_lab.journal.view import View
from theorex_lab.search.lexical import LexicalIndex, tokenize
from theorex_lab.search.vectors import text_key

OBSERVATION, CONCEPT = 0, 1
KINDS = ("observation", "concept")


def labels_of(body: Body) -> Iterator[tuple[int, str]]:
    """The concepts that an event names: ids and canonical forms."""
    for concept_id, label, *_ in body["concepts"] if "concepts" in body else [[body["concept_id"], body["label"]]]:
        yield concept_id, label


class ItemIndex(View):
    """One document an observation (its text) and one a concept of an agent (its label), in order of arrival.

    documents: seq (of the event that holds the text), kind (position in KINDS), agent, concept_id (0 for an
        observation), key (two 64-bit halves of the text's hash, for the vectors).
    tagged: pairs of document and tag.  lexical: the words.  Texts stay in the journal.
    """

    name = "items"
    code = 2
    kinds = ("observation", "graduated", "imported")

    def __init__(self) -> None:
        super().__init__()
        self.agents, self.tags = Names(), Names()
        self.documents = Table(seq="i8", kind="i1", agent="i4", concept_id="i8", key=("u8", 2))
        self.tagged = Table(document="i4", tag="i4")
        self.lexical = LexicalIndex()
        self._concepts: set[tuple[int, int]] | None = set()

    def fold(self, events: Sequence[Event]) -> None:
        """Take in the texts of observations, and the labels of concepts that are new to the agent, wherever from."""
        known = self._known_concepts()
        rows: list[tuple[int, int, int, int]] = []
        texts: list[str] = []
        tagged: list[tuple[int, int]] = []
        first = len(self.documents)
        for event in events:
            agent = self.agents.number(event.agent)
            if event.kind == "observation":
                tagged += [(first + len(rows), self.tags.number(tag)) for tag in event.body["tags"]]
                rows.append((event.seq, OBSERVATION, agent, 0))
                texts.append(event.body["text"])
            for concept_id, label in labels_of(event.body):
                if (agent, concept_id) not in known:
                    known.add((agent, concept_id))
                    rows.append((event.seq, CONCEPT, agent, concept_id))
                    texts.append(label)
        if not rows:
            return
        where = self.documents.grow(len(rows))
        columns = np.array(rows, np.int64)
        for column, name in enumerate(("seq", "kind", "agent", "concept_id")):
            self.documents[name][where] = columns[:, column]
        keys = b"".join(text_key(text) for text in texts)
        self.documents["key"][where] = np.frombuffer(keys, np.uint64).reshape(-1, 2)
        pairs = np.array(tagged, np.int32).reshape(-1, 2)
        at = self.tagged.grow(len(pairs))
        self.tagged["document"][at], self.tagged["tag"][at] = pairs[:, 0], pairs[:, 1]
        self.lexical.add([tokenize(text) for text in texts])

    def columns(self) -> Columns:
        """See View."""
        tables: dict[str, Table | Names] = {
            "agents": self.agents,
            "tags": self.tags,
            "documents": self.documents,
            "tagged": self.tagged,
        }
        columns = {name: array for key, part in tables.items() for name, array in part.columns(key).items()}
        return columns | {f"lexical.{name}": array for name, array in self.lexical.columns().items()}

    def load(self, columns: Columns) -> None:
        """See View."""
        self.agents.load("agents", columns)
        self.tags.load("tags", columns)
        self.documents.load("documents", columns)
        self.tagged.load("tagged", columns)
        own = {name.removeprefix("lexical."): array for name, array in columns.items() if name.startswith("lexical.")}
        self.lexical = LexicalIndex.from_columns(own)
        self._concepts = None

    def allowed(self, *, agents: Iterable[str] | None = None, tag: str | None = None) -> NDArray[np.bool_]:
        """A mask of the documents that belong to these agents (or to any) and carry the tag (or any)."""
        mask = np.ones(len(self.documents), bool)
        if agents is not None:
            numbers = [number for name in agents if (number := self.agents.find(name)) is not None]
            mask &= np.isin(self.documents["agent"], numbers)
        if tag is not None:
            carries = np.zeros(len(self.documents), bool)
            carries[self.tagged["document"][self.tagged["tag"] == self.tags.find(tag)]] = True
            mask &= carries
        return mask

    def keys(self, documents: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The text hashes of these documents, two halves each: (n, 2)."""
        keys: NDArray[np.uint64] = self.documents["key"][documents]
        return keys

    def holds(self, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which of these text hashes, (n, 2), are of texts that are remembered."""
        known = self.documents["key"]
        return np.isin(keys[:, 0], known[:, 0]) & np.isin(keys[:, 1], known[:, 1])

    def _known_concepts(self) -> set[tuple[int, int]]:
        if self._concepts is None:
            rows = self.documents["kind"] == CONCEPT
            agents, ids = self.documents["agent"][rows].tolist(), self.documents["concept_id"][rows].tolist()
            self._concepts = set(zip(agents, ids, strict=True))
        return self._concepts
