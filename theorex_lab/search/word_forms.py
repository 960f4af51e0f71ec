"""Find other forms of a word in texts: the last resort where no text has the word.

Languages that hang chains of endings or prefixes on a word have no stemmer here that
knows them all. Two words count as forms of one where one begins or ends with the other,
or where most of their letters are the same from the beginning or from the end. English
has a stemmer: what it did not find is another word, so a query in English gets none.
"""

from collections.abc import Iterable

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.search.lexical import STOP_WORDS
from theorex_lab.text.lexicon import word_kinds

_WORD = lazy_pattern(r"[^\W\d_]{4,}")
_FEWEST_LETTERS = 4  # that two forms have in common
_FEWEST_ENGLISH = 2
_SHARE = 0.8  # of the shorter form


def other_forms(query: str, texts: Iterable[str]) -> list[str]:
    """Return the words of texts that may be other forms of a query's words.

    Args:
        query: The query.
        texts: The texts in which its words are not found as they are.

    >>> other_forms("kitap", ["Kitaplarımızdan biri kayıp"])
    ['kitaplarımızdan']
    >>> other_forms("vitabu", ["Kitabu kipo mezani"])
    ['kitabu']
    """
    if _is_english(query):
        return []
    wanted = _words_of(query)
    # Texts share most of their words: each is compared once.
    words: set[str] = set()
    for text in texts:
        words |= _words_of(text)
    forms = _forms_among(
        words,
        wanted,
    )
    return sorted(forms)


def _is_english(query: str) -> bool:
    """Return whether a query has two words that are known to be English.

    One alone may be a word of another language too.
    """
    known_words = word_kinds()
    words = {word.casefold() for word in _WORD.findall(query)}
    english = [word for word in words if word in known_words or word in STOP_WORDS]
    return len(english) >= _FEWEST_ENGLISH


def _forms_among(
    words: set[str],
    wanted: set[str],
) -> set[str]:
    """Return the words that are forms of one of those that are wanted."""
    forms: set[str] = set()
    for word in words:
        for other in wanted:
            if _are_forms(
                word,
                other,
            ):
                forms.add(word)
    return forms


def _words_of(text: str) -> set[str]:
    """Return the words of a text that are long enough to be compared."""
    words = {word.casefold() for word in _WORD.findall(text)}
    return words - STOP_WORDS


def _are_forms(word: str, other: str) -> bool:
    """Return whether two words have most of their letters in common at one end."""
    # Most pairs differ here already, so their letters are not compared one by one.
    shares_first = word[:_FEWEST_LETTERS] == other[:_FEWEST_LETTERS]
    shares_last = word[-_FEWEST_LETTERS:] == other[-_FEWEST_LETTERS:]
    if not shares_first and not shares_last:
        return False
    shorter = min(len(word), len(other))
    fewest = max(_FEWEST_LETTERS, _SHARE * shorter)
    n_first = _n_common(
        word,
        other,
    )
    if n_first >= fewest:
        return True
    backwards = word[::-1]
    other_backwards = other[::-1]
    n_last = _n_common(
        backwards,
        other_backwards,
    )
    return n_last >= fewest


def _n_common(
    word: str,
    other: str,
) -> int:
    """Return how many letters two words have in common at their beginning."""
    n_common = 0
    for letter, other_letter in zip(word, other, strict=False):
        if letter != other_letter:
            break
        n_common += 1
    return n_common
