"""Keys like other keys: by groups of common parts and by rare ones alike, and only the rows that can tell most."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import DAY, NOW
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from theorex_lab.designs.causal import advice
from theorex_lab.designs.causal.items import CausalSettings
from theorex_lab.memory import alike, evidence
from theorex_lab.memory.alike import PartIndex
from theorex_lab.memory.evidence import EvidenceTable

SETS = st.lists(st.sets(st.sampled_from("abcdefg"), min_size=1, max_size=5), max_size=30)
FLOORS = st.sampled_from([0.2, 0.34, 0.5, 1.0])
RUNS = st.lists(
    st.tuples(
        st.sets(st.sampled_from("abcdef"), min_size=1, max_size=4),
        st.sampled_from(["g1", "g2", "g3"]),
        st.booleans(),
        st.integers(0, 90),
    ),
    max_size=60,
)
of_any_size = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(params=[(1, 0), (3, 3), (1_024, 1_000)], ids=["all common", "few", "as shipped"])
def sizes(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """From how many sets a part is common, and up to how many rows of a group others are added to."""
    common, longest = request.param
    monkeypatch.setattr(alike, "_COMMON", common)
    monkeypatch.setattr(evidence, "_LONGEST_FRONT", longest)


@of_any_size
@given(SETS, st.sets(st.sampled_from("abcdefgh"), min_size=1, max_size=6), FLOORS)
def test_groups_and_rare_parts_find_what_comparing_all_finds(
    sizes: None, known: list[set[str]], asked: set[str], floor: float
) -> None:
    index = PartIndex()
    for parts in known:
        index.add(parts)
    numbers, likeness = index.alike(asked, floor)
    compared = {place: len(parts & asked) / len(parts | asked) for place, parts in enumerate(known)}
    expected = {place: value for place, value in compared.items() if value >= floor}
    assert dict(zip(numbers.tolist(), likeness.tolist(), strict=True)) == pytest.approx(expected)


@of_any_size
@given(RUNS, st.sets(st.sampled_from("abcdef"), min_size=1, max_size=4), st.sampled_from([None, 3.0, 30.0]))
def test_advice_from_the_telling_rows_is_that_from_all_rows(
    sizes: None, runs: list[Any], asked: set[str], half_life: float | None
) -> None:
    """Also where runs come after it was asked, which change what is kept in mind of a group."""
    table, chosen = EvidenceTable(), CausalSettings(edge_half_life_days=half_life)
    for place, (parts, gene, success, age) in enumerate(runs):
        table.add(f"causal/signal:{'|'.join(sorted(parts))}", gene, success, at=NOW - age * DAY)
        if place % 5 == 0 or place + 1 == len(runs):
            found = advice.records(table, [*asked], ["g1", "g2", "g3"], chosen, NOW)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(EvidenceTable, "telling", EvidenceTable.alike)
                expected = advice.records(table, [*asked], ["g1", "g2", "g3"], chosen, NOW)
            for gene in found:
                told, same = (np.array(side[gene][:3]) for side in (found, expected))
                assert told == pytest.approx(same)


def test_an_outcome_that_was_taken_back_counts_at_once(sizes: None) -> None:
    table = EvidenceTable()
    for number in range(5):
        table.add(f"p:a|b|{number}", "g", True, at=number)
    rows, _ = table.telling("p:", {"a", "b", "new"}, 0.34)
    for row in range(5):
        table.correct(row, -1)
    rows, _ = table.telling("p:", {"a", "b", "new"}, 0.34)
    assert table.runs(rows).successes.sum() == 0
    assert table.runs(rows).last.max() == 4
