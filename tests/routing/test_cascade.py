"""Cascades: a cheap model, a check of its answer, and a strong one; offered by evidence
and run by the dispatcher.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from conftest import NOW
from faults import opened
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab import InvalidInput, Lab, Settings
from theorex_lab.core.settings import ModelSettings
from theorex_lab.dispatch.bus import CallEnd, CallStart
from theorex_lab.dispatch.llm import Attempt, ChainAnswer, Completion
from theorex_lab.dispatch.worker import Dispatcher, DispatchTask
from theorex_lab.memory.evidence import EvidenceTable
from theorex_lab.routing.cascade import cascade_in, cascade_of, checker
from theorex_lab.routing.confidence import matrix
from theorex_lab.routing.energy import Power

URL = "http://127.0.0.1:9"
MODELS = {name: ModelSettings(tier="medium", url=URL) for name in ("cheap", "strong")}
TASK = DispatchTask(
    "task-1", "main", "debug this python function", check="json", cascade=True
)


def evidence(
    cheap: int, strong: int, *, costs: tuple[float | None, float | None] = (0.1, 1.0)
) -> EvidenceTable:
    """So many successes of 20 runs each."""
    table = EvidenceTable()
    for number in range(20):
        table.add("query_type/code", "cheap", number < cheap, at=NOW, cost=costs[0])
        table.add("query_type/code", "strong", number < strong, at=NOW, cost=costs[1])
    return table


def test_expected_success_cost_and_failed_checks() -> None:
    found = cascade_of(
        matrix(evidence(12, 18).cells()), false_pass=0.1, false_alarm=0.1
    )
    assert found is not None
    assert (found.first, found.then) == ("cheap", "strong")
    assert found.fails == pytest.approx(0.6 * 0.1 + 0.4 * 0.9)
    assert found.success == pytest.approx(0.6 * 0.9 + found.fails * 0.9)
    assert found.cost == pytest.approx(0.1 + found.fails)
    assert "42%" in found.reason


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (EvidenceTable(), "nothing is known"),
        (evidence(18, 12), "the cheap one is the best"),
        (evidence(12, 18, costs=(None, 1.0)), "an unknown cost is not cheap"),
        (
            evidence(12, 18, costs=(0.9, 1.0)),
            "it would cost more than the strong one alone",
        ),
    ],
)
def test_no_cascade_is_offered_where_none_pays(table: EvidenceTable, why: str) -> None:
    assert cascade_of(matrix(table.cells())) is None, why


def test_a_check_that_lets_too_much_pass_makes_no_cascade() -> None:
    assert cascade_of(matrix(evidence(12, 18).cells()), false_pass=0.9) is None
    with pytest.raises(
        InvalidInput, match=r"got a false pass of 1.5 .*; allowed is 0 to 1"
    ):
        cascade_of(matrix(evidence(12, 18).cells()), false_pass=1.5)


@given(
    st.integers(0, 20),
    st.integers(0, 20),
    st.floats(0, 2),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_what_is_offered_costs_less_and_succeeds_as_often(
    cheap: int, strong: int, cost: float, false_pass: float, false_alarm: float
) -> None:
    cells = matrix(evidence(cheap, strong, costs=(cost, 1.0)).cells())
    found = cascade_of(cells, false_pass=false_pass, false_alarm=false_alarm)
    if found is not None:
        assert found.cost < max(cost, 1.0)
        assert found.success >= max(cheap, strong) / 20
        assert 0 <= found.fails <= 1


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        ("not_empty", "x", " \n"),
        ("json", "[1]", "[1"),
        ("regex:^yes", "yes, it is", "oh yes"),
        (str.isdigit, "12", "a"),
    ],
)
def test_checks(check: str | Callable[[str], bool], good: str, bad: str) -> None:
    assert checker(check)(good)
    assert not checker(check)(bad)


@pytest.mark.parametrize("wrong", ["", "yaml", "regex:("])
def test_a_check_that_is_none_is_refused_before_anything_is_called(
    wrong: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match="allowed"):
        checker(wrong)
    with (
        opened(tmp_path / "home", models=MODELS, roles=[]) as lab,
        pytest.raises(InvalidInput, match="got the check"),
    ):
        lab.agent("main").dispatch("debug this", check=wrong)


def answering(**texts: str) -> Callable[[Sequence[str], str, Settings], ChainAnswer]:
    """An `ask` whose models answer with these texts."""

    def ask(names: Sequence[str], prompt: str, settings: Settings) -> ChainAnswer:
        attempt = Attempt(names[0], True, 80.0, 30, 0.5)
        return ChainAnswer(
            Completion(texts[names[0]], names[0], 20, 10, 80.0), [attempt]
        )

    return ask


def taught(lab: Lab) -> Lab:
    """A lab whose cheap model did 12 of 20 such tasks, and whose strong one 18."""
    for number in range(20):
        start = CallStart(f"t{number}", "main", NOW, f"task {number}", "code", "cheap")
        runs = (
            Attempt("cheap", number < 12, cost=0.1),
            Attempt("strong", number < 18, cost=1.0),
        )
        lab.journal.append(
            [
                start.event(),
                CallEnd(start.trace_id, NOW, True, "cheap", attempts=runs).event(start),
            ]
        )
    return lab


def test_a_failed_check_goes_on_to_the_strong_model_and_both_attempts_stay(
    tmp_path: Path,
) -> None:
    with opened(tmp_path / "home", models=MODELS, roles=[]) as lab:
        offered = cascade_in(taught(lab).home, "code")
        assert offered is not None
        dispatcher = Dispatcher(
            lab.home,
            power=Power(None, False),
            ask=answering(cheap="sorry", strong='{"a": 1}'),
        )
        done = dispatcher.dispatch(TASK)
        assert (done.model_used, done.response, done.success) == (
            "strong",
            '{"a": 1}',
            True,
        )
        assert done.reasons[-1] == offered.reason
        assert done.trace_id is not None
        first, second = lab.trace(done.trace_id).to_dict()["attempts"]
        assert (first["model"], first["success"], first["cost"]) == (
            "cheap",
            False,
            0.5,
        )
        assert first["error"] == "the answer did not pass the check json"
        assert not first["unavailable"]
        assert (second["model"], second["success"]) == ("strong", True)
        cells = {cell.model: cell for cell in lab.matrix()}
        assert (cells["cheap"].n, cells["cheap"].success_rate) == (
            21,
            pytest.approx(12 / 21),
        )


def test_an_answer_that_passes_is_not_asked_for_twice_and_none_that_passes_is_a_failure(
    tmp_path: Path,
) -> None:
    with opened(tmp_path / "home", models=MODELS, roles=[]) as lab:
        taught(lab)
        good = Dispatcher(
            lab.home, power=Power(None, False), ask=answering(cheap="{}", strong="{}")
        ).dispatch(TASK)
        assert good.model_used == "cheap"
        assert len(lab.trace(str(good.trace_id)).to_dict()["attempts"]) == 1
        bad = Dispatcher(
            lab.home, power=Power(None, False), ask=answering(cheap="no", strong="no")
        ).dispatch(TASK)
        assert (bad.success, bad.response, bad.written_to_axon) == (False, "", False)
        assert "did not pass the check json" in str(bad.error)


def test_without_evidence_the_usual_chain_is_checked(tmp_path: Path) -> None:
    with opened(tmp_path / "home", models=MODELS, roles=[]) as lab:
        ask = answering(cheap="", strong="x")
        done = Dispatcher(lab.home, power=Power(None, False), ask=ask).dispatch(
            DispatchTask("1", "main", "debug this python function", cascade=True)
        )
        assert (done.model_used, done.response) == ("strong", "x")
        assert done.reasons[-1].startswith("cascade: no two models")
