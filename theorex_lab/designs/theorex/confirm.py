"""A person's word for what was only heard: a confirmed fix stands among the known ones."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from theorex_lab.designs.theorex.axon import Axon, numbers_of
from theorex_lab.errors import AlreadyThere, InvalidInput
from theorex_lab.home import Home
from theorex_lab.ids import derived_event_id
from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import Event, new_event
from theorex_lab.journal.view import Views
from theorex_lab.memory.observation import AVOID_TYPE, FIX_TYPE

_SHORT_CHARACTERS = 8


class Confirmed(NamedTuple):
    """What was confirmed: the observation, and its text."""

    observation_id: str
    text: str


def confirm(home: Home, observation_id: str) -> Confirmed:
    """Note that a person vouches for a fix, or for what to avoid, named by its id or the end of it that a context shows.

    Repeating it changes nothing. Raises InvalidInput for an id that names none of them, several, or one that was erased.
    """
    event = _named(home.views, observation_id)
    body, now, made = {"observation_id": event.id}, home.clock.now(), _confirmation_id(event.id)
    whose = {"agent": event.agent, "session": event.session}
    done = new_event("confirmed", body, **whose, at=now, lineage=[event.id], event_id=made)
    try:
        with home.journal.exclusive() as append:
            if not home.journal.read(ids=[event.id]):
                raise InvalidInput(f"{event.id} was erased meanwhile; nothing is left to confirm")
            append(done)
    except AlreadyThere:
        pass  # it was confirmed before
    return Confirmed(event.id, event.body["text"])


def confirmed(journal: Journal, observation_ids: Sequence[str]) -> set[str]:
    """Those of these observations that a person has confirmed."""
    by_id = {_confirmation_id(observation_id): observation_id for observation_id in observation_ids}
    return {by_id[event.id] for event in journal.read(ids=list(by_id))}


def short_id(event_id: str) -> str:
    """The end of an id, which differs from event to event where the beginnings are times."""
    return event_id[-_SHORT_CHARACTERS:]


def _confirmation_id(observation_id: str) -> str:
    return derived_event_id("confirmed", observation_id)


def _named(views: Views, observation_id: str) -> Event:
    with views.reading(Axon) as axon:
        kinds = np.isin(axon.observations["type"], numbers_of(axon.types, (FIX_TYPE, AVOID_TYPE)))
        seqs = axon.observations["seq"][kinds].tolist()
    ends = isinstance(observation_id, str) and len(observation_id) >= _SHORT_CHARACTERS
    found = [event for event in views.journal.read(seqs=seqs) if ends and event.id.endswith(observation_id)]
    if len(found) != 1:
        what = f"which is the end of {len(found)} ids" if found else "which is no fix that is remembered"
        allowed = f"the whole id of a fix, or its last {_SHORT_CHARACTERS} characters"
        shown = "as the context and `theorex trace-review --json` show them"
        raise InvalidInput(f"got the id {observation_id!r:.80}, {what}; allowed is {allowed}, {shown}")
    return found[0]
