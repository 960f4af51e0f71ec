"""Theorex: concepts with counts that fade, a life cycle from flash to the shared web, and what watches it."""

from theorex_lab.journal.event import register_kinds, without_project

# Its kinds of events, with the version of their bodies that is written.
KINDS = {
    "scan": 1,  # tier changes and dropped links, as decided by one scan
    "prune": 1,  # concepts taken out of the axon, with what they were
    "short_term": 2,  # what was kept of one event at a flush: its concepts and their score
    "flushed": 1,  # a session's events up to a seq were flushed
    "graduated": 2,  # a concept that was kept on enough days enters the axon
    "promoted": 1,  # what an agent gives to the shared web: ids and numbers, no text
    "imported": 1,  # one concept of an agent with its numbers, as a file stated it
    "imported_links": 1,  # links between an agent's concepts, and its graduations, as a file stated them
    "imported_shared": 1,  # what an agent gave to the shared web, as a file stated it
    "confirmed": 1,  # a person vouches for a fix that was only heard
    "refined": 1,  # what a look at many outcomes reinforced, and what it wrote to avoid
    "context_checked": 2,  # how full an agent's context was, and whether that called for a summary
}
UPCASTERS = {(kind, 1): without_project for kind in ("short_term", "graduated", "context_checked")}
register_kinds(KINDS, UPCASTERS)
