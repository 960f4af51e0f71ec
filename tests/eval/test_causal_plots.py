"""Pictures of causal memory, and the explorer over them, in a process and in a real
browser.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from lab_page import ERRORS, until
from test_browser import (
    STATUS,
    _no_error,
    _outputs,
    _picture,
    _shown,
    browser,
    jupyterlab,
    notebook,
)

from theorex_lab import InvalidInput
from theorex_lab.eval.datasets.logs import load_logs
from theorex_lab.eval.plots import causal as plots
from theorex_lab.eval.widgets.causal import advice_explorer

__all__ = ["browser", "jupyterlab"]  # fixtures
pytestmark = pytest.mark.xdist_group("browser")


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


def test_the_widget_of_the_advice_notebook_works_by_keyboard(
    browser: Any, jupyterlab: tuple[str, Path], tmp_path: Path
) -> None:
    with notebook(
        browser, jupyterlab, "06_causal_advice.ipynb", tmp_path / "advice.png"
    ) as (page, file):
        _no_error(_outputs(file))
        status = page.locator(STATUS)
        status.scroll_into_view_if_needed()
        assert "half-life 30 days, drift off" in status.inner_text()

        def moved(press: Callable[[], object], then: str) -> None:
            picture = _shown(page)
            press()
            until(page, lambda: then in status.inner_text(), then)
            until(
                page,
                lambda: _picture(page) not in (picture, b""),
                f"another picture: {then}",
            )

        half_life, genes = (
            page.locator(".widget-slider .noUi-handle").nth(place) for place in range(2)
        )
        choice = page.locator(".widget-dropdown select")
        drift = page.locator(".widget-checkbox input")
        moved(
            lambda: choice.select_option(label="by hand"),
            "25 attempts, half-life 30 days",
        )
        moved(lambda: half_life.press("ArrowLeft"), "half-life 7 days")
        moved(lambda: drift.press("Space"), "drift on")
        moved(lambda: [genes.press("ArrowLeft") for _ in range(3)], "among 3 genes")
        assert page.locator(ERRORS).count() == 0
