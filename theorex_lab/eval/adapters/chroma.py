"""Chroma's collection on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from theorex_lab.eval.adapters.stored_texts import StoredTexts, given_embedder
from theorex_lab.search.embed import Embedder

# Chroma refuses more texts in one call.
_AT_ONCE = 5_000


class Chroma(StoredTexts):
    """Gives the texts whose vectors are nearest to the query's, by cosine.

    The vectors are those of our search. Chroma's own model would be downloaded.
    """

    def __init__(self, embedder: Embedder | None = None) -> None:
        import chromadb
        from chromadb.config import Settings

        super().__init__()
        self._embedder = given_embedder(embedder)
        self._client = chromadb.PersistentClient(
            str(self.folder),
            settings=Settings(anonymized_telemetry=False),
        )
        self._notes = self._client.create_collection(
            "notes",
            metadata={"hnsw:space": "cosine"},
            embedding_function=None,
        )

    def add(self, texts: Sequence[str], at: Sequence[int]) -> None:
        """Add them with their vectors and times."""
        for start in range(0, len(texts), _AT_ONCE):
            end = start + _AT_ONCE
            part = list(texts[start:end])
            first = self._notes.count()
            last = first + len(part)
            vectors = self._embedder.embed(part)
            times: list[Mapping[str, Any]] = [{"at": time} for time in at[start:end]]
            self._notes.add(
                ids=list(map(str, range(first, last))),
                documents=part,
                embeddings=vectors,
                metadatas=times,
            )

    def find(self, query: str, limit: int) -> Sequence[str]:
        """Ask for the nearest vectors."""
        vectors = self._embedder.embed([query])
        answer = self._notes.query(query_embeddings=vectors, n_results=limit)
        documents: list[list[str]] = answer["documents"] or [[]]
        return documents[0]
