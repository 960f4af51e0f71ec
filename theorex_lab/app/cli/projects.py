"""Commands of projects: they list the projects and join two."""

from typing import Any

import click

from theorex_lab.app.cli.context import open_lab
from theorex_lab.core.clock import to_datetime
from theorex_lab.files import command_line
from theorex_lab.files.command_line import command, emit, one_row
from theorex_lab.memory.merge_hints import merge_hints, note_roots_of
from theorex_lab.store.lab import Lab

ProjectRow = dict[str, Any]  # as `Lab.projects` gives it


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
    hints = merge_hints(lab.journal, rows)
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
    note_roots_of(lab.journal, [lab.home.project])


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
