"""Transcripts in a folder, and their lines: streamed, each of bounded length, with what
cannot be read.
"""

import gzip
import io
import json
import os
import re
import stat
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from theorex_lab.core.clock import LATEST
from theorex_lab.core.errors import InvalidInput
from theorex_lab.files.transcripts.claude import Claude
from theorex_lab.files.transcripts.codex import Codex
from theorex_lab.files.transcripts.messages import (
    HookForm,
    Reader,
    Row,
    stated_in,
    time_of,
)

LONGEST_LINE_BYTES = 64 << 20
_LOOKED_AT_LINES, _LOOKED_AT_BYTES = 200, 8 << 20  # until the form is known
_SUFFIXES = (".jsonl", ".jsonl.gz")
_NAME_CHARACTERS = 64
_SIZE_BYTES = 4  # at the end of a packed file
_BLANK = re.compile(r"[\s\0\ufeff]*")
_DECODER = json.JSONDecoder()
BROKEN = (
    OSError,
    EOFError,
    zlib.error,
)  # what reading a damaged or vanished file raises


class SourceLine(NamedTuple):
    """A line: its number from 1, its bytes (None where it is too long), and whether its
    end is there.
    """

    number: int
    content: bytes | None
    whole: bool


class Transcript(NamedTuple):
    """A file whose form is known: who reads it, and its lines from the first on."""

    reader: Reader
    lines: Iterator[SourceLine]


def files_in(path: Path, problems: list[str]) -> dict[Path, int]:
    """The file itself, or the regular files below a folder that may be transcripts, in
    order, with their sizes in bytes.

    Links in the folder are not followed.

    Raises InvalidInput where there is neither.
    """
    if path.is_file():
        return {path: path.stat().st_size}
    if not path.is_dir():
        raise InvalidInput(
            f"got {path}, which is no file or folder; allowed is a transcript, or a folder of them"
        )
    walk = os.walk(
        path,
        onerror=lambda error: problems.append(f"{error.filename}: {error.strerror}"),
    )
    paths = [
        Path(folder) / name
        for folder, _, names in walk
        for name in names
        if name.lower().endswith(_SUFFIXES)
    ]
    looked_at = {file: _looked_at(file) for file in sorted(paths)}
    return {
        file: status.st_size
        for file, status in looked_at.items()
        if status and stat.S_ISREG(status.st_mode)
    }


def in_time_order(files: Mapping[Path, int]) -> dict[Path, int]:
    """Files by the first time that they state, of one form the shorter ones first.

    So a session stands before one that repeats its lines.
    """
    places = {
        file: (*_beginning(file), _unpacked_bytes(file), str(file)) for file in files
    }
    return {file: files[file] for file in sorted(files, key=places.__getitem__)}


def _beginning(file: Path) -> tuple[int, str]:
    """The first time that a file states, in µs UTC, and its form; the last of all times
    where its first lines state none.
    """
    with suppress(*BROKEN, InvalidInput), opened(file) as (content, _):
        source = transcript(file, content)
        lines = islice(source.lines, _LOOKED_AT_LINES) if source else ()
        form = source.reader.name if source else ""
        for line in lines:
            at = _first_time(line)
            if at is not None:
                return at, form
        return LATEST, form
    return LATEST, ""


def _first_time(line: SourceLine) -> int | None:
    """The first time that the objects in a line state, in µs UTC."""
    with suppress(InvalidInput):
        for row in rows_of(line):
            at = time_of(stated_in(row))
            if at is not None:
                return at
    return None


def _unpacked_bytes(file: Path) -> int:
    """The size of a file's content; of a packed one as its last bytes state it."""
    with suppress(*BROKEN, InvalidInput), opened(file) as (content, raw):
        size = raw.seek(0, os.SEEK_END)
        if content is raw or size < _SIZE_BYTES:
            return size
        raw.seek(-_SIZE_BYTES, os.SEEK_END)
        return int.from_bytes(raw.read(_SIZE_BYTES), "little")
    return 0


def _looked_at(file: Path) -> os.stat_result | None:
    with suppress(OSError):  # removed meanwhile
        return file.lstat()
    return None


def stem_of(file: Path) -> str:
    """A file's name without its endings, made of what the names of sessions and
    projects may have.
    """
    name = re.sub(
        r"(?i)\.(?:gz|jsonl|ndjson|json)$", "", re.sub(r"(?i)\.gz$", "", file.name)
    )
    return (
        re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:_NAME_CHARACTERS].strip("-")
        or "transcripts"
    )


@contextmanager
def opened(file: Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """A regular file's content, unpacked where it is packed, and the file itself, which
    tells how far it was read.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(file, flags), "rb") as raw:
        if not stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
            raise InvalidInput(f"got {file}, which is no regular file")
        packed = raw.peek(2)[:2] == b"\x1f\x8b"
        yield (io.BufferedReader(gzip.GzipFile(fileobj=raw)) if packed else raw), raw


def transcript(file: Path, content: BinaryIO) -> Transcript | None:
    """The file with its reader, by what its first lines are like; None where no reader
    knows them.
    """
    lines = lines_of(content)
    looked_at = list[SourceLine]()
    size = 0
    for line in islice(lines, _LOOKED_AT_LINES):
        looked_at.append(line)
        size += len(line.content or b"")
        if reader := _reader_of(line, file):
            return Transcript(reader, chain(looked_at, lines))
        if size > _LOOKED_AT_BYTES:
            break
    return None


def rows_of(line: SourceLine) -> Iterator[Row]:
    """The objects of JSON in a line: a program that was killed may have left several,
    behind bytes that are 0.

    Raises InvalidInput, after those that stand before it, for anything else; an empty
    line has none.
    """
    if line.content is None:
        raise InvalidInput(f"the line is longer than {LONGEST_LINE_BYTES >> 20} MiB")
    text = line.content.decode("utf-8-sig", "replace")
    offset = _filled_from(text, 0)
    if offset == len(text):
        if "\0" in text:
            raise InvalidInput(
                "the line holds bytes that are 0 and nothing else: what it held is lost"
            )
        return
    while offset < len(text):
        try:
            row, offset = _DECODER.raw_decode(text, offset)
        except (ValueError, RecursionError) as error:
            reason = (
                "not JSON, or nested too deeply"
                if line.whole
                else "the transcript ends inside the line"
            )
            raise InvalidInput(reason) from error
        if not isinstance(row, dict):
            raise InvalidInput("no object of JSON")
        yield row
        offset = _filled_from(text, offset)


def _filled_from(text: str, offset: int) -> int:
    """Where the next value in a line begins, or its end."""
    blank = _BLANK.match(text, offset)
    return blank.end() if blank else offset


def _reader_of(line: SourceLine, file: Path) -> Reader | None:
    try:
        row = next(rows_of(line), None)
    except InvalidInput:
        return None
    reader = next(
        (
            form
            for form in (HookForm, Codex, Claude)
            if row is not None and form.reads(row)
        ),
        None,
    )
    return None if reader is None else reader(stem_of(file))


def lines_of(content: BinaryIO) -> Iterator[SourceLine]:
    """The lines of a file; one that is too long is not held."""
    for number, line in enumerate(
        iter(lambda: content.readline(LONGEST_LINE_BYTES + 1), b""), 1
    ):
        if len(line) <= LONGEST_LINE_BYTES or line.endswith(b"\n"):
            yield SourceLine(number, line, line.endswith(b"\n"))
            continue
        while (piece := content.readline(1 << 20)) and not piece.endswith(b"\n"):
            pass
        yield SourceLine(number, None, whole=True)
