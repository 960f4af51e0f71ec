"""What sessions left, as columns: the sentences that were said, with their words, and
the files that were touched and will be needed.

Which earlier sentences tell most: by rare words that are still in use, each counted
once, for the room they take.
"""

import heapq
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.settings import part_of
from theorex_lab.designs.sessions.renamed import (
    GONE,
    FileMoves,
    FileSighting,
    moves_of,
    names_now,
)
from theorex_lab.designs.sessions.sentences import (
    TEXT_OF,
    holder_of,
    item_id,
    said_in,
    sentences_in,
    words,
)
from theorex_lab.designs.sessions.settings import SessionSettings
from theorex_lab.journal.columns import Names, Strings, Table
from theorex_lab.journal.event import Body, Event
from theorex_lab.journal.view import View
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import AVOID_TYPE, FIX_TYPE, TRUST
from theorex_lab.text.file_moves import FileStep
from theorex_lab.text.paths import is_project_path, kept_path, named_path

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
EDIT_WEIGHT = 2  # reads that an edit counts for
# The law: sum over days of weight × (age in days + offset)^-agePower; of the laws tried
# .75 lost least on any of four projects.
AGE_OFFSET_DAYS = 0.1
# How much more a file is needed that sessions about the same touched, and whose name
# holds words of what is asked.
ABOUT_FACTOR = 3.0
NAME_FACTOR = 0.375
_MOST_TOUCHES = 6  # of one session and file that count in ABOUT_FACTOR
_NAME_WORD = re.compile(r"[^\W\d_]{3,}")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
KEY = ("project", "path", "session", "day")  # of a row


class MessageStore(View):
    """Sentences, one row each, and the words of each session.

    sentences: seq and number (of the sentence in its event), at (µs), text, project,
    session, agent (numbers of names), trust, user (1 for what a user said), own (0 for
    what may be pasted), written (1 for a note that was written to be kept), standing
    and worth (0..1).  events: of each sentence the id of its event.  first_word: of
    each text where its words begin in `held`.  used: session, project, word, each
    triple once.  ends: of each session project, first_at, last_at (µs), first_seq,
    last_seq, and the seq up to which it was digested.
    """

    name = "said"
    code = 2
    kinds = (*TEXT_OF, "tool_used", "digest")

    def __init__(self) -> None:
        super().__init__()
        self.projects = Names()
        self.sessions = Names()
        self.agents = Names()
        self.words = Names()
        self.texts = Names()
        self.events = Strings()
        self.sentences = Table(
            seq="i8",
            number="i4",
            at="i8",
            text="i4",
            project="i4",
            session="i4",
            agent="i4",
            trust="i1",
            user="i1",
            own="i1",
            written="i1",
            standing="f4",
            worth="f4",
        )
        self.first_word = Table(place="i8")
        self.held = Table(word="i4")
        self.used = Table(session="i4", project="i4", word="i4")
        self.ends = Table(
            project="i4",
            first_at="i8",
            last_at="i8",
            first_seq="i8",
            last_seq="i8",
            digested="i8",
        )
        self._used: set[tuple[int, ...]] = set()

    def _after_load(self) -> None:
        self._used = set(
            zip(
                *(self.used[name].tolist() for name in ("session", "project", "word")),
                strict=True,
            )
        )

    def fold(self, events: Sequence[Event]) -> None:
        """Take in what was said, and which words tools were given."""
        for event in events:
            if event.kind == "digest":
                row = self.sessions.find(f"{event.agent}/{event.session}")
                if row is not None:
                    self.ends["digested"][row] = max(
                        int(self.ends["digested"][row]), event.body["upto"]
                    )
                continue
            session = self._session(event)
            if event.kind == "tool_used":
                paths = (
                    path
                    for used in (event.body.get("paths") or {}).values()
                    for path in used
                )
                self._use(
                    session,
                    event,
                    words(" ".join([event.body.get("command", ""), *paths])),
                )
            elif event.kind in TEXT_OF and event.body.get("type") not in (
                FIX_TYPE,
                AVOID_TYPE,
            ):
                self._use(session, event, words(said_in(event)))
                self._keep(event, session)

    def _session(self, event: Event) -> int:
        """The row of the event's session: what is of no session is one of its own a
        day.
        """
        row = self.sessions.number(
            f"{event.agent}/{event.session or event.at // MICROSECONDS_PER_DAY}"
        )
        if row == len(self.ends):
            self.ends.add(first_at=event.at, first_seq=event.seq)
        if project := self._project(event.body):
            self.ends["project"][row] = project
        self.ends["last_at"][row] = max(int(self.ends["last_at"][row]), event.at)
        self.ends["last_seq"][row] = event.seq
        return row

    def _project(self, body: Body) -> int:
        """The number of a project from 1 on; 0 for what is of none."""
        return self.projects.number(body["project"]) + 1 if body.get("project") else 0

    def _use(self, session: int, event: Event, found: Iterable[str]) -> None:
        project = self._project(event.body)
        new = [
            use
            for word in sorted(found)
            if (use := (session, project, self.words.number(word))) not in self._used
        ]
        self._used.update(new)
        self.used.extend(("session", "project", "word"), new)

    def _keep(self, event: Event, session: int) -> None:
        body = event.body
        owner = self.agents.number(event.agent)
        project = self._project(body)
        for found in sentences_in(event):
            self.sentences.add(
                seq=event.seq,
                number=found.number,
                at=event.at,
                text=self._text(found.text),
                agent=owner,
                session=session,
                project=project,
                trust=TRUST.get(body.get("source", ""), 0),
                user=body.get("source") == "user",
                own=found.own,
                written=event.kind == "observation",
                standing=found.standing,
                worth=found.worth,
            )
            self.events.append(event.id)

    def _text(self, text: str) -> int:
        """The number of a text, whose words are noted when it is new."""
        number = self.texts.number(text)
        if number == len(self.first_word):
            self.first_word.extend(("place",), [(len(self.held),)])
            self.held.extend(
                ("word",), [(self.words.number(word),) for word in sorted(words(text))]
            )
        return number

    def of_project(
        self, numbers: NDArray[np.int32], projects: Sequence[str] | None
    ) -> NDArray[np.bool_]:
        """Which of these numbers of projects are of `projects` or of none; None: all."""
        if projects is None:
            return np.ones(len(numbers), np.bool_)
        known = [
            number + 1
            for name in projects
            if (number := self.projects.find(name)) is not None
        ]
        return np.isin(numbers, [0, *known])

    def words_of(self, texts: Ints) -> tuple[Ints, Ints]:
        """The words of these texts in one row, and where those of each begin."""
        place = self.first_word["place"]
        starts = place[texts]
        counts = np.append(place[1:], len(self.held))[texts] - place[texts]
        first = np.cumsum(counts) - counts
        picked = np.repeat(starts - first, counts) + np.arange(int(counts.sum()))
        return self.held["word"][picked].astype(np.int64), first


class WordWeights(NamedTuple):
    """By number of a word: idf, 0 where it is in more than a fifth of the sessions, and
    live, how lately it was in use.
    """

    idf: Floats
    live: Floats


def word_weights(
    view: MessageStore, projects: Sequence[str] | None, now: int
) -> WordWeights:
    """What the words of sessions tell, of these projects (None: all), at a time (µs)."""
    mine = view.of_project(view.ends["project"], projects) & (
        view.ends["first_at"] <= now
    )
    kept = mine[view.used["session"]] & view.of_project(view.used["project"], projects)
    word = view.used["word"][kept]
    session = view.used["session"][kept]
    count = np.bincount(word, minlength=len(view.words))
    total = int(mine.sum())
    idf = np.where(
        (count > 0) & (count <= max(1.0, 0.2 * total)),
        np.log(max(total, 2) / np.maximum(count, 1)),
        0.0,
    )
    age = np.maximum(now - view.ends["last_at"], 0) / MICROSECONDS_PER_DAY
    return WordWeights(
        idf,
        np.bincount(word, (age[session] + 0.5) ** -0.5, len(view.words)).astype(
            np.float64
        ),
    )


def edited(event: Event) -> list[str]:
    """The project's paths that a tool call edited."""
    return _paths(event, "edited") if event.body.get("ok") is not False else []


def read(event: Event) -> list[str]:
    """The project's paths that a tool call read."""
    return _paths(event, "read")


def _paths(event: Event, use: str) -> list[str]:
    paths = (event.body.get("paths") or {}).get(use, ())
    return [path for path in paths if is_project_path(path)]


class FileTouches(View):
    """One row a file, session and day: project, path, session (numbers of names), day,
    last_at (µs), weight, edited.

    weight: EDIT_WEIGHT where it was edited that day, else 1.  count: how often.
    events: of each row the last event. sure_at, sure_seq: of its last touch by a call
    that did not fail, 0 without one.  moves: of each call that moved or removed files
    project, at, seq, and its steps in `steps`, as JSON.
    """

    name = "touches"
    code = 2
    kinds = ("tool_used",)

    def __init__(self) -> None:
        super().__init__()
        self.projects = Names()
        self.paths = Names()
        self.sessions = Names()
        times = dict.fromkeys(("last_at", "last_seq", "sure_at", "sure_seq"), "i8")
        self.rows = Table(**dict.fromkeys((*KEY, "edits", "count"), "i4"), **times)
        self.moves = Table(project="i4", at="i8", seq="i8")
        self.steps = Strings()
        self._rows: dict[tuple[int, ...], int] = {}

    def _after_load(self) -> None:
        self._rows = {
            key: row
            for row, key in enumerate(
                zip(*(self.rows[name].tolist() for name in KEY), strict=True)
            )
        }

    def fold(self, events: Sequence[Event]) -> None:
        """Take in the paths that tools read and edited; of a call that failed what it
        read alone.
        """
        for event in events:
            for path in dict.fromkeys([*(edits := edited(event)), *read(event)]):
                self._touch(event, path, path in edits)
            if steps := moves_of(event):
                project = self.projects.number(event.body.get("project", ""))
                self.moves.add(project=project, at=event.at, seq=event.seq)
                self.steps.append(json.dumps(steps))

    def _touch(self, event: Event, path: str, edited: bool) -> None:
        key = (
            self.projects.number(event.body.get("project", "")),
            self.paths.number(path),
            self.sessions.number(f"{event.agent}/{event.session}"),
            int(event.at // MICROSECONDS_PER_DAY),
        )
        row = self._rows.setdefault(key, len(self.rows))
        if row == len(self.rows):
            self.rows.extend(KEY, [key])
        is_sure = event.body.get("ok") is not False
        for column, value in (("at", event.at), ("seq", event.seq)):
            for kind in ("last", "sure") if is_sure else ("last",):
                times = self.rows[f"{kind}_{column}"]
                times[row] = max(int(times[row]), value)
        self.rows["edits"][row] += edited
        self.rows["count"][row] += 1

    def within(self, projects: Sequence[str] | None, now: int) -> Ints:
        """Rows of these projects (None: all) up to a time."""
        known = self.rows["last_at"] <= now
        if projects is not None:
            numbers = [
                number
                for name in projects
                if (number := self.projects.find(name)) is not None
            ]
            known &= np.isin(self.rows["project"], numbers)
        return np.flatnonzero(known)

    def names_of(self, rows: Ints, now: int) -> list[str]:
        """The names that the files of these rows have at a time (µs), GONE for those
        that are not there any more.
        """
        projects, paths = (
            self.rows[name][rows].tolist() for name in ("project", "path")
        )
        names = [self.paths[path] for path in paths]
        moves = self._moves_by_project(now)
        if not moves:
            return names
        sure_at, sure_seq = (
            self.rows[name][rows].tolist() for name in ("sure_at", "sure_seq")
        )
        by_project: dict[int, list[int]] = defaultdict(list)
        for place, project in enumerate(projects):
            by_project[project].append(place)
        for project in by_project.keys() & moves.keys():
            places = by_project[project]
            touched = [
                FileSighting(sure_at[place], sure_seq[place], names[place])
                for place in places
            ]
            for place, name in zip(
                places, names_now(touched, moves[project]), strict=True
            ):
                names[place] = name
        return names

    def _moves_by_project(self, now: int) -> dict[int, list[FileMoves]]:
        found: dict[int, list[FileMoves]] = defaultdict(list)
        columns = (self.moves[name].tolist() for name in ("project", "at", "seq"))
        for number, (project, at, seq) in enumerate(zip(*columns, strict=True)):
            if at <= now:
                steps = [_step(row) for row in json.loads(self.steps[number])]
                found[project].append(FileMoves(at, seq, steps))
        return found


def _step(row: list[Any]) -> FileStep:
    verb, folders, paths, target, into = row
    return FileStep(verb, tuple(folders), tuple(paths), target, into)


def names_now_in(home: Home, now: int) -> dict[str, str]:
    """Of each path of the home's project (of all, without one) that has another name
    now, that name, or GONE.
    """
    with home.views.reading(FileTouches) as view:
        if not len(view.moves):
            return {}
        rows = view.within([home.project] if home.project else None, now)
        rows = rows[
            np.lexsort((view.rows["sure_seq"][rows], view.rows["sure_at"][rows]))
        ]
        before = [view.paths[path] for path in view.rows["path"][rows].tolist()]
        last = dict(zip(before, view.names_of(rows, now), strict=True))
    return {path: name for path, name in last.items() if name != path}


class NeededFile(NamedTuple):
    """A file: its project and path, the shortest end of the path that no other has, how
    much it will be needed, and when (µs) it was last touched, in which event (its seq),
    and how often it was edited then.
    """

    project: str
    path: str
    end: str
    score: float
    last_at: int
    last_seq: int
    edits: int


def needed_files(home: Home, now: int, query: str = "") -> list[NeededFile]:
    """The known files of the home's project (of all, without one), those that will
    probably be needed first.

    A file that was moved has its last name, with all that it was touched under others;
    one that is gone is none of them.

    score: sum over days of weight × (age + .1 d)^-agePower (.75 by default), weight 2
    on days with an edit, else 1. With a query it rises by what sessions about the same
    touched, and by words of the file's name; a file that the query names comes before
    all.
    """
    with home.views.reading(FileTouches) as view:
        rows = view.within([home.project] if home.project else None, now)
        table = {
            name[1:]: column[rows] for name, column in view.rows.columns("").items()
        }
        names_then = view.names_of(rows, now)
        there = np.array([name != GONE for name in names_then], np.bool_)
        table = {name: column[there] for name, column in table.items()}
        known = Names()
        path = np.array(
            [known.number(name) for name in names_then if name != GONE], np.int64
        )
        key = table["project"].astype(np.int64) << 32 | path
        _, first, number = np.unique(key, return_index=True, return_inverse=True)
        names = [
            (view.projects[int(table["project"][i])], known[int(path[i])])
            for i in first
        ]
        sessions = (
            {n: view.sessions[n] for n in np.unique(table["session"]).tolist()}
            if query
            else {}
        )
    if not names:
        return []
    power = part_of(
        home.settings, "sessions", SessionSettings, home.config_file
    ).age_power
    scores = _by_age(
        number, table["day"], table["last_at"], table["edits"], now, len(names), power
    )
    ends = shortest_ends([path for _, path in names])
    if query:
        about = _about(home, query, now, sessions)
        close = np.array([about.get(n, 0.0) for n in table["session"].tolist()])
        near = np.bincount(
            number,
            close * np.minimum(table["count"] + table["edits"], _MOST_TOUCHES),
            len(names),
        )
        scores *= 1 + ABOUT_FACTOR * near / (near.max() or 1.0)
        scores *= 1 + NAME_FACTOR * _named_words(query, [path for _, path in names])
        named = _named(query, ends)
        scores += np.array([path in named for _, path in names]) * scores.max()
    last = np.lexsort((table["last_at"], number))[
        np.append(np.flatnonzero(np.diff(np.sort(number))), len(number) - 1)
    ]
    order = sorted(range(len(names)), key=lambda i: (-scores[i], names[i]))
    at, seq, edits = (
        table[name][last].tolist() for name in ("last_at", "last_seq", "edits")
    )
    return [
        NeededFile(
            *names[i], ends[names[i][1]], float(scores[i]), at[i], seq[i], edits[i]
        )
        for i in order
    ]


def _by_age(
    number: Ints,
    day: Ints,
    last_at: Ints,
    edits: Ints,
    now: int,
    count: int,
    power: float,
) -> Floats:
    """The sum over days of each file: the sessions of one day are one touch, the last
    of them.
    """
    order = np.lexsort((last_at, day, number))
    number = number[order]
    day = day[order]
    last_at = last_at[order]
    starts = np.flatnonzero(
        np.diff(number, prepend=-1).astype(bool) | np.diff(day, prepend=-1).astype(bool)
    )
    edited = np.maximum.reduceat(edits[order] > 0, starts)
    last = np.append(starts[1:], len(number)) - 1
    age = (now - last_at[last]) / MICROSECONDS_PER_DAY
    weight = np.where(edited, EDIT_WEIGHT, 1) * (age + AGE_OFFSET_DAYS) ** -power
    return np.bincount(number[starts], weight, count).astype(np.float64)


def shortest_ends(paths: Iterable[str]) -> dict[str, str]:
    """Of each path its shortest end, from a /, that no other of these has, whatever its
    case; else the whole path.

    >>> shortest_ends(["a/x.py", "b/x.py", "b/y.py"])
    {'a/x.py': 'a/x.py', 'b/x.py': 'b/x.py', 'b/y.py': 'y.py'}
    """
    ends = {path: _ends_of(path) for path in paths}
    seen = Counter(end.lower() for path in ends for end in ends[path])
    return {
        path: next((end for end in ends[path] if seen[end.lower()] == 1), path)
        for path in ends
    }


def _ends_of(path: str) -> list[str]:
    """The ends of a path from a /, the shortest first, as an event would keep them."""
    parts = named_path(path).split("/")
    return [
        kept_path("/".join(parts[start:])) for start in range(len(parts) - 1, -1, -1)
    ]


def _about(
    home: Home, query: str, now: int, sessions: Mapping[int, str]
) -> dict[int, float]:
    """How close each of these sessions is to what is asked: its share of the rare
    words, the shorter the more.
    """
    with home.views.reading(MessageStore) as view:
        idf = word_weights(view, home.projects, now).idf
        asked = {
            n: idf[n]
            for word in words(query)
            if (n := view.words.find(word)) is not None and idf[n] > 0
        }
        if not asked:
            return {}
        pairs = np.isin(view.used["word"], list(asked))
        weight = np.zeros(len(view.words))
        weight[list(asked)] = list(asked.values())
        shared = np.bincount(
            view.used["session"][pairs],
            weight[view.used["word"][pairs]],
            len(view.sessions),
        )
        size = np.bincount(view.used["session"], minlength=len(view.sessions))
        close = shared / sum(asked.values()) / np.sqrt(1 + size / 100)
        rows = {number: view.sessions.find(name) for number, name in sessions.items()}
    return {
        number: float(close[row]) for number, row in rows.items() if row is not None
    }


def _named_words(query: str, paths: Sequence[str]) -> Floats:
    """Of each path the idf of the words that it shares with the query, summed."""
    asked = {word.lower() for word in _NAME_WORD.findall(query)}
    parts = [
        {word.lower() for word in _NAME_WORD.findall(_CAMEL.sub(" ", path))}
        for path in paths
    ]
    count = Counter(word for found in parts for word in found & asked)
    return np.array(
        [
            sum(np.log(1 + len(paths) / count[word]) for word in sorted(found & asked))
            for found in parts
        ]
    )


def _named(query: str, ends: Mapping[str, str]) -> set[str]:
    """The paths that a query names, whole or by an end that no other has."""
    said = {token.strip(".,:;()[]'\"`") for token in query.lower().split()}
    return {
        path
        for path, end in ends.items()
        if end.lower() in said or path.lower() in said
    }


LINE_BYTES = 3  # a list's sign and the line break
# sentences that are weighed against each other; the best of the others follow in their
# order
_MOST_WEIGHED = 20_000
ASKED_FACTOR = 4.0  # how much more a word counts that is asked for

# How much more a sentence counts that is worth keeping, one that its user says again,
# and a note; how much less one of few words.
WORTH_FACTOR = 0.1
AGAIN_FACTOR = 1.0
WRITTEN_FACTOR = 1.0
_FEWEST_WORDS = 5
_SHORT_FACTOR = 0.4


class RememberedSentence(NamedTuple):
    """A sentence: its item's id, its text, when (µs) and by whom it was said last, in
    which session, how far it is trusted, how far it stands as a rule, and on how many
    days it was said.
    """

    item: str
    text: str
    at: int
    agent: str
    session: str
    trust: int
    standing: float
    days: int

    @property
    def event(self) -> str:
        """The id of the event that holds it."""
        return holder_of(self.item)


class DistinctTexts(NamedTuple):
    """Texts that were said, each once: a row in which it was, and on how many days it
    was.
    """

    rows: Ints
    days: Ints


def spoken(
    view: MessageStore,
    projects: Sequence[str] | None,
    now: int,
    *,
    by_users: bool = False,
) -> DistinctTexts:
    """What was said up to a time (µs) in these projects (None: all) or in none, each
    where it was trusted most, then last.

    Left out is what may be pasted, unless its user said it on two days or more: then it
    is a text of their own. by_users: what is surely the word of users alone, in each
    project by itself.
    """
    table = view.sentences
    mine = view.of_project(table["project"], projects) & (table["at"] <= now)
    rows = np.flatnonzero(
        mine & (table["user"] > 0) & (table["own"] > 0) if by_users else mine
    )
    text = table["text"].astype(np.int64) + (
        table["project"] * len(view.texts) if by_users else 0
    )
    rows = rows[np.lexsort((table["seq"][rows], table["at"][rows], text[rows]))]
    text = text[rows]
    day = table["at"][rows] // MICROSECONDS_PER_DAY
    last = np.flatnonzero(np.diff(text, append=-1))
    new_day = (np.diff(text, prepend=-1) != 0) | (np.diff(day, prepend=-1) != 0)
    days = np.diff(np.cumsum(new_day)[last], prepend=0)
    best = rows[
        np.lexsort(
            (np.arange(len(rows)), table["trust"][rows], table["own"][rows], text)
        )[last]
    ]
    kept = (table["own"][best] > 0) | (days > 1)
    return DistinctTexts(best[kept], days[kept])


def told(view: MessageStore, row: int, days: int) -> RememberedSentence:
    """The sentence of a row."""
    table = view.sentences
    session = view.sessions[int(table["session"][row])].partition("/")[2]
    return RememberedSentence(
        item_id(view.events[row], int(table["number"][row])),
        view.texts[int(table["text"][row])],
        int(table["at"][row]),
        view.agents[int(table["agent"][row])],
        session,
        int(table["trust"][row]),
        float(table["standing"][row]),
        days,
    )


def telling(home: Home, now: int, query: str = "") -> Iterator[RememberedSentence]:
    """Earlier sentences of the home's project or of none, those first that tell most in
    the least room.

    A word's weight is its idf over sessions times how lately it was in use, Σ (age in
    days + .5)^-.5; a word that a sentence before has told counts no more (Lin & Bilmes
    2011: greedy cover, within 1 - 1/e of the best). With a query its words weigh more.
    """
    with home.views.reading(MessageStore) as view:
        found = spoken(view, home.projects, now)
        weights = word_weights(view, home.projects, now)
        weight = weights.idf * weights.live
        for word in words(query):
            if (number := view.words.find(word)) is not None:
                weight[number] *= 1 + ASKED_FACTOR
        rates = _rates(view, found, weight)
        order = np.lexsort((-view.sentences["seq"][found.rows], -rates))[:_MOST_WEIGHED]
        chosen = [
            int(order[place])
            for place in _covering(view, found.rows[order], rates[order], weight)
        ]
        yield from (
            told(view, int(found.rows[place]), int(found.days[place]))
            for place in chosen
        )


def _rates(view: MessageStore, found: DistinctTexts, weight: Floats) -> Floats:
    """What each text tells, for the room that it takes."""
    table = view.sentences
    rows = found.rows
    if not len(rows):
        return np.zeros(0)
    numbers, first = view.words_of(table["text"][rows])
    held = np.diff(np.append(first, len(numbers)))
    gains = np.add.reduceat(np.append(weight[numbers], 0.0), first) * (held > 0)
    size = (
        np.array([len(view.texts[number]) for number in table["text"][rows].tolist()])
        + LINE_BYTES
    )
    more = (1 + WORTH_FACTOR * table["worth"][rows]) * (
        1 + AGAIN_FACTOR * (found.days > 1) * table["user"][rows]
    )
    rates: Floats = (
        gains / size * more * np.where(held < _FEWEST_WORDS, _SHORT_FACTOR, 1.0)
    )
    return rates * (1 + WRITTEN_FACTOR * table["written"][rows])


def _covering(
    view: MessageStore, rows: Ints, rates: Floats, weight: Floats
) -> Iterator[int]:
    """Places in the rows, greedily by what each adds to those before it for its room;
    what adds nothing is left out.
    """
    if not len(rows):
        return
    numbers, first = view.words_of(view.sentences["text"][rows])
    held = [part.tolist() for part in np.split(numbers, first[1:])]
    total = [sum(weight[n] for n in part) for part in held]
    heap = [(-rate, place) for place, rate in enumerate(rates.tolist()) if rate > 0]
    seen: set[int] = set()
    while heap:
        rate, place = heapq.heappop(heap)
        left = sum(weight[n] for n in held[place] if n not in seen)
        now = float(rates[place] * left / total[place])
        if now >= -rate - 1e-12:
            seen.update(held[place])
            yield place
        elif now > 0:
            heapq.heappush(heap, (-now, place))
