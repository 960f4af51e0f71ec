"""Needed next: one measure, which the gate and the fits compute alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import DAY, NOW, observation
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab import FixedClock, Lab, Settings
from theorex_lab.core.ids import concept_id
from theorex_lab.designs.theorex.scores import law_of
from theorex_lab.designs.theorex.upkeep import MemoryReplay, needs, weighted_mean
from theorex_lab.eval.metrics.access_log import (
    AccessLog,
    LogReplay,
    score_snapshots,
    split,
)
from theorex_lab.evolution.outcomes import outcome_event
from theorex_lab.memory.briefing.token_budget import HEADING_TOKENS
from theorex_lab.memory.decay import rank_order
from theorex_lab.memory.next_use import Candidates, needed_next

# By their ids, since these order what is equal, and a log numbers its items in the
# order of their first use.
LABELS = sorted((f"topic {n}" + n % 5 * " more" for n in range(14)), key=concept_id)
Texts = list[tuple[int, list[str]]]


def _texts(most: int) -> Texts:
    """Each label once by itself, and then texts of up to `most` labels each."""
    rng = np.random.default_rng(most)
    first = [(NOW + n * DAY, [label]) for n, label in enumerate(LABELS)]
    later = [
        (
            NOW + (14 + n) * DAY + int(rng.integers(DAY)),
            [
                LABELS[k]
                for k in set(rng.geometric(0.2, int(rng.integers(1, most + 1))) % 14)
            ],
        )
        for n in range(60)
    ]
    return [*first, *later]


def _log(texts: Texts) -> AccessLog:
    return AccessLog.of(
        (at, label.title(), number, False)
        for number, (at, labels) in enumerate(texts)
        for label in labels
    )


def _lab(home: Path, texts: Texts) -> Lab:
    """A home in which an outcome needs what the next text names."""
    lab = Lab(home, clock=FixedClock(texts[-1][0]))
    for at, labels in texts:
        ids = [concept_id(label) for label in labels]
        outcome = outcome_event(
            agent="main",
            decision="went on",
            result="as it was",
            success=True,
            settings=Settings(),
            at=at,
            concept_ids=ids,
        )
        lab.journal.append([outcome, observation("text", labels=labels, at=at)])
    return lab


@pytest.mark.parametrize("context_tokens", [HEADING_TOKENS + 30, 2_000])
@pytest.mark.parametrize(
    ("changes", "most"),
    [
        ({"decay_law": "recency"}, 4),
        ({"decay_law": "frequency"}, 4),
        ({"decay_law": "power"}, 4),
        ({"decay_law": "constant"}, 4),
        ({"decay_law": "product", "half_life_days": 3.0}, 1),
        ({"decay_law": "weighted_sum"}, 1),
    ],
)
def test_the_gate_and_the_fits_give_one_number(
    changes: dict[str, Any], most: int, context_tokens: int, tmp_path: Path
) -> None:
    settings = Settings(**changes, context_tokens=context_tokens, mild_threshold=0.0)
    texts = _texts(most)
    log = _log(texts)
    _, asked = split(log)
    law = law_of(settings)
    snapshots = LogReplay(log).snapshots(asked)
    tuned = score_snapshots(
        snapshots, law.raw(snapshots.items), context_tokens=context_tokens
    )[0].mean()
    with _lab(tmp_path, texts) as lab:
        times = {texts[event][0] for event in asked.tolist()}
        wanted = [need for need in needs(lab.views) if need.at in times]
        gated, n = weighted_mean(
            MemoryReplay(lab.journal, context_tokens=context_tokens).scores(
                wanted, [settings]
            ),
            wanted,
        )
    assert n == len(asked)
    assert gated[0] == pytest.approx(tuned, abs=1e-12)
    assert 0.05 < tuned < 0.95


rows = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(0, 2), st.integers(0, 2), st.integers(4, 30)
    ),
    min_size=1,
    max_size=30,
)


@given(rows, st.integers(0, 200), st.data())
def test_ranks_and_budget_are_those_of_the_whole_order(
    drawn: list[tuple[int, int, int, int]], room: int, data: st.DataObject
) -> None:
    """Counting what comes before an item gives its place in the order, and the lines
    before it spend the budget.
    """
    raw, count, last, tokens = np.array(drawn, np.int64).T
    ids = np.random.default_rng(len(drawn)).permutation(len(drawn))
    wanted = np.array(
        sorted(data.draw(st.sets(st.sampled_from(range(len(drawn))), min_size=1))),
        np.intp,
    )
    standing = needed_next(
        Candidates(raw / 4.0, count, last, ids, tokens), wanted, HEADING_TOKENS + room
    )
    order = rank_order(raw, count, last, ids)
    place = np.argsort(order)
    spent = np.cumsum(tokens[order])[place]
    assert standing.ranks.tolist() == (place[wanted] + 1).tolist()
    assert standing.inside.tolist() == (spent[wanted] <= room).tolist()
    importance = raw / 4.0
    shown = wanted[(spent[wanted] <= room) & (importance[wanted] >= 0.5)]
    assert standing.score(importance, 0.5) == (
        1.0 / (place[shown].min() + 1) if len(shown) else 0.0
    )


def test_what_names_too_much_at_once_is_not_asked() -> None:
    many = [(20 * DAY, f"i{n}", "bulk", False) for n in range(21)]
    log = AccessLog.of(
        [*((day * DAY, f"i{day % 2}", None, False) for day in range(20)), *many]
    )
    assert len(split(log)[1]) == 6
