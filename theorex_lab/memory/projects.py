"""The projects that a home has memory of, and one of them by the name that a person
gives.
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
    """Projects with what happened in them: count of events, last_at (µs) and last_seq;
    '' for what is of none.
    """

    name = "projects"
    code = 1
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
        numbers = np.array(
            [self.names.number(event.body.get("project", "")) for event in events],
            np.int64,
        )
        self.rows.grow(len(self.names) - len(self.rows))
        np.add.at(self.rows["count"], numbers, 1)
        np.maximum.at(
            self.rows["last_at"],
            numbers,
            np.array([event.at for event in events], np.int64),
        )
        np.maximum.at(
            self.rows["last_seq"],
            numbers,
            np.array([event.seq for event in events], np.int64),
        )

    def events_of(self, project: str) -> int:
        """How many events were captured in a project."""
        number = self.names.find(project)
        return 0 if number is None else int(self.rows["count"][number])


def projects_view(home: Home) -> type[Projects]:
    """The view of a home's projects, which also counts the events of its designs."""
    return _with_kinds(
        (
            *Projects.kinds,
            *sorted({kind for design in home.designs for kind in design.kinds}),
        )
    )


@cache
def _with_kinds(kinds: tuple[str, ...]) -> type[Projects]:
    """The same class for the same kinds, so that views are found by it."""
    return type("HomeProjects", (Projects,), {"kinds": kinds})


def known_projects(home: Home) -> list[str]:
    """The projects that something was captured in, the most recently active first."""
    with home.views.reading(projects_view(home)) as view:
        order = np.lexsort((-view.rows["last_seq"], -view.rows["last_at"])).tolist()
        return [name for row in order if (name := view.names[row])]


def find_project(home: Home, given: str) -> str:
    """The project that is called so: by its whole name, or by the name before its hash
    where only one has it.

    Raises InvalidInput for a name that no project has, and for one that several have.
    """
    places = home.journal.places()
    known = list(dict.fromkeys([*known_projects(home), *filter(None, [home.project])]))
    if given in known or given in places.bound or given in places.merged:
        return places.current(given)
    known = list(dict.fromkeys([*known, *map(places.current, places.bound)]))
    short = {name: name[:-_HASH_CHARACTERS] for name in known}
    found = [name for name in known if short[name] == given]
    if len(found) == 1:
        return found[0]
    if found:
        several = ", ".join(sorted(found))
        raise InvalidInput(
            f"got the project {given!r}, as which {several} are known; name one of"
            " these"
        )
    nearest = difflib.get_close_matches(
        str(given), [*known, *short.values()], n=1, cutoff=0
    )
    near = (
        f"the nearest that is known is {nearest[0]!r}"
        if nearest
        else "no project is known yet"
    )
    raise InvalidInput(
        f"got the project {given!r:.100}; {near}: give that, or leave it out for all"
    )


def project_rows(home: Home) -> list[dict[str, Any]]:
    """The projects of a home, the most recently active first.

    project: its id.  name: what its folder is called now.  paths: the folders that its
    id was bound to, the latest last. events: how many were captured in it.  last_at:
    the time of the last (µs UTC), None without one.  merged: the ids of those that were
    merged into it.
    """
    places = home.journal.places()
    with home.views.reading(projects_view(home)) as view:
        captured = {
            name: (int(view.rows["count"][row]), int(view.rows["last_at"][row]))
            for row, name in enumerate(view.names)
            if name
        }
    ids = dict.fromkeys([*known_projects(home), *map(places.current, places.bound)])
    rows: list[dict[str, Any]] = []
    for project in ids:
        events, last_at = captured.get(project, (0, None))
        paths = places.paths_of(project)
        name = _folder_name(home, project)
        merged = places.names_of(project)[1:]
        row = {"project": project, "name": name, "paths": paths, "events": events}
        rows.append({**row, "last_at": last_at, "merged": merged})
    return rows


def merge_projects(home: Home, old: str, new: str) -> dict[str, Any]:
    """Note that a project was merged into another; returns both, and how many events of
    the first there are.

    Raises InvalidInput as `identity.merge_into`, and for a name that no project has, or
    several.
    """
    source = _named(home, old)
    target = _named(home, new)
    with home.views.reading(projects_view(home)) as view:
        events = view.events_of(source)
    merge_into(home.journal, source, target)
    return {
        "project": home.journal.places().current(target),
        "from": source,
        "events": events,
    }


def _folder_name(home: Home, project: str) -> str:
    """What the folder of a project was called when it was last bound; without one what
    its id begins with.
    """
    paths = home.journal.places().paths_of(project)
    return name_of(paths[-1]) if paths else project[:-_HASH_CHARACTERS] or project


def _named(home: Home, given: str) -> str:
    """The id that a project is called by, also of one that was merged; raises
    InvalidInput, which lists what is known.
    """
    places = home.journal.places()
    ids = list(dict.fromkeys([*known_projects(home), *places.bound]))
    if given in ids or given in places.merged:
        return given
    bound = places.folders.get(os.path.realpath(Path(given).expanduser()))
    if bound is not None and os.sep in given:
        return places.current(bound.project)
    current = {project: places.current(project) for project in ids}
    named = [
        project
        for project in ids
        if given in (project[:-_HASH_CHARACTERS], _folder_name(home, current[project]))
    ]
    if len(named) == 1:
        return named[0]
    listed = ", ".join(sorted(named or ids)) or "none yet"
    what = (
        "which several projects are called" if named else "which no project is called"
    )
    raise InvalidInput(
        f"got {given!r:.100}, {what}; known are {listed}: give one of these ids"
    )
