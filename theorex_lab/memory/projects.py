"""The projects that a home has memory of, and one of them by the name that a person gives."""

import difflib
from collections.abc import Sequence
from functools import cache

import numpy as np

from theorex_lab.errors import InvalidInput
from theorex_lab.home import Home
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Event
from theorex_lab.journal.view import View
from theorex_lab.search.items import MARKS

_HASH_CHARACTERS = 9  # a dash and eight digits


class Projects(View):
    """Projects with what happened in them: count of events, last_at (µs) and last_seq; '' for what is of none."""

    name = "projects"
    code = 1
    kinds = (*"observation document outcome trace_started task_submitted tool_used prompt turn_ended session_ended".split(),
             *MARKS)  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.names = Names()
        self.rows = Table(count="i8", last_at="i8", last_seq="i8")

    def fold(self, events: Sequence[Event]) -> None:
        """Count the events, and note the last."""
        numbers = np.array([self.names.number(event.body.get("project", "")) for event in events], np.int64)
        self.rows.grow(len(self.names) - len(self.rows))
        np.add.at(self.rows["count"], numbers, 1)
        np.maximum.at(self.rows["last_at"], numbers, np.array([event.at for event in events], np.int64))
        np.maximum.at(self.rows["last_seq"], numbers, np.array([event.seq for event in events], np.int64))

    def events_of(self, project: str) -> int:
        """How many events were captured in a project."""
        number = self.names.find(project)
        return 0 if number is None else int(self.rows["count"][number])


def projects_view(home: Home) -> type[Projects]:
    """The view of a home's projects, which also counts the events of its designs."""
    return _with_kinds((*Projects.kinds, *sorted({kind for design in home.designs for kind in design.kinds})))


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
    """The project that is called so: by its whole name, or by the name before its hash where only one has it.

    Raises InvalidInput for a name that no project has, and for one that several have.
    """
    known = list(dict.fromkeys([*known_projects(home), *filter(None, [home.project])]))
    if given in known:
        return given
    short = {name: name[:-_HASH_CHARACTERS] for name in known}
    found = [name for name in known if short[name] == given]
    if len(found) == 1:
        return found[0]
    if found:
        several = ", ".join(sorted(found))
        raise InvalidInput(f"got the project {given!r}, as which {several} are known; name one of these")
    nearest = difflib.get_close_matches(str(given), [*known, *short.values()], n=1, cutoff=0)
    near = f"the nearest that is known is {nearest[0]!r}" if nearest else "no project is known yet"
    raise InvalidInput(f"got the project {given!r:.100}; {near}: give that, or leave it out for all")
