"""How what comes in from files is taken: when, from whom, and how far it is trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from theorex_lab.config import Settings
from theorex_lab.errors import InvalidInput
from theorex_lab.exchange.flat_files import Record
from theorex_lab.ids import derived_event_id
from theorex_lab.journal.event import Body, Event, encode, new_event
from theorex_lab.memory.observation import TRUST

_AHEAD_MICROSECONDS = 300_000_000


@dataclass(frozen=True)
class Importing:
    """How to read: the settings, the present (µs), whose a record is that names nobody, and whether sources are kept.

    Without `trust_own` everything has the source `import`, whatever the file says.
    """

    settings: Settings
    now: int
    agent: str = "main"
    trust_own: bool = False

    @property
    def latest(self) -> int:
        """The latest time (µs) that is believed: clocks differ by some minutes, and what is ahead would never fade."""
        return self.now + _AHEAD_MICROSECONDS

    def source(self, record: Record, key: str, default: str = "import") -> str:
        """The source to be noted; `default` where one's own file names none. Raises InvalidInput for one that does not exist."""
        stated = record.get(key, default)
        if not isinstance(stated, str) or stated not in TRUST:
            raise InvalidInput(f"{key} is {stated!r}; allowed are {', '.join(TRUST)}")
        return stated if self.trust_own else "import"

    def event(self, kind: str, body: Body, agent: str) -> Event:
        """An event whose id is derived from what it says."""
        made = derived_event_id(kind, agent, encode(body))
        return new_event(kind, _not_after(self.latest, body), agent=agent, at=self.now, event_id=made)


def _not_after(latest: int, value: Any, key: str = "") -> Any:
    """A body in which no time is later than `latest` (µs).

    Times stand under last_seen and first_seen, and at the end of links and of graduated concepts.
    """
    if isinstance(value, dict):
        return {name: _not_after(latest, part, name) for name, part in value.items()}
    if key in ("links", "graduated"):
        return [[*row[:-1], min(row[-1], latest)] for row in value]
    if key == "concepts":  # those of the shared web are objects, others hold no times
        return [_not_after(latest, each) if isinstance(each, dict) else each for each in value]
    return min(value, latest) if key in ("last_seen", "first_seen") else value
