"""The views of one project of a home.

A view whose scope is a project is folded from that project's events and those of none,
and has snapshots of its own. So it costs what the project costs, whatever else the home
remembers. All other views are those of the whole home.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path

from theorex_lab.journal.base import Journal
from theorex_lab.journal.directed import DirectedJournal
from theorex_lab.journal.view import PROJECT_SCOPE, V, View, Views

_SCOPE_BYTES = 8
_ALL = "\n\n"  # what no project is called
_MOST_SCOPES = 8  # projects of a process whose views stay open


def scope_digest(projects: Sequence[str] | None) -> str:
    """Return what stands for projects in the name of a folder.

    Their names cannot be read from it.

    Args:
        projects: The projects, '' for none; None for all.
    """
    names = _ALL if projects is None else "\n".join(projects)
    digest = blake2b(
        names.encode(),
        digest_size=_SCOPE_BYTES,
    )
    return digest.hexdigest()


class ProjectViews(Views):
    """The views of a project, over those of the whole home.

    Args:
        whole: The views of the whole home.
        project: The project.
    """

    def __init__(self, whole: Views, project: str) -> None:
        super().__init__(
            whole.journal,
            whole.folder,
            snapshot_after_events=whole.snapshot_after_events,
        )
        self.whole = whole
        self._projects = (project, "")
        self._scope = scope_digest(self._projects)
        self._directed = DirectedJournal(whole.journal, self._directory, self._projects)

    def is_scoped(self, kind: type[View]) -> bool:
        """Return whether a view is folded for the project alone."""
        return kind.scope == PROJECT_SCOPE

    def journal_of(self, kind: type[View]) -> Journal:
        """Return the journal that a view is a fold of, read without the directory."""
        if self.is_scoped(kind):
            return DirectedJournal(
                self.journal,
                None,
                self._projects,
            )
        return self.journal

    def get(self, kind: type[V], *, upto: int | None = None) -> V:
        """See `Views`."""
        if self.is_scoped(kind):
            return super().get(kind, upto=upto)
        return self.whole.get(kind, upto=upto)

    def n_behind(self, kind: type[View]) -> int:
        """See `Views`."""
        if self.is_scoped(kind):
            return super().n_behind(kind)
        return self.whole.n_behind(kind)

    def open_together(self, kinds: Iterable[type[View]]) -> None:
        """See `Views`: those of the project are opened when they are asked for."""
        whole_kinds: list[type[View]] = []
        for kind in kinds:
            if not self.is_scoped(kind):
                whole_kinds.append(kind)
        self.whole.open_together(whole_kinds)

    def snapshot(self, view: View) -> bool:
        """See `Views`."""
        if self.is_scoped(type(view)):
            return super().snapshot(view)
        return self.whole.snapshot(view)

    def remove_reached(self, kinds: Sequence[type[View]] = ()) -> None:
        """See `Views`: snapshots of all projects are looked at."""
        self.whole.remove_reached(kinds)

    def _folder_of(self, kind: type[View]) -> Path:
        folder_name = f"{kind.name}@{self._scope}"
        return self.folder / folder_name


def views_of_project(views: Views, project: str) -> Views:
    """Return the views of a project, '' for all; the same as long as they are open.

    Args:
        views: The views of the home, or of another of its projects.
        project: The project.
    """
    whole = views.whole
    if not project:
        return whole
    scoped = whole.scopes.pop(project, None)
    if scoped is None:
        scoped = ProjectViews(whole, project)
    # The one that was asked for last is the last.
    whole.scopes[project] = scoped
    projects = list(whole.scopes)
    for old_project in projects[:-_MOST_SCOPES]:
        whole.scopes.pop(old_project, None)
    return scoped
