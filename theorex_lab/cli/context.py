"""What commands work with: the lab that the common options name, and the file of a picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from theorex_lab import console
from theorex_lab.errors import InvalidInput
from theorex_lab.project import project_of

if TYPE_CHECKING:
    from theorex_lab.lab import Lab


def open_lab(*, all_projects: bool = False) -> Lab:
    """The lab of the home that the options name, for the project that they name, else the working folder's."""
    from theorex_lab.core.settings import load_settings
    from theorex_lab.lab import Lab

    named = "" if all_projects else console.given_options().get("project")
    here = "" if named == "" else _project_here()
    lab = Lab(console.named_home(), clock=console.named_clock(), project=here)
    click.get_current_context().call_on_close(lab.close)
    if (preset := console.given_options().get("preset")) is not None:
        lab.settings = load_settings(lab.config_file, preset=preset)
    if named:
        lab.home.project = _project_called(lab, named)
    return lab


def write_picture(picture: str | None, plot: Callable[..., Any]) -> None:
    """Write what `plot(ax=…)` draws into a PNG file, where one is asked for."""
    if picture is not None:
        from theorex_lab.experiments.draw.explorer import drawn

        console.write_whole(Path(picture), drawn(plot), "--picture")


def _project_here() -> str:
    try:
        return project_of(str(Path.cwd()))
    except OSError:  # the folder was removed
        return ""


def _project_called(lab: Lab, name: str) -> str:
    """The project of that name, else of the folder at that path. Raises InvalidInput where there is neither."""
    from theorex_lab.memory.projects import find_project

    try:
        return find_project(lab.home, name)
    except InvalidInput:
        if (folder := Path(name).expanduser()).is_dir():
            return project_of(str(folder.absolute()))
        raise
