"""What the mask puts in place of a secret, and the quick look for hints of one.
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
    """Which of some hints a text holds; a word is looked at once in a process, since
    most words come again.

    hints: in lower case.  marks: what else is to be known of a word that has these
    hints.
    """

    _MOST_WORDS, _LONGEST_CHARACTERS = 1 << 15, 100  # that are remembered

    def __init__(
        self,
        hints: Iterable[str],
        marks: Callable[[str, Iterable[str]], tuple[str, ...]],
    ) -> None:
        self._hints = tuple(hints)
        self._marks = marks
        # The hints as far as one word has them: one with a blank in it goes on in the
        # next.
        self._heads = [
            (hint, hint[: hint.find(" ") + 1] or hint) for hint in self._hints
        ]
        self._known: dict[str, tuple[str, ...]] = {}

    def found_in(self, text: str) -> set[str]:
        """The hints that are in the text, in any case, and the marks of its words."""
        known = self._known
        words = set(text.split())
        new = self._looked_at(words.difference(known))
        found = set().union(
            *map(known.__getitem__, words.difference(new)), *new.values()
        )
        if len(known) > self._MOST_WORDS:
            self._known = known = {}  # another thread may still read the old one
        known.update(
            (word, hints)
            for word, hints in new.items()
            if len(word) <= self._LONGEST_CHARACTERS
        )
        return {hint for hint in found if " " not in hint or hint in text.lower()}

    def _looked_at(self, words: set[str]) -> dict[str, tuple[str, ...]]:
        lowered = {word: f"{word.lower()} " for word in words}
        together = "".join(lowered.values())
        present = [(hint, head) for hint, head in self._heads if head in together]
        hinted = (
            (word, [hint for hint, head in present if head in low])
            for word, low in lowered.items()
        )
        return {word: (*hints, *self._marks(word, hints)) for word, hints in hinted}
