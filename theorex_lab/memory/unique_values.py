"""Read statements whose words say that a thing has one value of its kind.

"The director of Inception is …" speaks of one director: the definite article
presupposes that there is one (Russell 1905, doi:10.1093/mind/XIV.4.479). A thing is born,
founded or written once. "Plays the position of …" names the kind of value with the
article, too. Of two such statements with the same words around the value the newer one
holds. "Speaks the language of …" and "is famous for …" say nothing of the kind.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from theorex_lab.core.patterns import lazy_pattern

_LONGEST_FRAME = 16  # words
_LONGEST_VALUE = 6
_FEWEST_DESCRIBING = 4  # words of "The director of Inception"
# What a name has several of, though one may be spoken of as "Ann's child".
_SEVERAL = frozenset(
    "child son daughter brother sister sibling friend colleague member student pet"
    " hobby interest problem goal reason idea example part question issue point way"
    " difference advantage result effect step task".split()
)
# Roles whose values are words in lower case.
_KINDS = frozenset(
    "type kind name genre sport language position religion color colour format status"
    " currency job profession occupation species material".split()
)
# Verbs of which a subject has many objects, also behind "the language of".
_MANY = frozenset(
    "speaks speak spoke knows know works work worked uses use visited visits"
    " likes like studied studies lived".split()
)
_DESCRIPTION = lazy_pattern(
    r"(?P<frame>the (?P<role>[\w'’-]+) .*?\b(?:of|that|who|which|where|in|for)\b .+ is)"
    r" (?P<value>.+)",
    re.IGNORECASE,
)
_POSSESSED = lazy_pattern(
    r"(?P<frame>(?P<subject>.+?)(?:['’]s|s['’]) (?P<role>(?:[\w-]+ ){0,2}[\w-]+) is)"
    r" (?P<value>.+)"
)
_DONE_ONCE = lazy_pattern(
    r"(?P<frame>(?P<subject>.+?) (?:(?:is|was) (?:born|created|founded|developed|written"
    r"|performed|produced|directed|composed|designed|published|educated|headquartered"
    r"|buried|broadcast|painted|invented|established|employed)|died)"
    r" (?:in|by|at)(?: the [\w-]+ of)?) (?P<value>.+)"
)
_KIND_OF_VALUE = lazy_pattern(
    r"(?P<frame>(?P<subject>.+?) (?P<verb>is [\w-]+(?: \w+)?|[a-z]+s)"
    r"(?: (?:in|with|at|on))? the [\w-]+ of) (?P<value>.+)"
)
_CITIZEN = lazy_pattern(r"(?P<frame>(?P<subject>.+?) is a citizen of) (?P<value>.+)")
_NAMED = (_DONE_ONCE, _KIND_OF_VALUE, _CITIZEN)
_JOINING = frozenset("of the and a an for de van von la in".split())


class UniqueValue(NamedTuple):
    """What a statement says that there is one of.

    Attributes:
        frame: The words around the value, in lower case; statements with the same frame
            are about the same.
        value: The value, in lower case.
    """

    frame: str
    value: str


@lru_cache(1 << 12)
def unique_value(text: str) -> UniqueValue | None:
    """Return the value that a statement says there is one of, None where it does not.

    Args:
        text: One sentence.

    >>> unique_value("The director of Inception is Christopher Nolan.")
    UniqueValue(frame='the director of inception is', value='christopher nolan')
    >>> unique_value("Ann Lee was born in the city of Leeds").value
    'leeds'
    >>> unique_value("Ann Lee speaks the language of Welsh") is None
    True
    """
    sentence = text.strip().rstrip(".!")
    if sentence.endswith("?") or len(sentence.split()) > _LONGEST_FRAME:
        return None
    match = _match_of(sentence)
    if match is None:
        return None
    value = match["value"].lower()
    if len(value.split()) > _LONGEST_VALUE or value.startswith(("not ", "no ", "in ")):
        return None
    return UniqueValue(
        match["frame"].lower(),
        value,
    )


def _match_of(sentence: str) -> re.Match[str] | None:
    """Return how a sentence has a unique value."""
    match = _description_in(sentence)
    if match is not None:
        return match
    possessed = _POSSESSED.fullmatch(sentence)
    if possessed and _is_of_one(possessed["role"]) and _is_name(possessed["subject"]):
        return possessed
    for pattern in _NAMED:
        match = pattern.fullmatch(sentence)
        if match and _is_name(match["subject"]) and not _says_many(match):
            return match
    return None


def _description_in(sentence: str) -> re.Match[str] | None:
    """Return "the director of Inception is …", None where a sentence is no such one.

    What is said of it must be a thing, not how it is: "the test of the parser is slow".
    """
    match = _DESCRIPTION.fullmatch(sentence)
    if match is None or not _is_of_one(match["role"]):
        return None
    if len(match["frame"].split()) <= _FEWEST_DESCRIBING:
        return None
    is_kind = match["role"].lower() in _KINDS
    return match if is_kind or not match["value"][0].islower() else None


def _is_of_one(role: str) -> bool:
    """Return whether a thing has one of a role, as "director" and not "children"."""
    words = role.lower().split()
    if not _SEVERAL.isdisjoint(words):
        return False
    return not words[-1].endswith("s") or words[-1].endswith(("ss", "us"))


def _says_many(match: re.Match[str]) -> bool:
    """Return whether the verb of a statement may have many objects."""
    verb = match.groupdict().get("verb") or ""
    return not _MANY.isdisjoint(verb.split())


def _is_name(subject: str) -> bool:
    """Return whether a subject is a name: its words begin with a capital or a digit."""
    words = [word for word in subject.split() if word.lower() not in _JOINING]
    return bool(words) and not any(
        word[0].islower() and word.isalpha() for word in words
    )
