"""Untrusted JSON, CSV and text, read field by field: whatever is not as allowed is refused with its place."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data.dataset_files import Content

SHOWN_CHARACTERS = 60


def refused(place: str, got: object, allowed: str) -> InvalidInput:
    """The error for something at `place`; the caller raises it.

    >>> refused("a.json: item 3", 7, "a text")
    InvalidInput('a.json: item 3: got 7; allowed is a text; replace the file by the unchanged one')
    """
    shown = repr(got)
    if len(shown) > SHOWN_CHARACTERS:
        shown = shown[:SHOWN_CHARACTERS] + "…"
    return InvalidInput(f"{place}: got {shown}; allowed is {allowed}; replace the file by the unchanged one")


@dataclass(frozen=True, slots=True)
class Record:
    """A JSON object and its place. Every method raises InvalidInput where the field is missing or of another type.

    >>> Record("a.json: item 0", {"reward": 1}).number("reward")
    1.0
    """

    place: str
    fields: dict[str, Any]

    def _take(self, name: str, holds: Callable[[Any], bool], allowed: str) -> Any:
        if name not in self.fields:
            raise refused(self.place, sorted(self.fields), f"an object with {name!r}")
        if not holds(self.fields[name]):
            raise refused(f"{self.place}: {name}", self.fields[name], allowed)
        return self.fields[name]

    def text(self, name: str) -> str:
        """A text."""
        return str(self._take(name, lambda value: isinstance(value, str), "a text"))

    def optional_text(self, name: str) -> str | None:
        """A text or number as text; None where there is none."""
        if self.fields.get(name) is None:
            return None
        value = self._take(name, lambda value: isinstance(value, str) or _is_number(value), "a text or a number")
        return str(value)

    def number(self, name: str) -> float:
        """A finite number."""
        return float(self._take(name, _is_number, "a finite number"))

    def whole(self, name: str, below: int | None = None) -> int:
        """A whole number of at least 0, also one written as a text, and below a limit if one is given."""
        value = self._take(name, _is_whole, "a whole number of at least 0")
        if below is not None and int(value) >= below:
            raise refused(f"{self.place}: {name}", value, f"a whole number from 0 to {below - 1}")
        return int(value)

    def flag(self, name: str) -> bool:
        """True or false."""
        return bool(self._take(name, lambda value: isinstance(value, bool), "true or false"))

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        """One of the texts allowed."""
        return str(self._take(name, lambda value: value in allowed, " or ".join(allowed)))

    def record(self, name: str) -> Record:
        """An object."""
        value = self._take(name, lambda value: isinstance(value, dict), "an object")
        return Record(f"{self.place}: {name}", value)

    def items(self, name: str) -> list[Any]:
        """A list of anything."""
        return list(self._take(name, lambda value: isinstance(value, list), "a list"))

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        holds = lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value)  # noqa: E731
        return tuple(self._take(name, holds, "a list of texts"))

    def records(self, name: str) -> list[Record]:
        """A list of objects."""
        return _records(f"{self.place}: {name}", self.items(name))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: object) -> bool:
    if isinstance(value, str):
        return value.isascii() and value.isdigit() and len(value) < 19
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _records(place: str, values: list[Any]) -> list[Record]:
    return [_record(f"{place}, item {number}", value) for number, value in enumerate(values)]


def _record(place: str, value: object) -> Record:
    if not isinstance(value, dict):
        raise refused(place, value, "an object")
    return Record(place, value)


def text_of(content: Content) -> str:
    """The content as UTF-8. Raises InvalidInput where it is none."""
    try:
        return content.data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise refused(f"{content.place}, byte {error.start}", error.object[error.start : error.end], "UTF-8") from error


def json_of(content: Content) -> Any:
    """The content as JSON. Raises InvalidInput where it is none."""
    return _json(content.place, text_of(content))


def _json(place: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refused(f"{place}: {error}", text, "JSON") from error


def json_record(content: Content) -> Record:
    """The content as one JSON object."""
    return _record(content.place, json_of(content))


def json_records(content: Content) -> list[Record]:
    """The content as a JSON list of objects."""
    value = json_of(content)
    if not isinstance(value, list):
        raise refused(content.place, value, "a list of objects")
    return _records(content.place, value)


def json_line_records(content: Content) -> list[Record]:
    """The content as JSON Lines, an object each; blank lines are passed over."""
    lines = ((f"{content.place}, line {number}", line) for number, line in numbered_lines(content) if line.strip())
    return [_record(place, _json(place, line)) for place, line in lines]


def numbered_lines(content: Content) -> Iterator[tuple[int, str]]:
    """Number from 1, and text without its line end, of each line."""
    lines = text_of(content).removesuffix("\n").split("\n")
    return ((number, line.removesuffix("\r")) for number, line in enumerate(lines, start=1))


def table_rows(content: Content, columns: tuple[str, ...], *, header: bool = True, **dialect: Any) -> list[Record]:
    """The rows of a table, each with exactly `columns`, all texts; `dialect` as for csv.reader.

    Raises InvalidInput for another header, a row of another width, and what is no table.
    """
    reader = csv.reader(io.StringIO(text_of(content), newline=""), strict=True, **dialect)
    rows = []
    try:
        for row in reader:
            place = f"{content.place}, line {reader.line_num}"
            if header:
                if tuple(row) != columns:
                    raise refused(place, row, f"the header {', '.join(columns)}")
                header = False
            elif len(row) != len(columns):
                raise refused(place, row, f"a row of {len(columns)} cells")
            else:
                rows.append(Record(place, dict(zip(columns, row, strict=True))))
    except csv.Error as error:
        raise refused(f"{content.place}, line {reader.line_num}", str(error), "a row of a table") from error
    if header:
        raise refused(content.place, "", f"the header {', '.join(columns)}")
    return rows


def cell_number(row: Record, name: str, lowest: float, highest: float) -> float:
    """A number in a table's cell, from `lowest` to `highest`. Raises InvalidInput for anything else."""
    try:
        value = float(row.text(name))
    except ValueError:
        value = math.nan
    if not lowest <= value <= highest:
        raise refused(f"{row.place}: {name}", row.text(name), f"a number from {lowest:g} to {highest:g}")
    return value
