"""Files that will probably be needed: what was read and edited, by a law of age that is fitted, and by what is asked."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.config import part_of
from theorex_lab.designs.sessions.checks import edited, read
from theorex_lab.designs.sessions.items import SessionSettings
from theorex_lab.designs.sessions.said import Floats, Ints, Said, word_weights
from theorex_lab.designs.sessions.sentences import words
from theorex_lab.home import Home
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Event
from theorex_lab.journal.view import View

EDIT_WEIGHT = 2  # reads that an edit counts for
# The law: sum over days of weight × (age in days + offset)^-agePower; of the laws tried .75 lost least on any of four projects.
AGE_OFFSET_DAYS = 0.1
# How much more a file is needed that sessions about the same touched, and whose name holds words of what is asked.
ABOUT_FACTOR, NAME_FACTOR = 3.0, 0.375
_MOST_TOUCHES = 6  # of one session and file that count in ABOUT_FACTOR
_NAME_WORD = re.compile(r"[^\W\d_]{3,}")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


KEY = ("project", "path", "session", "day")  # of a row


class Touches(View):
    """One row a file, session and day: project, path, session (numbers of names), day, last_at (µs), weight, edited.

    weight: EDIT_WEIGHT where it was edited that day, else 1.  count: how often.  events: of each row the last event.
    """

    name = "touches"
    code = 1
    kinds = ("tool_used",)

    def __init__(self) -> None:
        super().__init__()
        self.projects, self.paths, self.sessions = Names(), Names(), Names()
        self.rows = Table(**dict.fromkeys((*KEY, "edits", "count"), "i4"), last_at="i8", last_seq="i8")
        self._rows: dict[tuple[int, ...], int] = {}

    def _after_load(self) -> None:
        self._rows = {key: row for row, key in enumerate(zip(*(self.rows[name].tolist() for name in KEY), strict=True))}

    def fold(self, events: Sequence[Event]) -> None:
        """Take in the paths that tools read and edited; of a call that failed what it read alone."""
        for event in events:
            for path in dict.fromkeys([*(edits := edited(event)), *read(event)]):
                self._touch(event, path, path in edits)

    def _touch(self, event: Event, path: str, edited: bool) -> None:
        key = (
            self.projects.number(event.body.get("project", "")), self.paths.number(path),
            self.sessions.number(f"{event.agent}/{event.session}"), int(event.at // MICROSECONDS_PER_DAY),
        )  # fmt: skip
        row = self._rows.setdefault(key, len(self.rows))
        if row == len(self.rows):
            self.rows.extend(KEY, [key])
        for column, value in (("last_at", event.at), ("last_seq", event.seq)):
            self.rows[column][row] = max(int(self.rows[column][row]), value)
        self.rows["edits"][row] += edited
        self.rows["count"][row] += 1

    def within(self, projects: Sequence[str] | None, now: int) -> Ints:
        """Rows of these projects (None: all) up to a time."""
        known = self.rows["last_at"] <= now
        if projects is not None:
            numbers = [number for name in projects if (number := self.projects.find(name)) is not None]
            known &= np.isin(self.rows["project"], numbers)
        return np.flatnonzero(known)


class NeededFile(NamedTuple):
    """A file: its project and path, the shortest end of the path that no other has, how much it will be needed, and
    when (µs) it was last touched, in which event (its seq), and how often it was edited then."""

    project: str
    path: str
    end: str
    score: float
    last_at: int
    last_seq: int
    edits: int


def needed_files(home: Home, now: int, query: str = "") -> list[NeededFile]:
    """The known files of the home's project (of all, without one), those that will probably be needed first.

    score: sum over days of weight × (age + .1 d)^-agePower (.75 by default), weight 2 on days with an edit, else 1. With a query it rises by what
    sessions about the same touched, and by words of the file's name; a file that the query names comes before all.
    """
    with home.views.reading(Touches) as view:
        rows = view.within([home.project] if home.project else None, now)
        table = {name[1:]: column[rows] for name, column in view.rows.columns("").items()}
        key = table["project"].astype(np.int64) << 32 | table["path"]
        _, first, number = np.unique(key, return_index=True, return_inverse=True)
        names = [(view.projects[int(table["project"][i])], view.paths[int(table["path"][i])]) for i in first]
        sessions = {n: view.sessions[n] for n in np.unique(table["session"]).tolist()} if query else {}
    if not names:
        return []
    power = part_of(home.settings, "sessions", SessionSettings, home.config_file).age_power
    scores = _by_age(number, table["day"], table["last_at"], table["edits"], now, len(names), power)
    ends = shortest_ends([path for _, path in names])
    if query:
        about = _about(home, query, now, sessions)
        close = np.array([about.get(n, 0.0) for n in table["session"].tolist()])
        near = np.bincount(number, close * np.minimum(table["count"] + table["edits"], _MOST_TOUCHES), len(names))
        scores *= 1 + ABOUT_FACTOR * near / (near.max() or 1.0)
        scores *= 1 + NAME_FACTOR * _named_words(query, [path for _, path in names])
        named = _named(query, ends)
        scores += np.array([path in named for _, path in names]) * scores.max()
    last = np.lexsort((table["last_at"], number))[np.append(np.flatnonzero(np.diff(np.sort(number))), len(number) - 1)]
    order = sorted(range(len(names)), key=lambda i: (-scores[i], names[i]))
    at, seq, edits = (table[name][last].tolist() for name in ("last_at", "last_seq", "edits"))
    return [NeededFile(*names[i], ends[names[i][1]], float(scores[i]), at[i], seq[i], edits[i]) for i in order]


def _by_age(number: Ints, day: Ints, last_at: Ints, edits: Ints, now: int, count: int, power: float) -> Floats:
    """The sum over days of each file: the sessions of one day are one touch, the last of them."""
    order = np.lexsort((last_at, day, number))
    number, day, last_at = number[order], day[order], last_at[order]
    starts = np.flatnonzero(np.diff(number, prepend=-1).astype(bool) | np.diff(day, prepend=-1).astype(bool))
    edited = np.maximum.reduceat(edits[order] > 0, starts)
    last = np.append(starts[1:], len(number)) - 1
    age = (now - last_at[last]) / MICROSECONDS_PER_DAY
    weight = np.where(edited, EDIT_WEIGHT, 1) * (age + AGE_OFFSET_DAYS) ** -power
    return np.bincount(number[starts], weight, count).astype(np.float64)


def shortest_ends(paths: Iterable[str]) -> dict[str, str]:
    """Of each path its shortest end, from a /, that no other of these has, whatever its case; else the whole path.

    >>> shortest_ends(["a/x.py", "b/x.py", "b/y.py"])
    {'a/x.py': 'a/x.py', 'b/x.py': 'b/x.py', 'b/y.py': 'y.py'}
    """
    ends = {path: [path.split("/", start)[-1] for start in range(path.count("/"), -1, -1)] for path in paths}
    seen = Counter(end.lower() for path in ends for end in ends[path])
    return {path: next((end for end in ends[path] if seen[end.lower()] == 1), path) for path in ends}


def _about(home: Home, query: str, now: int, sessions: Mapping[int, str]) -> dict[int, float]:
    """How close each of these sessions is to what is asked: its share of the rare words, the shorter the more."""
    with home.views.reading(Said) as view:
        idf = word_weights(view, home.projects, now).idf
        asked = {n: idf[n] for word in words(query) if (n := view.words.find(word)) is not None and idf[n] > 0}
        if not asked:
            return {}
        pairs = np.isin(view.used["word"], list(asked))
        weight = np.zeros(len(view.words))
        weight[list(asked)] = list(asked.values())
        shared = np.bincount(view.used["session"][pairs], weight[view.used["word"][pairs]], len(view.sessions))
        size = np.bincount(view.used["session"], minlength=len(view.sessions))
        close = shared / sum(asked.values()) / np.sqrt(1 + size / 100)
        rows = {number: view.sessions.find(name) for number, name in sessions.items()}
    return {number: float(close[row]) for number, row in rows.items() if row is not None}


def _named_words(query: str, paths: Sequence[str]) -> Floats:
    """Of each path the idf of the words that it shares with the query, summed."""
    asked = {word.lower() for word in _NAME_WORD.findall(query)}
    parts = [{word.lower() for word in _NAME_WORD.findall(_CAMEL.sub(" ", path))} for path in paths]
    count = Counter(word for found in parts for word in found & asked)
    return np.array([sum(np.log(1 + len(paths) / count[word]) for word in sorted(found & asked)) for found in parts])


def _named(query: str, ends: Mapping[str, str]) -> set[str]:
    """The paths that a query names, whole or by an end that no other has."""
    said = {token.strip(".,:;()[]'\"`") for token in query.lower().split()}
    return {path for path, end in ends.items() if end.lower() in said or path.lower() in said}
