"""Pictures of failures: pure, the same twice, true to their numbers, and in words where
there is nothing to draw.
"""

from __future__ import annotations

from collections.abc import Callable

import matplotlib.pyplot as plt
import pytest
from drawing import PictureContract, no_window, own_axes  # noqa: F401 - a fixture
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes

from theorex_lab import InvalidInput
from theorex_lab.eval.plots import comparison as plots
from theorex_lab.evolution.failure_signs import RunStep

LATIN = st.characters(max_codepoint=0x24F)  # what the font has; and control characters
STEPS = [
    RunStep(0, "main", "Sum the orders of May"),
    RunStep(1, "main", "```\nrows = load('may')\n```"),
    RunStep(
        2,
        "Python",
        "Traceback (most recent call last):\nKeyError: 'total'",
        tool="Python",
        is_error=True,
    ),
    RunStep(3, "qwen3-32b", "The orders sum to $48,211 and {50 %} more_or_less."),
]

DRAWINGS: dict[str, Callable[..., Axes]] = {
    "timeline": lambda **to: plots.plot_timeline(STEPS, found=1, labelled=3, **to)
}
EMPTY: dict[str, Callable[..., Axes]] = {
    "timeline": lambda **to: plots.plot_timeline([], **to)
}


def rings(ax: Axes) -> dict[str, float]:
    """Row of each ring by its colour."""
    found = [line for line in ax.lines if line.get_markerfacecolor() == "none"]
    return {
        str(line.get_markeredgecolor()): float(line.get_ydata()[0]) for line in found
    }


class TestEveryPlot(PictureContract):
    drawings = DRAWINGS
    empty = EMPTY


class TestTimeline:
    def test_rings_stand_at_the_steps_that_were_found_and_labelled(self) -> None:
        ax = plots.plot_timeline(STEPS, found=1, labelled=3, ax=own_axes())
        assert rings(ax) == {plots.FOUND_COLOUR: 1.0, plots.LABEL_COLOUR: 3.0}
        bold = [text.get_text() for text in ax.texts if text.get_weight() == "bold"]
        assert bold == [
            "rows = load('may')",
            "The orders sum to $48,211 and {50 %} more_or_less.",
        ]

    def test_a_step_stands_in_the_column_of_its_agent_and_looks_like_what_it_is(
        self,
    ) -> None:
        ax = plots.plot_timeline(STEPS, ax=own_axes())
        steps = [line for line in ax.lines if line.get_marker() in ("o", "s", "X")]
        assert [(line.get_xdata()[0], line.get_marker()) for line in steps] == [
            (0, "o"),
            (0, "o"),
            (1, "X"),
            (2, "o"),
        ]
        assert [label.get_text() for label in ax.get_xticklabels()] == [
            "main",
            "Python",
            "qwen3-32b",
        ]
        assert ax.get_title() == "The run"

    def test_of_a_long_run_the_ends_and_the_marks_are_drawn(self) -> None:
        steps = [RunStep(k, f"agent-{k % 3}", f"text {k}") for k in range(200)]
        ax = plots.plot_timeline(steps, found=150, ax=own_axes())
        drawn = [int(label.get_text()) for label in ax.get_yticklabels()]
        assert drawn[:3] == [0, 1, 2]
        assert drawn[-3:] == [197, 198, 199]
        assert len(drawn) == plots.TIMELINE_STEPS
        assert {145, 150, 155} < set(drawn)
        assert ax.get_ylabel() == "Step (176 are not drawn)"

    def test_indices_need_not_be_positions(self) -> None:
        steps = [RunStep(k + 10, "main", f"text {k}") for k in range(3)]
        assert rings(plots.plot_timeline(steps, found=12, ax=own_axes())) == {
            plots.FOUND_COLOUR: 2.0
        }

    @pytest.mark.parametrize("mark", [-1, 4])
    def test_a_mark_that_is_no_step_is_refused(self, mark: int) -> None:
        for marks in ({"found": mark}, {"found": 0, "labelled": mark}):
            with pytest.raises(
                InvalidInput, match=rf"decisive step {mark} of a run of 4 steps"
            ):
                plots.plot_timeline(STEPS, **marks)
        assert plt.get_fignums() == []

    @settings(max_examples=15, deadline=None)
    @given(st.text(LATIN, max_size=200), st.text(LATIN, max_size=60))
    def test_any_text_can_be_drawn(self, text: str, agent: str) -> None:
        ax = plots.plot_timeline([RunStep(0, agent, text)], found=0, ax=own_axes())
        assert len(ax.texts[0].get_text()) <= 88
        ax.figure.draw_without_rendering()
