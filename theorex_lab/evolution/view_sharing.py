"""Views of a shared journal, folded by one machine and taken over by the others."""

from __future__ import annotations

from contextlib import suppress

from theorex_lab.core.errors import StorageError
from theorex_lab.dispatch.tasks import Tasks
from theorex_lab.dispatch.traces import Traces
from theorex_lab.evolution.maintained import CaptureTimes, MaintenanceReports
from theorex_lab.evolution.outcomes import Outcomes
from theorex_lab.journal.directory import directory_view
from theorex_lab.journal.shared_snapshots import (
    SnapshotStore,
    SnapshotTransfer,
    pull_snapshots,
    push_snapshots,
)
from theorex_lab.journal.spool import SpooledJournal
from theorex_lab.journal.view import View, set_aside_view
from theorex_lab.memory.annotations import Marks
from theorex_lab.memory.contract import Home
from theorex_lab.memory.documents import Documents
from theorex_lab.memory.evidence import evidence_view
from theorex_lab.memory.projects import projects_view
from theorex_lab.memory.session_list import SessionList
from theorex_lab.routing.recall import Recall

_NOTHING = SnapshotTransfer([], 0, [])


def home_views(home: Home) -> list[type[View]]:
    """Return every view of a home."""
    views: list[type[View]] = [
        home.item_view,
        home.label_view,
        projects_view(home),
        Traces,
        evidence_view(home),
        Recall,
        Tasks,
        Outcomes,
        Marks,
        Documents,
        SessionList,
        CaptureTimes,
        MaintenanceReports,
        directory_view(),
    ]
    for design in home.designs:
        views += design.views()
    return views


def _shared_views(home: Home) -> list[type[View]]:
    """Return the views that machines take over from each other."""
    return [*home_views(home), set_aside_view()]


def push_views(home: Home) -> SnapshotTransfer:
    """Fold every view of the whole home up to now, and push the snapshots.

    Args:
        home: A home that shares its journal.

    Raises:
        StorageError: The shared journal keeps no snapshots, cannot be reached, or this
            role may not write them.
    """
    store = _store_of(home)
    kinds = _shared_views(home)
    views = home.views.whole
    views.open_together(kinds)
    for kind in dict.fromkeys(kinds):
        with views.reading(kind) as view:
            views.snapshot(view)
    return push_snapshots(views, kinds, store)


def push_grown_views(home: Home) -> str:
    """Push the snapshots that have grown by a third since they were pushed last.

    This is a step of maintenance, so that one machine at a time does so.

    Returns:
        What was done; or why nothing can be, where a role may not push.
    """
    try:
        store = _store_of(home)
        pushed = push_snapshots(home.views, _shared_views(home), store, only_grown=True)
    except StorageError as error:
        return f"none pushed: {error}"
    return f"{len(pushed.names)} pushed"


def pull_views(home: Home) -> SnapshotTransfer:
    """Pull the snapshots of other machines that are newer than those here.

    Args:
        home: A home that shares its journal.

    Raises:
        StorageError: The shared journal keeps no snapshots, cannot be reached, or this
            role may not read them; or the home cannot be written.
    """
    return pull_snapshots(home.views, _shared_views(home), _store_of(home))


def pull_views_at_joining(home: Home, journal: SpooledJournal) -> SnapshotTransfer:
    """Pull them where the shared journal has any; this home has none yet.

    A role that may not read them folds everything itself.
    """
    store = journal.connected.snapshots()
    if store is None:
        return _NOTHING
    with suppress(StorageError):
        return pull_snapshots(home.views, _shared_views(home), store)
    return _NOTHING


def _store_of(home: Home) -> SnapshotStore:
    journal = home.journal
    store = None
    if isinstance(journal, SpooledJournal):
        store = journal.connected.snapshots()
    if store is None:
        raise StorageError(
            f"the journal of {home.folder} keeps no snapshots for other machines;"
            " allowed is a home whose setting journalUrl names a PostgreSQL database"
        )
    return store
