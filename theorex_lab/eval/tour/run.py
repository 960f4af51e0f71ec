"""Give the tour: what a memory would know of a project, and what its history tells."""

from __future__ import annotations

import base64
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from theorex_lab.core.clock import FixedClock
from theorex_lab.core.progress import working
from theorex_lab.eval.plots import tour as plots
from theorex_lab.eval.tour.measured import MeasuredBriefings, measure_briefings
from theorex_lab.eval.tour.page import tour_page
from theorex_lab.eval.tour.repository_findings import (
    RepositoryFindings,
    find_in_repository,
)
from theorex_lab.eval.tour.session_findings import SessionFindings
from theorex_lab.eval.tour.sources import (
    SessionSource,
    lacking_history,
    sessions_at,
    simulated_sessions,
)
from theorex_lab.eval.tour.tables import TourTable, counted, day
from theorex_lab.eval.widgets.explorer import drawn
from theorex_lab.memory.briefing.briefing import Briefing, briefing_of_repository
from theorex_lab.memory.briefing.pitfalls import recurring_pitfalls
from theorex_lab.memory.briefing.session_log import Session, sessions_of
from theorex_lab.store.lab import Lab

_MOST_PLACES = 8  # rows of a picture
_PICTURE_INCHES = (6.8, 4.1)
_FAR_FUTURE = 2**62

Draw = Callable[..., Any]


@dataclass(frozen=True)
class Tour:
    """What a tour found.

    Attributes:
        source: Where it came from, in words.
        briefing: What the next session would read.
        tables: What was found, the most telling first.
        measured: What the briefings of the recorded sessions would have told; None
            without enough sessions.
        pictures: By caption the pictures, as PNG files.
        now: The present of the tour (µs UTC).
        seconds: How long it took.
    """

    source: str
    briefing: Briefing
    tables: tuple[TourTable, ...]
    measured: MeasuredBriefings | None
    pictures: dict[str, bytes]
    now: int
    seconds: float

    def __repr__(self) -> str:
        n_tables = sum(bool(table.rows) for table in self.tables)
        return f"Tour({self.source}: {n_tables} findings)"

    @property
    def text(self) -> str:
        """What a terminal shows."""
        parts = [self.source]
        if self.briefing.text:
            tokens = self.briefing.tokens
            title = f"What the next session would read ({tokens} tokens)"
            parts.append(f"{title}\n\n{self.briefing.text.rstrip()}")
        parts += [table.text for table in self.tables]
        return "\n\n".join(part for part in parts if part)

    @property
    def html(self) -> str:
        """A page that stands alone: it loads nothing and sends nothing.

        Every text from a history is escaped.
        """
        pictures: dict[str, str] = {}
        for caption, picture in self.pictures.items():
            encoded = base64.b64encode(picture)
            pictures[caption] = encoded.decode()
        return tour_page(
            self.source,
            self.briefing,
            self.tables,
            pictures=pictures,
            now=self.now,
        )

    def result(self) -> dict[str, Any]:
        """Return what was found as values for JSON."""
        lines: list[dict[str, str]] = []
        for line in self.briefing.lines:
            lines.append({"section": line.section, "text": line.text})
        measured = self.measured.result() if self.measured else None
        return {
            "source": self.source,
            "briefing": {"tokens": self.briefing.tokens, "lines": lines},
            "findings": {table.key: table.records() for table in self.tables},
            "measured": measured,
            "seconds": round(self.seconds, 2),
        }


@dataclass(frozen=True)
class _Part:
    """What one kind of history gives.

    Attributes:
        source: Where it came from, in words.
        briefing: What the next session would read.
        tables: What was found.
        draws: By caption what draws the pictures.
        now: The last moment of it (µs UTC).
        measured: What its briefings told; None where that was not measured.
    """

    source: str
    briefing: Briefing
    tables: tuple[TourTable, ...]
    draws: dict[str, Draw]
    now: int
    measured: MeasuredBriefings | None = None


def run_tour(
    repository: Path | None = None,
    *,
    transcripts: Path | None = None,
    now: int | None = None,
    progress: bool | None = None,
) -> Tour:
    """Show what a memory would know of a project, and what its history tells.

    Nothing is written: the memory lives in a temporary home.

    Args:
        repository: The git repository. Without it and `transcripts` it is that of the
            current folder; the packaged simulation where that lies in none, or where
            its repository has fewer than 30 commits.
        transcripts: Sessions of coding agents. With both, both are shown.
        now: The present of the tour, in µs UTC; the last moment of the history by
            default.
        progress: Whether there is a bar (None: in a terminal or notebook).

    Raises:
        InvalidInput: There is nothing at the paths, or it cannot be read.

    """
    started = time.perf_counter()
    parts = _parts(repository, transcripts, now, progress)
    tables: list[TourTable] = []
    pictures: dict[str, bytes] = {}
    for part in parts:
        tables += part.tables
        for caption, draw in part.draws.items():
            pictures[caption] = drawn(draw, size=_PICTURE_INCHES)
    first = parts[0]
    return Tour(
        source="; ".join(part.source for part in parts),
        briefing=first.briefing,
        tables=tuple(tables),
        measured=first.measured,
        pictures=pictures,
        now=max(part.now for part in parts),
        seconds=time.perf_counter() - started,
    )


def _parts(
    repository: Path | None,
    transcripts: Path | None,
    now: int | None,
    progress: bool | None,
) -> list[_Part]:
    """Return what each history gives: the sessions first; at least one."""
    parts: list[_Part] = []
    if transcripts is not None:
        sessions = sessions_at(transcripts)
        parts.append(_of_sessions(sessions, now, progress))
        if repository is None:
            return parts
    folder = repository or Path()
    why = lacking_history(folder, is_named=repository is not None)
    if not why:
        parts.append(_of_repository(folder, now))
    if not parts:
        simulation = simulated_sessions(why)
        parts.append(_of_sessions(simulation, now, progress))
    return parts


def _of_sessions(
    source: SessionSource, now: int | None, progress: bool | None
) -> _Part:
    """Return what recorded sessions give."""
    events = source.log.events
    present = now if now is not None else max(event.at for event in events) + 1
    sessions = sessions_of(event for event in events if event.at < present)
    with Lab.temporary(clock=FixedClock(present)) as lab:
        lab.journal.append(events, allow_future=True)
        tokens = lab.settings.context_tokens
        briefing = lab.briefing(tokens=tokens)
    findings = SessionFindings(sessions, present)
    measured = measure_briefings(sessions, tokens=tokens, progress=progress)
    tables = list(findings.tables)
    draws: dict[str, Draw] = {
        "Where the sessions edited files": partial(
            plots.plot_activity, _edits_by_folder(sessions), unit="edits"
        ),
    }
    failure_times = _failure_times(sessions)
    if failure_times:
        draws["Failures that came back in another session"] = partial(
            plots.plot_returns, failure_times
        )
    if measured is not None:
        tables.insert(1, measured.table)
        caption = (
            f"What the briefings of the last {measured.n_replayed} sessions would have"
            " told of three kinds of needs"
        )
        draws[caption] = partial(plots.plot_told, measured.table.rows)
    return _Part(source.description, briefing, tuple(tables), draws, present, measured)


def _of_repository(folder: Path, now: int | None) -> _Part:
    """Return what the history of a repository gives."""
    present = _FAR_FUTURE if now is None else now
    name = folder.resolve().name
    with working(f"reads the git history of {name}"):
        findings = find_in_repository(folder, present)
    if findings is None:
        empty = Briefing("", (), 0, "the history tells too little")
        return _Part(
            f"git history of {name}",
            empty,
            (),
            {},
            now or 0,
        )
    present = now if now is not None else findings.newest_at + 1
    briefing = briefing_of_repository(folder, present, in_haste=False)
    touches = findings.history.touches
    first = day(touches[-1].at)
    last = day(touches[0].at)
    which = "" if findings.history.is_whole else "the newest "
    n_commits = counted(len(touches), "commit")
    source = f"git history of {name}: {which}{n_commits}, {first} to {last}"
    draws: dict[str, Draw] = {
        "Where the commits were": partial(
            plots.plot_activity, _commits_by_area(findings), unit="commits"
        ),
        findings.hotspots.title: partial(
            plots.plot_hotspots, findings.hotspots.rows[:_MOST_PLACES]
        ),
    }
    tables = tuple(findings.tables)
    return _Part(
        source,
        briefing,
        tables,
        draws,
        present,
    )


def _commits_by_area(findings: RepositoryFindings) -> dict[str, list[int]]:
    """Return when commits changed each of the areas of most commits (µs UTC)."""
    times: dict[str, list[int]] = defaultdict(list)
    for touch in findings.work.touches:
        for area in findings.work.areas_of(touch):
            times[f"{area}/"].append(touch.at)
    return _most(times)


def _edits_by_folder(sessions: Sequence[Session]) -> dict[str, list[int]]:
    """Return when files of each of the folders of most edits were edited (µs UTC)."""
    times: dict[str, list[int]] = defaultdict(list)
    for session in sessions:
        for tool in session.tools:
            for path in tool.edits:
                times[_folder(path)].append(tool.at)
    return _most(times)


def _folder(path: str) -> str:
    """Return the first two folders of a path.

    >>> _folder("src/app/till/a.py"), _folder("README.md")
    ('src/app/', 'the root')
    """
    parts = path.split("/")[:-1]
    return f"{'/'.join(parts[:2])}/" if parts else "the root"


def _failure_times(sessions: Sequence[Session]) -> dict[str, list[int]]:
    """Return when each of the failures that came back did so (µs UTC)."""
    times: dict[str, list[int]] = {}
    for pitfall in recurring_pitfalls(sessions).values():
        moments = [call.tool.at for call in pitfall.occurrences]
        failure = pitfall.shown.failure
        times[f"{failure.program}: {failure.complaint}"] = moments
    return _most(times)


def _most(times: dict[str, list[int]]) -> dict[str, list[int]]:
    """Return the places where most happened, those of most first."""
    counts = Counter({name: len(moments) for name, moments in times.items()})
    return {name: times[name] for name, _ in counts.most_common(_MOST_PLACES)}
