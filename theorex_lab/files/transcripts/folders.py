"""Transcripts in a folder, and their lines.

Lines are streamed, each of bounded length. Unreadable ones are reported.
"""

import codecs
import io
import json
import os
import re
import stat
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from theorex_lab.core.clock import LATEST
from theorex_lab.core.errors import InvalidInput
from theorex_lab.files.isolated.limits import FileNotRead, is_packed, unpacked
from theorex_lab.files.isolated.process import ReaderProcess
from theorex_lab.files.isolated.readers import reads_apart
from theorex_lab.files.transcripts.chatgpt import ChatGpt
from theorex_lab.files.transcripts.chats import Chats
from theorex_lab.files.transcripts.claude import Claude
from theorex_lab.files.transcripts.codex import Codex
from theorex_lab.files.transcripts.cursor_chats import (
    CURSOR,
    cursor_pieces,
    looks_like_cursor,
)
from theorex_lab.files.transcripts.gemini import Gemini
from theorex_lab.files.transcripts.inspect_logs import InspectLog
from theorex_lab.files.transcripts.json_values import elements_of, is_document
from theorex_lab.files.transcripts.langfuse import Langfuse
from theorex_lab.files.transcripts.langsmith import LangSmith
from theorex_lab.files.transcripts.memories import McpMemoryFile, Mem0Export
from theorex_lab.files.transcripts.messages import (
    HookForm,
    Reader,
    Row,
    stated_in,
    time_of,
)
from theorex_lab.files.transcripts.pieces import (
    PieceForm,
    PieceReader,
)
from theorex_lab.files.transcripts.spans import Spans
from theorex_lab.files.transcripts.specstory import (
    FOLDER,
    HISTORY,
    SpecStory,
    looks_like_specstory,
    project_folder_of,
    session_parts,
)
from theorex_lab.files.transcripts.time_order import (
    MOST_BYTES,
    HeldEntries,
    HeldPieces,
)

LONGEST_LINE_BYTES = 64 << 20
# What is looked at until the form is known.
_LOOKED_AT_LINES = 200
_LOOKED_AT_BYTES = 8 << 20
_SUFFIXES = (".jsonl", ".jsonl.gz")
_MARKDOWN_SUFFIXES = (".md", ".md.gz")
_MARKDOWN_START_BYTES = 4_096
_JSON_SUFFIXES = (".json", ".json.gz")
_JSON_START_BYTES = 1 << 16
# One of these members stands near the beginning of each document that is read.
_JSON_MEMBERS = re.compile(
    rb'"(?:resource(?:Spans|Logs)|trace_?id|mapping|eval|sessionId|projectHash|run_type'
    rb"|runs|observations|traces|data|memory|memories|results|entityType|role|messages"
    rb'|history|hook_event_name|payload|uuid|record_type|instructions)"\s*:',
    re.IGNORECASE,
)
_NAME_CHARACTERS = 64
_SIZE_BYTES = 4  # at the end of a packed file
_PACKED = b"\x1f\x8b"  # how a packed file begins
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PIECE_BYTES = 1 << 16
_BLANK = re.compile(r"[\s\0\ufeff]*")
_DECODER = json.JSONDecoder()
# What reading a damaged or vanished file raises.
BROKEN = (
    OSError,
    EOFError,
    zlib.error,
)
_READERS = (HookForm, Codex, Claude)
# The first that knows an object reads its file.
_PIECE_FORMS = (
    Spans,
    ChatGpt,
    InspectLog,
    Gemini,
    LangSmith,
    Langfuse,
    McpMemoryFile,
    Mem0Export,
)


class SourceLine(NamedTuple):
    """A line of a file.

    Attributes:
        number: From 1. The second piece of a conversation in a line has the line's
            number with its own behind a dot, and so on.
        content: Its bytes, None where it is too long.
        whole: Whether its end is there.
        row: What it tells, where it is a part of a Markdown file, an element of a
            document of JSON, or a piece of a conversation.
        problem: Why that part cannot be read to its end, "" where it can.
    """

    number: int | str
    content: bytes | None
    whole: bool
    row: Row | None = None
    problem: str = ""


class Transcript(NamedTuple):
    """A file whose form is known.

    Attributes:
        reader: Reads it.
        lines: Its lines from the first on.
        n_damaged: How many lines of a Markdown file hold bytes that are not UTF-8.
    """

    reader: Reader
    lines: Iterator[SourceLine]
    n_damaged: int = 0


def files_in(
    path: Path,
    problems: list[str],
    process: ReaderProcess,
    other_files: Counter[str] | None = None,
) -> dict[Path, int]:
    """Return the files at a path that may be transcripts, with their sizes in bytes.

    It is the file itself, or the regular files below a folder, in order. Links in the
    folder are not followed.

    Args:
        path: A file or folder.
        problems: Is added to: folders and files that cannot be read.
        process: Reads the files.
        other_files: Is added to: how many files of a folder are not looked at, by
            ending.

    Raises:
        InvalidInput: Where there is neither.
    """
    if path.is_file():
        return {path: path.stat().st_size}
    if not path.is_dir():
        raise InvalidInput(
            f"got {path}, which is no file or folder; allowed is a transcript, or a folder of them"
        )
    others = Counter[str]() if other_files is None else other_files
    sizes: dict[Path, int] = {}
    named_files = _named_as_transcripts(path, problems, process, others)
    for file in sorted(named_files):
        status = _looked_at(file)
        if status and stat.S_ISREG(status.st_mode):
            sizes[file] = status.st_size
        else:
            others[_NO_FILE] += 1
    return sizes


def _named_as_transcripts(
    folder: Path,
    problems: list[str],
    process: ReaderProcess,
    others: Counter[str],
) -> Iterator[Path]:
    """Yield what is below a folder and has the ending of a transcript.

    The others are counted by their ending.
    """

    def note(error: OSError) -> None:
        problems.append(f"{error.filename}: {error.strerror}")

    for subfolder, _, names in os.walk(folder, onerror=note):
        is_history = Path(subfolder).absolute().parts[-2:] == (FOLDER, HISTORY)
        for name in names:
            file = Path(subfolder) / name
            if _may_be_transcript(file, is_history, problems, process):
                yield file
            else:
                others[_ending_of(name)] += 1


def _may_be_transcript(
    file: Path,
    is_history: bool,
    problems: list[str],
    process: ReaderProcess,
) -> bool:
    """Return whether a file is a transcript by its ending, or also by its beginning."""
    name = file.name.lower()
    if name.endswith(_MARKDOWN_SUFFIXES):
        return is_history or _begins(begins_as_markdown, file, problems, process)
    if name.endswith(_JSON_SUFFIXES):
        return _begins(begins_as_json, file, problems, process)
    return name.endswith(_SUFFIXES)


def _ending_of(name: str) -> str:
    """Return the ending of a file's name, as a report shows it."""
    ending = Path(name).suffix.lower()
    if _PLAIN_ENDING.fullmatch(ending):
        return ending
    return _NO_ENDING


_NO_ENDING = "without an ending"
_NO_FILE = "a link, or no regular file"
_PLAIN_ENDING = re.compile(r"\.[a-z0-9]{1,10}")


def _begins(
    as_transcript: Callable[[str], bool],
    file: Path,
    problems: list[str],
    process: ReaderProcess,
) -> bool:
    """Return whether a file begins as a transcript, by a function that reads apart."""
    try:
        return bool(process.call(as_transcript, file))
    except FileNotRead as error:
        problems.append(f"{file.name}: {error}")
        return False


@reads_apart()
def begins_as_markdown(path: str) -> bool:
    """Return whether a Markdown file begins as one of SpecStory or of Cursor.

    It is called in a process apart.
    """
    file = Path(path)
    with suppress(*BROKEN, InvalidInput), opened(file) as (content, _):
        start = content.read(_MARKDOWN_START_BYTES)
        text = start.decode("utf-8-sig", "replace")
        return looks_like_specstory(text) or looks_like_cursor(text)
    return False


@reads_apart()
def begins_as_json(path: str) -> bool:
    """Return whether a file of JSON begins as a transcript.

    It is called in a process apart. Most files of JSON are none: they are not parsed.
    """
    file = Path(path)
    with suppress(*BROKEN, InvalidInput):
        with opened(file) as (content, _):
            start = content.read(_JSON_START_BYTES)
        if not _JSON_MEMBERS.search(start):
            return False
        with opened(file) as (content, _):
            return transcript(file, content) is not None
    return False


def in_time_order(
    files: Mapping[Path, int], problems: list[str], process: ReaderProcess
) -> dict[Path, int]:
    """Return files by the first time that they state.

    Markdown comes last: it tells with less detail what another file may tell too. Among
    files of one form the shorter ones come first. So a session comes before one that
    repeats its lines.

    Args:
        files: The files with their sizes in bytes.
        problems: Is added to: files that are left out, since they take too much.
        process: Reads the files.
    """
    positions: dict[Path, tuple[bool, int, str, int, str]] = {}
    for file in files:
        try:
            at, form, n_bytes = process.call(transcript_beginning, file)
        except FileNotRead as error:
            problems.append(f"{file.name}: {error}")
        except InvalidInput:  # whoever reads it says what is wrong
            positions[file] = (False, LATEST, "", 0, str(file))
        else:
            is_markdown = form == SpecStory.name
            positions[file] = (is_markdown, at, form, n_bytes, str(file))
    ordered = sorted(positions, key=lambda file: positions[file])
    return {file: files[file] for file in ordered}


@reads_apart()
def transcript_beginning(path: str) -> tuple[int, str, int]:
    """Return the first time that a file states, its form and its size unpacked.

    It is called in a process apart.
    """
    file = Path(path)
    at, form = _beginning(file)
    return at, form, _unpacked_bytes(file)


def _beginning(file: Path) -> tuple[int, str]:
    """Return the first time that a file states, in µs UTC, and its form.

    It is the last of all times where its first lines state none.
    """
    with suppress(*BROKEN, InvalidInput), opened(file) as (content, _):
        # What is put in the order of time is read line by line here.
        source = transcript(file, content, most_bytes=0)
        lines = islice(source.lines, _LOOKED_AT_LINES) if source else ()
        form = source.reader.name if source else ""
        for line in lines:
            at = _first_time(line)
            if at is not None:
                return at, form
        return LATEST, form
    return LATEST, ""


def _first_time(line: SourceLine) -> int | None:
    """Return the first time that the objects in a line state, in µs UTC."""
    with suppress(InvalidInput):
        for row in rows_of(line):
            at = time_of(stated_in(row))
            if at is not None:
                return at
    return None


def _unpacked_bytes(file: Path) -> int:
    """Return the size of a file's content; of a packed one as its last bytes state it."""
    with suppress(*BROKEN, InvalidInput), opened(file) as (_, raw):
        raw.seek(0)
        is_packed = raw.read(len(_PACKED)) == _PACKED
        size = raw.seek(0, os.SEEK_END)
        if not is_packed or size < _SIZE_BYTES:
            return size
        raw.seek(-_SIZE_BYTES, os.SEEK_END)
        return int.from_bytes(raw.read(_SIZE_BYTES), "little")
    return 0


def _looked_at(file: Path) -> os.stat_result | None:
    with suppress(OSError):  # removed meanwhile
        return file.lstat()
    return None


def file_stem(file: Path) -> str:
    """Return a file's name without its endings.

    It is made of what the names of sessions and projects may have.
    """
    unpacked_name = re.sub(r"(?i)\.gz$", "", file.name)
    name = re.sub(r"(?i)\.(?:gz|jsonl|ndjson|json|md)$", "", unpacked_name)
    return _allowed_name(name)


def project_stem(file: Path) -> str:
    """Return a name for the project of a file's sessions that name no folder.

    It is the file's name without its endings. A Markdown file holds one session, so its
    folder names the project.
    """
    if file.name.lower().endswith(_MARKDOWN_SUFFIXES):
        folder = project_folder_of(file) or file.absolute().parent
        return _allowed_name(folder.name)
    return file_stem(file)


def _allowed_name(name: str) -> str:
    allowed = re.sub(r"[^A-Za-z0-9._-]+", "-", name)
    return allowed[:_NAME_CHARACTERS].strip("-") or "transcripts"


@contextmanager
def opened(file: Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Open a regular file that may be packed.

    Yields:
        Its content, unpacked, and the file itself, which tells how far it was read.

    Raises:
        InvalidInput: For what is no regular file.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(file, flags), "rb") as raw:
        if not stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
            raise InvalidInput(f"got {file}, which is no regular file")
        content = unpacked(raw) if is_packed(raw) else raw
        if content.peek(2)[:2] in _UTF16_MARKS:
            content = io.BufferedReader(_FromUtf16(content))
        yield content, raw


class _FromUtf16(io.RawIOBase):
    """The bytes in UTF-8 of a text that is in UTF-16, by the mark at its beginning.

    Half of a pair of surrogates comes as bytes that are not UTF-8.
    """

    def __init__(self, content: io.BufferedReader) -> None:
        self._content = content
        self._decoder = codecs.getincrementaldecoder("utf-16")("surrogatepass")
        self._pending = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._pending:
            piece = self._content.read(_PIECE_BYTES)
            self._pending = self._decoded(piece).encode("utf-8", "surrogatepass")
            if not piece:
                break
        n_bytes = min(len(buffer), len(self._pending))
        buffer[:n_bytes] = self._pending[:n_bytes]
        self._pending = self._pending[n_bytes:]
        return n_bytes

    def _decoded(self, piece: bytes) -> str:
        """Return the text of the next bytes; at the end \ufffd for half a character."""
        try:
            return self._decoder.decode(piece, not piece)
        except UnicodeDecodeError:
            self._decoder.reset()
            return "\ufffd"


def transcript(
    file: Path, content: BinaryIO, most_bytes: int = MOST_BYTES
) -> Transcript | None:
    """Return the file with its reader, by what its first lines are like.

    It is None where no reader knows them.

    Args:
        file: The file; its name is the session where its lines name none.
        content: Its content, unpacked.
        most_bytes: How much is put in the order of time at once.
    """
    if file.name.lower().endswith(_MARKDOWN_SUFFIXES):
        return _markdown_transcript(file, content)
    lines = _lines_or_elements(content)
    looked_at = list[SourceLine]()
    size = 0
    for line in islice(lines, _LOOKED_AT_LINES):
        looked_at.append(line)
        size += len(line.content or b"")
        reader = _reader_of(line, file)
        if isinstance(reader, PieceForm):
            pieces = piece_lines(reader, chain(looked_at, lines), most_bytes)
            return Transcript(PieceReader(reader.name), pieces)
        if reader is not None:
            return Transcript(reader, chain(looked_at, lines))
        if size > _LOOKED_AT_BYTES:
            break
    return None


def _lines_or_elements(content: BinaryIO) -> Iterator[SourceLine]:
    """Yield the lines of a file, or the elements of the document of JSON that it is."""
    is_whole = isinstance(content, io.BufferedReader) and is_document(content.peek())
    if not is_whole:
        yield from lines_of(content)
        return
    elements = elements_of(content, LONGEST_LINE_BYTES)
    for number, element in enumerate(elements, start=1):
        encoded = element.text.encode()
        problem = element.problem
        row = element.value if isinstance(element.value, dict) else None
        if row is None and not problem:
            problem = "no object of JSON"
        yield SourceLine(number, encoded, True, row, problem)


def piece_lines(
    form: PieceForm,
    lines: Iterator[SourceLine],
    most_bytes: int = MOST_BYTES,
) -> Iterator[SourceLine]:
    """Yield the pieces of conversations in lines, each as a line of its own.

    They come in the order of time, and in the file's where it states no times.

    Args:
        form: Finds the pieces.
        lines: The lines of one file.
        most_bytes: How much is put in the order of time at once.
    """
    held = HeldEntries(form, most_bytes)
    for line in lines:
        try:
            n_entries = _hold(form, line, held)
        except InvalidInput as error:
            content = None if line.content is None else b""
            yield SourceLine(line.number, content, True, None, str(error))
        else:
            if n_entries == 0:
                yield line._replace(row=None, content=b"")
        if held.is_full:
            yield from _held_lines(held)
    yield from _held_lines(held)


def _hold(form: PieceForm, line: SourceLine, held: HeldEntries) -> int:
    """Hold the entries in a line, and return how many.

    Raises:
        InvalidInput: It cannot be read to its end.
    """
    n_entries = 0
    content = line.content or b""
    damaged_content = content if _is_undecodable(content) else b""
    for position, row in enumerate(rows_of(line), start=1):
        number = line.number if position == 1 else f"{line.number}.{position}"
        try:
            for entry in form.entries(row, number):
                held.add(entry, b"" if n_entries else damaged_content)
                n_entries += 1
        except RecursionError as error:
            raise InvalidInput("nested too deeply") from error
    return n_entries


def _held_lines(held: HeldEntries) -> Iterator[SourceLine]:
    """Yield the pieces of held entries in the order of time."""
    n_pieces = Counter[int | str]()
    for moment in held.in_time_order():
        yield from _numbered_lines(moment, n_pieces)


def _numbered_lines(
    moment: HeldPieces, n_pieces: Counter[int | str]
) -> Iterator[SourceLine]:
    """Yield pieces as lines, each with a number of its own.

    Args:
        moment: The pieces.
        n_pieces: By number of a line, how many pieces it had so far; is added to.
    """
    number = moment.number
    try:
        for piece, content in moment.pieces:
            n_pieces[number] += 1
            is_first = n_pieces[number] == 1
            piece_number = number if is_first else f"{number}.{n_pieces[number]}"
            yield SourceLine(piece_number, content, True, piece._asdict())
    except RecursionError:
        yield SourceLine(number, b"", True, None, "nested too deeply")
    except InvalidInput as error:
        yield SourceLine(number, b"", True, None, str(error))


def _markdown_transcript(file: Path, content: BinaryIO) -> Transcript | None:
    """Return a Markdown file with its reader; None where it is no transcript."""
    data = content.read(LONGEST_LINE_BYTES + 1)
    text = data.decode("utf-8-sig", "replace")
    start = text[:_MARKDOWN_START_BYTES]
    is_cursor = looks_like_cursor(start)
    if not is_cursor and not looks_like_specstory(start):
        return None
    stem = file_stem(file)
    reader: Reader = PieceReader(CURSOR) if is_cursor else SpecStory(stem)
    if len(data) > LONGEST_LINE_BYTES:
        problem = f"the file is longer than {LONGEST_LINE_BYTES >> 20} MiB"
        return Transcript(reader, iter([SourceLine(1, b"", True, None, problem)]))
    n_damaged = 0
    if "\ufffd" in text:
        n_damaged = sum(map(_is_undecodable, data.split(b"\n")))
    lines = _cursor_lines(text, stem) if is_cursor else _lines_of_parts(text, file)
    return Transcript(reader, lines, n_damaged)


def _cursor_lines(text: str, stem: str) -> Iterator[SourceLine]:
    """Yield the pieces of a chat that Cursor exported."""
    for number, piece in cursor_pieces(text, stem):
        yield SourceLine(number, b"", True, piece._asdict())


def _is_undecodable(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


def _lines_of_parts(text: str, file: Path) -> Iterator[SourceLine]:
    """Yield what a Markdown transcript tells, and the bytes in it that are lost."""
    for line, row, problem in session_parts(text, file):
        yield SourceLine(line, b"", True, row, problem)
    for index, line_text in enumerate(text.split("\n"), start=1):
        if "\0" in line_text and not line_text.strip("\0\r"):
            lost = (
                "the line holds bytes that are 0 and nothing else: what it held is lost"
            )
            yield SourceLine(index, b"", True, None, lost)


def rows_of(line: SourceLine) -> Iterator[Row]:
    """Return an iterator over the objects of JSON in a line.

    A program that was killed may have left several, behind bytes that are 0. An empty
    line has none.

    Raises:
        InvalidInput: For anything else, after the objects that stand before it.
    """
    if line.row is not None or line.problem:
        return _stated_row(line)
    return _json_rows(line)


def _json_rows(line: SourceLine) -> Iterator[Row]:
    """Yield the objects of JSON in the bytes of a line, as `rows_of`."""
    if line.content is None:
        raise InvalidInput(f"the line is longer than {LONGEST_LINE_BYTES >> 20} MiB")
    # The codec that drops a byte order mark is written in Python.
    text = line.content.decode("utf-8", "replace").removeprefix("\ufeff")
    offset = _filled_from(text, 0)
    if offset == len(text) and "\0" in text:
        raise InvalidInput(
            "the line holds bytes that are 0 and nothing else: what it held is lost"
        )
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


def _stated_row(line: SourceLine) -> Iterator[Row]:
    """Yield what a part of a Markdown file tells.

    Raises:
        InvalidInput: It cannot be read to its end; after what it tells.
    """
    if line.row is not None:
        yield line.row
    if line.problem:
        raise InvalidInput(line.problem)


def _filled_from(text: str, offset: int) -> int:
    """Return where the next value in a line begins, or its end."""
    if text.startswith("{", offset):
        return offset
    if text.endswith("\n", offset) and offset + 1 == len(text):
        return len(text)  # as nearly every line ends
    blank = _BLANK.match(text, offset)
    return blank.end() if blank else offset


def _reader_of(line: SourceLine, file: Path) -> Reader | PieceForm | None:
    try:
        row = next(rows_of(line), None)
    except InvalidInput:
        return None
    if row is None:
        return None
    stem = file_stem(file)
    for piece_form in _PIECE_FORMS:
        if piece_form.reads(row):
            return piece_form(stem)
    for form in _READERS:
        if form.reads(row):
            return form(stem)
    return Chats(stem) if Chats.reads(row) else None


def lines_of(content: BinaryIO) -> Iterator[SourceLine]:
    """Yield the lines of a file; one that is too long is not held."""
    number = 0
    while True:
        line = content.readline(LONGEST_LINE_BYTES + 1)
        if not line:
            return
        number += 1
        if line == b"\n":
            number += _skip_line_breaks(content)
            continue
        has_end = line.endswith(b"\n")
        if has_end or len(line) <= LONGEST_LINE_BYTES:
            yield SourceLine(number, line, has_end)
            continue
        _skip_line(content)
        yield SourceLine(number, None, whole=True)


def _skip_line_breaks(content: BinaryIO) -> int:
    """Pass over line breaks, and return how many; there may be millions."""
    n_skipped = 0
    while isinstance(content, io.BufferedReader):
        ahead = content.peek()
        n_breaks = len(ahead) - len(ahead.lstrip(b"\n"))
        content.read(n_breaks)
        n_skipped += n_breaks
        if not ahead or n_breaks < len(ahead):
            break
    return n_skipped


def _skip_line(content: BinaryIO) -> None:
    """Read to the end of a line without holding it."""
    while True:
        piece = content.readline(1 << 20)
        if not piece or piece.endswith(b"\n"):
            return
