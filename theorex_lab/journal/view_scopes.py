"""The views of one project of a home, and those of one of its agents.

A view whose scope is a project is folded from that project's events and those of none,
and has snapshots of its own. So it costs what the project costs, whatever else the home
remembers. All other views are those of the whole home.

An agent's views are folded from what the agent may read, with snapshots of their own.
Those that read nothing but what all agents may read are the views of the whole home. A
view of an agent may be of a project as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from theorex_lab.journal.agent_journal import AgentJournal
from theorex_lab.journal.base import Journal
from theorex_lab.journal.directed import DirectedJournal
from theorex_lab.journal.directory import EventDirectory, directory_view
from theorex_lab.journal.recent_events import RecentEvents
from theorex_lab.journal.snapshot import scope_digest
from theorex_lab.journal.view import PROJECT_SCOPE, V, View, Views

# No snapshot of a project is called so, which machines push to each other.
_AGENT_SCOPE = "agent-{}"
_MOST_SCOPES = 8  # projects of a process whose views stay open


class ScopedViews(Views):
    """The views of a part of a home, over those of the whole home.

    Args:
        journal: The journal as the part reads it.
        outer: The views of the whole home.
    """

    def __init__(self, journal: Journal, outer: Views) -> None:
        super().__init__(
            journal,
            outer.folder,
            snapshot_after_events=outer.snapshot_after_events,
        )
        self._outer = outer

    def is_scoped(self, kind: type[View]) -> bool:
        """Return whether a view is folded for the part alone."""
        raise NotImplementedError

    def get(self, kind: type[V], *, upto: int | None = None) -> V:
        """See `Views`."""
        if self.is_scoped(kind):
            return super().get(kind, upto=upto)
        return self._outer.get(kind, upto=upto)

    def n_behind(self, kind: type[View]) -> int:
        """See `Views`."""
        if self.is_scoped(kind):
            return super().n_behind(kind)
        return self._outer.n_behind(kind)

    def snapshot(self, view: View) -> bool:
        """See `Views`."""
        if self.is_scoped(type(view)):
            return super().snapshot(view)
        return self._outer.snapshot(view)

    def remove_reached(self, kinds: Sequence[type[View]] = ()) -> None:
        """See `Views`: snapshots of all parts are looked at."""
        self._outer.remove_reached(kinds)


class ProjectViews(ScopedViews):
    """The views of a project, over those of the whole home.

    Args:
        whole: The views of the whole home.
        project: The project.
    """

    def __init__(self, whole: Views, project: str) -> None:
        super().__init__(whole.journal, whole)
        self.whole = whole
        self._projects = (project, "")
        self._scope = whole.scope_of(self._projects)
        self._directed = DirectedJournal(whole.journal, self.directory, self._projects)

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

    def open_together(self, kinds: Iterable[type[View]]) -> None:
        """See `Views`: those of the project are opened when they are asked for."""
        whole_kinds: list[type[View]] = []
        for kind in kinds:
            if not self.is_scoped(kind):
                whole_kinds.append(kind)
        self.whole.open_together(whole_kinds)

    def _recent_events(self, view: View, last: int) -> RecentEvents | None:  # noqa: ARG002
        """See `Views`: none, since the events of other projects are left out."""
        return None

    def _folder_of(self, kind: type[View]) -> Path:
        folder_name = f"{kind.name}@{self._scope}"
        return self.folder / folder_name


class AgentViews(ScopedViews):
    """The views of an agent, over those of the whole home.

    Args:
        home_views: The views of the whole home.
        agent: The agent.
        shared_kinds: The kinds of events by which agents share what they know.
    """

    def __init__(
        self, home_views: Views, agent: str, shared_kinds: Iterable[str] = ()
    ) -> None:
        self.agent_journal = AgentJournal(
            home_views.journal,
            agent,
            shared_kinds,
            directory=home_views.directory,
        )
        super().__init__(self.agent_journal, home_views)

    def scope_of(self, projects: Sequence[str] | None) -> str:
        """See `Views`: another one for each agent, and for what all agents may read."""
        journal = self.agent_journal
        readable = [
            journal.agent,
            *sorted(journal.open_kinds),
            self._outer.scope_of(projects),
        ]
        digest = scope_digest(readable)
        return _AGENT_SCOPE.format(digest)

    def is_scoped(self, kind: type[View]) -> bool:
        """Return whether a view reads what some agents may not read."""
        return not self.agent_journal.open_kinds.issuperset(kind.kinds)

    def open_together(self, kinds: Iterable[type[View]]) -> None:
        """See `Views`.

        Where the directory names the agent's events, each view is opened by it when it
        is asked for.
        """
        open_views: list[type[View]] = []
        agents_views: list[type[View]] = []
        for kind in kinds:
            views = agents_views if self.is_scoped(kind) else open_views
            views.append(kind)
        self._outer.open_together(open_views)
        n_directed = self._directed.n_directed(
            0,
            kinds=directory_view().kinds,
            upto=self.journal.last_seq(),
        )
        if n_directed is None:
            super().open_together(agents_views)

    def _is_due(self, view: View) -> bool:
        """See `Views`: what others have written is not counted."""
        if not super()._is_due(view):
            return False
        after = self._kept.get(type(view), 0)
        directory = view
        if not isinstance(directory, EventDirectory):
            directory = self.directory()
        n_events = directory.n_events(after, view.seq)
        return n_events >= self.snapshot_after_events

    def _folder_of(self, kind: type[View]) -> Path:
        return self.folder / f"{kind.name}@{self.scope_of(None)}"


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
