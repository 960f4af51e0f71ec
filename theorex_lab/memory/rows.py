"""Results that are rows: a sequence of named tuples, which is also a DataFrame, JSON and a table in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, ClassVar, TypeVar, overload

Row = TypeVar("Row", bound=tuple[Any, ...])


class Rows(Sequence[Row]):
    """Rows of one named tuple class, in their order.

    >>> from typing import NamedTuple
    >>> class Sum(NamedTuple):
    ...     name: str
    ...     total: float
    >>> class Sums(Rows[Sum]):
    ...     row_class = Sum
    >>> Sums([Sum("cost", float("nan"))]).rows()
    [{'name': 'cost', 'total': None}]
    """

    row_class: ClassVar[Any]

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = tuple(rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        return self._rows[index]

    @property
    def frame(self) -> Any:
        """A pandas DataFrame with the fields of a row as columns."""
        import pandas as pd

        return pd.DataFrame(list(self._rows), columns=list(self.row_class._fields))

    def rows(self) -> list[dict[str, Any]]:
        """The rows as dicts that JSON can hold: None in place of NaN."""
        return [
            {name: None if value != value else value for name, value in zip(self.row_class._fields, row, strict=True)}
            for row in self._rows
        ]

    def _repr_html_(self) -> str:
        table = self.frame.to_html(index=False, escape=True, na_rep="–", float_format="{:.3f}".format)
        return f"<p>{escape(repr(self))}</p>{table}"
