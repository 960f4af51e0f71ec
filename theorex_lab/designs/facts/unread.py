"""How far captures were read for facts, and what of facts waits for somebody."""

from theorex_lab.designs.facts import TEXT_OF
from theorex_lab.designs.facts.facts import Facts
from theorex_lab.designs.facts.note_view import notes_of
from theorex_lab.designs.facts.summaries import status
from theorex_lab.evolution.maintained import CaptureTimes
from theorex_lab.memory.contract import MAINTAIN, Holding, Home


def watermark(home: Home) -> int:
    """Return the seq up to which captures were read for facts.

    It is the highest, since it only goes forwards.
    """
    with home.views.reading(Facts) as view:
        seqs = view.marks["upto"]
        highest = seqs.max(initial=0)
    return int(highest)


def fact_holdings(home: Home, agent: str | None) -> list[Holding]:
    """Return how many facts hold, and what waits to be read for some or reviewed."""
    counts = status(home, agent)["facts"]
    upto = watermark(home)
    with home.views.reading(CaptureTimes) as captures:
        kinds = list(TEXT_OF)
        is_unread = captures.capture_mask(kinds, agent, home.projects)
        is_unread &= captures.rows["seq"] > upto
        n_unread = int(is_unread.sum())
    notes = notes_of(home, "pending")
    return [
        Holding("facts", counts["active"]),
        Holding("messages not yet read for facts", n_unread, MAINTAIN),
        Holding("notes without a review", len(notes), "theorex facts notes"),
    ]
