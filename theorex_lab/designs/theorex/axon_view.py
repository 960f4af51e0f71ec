"""Concepts as they stand now, for people: as tables and graphs, and in a home's status."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from theorex_lab.designs.theorex import scores
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.home import Home
from theorex_lab.memory.rows import table_html

Shown = TypeVar("Shown")


def status(home: Home, agent: str | None) -> dict[str, Any]:
    """Agents with their concepts by tier and hottest concepts, how many concepts and observations, and the decay law.

    Counted is what is of the home's project or of none.
    """
    with home.views.reading(Axon) as axon:
        names, now = [agent] if agent is not None else list(axon.agents), home.clock.now()
        found = scores.scores_by_agent(axon, now, home.settings, names, axon.within(home.projects))
        agents: list[dict[str, Any]] = [
            {"agent": name, "concepts": len(own.rows), "tiers": own.counts(),
             "top": [axon.surfaces[row] for row in own.best(5).tolist()]}
            for name, own in found]  # fmt: skip
        observations = int(axon.observed_within(home.projects).sum())
    concepts = sum(row["concepts"] for row in agents)
    return {"concepts": concepts, "observations": observations, "agents": agents, "decay_law": home.settings.decay_law}


class AxonView:
    """Concepts as they stand now, for people: a table, a graph, counts by tier."""

    def __init__(self, home: Home, agents: Sequence[str] | None) -> None:
        self._home, self._agents = home, agents

    def frame(self) -> Any:
        """A pandas DataFrame, best first; see `theorex_lab.designs.theorex.scores.frame`."""
        return self._shown(lambda axon, current, _now: scores.frame(axon, current))

    def graph(self) -> Any:
        """A networkx Graph; see `theorex_lab.designs.theorex.scores.graph`."""
        return self._shown(lambda axon, current, now: scores.graph(axon, current, now, self._home.settings))

    def tiers(self) -> dict[str, int]:
        """How many concepts are in each tier."""
        return self._shown(lambda _axon, current, _now: current.counts())

    def _shown(self, show: Callable[[Axon, scores.Scores, int], Shown]) -> Shown:
        now = self._home.clock.now()
        with self._home.views.reading(Axon) as axon:
            return show(axon, scores.scores_of(axon, now, self._home.settings, agents=self._agents), now)

    def _repr_html_(self) -> str:
        return table_html(self.frame())
