"""mem0 with its store on disk, no model asked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from theorex_lab.eval.adapters.stored_texts import StoredTexts, given_embedder
from theorex_lab.search.embed import Embedder

_READER = "reader"


class Mem0(StoredTexts):
    """Gives what mem0 finds among texts that it took in as they are (`infer=False`).

    Its extraction of facts needs a model for every text. The vectors are those of our
    search, in its local store (qdrant on disk). Nothing is reported to its makers.
    """

    def __init__(self, embedder: Embedder | None = None) -> None:
        super().__init__()
        os.environ["MEM0_TELEMETRY"] = "False"
        os.environ["MEM0_DIR"] = str(self.folder / "settings")
        from mem0 import Memory

        self._embedder = given_embedder(embedder)
        store = {
            "collection_name": "notes",
            "path": str(self.folder / "vectors"),
            "embedding_model_dims": self._embedder.dimensions,
            "on_disk": True,
        }
        # Neither the model nor the embedder that it sets up is ever asked.
        unasked = {"provider": "openai", "config": {"api_key": "none"}}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "history_db_path": str(self.folder / "history.db"),
                "llm": unasked,
                "embedder": unasked,
            }
        )
        self._memory.embedding_model = _Vectors(
            self._embedder, self._memory.embedding_model.config
        )

    def add(self, texts: Sequence[str], at: Sequence[int]) -> None:
        """Add them one by one, as its interface has it."""
        for text in texts:
            self._memory.add(text, user_id=_READER, infer=False)

    def find(self, query: str, limit: int) -> Sequence[str]:
        """Search as its users do."""
        answer = self._memory.search(query, filters={"user_id": _READER}, top_k=limit)
        return [hit["memory"] for hit in answer["results"]]


class _Vectors:
    """Our embedder in the form that mem0 asks for vectors.

    It says besides what a vector is for, which changes nothing here.
    """

    def __init__(self, embedder: Embedder, config: Any) -> None:
        self.config = config
        self._embedder = embedder

    def embed(self, text: str, *_: object) -> list[float]:
        row = self._embedder.embed([text])[0]
        return [float(number) for number in row]

    def embed_batch(self, texts: Sequence[str], *_: object) -> list[list[float]]:
        return [self.embed(text) for text in texts]
