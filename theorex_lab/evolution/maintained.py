"""What maintenance has seen of a journal, and what waits for it.

A maintenance has seen what was there when it began. One of the past has seen what had
happened until its evening, of what was captured when the replay began.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import RAW_KINDS, Event
from theorex_lab.journal.heads import Heads, Integers, NameColumn
from theorex_lab.journal.view import View
from theorex_lab.memory.contract import MAINTAIN, Holding, Home

MAINTENANCE_KIND = "nightly"
REPLAY_LEASE = "replay"
REPLAY = f"{MAINTAIN} --replay"
# Captures that are older when maintenance first sees them are a past to be replayed.
_PAST_DAYS = 2
_CAPTURE_COLUMNS = ("seq", "at", "agent", "project", "kind")


class ReportSpan(NamedTuple):
    """How far a maintenance has seen a journal, as its report says.

    Attributes:
        upto: The seq up to which it has seen.
        day: The UTC day since 1970 of an evening that was replayed. It has seen what
            had happened by then. 0 where it ran in its own time.
        is_replayed: Whether it was of a past day.
    """

    upto: int
    day: int
    is_replayed: bool

    @classmethod
    def of(cls, report: Event) -> Self:
        """Return what the event of a report says."""
        replayed = report.body.get("replayed")
        if replayed is not None:
            return cls(replayed["upto"], replayed["day"], is_replayed=True)
        # Reports of earlier releases do not say where the maintenance began.
        upto = report.body.get("upto", report.seq)
        return cls(upto, 0, is_replayed=False)


class MaintainedPart:
    """What maintenance has seen, as its reports say.

    Attributes:
        upto: The seq of the newest event when the last maintenance in its own time
            began; 0 where none ran.
        upto_by_day: Of the past, by the UTC day since 1970 of an evening, the seq up to
            which its maintenance has seen what had happened by then.
    """

    def __init__(self, reports: Iterable[ReportSpan]) -> None:
        """Take in reports in journal order."""
        self.upto = 0
        self.upto_by_day: dict[int, int] = {}
        for report in reports:
            self._take(report)

    def holds(self, event: Event) -> bool:
        """Return whether maintenance has seen an event."""
        if event.seq <= self.upto:
            return True
        day = event.at // MICROSECONDS_PER_DAY
        upto = self.upto_of(day)
        return event.seq <= upto

    def upto_of(self, day: int) -> int:
        """Return the seq up to which what had happened by the end of a day was seen."""
        uptos = [self.upto]
        for evening, upto in self.upto_by_day.items():
            if day <= evening:
                uptos.append(upto)
        return max(uptos)

    def _take(self, report: ReportSpan) -> None:
        if not report.is_replayed:
            self.upto = report.upto
            return
        earlier = self.upto_by_day.get(report.day, 0)
        self.upto_by_day[report.day] = max(earlier, report.upto)


class LastMaintenance(NamedTuple):
    """The last maintenance of a home.

    Attributes:
        seq: The seq of its report.
        at: When it ran (µs UTC).
        replayed_to: The end of the last day that it replayed (µs UTC); None where it ran
            in its own time.
        failed: The names of the steps that failed.
    """

    seq: int
    at: int
    replayed_to: int | None
    failed: list[str]


def last_maintenance(home: Home) -> LastMaintenance | None:
    """Return the last maintenance of a home, None where none has run."""
    report = None
    for event in home.journal.tail(0, kinds=[MAINTENANCE_KIND]):
        report = event
    if report is None:
        return None
    failed = []
    for step in report.body["steps"]:
        if not step["ok"]:
            failed.append(step["name"])
    if report.body.get("replayed") is None:
        return LastMaintenance(report.seq, report.at, None, failed)
    ran_at = _replayed_at(home, report)
    return LastMaintenance(report.seq, ran_at, report.at, failed)


def _replayed_at(home: Home, report: Event) -> int:
    """Return when a replay ran, which its lease tells; its report has another day."""
    ran_at = report.at
    for lease in home.journal.tail(0, kinds=["lease"]):
        if lease.body["owner"].startswith(f"{REPLAY_LEASE}/"):
            ran_at = lease.at
    return ran_at


def waiting_for_maintenance(home: Home, agent: str | None = None) -> Holding:
    """Return how many captures no maintenance has seen, and the command that helps.

    Where the oldest are of a past, they are replayed day by day.

    Args:
        home: The home, in whose project they were captured.
        agent: Whose captures they are; None for all.
    """
    with home.views.reading(MaintenanceReports) as reports:
        maintained = MaintainedPart(reports.spans())
    now = home.clock.now()
    with home.views.reading(CaptureTimes) as captures:
        is_waiting = captures.capture_mask(RAW_KINDS, agent, home.projects)
        is_waiting &= ~captures.seen_by(maintained)
        n_waiting = int(is_waiting.sum())
        oldest = int(captures.rows["at"][is_waiting].min(initial=now))
    microseconds = now - oldest
    days = microseconds / MICROSECONDS_PER_DAY
    is_past = days > _PAST_DAYS
    command = REPLAY if is_past else MAINTAIN
    return Holding("events that no maintenance has read", n_waiting, command)


class MaintenanceReports(View):
    """How far each maintenance has seen the journal.

    Attributes:
        rows: The columns of `ReportSpan`, one row a report, in journal order.
    """

    name = "maintenance_reports"
    code = 1
    kinds = (MAINTENANCE_KIND,)

    def __init__(self) -> None:
        super().__init__()
        self.rows = Table(upto="i8", day="i8", is_replayed="i1")

    def _nightly(self, event: Event) -> None:
        self.rows.add(**ReportSpan.of(event)._asdict())

    def spans(self) -> Iterator[ReportSpan]:
        """Yield what each report says."""
        rows = zip(
            self.rows["upto"].tolist(),
            self.rows["day"].tolist(),
            self.rows["is_replayed"].tolist(),
            strict=True,
        )
        for upto, day, is_replayed in rows:
            yield ReportSpan(upto, day, bool(is_replayed))


class CaptureTimes(View):
    """When each event was captured, and whose it is.

    Observations are among them, which wait to be read for facts as prompts do.

    Attributes:
        names: The names of agents, projects and kinds; '' is none.
        rows: The columns seq, at (µs UTC), agent, project and kind (numbers of names),
            one row an event, in journal order.
    """

    name = "capture_times"
    code = 1
    reads_outlines = True
    reads_heads = True
    kinds = (*RAW_KINDS, "observation")

    def __init__(self) -> None:
        super().__init__()
        self.names = Names()
        self.rows = Table(
            seq="i8",
            at="i8",
            agent="i4",
            project="i4",
            kind="i4",
        )

    def apply(self, events: Sequence[Event]) -> None:
        """Take in when events were captured."""
        owners: list[tuple[str, ...]] = []
        for event in events:
            project = event.body.get("project", "")
            owner = (event.agent, project, event.kind)
            owners.append(owner)
        numbers: dict[tuple[str, ...], list[int]] = {}
        for names in dict.fromkeys(owners):
            numbers_of_names = [self.names.number(name) for name in names]
            numbers[names] = numbers_of_names
        rows: list[tuple[int, ...]] = []
        for event, names in zip(events, owners, strict=True):
            row = (
                event.seq,
                event.at,
                *numbers[names],
            )
            rows.append(row)
        self.rows.extend(_CAPTURE_COLUMNS, rows)

    def apply_heads(self, heads: Heads) -> None:
        """Take in when events were captured, by their heads."""
        owners = (heads.agent, heads.project, heads.kind)
        names: list[str] = []
        columns: list[Integers] = []
        for column in owners:
            columns.append(column.numbers + len(names))
            names += column.names
        # Names get their numbers event by event, the agent's first.
        stacked = np.stack(columns, axis=1)
        flat = stacked.reshape(-1)
        numbers = NameColumn(names, flat).numbers_in(self.names)
        table = numbers.reshape(-1, len(owners))
        agents, projects, kinds = table.T
        where = self.rows.grow(len(heads.seq))
        self.rows.put(
            where,
            seq=heads.seq,
            at=heads.at,
            agent=agents,
            project=projects,
            kind=kinds,
        )

    def capture_mask(
        self,
        kinds: Sequence[str],
        agent: str | None,
        projects: Sequence[str] | None,
    ) -> NDArray[np.bool_]:
        """Return a mask of the events of some kinds, of an agent, in some projects.

        Args:
            kinds: The kinds.
            agent: The agent; None for all.
            projects: The projects, '' for none; None for all.
        """
        is_counted = self._rows_with("kind", kinds)
        if agent is not None:
            is_counted &= self._rows_with("agent", [agent])
        if projects is not None:
            is_counted &= self._rows_with("project", projects)
        return is_counted

    def _rows_with(
        self,
        column: str,
        names: Sequence[str],
    ) -> NDArray[np.bool_]:
        """Return a mask of the rows that have one of the names in a column."""
        numbers = self.names.numbers(*names)
        # Looked up by its number, which costs a hundredth of a search among names.
        is_named = np.zeros(len(self.names), np.bool_)
        is_named[numbers] = True
        mask: NDArray[np.bool_] = is_named[self.rows[column]]
        return mask

    def seen_by(self, maintained: MaintainedPart) -> NDArray[np.bool_]:
        """Return a mask of the captures that `MaintainedPart.holds`."""
        event_seqs = self.rows["seq"]
        is_seen: NDArray[np.bool_] = event_seqs <= maintained.upto
        times = self.rows["at"]
        for evening, upto in maintained.upto_by_day.items():
            next_day = (evening + 1) * MICROSECONDS_PER_DAY
            is_in_time = times < next_day
            is_before = event_seqs <= upto
            is_seen |= is_in_time & is_before
        return is_seen
