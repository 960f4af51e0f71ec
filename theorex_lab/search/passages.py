"""Which texts stand around each text in its session.

A passage is a text with whole texts before and after it, added in turn until there are
enough words, since a short text says little alone.
"""

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorex_lab.search.fuse import Mask

Integers = NDArray[np.int64]

PASSAGE_WORDS = 60  # chosen on LoCoMo and QMSum, 30 to 100; see notebook 04
REACH = 3  # texts at most on each side
_DISTANCES = range(-REACH, REACH + 1)


class Passages:
    """Which texts stand around each text.

    Positions are those of the texts in order of their sessions.

    >>> sessions = np.array([0, 1, 0, 0])
    >>> words = np.array([50, 9, 5, 100])
    >>> passages = Passages(sessions, words)
    >>> passages.before().tolist()
    [-1, -1, 0, 2]
    >>> passages.after().tolist()
    [2, -1, 3, -1]
    >>> passages.words.tolist()
    [155, 9, 155, 100]

    Attributes:
        any: Whether any text has another one in its session.
        words: By text, how many words its passage has.
        echo: A mask of the texts that duplicate another one.
        mean_text: How many words a text has on average, without duplicates.
        mean_passage: How many words a passage has on average, without duplicates.
    """

    def __init__(
        self,
        session: NDArray[np.integer],
        words: NDArray[np.integer],
        echo: Mask | None = None,
    ) -> None:
        """Look for the passages.

        Args:
            session: By text, the number of its session, below 0 for none.
            words: By text, how many words it has.
            echo: A mask of the texts that duplicate another one; None for no text.
        """
        none = np.zeros(0, np.int64)
        # By position: the text, and the number of its session.
        self._order = none
        self._sessions = none
        # By position: how many positions before and after it its passage reaches, how
        # many words that passage has, and the bits of `_bits_of_holders`.
        self._n_before = none
        self._n_after = none
        self._passage_words = none
        self._holders = np.zeros(0, np.uint8)
        # By position, the first and the last position of its session.
        self._first = none
        self._last = none
        # By position, how many words stand before it, and at the end all of them.
        self._words_before = np.zeros(1, np.int64)
        self.any = False
        self._add(session, words, echo)

    def grown(
        self,
        session: NDArray[np.integer],
        words: NDArray[np.integer],
        echo: Mask | None = None,
    ) -> "Passages":
        """Return the passages of these texts and of more, which follow them.

        Only the sessions of what is new are looked at again.

        Args:
            session: As in `Passages`, of all texts; what it says of the earlier ones
                has not changed.
            words: As in `Passages`, of all texts, likewise.
            echo: As in `Passages`.
        """
        larger = copy(self)
        larger._add(session, words, echo)
        return larger

    def _add(
        self,
        session: NDArray[np.integer],
        words: NDArray[np.integer],
        echo: Mask | None,
    ) -> None:
        """Take in the texts that follow those that there are.

        Args:
            session: As in `grown`.
            words: As in `grown`.
            echo: As in `grown`.
        """
        n_texts = len(session)
        changed = self._insert(session)
        positions = np.arange(n_texts)
        self._position = np.empty(n_texts, np.int64)
        self._position[self._order] = positions
        if len(changed):
            self._measure_from(changed[0], words)
        low, high = self._reach_of(changed)
        self._n_before[changed] = changed - low
        self._n_after[changed] = high - changed
        self._passage_words[changed] = self._n_words(low, high)
        self._holders[changed] = self._bits_of_holders(changed)
        self.words: Integers = self._passage_words[self._position]
        if echo is None:
            echo = np.zeros(n_texts, np.bool_)
        self.echo = echo
        self.mean_text = _mean_words(
            words,
            echo,
        )
        self.mean_passage = _mean_words(
            self.words,
            echo,
        )

    def _measure_from(self, start: int, words: NDArray[np.integer]) -> None:
        """Find the bounds of sessions, and count words, from a position on.

        Args:
            start: Where a session begins. What stands before it is as it was.
            words: By text, how many words it has.
        """
        begins = _begins(self._sessions[start:])
        if not begins.all():
            self.any = True
        first, last = _bounds(begins)
        self._first = np.concatenate((self._first[:start], start + first))
        self._last = np.concatenate((self._last[:start], start + last))
        sizes = words[self._order[start:]]
        before = self._words_before[: start + 1]
        following = before[-1] + np.cumsum(sizes)
        self._words_before = np.concatenate((before, following))

    def _insert(self, session: NDArray[np.integer]) -> Integers:
        """Give the texts that are new their positions, behind those of their sessions.

        Returns:
            The positions of the sessions that have a new text, in rising order.
        """
        n_earlier = len(self._order)
        new_sessions = session[n_earlier:]
        by_session = np.argsort(
            new_sessions,
            kind="stable",
        )
        new_sessions = new_sessions[by_session]
        where = np.searchsorted(
            self._sessions,
            new_sessions,
            side="right",
        )
        new_texts = n_earlier + by_session
        self._order = _inserted(
            self._order,
            where,
            new_texts,
        )
        self._sessions = _inserted(
            self._sessions,
            where,
            new_sessions,
        )
        # What is not looked for yet.
        self._n_before = _with_zeros(self._n_before, where)
        self._n_after = _with_zeros(self._n_after, where)
        self._passage_words = _with_zeros(self._passage_words, where)
        self._holders = _with_zeros(self._holders, where)
        n_new = len(new_texts)
        inserted = where + np.arange(n_new)
        if not n_earlier:
            return inserted
        # A text without a session stands alone.
        has_session = new_sessions >= 0
        parts = [inserted[~has_session]]
        for grown_session in sorted(set(new_sessions[has_session].tolist())):
            first, end = np.searchsorted(
                self._sessions,
                (grown_session, grown_session + 1),
            )
            parts.append(np.arange(first, end))
        return np.concatenate(parts)

    def _bits_of_holders(self, position: Integers) -> NDArray[np.uint8]:
        """Return by position a bit for each distance at which a passage holds its text.

        The first bit is that of the distance -REACH.
        """
        bits = np.zeros(len(position), np.uint8)
        if not self.any:  # each is held by its own passage alone
            bits[:] = 1 << REACH
            return bits
        first = self._first[position]
        last = self._last[position]
        for bit, distance in enumerate(_DISTANCES):
            neighbour = position + distance
            is_held = first <= neighbour
            is_held &= neighbour <= last
            neighbour = np.where(
                is_held,
                neighbour,
                position,
            )
            low = neighbour - self._n_before[neighbour]
            high = neighbour + self._n_after[neighbour]
            is_held &= low <= position
            is_held &= position <= high
            holder = np.uint8(1 << bit)
            bits[is_held] |= holder
        return bits

    def _n_words(self, low: Integers, high: Integers) -> Integers:
        """Return how many words stand from these positions to those, both included."""
        before = self._words_before[low]
        up_to = self._words_before[high + 1]
        return np.asarray(up_to - before)

    def _reach_of(self, position: Integers) -> tuple[Integers, Integers]:
        """Return the first and the last position of the passages of these positions."""
        low = position.copy()
        high = position.copy()
        if not self.any:
            return low, high
        first = self._first[position]
        last = self._last[position]
        for _ in range(REACH):
            n_words = self._n_words(low, high)
            is_short = n_words < PASSAGE_WORDS
            lower = np.maximum(
                low - 1,
                first,
            )
            low = np.where(
                is_short,
                lower,
                low,
            )
            n_words = self._n_words(low, high)
            is_short = n_words < PASSAGE_WORDS
            higher = np.minimum(
                high + 1,
                last,
            )
            high = np.where(
                is_short,
                higher,
                high,
            )
        return low, high

    def before(self, texts: Integers | slice = slice(None)) -> Integers:
        """Return the text before each of these in its session, -1 for none."""
        position = self._position[texts]
        has_before = position > self._first[position]
        text_before = self._order[position - 1]
        return np.where(
            has_before,
            text_before,
            -1,
        )

    def after(self, texts: Integers | slice = slice(None)) -> Integers:
        """Return the text after each of these in its session, -1 for none."""
        position = self._position[texts]
        has_after = position < self._last[position]
        last_position = len(self._order) - 1
        next_position = np.minimum(
            position + 1,
            last_position,
        )
        text_after = self._order[next_position]
        return np.where(
            has_after,
            text_after,
            -1,
        )

    def holding(self, texts: Integers) -> Iterator[tuple[Integers, Mask]]:
        """Yield by distance the texts whose passages hold these.

        Each text comes once a distance.

        Yields:
            The texts, and a mask of those of these that they hold.
        """
        position = self._position[texts]
        holders = self._holders[position]
        for bit, distance in enumerate(_DISTANCES):
            holder = np.uint8(1 << bit)
            is_held = (holders & holder) > 0
            neighbour = position[is_held] + distance
            yield self._order[neighbour], is_held


def _with_zeros(column: NDArray[Any], where: Integers) -> NDArray[Any]:
    """Return a column with a zero before each of these positions."""
    zeros = np.zeros(len(where), column.dtype)
    return _inserted(
        column,
        where,
        zeros,
    )


def _inserted(
    column: NDArray[Any], where: Integers, values: NDArray[Any]
) -> NDArray[Any]:
    """Return a column with values before these positions."""
    if len(where) != 1:
        return np.insert(
            column,
            where,
            values,
        )
    # What numpy inserts costs several passes over the column.
    position = where[0]
    parts = (column[:position], values, column[position:])
    return np.concatenate(parts)


def _begins(sessions: NDArray[np.integer]) -> Mask:
    """Return which texts begin a session; each text without one does.

    Args:
        sessions: The numbers of sessions in order, below 0 for none.
    """
    begins = np.ones(len(sessions), np.bool_)
    later = sessions[1:]
    is_other = later != sessions[:-1]
    has_none = later < 0
    begins[1:] = is_other | has_none
    return begins


def _bounds(begins: Mask) -> tuple[Integers, Integers]:
    """Return by position the first and the last position of its session.

    Args:
        begins: By position, whether it begins a session.
    """
    starts = np.flatnonzero(begins)
    if not len(starts):
        return starts, starts
    n_positions = len(begins)
    group = np.cumsum(begins) - 1
    ends = np.append(
        starts[1:],
        n_positions,
    )
    first = starts[group]
    last = ends[group] - 1
    return first, last


def _mean_words(words: NDArray[np.integer], echo: Mask) -> float:
    """Return how many words a text has on average, at least 1.

    Args:
        words: By text, how many words it has.
        echo: A mask of the texts that do not count.
    """
    n_words = int(words.sum())
    n_counted = len(words) - int(np.count_nonzero(echo))
    if n_counted < len(words):
        n_words -= int(words[echo].sum())
    mean = n_words / max(n_counted, 1)
    return max(mean, 1.0)
