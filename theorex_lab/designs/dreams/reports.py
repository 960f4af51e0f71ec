"""What dreams tell of themselves: in the status, in the audit log, and of what they have taken in."""

from __future__ import annotations

from typing import Any

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


def consolidated(home: Home) -> dict[tuple[str, str], int]:
    """By agent and session, the seq up to which every trajectory was dreamt: nothing that waits is archived."""
    with home.views.reading(Trajectories) as view:
        names = [view.keys[key] for key in view.rows["key"].tolist()]
        columns = (view.rows[name].tolist() for name in ("goal", "last", "dreamt"))
        taken: dict[tuple[str, str], int] = {}
        waits: set[tuple[str, str]] = set()
        for name, goal, last, dreamt in zip(names, *columns, strict=True):
            agent, _, session = name.partition("/")
            if (key := (agent, session)) not in waits:
                taken[key] = last if dreamt else min(goal - 1, taken.get(key, goal))
                waits |= set() if dreamt else {key}
        return taken
