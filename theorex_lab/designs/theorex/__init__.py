"""Theorex: concepts with counts that fade, from flash to the shared web.

It has a life cycle of concepts, and what watches it.
"""

from theorex_lab.journal.event import register_kinds, without_project
from theorex_lab.journal.kinds import CONCEPT, PROJECT, SOURCE
from theorex_lab.journal.shapes import (
    AMOUNT,
    COUNT,
    SEQ,
    TIME,
    FieldRule,
    Kind,
    one_of,
    one_of_numbers,
    row,
)

# The names of `memory.decay.Tier`.
_TIER_NAMES = ("NEUTRAL", "LESS", "MILD", "ACTIVE", "SLEEPING")
_TIER = one_of(*_TIER_NAMES)
# By tier, the ids of concepts.
_TIERS = FieldRule(
    {str: [int]},
    f"by {', '.join(_TIER_NAMES)} lists of ids",
    lambda tiers: tiers.keys() <= set(_TIER_NAMES),
)
_POLICY = {str: object}
_FIRST_LAST = {"first_seen": int, "last_seen": int}
# An agent's concept, with the numbers that it gives to the shared web.
_CONTRIBUTION = {
    "concept_id": int,
    "count": COUNT,
    "fix_count": COUNT,
    "trust": one_of_numbers(0, 1, 2, 3),
    "source_weight": AMOUNT,
    **_FIRST_LAST,
}
# Of a link: its ends, how many texts have both, and when the last one was.
_LINK = row(int, int, COUNT, int)
_ONE_CONCEPT = FieldRule(
    [CONCEPT], "a list of one concept", lambda concepts: len(concepts) == 1
)
# Counts that fade, one for each half-life of `memory.decay`.
_DECAYED = FieldRule([float], "a list of 6 numbers", lambda counts: len(counts) == 6)
_LEVEL = (SOURCE, None)
# Who said a concept, and of its owner's own mentions the numbers.
_SAID_APART = {
    "affirmed": SOURCE,
    "refused": _LEVEL,
    "heard": _LEVEL,
    "count": COUNT,
    "fix_count": COUNT,
    **_FIRST_LAST,
}
# By tag: its name, how many outcomes have it, and their rate.
_TAG_RATE = row(str, COUNT, float)
KINDS = {
    "scan": Kind(
        1,
        "tier changes and dropped links, as decided by one scan",
        {
            "tiers": {str: _TIERS},
            "dropped_links": {str: [row(int, int)]},
            "policy?": _POLICY,
        },
    ),
    "prune": Kind(
        1,
        "concepts taken out of the axon, with what they were",
        {
            "concepts": {
                str: [
                    {
                        "concept_id": int,
                        "count?": COUNT,
                        "first_seen?": int,
                        "last_seen?": int,
                    }
                ]
            },
            "policy?": _POLICY,
        },
    ),
    "short_term": Kind(
        2,
        "what was kept of one event at a flush: its concepts and their score",
        {
            "concepts": [CONCEPT],
            "score": float,
            "source": SOURCE,
            "weight": AMOUNT,
            "project?": PROJECT,
            "refused?": [int],
            "asked?": [int],
        },
    ),
    "flushed": Kind(
        1,
        "a session's events up to a seq were flushed",
        {"upto": SEQ, "kept?": COUNT, "let_go?": COUNT},
    ),
    "graduated": Kind(
        2,
        "a concept that was kept on enough days enters the axon",
        {
            "concept_id": int,
            "label": str,
            "surface": str,
            "times": [TIME],
            "counts": [COUNT],
            "days": [int],
            "upto": int,
            "source": SOURCE,
            "weight": AMOUNT,
            "project?": PROJECT,
        },
    ),
    "promoted": Kind(
        1,
        "what an agent gives to the shared web: ids and numbers, no text",
        {"concepts": [_CONTRIBUTION], "links": [_LINK], "policy?": _POLICY},
    ),
    "imported": Kind(
        1,
        "one concept of an agent with its numbers, as a file stated it",
        {
            "concepts": _ONE_CONCEPT,
            "type": str,
            "source": SOURCE,
            "tier": _TIER,
            "node_type?": str,
            "fix_count": COUNT,
            "source_weight": AMOUNT,
            "sentiment_sum": float,
            "decayed": _DECAYED,
            "said?": (
                _SAID_APART,
                {"affirmed": None, "refused": _LEVEL, "heard": _LEVEL},
                None,
            ),
            **_FIRST_LAST,
        },
    ),
    "imported_links": Kind(
        1,
        "links between an agent's concepts, and its graduations, as a file stated them",
        {"links": [_LINK], "graduated": [row(int, int)]},
    ),
    "imported_shared": Kind(
        1,
        "what an agent gave to the shared web, as a file stated it",
        {"concepts": [_CONTRIBUTION], "links": [_LINK]},
    ),
    "confirmed": Kind(
        1, "a person trusts a fix that was untrusted", {"observation_id": str}
    ),
    "refined": Kind(
        1,
        "what a look at many outcomes reinforced, and what it wrote to avoid",
        {
            "agent?": str,
            "since": int,
            "until": int,
            "won": [_TAG_RATE],
            "lost": [_TAG_RATE],
            "observations": [str],
        },
    ),
    "context_checked": Kind(
        2,
        "how full an agent's context was, and whether that called for a summary",
        {
            "context_pct": AMOUNT,
            "calls": COUNT,
            "fired": bool,
            "written": (str, None),
            "checks": COUNT,
            "fired_seq": (SEQ, None),
            "project?": PROJECT,
            "estimated?": bool,
        },
    ),
}
UPCASTERS = {
    (kind, 1): without_project
    for kind in ("short_term", "graduated", "context_checked")
}
register_kinds(KINDS, UPCASTERS)
