"""What a lab gives as `lab.theorex`: the steps of the life cycle, and what an agent knows now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from theorex_lab.design import Face
from theorex_lab.designs.theorex import lifecycle
from theorex_lab.designs.theorex.lifecycle import Flushed, Promoted
from theorex_lab.ids import check_agent

if TYPE_CHECKING:
    from theorex_lab.designs.theorex.axon import Axon
    from theorex_lab.designs.theorex.axon_view import AxonView
    from theorex_lab.designs.theorex.context import Confirmed
    from theorex_lab.designs.theorex.drift import Drift
    from theorex_lab.designs.theorex.monitor import Checked
    from theorex_lab.designs.theorex.refine import Refined
    from theorex_lab.designs.theorex.scores import Scanned
    from theorex_lab.designs.theorex.shared import SharedConcept
    from theorex_lab.memory.context import Context
    from theorex_lab.memory.observation import Written


class Theorex(Face):
    """Theorex in one home. Raises InvalidInput wherever an agent's or a session's name is outside the rule.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     _ = lab.agent("main").write("TTL invalidation prevents cache stampedes")
    ...     sum(lab.theorex.scan().tiers.values())
    2
    """

    def agents(self) -> list[str]:
        """Names of the agents who have written, in order of their first word."""
        return list(self._axon().agents)

    def observation_types(self) -> list[str]:
        """The types of observation that were written here, in order of their first."""
        return list(self._axon().types)

    def axon(self, *, agents: Sequence[str] | None = None) -> AxonView:
        """The concepts of all agents, or of these, as tables and graphs."""
        from theorex_lab.designs.theorex.axon_view import AxonView

        return AxonView(self.home, agents)

    def query_shared(self, query: str = "", *, limit: int = 10) -> list[SharedConcept]:
        """The concepts of the shared web that answer the query best; without one the best of all."""
        from theorex_lab.designs.theorex.search import query_shared

        return query_shared(self.searcher, query, limit=limit)

    def sessions(self, *, agent: str = "main") -> list[str]:
        """The agent's sessions that have events which were not flushed; in a project those with events of it."""
        from theorex_lab.designs.theorex.flash import Flash

        return [name for name, _ in self.home.views.get(Flash).waiting(self.home, check_agent(agent))]

    def flush(self, session: str, *, agent: str = "main") -> Flushed:
        """Move what mattered in a session to short-term memory; see `lifecycle.flush`."""
        return lifecycle.flush(self.home, agent=check_agent(agent), session=session)

    def graduate(self, *, agent: str = "main") -> list[str]:
        """Take into the axon what was kept on enough days; see `lifecycle.graduate`."""
        return lifecycle.graduate(self.home, agent=check_agent(agent))

    def promote(self, *, agent: str = "main", force: Sequence[int] = ()) -> Promoted:
        """Give an agent's concepts to the shared web; see `lifecycle.promote`."""
        return lifecycle.promote(self.home, agent=check_agent(agent), force=force)

    def scan(self, *, agents: Sequence[str] | None = None) -> Scanned:
        """Recompute tiers and put faded concepts to sleep; see `lifecycle.scan`."""
        return lifecycle.scan(self.home, agents=agents)

    def prune(self, *, agents: Sequence[str] | None = None) -> int:
        """Take faded concepts out of the axon; see `lifecycle.prune`."""
        return lifecycle.prune(self.home, agents=agents)

    def boot_aware(self, model: str = "default", *, agent: str = "main") -> Context:
        """What an agent is given before a call of `model`, cut to that model's budget of tokens and items."""
        from theorex_lab.designs.theorex.context import render_for_model

        return render_for_model(self.home, model, agent=check_agent(agent))

    def flash_inject(self, session: str, *, agent: str = "main") -> str:
        """What a running session knows now: the agent's hottest concepts, what was lately kept, and its last moments."""
        return self.flash_context(session, agent=agent).text

    def flash_context(self, session: str, *, agent: str = "main") -> Context:
        """As `flash_inject`, with the ids of what it shows."""
        from theorex_lab.designs.theorex.context import render_flash

        return render_flash(self.home, session, agent=check_agent(agent))

    def moment(self, story: str, *, agent: str = "main", refs: Sequence[str] = (), session: str = "") -> Written:
        """Write a story worth keeping, with the places it tells of; see `moments.write_moment`."""
        from theorex_lab.designs.theorex.moments import write_moment

        return write_moment(self.home, story, agent=check_agent(agent), refs=refs, session=session)

    def drift(self, *, agent: str = "main") -> Drift:
        """Whether what an agent's moments anchor is still ACTIVE; see `drift.drift`."""
        from theorex_lab.designs.theorex.axon import Axon
        from theorex_lab.designs.theorex.drift import drift

        with self.home.views.reading(Axon) as axon:
            return drift(axon, self.home.clock.now(), self.home.settings, agent=check_agent(agent))

    def check_context(self, session: str, context_pct: float | None = None, *, agent: str = "main") -> Checked:
        """Note how full a session's context is, as given or estimated, and sum the session up where it is due; see `monitor.check_context`."""
        from theorex_lab.designs.theorex.monitor import check_context

        return check_context(self.home, session=session, context_pct=context_pct, agent=check_agent(agent))

    def check_turns(self, session: str, *, agent: str = "main") -> Checked | None:
        """`check_context` where the ends of the session's turns tell how large its transcript is; see `monitor.check_turns`."""
        from theorex_lab.designs.theorex.monitor import check_turns

        return check_turns(self.home, session=session, agent=check_agent(agent))

    def refine(self, *, agent: str = "main", days: float | None = None) -> Refined:
        """Say again what won in an agent's outcomes, and write what lost to avoid; see `refine.refine`."""
        from theorex_lab.designs.theorex.refine import refine

        return refine(self.home, agent=check_agent(agent), days=days)

    def confirm(self, observation_id: str) -> Confirmed:
        """Vouch, as a person, for a fix that was only heard: it then stands among the known ones; see `context.confirm`."""
        from theorex_lab.designs.theorex.context import confirm

        return confirm(self.home, observation_id)

    def _axon(self) -> Axon:
        from theorex_lab.designs.theorex.axon import Axon

        return self.home.views.get(Axon)
