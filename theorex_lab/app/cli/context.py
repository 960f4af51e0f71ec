"""What commands work with.

That is the lab that the common options name, and the file of a picture.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from theorex_lab.core.project import checkout_root, repository_of
from theorex_lab.files import command_line
from theorex_lab.journal.identity import project_in, unseen_project

if TYPE_CHECKING:
    from theorex_lab.store.lab import Lab


def open_lab(*, all_projects: bool = False, bind: bool = False) -> Lab:
    """Return the lab of the home that the options name.

    It is for the project that they name, else the working folder's.

    A command that writes, or `bind`, gives a folder that was never seen its id; to one
    that reads nothing is of it.
    """
    from theorex_lab.core.settings import load_settings
    from theorex_lab.store.lab import Lab

    named = "" if all_projects else command_line.given_options().get("project")
    lab = Lab(command_line.named_home(), clock=command_line.named_clock())
    click.get_current_context().call_on_close(lab.close)
    if (preset := command_line.given_options().get("preset")) is not None:
        lab.settings = load_settings(lab.config_file, preset=preset)
    is_writing = (
        "door" in command_line.given_options()
        and not click.get_current_context().params.get("dry_run")
    )
    if named is None:
        lab.home.project = _project_here(lab, bind=bind or is_writing)
    elif named:
        lab.home.project = _project_called(lab, named, bind=bind or is_writing)
    return lab


def project_folder() -> str | None:
    """Return the folder that the project is told by: the named, else the working one.

    Returns:
        The folder; None where a project is named by anything else, or the working
        folder was removed.
    """
    named = command_line.given_options().get("project")
    try:
        folder = Path(named).expanduser() if named else Path.cwd()
    except OSError:
        return None
    if not folder.is_dir() or folder.name == named:
        return None
    return str(folder)


def write_picture(picture: str | None, plot: Callable[..., Any]) -> None:
    """Write what `plot(ax=…)` draws into a PNG file, where one is asked for."""
    if picture is not None:
        from theorex_lab.eval.widgets.explorer import drawn

        command_line.write_whole(Path(picture), drawn(plot), "--picture")


def _project_here(lab: Lab, *, bind: bool) -> str:
    try:
        repository = repository_of(checkout_root(str(Path.cwd())))
    except OSError:  # the folder was removed
        return ""
    return project_in(lab.journal, repository, bind=bind) or unseen_project(repository)


def _project_called(lab: Lab, name: str, *, bind: bool) -> str:
    """Return the project of that name, else of the folder at that path.

    Raises:
        InvalidInput: There is neither.
    """
    from theorex_lab.memory.projects import UnseenFolder, find_project

    try:
        return find_project(lab.home, name, bind=bind)
    except UnseenFolder as unseen:
        return unseen.project
