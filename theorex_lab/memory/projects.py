"""The projects that a home has memory of.

One of them is found by the name that a person gives.
"""

import difflib
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.project import name_of
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Event
from theorex_lab.journal.identity import merge_into
from theorex_lab.journal.view import View
from theorex_lab.memory.contract import Home
from theorex_lab.search.items import MARKS

_HASH_CHARACTERS = 9  # a dash and eight digits


class Projects(View):
    """Projects with what happened in them.

    Attributes:
        names: The names; '' is none.
        rows: By project, the count of events, last_at (µs) and last_seq.
    """

    name = "projects"
    code = 2
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
        numbers = []
        for event in events:
            project = event.body.get("project", "")
            numbers.append(self.names.number(project))
        rows = np.array(numbers, np.int64)
        times = np.array([event.at for event in events], np.int64)
        event_seqs = np.array([event.seq for event in events], np.int64)
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
    with home.views.reading(projects_view(home)) as view:
        newest_seq_first = -view.rows["last_seq"]
        newest_first = -view.rows["last_at"]
        order = np.lexsort((newest_seq_first, newest_first))
        names = [view.names[row] for row in order.tolist()]
    return [name for name in names if name]


def find_project(home: Home, given: str) -> str:
    """Return the project that is called so.

    It is called by its whole name, or by the name before its hash where only one has
    it.

    Raises:
        InvalidInput: No project has the name, or several have it.
    """
    places = home.journal.places()
    projects = known_projects(home)
    if home.project:
        projects.append(home.project)
    if given in {*projects, *places.bound, *places.merged}:
        return places.current(given)
    bound_projects = [places.current(project) for project in places.bound]
    projects = list(dict.fromkeys([*projects, *bound_projects]))
    short_names = [_short_name(project) for project in projects]
    matches = []
    for project, short_name in zip(projects, short_names, strict=True):
        if short_name == given:
            matches.append(project)
    if len(matches) == 1:
        return matches[0]
    if matches:
        several = ", ".join(sorted(matches))
        raise InvalidInput(
            f"got the project {given!r}, as which {several} are known; name one of"
            " these"
        )
    names = [*projects, *short_names]
    nearest = difflib.get_close_matches(str(given), names, n=1, cutoff=0)
    near = "no project is known yet"
    if nearest:
        near = f"the nearest that is known is {nearest[0]!r}"
    raise InvalidInput(
        f"got the project {given!r:.100}; {near}: give that, or leave it out for all"
    )


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
                "name": _folder_name(home, project),
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
    source = _project_called(home, old)
    target = _project_called(home, new)
    with home.views.reading(projects_view(home)) as view:
        n_events = view.events_of(source)
    merge_into(home.journal, source, target)
    return {
        "project": home.journal.places().current(target),
        "from": source,
        "events": n_events,
    }


def _folder_name(home: Home, project: str) -> str:
    """Return what the folder of a project was called when it was last bound.

    Without one it is what the project's id begins with.
    """
    paths = home.journal.places().paths_of(project)
    if paths:
        return name_of(paths[-1])
    return _short_name(project) or project


def _short_name(project: str) -> str:
    """Return the name before the hash of a project's id."""
    return project[:-_HASH_CHARACTERS]


def _project_called(home: Home, given: str) -> str:
    """Return the id that a project is called by, also of one that was merged.

    Raises:
        InvalidInput: No project is called so, or several are; the message lists them.
    """
    places = home.journal.places()
    projects = list(dict.fromkeys([*known_projects(home), *places.bound]))
    if given in projects or given in places.merged:
        return given
    path = os.path.realpath(Path(given).expanduser())
    bound = places.folders.get(path)
    if bound is not None and os.sep in given:
        return places.current(bound.project)
    matches = []
    for project in projects:
        folder_name = _folder_name(home, places.current(project))
        if given in (_short_name(project), folder_name):
            matches.append(project)
    if len(matches) == 1:
        return matches[0]
    raise _no_one_project(given, matches, projects)


def _no_one_project(
    given: str, matches: Sequence[str], projects: Sequence[str]
) -> InvalidInput:
    """Return the error for a name that no project, or more than one, is called by."""
    problem = "which no project is called"
    if matches:
        problem = "which several projects are called"
    choices = ", ".join(sorted(matches or projects)) or "none yet"
    return InvalidInput(
        f"got {given!r:.100}, {problem}; known are {choices}: give one of these ids"
    )
