"""What a session starts with, made of the recorded sessions of a project or kept.

The lines of a large project are made once a day as long as nothing is recorded there,
whatever processes ask for them. Their weights fall by the same share from hour to hour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.lazy import LazyModule
from theorex_lab.journal.kept_results import ResultQuery, keep_result, kept_result
from theorex_lab.memory.briefing.candidates import Candidate
from theorex_lab.memory.briefing.rule_sayings import Saying, sayings_of
from theorex_lab.memory.briefing.session_log import (
    KINDS,
    Session,
    holds_sessions,
    recorded_sessions,
    seq_of_sessions,
)
from theorex_lab.memory.contract import Home

# What makes lines is not imported where they are kept: that takes a tenth of a briefing.
if TYPE_CHECKING:
    from theorex_lab.memory.briefing import compose
else:
    compose = LazyModule("theorex_lab.memory.briefing.compose")

# Raised where the lines or sayings that are made of the same sessions change.
LINES_CODE = 1
SAYINGS_CODE = 1


class RecordedStart:
    """What the recorded sessions of a home's project give to one that starts.

    Attributes:
        has_sessions: Whether anything was recorded.
    """

    def __init__(self, home: Home, now: int) -> None:
        """Take what is kept of the lines, where the sessions are not in memory.

        Args:
            home: The home.
            now: The time of the start (µs UTC).
        """
        self._home = home
        self._now = now
        self._last_seq = home.journal.last_seq()
        self._kept_lines: list[Any] | None = None
        self._read_sayings: list[Saying] | None = None
        if not holds_sessions(home, now):
            self._kept_lines = self._kept("start_lines", LINES_CODE, self._day)
        self.has_sessions = self._kept_lines is not None or bool(self.sessions)

    @property
    def _day(self) -> str:
        return str(self._now // MICROSECONDS_PER_DAY)

    @cached_property
    def sessions(self) -> list[Session]:
        """The sessions, which are read where nothing is kept of them."""
        return recorded_sessions(self._home, self._now)

    @cached_property
    def lines(self) -> list[Candidate]:
        """The lines that a session may start with."""
        if self._kept_lines is not None:
            return [line_of_json_row(line) for line in self._kept_lines]
        # Where all projects are briefed, nobody asks for the sayings again.
        sayings = self._sayings_once if self._home.project else None
        lines = compose.kept_start_candidates(self.sessions, self._now, sayings)
        self._keep("start_lines", LINES_CODE, lines, self._day)
        return lines

    @cached_property
    def sayings(self) -> list[Saying]:
        """What may state a rule in the sessions."""
        if self._kept_lines is not None:
            rows = self._kept("own_sayings", SAYINGS_CODE)
            if rows is not None:
                return sayings_of_json_rows(rows)
        sayings = self._sayings_once()
        self._keep("own_sayings", SAYINGS_CODE, sayings)
        return sayings

    def _sayings_once(self) -> list[Saying]:
        """Return what may state a rule, read from the sessions at the first call."""
        if self._read_sayings is None:
            self._read_sayings = list(sayings_of(self.sessions))
        return self._read_sayings

    def _query(self, name: str, code: int, key: str) -> ResultQuery:
        projects = None
        if self._home.projects is not None:
            projects = (*self._home.projects, "")
        return ResultQuery(
            name=name,
            code=code,
            kinds=KINDS,
            projects=projects,
            key=key,
        )

    def _kept(self, name: str, code: int, key: str = "") -> list[Any] | None:
        """Return a result that is kept, where all of it had happened by now."""
        query = self._query(name, code, key)
        result = kept_result(self._home.views, query, self._last_seq)
        if result is None or result["newest_at"] > self._now:
            return None
        rows: list[Any] = result["rows"]
        return rows

    def _keep(
        self,
        name: str,
        code: int,
        rows: Sequence[Candidate | Saying],
        key: str = "",
    ) -> None:
        """Keep a result of many steps of sessions, all of which are past."""
        n_steps = sum(len(session.steps) for session in self.sessions)
        is_large = n_steps >= self._home.views.snapshot_after_events
        # Where more was recorded before the sessions were read, an erasure of that would
        # not find what is kept by its seq.
        is_of_seq = seq_of_sessions(self._home, self._now) == self._last_seq
        if not is_large or not is_of_seq:
            return
        newest_at = max(session.end for session in self.sessions)
        result = {"newest_at": newest_at, "rows": [as_json_row(row) for row in rows]}
        query = self._query(name, code, key)
        keep_result(
            self._home.views,
            query,
            self._last_seq,
            result,
        )


def as_json_row(row: Candidate | Saying) -> dict[str, Any]:
    """Return a line or saying as JSON has it."""
    return asdict(row) | {"words": sorted(row.words), "features": dict(row.features)}


def line_of_json_row(row: Mapping[str, Any]) -> Candidate:
    """Return the line that `as_json_row` was given."""
    words = frozenset(row["words"])
    return Candidate(**{**row, "words": words, "events": tuple(row["events"])})


def sayings_of_json_rows(rows: Sequence[Mapping[str, Any]]) -> list[Saying]:
    """Return the sayings that `as_json_row` was given."""
    return [Saying(**{**row, "words": frozenset(row["words"])}) for row in rows]
