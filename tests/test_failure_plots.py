"""Pictures of failures: pure, the same twice, true to their numbers, and in words where there is nothing to draw."""

from __future__ import annotations

from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from drawing import PictureContract, no_window, own_axes  # noqa: F401
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes

from theorex_lab.errors import InvalidInput
from theorex_lab.evolution.failure_signs import RunStep
from theorex_lab.experiments.draw import failure_plots as plots
from theorex_lab.experiments.scores.failures import FixEffect

LATIN = st.characters(max_codepoint=0x24F)  # what the font has; and control characters
STEPS = [
    RunStep(0, "main", "Sum the orders of May"),
    RunStep(1, "main", "```\nrows = load('may')\n```"),
    RunStep(2, "Python", "Traceback (most recent call last):\nKeyError: 'total'", tool="Python", is_error=True),
    RunStep(3, "qwen3-32b", "The orders sum to $48,211 and {50 %} more_or_less."),
]
FAILED = pd.DataFrame({"agent": ["main", "main", "sage"], "step": [1, 3, 40]})
GATED = pd.DataFrame(
    {
        "decision": ["hold", "accept", "refuse"], "before": [None, 0.4, 0.8], "after": [None, 0.9, 0.7],
        "n": [3, 12, 20], "margin": [0.02, 0.02, 0.02],
    }
)  # fmt: skip
PAIRS = pd.DataFrame({"trial": [1, 2], "only_with": [13, 18], "only_without": [4, 0], "p_value": [0.049, 7.6e-6]})

DRAWINGS: dict[str, Callable[..., Axes]] = {
    "timeline": lambda **to: plots.plot_timeline(STEPS, found=1, labelled=3, **to),
    "pareto": lambda **to: plots.plot_pareto({"wrong_code": 6, "no_answer": 2}, **to),
    "agents_by_step": lambda **to: plots.plot_agents_by_step(FAILED, **to),
    "pairs": lambda **to: plots.plot_pairs(PAIRS, **to),
    "gate": lambda **to: plots.plot_gate(GATED, **to),
}
EMPTY: dict[str, Callable[..., Axes]] = {
    "timeline": lambda **to: plots.plot_timeline([], **to),
    "pareto": lambda **to: plots.plot_pareto({"wrong_code": 0}, **to),
    "agents_by_step": lambda **to: plots.plot_agents_by_step(FAILED[:0], **to),
    "pairs": lambda **to: plots.plot_pairs(PAIRS[:0], **to),
    "gate": lambda **to: plots.plot_gate(GATED[:0], **to),
}


def rings(ax: Axes) -> dict[str, float]:
    """Row of each ring by its colour."""
    found = [line for line in ax.lines if line.get_markerfacecolor() == "none"]
    return {str(line.get_markeredgecolor()): float(line.get_ydata()[0]) for line in found}


class TestEveryPlot(PictureContract):
    drawings, empty = DRAWINGS, EMPTY


class TestTimeline:
    def test_rings_stand_at_the_steps_that_were_found_and_labelled(self) -> None:
        ax = plots.plot_timeline(STEPS, found=1, labelled=3, ax=own_axes())
        assert rings(ax) == {plots.FOUND_COLOUR: 1.0, plots.LABEL_COLOUR: 3.0}
        bold = [text.get_text() for text in ax.texts if text.get_weight() == "bold"]
        assert bold == ["rows = load('may')", "The orders sum to $48,211 and {50 %} more_or_less."]

    def test_a_step_stands_in_the_column_of_its_agent_and_looks_like_what_it_is(self) -> None:
        ax = plots.plot_timeline(STEPS, ax=own_axes())
        steps = [line for line in ax.lines if line.get_marker() in ("o", "s", "X")]
        assert [(line.get_xdata()[0], line.get_marker()) for line in steps] == [(0, "o"), (0, "o"), (1, "X"), (2, "o")]
        assert [label.get_text() for label in ax.get_xticklabels()] == ["main", "Python", "qwen3-32b"]
        assert ax.get_title() == "The run"

    def test_of_a_long_run_the_ends_and_the_marks_are_drawn(self) -> None:
        steps = [RunStep(k, f"agent-{k % 9}", f"text {k}") for k in range(200)]
        ax = plots.plot_timeline(steps, found=150, ax=own_axes())
        drawn = [int(label.get_text()) for label in ax.get_yticklabels()]
        assert drawn[:3] == [0, 1, 2]
        assert drawn[-3:] == [197, 198, 199]
        assert len(drawn) == plots.TIMELINE_STEPS
        assert {145, 150, 155} < set(drawn)
        assert ax.get_ylabel() == "Step (176 are not drawn)"
        assert [label.get_text() for label in ax.get_xticklabels()][-1] == "4 others"

    def test_indices_need_not_be_positions(self) -> None:
        steps = [RunStep(k + 10, "main", f"text {k}") for k in range(3)]
        assert rings(plots.plot_timeline(steps, found=12, ax=own_axes())) == {plots.FOUND_COLOUR: 2.0}

    @pytest.mark.parametrize("mark", [-1, 4])
    def test_a_mark_that_is_no_step_is_refused(self, mark: int) -> None:
        for marks in ({"found": mark}, {"found": 0, "labelled": mark}):
            with pytest.raises(InvalidInput, match=rf"decisive step {mark} of a run of 4 steps"):
                plots.plot_timeline(STEPS, **marks)
        assert plt.get_fignums() == []

    @settings(max_examples=15, deadline=None)
    @given(st.text(LATIN, max_size=200), st.text(LATIN, max_size=60))
    def test_any_text_can_be_drawn(self, text: str, agent: str) -> None:
        ax = plots.plot_timeline([RunStep(0, agent, text)], found=0, ax=own_axes())
        assert len(ax.texts[0].get_text()) <= 88
        ax.figure.draw_without_rendering()


class TestPareto:
    def test_the_most_frequent_first_and_their_sum_so_far(self) -> None:
        ax = plots.plot_pareto({"b": 2, "c": 5, "none": 0, "a": 2, "d": 1}, ax=own_axes())
        assert [label.get_text() for label in ax.get_yticklabels()] == ["c", "a", "b", "d"]
        assert [bar.get_width() for bar in ax.patches] == [5, 2, 2, 1]
        assert ax.lines[0].get_xdata().tolist() == [5, 7, 9, 10]
        assert [text.get_text() for text in ax.texts] == [
            "5, together 50%", "2, together 70%", "2, together 90%", "1, together 100%",
        ]  # fmt: skip

    def test_the_upper_axis_is_the_share_of_all(self) -> None:
        ax = plots.plot_pareto({"a": 3, "b": 1}, ax=own_axes())
        share = ax.child_axes[0]
        ax.figure.draw_without_rendering()
        low, high = ax.get_xlim()
        np.testing.assert_allclose(share.get_xlim(), (low / 4, high / 4))

    def test_a_negative_count_is_refused(self) -> None:
        with pytest.raises(InvalidInput, match=r"\{'a': -1\}; allowed are counts from 0"):
            plots.plot_pareto({"a": -1, "b": 2})


class TestAgentsByStep:
    def test_cells_are_counts_and_late_steps_share_a_column(self) -> None:
        ax = plots.plot_agents_by_step(FAILED, ax=own_axes())
        image = ax.images[0].get_array()
        assert image.shape == (2, plots.HEAT_STEPS + 1)
        assert [(int(row), int(column)) for row, column in zip(*np.nonzero(image), strict=True)] == [
            (0, 1),
            (0, 3),
            (1, 10),
        ]
        assert [label.get_text() for label in ax.get_yticklabels()] == ["main (2)", "sage (1)"]
        assert ax.get_xticklabels()[-1].get_text() == "10+"

    def test_rare_agents_share_a_row_and_nobody_is_lost(self) -> None:
        agents = [f"a{k:02}" for k in range(30) for _ in range(2 if k >= 20 else 1)]
        ax = plots.plot_agents_by_step(pd.DataFrame({"agent": agents, "step": 0}), ax=own_axes())
        labels = [label.get_text() for label in ax.get_yticklabels()]
        assert labels == [*(f"a{k} (2)" for k in range(20, 30)), "20 others (20)"]
        assert ax.images[0].get_array().sum() == len(agents)

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            (FAILED.assign(step=-2), "got the step -2"),
            (FAILED.drop(columns="step"), "without step; allowed is one with agent, step"),
        ],
    )
    def test_what_cannot_be_counted_is_refused(self, table: pd.DataFrame, message: str) -> None:
        with pytest.raises(InvalidInput, match=message):
            plots.plot_agents_by_step(table)


class TestPairs:
    def test_bars_point_to_the_side_that_was_solved_and_bear_p(self) -> None:
        ax = plots.plot_pairs(PAIRS, ax=own_axes())
        assert [bar.get_width() for bar in ax.patches] == [13, 18, -4, 0]
        assert [text.get_text() for text in ax.texts] == ["13", "18", "4", "0", "p = 0.049", "p < 0.001"]

    def test_an_effect_is_drawn_as_it_is(self) -> None:
        solved, plain = np.array([[0, 0, 0], [1, 1, 0]], float), np.array([[0, 0, 0], [0, 0, 1]], float)
        ax = plots.plot_pairs(FixEffect(solved, plain, 0), ax=own_axes())
        assert [bar.get_width() for bar in ax.patches] == [2, -1]
        assert ax.texts[-1].get_text() == "p = 1.000"

    def test_a_missing_column_is_named(self) -> None:
        with pytest.raises(InvalidInput, match="without p_value"):
            plots.plot_pairs(PAIRS.drop(columns="p_value"))


class TestGate:
    def test_each_decision_has_its_mark_at_the_score_after(self) -> None:
        ax = plots.plot_gate(GATED, ax=own_axes())
        marks = {line.get_marker(): (line.get_xdata().tolist(), line.get_ydata().tolist()) for line in ax.lines}
        assert marks["^"] == ([2], [0.9])
        assert marks["X"] == ([3], [0.7])
        assert marks["s"] == ([1], [0.0])
        assert [text.get_text() for text in ax.texts] == ["n=3", "n=12", "n=20"]
        assert [text.get_text() for text in ax.get_legend().get_texts()][2:] == [
            "after: accept (1)", "after: refuse (1)", "after: hold (1)",
        ]  # fmt: skip

    def test_the_bar_stands_the_margin_above_the_score_before(self) -> None:
        ax = plots.plot_gate(GATED.assign(margin=0.5)[1:], ax=own_axes())
        bars = [segment[0][1] for segment in ax.collections[1].get_segments()]
        np.testing.assert_allclose(bars, [0.6, 1.2])
        assert ax.get_ylim()[1] > 1.2

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            (GATED.assign(decision="perhaps"), "got the decision 'perhaps'; allowed are accept, refuse, hold"),
            (GATED.drop(columns=["n", "margin"]), "without n, margin"),
        ],
    )
    def test_what_the_gate_does_not_say_is_refused(self, table: pd.DataFrame, message: str) -> None:
        with pytest.raises(InvalidInput, match=message):
            plots.plot_gate(table)
