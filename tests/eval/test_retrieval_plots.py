"""The picture of search: the contract of pictures, and what it shows."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from drawing import PictureContract, own_axes

from theorex_lab import InvalidInput
from theorex_lab.eval.metrics.retrieval import METRICS, Retrieval
from theorex_lab.eval.plots.comparison import plot_recall
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
