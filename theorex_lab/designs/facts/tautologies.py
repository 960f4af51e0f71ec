"""Tell statements that say no more than the name of their subject does.

"`PUT /orders/{id}` updates an order" follows from the name, and so does "`orders` holds
orders".
"""

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.memory.claims import Clause
from theorex_lab.text.lexicon import singular

_PART_OF_NAME = lazy_pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
# Verbs that a name or a method of an address stands for.
_EXPECTED_VERBS = frozenset(
    """
    is are has holds contains gets get returns return lists list creates create updates
    update modifies edits deletes delete removes remove adds add retrieves retrieve
    fetches stores sets starts start shows views
    """.split()
)
# Words that tell nothing of a thing that its name does not tell.
_EXPECTED_WORDS = frozenset(
    """
    a an the all its one single given new existing current by of for from to with in and
    id ids uuid name details detail data info information record item specific status
    """.split()
)
_FEWEST_SHARED = 4  # first letters by which two forms of a word are the same


def is_tautology(clause: Clause, predicate: str) -> bool:
    """Return whether a statement says no more than the name of its subject.

    Args:
        clause: Its first clause.
        predicate: What follows its verb.

    >>> from theorex_lab.memory.claims import clause_of
    >>> is_tautology(clause_of("`PUT /orders/{id}` updates an order"), "an order")
    True
    """
    verb = clause.verb.lower()
    names = _parts(clause.subject)
    if verb not in _EXPECTED_VERBS and not _is_in(verb, names):
        return False
    for word in _parts(predicate):
        if word not in _EXPECTED_WORDS and not _is_in(word, names):
            return False
    return True


def _parts(text: str) -> set[str]:
    """Return the words of a text, and those that its names are made of."""
    return {singular(part.lower()) for part in _PART_OF_NAME.findall(text)}


def _is_in(word: str, names: set[str]) -> bool:
    """Return whether a word, or another form of it, is among names."""
    if word in names:
        return True
    start = word[: max(_FEWEST_SHARED, len(word) - 3)]
    if len(start) < _FEWEST_SHARED:
        return False
    return any(name.startswith(start) for name in names)
