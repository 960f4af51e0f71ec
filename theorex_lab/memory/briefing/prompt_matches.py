"""What an agent's hook recalls: the reminders that fit a prompt, and a project's first
context, from `prompt_cache`.

Standard library only, and paths are texts: every prompt waits for it. A prompt's words
reach FTS5 in quotes alone, the rarest of them, since a word that many reminders have
costs much and says little.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from theorex_lab.core.sections import read_sections

Row = tuple[str, str, str, int]  # id, kind, text, trust

CACHE_FILE = "recall.db"
LAYOUT = 1  # of the cache; one of another layout is rebuilt
TOKENS = "tokenize = 'porter unicode61 remove_diacritics 2'"
PROJECT_BITS = 32  # a reminder's number is its project's, shifted by these, and its own
TRUSTED = 2  # as `observation.TRUST` has an agent's own word
HEARSAY_PART = 4
# Kinds in the order of a first context, with how many of each it has at most; others
# come after them.
FIRST = {"rule": 12, "fix": 6, "session": 3, "decision": 8, "file": 25}
_MOST_OF_OTHERS = 10
MANY = 1 << 40  # stands for how many reminders have a word that is frequent
_RARE = 2  # how many have a word that may name a file by itself
_MOST_WORDS = 100
_RAREST = 6
_MOST_LOOKED_AT = 1_000
_MOST_FOUND = 60
_PARTING = dict.fromkeys(
    [*range(32), *map(ord, "\"'`,;:()[]{}<>=|\\/!?*&^%$#@~+…“”‘’«»")], " "
)
_COMMON = frozenset(read_sections(__file__, "reminding.txt")["common"].split())


@contextmanager
def cache_at(path: str) -> Iterator[sqlite3.Connection]:
    """The cache at a path, to be closed. Raises sqlite3.Error where it is missing,
    broken, locked or of another layout.
    """
    connection = sqlite3.connect(path, timeout=0.1, isolation_level=None)
    try:
        connection.execute(
            "PRAGMA synchronous = OFF"
        )  # what is lost with the power is rebuilt
        connection.execute("PRAGMA temp_store = MEMORY")
        if connection.execute("PRAGMA user_version").fetchone()[0] != LAYOUT:
            raise sqlite3.DatabaseError("it has another layout")
        yield connection
    finally:
        connection.close()


def fitting(
    cache: sqlite3.Connection, prompt: str, project: str, session: str
) -> list[Row]:
    """The reminders of the project, or of none, that fit a prompt, best first; without
    those that the session was given.

    One fits by two informative words of the prompt, or by a name with a sign or digit
    in it; a file by one word that hardly any other reminder has. Best is by FTS5's bm25
    of these words, times what it weighs.
    """
    number = _project(cache, project)
    scores = dict[int, float]()
    fits = dict[int, float]()
    for word, df in _rarest(cache, prompt):
        counts = 2.0 if _is_name(word) else 1.5 if df <= _RARE else 1.0
        query = (
            "SELECT rowid, bm25(words) FROM words WHERE words MATCH ? AND (rowid >> ?)"
            " IN (0, ?) LIMIT ?"
        )
        for row, score in cache.execute(
            query, (f'"{word}"', PROJECT_BITS, number, _MOST_LOOKED_AT)
        ):
            scores[row] = scores.get(row, 0.0) - score
            fits[row] = fits.get(row, 0.0) + counts
    found = sorted(
        (row for row in scores if fits[row] >= 1.5), key=lambda row: -scores[row]
    )[:_MOST_FOUND]
    new = f"WHERE item IS NULL AND number IN ({','.join('?' * len(found))})"
    known = (
        "SELECT number, weight, id, kind, text, trust FROM reminders LEFT JOIN given"
        f" ON item = id AND session = ? {new}"
    )
    rows = cache.execute(known, (session, *found)).fetchall()
    rows.sort(key=lambda row: (-scores[row[0]] * (1 + row[1]) ** 0.5, row[0]))
    told = [row for row in rows if fits[row[0]] >= 2 or row[3] == "file"]
    return [
        row[2:] for row in told if row[4] not in prompt
    ]  # what the prompt says itself is no news


def _rarest(cache: sqlite3.Connection, prompt: str) -> list[tuple[str, int]]:
    """The rarest words of a prompt that reminders have, each with how many have it at
    most.

    A word here may be several to FTS5, such as a file's name, which then stand side by
    side. A word that many reminders have is left out, unless it is a part of a name.
    """
    parts = (part.strip(".-_") for part in prompt.lower().translate(_PARTING).split())
    words = list(
        dict.fromkeys(part for part in parts if len(part) > 2 and part not in _COMMON)
    )[:_MOST_WORDS]
    cache.execute(f"CREATE VIRTUAL TABLE temp.asked USING fts5(word, {TOKENS})")
    cache.execute(
        "CREATE VIRTUAL TABLE temp.asked_terms USING fts5vocab(temp, asked, instance)"
    )
    cache.executemany(
        "INSERT INTO temp.asked(rowid, word) VALUES (?, ?)", enumerate(words)
    )
    query = (
        "SELECT asked_terms.doc, coalesce(df, 0) FROM temp.asked_terms LEFT JOIN rarity"
        " USING (term)"
    )
    rarity: dict[int, int] = {}
    for row, df in cache.execute(query):
        rarity[row] = min(df, rarity.get(row, df))
    rare = sorted(
        (df, row)
        for row, df in rarity.items()
        if df and (df < MANY or _is_name(words[row]))
    )[:_RAREST]
    # What many reminders have costs most and says least; a frequent part of a name is
    # looked for all the same.
    spent = [
        sum(df % MANY for df, _ in rare[: place + 1]) for place in range(len(rare))
    ]
    return [
        (words[row], df)
        for (df, row), sum_ in zip(rare, spent, strict=True)
        if sum_ <= _MOST_LOOKED_AT
    ]


def _is_name(word: str) -> bool:
    """Whether a word is the name of a file, a function, a version, an issue: it has a
    sign or a digit in it.
    """
    return not word.isalpha() and any(sign.isalpha() for sign in word)


def first_rows(cache: sqlite3.Connection, project: str) -> list[Row]:
    """What a session starts with where no context was rendered yet: of each kind what
    weighs most, then what is of no project.

    Nothing where the cache has nothing of the project.
    """
    number = _project(cache, project)
    rows = _by_kind(cache, number)
    return rows + (_by_kind(cache, 0) if rows and number else [])


def _by_kind(cache: sqlite3.Connection, number: int) -> list[Row]:
    kinds = []
    kind = ""
    after = "SELECT min(kind) FROM reminders WHERE project = ? AND kind > ?"
    while found := cache.execute(after, (number, kind)).fetchone()[0]:
        kinds.append(kind := found)
    kinds.sort(key=lambda kind: (*FIRST, kind).index(kind))
    query = (
        "SELECT id, kind, text, trust FROM reminders WHERE project = ? AND kind = ?"
        " ORDER BY weight DESC LIMIT ?"
    )
    asked = ((number, kind, FIRST.get(kind, _MOST_OF_OTHERS)) for kind in kinds)
    return [row for given in asked for row in cache.execute(query, given)]


def _project(cache: sqlite3.Connection, project: str) -> int:
    """The number of a project, -1 for one that the cache knows nothing of."""
    found = cache.execute(
        "SELECT number FROM projects WHERE name = ?", (project,)
    ).fetchone()
    return found[0] if found else -1 if project else 0


def rendered(rows: Iterable[Row], tokens: int) -> tuple[str, list[str], int]:
    """The rows that have room in a budget of tokens, as fenced lines under a notice;
    their ids; and its tokens. '' for none.

    What was only heard of tools, imports and models stands in a fence of its own, in a
    quarter of the budget at most.
    """
    from theorex_lab.text.line import NOTICE, count_tokens, fence

    left = tokens - count_tokens(NOTICE)
    hearsay = tokens // HEARSAY_PART
    parts: dict[str, dict[str, str]] = {"memory": {}, "tools,imports,models": {}}
    for item, kind, text, trust in rows:
        source = "memory" if trust >= TRUSTED else "tools,imports,models"
        line = f"{kind}: {text}"
        lines = parts[source]
        price = count_tokens(line) + 1 + (0 if lines else count_tokens(source) + 6)
        if line in lines or price > left or (trust < TRUSTED and price > hearsay):
            continue
        lines[line], left = item, left - price
        hearsay -= price if trust < TRUSTED else 0
    shown = [
        line
        for source, lines in parts.items()
        if lines
        for line in fence(list(lines), source)
    ]
    items = [item for lines in parts.values() for item in lines.values()]
    text = "\n".join([NOTICE, *shown, ""]) if shown else ""
    return text, items, count_tokens(text)


def note_given(
    cache: sqlite3.Connection,
    session: str,
    items: Sequence[str],
    at: int,
    *,
    afresh: bool = False,
) -> None:
    """Note that a session was given these items, so that no prompt gives them again;
    afresh: nothing of what was before.
    """
    if session and (items or afresh):
        cache.execute("BEGIN IMMEDIATE")
        if afresh:
            cache.execute("DELETE FROM given WHERE session = ?", (session,))
        cache.executemany(
            "INSERT OR REPLACE INTO given VALUES (?, ?, ?)",
            ((session, item, at) for item in items),
        )
        cache.execute("COMMIT")
