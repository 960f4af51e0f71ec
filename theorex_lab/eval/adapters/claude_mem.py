"""The database of claude-mem, which is only read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.adapters.rank_bm25_memory import RankBm25
from theorex_lab.memory.briefing.token_budget import items_within
from theorex_lab.memory.contract import Item
from theorex_lab.text.line import one_line

_LINE_CHARACTERS = 600
_MICROSECONDS = 1_000
# By table: the columns that a reader is shown. The times are in ms.
_SHOWN = {
    "session_summaries": ("request", "learned", "completed", "next_steps"),
    "observations": ("title", "subtitle", "narrative", "text"),
}


class _Note(NamedTuple):
    at: int
    text: str


class ClaudeMem(RankBm25):
    """Gives what claude-mem kept before a moment: the newest, or what a query is about.

    A start gets summaries and observations, the newest first, as its hook shows them. A
    query is answered by BM25, since its search by vectors is in a server of its own. What
    it kept rests on no event of the log.

    Raises:
        InvalidInput: The file is no database of claude-mem.
    """

    def __init__(self, file: Path) -> None:
        try:
            notes = sorted(_notes_of(file))
        except sqlite3.Error as error:
            raise InvalidInput(
                f"got {file}, which is no database of claude-mem ({error}); give its"
                " claude-mem.db"
            ) from error
        super().__init__()
        self._notes = notes
        self._n_taken_in = 0

    def observe(self, events: Sequence[object]) -> None:
        """Pass over them: it has kept what it was shown then."""

    def _earlier(self, now: int) -> list[_Note]:
        """Return what was kept before a moment, and take it in for queries."""
        earlier = [note for note in self._notes if note.at < now]
        new = earlier[self._n_taken_in :]
        if new:
            self.add([note.text for note in new], [note.at for note in new])
            self._n_taken_in = len(earlier)
        return earlier

    def inject(self, now: int, tokens: int) -> Sequence[Item]:
        """Return the newest notes."""
        newest = dict.fromkeys(note.text for note in reversed(self._earlier(now)))
        return items_within(map(Item, newest), tokens, 0)

    def retrieve(self, query: str, now: int, tokens: int) -> Sequence[Item]:
        """Return the notes that share words with a query."""
        earlier = self._earlier(now)
        if not query.strip() or not earlier:
            return ()
        hits = dict.fromkeys(self.find(query, len(earlier)))
        return items_within(map(Item, hits), tokens, 0)


def _notes_of(file: Path) -> Iterator[_Note]:
    """Yield the summaries and observations of a database; it is opened for reading."""
    address = f"{file.absolute().as_uri()}?mode=ro"
    database = sqlite3.connect(address, uri=True)
    try:
        for table, shown in _SHOWN.items():
            columns = ", ".join(("created_at_epoch", *shown))
            for milliseconds, *parts in database.execute(
                f"SELECT {columns} FROM {table}"
            ):
                joined = " · ".join(str(part) for part in parts if part)
                text = one_line(joined, _LINE_CHARACTERS)
                if text:
                    yield _Note(int(milliseconds) * _MICROSECONDS, text)
    finally:
        database.close()
