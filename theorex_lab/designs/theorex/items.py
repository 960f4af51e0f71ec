"""What Theorex has in search.

It is each observation, each moment, and each concept of an agent once.
"""

from bisect import bisect_right
from collections.abc import Iterator

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.journal.event import Event
from theorex_lab.memory.briefing.candidates import PITFALLS
from theorex_lab.memory.contract import BriefingPart, ItemKind, ItemText
from theorex_lab.memory.observation import AVOID_TYPE, FIX_TYPE
from theorex_lab.search.items import MOMENT_TYPE, observed_text

_SENTENCE_END = lazy_pattern(r"[.!?…]+[\"')\]]*\s+|[。！？]+|\n+")
# Kinds of sentences of a context, and the titles that they stand under.
TITLES = {FIX_TYPE: "Known fixes", AVOID_TYPE: "To avoid"}
# Where these sentences stand in a briefing.
SENTENCES = {
    FIX_TYPE: BriefingPart(PITFALLS, 0.6, "it was written down as a fix"),
    AVOID_TYPE: BriefingPart(PITFALLS, 0.5, "it lost before"),
}
FAILED = {
    "failure": BriefingPart(PITFALLS, 0.6, "it failed, and nobody reviewed it yet"),
}


def _labels(event: Event) -> Iterator[ItemText]:
    """Yield the concepts that an event names.

    Each has its id, its canonical form, and the sentence that names it.
    """
    body = event.body
    if "concepts" not in body:
        yield ItemText(str(body["concept_id"]), body["label"])
        return
    text = body.get("text", "")
    starts = [0, *(end.end() for end in _SENTENCE_END.finditer(text)), len(text)]
    for concept_id, label, surface, *_ in body["concepts"]:
        first = bisect_right(starts, max(text.find(surface), 0), hi=len(starts) - 1) - 1
        yield ItemText(
            str(concept_id),
            label,
            subject=text[starts[first] : starts[first + 1]].strip(),
        )


# A moment never sleeps.
MOMENT = ItemKind(
    "moment",
    {
        "observation": lambda event: (
            observed_text(event) if event.body["type"] == MOMENT_TYPE else ()
        )
    },
)
CONCEPT = ItemKind(
    "concept",
    dict.fromkeys(("observation", "graduated", "imported"), _labels),
    once=True,
    label=True,
)
