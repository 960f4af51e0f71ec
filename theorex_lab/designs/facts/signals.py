"""Tell by patterns alone whether what a message says is worth keeping.

It is worth keeping at once, later, or not at all.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.designs.facts.signal_patterns import PATTERNS
from theorex_lab.text.directives import directive_of, is_asked, stop_words
from theorex_lab.text.spoken import Span, Speaker, sentences_of

HIGH = ("preference", "decision", "correction", "milestone", "instruction", "identity")
# Categories of signals that no fact has.
FACT_CATEGORY = {"instruction": "preference", "identity": "relationship"}
_NEGATABLE = ("milestone", "identity", "decision")
_SCANNED = 4_000  # characters; a longer message is a paste
# The confidence of a high signal, what each category adds to it, and the highest.
_SURE = 0.85
_SURER = 0.03
_SUREST = 0.95
_KEYWORDS = 10
_KEYWORD_CHARACTERS = 4
_CLAUSE_CHARACTERS = 60  # before a match, that may take it back
_LEAST_WORDS = 3  # of a fact; "Done." tells nothing without what was said before
_PLAIN_SIGNS = str.maketrans("’ё—", "'е-")
_WORD = lazy_pattern(r"[^\W_][\w+#./-]*[\w+#]")


class Signal(NamedTuple):
    """What a message signals.

    Attributes:
        signal: "high", "low" or "none".
        categories: What it is of.
        confidence: How sure that is, 0..1.
        keywords: Its words.
    """

    signal: str
    categories: tuple[str, ...]
    confidence: float
    keywords: tuple[str, ...] = ()


class StatedFact(NamedTuple):
    """A sentence that is worth keeping as a fact.

    Attributes:
        sentence: In its speaker's words, at most 400 characters.
        categories: What it signals.
        confidence: How sure that is, 0..1.
    """

    sentence: str
    categories: tuple[str, ...]
    confidence: float


def signal_of(text: str, by: Speaker = "user") -> Signal:
    """Return the signal of a message, English or Russian.

    The cost is linear in its length; 4,000 characters are read. The order is Engram's:
    acknowledgements, greetings, thanks and farewells, then the six high categories,
    work in progress, questions. What is pasted, quoted or asked signals nothing. The
    confidence of a high one is min(.95, .85 + .03 × categories).

    >>> signal_of("Actually, I prefer tabs")[:3]
    ('high', ('correction', 'preference'), 0.91)
    >>> signal_of("ok!")[:3], signal_of("not finished yet")[0]
    (('none', (), 0.95), 'none')
    """
    beginning = text[:_SCANNED]
    if _finds("none", _plain(beginning)):
        return Signal("none", (), 0.95)
    spans = sentences_of(beginning, by, short=True)
    words = keywords(beginning)
    names = set[str]()
    for span in spans:
        names |= _categories(span)
    if names:
        categories = tuple(sorted(names))
        confidence = _confidence(categories)
        return Signal("high", categories, confidence, words)
    sentences = [_plain(span.text) for span in spans]
    statements = [sentence for sentence in sentences if not is_asked(sentence)]
    if _any_finds("low", statements):
        return Signal("low", ("context",), 0.5, words)
    if _any_finds("question", sentences):
        return Signal("none", (), 0.8, words)
    return Signal("none", (), 0.3, words)


def facts_in(text: str, by: Speaker = "user") -> list[StatedFact]:
    """Return the sentences of a message that are worth keeping as facts.

    They signal a high category, and have three words or more.

    >>> [
    ...     (fact.sentence, fact.categories)
    ...     for fact in facts_in("Hi! I prefer tabs. Where is it?")
    ... ]
    [('I prefer tabs.', ('preference',))]
    """
    facts: list[StatedFact] = []
    beginning = text[:_SCANNED]
    for span in sentences_of(beginning, by, short=True):
        categories = tuple(sorted(_categories(span)))
        if not categories:
            continue
        n_words = len(span.text.split())
        if n_words >= _LEAST_WORDS:
            confidence = _confidence(categories)
            facts.append(StatedFact(span.text, categories, confidence))
    return facts


def _confidence(categories: tuple[str, ...]) -> float:
    confidence = _SURE + _SURER * len(categories)
    return round(min(_SUREST, confidence), 2)


def keywords(text: str) -> tuple[str, ...]:
    """Return up to ten words of four letters or more, as they are written.

    None of them is a stop word.

    >>> keywords("We should use the TypeScript compiler")
    ('TypeScript', 'compiler')
    """
    words = dict[str, None]()
    for word in _WORD.findall(text):
        if len(word) < _KEYWORD_CHARACTERS:
            continue
        if word.lower() not in stop_words():
            words[word] = None
    return tuple(words)[:_KEYWORDS]


def _categories(span: Span) -> set[str]:
    """Return the high categories that a sentence signals."""
    sentence = _plain(span.text)
    if is_asked(sentence):
        return set()
    names = set[str]()
    for name in HIGH:
        if name != "instruction" and _says(name, sentence):
            names.add(name)
    if not _finds("instruction", sentence):
        return names
    directive = directive_of(span)
    if directive is None:
        return names
    if directive.kind == "correction":
        names.add("correction")
    elif directive.stands:
        names.add("instruction")
    return names


def _says(category: str, sentence: str) -> bool:
    """Return whether a sentence says something of the category.

    Its clause may take back what it says.
    """
    pattern = _pattern(category, sentence.isascii())
    for match in pattern.finditer(sentence):
        if category not in _NEGATABLE:
            return True
        end = match.start()
        start = max(0, end - _CLAUSE_CHARACTERS)
        if not _finds("negated", sentence[start:end]):
            return True
    return False


def _plain(text: str) -> str:
    """Return a text in lower case, with plain signs.

    What transcripts of speech write apart (it 's) is joined.
    """
    lower = text.strip().lower()
    plain = lower.translate(_PLAIN_SIGNS)
    joined = plain.replace(" '", "'")
    return joined.replace(" ,", ",")


def _finds(section: str, sentence: str) -> bool:
    pattern = _pattern(section, sentence.isascii())
    return pattern.search(sentence) is not None


def _any_finds(section: str, sentences: Iterable[str]) -> bool:
    return any(_finds(section, sentence) for sentence in sentences)


@cache
def _pattern(section: str, ascii_only: bool) -> re.Pattern[str]:
    """Return the patterns of a section as one.

    That of a text in ASCII is without those in Russian, which cannot stand in it.
    """
    begin_words: list[str] = []
    others: list[str] = []
    for line in PATTERNS[section]:
        if ascii_only and not line.isascii():
            continue
        if line.startswith(r"\b"):
            begin_words.append(line.removeprefix(r"\b"))
        else:
            others.append(line)
    # The patterns that begin a word share one test of where words begin.
    parts: list[str] = []
    if begin_words:
        alternatives = "|".join(begin_words)
        parts.append(rf"\b(?:{alternatives})")
    parts += others
    return re.compile("|".join(parts))
