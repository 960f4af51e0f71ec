"""What a status costs, counted in events that are decoded."""

import json
import traceback
from collections import Counter

import pytest
from click.testing import CliRunner

from theorex_lab import Lab, Settings
from theorex_lab.app.cli import memory, theorex
from theorex_lab.core.clock import MICROSECONDS_PER_DAY, FixedClock
from theorex_lab.designs.theorex import lifecycle
from theorex_lab.evolution.holdings import status_views
from theorex_lab.evolution.maintained import (
    CaptureTimes,
    MaintenanceReports,
    waiting_for_maintenance,
)
from theorex_lab.journal.event import new_event
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.journal.view import View, set_aside_view

NOW = 1_770_000_000_000_000
SECOND = 1_000_000


@pytest.fixture
def decoded(monkeypatch):
    """Count the events that are decoded, by kind."""
    counts = Counter()
    of_row = SqliteJournal._decoded

    def counted(journal, row):
        counts[row[5]] += 1
        return of_row(journal, row)

    monkeypatch.setattr(SqliteJournal, "_decoded", counted)
    return counts


def lab_of(folder, n_prompts):
    lab = Lab(folder, clock=FixedClock(NOW))
    prompts = []
    for number in range(n_prompts):
        text = f"look at till {number}"
        body = {"text": text, "source": "user", "project": f"p{number % 2}"}
        at = NOW - (n_prompts - number) * SECOND
        prompts.append(new_event("prompt", body, agent="main", session="s", at=at))
    lab.journal.append(prompts)
    return lab


def test_what_waits_for_maintenance_is_counted_without_reading_it_again(
    tmp_path, decoded
):
    lab = lab_of(tmp_path, 40)
    assert waiting_for_maintenance(lab.home).n == 40
    assert waiting_for_maintenance(lab.in_project("p1").home).n == 20
    decoded.clear()
    assert waiting_for_maintenance(lab.home).n == 40
    assert waiting_for_maintenance(lab.home, "sage").n == 0
    assert not decoded
    lab.views.snapshot(lab.views.get(CaptureTimes))
    lab.close()
    with Lab(tmp_path, clock=FixedClock(NOW)) as reopened:
        assert waiting_for_maintenance(reopened.home).n == 40
        assert len(reopened.views.get(CaptureTimes).rows) == 40
    assert not decoded


def test_a_status_reads_nothing_of_the_journal_before_its_snapshots(
    tmp_path, monkeypatch
):
    with lab_of(tmp_path, 40) as lab:
        report = {"upto": 30, "steps": [], "fixes": 0, "gate": []}
        lab.journal.append([new_event("nightly", report, agent="scanner", at=NOW)])
        last = lab.journal.last_seq()
        day = NOW // MICROSECONDS_PER_DAY
        replayed = {"day": day, "is_quiet": False, "upto": 35, "events": 0}
        body = report | {"replayed": replayed}
        lab.journal.append([new_event("nightly", body, agent="scanner", at=NOW)])
        assert waiting_for_maintenance(lab.home).n == 5
        for kind in status_views(lab.home):
            lab.views.snapshot(lab.views.get(kind))
    starts = []
    tail = SqliteJournal.tail
    outlines = SqliteJournal.outlines

    def note(journal, after):
        # What an earlier test left running may read another journal meanwhile.
        if journal.path.is_relative_to(tmp_path):
            starts.append((after, "".join(traceback.format_stack(limit=30))))

    def noted(journal, after, **options):
        note(journal, after)
        return tail(journal, after, **options)

    def noted_outlines(journal, after, **options):
        note(journal, after)
        return outlines(journal, after, **options)

    with Lab(tmp_path, clock=FixedClock(NOW)) as reopened:
        reopened.journal.places()
        monkeypatch.setattr(SqliteJournal, "tail", noted)
        monkeypatch.setattr(SqliteJournal, "outlines", noted_outlines)
        reopened.status()
        assert waiting_for_maintenance(reopened.home).n == 5
    too_early = [stack for after, stack in starts if after < last]
    # The directory is folded of its own, where a journal is read by it.
    assert not [stack for stack in too_early if "in _directory\n" not in stack]


def test_a_view_that_has_no_snapshot_is_folded_from_its_own_kinds_alone(
    tmp_path, decoded
):
    with lab_of(tmp_path, 40) as lab:
        report = {"upto": 30, "steps": [], "fixes": 0, "gate": []}
        lab.journal.append([new_event("nightly", report, agent="scanner", at=NOW)])
        lab.views.snapshot(lab.views.get(CaptureTimes))
    with Lab(tmp_path, clock=FixedClock(NOW)) as reopened:
        decoded.clear()
        reopened.views.open_together([CaptureTimes, MaintenanceReports])
        assert decoded == {"nightly": 1}
        assert waiting_for_maintenance(reopened.home).n == 10


@pytest.mark.parametrize("active", [("sessions",), ("dreams", "research")])
def test_a_status_opens_its_views_together_and_no_other(tmp_path, active, monkeypatch):
    # Other tests declare kinds without fields, which the directory may pass over.
    monkeypatch.setattr("theorex_lab.journal.event.undeclared_kinds", set)
    settings = Settings(active_designs=active)
    lab_of(tmp_path, 40).close()
    with Lab(tmp_path, clock=FixedClock(NOW), settings=settings) as lab:
        lab.status()
        opened = set(lab.views._open)
        assert opened == set(status_views(lab.home))
        every_view = {set_aside_view(), *lab._views()}
        assert opened <= every_view
        for kind in every_view - opened:
            lab.views.get(kind)
        assert lab.status()["events"] == 40


def test_a_status_folds_nothing_of_designs_that_nobody_made_active(tmp_path):
    with lab_of(tmp_path, 40) as lab:
        status = lab.status()
        unasked = set[type[View]]()
        for design in lab.home.designs:
            if design.status_views is None:
                continue
            if_active = set(design.status_views(True))
            unasked |= if_active.difference(design.status_views(False))
        assert {kind.name for kind in unasked} == {"trajectories", "research_runs"}
        assert not unasked & set(lab.views._open)
        assert set(status["dreams"]) == {"strategies", "cycles"}
    active = Settings(active_designs=("dreams", "research"))
    with Lab(tmp_path, clock=FixedClock(NOW), settings=active) as lab:
        counts = lab.status()["dreams"]
        assert unasked <= set(lab.views._open)
        assert counts["trajectories"] >= counts["dreamt"] == 0


def test_a_status_reads_no_texts_to_count_those_with_vectors(tmp_path, monkeypatch):
    with lab_of(tmp_path, 3):
        pass
    words = ["status", "--json", "--home", str(tmp_path)]
    few = json.loads(CliRunner().invoke(theorex, words).stdout)
    assert "texts embedded" in few["vectors"]
    with Lab(tmp_path, clock=FixedClock(NOW)) as lab:
        monkeypatch.setattr(memory, "_READ_FOR_STATUS", 2)
        assert lab.views.n_behind(lab.home.item_view) == 3
        lab.search("till")
        assert lab.views.n_behind(lab.home.item_view) < 3
    many = json.loads(CliRunner().invoke(theorex, words).stdout)
    assert many["vectors"] == "texts with vectors are counted after the next search"
    assert not [row for row in many["waits"] if "vector" in row["what"]]


def test_no_status_behind_a_large_scan_reads_it(tmp_path, decoded, monkeypatch):
    clock = FixedClock(NOW)
    with Lab(tmp_path, clock=clock) as lab:
        for number in range(8):
            lab.agent("main").write(f"The till {number} prints a receipt.")
        lab.status()
        clock.advance(days=400)
        monkeypatch.setattr(lifecycle, "_MANY_CHANGES", 1)
        scan = lab.theorex.scan()
        assert scan.slept > 0
        numbers = lab.status()
    with Lab(tmp_path, clock=clock) as lab:
        decoded.clear()
        assert lab.status() == numbers
        assert decoded["scan"] == 0
    # A small one is read by whoever comes.
    with Lab(tmp_path, clock=clock) as lab:
        clock.advance(days=400)
        lab.agent("main").write("The till 3 prints a receipt.")
        monkeypatch.setattr(lifecycle, "_MANY_CHANGES", 50_000)
        lab.theorex.scan()
    with Lab(tmp_path, clock=clock) as lab:
        decoded.clear()
        lab.status()
        assert decoded["scan"] == 1
