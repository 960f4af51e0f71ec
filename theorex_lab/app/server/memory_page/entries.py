"""What is remembered: the briefing, what a search finds, and what a person changed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from theorex_lab.app.server.memory_page.scope import (
    TEXTS,
    TIME,
    ItemId,
    Limit,
    Offset,
    Project,
    in_scope,
    object_schema,
    row_schema,
    tells_the_owner,
)
from theorex_lab.core.clock import to_iso
from theorex_lab.memory.annotations import known_item
from theorex_lab.memory.briefing.briefing import FEWEST_TOKENS
from theorex_lab.memory.briefing.candidates import bare_text
from theorex_lab.memory.briefing.marked_lines import LineMark
from theorex_lab.memory.briefing.recorded_marks import line_marks
from theorex_lab.memory.contract import Route
from theorex_lab.memory.retrieve import Hits
from theorex_lab.search.items import MARKS
from theorex_lab.search.lexical import matching_part
from theorex_lab.store.lab import Lab
from theorex_lab.text.line import folded, one_line
from theorex_lab.text.redact.masking import mask
from theorex_lab.text.visible import visible

_MOST_HITS = 200  # of one search, page by page
_HIT_CHARACTERS = 240
_WORDS_CHARACTERS = 2_000  # of a text that may be corrected
_MOST_EVENTS_OF_A_HIT = 200

BriefingTokens = Annotated[
    int,
    Field(
        description="The budget in tokens; leave it out for that of a session's start.",
        ge=FEWEST_TOKENS,
        le=10_000,
    ),
]
Prompt = Annotated[
    str,
    Field(
        description="A prompt; leave it out for what a session starts with.",
        max_length=10_000,
    ),
]
SearchWords = Annotated[
    str,
    Field(description="What is searched for.", max_length=1_000, pattern=r"\S"),
]
MarkText = Annotated[
    str, Field(description="The words that stand for it.", max_length=4_000)
]
Undo = Annotated[bool, Field(description="Take it back.")]
History = Annotated[
    bool,
    Field(description="Also older statements that a newer one replaces."),
]


@tells_the_owner
def read_briefing(
    lab: Lab,
    *,
    project: Project = "",
    query: Prompt = "",
    tokens: BriefingTokens | None = None,
) -> dict[str, Any]:
    """Return the briefing as an agent would read it now.

    Nothing is noted as given to an agent: a person looks.
    """
    scoped_lab = in_scope(lab, project)
    budget = tokens or scoped_lab.settings.context_tokens
    briefing = scoped_lab.briefing(query or None, tokens=budget)
    marks = _marks_by_id(scoped_lab)
    rows = []
    for line in briefing.lines:
        row = {
            "id": line.id,
            "section": line.section,
            "text": visible(mask(line.text)),
            "words": visible(mask(bare_text(line.text))),
            "why": line.why,
            "timestamp": to_iso(line.timestamp),
            "events": list(line.events),
        }
        rows.append(row | _mark_row(marks.get(line.id)))
    return {
        "text": briefing.text,
        "tokens": briefing.tokens,
        "problem": briefing.problem,
        "lines": rows,
    }


@tells_the_owner
def search_page(
    lab: Lab,
    *,
    query: SearchWords,
    project: Project = "",
    offset: Offset = 0,
    limit: Limit = 10,
    history: History = False,
) -> dict[str, Any]:
    """Return what the search of the product finds, page by page."""
    scoped_lab = in_scope(lab, project)
    last = min(offset + limit, _MOST_HITS)
    hits = scoped_lab.search(
        query,
        limit=min(last + 1, _MOST_HITS),
        vectors=lab.settings.search_vectors,
        history=history,
    )
    marks = _marks_by_id(scoped_lab)
    rows = []
    for number in range(offset, min(last, len(hits))):
        row = _hit_row(scoped_lab, hits, number)
        rows.append(row | _mark_row(marks.get(row["id"])))
    return {"hits": rows, "more": len(hits) > last, "notes": list(hits.notes)}


def _hit_row(lab: Lab, hits: Hits, number: int) -> dict[str, Any]:
    """Return one result of a search as the page shows it."""
    hit = hits[number]
    text = visible(mask(hit.text))
    found_by = ", ".join(hits.signals[number]) or "no signal alone"
    item = known_item(lab.home, hit.id)
    events = (
        [event.id for event in item.events if event.kind not in MARKS] if item else []
    )
    return {
        "id": hit.id,
        "section": hit.kind.replace("_", " "),
        "text": matching_part(text, hits.query, _HIT_CHARACTERS),
        "words": folded(text[:_WORDS_CHARACTERS]),
        "subject": one_line(mask(hit.subject)),
        "agent": hit.agent,
        "score": round(hit.score, 3),
        "why": f"found by {found_by}",
        "timestamp": to_iso(hit.timestamp),
        "replaced_at": None if hit.replaced_at is None else to_iso(hit.replaced_at),
        "events": events[:_MOST_EVENTS_OF_A_HIT],
    }


@tells_the_owner
def page_changes(lab: Lab, *, project: Project = "") -> dict[str, Any]:
    """Return what a person pinned, corrected, dismissed or trusted, the last first."""
    marks = _marks_by_id(in_scope(lab, project)).values()
    newest_first = sorted(marks, key=lambda mark: -mark.at)
    rows = []
    for mark in newest_first:
        row = {
            "id": mark.id,
            "section": mark.section,
            "text": visible(_mask_or_id(mark)),
            "timestamp": to_iso(mark.at),
        }
        rows.append(row | _mark_row(mark))
    return {"changes": rows}


def _mask_or_id(mark: LineMark) -> str:
    """Return the text of what was marked; what makes no line is told by its id."""
    return mask(mark.text) or f"an item without a line: {mark.id}"


@tells_the_owner
def mark_entry(
    lab: Lab,
    *,
    action: Literal["pin", "dismiss", "correct", "trust"],
    item: ItemId,
    text: MarkText = "",
    undo: Undo = False,
    project: Project = "",
) -> dict[str, Any]:
    """Pin, dismiss, correct or trust a line or an item, or take that back.

    It is what `theorex pin`, `dismiss`, `correct` and `trust` do, as the user's word.
    """
    scoped_lab = in_scope(lab, project)
    if action == "correct":
        return {"item": scoped_lab.correct(item, text, undo=undo)}
    run = {
        "pin": scoped_lab.pin,
        "dismiss": scoped_lab.dismiss,
        "trust": scoped_lab.trust,
    }
    return {"item": run[action](item, undo=undo)}


def _marks_by_id(lab: Lab) -> dict[str, LineMark]:
    return {mark.id: mark for mark in line_marks(lab.home, lab.clock.now())}


def _mark_row(mark: LineMark | None) -> dict[str, Any]:
    """Return what a person says of an entry."""
    if mark is None:
        mark = LineMark("", "", 0)
    return {
        "pinned": mark.is_pinned,
        "dismissed": mark.is_dismissed,
        "trusted": mark.trusted_at > 0,
        "correction": visible(mask(mark.correction)),
    }


_MARKED: dict[str, Any] = {
    "pinned": "boolean",
    "dismissed": "boolean",
    "trusted": "boolean",
    "correction": "string",
}
_ENTRY: dict[str, Any] = {
    "id": "string",
    "section": "string",
    "text": "string",
    "words": "string",
    "why": "string",
    "timestamp": TIME,
    "events": TEXTS,
    **_MARKED,
}
_HIT = {**_ENTRY, "subject": "string", "agent": "string", "score": "number"}
_CHANGE = {
    name: schema
    for name, schema in _ENTRY.items()
    if name not in ("words", "why", "events")
}
ENTRY_ROUTES = (
    Route(
        "GET",
        "/memory/briefing",
        read_briefing,
        object_schema(
            {
                "text": "string",
                "tokens": "integer",
                "problem": "string",
                "lines": row_schema(_ENTRY),
            }
        ),
    ),
    Route(
        "GET",
        "/memory/search",
        search_page,
        object_schema({"hits": row_schema(_HIT), "more": "boolean", "notes": TEXTS}),
    ),
    Route(
        "GET",
        "/memory/changes",
        page_changes,
        object_schema({"changes": row_schema(_CHANGE)}),
    ),
    Route("POST", "/memory/mark", mark_entry, object_schema({"item": "string"})),
)
