"""Remember the words that a slow look found nothing in.

Most words of a log come again. A text of such words alone is passed by one subtraction
of sets. Standard library only.
"""

from __future__ import annotations

# what type checkers take for true; importing `typing` for it would cost every start 5
# ms
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_WORDS = 1 << 17  # that are remembered
_LONGEST_CHARACTERS = 200  # of a word that is remembered


class HarmlessWords:
    """Looks at each word once in a process.

    >>> words = HarmlessWords(str.isdigit, shortest=3)
    >>> words.make_up("123 ab"), words.make_up("123 abc")
    (True, False)
    """

    def __init__(self, is_harmless: Callable[[str], bool], *, shortest: int) -> None:
        """Begin without any word.

        Args:
            is_harmless: Returns whether there is nothing in a word. It says the same of
                a word each time.
            shortest: How many characters a word has at least in which anything is.
        """
        self._is_harmless = is_harmless
        self._shortest = shortest
        self._words: set[str] = set()

    def make_up(self, text: str) -> bool:
        """Return whether there is nothing in any word of a text."""
        shortest = self._shortest
        words = [word for word in text.split() if len(word) >= shortest]
        if self._words.issuperset(words):
            return True
        for word in set(words).difference(self._words):
            if not self._is_harmless(word):
                return False
            if len(word) <= _LONGEST_CHARACTERS:
                self._remember(word)
        return True

    def _remember(self, word: str) -> None:
        """Keep a word; begin anew where there are too many.

        What is dropped is replaced, since another thread may still read it.
        """
        if len(self._words) >= _MOST_WORDS:
            self._words = set()
        self._words.add(word)
