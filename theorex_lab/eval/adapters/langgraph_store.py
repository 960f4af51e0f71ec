"""LangGraph's store, on which LangMem rests."""

from __future__ import annotations

from collections.abc import Sequence

from theorex_lab.eval.adapters.stored_texts import StoredTexts, given_embedder
from theorex_lab.search.embed import Embedder

_NAMESPACE = ("notes",)


class LangGraphStore(StoredTexts):
    """Gives what LangGraph's `InMemoryStore` with an index of vectors finds.

    LangMem's tools write to this store and search it. Its extraction, which needs a
    model for every text, is left out. The vectors are those of our search.
    """

    def __init__(self, embedder: Embedder | None = None) -> None:
        from langgraph.store.memory import InMemoryStore

        super().__init__()
        self._embedder = given_embedder(embedder)
        self._store = InMemoryStore(
            index={
                "dims": self._embedder.dimensions,
                "embed": self._vectors,
                "fields": ["text"],
            }
        )
        self._n_held = 0

    def _vectors(self, texts: Sequence[str]) -> list[list[float]]:
        rows: list[list[float]] = self._embedder.embed(texts).tolist()
        return rows

    def add(self, texts: Sequence[str], at: Sequence[int]) -> None:
        """Put each under a key of its own."""
        for text, time in zip(texts, at, strict=True):
            key = str(self._n_held)
            note = {"text": text, "at": time}
            self._store.put(_NAMESPACE, key, note)
            self._n_held += 1

    def find(self, query: str, limit: int) -> Sequence[str]:
        """Search the namespace."""
        hits = self._store.search(_NAMESPACE, query=query, limit=limit)
        texts = list[str]()
        for hit in hits:
            text = hit.value["text"]
            texts.append(text)
        return texts
