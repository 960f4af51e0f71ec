"""Counts of uses: the same however the uses are cut into parts, and the same in every
memory that counts them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import DAY, NOW, observation
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab import FixedClock, Lab
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.eval.metrics.access_log import AccessLog, LogReplay
from theorex_lab.eval.replay.event_log import EventLog, Memory
from theorex_lab.memory.counts import Counts
from theorex_lab.memory.decay import COUNT_HALF_LIVES_DAYS

ITEMS = 4
uses = st.lists(
    st.tuples(st.integers(0, ITEMS - 1), st.integers(1, 3), st.integers(0, 60 * DAY)),
    min_size=1,
)


@given(uses, st.integers(1, 5))
def test_counts_are_sums_over_the_uses_however_they_are_cut(
    drawn: list[tuple[int, int, int]], size: int
) -> None:
    counts = Counts.empty(ITEMS)
    for start in range(0, len(drawn), size):
        rows, times, at = np.array(drawn[start : start + size], np.int64).T
        counts.take_in(rows, times, at)
    for row in range(ITEMS):
        own = [(times, at) for item, times, at in drawn if item == row]
        assert counts.count[row] == sum(times for times, _ in own)
        if own:
            last = max(at for _, at in own)
            assert (counts.first[row], counts.last[row]) == (
                min(at for _, at in own),
                last,
            )
            ages = np.array([(last - at) / DAY for _, at in own])
            fading = [
                np.array([times for times, _ in own]) @ np.exp2(-ages / half)
                for half in COUNT_HALF_LIVES_DAYS
            ]
            assert counts.decayed[row] == pytest.approx(np.array(fading))


def test_the_axon_and_both_logs_count_alike(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    texts = [
        (
            NOW + n * 11 * DAY // 7,
            [f"item {k}" for k in rng.permutation(6)[: 1 + n % 3]],
        )
        for n in range(40)
    ]
    rows = [(at, name, at, False) for at, names in texts for name in names]
    last = NOW + 70 * DAY
    seen = LogReplay(AccessLog.of([*rows, (last, "item 0", None, False)])).snapshots(
        [40]
    )
    moment = Memory(EventLog.of(AccessLog.of(rows)))
    moment.take_in(last)
    with Lab(tmp_path, clock=FixedClock(last)) as lab:
        lab.journal.append(
            [observation("text", labels=names, at=at) for at, names in texts]
        )
        axon = lab.views.get(Axon)
        columns = axon.concept_counts.columns(last)
    for name in ("age_days", "first_age_days", "count", "decayed_counts"):
        known = np.sort(columns[name], axis=0)
        assert np.sort(moment.columns[name], axis=0) == pytest.approx(known, rel=1e-12)
        assert np.sort(getattr(seen.items, name), axis=0) == pytest.approx(
            known, rel=1e-12
        )
