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
        if len(problems) < MOST_PROBLEMS:
            if seq > expected:
                problems.append(f"{source}: events {expected} to {seq - 1} are gone")
            if seq < expected:
                problems.append(f"{source}: event {seq} stands behind {expected - 1}")
            if not has_checksum(row):
                problems.append(f"{source}: event {seq} does not have its checksum")
        expected = seq + 1
        yield row
