"""What a lab gives as `lab.theorex`.

It is the steps of the life cycle, and what an agent knows now.
"""

from collections.abc import Sequence
from typing import Any

from theorex_lab.core.ids import check_agent
from theorex_lab.designs.theorex import answers, lifecycle, sections, upkeep
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.flash import Flash
from theorex_lab.memory.contract import DesignApi, on_home


class Theorex(DesignApi):
    """Theorex in one home.

    Raises InvalidInput wherever an agent's or a session's name is outside the rule.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     _ = lab.agent("main").write("TTL invalidation prevents cache stampedes")
    ...     sum(lab.theorex.scan().tiers.values())
    2

    What is no method of its own does what the function that it names does, in the
    face's home.
    """

    flush = on_home(lifecycle.flush)
    graduate = on_home(lifecycle.graduate)
    promote = on_home(lifecycle.promote)
    scan = on_home(lifecycle.scan)
    prune = on_home(lifecycle.prune)
    boot_aware = on_home(sections.render_for_model)
    flash_context = on_home(sections.render_flash)
    trust = on_home(sections.trust_fix)
    drift = on_home(upkeep.drift)
    check_context = on_home(upkeep.check_context)
    check_turns = on_home(upkeep.check_turns)
    refine = on_home(upkeep.refine)

    def observation_types(self) -> list[str]:
        """Return the types of observation that were written here.

        They are in the order of their first observations.
        """
        return list(self.home.views.get(Axon).types)

    def axon(self, *, agents: Sequence[str] | None = None) -> answers.AxonView:
        """Return the concepts of all agents, or of these, as tables and graphs."""
        return answers.AxonView(self.home, agents)

    def sessions(self, *, agent: str = "main") -> list[str]:
        """Return the agent's sessions that have events which were not flushed.

        In a project they are those with events of it.
        """
        return [
            name
            for name, _ in self.home.views.get(Flash).waiting(
                self.home, check_agent(agent)
            )
        ]

    def query_shared(self, query: str = "", *, limit: int = 10) -> Any:
        """Return the concepts of the shared web that answer the query best.

        Without a query they are the best of all.
        """
        return answers.query_shared(self.searcher, query, limit=limit)

    def flash_inject(self, session: str, *, agent: str = "main") -> str:
        """Return what a running session knows now.

        It is the agent's hottest concepts, and what was lately kept.
        """
        return str(self.flash_context(session, agent=agent).text)
