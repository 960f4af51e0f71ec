"""Write the events of a journal as Parquet files, for DuckDB, Polars and pandas.

The files are partitioned by project and month, as `project=ID/month=2026-01/….parquet`.
Events of no project are in `project=__HIVE_DEFAULT_PARTITION__`, which readers take for
null. So are erased ones, since nobody knows their project.
"""

from __future__ import annotations

import shutil
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import quote

from theorex_lab.core.clock import to_datetime
from theorex_lab.core.errors import FilesThere, InvalidInput
from theorex_lab.core.files import sync_folder, writing
from theorex_lab.files.formats.folder_lock import exchange, export_folder
from theorex_lab.files.formats.reports import Exported
from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import Event, encode
from theorex_lab.text.redact.masking import masked_value

_Row = dict[str, Any]
# So many events are held at once; each partition gets its own of them.
_EVENTS_AT_ONCE = 20_000
_OPEN_FILES = 64
_PARTITION = "project="
_NO_PROJECT = "__HIVE_DEFAULT_PARTITION__"
_ADVICE = "make room, or give another folder"


def export_events(
    journal: Journal, folder: Path, *, replace: bool = False, upto: int | None = None
) -> Exported:
    """Write all events into a folder of Parquet files, whole or not at all.

    They are written beside the folder, into `.NAME.unfinished`, which then takes its
    name: where the system can exchange two names, at once. What an export left there
    that was killed is removed by the next one.

    Bodies are JSON texts, with secrets masked, also those that were let in. An erased
    event has the body that the journal has of it, which says only that.

    Args:
        journal: The journal.
        folder: The folder, which is made.
        replace: Whether an earlier export of events there is replaced.
        upto: The seq of the last event; None for the newest.

    Returns:
        The folder, and how many events each partition holds.

    Raises:
        InvalidInput: The package pyarrow is not installed.
        FilesThere: The folder is there and not empty, and `replace` is not given or
            it holds something else than such an export.
        StorageError: A file cannot be written; or another export to this folder is
            under way.
    """
    _check_pyarrow()
    _check_target(folder, replace=replace)
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    with (
        writing(folder, _ADVICE),
        export_folder(unfinished, shown=folder),
    ):
        _check_target(folder, replace=replace)
        _empty(unfinished)
        last = journal.last_seq() if upto is None else upto
        events = journal.tail(0, upto=last, erased=True)
        try:
            counts = _write(events, unfinished)
            _sync(unfinished)
        except OSError:
            # What cannot be ended must not keep the disk full.
            _empty(unfinished)
            raise
        _put_in_place(unfinished, folder)
    return Exported(folder, counts)


def _put_in_place(unfinished: Path, folder: Path) -> None:
    """Let what was written take the place of a folder, and remove what was there."""
    former = folder.with_name(f".{folder.name}.former")
    if former.exists() and folder.exists():
        shutil.rmtree(former)
    if not folder.exists():
        unfinished.rename(folder)
    elif exchange(folder, unfinished):
        unfinished.rename(former)
    else:
        folder.rename(former)
        unfinished.rename(folder)
    sync_folder(folder.parent)
    shutil.rmtree(former, ignore_errors=True)


def _empty(folder: Path) -> None:
    """Remove what lies in a folder."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _check_pyarrow() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise InvalidInput(
            f"got --parquet, whose package is not installed ({error}); give pip install"
            " 'theorex-lab[parquet]'"
        ) from error


def _check_target(folder: Path, *, replace: bool) -> None:
    """Raise FilesThere where something is that would be replaced, and should not be."""
    if not folder.exists():
        return
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    is_export = folder.is_dir() and all(name.startswith(_PARTITION) for name in names)
    if is_export and (replace or not names):
        return
    advice = "give --replace, or another folder"
    if not is_export:
        advice = "it is no export of events, so give another folder"
    raise FilesThere(f"got {folder}, which is there already; {advice}")


def _write(events: Iterable[Event], folder: Path) -> dict[str, int]:
    """Write events as they come, and return how many each partition holds."""
    counts: dict[str, int] = {}
    rows = map(_row, events)
    with _PartitionFiles(folder) as files:
        while batch := list(islice(rows, _EVENTS_AT_ONCE)):
            by_partition: dict[_Partition, list[_Row]] = defaultdict(list)
            for partition, row in batch:
                by_partition[partition].append(row)
            for partition, partition_rows in by_partition.items():
                files.add(partition, partition_rows)
                name = f"{partition.project or 'no project'}, {partition.month}"
                counts[name] = counts.get(name, 0) + len(partition_rows)
    return counts


class _Partition(NamedTuple):
    """Where rows are: the project's id, '' for none, and the month as 2026-01."""

    project: str
    month: str

    @property
    def folder(self) -> str:
        """The path within the export, as Hive names it."""
        project = _NO_PROJECT
        if self.project:
            project = quote(self.project, safe="")
        return f"project={project}/month={self.month}"


class _PartitionFiles:
    """The Parquet files of an export; a few are open at a time.

    All is written by the thread that calls: the writer of whole datasets reads its rows
    in a thread of its own, which still runs when it gives up.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._schema = _schema()
        # By partition, the one that was written to last at the end.
        self._open: OrderedDict[_Partition, Any] = OrderedDict()
        self._n_files: Counter[_Partition] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close all files; after an error they are not to be whole."""
        while self._open:
            _, writer = self._open.popitem()
            # A disk that is full refuses the end of each file too.
            with suppress(OSError) if kind else nullcontext():
                writer.close()

    def add(self, partition: _Partition, rows: list[_Row]) -> None:
        """Write rows of a partition."""
        import pyarrow

        table = pyarrow.Table.from_pylist(rows, schema=self._schema)
        writer = self._writer(partition)
        writer.write_table(table)

    def _writer(self, partition: _Partition) -> Any:
        """Return the writer of a partition's newest file, which may be a new one."""
        from pyarrow import parquet

        if partition not in self._open:
            while len(self._open) >= _OPEN_FILES:
                _, oldest = self._open.popitem(last=False)
                oldest.close()
            number = self._n_files[partition]
            self._n_files[partition] += 1
            path = self._folder / partition.folder / f"events-{number}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            self._open[partition] = parquet.ParquetWriter(path, self._schema)
        self._open.move_to_end(partition)
        return self._open[partition]


def _schema() -> Any:
    """Return the columns of a file; the partition has the others."""
    import pyarrow

    text = pyarrow.string()
    return pyarrow.schema(
        [
            ("seq", pyarrow.int64()),
            ("id", text),
            ("at", pyarrow.timestamp("us", tz="UTC")),
            ("agent", text),
            ("session", text),
            ("kind", text),
            ("lineage", pyarrow.list_(text)),
            ("erased", pyarrow.bool_()),
            ("body", text),
        ]
    )


def _row(event: Event) -> tuple[_Partition, _Row]:
    """Return the partition of an event, and the event as a row."""
    body = event.body if event.erased else masked_value(event.body)
    project = event.body.get("project", "")
    month = to_datetime(event.at).isoformat()[:7]
    row = {
        "seq": event.seq,
        "id": event.id,
        "at": event.at,
        "agent": event.agent,
        "session": event.session,
        "kind": event.kind,
        "lineage": list(event.lineage),
        "erased": event.erased,
        "body": encode(body),
    }
    return _Partition(str(project), month), row


def _sync(folder: Path) -> None:
    """Make the files of a folder durable, and the folders in it."""
    for path in sorted(folder.rglob("*")):
        sync_folder(path)
    sync_folder(folder)
