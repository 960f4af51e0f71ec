"""Read the rows of tables in CSV, JSON, JSON lines and Parquet.

A row that cannot be read is left out, and reported with its place.
"""

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from theorex_lab.core.errors import InvalidInput

TableRow = dict[str, Any]
SUFFIXES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet")
# Where a JSON file holds its rows, beside fields that hold of all of them.
_ROW_LISTS = ("records", "rows", "results", "data", "instances")
_MOST_SHOWN = 5


@dataclass
class DamagedRows:
    """The rows that were left out, and why.

    Attributes:
        n: How many they are.
        reasons: Of the first of them, where each stands and what is wrong with it.
    """

    n: int = 0
    reasons: list[str] = field(default_factory=list)

    def add(self, place: str, reason: str) -> None:
        """Count a row that is left out."""
        self.n += 1
        if len(self.reasons) < _MOST_SHOWN:
            self.reasons.append(f"{place}: {reason}")

    def __str__(self) -> str:
        if not self.n:
            return "no damaged row"
        reasons = [*self.reasons]
        n_more = self.n - len(reasons)
        if n_more:
            reasons.append(f"and {n_more:,} more")
        listed = "; ".join(reasons)
        return f"{self.n:,} damaged rows were left out: {listed}"


def read_rows(path: Path, damaged: DamagedRows) -> Iterator[tuple[str, TableRow]]:
    """Yield the rows of a file, or of every table in a folder, each with its place.

    Args:
        path: The file or folder.
        damaged: Takes the rows that cannot be read.

    Raises:
        InvalidInput: There is no such file, it is of another kind, or no table.
    """
    if path.is_dir():
        files = []
        for file in path.rglob("*"):
            if file.suffix in SUFFIXES:
                files.append(file)
        if not files:
            raise InvalidInput(
                f"got the folder {path} without a table; allowed are files that end"
                f" with {', '.join(SUFFIXES)}"
            )
        for file in sorted(files):
            yield from _rows_of(file, damaged)
        return
    if not path.is_file():
        raise InvalidInput(f"got {path}, which is no file; name a table or a folder")
    yield from _rows_of(path, damaged)


def _rows_of(path: Path, damaged: DamagedRows) -> Iterator[tuple[str, TableRow]]:
    """Yield the rows of a file."""
    suffix = path.suffix.lower()
    if suffix in (".csv", ".tsv"):
        yield from _csv_rows(path, damaged, "\t" if suffix == ".tsv" else ",")
    elif suffix == ".json":
        yield from _json_rows(path, damaged)
    elif suffix in (".jsonl", ".ndjson"):
        yield from _json_lines(path, damaged)
    elif suffix == ".parquet":
        yield from _parquet_rows(path)
    else:
        raise InvalidInput(
            f"got the table {path.name}; allowed are files that end with"
            f" {', '.join(SUFFIXES)}"
        )


def _csv_rows(
    path: Path, damaged: DamagedRows, delimiter: str
) -> Iterator[tuple[str, TableRow]]:
    """Yield the rows of a file of separated values, whose first line names columns."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        reader = csv.reader(
            file,
            delimiter=delimiter,
        )
        names = next(reader, [])
        if len(set(names)) < len(names):
            raise InvalidInput(
                f"got {path.name} with the columns {names!r:.200}; allowed is a first"
                " line with one name a column"
            )
        rows = iter(reader)
        while True:
            where = f"{path.name} line {reader.line_num + 1}"
            try:
                values = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                damaged.add(where, str(error))
                continue
            if not values:
                continue
            if len(values) != len(names):
                damaged.add(where, f"{len(values)} values for {len(names)} columns")
                continue
            yield where, dict(zip(names, values, strict=True))


def _json_lines(path: Path, damaged: DamagedRows) -> Iterator[tuple[str, TableRow]]:
    """Yield the objects of a file that has one on each line."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            where = f"{path.name} line {number}"
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                damaged.add(where, f"no JSON ({error})")
                continue
            if isinstance(row, dict):
                yield where, row
            else:
                damaged.add(where, f"{type(row).__name__} in place of an object")


def _json_rows(path: Path, damaged: DamagedRows) -> Iterator[tuple[str, TableRow]]:
    """Yield the rows of a JSON file.

    It is a list of objects; an object with such a list, whose other fields hold of every
    row; or an object by model and instance.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig", errors="replace"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"got {path.name}, which is no JSON ({error}); a file with an object on"
            " each line must end with .jsonl"
        ) from error
    shared: TableRow = {}
    if isinstance(content, dict):
        content, shared = _list_in(content)
    if not isinstance(content, list):
        raise InvalidInput(
            f"got {path.name} with a {type(content).__name__}; allowed are a list of"
            f" objects, one under {', '.join(_ROW_LISTS)}, or {{model: {{instance:"
            " result}}}"
        )
    for number, row in enumerate(content, start=1):
        where = f"{path.name} row {number}"
        if isinstance(row, dict):
            yield where, {**shared, **row}
        else:
            damaged.add(where, f"{type(row).__name__} in place of an object")


def _list_in(content: TableRow) -> tuple[Any, TableRow]:
    """Return the list of rows in an object, and the fields that hold of every row."""
    for name in _ROW_LISTS:
        if isinstance(content.get(name), list):
            shared = {}
            for key, value in content.items():
                if isinstance(value, str):
                    shared[key] = value
            return content[name], shared
    if content and all(isinstance(value, dict) for value in content.values()):
        return _nested_rows(content), {}
    return content, {}


def _nested_rows(content: Mapping[str, Mapping[str, Any]]) -> list[TableRow]:
    """Return a row for each model and instance, of results by model and instance."""
    rows = []
    for model, results in content.items():
        for instance, result in results.items():
            row = {
                "model": model,
                "instance_id": instance,
            }
            if isinstance(result, dict):
                row.update(result)
            else:
                row["score"] = result
            rows.append(row)
    return rows


def _parquet_rows(path: Path) -> Iterator[tuple[str, TableRow]]:
    """Yield the rows of a Parquet file."""
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise InvalidInput(
            f"got {path.name}, and pyarrow is not installed, which reads Parquet: `pip"
            " install pyarrow`, or save the table as CSV or JSON lines"
        ) from error
    table = parquet.read_table(path)
    for number, row in enumerate(table.to_pylist(), start=1):
        yield f"{path.name} row {number}", row
