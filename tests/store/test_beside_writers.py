"""Long work ends beside a process that writes all the time, and leaves nothing undone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, observation
from faults import opened
from page_memory import remember

from theorex_lab import Lab
from theorex_lab.evolution.maintained import waiting_for_maintenance
from theorex_lab.journal.sqlite.store import SqliteJournal

# Far more than the work itself asks for the end of the journal.
_ENDLESS = 20_000


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with opened(tmp_path / "home") as lab:
        remember(lab)
        yield lab


class SteadyWriter:
    """Another process that writes an event whenever the end of the journal is asked for.

    So work that goes on until nothing new is there would never end.
    """

    def __init__(self, lab: Lab) -> None:
        self.written = 0
        self._journal = SqliteJournal(lab.folder / "theorex.db", clock=lab.clock)
        self._is_writing = False

    def writes(self, reader: SqliteJournal) -> None:
        """Write, unless whoever reads holds up all writers."""
        if self._is_writing or reader.connection().in_transaction:
            return
        self._is_writing = True
        try:
            self.written += 1
            assert self.written < _ENDLESS, "the work runs after the writer"
            text = f"The till {self.written} is counted on Monday."
            self._journal.append([observation(text, at=NOW)])
        finally:
            self._is_writing = False

    def close(self) -> None:
        self._journal.close()


@pytest.fixture
def writer(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[SteadyWriter]:
    writer = SteadyWriter(lab)
    last_seq = SqliteJournal.last_seq

    def last_seq_and_more(journal: SqliteJournal) -> int:
        last = last_seq(journal)
        writer.writes(journal)
        return last

    monkeypatch.setattr(SqliteJournal, "last_seq", last_seq_and_more)
    yield writer
    monkeypatch.setattr(SqliteJournal, "last_seq", last_seq)
    writer.close()


def back_up(lab: Lab) -> None:
    lab.backup(lab.folder.parent / "copy.backup")
    lab.journal.last_seq()


WORK: dict[str, Callable[[Lab], Any]] = {
    "backup": back_up,
    "briefing": lambda lab: lab.briefing(),
    "export": lambda lab: lab.export_files(lab.folder.parent / "files"),
    "maintain": lambda lab: lab.maintain(reviewer="heuristic"),
    "replay": lambda lab: lab.replay(),
    "search": lambda lab: lab.search("till"),
    "verify": lambda lab: lab.verify(),
}


@pytest.mark.parametrize("name", sorted(WORK))
def test_work_ends_beside_a_steady_writer(
    lab: Lab, writer: SteadyWriter, name: str
) -> None:
    done = WORK[name](lab)
    assert writer.written > 0
    if name == "maintain":
        assert done.ok, done


def test_what_was_captured_meanwhile_waits_for_the_next_maintenance(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    review = Lab.review_failures

    def review_while_a_session_goes_on(self: Lab, **how: Any) -> Any:
        late = "Paint the door of the shop green."
        self.take_prompt(late, session="late", folder=self.folder)
        return review(self, **how)

    assert waiting_for_maintenance(lab.home).n
    monkeypatch.setattr(Lab, "review_failures", review_while_a_session_goes_on)
    assert lab.maintain(reviewer="heuristic").ok
    monkeypatch.undo()
    assert waiting_for_maintenance(lab.home).n == 1
    assert lab.maintain(reviewer="heuristic").ok
    assert waiting_for_maintenance(lab.home).n == 0
    before = lab.journal.last_seq()
    assert lab.maintain(reviewer="heuristic").ok
    assert {event.kind for event in lab.journal.tail(before)} <= {"lease"}
    assert lab.verify().ok


def test_verify_says_how_far_it_is(
    lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    before = lab.journal.last_seq()
    verification = lab.verify(progress=True)
    shown = capsys.readouterr().err
    assert "verify" in shown
    assert f"journal, {before} events" in shown
    assert f"{1 + len(verification.views)}/{1 + len(verification.views)}" in shown
    assert verification.upto == before
