"""Tell which files and folders of a repository change together.

Commits that change many files tell nothing of a single one and are left out, and so are
the files that programs write.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice

from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.memory.briefing.places import (
    are_file_and_test,
    is_test_file,
    is_written_by_program,
)
from theorex_lab.memory.briefing.repository_history import (
    RepositoryHistory,
    Touch,
    area_of,
    areas_in,
    folder_of,
)
from theorex_lab.memory.file_order import FileOrder, WorkStep, order_of_files

LONGEST_NAME = 100  # characters of a path that is looked at
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

# A folder to which so many commits added files has a usual way of adding one, where
# another file changes in most of them.
_FEWEST_ADDITIONS = 4
_LEAST_WITH_ADDITION = 0.75
_LEAST_LIFT_OF_ADDITION = 2.0
_MOST_RECIPES = 3
_MOST_IN_RECIPE = 3  # files that come with a new one

# What changes with an area in this share of its commits.
_FEWEST_OF_AREA_TOGETHER = 15
_LEAST_WITH_AREA = 0.4
_MOST_AREAS_TOGETHER = 2

# Files that change with whatever changes, and whose company says nothing.
_CHANGES_WITH_ALL = lazy_pattern(
    r"""
    package\.json | pyproject\.toml | setup\.(?:py|cfg) | Cargo\.toml | go\.mod
    | composer\.json | Gemfile | pom\.xml | build\.gradle(?:\.kts)?
    | (?:readme|changelog|changes|history|news|releases?)(?:\.\w+)?
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Folders that change because others do.
_FOLLOWS_OTHERS = lazy_pattern(r"(?i)_*(?:tests?|specs?|e2e|docs?|notebooks?)_*")
_Partner = tuple[str, int]  # a path, and the commits in which it changed too


@dataclass(frozen=True)
class Company:
    """A file or folder, with what changes together with it.

    Attributes:
        subject: The file or folder.
        touches: The commits that changed it, newest first.
        partners: What changed with it, each with in how many of these commits, the most
            frequent first; at least one.
    """

    subject: str
    touches: tuple[Touch, ...]
    partners: tuple[_Partner, ...]

    @property
    def last_at(self) -> int:
        """When it last changed (µs UTC)."""
        return self.touches[0].at

    @property
    def strength(self) -> float:
        """In which share of the commits the first of its partners changed, 0..1."""
        _, count = self.partners[0]
        return count / len(self.touches)


class RepositoryWork:
    """The commits that tell of single files, and what they changed together.

    Attributes:
        touches: The commits, newest first.
        newest_at: When the newest one was (µs UTC).
        areas: The folders by which work is grouped, those of most commits first.

    Args:
        history: A history with at least one such commit.
    """

    def __init__(self, history: RepositoryHistory) -> None:
        self.touches = [_without_lock_files(touch) for touch in history.telling]
        self.newest_at = self.touches[0].at
        self.areas = areas_in(history)
        self._counts: Counter[str] = Counter()  # commits of each file
        for touch in self.touches:
            self._counts.update(touch.changed)

    def areas_of(self, touch: Touch) -> set[str]:
        """Return the areas that a commit changed."""
        areas = {area_of(path, self.areas) for path in touch.changed}
        return areas - {""}

    def company_of_new_files(self) -> list[Company]:
        """Return the folders with what usually changes where a file is added to them."""
        additions = self._grouped(_folders_of_added)
        companies: list[Company] = []
        partner_lists: set[tuple[_Partner, ...]] = set()
        # The laws are compared on files alone.
        order = order_of_files(self._steps(_folders_of_added), most_scored=0)
        for folder in order.paths:
            if not folder:
                continue
            touches = additions[folder]
            partners = self._partners_of_addition(touches)
            is_usual = len(touches) >= _FEWEST_ADDITIONS and bool(partners)
            # A folder within the other one has the same partners.
            if is_usual and partners not in partner_lists:
                partner_lists.add(partners)
                companies.append(_company(folder, touches, partners))
        return companies[:_MOST_RECIPES]

    def _partners_of_addition(self, touches: Iterable[Touch]) -> tuple[_Partner, ...]:
        """Return the files that change in most of the commits that add files."""
        counts: Counter[str] = Counter()
        n_additions = 0
        for touch in touches:
            counts.update(touch.changed - touch.added)
            n_additions += 1
        partners: list[_Partner] = []
        frequent = most_common(
            counts,
            len(counts),
            fewest=_FEWEST_ADDITIONS,
        )
        for path, count in frequent:
            least_share = max(
                _LEAST_WITH_ADDITION,
                _LEAST_LIFT_OF_ADDITION * self._usual_share(path),
            )
            if count >= least_share * n_additions and not _changes_with_all(path):
                partners.append((path, count))
        return tuple(partners[:_MOST_IN_RECIPE])

    def company_of_files(self, most: int = _MOST_HUBS) -> list[Company]:
        """Return the files that work returns to and that change with others.

        Args:
            most: How many files are returned.
        """
        companies = self._all_company_of_files()
        return list(islice(_with_new_names(companies), most))

    def _all_company_of_files(self) -> Iterator[Company]:
        """Yield all files that change with others, those of most work first."""
        touches_of = self._grouped(_changed_files)
        for path in self.order_of_files().paths:
            touches = touches_of[path]
            if is_test_file(path) or len(touches) < _FEWEST_COMMITS:
                continue
            partners = self._partners(path, touches)
            if partners:
                yield _company(path, touches, partners)

    def _partners(self, path: str, touches: list[Touch]) -> tuple[_Partner, ...]:
        """Return the files that change in most commits of a file."""
        counts: Counter[str] = Counter()
        for touch in touches:
            counts.update(touch.changed)
        del counts[path]
        partners: list[_Partner] = []
        frequent = most_common(
            counts,
            len(counts),
            fewest=_FEWEST_SHARED,
        )
        for other, count in frequent:
            least_share = max(
                _LEAST_TOGETHER,
                _LEAST_LIFT * self._usual_share(other),
            )
            is_frequent = count >= least_share * len(touches)
            is_mutual = count >= _LEAST_OF_PARTNER * self._counts[other]
            if is_frequent and is_mutual and _is_worth_telling(path, other):
                partners.append((other, count))
        return tuple(partners[:_MOST_PARTNERS])

    def company_of_areas(self) -> list[Company]:
        """Return the areas that change together, those that nearly always do first.

        An area of tests or texts is shown as what accompanies others.
        """
        touches_of = self._grouped(self.areas_of)
        companies: list[Company] = []
        for area, touches in touches_of.items():
            partners = self._companions(area, touches)
            is_large = len(touches) >= _FEWEST_OF_AREA_TOGETHER
            if is_large and partners and not _follows_others(area):
                companies.append(_company(area, touches, partners))
        companies.sort(key=lambda company: (-company.strength, company.subject))
        named: set[str] = set()
        chosen: list[Company] = []
        for company in companies:
            if company.subject not in named:
                named.update(_names_in(company))
                chosen.append(company)
        return chosen[:_MOST_AREAS_TOGETHER]

    def _companions(self, area: str, touches: list[Touch]) -> tuple[_Partner, ...]:
        """Return the areas that change in many commits of an area."""
        counts: Counter[str] = Counter()
        for touch in touches:
            counts.update(self.areas_of(touch))
        del counts[area]
        partners: list[_Partner] = []
        for other, count in most_common(counts, _MOST_PARTNERS):
            if count >= _LEAST_WITH_AREA * len(touches):
                partners.append((other, count))
        return tuple(partners)

    def _grouped(
        self, names_of: Callable[[Touch], Iterable[str]]
    ) -> dict[str, list[Touch]]:
        """Return the commits of each name that a commit has, newest first."""
        touches_of: dict[str, list[Touch]] = {}
        for touch in self.touches:
            for name in names_of(touch):
                touches_of.setdefault(name, []).append(touch)
        return touches_of

    def order_of_files(self) -> FileOrder:
        """Return the files in the order in which work will probably return to them."""
        return order_of_files(self._steps(_changed_files))

    def _steps(self, names_of: Callable[[Touch], Iterable[str]]) -> list[WorkStep]:
        """Return the commits with some names of each, the oldest first."""
        steps: list[WorkStep] = []
        for touch in reversed(self.touches):
            names = frozenset(names_of(touch))
            if names:
                steps.append(WorkStep(touch.at, names))
        return steps

    def _usual_share(self, path: str) -> float:
        """Return the share of all commits that change a file."""
        return self._counts[path] / len(self.touches)


def _company(
    subject: str, touches: Iterable[Touch], partners: tuple[_Partner, ...]
) -> Company:
    return Company(
        subject,
        tuple(touches),
        partners,
    )


def _with_new_names(companies: Iterable[Company]) -> Iterator[Company]:
    """Yield those that name a file which none before them names."""
    named: set[str] = set()
    for company in companies:
        names = _names_in(company)
        if not names <= named:
            named |= names
            yield company


def _names_in(company: Company) -> set[str]:
    """Return the subject and its partners."""
    names = {company.subject}
    for name, _ in company.partners:
        names.add(name)
    return names


def _changed_files(touch: Touch) -> Iterable[str]:
    return touch.changed


def _folders_of_added(touch: Touch) -> Iterable[str]:
    return {folder_of(path) for path in touch.added}


def _is_worth_telling(path: str, other: str) -> bool:
    """Return whether it is news that two files change together."""
    return not (are_file_and_test(path, other) or _changes_with_all(other))


def _without_lock_files(touch: Touch) -> Touch:
    """Return a commit without the files that programs write."""
    changed = frozenset(filter(_is_written_by_people, touch.changed))
    return replace(touch, changed=changed, added=touch.added & changed)


def _is_written_by_people(path: str) -> bool:
    return not is_written_by_program(path) and len(path) <= LONGEST_NAME


def most_common(
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
