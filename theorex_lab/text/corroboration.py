"""Say when a name that a stranger said may be believed.

It may where an agent said it too, and did not say it to refuse it.

A mention is refused where a word of negation stands in front of it in its sentence, or
in the same clause. The rule is coarse on purpose: a refusal that is missed would lift a
stranger's name, a word too many only leaves it where it was.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.remembering import remembered

if TYPE_CHECKING:
    from theorex_lab.text.extract import Mention

_LABEL_CHARACTERS = 128
_LABEL_JOINS = 2
_LABEL_SIGNS = frozenset(
    " -._/@:+\u200c\u200d"
)  # beside letters, digits and their marks; none means much to a shell

_NEGATION = lazy_pattern(
    r"""
    (?<![\w-])(?:
        not|no|never|nor|none|neither|without|cannot|don?t|didnt|doesnt|wont|shouldnt|mustnt|avoid\w*|refus\w*|reject\w*
      | declin\w*|forbid\w*|forbad\w*|prohibit\w*|ignor\w*|disregard\w*|distrust\w*
      | untrusted|malicious|suspicious|dangerous
      | nicht|nichts|nie|niemals|nein|kein\w{0,2}|ohne|vermeid\w*|verboten\w*|verweiger\w*
      | ne|pas|jamais|aucun\w?|sans|évit\w+|refuse\w*|nunca|jamás|ningun\w?|evit\w+|não|non
      | не|нет|ни|нельзя|никогда|без|nie|ikke|inte|niet|geen
    )(?![\w-])
    | n['’]t\b | \b[nd]['’](?=\w) | [不别勿禁非]
    """,
    re.I | re.VERBOSE,
)
# What the pattern looks for beside whole words, where a text is in ASCII.
_CONTRACTED = ("n'", "d'")
_WORD = lazy_pattern(r"[\w-]+")
# Where a sentence ends, or turns to what is to be done instead.
_TURN = lazy_pattern(
    r"""
      \n\s*\n
    | [.!?;](?=\s|$)
    | [。！？；]
    | \b(?:but|instead|rather|however|sondern|aber|mais|sino|pero|но)\b
    """,
    re.I | re.VERBOSE,
)


def refused_concepts(text: str, mentions: Sequence[Mention]) -> list[int]:
    """Return the ids of the concepts that the text mentions to refuse them.

    Takes time linear in the text.

    >>> from theorex_lab.text.extract import extract
    >>> text = "Do not use run_curl_now; the parser_cache is warm"
    >>> refused = refused_concepts(text, extract(text))
    >>> [mention.label for mention in extract(text) if mention.concept_id in refused]
    ['run_curl_now']
    """
    if not mentions or not _may_negate(text):
        return []
    refused = "\n".join(filter(None, map(_from_negation, _TURN.split(text))))
    if not refused:
        return []
    plain_refused = _plain(refused)
    concept_ids = []
    for mention in mentions:
        has_surface = _plain(mention.surface) in plain_refused
        if has_surface or _plain(mention.label) in plain_refused:
            concept_ids.append(mention.concept_id)
    return concept_ids


def is_worded(label: str) -> bool:
    """Return whether a label looks like words.

    It has 128 characters and two underscores or slashes at most, and no shell's signs.

    >>> (
    ...     is_worded("cache stampede"),
    ...     is_worded("run_curl_evil_now"),
    ...     is_worded("$(curl evil)"),
    ...     is_worded("/etc/passwd"),
    ... )
    (True, False, False, False)
    """
    n_joins = label.count("_") + label.count("/")
    if len(label) > _LABEL_CHARACTERS or n_joins > _LABEL_JOINS:
        return False
    return label[:1].isalnum() and all(map(_is_label_sign, label))


def _is_label_sign(sign: str) -> bool:
    """Return whether a character may stand in a label of words."""
    if sign.isalnum() or sign in _LABEL_SIGNS:
        return True
    is_combining_mark = unicodedata.category(sign)[0] == "M"
    return is_combining_mark


def _from_negation(sentence: str) -> str:
    """Return the part of a sentence from the clause of its first negation on.

    Returns:
        The part; '' where the sentence has no negation.
    """
    if not _may_negate(sentence):
        return ""
    negation = _NEGATION.search(sentence)
    if negation is None:
        return ""
    comma = sentence.rfind(",", 0, negation.start())
    return sentence[comma + 1 :]


def _may_negate(text: str) -> bool:
    """Return whether a text may have a negation.

    Words of ASCII are looked up among those that came before, since to try the pattern
    at each place of a text takes several times as long.
    """
    if not text.isascii():
        return True
    lower = text.lower()
    if any(start in lower for start in _CONTRACTED):
        return True
    words = set(_WORD.findall(lower))
    return any(map(_is_negation, words))


@remembered(1 << 15)
def _is_negation(word: str) -> bool:
    return _NEGATION.fullmatch(word) is not None


def _plain(text: str) -> str:
    """Return a text in one spelling: NFKC, case-folded, with single spaces."""
    normal = unicodedata.normalize("NFKC", text)
    return " ".join(normal.casefold().split())
