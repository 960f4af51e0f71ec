"""The cache that hooks recall from: what the designs bring as reminders, in SQLite's
FTS5, in a file beside the journal.

It holds nothing that could not be rebuilt: what is broken is removed, and an erasure
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
    """Bring the cache up to date with what the designs of a home bring; returns how
    many reminders changed.

    A broken one is rebuilt. Raises StorageError where it cannot be written.
    """
    path = home.folder / CACHE_FILE
    # The designs are asked under the lock, so that nothing from before an erasure is
    # written after it.
    with exclusive(home.views.folder / _LOCK, wait=True):
        wanted = dict(_rows(home))
        with suppress(sqlite3.Error):
            return _write(path, wanted, home.clock.now())
        _remove(path)
        try:
            return _write(path, wanted, home.clock.now())
        except (sqlite3.Error, OSError) as error:
            raise StorageError(
                f"{path} cannot be written: {error}; make room, or make the home"
                " writable"
            ) from error


def remove_cache(home: Home) -> None:
    """Remove the cache, so that not a byte of what was erased is left in it. Raises
    StorageError where that fails.
    """
    with exclusive(home.views.folder / _LOCK, wait=True):
        _remove(home.folder / CACHE_FILE)


def _rows(home: Home) -> Iterable[tuple[str, _Row]]:
    for found in (
        found
        for design in home.designs
        if design.reminders
        for found in design.reminders(home)
    ):
        if text := one_line(found.text):
            weight = min(max(float(found.weight), 0.0), 1e6)
            yield (
                found.id,
                (
                    found.project,
                    one_line(found.kind, 32) or "other",
                    text,
                    weight,
                    int(found.trust),
                ),
            )


def _remove(path: Path) -> None:
    with told(f"cannot remove {path}"):
        for end in ("", "-wal", "-shm", "-journal"):
            path.with_name(path.name + end).unlink(missing_ok=True)


def _write(path: Path, wanted: dict[str, _Row], now: int) -> int:
    """The difference between the cache and what is wanted, in one transaction."""
    if is_new := not path.exists():
        make_file(str(path))
    with closing(sqlite3.connect(path, isolation_level=None)) as cache:
        if is_new:
            cache.executescript(_SCHEMA)
        elif cache.execute("PRAGMA user_version").fetchone()[0] != LAYOUT:
            raise sqlite3.DatabaseError("another layout")
        cache.execute("BEGIN IMMEDIATE")
        if changed := _bring_up_to_date(cache, wanted):
            limit = max(FREQUENT, int(FREQUENT_SHARE * len(wanted)))
            # Beforehand, since FTS5 counts them by reading each.
            cache.execute("DELETE FROM rarity")
            cache.execute(
                "INSERT INTO rarity SELECT term, iif(doc > ?, ?, doc) FROM vocabulary",
                (limit, MANY),
            )
        cache.execute(
            "DELETE FROM given WHERE at < ?",
            (now - _GIVEN_DAYS * MICROSECONDS_PER_DAY,),
        )
        cache.execute("COMMIT")
    return changed


def _bring_up_to_date(cache: sqlite3.Connection, wanted: dict[str, _Row]) -> int:
    query = (
        "SELECT id, reminders.number, name, kind, text, weight, trust FROM reminders"
        " JOIN projects ON project = projects.number"
    )
    there = {row[0]: (row[1], row[2:]) for row in cache.execute(query)}
    # Where words and project stay the same, FTS5 has nothing to do with it.
    as_before = {
        id_
        for id_, (_, row) in there.items()
        if id_ in wanted and wanted[id_][0:3:2] == row[0:3:2]
    }
    gone = [
        (number, row[2]) for id_, (number, row) in there.items() if id_ not in as_before
    ]
    cache.executemany(
        "INSERT INTO words(words, rowid, text) VALUES ('delete', ?, ?)", gone
    )
    cache.executemany(
        "DELETE FROM reminders WHERE number = ?", ((number,) for number, _ in gone)
    )
    moved = [
        (*wanted[id_][1:2], *wanted[id_][3:], there[id_][0])
        for id_ in as_before
        if wanted[id_] != there[id_][1]
    ]
    cache.executemany(
        "UPDATE reminders SET kind = ?, weight = ?, trust = ? WHERE number = ?", moved
    )
    new = {id_: row for id_, row in wanted.items() if id_ not in as_before}
    projects = ((row[0],) for row in new.values())
    cache.executemany(
        "INSERT OR IGNORE INTO projects(name) VALUES (?)", dict.fromkeys(projects)
    )
    numbers = {
        name: number
        for number, name in cache.execute("SELECT number, name FROM projects")
    }
    last = dict(
        cache.execute("SELECT project, max(number) FROM reminders GROUP BY project")
    )
    for id_, (project, *rest) in new.items():
        number = numbers[project]
        row = last[number] = last.get(number, number << PROJECT_BITS) + 1
        cache.execute(
            "INSERT INTO reminders VALUES (?, ?, ?, ?, ?, ?, ?)",
            (row, id_, number, *rest),
        )
        cache.execute("INSERT INTO words(rowid, text) VALUES (?, ?)", (row, rest[1]))
    return len(gone) + len(moved) + len(new)
