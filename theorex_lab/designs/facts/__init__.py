"""Facts with supersede chains, contradictions, a heartbeat and domains, as Engram keeps them."""

CATEGORIES = ("relationship", "milestone", "status", "preference", "context", "decision", "correction")
ABSTRACTIONS = ("episode", "pattern", "principle")
NOTE_CATEGORIES = ("friction", "surprise", "quality")
# Kind of an event -> the version that is written.
KINDS = {
    "fact": 1,  # a fact about an entity: fact_id, entity, text, category …, the ids of the facts that it supersedes
    "fact_superseded": 1,  # facts that hold no more: facts, by (a fact's id or ''), why; with `undo`, they hold again
    "facts_accessed": 1,  # facts that were used: facts
    "entity_archived": 1,  # an entity's facts moved to archives/: entity, to
    "friction_noted": 1,  # something was noted of how the work goes: note_id, category, text
    "tension_noted": 1,  # facts that may not both hold: note_id, text, facts
    "note_reviewed": 1,  # what became of a note: note_id, status; with `undo`, it is pending again
    "channel_added": 1,  # a chat of its own: platform, id, channel, group
    "extracted": 1,  # the captures up to this seq were read for facts: upto, facts
    "summarized": 1,  # an entity was summed up in a week: entity, week, tokens, facts
    "heartbeat": 1,  # how the phases of a heartbeat went: phases
    "domain_written": 1,  # a domain was made, or one of its files written: domain, file, text …
    "self_added": 1,  # a line of MEMORY.md or SOUL.md: file, text; with `undo`, it is taken out
}
