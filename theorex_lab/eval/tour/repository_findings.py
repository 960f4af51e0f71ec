"""What the history of a git repository tells that its files do not.

Everything is counted from which files each commit changed, and when. A subject is looked
at for one thing: whether it says that the commit mends something. Authors are numbers.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.git_repository import GitRepository, OpenBranch
from theorex_lab.eval.tour.tables import TourTable, counted, day
from theorex_lab.memory.briefing.places import are_file_and_test, is_test_file
from theorex_lab.memory.briefing.repository_company import RepositoryWork
from theorex_lab.memory.briefing.repository_history import (
    RepositoryHistory,
    Touch,
    area_of,
    folder_of,
    read_history,
)

_YEAR = 365 * MICROSECONDS_PER_DAY
_HALF_YEAR = 182 * MICROSECONDS_PER_DAY
_MOST_ROWS = 15
_MOST_BRANCHES = 100
# A file is a hotspot from so many commits of its last year on.
_FEWEST_OF_HOTSPOT = 4
# A text goes with a file where it changed in so many of its commits, and in this share.
_FEWEST_TOGETHER = 4
_LEAST_SHARE = 0.1
# It is left behind where the file changed so often since, by itself and as a multiple of
# what is usual between two changes of the text.
_FEWEST_SINCE = 6
_USUAL_TIMES = 3
# Knowledge of a file has gone where one person made this share of so many commits.
_FEWEST_OF_ONE = 8
_LEAST_OF_ONE = 0.75
_LEAST_SHARE_OF_TEXT = 0.25  # of the text's own commits
_TEXT = re.compile(r"\.(?:md|mdx|rst|adoc|ipynb)$", re.IGNORECASE)
_LIST_OF_CHANGES = re.compile(
    r"(?:changelog|changes|history|news|releases?|licen[cs]e|notice|authors)(?:\.\w+)?",
    re.IGNORECASE,
)
# Files that change because others do, or that hold nothing to understand.
_NO_CODE = re.compile(
    r"\.(?:json|ya?ml|toml|lock|cfg|ini|svg|png|jpe?g|gif|ico|snap|csv|css|sum|mod)$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class RepositoryFindings:
    """What the history of a repository tells.

    Attributes:
        history: What its commits changed.
        work: Those commits that tell of single files.
        branches: The branches that are not in HEAD.
    """

    history: RepositoryHistory
    work: RepositoryWork
    branches: tuple[OpenBranch, ...]

    @property
    def tables(self) -> list[TourTable]:
        """The tables of what was found, the most telling first."""
        return [
            self.hotspots,
            self.gone_knowledge,
            self.left_behind,
            self.together,
            self.areas,
            self.open_work,
        ]

    @property
    def newest_at(self) -> int:
        """When the newest commit was made (µs UTC)."""
        return self.work.newest_at

    @property
    def areas(self) -> TourTable:
        """Where work was done, by folder."""
        rows: list[tuple[str | int, ...]] = []
        lines: list[str] = []
        for area, touches in self._touches_of_areas():
            n_files = sum(
                area_of(path, self.work.areas) == area for path in self.history.files
            )
            recent = [touch for touch in touches if self._is_recent(touch)]
            first, last = day(touches[-1].at), day(touches[0].at)
            people = _n_people(touches)
            rows.append(
                (f"{area}/", len(touches), len(recent), n_files, people, first, last)
            )
            lines.append(
                f"{area}/: {counted(len(touches), 'commit')} by"
                f" {counted(people, 'person')}, {len(recent):,} of them in the last"
                f" year; the last on {last}."
            )
        return TourTable(
            key="areas",
            title="Where is the work?",
            lead="Commits by folder. A commit that changes several counts in each.",
            columns=(
                "folder",
                "commits",
                "last year",
                "files",
                "people",
                "first",
                "last",
            ),
            rows=tuple(rows),
            lines=tuple(lines),
        )

    @property
    def hotspots(self) -> TourTable:
        """The files that were changed most in the last year, and how often to mend."""
        counted_files = []
        for path, touches in self.touches_of_files().items():
            recent = [touch for touch in touches if self._is_recent(touch)]
            if len(recent) >= _FEWEST_OF_HOTSPOT and _is_code(path):
                fixes = sum(touch.is_fix for touch in recent)
                counted_files.append((path, recent, fixes))
        counted_files.sort(key=lambda file: (-len(file[1]), -file[2], file[0]))
        newest = day(self.newest_at)
        rows: list[tuple[str | int, ...]] = []
        lines: list[str] = []
        for path, recent, fixes in counted_files[:_MOST_ROWS]:
            people, last = _n_people(recent), day(recent[0].at)
            rows.append((path, len(recent), fixes, people, last))
            lines.append(
                f"{path}: {counted(len(recent), 'commit')}, {fixes} to mend something;"
                f" {counted(people, 'person')}, the last on {last}."
            )
        return TourTable(
            key="hotspots",
            title=f"Which files changed most in the year up to {newest}?",
            lead=(
                "A commit mends something where its subject says so (fix, bug,"
                " regression, revert, crash)."
            ),
            columns=("file", "commits", "to mend", "people", "last"),
            rows=tuple(rows),
            lines=tuple(lines),
        )

    @property
    def together(self) -> TourTable:
        """The files that change together though they lie apart."""
        rows: list[tuple[str | int, ...]] = []
        lines: list[str] = []
        for path, other, both in self._pairs_apart():
            n_commits, last = len(self.touches_of_files()[path]), day(both[0].at)
            rows.append((path, other, len(both), n_commits, last))
            lines.append(
                f"{path} and {other}: together in {len(both)} of the"
                f" {counted(n_commits, 'commit')} of the first, the last on {last}."
            )
        return TourTable(
            key="together",
            title="Which files change together though they lie apart?",
            lead=(
                "Files of two folders; a file and its test are left out, and so is what"
                " changes with everything. Who changes one of them may have to change"
                " the other."
            ),
            columns=("file", "with", "together", "of its commits", "last together"),
            rows=tuple(rows),
            lines=tuple(lines),
        )

    @property
    def left_behind(self) -> TourTable:
        """The texts and tests that did not follow the code they used to change with."""
        rows: list[tuple[str | int, ...]] = []
        lines: list[str] = []
        for text, code, since, usual, both in self._texts_left():
            last = day(both[0].at)
            rows.append((text, code, len(since), usual, len(both), last))
            lines.append(
                f"{text} last changed with {code} on {last}. Since then {code} changed"
                f" in {counted(len(since), 'commit')} without it; {usual} used to be"
                " usual."
            )
        return TourTable(
            key="left_behind",
            title="Which texts and tests may be out of date?",
            lead=(
                "A text or test is listed where it used to change with a file, and the"
                " file has since changed at least three times as often as was usual"
                " from one of its changes to the next. Nobody has read it: it may still"
                " be right."
            ),
            columns=(
                "text or test",
                "goes with",
                "commits since",
                "usual",
                "together",
                "last together",
            ),
            rows=tuple(rows),
            lines=tuple(lines),
            nothing="No text or test is behind the code that it goes with.",
        )

    @property
    def gone_knowledge(self) -> TourTable:
        """The files that one person made, who has not been here for half a year."""
        last_at = self._last_of_authors()
        rows: list[tuple[str | int, ...]] = []
        lines: list[str] = []
        for path, touches in self._by_number():
            author, own = Counter(touch.author for touch in touches).most_common(1)[0]
            is_ones = author and own >= _LEAST_OF_ONE * len(touches)
            if len(touches) < _FEWEST_OF_ONE or not is_ones or not _is_code(path):
                continue
            gone_at = last_at[author]
            if gone_at >= self.newest_at - _HALF_YEAR:
                continue
            rows.append((path, own, len(touches), day(gone_at), day(touches[0].at)))
            lines.append(
                f"{path}: {own} of its {counted(len(touches), 'commit')} are by one"
                f" person, whose last commit anywhere was on {day(gone_at)}."
            )
        return TourTable(
            key="gone_knowledge",
            title="Which files are known best by somebody who has left?",
            lead=(
                "Three quarters of a file's commits are by one person, who has made no"
                f" commit in the half year up to {day(self.newest_at)}. People are told"
                " apart by their address; no name is read."
            ),
            columns=("file", "commits by one", "commits", "their last", "last change"),
            rows=tuple(rows[:_MOST_ROWS]),
            lines=tuple(lines[:_MOST_ROWS]),
        )

    @property
    def open_work(self) -> TourTable:
        """The branches that are not in HEAD."""
        rows = [
            (branch.name, branch.n_ahead, branch.n_behind, day(branch.at))
            for branch in self.branches
        ]
        lines = [
            f"{branch.name}: {counted(branch.n_ahead, 'commit')} of its own, the last on"
            f" {day(branch.at)}; {branch.n_behind:,} behind."
            for branch in self.branches
        ]
        return TourTable(
            key="open_branches",
            title="Which branches are open?",
            lead=(
                "Branches with commits that HEAD has not. One that was merged by"
                " squashing still counts, since its commits are others."
            ),
            columns=("branch", "its own commits", "behind", "last"),
            rows=tuple(rows),
            lines=tuple(lines),
            nothing="No branch has commits that HEAD has not.",
        )

    def touches_of_files(self) -> dict[str, list[Touch]]:
        """Return the commits of each file that is there, newest first."""
        touches_of: dict[str, list[Touch]] = defaultdict(list)
        for touch in self.work.touches:
            for path in touch.changed:
                touches_of[path].append(touch)
        return touches_of

    def _by_number(self) -> list[tuple[str, list[Touch]]]:
        """Return the files with their commits, those of most commits first."""
        touches_of = self.touches_of_files()
        return sorted(touches_of.items(), key=lambda item: (-len(item[1]), item[0]))

    def _touches_of_areas(self) -> list[tuple[str, list[Touch]]]:
        """Return the areas with their commits, those of most commits first."""
        touches_of: dict[str, list[Touch]] = defaultdict(list)
        for touch in self.work.touches:
            for area in self.work.areas_of(touch):
                touches_of[area].append(touch)
        return sorted(touches_of.items(), key=lambda item: (-len(item[1]), item[0]))

    def _is_recent(self, touch: Touch) -> bool:
        return touch.at > self.newest_at - _YEAR

    def _last_of_authors(self) -> dict[str, int]:
        """Return when each author made their last commit of any kind (µs UTC)."""
        last_at: dict[str, int] = {}
        for touch in self.history.touches:
            last_at[touch.author] = max(touch.at, last_at.get(touch.author, 0))
        return last_at

    def _pairs_apart(self) -> Iterator[tuple[str, str, list[Touch]]]:
        """Yield pairs of files in two folders, with the commits that changed both."""
        named: set[frozenset[str]] = set()
        companies = self.work.company_of_files(most=4 * _MOST_ROWS)
        for company in companies:
            for other, _ in company.partners:
                path = company.subject
                pair = frozenset((path, other))
                if pair in named or folder_of(path) == folder_of(other):
                    continue
                if is_test_file(path) or is_test_file(other):
                    continue
                named.add(pair)
                both = [touch for touch in company.touches if other in touch.changed]
                yield path, other, both
                if len(named) == _MOST_ROWS:
                    return

    def _texts_left(
        self,
    ) -> list[tuple[str, str, list[Touch], int, list[Touch]]]:
        """Return the texts that are behind the file that they go with most.

        Each has its file, the commits of the file since, the usual number of them, and
        the commits that changed both.
        """
        found: list[tuple[str, str, list[Touch], int, list[Touch]]] = []
        touches_of = self.touches_of_files()
        followers = [
            path for path in touches_of if _is_text(path) or is_test_file(path)
        ]
        for text in sorted(followers):
            behind = self._behind(text, touches_of)
            if behind is not None:
                found.append((text, *behind))
        found.sort(key=lambda row: (-len(row[2]) / row[3], row[0]))
        return found[:_MOST_ROWS]

    def _behind(
        self, text: str, touches_of: dict[str, list[Touch]]
    ) -> tuple[str, list[Touch], int, list[Touch]] | None:
        """Return the file that a text is behind of, None where it is behind of none."""
        partners: Counter[str] = Counter()
        for touch in touches_of[text]:
            for path in touch.changed:
                if _is_code(path) and (_is_text(text) or are_file_and_test(path, text)):
                    partners[path] += 1
        for code, count in partners.most_common(3):
            touches = touches_of[code]
            least = max(
                _FEWEST_TOGETHER,
                _LEAST_SHARE * len(touches),
                _LEAST_SHARE_OF_TEXT * len(touches_of[text]),
            )
            if count < least:
                continue
            gaps = _gaps(text, touches)
            since = touches[: gaps[0]]
            usual = max(1, round(median(gaps[1:])))
            if len(since) >= max(_FEWEST_SINCE, _USUAL_TIMES * usual):
                both = [touch for touch in touches if text in touch.changed]
                return code, since, usual, both
        return None


def _gaps(text: str, touches: Sequence[Touch]) -> list[int]:
    """Return how many commits of a file lie between two that changed a text too.

    Args:
        text: The path of the text.
        touches: The commits of the file, newest first; some of them changed the text.

    Returns:
        First the number since the last of them, then that before each, newest first.
    """
    places = [number for number, touch in enumerate(touches) if text in touch.changed]
    between = [later - earlier for earlier, later in pairwise(places)]
    return [places[0], *between]


def _is_text(path: str) -> bool:
    """Return whether a file is written to be read, and is no list of changes."""
    name = posixpath.basename(path)
    return bool(_TEXT.search(path)) and not _LIST_OF_CHANGES.fullmatch(name)


def _is_code(path: str) -> bool:
    """Return whether a file holds code that is no test."""
    is_prose = _TEXT.search(path) or _LIST_OF_CHANGES.fullmatch(
        posixpath.basename(path)
    )
    return not (is_prose or _NO_CODE.search(path) or is_test_file(path))


def _n_people(touches: Iterable[Touch]) -> int:
    """Return how many people made some commits."""
    return len({touch.author for touch in touches})


def find_in_repository(folder: str | Path, now: int) -> RepositoryFindings | None:
    """Return what the history of the repository around a folder tells.

    Args:
        folder: A folder in the repository, of any depth.
        now: The time (µs UTC); later commits are left out.

    Returns:
        None where no commit tells of single files.

    Raises:
        InvalidInput: As `read_history` does.
    """
    history = read_history(folder, now, in_haste=False)
    if not history.telling:
        return None
    branches = GitRepository.at(folder).open_branches(_MOST_BRANCHES)
    return RepositoryFindings(history, RepositoryWork(history), tuple(branches))
