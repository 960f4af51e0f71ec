"""Tell statements from phrases whose noun or participle looks like a verb.

"Inline keyboard buttons for navigation" states nothing, nor does "Database tables
created"; "the till runs on a tablet" does.
"""

from theorex_lab.designs.facts import statement_cues as cues
from theorex_lab.memory.claims import Clause
from theorex_lab.text import lexicon

_THIRD_PERSONS = (
    lexicon.STRONG_S,
    lexicon.MIDDLE_S,
    lexicon.WEAK_S,
)
# Third persons that are no nouns where a preposition follows: "defaults to".
_NO_NOUNS = frozenset(
    "lives points belongs defaults runs starts returns resets works".split()
)
_ADVERBS = frozenset("always also only then first".split())
_DEFINITE = frozenset("the our each every".split())


def is_phrase(clause: Clause) -> bool:
    """Return whether what was read as the verb of a clause is a noun or a participle.

    >>> from theorex_lab.memory.claims import clause_of
    >>> is_phrase(clause_of("Regex patterns for common cases"))
    True
    >>> is_phrase(clause_of("The till runs on a tablet"))
    False
    """
    verbs = clause.verb.lower().split()
    if len(verbs) > 1:
        return False
    (verb,) = verbs
    kind = lexicon.word_kinds().get(verb)
    if kind == lexicon.PARTICIPLE:
        return True
    if kind not in _THIRD_PERSONS:
        return False
    next_word = _next_word(clause)
    next_kind = lexicon.word_kinds().get(next_word)
    if next_kind in (lexicon.PARTICIPLE, lexicon.GERUND):
        return True
    if next_word and next_kind != lexicon.PREPOSITION:
        return False
    return verb not in _NO_NOUNS and _may_be_noun(clause, kind)


def is_definite(phrase: str) -> bool:
    """Return whether a phrase names one thing that is known: "the till"."""
    first_word, _, _ = phrase.lower().partition(" ")
    return first_word in _DEFINITE or "'s " in phrase


def _next_word(clause: Clause) -> str:
    """Return the first word after the verb that is no adverb; '' for none."""
    for word in clause.rest.lower().split():
        if word not in _ADVERBS:
            return word.strip("(,:")
    return ""


def _may_be_noun(clause: Clause, kind: int) -> bool:
    """Return whether a verb before a preposition is rather the noun of a phrase."""
    last_word = clause.subject.lower().split()[-1] if clause.subject else ""
    if lexicon.word_kinds().get(last_word) == lexicon.ADJECTIVE:
        # "The till's internal indexes on …": an adjective has no verb behind it.
        return True
    if kind == lexicon.STRONG_S:
        return cues.EXACT_VALUE.search(clause.rest) is None
    if is_definite(clause.subject):
        return False
    return cues.EXACT_NAME.search(clause.subject) is None
