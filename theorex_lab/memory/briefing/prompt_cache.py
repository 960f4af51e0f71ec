"""The cache of reminders that hooks read.

It holds what the designs bring, in SQLite's FTS5, in a file beside the journal. It
holds nothing that could not be rebuilt. A broken cache is removed, and an erasure
starts it from nothing.
"""

import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.errors import StorageError
from theorex_lab.core.files import exclusive, make_file, told
from theorex_lab.memory.briefing.prompt_matches import (
    CACHE_FILE,
    LAYOUT,
    MANY,
    PROJECT_BITS,
    TOKENS,
)
from theorex_lab.memory.contract import Home
from theorex_lab.text.line import one_line

_LOCK = "recall.lock"
_GIVEN_DAYS = 30
# A word that more than this share of the reminders has, and more than so many of them,
# tells nothing.
FREQUENT_SHARE = 0.02
FREQUENT = 100
# The tables of the cache of reminders.
_SCHEMA = f"""
PRAGMA journal_mode = WAL;
BEGIN;
CREATE TABLE projects (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
INSERT INTO projects VALUES (0, '');
CREATE TABLE reminders (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    project INTEGER NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    weight REAL NOT NULL,
    trust INTEGER NOT NULL
);
CREATE INDEX by_weight ON reminders (project, kind, weight DESC);
CREATE VIRTUAL TABLE words
    USING fts5(text, content = 'reminders', content_rowid = 'number', {TOKENS});
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row);
CREATE TABLE rarity (term TEXT PRIMARY KEY, df INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE given (
    session TEXT, item TEXT, at INTEGER NOT NULL, PRIMARY KEY (session, item)
) WITHOUT ROWID;
PRAGMA user_version = {LAYOUT};
COMMIT;
"""
_Row = tuple[str, str, str, float, int]  # project, kind, text, weight, trust


def fill_cache(home: Home) -> int:
    """Bring the cache up to date with what the designs of a home bring.

    A broken cache is rebuilt.

    Returns:
        How many reminders changed.

    Raises:
        StorageError: It cannot be written.
    """
    path = home.folder / CACHE_FILE
    # The designs are asked under the lock, so that nothing from before an erasure is
    # written after it.
    with exclusive(home.views.folder / _LOCK, wait=True):
        reminders = dict(_rows(home))
        with suppress(sqlite3.Error):
            return _write(path, reminders, home.clock.now())
        _remove(path)
        try:
            return _write(path, reminders, home.clock.now())
        except (sqlite3.Error, OSError) as error:
            raise StorageError(
                f"{path} cannot be written: {error}; make room, or make the home"
                " writable"
            ) from error


def remove_cache(home: Home) -> None:
    """Remove the cache, so that not a byte of what was erased is left in it.

    Raises:
        StorageError: It cannot be removed.
    """
    with exclusive(home.views.folder / _LOCK, wait=True):
        _remove(home.folder / CACHE_FILE)


def _rows(home: Home) -> Iterable[tuple[str, _Row]]:
    """Yield the id and the row of each reminder that has a text."""
    for design in home.designs:
        if not design.reminders:
            continue
        for reminder in design.reminders(home):
            text = one_line(reminder.text)
            if text:
                kind = one_line(reminder.kind, 32) or "other"
                weight = min(max(float(reminder.weight), 0.0), 1e6)
                trust = int(reminder.trust)
                yield reminder.id, (reminder.project, kind, text, weight, trust)


def _remove(path: Path) -> None:
    """Remove the cache's files."""
    with told(f"cannot remove {path}"):
        for end in ("", "-wal", "-shm", "-journal"):
            path.with_name(path.name + end).unlink(missing_ok=True)


def _write(path: Path, reminders: dict[str, _Row], now: int) -> int:
    """Write the difference between the cache and these reminders in one transaction.

    Returns:
        How many reminders changed.
    """
    is_new = not path.exists()
    if is_new:
        make_file(str(path))
    with closing(sqlite3.connect(path, isolation_level=None)) as cache:
        if is_new:
            cache.executescript(_SCHEMA)
        elif cache.execute("PRAGMA user_version").fetchone()[0] != LAYOUT:
            raise sqlite3.DatabaseError("another layout")
        cache.execute("BEGIN IMMEDIATE")
        n_changed = _bring_up_to_date(cache, reminders)
        if n_changed:
            _count_terms(cache, len(reminders))
        cache.execute(
            "DELETE FROM given WHERE at < ?",
            (now - _GIVEN_DAYS * MICROSECONDS_PER_DAY,),
        )
        cache.execute("COMMIT")
    return n_changed


def _count_terms(cache: sqlite3.Connection, n_reminders: int) -> None:
    """Count in how many reminders each term is, since FTS5 counts by reading each."""
    limit = max(FREQUENT, int(FREQUENT_SHARE * n_reminders))
    cache.execute("DELETE FROM rarity")
    cache.execute(
        "INSERT INTO rarity SELECT term, iif(doc > ?, ?, doc) FROM vocabulary",
        (limit, MANY),
    )


def _bring_up_to_date(cache: sqlite3.Connection, reminders: dict[str, _Row]) -> int:
    """Remove, change and add reminders of the cache; return how many these are."""
    query = (
        "SELECT id, reminders.number, name, kind, text, weight, trust FROM reminders"
        " JOIN projects ON project = projects.number"
    )
    removed = []
    changed = []
    unmoved_ids = set()
    for reminder_id, number, *members in cache.execute(query).fetchall():
        row = tuple(members)
        reminder = reminders.get(reminder_id)
        if reminder is None or not _is_unmoved(reminder, row):
            removed.append((number, row[2]))
            continue
        unmoved_ids.add(reminder_id)
        if reminder != row:
            _, kind, _, weight, trust = reminder
            changed.append((kind, weight, trust, number))
    new = {}
    for reminder_id, reminder in reminders.items():
        if reminder_id not in unmoved_ids:
            new[reminder_id] = reminder
    cache.executemany(
        "INSERT INTO words(words, rowid, text) VALUES ('delete', ?, ?)", removed
    )
    cache.executemany(
        "DELETE FROM reminders WHERE number = ?", ((number,) for number, _ in removed)
    )
    cache.executemany(
        "UPDATE reminders SET kind = ?, weight = ?, trust = ? WHERE number = ?", changed
    )
    _insert(cache, new)
    return len(removed) + len(changed) + len(new)


def _is_unmoved(reminder: _Row, row: _Row) -> bool:
    """Return whether words and project stay the same.

    Then FTS5 has nothing to do with the reminder.
    """
    return reminder[0] == row[0] and reminder[2] == row[2]


def _insert(cache: sqlite3.Connection, new: dict[str, _Row]) -> None:
    """Insert new reminders by id, each under the next number of its project."""
    projects = dict.fromkeys((row[0],) for row in new.values())
    cache.executemany("INSERT OR IGNORE INTO projects(name) VALUES (?)", projects)
    project_numbers = dict(cache.execute("SELECT name, number FROM projects"))
    last_numbers = dict(
        cache.execute("SELECT project, max(number) FROM reminders GROUP BY project")
    )
    for reminder_id, (project, kind, text, weight, trust) in new.items():
        project_number = project_numbers[project]
        before_first = project_number << PROJECT_BITS
        number = last_numbers.get(project_number, before_first) + 1
        last_numbers[project_number] = number
        cache.execute(
            "INSERT INTO reminders VALUES (?, ?, ?, ?, ?, ?, ?)",
            (number, reminder_id, project_number, kind, text, weight, trust),
        )
        cache.execute("INSERT INTO words(rowid, text) VALUES (?, ?)", (number, text))
