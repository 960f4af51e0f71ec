"""What the adapters to stores of texts share."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from theorex_lab.eval.replay.baselines import PROMPT_CHARACTERS, text_of
from theorex_lab.journal.event import Event
from theorex_lab.memory.briefing.token_budget import items_within
from theorex_lab.memory.contract import Item
from theorex_lab.search.embed import (
    Embedder,
    HashedNgramEmbedder,
    bundled_embedder,
)
from theorex_lab.text.line import one_line

# A hit of fewer tokens is rare, so that more hits than this would not fit.
_TOKENS_A_HIT = 10
_MOST_HITS = 100


class StoredTexts:
    """A memory that hands each text to a store once, and asks the store about queries.

    The text of an event is what the baselines are given too. A subclass says how the
    store takes texts in (`add`) and how it is asked (`find`). A store that answers
    queries has nothing for a session's start, so that `inject` gives nothing.

    Attributes:
        folder: A folder of this memory alone, which is gone when it is closed.
    """

    def __init__(self) -> None:
        self._scratch = tempfile.TemporaryDirectory(
            prefix="theorex-adapter-", ignore_cleanup_errors=True
        )
        self.folder = Path(self._scratch.name)
        # By text and project, '' for none: the event that said it last.
        self._events: dict[str, dict[str, str]] = {}
        self._project = ""

    def add(self, texts: Sequence[str], at: Sequence[int]) -> None:
        """Give the store texts that it does not hold yet.

        Args:
            texts: The texts, one line each.
            at: When each was said, in µs UTC.
        """
        raise NotImplementedError

    def find(self, query: str, limit: int) -> Sequence[str]:
        """Return what the store holds to be nearest to a query, best first.

        Args:
            query: The text of the question, not blank.
            limit: How many texts at most.
        """
        raise NotImplementedError

    def observe(self, events: Sequence[Event]) -> None:
        """Give the store the texts of the events, each text once."""
        new: dict[str, int] = {}
        for event in events:
            text = one_line(text_of(event), PROMPT_CHARACTERS)
            if not text:
                continue
            if text not in self._events:
                new[text] = event.at
            self._note(text, event)
        if new:
            texts = list(new)
            times = list(new.values())
            self.add(texts, times)

    def _note(self, text: str, event: Event) -> None:
        """Note that an event said a text last, in its project."""
        project = event.body.get("project")
        if not isinstance(project, str):
            project = ""
        by_project = self._events.setdefault(text, {})
        by_project.pop(project, None)
        by_project[project] = event.id

    def enter(self, project: str) -> None:
        """Answer from now on with the texts of this project, and of none; '' is all."""
        self._project = project

    def consolidate(self, now: int) -> None:
        """Do nothing: such a store has no maintenance of its own."""

    def inject(self, now: int, tokens: int) -> Sequence[Item]:
        """Return nothing, since nothing is asked."""
        return ()

    def retrieve(self, query: str, now: int, tokens: int) -> Sequence[Item]:
        """Return what the store finds, within the budget."""
        if not query.strip() or not self._events:
            return ()
        limit = min(_MOST_HITS, max(1, tokens // _TOKENS_A_HIT), len(self._events))
        hits = map(self.item, self._texts_here(query, limit))
        return items_within(hits, tokens, 0)

    def _texts_here(self, query: str, limit: int) -> list[str]:
        """Return what the store finds of the project, asking for more while it is few."""
        n_asked = limit
        n_texts = len(self._events)
        while True:
            texts = self.find(query, n_asked)
            unique_texts = dict.fromkeys(texts)
            texts_here = list(filter(self._is_here, unique_texts))
            is_enough = len(texts_here) >= limit
            if is_enough or n_asked >= n_texts:
                return texts_here[:limit]
            n_asked = min(2 * n_asked, n_texts)

    def _is_here(self, text: str) -> bool:
        """Return whether a text may be given in the project, as one of none may."""
        by_project = self._events.get(text)
        if by_project is None:
            return True
        if not self._project:
            return True
        if "" in by_project:
            return True
        return self._project in by_project

    def item(self, text: str) -> Item:
        """Return a hit with the event that it rests on, where its text was given."""
        by_project = self._events.get(text)
        if not by_project:
            return Item(text, ())
        event_id = next(reversed(by_project.values()))
        if self._project:
            of_none = by_project.get("", event_id)
            event_id = by_project.get(self._project, of_none)
        return Item(text, (event_id,))

    def close(self) -> None:
        """Remove what the store kept."""
        self._scratch.cleanup()


def given_embedder(embedder: Embedder | None) -> Embedder:
    """Return the embedder of a store: the given one, or the one that our search has.

    So stores differ by what they do, and not by their model. Without the extra
    `embeddings` it is the one of hashed character n-grams.
    """
    return embedder or bundled_embedder() or HashedNgramEmbedder()
