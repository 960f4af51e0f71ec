"""Concepts as they stand now, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theorex_lab.config import Settings
from theorex_lab.designs.theorex import scores
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.home import Home
from theorex_lab.memory.rows import table_html


class AxonView:
    """Concepts as they stand now, for people: a table, a graph, counts by tier."""

    def __init__(self, home: Home, agents: Sequence[str] | None) -> None:
        self._home, self._agents = home, agents

    def frame(self) -> Any:
        """A pandas DataFrame, best first; see `theorex_lab.memory.scores.frame`."""
        axon, now, settings = self._now()
        with axon.lock:
            return scores.frame(axon, scores.scores_of(axon, now, settings, agents=self._agents))

    def graph(self) -> Any:
        """A networkx Graph; see `theorex_lab.memory.scores.graph`."""
        axon, now, settings = self._now()
        with axon.lock:
            current = scores.scores_of(axon, now, settings, agents=self._agents)
            return scores.graph(axon, current, now, settings)

    def tiers(self) -> dict[str, int]:
        """How many concepts are in each tier."""
        axon, now, settings = self._now()
        with axon.lock:
            return scores.scores_of(axon, now, settings, agents=self._agents).counts()

    def _now(self) -> tuple[Axon, int, Settings]:
        return self._home.views.get(Axon), self._home.clock.now(), self._home.settings

    def _repr_html_(self) -> str:
        return table_html(self.frame())
