"""Controls over drawings of routing: each `*_explorer` is a thin wrapper over a pure `draw_*` of the same settings."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from matplotlib.figure import Figure

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.experiments.draw.explorer import Explorer, control, paragraph
from theorex_lab.experiments.draw.routing_plots import HEURISTIC, plot_choices, plot_matrix
from theorex_lab.experiments.scores.routing_runs import MatrixSettings, Runs

HALF_LIVES_DAYS = (1.0, 2.0, 4.0, 7.0, 14.0, 30.0, 60.0, 120.0, 365.0)
_NEVER = ("never", math.inf)

Sources = Mapping[str, Callable[[], Runs]]


def draw_matrix(runs: Runs, chosen: MatrixSettings | None = None) -> Figure:
    """The matrix under these settings (None: the home's own), and beside it what they choose against the home's own.

    Raises InvalidInput for a weight outside 0..1, fewer than 0 runs, or a half-life that is not above 0.
    """
    cells, before, after = runs.matrix(chosen), runs.choices(), runs.choices(chosen)
    kinds, models = max(len(after), 3), max(len({cell.model for cell in cells}), 2)
    letters = max((len(f"{before[kind] or HEURISTIC} → {after[kind] or HEURISTIC}") for kind in after), default=0)
    # Inches, since a layout that is found by drawing takes four times as long.
    table, scores, height = 1.55 * models, 2.7, 0.55 * kinds
    width, bottom = 0.85 + table + 1.85 + scores + 0.3 + 0.085 * letters, 0.75 + 0.22 * models
    figure = Figure(figsize=(width, bottom + height + 0.6))
    tall = (bottom / figure.get_figheight(), height / figure.get_figheight())
    places = ((0.85, table), (2.7 + table, scores))
    left, right = (figure.add_axes((start / width, tall[0], wide / width, tall[1])) for start, wide in places)
    plot_matrix(cells, choices=after, ax=left)
    plot_choices(cells, before, after, ax=right)
    return figure


def describe_choices(runs: Runs, chosen: MatrixSettings | None = None) -> str:
    """What these settings choose for each type, and what they change against the home's own, in one line."""
    before, after = runs.choices(), runs.choices(chosen)
    names = {kind: (before[kind] or HEURISTIC, model or HEURISTIC) for kind, model in after.items()}
    flipped = "; ".join(f"{kind}: {was} → {now}" for kind, (was, now) in names.items() if was != now)
    chosen_now = "; ".join(f"{kind}: {now}" for kind, (_, now) in names.items())
    return f"chosen: {chosen_now or 'nothing'}. Flipped: {flipped or 'nothing'}."


def matrix_explorer(sources: Sources) -> Any:
    """A choice of runs, sliders for the weight of success, the runs a cell needs and the half-life, over `draw_matrix`.

    `sources` gives runs by name, as `run_sources` does; the first is shown, any other is read when it is chosen, and why
    one cannot be read stands in place of the choices. A slider offers what changes the matrix of these runs, and is
    hidden where nothing would: the weight where no latency is known, the half-life where all runs are of one day.
    Returns an ipywidgets VBox that works by mouse and by keyboard. Raises InvalidInput for no source.
    """
    explorer = Explorer(sources, "Runs")
    success, samples, half_life = controls = [
        control("FloatSlider", "Weight of success (rest: speed)", min=0.0, max=1.0, step=0.05),
        control("SelectionSlider", "Runs a cell needs", options=[0]),
        control("SelectionSlider", "Half-life (days)", options=[_NEVER])]  # fmt: skip
    taking_up = False  # while the controls take up a source's own settings, nothing is drawn

    def drawn(runs: Runs) -> tuple[str, Figure]:
        half_life_days = None if half_life.value == math.inf else half_life.value
        chosen = MatrixSettings(success.value, samples.value, half_life_days)
        return paragraph(describe_choices(runs, chosen)), draw_matrix(runs, chosen)

    def redraw(_: Any) -> None:
        if not taking_up:
            explorer.show(drawn)

    def take_up(runs: Runs) -> tuple[str, Figure]:
        nonlocal taking_up
        taking_up = True
        _set_controls(controls, runs)
        taking_up = False
        return drawn(runs)

    return explorer.box(controls, redraw, lambda _=None: explorer.show(take_up))


def _set_controls(controls: list[Any], runs: Runs) -> None:
    """Let the controls stand at the runs' own settings, offer what changes something, and hide what cannot."""
    success, samples, half_life = controls
    own = MatrixSettings.of(runs.settings)
    success.value = own.success_weight
    samples.options, samples.value = sample_stops(runs), own.min_samples
    offered = sorted({*HALF_LIVES_DAYS, *([own.half_life_days] if own.half_life_days else [])})
    half_life.options = [*((f"{days:g}", days) for days in offered), _NEVER]
    half_life.value = own.half_life_days or math.inf
    aged = own.half_life_days is not None or (runs.now - runs.frame["at"] >= MICROSECONDS_PER_DAY).any()
    for slider, shown in ((success, runs.frame["latency_ms"].notna().any()), (half_life, aged)):
        slider.layout.display = "" if shown else "none"


def sample_stops(runs: Runs) -> list[int]:
    """The runs that a cell may be asked for, where each takes in other cells than the one before, and the home's own setting.

    >>> from theorex_lab.experiments.scores.routing_runs import local_runs
    >>> sample_stops(local_runs())  # every cell has 23 or 24 runs
    [5, 24, 25]
    """
    own, counts = runs.settings.matrix_min_samples, [cell.n for cell in runs.matrix()]
    stops = {1, *(math.floor(n) + 1 for n in counts)}
    usable = {stop: sum(n >= stop for n in counts) for stop in (*stops, own)}
    return sorted({own, *(stop for stop in stops if usable[stop] != usable[own])})
