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
        seq = row[0]
        n_problems = len(problems)
        if n_problems < MOST_PROBLEMS:
            row_problems = _problems_of(row, expected)
            for problem in row_problems:
                line = f"{source}: {problem}"
                problems.append(line)
        expected = seq + 1
        yield row


def _problems_of(row: tuple[Any, ...], expected: int) -> Iterator[str]:
    """Yield what is wrong with a row that should have the seq `expected`."""
    seq = row[0]
    name = f"event {seq}"
    last_expected = seq - 1
    before = expected - 1
    if seq > expected:
        yield f"events {expected} to {last_expected} are gone"
    if seq < expected:
        yield f"{name} stands behind {before}"
    is_sound = has_checksum(row)
    if is_sound:
        return
    yield f"{name} does not have its checksum"
