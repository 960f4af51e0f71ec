"""Count what a home holds of dreams, and what of it waits."""

from typing import Any

from theorex_lab.designs.dreams.strategy_view import Strategies
from theorex_lab.memory.contract import MAINTAIN, Holding, Home


def status(
    home: Home,
    _agent: str | None,
) -> dict[str, Any]:
    """Return how many strategies that hold and cycles there are.

    Where the design is active, it also says how many trajectories there are, and how many
    of them were dreamt. Else nobody asked for them, and finding them takes long.
    """
    view = home.views.get(Strategies)
    holding = view.chosen(projects=home.projects)
    counts = {
        "strategies": len(holding),
        "cycles": len(view.cycles),
    }
    if home.is_active("dreams"):
        from theorex_lab.designs.dreams.trajectories import Trajectories

        trajectories = home.views.get(Trajectories).rows
        is_dreamt = trajectories["dreamt"]
        counts["trajectories"] = len(is_dreamt)
        counts["dreamt"] = int(is_dreamt.sum())
    return {"dreams": counts}


def procedure_holdings(
    home: Home,
    agent: str | None,
) -> list[Holding]:
    """Return how many procedures there are, and how many tasks wait to become some."""
    status_members = status(home, agent)
    counts = status_members["dreams"]
    holdings = [Holding("procedures", counts["strategies"])]
    if "trajectories" in counts:
        n_waiting = counts["trajectories"] - counts["dreamt"]
        waiting = Holding("tasks not yet read for procedures", n_waiting, MAINTAIN)
        holdings.append(waiting)
    return holdings
