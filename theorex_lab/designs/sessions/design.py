"""What sessions bring to a home: each part is imported when it is first asked for."""

from bisect import bisect_left
from collections.abc import Callable, Mapping

from theorex_lab.design import FIXED_KIND, Design, NightStep, Section, later, object_at
from theorex_lab.designs.sessions import FILE, KINDS, LAST, RULE, SAID, TOPIC
from theorex_lab.designs.sessions.items import DIGEST, FIX, SENTENCE
from theorex_lab.designs.sessions.settings import SessionSettings
from theorex_lab.search.items import OBSERVATION

_HERE = "theorex_lab.designs.sessions"


def _shares(shares: Mapping[int, float]) -> Callable[[int], float]:
    """The share of a budget: that of the greatest of these budgets which it reaches, 0 below them.

    >>> _shares({150: 0.9, 2_000: 0.4})(600)
    0.9
    """
    budgets = sorted(shares)
    return lambda tokens: shares[budgets[place - 1]] if (place := bisect_left(budgets, tokens + 1)) else 0.0


SECTIONS = (
    Section(later(f"{_HERE}.sections:rule_lines"), {RULE: "Rules that the user gave"}, _shares({0: 0.0, 400: 0.03, 1_000: 0.08, 4_000: 0.04})),
    Section(later(f"{_HERE}.sections:fix_lines"), {FIXED_KIND: "What failed, and what helped"}, _shares({0: 0.0, 1_000: 0.02})),
    Section(later(f"{_HERE}.sections:last_lines"), {LAST: "Where the last session stopped"}, _shares({0: 0.0, 1_000: 0.04, 4_000: 0.02})),
    Section(later(f"{_HERE}.sections:spoken_lines"), {SAID: "Said and decided before"}, _shares({0: 0.0, 400: 0.03, 1_000: 0.46, 4_000: 0.68}), by_event=True),
    Section(later(f"{_HERE}.sections:file_lines"), {FILE: "Files you will probably need"},
        _shares({0: 1.0, 400: 0.9, 1_000: 0.38, 4_000: 0.24}), inline=(FILE,)),
    Section(later(f"{_HERE}.sections:topic_lines"), {TOPIC: "Topics of late"}, _shares({0: 0.0, 1_000: 0.02})))  # fmt: skip

DESIGN = Design(
    name="sessions", face=later(f"{_HERE}.face:Sessions"), kinds=KINDS, sections=SECTIONS, settings=SessionSettings,
    views=lambda: [object_at(f"{_HERE}.{place}") for place in ("said:Said", "said:Touches")],
    items=(OBSERVATION, SENTENCE, DIGEST, FIX),
    steps=(NightStep("digest", later(f"{_HERE}.digests:digest_idle")),), flush=later(f"{_HERE}.digests:keep_digest"),
    retrieve=later(f"{_HERE}.sections:retrieve"), reminders=later(f"{_HERE}.sections:session_reminders"),
    agents=later(f"{_HERE}.digests:agents_of"))  # fmt: skip
