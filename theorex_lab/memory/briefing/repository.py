"""Write the briefing of a project without recorded sessions, from its git history.

It says which files change together, what comes with a new file of a folder, where the
latest work was, and which folders were moved. It holds no name and no message of a
person, since anybody may have written them, and nothing that an agent sees by itself,
such as the list of files.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from theorex_lab.core.clock import MICROSECONDS_PER_DAY, to_iso
from theorex_lab.memory.briefing.candidates import (
    PLACES,
    WORK,
    Candidate,
    fits_a_line,
    short_date,
)
from theorex_lab.memory.briefing.repository_company import (
    Company,
    RepositoryWork,
    most_common,
)
from theorex_lab.memory.briefing.repository_history import (
    FolderMove,
    RepositoryHistory,
    Touch,
    area_of,
    folder_of,
    read_history,
)
from theorex_lab.text.paths import kept_path, quoted_path

_MOST_PLACES = 8
_MOST_NAMES = 3  # in a line, beside its subject

# A folder of the root with so many files that did not change for so long is told of.
_QUIET_DAYS = 365
_FEWEST_OF_QUIET = 5
_MOST_QUIET = 12  # folders that are looked at

# The latest work is that of the last week before the newest commit, or of more days where
# that was few commits.
_RECENT_DAYS = (7, 30, 90, 365)
_FEWEST_RECENT = 8
_FEWEST_OF_AREA = 4
_MOST_RECENT_AREAS = 3
_LEAST_IN_AREA = 2
_MOST_MOVES = 2
_FEWEST_MOVED = 3  # files of a folder that was moved
_LEAST_OF_MOVED = 0.6  # of those that left a folder, those that are told of
_MOVE_DAYS = 365  # for which a move is worth telling
_YEAR_DAYS = 270  # from which on a date is told with its year

# What a line of each kind weighs where it is so in all commits.
_WEIGHTS = {
    "recent": 0.4,
    "recent area": 0.24,
    "moved": 0.28,
    "new file": 0.5,
    "together": 0.4,
    "areas together": 0.4,
    "quiet": 0.15,
}
_KINDS_OF_WORK = frozenset(("recent", "recent area", "moved"))


def repository_candidates(
    folder: str | Path, now: int, *, in_haste: bool = True
) -> list[Candidate]:
    """Return what the history of the repository around a folder tells, as lines.

    Args:
        folder: A folder in the repository, of any depth.
        now: The time of the briefing (µs UTC); later commits are left out.
        in_haste: As `read_history` takes it.

    Returns:
        Lines of the sections "Recent work" and "Where things are"; none where the
        repository has too few commits to tell anything.

    Raises:
        NoRepository: The folder lies in no repository.
        NoCommit: The repository has no commit.
        ProgramTimeout: Git takes too long to be waited for.
        InvalidInput: Git is not installed, or cannot read the repository.
    """
    history = read_history(folder, now, in_haste=in_haste)
    if not history.telling:
        return []
    writer = _Writer(history, now)
    return [*writer.recent_work(), *writer.places()]


class _Period(NamedTuple):
    """The time of the latest work.

    Attributes:
        touches: Its commits, newest first.
        when: How it is called; '' where it has more commits than were read.
    """

    touches: Sequence[Touch]
    when: str


class _Writer:
    """Writes the lines of one repository.

    Args:
        history: What its newest commits changed.
        now: The time of the briefing (µs UTC).
    """

    def __init__(self, history: RepositoryHistory, now: int) -> None:
        self._history = history
        self._now = now
        self._work = RepositoryWork(history)
        self._newest_at = self._work.newest_at
        n_commits = len(history.touches)
        which = "all" if history.is_whole else "the newest"
        self._source = f"read from {which} {n_commits} commits of the git repository"

    # ------------------------------------------------------------- recent work

    def recent_work(self) -> Iterator[Candidate]:
        """Yield where the latest work was, and what was moved."""
        period = self._recent_period()
        yield from self._summary(period)
        yield from self._recent_areas(period)
        yield from self._moves()

    def _recent_period(self) -> _Period:
        """Return the period of the latest work."""
        touches = self._work.touches
        oldest_at = touches[-1].at
        for days in _RECENT_DAYS:
            since = self._newest_at - days * MICROSECONDS_PER_DAY
            recent = [touch for touch in touches if touch.at > since]
            if since < oldest_at and not self._history.is_whole:
                return _Period(touches, "")
            if len(recent) >= _FEWEST_RECENT:
                break
        day = self._day(self._newest_at)
        return _Period(recent, f"in the {days} days up to {day}")

    def _summary(self, period: _Period) -> Iterator[Candidate]:
        """Yield the line that tells where most of the latest work was."""
        n_commits = len(period.touches)
        counts = self._counts_of_areas(period.touches)
        most = most_common(
            counts,
            _MOST_NAMES,
            fewest=_LEAST_IN_AREA,
        )
        if n_commits < _FEWEST_OF_AREA or not most:
            return
        name, number = most[0]
        names = [f"{_shown_folder(name)} changed in {number}"]
        names += [f"{_shown_folder(name)} in {number}" for name, number in most[1:]]
        subject = f"{n_commits:,} commits {period.when}"
        if not period.when:
            day = self._day(self._newest_at)
            subject = f"The newest {n_commits:,} commits, up to {day}"
        text = f"{subject}: {_listed(names)}."
        yield from self._line("recent", text, self._newest_at, names)

    def _recent_areas(self, period: _Period) -> Iterator[Candidate]:
        """Yield for each area of the latest work its files that changed most."""
        counts = self._counts_of_areas(period.touches)
        most = most_common(counts, _MOST_RECENT_AREAS, fewest=_FEWEST_OF_AREA)
        n_all = len(period.touches)
        when = f"commits {period.when}"
        if not period.when:
            day = self._day(self._newest_at)
            when = f"of the newest {n_all:,} commits, up to {day}"
        for area, n_commits in most:
            files = self._most_changed_files(area, period.touches)
            if not files:
                continue
            names = [f"{_inside(path, area)} ({count})" for path, count in files]
            text = f"{_shown_folder(area)}: {n_commits:,} {when}, most in {_listed(names)}."
            yield from self._line(
                "recent area",
                text,
                self._newest_at,
                names,
                strength=n_commits / n_all,
            )

    def _most_changed_files(
        self, area: str, touches: Iterable[Touch]
    ) -> list[tuple[str, int]]:
        """Return the files of an area that most of these commits changed."""
        counts: Counter[str] = Counter()
        for touch in touches:
            for path in touch.changed:
                if area_of(path, self._work.areas) == area:
                    counts[path] += 1
        return most_common(
            counts,
            _MOST_NAMES,
            fewest=_LEAST_IN_AREA,
        )

    def _counts_of_areas(self, touches: Iterable[Touch]) -> Counter[str]:
        """Return how many of these commits changed each area."""
        counts: Counter[str] = Counter()
        for touch in touches:
            counts.update(self._work.areas_of(touch))
        return counts

    def _moves(self) -> Iterator[Candidate]:
        """Yield the folders that are elsewhere now, those of most files first."""
        oldest = self._now - _MOVE_DAYS * MICROSECONDS_PER_DAY
        recent = [move for move in self._history.moves if move.at >= oldest]
        n_moved: Counter[str] = Counter()
        for move in recent:
            n_moved[move.old] += move.n_files
        moves: list[FolderMove] = []
        for move in recent:
            least = _LEAST_OF_MOVED * n_moved[move.old]
            if move.n_files >= max(_FEWEST_MOVED, least) and self._is_done(move):
                moves.append(move)
        moves.sort(key=lambda move: (-move.n_files, move.old))
        for move in moves[:_MOST_MOVES]:
            text = (
                f"{_shown_folder(move.old)} is {_shown_folder(move.new)} since"
                f" {self._day(move.at)}: {move.n_files} files were moved."
            )
            names = [move.old, move.new]
            yield from self._line(
                "moved",
                text,
                move.at,
                names,
            )

    def _is_done(self, move: FolderMove) -> bool:
        """Return whether the old folder of a move is gone, and the new one is there."""
        has_old = any(_is_within(path, move.old) for path in self._history.files)
        has_new = any(_is_within(path, move.new) for path in self._history.files)
        return has_new and not has_old

    # ------------------------------------------------------------------ places

    def places(self) -> list[Candidate]:
        """Return at most eight places, the most useful first."""
        candidates = [
            *self._recipes(),
            *self._hubs(),
            *self._areas_together(),
            *self._quiet_areas(),
        ]
        candidates.sort(key=lambda candidate: -candidate.weight)
        return candidates[:_MOST_PLACES]

    def _recipes(self) -> Iterator[Candidate]:
        """Yield what usually changes where a file is added to a folder."""
        for company in self._work.company_of_new_files():
            names = [f"{_shown(path)} in {count}" for path, count in company.partners]
            text = (
                f"A new file in {_shown_folder(company.subject)} comes with a change of"
                f" {_listed(names)} of {len(company.touches)} commits, last on"
                f" {self._day(company.last_at)}."
            )
            yield from self._company("new file", text, company)

    def _hubs(self) -> Iterator[Candidate]:
        """Yield the files that work returns to and that change with others."""
        for company in self._work.company_of_files():
            path = company.subject
            names: list[str] = []
            for partner, count in company.partners:
                names.append(f"in {count} with {_beside(partner, folder_of(path))}")
            text = (
                f"{_shown(path)} changed in {len(company.touches)} commits,"
                f" {_listed(names)}, last on {self._day(company.last_at)}."
            )
            yield from self._company("together", text, company)

    def _areas_together(self) -> Iterator[Candidate]:
        """Yield which areas change together, those that nearly always do first."""
        for company in self._work.company_of_areas():
            names: list[str] = []
            for area, count in company.partners:
                names.append(f"{_shown_folder(area)} in {count}")
            text = (
                f"{_shown_folder(company.subject)} changes together with"
                f" {_listed(names)} of its {len(company.touches)} commits, last on"
                f" {self._day(company.last_at)}."
            )
            yield from self._company("areas together", text, company)

    def _quiet_areas(self) -> Iterator[Candidate]:
        """Yield the folders with many files that nobody changed for a year."""
        if not self._history.is_whole:
            return
        last_at: dict[str, int] = {}
        for touch in self._history.touches:
            for path in touch.changed:
                folder = _top_folder(path)
                last_at[folder] = max(touch.at, last_at.get(folder, 0))
        n_files = Counter(map(_top_folder, self._history.files))
        most = most_common(n_files, _MOST_QUIET, fewest=_FEWEST_OF_QUIET)
        oldest = self._newest_at - _QUIET_DAYS * MICROSECONDS_PER_DAY
        for folder, count in most:
            at = last_at.get(folder, oldest)
            if at >= oldest or not folder:
                continue
            text = (
                f"{_shown_folder(folder)} ({count} files) has not changed since"
                f" {self._day(at)}."
            )
            yield from self._line(
                "quiet",
                text,
                at,
                [folder],
            )

    # ------------------------------------------------------------------- lines

    def _company(
        self,
        kind: str,
        text: str,
        company: Company,
    ) -> Iterator[Candidate]:
        """Yield the line of what changes together."""
        partners = [name for name, _ in company.partners]
        yield from self._line(
            kind,
            text,
            company.last_at,
            [company.subject, *partners],
            strength=company.strength,
        )

    def _day(self, at: int) -> str:
        """Return a day, with its year where it is long ago."""
        day = short_date(at)
        if self._now - at < _YEAR_DAYS * MICROSECONDS_PER_DAY:
            return day
        return f"{day} {to_iso(at)[:4]}"

    def _line(
        self,
        kind: str,
        text: str,
        at: int,
        names: Iterable[str],
        *,
        strength: float = 1.0,
    ) -> Iterator[Candidate]:
        """Yield a line; nothing where it is too long.

        Args:
            kind: What it is, one of those that have a weight.
            text: The line.
            at: When what it tells was last so (µs UTC).
            names: The paths that it is about.
            strength: In which share of the commits it is so.
        """
        if not fits_a_line(text):
            return
        section = WORK if kind in _KINDS_OF_WORK else PLACES
        yield Candidate(
            section=section,
            kind=kind,
            text=text,
            weight=_WEIGHTS[kind] * (0.4 + 0.6 * strength),
            at=at,
            session="",
            words=frozenset((kind, *names)),
            events=(),
            why=self._source,
        )


def _top_folder(path: str) -> str:
    """Return the folder of the root that a path lies in; '' for the root itself."""
    folder, separator, _ = path.partition("/")
    return folder if separator else ""


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _listed(names: Sequence[str]) -> str:
    """Return names as a list in words.

    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _shown(path: str) -> str:
    """Return a path as one token: in backquotes, or quoted where it has odd signs."""
    token = quoted_path(kept_path(path))
    return token if token.startswith('"') else f"`{token}`"


def _shown_folder(folder: str) -> str:
    return _shown(f"{folder}/")


def _beside(path: str, folder: str) -> str:
    """Return a path as it is written next to a file of a folder.

    >>> _beside("app/tax.py", "app"), _beside("app/till/a.py", "app")
    ('`tax.py`', '`app/till/a.py`')
    >>> _beside("main.py", "app")
    '`./main.py`'
    """
    own_folder, name = posixpath.split(path)
    if own_folder == folder:
        return _shown(name)
    return _shown(path if own_folder else f"./{name}")


def _inside(path: str, area: str) -> str:
    """Return a path of an area, from there on."""
    return _shown(path.removeprefix(f"{area}/"))
