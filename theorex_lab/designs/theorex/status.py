"""What Theorex tells of itself in a home's status."""

from __future__ import annotations

from typing import Any

from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.scores import scores_by_agent
from theorex_lab.home import Home


def status(home: Home, agent: str | None) -> dict[str, Any]:
    """Agents with their concepts by tier and hottest concepts, how many concepts and observations, and the decay law.

    Counted is what is of the home's project or of none.
    """
    axon = home.views.get(Axon)
    names = [agent] if agent is not None else list(axon.agents)
    with axon.lock:
        rows = [
            {
                "agent": name,
                "concepts": len(current.rows),
                "tiers": current.counts(),
                "top": [axon.surfaces[row] for row in current.best(5).tolist()],
            }
            for name, current in scores_by_agent(
                axon, home.clock.now(), home.settings, names, axon.within(home.projects)
            )
        ]
        observations = int(axon.observed_within(home.projects).sum())
    return {
        "concepts": sum(row["concepts"] for row in rows),
        "observations": observations,
        "agents": rows,
        "decay_law": home.settings.decay_law,
    }
