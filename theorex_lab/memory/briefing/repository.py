"""Say what the history of a git repository tells an agent who knows no session of it.

It tells which files change together, what comes with a new file of a folder, where the
latest work was, and which folders were moved. No name or message of a person is told:
they are the texts of anybody. What an agent sees by itself, such as the list of files,
is not told either.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from theorex_lab.core.clock import MICROSECONDS_PER_DAY, to_iso
from theorex_lab.memory.briefing.candidates import (
    PLACES,
    WORK,
    Candidate,
    fits_a_line,
    short_date,
)
from theorex_lab.memory.briefing.places import are_file_and_test, is_test_file
from theorex_lab.memory.briefing.repository_history import (
    FolderMove,
    RepositoryHistory,
    Touch,
    area_of,
    areas_in,
    folder_of,
    read_history,
)
from theorex_lab.text.paths import kept_path, quoted_path

_MOST_PLACES = 8
_MOST_NAMES = 3  # in a line, beside its subject
_LONGEST_NAME = 100  # characters of a path that a line names

# A file is a place from so many commits on; with a partner that changes in this share of
# them, and this much more often than in all commits.
_FEWEST_COMMITS = 6
_FEWEST_SHARED = 5
_LEAST_TOGETHER = 0.3
_LEAST_LIFT = 1.5
# And which does so in this share of its own commits: what changes in all of them, such as
# a list of changes, is nobody's partner.
_LEAST_OF_PARTNER = 0.15
_MOST_HUBS = 5
_MOST_PARTNERS = 2
_HALF_LIFE_DAYS = 180.0  # of how much a commit counts, before the newest one

# A folder to which so many commits added files has a usual way of adding one, where
# another file changes in most of them.
_FEWEST_ADDITIONS = 4
_LEAST_WITH_ADDITION = 0.75
_LEAST_LIFT_OF_ADDITION = 2.0
_MOST_RECIPES = 3

# What changes with an area in this share of its commits.
_FEWEST_OF_AREA_TOGETHER = 15
_LEAST_WITH_AREA = 0.4
_MOST_AREAS_TOGETHER = 2

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
# Files that change with whatever changes, and whose company says nothing.
_CHANGES_WITH_ALL = re.compile(
    r"""
    package\.json | pyproject\.toml | setup\.(?:py|cfg) | Cargo\.toml | go\.mod
    | composer\.json | Gemfile | pom\.xml | build\.gradle(?:\.kts)?
    | (?:readme|changelog|changes|history|news|releases?)(?:\.\w+)?
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Folders that change because others do.
_FOLLOWS_OTHERS = re.compile(r"(?i)_*(?:tests?|specs?|e2e|docs?|notebooks?)_*")
_Partner = tuple[str, int]  # a path, and the commits in which it changed too

# Files that a program writes: that they change says nothing.
_WRITTEN_BY_PROGRAMS = frozenset(
    "package-lock.json pnpm-lock.yaml yarn.lock bun.lock bun.lockb uv.lock poetry.lock"
    " Pipfile.lock Cargo.lock go.sum Gemfile.lock composer.lock flake.lock"
    " npm-shrinkwrap.json lake-manifest.json mix.lock pubspec.lock Podfile.lock"
    " Manifest.toml packages.lock.json gradle.lockfile".split()
)


def repository_candidates(folder: str | Path, now: int) -> list[Candidate]:
    """Return what the history of the repository around a folder tells, as lines.

    Args:
        folder: A folder in the repository, of any depth.
        now: The time of the briefing (µs UTC); later commits are left out.

    Returns:
        Lines of the sections "Recent work" and "Where things are"; none where the
        repository has too few commits to tell anything.

    Raises:
        NoRepository: The folder lies in no repository.
        NoCommit: The repository has no commit.
        ProgramTimeout: Git takes too long to be waited for.
        InvalidInput: Git is not installed, or cannot read the repository.
    """
    history = read_history(folder, now)
    if not history.telling:
        return []
    writer = _Writer(history, now)
    return [*writer.recent_work(), *writer.places()]


class _Writer:
    """Writes the lines of one repository.

    Args:
        history: What its newest commits changed.
        now: The time of the briefing (µs UTC).
    """

    def __init__(self, history: RepositoryHistory, now: int) -> None:
        self._history = history
        self._now = now
        self._telling = [_without_lock_files(touch) for touch in history.telling]
        self._newest_at = self._telling[0].at
        self._areas = areas_in(history)
        self._counts: Counter[str] = Counter()  # commits of each file
        for touch in self._telling:
            self._counts.update(touch.changed)
        n_commits = len(history.touches)
        which = "all" if history.is_whole else "the newest"
        self._source = f"read from {which} {n_commits} commits of the git repository"

    # ------------------------------------------------------------- recent work

    def recent_work(self) -> Iterator[Candidate]:
        """Yield where the latest work was, and what was moved."""
        days, touches = self._recent_touches()
        yield from self._summary(days, touches)
        yield from self._recent_areas(days, touches)
        yield from self._moves()

    def _recent_touches(self) -> tuple[int, list[Touch]]:
        """Return the days that the latest work is of, and its commits."""
        recent: list[Touch] = []
        for days in _RECENT_DAYS:
            since = self._newest_at - days * MICROSECONDS_PER_DAY
            recent = [touch for touch in self._telling if touch.at > since]
            if len(recent) >= _FEWEST_RECENT:
                break
        return days, recent

    def _summary(self, days: int, touches: Sequence[Touch]) -> Iterator[Candidate]:
        """Yield the line that tells where most of the latest work was."""
        counts: Counter[str] = Counter()
        for touch in touches:
            counts.update(self._areas_of(touch))
        most = _most_common(counts, _MOST_NAMES, fewest=_LEAST_IN_AREA)
        if len(touches) < _FEWEST_OF_AREA or not most:
            return
        name, number = most[0]
        names = [f"{_shown_folder(name)} changed in {number}"]
        names += [f"{_shown_folder(name)} in {number}" for name, number in most[1:]]
        text = (
            f"{len(touches):,} commits in the {days} days up to"
            f" {self._day(self._newest_at)}: {_listed(names)}."
        )
        yield from self._line("recent", text, self._newest_at, names)

    def _recent_areas(self, days: int, touches: Sequence[Touch]) -> Iterator[Candidate]:
        """Yield for each area of the latest work its files that changed most."""
        counts: Counter[str] = Counter()
        for touch in touches:
            counts.update(self._areas_of(touch))
        for area, n_commits in _most_common(counts, _MOST_RECENT_AREAS):
            files: Counter[str] = Counter()
            for touch in touches:
                inside = [
                    path for path in touch.changed if area_of(path, self._areas) == area
                ]
                files.update(inside)
            most = _most_common(files, _MOST_NAMES, fewest=_LEAST_IN_AREA)
            if n_commits < _FEWEST_OF_AREA or not most:
                continue
            names = [f"{_inside(path, area)} ({number})" for path, number in most]
            text = (
                f"{_shown_folder(area)}: {n_commits} commits in the {days} days up to"
                f" {self._day(self._newest_at)}, most in {_listed(names)}."
            )
            yield from self._line(
                "recent area",
                text,
                self._newest_at,
                names,
                strength=n_commits / len(touches),
            )

    def _areas_of(self, touch: Touch) -> set[str]:
        """Return the areas that a commit changed."""
        areas = {area_of(path, self._areas) for path in touch.changed}
        return areas - {""}

    def _moves(self) -> Iterator[Candidate]:
        """Yield the folders that are elsewhere now, those of most files first."""
        oldest = self._now - _MOVE_DAYS * MICROSECONDS_PER_DAY
        recent = [move for move in self._history.moves if move.at >= oldest]
        n_moved: Counter[str] = Counter()
        for move in recent:
            n_moved[move.old] += move.n_files
        moves: list[FolderMove] = []
        for move in recent:
            is_most = move.n_files >= _LEAST_OF_MOVED * n_moved[move.old]
            is_large = move.n_files >= _FEWEST_MOVED
            if is_large and is_most and self._is_done(move):
                moves.append(move)
        moves.sort(key=lambda move: (-move.n_files, move.old))
        for move in moves[:_MOST_MOVES]:
            text = (
                f"{_shown_folder(move.old)} is {_shown_folder(move.new)} since"
                f" {self._day(move.at)}: {move.n_files} files were moved."
            )
            yield from self._line("moved", text, move.at, [move.old, move.new])

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
            *self._companions_of_areas(),
            *self._quiet_areas(),
        ]
        candidates.sort(key=lambda candidate: -candidate.weight)
        return candidates[:_MOST_PLACES]

    def _recipes(self) -> Iterator[Candidate]:
        """Yield what usually changes where a file is added to a folder."""
        additions: dict[str, list[Touch]] = {}
        for touch in self._telling:
            for folder in {folder_of(path) for path in touch.added}:
                additions.setdefault(folder, []).append(touch)
        recipes: list[tuple[str, list[_Partner]]] = []
        for folder, touches in additions.items():
            partners = self._partners_of_addition(touches)
            if folder and partners and len(touches) >= _FEWEST_ADDITIONS:
                recipes.append((folder, partners))
        recipes.sort(key=lambda recipe: (-self._worth(additions[recipe[0]]), recipe[0]))
        told: set[tuple[_Partner, ...]] = set()
        for folder, partners in recipes:
            if tuple(partners) in told or len(told) == _MOST_RECIPES:
                continue
            told.add(tuple(partners))
            yield from self._recipe(folder, partners, additions[folder])

    def _recipe(
        self, folder: str, partners: Sequence[_Partner], touches: Sequence[Touch]
    ) -> Iterator[Candidate]:
        """Yield the line of what changes where a file is added to a folder."""
        names = [f"{_shown(path)} in {number}" for path, number in partners]
        text = (
            f"A new file in {_shown_folder(folder)} comes with a change of"
            f" {_listed(names)} of {len(touches)} commits, last on"
            f" {self._day(touches[0].at)}."
        )
        paths = [path for path, _ in partners]
        share = partners[0][1] / len(touches)
        yield from self._line(
            "new file",
            text,
            touches[0].at,
            [folder, *paths],
            strength=share,
        )

    def _partners_of_addition(self, touches: Sequence[Touch]) -> list[_Partner]:
        """Return the files that change in most of the commits that add files."""
        counts: Counter[str] = Counter()
        for touch in touches:
            counts.update(touch.changed - touch.added)
        partners: list[_Partner] = []
        for path, number in _most_common(counts, len(counts)):
            share = number / len(touches)
            usual_share = self._counts[path] / len(self._telling)
            least = max(_LEAST_WITH_ADDITION, _LEAST_LIFT_OF_ADDITION * usual_share)
            is_usual = share >= least and number >= _FEWEST_ADDITIONS
            if is_usual and not _changes_with_all(path):
                partners.append((path, number))
        return partners[:_MOST_NAMES]

    def _hubs(self) -> Iterator[Candidate]:
        """Yield the files that work returns to and that change with others."""
        touches_of: dict[str, list[Touch]] = {}
        for touch in self._telling:
            for path in touch.changed:
                touches_of.setdefault(path, []).append(touch)
        worth = {path: self._worth(touches) for path, touches in touches_of.items()}
        best_first = sorted(worth, key=lambda path: (-worth[path], path))
        named: set[str] = set()
        n_hubs = 0
        for path in best_first:
            touches = touches_of[path]
            if is_test_file(path) or len(touches) < _FEWEST_COMMITS:
                continue
            partners = self._partners(path, touches)
            is_new = path not in named or any(name not in named for name, _ in partners)
            if not partners or not is_new:
                continue
            named.update((path, *(name for name, _ in partners)))
            yield from self._hub(path, partners, touches)
            n_hubs += 1
            if n_hubs == _MOST_HUBS:
                return

    def _hub(
        self, path: str, partners: Sequence[_Partner], touches: Sequence[Touch]
    ) -> Iterator[Candidate]:
        """Yield the line of a file with the files that change with it."""
        folder = folder_of(path)
        names = [
            f"in {number} with {_beside(name, folder)}" for name, number in partners
        ]
        text = (
            f"{_shown(path)} changed in {len(touches)} commits, {_listed(names)}, last"
            f" on {self._day(touches[0].at)}."
        )
        paths = [name for name, _ in partners]
        yield from self._line(
            "together",
            text,
            touches[0].at,
            [path, *paths],
            strength=partners[0][1] / len(touches),
        )

    def _partners(self, path: str, touches: Sequence[Touch]) -> list[_Partner]:
        """Return the files that change in most commits of a file."""
        counts: Counter[str] = Counter()
        for touch in touches:
            counts.update(touch.changed)
        partners: list[_Partner] = []
        for other, number in _most_common(counts, len(counts)):
            if other == path or are_file_and_test(path, other):
                continue
            if _changes_with_all(other):
                continue
            share = number / len(touches)
            usual_share = self._counts[other] / len(self._telling)
            is_more = share >= max(_LEAST_TOGETHER, _LEAST_LIFT * usual_share)
            is_mutual = number >= _LEAST_OF_PARTNER * self._counts[other]
            if is_more and is_mutual and number >= _FEWEST_SHARED:
                partners.append((other, number))
        return partners[:_MOST_PARTNERS]

    def _companions_of_areas(self) -> Iterator[Candidate]:
        """Yield which areas change together, those that nearly always do first."""
        touches_of: dict[str, list[Touch]] = {area: [] for area in self._areas}
        for touch in self._telling:
            for area in self._areas_of(touch):
                touches_of[area].append(touch)
        shares: dict[str, float] = {}
        companions_of: dict[str, list[_Partner]] = {}
        for area, touches in touches_of.items():
            companions = self._companions(area, touches)
            if _follows_others(area):
                continue
            if len(touches) >= _FEWEST_OF_AREA_TOGETHER and companions:
                companions_of[area] = companions
                shares[area] = companions[0][1] / len(touches)
        named: set[str] = set()
        n_told = 0
        for area in sorted(shares, key=lambda area: (-shares[area], area)):
            companions = companions_of[area]
            if area in named or n_told == _MOST_AREAS_TOGETHER:
                continue
            named.update((area, *(name for name, _ in companions)))
            n_told += 1
            yield from self._companion(area, companions, touches_of[area])

    def _companion(
        self, area: str, companions: Sequence[_Partner], touches: Sequence[Touch]
    ) -> Iterator[Candidate]:
        """Yield the line of an area with the areas that change with it."""
        names = [f"{_shown_folder(name)} in {number}" for name, number in companions]
        text = (
            f"{_shown_folder(area)} changes together with {_listed(names)} of its"
            f" {len(touches)} commits, last on {self._day(touches[0].at)}."
        )
        folders = [name for name, _ in companions]
        yield from self._line(
            "areas together",
            text,
            touches[0].at,
            [area, *folders],
            strength=companions[0][1] / len(touches),
        )

    def _companions(self, area: str, touches: Sequence[Touch]) -> list[_Partner]:
        """Return the areas that change in many commits of an area."""
        counts: Counter[str] = Counter()
        for touch in touches:
            counts.update(self._areas_of(touch) - {area})
        companions: list[_Partner] = []
        for other, number in _most_common(counts, _MOST_PARTNERS):
            if number >= _LEAST_WITH_AREA * len(touches):
                companions.append((other, number))
        return companions

    def _quiet_areas(self) -> Iterator[Candidate]:
        """Yield the folders with many files that nobody changed for a year."""
        if not self._history.is_whole:
            return
        last_at: dict[str, int] = {}
        for touch in self._history.touches:
            for path in touch.changed:
                top = path.partition("/")[0]
                last_at[top] = max(last_at.get(top, 0), touch.at)
        n_files = Counter(path.partition("/")[0] for path in self._history.files)
        oldest = self._newest_at - _QUIET_DAYS * MICROSECONDS_PER_DAY
        for folder, number in _most_common(n_files, _MOST_QUIET):
            at = last_at.get(folder)
            is_large = number >= _FEWEST_OF_QUIET
            if at is not None and at < oldest and is_large:
                text = (
                    f"{_shown_folder(folder)} ({number} files) has not changed since"
                    f" {self._day(at)}."
                )
                yield from self._line("quiet", text, at, [folder])

    # ------------------------------------------------------------------- lines

    def _worth(self, touches: Iterable[Touch]) -> float:
        """Return the number of commits, the older ones counting less."""
        worth = 0.0
        for touch in touches:
            days = (self._newest_at - touch.at) / MICROSECONDS_PER_DAY
            worth += 0.5 ** (days / _HALF_LIFE_DAYS)
        return worth

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


def _without_lock_files(touch: Touch) -> Touch:
    """Return a commit without the files that programs write."""
    changed = frozenset(filter(_is_written_by_people, touch.changed))
    return Touch(touch.at, changed, touch.added & changed)


def _is_written_by_people(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name not in _WRITTEN_BY_PROGRAMS and len(path) <= _LONGEST_NAME


def _most_common(
    counts: Counter[str], most: int, *, fewest: int = 1
) -> list[tuple[str, int]]:
    """Return the names of the highest numbers, alike ones by their names.

    Args:
        counts: The number of each name.
        most: How many names are returned.
        fewest: The least number of one that is.
    """
    items = [item for item in counts.items() if item[1] >= fewest]
    items.sort(key=lambda item: (-item[1], item[0]))
    return items[:most]


def _changes_with_all(path: str) -> bool:
    """Return whether a file changes with whatever changes."""
    return _CHANGES_WITH_ALL.fullmatch(posixpath.basename(path)) is not None


def _follows_others(area: str) -> bool:
    """Return whether an area is of tests or of texts, which follow what others do.

    >>> _follows_others("tests/app"), _follows_others("src/latest")
    (True, False)
    """
    return any(_FOLLOWS_OTHERS.fullmatch(part) for part in area.split("/"))


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
    """Return a path as it is told beside a file of a folder.

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
