"""What an event of a design says in words, for memories that do not know its kind."""

from collections import defaultdict
from functools import cache

from theorex_lab.core.settings import Settings
from theorex_lab.designs import installed
from theorex_lab.journal.event import Event
from theorex_lab.journal.kinds import KINDS
from theorex_lab.memory.observation import ObservationEntry, new_observation
from theorex_lab.search.items import IdReader, ItemKind, ItemText, TextReader


def _kinds_of_texts() -> list[ItemKind]:
    """Return the kinds of texts of all designs, without those that are names alone."""
    kinds: dict[ItemKind, None] = {}
    for design in installed():
        kinds.update(dict.fromkeys(design.items))
    return [kind for kind in kinds if not kind.label]


@cache
def _readers() -> dict[str, list[TextReader]]:
    """Return what reads the texts of an event, by the event's kind."""
    readers: dict[str, list[TextReader]] = defaultdict(list)
    for item_kind in _kinds_of_texts():
        for event_kind, reader in item_kind.texts.items():
            readers[event_kind].append(reader)
    return dict(readers)


@cache
def _enders() -> dict[str, list[IdReader]]:
    """Return what says which items an event ends or archives, by the event's kind."""
    enders: dict[str, list[IdReader]] = defaultdict(list)
    for item_kind in _kinds_of_texts():
        for readers in (item_kind.hides, item_kind.sleeps):
            for event_kind, reader in readers.items():
                enders[event_kind].append(reader)
    return dict(enders)


def item_texts(event: Event) -> list[ItemText]:
    """Return the texts that search finds an event by, whichever design it is of."""
    texts: list[ItemText] = []
    for reader in _readers().get(event.kind, ()):
        texts += reader(event)
    return [item for item in texts if item.text.strip()]


def ended_items(event: Event) -> set[str]:
    """Return the ids of the items that an event ends, such as those it supersedes."""
    ended: set[str] = set()
    for reader in _enders().get(event.kind, ()):
        ended.update(reader(event))
    return ended


def is_of_a_design(event: Event) -> bool:
    """Whether an event is of a kind that a design declares, and the journal does not."""
    return event.kind not in KINDS


def design_words(event: Event) -> str:
    """Return what an event of a design says, '' where it says nothing."""
    return "\n".join(dict.fromkeys(item.text for item in item_texts(event)))


def as_observation(event: Event) -> Event | None:
    """Return an event of a design as a text that was written then.

    It keeps its id, agent, session and time, so that what is made of it rests on it.

    Returns:
        The event, or None where it says nothing.
    """
    text = design_words(event)
    if not text:
        return None
    entry = ObservationEntry(
        text,
        event.agent,
        event.at,
        source=event.body.get("source", "import"),
        session=event.session,
        project=event.body.get("project", ""),
    )
    observation, _ = new_observation(
        entry,
        Settings(),
        event.at,
    )
    return observation._replace(id=event.id)
