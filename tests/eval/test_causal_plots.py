"""Pictures of causal memory, and the explorer over them."""

from collections.abc import Iterator

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from theorex_lab import InvalidInput
from theorex_lab.eval.datasets.logs import load_logs
from theorex_lab.eval.plots import causal as plots
from theorex_lab.eval.widgets.causal import advice_explorer


@pytest.fixture(scope="module")
def attempts() -> Iterator[pd.DataFrame]:
    lab = plots.lab_of(load_logs("simulated_sessions")[0])
    yield plots.attempts_of(lab)
    lab.close()
    plt.close("all")


def test_a_chain_leads_from_errors_over_deeds_to_outcomes(
    attempts: pd.DataFrame,
) -> None:
    ax = plots.plot_chain(attempts, most=3)
    words = [text.get_text() for text in ax.texts]
    assert words[-2:] == ["success", "failed"]
    assert len(words) <= 3 + 3 + 2
    assert ax.get_title().endswith("what failed, what was done, what came of it")


def test_success_stands_in_its_interval_and_its_aged_value_is_no_higher(
    attempts: pd.DataFrame,
) -> None:
    ax = plots.plot_success(attempts, most=5)
    assert len(ax.get_yticklabels()) == 5
    interval = ax.containers[0][0]
    aged = ax.lines[-1]
    assert all(0 <= rate <= 1 for rate in interval.get_xdata())
    assert all(0 < value < 1 for value in aged.get_xdata())


def test_another_half_life_changes_scores_and_drift_spreads_the_choice(
    attempts: pd.DataFrame,
) -> None:
    short, ageless = (
        plots.draw_advice(attempts, days).axes[0].lines[0].get_ydata()
        for days in (7.0, float("inf"))
    )
    # What was tried just now has no age yet, so that only some points are lower.
    assert all(short <= ageless)
    assert any(short < ageless)
    bars = {
        drift: len(plots.draw_advice(attempts, drift=drift).axes[1].patches)
        for drift in (False, True)
    }
    assert bars[False] == 1 < bars[True]


def test_the_explorer_draws_again_when_a_control_moves(attempts: pd.DataFrame) -> None:
    box = advice_explorer({"simulated": attempts})
    _, half_life, drift, genes, status, picture = box.children
    before = picture.value
    half_life.value, drift.value = 7.0, True
    assert "half-life 7 days, drift on" in status.value
    assert picture.value != before
    before, genes.value = picture.value, 2
    assert picture.value != before
    with pytest.raises(InvalidInput, match="got no source"):
        advice_explorer({})
