"""What sessions bring to a home: each part is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from theorex_lab.design import Design, EventsPart, NightStep, later
from theorex_lab.designs.sessions import KINDS
from theorex_lab.designs.sessions.items import DIGEST, FIX, SENTENCE
from theorex_lab.designs.sessions.sections import SECTIONS
from theorex_lab.search.items import OBSERVATION

if TYPE_CHECKING:
    from theorex_lab.journal.view import View

_HERE = "theorex_lab.designs.sessions"


def _views() -> Sequence[type[View]]:
    from theorex_lab.designs.sessions.files import Touches
    from theorex_lab.designs.sessions.said import Said

    return Said, Touches


DESIGN = Design(
    name="sessions",
    kinds=KINDS,
    events=EventsPart(
        members=frozenset(
            "asked ended open edited read checks commits first_at last_at upto family error files".split()
        ),
        seqs={"digest": ("upto",)},
        named_by_seq=frozenset(("digest",)),
    ),
    views=_views,
    items=(OBSERVATION, SENTENCE, DIGEST, FIX),
    sections=SECTIONS,
    steps=(NightStep("digest", later(f"{_HERE}.digests:digest_idle")),),
    flush=later(f"{_HERE}.digests:keep_digest"),
    face=later(f"{_HERE}.face:Sessions"),
    retrieve=later(f"{_HERE}.recall:retrieve"),
    reminders=later(f"{_HERE}.recall:session_reminders"),
    agents=later(f"{_HERE}.digests:agents_of"),
)
