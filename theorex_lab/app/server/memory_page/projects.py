"""The projects that the page may show, and those that may be one."""

from __future__ import annotations

from typing import Any

from theorex_lab.app.server.memory_page.entries import ENTRY_ROUTES
from theorex_lab.app.server.memory_page.events import EVENT_ROUTES
from theorex_lab.app.server.memory_page.failures import FAILURE_ROUTES
from theorex_lab.app.server.memory_page.pictures import PICTURE_ROUTES
from theorex_lab.app.server.memory_page.scope import (
    TEXTS,
    TIME,
    object_schema,
    row_schema,
    tells_the_owner,
)
from theorex_lab.app.server.memory_page.sessions import SESSION_ROUTES
from theorex_lab.core.clock import to_iso
from theorex_lab.memory.contract import Route
from theorex_lab.memory.merge_hints import merge_hints
from theorex_lab.store.lab import Lab
from theorex_lab.text.visible import visible

_MOST_PROJECTS = 500


@tells_the_owner
def read_projects(lab: Lab) -> dict[str, Any]:
    """Return the projects, the most recently active first, and which may be one."""
    rows = lab.projects()
    own_project = lab.home.project
    if own_project:
        rows = [row for row in rows if row["project"] == own_project]
    hints = [] if own_project else merge_hints(lab.journal, rows)
    return {
        "home": str(lab.folder),
        "project": own_project,
        "projects": [_project_row(row) for row in rows[:_MOST_PROJECTS]],
        "hints": [hint._asdict() for hint in hints],
        "events": lab.journal.last_seq(),
    }


def _project_row(row: dict[str, Any]) -> dict[str, Any]:
    last_at = row["last_at"]
    return {
        "project": row["project"],
        "name": visible(row["name"]),
        "folders": [visible(path) for path in reversed(row["paths"])],
        "events": row["events"],
        "last_at": None if last_at is None else to_iso(last_at),
        "merged": row["merged"],
    }


PROJECT_ROUTES = (
    Route(
        "GET",
        "/memory/projects",
        read_projects,
        object_schema(
            {
                "home": "string",
                "project": "string",
                "projects": row_schema(
                    {
                        "project": "string",
                        "name": "string",
                        "folders": TEXTS,
                        "events": "integer",
                        "last_at": {"anyOf": [TIME, {"type": "null"}]},
                        "merged": TEXTS,
                    }
                ),
                "hints": row_schema({"old": "string", "new": "string", "do": "string"}),
                "events": "integer",
            }
        ),
    ),
)
PAGE_ROUTES = (
    *PROJECT_ROUTES,
    *ENTRY_ROUTES,
    *EVENT_ROUTES,
    *SESSION_ROUTES,
    *FAILURE_ROUTES,
    *PICTURE_ROUTES,
)
