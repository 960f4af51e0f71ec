"""Read a label and what stands after it as one statement.

"`till.py`: prints receipts" and "`GET /orders` - List all orders" say what the thing
that they name does.
"""

from collections.abc import Sequence

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.designs.facts import statement_cues as cues
from theorex_lab.memory.claims import clause_of
from theorex_lab.text import lexicon

_BASE_FORMS = (
    lexicon.VERB,
    lexicon.STRONG,
    lexicon.MIDDLE,
    lexicon.WEAK,
)
_THIRD_PERSONS = (
    lexicon.STRONG_S,
    lexicon.MIDDLE_S,
    lexicon.WEAK_S,
)
_VERB_FORMS = (lexicon.VERB, *_THIRD_PERSONS)
_ADDRESS = lazy_pattern(r"`(?:GET|POST|PUT|PATCH|DELETE)\s")
# Words that an object begins with.
_OBJECT_STARTS = frozenset(
    """
    the a an all any each every both its whether if how what when where current new
    existing specific another
    """.split()
)


def without_label(text: str) -> str:
    """Return "`a`: prints b" as "`a` prints b"; any other text as it is.

    >>> without_label("`shop list` - Print all orders")
    '`shop list` prints all orders'
    """
    match = cues.LABELLED.match(text)
    if match is None:
        return text
    label = match[1]
    first_word, space, rest = match[2].partition(" ")
    first_word = first_word.lower()
    is_address = _ADDRESS.match(label) is not None
    if not is_address and not _may_be_predicate(first_word, rest):
        return text
    verb = _third_person(first_word)
    joined = f"{label} {verb}{space}{rest}"
    clause = clause_of(joined)
    if clause is None or clause.subject != label:
        return text
    return joined


def _third_person(word: str) -> str:
    """Return a verb in its base form in the third person; any other word as it is."""
    kind = lexicon.word_kinds().get(word)
    if kind not in _BASE_FORMS or lexicon.singular(word) != word:
        return word
    third, _, _ = lexicon.inflections(word)
    return third


def _may_be_predicate(first_word: str, rest: str) -> bool:
    """Return whether what a label stands before is a verb with its object.

    "Prints all items" is; "file patterns", "list of items" and "call site" are none.
    """
    if first_word == "has":
        return True
    verb = _third_person(first_word)
    kind = lexicon.word_kinds().get(verb)
    if kind not in _VERB_FORMS:
        return False
    next_word, *others = [*rest.lower().split(), ""]
    next_word = next_word.strip("(,")
    if next_word == "of":
        return False
    has_form = kind == lexicon.VERB or first_word.endswith("s")
    if has_form or _begins_object(next_word):
        return True
    if kind == lexicon.WEAK_S:
        return False
    return _may_be_object(next_word, others)


def _begins_object(word: str) -> bool:
    """Return whether an object begins with a word: "the", or a name in code."""
    return word in _OBJECT_STARTS or word.startswith("`")


def _may_be_object(word: str, others: Sequence[str]) -> bool:
    """Return whether a noun may be an object, and no subject of its own verb."""
    if not word[:1].isalpha():
        return False
    if lexicon.word_kinds().get(word) == lexicon.PREPOSITION:
        return False
    second, third, *_ = [*others, "", ""]
    is_verb = lexicon.word_kinds().get(second) in _THIRD_PERSONS
    return not (is_verb and _begins_object(third))
