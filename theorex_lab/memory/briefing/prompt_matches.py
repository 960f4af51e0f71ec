"""Match reminders to a prompt, and read a project's first briefing.

Both come from `memory.briefing.prompt_cache`.

An agent's hook does both. Standard library only, and paths are texts: every prompt
waits for it. A prompt's words reach FTS5 in quotes alone. Only the rarest of them do,
since a word that many reminders have costs much and says little.
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
TRUSTED = 2  # as `memory.observation.TRUST` has an agent's own word
HEARSAY_PART = 4
# Kinds in the order of a first context, with how many of each it has at most; others
# come after them.
FIRST = {"rule": 12, "fix": 6, "session": 3, "decision": 8, "file": 25}
_MOST_OF_OTHERS = 10
MANY = 1 << 40  # stands for how many reminders have a word that is frequent
_RARE = 2  # how many have a word that may name a file by itself
_MOST_WORDS = 100
_RAREST = 6
# How informative the words of a prompt are together that a reminder has to have, and
# that a file has to have.
_ENOUGH = 2.0
_ENOUGH_OF_FILE = 1.5
_MEMORY = "memory"
_HEARSAY = "tools,imports,models"
_MOST_LOOKED_AT = 1_000
_MOST_FOUND = 60
_PARTING = dict.fromkeys(
    [*range(32), *map(ord, "\"'`,;:()[]{}<>=|\\/!?*&^%$#@~+…“”‘’«»")], " "
)
_COMMON = frozenset(read_sections(__file__, "reminding.txt")["common"].split())


@contextmanager
def cache_at(path: str) -> Iterator[sqlite3.Connection]:
    """Open the cache at a path, and close it at the end.

    Raises:
        sqlite3.Error: It is missing, broken, locked or of another layout.
    """
    connection = sqlite3.connect(path, timeout=0.1, isolation_level=None)
    try:
        # What is lost with the power is rebuilt.
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA temp_store = MEMORY")
        if connection.execute("PRAGMA user_version").fetchone()[0] != LAYOUT:
            raise sqlite3.DatabaseError("it has another layout")
        yield connection
    finally:
        connection.close()


def fitting(
    cache: sqlite3.Connection,
    prompt: str,
    project: str,
    session: str,
) -> list[Row]:
    """Return the reminders of the project, or of none, that fit a prompt, best first.

    A reminder fits by two informative words of the prompt, or by a name with a sign or
    digit in it; a file fits by one word that hardly any other reminder has. Best is by
    FTS5's bm25 of these words, times what the reminder weighs. What the session was
    given already is left out, and so is what the prompt says itself.
    """
    scores, fits = _word_scores(cache, prompt, _project(cache, project))
    fitting_numbers = [number for number in scores if fits[number] >= _ENOUGH_OF_FILE]
    fitting_numbers.sort(key=lambda number: -scores[number])
    numbers = fitting_numbers[:_MOST_FOUND]
    marks = ",".join("?" * len(numbers))
    query = (
        "SELECT number, weight, id, kind, text, trust FROM reminders LEFT JOIN given"
        " ON item = id AND session = ?"
        f" WHERE item IS NULL AND number IN ({marks})"
    )
    rows = cache.execute(query, (session, *numbers)).fetchall()

    def best_first(row: tuple[int, float, str, str, str, int]) -> tuple[float, int]:
        number, weight, *_ = row
        rank = -scores[number] * (1 + weight) ** 0.5
        return (rank, number)

    rows.sort(key=best_first)
    reminders: list[Row] = []
    for number, _, item, kind, text, trust in rows:
        is_fit = fits[number] >= _ENOUGH or kind == "file"
        if not is_fit:
            continue
        if text not in prompt:
            reminders.append((item, kind, text, trust))
    return reminders


def _word_scores(
    cache: sqlite3.Connection, prompt: str, project_number: int
) -> tuple[dict[int, float], dict[int, float]]:
    """Look for a prompt's rarest words among the reminders.

    Returns:
        By number of a reminder, the sum of its bm25 over the words, and how informative
        the words are that it has.
    """
    query = (
        "SELECT rowid, bm25(words) FROM words WHERE words MATCH ? AND (rowid >> ?)"
        " IN (0, ?) LIMIT ?"
    )
    scores: dict[int, float] = {}
    fits: dict[int, float] = {}
    for word, df in _rarest(cache, prompt):
        informative = _informative(word, df)
        parameters = (f'"{word}"', PROJECT_BITS, project_number, _MOST_LOOKED_AT)
        for number, score in cache.execute(query, parameters):
            scores[number] = scores.get(number, 0.0) - score
            fits[number] = fits.get(number, 0.0) + informative
    return scores, fits


def _informative(word: str, df: int) -> float:
    """Return how informative a word is that so many reminders have."""
    if _is_name(word):
        return _ENOUGH
    if df <= _RARE:
        return _ENOUGH_OF_FILE
    return 1.0


def _rarest(cache: sqlite3.Connection, prompt: str) -> list[tuple[str, int]]:
    """Return the rarest words of a prompt that reminders have.

    A word here may be several to FTS5, such as a file's name, which then stand side by
    side. A word that many reminders have is left out, unless it is a part of a name.

    Returns:
        Each word with how many reminders have it at most.
    """
    words = _informative_words(prompt)
    rare: list[tuple[int, int]] = []
    for row, df in _rarities(cache, words).items():
        if df and (df < MANY or _is_name(words[row])):
            rare.append((df, row))
    rare.sort()
    # What many reminders have costs most and says least; a frequent part of a name is
    # looked for all the same.
    n_looked_at = 0
    rarest: list[tuple[str, int]] = []
    for df, row in rare[:_RAREST]:
        n_looked_at += df % MANY
        if n_looked_at <= _MOST_LOOKED_AT:
            rarest.append((words[row], df))
    return rarest


def _informative_words(prompt: str) -> list[str]:
    """Return the first words of a prompt that are not common, each once."""
    words: dict[str, None] = {}
    for part in prompt.lower().translate(_PARTING).split():
        word = part.strip(".-_")
        if len(word) > 2 and word not in _COMMON:
            words[word] = None
    return list(words)[:_MOST_WORDS]


def _rarities(cache: sqlite3.Connection, words: Sequence[str]) -> dict[int, int]:
    """Return by number of a word how many reminders have its rarest term.

    FTS5 divides the words into terms.
    """
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
    rarities: dict[int, int] = {}
    for row, df in cache.execute(query):
        rarities[row] = min(df, rarities.get(row, df))
    return rarities


def _is_name(word: str) -> bool:
    """Return whether a word names a file, a function, a version or an issue.

    Such a name has a sign or a digit in it.
    """
    return not word.isalpha() and any(sign.isalpha() for sign in word)


def first_rows(cache: sqlite3.Connection, project: str) -> list[Row]:
    """Return what a session starts with where no briefing was rendered yet.

    Of each kind comes what weighs most, then what is of no project. Nothing comes where
    the cache has nothing of the project.
    """
    number = _project(cache, project)
    rows = _by_kind(cache, number)
    if rows and number:
        rows += _by_kind(cache, 0)
    return rows


def _by_kind(cache: sqlite3.Connection, number: int) -> list[Row]:
    """Return the reminders of a project that weigh most, kind by kind."""
    query = (
        "SELECT id, kind, text, trust FROM reminders WHERE project = ? AND kind = ?"
        " ORDER BY weight DESC LIMIT ?"
    )
    rows: list[Row] = []
    for kind in _kinds(cache, number):
        limit = FIRST.get(kind, _MOST_OF_OTHERS)
        rows += cache.execute(query, (number, kind, limit))
    return rows


def _kinds(cache: sqlite3.Connection, number: int) -> list[str]:
    """Return the kinds of a project's reminders, in the order of a first briefing."""
    query = "SELECT min(kind) FROM reminders WHERE project = ? AND kind > ?"
    kinds: list[str] = []
    kind = ""
    while True:
        kind = cache.execute(query, (number, kind)).fetchone()[0]
        if not kind:
            break
        kinds.append(kind)
    return sorted(kinds, key=lambda kind: (*FIRST, kind).index(kind))


def _project(cache: sqlite3.Connection, project: str) -> int:
    """Return the number of a project, -1 for one that the cache knows nothing of."""
    row = cache.execute(
        "SELECT number FROM projects WHERE name = ?", (project,)
    ).fetchone()
    if row:
        return int(row[0])
    return -1 if project else 0


def rendered(rows: Iterable[Row], tokens: int) -> tuple[str, list[str], int]:
    """Render the rows that have room in a budget of tokens.

    They are fenced lines under a notice.

    What was only heard of tools, imports and models stands in a fence of its own, in at
    most a quarter of the budget.

    Returns:
        The text, '' for no rows; the ids of the rows; and the tokens of the text.
    """
    from theorex_lab.text.line import NOTICE, count_tokens, fence

    items_by_line = _lines_with_room(rows, tokens, tokens - count_tokens(NOTICE))
    lines: list[str] = []
    items: list[str] = []
    for source, items_of_source in items_by_line.items():
        if items_of_source:
            lines += fence(list(items_of_source), source)
            items += items_of_source.values()
    text = "\n".join([NOTICE, *lines, ""]) if lines else ""
    return text, items, count_tokens(text)


def _lines_with_room(
    rows: Iterable[Row], tokens: int, left: int
) -> dict[str, dict[str, str]]:
    """Return by source the lines that have room, each with the id of its reminder."""
    from theorex_lab.text.line import count_tokens

    left_for_hearsay = tokens // HEARSAY_PART
    items_by_line: dict[str, dict[str, str]] = {_MEMORY: {}, _HEARSAY: {}}
    for item, kind, text, trust in rows:
        is_trusted = trust >= TRUSTED
        source = _MEMORY if is_trusted else _HEARSAY
        lines = items_by_line[source]
        line = f"{kind}: {text}"
        cost = count_tokens(line) + 1
        if not lines:
            cost += count_tokens(source) + 6  # of the fence
        room = left if is_trusted else min(left, left_for_hearsay)
        if line in lines or cost > room:
            continue
        if not is_trusted:
            left_for_hearsay -= cost
        lines[line] = item
        left -= cost
    return items_by_line


def note_given(
    cache: sqlite3.Connection,
    session: str,
    items: Sequence[str],
    at: int,
    *,
    afresh: bool = False,
) -> None:
    """Note that a session was given these items, so that no prompt gives them again.

    Args:
        cache: The cache.
        session: The session; '' is none, of which nothing is noted.
        items: The ids of the items.
        at: The time (µs UTC).
        afresh: Whether what the session was given before is forgotten.
    """
    if not session or not (items or afresh):
        return
    cache.execute("BEGIN IMMEDIATE")
    if afresh:
        cache.execute("DELETE FROM given WHERE session = ?", (session,))
    cache.executemany(
        "INSERT OR REPLACE INTO given VALUES (?, ?, ?)",
        ((session, item, at) for item in items),
    )
    cache.execute("COMMIT")
