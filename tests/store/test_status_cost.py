"""What a status costs, counted in events that are decoded."""

from collections import Counter

import pytest

from theorex_lab import Lab
from theorex_lab.core.clock import FixedClock
from theorex_lab.evolution.maintained import CaptureTimes, waiting_for_maintenance
from theorex_lab.journal.event import new_event
from theorex_lab.journal.sqlite.store import SqliteJournal

NOW = 1_770_000_000_000_000
SECOND = 1_000_000


@pytest.fixture
def decoded(monkeypatch):
    """Count the events that are decoded, by kind."""
    counts = Counter()
    as_written = SqliteJournal._as_written

    def counted(journal, row):
        counts[row[5]] += 1
        return as_written(journal, row)

    monkeypatch.setattr(SqliteJournal, "_as_written", counted)
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
