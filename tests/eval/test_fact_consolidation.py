"""Rows of FactConsolidation are read as they come, and scored as published."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from held_back_facts import held_back_rows

from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.datasets.fact_consolidation import (
    fact_rows,
    numbered_facts,
    read_fact_rows,
)
from theorex_lab.eval.datasets.generated_facts import generated_fact_rows
from theorex_lab.eval.metrics.fact_consolidation import (
    CHAINS,
    NEWEST,
    SYSTEMS,
    is_substring_match,
    score_fact_consolidation,
    score_rows,
)
from theorex_lab.search.embed import HashedNgramEmbedder

ROW = {
    "context": "Here is a list of facts:\n0. Ann Lee is a citizen of Peru.\n"
    "1. The capital of Peru is Lima.\n2. Ann Lee is a citizen of Chile.\n"
    "3. The capital of Chile is Cusco.",
    "questions": [
        "Which country is Ann Lee a citizen of?",
        "What is the capital of the country of citizenship of Ann Lee?",
    ],
    "answers": [["Chile", "CL"], ["Cusco"]],
    "metadata": {"source": "factconsolidation_mh_6k", "keywords": None},
    "another": 1,
}


@pytest.mark.parametrize(
    ("prediction", "answers", "is_right"),
    [
        ("The capital of Norway is Oslo.", ["Oslo"], True),
        ("the Lord of Rings", ["The Lord of the Rings!"], True),
        ("Washington DC", ["Washington, D.C."], True),
        ("Oslo", ["Bergen", "oslo"], True),
        ("Os", ["Oslo"], False),
        ("", ["Oslo"], False),
        ("anything", ["the"], False),
    ],
)
def test_an_answer_is_right_where_an_accepted_one_is_a_part_of_it(
    prediction: str, answers: list[str], is_right: bool
) -> None:
    assert is_substring_match(prediction, answers) is is_right


def test_rows_are_read_from_json_and_json_lines(tmp_path: Path) -> None:
    as_list = tmp_path / "rows.json"
    as_list.write_text(json.dumps([ROW]))
    as_lines = tmp_path / "rows.jsonl"
    as_lines.write_text(json.dumps(ROW) + "\n\n")
    (row,) = read_fact_rows(as_list).rows
    assert read_fact_rows(as_lines).rows == (row,)
    assert row.source == "factconsolidation_mh_6k"
    assert row.facts[2] == "Ann Lee is a citizen of Chile."
    assert row.questions[0].answers == ("Chile", "CL")


def test_rows_are_read_from_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "rows.parquet"
    parquet.write_table(pyarrow.Table.from_pylist([ROW]), file)
    assert read_fact_rows(file).rows == fact_rows([ROW]).rows
    file.write_bytes(b"PAR1 and nothing")
    with pytest.raises(InvalidInput, match="no Parquet file.*download it again"):
        read_fact_rows(file)


def test_a_missing_reader_of_parquet_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    file = tmp_path / "rows.parquet"
    file.write_bytes(b"PAR1")
    with pytest.raises(InvalidInput, match="pyarrow is not installed.*parquet"):
        read_fact_rows(file)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"answers": ["Chile", "Cusco"]}, ("Chile",)),
        ({"answers": np.array([["Chile"], ["Cusco"]])}, ("Chile",)),
        ({"questions": np.array(ROW["questions"], object)}, ("Chile", "CL")),
        ({"metadata": None}, ("Chile", "CL")),
        ({"metadata": '{"source": "x"}'}, ("Chile", "CL")),
        ({"context": str(ROW["context"]).replace("\n", " ")}, ("Chile", "CL")),
    ],
)
def test_other_forms_of_a_row_are_read(
    changed: dict[str, Any], expected: tuple[str, ...]
) -> None:
    (row,) = fact_rows([{**ROW, **changed}]).rows
    assert row.questions[0].answers == expected
    assert len(row.facts) == 4


def test_facts_without_numbers_or_heading_are_read() -> None:
    assert numbered_facts("Ann is in Bath.\nBo is in York.") == [
        "Ann is in Bath.",
        "Bo is in York.",
    ]
    assert numbered_facts("2. Bo is in York.\n1. Ann is in Bath.") == [
        "Ann is in Bath.",
        "Bo is in York.",
    ]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("text", "not an object"),
        ({}, "context"),
        ({**ROW, "context": ""}, "no fact"),
        ({**ROW, "questions": []}, "0 questions and 2 answers"),
        ({**ROW, "answers": [["Chile"]]}, "2 questions and 1 answers"),
        ({**ROW, "answers": [["Chile"], []]}, "has no answer"),
        ({**ROW, "answers": None}, "not a list"),
        ({**ROW, "questions": [1.5, {}]}, "not a text"),
    ],
)
def test_a_damaged_row_is_reported_and_the_others_are_read(
    row: object, problem: str
) -> None:
    rows = fact_rows([ROW, row])
    assert len(rows.rows) == 1
    (damaged,) = rows.damaged
    assert damaged.startswith("row 2: ")
    assert problem in damaged


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("rows.csv", "", "allowed is a file .parquet, .json or .jsonl"),
        ("rows.json", "{", "not valid JSON"),
        ("rows.json", "3", "a list of rows"),
        ("rows.json", "[]", "without a row that can be read: it has no row"),
        ("rows.jsonl", "[1]", "without a row that can be read: row 1"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    file = tmp_path / name
    file.write_text(content)
    with pytest.raises(InvalidInput, match=message):
        read_fact_rows(file)
    with pytest.raises(InvalidInput, match="which is no file; download"):
        read_fact_rows(tmp_path / "none.json")


def test_systems_are_scored_side_by_side(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    file.write_text(json.dumps([ROW, {}]))
    score = score_fact_consolidation(str(file), embedder=HashedNgramEmbedder())
    result = score.result()
    assert [row["system"] for row in result["rows"]] == list(SYSTEMS)
    assert result["n"] == 2
    assert result["metrics"]["substring_match"] == 1.0
    assert 0.3 < result["metrics"]["ci_low"] < 1.0
    assert result["baselines"][NEWEST]["substring_match"] <= 1.0
    assert len(result["damaged"]) == 1
    assert "left out, damaged: row 2" in score.text()


def test_the_held_back_set_is_answered_far_above_search() -> None:
    rows = fact_rows(held_back_rows(9, n_questions=30))
    scores = score_rows(rows, HashedNgramEmbedder())
    several = {score.system: score.n_right for score in scores if "_mh" in score.source}
    assert several[CHAINS] >= 3 * max(
        right for system, right in several.items() if system != CHAINS
    )


def test_the_generated_rows_are_the_same_for_a_seed() -> None:
    assert generated_fact_rows(4, n_questions=3) == generated_fact_rows(
        4, n_questions=3
    )
    assert generated_fact_rows(4, n_questions=3) != generated_fact_rows(
        5, n_questions=3
    )


def test_a_generated_score_says_that_it_is_generated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from theorex_lab.eval.metrics import fact_consolidation

    rows = generated_fact_rows(2, n_questions=2, n_of_each_kind=3)
    monkeypatch.setattr(fact_consolidation, "generated_fact_rows", lambda _seed: rows)
    score = score_fact_consolidation(embedder=HashedNgramEmbedder())
    assert score.dataset == "generated"
    assert "These facts are generated" in score.text()
