"""What dreams tell of themselves: in the status, in the audit log, and of what they have taken in."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorex_lab.designs.dreams.strategies import Strategies
from theorex_lab.designs.dreams.trajectories import Trajectories
from theorex_lab.home import Home


def status(home: Home, _agent: str | None) -> dict[str, Any]:
    """How many trajectories there are, how many of them were dreamt, how many strategies hold, and of how many dreams."""
    with home.views.reading(Trajectories) as view:
        traces, dreamt = len(view.rows), int(view.rows["dreamt"].sum())
    with home.views.reading(Strategies) as made:
        known = {"strategies": len(made.chosen(projects=home.projects)), "cycles": len(made.cycles)}
    return {"dreams": {"trajectories": traces, "dreamt": dreamt, **known}}


def agents_of(home: Home) -> list[str]:
    """Who has a strategy."""
    with home.views.reading(Strategies) as view:
        return list(view.agents)


def needs(home: Home) -> dict[tuple[str, str], int]:
    """By agent and session, the first seq of what was not dreamt yet: nothing that waits is archived."""
    with home.views.reading(Trajectories) as view:
        waits = np.flatnonzero(~view.rows["dreamt"])[::-1].tolist()
        keys = ((view.keys[int(view.rows["key"][row])].partition("/"), int(view.rows["goal"][row])) for row in waits)
        return {(agent, session): seq for (agent, _, session), seq in keys}
