"""What a message says of its speaker, by patterns alone: whether it is worth keeping at
once, later or not at all.
"""

import re
from functools import cache
from typing import NamedTuple

from theorex_lab.designs.facts.signal_patterns import PATTERNS
from theorex_lab.text.directives import directive_of, is_asked, stop_words
from theorex_lab.text.spoken import Span, Speaker, sentences_of

HIGH = ("preference", "decision", "correction", "milestone", "instruction", "identity")
# Categories of signals that no fact has.
FACT_CATEGORY = {"instruction": "preference", "identity": "relationship"}
_NEGATABLE = ("milestone", "identity", "decision")
_SCANNED = 4_000  # characters; a longer message is a paste
_KEYWORDS = 10
_KEYWORD_CHARACTERS = 4
_LEAST_WORDS = 3  # of a fact; "Done." tells nothing without what was said before
_PLAIN_SIGNS = str.maketrans("’ё—", "'е-")
_WORD = re.compile(r"[^\W_][\w+#./-]*[\w+#]")


class Signal(NamedTuple):
    """What a message signals: "high", "low" or "none", the categories, how sure that is
    (0..1), and its words.
    """

    signal: str
    categories: tuple[str, ...]
    confidence: float
    keywords: tuple[str, ...] = ()


class StatedFact(NamedTuple):
    """A sentence that is worth keeping as a fact, in its speaker's words, at most 400
    characters.
    """

    sentence: str
    categories: tuple[str, ...]
    confidence: float


def signal_of(text: str, by: Speaker = "user") -> Signal:
    """The signal of a message, English or Russian; linear in its length; 4,000
    characters are read.

    Engram's order: acknowledgements, greetings, thanks and farewells, then the six high
    categories, work in progress, questions. What is pasted, quoted or asked signals
    nothing. The confidence of a high one is min(.95, .85 + .03 × categories).

    >>> signal_of("Actually, I prefer tabs")[:3]
    ('high', ('correction', 'preference'), 0.91)
    >>> signal_of("ok!")[:3], signal_of("not finished yet")[0]
    (('none', (), 0.95), 'none')
    """
    said = text[:_SCANNED]
    if _finds("none", _plain(said)):
        return Signal("none", (), 0.95)
    spans = sentences_of(said, by, short=True)
    words = keywords(said)
    if found := tuple(sorted({name for span in spans for name in _categories(span)})):
        return Signal("high", found, _confidence(found), words)
    plain = [_plain(span.text) for span in spans]
    if any(_finds("low", sentence) for sentence in plain if not is_asked(sentence)):
        return Signal("low", ("context",), 0.5, words)
    return Signal(
        "none",
        (),
        0.8 if any(_finds("question", sentence) for sentence in plain) else 0.3,
        words,
    )


def facts_in(text: str, by: Speaker = "user") -> list[StatedFact]:
    """The sentences of a message that are worth keeping as facts: those that signal a
    high category, of three words or more.

    >>> [
    ...     (fact.sentence, fact.categories)
    ...     for fact in facts_in("Hi! I prefer tabs. Where is it?")
    ... ]
    [('I prefer tabs.', ('preference',))]
    """
    found = [
        (span.text, tuple(sorted(_categories(span))))
        for span in sentences_of(text[:_SCANNED], by, short=True)
    ]
    kept = [
        (text, named)
        for text, named in found
        if named and len(text.split()) >= _LEAST_WORDS
    ]
    return [StatedFact(text, named, _confidence(named)) for text, named in kept]


def _confidence(categories: tuple[str, ...]) -> float:
    return round(min(0.95, 0.85 + 0.03 * len(categories)), 2)


def keywords(text: str) -> tuple[str, ...]:
    """Up to ten words of four letters or more, none of them a stop word, as they are
    written.

    >>> keywords("We should use the TypeScript compiler")
    ('TypeScript', 'compiler')
    """
    words = (word for word in _WORD.findall(text) if len(word) >= _KEYWORD_CHARACTERS)
    return tuple(
        dict.fromkeys(word for word in words if word.lower() not in stop_words())
    )[:_KEYWORDS]


def _categories(span: Span) -> set[str]:
    said = _plain(span.text)
    if is_asked(said):
        return set()
    found = {name for name in HIGH if name != "instruction" and _says(name, said)}
    told = directive_of(span) if _finds("instruction", said) else None
    if told and told.kind == "correction":
        found.add("correction")
    elif told and told.stands:
        found.add("instruction")
    return found


def _says(category: str, said: str) -> bool:
    """Whether a sentence says something of the category that its clause does not take
    back.
    """
    starts = (
        found.start() for found in _pattern(category, said.isascii()).finditer(said)
    )
    return any(
        category not in _NEGATABLE or not _finds("negated", said[max(0, at - 60) : at])
        for at in starts
    )


def _plain(text: str) -> str:
    """Lower case, with plain signs, and joined what transcripts of speech write apart
    (it 's).
    """
    return (
        text.strip()
        .lower()
        .translate(_PLAIN_SIGNS)
        .replace(" '", "'")
        .replace(" ,", ",")
    )


def _finds(section: str, said: str) -> bool:
    return _pattern(section, said.isascii()).search(said) is not None


@cache
def _pattern(section: str, ascii_only: bool) -> re.Pattern[str]:
    """The patterns of a section; of a text in ASCII without those in Russian, which
    cannot stand in it.
    """
    tried = [line for line in PATTERNS[section] if line.isascii() or not ascii_only]
    # One test of where words begin for all of them.
    words = "|".join(line[2:] for line in tried if line.startswith(r"\b"))
    others = [line for line in tried if not line.startswith(r"\b")]
    return re.compile("|".join([rf"\b(?:{words})"] * bool(words) + others))
