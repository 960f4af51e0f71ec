"""What the history of a git repository tells that its files do not.

Everything is counted from which files each commit changed, and when. A subject is looked
at for one thing: whether it says that the commit mends something. Authors are numbers.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.git_branches import OpenBranch, open_branches
from theorex_lab.core.git_repository import GitRepository
from theorex_lab.eval.tour.tables import TableRows, TourTable, counted, day
from theorex_lab.memory.briefing.places import are_file_and_test, is_test_file
from theorex_lab.memory.briefing.repository_company import RepositoryWork
from theorex_lab.memory.briefing.repository_history import (
    RepositoryHistory,
    Touch,
    area_of,
    folder_of,
    read_history,
)
from theorex_lab.text.paths import quoted_path

_YEAR = 365 * MICROSECONDS_PER_DAY
_HALF_YEAR = 182 * MICROSECONDS_PER_DAY
_MOST_ROWS = 15
_MOST_BRANCHES = 100
_MOST_COMPANIONS = 3  # of a text, that are looked at
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


class _Pair(NamedTuple):
    """Two files that change together.

    Attributes:
        path: The one.
        other: The other.
        touches: The commits that changed both, newest first.
    """

    path: str
    other: str
    touches: list[Touch]


class _LeftText(NamedTuple):
    """A text or test that is behind the code that it goes with.

    Attributes:
        path: The text.
        code: The file that it goes with.
        n_since: The commits of the file since both last changed.
        usual: The usual number of them between two changes of the text.
        n_both: How often both changed.
        last_at: When both last changed (µs UTC).
    """

    path: str
    code: str
    n_since: int
    usual: int
    n_both: int
    last_at: int


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
        content = TableRows()
        for area, touches in self._touches_of_areas():
            n_files = 0
            for path in self.history.files:
                n_files += area_of(path, self.work.areas) == area
            n_commits = len(touches)
            n_recent = len(self._recent(touches))
            n_people = _n_people(touches)
            first = day(touches[-1].at)
            last = day(touches[0].at)
            line = (
                f"{quoted_path(area + '/')}: {counted(n_commits, 'commit')} by"
                f" {counted(n_people, 'person')}, {n_recent:,} of them in the last year;"
                f" the last on {last}."
            )
            cells = (n_commits, n_recent, n_files, n_people, first, last)
            content.add(f"{area}/", *cells, line=line)
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
            content=content,
        )

    @property
    def hotspots(self) -> TourTable:
        """The files that were changed most in the last year, and how often to mend."""
        content = TableRows()
        for path, touches in self._hot_files()[:_MOST_ROWS]:
            n_fixes = sum(touch.is_fix for touch in touches)
            n_people = _n_people(touches)
            last = day(touches[0].at)
            line = (
                f"{quoted_path(path)}: {counted(len(touches), 'commit')}, {n_fixes} to mend"
                f" something; {counted(n_people, 'person')}, the last on {last}."
            )
            content.add(path, len(touches), n_fixes, n_people, last, line=line)
        return TourTable(
            key="hotspots",
            title=f"Which files changed most in the year up to {day(self.newest_at)}?",
            lead=(
                "A commit mends something where its subject says so (fix, bug,"
                " regression, revert, crash), unless it is about spelling, docs or lint."
            ),
            columns=("file", "commits", "to mend", "people", "last"),
            content=content,
        )

    @property
    def together(self) -> TourTable:
        """The files that change together though they lie apart."""
        content = TableRows()
        touches_of = self.touches_of_files()
        for pair in self._pairs_apart():
            n_commits = len(touches_of[pair.path])
            n_both = len(pair.touches)
            last = day(pair.touches[0].at)
            line = (
                f"{quoted_path(pair.path)} and {quoted_path(pair.other)}: together in"
                f" {n_both} of the"
                f" {counted(n_commits, 'commit')} of the first, the last on {last}."
            )
            content.add(pair.path, pair.other, n_both, n_commits, last, line=line)
        return TourTable(
            key="together",
            title="Which files change together though they lie apart?",
            lead=(
                "Files of two folders; a file and its test are left out, and so is what"
                " changes with everything. Who changes one of them may have to change"
                " the other."
            ),
            columns=("file", "with", "together", "of its commits", "last together"),
            content=content,
        )

    @property
    def left_behind(self) -> TourTable:
        """The texts and tests that did not follow the code they used to change with."""
        content = TableRows()
        for text in self._texts_left():
            last = day(text.last_at)
            line = (
                f"{quoted_path(text.path)} last changed with"
                f" {quoted_path(text.code)} on {last}. Since then"
                f" {text.code} changed in {counted(text.n_since, 'commit')} without it;"
                f" {text.usual} used to be usual."
            )
            cells = (text.code, text.n_since, text.usual, text.n_both, last)
            content.add(text.path, *cells, line=line)
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
            content=content,
            nothing="No text or test is behind the code that it goes with.",
        )

    @property
    def gone_knowledge(self) -> TourTable:
        """The files that one person made, who has not been here for half a year."""
        content = TableRows()
        last_at = self._last_of_authors()
        for path, touches in self._files_of_one()[:_MOST_ROWS]:
            author, n_own = _main_author(touches)
            gone = day(last_at[author])
            n_commits = len(touches)
            line = (
                f"{quoted_path(path)}: {n_own} of its {counted(n_commits, 'commit')} are by one"
                f" person, whose last commit anywhere was on {gone}."
            )
            last = day(touches[0].at)
            content.add(path, n_own, n_commits, gone, last, line=line)
        return TourTable(
            key="gone_knowledge",
            title="Which files are known best by somebody who has left?",
            lead=(
                "Three quarters of a file's commits are by one person, who has made no"
                f" commit in the half year up to {day(self.newest_at)}. An address is a"
                " person; no name is read."
            ),
            columns=("file", "commits by one", "commits", "their last", "last change"),
            content=content,
        )

    @property
    def open_work(self) -> TourTable:
        """The branches that are not in HEAD."""
        content = TableRows()
        for branch in self.branches:
            last = day(branch.at)
            line = (
                f"{branch.name}: {counted(branch.n_ahead, 'commit')} of its own, the last"
                f" on {last}; {branch.n_behind:,} behind."
            )
            cells = (branch.n_ahead, branch.n_behind, last)
            content.add(branch.name, *cells, line=line)
        return TourTable(
            key="open_branches",
            title="Which branches are open?",
            lead=(
                "Branches with commits that HEAD has not. One that was merged by"
                " squashing still counts, since its commits are others."
            ),
            columns=("branch", "its own commits", "behind", "last"),
            content=content,
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

    def _recent(self, touches: Iterable[Touch]) -> list[Touch]:
        """Return the commits of the last year, newest first."""
        oldest = self.newest_at - _YEAR
        return [touch for touch in touches if touch.at > oldest]

    def _hot_files(self) -> list[tuple[str, list[Touch]]]:
        """Return the files with their commits of the last year, most first."""
        files: list[tuple[str, list[Touch]]] = []
        for path, touches in self._by_number():
            recent = self._recent(touches)
            if len(recent) >= _FEWEST_OF_HOTSPOT and _is_code(path):
                files.append((path, recent))
        files.sort(key=lambda file: (-len(file[1]), file[0]))
        return files

    def _files_of_one(self) -> list[tuple[str, list[Touch]]]:
        """Return the files that one person made who has left, of most commits first."""
        last_at = self._last_of_authors()
        files: list[tuple[str, list[Touch]]] = []
        for path, touches in self._by_number():
            if len(touches) < _FEWEST_OF_ONE or not _is_code(path):
                continue
            author, n_own = _main_author(touches)
            has_left = last_at[author] < self.newest_at - _HALF_YEAR
            if author and has_left and n_own >= _LEAST_OF_ONE * len(touches):
                files.append((path, touches))
        return files

    def _last_of_authors(self) -> dict[str, int]:
        """Return when each author made their last commit of any kind (µs UTC)."""
        last_at: dict[str, int] = {}
        for touch in self.history.touches:
            last_at[touch.author] = max(touch.at, last_at.get(touch.author, 0))
        return last_at

    def _pairs_apart(self) -> list[_Pair]:
        """Return the pairs of files in two folders, those of most work first."""
        pairs: list[_Pair] = []
        names: set[frozenset[str]] = set()
        for company in self.work.company_of_files(most=4 * _MOST_ROWS):
            for other, _ in company.partners:
                both = frozenset((company.subject, other))
                if both not in names and _are_apart(company.subject, other):
                    names.add(both)
                    touches = [
                        touch for touch in company.touches if other in touch.changed
                    ]
                    pairs.append(_Pair(company.subject, other, touches))
        return pairs[:_MOST_ROWS]

    def _texts_left(self) -> list[_LeftText]:
        """Return the texts that are behind the file that they go with most."""
        texts: list[_LeftText] = []
        touches_of = self.touches_of_files()
        for path in sorted(touches_of):
            if not _is_text(path) and not is_test_file(path):
                continue
            for code in _companions(path, touches_of):
                left = _left_text(path, code, touches_of)
                if left is not None:
                    texts.append(left)
                    break
        texts.sort(key=lambda text: (-text.n_since / text.usual, text.path))
        return texts[:_MOST_ROWS]


def _companions(text: str, touches_of: Mapping[str, Sequence[Touch]]) -> list[str]:
    """Return the files of code that changed with a text most often.

    Args:
        text: The path of the text or test. A test goes with what it tests alone.
        touches_of: The commits of each file.
    """
    partners: Counter[str] = Counter()
    for touch in touches_of[text]:
        for path in touch.changed:
            is_its_own = _is_text(text) or are_file_and_test(path, text)
            if is_its_own and _is_code(path):
                partners[path] += 1
    return [path for path, _ in partners.most_common(_MOST_COMPANIONS)]


def _left_text(
    text: str, code: str, touches_of: Mapping[str, Sequence[Touch]]
) -> _LeftText | None:
    """Return how far a text is behind a file; None where it is not.

    Args:
        text: The path of the text or test.
        code: The path of the file.
        touches_of: The commits of each file, newest first.
    """
    touches = touches_of[code]
    both = [touch for touch in touches if text in touch.changed]
    least = max(
        _FEWEST_TOGETHER,
        _LEAST_SHARE * len(touches),
        _LEAST_SHARE_OF_TEXT * len(touches_of[text]),
    )
    if len(both) < least:
        return None
    n_since, *between = _gaps(text, touches)
    usual = max(1, round(median(between)))
    if n_since < max(_FEWEST_SINCE, _USUAL_TIMES * usual):
        return None
    return _LeftText(
        text,
        code,
        n_since,
        usual,
        len(both),
        both[0].at,
    )


def _are_apart(path: str, other: str) -> bool:
    """Return whether two files lie in two folders, and neither is a test."""
    is_of_tests = is_test_file(path) or is_test_file(other)
    return not is_of_tests and folder_of(path) != folder_of(other)


def _main_author(touches: Iterable[Touch]) -> tuple[str, int]:
    """Return who made most of some commits, and how many."""
    authors = Counter(touch.author for touch in touches)
    ((author, count),) = authors.most_common(1)
    return author, count


def _gaps(text: str, touches: Sequence[Touch]) -> list[int]:
    """Return how many commits of a file lie between two that changed a text too.

    Args:
        text: The path of the text.
        touches: The commits of the file, newest first; some of them changed the text.

    Returns:
        First the number since the last of them, then that before each, newest first.
    """
    positions: list[int] = []
    for position, touch in enumerate(touches):
        if text in touch.changed:
            positions.append(position)
    between = [later - earlier for earlier, later in pairwise(positions)]
    return [positions[0], *between]


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
    branches = open_branches(GitRepository.at(folder), _MOST_BRANCHES)
    return RepositoryFindings(history, RepositoryWork(history), tuple(branches))
