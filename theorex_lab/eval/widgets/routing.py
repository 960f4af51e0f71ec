"""The controls over the matrix of routing."""

from collections.abc import Callable, Mapping
from typing import Any

from matplotlib.figure import Figure

from theorex_lab.eval.metrics.costs import MatrixSettings, ModelRuns
from theorex_lab.eval.plots.routing import plot_matrix
from theorex_lab.eval.widgets.explorer import Explorer, control, paragraph

HEURISTIC = "heuristic"  # what decides where the matrix knows too little


def draw_matrix(
    runs: ModelRuns, matrix_settings: MatrixSettings | None = None
) -> Figure:
    """Draw the matrix under these settings, with the cells that they choose framed.

    Args:
        runs: The runs.
        matrix_settings: The settings (None: the home's own).

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


def matrix_explorer(sources: Mapping[str, Callable[[], ModelRuns]]) -> Any:
    """Return controls over `draw_matrix`.

    They are a choice of runs, and sliders for the weight of success, the runs a cell
    needs and the half-life. The sliders begin at the runs' own settings. They work by
    mouse and by keyboard.

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

    def drawn(runs: ModelRuns) -> tuple[str, Figure]:
        matrix_settings = MatrixSettings(
            success.value,
            samples.value,
            half_life.value or None,
        )
        line = paragraph(describe_choices(runs, matrix_settings))
        return line, draw_matrix(runs, matrix_settings)

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

    return explorer.box([success, samples, half_life], redraw, begin)
