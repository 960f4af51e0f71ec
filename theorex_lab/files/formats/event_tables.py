"""Write the events of a journal as Parquet files, for DuckDB, Polars and pandas.

The files are partitioned by project and month, as `project=ID/month=2026-01/….parquet`.
Events of no project are in `project=__HIVE_DEFAULT_PARTITION__`, which readers take for
null. So are erased ones, since nobody knows their project.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from theorex_lab.core.clock import to_datetime
from theorex_lab.core.errors import FilesThere, InvalidInput
from theorex_lab.core.files import sync_folder, writing
from theorex_lab.files.formats.folder_lock import exchange, export_folder
from theorex_lab.files.formats.reports import Exported
from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import Event, encode
from theorex_lab.text.redact.masking import masked_value

# So many events are decoded at once; what is held beside them is not written yet.
_EVENTS_AT_ONCE = 5_000
_ROWS_A_GROUP = 100_000
_OPEN_FILES = 64
_PARTITION = "project="
_ADVICE = "give another folder"


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
        counts = _write(journal.tail(0, upto=last, erased=True), unfinished)
        _sync(unfinished)
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
    import pyarrow
    from pyarrow import dataset

    schema = _schema()
    counts: dict[str, int] = {}
    batches = (
        pyarrow.RecordBatch.from_pylist(rows, schema=schema)
        for rows in _batches_of_rows(events, counts)
    )
    reader = pyarrow.RecordBatchReader.from_batches(schema, batches)
    columns = [schema.field("project"), schema.field("month")]
    dataset.write_dataset(
        reader,
        folder,
        format="parquet",
        partitioning=dataset.partitioning(pyarrow.schema(columns), flavor="hive"),
        basename_template="events-{i}.parquet",
        use_threads=False,
        max_partitions=_EVENTS_AT_ONCE,
        max_open_files=_OPEN_FILES,
        max_rows_per_group=_ROWS_A_GROUP,
        existing_data_behavior="error",
    )
    return counts


def _schema() -> Any:
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
            ("project", text),
            ("month", text),
        ]
    )


def _batches_of_rows(
    events: Iterable[Event], counts: dict[str, int]
) -> Iterator[list[dict[str, Any]]]:
    """Yield rows, some at a time, and count them by partition."""
    rows = map(_row, events)
    while batch := list(islice(rows, _EVENTS_AT_ONCE)):
        for row in batch:
            name = f"{row['project'] or 'no project'}, {row['month']}"
            counts[name] = counts.get(name, 0) + 1
        yield batch


def _row(event: Event) -> dict[str, Any]:
    """Return an event as a row."""
    body = event.body if event.erased else masked_value(event.body)
    project = event.body.get("project", "")
    return {
        "seq": event.seq,
        "id": event.id,
        "at": event.at,
        "agent": event.agent,
        "session": event.session,
        "kind": event.kind,
        "lineage": list(event.lineage),
        "erased": event.erased,
        "body": encode(body),
        "project": str(project) or None,
        "month": to_datetime(event.at).isoformat()[:7],
    }


def _sync(folder: Path) -> None:
    """Make the files of a folder durable, and the folders in it."""
    for path in sorted(folder.rglob("*")):
        sync_folder(path)
    sync_folder(folder)
