"""Looking at every row of a journal for what is wrong with it."""

from collections.abc import Iterable, Iterator
from typing import Any

from theorex_lab.journal.stored import has_checksum

MOST_PROBLEMS = 20


def checked_rows(
    rows: Iterable[tuple[Any, ...]], source: object, problems: list[str]
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows, `seq` to `crc`, and add to `problems` what is wrong with them.

    Args:
        rows: Every row of the journal, in the order of the seqs.
        source: What they are from, as the problems name it.
        problems: The list that grows, up to MOST_PROBLEMS.
    """
    expected = 1
    for row in rows:
        if len(problems) < MOST_PROBLEMS:
            for problem in _problems_of(row, expected):
                problems.append(f"{source}: {problem}")
        expected = row[0] + 1
        yield row


def _problems_of(row: tuple[Any, ...], expected: int) -> Iterator[str]:
    """Yield what is wrong with a row that should have the seq `expected`."""
    seq = row[0]
    before = seq - 1
    if seq > expected:
        yield f"events {expected} to {before} are gone"
    if seq < expected:
        before = expected - 1
        yield f"event {seq} stands behind {before}"
    if not has_checksum(row):
        yield f"event {seq} does not have its checksum"
