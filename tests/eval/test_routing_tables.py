"""Tables of models' results, in the forms in which others publish them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab import InvalidInput
from theorex_lab.app.cli import theorex
from theorex_lab.eval import load_routing_table, score_routing
from theorex_lab.eval.datasets.routing_tables import read_routing_table

LONG_HEAD = "query_id,query,dataset,model,score,cost,total_tokens,latency"


def long_lines(n: int = 40) -> list[str]:
    lines = []
    for number in range(n):
        task = "math" if number % 2 else "code"
        text = f"question number {number} of {task}"
        lines.append(f"q{number},{text},{task},big,1,2.0,90,400")
        right = int(number % 2 == 0)
        lines.append(f"q{number},{text},{task},small,{right},0.5,80,100")
    return lines


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_long_table_is_read_scored_and_shown(tmp_path: Path) -> None:
    path = written(tmp_path, "long.csv", "\n".join([LONG_HEAD, *long_lines()]))
    found = load_routing_table(path)
    assert found.models == ("big", "small")
    assert found.costs.tolist() == [2.0, 0.5]
    assert (len(found.train.scores), len(found.test.scores)) == (20, 20)
    assert set(found.test.queries.tasks) == {"math", "code"}
    assert found.notes == ("a long table: 40 queries, 2 models", "no damaged row")
    score = score_routing(found)
    scores = {row.policy: row for row in score.policies}
    assert scores["best single"].score == 1.0
    assert scores["cheapest"].cost == 0.5
    command = ["eval", "routing", "--path", str(path)]
    shown = CliRunner().invoke(theorex, command, obj={})
    assert shown.exit_code == 0, shown.output
    assert "a long table: 40 queries, 2 models" in shown.output
    assert "route, as it ships" in shown.output


def test_damaged_rows_are_counted_with_their_places(tmp_path: Path) -> None:
    lines = long_lines()
    lines[2] = "q1,question number 1 of math,math,big"
    lines[5] = lines[5].replace(",small,", ",small,much")
    lines[7] = lines[7].replace("small", "")
    lines.append("q99,only one model answered this,math,big,1,2.0,90,400")
    path = written(tmp_path, "long.csv", "\n".join([LONG_HEAD, *lines]))
    table = read_routing_table(path)
    assert table.damaged.n == 3
    assert table.damaged.reasons[0] == "long.csv line 4: 4 values for 8 columns"
    assert "long.csv line 7: the score 'much" in table.damaged.reasons[1]
    assert "no query or no model" in table.damaged.reasons[2]
    notes = load_routing_table(path).notes
    assert "left out: 4 queries that not every model answered" in notes
    assert notes[-1].startswith("3 damaged rows were left out: long.csv line 4")


def test_a_wide_table_has_a_column_a_model(tmp_path: Path) -> None:
    lines = [
        "sample_id,prompt,eval_name,big,big|total_cost,small,small|total_cost,best_model"
    ]
    for number in range(12):
        lines.append(f"a.{number},prompt {number},a,1.0,0.02,{number % 2},0.001,big")
    lines.append("a.99,prompt 99,a,?,0.02,1,0.001,big")
    table = read_routing_table(written(tmp_path, "wide.csv", "\n".join(lines)))
    assert (table.form, table.damaged.n) == ("wide", 1)
    assert "the score '?' of big" in table.damaged.reasons[0]
    found = load_routing_table(tmp_path / "wide.csv")
    assert found.models == ("big", "small")
    assert found.costs.tolist() == pytest.approx([0.02, 0.001])


def test_a_folder_of_records_a_model_and_set_is_one_table(tmp_path: Path) -> None:
    """The form of LLMRouterBench: a file a set and model, with records."""
    for model, cost in (("big", 2.0), ("small", 0.5)):
        records = [
            {
                "index": number,
                "origin_query": f"What is {number} and {number}?",
                "prompt": f"Answer briefly. What is {number} and {number}?",
                "score": float(model == "big" or number % 2),
                "cost": cost,
                "raw_output": {"tokens": 3},
            }
            for number in range(10)
        ]
        content = {"model_name": model, "dataset_name": "sums", "records": records}
        folder = tmp_path / "sums" / model
        folder.mkdir(parents=True)
        written(folder, "result.json", json.dumps(content))
    found = load_routing_table(tmp_path, name="bench")
    assert (found.name, found.models) == ("bench", ("big", "small"))
    assert set(found.test.queries.tasks) == {"sums"}


def test_results_of_agents_are_read_by_instance_and_model(tmp_path: Path) -> None:
    """The form of SWE-bench: resolved or not, with the cost of a run."""
    lines = []
    nested: dict[str, dict[str, object]] = {"agent-a": {}, "agent-b": {}}
    for number in range(8):
        for agent, cost in (("agent-a", 1.5), ("agent-b", 0.5)):
            resolved = agent == "agent-a" or number % 2 == 0
            row = {
                "instance_id": f"project__{number}",
                "model_name": agent,
                "resolved": resolved,
                "instance_cost": cost,
            }
            lines.append(json.dumps(row))
            nested[agent][f"project__{number}"] = {"resolved": resolved, "cost": cost}
    lines.insert(3, '{"instance_id": "project__9", ')
    path = written(tmp_path, "runs.jsonl", "\n".join(lines))
    table = read_routing_table(path)
    assert table.damaged.n == 1
    assert "runs.jsonl line 4: no JSON" in table.damaged.reasons[0]
    found = load_routing_table(path)
    other = load_routing_table(written(tmp_path, "runs.json", json.dumps(nested)))
    assert found.models == other.models == ("agent-a", "agent-b")
    assert found.costs.tolist() == other.costs.tolist() == [1.5, 0.5]
    assert (found.test.scores == other.test.scores).all()


def test_percentages_are_scaled_and_tokens_stand_in_for_costs(tmp_path: Path) -> None:
    rows = [
        {"question": f"q {number}", "llm": model, "score": score, "tokens": tokens}
        for number in range(6)
        for model, score, tokens in (("big", 80, 900), ("small", "60", 100))
    ]
    found = load_routing_table(written(tmp_path, "t.json", json.dumps(rows)))
    assert found.test.scores[0].tolist() == [0.8, 0.6]
    assert (found.costs.tolist(), found.cost_unit) == ([900.0, 100.0], "tokens")
    assert "scores go beyond 1 and were divided by 100" in found.notes


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "a,b\n1,2\n", "none of them is the text or id: rename one to query"),
        ("t.csv", "query,model\nx,y\n", "none of them is the score"),
        ("t.csv", "query,task\nx,y\n", "allowed are a column `model` and one `score`"),
        ("t.csv", "query,query\nx,y\n", "one name a column"),
        ("t.csv", "", "without a row that can be read"),
        ("t.json", "{", "which is no JSON"),
        ("t.json", "3", "allowed are a list of objects"),
        ("t.txt", "x", "allowed are files that end with .csv"),
        ("t.csv", "query,model,score\nx,y,300\n", "allowed are scores from 0 to 1"),
        ("t.csv", "query,model,score\nx,y,1\n", "allowed are 4 or more, and 2 models"),
    ],
)
def test_what_is_no_table_is_refused_with_what_is_allowed(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        load_routing_table(written(tmp_path, name, text))


def test_a_table_without_costs_or_file_is_refused(tmp_path: Path) -> None:
    rows = [f"q{number},{model},1" for number in range(6) for model in ("big", "small")]
    path = written(tmp_path, "t.csv", "\n".join(["query,model,score", *rows]))
    with pytest.raises(InvalidInput, match="without a cost of every model"):
        load_routing_table(path)
    with pytest.raises(InvalidInput, match="which is no file"):
        load_routing_table(tmp_path / "nowhere.csv")
    with pytest.raises(InvalidInput, match="without a table"):
        load_routing_table(_empty(tmp_path))
    parquet = written(tmp_path, "t.parquet", "PAR1")
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        with pytest.raises(InvalidInput, match="pyarrow is not installed"):
            load_routing_table(parquet)


def _empty(folder: Path) -> Path:
    path = folder / "empty"
    path.mkdir()
    return path


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["Who?", "who", "And he?", "What now?", "Why so?", "How?"]),
            st.sampled_from([0, 1]),
        ),
        min_size=8,
        max_size=20,
    ),
    st.integers(0, 9),
)
def test_the_same_text_never_stands_in_both_halves(
    tmp_path_factory: pytest.TempPathFactory,
    drawn: list[tuple[str, int]],
    seed: int,
) -> None:
    rows = []
    for number, (text, score) in enumerate(drawn):
        for model in ("big", "small"):
            rows.append(
                {
                    "id": number,
                    "query": text,
                    "model": model,
                    "score": score,
                    "cost": len(model),
                }
            )
    folder = tmp_path_factory.mktemp("table")
    if len({text.strip("?").casefold() for text, _ in drawn}) < 2:
        return
    found = load_routing_table(written(folder, "t.json", json.dumps(rows)), seed=seed)
    assert not len(found.repeated)
    assert len(found.train.scores) + len(found.test.scores) == len(drawn)
    assert np.isfinite(found.train.scores).all()
