"""The heartbeat: what is done every half hour, phase by phase; one that fails is told,
and the next runs.

State, extract, synthesis, validate and report, as Engram has them. How far captures
were read is kept once all of them were, and forwards alone: a heartbeat that is killed
anywhere is made good by the next. Extract reads the sentences of people and agents that
signal something worth keeping; a flush does it too.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, NamedTuple

from theorex_lab.core.errors import AlreadyThere, TheorexError
from theorex_lab.core.ids import SCANNER, derived_event_id
from theorex_lab.designs.facts import signals, writing
from theorex_lab.designs.facts.channels import Channels
from theorex_lab.designs.facts.facts import Facts, check_home, facts_of
from theorex_lab.designs.facts.notes import alerts as note_alerts
from theorex_lab.designs.facts.settings import fact_settings
from theorex_lab.designs.facts.summaries import local_day, summary
from theorex_lab.evolution.lease import LeaseHolder, leased
from theorex_lab.journal.base import append_once
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import AVOID_TYPE, FIX_TYPE
from theorex_lab.memory.retrieve import Searcher
from theorex_lab.search.index import SPEAKER
from theorex_lab.search.items import MOMENT_TYPE
from theorex_lab.text.line import count_tokens, one_line

Done = tuple[
    str, dict[str, Any], list[str]
]  # what a phase did, in words and numbers, and its alerts
_NOTHING_WAITS = "nothing waits"
_NOT_DUE = "not due"
_SECOND = 1_000_000  # µs
_EMBEDDING_SECONDS = 2.0
_WORDS, _PLAN = 300, 120  # characters
_LATELY = 50  # notes that may say what is in work


class Phase(NamedTuple):
    """How a phase ended: ok, error, or idle where it was not its time."""

    name: str
    status: str
    summary: str
    stats: dict[str, Any]
    alerts: list[str]
    seconds: float


class HeartbeatReport(NamedTuple):
    """A heartbeat; where another process tended the home it did not run, and that is
    the holder.
    """

    phases: tuple[Phase, ...] = ()
    holder: LeaseHolder | None = None

    @property
    def ok(self) -> bool:
        """Whether no phase failed."""
        return all(phase.status != "error" for phase in self.phases)

    @property
    def alerts(self) -> list[str]:
        """What needs someone to look at it."""
        return [alert for phase in self.phases for alert in phase.alerts]

    @property
    def word(self) -> str:
        """HEARTBEAT_OK where nothing needs anyone, else HEARTBEAT_ALERT, _ERROR or
        _SKIPPED.
        """
        ended = "SKIPPED" if self.holder else "ALERT" if self.alerts else "OK"
        return f"HEARTBEAT_{ended if self.ok else 'ERROR'}"

    def to_dict(self) -> dict[str, Any]:
        """The heartbeat as JSON holds it."""
        told = {
            "ran": self.holder is None,
            "ok": self.ok,
            "phases": [phase._asdict() for phase in self.phases],
        }
        return (
            told
            | {"heartbeat": self.word}
            | (self.holder.to_dict() if self.holder else {})
        )


def beat(home: Home) -> HeartbeatReport:
    """One heartbeat over all projects, under the home's lease.

    Raises LeaseLost where another process has taken over meanwhile; what was done till
    then stays, and is not done twice.
    """
    whole = home.in_project("")
    with leased(whole, "heartbeat") as lease:
        if not lease.held:
            return HeartbeatReport(holder=lease.holder)
        done = HeartbeatReport(tuple(_phases(whole, lease.renew)))
        lease.append([_report(whole, done)])
    return done


def night_step(home: Home, agent: str | None) -> str:  # noqa: ARG001 - of all agents
    """The phases as a step of the night, which holds the lease, runs them in its own
    process and reports them itself.

    Raises TheorexError where a phase failed, once all had their turn.
    """
    done = HeartbeatReport(
        tuple(_phases(home.in_project(""), lambda: None, embeds=False))
    )
    told = "; ".join(
        [
            *(phase.summary for phase in done.phases if phase.status != "idle"),
            *done.alerts,
        ]
    )
    if not done.ok:
        raise TheorexError(told)
    return told


def _phases(
    home: Home, renew: Callable[[], None], *, embeds: bool = True
) -> Iterator[Phase]:
    """Each phase in its turn; before each the lease is renewed, so that who has lost it
    does nothing more.
    """
    turns: dict[str, Callable[[], Done]] = {
        "state": lambda: _state(home),
        "extract": lambda: _extract(home, renew),
        "synthesis": lambda: _synthesis(home),
        "validate": lambda: _validate(home, embeds),
    }
    for name, turn in turns.items():
        renew()
        started = home.clock.now()
        status = "ok"
        try:
            told, stats, alerts = turn()
        except TheorexError as error:
            status = "error"
            told = str(error)
            stats = {}
            alerts = []
        seconds = (home.clock.now() - started) / _SECOND
        idle = status == "ok" and told in (_NOTHING_WAITS, _NOT_DUE)
        yield Phase(
            name,
            "idle" if idle else status,
            one_line(told, _WORDS),
            stats,
            alerts,
            seconds,
        )


def _state(home: Home) -> Done:
    """What waits since the watermark: notes by channel, those of today, and what was
    said to be in work last.
    """
    settings = fact_settings(home)
    today = local_day(home.clock.now(), settings).date()
    events = list(home.journal.tail(watermark(home), kinds=list(TEXT_OF)))
    waiting = Counter(event.body.get("project", "") or "main" for event in events)
    of_today = sum(local_day(event.at, settings).date() == today for event in events)
    lately = (
        SPEAKER.sub("", event.body.get(TEXT_OF[event.kind], ""), 1)
        for event in events[: -_LATELY - 1 : -1]
    )
    plan = next(
        (
            one_line(text, _PLAN)
            for text in lately
            if signals.signal_of(text).signal == "low"
        ),
        "",
    )
    told = f"{len(events)} notes wait, {of_today} of today" + (
        f"; in work: {plan}" if plan else ""
    )
    return told, {"waiting": dict(waiting), "today": of_today, "plan": plan}, []


def _extract(home: Home, renew: Callable[[], None]) -> Done:
    """Read what waits; how far that is, is kept by who still has the lease."""
    if next(home.journal.tail(watermark(home), kinds=list(TEXT_OF)), None) is None:
        return _NOTHING_WAITS, {}, []
    found = extract_facts(home)
    renew()
    keep_watermark(home, found)
    counts = found._asdict()
    stats = {
        "facts_written": counts.pop("facts"),
        "new_watermark": counts.pop("upto"),
        **counts,
    }
    return f"{found.facts} facts of {found.captures} captures", stats, []


def _synthesis(home: Home) -> Done:
    """On Mondays, each entity that was not summed up this week."""
    if (
        local_day(home.clock.now(), fact_settings(home)).weekday()
        or next(_unsummed(home), None) is None
    ):
        return _NOT_DUE, {}, []
    done = [event for event in _unsummed(home) if append_once(home.journal, [event])]
    tokens = sum(event.body["tokens"] for event in done)
    return (
        f"{len(done)} entities summed up in {tokens} tokens",
        {"entities": len(done), "tokens": tokens},
        [],
    )


def _unsummed(home: Home) -> Iterator[Event]:
    """What is to be appended of each entity that was not summed up this week; archived
    ones are left alone.
    """
    now = home.clock.now()
    settings = fact_settings(home)
    today = local_day(now, settings).date()
    week = (today - timedelta(days=today.weekday())).isoformat()
    for entity in sorted(
        {
            fact.entity
            for fact in facts_of(home)
            if not fact.entity.startswith("archives/")
        }
    ):
        event_id = derived_event_id("summarized", entity, week)
        if not home.journal.read(ids=[event_id], erased=True):
            facts = facts_of(home, entity)
            tokens = count_tokens(summary(entity, facts, now, settings))
            body = {
                "entity": entity,
                "week": week,
                "tokens": tokens,
                "facts": len(facts),
            }
            yield new_event(
                "summarized", body, agent=SCANNER, at=now, event_id=event_id
            )


def _validate(home: Home, embeds: bool) -> Done:
    """Whether chains of facts are sound; texts get vectors for two seconds, or from a
    step of the night; alerts of notes that nobody reviewed.
    """
    found = check_home(home)
    waits = Searcher(home).vectors.embed_some(_EMBEDDING_SECONDS) if embeds else ""
    told = f"{found.facts} facts, {len(found.problems)} problems" + (
        f"; vectors wait: {waits}" if waits else ""
    )
    return (
        told,
        {"facts": found.facts, "problems": len(found.problems)},
        [*found.problems, *note_alerts(home)],
    )


def _report(home: Home, done: HeartbeatReport) -> Event:
    body = {"phases": done.to_dict()["phases"], "project": ""}
    return new_event("heartbeat", body, agent=SCANNER, at=home.clock.now())


TEXT_OF = {"prompt": "text", "observation": "text"}
# Of several categories that a sentence signals, the first of these is the fact's.
_ORDER = (
    "correction",
    "decision",
    "preference",
    "instruction",
    "identity",
    "milestone",
)
_OF_THE_PERSON = frozenset(("preference", "instruction", "identity"))
_LOCAL = re.compile(
    r"[`/\\$_]|\w\.\w|(?:^|\s)--?\w|\d"
)  # names a file, a command or a place: of its project
_DERIVED = frozenset((FIX_TYPE, AVOID_TYPE, MOMENT_TYPE, "summary", "graduated"))


class ExtractionReport(NamedTuple):
    """What was read of the captures up to seq `upto`: facts written, those of them that
    replaced others or are in tension.
    """

    upto: int
    captures: int = 0
    facts: int = 0
    superseded: int = 0
    tensions: int = 0


def watermark(home: Home) -> int:
    """The seq up to which captures were read for facts; the highest, since it only goes
    forwards.
    """
    with home.views.reading(Facts) as view:
        return int(view.marks["upto"].max(initial=0))


def keep_watermark(home: Home, found: ExtractionReport) -> bool:
    """Append how far captures were read; False where that was kept already. It only
    goes forwards.
    """
    with home.journal.exclusive() as append:
        if not found.captures or found.upto <= watermark(home):
            return False
        append(
            new_event("extracted", found._asdict(), agent=SCANNER, at=home.clock.now())
        )
    return True


def extract_facts(home: Home, upto: int | None = None) -> ExtractionReport:
    """Write the facts of the captures after the watermark, up to seq `upto`; repeating
    it writes nothing twice.

    The watermark stays: whoever is content with the result keeps it, see
    `keep_watermark`.
    """
    whole = home.in_project("")
    last = whole.journal.last_seq() if upto is None else upto
    counted = Counter[str]()
    captures = 0
    for event in whole.journal.tail(watermark(home), kinds=list(TEXT_OF), upto=last):
        captures += 1
        for new in facts_said(whole, event):
            try:
                counted[writing.write_fact(whole, new).action] += 1
            except (
                AlreadyThere
            ):  # it was read before a process was stopped, and has been replaced since
                counted["again"] += 1
    written = counted["written"] + counted["superseded"] + counted["tension"]
    return ExtractionReport(
        last, captures, written, counted["superseded"], counted["tension"]
    )


def extract_new(home: Home, *_: str) -> ExtractionReport:
    """Read what came since, and keep how far that is; where an agent's session ends,
    what waits of others too.
    """
    found = extract_facts(home)
    keep_watermark(home, found)
    return found


def facts_said(home: Home, event: Event) -> Iterator[writing.NewFact]:
    """The facts that a capture states, each of whom or what it is about."""
    body = event.body
    if body.get("subagent") or body.get("type") in _DERIVED:
        return
    text = str(body.get(TEXT_OF[event.kind], ""))
    by_user = body.get("source") == "user"
    speaker = SPEAKER.match(text) if event.kind == "observation" else None
    who = speaker[1] if speaker else "user" if by_user else event.agent
    said = text[speaker.end() :] if speaker else text
    for number, found in enumerate(
        signals.facts_in(said, "user" if by_user else "agent")
    ):
        category = min(found.categories, key=_ORDER.index)
        entity, project = _about(
            home, body.get("project", ""), who, category, found.sentence
        )
        yield writing.NewFact(
            entity,
            found.sentence,
            signals.FACT_CATEGORY.get(category, category),
            found.confidence,
            "pattern" if category in _OF_THE_PERSON else "episode",
            source=body.get("source", "import"),
            origin=event.kind,
            lineage=(event.id,),
            at=min(event.at, home.clock.now()),
            event_id=derived_event_id("fact", event.id, number),
            agent=event.agent,
            project=project,
            noted=event.id if event.kind == "observation" else "",
        )


def _about(
    home: Home, project: str, who: str, category: str, text: str
) -> tuple[str, str]:
    """Whom or what a sentence is about, and the project that it stays in: '' for what
    is known everywhere.

    What is said in a group stays there; in a chat of two, it is about the person.
    """
    with home.views.reading(Channels) as channels:
        group = channels.is_group(project)
    person = f"people/{writing.slug_of(who)}"
    if group is not None:
        return person, project if group else ""
    if project and category not in _OF_THE_PERSON and who in ("user", "main"):
        return (
            f"projects/{writing.slug_of(re.sub(r'-[0-9a-f]{8}$', '', project))}",
            project,
        )
    return person, project if _LOCAL.search(text) else ""
