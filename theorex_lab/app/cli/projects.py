"""Commands of projects: which there are, and making one of two."""

from collections.abc import Iterable
from itertools import permutations
from pathlib import Path
from typing import Any

import click

from theorex_lab.app.cli.context import open_lab
from theorex_lab.core.clock import to_datetime
from theorex_lab.core.errors import TheorexError
from theorex_lab.core.ids import SCANNER
from theorex_lab.eval.datasets.git_repository import GitRepository
from theorex_lab.files.command_line import command, emit, one_row
from theorex_lab.journal.event import new_event
from theorex_lab.journal.places import ROOTS
from theorex_lab.store.lab import Lab

_MOST_ROOTS = 100


@command("projects")
def projects() -> None:
    """A project keeps its id where its folder is moved.

    Where a repository was copied over from another disk, or was moved before the memory
    knew where it was, it has another id: `theorex projects merge OLD NEW` makes the two
    one.

    JSON: {projects: [{project, name, paths, events, last_at, merged}], hints: [{old,
    new, do}]}
    """
    lab = open_lab(all_projects=True)
    rows = lab.projects()
    hints = _hints(lab, rows)
    lines = [_line(row) for row in rows]
    if not rows:
        lines.append("no project is known yet")
    for hint in hints:
        pair = f"{hint['old']} and {hint['new']}"
        relation = f"{pair} begin with the same commit, as copies and forks do"
        lines.append(f"({relation}; if they are one: {hint['do']})")
    emit({"projects": rows, "hints": hints}, "\n".join(lines))


@command("projects-merge")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
def projects_merge(old: str, new: str) -> None:
    """All that was and will be captured in OLD is found as NEW's from then on.

    OLD and NEW are ids, or names or folders that one project alone has. Nothing takes a
    merge back; `theorex backup FILE` before it keeps both apart.

    JSON: {project, from, events}
    """
    lab = open_lab(all_projects=True)
    merged = lab.merge_projects(old, new)
    n_events = merged["events"]
    text = f"{merged['from']} is {merged['project']} now, with its {n_events} events"
    emit(merged, text)


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
    event = new_event(ROOTS, body, agent=SCANNER, at=lab.clock.now())
    lab.journal.append([event])


def _roots(lab: Lab) -> dict[str, set[str]]:
    """Return the first commits of each project, as far as they were noted."""
    roots: dict[str, set[str]] = {}
    for event in lab.journal.tail(0, kinds=[ROOTS]):
        project = event.body.get("project")
        commits = event.body.get("roots")
        if not isinstance(project, str) or not isinstance(commits, list):
            continue
        roots_of_project = roots.setdefault(project, set())
        roots_of_project.update(map(str, commits))
    return roots


def _has_folder(paths: Iterable[str]) -> bool:
    """Return whether one of the paths is a folder."""
    return any(Path(path).is_dir() for path in paths)


def _hints(lab: Lab, rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return pairs of projects that begin with the same commit.

    In each pair the folder of the old one is gone, and that of the new one is there.
    """
    roots = _roots(lab)
    is_present: dict[str, bool] = {}
    for row in rows:
        is_present[row["project"]] = _has_folder(row["paths"])
    hints: list[dict[str, str]] = []
    for old, new in permutations(is_present, 2):
        has_moved = is_present[new] and not is_present[old]
        if not has_moved:
            continue
        shared = roots.get(old, set()) & roots.get(new, set())
        if shared:
            do = f"theorex projects merge {old} {new}"
            hints.append({"old": old, "new": new, "do": do})
    return hints


def _line(row: dict[str, Any]) -> str:
    """Return a project for people, newest folder first."""
    last_day = "never"
    if row["last_at"] is not None:
        last_day = f"{to_datetime(row['last_at']):%Y-%m-%d}"
    folders = ", ".join(reversed(row["paths"])) or "no folder is bound to it"
    line = f"{row['project']}  {row['name']}  "
    line += f"{row['events']} events, last {last_day}  {folders}"
    if row["merged"]:
        line += f"  (with {', '.join(row['merged'])})"
    return one_row(line)
