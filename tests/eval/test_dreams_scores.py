"""What strategies are scored by: actions foretold, files and commands named, what
survives.
"""

from __future__ import annotations

import os

import matplotlib.pyplot as plt
import pytest
from conftest import Run

from theorex_lab import InvalidInput, new_event
from theorex_lab.designs.dreams.demos.hypotheses import made_up_traces
from theorex_lab.eval.adapters.protocol import EvalLog
from theorex_lab.eval.datasets.logs import load_logs
from theorex_lab.eval.metrics.compare import compare
from theorex_lab.eval.metrics.strategies import (
    beside_peers,
    commands_of,
    score_actions,
    score_coding,
    score_constraints,
    score_taubench,
    survivors,
)
from theorex_lab.eval.plots import dreams as plots
from theorex_lab.eval.widgets.dreams import dream_explorer

pytestmark = pytest.mark.usefixtures("shared_logs")
needs_data = pytest.mark.skipif(
    not os.environ.get("THEOREX_DATA"), reason="THEOREX_DATA names no folder"
)
CONTEXTS = [
    "implement JWT tokens",
    "add decode and verify the signature",
    "now bake the sourdough bread",
]
GOLD = [
    'get_user({"id": "ann"})',
    'book({"flights": [{"date": "2024-05-20"}], "nights": 2})',
]


@pytest.mark.parametrize(
    ("predicted", "gold", "scores"),
    [
        ([], [], [1.0, 1.0, 1.0]),
        ([], GOLD, [0.0, 0.0, 0.0]),
        (GOLD[:1], [], [0.0, 0.0, 0.0]),
        (GOLD, GOLD, [1.0, 1.0, 1.0]),
        (GOLD[::-1], GOLD, [1.0, 1.0, 0.5]),
        (['get_user({"id":"ben"})'], GOLD, [2 / 3, 0.0, 0.5]),
        (
            ['book({"nights":2,"flights":[{"date":"2024-05-20"}]})', "think"],
            GOLD,
            [0.5, 0.8, 0.5],
        ),
        (
            ['book({"flights":[{"date":"2024-05-20"}],"summary":"cut in the mid…)'],
            GOLD,
            [2 / 3, 0.5, 0.5],
        ),
    ],
)
def test_actions_are_scored_by_names_arguments_and_order(
    predicted: list[str], gold: list[str], scores: list[float]
) -> None:
    assert score_actions(predicted, gold) == pytest.approx(scores)


def test_commands_are_programs_with_their_verbs() -> None:
    command = (
        "cd app && GOFLAGS=-x go test ./... 2>&1 | tail -5; git commit -m 'a; b'\nls"
    )
    told = [
        new_event(kind, {"tool": "Bash", "command": command}, agent="main", at=1)
        for kind in ("tool_used", "prompt")
    ]
    assert commands_of(told[:1]) >= {"cd app", "go test", "tail", "git commit", "ls"}
    assert commands_of(told[1:]) == set()


def test_gains_are_paired_and_intervals_drawn_by_group() -> None:
    rows = {
        "strategies": [[1.0, 0.5, 9.0], [0.0, 0.5, 9.0]],
        "peer": [[0.5, 0.5, 9.0], [0.0, 0.0, 9.0]],
    }
    found = beside_peers(rows, ["name", "order", "tokens"], ["a", "b"], seed=0, first=2)
    assert (found["n"], found["metrics"]["name"], found["metrics"]["gain"]) == (
        2,
        0.5,
        0.0,
    )
    peer = found["baselines"]["peer"]
    assert (peer["gain"], peer["gain_ci_low"], peer["gain_ci_high"]) == (
        0.25,
        0.25,
        0.25,
    )


def test_a_strategy_for_the_first_prompt_names_more_than_words_find() -> None:
    found = score_coding("simulated_sessions")
    ours = found["metrics"]
    peers = found["baselines"]
    assert found["n"] > 50
    assert {peer["tokens"] for peer in peers.values()} == {ours["tokens"]}
    assert 0 < ours["tokens"] <= 500
    assert ours["command"] > peers["recent files"]["command"]
    assert peers["BM25 over raw sessions"]["gain_ci_low"] > 0
    with pytest.raises(InvalidInput, match="uses? nothing known before"):
        score_coding(EvalLog("empty", []))


def test_ten_cycles_lose_neither_goals_nor_steps() -> None:
    kept = survivors()
    assert kept["cycle"].tolist() == [*range(1, 11)]
    assert kept["dreamt"].is_monotonic_increasing
    assert kept["found"].min() >= 0.95
    assert kept["readable"].min() >= 0.95
    with pytest.raises(InvalidInput, match="got 0 cycles"):
        survivors(cycles=0)


@needs_data
def test_strategies_of_other_tasks_and_of_the_same_are_told_apart() -> None:
    other, repeat = score_taubench()
    assert (other["n"], repeat["n"]) == (200, 50)
    assert "repeat" in repeat["dataset"]
    for found in (other, repeat):
        best = found["baselines"]["best run, chosen by the gold"]
        assert best["name"] >= max(row["name"] for row in found["baselines"].values())
        assert 0 < found["metrics"]["name"] < 1
    assert repeat["metrics"]["argument"] > other["metrics"]["argument"]


@needs_data
def test_constraints_reach_their_own_task_and_no_coding_session() -> None:
    found = score_constraints()
    ours = found["metrics"]
    everything = found["baselines"]["everything"]
    assert everything["recall"] == everything["stray"] == 1.0
    assert ours["precision"] > 2 * everything["precision"]
    assert ours["stray"] < 0.05
    assert ours["same_task"] > 0.2


def test_dreams_are_compared_by_name() -> None:
    (whole,) = load_logs("simulated_sessions")
    until_day = whole.events[0].at + 14 * 86_400_000_000
    early = EvalLog(
        "two weeks",
        [event for event in whole.events if event.at < until_day],
        (),
        [line for line in whole.lines if line.at < until_day],
    )
    compared = compare([early], ["dreams", "nothing"], budgets=(500,), every_days=7)
    ours = compared.value("dreams", "retrieve", 500, "mean").value
    assert ours > compared.value("nothing", "retrieve", 500, "mean").value == 0
    assert compared.costs.set_index("design").loc["dreams", "problems"] == 0


def test_the_command_tells_the_scores_of_a_log(run: Run) -> None:
    told = run("eval", "strategies", "--dataset", "simulated_sessions")
    assert "BM25 over raw sessions" in told.out
    assert "readable" in told.out
    refused = run("eval", "strategies", "--dataset", "nowhere")
    assert (refused.code != 0, "got the log 'nowhere'" in refused.err) == (True, True)


def test_sliders_change_what_is_merged_and_where_it_drifts() -> None:
    traces = {
        name: made_up_traces()[name]
        for name in ("jwt", "bread", "review", "review again")
    }
    _, merge, drift, status, picture = dream_explorer(
        {"four": traces}, CONTEXTS
    ).children
    assert (
        "4 traces became 3 strategies; memory_traversal, memory_traversal, context_jump"
        in status.value
    )
    before = picture.value
    merge.value = 1.0
    assert "4 traces became 4 strategies" in status.value
    drift.value = 0.0
    assert status.value.count("memory_traversal") == 3
    assert picture.value not in (before, b"")
    strategies, edges, _ = plots.dreamt(traces, CONTEXTS, 1.0)
    ax = plots.plot_strategies(strategies, edges)
    assert ax.get_yticklabels()[0].get_text().startswith("implement JWT tokens (v1")
    assert plots.plot_strategies([]).get_title() == "0 strategies"
    plt.close("all")
