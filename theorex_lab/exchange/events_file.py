"""A file of events: plain ndjson, one line an event, every line with the same columns of numbers and texts.

seq, at           whole numbers; `at` in µs UTC
id, agent, session, kind
lineage           ids with a space between them, '' for none
body              JSON as text

Body and lineage are texts since readers of tables infer types from the first lines: Polars drops each member of an
object that is not in the first hundred, and ids that come after a hundred empty lists; DuckDB makes a map of a body.
The first line is a row like the others, of the kind `journal` with seq 0, so that no reader trips over it; its body
says how many events follow, and their SHA-256. It has a fixed length and, compressed, is a gzip member of its own that
is stored, so that it is written last into its place. The same events give the same bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import count
from pathlib import Path
from typing import NamedTuple

from theorex_lab.errors import InvalidInput, NewerVersion
from theorex_lab.exchange.files import upcast_of_file
from theorex_lab.exchange.flat_files import FlatRecord, draft_of, parse_object
from theorex_lab.journal.event import Event, encode, segment_of
from theorex_lab.journal.foreign import open_file
from theorex_lab.journal.private import open_private

ENDINGS = (".jsonl", ".jsonl.gz")
HEADER_KIND = "journal"
FORMAT, FORMAT_VERSION = "theorex events", 1
LARGEST_LINE_BYTES = 64 << 20
_HEADER_BYTES = 512
_NO_ID = "00000000-0000-0000-0000-000000000000"
_GZIP = b"\x1f\x8b"
_EXPORT_AGAIN = "the file was cut or changed; export it again"


class Header(NamedTuple):
    """What the first line says: how many events follow, and the SHA-256 of their lines."""

    events: int
    sha256: str


def write_events(path: Path, events: Iterable[Event]) -> Header:
    """Write the events to `path`, compressed where its name ends so; the file is there whole at the end, or as it was.

    Raises InvalidInput for a name with another ending or an event too large for a line, StorageError where it cannot be
    written.
    """
    if not path.name.endswith(ENDINGS):
        raise InvalidInput(f"got the file {path.name}; allowed are names that end in {' or '.join(ENDINGS)}")
    packed, digest, written = path.name.endswith(".gz"), hashlib.sha256(), 0
    with draft_of(path) as draft, open(draft, "xb", opener=open_private) as file:
        file.write(_head(Header(0, "0" * 64), packed=packed))
        with gzip.GzipFile("", "wb", 6, file, mtime=0) if packed else nullcontext(file) as lines:
            for event in events:
                line = _line(event)
                digest.update(line)
                lines.write(line)
                written += 1
        header = Header(written, digest.hexdigest())
        file.seek(0)
        file.write(_head(header, packed=packed))
        file.flush()
        os.fsync(file.fileno())
    return header


def read_header(path: Path) -> Header | None:
    """What the first line of a file says of the others; None where it is an event like them.

    Raises NewerVersion for the layout of a later release, and as `read_events`.
    """
    from theorex_lab.exchange import records, schema  # an export does without pydantic

    first = next(_rows(path), None)
    if first is None or first[2].get("kind") != HEADER_KIND:
        return None
    with _located(path, 1):
        body = schema.checked(records.Bodied, first[2]).body
        if body.get("format") != FORMAT or type(body.get("version")) is not int:
            raise InvalidInput(f"got the format {body.get('format')!r:.80}; allowed is {FORMAT!r}")
        if body["version"] > FORMAT_VERSION:
            raise NewerVersion(
                f"got the layout {body['version']}, this release reads {FORMAT_VERSION}; install a later one"
            )
        events, sha256 = (body.get(name) for name in Header._fields)
        if type(events) is not int or not isinstance(sha256, str):
            raise InvalidInput(f"its first line is not whole; {_EXPORT_AGAIN}")
    return Header(events, sha256)


def read_events(path: Path, header: Header | None) -> Iterator[Event]:
    """The events of a file at this release's versions, one by one; what is wrong with it may come at the end.

    Raises InvalidInput for what is no event, seqs that do not rise, and a file that is not as its header says;
    NewerVersion for an event of a later release, StorageError for a file that cannot be read.
    """
    digest, read, seq = hashlib.sha256(), 0, 0
    for number, line, row in _rows(path):
        if header is not None and number == 1:
            continue
        digest.update(line)
        with _located(path, number):
            event = _event(row)
            if event.seq <= seq:
                raise InvalidInput(f"got the seq {event.seq} after {seq}; {_EXPORT_AGAIN}")
        seq, read = event.seq, read + 1
        yield event
    if header is not None and (read, digest.hexdigest()) != header:
        raise InvalidInput(
            f"got {path} with {read} events, which are not the {header.events} that it was written with; {_EXPORT_AGAIN}"
        )


def _head(header: Header, *, packed: bool) -> bytes:
    body = {"format": FORMAT, "version": FORMAT_VERSION, **header._asdict()}
    line = _line(Event(0, _NO_ID, 0, "", "", HEADER_KIND, (), body))
    whole = line[:-1].ljust(_HEADER_BYTES - 1) + b"\n"
    return gzip.compress(whole, compresslevel=0, mtime=0) if packed else whole


def _line(event: Event) -> bytes:
    row = event._asdict() | {"lineage": " ".join(event.lineage), "body": encode(event.body)}
    line = encode(row).encode() + b"\n"
    if len(line) > LARGEST_LINE_BYTES:
        raise InvalidInput(
            f"event {event.id} takes {len(line)} bytes; a line may have {LARGEST_LINE_BYTES}: use `theorex backup`"
        )
    return line


def _rows(path: Path) -> Iterator[tuple[int, bytes, FlatRecord]]:
    """Number from 1, bytes and content of each line. No line is read further than the longest that may be written."""
    with open_file(path) as file:
        packed = file.read(2) == _GZIP
        file.seek(0)
        lines = gzip.GzipFile(fileobj=file) if packed else file
        for number in count(1):
            with _located(path, number, f"; {_EXPORT_AGAIN}"):
                line = lines.readline(LARGEST_LINE_BYTES + 1)
                if not line:
                    return
                if len(line) > LARGEST_LINE_BYTES:
                    raise InvalidInput(f"got a line of more than {LARGEST_LINE_BYTES} bytes")
                if not line.endswith(b"\n"):
                    raise InvalidInput("the last line has no end")
                row = parse_object(line)
            yield number, line, row


@contextmanager
def _located(path: Path, number: int, advice: str = "") -> Iterator[None]:
    """Say where it is that something is refused."""
    try:
        yield
    except (InvalidInput, NewerVersion, EOFError, zlib.error, gzip.BadGzipFile) as error:
        kind = NewerVersion if isinstance(error, NewerVersion) else InvalidInput
        raise kind(f"{path}:{number}: {error}{advice}") from error


def _event(row: FlatRecord) -> Event:
    """The event of a line, its body at this release's version. Raises InvalidInput and NewerVersion."""
    from theorex_lab.exchange import records, schema

    stated = schema.checked(records.EventRow, row)
    event = Event(**{name: getattr(stated, name) for name in Event._fields} | {"lineage": tuple(stated.lineage)})
    if event.kind == HEADER_KIND:
        raise InvalidInput(f"kind is {HEADER_KIND!r}; allowed is that in the first line alone")
    if segment_of(event.body):
        raise InvalidInput(
            f"the body of {event.id} lies in a segment; allowed are whole bodies, as an export writes them"
        )
    encode(event.body)  # refuses what no journal can hold
    return upcast_of_file(event)
