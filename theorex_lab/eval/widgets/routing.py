"""The controls over the matrix of routing."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from theorex_lab.eval.metrics.costs import MatrixSettings, ModelRuns
from theorex_lab.eval.plots.routing import Measure, matrix_size, plot_matrix
from theorex_lab.eval.widgets.explorer import Explorer, control, paragraph
from theorex_lab.routing.confidence import Cell

_MEASURES = ("success", "latency", "cost")
# What is traded: its name, its column of the cells, and how it is written.
_TRADED = (
    (
        "success",
        "success_rate",
        "{:.0%}",
    ),
    (
        "latency",
        "latency_ms",
        "{:,.0f} ms",
    ),
    (
        "cost",
        "cost",
        "{:.3g}",
    ),
)
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
    figure = Figure(figsize=matrix_size(n_types, n_models), layout="constrained")
    plot_matrix(
        cells,
        choices=runs.choices(matrix_settings),
        measure=measure,
        ax=figure.add_subplot(),
    )
    return figure


def describe_effect(
    runs: ModelRuns,
    matrix_settings: MatrixSettings | None = None,
) -> str:
    """Return all that is said of these settings, a line each.

    These are the choices, what is known of each that changes, and what is traded.

    Args:
        runs: The runs.
        matrix_settings: The settings (None: the home's own).
    """
    lines = [
        describe_choices(runs, matrix_settings),
        *describe_flips(runs, matrix_settings),
        describe_trade(runs, matrix_settings),
    ]
    return "\n".join(lines)


def describe_choices(
    runs: ModelRuns,
    matrix_settings: MatrixSettings | None = None,
) -> str:
    """Return in one line what these settings choose for each type.

    It also says what they change against the home's own, where they are others.
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
    if matrix_settings is None:
        return f"chosen: {chosen_words}."
    flipped_words = "; ".join(flipped) or "nothing"
    return f"chosen: {chosen_words}. Flipped: {flipped_words}."


def describe_trade(
    runs: ModelRuns,
    matrix_settings: MatrixSettings | None = None,
) -> str:
    """Return in one line what these settings win and lose against the home's own.

    It is the mean over the types, each by its runs, of what the chosen models did in
    these same runs: no forecast. Types without a choice on both sides are left out.

    Args:
        runs: The runs.
        matrix_settings: The settings (None: the home's own).
    """
    before = runs.choices()
    after = runs.choices(matrix_settings)
    shared = [kind for kind, model in after.items() if model and before.get(kind)]
    if not shared:
        return "Traded: no type has a choice on both sides."
    cells = _cells_by_place(runs.matrix())
    weights = [cells[kind, str(before[kind])].n for kind in shared]
    old_cells = _cells_of(cells, shared, before)
    new_cells = _cells_of(cells, shared, after)
    parts: list[str] = []
    for name, column, form in _TRADED:
        old = _mean(old_cells, column, weights)
        new = _mean(new_cells, column, weights)
        if math.isfinite(old) and math.isfinite(new):
            parts.append(f"{name} {form.format(old)} → {form.format(new)}")
    return f"Traded, on the mix of these runs: {', '.join(parts)}."


def _cells_of(
    cells: Mapping[tuple[str, str], Cell],
    kinds: Sequence[str],
    choices: Mapping[str, str | None],
) -> list[Cell]:
    """Return the cell of the chosen model of each type."""
    return [cells[kind, str(choices[kind])] for kind in kinds]


def _mean(
    cells: Sequence[Cell],
    column: str,
    weights: Sequence[float],
) -> float:
    """Return the weighted mean of a column; NaN where a value is not known."""
    total = 0.0
    for cell, weight in zip(cells, weights, strict=True):
        total += weight * float(getattr(cell, column))
    return total / sum(weights)


def _cells_by_place(cells: Iterable[Cell]) -> dict[tuple[str, str], Cell]:
    """Return the cells by query type and model."""
    by_place: dict[tuple[str, str], Cell] = {}
    for cell in cells:
        key = (cell.query_type, cell.model)
        by_place[key] = cell
    return by_place


def describe_flips(
    runs: ModelRuns,
    matrix_settings: MatrixSettings | None = None,
) -> list[str]:
    """Return for each choice that these settings change what is known of both models.

    A sentence says how often each succeeds, with its 95 % interval, and the interval of
    the difference: where it holds zero, chance may decide.

    Args:
        runs: The runs.
        matrix_settings: The settings (None: the home's own).
    """
    before = runs.choices()
    cells = _cells_by_place(runs.matrix(matrix_settings))
    sentences: list[str] = []
    for kind, model in runs.choices(matrix_settings).items():
        former = before[kind]
        if model == former or model is None or former is None:
            continue
        new_cell = cells[kind, model]
        old_cell = cells[kind, former]
        sentences.append(f"{kind}: {_compared(new_cell, old_cell)}")
    return sentences


def success_difference(
    first: Cell,
    second: Cell,
) -> tuple[float, float, float]:
    """Return how much more often one succeeds than another, with a 95 % interval.

    The interval is Newcombe's, from the Wilson intervals of both (his method 10). It
    takes the runs of both as independent.

    Args:
        first: How the one did.
        second: How the other did.

    Returns:
        The difference of the shares, and the ends of its interval.
    """
    rate = first.success_rate
    other_rate = second.success_rate
    difference = rate - other_rate
    below = math.hypot(rate - first.ci_low, second.ci_high - other_rate)
    above = math.hypot(first.ci_high - rate, other_rate - second.ci_low)
    return difference, difference - below, difference + above


def _compared(
    new_cell: Cell,
    old_cell: Cell,
) -> str:
    """Return how two models do on a type of query, and whether that may be chance."""
    difference, low, high = success_difference(new_cell, old_cell)
    verdict = "not significantly different from zero"
    if low > 0:
        verdict = "a gain"
    elif high < 0:
        verdict = "a loss"
    points = 100 * difference
    points_low = 100 * low
    points_high = 100 * high
    interval = f"[{points_low:+.0f}, {points_high:+.0f}]"
    new_text = _success_text(new_cell)
    old_text = _success_text(old_cell)
    compared = f"{new_text}, instead of {old_text}"
    return f"{compared}; {points:+.0f} points {interval}, {verdict}."


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


def matrix_explorer(
    sources: Mapping[str, Callable[[], ModelRuns]],
) -> Any:
    """Return controls over `draw_matrix`.

    They are a choice of runs, sliders for the weight of success, the runs a cell needs,
    the half-life, the margin by which a cheaper model may be worse and how sure that
    must be, and a choice of what the cells show: success, latency or cost. The sliders
    begin at the runs' own settings. They work by mouse and by keyboard. A text says
    which choices change, whether that may be chance, and what is traded.

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

    margin = control(
        "FloatSlider",
        "Margin of a cheaper model",
        min=0.0,
        max=0.5,
        step=0.01,
    )
    confidence = control(
        "FloatSlider",
        "Confidence in it",
        min=0.5,
        max=0.99,
        step=0.01,
    )
    measure = control("Dropdown", "Shown", options=_MEASURES)

    def drawn(runs: ModelRuns) -> tuple[str, Figure]:
        matrix_settings = MatrixSettings(
            success_weight=success.value,
            min_samples=samples.value,
            half_life_days=half_life.value or None,
            margin=margin.value,
            confidence=confidence.value,
        )
        figure = draw_matrix(runs, matrix_settings, measure=measure.value)
        return paragraph(describe_effect(runs, matrix_settings)), figure

    is_taking_up = False

    def take_up(runs: ModelRuns) -> tuple[str, Figure]:
        nonlocal is_taking_up
        is_taking_up = True
        home_settings = MatrixSettings.of(runs.settings)
        success.value = home_settings.success_weight
        samples.value = home_settings.min_samples
        half_life.value = home_settings.half_life_days or 0.0
        margin.value = home_settings.margin
        confidence.value = home_settings.confidence
        is_taking_up = False
        return drawn(runs)

    def redraw(_: Any) -> None:
        if not is_taking_up:  # else each slider would draw on its way
            explorer.show(drawn)

    def begin(_: Any = None) -> None:
        explorer.show(take_up)

    controls = [success, samples, half_life, margin, confidence, measure]
    return explorer.box(controls, redraw, begin)
