"""How alike two sentences are, whether they contradict each other, and which of many
come into question.
"""

from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import Run

from benchmarks.measure import texts
from theorex_lab import InvalidInput, StorageError
from theorex_lab.designs.facts import pairs as facts
from theorex_lab.designs.facts.pairs import (
    CONTRADICTS,
    SharedWords,
    contradiction,
    likeness,
    likeness_signs,
    marks_of,
)
from theorex_lab.eval.datasets import dataset_files
from theorex_lab.eval.datasets.dataset_table import DATASETS
from theorex_lab.eval.metrics.labelled import (
    Pairs,
    auc,
    pearson,
    score_contradictions,
    score_duplicates,
    sentence_pairs,
    threshold,
)
from theorex_lab.eval.metrics.retrieval import kept_embedder

needs_data = pytest.mark.skipif(
    not os.environ.get("THEOREX_DATA"), reason="THEOREX_DATA names no folder"
)
quiet = pytest.mark.filterwarnings(
    "ignore::theorex_lab.eval.datasets.dataset_files.LicenceNotice"
)
CONTRARY = [
    ("Ann uses tabs.", "Ann no longer uses tabs."),
    ("The team uses Postgres", "The team stopped using Postgres"),
    ("The project used to use yarn", "The project uses yarn"),
    ("Ann likes coffee", "Ann doesn't like coffee"),
    ("Ann likes coffee", "Ann hates coffee"),
    ("Always run the tests before a commit", "Never run the tests before a commit"),
    ("The API listens on port 8080", "The API listens on port 9090"),
    ("Analytics runs on Python 3.11", "Analytics runs on Python 3.12"),
    ("The deadline is March 3", "The deadline is March 5"),
    ("The deadline is Monday", "The deadline is Friday"),
    ("The cache is enabled in production", "The cache is disabled in production"),
    ("Deploys happen daily", "Deploys happen weekly"),
    ("Ann is married", "Ann is single"),
    ("Анна использует табы", "Анна больше не использует табы"),
    ("Команда использует Postgres", "Команда перестала использовать Postgres"),
    ("Порт сервера 8080", "Порт сервера 9090"),
    ("Сборка включена", "Сборка выключена"),
    ("Встреча в понедельник", "Встреча в пятницу"),
]
ALIKE = [
    ("The team uses Postgres", "Postgres is used by the team"),
    ("The build takes ten minutes", "The build takes 10 minutes"),
    ("The parser never crashes", "The parser does not crash"),
    ("The project began on the 26th of June", "The project began on June 26"),
    ("Команда использует Postgres", "Postgres использует команда"),
]
APART = [
    ("Ann uses tabs.", "Ann uses tabs in all her projects."),
    ("Ann lives in Bath", "Bob lives in York"),
    ("Ann likes tea", "Ann likes coffee"),
    ("Ann speaks Welsh", "Ann speaks Greek"),
    ("Ann prefers TypeScript", "Ann prefers TypeScript over JavaScript"),
    ("The web app uses Java", "The web app uses JavaScript"),
    ("The sky is blue", "Tests use pytest"),
    ("A dog is running", "A dog is sleeping"),
    ("Анна любит чай", "Анна любит чай с лимоном"),
    ("Анна использует табы", "Анна использует табы во всех проектах"),
]


@pytest.mark.parametrize(("one", "other"), CONTRARY)
def test_reversals_and_swapped_values_contradict_and_are_candidates(
    one: str, other: str
) -> None:
    assert contradiction(one, other) >= CONTRADICTS
    assert contradiction(one, other, 0.9) >= CONTRADICTS
    assert contradiction(other, one, 0.9) == contradiction(one, other, 0.9)
    held = SharedWords()
    held.add("old", one)
    assert [id for id, *_ in held.near(other)] == ["old"]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_the_same_in_other_words_is_a_near_duplicate_and_no_contradiction(
    one: str, other: str
) -> None:
    assert likeness(one, other) >= facts.WORDS_SKIP
    assert likeness(one, other, 0.97) >= facts.NEAR_DUPLICATE
    assert contradiction(one, other, 0.97) == 0


@pytest.mark.parametrize(("one", "other"), APART)
def test_what_adds_or_is_of_something_else_does_not_contradict(
    one: str, other: str
) -> None:
    first, second = kept_embedder().embed([one, other])
    near = float(first @ second) if kept_embedder().kind == "semantic" else None
    assert contradiction(one, other, near) < CONTRADICTS
    assert contradiction(one, other) < CONTRADICTS


def test_a_value_of_the_same_kind_is_no_near_duplicate_however_near_the_vectors() -> (
    None
):
    assert (
        likeness(
            "The limit is 100 requests a minute",
            "The limit is 60 requests a minute",
            0.97,
        )
        < facts.NEAR_WARN
    )
    assert (
        likeness("Ann wrote the parser in May 2024", "Ann wrote the parser", 0.97)
        > facts.NEAR_WARN
    )


def test_numbers_that_differ_in_their_last_digit_are_not_of_one_root() -> None:
    assert likeness("Port 10001", "Port 10002") < facts.WORDS_WARN
    assert likeness("He sings in a choir", "He is a singer in a choir") == 1


@pytest.mark.parametrize(
    "text",
    ["", "…", "the", "not", "É", "🙂🙂", "1", "'s", "a\x00b", "東京", "no " * 50],
)
def test_any_text_has_a_likeness_and_a_contradiction(text: str) -> None:
    for other in ("", text, "Ann uses tabs", "not 5"):
        for cosine in (None, -1.0, 0.0, 1.0):
            for pair in ((text, other), (other, text)):
                assert 0 <= likeness(*pair, cosine) <= 1
                assert 0 <= contradiction(*pair, cosine) <= 1
    held = SharedWords()
    held.add("a", text)
    assert len(held.near(text)) <= 1


def compared(
    held: dict[str, frozenset[str]], own: frozenset[str]
) -> dict[str, tuple[float, int]]:
    """What `near` is to find, by comparison with every text."""
    shared = {id: len(own & marks) for id, marks in held.items()}
    found = {id: (n / len(own | held[id]), n) for id, n in shared.items() if n >= 2}
    return {id: row for id, row in found.items() if row[0] >= 0.3}


def test_candidates_are_those_of_a_comparison_with_all_of_20_000_texts() -> None:
    corpus = texts(20_000, length=4, seed=3)
    rng = random.Random(0)
    held = {
        str(number): f"{text} {rng.choice(('on port 80', 'in May', 'daily', ''))}"
        for number, text in enumerate(corpus)
    }
    candidates = SharedWords()
    for id, text in held.items():
        candidates.add(id, text)
    for id in rng.sample([*held], 500):
        candidates.remove(id)
        del held[id]
    for id in rng.sample([*held], 500):
        held[id] = f"{held[id]} weekly"
        candidates.add(id, held[id])
    marks = {id: marks_of(text) for id, text in held.items()}
    for text in rng.sample([*held.values()], 20):
        found = candidates.near(text, len(held))
        assert {
            id: (pytest.approx(jaccard), shared) for id, jaccard, shared in found
        } == compared(marks, marks_of(text))
        assert found == sorted(found, key=lambda row: -row[1])
        assert candidates.near(text, 3) == found[:3]


def test_a_query_reads_the_lists_of_its_own_marks_and_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    candidates = SharedWords()
    counted = []
    for number, text in enumerate(texts(20_000, length=6)):
        candidates.add(str(number), text)
    bincount = np.bincount
    monkeypatch.setattr(
        np,
        "bincount",
        lambda entries: counted.append(len(entries)) or bincount(entries),
    )
    for text in texts(50, length=6, seed=9):
        candidates.near(text)
    assert max(counted) < 20_000 * 6 * 0.05, "of 120,000 entries"


def test_equally_near_candidates_are_told_newest_first_and_removed_ones_not() -> None:
    held = SharedWords()
    for id in ("a", "b", "c"):
        held.add(id, "Ann uses tabs")
    held.add("a", "Ann uses tabs")
    held.remove("b")
    held.remove("unknown")
    assert held.near("Ann uses spaces") == [("a", 0.5, 2), ("c", 0.5, 2)]
    assert held.near("Ann uses spaces", 1) == [("a", 0.5, 2)]
    assert (
        held.near("Ann uses spaces", 0)
        == held.near("Ann uses spaces", -1)
        == held.near("")
        == []
    )
    assert SharedWords().near("Ann uses spaces") == []


def test_measures_of_nothing_to_tell() -> None:
    assert auc(np.ones(4), np.array([0.0, 1, 0, 1])) == 0.5
    assert auc(np.arange(3.0), np.ones(3)) == 0.5
    assert pearson(np.ones(3), np.arange(3.0)) == 0


def test_a_threshold_is_chosen_on_one_half_and_never_between_equal_values() -> None:
    found = np.array([0.9, 0.8, 0.8, 0.5, 0.1])
    told = np.array([1.0, 1, 0, 0, 1])
    half = Pairs([], told, [], np.array([True, True, True, True, False]))
    assert threshold(half, found) == 0.8, "F1 .8, where .9 has .67"
    assert threshold(half, found, 0.9) == 0.9


@needs_data
@quiet
def test_the_weights_and_thresholds_that_ship_are_those_of_the_half_that_made_them() -> (
    None
):
    if kept_embedder().kind != "semantic":
        pytest.skip("no model of vectors is installed")
    pairs = sentence_pairs("stsb")
    rows = [
        [1.0, *likeness_signs(*pair, near or 0.0)]
        for pair, near in zip(pairs.texts, pairs.cosines, strict=True)
    ]
    weights = np.linalg.lstsq(np.array(rows)[pairs.made], pairs.told[pairs.made])[0]
    shipped = (facts._CONSTANT, facts._COSINE, facts._WORDS, facts._SWAPPED)
    assert weights == pytest.approx(shipped, abs=0.002)
    found = pairs.by(likeness)
    assert threshold(pairs, found, 0.9) == pytest.approx(facts.NEAR_DUPLICATE, abs=0.01)
    assert threshold(pairs, found) == pytest.approx(facts.NEAR_WARN, abs=0.01)
    by_f1: dict[float, list[float]] = {}
    for dataset in ("sick", "fever_symmetric"):
        pairs = sentence_pairs(dataset)
        found = pairs.by(contradiction)[pairs.made]
        told = pairs.told[pairs.made] > 0
        for cut in (0.2, 0.3, 0.36, CONTRADICTS, 0.5, 0.6, 0.7):
            hits = (told & (found >= cut)).sum()
            by_f1.setdefault(cut, []).append(
                2 * hits / (told.sum() + (found >= cut).sum())
            )
    assert max(by_f1, key=lambda cut: sum(by_f1[cut])) == CONTRADICTS


@needs_data
@quiet
@pytest.mark.parametrize("dataset", ["stsb", "sick", "fever_symmetric"])
def test_pairs_are_all_there(dataset: str) -> None:
    pairs = sentence_pairs(dataset)
    assert len(pairs.told) == DATASETS[dataset].counts["pairs"]
    assert len(pairs.told) == len(pairs.texts) == len(pairs.cosines) == len(pairs.made)
    assert {0.0, 1.0} <= {*pairs.told.tolist()}
    assert pairs.told.min() == 0


@needs_data
def test_likeness_correlates_better_than_cosine_and_words() -> None:
    result = score_duplicates()
    own = result["metrics"]
    others = result["baselines"]
    assert own["pearson"] > max(row["pearson"] for row in others.values())
    assert (
        others["words alone"]["pearson"]
        > others["words over three letters"]["pearson_ci_high"]
    )
    if kept_embedder().kind == "semantic":
        assert own["pearson"] >= 0.89
        assert own["precision"] >= 0.9
        assert own["warn_precision"] > others["cosine"]["warn_precision"]
        assert own["recall"] > others["cosine"]["recall"]


@needs_data
@quiet
@pytest.mark.parametrize(
    ("dataset", "floor"), [("sick", 0.93), ("fever_symmetric", 0.78)]
)
def test_contradictions_are_told_better_than_by_baselines(
    dataset: str, floor: float
) -> None:
    result = score_contradictions(dataset)
    assert result["metrics"]["auc"] >= floor
    assert result["metrics"]["auc_ci_low"] > max(
        row["auc_ci_high"] for row in result["baselines"].values()
    )


def test_other_sets_are_refused(run: Run) -> None:
    for part in ("supersede", "duplicates", "contradictions"):
        ended = run("eval", part, "--dataset", "locomo")
        assert ended.code
        assert "allowed" in ended.err
    assert "sick" in run("eval", "contradictions", "--dataset", "stsb").err


@pytest.mark.filterwarnings("ignore:stsb")  # once a process, by whoever reads it first
def test_missing_and_damaged_data_say_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setenv("THEOREX_DATA", str(tmp_path))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(dataset_files, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setitem(
        DATASETS, "stsb", replace(DATASETS["stsb"], base_url="http://127.0.0.1:9")
    )
    with pytest.raises(
        StorageError,
        match="set THEOREX_DATA to a folder that holds stsb/stsb-en-dev.csv",
    ):
        score_duplicates()
    (tmp_path / "stsb").mkdir()
    (tmp_path / "stsb" / "stsb-en-dev.csv").write_text("one,other,5\n")
    with pytest.raises(InvalidInput, match="stsb-en-dev.csv"):
        score_duplicates()
    assert "stsb-en-dev.csv" in run("eval", "duplicates").err


@needs_data
def test_the_command_shows_text_and_json(run: Run) -> None:
    shown = run("eval", "duplicates", "--json").json
    assert {"dataset", "n", "metrics", "baselines", "thresholds"} == {*shown}
    assert {"pearson", "pearson_ci_low", "pearson_ci_high", "warn_recall"} <= {
        *shown["metrics"]
    }
    text = run("eval", "duplicates").out
    assert "cosine" in text
    assert f"precision, recall: from {facts.NEAR_DUPLICATE} on" in text
