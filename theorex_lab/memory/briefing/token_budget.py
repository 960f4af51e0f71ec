"""Which lines a context has room for: the trusted ones first, and of hearsay a bounded
part that crowds nothing out.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from theorex_lab.memory.contract import ContextLine, Item
from theorex_lab.text.line import BYTES_PER_TOKEN
from theorex_lab.text.line import count_tokens as count_tokens

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Size = TypeVar("Size", int, NDArray[np.int64])

CONCEPT = "concept"
HEADING_TOKENS = 51  # what `memory.context.render` sets aside for its first lines
# What a section's title and its fence take, beside the name of whom it is of.
SENTENCE_HEADING_TOKENS = 12
CONCEPT_HEADING_TOKENS = 20
# Hearsay (trust below `agent`): one part in so many of the budget, and lines of one
# agent and kind of source.
HEARSAY_PART = 4
HEARSAY_LINES = 5
_LEAST_BYTES = 40  # of room that is worth filling
_LIST_BYTES = len("- \n")


def items_within(items: Iterable[Item], tokens: int, spare: int = 1) -> list[Item]:
    """The items that a budget, and `spare` bytes, have room for, in their order, a line
    each; what is too long is passed over.

    >>> [
    ...     item.text
    ...     for item in items_within([Item("a"), Item("b" * 999), Item("c")], 30)
    ... ]
    ['a', 'c']
    """
    kept = list[Item]()
    room = BYTES_PER_TOKEN * tokens + spare
    for item in items:
        if (size := len(item.text.encode()) + 1) <= room:
            kept.append(item)
            room -= size
        elif room < _LEAST_BYTES:
            break
    return kept


def price_of(text_bytes: Size) -> Size:
    """Tokens of a line of a context, by the bytes of its text in UTF-8: a number, or an
    array of them.

    >>> price_of(len("four letters"))
    4
    """
    return -(-(text_bytes + _LIST_BYTES) // BYTES_PER_TOKEN)


def age_in_words(days: float) -> str:
    """today, yesterday, N days (below 14), N weeks (below 60 days), N months.

    >>> [age_in_words(days) for days in (0.5, 1.9, 13.9, 14, 59.9, 60)]
    ['today', 'yesterday', '13 days', '2 weeks', '8 weeks', '2 months']
    """
    if days < 1:
        return "today"
    if days < 2:
        return "yesterday"
    if days < 14:
        return f"{int(days)} days"
    return f"{int(days // 7)} weeks" if days < 60 else f"{int(days // 30)} months"


def trusted_first(lines: Sequence[ContextLine]) -> list[ContextLine]:
    """The lines in their order, hearsay after the others."""
    return sorted(lines, key=lambda line: not line.trusted)


class TokenBudget:
    """What is left of a budget of tokens; hearsay may take a quarter of the whole,
    whatever else is there.
    """

    def __init__(self, tokens: int, *, used: int) -> None:
        self.left = tokens - used
        self._for_hearsay = tokens // HEARSAY_PART
        self._heard = Counter[object]()  # lines, by who they are from

    def take(
        self,
        lines: Sequence[ContextLine],
        *,
        at_most: int | None = None,
        headings: bool = True,
        most: int | None = None,
    ) -> list[ContextLine]:
        """The trusted of the lines that fit, first come, first served, in `at_most`
        tokens; of the first `most` of them.
        """
        trusted = [line for line in lines if line.trusted][:most]
        return _chosen(
            trusted,
            self.fill(
                *_priced(trusted, headings), self.left if at_most is None else at_most
            ),
        )

    def take_hearsay(
        self,
        lines: Sequence[ContextLine],
        *,
        headings: bool = True,
        most: int | None = None,
    ) -> list[ContextLine]:
        """The others that fit into the part that is theirs, five of an agent and a kind
        of source at most, all told.
        """
        few: list[ContextLine] = []
        for line in lines:
            if not line.trusted and self._heard[line.heard_from] < HEARSAY_LINES:
                self._heard[line.heard_from] += 1
                few.append(line)
        few = few[:most]
        before = self.left
        taken = _chosen(few, self.fill(*_priced(few, headings), self._for_hearsay))
        self._for_hearsay -= before - self.left
        return taken

    def fill(
        self, price: Ints, section: Ints, section_price: Ints, at_most: int
    ) -> Mask:
        """Which lines find room in `at_most` tokens; columns as of `fill`."""
        budget = min(self.left, at_most)
        taken, left = fill(price, section, section_price, budget)
        self.left -= budget - left
        return taken


def _priced(lines: Sequence[ContextLine], headings: bool) -> tuple[Ints, Ints, Ints]:
    """Price and section of each line, and what each section's first line pays more."""
    numbers: dict[object, int] = {}
    section_price = np.zeros(len(lines), np.int64)
    section = np.zeros(len(lines), np.int64)
    for place, line in enumerate(lines):
        key = line.kind if line.trusted else line.kind == CONCEPT, line.owner
        section[place] = number = numbers.setdefault(key, len(numbers))
        section_price[number] = (
            _heading_tokens(line) if headings else 0
        ) + count_tokens(line.owner)
    return (
        price_of(np.array([len(line.text.encode()) for line in lines], np.int64)),
        section,
        section_price,
    )


def _chosen(lines: Sequence[ContextLine], taken: Mask) -> list[ContextLine]:
    return [line for line, fits in zip(lines, taken.tolist(), strict=True) if fits]


def fill(
    price: Ints, section: Ints, section_price: Ints, budget: int
) -> tuple[Mask, int]:
    """Which lines are taken, in their order, and what is left of the budget. One that
    does not fit is passed over.

    price: tokens of each line.  section: its section's number.  section_price: what a
    section's first line pays more.

    >>> taken, left = fill(np.array([9, 90, 9]), np.array([0, 0, 0]), np.array([2]), 30)
    >>> taken.tolist(), left
    ([True, False, True], 10)
    """
    taken = np.zeros(len(price), np.bool_)
    opened = set[int]()
    cheapest = price.min(initial=1 << 62)
    for place, (tokens, part) in enumerate(
        zip(price.tolist(), section.tolist(), strict=True)
    ):
        if budget < cheapest:
            break
        tokens += 0 if part in opened else int(section_price[part])
        if tokens <= budget:
            taken[place] = True
            opened.add(part)
            budget -= tokens
    return taken, budget


def _heading_tokens(line: ContextLine) -> int:
    return CONCEPT_HEADING_TOKENS if line.kind == CONCEPT else SENTENCE_HEADING_TOKENS
