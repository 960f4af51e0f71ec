"""A journal as one file of events, for programs that read tables: plain ndjson, every line with the same columns.

seq, at           whole numbers; `at` in µs UTC
id, agent, session, kind
lineage           ids with a space between them, '' for none
body              JSON as text

Body and lineage are texts since readers of tables infer types from the first lines: Polars drops each member of an
object that is not in the first hundred, and ids that come after a hundred empty lists; DuckDB makes a map of a body.
It is not read back: `theorex backup` moves a journal, an exported folder what a home remembers.
"""

import gzip
import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

from theorex_lab.errors import InvalidInput, StorageError
from theorex_lab.exchange.files import refuse_to_replace
from theorex_lab.exchange.flat_files import draft_of
from theorex_lab.home import Home
from theorex_lab.ids import check_agent
from theorex_lab.journal.event import Event, encode
from theorex_lab.journal.files import open_private

ENDINGS = (".jsonl", ".jsonl.gz")
Progress = Callable[[int], None]


def export_events(home: Home, path: Path, *, agent: str | None = None, replace: bool = False,
                  progress: Progress | None = None) -> int:  # fmt: skip
    """Write all events of the journal, or an agent's, into one file; returns how many. What was erased has no body.

    The same events give the same bytes.

    progress: called with the number of events done.  Raises FilesThere where the file is there, unless `replace` is given,
    InvalidInput for a name that ends otherwise than in .jsonl or .jsonl.gz, StorageError where it cannot be written, or
    where something was erased meanwhile.
    """
    if not path.name.endswith(ENDINGS):
        raise InvalidInput(f"got the file {path.name}; allowed are names that end in {' or '.join(ENDINGS)}")
    if not replace:
        refuse_to_replace([path])
    owner, written = None if agent is None else check_agent(agent), 0
    with draft_of(path) as draft, open(draft, "xb", opener=open_private) as file:
        packed = gzip.GzipFile("", "wb", 6, file, mtime=0) if path.name.endswith(".gz") else nullcontext(file)
        with packed as lines:
            for written, event in enumerate(_stored(home, owner, progress), 1):  # noqa: B007 - how many there were
                row = event._asdict() | {"lineage": " ".join(event.lineage), "body": encode(event.body)}
                lines.write(encode(row).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    return written


def _stored(home: Home, agent: str | None, progress: Progress | None) -> Iterator[Event]:
    """The events as the file has them."""
    last = (journal := home.journal).last_seq()
    for event in journal.tail(0, upto=last, erased=True):
        if agent in (None, event.agent):
            yield event._replace(session="", body={"erased": 1}) if event.erased else event
        if progress:
            progress(event.seq)
    if any(journal.tail(last, kinds=["erasure"], erased=True)):
        raise StorageError("something was erased while it was exported; nothing was written: export again")
