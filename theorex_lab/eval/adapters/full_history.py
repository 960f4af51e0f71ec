"""All that was said, newest first: what an agent has that forgets nothing."""

from __future__ import annotations

from collections.abc import Sequence

from theorex_lab.eval.adapters.stored_texts import StoredTexts
from theorex_lab.memory.briefing.token_budget import items_within
from theorex_lab.memory.contract import Item


class FullHistory(StoredTexts):
    """Gives every text, the newest first, as far as the budget reaches.

    With a budget above the whole log it is a context without any memory.
    """

    def __init__(self) -> None:
        super().__init__()
        self._texts: list[str] = []

    def add(self, texts: Sequence[str], at: Sequence[int]) -> None:
        """Keep them in their order."""
        self._texts += texts

    def inject(self, now: int, tokens: int) -> Sequence[Item]:
        """Return the newest texts."""
        newest_first = reversed(self._texts)
        items = map(self.item, newest_first)
        return items_within(items, tokens, 0)

    def retrieve(self, query: str, now: int, tokens: int) -> Sequence[Item]:
        """Return the newest texts whatever is asked."""
        return self.inject(now, tokens)
