"""Commands of projects: which there are, and making one of two."""

from typing import Any

import click

from theorex_lab.cli import open_lab
from theorex_lab.clock import to_datetime
from theorex_lab.console import command, emit, one_row


@command("projects")
def projects() -> None:
    """A project keeps its id where its folder is moved. Where a repository was copied over from another disk, or was moved
    before the memory knew where it was, it has another id: `theorex projects merge OLD NEW` makes the two one.

    JSON: {projects: [{project, name, paths, events, last_at, merged}]}
    """
    rows = open_lab(all_projects=True).projects()
    lines = [_line(row) for row in rows] or ["no project is known yet"]
    emit({"projects": rows}, "\n".join(lines))


@command("projects-merge")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
def projects_merge(old: str, new: str) -> None:
    """All that was and will be captured in OLD is found as NEW's from then on. OLD and NEW are ids, or names or folders
    that one project alone has. Nothing takes a merge back; `theorex backup FILE` before it keeps both apart.

    JSON: {project, from, events}
    """
    merged = open_lab(all_projects=True).merge_projects(old, new)
    emit(merged, f"{merged['from']} is {merged['project']} now, with its {merged['events']} events")


def _line(row: dict[str, Any]) -> str:
    last = "never" if row["last_at"] is None else f"{to_datetime(row['last_at']):%Y-%m-%d}"
    where = ", ".join(reversed(row["paths"])) or "no folder is bound to it"
    merged = f"  (with {', '.join(row['merged'])})" if row["merged"] else ""
    return one_row(f"{row['project']}  {row['name']}  {row['events']} events, last {last}  {where}{merged}")
