"""Define what the mask puts in place of a secret, and look quickly for hints of one.

Standard library only.
"""

from __future__ import annotations

# what type checkers take for true; importing `typing` for it would cost every start 5
# ms
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MASK = "[masked]"


class HintSet:
    """Finds which of some hints a text holds.

    A word is looked at once in a process, since most words come again.
    """

    _MOST_WORDS = 1 << 15  # that are remembered
    _LONGEST_CHARACTERS = 100

    def __init__(
        self,
        hints: Iterable[str],
        marks: Callable[[str, Iterable[str]], tuple[str, ...]],
    ) -> None:
        """Begin without any word.

        Args:
            hints: The hints, in lower case.
            marks: Returns what else is noted of a word that has these hints.
        """
        self._hints = tuple(hints)
        self._marks = marks
        # The hints as far as one word has them: one with a blank in it goes on in the
        # next.
        self._heads = [
            (hint, hint[: hint.find(" ") + 1] or hint) for hint in self._hints
        ]
        self._hints_by_word: dict[str, tuple[str, ...]] = {}

    def found_in(self, text: str) -> set[str]:
        """Return the hints that are in the text, in any case, and its words' marks."""
        remembered = self._hints_by_word
        words = set(text.split())
        new = self._hints_of(words.difference(remembered))
        hints = set().union(
            *map(remembered.__getitem__, words.difference(new)), *new.values()
        )
        if len(remembered) > self._MOST_WORDS:
            remembered = {}  # another thread may still read the old one
            self._hints_by_word = remembered
        for word, word_hints in new.items():
            if len(word) <= self._LONGEST_CHARACTERS:
                remembered[word] = word_hints
        return {hint for hint in hints if " " not in hint or hint in text.lower()}

    def _hints_of(self, words: set[str]) -> dict[str, tuple[str, ...]]:
        """Return the hints and marks of each of these words."""
        lowered = {word: f"{word.lower()} " for word in words}
        all_words = "".join(lowered.values())
        present = [(hint, head) for hint, head in self._heads if head in all_words]
        hints_by_word: dict[str, tuple[str, ...]] = {}
        for word, low in lowered.items():
            hints = [hint for hint, head in present if head in low]
            hints_by_word[word] = (*hints, *self._marks(word, hints))
        return hints_by_word
