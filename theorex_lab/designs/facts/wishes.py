"""Word what a user wants, or says of themself, so that it stands alone."""

import re
from collections.abc import Iterator

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.memory.briefing import rule_cues
from theorex_lab.memory.briefing.rule_signs import (
    score_of,
    states_a_wish,
    wish_signs,
)
from theorex_lab.memory.briefing.rule_wording import is_objection, standing_wording
from theorex_lab.text.caseless import caseless_test
from theorex_lab.text.lexicon import singular
from theorex_lab.text.spoken import sentences_of

_FEWEST_WORDS = 3
_MOST_WORDS = 40
_NAMED_BEFORE = 5  # words before "it" that may name what it stands for
_SURE_WISH = 1.9  # the score from which a sentence without "always" is a standing wish
POINTING_BACK = lazy_pattern(
    r"""
    \b(?: this | that | these | those | it | them | they | he | she | here | there
      | above | below | you | your )\b
    """,
    re.I | re.VERBOSE,
)
_OF_THE_USER = lazy_pattern(r"\b(?:me|my|I|i)\b")
_IN_INFINITIVE = lazy_pattern(r"\bto (?:always|never)\b", re.I)
_OF_A_RULE = lazy_pattern(r"\brule\b", re.I)
_QUOTED = lazy_pattern(r"\"[^\"]*\"|“[^”]*”|`[^`]*`")
_AFTER_EXPLETIVE = frozenset("seems is makes".split())
_DEMONSTRATIVES = frozenset("those these that".split())
_PRONOUNS = frozenset("it them they".split())
# Of one moment or of one piece of work, or said in anger.
_PASSING = caseless_test(
    r"""
    \b(?: yet | right[ ]now | currently | today | now | was | were | did
      | stop[ ]talking | what[ ]to[ ]do | update[ ]the[ ](?:doc|plan)
      | create[ ]a[ ](?:new[ ])?task | no[ ]code[ ]changes | one[ ]more | this[ ]time
      | the[ ]point | the[ ]latter | the[ ]former | hmm+ | lines?[ ]\d+ )\b
    | ^(?:first|second|third|finally|consider)\b
    | ^[a-z]+ed\b | ^you[ ]are\b
    | ^ask[ ]questions
    """,
    re.VERBOSE,
)
# Says what a text at hand is to hold.
_ABOUT_A_TEXT = caseless_test(
    r"""
    \b(?:the|that|this|a|each|another)[ ] (?:\w+[- ])?
    (?:rule|doc|document|section|description|spec|sentence|paragraph|pr|task|message
      |file)s?
    \b[ ] (?:mention|should|must|specif|state|include|say|explain|is|are|so[ ]that)
    """,
    re.VERBOSE,
)
_REFUSALS = (
    _PASSING,
    _ABOUT_A_TEXT,
    rule_cues.SMALL_TALK,
    rule_cues.WITHOUT_REFERENT,
    rule_cues.RECORD_REQUEST,
)


def wishes_in(text: str) -> Iterator[str]:
    """Yield the standing wishes of a user's message, in words that stand alone.

    >>> list(wishes_in("Never commit to main. Never commit this."))
    ['Never commit to main']
    """
    for span in sentences_of(text, "user"):
        wording = standing_wording(span.text)
        signs = wish_signs(wording)
        if not states_a_wish(wording, signs, span.text):
            continue
        if score_of(signs) < _SURE_WISH:
            continue
        wish = standing_wish(span.text)
        if wish:
            yield wish


def standing_wish(sentence: str) -> str:
    """Return a user's wish in words that stand alone; '' where it cannot.

    >>> standing_wish("never ask me before a test"), standing_wish("always do that")
    ('Never ask the user before a test', '')
    """
    if _IN_INFINITIVE.search(sentence) and not _OF_A_RULE.search(sentence):
        # "Change the import to never wait" asks for one piece of work.
        return ""
    wording = standing_wording(sentence)
    wording = _OF_THE_USER.sub(_as_third_person, wording)
    if not _FEWEST_WORDS <= len(wording.split()) <= _MOST_WORDS:
        return ""
    if is_objection(wording):
        return ""
    plain = _QUOTED.sub("x", wording)
    if any(refusal.is_in(plain) for refusal in _REFUSALS):
        return ""
    for match in POINTING_BACK.finditer(plain):
        if _lacks_referent(plain, match):
            return ""
    return wording


def told_of_user(sentence: str) -> str:
    """Return what a user says of themself as a statement; '' where it points back.

    >>> told_of_user("I prefer tabs over spaces"), told_of_user("I like it")
    ('The user prefers tabs over spaces', '')
    """
    if POINTING_BACK.search(sentence):
        return ""
    if len(sentence.split()) < _FEWEST_WORDS:
        return ""
    return standing_wording(sentence)


def _as_third_person(match: re.Match[str]) -> str:
    """Return how "me", "my" and "I" are told of the user."""
    if match[0].lower() == "my":
        return "the user's"
    return "the user"


def _lacks_referent(text: str, match: re.Match[str]) -> bool:
    """Return whether a word that points back has nothing in its sentence to point at.

    "Those modules" has it where modules were named before; "if it seems" and "the rule
    that holds" point at nothing. "You" is the reader.
    """
    word = match[0].lower()
    before = text[: match.start()].lower()
    next_word, *_ = [*text[match.end() :].split(), ""]
    next_word = next_word.strip(".,;:").lower()
    if word in ("you", "your"):
        return False
    if word == "it" and next_word in _AFTER_EXPLETIVE:
        return False
    if word == "that" and before.strip():
        return False
    if word in _DEMONSTRATIVES:
        return not next_word or singular(next_word) not in before
    if word in _PRONOUNS:
        return len(before.split()) < _NAMED_BEFORE
    return True
