"""Serve `lab.dreams`: trajectories captured, dreamt, and recalled as strategies."""

from functools import cached_property
from typing import Any

from theorex_lab.designs.dreams import (
    ISA_VERSION,
    consolidate,
    engine,
    sqlite_export,
    sqlite_import,
    training,
)
from theorex_lab.designs.dreams import capture as captured
from theorex_lab.designs.dreams import strategies as made
from theorex_lab.designs.dreams.trajectories import (
    Trajectories,
    trajectories_of,
    trajectory_by_id,
)
from theorex_lab.memory.contract import DesignApi, on_home


class Dreams(DesignApi):
    """Give dreams in one home.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab, lab.dreams.session("deploy the site") as log:
    ...     with log.trace(3, "build it") as trace:
    ...         _ = trace.action(
    ...             "the bundle is needed", "run(command='make')", "done", ok=True
    ...         )
    ...     [
    ...         (work.goal, len(work.actions), work.outcome.value)
    ...         for work in lab.dreams.trajectories()
    ...     ]
    [('build it', 1, 'success')]

    What is no method of its own does what the function that it names does, in the
    face's home.
    """

    session = on_home(captured.SessionLog)
    capture = on_home(captured.capture)
    traced = on_home(captured.traced)
    trajectories = on_home(trajectories_of)
    trajectory = on_home(trajectory_by_id)
    strategies = on_home(made.strategies_of)
    strategy = on_home(made.strategy_by_id)
    edges = on_home(made.edges_of)
    dream = on_home(engine.dream)
    undo_merge = on_home(consolidate.undo_merge)
    begin_traversal = on_home(made.begin_traversal)
    next_step = on_home(made.next_step)
    export_sqlite = on_home(sqlite_export.export_sqlite)
    import_sqlite = on_home(sqlite_import.import_sqlite)
    training_data = on_home(training.training_chats)

    def query(
        self, text: str, *, domain: str | None = None, top: int | None = None
    ) -> made.RecallResult:
        """Return the strategy that answers a task, if one does.

        Args:
            text: The task.
            domain: Only of this domain.
            top: How many strategies are compared, by default recallTop.

        Raises:
            InvalidInput: The text has no words.
            ModelUnavailable: The embedder does not answer.
        """
        return made.recall(
            self.home,
            text,
            domain=domain,
            top=top,
            vectors=self.vectors,
        )

    @cached_property
    def vectors(self) -> made.StrategyVectors:
        """Return the vectors of the strategies, read once."""
        return made.StrategyVectors(self.home)

    def domains(self) -> list[str]:
        """Return the domains of trajectories and strategies."""
        strategies = self.home.views.get(made.Strategies)
        trajectories = self.home.views.get(Trajectories)
        return sorted({*strategies.domains, *trajectories.domains})

    def stats(self) -> dict[str, Any]:
        """Return how much there is.

        It counts parent_nodes, child_nodes, traces, sessions, edges and dream_cycles,
        and names the isa_version.
        """
        active = self.strategies()
        trajectories = self.trajectories()
        sessions = {trajectory.session for trajectory in trajectories}
        return {
            "parent_nodes": len(active),
            "child_nodes": sum(len(strategy.steps) for strategy in active),
            "traces": len(trajectories),
            "sessions": len(sessions),
            "isa_version": ISA_VERSION,
            "edges": len(made.all_edges(self.home, active)),
            "dream_cycles": len(self.home.views.get(made.Strategies).cycles),
        }
