"""What a home holds of research, and what of it waits."""

from typing import Any

from theorex_lab.designs.research.insights import insight_counts
from theorex_lab.designs.research.records import all_records
from theorex_lab.designs.research.skills import Skills
from theorex_lab.designs.research.theorems import Theorems
from theorex_lab.memory.contract import MAINTAIN, Holding, Home


def status(home: Home, _agent: str | None) -> dict[str, Any]:
    """Return how many insights, records, theorems and skills there are."""
    n_theorems = len(home.views.get(Theorems).ids)
    n_skills = len(home.views.get(Skills).names)
    return {
        "research": {
            "insights": sum(insight_counts(home).values()),
            "records": len(all_records(home)),
            "theorems": n_theorems,
            "skills": n_skills,
        }
    }


def research_holdings(home: Home, agent: str | None) -> list[Holding]:
    """Return how many insights, theorems and skills there are.

    Where the design is active, it also says how many sessions wait.
    """
    counts = status(home, agent)["research"]
    held = [Holding(name, counts[name]) for name in ("insights", "theorems", "skills")]
    if home.is_active("research"):
        from theorex_lab.designs.research.learning import unlearnt_sessions

        n_waiting = len(unlearnt_sessions(home, agent))
        held.append(Holding("sessions not yet learnt from", n_waiting, MAINTAIN))
    return held
