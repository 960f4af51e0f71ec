"""What a home holds, and what waits in it: each design says it of its own part."""

from __future__ import annotations

from theorex_lab.evolution.maintained import (
    CaptureTimes,
    MaintenanceReports,
    waiting_for_maintenance,
)
from theorex_lab.evolution.outcomes import OutcomeLog, Outcomes
from theorex_lab.journal.view import View, set_aside_view
from theorex_lab.memory.contract import MAINTAIN, Holding, Home
from theorex_lab.memory.projects import known_projects, projects_view


def status_views(home: Home) -> list[type[View]]:
    """Return the views that a status of a home reads, see `Design.status_views`."""
    active = home.active
    views: list[type[View]] = [
        set_aside_view(),
        projects_view(home),
        Outcomes,
        CaptureTimes,
        MaintenanceReports,
    ]
    for design in home.designs:
        if design.status_views is not None:
            views += design.status_views(design in active)
    return views


def holdings_in(home: Home, agent: str | None = None) -> list[Holding]:
    """Return how much of each thing a home holds, and how much waits.

    What the designs hold comes first, in their order. What waits for maintenance names
    the command that runs it for what waits here; for designs that are not active
    nothing waits. Nothing else that waits is left out where it is 0.

    Args:
        home: The home.
        agent: Whose part is counted; None for all.
    """
    unseen = waiting_for_maintenance(home, agent)
    holdings: list[Holding] = []
    active = home.active
    for design in home.designs:
        if design.holdings is None:
            continue
        for holding in design.holdings(home, agent):
            if design in active or not holding.waits:
                holdings.append(holding)
    projects = known_projects(home)
    log = OutcomeLog(home)
    outcomes = log.outcomes(agent=agent)
    unjudged = [outcome for outcome in outcomes if outcome.judge_score is None]
    failures = log.queue(agent=agent)
    holdings += [
        Holding("outcomes", len(outcomes)),
        Holding("projects", len(projects)),
        unseen,
        Holding(
            "outcomes without a judge's score",
            len(unjudged),
            "theorex outcomes --judge",
        ),
        Holding("failures without a review", len(failures), "theorex review"),
    ]
    with_commands = []
    for holding in holdings:
        if holding.do == MAINTAIN:
            holding = holding._replace(do=unseen.do)
        with_commands.append(holding)
    return with_commands
