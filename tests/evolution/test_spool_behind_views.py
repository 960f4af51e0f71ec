"""A spool holds fewer events than the shared journal, and so than its snapshots."""

from __future__ import annotations

from pathlib import Path

import pytest

from theorex_lab.core.clock import FixedClock
from theorex_lab.core.settings import check_settings
from theorex_lab.store.lab import Lab

NOW = 1_770_000_000_000_000


@pytest.mark.parametrize("stays_shared", [True, False])
def test_a_spool_that_ends_before_a_snapshot_is_written_to(
    tmp_path: Path, postgres_url: str, *, stays_shared: bool
) -> None:
    shared = check_settings({"journalUrl": postgres_url, "snapshotAfterEvents": 1})
    clock = FixedClock(NOW)
    with Lab(tmp_path / "a", settings=shared, clock=clock) as lab:
        for number in range(30):
            lab.agent("main").write(f"The till {number} rounds to five cents")
        lab.sync()
    with Lab(tmp_path / "b", settings=shared, clock=clock) as lab:
        lab.agent("main").write("The shop closes at six")
        lab.sync()
        lab.maintain()
        lab.status()
    settings = shared if stays_shared else check_settings({})
    with Lab(tmp_path / "b", settings=settings, clock=clock) as lab:
        lab.agent("main").write("The shop opens at nine")
        assert lab.search("shop opens nine")
