"""How what comes in from files is taken: when, from whom, and how far it is trusted."""

from __future__ import annotations

from dataclasses import dataclass

from theorex_lab.config import Settings
from theorex_lab.errors import InvalidInput
from theorex_lab.exchange.flat_files import FlatRecord
from theorex_lab.ids import derived_event_id
from theorex_lab.journal.event import VERSIONS, Event, encode, upcast
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

    def source(self, record: FlatRecord, key: str, default: str = "import") -> str:
        """The source to be noted; `default` where one's own file names none. Raises InvalidInput for one that does not exist."""
        stated = record.get(key, default)
        if not isinstance(stated, str) or stated not in TRUST:
            raise InvalidInput(f"{key} is {stated!r}; allowed are {', '.join(TRUST)}")
        return stated if self.trust_own else "import"

    def believed(self, event: Event, problems: list[str], where: int | str) -> Event:
        """The event not ahead of the clock; where it was, that is noted."""
        if event.at > self.latest:
            problems.append(f":{where}: the time is ahead of the clock; the clock's is taken")
        return event._replace(at=min(event.at, self.latest))

    def check_size(self, event: Event) -> None:
        """Raise InvalidInput for a body that is larger than four texts may be."""
        if len(encode(event.body).encode()) > 4 * self.settings.max_text_bytes:
            raise InvalidInput(f"the body of {event.id} is larger than four texts may be (setting maxTextBytes)")

    def heard(self, event: Event) -> Event:
        """The event of a file that anybody may have made: not ahead of the clock, its ids as `heard_id` has them, from import.

        Raises InvalidInput as `check_size`.
        """
        body = {**event.body, "source": "import"}
        made = event._replace(id=heard_id(event.id), lineage=tuple(map(heard_id, event.lineage)), body=body)
        self.check_size(made)
        return made._replace(at=min(event.at, self.latest))


def upcast_of_file(event: Event) -> Event:
    """The event of a file with its body at this release's version. Raises InvalidInput and NewerVersion."""
    try:
        return upcast(event)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(
            f"got a {event.kind} of version {event.body.get('v', 1)!r:.80} that cannot be read as version "
            f"{VERSIONS[event.kind]} ({error!r:.80}); export it once more with the release that wrote it"
        ) from error


def heard_id(event_id: str) -> str:
    """The id that an event of a strange file gets: its own where that was drawn by chance, else one derived from it.

    At an id that a step of this home will take, a stranger's event would keep that step from ever being noted.
    """
    return event_id if event_id[14] == "7" else derived_event_id("heard", event_id)
