"""The confidence matrix: golden scores, who is usable, who is best, and how it is
handed out.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys

import pandas as pd
import pytest
import yaml
from conftest import DAY, NOW
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab.eval.datasets.sources import DATA_VARIABLE, data_folder
from theorex_lab.memory.evidence import QUERY_TYPES, EvidenceTable
from theorex_lab.routing.confidence import Cell, MatrixResult, best, matrix


def filled(*cells: tuple[str, str, int, int, float | None]) -> EvidenceTable:
    """Evidence of (query type, model, successes, n, latency_ms) each."""
    table = EvidenceTable()
    for query_type, model, successes, n, latency_ms in cells:
        for number in range(n):
            table.add(
                f"query_type/{query_type}",
                model,
                number < successes,
                at=NOW,
                latency_ms=latency_ms,
                tokens=40,
            )
    return table


def scores(table: EvidenceTable, **how: float) -> dict[tuple[str, str], float]:
    return {
        (cell.query_type, cell.model): cell.score
        for cell in matrix(table.cells(), **{"success_weight": 0.6, **how})
    }


def test_golden_scores() -> None:
    table = filled(
        ("code", "a", 18, 20, 2_000),
        ("code", "b", 16, 20, 500),
        ("code", "c", 19, 20, 1_250),
    )
    assert list(scores(table).values()) == pytest.approx([0.54, 0.88, 0.77])
    assert list(scores(table, success_weight=1).values()) == pytest.approx(
        [0.9, 0.8, 0.95]
    )
    assert list(scores(table, success_weight=0).values()) == pytest.approx(
        [0.0, 1.0, 0.5]
    )


def test_latency_is_scaled_within_its_type_over_usable_cells() -> None:
    table = filled(
        ("code", "a", 5, 5, 100),
        ("code", "b", 5, 5, 200),
        ("code", "starved", 4, 4, 1),
        ("code", "slow", 4, 4, 9_999),
        ("math", "a", 5, 5, 9_000),
        ("safety", "a", 5, 5, 7),
        ("safety", "b", 0, 5, 7),
    )
    found = scores(table)
    assert found["code", "a"] == pytest.approx(1.0)
    assert found["code", "b"] == pytest.approx(0.6)
    assert found["math", "a"] == pytest.approx(1.0), "one cell: the fastest"
    assert (found["safety", "a"], found["safety", "b"]) == pytest.approx((1.0, 0.4)), (
        "equal ones: all the fastest"
    )
    assert math.isnan(found["code", "starved"])


def test_a_cell_without_latency_earns_nothing_for_speed() -> None:
    table = filled(
        ("code", "silent", 5, 5, None),
        ("code", "slow", 5, 5, 8_000),
        ("code", "slower", 5, 5, 9_000),
    )
    found = scores(table)
    assert (
        found["code", "silent"]
        == pytest.approx(0.6)
        == pytest.approx(found["code", "slower"])
    )
    assert found["code", "slow"] == pytest.approx(1.0)
    assert scores(filled(("code", "silent", 3, 5, None)))[
        "code", "silent"
    ] == pytest.approx(0.36)


def test_a_failed_call_does_not_make_a_model_fast() -> None:
    table = filled(("code", "a", 10, 10, 1_000), ("code", "b", 10, 10, 900))
    for _ in range(10):
        table.add("query_type/code", "a", False, at=NOW)
    found = {cell.model: cell for cell in matrix(table.cells(), success_weight=0.6)}
    assert found["a"].latency_ms == 1_000
    assert found["a"].score == pytest.approx(0.3)


def test_a_starved_leader_does_not_hide_the_runner_up() -> None:
    found = matrix(
        filled(
            ("code", "leader", 4, 4, 1), ("code", "runner-up", 30, 50, 5_000)
        ).cells()
    )
    leader, runner_up = found
    assert (leader.usable, runner_up.usable) == (False, True)
    assert best(found, "code") == runner_up
    assert best(matrix(filled(("code", "leader", 4, 4, 1)).cells()), "code") is None
    assert (
        best(matrix(filled(("code", "leader", 5, 5, 1)).cells()), "code") is not None
    ), "five runs are enough"


def test_best_by_score_then_runs_then_name() -> None:
    found = matrix(
        filled(
            ("code", "b", 6, 6, 9), ("code", "a", 6, 6, 9), ("code", "c", 9, 9, 9)
        ).cells()
    )
    assert [
        cell.model
        for cell in (best(found, "code"), best(found, "code", {"a", "b"}))
        if cell
    ] == ["c", "a"]
    assert best(found, "code", {"unknown"}) is None
    assert best(found, "code", []) is None


def test_speed_then_cost_break_ties_of_success_and_nothing_else() -> None:
    table = filled(
        ("code", "slow", 90, 100, 9_000),
        ("code", "quick", 88, 100, 100),
        ("code", "quickest", 60, 100, 1),
    )
    assert chosen_of(table) == "slow", "100 runs do not show that 2 points are nothing"
    many = filled(
        ("code", "slow", 9_000, 10_000, 9_000),
        ("code", "quick", 8_900, 10_000, 100),
        ("code", "quickest", 6_000, 10_000, 1),
    )
    assert chosen_of(many) == "quick", "10,000 show that it is one, and not 30"
    assert (
        chosen_of(
            filled(("code", "slow", 90, 100, 9_000), ("code", "quick", 70, 100, 100))
        )
        == "slow"
    )
    unknown = filled(("code", "silent", 9, 10, None), ("code", "timed", 9, 10, 5_000))
    assert chosen_of(unknown) == "timed", (
        "a latency that is not known counts as the slowest"
    )
    paid = EvidenceTable()
    for model, cost in (("dear", 0.3), ("cheap", 0.1)):
        for _ in range(10):
            paid.add("query_type/code", model, True, at=NOW, latency_ms=10, cost=cost)
    assert chosen_of(paid) == "cheap"


def chosen_of(table: EvidenceTable) -> str | None:
    found = best(matrix(table.cells()), "code")
    return found and found.model


@pytest.mark.skipif(
    not os.environ.get(DATA_VARIABLE),
    reason=f"{DATA_VARIABLE} names no folder with the public sets",
)
def test_success_first_loses_little_of_the_pass_rate_of_real_coding_models() -> None:
    """Of the boards of aider that time their runs: pass rate lost to the best model, in
    points.
    """
    folder = data_folder()
    assert folder is not None
    files = sorted((folder / "aider_leaderboards").glob("*.yml"))
    rows = [
        {"board": file.stem, **run}
        for file in files
        for run in yaml.safe_load(file.read_text())
    ]
    table = pd.DataFrame(rows).dropna(subset=["seconds_per_case", "pass_rate_2"])
    lost: dict[float, list[float]] = {0.6: [], 1.0: []}
    for _, board in table[table.seconds_per_case > 0].groupby("board"):
        evidence = EvidenceTable()
        rates = (board.pass_rate_2 / 100 * board.test_cases).round() / board.test_cases
        for name, rate, cases, seconds in zip(
            board.dirname, rates, board.test_cases, board.seconds_per_case, strict=True
        ):
            hits = round(rate * cases)
            for number in range(int(cases)):
                evidence.add(
                    "query_type/code",
                    name,
                    number < hits,
                    at=NOW,
                    latency_ms=1_000 * seconds,
                )
        for weight, found in lost.items():
            cells = matrix(evidence.cells(), success_weight=weight)
            picked = best(cells, "code", success_weight=weight)
            assert picked is not None
            found.append(
                100 * (max(cell.success_rate for cell in cells) - picked.success_rate)
            )
    told = {
        weight: [round(each, 1) for each in found] for weight, found in lost.items()
    }
    sys.stdout.write(f"points lost on each board, by the weight of success: {told}\n")
    assert max(lost[1.0]) < 5 < max(lost[0.6])
    assert sum(lost[1.0]) < sum(lost[0.6])


def test_an_unknown_type_is_decided_by_the_general_cells() -> None:
    found = matrix(filled(("general", "g", 5, 5, 9), ("poetry", "p", 5, 5, 1)).cells())
    for query_type in ("poetry", "general", ""):
        cell = best(found, query_type)
        assert cell is not None
        assert cell.model == "g"
    assert best(found, "code") is None, (
        "a type of the seven without evidence is not decided by others"
    )


def test_interval_and_confidence() -> None:
    cell = matrix(filled(("code", "a", 9, 10, 5)).cells())[0]
    assert (cell.ci_low, cell.ci_high) == pytest.approx((0.59584, 0.98212), abs=1e-5)
    assert (cell.n, cell.confidence, cell.tokens, cell.success_rate) == (
        10.0,
        0.5,
        40.0,
        0.9,
    )
    assert matrix(filled(("code", "a", 9, 90, 5)).cells())[0].confidence == 1.0


def test_aged_evidence_becomes_unusable() -> None:
    table = filled(("code", "a", 8, 8, 5))
    fresh, aged = (
        matrix(table.cells(now=NOW + days * DAY, half_life_days=7))[0]
        for days in (0, 7)
    )
    assert (fresh.usable, aged.usable) == (True, False)
    assert (aged.n, aged.success_rate) == (4.0, 1.0)
    assert aged.ci_low < fresh.ci_low
    nothing = matrix(
        table.cells(now=NOW + 9_000 * DAY, half_life_days=1), min_samples=0
    )[0]
    assert (nothing.usable, nothing.ci_low, nothing.ci_high) == (False, 0.0, 1.0)


def test_other_keys_are_no_cells() -> None:
    table = filled(("code", "a", 5, 5, 50))
    table.add("signal/code", "a", True, at=NOW, latency_ms=1)
    assert [cell.query_type for cell in matrix(table.cells())] == ["code"]


def test_frame_rows_and_html() -> None:
    found = matrix(filled(("math", "<b>", 1, 2, None), ("code", "a", 5, 5, 10)).cells())
    names = [
        "query_type",
        "model",
        "n",
        "success_rate",
        "ci_low",
        "ci_high",
        "latency_ms",
        "tokens",
        "cost",
        "score",
        "confidence",
        "usable",
    ]
    assert list(found.frame.columns) == names == list(Cell._fields)
    assert list(MatrixResult([]).frame.columns) == names
    rows = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert [row["query_type"] for row in rows] == ["code", "math"]
    assert (rows[1]["score"], rows[1]["latency_ms"], rows[1]["usable"]) == (
        None,
        None,
        False,
    )
    assert found.frame["score"].isna().tolist() == [False, True]
    html = found._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert repr(found) == "MatrixResult(2 cells, 1 of them usable)"


def test_a_matrix_imports_no_pandas() -> None:
    program = (
        "import sys; from theorex_lab.memory.evidence import EvidenceTable; from"
        " theorex_lab.routing.confidence import matrix;"
        " matrix(EvidenceTable().cells()); sys.exit('pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


counts = st.integers(0, 12).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
cells = st.lists(
    st.tuples(
        st.sampled_from([*QUERY_TYPES, "poetry"]),
        st.sampled_from("abc"),
        counts,
        st.none() | st.floats(1, 1e5),
    ),
    max_size=12,
)


@given(cells, st.floats(0, 1), st.integers(0, 12))
def test_scores_are_shares_and_the_best_is_usable(
    drawn: list[tuple[str, str, tuple[int, int], float | None]],
    weight: float,
    min_samples: int,
) -> None:
    table = filled(
        *(
            (query_type, model, *count, latency)
            for query_type, model, count, latency in drawn
        )
    )
    found = matrix(table.cells(), min_samples=min_samples, success_weight=weight)
    assert [cell[:2] for cell in found] == sorted(cell[:2] for cell in found)
    for cell in found:
        assert cell.usable == (cell.n >= min_samples)
        assert math.isnan(cell.score) != cell.usable
        assert not cell.usable or -1e-12 <= cell.score <= 1 + 1e-12
        assert cell.ci_low - 1e-12 <= cell.success_rate <= cell.ci_high + 1e-12
    for query_type in QUERY_TYPES:
        chosen = best(found, query_type, success_weight=min(weight, 0.99))
        rivals = [
            cell for cell in found if cell.query_type == query_type and cell.usable
        ]
        assert (chosen is None) == (not rivals)
        assert chosen is None or all(chosen.score >= cell.score for cell in rivals)
