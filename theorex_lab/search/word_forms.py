"""Find other forms of a word in texts: the last resort where no text has the word.

Languages that hang chains of endings or prefixes on a word have no stemmer here that
knows them all. Two words count as forms of one where one begins or ends with the other,
or where most of their letters are the same from the beginning or from the end. English
has a stemmer: what it did not find is another word, so a query in English gets none.
"""

from collections import defaultdict
from collections.abc import Iterable

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.search.lexical import STOP_WORDS
from theorex_lab.text.lexicon import word_kinds

_WORD = lazy_pattern(r"[^\W\d_]{4,}")
_FEWEST_LETTERS = 4  # that two forms have in common
_FEWEST_ENGLISH = 2
_SHARE = 0.8  # of the shorter form


class WordsOfTexts:
    """The words of texts, to find other forms of a query's words among them.

    A text is read once, and its words stay in memory.

    >>> words = WordsOfTexts()
    >>> words.add(1, "Kitaplarımızdan biri kayıp")
    >>> words.add(2, "Mutfak dolabında ekmek bulunur")
    >>> words.forms_of("kitap", [1, 2])
    ['kitaplarımızdan']
    >>> words.forms_of("dolap", [1, 2])
    ['dolabında']
    >>> words.forms_of("dolap", [1])
    []
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget all texts."""
        self._words: dict[int, set[str]] = {}  # by document
        # Words of all texts, by the letters that they begin or end with.
        self._beginning: dict[str, set[str]] = defaultdict(set)
        self._ending: dict[str, set[str]] = defaultdict(set)

    def __len__(self) -> int:
        """Return how many texts were read."""
        return len(self._words)

    def __contains__(self, document: int) -> bool:
        """Say whether a text was read."""
        return document in self._words

    def add(self, document: int, text: str) -> None:
        """Read a text.

        Args:
            document: The number under which `forms_of` asks for it.
            text: The text.
        """
        words = _words_of(text)
        self._words[document] = words
        for word in words:
            beginning = word[:_FEWEST_LETTERS]
            ending = word[-_FEWEST_LETTERS:]
            self._beginning[beginning].add(word)
            self._ending[ending].add(word)

    def forms_of(self, query: str, documents: Iterable[int]) -> list[str]:
        """Return the words that may be other forms of a query's words, in order.

        Args:
            query: The query.
            documents: The texts whose words count, which were read; the query's words
                are not found in them as they are. Ask `is_english` before.
        """
        forms: set[str] = set()
        for wanted in _words_of(query):
            forms |= self._forms_of_word(wanted)
        if not forms:
            return []
        in_documents: set[str] = set()
        for document in documents:
            in_documents |= forms & self._words[document]
        return sorted(in_documents)

    def _forms_of_word(self, wanted: str) -> set[str]:
        """Return the words of all texts that are forms of a word."""
        beginning = wanted[:_FEWEST_LETTERS]
        ending = wanted[-_FEWEST_LETTERS:]
        alike = self._beginning.get(beginning, set())
        alike = alike | self._ending.get(ending, set())
        return {word for word in alike if _are_forms(word, wanted)}


def is_english(query: str) -> bool:
    """Return whether a query has two words that are known to be English.

    One alone may be a word of another language too.
    """
    known_words = word_kinds()
    words = {word.casefold() for word in _WORD.findall(query)}
    n_english = 0
    for word in words:
        if word in known_words or word in STOP_WORDS:
            n_english += 1
    return n_english >= _FEWEST_ENGLISH


def _words_of(text: str) -> set[str]:
    """Return the words of a text that are long enough to be compared."""
    words = {word.casefold() for word in _WORD.findall(text)}
    return words - STOP_WORDS


def _are_forms(word: str, other: str) -> bool:
    """Return whether two words have most of their letters in common at one end."""
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
