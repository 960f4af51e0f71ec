"""What the simulations share: draws in whole numbers, when a topic is worked on, and
the file that is the same everywhere.
"""

from __future__ import annotations

import json
import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from theorex_lab.core.clock import to_microseconds
from theorex_lab.core.files import write_atomically, writing

START = to_microseconds("2026-01-05T00:00:00Z")  # a Monday
SECOND = 1_000_000
HOUR = 3_600 * SECOND
_T = TypeVar("_T")


class Dice:
    """Draws in whole numbers only: floating point may round differently elsewhere."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def below(self, n: int) -> int:
        """0 to n − 1, evenly."""
        return (int(self._bits.random_raw()) * n) >> 64

    def chance(self, per_thousand: int) -> bool:
        return self.below(1000) < per_thousand

    def pick(self, choices: Sequence[_T]) -> _T:
        return choices[self.below(len(choices))]

    def weighted(self, weights: Sequence[int]) -> int:
        """A position, in proportion to its weight."""
        return bisect_right(list(accumulate(weights)), self.below(sum(weights)))

    def several(self, choices: Sequence[_T], n: int) -> list[_T]:
        """Up to n different ones, in the order drawn."""
        rest = list(choices)
        return [rest.pop(self.below(len(rest))) for _ in range(min(n, len(rest)))]

    def heavy_tail(self, base: int, doublings: int) -> int:
        """From `base` up to base · 2^(doublings + 1); the chance halves as the size
        doubles, a power law cut off.
        """
        scale = base
        while scale < base << doublings and self.chance(500):
            scale *= 2
        return scale + self.below(scale)


def topic_weights(rhythm: str, days: int, dice: Dice) -> list[int]:
    """How much a topic is worked on, for each day."""
    weights = [0] * days
    for first, length, weight in _episodes(rhythm, days, dice):
        for day in range(first, min(first + length, days)):
            weights[day] += weight
    return weights


def _episodes(rhythm: str, days: int, dice: Dice) -> Iterator[tuple[int, int, int]]:
    """(first day, length in days, weight) of a topic's episodes.

    `core` is there throughout, `every N` returns each N days, an `incident` is short
    and returns after long gaps, `recurring` work is dropped and taken up again, and
    what is done `once` is over before the last third.
    """
    if rhythm == "core":
        yield 0, days, 8
    elif rhythm == "once":
        length = min(5 + dice.below(14), days // 3 + 1)
        yield (
            dice.below(days * 6 // 10 - length + 1) if days * 6 // 10 > length else 0,
            length,
            14,
        )
    elif rhythm.startswith("every "):
        period = int(rhythm.removeprefix("every "))
        for first in range(dice.below(period), days, period):
            yield first, 3, 16
    else:
        day = dice.below(days * 4 // 10 + 1)
        while day < days:
            incident = rhythm == "incident"
            length = 1 + dice.below(3) if incident else 4 + dice.below(11)
            yield day, length, 30 if incident else 12
            day += length + dice.heavy_tail(9, 4)


def write_stored(
    header: dict[str, Any], rows: Iterable[dict[str, Any]], path: str | Path
) -> None:
    """Write a header and rows as gzipped JSON Lines, the same bytes on every machine.

    The gzip blocks are stored and not compressed, because builds of zlib compress
    differently. Raises StorageError.
    """
    made = (
        json.dumps(row, sort_keys=True, separators=(",", ":"), allow_nan=False)
        for row in (header, *rows)
    )
    with writing(path, "allowed is a file in a folder that exists"):
        write_atomically(
            Path(path),
            stored_gzip("".join(f"{line}\n" for line in made).encode("ascii")),
        )


def stored_gzip(data: bytes) -> bytes:
    """RFC 1952 and RFC 1951 (3.2.4) with stored blocks: no time, no file name,
    operating system unknown.
    """
    parts = [b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"]
    for first in range(0, len(data), 65_535):
        block = data[first : first + 65_535]
        parts += [
            struct.pack(
                "<BHH", first + 65_535 >= len(data), len(block), len(block) ^ 0xFFFF
            ),
            block,
        ]
    return b"".join(
        [*parts, struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)]
    )
