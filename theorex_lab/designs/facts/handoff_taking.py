"""Take over what a phase hands over, and fill the templates of the phases."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.facts import TEXT_OF, domains, notes
from theorex_lab.designs.facts.facts import facts_of
from theorex_lab.designs.facts.folder_json import decoded, read_bounded
from theorex_lab.designs.facts.handoff import Handoff, template_names, watermark_of
from theorex_lab.designs.facts.heartbeat import (
    ExtractionReport,
    keep_watermark,
)
from theorex_lab.designs.facts.settings import fact_settings
from theorex_lab.designs.facts.summaries import local_day
from theorex_lab.designs.facts.unread import watermark
from theorex_lab.memory.contract import Home
from theorex_lab.text.line import one_line

_COUNTS = ("captures", "superseded", "tensions")
_LISTED = 50  # entities or domains that a template names
_NOTE_CHARACTERS = 2_000


def take_handoff(home: Home, block: Handoff) -> dict[str, Any]:
    """Take over a sound block.

    The watermark of an extraction moves forwards, never back and never past what is
    there. Observations become notes that a model wrote.

    Returns:
        {watermark: where it stands, moved: whether it moved, notes: the ids of new
        notes}.

    Raises:
        InvalidInput: The watermark is none, or past what is there.
    """
    whole = home.in_project("")
    has_moved = False
    if block.phase == "extract":
        has_moved = keep_watermark(whole, _report(whole, block))
    note_ids = []
    for text in block.observations:
        result = notes.observe(
            home,
            text,
            "friction",
            source="model",
        )
        if result.id:
            note_ids.append(result.id)
    return {"watermark": watermark(whole), "moved": has_moved, "notes": note_ids}


def _report(home: Home, block: Handoff) -> ExtractionReport:
    """Return what an extraction says it did."""
    last = home.journal.last_seq()
    upto = watermark_of(block)
    if upto > last:
        raise InvalidInput(
            f"got new_watermark {upto}; the last note is {last}: nothing is kept"
        )
    stats = block.stats
    counts = {name: _count(stats.get(name)) for name in _COUNTS}
    # The document's block does not say how many notes were read.
    counts["captures"] = counts["captures"] or 1
    return ExtractionReport(
        upto,
        facts=_count(stats.get("facts_written")),
        **counts,
    )


def _count(value: object) -> int:
    """Return a whole number from 0; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return min(max(value, 0), 2**53)


def phase_values(home: Home) -> dict[str, str]:
    """Return what the templates of the phases are filled with."""
    whole = home.in_project("")
    today = local_day(home.clock.now(), fact_settings(home)).date()
    monday = today - timedelta(days=today.weekday())
    entities = dict.fromkeys(fact.entity for fact in facts_of(whole))
    names = domains.domains_of(whole)
    return {
        "NOW": to_iso(home.clock.now()),
        "WATERMARK": f"L{watermark(whole)}",
        "LAST": f"L{whole.journal.last_seq()}",
        "WEEK": monday.isoformat(),
        "ENTITIES": _listed([*entities]),
        "DOMAINS": _listed([*names]),
    }


def _listed(names: list[str]) -> str:
    """Return names as a list in a sentence."""
    if not names:
        return "none"
    text = ", ".join(names[:_LISTED])
    n_more = len(names) - _LISTED
    return f"{text} and {n_more} more" if n_more > 0 else text


def template_from(folder: Path, phase: str) -> str:
    """Return a template of one's own.

    Raises:
        InvalidInput: It is no text, or not in the folder.
        StorageError: It cannot be read.
    """
    file = folder / template_names()[phase]
    return decoded(read_bounded(folder, file))


def waiting_notes(home: Home, limit: int) -> tuple[list[dict[str, Any]], int]:
    """Return the captures that no extraction has read, the oldest first.

    Args:
        home: Whose they are.
        limit: How many at most.

    Returns:
        The captures as {seq, timestamp, speaker, text}, and how many wait.
    """
    rows: list[dict[str, Any]] = []
    n_waiting = 0
    whole = home.in_project("")
    for event in whole.journal.tail(watermark(whole), kinds=list(TEXT_OF)):
        n_waiting += 1
        if len(rows) == limit:
            continue
        text = event.body.get(TEXT_OF[event.kind]) or ""
        row = {
            "seq": event.seq,
            "timestamp": to_iso(event.at),
            "speaker": "user" if event.kind == "prompt" else event.agent,
            "text": one_line(str(text), _NOTE_CHARACTERS),
        }
        rows.append(row)
    return rows, n_waiting
