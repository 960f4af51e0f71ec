"""What a home holds of concepts, how they stand, and what of it waits."""

from typing import Any

import numpy as np

from theorex_lab.designs.theorex import scores
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.flash import Flash
from theorex_lab.memory.contract import MAINTAIN, Holding, Home

_HOTTEST = 5  # concepts of an agent that its status names


def status(home: Home, agent: str | None) -> dict[str, Any]:
    """Return how much an agent knows, or with None every agent.

    What is of the home's project or of none is counted.

    Returns:
        How many concepts and observations there are; the agents with their concepts by
        tier and their hottest concepts; the decay law.
    """
    with home.views.reading(Axon) as axon:
        names = list(axon.agents) if agent is None else [agent]
        now = home.clock.now()
        is_inside = axon.within(home.projects)
        current = scores.scores_of(
            axon,
            now,
            home.settings,
            agents=names,
            among=is_inside,
        )
        agents = [_agent_status(axon, current, name) for name in names]
        is_counted = axon.observed_within(home.projects)
        n_observations = int(is_counted.sum())
    n_concepts = 0
    for row in agents:
        n_concepts += row["concepts"]
    return {
        "concepts": n_concepts,
        "observations": n_observations,
        "agents": agents,
        "decay_law": home.settings.decay_law,
    }


def concept_holdings(home: Home, agent: str | None) -> list[Holding]:
    """Return how many concepts there are, and which sessions wait to be read for some."""
    with home.views.reading(Axon) as axon:
        names = list(axon.agents) if agent is None else [agent]
        is_inside = axon.within(home.projects)
        rows = axon.rows_of(names, is_inside)
        is_counted = axon.observed_within(home.projects)
        n_observations = int(is_counted.sum())
    flash = home.views.get(Flash)
    names = list(flash.agents) if agent is None else [agent]
    n_waiting = 0
    for name in names:
        n_waiting += flash.n_waiting(home, name)
    return [
        Holding("concepts", len(rows)),
        Holding("texts", n_observations),
        Holding("sessions not yet read for concepts", n_waiting, MAINTAIN),
    ]


def _agent_status(axon: Axon, current: scores.Scores, name: str) -> dict[str, Any]:
    """Return how many concepts an agent has, by tier too, and the hottest five."""
    owner = axon.concepts["agent"][current.rows]
    number = axon.agents.find(name)
    is_of_agent = owner == number
    positions = np.flatnonzero(is_of_agent)
    of_agent = current.take(positions)
    best_first = of_agent.rows[of_agent.order]
    hottest = best_first[:_HOTTEST].tolist()
    return {
        "agent": name,
        "concepts": len(of_agent.rows),
        "tiers": of_agent.counts(),
        "top": [axon.surfaces[row] for row in hottest],
    }
