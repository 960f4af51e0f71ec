"""The picture of search: the contract of pictures, and what it shows."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from drawing import PictureContract, own_axes

from theorex_lab import InvalidInput
from theorex_lab.eval.metrics.retrieval import METRICS, Retrieval
from theorex_lab.eval.plots import axes
from theorex_lab.eval.plots.comparison import (
    METHOD_NAMES,
    plot_recall,
    plot_recall_by_kind,
)
from theorex_lab.eval.replay.baselines import BASELINES
from theorex_lab.memory.intervals import bootstrap_means

rng = np.random.default_rng(0)
SCORE = Retrieval(
    6, {name: rng.random((6, len(METRICS))) for name in ("lexical", "default_words")}
)


class TestContract(PictureContract):
    drawings: ClassVar = {"recall": lambda ax=None: plot_recall(SCORE, ax=ax)}
    empty: ClassVar = {"recall": lambda ax=None: plot_recall(SCORE.frame[:0], ax=ax)}


def test_every_method_has_its_line() -> None:
    lines = plot_recall(SCORE, ax=own_axes()).get_lines()
    assert lines[0].get_ydata().tolist() == pytest.approx(  # type: ignore[union-attr]
        [SCORE.value("lexical", f"recall@{depth}") for depth in (5, 10, 25, 50)]
    )


def test_points_of_a_retrieval_have_intervals_over_questions_and_those_of_a_table_none() -> (
    None
):
    drawn = plot_recall(SCORE, ax=own_axes()).collections
    assert len(drawn) == 2 * 4
    low = bootstrap_means(SCORE.scores["lexical"])[0].ci_low
    high = bootstrap_means(SCORE.scores["lexical"])[0].ci_high
    assert drawn[0].get_paths()[0].vertices[:, 1].tolist() == [low, high]
    assert not plot_recall(SCORE.frame, ax=own_axes()).collections


def test_a_table_without_the_columns_is_refused() -> None:
    with pytest.raises(InvalidInput, match="got a table without recall@10"):
        plot_recall(SCORE.frame.drop(columns="recall@10"), ax=own_axes())


def test_a_method_has_one_colour_in_every_picture() -> None:
    looks = {
        name: (look["color"], look["marker"])
        for name, look in (
            (name, axes.method_look(name, 5)) for name in axes.METHOD_LOOKS
        )
    }
    families = (
        ("power", "product", "recency", "frequency", "weighted_sum", "fitted"),
        tuple(METHOD_NAMES),
        ("sessions", "theorex", "facts", "causal", "dreams", "research", "nothing"),
    )
    for family in families:
        assert len({looks[name][0] for name in family}) == len(family)
    assert len({looks[name] for name in BASELINES}) == len(BASELINES)
    assert axes.method_look("power_0.75") == axes.method_look("power")
    assert axes.method_look("a design of yours", 2) == axes.look_of(2)


def test_the_heat_map_says_what_the_table_says() -> None:
    scores = {name: np.zeros((3, len(METRICS))) for name in ("lexical", "vector")}
    scores["vector"][:2, METRICS.index("recall@5")] = 1.0
    score = Retrieval(3, scores, ("one", "two", "two"))
    ax = plot_recall_by_kind(score, reasons={"two": "a $reason_"}, ax=own_axes())
    assert [text.get_text() for text in ax.texts] == [
        "0.00",
        "1.00",
        "0.00",
        "0.50",
        "",
        "a $reason_",
    ]
    rows = [label.get_text() for label in ax.get_yticklabels()]
    assert rows == ["one (n = 1)", "two (n = 2)"]
