"""Facts with supersede chains, contradictions, and a heartbeat, as Engram keeps them."""

from theorex_lab.journal.kinds import PROJECT, SOURCE
from theorex_lab.journal.shapes import (
    COUNT,
    FILLED,
    SEQ,
    SHARE,
    TIME,
    FieldRule,
    Kind,
    one_of,
)

CATEGORIES = (
    "relationship",
    "milestone",
    "status",
    "preference",
    "context",
    "decision",
    "correction",
)
# Kind of a capture that facts are read from -> the member of its body that holds the text.
TEXT_OF = {
    "prompt": "text",
    "observation": "text",
    "turn_ended": "message",
}
ABSTRACTIONS = ("episode", "pattern", "principle")
NOTE_CATEGORIES = ("friction", "surprise", "quality")
STATUSES = ("pending", "promoted", "archived", "resolved")  # what may become of a note
# The id of a note ends with its number, by which the next one gets its own.
NOTE_ID = FieldRule(
    str,
    "an id that ends with its number, as obs-0001",
    lambda text: text.rpartition("-")[2].isdecimal(),
)
_ABOUT = {"project?": PROJECT}
KINDS = {
    "fact": Kind(
        1,
        "a fact about an entity, and the ids of the facts that it supersedes",
        {
            "fact_id": FILLED,
            "entity": FILLED,
            "text": str,
            "category": one_of(*CATEGORIES),
            "confidence": SHARE,
            "abstraction": one_of(*ABSTRACTIONS),
            "tags": [str],
            "source": SOURCE,
            "origin": str,
            "supersedes": [str],
            "valid_from": (TIME, None),
            "valid_to": (TIME, None),
            "noted?": str,
            "attribute?": str,
            "value?": str,
            **_ABOUT,
        },
    ),
    "fact_superseded": Kind(
        1,
        "facts that hold no more: facts, by (a fact's id or ''), why; with `undo`, they hold again",
        {"facts": [str], "by": str, "why": str, "undo": bool, **_ABOUT},
    ),
    "facts_accessed": Kind(1, "facts that were used", {"facts": [str], **_ABOUT}),
    "entity_archived": Kind(
        1,
        "an entity's facts moved to archives/: entity, to",
        {"entity": FILLED, "to": FILLED, **_ABOUT},
    ),
    "friction_noted": Kind(
        1,
        "something was noted of how the work goes",
        {
            "note_id": NOTE_ID,
            "category": one_of(*NOTE_CATEGORIES),
            "text": str,
            "source": SOURCE,
            **_ABOUT,
        },
    ),
    "tension_noted": Kind(
        1,
        "facts that may not both hold",
        {"note_id": NOTE_ID, "text": str, "facts": [str], "source": SOURCE, **_ABOUT},
    ),
    "note_reviewed": Kind(
        1,
        "what became of a note; with `undo`, it is pending again",
        {
            "note_id": NOTE_ID,
            "status": one_of(*STATUSES),
            "fact": str,
            "undo": bool,
            **_ABOUT,
        },
    ),
    "channel_added": Kind(
        1,
        "a chat of its own",
        {"platform": str, "id": str, "channel": PROJECT, "group": bool, **_ABOUT},
    ),
    "extracted": Kind(
        1,
        "the captures up to this seq were read for facts",
        {
            "upto": SEQ,
            "captures?": COUNT,
            "facts?": COUNT,
            "superseded?": COUNT,
            "tensions?": COUNT,
            **_ABOUT,
        },
    ),
    "summarized": Kind(
        1,
        "an entity was summed up in a week",
        {
            "entity": FILLED,
            "week": str,
            "tokens": COUNT,
            "facts": COUNT,
            "text?": str,
            **_ABOUT,
        },
    ),
    "heartbeat": Kind(
        1, "how the phases of a heartbeat went", {"phases": [{str: object}], **_ABOUT}
    ),
    "domain_written": Kind(
        1,
        "a domain was made, or one of its files written: domain, file, text …",
        {
            "domain?": str,
            "file?": str,
            "text?": str,
            "append?": bool,
            "by?": str,
            "source?": SOURCE,
            "type?": str,
            "description?": str,
            "entity?": str,
            "interval?": float,
            "paused?": bool,
            "made?": bool,
            "proposal?": str,
            **_ABOUT,
        },
    ),
    "file_kept": Kind(
        1,
        "a file of an Engram folder as it was read: its text, and the ids of its records",
        {
            "path": FILLED,
            "ours": FILLED,
            "text": str,
            "digest": str,
            "ids": {str: str},
            "lines": [str],
            "is_read": bool,
            **_ABOUT,
        },
    ),
    "self_added": Kind(
        1,
        "a line of MEMORY.md or SOUL.md; with `undo`, it is taken out",
        {"file": str, "text": str, "undo": bool, "source": SOURCE, **_ABOUT},
    ),
}
