"""Graphiti's episodes in an embedded graph, without the model that extracts facts."""

from __future__ import annotations

import asyncio
import re
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from theorex_lab.eval.adapters.stored_texts import StoredTexts

_GROUP = "notes"
_MOST_WORDS = 100  # of a longer query Graphiti searches nothing
_WORD = re.compile(r"\w+")


class GraphitiEpisodes(StoredTexts):
    """Gives the episodes that Graphiti's full-text search (BM25, in Kuzu) finds.

    Graphiti asks a model what each episode states, and searches these facts and
    entities too. That is left out, so that no service is needed.
    """

    def __init__(self) -> None:
        from graphiti_core.driver.kuzu_driver import KuzuDriver
        from graphiti_core.graph_queries import get_fulltext_indices

        super().__init__()
        self._loop = asyncio.new_event_loop()
        with warnings.catch_warnings():
            # Kuzu is the one embedded graph of Graphiti, and is to go.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._driver = KuzuDriver(str(self.folder / "graph.kuzu"))
        for query in get_fulltext_indices(self._driver.provider):
            self._loop.run_until_complete(self._driver.execute_query(query))

    def add(self, texts: Sequence[str], at: Sequence[int]) -> None:
        """Save each as an episode."""
        self._loop.run_until_complete(self._save(texts, at))

    async def _save(self, texts: Sequence[str], at: Sequence[int]) -> None:
        from graphiti_core.nodes import EpisodeType, EpisodicNode

        for text, time in zip(texts, at, strict=True):
            said_at = datetime.fromtimestamp(time / 1_000_000, UTC)
            episode = EpisodicNode(
                name="note",
                group_id=_GROUP,
                source=EpisodeType.message,
                source_description="",
                content=text.replace("\0", " "),
                created_at=said_at,
                valid_at=said_at,
            )
            await episode.save(self._driver)

    def find(self, query: str, limit: int) -> Sequence[str]:
        """Search the episodes for the words of a query."""
        from graphiti_core.search.search_filters import SearchFilters
        from graphiti_core.search.search_utils import episode_fulltext_search

        words = " ".join(_WORD.findall(query)[:_MOST_WORDS])
        if not words:
            return ()
        search: Any = episode_fulltext_search(
            self._driver, words, SearchFilters(), [_GROUP], limit
        )
        episodes = self._loop.run_until_complete(search)
        return [episode.content for episode in episodes]

    def close(self) -> None:
        """Close the graph, and remove it."""
        self._driver.db.close()
        self._loop.close()
        super().close()
