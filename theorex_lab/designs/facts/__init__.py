"""Facts with supersede chains, contradictions, a heartbeat and domains, as Engram keeps them."""

from __future__ import annotations

CATEGORIES = ("relationship", "milestone", "status", "preference", "context", "decision", "correction")
ABSTRACTIONS = ("episode", "pattern", "principle")
NOTE_CATEGORIES = ("friction", "surprise", "quality")
# Kind of an event -> the version that is written.
KINDS = {
    "fact": 1,
    "fact_superseded": 1,
    "facts_accessed": 1,
    "entity_archived": 1,
    "friction_noted": 1,
    "tension_noted": 1,
    "note_reviewed": 1,
    "channel_added": 1,
    "extracted": 1,
    "summarized": 1,
    "lease": 1,
    "heartbeat": 1,
    "domain_written": 1,
    "self_added": 1,
}
