"""Drift: how many of the concepts that an agent's moments anchor are still ACTIVE."""

from dataclasses import asdict, dataclass

import numpy as np

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.config import Settings
from theorex_lab.designs.theorex.axon import Axon, Ints
from theorex_lab.designs.theorex.scores import scores_of
from theorex_lab.memory.decay import Tier
from theorex_lab.search.items import MOMENT_TYPE

DRIFTING_BELOW, RECOVERING_FROM = 0.5, 0.7
DRIFTING, RECOVERING, STABLE = "drifting", "recovering", "stable"


@dataclass(frozen=True)
class Drift:
    """How an agent's anchors stand: coverage = active / anchors (1 without any), and the state that follows from it.

    left: labels of the anchors that were ACTIVE at some time in the window and are no longer.
    """

    agent: str
    coverage: float
    state: str
    anchors: int
    active: int
    left: list[str]

    to_dict = asdict  # as JSON holds it


def drift(axon: Axon, now: int, settings: Settings, *, agent: str) -> Drift:
    """The drift of an agent at `now` (µs UTC), over the setting driftWindowDays.

    An anchor that the window has seen was ACTIVE in it, since it is so when it is seen; any other was as its numbers,
    unchanged since, stood when the window began.
    """
    names = {int(axon.concepts["concept_id"][row]): axon.labels[row] for row in _anchors(axon, agent).tolist()}
    window = round(settings.drift_window_days * MICROSECONDS_PER_DAY)
    current, earlier = (scores_of(axon, at, settings, agents=[agent]) for at in (now, now - window))
    active = _ids(axon, current.rows[current.tier == Tier.ACTIVE]) & names.keys()
    # By importance, since what sleeps now did not always.
    once = _ids(axon, earlier.rows[earlier.importance >= settings.active_threshold]) & names.keys()
    coverage = len(active) / len(names) if names else 1.0
    left = sorted(names[number] for number in once - active)
    return Drift(agent, coverage, state_of(coverage, bool(left)), len(names), len(active), left)


def state_of(coverage: float, has_left: bool) -> str:
    """drifting below .5; recovering from .7 while an anchor has left ACTIVE; else stable.

    >>> state_of(0.4, True), state_of(0.7, True), state_of(0.6, True), state_of(1.0, False)
    ('drifting', 'recovering', 'stable', 'stable')
    """
    if coverage < DRIFTING_BELOW:
        return DRIFTING
    return RECOVERING if has_left and coverage >= RECOVERING_FROM else STABLE


def _anchors(axon: Axon, agent: str) -> Ints:
    """Rows of the concepts that the agent's moments mention, also of those that were pruned."""
    table = axon.observations
    moments = (table["type"] == axon.types.find(MOMENT_TYPE)) & (table["agent"] == axon.agents.find(agent))
    rows: Ints = np.unique(axon.mentions["concept"][moments[axon.mentions["observation"]]])
    return rows


def _ids(axon: Axon, rows: Ints) -> set[int]:
    return set(axon.concepts["concept_id"][rows].tolist())
