"""What a tour found, as tables: a line each for a terminal, columns for the page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from theorex_lab.core.clock import to_iso

Cells = tuple[str | int, ...]


@dataclass
class TableRows:
    """The rows of a table, while they are collected.

    Attributes:
        rows: The cells of each row.
        lines: Each row as a sentence.
    """

    rows: list[Cells] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def add(self, *cells: str | int, line: str) -> None:
        """Add a row, as cells and as a sentence."""
        self.rows.append(cells)
        self.lines.append(line)


@dataclass(frozen=True)
class TourTable:
    """One thing that a tour found.

    Attributes:
        key: Its name among the results, in JSON.
        title: What it tells, as a heading.
        lead: How it was found, and what it does not say.
        columns: The headings of its columns.
        content: Its rows, the most telling first.
        nothing: What the page says where there are no rows.
        shown: How many lines a terminal shows.
    """

    key: str
    title: str
    lead: str
    columns: tuple[str, ...]
    content: TableRows
    nothing: str = ""
    shown: int = 5

    @property
    def rows(self) -> list[Cells]:
        """The cells of each row."""
        return self.content.rows

    @property
    def lines(self) -> list[str]:
        """Each row as a sentence."""
        return self.content.lines

    @property
    def text(self) -> str:
        """Its first lines under its title; '' where there is nothing to say."""
        if not self.lines:
            return ""
        parts = [self.title]
        for line in self.lines[: self.shown]:
            parts.append(f"- {line}")
        n_more = len(self.lines) - self.shown
        if n_more > 0:
            parts.append(f"  ({n_more} more on the page)")
        return "\n".join(parts)

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as values for JSON, by the names of the columns."""
        records: list[dict[str, Any]] = []
        for row in self.rows:
            cells = zip(self.columns, row, strict=True)
            records.append(dict(cells))
        return records


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
