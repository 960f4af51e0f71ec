"""SQLite's full-text search, as people build a memory on it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence

from theorex_lab.eval.adapters.stored_texts import StoredTexts

_WORD = re.compile(r"\w+")


class Fts5(StoredTexts):
    """Gives the texts that FTS5 ranks first, any word of the query being enough.

    The words are stemmed (`porter`), which finds more than the default.
    """

    def __init__(self) -> None:
        super().__init__()
        self._database = sqlite3.connect(self.folder / "notes.db")
        self._database.execute(
            "CREATE VIRTUAL TABLE notes USING fts5(text, tokenize = 'porter')"
        )

    def add(self, texts: Sequence[str], at: Sequence[int]) -> None:
        """Insert them."""
        rows = [(text,) for text in texts]
        with self._database:
            self._database.executemany("INSERT INTO notes VALUES (?)", rows)

    def find(self, query: str, limit: int) -> Sequence[str]:
        """Ask for any of the words, by rank."""
        words = " OR ".join(f'"{word}"' for word in _WORD.findall(query))
        if not words:
            return ()
        rows = self._database.execute(
            "SELECT text FROM notes WHERE notes MATCH ? ORDER BY rank LIMIT ?",
            (words, limit),
        )
        return [text for (text,) in rows]

    def close(self) -> None:
        """Close the database and remove it."""
        self._database.close()
        super().close()
