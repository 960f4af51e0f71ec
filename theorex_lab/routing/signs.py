"""The words, phrases and marks that tell a query's type, in English; the commonest in German, French and Spanish.

They stand in `signs.txt`. A word that means several things (function, safe, number, script, where) counts only within a
phrase.
"""

from __future__ import annotations

import re
from typing import NamedTuple, cast

from theorex_lab.config import QueryType
from theorex_lab.text.sections import read_sections

_SECTIONS = read_sections(__file__, "signs.txt")
_PARTS = [line.split(" ", 1) for line in _SECTIONS["parts"].split("\n")]


def _by_type(section: str) -> dict[QueryType, str]:
    paragraphs = (paragraph.split("\n", 1) for paragraph in _SECTIONS[section].split("\n\n"))
    return {cast(QueryType, name): text for name, text in paragraphs}


_WORDS, _PHRASES, _MARKS = _by_type("words"), _by_type("phrases"), _by_type("marks")


class Signs(NamedTuple):
    """The signs of a type: whole words and phrases, both in lower case, and marks in the text as it stands."""

    words: frozenset[str]
    phrases: re.Pattern[str]
    marks: re.Pattern[str] | None


def _signs(query_type: QueryType) -> Signs:
    phrases, marks = _PHRASES[query_type], _MARKS.get(query_type)
    for name, part in _PARTS:
        phrases = phrases.replace(name, part)
    # One look for the beginning of a word serves all phrases of a type: they are tried on every query.
    found = re.compile(rf"\b(?=\w)(?:{phrases.replace(chr(10), '|')})")
    return Signs(frozenset(_WORDS[query_type].split()), found, re.compile(marks) if marks else None)


# The order is the order of the trials.
SIGNS = {query_type: _signs(query_type) for query_type in _WORDS}
