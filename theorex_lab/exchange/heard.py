"""Events of a file that anybody may have made: what was captured comes in as heard, what was decided does not.

Taken are observations, prompts, tool events, ends of turns and sessions, traces, outcomes and their later scores; each
is built anew from members that are checked, with the source `import`. Left out is every other kind: what a design, a gate,
a person or an erasure decided, tasks, which somebody would work on, and kinds that this release does not know.

An id that was drawn by chance is kept. One that was derived is derived anew, from it and under another name: at an id
that a step of this home will take, a stranger's event would keep that step from being noted ever. A tool event, an END or
a score counts only for a trace or an outcome that was itself heard.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from theorex_lab.dispatch.bus import End, Start, check_trace_id, clean
from theorex_lab.dispatch.llm import Attempt
from theorex_lab.errors import InvalidInput
from theorex_lab.evolution.outcomes import check_score, outcome_event
from theorex_lab.exchange.fields import (
    LARGEST,
    concept_id_of,
    concept_ids_of,
    integer_of,
    list_of,
    number_of,
    object_of,
    text_of,
    time_of,
    truth_of,
)
from theorex_lab.exchange.importing import Importing
from theorex_lab.ids import concept_id, derived_event_id
from theorex_lab.journal.event import Body, Event, encode, new_event
from theorex_lab.memory.observation import DEFAULT_TYPE, Entry, check_tags, check_text, new_observation
from theorex_lab.project import check_project
from theorex_lab.text.doors import kept_text, kept_value

_LABEL_CHARACTERS = 128
_IMPORTED = {"source": "import"}
_TEXTS = ("tool", "input", "response", "text", "trace_id")
_NEEDED = {"tool_used": ("tool", "input", "response"), "prompt": ("text",)}


@dataclass
class Hearsay:
    """Makes events of a file into heard ones; knows the traces and outcomes that came in, and ids that changed."""

    how: Importing
    runs: set[str] = field(default_factory=set)  # ids of traces, and of events of outcomes
    events: dict[str, str] = field(default_factory=dict)
    concepts: dict[int, int] = field(default_factory=dict)

    def heard(self, event: Event) -> Event | None:
        """The event as it may be taken in; None for one that is left out. Raises InvalidInput for what it must not hold."""
        make = _MAKERS.get(event.kind)
        if make is None or event.erased:
            return None
        made = make(self, event._replace(at=min(event.at, self.how.latest)), object_of(event.body))
        if project := check_project(kept_text(text_of(event.body, "project", ""))):
            made = made._replace(body={**made.body, "project": project})
        if len(encode(made.body).encode()) > 4 * self.how.settings.max_text_bytes:
            raise InvalidInput(f"the body of {event.id} is larger than four texts may be (setting maxTextBytes)")
        return made

    def noted(self, event: Event, made: Event) -> None:
        """It is there now, as `made`: what follows may belong to it."""
        if event.id != made.id:
            self.events[event.id] = made.id
        if made.body.get("source") == "import":
            self.runs.update(
                [made.id] if made.kind == "outcome" else [made.body["trace_id"]] if made.kind == "trace_started" else []
            )

    def observation(self, event: Event, body: Body) -> Event:
        text = kept_text(given := check_text(body.get("text", ""), self.how.settings.max_text_bytes))
        stated = "concepts" in body and text == given  # else they may be of its secrets
        entry = Entry(
            "-" if stated else text, event.agent, event.at, text_of(body, "type", DEFAULT_TYPE), "import", list_of(body, "tags"),
            event.session,
        )  # fmt: skip
        made, _ = new_observation(entry, self.how.settings, self.how.now)
        more: Body = {"text": text, "weight": number_of(body, "weight", made.body["weight"], 0, 1)}
        if stated:
            more["concepts"] = [row for each in list_of(body, "concepts") if (row := self._mention(each))]
            more["sentiment"] = number_of(body, "sentiment", 0.0, -1, 1)
            more["extractor"] = integer_of(body, "extractor", made.body["extractor"], 1)
        return self._like(event, made._replace(body={**made.body, **more}))

    def captured(self, event: Event, body: Body) -> Event:
        body = kept_value({name: each for name, each in body.items() if name != "v"})
        for name in (*_NEEDED.get(event.kind, ()), *(name for name in _TEXTS if name in body)):
            check_text(text_of(body, name, "") or "-", self.how.settings.max_text_bytes)
        if lacking := [name for name in _NEEDED.get(event.kind, ()) if name not in body]:
            raise InvalidInput(f"a {event.kind} without {lacking[0]}")
        if any(not isinstance(each, str) for each in list_of(body, "paths")):
            raise InvalidInput("paths holds what is no text")
        if body.get("trace_id") not in self.runs:
            body.pop("trace_id", None)
        made = new_event(event.kind, {**body, **_IMPORTED}, agent=event.agent, session=event.session, at=event.at)
        return self._like(event, made)

    def trace_started(self, event: Event, body: Body) -> Event:
        return self._with_source(self._start(event, body).event())

    def trace_ended(self, event: Event, body: Body) -> Event:
        start = self._start(event, body)
        self._check_heard(start.trace_id)
        success, lost, unavailable = (
            truth_of({name: False} | body, name) for name in ("success", "lost", "unavailable")
        )
        attempts = tuple(_attempt(object_of(each)) for each in list_of(body, "attempts"))
        whole = _attempt({**body, "model": start.model, "success": success and not lost})
        return self._with_source(
            End(
                start.trace_id, event.at, whole.success, start.model, whole.tokens, whole.latency_ms, whole.error,
                text_of(body, "response", ""), attempts, lost, unavailable=unavailable and not whole.success,
            ).event(start)
        )  # fmt: skip

    def outcome(self, event: Event, body: Body) -> Event:
        made = outcome_event(
            agent=event.agent, decision=text_of(body, "decision", ""), result=text_of(body, "result", ""),
            success=truth_of(body, "success"), settings=self.how.settings, at=event.at, tags=list_of(body, "tags"),
            explicit_score=body.get("explicit"), session=event.session, source="import",
        )  # fmt: skip
        ids = [self.concepts.get(each, each) for each in concept_ids_of(list_of(body, "concepts"))]
        more: Body = {"concepts": ids, "judge": check_score(body.get("judge"), "judge's score")}
        more["thumbs"] = check_score(body.get("thumbs"), "thumbs")
        if "decided_at" in body:
            time_of(body, "decided_at")
            more["decided_at"] = body["decided_at"]
        return self._like(event, made._replace(body={**made.body, **more}))

    def outcome_scored(self, event: Event, body: Body) -> Event:
        stated = text_of(body, "outcome_id", "")
        outcome = self.events.get(stated, stated)
        self._check_heard(outcome)
        scores = {name: check_score(body.get(name), name) for name in ("explicit", "thumbs", "judge")}
        said = {name: kept_text(text_of(body, name, ""))[:500] for name in ("reason", "model")}
        success = truth_of(body, "success") if "success" in body else None
        whole = {"outcome_id": outcome, "success": success, **scores, **said, **_IMPORTED}
        return self._like(event, new_event(event.kind, whole, agent=event.agent, at=event.at))

    def _start(self, event: Event, body: Body) -> Start:
        """The START of a trace, also as its END tells of it."""
        (query_type,) = check_tags([kept_text(text_of(body, "query_type", "general"))])
        outcome = self.events.get(stated := text_of(body, "outcome_id", ""), stated)
        return Start(
            check_trace_id(text_of(body, "trace_id", "")), event.agent, event.at, text_of(body, "task", ""), query_type,
            clean(kept_text(text_of(body, "model", "")))[:_LABEL_CHARACTERS], event.session,
            tuple(tag for tag in check_tags([kept_text(each) for each in check_tags(list_of(body, "tags"))]) if tag != query_type),
            tuple(kept_text(clean(text_of({"": each}, "", ""))) for each in list_of(body, "reasons")),
            number_of(body, "context_pct", 0.0, 0, 100), integer_of(body, "query_tokens", 0, 0),
            outcome if outcome in self.runs else None,
        )  # fmt: skip

    def _check_heard(self, run: str) -> None:
        if run not in self.runs:
            raise InvalidInput(
                f"{run!r:.80} is no trace or outcome that came in with this file; what is said of others is not heard"
            )

    def _like(self, event: Event, made: Event) -> Event:
        """`made` with the id and the lineage of the event, as far as they may be kept; unknown ids stay in the lineage."""
        return made._replace(id=self._id(event.id), lineage=tuple(map(self._id, event.lineage)))

    def _id(self, event_id: str) -> str:
        known = self.events.get(event_id)
        return known or (event_id if event_id[14] == "7" else derived_event_id("heard", event_id))

    def _with_source(self, made: Event) -> Event:
        return made._replace(body={**made.body, **_IMPORTED})

    def _mention(self, row: Any) -> list[Any] | None:
        """A concept of a text, its id made of its label; None for a label too long to be one."""
        if not isinstance(row, list) or len(row) != 4:
            raise InvalidInput("concepts is no list of [id, label, surface form, count]")
        label, surface = (check_text(kept_text(text_of({"": each}, "", "")), LARGEST) for each in row[1:3])
        if max(len(label), len(surface)) > _LABEL_CHARACTERS:
            return None
        number = concept_id(label)
        if (stated := concept_id_of({"concept_id": row[0]})) != number:
            self.concepts[stated] = number
        # The surface form is shown, also once others speak of the concept: a strange file must not choose it freely.
        shown = surface if " ".join(surface.lower().split()) == label else label
        return [number, label, shown, integer_of({"count": row[3]}, "count", None, 1)]


def _attempt(body: Body) -> Attempt:
    """How a model did. One that failed has no latency, whatever the file says: it would seem the fastest."""
    success = truth_of(body, "success")
    latency_ms, cost = (
        number_of(body, name, None, 0, LARGEST) if name in body else None for name in ("latency_ms", "cost")
    )
    return Attempt(
        clean(kept_text(text_of(body, "model", "")))[:_LABEL_CHARACTERS], success, latency_ms if success else None,
        integer_of(body, "tokens", None, 0) if "tokens" in body else None, cost,
        kept_text(text_of(body, "error", "")) if "error" in body else None,
        truth_of({"unavailable": False} | body, "unavailable") and not success,
    )  # fmt: skip


_MAKERS: dict[str, Callable[[Hearsay, Event, Body], Event]] = {
    "observation": Hearsay.observation,
    **dict.fromkeys(("tool_used", "prompt", "turn_ended", "session_ended"), Hearsay.captured),
    "trace_started": Hearsay.trace_started,
    "trace_ended": Hearsay.trace_ended,
    "outcome": Hearsay.outcome,
    "outcome_scored": Hearsay.outcome_scored,
}
