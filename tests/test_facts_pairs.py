"""How alike two sentences are, and whether they contradict each other."""

from __future__ import annotations

import os

import numpy as np
import pytest
from conftest import Run

from theorex_lab.designs.facts.pairs import SIGNS, fit, signs, weigh
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.scores.pairs import area_under_curve, pearson, score_contradictions, score_duplicates
from theorex_lab.experiments.scores.retrieval import kept_embedder

needs_data = pytest.mark.skipif(not os.environ.get("THEOREX_DATA"), reason="THEOREX_DATA names no folder")


def sign(name: str, one: str, other: str) -> float:
    return float(signs([one], [other])[0, SIGNS.index(name)])


def test_signs_of_change() -> None:
    assert sign("negation", "Ann uses tabs", "Ann does not use tabs") == 1
    assert sign("opposite", "The door is open", "The door is closed") == 1
    assert sign("numbers", "It takes 30 seconds", "It takes 40 seconds") == 1
    assert sign("numbers", "It takes 30 seconds", "It takes time") == 0
    assert sign("overlap", "same words", "same words") == 1


def test_texts_without_words_have_finite_signs() -> None:
    assert np.isfinite(signs(["", "…", "a"], ["", "b", ""])).all()
    assert signs([], []).shape == (0, len(SIGNS))


def test_weights_are_found_again_and_none_falls_below_zero() -> None:
    table = np.random.default_rng(0).normal(size=(400, 3))
    told = table @ np.array([1.0, -2.0, 0.5])
    assert np.abs(weigh(table, fit(table, told, penalty=1e-6)) - told).max() < 1e-6
    assert fit(table, told, rising=True).weight.min() == 0
    with pytest.raises(InvalidInput, match="allowed are"):
        fit(table, told[:-1])


def test_measures_of_nothing_to_tell() -> None:
    assert area_under_curve(np.ones(4), np.array([0.0, 1, 0, 1])) == 0.5
    assert area_under_curve(np.arange(3.0), np.ones(3)) == 0.5
    assert pearson(np.ones(3), np.arange(3.0)) == 0


@needs_data
def test_likeness_correlates_better_than_cosine_and_words() -> None:
    result = score_duplicates()
    own, others = result["metrics"]["pearson"], result["baselines"]
    assert own > max(row["pearson"] for row in others.values())
    if kept_embedder().kind == "semantic":
        assert own >= 0.885


@needs_data
@pytest.mark.filterwarnings("ignore::theorex_lab.experiments.data.dataset_files.LicenceNotice")
def test_weights_for_contradictions_carry_over() -> None:
    own = score_contradictions("sick")
    assert own["fitted_to"] == "fever_symmetric"
    assert own["metrics"]["auc"] > max(row["auc"] for row in own["baselines"].values())
    assert own["metrics"]["auc"] >= 0.85
    assert score_contradictions("fever_symmetric")["metrics"]["auc_low"] > 0.5


def test_other_sets_are_refused(run: Run) -> None:
    for part in ("supersede", "duplicates", "contradictions"):
        ended = run("eval", part, "--dataset", "locomo")
        assert ended.code
        assert "allowed" in ended.err


@needs_data
def test_the_command_shows_text_and_json(run: Run) -> None:
    shown = run("eval", "duplicates", "--json")
    assert {"dataset", "n", "metrics", "baselines"} <= {*shown.json}
    assert "cosine" in run("eval", "duplicates").out
