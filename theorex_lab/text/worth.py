"""What a sentence is worth keeping for: a decision, a discovery, a feature or a change, told by its words."""

import math
import re
from functools import cache
from typing import Literal

from theorex_lab.text.sections import read_sections
from theorex_lab.text.spoken import Speaker

WorthType = Literal["decision", "discovery", "feature", "change", "none"]
TYPES: tuple[WorthType, ...] = ("decision", "discovery", "feature", "change")
KEPT = 0.4  # the score from which a sentence is worth keeping
_BIAS: dict[Speaker, float] = {"user": -1.8, "agent": -2.5}


def worth(sentence: str, by: Speaker = "agent") -> tuple[WorthType, float]:
    """(type, score): what a sentence says, and how much it is worth keeping, 0 to 1; "none" below KEPT.

    >>> worth("The root cause is that `parse` reads only the first line, because the cursor is never reset.")[0]
    'discovery'
    >>> worth("All tests pass.")[0]
    'none'
    """
    shared = _BIAS[by] + _weight("any", sentence)
    odds = {kind: math.exp(min(50.0, shared + _weight(kind, sentence))) for kind in TYPES}
    score = round(1 - 1 / (1 + sum(odds.values())), 3)
    return (max(TYPES, key=odds.__getitem__) if score >= KEPT else "none"), score


def _weight(section: str, sentence: str) -> float:
    return sum(weight for weight, sign in _signs(section) if sign.search(sentence))


@cache
def _signs(section: str) -> list[tuple[float, re.Pattern[str]]]:
    lines = (line.split(" ", 1) for line in read_sections(__file__, "worth.txt")[section].split("\n"))
    return [(float(weight), re.compile(sign, re.IGNORECASE)) for weight, sign in lines]
