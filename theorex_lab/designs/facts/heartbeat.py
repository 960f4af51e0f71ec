"""Run the heartbeat: what is done every half hour, phase by phase.

A phase that fails is reported, and the next runs. The phases are state, extract,
synthesis, domains, validate and report, as Engram has them. How far captures were read is noted
once all of them were, and forwards alone: a heartbeat that is killed anywhere is made
good by the next. Extract writes the facts that people and agents state, see
`extraction.py`; the end of a session does it too.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, NamedTuple

from theorex_lab.core.errors import AlreadyThere, TheorexError
from theorex_lab.core.ids import SCANNER, derived_event_id
from theorex_lab.designs.facts import TEXT_OF, signals, writing
from theorex_lab.designs.facts.domains import scan_domains
from theorex_lab.designs.facts.extraction import facts_stated
from theorex_lab.designs.facts.facts import check_home, facts_of
from theorex_lab.designs.facts.handoff import HANDOFF_PHASES, Handoff
from theorex_lab.designs.facts.notes import alerts as note_alerts
from theorex_lab.designs.facts.settings import fact_settings
from theorex_lab.designs.facts.summaries import local_day
from theorex_lab.designs.facts.unread import watermark
from theorex_lab.designs.facts.weekly import weekly_text
from theorex_lab.designs.facts.words import check_word
from theorex_lab.evolution.lease import LeaseHolder, leased
from theorex_lab.journal.base import append_once
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.contract import Home
from theorex_lab.memory.retrieve import Searcher
from theorex_lab.search.index import SPEAKER
from theorex_lab.text.line import count_tokens, one_line

# What a phase did, in words and numbers, and its alerts.
Done = tuple[str, dict[str, Any], list[str]]
_NOTHING_WAITS = "nothing waits"
_NOT_DUE = "not due"
_NO_DOMAIN = "no domain"
_IDLE = (_NOTHING_WAITS, _NOT_DUE, _NO_DOMAIN)
_SECOND = 1_000_000  # µs
_EMBEDDING_SECONDS = 2.0
_SUMMARY_CHARACTERS = 300
_PLAN_CHARACTERS = 120
_LATELY = 50  # notes that may say what is in work
_PLANS_OF = ("prompt", "observation")


class Phase(NamedTuple):
    """How a phase ended: ok, error, or idle where it was not its time."""

    name: str
    status: str
    summary: str
    stats: dict[str, Any]
    alerts: list[str]
    seconds: float


class HeartbeatReport(NamedTuple):
    """A heartbeat.

    Where another process tended the home it did not run, and that is the holder.
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
        alerts: list[str] = []
        for phase in self.phases:
            alerts += phase.alerts
        return alerts

    @property
    def word(self) -> str:
        """HEARTBEAT_ERROR, _SKIPPED or _ALERT, and _OK where nothing needs anyone."""
        if not self.ok:
            return "HEARTBEAT_ERROR"
        if self.holder:
            return "HEARTBEAT_SKIPPED"
        return "HEARTBEAT_ALERT" if self.alerts else "HEARTBEAT_OK"

    def to_dict(self) -> dict[str, Any]:
        """Return the heartbeat as JSON holds it."""
        report = {
            "ran": self.holder is None,
            "ok": self.ok,
            "phases": [phase._asdict() for phase in self.phases],
            "heartbeat": self.word,
        }
        if self.holder:
            report |= self.holder.to_dict()
        return report


def beat(home: Home) -> HeartbeatReport:
    """Run one heartbeat over all projects, under the home's lease.

    Raises:
        LeaseLost: Another process has taken over meanwhile; what was done till then
            stays, and is not done twice.
    """
    whole = home.in_project("")
    with leased(whole, "heartbeat") as lease:
        if not lease.held:
            return HeartbeatReport(holder=lease.holder)
        report = HeartbeatReport(tuple(_phases(whole, lease.renew)))
        lease.append([_report(whole, report)])
    return report


def maintenance_step(home: Home, _agent: str | None) -> str:
    """Run the phases as a step of maintenance.

    Maintenance holds the lease, runs them in its own process and reports them itself.

    Raises:
        TheorexError: A phase failed; all had their turn.
    """
    phases = _phases(home.in_project(""), lambda: None, embeds=False)
    report = HeartbeatReport(tuple(phases))
    parts = [phase.summary for phase in report.phases if phase.status != "idle"]
    text = "; ".join([*parts, *report.alerts])
    if not report.ok:
        raise TheorexError(text)
    return text


def _phases(
    home: Home, renew: Callable[[], None], *, embeds: bool = True
) -> Iterator[Phase]:
    """Yield each phase in its turn.

    The lease is renewed before each, so that who has lost it does nothing more.
    """
    turns: dict[str, Callable[[], Done]] = {
        "state": lambda: _state(home),
        "extract": lambda: _extract(home, renew),
        "synthesis": lambda: _synthesis(home),
        "domains": lambda: _domains(home),
        "validate": lambda: _validate(home, embeds),
    }
    for name, turn in turns.items():
        renew()
        started = home.clock.now()
        status = "ok"
        stats: dict[str, Any] = {}
        alerts: list[str] = []
        try:
            text, stats, alerts = turn()
        except TheorexError as error:
            status = "error"
            text = str(error)
        seconds = (home.clock.now() - started) / _SECOND
        if status == "ok" and text in _IDLE:
            status = "idle"
        summary_line = one_line(text, _SUMMARY_CHARACTERS)
        yield Phase(name, status, summary_line, stats, alerts, seconds)


def _state(home: Home) -> Done:
    """Return what waits since the watermark.

    It is notes by channel, those of today, and what was said to be in work last.
    """
    settings = fact_settings(home)
    today = local_day(home.clock.now(), settings).date()
    events = list(home.journal.tail(watermark(home), kinds=list(TEXT_OF)))
    waiting = Counter[str]()
    n_today = 0
    for event in events:
        channel = event.body.get("project", "") or "main"
        waiting[channel] += 1
        day = local_day(event.at, settings).date()
        if day == today:
            n_today += 1
    plan = _plan(events)
    text = f"{len(events)} notes wait, {n_today} of today"
    if plan:
        text = f"{text}; in work: {plan}"
    stats = {"waiting": dict(waiting), "today": n_today, "plan": plan}
    return text, stats, []


def _plan(events: list[Event]) -> str:
    """Return the latest note that says what is in work, or ''."""
    latest = events[-_LATELY:]
    for event in reversed(latest):
        if event.kind not in _PLANS_OF:
            continue
        member = TEXT_OF[event.kind]
        text = SPEAKER.sub("", event.body.get(member, ""), 1)
        signal = signals.signal_of(text).signal
        if signal == "low":
            return one_line(text, _PLAN_CHARACTERS)
    return ""


def _extract(home: Home, renew: Callable[[], None]) -> Done:
    """Read what waits; who still has the lease notes how far that is."""
    waiting = home.journal.tail(
        watermark(home),
        kinds=list(TEXT_OF),
    )
    if next(waiting, None) is None:
        return _NOTHING_WAITS, {}, []
    report = extract_facts(home)
    renew()
    keep_watermark(home, report)
    return _told(report)


def _synthesis(home: Home) -> Done:
    """Sum up, on Mondays, each entity that was not summed up this week."""
    today = local_day(home.clock.now(), fact_settings(home))
    is_monday = today.weekday() == 0
    if not is_monday:
        return _NOT_DUE, {}, []
    if next(_unsummed(home), None) is None:
        return _NOT_DUE, {}, []
    n_entities = 0
    n_tokens = 0
    for event in _unsummed(home):
        if append_once(home.journal, [event]):
            n_entities += 1
            n_tokens += event.body["tokens"]
    text = f"{n_entities} entities summed up in {n_tokens} tokens"
    return text, {"entities": n_entities, "tokens": n_tokens}, []


def _unsummed(home: Home) -> Iterator[Event]:
    """Yield what is to be appended of each entity that was not summed up this week.

    Archived ones are left alone.
    """
    now = home.clock.now()
    settings = fact_settings(home)
    today = local_day(now, settings).date()
    monday = today - timedelta(days=today.weekday())
    week = monday.isoformat()
    entities = {fact.entity for fact in facts_of(home)}
    for entity in sorted(entities):
        if entity.startswith("archives/"):
            continue
        event_id = derived_event_id("summarized", entity, week)
        if home.journal.read(ids=[event_id], erased=True):
            continue
        all_facts = facts_of(home, entity, active=None)
        facts = [fact for fact in all_facts if fact.active]
        page = weekly_text(home, entity, all_facts)
        body = {
            "entity": entity,
            "week": week,
            "tokens": count_tokens(page),
            "facts": len(facts),
            "text": page,
        }
        # Where a fact is erased, the page that shows it goes too.
        lineage = [fact.event_id for fact in all_facts]
        yield new_event(
            "summarized",
            body,
            agent=SCANNER,
            at=now,
            event_id=event_id,
            lineage=lineage,
        )


def _domains(home: Home) -> Done:
    """Look for domains that nobody wrote to for too long, and for proposals."""
    scan = scan_domains(home)
    if not scan.domains:
        return _NO_DOMAIN, {}, []
    alerts = [f"{name}: nothing was written for too long" for name in scan.stale]
    for proposal in scan.proposals:
        text = one_line(proposal.text, _SUMMARY_CHARACTERS)
        alerts.append(f"{proposal.domain} proposes ({proposal.id}): {text}")
    stats = {
        "domains": scan.domains,
        "stale": len(scan.stale),
        "proposals": len(scan.proposals),
    }
    text = ", ".join(f"{count} {name}" for name, count in stats.items())
    return text, stats, alerts


def run_phase(home: Home, name: str) -> Handoff:
    """Do one of the long phases, and return what it hands over.

    It keeps no watermark: that is for whoever reads the block.

    Raises:
        InvalidInput: There is no such phase.
    """
    check_word("phase", name, HANDOFF_PHASES)
    whole = home.in_project("")
    phases: dict[str, Callable[[], Done]] = {
        "extract": lambda: _extracted(whole),
        "synthesis": lambda: _synthesis(whole),
        "domains": lambda: _domains(whole),
    }
    try:
        text, stats, alerts = phases[name]()
    except TheorexError as error:
        return Handoff(name, "error", one_line(str(error), _SUMMARY_CHARACTERS))
    return Handoff(name, "ok", text, stats, alerts=alerts)


def _extracted(home: Home) -> Done:
    """Read what waits; how far that is is not noted."""
    report = extract_facts(home)
    return _told(report)


def _told(report: "ExtractionReport") -> Done:
    """Return what an extraction did, in words and numbers."""
    counts = report._asdict()
    stats = {
        "facts_written": counts.pop("facts"),
        "new_watermark": counts.pop("upto"),
        **counts,
    }
    return f"{report.facts} facts of {report.captures} captures", stats, []


def _validate(home: Home, embeds: bool) -> Done:
    """Check whether chains of facts are sound, and whether notes need a review.

    Texts get vectors for two seconds here, or in a step of maintenance.
    """
    check = check_home(home)
    waiting = ""
    if embeds:
        vectors = Searcher(home).vectors
        waiting = vectors.embed_some(_EMBEDDING_SECONDS)
    n_problems = len(check.problems)
    text = f"{check.facts} facts, {n_problems} problems"
    if waiting:
        text = f"{text}; vectors wait: {waiting}"
    stats = {"facts": check.facts, "problems": n_problems}
    return text, stats, [*check.problems, *note_alerts(home)]


def _report(home: Home, report: HeartbeatReport) -> Event:
    body = {"phases": report.to_dict()["phases"], "project": ""}
    return new_event("heartbeat", body, agent=SCANNER, at=home.clock.now())


class ExtractionReport(NamedTuple):
    """What was read of the captures up to seq `upto`.

    It counts the facts written, and those of them that replaced others or are in
    tension.
    """

    upto: int
    captures: int = 0
    facts: int = 0
    superseded: int = 0
    tensions: int = 0


def keep_watermark(home: Home, report: ExtractionReport) -> bool:
    """Append how far captures were read; return False where that was noted already.

    It only goes forwards.
    """
    with home.journal.exclusive() as append:
        if not report.captures or report.upto <= watermark(home):
            return False
        event = new_event(
            "extracted",
            report._asdict(),
            agent=SCANNER,
            at=home.clock.now(),
        )
        append(event)
    return True


def extract_facts(home: Home, upto: int | None = None) -> ExtractionReport:
    """Write the facts of the captures after the watermark, up to seq `upto`.

    Repeating it writes nothing twice. The watermark stays: whoever is content with the
    result notes it, see `keep_watermark`.
    """
    whole = home.in_project("")
    last = whole.journal.last_seq() if upto is None else upto
    counts = Counter[str]()
    n_captures = 0
    captures = whole.journal.tail(
        watermark(home),
        kinds=list(TEXT_OF),
        upto=last,
    )
    for event in captures:
        n_captures += 1
        for new in facts_stated(whole, event):
            try:
                action = writing.write_fact(whole, new).action
            except AlreadyThere:
                # It was read before a process was stopped, and has been replaced since.
                continue
            counts[action] += 1
    n_superseded = counts["superseded"]
    n_tensions = counts["tension"]
    n_facts = counts["written"] + n_superseded + n_tensions
    return ExtractionReport(
        upto=last,
        captures=n_captures,
        facts=n_facts,
        superseded=n_superseded,
        tensions=n_tensions,
    )


def extract_new(home: Home, *_: str) -> ExtractionReport:
    """Read what came since, and note how far that is.

    Where an agent's session ends, what waits of others is read too.
    """
    report = extract_facts(home)
    keep_watermark(home, report)
    return report
