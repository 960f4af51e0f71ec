"""What sessions left, as columns.

It is the words that were used, and the files that were touched and will be needed.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.settings import part_of
from theorex_lab.designs.sessions.renamed import (
    GONE,
    FileMoves,
    FileSighting,
    moves_of,
    names_now,
)
from theorex_lab.designs.sessions.sentences import (
    said_in,
    words,
)
from theorex_lab.designs.sessions.session_ends import SessionEnds
from theorex_lab.designs.sessions.settings import SessionSettings
from theorex_lab.journal.columns import Names, Strings, Table
from theorex_lab.journal.event import Body, Event
from theorex_lab.journal.heads import heads_of
from theorex_lab.journal.view import PROJECT_SCOPE, View
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import AVOID_TYPE, FIX_TYPE
from theorex_lab.text.file_moves import FileStep
from theorex_lab.text.paths import is_project_path, kept_path, named_path

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_Uses = dict[int, set[int]]  # by project the words
EDIT_WEIGHT = 2  # reads that an edit counts for
# The law: sum over days of weight × (age in days + offset)^-agePower; of the laws tried
# .75 lost least on any of four projects.
AGE_OFFSET_DAYS = 0.1
# How much more a file is needed that sessions about the same touched, and whose name
# holds words of what is asked.
ABOUT_FACTOR = 3.0
NAME_FACTOR = 0.375
_RARE_FRACTION = 0.2  # of the sessions in which a word may be that is rare
_MOST_TOUCHES = 6  # of one session and file that count in ABOUT_FACTOR
_NAME_WORD = lazy_pattern(r"[^\W\d_]{3,}")
_CAMEL = lazy_pattern(r"(?<=[a-z])(?=[A-Z])")
KEY = ("project", "path", "session", "day")  # of a row
_MOST_SESSIONS_KEPT = 256  # whose words are looked up without a search


class _NewUses:
    """Uses of words that are not in the table yet: a session, project and word each."""

    def __init__(self) -> None:
        self.sessions: list[int] = []
        self.projects: list[int] = []
        self.words: list[int] = []

    def clear(self) -> None:
        """Let go of all of them."""
        self.sessions.clear()
        self.projects.clear()
        self.words.clear()


class SessionWords(SessionEnds):
    """The words of each session, and when it began and ended.

    Attributes:
        used: The columns session, project, word, each triple once.
        ends: See `SessionEnds`.
    """

    name = "session_words"
    code = 1
    reads_outlines = False  # it reads every text
    reads_heads = False

    def __init__(self) -> None:
        super().__init__()
        self.words = Names()
        self.used = Table(session="i4", project="i4", word="i4")
        # By session and project the words of the sessions that were folded last: those
        # of all sessions would be most of what a process holds.
        self._uses: dict[int, _Uses] = {}

    def _after_load(self) -> None:
        self._uses = {}

    def _take_in_run(self, events: Sequence[Event]) -> None:
        """Take in what was said, and which words tools were given."""
        n_before = len(self.ends)
        rows = self._rows_taken_in(heads_of(events))
        newest_session = n_before - 1
        new = _NewUses()
        for event, session in zip(events, rows.tolist(), strict=True):
            if session > newest_session:
                newest_session = session
                self._keep_uses(session, {})
            used_words = _words_of(event)
            if used_words:
                self._use(session, event, used_words, new)
        self._append(new)

    def _use(
        self,
        session: int,
        event: Event,
        used_words: Iterable[str],
        new: _NewUses,
    ) -> None:
        """Note which words an event uses that its session did not use before."""
        project = self._project(event.body)
        uses = self._uses.get(session)
        if uses is None:
            self._append(new)  # it is searched too
            uses = self._searched_uses(session)
            self._keep_uses(session, uses)
        word_numbers = self.words.numbered(sorted(used_words))
        words_before = uses.setdefault(project, set())
        new_words = [word for word in word_numbers if word not in words_before]
        words_before.update(new_words)
        n_new = len(new_words)
        new.sessions += [session] * n_new
        new.projects += [project] * n_new
        new.words += new_words

    def _project(
        self,
        body: Body,
    ) -> int:
        """Return the number of a project from 1 on; 0 for what is of none."""
        project = body.get("project")
        if not project:
            return 0
        return self.projects.number(project) + 1

    def _append(self, new: _NewUses) -> None:
        """Append uses to the table, and empty what held them."""
        if not new.words:
            return
        self.used.put(
            self.used.grow(len(new.words)),
            session=new.sessions,
            project=new.projects,
            word=new.words,
        )
        new.clear()

    def _searched_uses(
        self,
        session: int,
    ) -> _Uses:
        """Return the words that a session used by project, from the table."""
        is_of_session = self.used["session"] == session
        rows = np.flatnonzero(is_of_session)
        projects = self.used["project"][rows]
        word_numbers = self.used["word"][rows]
        uses: _Uses = {}
        pairs = zip(
            projects.tolist(),
            word_numbers.tolist(),
            strict=True,
        )
        for project, word in pairs:
            uses.setdefault(project, set()).add(word)
        return uses

    def _keep_uses(
        self,
        session: int,
        uses: _Uses,
    ) -> None:
        """Keep the uses of a session, and let go of those that were kept first."""
        self._uses[session] = uses
        if len(self._uses) > _MOST_SESSIONS_KEPT:
            first_session = next(iter(self._uses))
            self._uses.pop(first_session)


def _words_of(event: Event) -> set[str]:
    """Return the words that an event adds to its session."""
    if event.kind == "tool_used":
        return words(_tool_text(event))
    if event.body.get("type") in (FIX_TYPE, AVOID_TYPE):
        return set()
    return words(said_in(event))


def _tool_text(event: Event) -> str:
    """Return the command of a tool call and the paths that it used."""
    body = event.body
    texts = [body.get("command", "")]
    paths_by_use = body.get("paths") or {}
    for paths in paths_by_use.values():
        texts += paths
    return " ".join(texts)


def rare_words(
    view: SessionWords,
    projects: Sequence[str] | None,
    now: int,
) -> Floats:
    """Return how much each word tells, by its number.

    It is the word's idf over sessions, 0 where it is in more than a fifth of them.

    Args:
        view: The words of the sessions.
        projects: Names of the projects of the sessions; None: all.
        now: The time, µs UTC.
    """
    is_counted = view.of_project(view.ends["project"], projects)
    is_counted &= view.ends["first_at"] <= now
    is_used = is_counted[view.used["session"]]
    is_used &= view.of_project(view.used["project"], projects)
    n_words = len(view.words)
    n_sessions = int(is_counted.sum())
    count = np.bincount(view.used["word"][is_used], minlength=n_words)
    most_sessions = max(1.0, _RARE_FRACTION * n_sessions)
    is_rare = (count > 0) & (count <= most_sessions)
    ratio = max(n_sessions, 2) / np.maximum(count, 1)
    idf: Floats = np.where(is_rare, np.log(ratio), 0.0)
    return idf


def edited(event: Event) -> list[str]:
    """Return the project's paths that a tool call edited."""
    if event.body.get("ok") is False:
        return []
    return _paths(event, "edited")


def read(event: Event) -> list[str]:
    """Return the project's paths that a tool call read."""
    return _paths(event, "read")


def _paths(
    event: Event,
    use: str,
) -> list[str]:
    paths_by_use = event.body.get("paths") or {}
    paths = paths_by_use.get(use, ())
    return [path for path in paths if is_project_path(path)]


class FileTouches(View):
    """One row a file, session and day.

    Attributes:
        rows: The columns project, path, session (numbers of names), day, last_at (µs)
            and last_seq (of the last event), edits (how often it was edited), count
            (how often it was touched), sure_at and sure_seq (of the last touch by a
            call that did not fail, 0 without one).
        moves: Of each call that moved or removed files project, at, seq.
        steps: The steps of each of these calls, as JSON.
    """

    name = "touches"
    code = 2
    kinds = ("tool_used",)
    scope = PROJECT_SCOPE

    def __init__(self) -> None:
        super().__init__()
        self.projects = Names()
        self.paths = Names()
        self.sessions = Names()
        self.rows = Table(
            project="i4",
            path="i4",
            session="i4",
            day="i4",
            edits="i4",
            count="i4",
            last_at="i8",
            last_seq="i8",
            sure_at="i8",
            sure_seq="i8",
        )
        self.moves = Table(project="i4", at="i8", seq="i8")
        self.steps = Strings()
        # None after a load, until something is folded.
        self._row_of_key: dict[tuple[int, ...], int] | None = {}

    def _after_load(self) -> None:
        self._row_of_key = None

    @property
    def _rows(self) -> dict[tuple[int, ...], int]:
        """The row of each project, path, session and day."""
        if self._row_of_key is None:
            columns = [self.rows[name].tolist() for name in KEY]
            keys = zip(*columns, strict=True)
            self._row_of_key = {}
            for row, key in enumerate(keys):
                self._row_of_key[key] = row
        return self._row_of_key

    def apply(
        self,
        events: Sequence[Event],
    ) -> None:
        """Take in the paths that tools read and edited.

        Of a call that failed what it read is taken in alone.
        """
        for event in events:
            edited_paths = edited(event)
            all_paths = dict.fromkeys([*edited_paths, *read(event)])
            for path in all_paths:
                self._touch(event, path, path in edited_paths)
            steps = moves_of(event)
            if steps:
                project = self.projects.number(event.body.get("project", ""))
                self.moves.add(project=project, at=event.at, seq=event.seq)
                self.steps.append(json.dumps(steps))

    def _touch(
        self,
        event: Event,
        path: str,
        is_edited: bool,
    ) -> None:
        key = (
            self.projects.number(event.body.get("project", "")),
            self.paths.number(path),
            self.sessions.number(f"{event.agent}/{event.session}"),
            int(event.at // MICROSECONDS_PER_DAY),
        )
        row = self._rows.setdefault(key, len(self.rows))
        if row == len(self.rows):
            self.rows.extend(KEY, [key])
        self._raise("last_at", row, event.at)
        self._raise("last_seq", row, event.seq)
        has_failed = event.body.get("ok") is False
        if not has_failed:
            self._raise("sure_at", row, event.at)
            self._raise("sure_seq", row, event.seq)
        self.rows["edits"][row] += is_edited
        self.rows["count"][row] += 1

    def _raise(
        self,
        column: str,
        row: int,
        value: int,
    ) -> None:
        """Set a number to a value where it is lower."""
        values = self.rows[column]
        values[row] = max(int(values[row]), value)

    def within(
        self,
        projects: Sequence[str] | None,
        now: int,
    ) -> Ints:
        """Return the rows of these projects (None: all) up to a time."""
        is_inside = self.rows["last_at"] <= now
        if projects is not None:
            numbers = []
            for name in projects:
                number = self.projects.find(name)
                if number is not None:
                    numbers.append(number)
            is_inside &= np.isin(self.rows["project"], numbers)
        return np.flatnonzero(is_inside)

    def names_of(
        self,
        rows: Ints,
        now: int,
    ) -> list[str]:
        """Return the names that the files of these rows have at a time.

        Args:
            rows: Rows of touches.
            now: The time, µs UTC.

        Returns:
            A name a row; GONE for a file that is not there any more.
        """
        path_numbers = self.rows["path"][rows].tolist()
        names = [self.paths[number] for number in path_numbers]
        moves = self._moves_by_project(now)
        if not moves:
            return names
        sure_at = self.rows["sure_at"][rows].tolist()
        sure_seq = self.rows["sure_seq"][rows].tolist()
        positions_of: dict[int, list[int]] = defaultdict(list)
        projects = self.rows["project"][rows].tolist()
        for position, project in enumerate(projects):
            if project in moves:
                positions_of[project].append(position)
        for project, positions in positions_of.items():
            sightings: list[FileSighting] = []
            for position in positions:
                sighting = FileSighting(
                    sure_at[position],
                    sure_seq[position],
                    names[position],
                )
                sightings.append(sighting)
            new_names = names_now(sightings, moves[project])
            for position, name in zip(positions, new_names, strict=True):
                names[position] = name
        return names

    def _moves_by_project(self, now: int) -> dict[int, list[FileMoves]]:
        moves: dict[int, list[FileMoves]] = defaultdict(list)
        rows = zip(
            self.moves["project"].tolist(),
            self.moves["at"].tolist(),
            self.moves["seq"].tolist(),
            strict=True,
        )
        for number, (project, at, seq) in enumerate(rows):
            if at > now:
                continue
            stored_steps = json.loads(self.steps[number])
            steps = [_step(row) for row in stored_steps]
            moves[project].append(FileMoves(at, seq, steps))
        return moves


def _step(row: list[Any]) -> FileStep:
    verb, folders, paths, target, into = row
    return FileStep(verb, tuple(folders), tuple(paths), target, into)


def names_now_in(home: Home, now: int) -> dict[str, str]:
    """Return the present name of each path that has another name now.

    The paths are those of the home's project, or of all projects without one.

    Returns:
        By path its name, GONE for a file that is not there any more.
    """
    with home.views.reading(FileTouches) as view:
        if not len(view.moves):
            return {}
        rows = view.within(_project_of(home), now)
        times = view.rows["sure_at"][rows]
        seqs = view.rows["sure_seq"][rows]
        rows = rows[np.lexsort((seqs, times))]
        path_numbers = view.rows["path"][rows].tolist()
        paths = [view.paths[number] for number in path_numbers]
        names = view.names_of(rows, now)
        name_of = dict(zip(paths, names, strict=True))
    return {path: name for path, name in name_of.items() if name != path}


def _project_of(home: Home) -> list[str] | None:
    """Return the home's project; None, which is all projects, without one."""
    if home.project:
        return [home.project]
    return None


class NeededFile(NamedTuple):
    """A file that may be needed.

    Attributes:
        project: Its project.
        path: Its path.
        end: The shortest end of the path that no other has.
        score: How much it will be needed.
        last_at: When (µs) it was last touched.
        last_seq: The seq of the event in which it was.
        edits: How often it was edited then.
    """

    project: str
    path: str
    end: str
    score: float
    last_at: int
    last_seq: int
    edits: int


def needed_files(
    home: Home,
    now: int,
    query: str = "",
) -> list[NeededFile]:
    """Return the known files, those that will probably be needed first.

    They are those of the home's project, or of all projects without one. A file that
    was moved has its last name, with all that it was touched under others; one that is
    gone is none of them.

    The score is the sum over days of weight × (age + .1 d)^-agePower (.75 by default);
    the weight is 2 on days with an edit, else 1. With a query it rises by what sessions
    about the same touched, and by words of the file's name; a file that the query names
    comes before all.

    Args:
        home: Whose files they are.
        now: The time, µs UTC.
        query: What is asked; '' for nothing.
    """
    touches = _touches_of_files(home, now)
    if not touches.files:
        return []
    settings = part_of(home.settings, "sessions", SessionSettings, home.config_file)
    table = touches.table
    scores = _by_age(touches, now, settings.age_power)
    paths = [path for _, path in touches.files]
    ends = shortest_ends(paths)
    if query:
        scores = _scores_for_query(home, query, now, touches, scores, ends)
    # The last touch of each file: the last row of its number in the order of time.
    in_time = np.lexsort((table["last_at"], touches.number))
    number_in_time = touches.number[in_time]
    is_last = np.diff(number_in_time, append=-1) != 0
    last = in_time[is_last]
    last_at = table["last_at"][last].tolist()
    last_seq = table["last_seq"][last].tolist()
    edits = table["edits"][last].tolist()
    files = []
    for number, (project, path) in enumerate(touches.files):
        file = NeededFile(
            project=project,
            path=path,
            end=ends[path],
            score=float(scores[number]),
            last_at=last_at[number],
            last_seq=last_seq[number],
            edits=edits[number],
        )
        files.append(file)
    return sorted(files, key=_file_rank)


def _file_rank(file: NeededFile) -> tuple[float, str, str]:
    return -file.score, file.project, file.path


class _Touches(NamedTuple):
    """Touches of files that exist now, row by row.

    Attributes:
        table: The columns of `FileTouches.rows`.
        number: Of each row its file, a position in `files`.
        files: Project and path of each file, by the names of now.
        sessions: The names of the sessions in the table, by number.
    """

    table: dict[str, NDArray[Any]]
    number: Ints
    files: list[tuple[str, str]]
    sessions: dict[int, str]


def _touches_of_files(home: Home, now: int) -> _Touches:
    """Return the touches of the home's project (of all, without one) up to a time."""
    with home.views.reading(FileTouches) as view:
        rows = view.within(_project_of(home), now)
        names = view.names_of(rows, now)
        is_present = np.array([name != GONE for name in names], np.bool_)
        present_rows = rows[is_present]
        present_names = [name for name in names if name != GONE]
        table: dict[str, NDArray[Any]] = {}
        for name, column in view.rows.columns("").items():
            table[name[1:]] = column[present_rows]
        paths = Names()
        path_numbers = [paths.number(name) for name in present_names]
        path = np.array(path_numbers, np.int64)
        project = table["project"].astype(np.int64)
        key = project << 32 | path
        _, first, number = np.unique(key, return_index=True, return_inverse=True)
        files = []
        for row in first.tolist():
            project_name = view.projects[int(project[row])]
            file_path = paths[int(path[row])]
            files.append((project_name, file_path))
        session_numbers = np.unique(table["session"]).tolist()
        sessions = {session: view.sessions[session] for session in session_numbers}
    return _Touches(table, number, files, sessions)


def _scores_for_query(
    home: Home,
    query: str,
    now: int,
    touches: _Touches,
    scores: Floats,
    ends: Mapping[str, str],
) -> Floats:
    """Return the scores as they are for a query.

    They are raised by what sessions about the query touched, by words of the files'
    names, and for the files that the query names.
    """
    table = touches.table
    sessions = table["session"].tolist()
    closeness = _closeness(home, query, now, touches.sessions)
    close = np.array([closeness.get(session, 0.0) for session in sessions])
    n_uses = table["count"] + table["edits"]
    n_touches = np.minimum(n_uses, _MOST_TOUCHES)
    paths = [path for _, path in touches.files]
    near = np.bincount(touches.number, close * n_touches, len(paths))
    nearest = near.max() or 1.0
    shared_words = _shared_name_words(query, paths)
    by_sessions = 1 + ABOUT_FACTOR * near / nearest
    by_name = 1 + NAME_FACTOR * shared_words
    scores = scores * by_sessions
    scores = scores * by_name
    named_paths = _named(query, ends)
    is_named = np.array([path in named_paths for path in paths])
    raised: Floats = scores + is_named * scores.max()
    return raised


def _by_age(
    touches: _Touches,
    now: int,
    power: float,
) -> Floats:
    """Return the sum over days of each file.

    The sessions of one day are one touch, the last of them.
    """
    table = touches.table
    order = np.lexsort((table["last_at"], table["day"], touches.number))
    number = touches.number[order]
    day = table["day"][order]
    last_at = table["last_at"][order]
    is_new_file = np.diff(number, prepend=-1).astype(bool)
    is_new_day = np.diff(day, prepend=-1).astype(bool)
    starts = np.flatnonzero(is_new_file | is_new_day)
    has_edits = table["edits"][order] > 0
    is_edited = np.maximum.reduceat(has_edits, starts)
    ends = np.append(starts[1:], len(number))
    last = ends - 1
    since_last = now - last_at[last]
    age = since_last / MICROSECONDS_PER_DAY
    decay = (age + AGE_OFFSET_DAYS) ** -power
    weight = np.where(is_edited, EDIT_WEIGHT, 1) * decay
    sums = np.bincount(number[starts], weight, len(touches.files))
    return sums.astype(np.float64)


def shortest_ends(paths: Iterable[str]) -> dict[str, str]:
    """Return of each path its shortest end, from a /, that no other of these has.

    Ends that differ by their case alone are the same. A path without an end of its own
    has the whole path.

    >>> shortest_ends(["a/x.py", "b/x.py", "b/y.py"])
    {'a/x.py': 'a/x.py', 'b/x.py': 'b/x.py', 'b/y.py': 'y.py'}
    """
    ends_of = {path: _ends_of(path) for path in paths}
    counts = Counter[str]()
    for ends in ends_of.values():
        counts.update(end.lower() for end in ends)
    shortest = {}
    for path, ends in ends_of.items():
        shortest[path] = path
        for end in ends:
            if counts[end.lower()] == 1:
                shortest[path] = end
                break
    return shortest


def _ends_of(path: str) -> list[str]:
    """Return the ends of a path from a /, the shortest first.

    They are written as an event would keep them.
    """
    parts = named_path(path).split("/")
    ends: list[str] = []
    for start in reversed(range(len(parts))):
        end = "/".join(parts[start:])
        ends.append(kept_path(end))
    return ends


def _closeness(
    home: Home, query: str, now: int, sessions: Mapping[int, str]
) -> dict[int, float]:
    """Return how close each of these sessions is to the query.

    It is the session's share of the query's rare words; the shorter the session, the
    more.
    """
    with home.views.reading(SessionWords) as view:
        idf = rare_words(view, home.projects, now)
        idf_of: dict[int, float] = {}  # of the rare words of the query
        for word in words(query):
            number = view.words.find(word)
            if number is not None and idf[number] > 0:
                idf_of[number] = idf[number]
        if not idf_of:
            return {}
        query_words = list(idf_of)
        query_idf = list(idf_of.values())
        used_word = view.used["word"]
        session = view.used["session"]
        n_sessions = len(view.sessions)
        weight = np.zeros(len(view.words))
        weight[query_words] = query_idf
        is_shared = np.isin(used_word, query_words)
        shared_weight = weight[used_word[is_shared]]
        shared = np.bincount(session[is_shared], shared_weight, n_sessions)
        size = np.bincount(session, minlength=n_sessions)
        share = shared / sum(query_idf)
        length = np.sqrt(1 + size / 100)
        close = share / length
        closeness: dict[int, float] = {}
        for number, name in sessions.items():
            row = view.sessions.find(name)
            if row is not None:
                closeness[number] = float(close[row])
    return closeness


def _shared_name_words(query: str, paths: Sequence[str]) -> Floats:
    """Return of each path the idf of the words that it shares with the query, summed."""
    query_words = _name_words(query)
    shared_words: list[set[str]] = []
    n_paths = Counter[str]()
    for path in paths:
        path_words = _name_words(_CAMEL.sub(" ", path))
        common_words = query_words & path_words
        shared_words.append(common_words)
        n_paths.update(common_words)
    sums = []
    for common_words in shared_words:
        total = 0.0
        for word in sorted(common_words):
            rarity = len(paths) / n_paths[word]
            total += np.log(1 + rarity)
        sums.append(total)
    return np.array(sums)


def _name_words(text: str) -> set[str]:
    return {word.lower() for word in _NAME_WORD.findall(text)}


def _named(query: str, ends: Mapping[str, str]) -> set[str]:
    """Return the paths that a query names, whole or by an end that no other has."""
    words_of_query = query.lower().split()
    tokens = {word.strip(".,:;()[]'\"`") for word in words_of_query}
    named_paths = set[str]()
    for path, end in ends.items():
        names = {end.lower(), path.lower()}
        if not names.isdisjoint(tokens):
            named_paths.add(path)
    return named_paths
