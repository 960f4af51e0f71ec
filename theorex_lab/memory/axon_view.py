"""Concepts as they stand now, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theorex_lab.clock import Clock
from theorex_lab.config import Settings
from theorex_lab.journal.view import Views
from theorex_lab.memory import standing
from theorex_lab.memory.axon import Axon


class AxonView:
    """Concepts as they stand now, for people: a table, a graph, counts by tier."""

    def __init__(self, views: Views, settings: Settings, clock: Clock, agents: Sequence[str] | None) -> None:
        self._views, self._settings, self._clock, self._agents = views, settings, clock, agents

    def frame(self) -> Any:
        """A pandas DataFrame, best first; see `theorex_lab.memory.standing.frame`."""
        axon, now, settings = self._now()
        with axon.lock:
            return standing.frame(axon, standing.standing(axon, now, settings, agents=self._agents))

    def graph(self) -> Any:
        """A networkx Graph; see `theorex_lab.memory.standing.graph`."""
        axon, now, settings = self._now()
        with axon.lock:
            current = standing.standing(axon, now, settings, agents=self._agents)
            return standing.graph(axon, current, now, settings)

    def tiers(self) -> dict[str, int]:
        """How many concepts are in each tier."""
        axon, now, settings = self._now()
        with axon.lock:
            return standing.standing(axon, now, settings, agents=self._agents).counts()

    def _now(self) -> tuple[Axon, int, Settings]:
        return self._views.get(Axon), self._clock.now(), self._settings

    def _repr_html_(self) -> str:
        return str(self.frame().to_html(escape=True, index=False, max_rows=20))
