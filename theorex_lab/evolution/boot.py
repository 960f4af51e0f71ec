"""What agents are given next: the context of a session, with what failed of late, and the reminders for its prompts."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from theorex_lab.evolution.what_failed import WHAT_FAILED
from theorex_lab.home import Home
from theorex_lab.memory.context import ChosenLines, Context, choose, render
from theorex_lab.memory.context_file import CONTEXT_FILE, CONTEXTS_FOLDER, NO_PROJECT, project_context, write_context
from theorex_lab.memory.marks import find_item, mark
from theorex_lab.memory.projects import known_projects
from theorex_lab.memory.prompt_cache import fill_cache


def boot_context(home: Home, *, tokens: int | None = None, query: str = "") -> Context:
    """What the next session is given now, within `tokens` (default: the setting contextTokens)."""
    return render(home, home.clock.now(), more=[WHAT_FAILED], tokens=tokens, query=query)


def boot_lines(home: Home, *, tokens: int | None = None, query: str = "") -> ChosenLines:
    """The lines that make up `boot_context`."""
    return choose(home, home.clock.now(), more=[WHAT_FAILED], tokens=tokens, query=query)


def boot_inject(home: Home, output: Path) -> Context:
    """Render the context into `output`, which is replaced as a whole, and in a project into its own file too.

    What is of no project is rendered as well, for the sessions of those without a file. Raises StorageError where that fails.
    """
    rendered = write_context(output, home.views.folder, lambda: boot_context(home))
    boot_projects(home, [home.project] if home.project else [])
    return rendered


def boot_projects(home: Home, projects: Sequence[str]) -> None:
    """Render the context of each project into its own file, and what is of none for those that have no file.

    Raises StorageError where that fails.
    """
    for project in [*projects, NO_PROJECT]:
        there = home.in_project(project)
        write_context(project_context(home.folder, project), home.views.folder, partial(boot_context, there))


def mark_item(home: Home, kind: str, given: str, *, text: str = "", undo: bool = False) -> str:
    """Append what a person says of an item, and render every context that lies in the home again; returns the item's id.

    kind: pinned, dismissed or corrected.  given: the item's id, or the beginning that it alone has.  text: its correction.
    Raises InvalidInput as `find_item` and `mark`, and StorageError.
    """
    found = find_item(home, given, lambda: boot_context(home).items)
    mark(home, kind, found, text=text, undo=undo)
    if (file := home.folder / CONTEXT_FILE).exists():
        boot_inject(home.in_project(""), file)
    if rendered := sorted((home.folder / CONTEXTS_FOLDER).glob("[!.]*.md")):
        boot_projects(home, [file.stem for file in rendered if file.stem != NO_PROJECT])
    return found.id


def refresh(home: Home, most_projects: int) -> tuple[Context, int]:
    """Bring all up to date that hooks give: the reminders, the context of all, and those of the projects that were active last.

    Of a home of a project that project's. Returns the context of all, and of how many projects one was rendered. Raises
    StorageError where a file cannot be written.
    """
    projects = home.projects or known_projects(home)[:most_projects]
    fill_cache(home)
    context = write_context(home.folder / CONTEXT_FILE, home.views.folder, partial(boot_context, home.in_project("")))
    boot_projects(home, projects)
    return context, len(projects)
