"""What a home holds, and what waits in it: each design says it of its own part."""

from __future__ import annotations

from theorex_lab.evolution.maintained import waiting_for_maintenance
from theorex_lab.evolution.outcomes import OutcomeLog
from theorex_lab.memory.contract import MAINTAIN, Holding, Home
from theorex_lab.memory.projects import known_projects


def holdings_in(home: Home, agent: str | None = None) -> list[Holding]:
    """Return how much of each thing a home holds, and how much waits.

    What the designs hold comes first, in their order. What waits for maintenance names
    the command that runs it for what waits here. Nothing that waits is left out where
    it is 0.

    Args:
        home: The home.
        agent: Whose part is counted; None for all.
    """
    unseen = waiting_for_maintenance(home, agent)
    holdings: list[Holding] = []
    for design in home.designs:
        if design.holdings is not None:
            holdings += design.holdings(home, agent)
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
