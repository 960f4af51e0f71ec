"""The tour: what a memory would know of a project, and what its history tells."""

from theorex_lab.eval.tour.run import Tour, run_tour
from theorex_lab.eval.tour.sources import (
    MAX_COMMITS,
    MIN_COMMITS,
    OwnSessions,
    find_own_sessions,
)

__all__ = [
    "MAX_COMMITS",
    "MIN_COMMITS",
    "OwnSessions",
    "Tour",
    "find_own_sessions",
    "run_tour",
]
