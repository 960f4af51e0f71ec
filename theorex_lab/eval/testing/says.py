"""Decide whether a line that a memory gives says what a test expects.

No model judges it. A line says a statement when all words of the statement that carry
meaning stand in it as whole words, whatever their case and order. Clauses that deny
something do not count, unless the statement denies something too.

>>> line_says("- Port: 8080 (for the till)", "the port of the till is 8080")
True
>>> line_says("The port of the till is no longer 8080.", "the port of the till is 8080")
False
>>> line_says("We deploy on Fridays, never on Mondays.", "deploy on Fridays")
True
"""

from __future__ import annotations

import re

from theorex_lab.text.wording import STOP_WORDS

# A word, a number, a path or a version; a dot or colon at the end is punctuation.
_WORD = re.compile(r"[\w@#$/][\w@#$/.:+\-]*")
_WORD_END = ".:-"
_DENIAL = re.compile(
    r"\b(?:not|never|no|without|cannot|formerly|previously)\b|n['’]t\b|\bused to\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"[,;!?]\s|\.\s|\s[–—]\s|\bbut\b")
# They carry meaning here, since they turn it round.
_TURNING_WORDS = frozenset({"not", "no", "never"})


def meaning_words(text: str) -> set[str]:
    """Return the words of a text that carry meaning, in lower case.

    >>> sorted(meaning_words("The port is 8080."))
    ['8080', 'port']
    """
    words: set[str] = set()
    for match in _WORD.findall(text.casefold()):
        word = match.rstrip(_WORD_END)
        is_meant = word not in STOP_WORDS or word in _TURNING_WORDS
        if word and is_meant:
            words.add(word)
    return words


def line_says(line: str, statement: str) -> bool:
    """Return whether a line says a statement.

    Args:
        line: A line that a memory gives.
        statement: What is expected, in a few words.
    """
    if not _is_denied(statement):
        line = _without_denials(line)
    expected_words = meaning_words(statement)
    return expected_words <= meaning_words(line)


def holds(text: str, part: str) -> bool:
    """Return whether a text holds a part, whatever the case and the white space.

    >>> holds("the JWT  Secret is", "jwt secret")
    True
    """
    plain_part = _plain(part)
    return plain_part in _plain(text)


def _is_denied(text: str) -> bool:
    """Return whether a text denies something."""
    return _DENIAL.search(text) is not None


def _without_denials(line: str) -> str:
    """Return the clauses of a line that deny nothing."""
    clauses: list[str] = []
    for clause in _CLAUSE_END.split(line):
        if not _is_denied(clause):
            clauses.append(clause)
    return " ".join(clauses)


def _plain(text: str) -> str:
    """Return a text in lower case with single spaces."""
    return " ".join(text.casefold().split())
