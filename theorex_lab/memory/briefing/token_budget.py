"""Decide which lines a briefing has room for.

Trusted lines come first. Untrusted ones have a bounded part, and displace nothing.
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
# What `memory.briefing.context.render` sets aside for its first lines.
HEADING_TOKENS = 51
# What a section's title and its fence take, beside the name of whom it is of.
SENTENCE_HEADING_TOKENS = 12
CONCEPT_HEADING_TOKENS = 20
# Hearsay (trust below `agent`): one part in so many of the budget, and lines of one
# agent and kind of source.
HEARSAY_PART = 4
UNTRUSTED_LINES = 5
_LEAST_BYTES = 40  # of room that is worth filling
_LIST_BYTES = len("- \n")


def items_within(items: Iterable[Item], tokens: int, spare: int = 1) -> list[Item]:
    """Return the items that a budget, and `spare` bytes, have room for, in their order.

    Each takes a line. What is too long is passed over.

    >>> [
    ...     item.text
    ...     for item in items_within([Item("a"), Item("b" * 999), Item("c")], 30)
    ... ]
    ['a', 'c']
    """
    fitting: list[Item] = []
    left = BYTES_PER_TOKEN * tokens + spare
    for item in items:
        size = len(item.text.encode()) + 1
        if size <= left:
            fitting.append(item)
            left -= size
        elif left < _LEAST_BYTES:
            break
    return fitting


def price_of(text_bytes: Size) -> Size:
    """Return the tokens of a line of a briefing, by the bytes of its text in UTF-8.

    The bytes are a number, or an array of them.

    >>> price_of(len("four letters"))
    4
    """
    return -(-(text_bytes + _LIST_BYTES) // BYTES_PER_TOKEN)


def age_in_words(days: float) -> str:
    """Return today, yesterday, N days (below 14), N weeks (below 60 days), N months.

    >>> [age_in_words(days) for days in (0.5, 1.9, 13.9, 14, 59.9, 60)]
    ['today', 'yesterday', '13 days', '2 weeks', '8 weeks', '2 months']
    """
    if days < 1:
        return "today"
    if days < 2:
        return "yesterday"
    if days < 14:
        return f"{int(days)} days"
    if days < 60:
        return f"{int(days // 7)} weeks"
    return f"{int(days // 30)} months"


def trusted_first(lines: Sequence[ContextLine]) -> list[ContextLine]:
    """Return the lines in their order, untrusted ones after the others."""
    return sorted(lines, key=lambda line: not line.trusted)


class TokenBudget:
    """What is left of a budget of tokens.

    Untrusted lines may take a quarter of the whole, whatever else is shown.
    """

    def __init__(self, tokens: int, *, used: int) -> None:
        self.left = tokens - used
        self._for_hearsay = tokens // HEARSAY_PART
        self._n_untrusted = Counter[object]()  # lines, by who they are from

    def take(
        self,
        lines: Sequence[ContextLine],
        *,
        at_most: int | None = None,
        headings: bool = True,
        most: int | None = None,
    ) -> list[ContextLine]:
        """Take the trusted of the lines that fit, first come, first served.

        Args:
            lines: The lines.
            at_most: How many tokens they may take; None for all that is left.
            headings: Whether sections have headings.
            most: How many of the first trusted lines are looked at; None for all.
        """
        trusted = [line for line in lines if line.trusted][:most]
        if at_most is None:
            at_most = self.left
        fits = self.fill(*_priced(trusted, headings), at_most)
        return _chosen(trusted, fits)

    def take_hearsay(
        self,
        lines: Sequence[ContextLine],
        *,
        headings: bool = True,
        most: int | None = None,
    ) -> list[ContextLine]:
        """Take the others that fit into the part that is theirs.

        These are at most five of an agent and a kind of source, over all calls.
        """
        candidates: list[ContextLine] = []
        for line in lines:
            if (
                not line.trusted
                and self._n_untrusted[line.untrusted_source] < UNTRUSTED_LINES
            ):
                self._n_untrusted[line.untrusted_source] += 1
                candidates.append(line)
        candidates = candidates[:most]
        before = self.left
        fits = self.fill(*_priced(candidates, headings), self._for_hearsay)
        self._for_hearsay -= before - self.left
        return _chosen(candidates, fits)

    def fill(
        self, price: Ints, section: Ints, section_price: Ints, at_most: int
    ) -> Mask:
        """Return which lines have room in `at_most` tokens; columns as of `fill`."""
        budget = min(self.left, at_most)
        taken, left = fill(price, section, section_price, budget)
        self.left -= budget - left
        return taken


def _priced(lines: Sequence[ContextLine], headings: bool) -> tuple[Ints, Ints, Ints]:
    """Return price and section of each line.

    The third array is what each section's first line pays more.
    """
    numbers: dict[object, int] = {}
    section_price = np.zeros(len(lines), np.int64)
    section = np.zeros(len(lines), np.int64)
    for index, line in enumerate(lines):
        number = numbers.setdefault(_section_key(line), len(numbers))
        section[index] = number
        section_price[number] = count_tokens(line.owner)
        if headings:
            section_price[number] += _heading_tokens(line)
    sizes = np.array([len(line.text.encode()) for line in lines], np.int64)
    return price_of(sizes), section, section_price


def _section_key(line: ContextLine) -> tuple[object, str]:
    """Return what the lines of one section have in common."""
    if line.trusted:
        return line.kind, line.owner
    return line.kind == CONCEPT, line.owner


def _chosen(lines: Sequence[ContextLine], taken: Mask) -> list[ContextLine]:
    """Return the lines of a mask."""
    chosen = []
    for line, is_taken in zip(lines, taken.tolist(), strict=True):
        if is_taken:
            chosen.append(line)
    return chosen


def fill(
    price: Ints, section: Ints, section_price: Ints, budget: int
) -> tuple[Mask, int]:
    """Return which lines are taken, in their order, and what is left of the budget.

    A line that does not fit is passed over.

    Args:
        price: The tokens of each line.
        section: The number of each line's section.
        section_price: What the first line of each section pays more.
        budget: The tokens.

    >>> taken, left = fill(np.array([9, 90, 9]), np.array([0, 0, 0]), np.array([2]), 30)
    >>> taken.tolist(), left
    ([True, False, True], 10)
    """
    taken = np.zeros(len(price), np.bool_)
    opened = set[int]()
    cheapest = price.min(initial=1 << 62)
    pairs = zip(price.tolist(), section.tolist(), strict=True)
    for index, (tokens, number) in enumerate(pairs):
        if budget < cheapest:
            break
        if number not in opened:
            tokens += int(section_price[number])
        if tokens <= budget:
            taken[index] = True
            opened.add(number)
            budget -= tokens
    return taken, budget


def _heading_tokens(line: ContextLine) -> int:
    """Return what the title and the fence of a line's section take."""
    if line.kind == CONCEPT:
        return CONCEPT_HEADING_TOKENS
    return SENTENCE_HEADING_TOKENS
