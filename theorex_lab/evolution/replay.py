"""Maintenance of a past, evening by evening.

Sessions that were imported happened long ago. Maintenance that runs today sees them all
at once, long after every window of days is over. Here it runs as it would have run at
the end of each day on which something happened, and of the day after, when the sessions
of that day are over. The clock stands at the end of that day, and what happened later is
not there yet (see `journal.replayed`).

Each evening is one transaction, which a report of maintenance ends. It says which evening
it was, so that a replay that was killed goes on where it stopped, and repeating changes
nothing. What maintenance came after in its own time is not replayed.

No model judges, and no policy is tested: a policy is for what comes. The vectors and the
briefings are made once, at the end.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from theorex_lab.core.clock import MICROSECONDS_PER_DAY, FixedClock
from theorex_lab.core.ids import SCANNER, check_agent
from theorex_lab.core.progress import bar
from theorex_lab.core.readable import Report
from theorex_lab.evolution.cases import TraceReviewRecord
from theorex_lab.evolution.lease import Lease, LeaseHolder, leased
from theorex_lab.evolution.maintained import (
    MAINTENANCE_KIND,
    REPLAY_LEASE,
    MaintainedPart,
    ReportSpan,
)
from theorex_lab.evolution.maintenance import (
    StepReport,
    Steps,
    closing_steps,
    describe_reviews,
    design_steps,
    run_step,
)
from theorex_lab.journal.event import RAW_KINDS, Event, new_event
from theorex_lab.journal.places import KINDS as PLACES
from theorex_lab.journal.replayed import ReplayedJournal
from theorex_lab.memory.contract import Home

_LEASE = "lease"
# Of a home, and of an `agent`, or of all where it is None.
ReviewHome = Callable[..., Sequence[TraceReviewRecord]]


@dataclass(repr=False)
class ReplayReport(Report):
    """What came of a replay.

    Attributes:
        ran: Whether this process tended the home. It is False when another process did,
            the holder of its lease, and nothing was done.
        days: On how many days something had happened.
        evenings: How often maintenance ran: at the end of each of those days, and of
            the day after.
        events: How many events it appended.
        results: How many of them are of each kind that a design counts, as people call
            them.
        failed: By step, what was wrong the last time that it failed.
        steps: How each step at the end ended.
        holder: Who held the lease instead, None for nobody.
    """

    ran: bool = True
    days: int = 0
    evenings: int = 0
    events: int = 0
    results: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    steps: list[StepReport] = field(default_factory=list)
    holder: LeaseHolder | None = None

    @property
    def ok(self) -> bool:
        """Return whether every step ended well."""
        return not self.failed_steps

    def _facts(self) -> tuple[str, ...]:
        if not self.ran:
            return ("another process tends the home",)
        counts = (f"{n} {name}" for name, n in self.results.items())
        failed = f"failed: {', '.join(self.failed)}" if self.failed else ""
        return (f"{self.days} days", *counts, failed)

    @property
    def failed_steps(self) -> list[str]:
        """Return the names of the steps that failed, on an evening or at the end."""
        return [*self.failed, *(step.name for step in self.steps if not step.ok)]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON holds it."""
        holder = {} if self.holder is None else self.holder.to_dict()
        return {
            "ran": self.ran,
            "ok": self.ok,
            "days": self.days,
            "evenings": self.evenings,
            "events": self.events,
            "results": self.results,
            "failed": self.failed,
            "steps": [step._asdict() for step in self.steps],
            **holder,
        }


def replay_maintenance(
    home: Home,
    *,
    review: ReviewHome,
    agent: str | None = None,
    embeds: bool = True,
    progress: bool | None = None,
) -> ReplayReport:
    """Run maintenance as it would have run on each evening of what it has not seen.

    Args:
        home: The home that is tended.
        review: Reviews the failures of a home.
        agent: The agent, None for all.
        embeds: Whether vectors are computed at the end.
        progress: Whether a bar is shown; None: in a terminal or notebook.

    Raises:
        InvalidInput: For an agent outside the rule.
        StorageError: Where an evening cannot be written.
        LeaseLost: Where another process has taken over.
    """
    if agent is not None:
        check_agent(agent)
    with leased(home, REPLAY_LEASE) as lease:
        if not lease.held:
            return ReplayReport(ran=False, holder=lease.holder)
        report = ReplayReport()
        _replay_evenings(
            home, lease, report, agent=agent, review=review, progress=progress
        )
        if not report.evenings:
            return report
        steps = closing_steps(home)
        if not embeds:
            del steps["embed"]
        for name, step in steps.items():
            report.steps.append(run_step(home, lease, name, step))
        return report


def _replay_evenings(
    home: Home,
    lease: Lease,
    report: ReplayReport,
    *,
    agent: str | None,
    review: ReviewHome,
    progress: bool | None,
) -> None:
    """Replay the evenings that are due, and count what came of them."""
    past = _Past(home.journal.tail(0, erased=True), home.clock.now())
    evenings = past.evenings()
    if not evenings:
        return
    clock = FixedClock(0)
    journal = past.beginning(clock)
    progress_bar = bar(len(evenings), unit="day", what="replay", progress=progress)
    with TemporaryDirectory() as folder, closing(progress_bar):
        earlier = home.at_another_time(Path(folder), journal, clock)
        run = _ReplayRun(home, earlier, lease, report)
        for evening in evenings:
            clock.microseconds = evening.at
            journal.reveal(evening.events)
            run.take(evening, _steps_of(earlier, agent, review), past.last_seq)
            progress_bar.update(1)


def _steps_of(home: Home, agent: str | None, review: ReviewHome) -> Steps:
    """Return the steps of an evening by name, in their order."""

    def review_failures() -> str:
        return describe_reviews(review(home, agent=agent))

    before, after = design_steps(home, agent)
    return {"review": review_failures, **before, **after}


class _Evening(NamedTuple):
    """The end of a day.

    Attributes:
        day: The UTC day, since 1970.
        at: When maintenance runs (µs UTC).
        events: What happened since the evening before, and no maintenance has seen.
        is_quiet: Whether nothing was captured that day.
    """

    day: int
    at: int
    events: list[Event]
    is_quiet: bool


class _ReplayRun:
    """A replay under way: takes one evening after the other."""

    def __init__(
        self, home: Home, earlier: Home, lease: Lease, report: ReplayReport
    ) -> None:
        """Begin.

        Args:
            home: The home.
            earlier: The home as it stood.
            lease: The lease of the home.
            report: Takes what came of it.
        """
        assert isinstance(earlier.journal, ReplayedJournal)
        self._home = home
        self._earlier = earlier
        self._journal = earlier.journal
        self._lease = lease
        self._report = report
        self._names: dict[str, str] = {}
        for design in home.active:
            self._names.update(design.results)
        for name in self._names.values():
            report.results[name] = 0

    def take(self, evening: _Evening, steps: Steps, upto: int) -> None:
        """Run the steps of an evening, and hand on to the journal what they append.

        Args:
            evening: The evening.
            steps: The steps by name.
            upto: The last seq of the journal when the replay began.
        """
        reports = []
        for name, step in steps.items():
            reports.append(run_step(self._home, self._lease, name, step))
        new_events = self._journal.unstored()
        replayed = {
            "day": evening.day,
            "is_quiet": evening.is_quiet,
            "upto": upto,
            "events": len(new_events),
        }
        body = {
            "steps": [report._asdict() for report in reports],
            "fixes": None,
            "gate": [],
            "replayed": replayed,
        }
        ending = new_event(MAINTENANCE_KIND, body, agent=SCANNER, at=evening.at)
        *seqs, last = self._lease.append([*new_events, ending])
        self._journal.note_stored(seqs)
        self._journal.reveal([ending._replace(seq=last)], replayed=True)
        self._count(evening, reports, new_events)

    def _count(
        self,
        evening: _Evening,
        reports: Sequence[StepReport],
        new_events: Sequence[Event],
    ) -> None:
        report = self._report
        report.evenings += 1
        if not evening.is_quiet:
            report.days += 1
        report.events += len(new_events)
        kinds = Counter(event.kind for event in new_events)
        for kind, name in self._names.items():
            report.results[name] += kinds[kind]
        for step in reports:
            if not step.ok:
                report.failed[step.name] = step.detail


class _Past:
    """What a journal holds, and what of it no maintenance has seen.

    Attributes:
        last_seq: The last seq.
    """

    def __init__(self, events: Iterable[Event], now: int) -> None:
        """Read a journal.

        Args:
            events: Its events, also those that were erased.
            now: The time (µs UTC).
        """
        self._events = [event for event in events if event.kind != _LEASE]
        self._now = now
        self.last_seq = self._events[-1].seq if self._events else 0
        self._appended = set[int]()  # seqs of what replays appended
        # The day of the last evening, None where nothing was captured that day.
        self._last_evening: int | None = None
        reports = []
        for event in self._events:
            if event.kind == MAINTENANCE_KIND and not event.erased:
                reports.append(ReportSpan.of(event))
                self._read_report(event)
        self._maintained = MaintainedPart(reports)
        self._lived = list[Event]()
        self._pending = list[Event]()
        for event in self._events:
            part = self._lived if self._is_lived(event) else self._pending
            part.append(event)
        self._pending.sort(key=lambda event: (_day_of(event), event.seq))

    def beginning(self, clock: FixedClock) -> ReplayedJournal:
        """Return the journal as it stands before the first evening that is due."""
        taken_ids = [event.id for event in self._events]
        journal = ReplayedJournal(clock, taken_ids, self.last_seq)
        for event in self._lived:
            journal.reveal([event], replayed=event.seq in self._appended)
        return journal

    def evenings(self) -> list[_Evening]:
        """Return the evenings that are due, in order.

        They are those of days with captures that no maintenance has seen, and of the
        day after each of them, where that has begun.
        """
        today = self._now // MICROSECONDS_PER_DAY
        captures = filter(_is_capture, self._pending)
        busy_days = set(map(_day_of, captures))
        days = busy_days | self._days_after(busy_days)
        past_days = [day for day in sorted(days) if day <= today]
        evenings = []
        first = 0
        for day in past_days:
            last = bisect_right(self._pending, day, lo=first, key=_day_of)
            end = (day + 1) * MICROSECONDS_PER_DAY - 1
            evening = _Evening(
                day=day,
                at=min(end, self._now),
                events=self._pending[first:last],
                is_quiet=day not in busy_days,
            )
            evenings.append(evening)
            first = last
        return evenings

    def _days_after(self, busy_days: set[int]) -> set[int]:
        """Return the days after these, and the one after the last that was replayed."""
        days = {day + 1 for day in busy_days}
        if self._last_evening is not None:
            days.add(self._last_evening + 1)
        return days

    def _read_report(self, event: Event) -> None:
        """Note what a maintenance appended, and the day of the last evening."""
        replayed = event.body.get("replayed")
        if replayed is None:
            self._last_evening = None
            return
        first = event.seq - replayed["events"]
        self._appended.update(range(first, event.seq + 1))
        self._last_evening = None if replayed["is_quiet"] else replayed["day"]

    def _is_lived(self, event: Event) -> bool:
        """Return whether an event was there before the first evening that is due."""
        if event.seq in self._appended or event.kind in PLACES:
            return True
        return self._maintained.holds(event)


def _day_of(event: Event) -> int:
    return event.at // MICROSECONDS_PER_DAY


def _is_capture(event: Event) -> bool:
    return event.kind in RAW_KINDS
