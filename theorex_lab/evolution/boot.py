"""The context of the next session: what the designs remember, and what failed of late."""

from __future__ import annotations

from pathlib import Path

from theorex_lab.evolution.what_failed import WHAT_FAILED
from theorex_lab.home import Home
from theorex_lab.memory.context import Context, render
from theorex_lab.memory.context_file import project_context, write_context


def boot_context(home: Home, *, tokens: int | None = None) -> Context:
    """What the next session is given now, within `tokens` (default: the setting contextTokens)."""
    return render(home, home.clock.now(), more=[WHAT_FAILED], tokens=tokens)


def boot_inject(home: Home, output: Path) -> Context:
    """Render the context into `output`, which is replaced as a whole, and in a project into its own file too.

    Raises StorageError where that fails.
    """
    rendered = write_context(output, home.views.folder, lambda: boot_context(home))
    if home.project:
        boot_project(home, home.project)
    return rendered


def boot_project(home: Home, project: str) -> Context:
    """Render the context of a project into its own file. Raises StorageError where that fails."""
    there = home.in_project(project)
    return write_context(project_context(home.folder, project), home.views.folder, lambda: boot_context(there))
