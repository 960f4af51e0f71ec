"""Results that are tables.

A table is a sequence of rows, which is also a DataFrame, JSON and a table in a
notebook.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

from theorex_lab.core.clock import to_iso

if TYPE_CHECKING:
    import pandas as pd

R = TypeVar("R", bound="tuple[Any, ...] | dict[str, Any]")

MOST_SHOWN = 60  # rows in a notebook; the middle of a longer table is left out


class Rows(Sequence[R]):
    """Rows in their order.

    They are named tuples of one class, which is `row_class`, or dicts with the same
    keys.

    A subclass that computes its rows overrides `_records`, which is called once; one
    whose columns need types of their own overrides `frame`. pandas is imported where a
    frame is asked for.

    >>> from typing import NamedTuple
    >>> class Sum(NamedTuple):
    ...     name: str
    ...     total: float
    >>> class Sums(Rows[Sum]):
    ...     row_class = Sum
    >>> sums = Sums([Sum("cost", float("nan")), Sum("gain", 2.0)])
    >>> sums, sums[1].total, sums.to_dict()[0]
    (Sums(2 rows), 2.0, {'name': 'cost', 'total': None})
    >>> sums.frame["total"].sum(), Sums([]).frame.columns.tolist()
    (np.float64(2.0), ['name', 'total'])
    """

    row_class: ClassVar[Any] = None

    def __init__(self, rows: Sequence[R] | None = None) -> None:
        if rows is not None:
            self._rows = tuple(rows)

    @cached_property
    def _rows(self) -> Sequence[R]:
        return self._records()

    def _records(self) -> Sequence[R]:
        return ()

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[R]:
        return iter(self._rows)

    @overload
    def __getitem__(self, index: int) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[R]: ...
    def __getitem__(self, index: int | slice) -> R | Sequence[R]:
        return self._rows[index]

    @property
    def frame(self) -> pd.DataFrame:
        """A pandas DataFrame: a row a row, and the fields of a row as columns.

        Times, whose columns are called `timestamp` or end with `_at`, are timestamps in UTC.
        """
        import pandas as pd

        columns = None
        if self.row_class is not None:
            columns = list(self.row_class._fields)
        frame = pd.DataFrame(list(self._rows), columns=columns)
        for name in filter(_is_time, frame.columns):
            column = frame[name]
            # Of a column with empty cells, or without rows, the type is another.
            if pd.api.types.is_integer_dtype(column):
                frame[name] = pd.to_datetime(column, unit="us", utc=True)
        return frame

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the rows as dicts that JSON can hold.

        None stands in place of NaN, and times are ISO 8601.
        """
        members: list[dict[str, Any]] = []
        for row in self:
            row_dict = self._as_dict(row)
            members.append(_as_json(row_dict))
        return members

    def _as_dict(self, row: R) -> dict[str, Any]:
        """Return a row by the names of its fields."""
        if isinstance(row, dict):
            return row
        names = self.row_class._fields
        return dict(zip(names, row, strict=True))

    def _shown(self) -> pd.DataFrame:
        """Return what a notebook shows, where it is not the frame."""
        return self.frame

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"{name}({len(self)} rows)"

    def __str__(self) -> str:
        """Return the table as text; the middle of a long one is left out."""
        return f"{self!r}\n{table_text(self._shown())}"

    def _repr_html_(self) -> str:
        from html import escape

        heading = escape(repr(self))
        table = table_html(self._shown())
        return f"<p>{heading}</p>{table}"


def _is_time(name: object) -> bool:
    """Return whether a column of this name holds times (µs UTC)."""
    column = str(name)
    return column == "timestamp" or column.endswith("_at")


def _as_json(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with None in place of NaN, and with times in ISO 8601."""
    members: dict[str, Any] = {}
    for name, value in row.items():
        is_nan = value != value
        members[name] = None if is_nan else value
        if _is_time(name) and isinstance(value, int):
            members[name] = to_iso(value)
    return members


def table_text(frame: pd.DataFrame) -> str:
    """Return the table of a frame as text; the middle of a long one is left out."""
    text: str = frame.to_string(
        index=False,
        na_rep="–",
        max_rows=MOST_SHOWN,
        float_format=lambda value: f"{value:,.4g}",
    )
    return text


def table_html(frame: pd.DataFrame) -> str:
    """Return the table of a frame for a notebook.

    Numbers have four significant digits, and the middle of a long table is left out.
    """
    return frame.to_html(
        index=False,
        na_rep="–",
        max_rows=MOST_SHOWN,
        float_format=lambda value: f"{value:,.4g}",
    )
