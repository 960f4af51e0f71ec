"""What was given for a question, scored without a judge: evidence, words of the answer, stale items, tokens."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from theorex_lab.design import Item, Probe
from theorex_lab.memory.filling import count_tokens

PROBE_SCORES = ("evidence_recall", "answer_words", "stale", "tokens")
# What is better where it is lower, and what is neither.
LOWER_IS_BETTER = frozenset({"stale", "waste"})
NEITHER = frozenset({"tokens"})


def text_of(items: Sequence[Item]) -> str:
    """The items as they would be read, a line each."""
    return "\n".join(item.text for item in items)


def score_probe(probe: Probe, items: Sequence[Item]) -> dict[str, float]:
    """The scores of items for a probe; NaN where it asks for nothing of the kind.

    evidence_recall: share of the events that answer it which some item rests on.  answer_words: share of its words that
    stand in the text as whole words, whatever their case.  stale: share of its stale events which some item rests on.

    >>> score_probe(Probe(0, "where?", frozenset({"a", "b"}), ("Rome",)), [Item("in rome", ("a",))])
    {'evidence_recall': 0.5, 'answer_words': 1.0, 'stale': nan, 'tokens': 2.0}
    """
    given = {event for item in items for event in item.events}
    text = text_of(items)
    readable = text.casefold()
    found = sum(re.search(rf"(?<!\w){re.escape(word.casefold())}(?!\w)", readable) is not None for word in probe.words)
    return {
        "evidence_recall": _share(len(given & probe.answers), len(probe.answers)),
        "answer_words": _share(found, len(probe.words)),
        "stale": _share(len(given & probe.stale), len(probe.stale)),
        "tokens": float(count_tokens(text)),
    }


def _share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan
