"""Work of many tasks, such as a sweep or a comparison: in process or on an executor, kept in a file while it is done."""

import json
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from theorex_lab.errors import InvalidInput, StorageError
from theorex_lab.journal.files import write_atomically
from theorex_lab.progress import bar

Row = dict[str, Any]

FILE_VERSION = 1
_REMEDY = "give another file, or remove this one to begin again"


class ResumeFile:
    """JSON lines: a header with what it holds and a fingerprint, then rows of a key and metrics. A torn last line is dropped."""

    def __init__(self, path: Path, fingerprint: str, what: str, **more: Any) -> None:
        self.path, self.what = path, what
        self.header = {what: FILE_VERSION, "fingerprint": fingerprint, **more}

    def read(self) -> dict[str, Row]:
        """What was done before; makes the file where there is none, and cuts off a torn last line."""
        with self._file():
            if not (data := self.path.read_bytes() if self.path.exists() else b""):
                self.write({})
                return {}
            header, rows = self._parse(data)
            if header.get("fingerprint") != self.header["fingerprint"]:
                raise InvalidInput(f"{self.path} was made from other recordings or with another measure; {_REMEDY}")
            os.truncate(self.path, data.rindex(b"\n") + 1)
        return rows

    def load(self) -> tuple[Row, dict[str, Row]]:
        """The header and the rows, whatever they were made from; changes nothing."""
        with self._file():
            return self._parse(self.path.read_bytes())

    def write(self, rows: Mapping[str, Row]) -> None:
        """Put the header and these rows in the place of what the file held."""
        with self._file():
            write_atomically(self.path, json.dumps(self.header).encode() + b"\n" + _lines(rows))

    def add(self, rows: Mapping[str, Row]) -> None:
        """Append rows, each a line; on disk when this returns."""
        with self._file(), self.path.open("ab") as file:
            file.write(_lines(rows))
            file.flush()
            os.fsync(file.fileno())

    @contextmanager
    def _file(self) -> Iterator[None]:
        """Says of a file that cannot be used what to do."""
        try:
            yield
        except OSError as error:
            raise StorageError(f"cannot use {self.path}: {error.strerror}; it is kept; give another file") from error

    def _parse(self, data: bytes) -> tuple[Row, dict[str, Row]]:
        """Header and rows, without a torn last line."""
        lines = enumerate(data.split(b"\n")[:-1], start=1)
        header, *rows = [self._parsed(line, number) for number, line in lines] or [{}]
        if header.get(self.what) != FILE_VERSION:
            raise InvalidInput(f"{self.path} does not begin as the file of a {self.what}; {_REMEDY}")
        return header, {row["key"]: row["metrics"] for row in rows}

    def _parsed(self, line: bytes, number: int) -> Row:
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InvalidInput(f"{self.path}: line {number} is not JSON ({error}); {_REMEDY}") from error
        if not isinstance(row, dict) or (number > 1 and not ("key" in row and isinstance(row.get("metrics"), dict))):
            raise InvalidInput(f"{self.path}: line {number} is no row of a {self.what}; {_REMEDY}")
        return dict(row)


def _lines(rows: Mapping[str, Row]) -> bytes:
    return "".join(json.dumps({"key": key, "metrics": metrics}) + "\n" for key, metrics in rows.items()).encode()


def run_all(work: Callable[..., Sequence[Row]], tasks: Sequence[tuple[Sequence[str], tuple[Any, ...]]],
            done: dict[str, Row], *, kept: ResumeFile | None, executor: Executor | None, progress: bool | None,
            unit: str, what: str) -> None:  # fmt: skip
    """Add to `done` what `work` gives for each task, and to the file that is kept, as soon as a task is done.

    tasks: of each the keys of its rows, and what `work` is called with.  executor: None for this process; what has not
    begun there is cancelled where one fails or this is interrupted.  progress: a bar (None: in a terminal or notebook).
    """
    total = len(done) + sum(len(keys) for keys, _ in tasks)
    results = _results(work, [given for _, given in tasks], executor)
    with closing(bar(total, len(done), progress, unit, what)) as shown, closing(results):
        for number, rows in results:
            new = dict(zip(tasks[number][0], rows, strict=True))
            if kept is not None:
                kept.add(new)
            done.update(new)
            shown.update(len(new))


def _results(work: Callable[..., Sequence[Row]], tasks: Sequence[tuple[Any, ...]],
             executor: Executor | None) -> Generator[tuple[int, Sequence[Row]], None, None]:  # fmt: skip
    """Each task's number and rows, as they are done."""
    if executor is None:
        yield from ((number, work(*given)) for number, given in enumerate(tasks))
        return
    futures = {executor.submit(work, *given): number for number, given in enumerate(tasks)}
    try:
        yield from ((futures[future], future.result()) for future in as_completed(futures))
    finally:
        for future in futures:
            future.cancel()
