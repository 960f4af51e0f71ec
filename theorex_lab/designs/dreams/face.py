"""Serve `lab.dreams`: trajectories captured, dreamt, and recalled as strategies."""

from functools import cached_property
from typing import Any

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.dreams import (
    DEFAULT_DOMAIN,
    consolidate,
    engine,
    sqlite_export,
    sqlite_import,
    training,
)
from theorex_lab.designs.dreams import capture as captured
from theorex_lab.designs.dreams import strategies as made
from theorex_lab.designs.dreams.agent_adapter import EvolvingMemoryAdapter
from theorex_lab.designs.dreams.isa import ProgramRun, parse, run
from theorex_lab.designs.dreams.memory_reads import StrategyReader
from theorex_lab.designs.dreams.migration import MigrationTransform, check_transform
from theorex_lab.designs.dreams.opcodes import LATEST, get_registry
from theorex_lab.designs.dreams.providers import BaseLLMProvider
from theorex_lab.designs.dreams.settings import dream_settings
from theorex_lab.designs.dreams.strategy_view import Strategies
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
    undo_merge = on_home(consolidate.undo_merge)
    begin_traversal = on_home(made.begin_traversal)
    next_step = on_home(made.next_step)
    export_sqlite = on_home(sqlite_export.export_sqlite)
    import_sqlite = on_home(sqlite_import.import_sqlite)
    training_data = on_home(training.training_chats)

    def dream(
        self,
        dreamer: engine.HeuristicDreamer | BaseLLMProvider | None = None,
        *,
        domain: str | None = None,
        limit: int | None = None,
        progress: engine.Progress | None = None,
    ) -> engine.DreamReport:
        """Run one cycle over what waits, as `engine.dream` does.

        The transforms and the adapters that were registered here take part.

        Args:
            dreamer: A dreamer, or a provider of a model; by default the one of the
                settings.
            domain: Only of this domain.
            limit: Trajectories at most, by default maxTracesPerCycle.
            progress: Is given {"event": started, phase, trace or completed, …}.
        """
        return engine.dream(
            self.home,
            dreamer,
            domain=domain,
            limit=limit,
            progress=progress,
            transforms=self._transforms,
            adapters=self._adapters,
        )

    def adapter(
        self, *, agent: str = "main", domain: str = DEFAULT_DOMAIN
    ) -> EvolvingMemoryAdapter:
        """Return what joins an agent loop and this memory.

        Args:
            agent: Whose runs they are.
            domain: What they belong to.
        """
        return EvolvingMemoryAdapter(self.home, agent=agent, domain=domain)

    def register_migration(self, transform: MigrationTransform) -> None:
        """Carry strategies of a version to another in each dream from now on.

        Args:
            transform: It has from_version, to_version and transform(node, children,
                llm).

        Raises:
            InvalidInput: It is no transform, or one from that version is registered.
        """
        check_transform(transform)
        for registered in self._transforms:
            if registered.from_version == transform.from_version:
                raise InvalidInput(
                    f"got a second transform from {transform.from_version}; allowed is"
                    " one from each version"
                )
        self._transforms.append(transform)

    def register_domain_adapter(
        self, domain: str, adapter: engine.DreamDomainAdapter
    ) -> None:
        """Ask the dreaming model about a domain in the adapter's words from now on.

        Args:
            domain: The domain; `default` is for all others.
            adapter: What it adds.

        Raises:
            InvalidInput: It is no adapter.
        """
        if not isinstance(adapter, engine.DreamDomainAdapter) or not domain:
            raise InvalidInput(
                f"got the adapter {adapter!r:.100} of {domain!r:.60}; allowed is a"
                " DreamDomainAdapter(role, look_for, faults) of a domain"
            )
        self._adapters[domain] = adapter

    @cached_property
    def _transforms(self) -> list[MigrationTransform]:
        return []

    @cached_property
    def _adapters(self) -> dict[str, engine.DreamDomainAdapter]:
        return {}

    def run_program(self, text: str, isa_version: str = LATEST) -> ProgramRun:
        """Run a program; its opcodes that read the memory give what is there.

        Nothing is changed: what else it asks for is gathered.

        Args:
            text: The program.
            isa_version: The version of the instruction set that it is read by.

        Raises:
            InvalidInput: The version is unknown.
        """
        return run(
            parse(text, isa_version),
            memory=StrategyReader(self.home, self.vectors),
            max_instructions=dream_settings(self.home).isa_max_instructions,
        )

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
        strategies = self.home.views.get(Strategies)
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
            "isa_version": get_registry().current(),
            "edges": len(made.all_edges(self.home, active)),
            "dream_cycles": len(self.home.views.get(Strategies).cycles),
        }
