"""What a transcript tells, read in a process of its own.

`transcript_records` runs there, and `TranscriptReading` takes what it gives.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from theorex_lab.core.clock import LATEST
from theorex_lab.files.isolated.process import ReaderProcess
from theorex_lab.files.isolated.readers import reads_apart
from theorex_lab.files.transcripts.captures import (
    Problem,
    TimedCapture,
    timed_captures,
)
from theorex_lab.files.transcripts.folders import (
    BROKEN,
    Transcript,
    lines_of,
    opened,
    transcript,
)
from theorex_lab.files.transcripts.line_counts import LineCounts
from theorex_lab.files.transcripts.messages import HookForm, Utterance

# The kinds of records.
_FORM = "form"
_CAPTURE = "capture"
_PROBLEM = "problem"
_COUNTS = "counts"
_OFFSET = "offset"
_BROKEN = "broken"
_CAPTURES_A_STEP = 256
_MOST_PROBLEMS = 10_000  # between two captures
# Objects that nest deeper are reported. What this process can read, the one that asked
# can read as well, which has less room on its stack.
_DEEPEST_STACK = 500


class ReadRequest(NamedTuple):
    """How a transcript is read.

    Attributes:
        latest: A later time (µs UTC) is not believed.
        silent_before: A session is over whose last time (µs UTC) is earlier.
        log_name: The name of a published log in the hook's form, with whole prompts and
            without a time of its own; '' for a transcript.
    """

    latest: int = LATEST
    silent_before: int = LATEST + 1
    log_name: str = ""


@reads_apart()
def transcript_records(
    path: str,
    *request: Any,
) -> Iterator[list[object]]:
    """Yield what a transcript tells, in records; nothing for another form.

    The first says the form. Behind it are captures, lines that cannot be read (the
    first of them), what became of the lines so far, how far the file was read, and what
    ends it early.

    Args:
        path: The file.
        request: The members of a `ReadRequest`.
    """
    how = ReadRequest(*request)
    with _bounded_stack():
        yield from _records(Path(path), how)


def _records(file: Path, how: ReadRequest) -> Iterator[list[object]]:
    problems = _Problems()
    counts = LineCounts()
    try:
        file_time = 0 if how.log_name else file.stat().st_mtime_ns // 1_000
        with opened(file) as (content, raw):
            source = _source_of(file, content, how)
            if source is None:
                return
            yield [_FORM, source.reader.name]
            captures = timed_captures(
                source,
                file_time,
                is_over=lambda last: last < how.silent_before,
                problem=problems.add,
                latest=how.latest,
                counts=counts,
            )
            for number, capture in enumerate(captures):
                yield from problems.taken()
                if number % _CAPTURES_A_STEP == 0:
                    yield [_COUNTS, *counts.as_json()]
                    yield [_OFFSET, raw.tell()]
                yield [_CAPTURE, *capture.said, *capture[1:]]
            yield from problems.taken()
            yield [_COUNTS, *counts.as_json()]
            yield [_OFFSET, raw.tell()]
    except BROKEN as error:
        counts.end()
        yield from problems.taken()
        yield [_COUNTS, *counts.as_json()]
        yield [_BROKEN, str(error)]


class _Problems:
    """Lines that cannot be read: the first are told. `LineCounts` counts all."""

    def __init__(self) -> None:
        self._records = list[list[object]]()

    def add(self, number: int | str, why: str) -> None:
        if len(self._records) < _MOST_PROBLEMS:
            self._records.append([_PROBLEM, number, why])

    def taken(self) -> Sequence[list[object]]:
        """Return the records since the last time."""
        if not self._records:
            return ()
        records = self._records
        self._records = []
        return records


def _source_of(file: Path, content: Any, how: ReadRequest) -> Transcript | None:
    """Return the file with its reader; None where it is no transcript."""
    if not how.log_name:
        return transcript(file, content)
    return Transcript(HookForm(how.log_name, words="".join), lines_of(content))


@contextmanager
def _bounded_stack() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(_DEEPEST_STACK)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class TranscriptReading:
    """A transcript that another process reads.

    Attributes:
        form: The name of its form, '' where none is known.
        offset: How many bytes of the file were read.
        counts: What became of its lines so far.

    Args:
        process: The process.
        file: The file.
        how: How it is read.
    """

    def __init__(self, process: ReaderProcess, file: Path, how: ReadRequest) -> None:
        self.form = ""
        self.offset = 0
        self.counts = LineCounts()
        self._records = process.each(transcript_records, file, *how)

    def begin(self) -> bool:
        """Return whether it is a transcript.

        Raises:
            EOFError: It is damaged.
            InvalidInput: It cannot be read, or takes too much.
        """
        first = next(self._records, None)
        if first is None:
            return False
        kind, text = first
        if kind == _BROKEN:
            raise EOFError(text)
        self.form = text
        return True

    def captures(
        self, problem: Problem, progress: Callable[[int], object] | None = None
    ) -> Iterator[TimedCapture]:
        """Yield what it tells, once it began.

        Args:
            problem: Is called with the number of each line that cannot be read, and why.
            progress: Is called with how many more bytes were read.

        Raises:
            EOFError: It is damaged from here on.
            InvalidInput: The rest takes too much.
        """
        for record in self._records:
            if record[0] == _CAPTURE:
                yield _capture_of(record)
                continue
            kind, *fields = record
            if kind == _PROBLEM:
                problem(*fields)
            elif kind == _COUNTS:
                self.counts = LineCounts.of_json(*fields)
            elif kind == _BROKEN:
                raise EOFError(*fields)
            else:
                (offset,) = fields
                if progress is not None:
                    progress(offset - self.offset)
                self.offset = offset


_UTTERANCE_END = 1 + len(Utterance._fields)


def _capture_of(record: list[Any]) -> TimedCapture:
    """Return a capture by its record: its kind, and its members."""
    utterance = Utterance._make(record[1:_UTTERANCE_END])
    return TimedCapture(utterance, *record[_UTTERANCE_END:])
