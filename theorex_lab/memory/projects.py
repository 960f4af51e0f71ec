"""The projects that a home has memory of.

One of them is found by the name that a person gives.
"""

import difflib
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.project import (
    Repository,
    check_project,
    checkout_root,
    name_of,
    project_by_path,
    repository_of,
)
from theorex_lab.journal import directed
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.directory import directory_view
from theorex_lab.journal.event import Event
from theorex_lab.journal.heads import Heads, Integers
from theorex_lab.journal.identity import (
    UNSEEN_DIGITS,
    merge_into,
    project_in,
    unseen_project,
)
from theorex_lab.journal.places import Places
from theorex_lab.journal.view import View
from theorex_lab.memory.contract import Home
from theorex_lab.search.items import MARKS

_HASH = lazy_pattern(r"-[0-9a-f]{8}\Z")  # at the end of most ids
_SHORT_PATHS = (".", "..", "~")  # of a folder, without a separator
_MOST_NEAREST = 3  # names that an error lists
_MOST_NAMED = 5  # other projects that a note names


class Projects(View):
    """Projects with what happened in them.

    Attributes:
        names: The names; '' is none.
        rows: By project, the count of events, last_at (µs) and last_seq.
    """

    name = "projects"
    code = 2
    reads_outlines = True
    reads_heads = True
    kinds = (
        *"observation document outcome trace_started task_submitted tool_used prompt"
        " turn_ended session_ended".split(),
        *MARKS,
    )

    def __init__(self) -> None:
        super().__init__()
        self.names = Names()
        self.rows = Table(count="i8", last_at="i8", last_seq="i8")

    def apply(self, events: Sequence[Event]) -> None:
        """Count the events, and note the last."""
        projects: list[str] = []
        for event in events:
            project = event.body.get("project", "")
            projects.append(project)
        numbers: dict[str, int] = {}
        for project in dict.fromkeys(projects):
            number = self.names.number(project)
            numbers[project] = number
        row_numbers = [numbers[project] for project in projects]
        times = [event.at for event in events]
        event_seqs = [event.seq for event in events]
        self._count(
            np.array(row_numbers, np.int64),
            np.array(times, np.int64),
            np.array(event_seqs, np.int64),
        )

    def apply_heads(self, heads: Heads) -> None:
        """Count the events, and note the last, by their heads."""
        rows = heads.project.numbers_in(self.names)
        self._count(rows, heads.at, heads.seq)

    def _count(self, rows: Integers, times: Integers, event_seqs: Integers) -> None:
        """Count events; each has a row, which may be new, a time (µs) and a seq."""
        n_new = len(self.names) - len(self.rows)
        self.rows.grow(n_new)
        np.add.at(self.rows["count"], rows, 1)
        np.maximum.at(self.rows["last_at"], rows, times)
        np.maximum.at(self.rows["last_seq"], rows, event_seqs)

    def events_of(self, project: str) -> int:
        """Return how many events were captured in a project."""
        number = self.names.find(project)
        if number is None:
            return 0
        return int(self.rows["count"][number])


def projects_view(home: Home) -> type[Projects]:
    """Return the view of a home's projects.

    It also counts the events of its designs.
    """
    design_kinds: set[str] = set()
    for design in home.designs:
        design_kinds.update(design.kinds)
    return _with_kinds((*Projects.kinds, *sorted(design_kinds)))


@cache
def _with_kinds(kinds: tuple[str, ...]) -> type[Projects]:
    """Return the same class for the same kinds, so that views are found by it."""
    return type("HomeProjects", (Projects,), {"kinds": kinds})


def known_projects(home: Home) -> list[str]:
    """Return the projects that something was captured in.

    The most recently active one comes first.
    """
    with _reading_projects(home) as view:
        newest_seq_first = -view.rows["last_seq"]
        newest_first = -view.rows["last_at"]
        order = np.lexsort((newest_seq_first, newest_first))
        names = [view.names[row] for row in order.tolist()]
    return [name for name in names if name]


def _reading_projects(home: Home) -> AbstractContextManager[Projects]:
    """Return a context that yields the view of a home's projects.

    In a large journal the directory is folded in the same pass: whoever asks for
    projects mostly asks for the events of one of them next.
    """
    views = home.views
    if home.journal.last_seq() >= directed.FEWEST_EVENTS:
        views.open_together([projects_view(home), directory_view()])
    return views.reading(projects_view(home))


def note_of_other_projects(home: Home) -> str:
    """Say in which other projects something is remembered, and how to choose one.

    Projects whose memory is closed to others are not named.

    Args:
        home: The home of a project.

    Returns:
        A sentence; '' where the home is of all projects, where its own project has
        something, or no other one has.
    """
    if not home.project:
        return ""
    closed = home.closed_projects
    others = [project for project in known_projects(home) if project not in closed]
    if not others or home.project in others:
        return ""
    named: list[str] = []
    places = home.journal.places()
    with home.views.reading(projects_view(home)) as view:
        for project in others[:_MOST_NAMED]:
            names = filter(None, _names_of(places, project))
            name = min(names, key=len, default=project)
            named.append(f"{name} ({view.events_of(project)} events)")
    n_more = len(others) - len(named)
    if n_more:
        named.append(f"{n_more} more, see `theorex projects`")
    return (
        "nothing is remembered of this project, but of others:"
        f" {', '.join(named)}; choose one with --project NAME or"
        " lab.in_project(NAME), or all with --all-projects"
    )


class UnseenFolder(InvalidInput):
    """Nothing was recorded in the folder that a project is named by.

    Attributes:
        project: What stands for the project of such a folder.
    """

    def __init__(self, message: str, project: str) -> None:
        super().__init__(message)
        self.project = project


def find_project(
    home: Home,
    name_or_folder: str,
    *,
    folders: bool = True,
    bind: bool = False,
    advice: str = "leave it out for all",
) -> str:
    """Return the project that is called so.

    It is called by its id, by the name that its folder has or that its id begins with,
    where only one has it, or by the path of a folder in it.

    Args:
        home: The home.
        name_or_folder: What it is called.
        folders: Whether a path is looked up in the file system.
        bind: Whether a folder that was never seen gets an id, which is noted.
        advice: What to do instead of giving a name that is known.

    Raises:
        UnseenFolder: Nothing was recorded in the folder.
        InvalidInput: No project is called so, or several are; the message names the
            nearest.
    """
    current = home.journal.places().current
    matches = list(dict.fromkeys(map(current, _ids_called(home, name_or_folder))))
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise _several(name_or_folder, matches)
    if folders and _is_folder(name_or_folder):
        return _project_of_folder(home, name_or_folder, bind=bind, advice=advice)
    raise _unknown(home, name_or_folder, advice)


def known_or_new_project(home: Home, name_or_folder: str, *, bind: bool = True) -> str:
    """Return the project that is called so, else one of that name, which is new.

    Args:
        home: The home.
        name_or_folder: What it is called; '' is none. A path with a separator is a folder, also
            where it is not on this machine.
        bind: Whether a folder that was never seen gets an id, which is noted; without it
            the project has the name of its path.

    Raises:
        InvalidInput: Several projects are called so, or no project may be.
    """
    if not name_or_folder:
        return ""
    if _ids_called(home, name_or_folder):
        return find_project(home, name_or_folder)
    if os.sep not in name_or_folder and name_or_folder not in _SHORT_PATHS:
        return check_project(name_or_folder)
    repository = _repository_at(name_or_folder)
    if bind:
        return project_in(home.journal, repository, bind=True)
    return project_by_path(repository.root)


def _ids_called(home: Home, name_or_folder: str) -> list[str]:
    """Return the ids of the projects that are called so, also of merged ones."""
    places = home.journal.places()
    projects = _all_projects(home)
    if name_or_folder in projects or name_or_folder in places.merged:
        return [name_or_folder]
    if os.sep in name_or_folder:
        path = os.path.realpath(Path(name_or_folder).expanduser())
        binding = places.folders.get(path)
        return [] if binding is None else [binding.project]
    return [
        project for project in projects if name_or_folder in _names_of(places, project)
    ]


def _all_projects(home: Home) -> list[str]:
    """Return the ids of all projects, the most recently active first."""
    projects = [*known_projects(home), *home.journal.places().bound]
    if home.project and not home.project.endswith(UNSEEN_DIGITS):
        projects.append(home.project)
    return list(dict.fromkeys(projects))


def _names_of(places: Places, project: str) -> set[str]:
    """Return the names of a project beside its id."""
    current = places.current(project)
    return {_short_name(project), _folder_name(places, current)}


def _is_folder(name_or_folder: str) -> bool:
    """Return whether a text is the path of a folder on this machine."""
    return Path(name_or_folder).expanduser().is_dir()


def _repository_at(name_or_folder: str) -> Repository:
    """Return what the folder at a path is of."""
    folder = str(Path(name_or_folder).expanduser().absolute())
    return repository_of(checkout_root(folder))


def _project_of_folder(
    home: Home,
    name_or_folder: str,
    *,
    bind: bool,
    advice: str,
) -> str:
    """Return the project of a folder that is no project's root by its own path.

    Raises:
        UnseenFolder: Nothing was recorded there, and it is not to be bound.
    """
    repository = _repository_at(name_or_folder)
    project = project_in(home.journal, repository, bind=bind)
    if bind or project in _all_projects(home):
        return project
    raise UnseenFolder(
        f"got the folder {name_or_folder!r:.200}, where nothing is recorded;"
        f" {_help(home, name_or_folder, advice)}",
        project or unseen_project(repository),
    )


def _several(name_or_folder: str, matches: Sequence[str]) -> InvalidInput:
    """Return the error for a name that several projects have."""
    several = ", ".join(sorted(matches))
    return InvalidInput(
        f"got the project {name_or_folder!r:.100}, as which {several} are known; name one of"
        " these"
    )


def _unknown(home: Home, name_or_folder: str, advice: str) -> InvalidInput:
    """Return the error for a name that no project has."""
    return InvalidInput(
        f"got the project {name_or_folder!r:.100}; {_help(home, name_or_folder, advice)}"
    )


def _help(home: Home, name_or_folder: str, advice: str) -> str:
    """Return in words which known projects have the nearest names, and what to do."""
    projects = _all_projects(home)
    if not projects:
        return f"no project is known yet: {advice}"
    places = home.journal.places()
    names = dict.fromkeys(projects)
    for project in projects:
        names.update(dict.fromkeys(sorted(_names_of(places, project))))
    word = Path(name_or_folder).name or name_or_folder
    nearest = difflib.get_close_matches(word, names, n=_MOST_NEAREST)
    if len(nearest) < 2:
        (best,) = difflib.get_close_matches(word, names, n=1, cutoff=0)
        return f"the nearest that is known is {best!r}: give that, or {advice}"
    quoted = ", ".join(map(repr, nearest))
    return f"the nearest that are known are {quoted}: give one of these, or {advice}"


def project_rows(home: Home) -> list[dict[str, Any]]:
    """Return the projects of a home, the most recently active first.

    Each has project: its id; name: what its folder is called now; paths: the folders
    that its id was bound to, the latest last; events: how many were captured in it;
    last_at: the time of the last (µs UTC), None without one; merged: the ids of those
    that were merged into it.
    """
    places = home.journal.places()
    with home.views.reading(projects_view(home)) as view:
        counts = view.rows["count"].tolist()
        times = view.rows["last_at"].tolist()
        captured = {}
        for name, count, last_at in zip(view.names, counts, times, strict=True):
            if name:
                captured[name] = (count, last_at)
    bound_projects = [places.current(project) for project in places.bound]
    projects = dict.fromkeys([*known_projects(home), *bound_projects])
    rows: list[dict[str, Any]] = []
    for project in projects:
        n_events, last_at = captured.get(project, (0, None))
        rows.append(
            {
                "project": project,
                "name": _folder_name(places, project),
                "paths": places.paths_of(project),
                "events": n_events,
                "last_at": last_at,
                "merged": places.names_of(project)[1:],
            }
        )
    return rows


def merge_projects(home: Home, old: str, new: str) -> dict[str, Any]:
    """Note that a project was merged into another.

    Returns:
        Both, and how many events of the first there are.

    Raises:
        InvalidInput: As `journal.identity.merge_into`; or no project has a name, or
            several have it.
    """
    source = _one_id(home, old)
    target = _one_id(home, new)
    with home.views.reading(projects_view(home)) as view:
        n_events = view.events_of(source)
    merge_into(home.journal, source, target)
    return {
        "project": home.journal.places().current(target),
        "from": source,
        "events": n_events,
    }


def _folder_name(places: Places, project: str) -> str:
    """Return what the folder of a project was called when it was last bound.

    Without one it is what the project's id begins with.
    """
    paths = places.paths_of(project)
    if paths:
        return name_of(paths[-1])
    return _short_name(project) or project


def _short_name(project: str) -> str:
    """Return the name before the hash of a project's id, all of one without a hash.

    >>> _short_name("till-0a1b2c3d"), _short_name("getspecstory")
    ('till', 'getspecstory')
    """
    return _HASH.sub("", project)


def _one_id(home: Home, name_or_folder: str) -> str:
    """Return the id that a project is called by, also of one that was merged.

    Raises:
        InvalidInput: No project is called so, or several are.
    """
    matches = _ids_called(home, name_or_folder)
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise _several(name_or_folder, matches)
    raise _unknown(home, name_or_folder, "see `theorex projects`, which lists all")
