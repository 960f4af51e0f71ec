"""Systems for the measurement of needs, each with a log replayed in a home of its own.

A home remembers what the hooks captured. At the end of each session its designs take it
in, as `store.lifecycle.end_session` lets them, and before it is asked they do their steps
of the maintenance. Files of briefings, which nobody reads here, are not written.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from theorex_lab.core.clock import FixedClock
from theorex_lab.designs import installed
from theorex_lab.journal.event import Event
from theorex_lab.memory.briefing.candidates import Candidate
from theorex_lab.memory.briefing.compose import as_text, compose
from theorex_lab.memory.briefing.design_lines import design_candidates
from theorex_lab.memory.briefing.selection import choose
from theorex_lab.memory.contract import Design
from theorex_lab.search.embed import HashedNgramEmbedder
from theorex_lab.store.lab import Lab

# The published designs, each of which is a system by itself.
PUBLISHED = ("theorex", "facts", "dreams", "causal", "research")
ALL_DESIGNS = "all_designs"


class LivedHome:
    """A home to which a log is replayed.

    Attributes:
        lab: The home.
    """

    def __init__(self, designs: Sequence[Design] | None = None) -> None:
        """Make an empty home.

        Args:
            designs: The designs that work in it; None for all that are installed.
        """
        self._clock = FixedClock(0)
        self._folder = tempfile.TemporaryDirectory(
            prefix="theorex-needs-", ignore_cleanup_errors=True
        )
        # A start asks nothing, and the quick embedder saves the time of a model's.
        self.lab = Lab(
            Path(self._folder.name) / "home",
            clock=self._clock,
            embedder=HashedNgramEmbedder(),
            designs=installed() if designs is None else designs,
        )
        self._n_observed = 0

    def live(self, events: Sequence[Event], now: int) -> bool:
        """Replay a log to the home, up to a time.

        Args:
            events: All that happened before, in the order of time. Those of the last
                call come first.
            now: The time (µs UTC).

        Returns:
            Whether there was anything new.
        """
        new_events = events[self._n_observed :]
        self._n_observed = len(events)
        pending: list[Event] = []
        for event in new_events:
            pending.append(event)
            if event.kind == "session_ended":
                self._append(pending)
                self.lab.home.flush(event.agent, [event.session])
                pending = []
        self._append(pending)
        self._clock.microseconds = now
        return bool(new_events)

    def _append(self, events: Sequence[Event]) -> None:
        """Append events at the time of the last."""
        if events:
            self._clock.microseconds = events[-1].at
            self.lab.journal.append(events, allow_future=True)

    def maintain(self) -> None:
        """Let the designs do their steps of the maintenance, for all agents."""
        for design in self.lab.home.designs:
            for step in design.steps:
                step.run(self.lab.home, None)

    def close(self) -> None:
        """Close the home and remove it."""
        self.lab.close()
        self._folder.cleanup()


class DesignLines:
    """Gives what designs offer a briefing, chosen to the budget.

    What they made of the recorded sessions by themselves is offered too, since a log
    has nothing that was told them by hand.
    """

    def __init__(self, *names: str) -> None:
        """Make a home of its own.

        Args:
            names: The names of the designs.
        """
        self._home = LivedHome(
            [design for design in installed() if design.name in names]
        )

    def __call__(
        self, events: Sequence[Event], now: int, prompt: str, tokens: int
    ) -> str:
        """See `NeedsSystem`."""
        if self._home.live(events, now):
            self._home.maintain()
        home = self._home.lab.home
        at_start = choose(design_candidates(home, now, automatic=True), tokens)
        if not prompt:
            return as_text(at_start)
        at_prompt = choose(
            design_candidates(home, now, query=prompt, automatic=True),
            tokens,
            shown=at_start,
            whole_budget=True,
        )
        return as_text(at_prompt)

    def close(self) -> None:
        """Close the home and remove it."""
        self._home.close()


class BriefingWithDesigns:
    """Gives the briefing of a home in which some designs are active.

    What they learnt of the recorded sessions competes with the briefing's other lines,
    at a session's start and at a prompt.
    """

    def __init__(self, *names: str) -> None:
        """Make a home of its own.

        Args:
            names: The names of the designs.
        """
        self._home = LivedHome(
            [design for design in installed() if design.name in names]
        )
        self._learnt: list[Candidate] = []

    def __call__(
        self, events: Sequence[Event], now: int, prompt: str, tokens: int
    ) -> str:
        """See `NeedsSystem`."""
        if self._home.live(events, now):
            self._home.maintain()
            home = self._home.lab.home
            self._learnt = design_candidates(home, now, automatic=True)
        return compose(events, now, query=prompt, tokens=tokens, further=self._learnt)

    def close(self) -> None:
        """Close the home and remove it."""
        self._home.close()
