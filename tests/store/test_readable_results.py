"""What results look like when they are printed, or stand at the end of a cell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from conftest import NOW

from theorex_lab import FixedClock, Lab

WRITTEN = "We chose PostgreSQL because of its JSON support"
LONGEST_REPR = 120


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path, clock=FixedClock(NOW)) as opened:
        opened.in_project("shop", new=True).agent("main").write(WRITTEN)
        yield opened


def test_printed_hits_show_their_texts_and_notes(lab: Lab) -> None:
    hits = lab.search("PostgreSQL")
    assert str(hits) == f"{hits[0].score:.2f}  {WRITTEN}"
    assert len(repr(hits)) < LONGEST_REPR
    other = lab.in_project("mill", new=True).search("PostgreSQL")
    first, note = str(other).splitlines()
    assert first == "nothing found"
    assert note.startswith("(nothing is remembered of this project, but of others: ")


def test_times_are_timestamps(lab: Lab) -> None:
    times = lab.search("PostgreSQL").frame["timestamp"]
    assert str(times.dtype) == "datetime64[us, UTC]"
    assert times[0] == pd.Timestamp(NOW, unit="us", tz="UTC")
    nothing = lab.search("zeppelin", vectors="never").frame
    assert len(nothing) == 0
    assert "timestamp" in nothing.columns


def test_a_briefing_is_short_in_a_list_and_whole_when_printed(lab: Lab) -> None:
    briefing = lab.in_project("shop").briefing()
    assert repr(briefing) == f"Briefing(1 lines, {briefing.tokens} tokens)"
    assert str(briefing) == briefing.text


def test_a_maintenance_report_has_a_line_for_each_step(lab: Lab) -> None:
    report = lab.maintain(reviewer="heuristic")
    heading, *lines = str(report).splitlines()
    assert heading == repr(report) == f"MaintenanceReport({len(lines)} steps, all well)"
    for line, step in zip(lines, report.steps, strict=True):
        assert line.split() == ["ok", f"{step.name}:", *step.detail.split()]
    assert "all well" in report._repr_html_()


def test_a_lab_shows_its_projects_in_a_notebook(lab: Lab) -> None:
    html = lab._repr_html_()
    assert "shop" in html
    assert len(repr(lab)) < LONGEST_REPR + len(str(lab.folder))


def test_an_empty_lab_shows_where_it_is(tmp_path: Path) -> None:
    with Lab(tmp_path / "empty") as lab:
        assert lab._repr_html_().startswith("<p>Lab(")
