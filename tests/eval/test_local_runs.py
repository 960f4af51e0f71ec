"""The recorded runs that come with the project: what they hold, and damaged files of
such runs.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from theorex_lab import InvalidInput
from theorex_lab.core.errors import NewerVersion
from theorex_lab.eval.datasets import recorded_runs
from theorex_lab.eval.datasets.recorded_runs import (
    LocalRuns,
    TaskRun,
    load_runs,
    prompts,
)
from theorex_lab.eval.datasets.sources import packaged

QUERY_TYPES = (
    "code",
    "math",
    "retrieval",
    "synthesis",
    "creative",
    "safety",
    "general",
)
MODELS = ("smollm2-135m greedy", "smollm2-135m sampled", "rules")


def test_damaged_files_are_refused_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "runs.gz"
    lines = (
        gzip.decompress(packaged("local_runs.jsonl.gz").read_bytes())
        .decode()
        .splitlines()[:3]
    )
    run = json.loads(lines[1])
    cases: list[tuple[list[str], str]] = [
        ([*lines[:2], "{"], "line 3"),
        ([*lines[:2], "[]"], "line 3: "),
        ([lines[0], json.dumps(run | {"success": 1})], "success"),
        ([lines[0], json.dumps(run | {"tokens": -1})], "tokens"),
        ([lines[0], json.dumps(run | {"latency_ms": True})], "latency_ms"),
        ([lines[0], json.dumps(run | {"latency_ms": float("nan")})], "latency_ms"),
        ([lines[0], json.dumps(run | {"level": "1"})], "level"),
        ([lines[0], json.dumps(run | {"error": 5})], "error"),
        ([lines[0], json.dumps(run | {"response": None})], "response"),
        ([json.dumps({"recording": "else"})], "allowed is a header"),
        ([""], "allowed is a header"),
    ]
    for content, reason in cases:
        file.write_bytes(gzip.compress("\n".join(content).encode()))
        with pytest.raises(InvalidInput, match=reason):
            load_runs(file)
    for raw in (b"plain", gzip.compress(b"x")[:-4]):
        file.write_bytes(raw)
        with pytest.raises(InvalidInput, match="cannot be read as recorded lines"):
            load_runs(file)
    file.write_bytes(
        gzip.compress(json.dumps(json.loads(lines[0]) | {"version": 2}).encode())
    )
    with pytest.raises(NewerVersion, match="reads up to 1"):
        load_runs(file)


# what the project recorded


@pytest.fixture(scope="module")
def recorded() -> LocalRuns:
    return recorded_runs.load_local_runs()


def test_the_packaged_runs_hold_every_task_and_solver_once(recorded: LocalRuns) -> None:
    assert Counter((run.task_id, run.model) for run in recorded.runs) == {
        (task, model): 1 for task in prompts() for model in MODELS
    }
    assert recorded.header["tasks"] == len(prompts()) == 164
    assert tuple(recorded.header["solvers"]) == MODELS


def test_the_packaged_runs_fit_their_tasks(recorded: LocalRuns) -> None:
    for run in recorded.runs:
        assert run.task_id.startswith(f"{run.query_type}-")
        assert len(run.response) <= 300
        assert (run.latency_ms is None) == (run.error is not None)


def rates_of(recorded: LocalRuns) -> pd.DataFrame:
    """Share of right answers: a row a query type and one for all, a column a model."""
    table = recorded.frame.pivot_table(
        "success", "query_type", "model", aggfunc="mean", sort=False
    )
    table.loc["all"] = recorded.frame.groupby("model")["success"].mean()
    return table.astype(float)


def test_the_packaged_runs_discriminate(recorded: LocalRuns) -> None:
    rates = rates_of(recorded)
    assert list(rates.index) == [*QUERY_TYPES, "all"]
    assert ((rates.loc["all"] > 0.1) & (rates.loc["all"] < 0.9)).all()
    assert len(rates.drop("all").idxmax(axis="columns").unique()) >= 2, (
        "one solver is best at everything"
    )
    best = {
        level: max(run.success for run in recorded.runs if run.level == level)
        for level in (1, 2, 3, 4)
    }
    assert best == {1: True, 2: True, 3: True, 4: True}
    assert 5 <= len(unsolved(recorded)) <= 80


def unsolved(recorded: LocalRuns) -> list[str]:
    """Ids of the tasks that nobody ever solved."""
    return [
        task
        for task, solved in recorded.frame.groupby("task_id")["success"].any().items()
        if not solved
    ]


def test_the_readme_names_every_key_and_gives_the_rates_of_the_file(
    recorded: LocalRuns,
) -> None:
    text = packaged("README.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in [*recorded.header, *TaskRun.__slots__])
    left = Counter(task.rpartition("-")[0] for task in unsolved(recorded))
    for query_type, rates in rates_of(recorded).drop("all").iterrows():
        count = sum(task.startswith(f"{query_type}-") for task in prompts())
        shown = " | ".join(f"{rates[model]:.2f}" for model in MODELS)
        assert f"| {query_type} | {count} | {shown} | {left[str(query_type)]} |" in text


def test_the_packaged_frame_and_its_table(recorded: LocalRuns) -> None:
    assert list(recorded.frame.columns) == [
        "task_id",
        "query_type",
        "level",
        "model",
        "success",
        "latency_ms",
        "tokens",
        "response",
        "error",
        "seed",
    ]
    assert len(recorded.frame) == 3 * len(prompts())
    assert repr(recorded).startswith(
        f"LocalRuns({3 * len(prompts())} runs of {len(prompts())} tasks by 3 solvers, 20"
    )
    assert "creative" in recorded._repr_html_()
