"""The timeline of sessions, and what was said in one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from theorex_lab.app.server.memory_page.events import shown_text
from theorex_lab.app.server.memory_page.scope import (
    TEXTS,
    TIME,
    Limit,
    Offset,
    Project,
    in_scope,
    object_schema,
    row_schema,
    shown_projects,
    tells_the_owner,
)
from theorex_lab.core.clock import to_iso
from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import Route, RouteRefused
from theorex_lab.memory.session_list import SessionList, SessionRow
from theorex_lab.store.lab import Lab
from theorex_lab.text.line import one_line
from theorex_lab.text.redact.masking import mask
from theorex_lab.text.visible import visible

_PROMPT_CHARACTERS = 240
_MOST_FILES = 12  # of a session in the list

SessionAgent = Annotated[str, Field(description="The agent.", max_length=64)]
SessionName = Annotated[
    str, Field(description="The session.", min_length=1, max_length=256)
]


@tells_the_owner
def read_sessions(
    lab: Lab, *, project: Project = "", offset: Offset = 0, limit: Limit = 20
) -> dict[str, Any]:
    """Return the recorded sessions, the one that began last first."""
    scoped_lab = in_scope(lab, project)
    with scoped_lab.views.reading(SessionList) as view:
        numbers = view.of_projects(shown_projects(scoped_lab))
        rows = [view.session_row(number) for number in numbers[offset : offset + limit]]
    prompts = _first_prompts(scoped_lab, rows)
    current = scoped_lab.journal.places().current
    return {
        "sessions": [_session(row, prompts, current(row.project)) for row in rows],
        "total": len(numbers),
    }


def _first_prompts(lab: Lab, rows: Sequence[SessionRow]) -> dict[int, str]:
    """Return the text of each session's first prompt, by its seq."""
    seqs = sorted({row.first_prompt for row in rows} - {0})
    texts: dict[int, str] = {}
    for event in lab.journal.read(seqs=seqs):
        texts[event.seq] = one_line(mask(event.body["text"]), _PROMPT_CHARACTERS)
    return texts


def _session(row: SessionRow, prompts: dict[int, str], project: str) -> dict[str, Any]:
    return {
        "agent": row.agent,
        "session": row.session,
        "project": project,
        "first_at": to_iso(row.first_at),
        "last_at": to_iso(row.last_at),
        "events": row.events,
        "prompts": row.prompts,
        "first_prompt": prompts.get(row.first_prompt, ""),
        "files": [visible(path) for path in row.files[:_MOST_FILES]],
        "n_files": len(row.files),
        "edited": row.edited,
    }


@tells_the_owner
def read_session(
    lab: Lab,
    *,
    agent: SessionAgent,
    session: SessionName,
    project: Project = "",
    offset: Offset = 0,
    limit: Limit = 20,
) -> dict[str, Any]:
    """Return the prompts of a session and the agent's last messages, in order."""
    scoped_lab = in_scope(lab, project)
    with scoped_lab.views.reading(SessionList) as view:
        seqs = view.seqs_of(agent, session, shown_projects(scoped_lab))
    if not seqs:
        raise RouteRefused(
            404,
            f"got the session {session!r:.100} of {agent!r:.80}, in which nothing was"
            " said, or which is not here; load the page again",
        )
    events = scoped_lab.journal.read(seqs=seqs[offset : offset + limit])
    return {"steps": [_step(event) for event in events], "total": len(seqs)}


def _step(event: Event) -> dict[str, Any]:
    """Return a prompt or a message as the page shows it."""
    member = "message" if event.kind == "turn_ended" else "text"
    text, is_cut = shown_text(event.body.get(member, ""))
    return {
        "id": event.id,
        "speaker": "prompt" if event.kind == "prompt" else "agent",
        "timestamp": to_iso(event.at),
        "text": text,
        "cut": is_cut,
    }


SESSION_ROUTES = (
    Route(
        "GET",
        "/memory/sessions",
        read_sessions,
        object_schema(
            {
                "sessions": row_schema(
                    {
                        "agent": "string",
                        "session": "string",
                        "project": "string",
                        "first_at": TIME,
                        "last_at": TIME,
                        "events": "integer",
                        "prompts": "integer",
                        "first_prompt": "string",
                        "files": TEXTS,
                        "n_files": "integer",
                        "edited": "integer",
                    }
                ),
                "total": "integer",
            }
        ),
    ),
    Route(
        "GET",
        "/memory/session",
        read_session,
        object_schema(
            {
                "steps": row_schema(
                    {
                        "id": "string",
                        "speaker": {"enum": ["prompt", "agent"]},
                        "timestamp": TIME,
                        "text": "string",
                        "cut": "boolean",
                    }
                ),
                "total": "integer",
            }
        ),
    ),
)
