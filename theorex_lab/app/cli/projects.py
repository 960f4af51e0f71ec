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
    lines = [_line(row) for row in rows] or ["no project is known yet"]
    for hint in hints:
        relation = (
            f"{hint['old']} and {hint['new']} begin with the same commit, as copies and"
            " forks do"
        )
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
    merged = open_lab(all_projects=True).merge_projects(old, new)
    emit(
        merged,
        f"{merged['from']} is {merged['project']} now, with its {merged['events']} events",
    )


def note_roots(lab: Lab) -> None:
    """Note the first commits of the lab's project once, so that it is recognized where
    its folder is another by then.
    """
    project = lab.home.project
    paths = lab.journal.places().paths_of(project)
    if not paths or project in _roots(lab):
        return
    try:
        listed = GitRepository.at(paths[-1]).run(
            "rev-list", "--max-parents=0", "HEAD", "--"
        )
    except TheorexError:  # no git, no commit, or not ours to read
        return
    roots = listed.decode("ascii", "replace").split()[:_MOST_ROOTS]
    body = {"project": project, "roots": roots}
    lab.journal.append([new_event(ROOTS, body, agent=SCANNER, at=lab.clock.now())])


def _roots(lab: Lab) -> dict[str, set[str]]:
    """Return the first commits of each project, as far as they were noted."""
    roots: dict[str, set[str]] = {}
    for event in lab.journal.tail(0, kinds=[ROOTS]):
        project = event.body.get("project")
        noted = event.body.get("roots")
        if isinstance(project, str) and isinstance(noted, list):
            roots.setdefault(project, set()).update(map(str, noted))
    return roots


def _has_folder(paths: Iterable[str]) -> bool:
    """Return whether one of the paths is a folder."""
    return any(Path(path).is_dir() for path in paths)


def _hints(lab: Lab, rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return pairs of projects that begin with the same commit, where one's folder is
    gone.
    """
    roots = _roots(lab)
    is_present = {row["project"]: _has_folder(row["paths"]) for row in rows}
    hints: list[dict[str, str]] = []
    for old, new in permutations(is_present, 2):
        shared = roots.get(old, set()) & roots.get(new, set())
        if shared and is_present[new] and not is_present[old]:
            do = f"theorex projects merge {old} {new}"
            hints.append({"old": old, "new": new, "do": do})
    return hints


def _line(row: dict[str, Any]) -> str:
    last = (
        "never" if row["last_at"] is None else f"{to_datetime(row['last_at']):%Y-%m-%d}"
    )
    where = ", ".join(reversed(row["paths"])) or "no folder is bound to it"
    merged = f"  (with {', '.join(row['merged'])})" if row["merged"] else ""
    return one_row(
        f"{row['project']}  {row['name']}  {row['events']} events, last {last}  {where}{merged}"
    )
