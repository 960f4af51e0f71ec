"""The index of what prompts are answered with, which `prompt_lines` reads.

It holds what the sessions of each project said, in a file beside the journal. It holds
nothing that could not be rebuilt: a broken index is removed, and an erasure removes from
it the projects of what was erased.
"""

from __future__ import annotations

import math
import sqlite3
from array import array
from collections import defaultdict
from collections.abc import (
    Callable,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from contextlib import closing, contextmanager, suppress
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from operator import attrgetter
from pathlib import Path
from threading import local
from typing import NamedTuple

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.errors import StorageError
from theorex_lab.core.files import exclusive, make_file, told
from theorex_lab.core.remembering import remembered
from theorex_lab.journal.erasing import ERASURE, ErasedPart
from theorex_lab.journal.identity import UNSEEN_DIGITS
from theorex_lab.journal.sqlite.free_space import free_space
from theorex_lab.memory.briefing.candidates import (
    ASKED,
    Candidate,
    dated,
    fits_a_line,
    line_id,
)
from theorex_lab.memory.briefing.cards import (
    CardReaders,
    cards_of,
    latest_first,
    lines_at_the_end,
    reports_of,
)
from theorex_lab.memory.briefing.design_lines import design_candidates
from theorex_lab.memory.briefing.index_file import (
    INDEX_FILE,
    INDEX_LAYOUT,
    prompt_index_at,
)
from theorex_lab.memory.briefing.marked_lines import LineMark, MarkLookup
from theorex_lab.memory.briefing.notes import note_candidates
from theorex_lab.memory.briefing.passages import (
    Passage,
    SessionProfile,
    passages_of,
    profile_of,
    quality_of,
)
from theorex_lab.memory.briefing.prompt_lines import (
    NUMBERS,
    PROJECT_BITS,
    TIMES,
    WEIGHTS_OF_TERMS,
)
from theorex_lab.memory.briefing.prompt_words import (
    words_in,
)
from theorex_lab.memory.briefing.recorded_marks import line_marks
from theorex_lab.memory.briefing.session_log import (
    MOST_KEPT_EVENTS,
    Session,
    recorded_sessions,
)
from theorex_lab.memory.claims import Claim, read_claim
from theorex_lab.memory.contract import Home
from theorex_lab.memory.distinct_things import hold_side_by_side
from theorex_lab.memory.projects import known_projects
from theorex_lab.memory.superseding import DatedStatement, superseded
from theorex_lab.text.line import folded

# The last index in memory, of each thread.
_last_index = local()
# What the last sessions said for which an index was asked, of each thread.
_last_content = local()
_LOCK = "briefing.lock"
_OLDER_FILE = "recall.db"  # what earlier releases kept in its place
_GIVEN_DAYS = 30
_LINES_OF_A_CARD = 6
# Of how many sessions and passages it is remembered what an index took of them.
_REMEMBERED_SESSIONS = 512
_REMEMBERED_PASSAGES = 1 << 14
_REMEMBERED_HEADINGS = 256
# How soon a longer passage loses in BM25. A word counts once, so there is no other
# parameter.
_LENGTH_NORMALIZATION = 0.5
_ID_CHARACTERS = 16
_LONGEST_CLAIM = 14  # words of a passage of which a newer one may take the place
# Events that change nothing of what a prompt may bring.
_UNCHANGING = ("recalled", "lease", "nightly")
# The erasures after which nothing that they reached is left in the index. The projects
# that stand in it since before one of these are as they were.
_PASSED_ERASURES = (
    "CREATE TABLE IF NOT EXISTS passed_erasures (seq INTEGER PRIMARY KEY)"
)
# Stands for a project that nothing is of: its home has what is of no project.
NO_PROJECT = "none"
_SCHEMA = f"""
CREATE TABLE projects (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    head INTEGER NOT NULL,
    top_rarity REAL NOT NULL,
    qualities BLOB NOT NULL,
    session_numbers BLOB NOT NULL,
    ends BLOB NOT NULL,
    first_passages BLOB NOT NULL
);
CREATE TABLE passages (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    text TEXT NOT NULL,
    at INTEGER NOT NULL,
    session TEXT NOT NULL,
    event TEXT NOT NULL,
    is_users INTEGER NOT NULL,
    words TEXT NOT NULL,
    parts TEXT NOT NULL
);
CREATE TABLE terms (
    project INTEGER NOT NULL,
    term TEXT NOT NULL,
    rarity REAL NOT NULL,
    holders BLOB NOT NULL,
    sessions BLOB NOT NULL
);
CREATE UNIQUE INDEX by_term ON terms (project, term);
CREATE TABLE sessions (
    project INTEGER NOT NULL,
    number INTEGER NOT NULL,
    branch TEXT NOT NULL,
    terms TEXT NOT NULL,
    rarities BLOB NOT NULL,
    PRIMARY KEY (project, number)
);
CREATE TABLE cards (
    project INTEGER NOT NULL,
    number INTEGER NOT NULL,
    place INTEGER NOT NULL,
    id TEXT NOT NULL,
    text TEXT NOT NULL,
    at INTEGER NOT NULL,
    session TEXT NOT NULL,
    event TEXT NOT NULL,
    why TEXT NOT NULL,
    words TEXT NOT NULL,
    PRIMARY KEY (project, number, place)
);
CREATE TABLE given (
    session TEXT NOT NULL,
    line TEXT NOT NULL,
    words TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (session, line)
) WITHOUT ROWID;
PRAGMA user_version = {INDEX_LAYOUT};
"""


def write_prompt_index(
    home: Home,
    projects: Sequence[str] | None = None,
) -> int:
    """Bring the index of a home up to date. A broken one is rebuilt.

    A project of which nothing was recorded since is left alone.

    Args:
        home: The home.
        projects: The projects, '' for what is of none; by default the home's own, and
            in a home of all projects each that is known.

    Returns:
        How many projects were written.

    Raises:
        StorageError: The index cannot be written.
    """
    path = home.folder / INDEX_FILE
    if projects is None:
        projects = home.projects or (*known_projects(home), "")
    # The journal is read under the lock, so that nothing from before an erasure is
    # written after it.
    with exclusive(home.views.folder / _LOCK, wait=True):
        with suppress(sqlite3.Error):
            return _write(path, home, projects)
        _remove(path)
        try:
            return _write(path, home, projects)
        except (sqlite3.Error, OSError) as error:
            raise StorageError(
                f"{path} cannot be written: {error}; make room, or make the home"
                " writable"
            ) from error


def remove_erased_projects(home: Home, erased: ErasedPart) -> list[str]:
    """Remove the projects of what was erased from the index, and wipe their bytes.

    Other projects are left as they are, but for those that an earlier erasure may have
    reached which never came to an end. The whole index is removed where something
    erased was of no project, since every project has that; where the journal does not
    tell what was erased; and where another process keeps old bytes in the log.

    Args:
        home: The home.
        erased: What was erased.

    Returns:
        The projects that the index had and has no longer.

    Raises:
        StorageError: A file cannot be removed.
    """
    path = home.folder / INDEX_FILE
    with exclusive(home.views.folder / _LOCK, wait=True):
        _remove_files(path.with_name(_OLDER_FILE))
        projects: list[str] = []
        is_wiped = False
        if path.exists():
            with suppress(sqlite3.Error), closing(_opened(path)) as index:
                projects = _reached_projects(index, home, erased)
                is_wiped = erased.is_of_projects and _wipe(index, projects, erased.seq)
        if is_wiped and free_space(str(path))[0]:
            is_wiped = _rewrite(path)
        if not is_wiped:
            with suppress(sqlite3.Error):
                projects = _projects_in(path)
            _remove(path)
    return projects


@contextmanager
def fresh_prompt_index(home: Home) -> Iterator[sqlite3.Connection]:
    """Open the index of a home, brought up to date for its project.

    A home of all projects, one of a project without an id, one that an agent reads, and
    one that cannot be written, have an index in memory.
    """
    has_file = home.project and not home.project.endswith(UNSEEN_DIGITS)
    if has_file and not home.reader:
        with suppress(StorageError):
            write_prompt_index(home, [home.project])
            with prompt_index_at(str(home.folder / INDEX_FILE)) as index:
                yield index
            return
    sessions = recorded_sessions(home, home.clock.now())
    last_seq = home.journal.last_seq()
    key = (*map(id, sessions), home.folder, home.project, home.reader, last_seq)
    yield _kept(key, sessions, home.project, partial(_recorded_content, home))


def kept_index_of(
    sessions: Sequence[Session],
    lines: Sequence[Candidate] = (),
    project: str = "",
) -> sqlite3.Connection:
    """Return an index in memory, the last one where it is of the same again.

    It may be used in this thread alone.

    Args:
        sessions: The sessions.
        lines: Further lines: of notes, and of designs.
        project: The project.
    """
    texts = [(line.text, line.events) for line in lines]
    key = (*map(id, sessions), *texts, project)
    return _kept(key, sessions, project, partial(_content_of, sessions, lines))


def _content_of(sessions: Sequence[Session], lines: Sequence[Candidate]) -> _Content:
    """Return what sessions and further lines say.

    What the last sessions of this thread said is kept. What was read of a session is
    remembered, since the next log often is the same with a session more. Of a large log
    nothing is kept.
    """
    n_steps = sum(len(session.steps) for session in sessions)
    if not sessions or n_steps > MOST_KEPT_EVENTS:
        return _Content(sessions, lines)
    session_ids = tuple(map(id, sessions))
    if getattr(_last_content, "session_ids", None) != session_ids:
        # What it holds keeps the sessions alive, as long as their ids are compared.
        _last_content.content = _Content(sessions, read=_READING_AGAIN)
        _last_content.session_ids = session_ids
    last_content: _Content = _last_content.content
    return last_content.with_lines(lines) if lines else last_content


def _kept(
    key: tuple[object, ...],
    sessions: Sequence[Session],
    project: str,
    content: Callable[[], _Content],
) -> sqlite3.Connection:
    """Return the last index of this thread where it has this key, else a new one."""
    if getattr(_last_index, "key", None) != key:
        index = sqlite3.connect(":memory:", isolation_level=None)
        _fill(index, project, content())
        _last_index.index = index
        # The sessions live as long as their ids are compared.
        _last_index.sessions = list(sessions)
        _last_index.key = key
    last_index: sqlite3.Connection = _last_index.index
    return last_index


def index_of(
    sessions: Sequence[Session],
    lines: Sequence[Candidate] = (),
    project: str = "",
) -> sqlite3.Connection:
    """Return an index in memory of the sessions of one project.

    Args:
        sessions: The sessions.
        lines: Further lines: of notes, and of designs.
        project: The project.
    """
    index = sqlite3.connect(":memory:", isolation_level=None)
    _fill(index, project, _Content(sessions, lines))
    return index


def _fill(index: sqlite3.Connection, project: str, content: _Content) -> None:
    """Make the tables of an index in memory, and put a project into them."""
    index.executescript(_SCHEMA)
    index.execute("BEGIN")
    _insert_project(index, project, 0, content)
    index.execute("COMMIT")


def _remove(path: Path) -> None:
    """Remove the index's files, and those of earlier releases."""
    _remove_files(path)
    _remove_files(path.with_name(_OLDER_FILE))


def _remove_files(path: Path) -> None:
    """Remove a database with its logs."""
    with told(f"cannot remove {path}"):
        for end in ("", "-wal", "-shm", "-journal"):
            path.with_name(path.name + end).unlink(missing_ok=True)


def _opened(path: Path) -> sqlite3.Connection:
    """Open the file of an index to write to it; what it deletes is overwritten.

    Raises:
        sqlite3.Error: It is broken or of another layout.
    """
    index = sqlite3.connect(path, isolation_level=None)
    try:
        index.execute("PRAGMA secure_delete = ON")
        if index.execute("PRAGMA user_version").fetchone()[0] != INDEX_LAYOUT:
            raise sqlite3.DatabaseError("another layout")
        index.execute(_PASSED_ERASURES)
    except sqlite3.Error:
        index.close()
        raise
    return index


def _projects_in(path: Path) -> list[str]:
    """Return the projects of the index at a path, none where there is no file."""
    if not path.exists():
        return []
    with closing(sqlite3.connect(path)) as index:
        rows = index.execute("SELECT name FROM projects ORDER BY number").fetchall()
    return [name for (name,) in rows]


def _passed_erasures(index: sqlite3.Connection) -> frozenset[int]:
    """Return the seqs of the erasures that the index has nothing of any longer."""
    return frozenset(seq for (seq,) in index.execute("SELECT * FROM passed_erasures"))


def _reached_projects(
    index: sqlite3.Connection, home: Home, erased: ErasedPart
) -> list[str]:
    """Return the projects in an index that an erasure may have reached.

    Such are also those that stand there since before another erasure, of which the
    index does not say that it has nothing of it.
    """
    heads = dict(index.execute("SELECT name, head FROM projects ORDER BY number"))
    passed = _passed_erasures(index) | {erased.seq}
    oldest = min(heads.values(), default=erased.seq)
    last_unpassed = 0
    for erasure in home.journal.tail(oldest, kinds=[ERASURE], erased=True):
        if erasure.seq not in passed:
            last_unpassed = erasure.seq
    places = home.journal.places()
    current = {places.current(project) for project in erased.projects}
    reached: list[str] = []
    for name, head in heads.items():
        if head < last_unpassed or places.current(name) in current:
            reached.append(name)
    return reached


def _wipe(index: sqlite3.Connection, projects: Iterable[str], erasure_seq: int) -> bool:
    """Delete projects, and what sessions were given, and empty the log.

    Returns:
        Whether the log could be emptied.
    """
    index.execute("BEGIN IMMEDIATE")
    for name in projects:
        query = "SELECT number FROM projects WHERE name = ?"
        _delete_rows(index, index.execute(query, (name,)).fetchone()[0])
        index.execute("DELETE FROM projects WHERE name = ?", (name,))
    # What a session was given may be a line of any project.
    index.execute("DELETE FROM given")
    index.execute("INSERT OR IGNORE INTO passed_erasures VALUES (?)", (erasure_seq,))
    index.execute("COMMIT")
    return _empty_log(index)


def _empty_log(index: sqlite3.Connection) -> bool:
    """Move the log into the file and cut it to nothing; return whether that was done."""
    is_busy = index.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    return not is_busy


def _rewrite(path: Path) -> bool:
    """Write the file of an index anew without the old bytes in its free room.

    Returns:
        Whether that was done.
    """
    with suppress(sqlite3.Error), closing(_opened(path)) as index:
        index.execute("VACUUM")
        return _empty_log(index)
    return False


def _write(
    path: Path,
    home: Home,
    projects: Iterable[str],
) -> int:
    """Write each project that changed in a transaction of its own.

    Returns:
        How many were written.
    """
    is_new = not path.exists()
    if is_new:
        make_file(str(path))
    n_written = 0
    if is_new:
        with closing(sqlite3.connect(path, isolation_level=None)) as index:
            index.executescript(f"PRAGMA journal_mode = WAL;\nBEGIN;{_SCHEMA}COMMIT;")
    with closing(_opened(path)) as index:
        for project in projects:
            n_written += _write_project(index, home, project)
        oldest = home.clock.now() - _GIVEN_DAYS * MICROSECONDS_PER_DAY
        index.execute("DELETE FROM given WHERE at < ?", (oldest,))
    return n_written


def _write_project(
    index: sqlite3.Connection,
    home: Home,
    project: str,
) -> bool:
    """Write a project, unless nothing was recorded of it since.

    Returns:
        Whether it was written.
    """
    last_seq = home.journal.last_seq()
    row = index.execute(
        "SELECT head FROM projects WHERE name = ?", (project,)
    ).fetchone()
    passed = _passed_erasures(index)
    if row is not None and not _has_changed(home, project, row[0], passed):
        index.execute(
            "UPDATE projects SET head = ? WHERE name = ? AND head < ?",
            (last_seq, project, last_seq),
        )
        return False
    content = _recorded_content(home.in_project(project or NO_PROJECT))
    index.execute("BEGIN IMMEDIATE")
    _insert_project(index, project, last_seq, content)
    index.execute("COMMIT")
    return True


def _has_changed(
    home: Home,
    project: str,
    head: int,
    passed: frozenset[int],
) -> bool:
    """Return whether something was recorded behind a seq that changes a project.

    The erasures that have passed are left out.
    """
    if head > home.journal.last_seq():
        return True
    projects = (project, "") if project else ("",)
    for event in home.journal.tail(head, projects=projects):
        if event.kind not in _UNCHANGING and event.seq not in passed:
            return True
    return False


def _recorded_content(home: Home) -> _Content:
    """Return what the sessions of the home's project and its other lines say now."""
    now = home.clock.now()
    lines = [*note_candidates(home, now), *design_candidates(home, now)]
    return _Content(recorded_sessions(home, now), lines, line_marks(home, now))


@dataclass
class _Postings:
    """Where a term is.

    Attributes:
        holders: The numbers of the passages that have it.
        sessions: The numbers of the sessions that are about it.
    """

    holders: array[int] = field(default_factory=lambda: array(NUMBERS))
    sessions: array[int] = field(default_factory=lambda: array(NUMBERS))


class _Readers(NamedTuple):
    """What reads of sessions that the index is made of.

    Attributes:
        profile: Returns what a session was about.
        passages: Returns what a session said.
        terms: Returns the terms of a text and its heading, as `_terms_of` does.
        line_id: Returns the id of a line.
        cards: What reads the card of a session.
    """

    profile: Callable[[Session], SessionProfile]
    passages: Callable[[Session], Sequence[Passage]]
    terms: Callable[[str, str], tuple[str, str]]
    line_id: Callable[[str], str]
    cards: CardReaders


def _passages_of(session: Session) -> list[Passage]:
    """Return what a session said that may be a line."""
    return list(passages_of(session))


def _terms_of(text: str, heading: str) -> tuple[str, str]:
    """Return the terms that a passage is searched by.

    Args:
        text: The passage.
        heading: The heading under which it stood, '' for none.

    Returns:
        Its own words, and its other terms: those of its heading, and the parts of
        names.
    """
    words, parts = words_in(text)
    terms = words | parts
    if heading:
        terms |= _terms_of_heading(text, heading)
    return _joined(words), _joined(terms - words)


def _terms_of_heading(text: str, heading: str) -> Set[str]:
    """Return the terms that a heading adds to those of a text above which it stands.

    A number in the heading may be named by the last word of the text.
    """
    if not any(map(str.isdigit, heading)):
        return _terms_of_plain_heading(heading)
    words, parts = words_in(text, heading)
    return words | parts


# One heading stands above many passages.
@remembered(_REMEMBERED_HEADINGS)
def _terms_of_plain_heading(heading: str) -> frozenset[str]:
    words, parts = words_in(heading)
    return frozenset(words | parts)


_READING_ONCE = _Readers(
    profile_of,
    _passages_of,
    _terms_of,
    line_id,
    CardReaders(lines_at_the_end, reports_of),
)
# Of a log that grows, sessions that came to their end are read once.
_READING_AGAIN = _Readers(
    remembered(_REMEMBERED_SESSIONS)(profile_of),
    remembered(_REMEMBERED_SESSIONS)(_passages_of),
    remembered(_REMEMBERED_PASSAGES)(_terms_of),
    remembered(_REMEMBERED_PASSAGES)(line_id),
    CardReaders(
        remembered(_REMEMBERED_SESSIONS)(lines_at_the_end),
        remembered(_REMEMBERED_SESSIONS)(reports_of),
    ),
)


class _Content:
    """What the index holds of a project.

    Attributes:
        sessions: Its sessions, the latest first.
        profiles: What each session was about.
        passages: What they said, session by session, then further lines.
        ids: The id of each passage.
        first_passages: The number of each session's first passage, and of how many
            passages there are.
        terms: By passage its own words, and its other terms.
        lengths: By passage how many terms it has.
        weights: By passage what its shared words are multiplied by, were it as long as
            others.
        postings: By term where it is.
        cards: By session the lines of its card.
    """

    def __init__(
        self,
        sessions: Sequence[Session],
        lines: Sequence[Candidate] = (),
        marks: Sequence[LineMark] = (),
        *,
        read: _Readers = _READING_ONCE,
    ) -> None:
        """Take in what sessions and further lines say.

        Args:
            sessions: The sessions.
            lines: Further lines: of notes, and of designs.
            marks: What a person says of lines and items.
            read: What reads the sessions.
        """
        self.read = read
        self._marks = MarkLookup(marks)
        if lines and not sessions:
            # Lines are searched as if the latest session had said them.
            latest = max(line.at for line in lines)
            sessions = [Session("", latest, latest, ())]
        self.sessions = latest_first(sessions)
        self.profiles = [read.profile(session) for session in self.sessions]
        self.passages: list[Passage] = []
        self.ids: list[str] = []
        self.first_passages = array(NUMBERS)
        self.terms: list[tuple[str, str]] = []
        self.lengths: list[int] = []
        self.weights: list[float] = []
        self.postings: dict[str, _Postings] = defaultdict(_Postings)
        self._add_passages()
        self._add_lines(lines)
        for number, profile in enumerate(self.profiles):
            for term in profile.index_terms():
                self.postings[term].sessions.append(number)
        self.cards = cards_of(
            self.sessions,
            ASKED,
            most_lines=_LINES_OF_A_CARD,
            readers=read.cards,
        )

    def with_lines(self, lines: Iterable[Candidate]) -> _Content:
        """Return the same with further lines, which no session said."""
        twin = copy(self)
        twin.passages = self.passages.copy()
        twin.ids = self.ids.copy()
        twin.terms = self.terms.copy()
        twin.lengths = self.lengths.copy()
        twin.weights = self.weights.copy()
        twin.postings = defaultdict(_Postings)
        for term, postings in self.postings.items():
            twin.postings[term] = _Postings(postings.holders[:], postings.sessions)
        twin._add_lines(lines)
        return twin

    def _add_lines(self, lines: Iterable[Candidate]) -> None:
        for line in lines:
            self._add_as_marked(_passage_of(line), line.id)

    def _add_passages(self) -> None:
        """Take in what the sessions said."""
        passages_by_session = [self.read.passages(row) for row in self.sessions]
        replaced = _replaced(passages_by_session)
        for passages in passages_by_session:
            self.first_passages.append(len(self.passages))
            for passage in passages:
                if id(passage) not in replaced:
                    self._add_as_marked(passage, self.read.line_id(passage.line))
        self.first_passages.append(len(self.passages))

    def _add_as_marked(self, passage: Passage, own_id: str) -> None:
        """Add a passage as a person wants it, unless it was dismissed."""
        mark = self._marks.mark_of(own_id, ASKED, passage.line)
        if mark is not None:
            if mark.is_dismissed:
                return
            own_id = mark.id
            if mark.correction:
                passage = _corrected(passage, mark)
        if fits_a_line(passage.line):
            self._add(passage, own_id)

    def _add(self, passage: Passage, own_id: str) -> None:
        number = len(self.passages)
        self.ids.append(own_id)
        own_words, other_terms = self.read.terms(passage.text, passage.heading)
        terms = [*own_words.split(), *other_terms.split()]
        self.passages.append(passage)
        self.terms.append((own_words, other_terms))
        self.lengths.append(len(terms))
        self.weights.append(math.exp(quality_of(passage)))
        for term in terms:
            self.postings[term].holders.append(number)

    def rarities(self) -> dict[str, float]:
        """Return how informative each term of passages is.

        It is BM25's inverse document frequency.
        """
        rarities: dict[str, float] = {}
        for term, postings in self.postings.items():
            if postings.holders:
                rarities[term] = _rarity(len(postings.holders), len(self.passages))
        return rarities

    def qualities(self) -> array[float]:
        """Return what each passage's shared words are multiplied by."""
        mean_length = max(1.0, sum(self.lengths) / max(1, len(self.lengths)))
        qualities = array(WEIGHTS_OF_TERMS)
        for weight, length in zip(self.weights, self.lengths, strict=True):
            relative = length / mean_length
            norm = 1 - _LENGTH_NORMALIZATION + _LENGTH_NORMALIZATION * relative
            qualities.append(weight / norm)
        return qualities

    def session_numbers(self) -> array[int]:
        """Return the number of each passage's session; a note's is the latest one."""
        numbers = array(NUMBERS, [0]) * len(self.passages)
        for session in range(len(self.sessions)):
            first = self.first_passages[session]
            for number in range(first, self.first_passages[session + 1]):
                numbers[number] = session
        return numbers


def _replaced(passages_by_session: Iterable[Sequence[Passage]]) -> set[int]:
    """Return the ids of passages that a newer one replaces.

    Compared are those in the same words, and short ones that claim something of the
    same attribute of one subject.
    """
    same_texts: dict[str, list[Passage]] = defaultdict(list)
    claims: dict[Hashable, list[Passage]] = defaultdict(list)
    for passage in chain.from_iterable(passages_by_session):
        same_texts[passage.text].append(passage)
        claim = _short_claim(passage.text)
        if claim is not None:
            claims[claim.subject, claim.attribute].append(passage)
    replaced: set[int] = set()
    for text, group in same_texts.items():
        # A text stands beside itself where it tells of different things.
        if len(group) > 1 and not hold_side_by_side(text, text):
            replaced.update(map(id, group))
            replaced.remove(id(_newest(group)))
    for group in claims.values():
        if len(group) > 1:
            replaced.update(_replaced_of(group))
    return replaced


def _newest(passages: Sequence[Passage]) -> Passage:
    """Return the newest of some passages: of the same time the last one."""
    return max(reversed(passages), key=attrgetter("at"))


def _replaced_of(passages: Sequence[Passage]) -> Iterator[int]:
    """Yield the ids of those passages that a newer one of them replaces."""
    statements = [DatedStatement(passage.text, passage.at) for passage in passages]
    for passage, newer in zip(passages, superseded(statements), strict=True):
        if newer is not None:
            yield id(passage)


def _short_claim(text: str) -> Claim | None:
    """Return what a short text claims; a longer one says more than that."""
    if len(text.split()) > _LONGEST_CLAIM:
        return None
    return read_claim(text, "")


def _passage_of(line: Candidate) -> Passage:
    """Return a line of a note or of a design as a passage."""
    return Passage(
        text=line.text,
        heading="",
        line=line.text,
        at=line.at,
        session=line.session,
        event=line.events[0] if line.events else "",
        features={"note": 1.0},
        is_users=False,
    )


def _corrected(passage: Passage, mark: LineMark) -> Passage:
    """Return a passage in the words by which a person corrected it."""
    text = folded(mark.correction)
    return replace(
        passage,
        text=text,
        line=dated(text, mark.corrected_at),
        at=mark.corrected_at,
        event=mark.event,
    )


def _rarity(n_holders: int, n_passages: int) -> float:
    """Return how informative a term is that so many of the passages have."""
    return math.log(1 + (n_passages - n_holders + 0.5) / (n_holders + 0.5))


def _insert_project(
    index: sqlite3.Connection,
    name: str,
    head: int,
    content: _Content,
) -> None:
    """Put a project in the place of what the index has of it."""
    index.execute(
        "INSERT OR IGNORE INTO projects VALUES (NULL, ?, 0, 0, '', '', '', '')",
        (name,),
    )
    query = "SELECT number FROM projects WHERE name = ?"
    project: int = index.execute(query, (name,)).fetchone()[0]
    first = project << PROJECT_BITS
    _delete_rows(index, project)
    ends = array(TIMES, [session.end for session in content.sessions])
    index.execute(
        "UPDATE projects SET head = ?, top_rarity = ?, qualities = ?,"
        " session_numbers = ?, ends = ?, first_passages = ? WHERE number = ?",
        (
            head,
            _rarity(1, max(1, len(content.passages))),
            content.qualities().tobytes(),
            content.session_numbers().tobytes(),
            ends.tobytes(),
            content.first_passages.tobytes(),
            project,
        ),
    )
    index.executemany(
        "INSERT INTO passages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        _passage_rows(content, first),
    )
    rarities = content.rarities()
    index.executemany(
        "INSERT INTO terms VALUES (?, ?, ?, ?, ?)",
        _term_rows(content, project, rarities),
    )
    index.executemany(
        "INSERT INTO sessions VALUES (?, ?, ?, ?, ?)",
        _session_rows(content, project, rarities),
    )
    index.executemany(
        "INSERT INTO cards VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        _card_rows(content, project),
    )


def _delete_rows(index: sqlite3.Connection, project: int) -> None:
    """Delete what the index has of a project, but for its row in `projects`."""
    first = project << PROJECT_BITS
    index.execute(
        "DELETE FROM passages WHERE number >= ? AND number < ?",
        (first, first + (1 << PROJECT_BITS)),
    )
    for table in ("terms", "sessions", "cards"):
        index.execute(f"DELETE FROM {table} WHERE project = ?", (project,))


def _passage_rows(content: _Content, first: int) -> Iterator[tuple[object, ...]]:
    for number, passage in enumerate(content.passages):
        yield (
            first + number,
            content.ids[number],
            passage.line,
            passage.at,
            passage.session,
            passage.event,
            passage.is_users,
            *content.terms[number],
        )


def _term_rows(
    content: _Content, project: int, rarities: Mapping[str, float]
) -> Iterator[tuple[object, ...]]:
    for term in sorted(content.postings):
        postings = content.postings[term]
        yield (
            project,
            term,
            rarities.get(term, 0.0),
            postings.holders.tobytes(),
            postings.sessions.tobytes(),
        )


def _session_rows(
    content: _Content, project: int, rarities: Mapping[str, float]
) -> Iterator[tuple[object, ...]]:
    for number, profile in enumerate(content.profiles):
        terms = sorted(term for term in profile.terms if term in rarities)
        values = array(WEIGHTS_OF_TERMS, [rarities[term] for term in terms])
        yield (project, number, profile.branch, " ".join(terms), values.tobytes())


def _card_rows(content: _Content, project: int) -> Iterator[tuple[object, ...]]:
    for number, card in enumerate(content.cards):
        for rank, line in enumerate(card):
            words, _ = content.read.terms(line.text, "")
            yield (
                project,
                number,
                rank,
                content.read.line_id(line.text),
                line.text,
                line.at,
                line.session,
                line.events[0],
                line.why,
                words,
            )


def _joined(words: Iterable[str]) -> str:
    return " ".join(sorted(words))
