"""What a tour found, as tables: a line each for a terminal, columns for the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from theorex_lab.core.clock import to_iso


@dataclass(frozen=True)
class TourTable:
    """One thing that a tour found.

    Attributes:
        key: Its name among the results, in JSON.
        title: What it tells, as a heading.
        lead: How it was found, and what it does not say.
        columns: The headings of its columns.
        rows: Its rows, the most telling first.
        lines: The same rows as sentences.
        nothing: What the page says where there are no rows.
        shown: How many lines a terminal shows.
    """

    key: str
    title: str
    lead: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | int, ...], ...]
    lines: tuple[str, ...]
    nothing: str = ""
    shown: int = 5

    @property
    def text(self) -> str:
        """Its first lines under its title; '' where there is nothing to say."""
        shown = [f"- {line}" for line in self.lines[: self.shown]]
        n_more = len(self.lines) - len(shown)
        if n_more > 0:
            shown.append(f"  ({n_more} more on the page)")
        return "\n".join([self.title, *shown]) if shown else ""

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as values for JSON, by the names of the columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def listed(names: Sequence[str]) -> str:
    """Return names as a list in words.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def counted(n: int, unit: str) -> str:
    """Return a number with its unit, in the plural where that is right.

    >>> counted(1, "commit"), counted(1200, "commit"), counted(2, "branch")
    ('1 commit', '1,200 commits', '2 branches')
    """
    if n == 1:
        return f"1 {unit}"
    ending = "es" if unit.endswith(("ch", "s")) else "s"
    if unit.endswith("person"):
        return f"{n:,} {unit.removesuffix('person')}people"
    return f"{n:,} {unit}{ending}"


def day(at: int) -> str:
    """Return the day of a time (µs UTC), as 2026-01-31."""
    return to_iso(at)[:10]
