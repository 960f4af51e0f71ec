"""The file that prompts are answered from, and what sessions were given.

`memory.briefing.prompt_index` writes it, `memory.briefing.prompt_lines` reads it. An
agent's hook opens it at every start and prompt: standard library only, paths are texts.
"""

from __future__ import annotations

from contextlib import contextmanager

from theorex_lab.core.light_sqlite import sqlite3

# what type checkers take for true; importing `typing` for it would cost every prompt 5 ms
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

INDEX_FILE = "briefing.db"
INDEX_LAYOUT = 1  # of the index; one of another layout is rebuilt
_LINE_MARK = "- "
# How long a hook waits (seconds) for a process that has locked the index, which one does
# for a moment at the end of a writing.
_LOCK_TIMEOUT = 2.0


@contextmanager
def prompt_index_at(path: str) -> Iterator[sqlite3.Connection]:
    """Open the index at a path, and close it at the end.

    Raises:
        sqlite3.Error: It is missing, broken, locked or of another layout.
    """
    connection = sqlite3.connect(path, timeout=_LOCK_TIMEOUT, isolation_level=None)
    try:
        # What is lost with the power is rebuilt.
        connection.execute("PRAGMA synchronous = OFF")
        layout = connection.execute("PRAGMA user_version").fetchone()[0]
        if layout != INDEX_LAYOUT:
            raise sqlite3.DatabaseError("it has another layout")
        yield connection
    finally:
        connection.close()


@contextmanager
def one_state(index: sqlite3.Connection) -> Iterator[None]:
    """Let all reads see one state of the index, while another process writes it anew.

    Inside of a transaction they do already.

    Raises:
        sqlite3.Error: The index cannot be read.
    """
    if index.in_transaction:
        yield
        return
    index.execute("BEGIN")
    try:
        yield
    finally:
        index.execute("ROLLBACK")


def note_lines_given(
    index: sqlite3.Connection,
    session: str,
    lines: Mapping[str, frozenset[str]],
    at: int,
    *,
    afresh: bool = False,
) -> None:
    """Note that a session was given these lines, so that no prompt gives them again.

    Args:
        index: The index.
        session: The session; '' is none, of which nothing is noted.
        lines: The words of each line by its id.
        at: The time (µs UTC).
        afresh: Whether what the session was given before is forgotten.
    """
    if not session or not (lines or afresh):
        return
    rows: list[tuple[str, str, str, int]] = []
    for line_id, words in lines.items():
        rows.append((session, line_id, " ".join(sorted(words)), at))
    index.execute("BEGIN IMMEDIATE")
    if afresh:
        index.execute("DELETE FROM given WHERE session = ?", (session,))
    index.executemany("INSERT OR REPLACE INTO given VALUES (?, ?, ?, ?)", rows)
    index.execute("COMMIT")


def note_text_given(
    index: sqlite3.Connection,
    session: str,
    text: str,
    at: int,
    *,
    afresh: bool = False,
) -> None:
    """Note that a session was given a rendered briefing, so that nothing comes twice.

    Args:
        index: The index.
        session: The session; '' is none, of which nothing is noted.
        text: The briefing; each line that begins with "- " is one.
        at: The time (µs UTC).
        afresh: Whether what the session was given before is forgotten.
    """
    lines: dict[str, frozenset[str]] = {}
    for line in text.splitlines():
        if line.startswith(_LINE_MARK):
            # Its words are read from it when a prompt comes.
            lines[line] = frozenset()
    note_lines_given(index, session, lines, at, afresh=afresh)
