"""Events of a file that anybody may have made: what was captured comes in as heard, what was decided does not.

Taken are observations, prompts, tool events, ends of turns and sessions, messages of turns, compactions, traces, outcomes
and their later scores; each is rebuilt from members that are checked, with the source `import`. Left out is every other
kind: what a design, a gate, a person or an erasure decided, tasks, which somebody would work on, history that the file's
home had only heard itself, what that home gave to its agents (`recalled`), which is no use of what is remembered here, and
kinds that this release does not know.

An id that was drawn by chance is kept. A derived id is derived again from it under another name: at an id that a step
of this home will take, a stranger's event would keep that step from ever being recorded. A tool event, an END, a score
or a message counts only for a trace, an outcome or a turn that was itself heard.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from theorex_lab.dispatch.bus import Start
from theorex_lab.errors import InvalidInput
from theorex_lab.evolution.outcomes import check_score
from theorex_lab.exchange import records
from theorex_lab.exchange.files import Importing, heard_id
from theorex_lab.exchange.flat_files import without_nulls
from theorex_lab.exchange.schema import checked
from theorex_lab.journal.event import Body, Event, new_event
from theorex_lab.memory.observation import check_text
from theorex_lab.text.doors import kept_value

_SAID_CHARACTERS = 500
_IMPORTED = {"source": "import"}
# Kind -> the member by which what follows names an event; None for its id.
_NAMED_BY = {"trace_started": "trace_id", "outcome": None, "turn_ended": None}


@dataclass
class Hearsay:
    """Makes events of a file into heard ones; knows the traces, outcomes and turns that came in, and ids that changed."""

    how: Importing
    there: set[str] = field(default_factory=set)  # ids of traces, and of events of outcomes and turns
    events: dict[str, str] = field(default_factory=dict)
    concepts: dict[int, int] = field(default_factory=dict)

    def made(self, event: Event) -> Event | None:
        """The event as it may be taken in; None for one that is left out. Raises InvalidInput for what it must not hold."""
        if event.kind not in records.HEARD or event.erased:
            return None
        stated = checked(records.HEARD[event.kind], without_nulls(event.body))
        make = _MAKERS.get(event.kind, Hearsay.captured)
        made = make(self, event._replace(at=min(event.at, self.how.latest)), stated)
        if stated.project:
            made = made._replace(body={**made.body, "project": stated.project})
        self.how.check_size(made)
        return made

    def noted(self, event: Event, made: Event) -> None:
        """It is there now, as `made`: what follows may belong to it."""
        if event.id != made.id:
            self.events[event.id] = made.id
        if made.body.get("source") == "import" and made.kind in _NAMED_BY:
            name = _NAMED_BY[made.kind]
            self.there.add(made.body[name] if name else made.id)

    def observation(self, event: Event, stated: records.Observation) -> Event:
        made = records.observation_of(stated, self.how, event.agent, event.at, event.session, "import", self.concepts)
        return self._like(event, made)

    def captured(self, event: Event, stated: records.Captured) -> Event:
        known = stated.model_dump(include=set(type(stated).model_fields))
        for value in known.values():
            if isinstance(value, str):
                check_text(value.strip() or "-", self.how.settings.max_text_bytes)
        body: Body = kept_value({**(stated.model_extra or {}), **known, **_IMPORTED})
        if body.get("trace_id") not in self.there:
            body.pop("trace_id", None)
        if "turn" in known:
            body["turn"] = self._heard_id(known["turn"])
        body.pop("v", None)
        made = new_event(event.kind, body, agent=event.agent, session=event.session, at=event.at)
        return self._like(event, made)

    def trace_started(self, event: Event, stated: records.TraceStarted) -> Event:
        return records.with_members(self._start(event, stated).event(), _IMPORTED)

    def trace_ended(self, event: Event, stated: records.TraceEnded) -> Event:
        start = self._start(event, stated)
        self._check_heard(start.trace_id)
        return records.with_members(records.ended(stated, start, event.at).event(start), _IMPORTED)

    def outcome(self, event: Event, stated: records.OutcomeBody) -> Event:
        concepts = [self.concepts.get(concept, concept) for concept in stated.concepts]
        more = {"concepts": concepts, "thumbs": check_score(stated.thumbs, "thumbs")}
        made = records.concluded(stated, self.how, event.agent, event.at, event.session, "import", **more)
        return self._like(event, made)

    def outcome_scored(self, event: Event, stated: records.OutcomeScored) -> Event:
        scores = {name: check_score(getattr(stated, name), name) for name in ("explicit", "thumbs", "judge")}
        said = {name: getattr(stated, name)[:_SAID_CHARACTERS] for name in ("reason", "model")}
        told = {"outcome_id": self._heard_id(stated.outcome_id), "success": stated.given("success"), **scores, **said}
        return self._like(event, new_event(event.kind, told | _IMPORTED, agent=event.agent, at=event.at))

    def _start(self, event: Event, stated: records.TraceStarted) -> Start:
        outcome = self.events.get(stated.outcome_id, stated.outcome_id)
        known = outcome if outcome in self.there else None
        return records.start_of(stated, event.agent, event.at, event.session, known)

    def _heard_id(self, stated: str) -> str:
        """The id that an event has here. Raises InvalidInput where it did not come in."""
        known = self.events.get(stated, stated)
        self._check_heard(known)
        return known

    def _check_heard(self, stated: str) -> None:
        if stated not in self.there:
            raise InvalidInput(
                f"{stated!r:.80} is no trace, outcome or turn that came in with this file; what is said of others is not heard"
            )

    def _like(self, event: Event, made: Event) -> Event:
        """`made` with the id and the lineage of the event, as far as they may be kept; unknown ids stay in the lineage."""
        return made._replace(id=self._id(event.id), lineage=tuple(map(self._id, event.lineage)))

    def _id(self, event_id: str) -> str:
        return self.events.get(event_id) or heard_id(event_id)


# What a hook captured is made by `Hearsay.captured`.
_MAKERS: dict[str, Callable[[Hearsay, Event, Any], Event]] = {
    "observation": Hearsay.observation,
    "trace_started": Hearsay.trace_started,
    "trace_ended": Hearsay.trace_ended,
    "outcome": Hearsay.outcome,
    "outcome_scored": Hearsay.outcome_scored,
}
