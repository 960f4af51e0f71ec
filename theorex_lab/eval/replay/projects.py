"""Which project a log's events are of, and what a memory mixes in from others."""

from __future__ import annotations

import math
from collections.abc import Sequence

from theorex_lab.eval.adapters.protocol import EvalLog, EvalQuery
from theorex_lab.eval.metrics.sessions import Scene, share
from theorex_lab.memory.contract import Item


class LogProjects:
    """The projects of a log's events and sessions.

    Attributes:
        are_several: Whether the events are of more than one project.
    """

    def __init__(self, log: EvalLog) -> None:
        self._by_event: dict[str, str] = {}
        self._by_session: dict[str, str] = {}
        for event in log.events:
            project = event.body.get("project")
            if isinstance(project, str) and project:
                self._by_event[event.id] = project
                self._by_session[event.session] = project
        projects = set(self._by_event.values())
        self.are_several = len(projects) > 1

    def asking(self, target: Scene | EvalQuery) -> str:
        """Return the project in which something is asked, '' where that is not known.

        Args:
            target: The session that starts, or the question.
        """
        if isinstance(target, Scene):
            return self._by_session.get(target.session, "")
        return target.project

    def bleed(self, items: Sequence[Item], project: str) -> float:
        """Return the share of items that rest on events of other projects alone.

        Items that rest on no event of any project are not counted.

        Args:
            items: What a memory gave.
            project: The project in which it was asked.

        Returns:
            A share in 0..1; NaN where nothing is counted, or the project is not known.
        """
        if not project:
            return math.nan
        n_counted = 0
        n_others = 0
        for item in items:
            projects = self._projects_of(item)
            if not projects:
                continue
            n_counted += 1
            if project not in projects:
                n_others += 1
        return share(n_others, n_counted)

    def _projects_of(self, item: Item) -> set[str]:
        """Return the projects of the events that an item rests on."""
        projects: set[str] = set()
        for event_id in item.events:
            project = self._by_event.get(event_id)
            if project is not None:
                projects.add(project)
        return projects
