"""What a message says of its speaker, by patterns alone: whether it is worth keeping at once, later or not at all."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from theorex_lab.text.sections import read_sections

HIGH = ("preference", "decision", "correction", "milestone", "instruction", "identity")
# Categories of signals that no fact has.
FACT_CATEGORY = {"instruction": "preference", "identity": "relationship"}
_NEGATABLE = ("milestone", "identity", "decision")
_SCANNED = 4_000  # characters; a longer message is a paste
_KEYWORDS, _KEYWORD_CHARACTERS = 10, 4
_WORD = re.compile(r"[^\W_][\w+#./-]*[\w+#]")


class Signal(NamedTuple):
    """What a message signals: "high", "low" or "none", the categories, how sure that is (0..1), and its words."""

    signal: str
    categories: tuple[str, ...]
    confidence: float
    keywords: tuple[str, ...] = ()


def signal_of(text: str) -> Signal:
    """The signal of a message, English or Russian; linear in its length, of which 4,000 characters are read.

    Engram's order: acknowledgements, greetings, thanks and farewells, then the six high categories, work in progress,
    questions. The confidence of a high one is min(.95, .85 + .03 × categories).

    >>> signal_of("Actually, I prefer tabs")[:3]
    ('high', ('correction', 'preference'), 0.91)
    >>> signal_of("ok!")[:3], signal_of("not finished yet")[0]
    (('none', (), 0.95), 'none')
    """
    said = text.strip()[:_SCANNED].replace("’", "'")
    if not said or _pattern("none").search(said):
        return Signal("none", (), 0.95)
    words = keywords(said)
    asks = bool(_pattern("question").search(said))
    if found := () if asks else tuple(sorted(name for name in HIGH if _says(name, said))):
        return Signal("high", found, round(min(0.95, 0.85 + 0.03 * len(found)), 2), words)
    if not asks and _pattern("low").search(said):
        return Signal("low", ("context",), 0.5, words)
    return Signal("none", (), 0.8 if asks else 0.3, words)


def keywords(text: str) -> tuple[str, ...]:
    """Up to ten words of four letters or more, none of them a stop word, as they are written.

    >>> keywords("We should use the TypeScript compiler")
    ('TypeScript', 'compiler')
    """
    words = (word for word in _WORD.findall(text) if len(word) >= _KEYWORD_CHARACTERS)
    return tuple(dict.fromkeys(word for word in words if word.lower() not in _stop_words()))[:_KEYWORDS]


def _says(category: str, said: str) -> bool:
    """Whether the message says something of the category that its clause does not take back."""
    return any(
        category not in _NEGATABLE or not _pattern("negated").search(said, max(0, found.start() - 60), found.start())
        for found in _pattern(category).finditer(said)
    )


@cache
def _pattern(section: str) -> re.Pattern[str]:
    lines = read_sections(__file__, "signals.txt")[section].split("\n")
    return re.compile("|".join(f"(?:{line})" for line in lines), re.IGNORECASE)


@cache
def _stop_words() -> frozenset[str]:
    from theorex_lab.text.directives import stop_words

    return stop_words()
