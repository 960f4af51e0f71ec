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

from theorex_lab.clock import to_iso
from theorex_lab.dispatch.bus import Start, clean
from theorex_lab.errors import InvalidInput
from theorex_lab.evolution.outcomes import check_score, outcome_event
from theorex_lab.exchange import event_records as records
from theorex_lab.exchange.flat_files import without_nulls
from theorex_lab.exchange.importing import Importing, heard_id
from theorex_lab.exchange.run_records import end_of
from theorex_lab.exchange.schema import LARGEST, checked
from theorex_lab.ids import concept_id
from theorex_lab.journal.event import Body, Event, new_event
from theorex_lab.memory.observation import Entry, check_tags, check_text, new_observation
from theorex_lab.text.doors import kept_text, kept_value

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
        if event.kind not in _MAKERS or event.erased:
            return None
        model, make = _MAKERS[event.kind]
        stated = checked(model, without_nulls(event.body))
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
        text = kept_text(given := check_text(stated.text, self.how.settings.max_text_bytes))
        known = "concepts" in stated.model_fields_set and text == given  # else they may be of its secrets
        entry = Entry("-" if known else text, event.agent, event.at, stated.type, "import", stated.tags, event.session)
        made, _ = new_observation(entry, self.how.settings, self.how.now)
        more: Body = {"text": text, "weight": stated.given("weight", made.body["weight"])}
        if known:
            more["concepts"] = [row for concept in stated.concepts if (row := self._mention(concept))]
            more["sentiment"] = stated.sentiment
            more["extractor"] = stated.given("extractor", made.body["extractor"])
        return self._like(event, made._replace(body={**made.body, **more}))

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
        return self._with_source(self._start(event, stated).event())

    def trace_ended(self, event: Event, stated: records.TraceEnded) -> Event:
        start = self._start(event, stated)
        self._check_heard(start.trace_id)
        attempts = [checked(records.Attempted, without_nulls(attempt)).attempt() for attempt in stated.attempts]
        whole = stated.attempt(lost=stated.lost)
        how = {"lost": stated.lost, "unavailable": whole.unavailable}
        return self._with_source(end_of(start, event.at, whole, attempts, stated.response, **how).event(start))

    def outcome(self, event: Event, stated: records.OutcomeBody) -> Event:
        made = outcome_event(
            agent=event.agent, decision=stated.decision, result=stated.result, success=stated.success,
            settings=self.how.settings, at=event.at, tags=stated.tags, explicit_score=stated.explicit,
            session=event.session, source="import",
        )  # fmt: skip
        more: Body = {
            "concepts": [self.concepts.get(concept, concept) for concept in stated.concepts],
            "judge": check_score(stated.judge, "judge's score"),
            "thumbs": check_score(stated.thumbs, "thumbs"),
        }
        if "decided_at" in stated.model_fields_set:
            more["decided_at"] = to_iso(stated.decided_at)
        return self._like(event, made._replace(body={**made.body, **more}))

    def outcome_scored(self, event: Event, stated: records.OutcomeScored) -> Event:
        body = {
            "outcome_id": self._heard_id(stated.outcome_id),
            "success": stated.given("success"),
            **{name: check_score(getattr(stated, name), name) for name in ("explicit", "thumbs", "judge")},
            "reason": stated.reason[:_SAID_CHARACTERS],
            "model": stated.model[:_SAID_CHARACTERS],
            **_IMPORTED,
        }
        return self._like(event, new_event(event.kind, body, agent=event.agent, at=event.at))

    def _start(self, event: Event, stated: records.TraceStarted) -> Start:
        """The START of a trace, also as its END tells of it."""
        (query_type,) = check_tags([stated.query_type])
        tags = check_tags([kept_text(tag) for tag in check_tags(stated.tags)])
        outcome = self.events.get(stated.outcome_id, stated.outcome_id)
        return Start(
            stated.trace_id, event.agent, event.at, stated.task, query_type, stated.model, event.session,
            tuple(tag for tag in tags if tag != query_type), tuple(kept_text(clean(reason)) for reason in stated.reasons),
            stated.context_pct, stated.query_tokens, outcome if outcome in self.there else None,
        )  # fmt: skip

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

    def _with_source(self, made: Event) -> Event:
        return made._replace(body={**made.body, **_IMPORTED})

    def _mention(self, row: Any) -> list[Any] | None:
        """A concept of a text, its id made of its label; None for a label too long to be one."""
        if not isinstance(row, list) or len(row) != len(records.ConceptRow.model_fields):
            raise InvalidInput("concepts is no list of [id, label, surface form, count]")
        stated = checked(records.ConceptRow, dict(zip(records.ConceptRow.model_fields, row, strict=True)))
        label, surface = (check_text(name, LARGEST) for name in (stated.label, stated.surface))
        if max(len(label), len(surface)) > records.LABEL_CHARACTERS:
            return None
        number = concept_id(label)
        if stated.concept_id != number:
            self.concepts[stated.concept_id] = number
        # The surface form is shown, also once others speak of the concept: a strange file must not choose it freely.
        shown = surface if " ".join(surface.lower().split()) == label else label
        return [number, label, shown, stated.count]


_MAKERS: dict[str, tuple[type[records.Heard], Callable[[Hearsay, Event, Any], Event]]] = {
    "observation": (records.Observation, Hearsay.observation),
    "tool_used": (records.ToolUsed, Hearsay.captured),
    "prompt": (records.Prompt, Hearsay.captured),
    "turn_ended": (records.TurnEnded, Hearsay.captured),
    "turn_message": (records.TurnMessage, Hearsay.captured),
    "compacting": (records.Compacting, Hearsay.captured),
    "session_ended": (records.Captured, Hearsay.captured),
    "trace_started": (records.TraceStarted, Hearsay.trace_started),
    "trace_ended": (records.TraceEnded, Hearsay.trace_ended),
    "outcome": (records.OutcomeBody, Hearsay.outcome),
    "outcome_scored": (records.OutcomeScored, Hearsay.outcome_scored),
}
