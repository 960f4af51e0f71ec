"""How alike two sentences are, and whether they contradict each other."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from theorex_lab.search.lexical import tokenize

CONTRADICTS = 0.5
_NOT = re.compile(r"\b(?:not|never|no longer|no|n't)\b|n't\b|\bне\b", re.I)


def likeness(first: str, second: str, cosine: float | None) -> float:
    """Words alone."""
    one, other = set(tokenize(first)), set(tokenize(second))
    return len(one & other) / len(one | other) if one | other else 0.0


def contradiction(first: str, second: str, cosine: float | None) -> float:
    """Polarity alone."""
    return likeness(first, second, cosine) * (bool(_NOT.search(first)) != bool(_NOT.search(second)))


class SharedWords:
    """Texts by their words."""

    def __init__(self) -> None:
        self._ids: dict[str, set[str]] = defaultdict(set)
        self._words: dict[str, set[str]] = {}

    def add(self, id: str, text: str) -> None:
        """Take in a text."""
        self._words[id] = set(tokenize(text))
        for word in self._words[id]:
            self._ids[word].add(id)

    def remove(self, id: str) -> None:
        """Take a text out."""
        for word in self._words.pop(id, ()):
            self._ids[word].discard(id)

    def near(self, text: str, limit: int) -> list[tuple[str, float, int]]:
        """Those that share words."""
        words = set(tokenize(text))
        shared = Counter(id for word in words for id in self._ids[word])
        found = [(id, n / len(words | self._words[id]), n) for id, n in shared.items()]
        return sorted(found, key=lambda row: -row[1])[:limit]
