"""The words of a text that tell what it is about, and how far two texts share them.

English: its stop words and endings stand in this module alone, so that another language
can be added beside them. Standard library only.
"""

from __future__ import annotations

import re

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.remembering import remembered

# Words that say nothing of what a text is about.
STOP_WORDS = frozenset(
    """
    a an the and or but if then else of to in on at by for with from as is are was were
    be been being it its this that these those there here i you he she we they me my
    your our their his her them us do does did done have has had not no so just can
    could should would will may might must shall what which who when where why how all
    any some each than too very also into over under out up down about after before
    again more most other only own same such now let lets let's please ok okay yes yeah
    hi hello thanks thank one make sure get got go going want need like use using used
    """.split()
)
# Endings of English words, the longer before those that they end with.
_ENDINGS = ("'s", "ing", "edly", "ed", "ies", "es", "s", "ly")
_SHORTEST_STEM = 3
# Consonants that are doubled before an ending, as in "running"; others, as in "passing",
# are the word's own.
_DOUBLED = lazy_pattern(r"([bdgmnprt])\1$")
_LONGEST_WITH_E = 4  # letters of a word whose final e stays
_TOKEN = lazy_pattern(r"[^\W\d][\w.\-/#]*\w|\w")
# What is named exactly: code, an address, a path, a file, a name in code, a number, a
# quotation, a call.
_SPECIFIC = lazy_pattern(
    r"""
      `[^`]+`
    | https?://\S+
    | (?<![\w.\-])@?[\w.\-]+/[\w./\-]+
    | \b\w+\.(?:
          go | py | ts | tsx | js | md | mdc | json | ya?ml | toml | sh | sql | rs
        | java | txt | cfg | env | jsonl
      )\b
    | \b\w*[a-z][A-Z]\w*
    | \b\w+_\w+
    | \#\d+
    | \b\d[\d.:]*\b
    | "[^"]+"
    | \b\w+\(\)
    """,
    re.VERBOSE,
)
# The number of an issue or a pull request.
_DIGIT = lazy_pattern(r"\d")
_NUMBER = lazy_pattern(
    r"""
      (?:\b(?:PR|pull[ ]request|issue|task|ticket|bug)s?\s*|pull/|issues/)
      \#?(\d{1,5})\b
    | (?<![\w/])\#(\d{1,5})\b
    """,
    re.I | re.VERBOSE,
)


@remembered(1 << 16)
def stem(word: str) -> str:
    """Return a word in lower case without its English ending.

    >>> stem("Tests"), stem("running"), stem("queries"), stem("cache")
    ('test', 'run', 'query', 'cach')
    """
    stemmed = _without_ending(word.lower())
    if stemmed.endswith("e") and len(stemmed) > _LONGEST_WITH_E:
        stemmed = stemmed[:-1]
    return stemmed


def _without_ending(word: str) -> str:
    for ending in _ENDINGS:
        n_left = len(word) - len(ending)
        if not word.endswith(ending) or n_left < _SHORTEST_STEM:
            continue
        beginning = word[:n_left]
        if ending == "ies":
            return f"{beginning}y"
        if n_left > _SHORTEST_STEM and _DOUBLED.search(beginning):
            return beginning[:-1]
        return beginning
    return word


@remembered(1 << 14)
def content_words(text: str) -> frozenset[str]:
    """Return the stems of a text's words that say what it is about.

    >>> sorted(content_words("Please run all the tests in cmd/main.go"))
    ['cmd/main.go', 'run', 'test']
    """
    stems = set(map(_content_stem, _TOKEN.findall(text)))
    stems.discard("")
    return frozenset(stems)


# Texts have most words in common.
@remembered(1 << 15)
def _content_stem(word: str) -> str:
    """Return the stem of a word, '' where it says nothing of what a text is about."""
    if len(word) < 2 or word.lower() in STOP_WORDS:
        return ""
    return stem(word)


def specifics(text: str) -> list[str]:
    """Return what a text names exactly: paths, code, numbers and quotations.

    >>> specifics("Set `ttl` to 30 in app/cache.py, see #12.")
    ['`ttl`', '30', 'app/cache.py', '#12']
    """
    return _SPECIFIC.findall(text)


def overlap(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the share of the smaller set of words that the other one holds too.

    It is 0 where one of them is empty.

    >>> overlap(frozenset({"run", "test"}), frozenset({"test", "fast", "ci"}))
    0.5
    """
    smaller = min(len(a), len(b))
    if smaller == 0:
        return 0.0
    return len(a & b) / smaller


def numbers_of(text: str) -> frozenset[str]:
    """Return the numbers of issues and pull requests that a text names.

    >>> sorted(numbers_of("PR 168 closes #12; see pull/7, not 99"))
    ['12', '168', '7']
    """
    numbers: set[str] = set()
    if not _DIGIT.search(text):
        return frozenset()
    for after_word, after_sign in _NUMBER.findall(text):
        numbers.add(after_word or after_sign)
    return frozenset(numbers)
