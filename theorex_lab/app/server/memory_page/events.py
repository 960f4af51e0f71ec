"""The events of the journal as the page shows them, and what an erasure would reach."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from theorex_lab.app.server.memory_page.scope import (
    TEXTS,
    TIME,
    EventIds,
    Project,
    in_scope,
    object_schema,
    row_schema,
    shown_projects,
    tells_the_owner,
)
from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.journal.erasing import select
from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import Route, RouteRefused
from theorex_lab.store.lab import Lab
from theorex_lab.text.redact.masking import mask
from theorex_lab.text.visible import visible

MOST_CHARACTERS = 4_000  # of one text that is shown
_READ_CHARACTERS = 20_000  # of one text that is looked through for secrets
_MOST_EVENTS = 20  # that are shown at once
_MOST_FILES = 40  # of one event
_TITLES = {
    "prompt": "Prompt",
    "turn_ended": "Last message of the agent",
    "turn_message": "Last message of the agent",
    "session_ended": "End of the session",
    "outcome": "Outcome",
    "document": "Document",
    "pinned": "Your pin",
    "dismissed": "What you dismissed",
    "corrected": "Your correction",
    "trusted": "What you trusted",
}
_TEXT_FIELDS = ("text", "message", "decision", "result", "command", "input", "response")


def shown_text(text: str) -> tuple[str, bool]:
    """Return a stored text as it may be shown, and whether something was cut off.

    What looks like a secret is masked, and characters that nobody sees are left out.
    """
    masked = visible(mask(text[:_READ_CHARACTERS]))
    is_cut = len(masked) > MOST_CHARACTERS or len(text) > _READ_CHARACTERS
    return masked[:MOST_CHARACTERS], is_cut


def event_row(event: Event) -> dict[str, Any]:
    """Return an event as the page shows it."""
    text, is_cut = shown_text(_words_of(event))
    paths = event.body.get("paths") or {}
    files = [*paths.get("edited", ()), *paths.get("read", ())]
    return {
        "id": event.id,
        "timestamp": to_iso(event.at),
        "agent": event.agent,
        "session": event.session,
        "project": event.body.get("project", ""),
        "title": _title_of(event),
        "source": str(event.body.get("source", "")),
        "text": text,
        "cut": is_cut,
        "files": [visible(path) for path in files[:_MOST_FILES]],
    }


def _title_of(event: Event) -> str:
    """Return what kind of thing an event is, in words."""
    if event.kind == "tool_used":
        return f"Tool call: {visible(event.body.get('tool', ''))[:80]}"
    if event.kind == "observation":
        kind = str(event.body.get("type", "")).replace("_", " ")
        return f"Text that was written ({visible(kind)[:80]})"
    return _TITLES.get(event.kind, "Other entry of the journal")


def _words_of(event: Event) -> str:
    """Return what an event says: its texts, else its whole body as JSON."""
    texts: list[str] = []
    for name in _TEXT_FIELDS:
        text = event.body.get(name)
        if isinstance(text, str) and text.strip():
            texts.append(text)
    if texts:
        return "\n\n".join(texts)
    if event.kind in _TITLES or event.kind == "tool_used":
        return ""
    return json.dumps(event.body, ensure_ascii=False, indent=1)


def events_in_scope(lab: Lab, ids: Sequence[str]) -> list[Event]:
    """Return the events of these ids that a lab may show, in journal order.

    What is not there, was erased or is of another project is left out.
    """
    events = lab.journal.read(ids=list(dict.fromkeys(ids)))
    projects = shown_projects(lab)
    if projects is None:
        return events
    return [event for event in events if event.body.get("project", "") in projects]


@tells_the_owner
def read_events(lab: Lab, *, ids: EventIds, project: Project = "") -> dict[str, Any]:
    """Return the events that a line rests on, the newest first."""
    events = events_in_scope(in_scope(lab, project), ids)
    newest_first = sorted(events, key=lambda event: (event.at, event.seq))[::-1]
    rows = [event_row(event) for event in newest_first[:_MOST_EVENTS]]
    return {
        "events": rows,
        "total": len(events),
        "absent": len(set(ids)) - len(events),
    }


@tells_the_owner
def reach(lab: Lab, *, ids: EventIds, project: Project = "") -> dict[str, Any]:
    """Return what an erasure of these events would erase, and erase nothing.

    That is the events themselves and all that was derived from them.
    """
    scoped_lab = in_scope(lab, project)
    reached = _reached_by(scoped_lab, ids)
    events = scoped_lab.journal.read(ids=reached[:_MOST_EVENTS])
    return {"events": [event_row(event) for event in events], "total": len(reached)}


@tells_the_owner
def erase_events(
    lab: Lab, *, ids: EventIds, expected: int, project: Project = ""
) -> dict[str, Any]:
    """Erase events and all that was derived from them, for good.

    `expected` is how many the user was told that go; where it would be others by now,
    nothing is erased.
    """
    scoped_lab = in_scope(lab, project)
    n_reached = len(_reached_by(scoped_lab, ids))
    if n_reached != expected:
        raise RouteRefused(
            409,
            f"{n_reached} events would be erased by now, and {expected} were shown; look"
            " again at what goes",
        )
    chosen = _ids_in_scope(scoped_lab, ids)
    return {"erased": len(scoped_lab.erase(ids=chosen))}


def _reached_by(lab: Lab, ids: Sequence[str]) -> list[str]:
    return select(lab.journal, ids=_ids_in_scope(lab, ids))


def _ids_in_scope(lab: Lab, ids: Sequence[str]) -> list[str]:
    """Return those of the ids that may be erased here.

    Raises:
        InvalidInput: None may be.
    """
    events = events_in_scope(lab, ids)
    if not events:
        raise InvalidInput(
            "got events that are not here: they were erased, or are of another project;"
            " load the page again"
        )
    return [event.id for event in events]


_EVENTS = row_schema(
    {
        "id": "string",
        "timestamp": TIME,
        "agent": "string",
        "session": "string",
        "project": "string",
        "title": "string",
        "source": "string",
        "text": "string",
        "cut": "boolean",
        "files": TEXTS,
    }
)
EVENT_ROUTES = (
    Route(
        "POST",
        "/memory/events",
        read_events,
        object_schema({"events": _EVENTS, "total": "integer", "absent": "integer"}),
    ),
    Route(
        "POST",
        "/memory/reach",
        reach,
        object_schema({"events": _EVENTS, "total": "integer"}),
    ),
    Route("POST", "/memory/erase", erase_events, object_schema({"erased": "integer"})),
)
