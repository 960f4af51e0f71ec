"""The controls over the matrix of routing."""

import math
from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from matplotlib.figure import Figure

from theorex_lab.eval.metrics.costs import MatrixSettings, ModelRuns
from theorex_lab.eval.plots.routing import Measure, plot_matrix
from theorex_lab.eval.widgets.explorer import Explorer, control, paragraph
from theorex_lab.routing.confidence import Cell

_MEASURES = ("success", "latency", "cost")
HEURISTIC = "heuristic"  # what decides where the matrix knows too little


def draw_matrix(
    runs: ModelRuns,
    matrix_settings: MatrixSettings | None = None,
    *,
    measure: Measure = "success",
) -> Figure:
    """Draw the matrix under these settings, with the cells that they choose framed.

    Args:
        runs: The runs.
        matrix_settings: The settings (None: the home's own).
        measure: What the cells show: success, latency or cost.

    Raises:
        InvalidInput: A weight is outside 0..1, the runs are fewer than 0, or a
            half-life is not above 0.
    """
    cells = runs.matrix(matrix_settings)
    n_models = len({cell.model for cell in cells})
    n_types = len(runs.choices())
    width = 2.4 + 1.7 * max(n_models, 2)
    height = 2.2 + 0.58 * max(n_types, 2)
    figure = Figure(figsize=(width, height), layout="constrained")
    plot_matrix(
        cells,
        choices=runs.choices(matrix_settings),
        measure=measure,
        ax=figure.add_subplot(),
    )
    return figure


def describe_choices(
    runs: ModelRuns, matrix_settings: MatrixSettings | None = None
) -> str:
    """Return in one line what these settings choose for each type.

    It also says what they change against the home's own.
    """
    before = runs.choices()
    after = runs.choices(matrix_settings)
    chosen: list[str] = []
    flipped: list[str] = []
    for kind, model in after.items():
        name = model or HEURISTIC
        former_name = before[kind] or HEURISTIC
        chosen.append(f"{kind}: {name}")
        if name != former_name:
            flipped.append(f"{kind}: {former_name} → {name}")
    chosen_words = "; ".join(chosen) or "nothing"
    flipped_words = "; ".join(flipped) or "nothing"
    return f"chosen: {chosen_words}. Flipped: {flipped_words}."


def describe_flips(
    runs: ModelRuns, matrix_settings: MatrixSettings | None = None
) -> list[str]:
    """Return for each choice that these settings change what is known of both models.

    A sentence says how often each succeeds, with its 95 % interval, and whether the two
    intervals overlap: then the change rests on what may be chance.

    Args:
        runs: The runs.
        matrix_settings: The settings (None: the home's own).
    """
    before = runs.choices()
    cells: dict[tuple[str, str], Cell] = {}
    for cell in runs.matrix(matrix_settings):
        cells[cell.query_type, cell.model] = cell
    sentences: list[str] = []
    for kind, model in runs.choices(matrix_settings).items():
        former = before[kind]
        if model == former or model is None or former is None:
            continue
        new_cell = cells[kind, model]
        old_cell = cells[kind, former]
        sentences.append(f"{kind}: {_compared(new_cell, old_cell)}")
    return sentences


def _compared(new_cell: Cell, old_cell: Cell) -> str:
    """Return how two models do on a type of query, and whether that may be chance."""
    is_apart = new_cell.ci_low > old_cell.ci_high or new_cell.ci_high < old_cell.ci_low
    verdict = "the intervals do not overlap"
    if not is_apart:
        verdict = "the intervals overlap, so that chance may decide"
    return f"{_success_text(new_cell)}, {_success_text(old_cell)}; {verdict}."


def _success_text(cell: Cell) -> str:
    """Return how often a model succeeds, with the interval and its latency and cost."""
    low = 100 * cell.ci_low
    high = 100 * cell.ci_high
    interval = f"{low:.0f} to {high:.0f}"
    parts = [f"{cell.model} {cell.success_rate:.0%} ({interval})"]
    if math.isfinite(cell.latency_ms):
        parts.append(f"{cell.latency_ms:,.0f} ms")
    if math.isfinite(cell.cost):
        parts.append(f"cost {cell.cost:.3g}")
    return ", ".join(parts)


def matrix_explorer(sources: Mapping[str, Callable[[], ModelRuns]]) -> Any:
    """Return controls over `draw_matrix`.

    They are a choice of runs, sliders for the weight of success, the runs a cell needs
    and the half-life, and a choice of what the cells show: success, latency or cost. The
    sliders begin at the runs' own settings. They work by mouse and by keyboard. A text
    says which choices change, and whether that may be chance.

    Args:
        sources: Runs by name, as `run_sources` gives them. The first is shown, any
            other is read when it is chosen; why one cannot be read stands in place of
            the choices.

    Returns:
        An ipywidgets VBox.

    Raises:
        InvalidInput: There is no source.
    """
    explorer = Explorer(sources, "Runs")
    success = control(
        "FloatSlider",
        "Weight of success (rest: speed)",
        min=0.0,
        max=1.0,
        step=0.05,
    )
    samples = control("IntSlider", "Runs a cell needs", min=0, max=200)
    half_life = control(
        "FloatSlider",
        "Half-life (days; 0: never)",
        min=0.0,
        max=365.0,
        step=0.5,
    )

    measure = control("Dropdown", "Shown", options=_MEASURES)

    def drawn(runs: ModelRuns) -> tuple[str, Figure]:
        matrix_settings = MatrixSettings(
            success.value,
            samples.value,
            half_life.value or None,
        )
        text = paragraph(describe_choices(runs, matrix_settings))
        for sentence in describe_flips(runs, matrix_settings):
            text += f"<p>{escape(sentence)}</p>"
        return text, draw_matrix(runs, matrix_settings, measure=measure.value)

    def take_up(runs: ModelRuns) -> tuple[str, Figure]:
        home_settings = MatrixSettings.of(runs.settings)
        success.value = home_settings.success_weight
        samples.value = home_settings.min_samples
        half_life.value = home_settings.half_life_days or 0.0
        return drawn(runs)

    def redraw(_: Any) -> None:
        explorer.show(drawn)

    def begin(_: Any = None) -> None:
        explorer.show(take_up)

    controls = [success, samples, half_life, measure]
    return explorer.box(controls, redraw, begin)
