"""Which lines a context has room for: the trusted ones first, and of hearsay a bounded part that crowds nothing out."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from theorex_lab.design import Item, Line
from theorex_lab.text.line import BYTES_PER_TOKEN
from theorex_lab.text.line import count_tokens as count_tokens

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Size = TypeVar("Size", int, NDArray[np.int64])

CONCEPT = "concept"
HEADING_TOKENS = 51  # what `memory.context.render` sets aside for its first lines
# What a section's title and its fence take, beside the name of whom it is of.
SENTENCE_HEADING_TOKENS, CONCEPT_HEADING_TOKENS = 12, 20
# Hearsay (trust below `agent`): one part in so many of the budget, and lines of one agent and kind of source.
HEARSAY_PART, HEARSAY_LINES = 4, 5
_LEAST_BYTES = 40  # of room that is worth filling
_LIST_BYTES = len("- \n")


def items_within(items: Iterable[Item], tokens: int, spare: int = 1) -> list[Item]:
    """The items that a budget, and `spare` bytes, have room for, in their order, a line each; what is too long is passed over.

    >>> [item.text for item in items_within([Item("a"), Item("b" * 999), Item("c")], 30)]
    ['a', 'c']
    """
    kept, room = list[Item](), BYTES_PER_TOKEN * tokens + spare
    for item in items:
        if (size := len(item.text.encode()) + 1) <= room:
            kept.append(item)
            room -= size
        elif room < _LEAST_BYTES:
            break
    return kept


def price_of(text_bytes: Size) -> Size:
    """Tokens of a line of a context, by the bytes of its text in UTF-8: a number, or an array of them.

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


def trusted_first(lines: Sequence[Line]) -> list[Line]:
    """The lines in their order, hearsay after the others."""
    return sorted(lines, key=lambda line: not line.trusted)


class Room:
    """What is left of a budget of tokens; hearsay may take a quarter of the whole, whatever else is there."""

    def __init__(self, tokens: int, *, used: int) -> None:
        self.left = tokens - used
        self._for_hearsay = tokens // HEARSAY_PART
        self._sources: dict[object, int] = {}
        self._heard_from = np.zeros(0, np.int64)

    def take(self, lines: Sequence[Line], *, at_most: int | None = None, headings: bool = True,
             most: int | None = None) -> list[Line]:  # fmt: skip
        """The trusted of the lines that fit, first come, first served, in `at_most` tokens; of the first `most` of them."""
        trusted = [line for line in lines if line.trusted][:most]
        return _chosen(trusted, self.fill(*_priced(trusted, headings), self.left if at_most is None else at_most))

    def take_hearsay(self, lines: Sequence[Line], *, headings: bool = True, most: int | None = None) -> list[Line]:
        """The others that fit into the part that is theirs, five of an agent and a kind of source at most, all told."""
        heard = [line for line in lines if not line.trusted]
        source = _numbered([line.heard_from for line in heard], self._sources)
        return _chosen(heard, self.hear(source, *_priced(heard, headings), most))

    def fill(self, price: Ints, section: Ints, section_price: Ints, at_most: int) -> Mask:
        """Which lines find room in `at_most` tokens; columns as of `fill`."""
        budget = min(self.left, at_most)
        taken, left = fill(price, section, section_price, budget)
        self.left -= budget - left
        return taken

    def hear(self, source: Ints, price: Ints, section: Ints, section_price: Ints, most: int | None = None) -> Mask:
        """Which lines of hearsay find room, of each `source` five at most, all told; of these the first `most`."""
        told = len(self._heard_from)
        few = np.flatnonzero(first_of_each(np.append(self._heard_from, source), HEARSAY_LINES)[told:])
        self._heard_from = np.append(self._heard_from, source[few])
        few, before, taken = few[:most], self.left, np.zeros(len(source), np.bool_)
        taken[few] = self.fill(price[few], section[few], section_price, self._for_hearsay)
        self._for_hearsay -= before - self.left
        return taken


def _priced(lines: Sequence[Line], headings: bool) -> tuple[Ints, Ints, Ints]:
    """Price and section of each line, and what each section's first line pays more."""
    section = _numbered([(line.kind if line.trusted else line.kind == CONCEPT, line.owner) for line in lines], {})
    section_price = np.zeros(len(lines), np.int64)
    for number, line in zip(section.tolist(), lines, strict=True):
        section_price[number] = (_heading_tokens(line) if headings else 0) + count_tokens(line.owner)
    return price_of(np.array([len(line.text.encode()) for line in lines], np.int64)), section, section_price


def _chosen(lines: Sequence[Line], taken: Mask) -> list[Line]:
    return [line for line, fits in zip(lines, taken.tolist(), strict=True) if fits]


def fill(price: Ints, section: Ints, section_price: Ints, budget: int) -> tuple[Mask, int]:
    """Which lines are taken, in their order, and what is left of the budget. One that does not fit is passed over.

    price: tokens of each line.  section: its section's number.  section_price: what a section's first line pays more.

    >>> taken, left = fill(np.array([9, 90, 9]), np.array([0, 0, 0]), np.array([2]), 30)
    >>> taken.tolist(), left
    ([True, False, True], 10)
    """
    taken, opened, start = np.zeros(len(price), np.bool_), np.zeros(len(section_price), np.bool_), 0
    while start < len(price):
        rest = section[start:]
        closed = np.where(opened[rest], 0, section_price[rest])
        fits = np.flatnonzero(price[start:] + closed <= budget)
        if not len(fits):
            break
        start, rest, closed = start + int(fits[0]), rest[fits[0] :], closed[fits[0] :]
        first = np.zeros(len(rest), np.bool_)
        first[np.unique(rest, return_index=True)[1]] = True
        spent = np.cumsum(price[start:] + np.where(first, closed, 0))
        count = int(np.searchsorted(spent, budget, "right"))
        taken[start : start + count] = True
        opened[rest[:count]] = True
        budget -= int(spent[count - 1])
        start += count
    return taken, budget


def first_of_each(key: Ints, most: int) -> Mask:
    """The first `most` of each key, in their order.

    >>> first_of_each(np.array([7, 7, 3, 7]), 2).tolist()
    [True, True, True, False]
    """
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=key[order][:1] - 1)) if len(key) else order
    rank = np.arange(len(key)) - np.repeat(starts, np.diff(np.append(starts, len(key))))
    kept = np.zeros(len(key), np.bool_)
    kept[order[rank < most]] = True
    return kept


def _numbered(keys: Sequence[object], numbers: dict[object, int]) -> Ints:
    """Equal keys as equal numbers from 0 on; `numbers` holds those that are known."""
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)


def _heading_tokens(line: Line) -> int:
    return CONCEPT_HEADING_TOKENS if line.kind == CONCEPT else SENTENCE_HEADING_TOKENS
