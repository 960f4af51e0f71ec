"""Results that were made of a project's events, kept beside the views of a home.

What a briefing makes of the events of a large project takes seconds, and stays the same
until something is recorded there. A result is kept as a snapshot of one column. So it
has a checksum, and it is removed with the snapshots when an event is erased of which it
may hold something.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from theorex_lab.core.files import exclusive
from theorex_lab.journal import snapshot as snapshots
from theorex_lab.journal.snapshot import Erasures, drop_snapshots, write_snapshot
from theorex_lab.journal.view import Views

_COLUMN = "content"


class ResultQuery(NamedTuple):
    """What a result was made of, and how.

    Attributes:
        name: What it is called.
        code: The version of what makes it.
        kinds: The kinds of the events that it was made of.
        projects: Their projects, '' for none; None for all.
        key: What else it rests on, such as the day.
    """

    name: str
    code: int
    kinds: tuple[str, ...]
    projects: tuple[str, ...] | None
    key: str = ""

    def folder_in(self, views: Views) -> Path:
        """Return its folder beside views; its projects cannot be read in the name."""
        scope = views.whole.scope_of(self.projects)
        return views.folder / f"{self.name}@{scope}"


def kept_result(views: Views, query: ResultQuery, upto: int) -> Any | None:
    """Return a result that was kept, as JSON has it; None where there is none.

    Nothing that it was made of was appended, erased or moved to another project since.

    Args:
        views: The views of the home.
        query: What it was made of.
        upto: The seq up to which events count.
    """
    journal = views.journal
    folder = query.folder_in(views)
    for snapshot in snapshots.open_snapshots(folder, query.code):
        seq = snapshot.seq
        if seq > upto or journal.event_id(seq) != snapshot.event_id:
            continue
        if views.whole.erasures.after(seq).reach(query.kinds, seq):
            continue
        content = json.loads(snapshot.columns[_COLUMN].tobytes())
        is_same = content["key"] == query.key
        if is_same and not _has_grown(views, query, seq, upto):
            return content["result"]
    return None


def keep_result(views: Views, query: ResultQuery, upto: int, result: Any) -> bool:
    """Keep a result, unless another process keeps one or something of it was erased.

    It is only a cache: where there is no room for it, the memory goes on without.

    Args:
        views: The views of the home.
        query: What it was made of.
        upto: The seq up to which the events were read; taken before they were.
        result: The result, as JSON has it.

    Returns:
        False where it was not kept.
    """
    event_id = views.journal.event_id(upto)
    if event_id is None:
        return False
    if kept_result(views, query, upto) is not None:
        return True
    folder = query.folder_in(views)
    content = json.dumps({"key": query.key, "result": result}).encode()
    try:
        with exclusive(folder / "lock", wait=False) as is_locked:
            if not is_locked or _is_reached(views, query, upto):
                return False
            # One of another key may stand there.
            drop_snapshots(folder / f"{query.code}-{upto:012d}")
            path = write_snapshot(
                folder,
                {_COLUMN: np.frombuffer(content, np.uint8)},
                code=query.code,
                seq=upto,
                event_id=event_id,
                kinds=query.kinds,
            )
            if _is_reached(views, query, upto):
                drop_snapshots(path)
                return False
            return True
    except OSError:
        return False


def _is_reached(views: Views, query: ResultQuery, upto: int) -> bool:
    """Return whether something was erased since of what a result was made of."""
    return Erasures.after(views.journal, upto).reach(query.kinds, upto)


def _has_grown(views: Views, query: ResultQuery, seq: int, upto: int) -> bool:
    """Return whether events came behind a seq that a result would rest on."""
    if seq == upto:
        return False
    events = views.events(
        query.kinds,
        projects=query.projects,
        after=seq,
        upto=upto,
    )
    return next(events, None) is not None
