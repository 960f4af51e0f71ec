"""What is measured of the research tiers, and the saved comparison of six designs."""

import os

import pytest

from theorex_lab import HashedNgramEmbedder, InvalidInput
from theorex_lab.designs import BUILT_IN
from theorex_lab.eval.datasets.sources import packaged
from theorex_lab.eval.metrics import injection
from theorex_lab.eval.metrics.compare import Comparison

needs_data = pytest.mark.skipif(
    not os.environ.get("THEOREX_DATA"), reason="THEOREX_DATA names no folder"
)


@pytest.fixture(scope="module")
def saved() -> Comparison:
    return Comparison.load(packaged("six_designs.json.gz"))


def test_the_saved_comparison_has_all_designs_on_all_sets(saved):
    assert set(BUILT_IN) <= set(saved.designs)
    assert len(saved.datasets) == 10
    assert {(trial.log, trial.design) for trial in saved.trials} == {
        (log, design) for log in saved.logs for design in saved.designs
    }


def test_nothing_that_was_said_is_in_it(saved):
    assert all(
        answer.unit.isdecimal() for trial in saved.trials for answer in trial.given
    )
    assert all(
        len(problem) < 20 for trial in saved.trials for problem in trial.problems
    )


def test_what_the_notebook_and_the_readme_say_of_it(saved):
    def at(dataset, design, mode, score):
        return round(saved.of(dataset).value(design, mode, 500, score).value, 2)

    starts = {
        design: at("coding_sessions", design, "inject", "mean")
        for design in saved.designs
    }
    assert (starts["sessions"], starts["short_files"], starts["last_session"]) == (
        0.55,
        0.57,
        0.29,
    )
    assert max(starts[design] for design in BUILT_IN if design != "sessions") == 0.13
    simulated = [
        at("simulated_sessions", name, "inject", "mean")
        for name in ("sessions", "dreams", "research", "facts")
    ]
    assert simulated == [0.7, 0.41, 0.27, 0.07]
    assert {
        at("locomo", design, "retrieve", "evidence_recall") for design in BUILT_IN
    } == {0.78}
    assert at("locomo", "bm25", "retrieve", "evidence_recall") == 0.56


def test_a_comparison_that_is_no_gzip_is_refused(tmp_path):
    (tmp_path / "x.json.gz").write_text("{}")
    with pytest.raises(InvalidInput, match="holds no comparison"):
        Comparison.load(tmp_path / "x.json.gz")


def test_unknown_sets_are_refused():
    for score in (injection.score_injection, injection.score_theorems):
        with pytest.raises(InvalidInput, match="allowed are"):
            score("sick")


def test_what_is_given_is_scored(monkeypatch):
    monkeypatch.setattr(injection, "kept_embedder", HashedNgramEmbedder)
    texts = [
        ("cache", "the cache is cold in the morning"),
        ("queue", "the queue is long on Mondays"),
    ]
    cases = [
        injection.InjectionCase(
            "is the cache cold", frozenset({"cache"}), frozenset({"queue"})
        ),
        injection.InjectionCase("zebra", frozenset()),
    ]
    monkeypatch.setattr(injection, "_beliefs", lambda: (texts, cases))
    found = injection.score_injection("precisionmembench")
    assert (
        found["n"],
        found["metrics"]["recall"],
        found["metrics"]["precision"],
        found["metrics"]["clean"],
    ) == (
        2,
        1,
        1,
        1,
    )
    assert found["published"]["tenure"] == {"precision": 1.0, "recall": 1.0}


@needs_data
def test_the_published_graphs_are_scored():
    assert injection.score_theorems("pfr_blueprint")["metrics"] == {
        "nodes": 218,
        "links": 497,
        "unresolved": 0,
        "problems": 0,
    }
    assert (
        injection.score_theorems("equational_theories")["metrics"]["pairs"] == 8_178_279
    )


@needs_data
def test_reflections_of_the_same_task_are_found():
    found = injection.score_injection("reflexion_alfworld")
    assert found["n"] == 181
    assert found["metrics"]["recall"] > 0.4 > found["baselines"]["newest"]["recall"]
