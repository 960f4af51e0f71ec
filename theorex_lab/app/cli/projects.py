"""Commands of projects: they list the projects and join two."""

from collections.abc import Iterable
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import click

from theorex_lab.app.cli.context import open_lab
from theorex_lab.core.clock import to_datetime
from theorex_lab.core.errors import TheorexError
from theorex_lab.core.git_repository import GitRepository
from theorex_lab.core.ids import SCANNER
from theorex_lab.files import command_line
from theorex_lab.files.command_line import command, emit, one_row
from theorex_lab.journal.event import new_event
from theorex_lab.journal.places import ROOTS
from theorex_lab.store.lab import Lab

ProjectRow = dict[str, Any]  # as `Lab.projects` gives it
Roots = dict[str, set[str]]  # project -> its first commits

_MOST_ROOTS = 100


class MergeHint(NamedTuple):
    """Two projects that may be one.

    Attributes:
        old: The project whose folder is gone.
        new: The project whose folder is there.
        do: The command that makes the two one.
    """

    old: str
    new: str
    do: str


_ABOUT = """A project is a git repository or a folder; each has a memory of its own.

Each line has the id, the name, the number of events, the day of the last one, and the
folders.

A project keeps its id where its folder is moved. A repository that was copied from
another disk, or moved before the memory knew it, gets another id; `theorex projects
merge OLD NEW` then joins the two.

JSON: {projects: [{project, name, paths, events, last_at, merged}], hints: [{old, new,
do}]}
"""


def _list_projects() -> None:
    """Show the projects, unless a command below was called."""
    if click.get_current_context().invoked_subcommand is not None:
        return
    lab = open_lab(all_projects=True)
    rows = lab.projects()
    hints = _hints(lab, rows)
    lines = [_line(row) for row in rows]
    if not rows:
        lines.append("no project is known yet")
    for hint in hints:
        pair = f"{hint.old} and {hint.new}"
        relation = f"{pair} begin with the same commit, as copies and forks do"
        advice = f"if they are one: {hint.do}"
        lines.append(f"({relation}; {advice})")
    hint_rows = [hint._asdict() for hint in hints]
    text = "\n".join(lines)
    emit({"projects": rows, "hints": hint_rows}, text)


@command("merge", "Join two projects.")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
def projects_merge(old: str, new: str) -> None:
    """Everything captured in OLD, before and after the merge, belongs to NEW.

    OLD and NEW are ids, or names or folders that only one project has. `theorex
    projects` lists them. A merge cannot be undone, so make a backup first (`theorex
    backup FILE`).

    JSON: {project, from, events}
    """
    lab = open_lab(all_projects=True)
    merged = lab.merge_projects(old, new)
    former = merged["from"]
    project = merged["project"]
    n_events = merged["events"]
    emit(merged, f"{former} is now part of {project}, with its {n_events} events")


_options: dict[str, Any] = {
    "help": _ABOUT,
    "params": [*command_line.COMMON_OPTIONS],
    "invoke_without_command": True,
}
projects = command_line.CommandGroup(
    "projects", {"merge": projects_merge}, callback=_list_projects, **_options
)


def note_roots(lab: Lab) -> None:
    """Note the first commits of the lab's project, once.

    By them it is recognized where its folder is another by then.
    """
    project = lab.home.project
    paths = lab.journal.places().paths_of(project)
    if not paths or project in _roots(lab):
        return
    try:
        repository = GitRepository.at(paths[-1])
        output = repository.run("rev-list", "--max-parents=0", "HEAD", "--")
    except TheorexError:  # no git, no commit, or not ours to read
        return
    commits = output.decode("ascii", "replace").split()
    body = {"project": project, "roots": commits[:_MOST_ROOTS]}
    now = lab.clock.now()
    event = new_event(ROOTS, body, agent=SCANNER, at=now)
    lab.journal.append([event])


def _roots(lab: Lab) -> Roots:
    """Return the first commits of each project, as far as they were noted."""
    roots: Roots = {}
    for event in lab.journal.tail(0, kinds=[ROOTS]):
        project = event.body.get("project")
        commits = event.body.get("roots")
        if not isinstance(project, str):
            continue
        if not isinstance(commits, list):
            continue
        roots_of_project = roots.setdefault(project, set())
        roots_of_project.update(map(str, commits))
    return roots


def _has_folder(paths: Iterable[str]) -> bool:
    """Return whether one of the paths is a folder."""
    folders = map(Path, paths)
    return any(folder.is_dir() for folder in folders)


def _hints(lab: Lab, rows: list[ProjectRow]) -> list[MergeHint]:
    """Return pairs of projects that begin with the same commit.

    In each pair the folder of the old one is gone, and that of the new one is there.
    """
    roots = _roots(lab)
    is_present: dict[str, bool] = {}
    for row in rows:
        project = row["project"]
        is_present[project] = _has_folder(row["paths"])
    hints: list[MergeHint] = []
    for old, new in permutations(is_present, 2):
        has_moved = is_present[new] and not is_present[old]
        if not has_moved:
            continue
        old_roots = roots.get(old, set())
        new_roots = roots.get(new, set())
        if old_roots & new_roots:
            do = f"theorex projects merge {old} {new}"
            hints.append(MergeHint(old, new, do))
    return hints


def _line(row: ProjectRow) -> str:
    """Return a project for people, newest folder first."""
    project = row["project"]
    name = row["name"]
    n_events = row["events"]
    last_at = row["last_at"]
    last_day = "never"
    if last_at is not None:
        last_time = to_datetime(last_at)
        last_day = f"{last_time:%Y-%m-%d}"
    newest_first = reversed(row["paths"])
    folders = ", ".join(newest_first)
    if not folders:
        folders = "no folder belongs to it"
    line = f"{project}  {name}  {n_events} events, last {last_day}  {folders}"
    merged = ", ".join(row["merged"])
    if merged:
        line += f"  (with {merged})"
    return one_row(line)
