"""Failures of a home with their runs: in their order, read without writing, and drawn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from drawing import own_axes

from theorex_lab import FixedClock, Lab
from theorex_lab.core.settings import check_settings
from theorex_lab.dispatch.bus import CallStart, ToolCall
from theorex_lab.dispatch.llm import Attempt, ChainAnswer, Completion
from theorex_lab.dispatch.worker import Dispatcher, DispatchTask
from theorex_lab.eval.datasets.recorded_runs import (
    failed_cases,
    load_local_runs,
    local_failures,
    prompts,
)
from theorex_lab.eval.plots.comparison import plot_failure
from theorex_lab.evolution.failures import HeuristicReviewer
from theorex_lab.routing.energy import Power


@pytest.fixture
def lab(tmp_path: Path, clock: FixedClock) -> Iterator[Lab]:
    """A home with three failures: of `main` one with a trace and one without, of `sage`
    one; and a success.
    """
    settings = check_settings(
        {"models": {"m": {"tier": "small", "url": "http://localhost:1"}}, "roles": []}
    )
    with Lab(tmp_path / "home", clock=clock, settings=settings) as lab:
        first = lab.outcomes.record(
            "main", "publish the handbook", "it is not online", success=False
        )
        lab.outcomes.record(
            "sage", "sum the <orders>", "the sum is wrong", success=False
        )
        lab.outcomes.record("main", "count the tickets", "done", success=True)
        lab.outcomes.record(
            "main", "translate the manual", "nothing came", success=False
        )
        _run(lab, first.outcome_id)
        yield lab


def _run(lab: Lab, outcome_id: str) -> None:
    def ask(names: Any, *_: Any) -> ChainAnswer:
        tool = ToolCall(
            "run",
            lab.clock.now(),
            "Bash",
            "make publish",
            "bash: make: command not found",
        )
        lab.journal.append(
            [
                tool.event(
                    CallStart(
                        "run",
                        "main",
                        lab.clock.now(),
                        "publish the handbook",
                        "general",
                    )
                )
            ]
        )
        return ChainAnswer(
            Completion("It is published.", names[0], None, None, latency_ms=1.0),
            [Attempt(names[0], True, 1.0)],
        )

    dispatcher = Dispatcher(lab.home, power=Power(None, False), ask=ask)
    dispatcher.dispatch(
        DispatchTask(
            "1", "main", "publish the handbook", outcome_id=outcome_id, trace_id="run"
        )
    )
    dispatcher.close()


def test_they_come_oldest_first_with_their_runs(lab: Lab) -> None:
    cases = failed_cases(lab)
    assert [case.outcome.decision for case in cases] == [
        "publish the handbook",
        "sum the <orders>",
        "translate the manual",
    ]
    assert [step.agent for step in cases[0].steps][1:3] == ["main", "Bash"]
    assert HeuristicReviewer().review(cases[0]).decisive_step == 1


def test_reviewed_failures_are_among_them(lab: Lab) -> None:
    lab.review_failures(reviewer="heuristic")
    assert len(failed_cases(lab)) == 3


def test_of_one_agent_alone(lab: Lab) -> None:
    assert failed_cases(lab, agent="sage") == failed_cases(lab)[1:2]


def test_looking_writes_nothing(lab: Lab) -> None:
    before = lab.journal.last_seq()
    assert len(failed_cases(lab)) == 3
    assert lab.journal.last_seq() == before


def test_a_run_that_was_erased_is_a_failure_without_one(lab: Lab) -> None:
    (end,) = lab.journal.tail(0, kinds=["trace_ended"])
    lab.erase(ids=[end.id])
    assert failed_cases(lab)[0].trace is None


def test_the_picture_shows_the_ring_and_names_the_class(lab: Lab) -> None:
    case = failed_cases(lab)[0]
    ax = plot_failure(case, HeuristicReviewer().review(case), ax=own_axes())
    assert ax.get_title() == "main: publish the handbook\nfound: wrong_code at step 1"
    assert [text.get_text() for text in ax.get_legend().get_texts()][
        -1
    ] == "decisive, found"


def test_recorded_answers_that_were_refused_are_failures() -> None:
    frame = load_local_runs().frame
    failed = frame[(frame["model"] == "smollm2-135m greedy") & ~frame["success"]].iloc[
        ::20
    ]
    with Lab.temporary() as lab:
        steps = [
            [step.text for step in case.steps] for case in local_failures(lab, every=20)
        ]
    assert [step[0] for step in steps] == [
        prompts()[task] for task in failed["task_id"]
    ]
    assert [step[1] for step in steps] == failed["response"].tolist()
