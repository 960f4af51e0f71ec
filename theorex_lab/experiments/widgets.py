"""Sliders over drawings: each `*_explorer` is a thin wrapper over a pure `draw_*` of the same settings."""

from __future__ import annotations

import math
from io import BytesIO
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.plots import TIER_COLOURS, plot_forgetting_curves, plot_tiers
from theorex_lab.memory.decay import (
    ACTIVE_THRESHOLD,
    DEFAULT_HALF_LIFE_DAYS,
    LAWS,
    MILD_THRESHOLD,
    Floats,
    Items,
    Law,
    Tier,
    make_law,
    tiers,
)

HALF_LIFE_RANGE_DAYS = (0.5, 120.0)
_MOST_DOTS = 1_000  # more of them take longer to draw and show nothing new


def count_tiers(
    items: Items,
    half_life_days: float = DEFAULT_HALF_LIFE_DAYS,
    active_threshold: float = ACTIVE_THRESHOLD,
    mild_threshold: float = MILD_THRESHOLD,
    *,
    law: str = "product",
) -> dict[str, int]:
    """How many of the items these settings make ACTIVE, MILD and LESS. Raises InvalidInput as `draw_decay` does.

    >>> count_tiers(Items.of([0.0, 14.0, 60.0]))
    {'ACTIVE': 1, 'MILD': 1, 'LESS': 1}
    """
    _, codes = _scored(items, _law(law, half_life_days), active_threshold, mild_threshold)
    return {tier.name: int(np.count_nonzero(codes == tier)) for tier in (Tier.ACTIVE, Tier.MILD, Tier.LESS)}


def draw_decay(
    items: Items,
    half_life_days: float = DEFAULT_HALF_LIFE_DAYS,
    active_threshold: float = ACTIVE_THRESHOLD,
    mild_threshold: float = MILD_THRESHOLD,
    *,
    law: str = "product",
) -> Figure:
    """The items on the forgetting curves of these settings, and beside them how many fall into each tier.

    `law` is one that has a half-life. Raises InvalidInput for any other, a half-life outside its range, or
    thresholds outside 0 <= mild <= active <= 1.

    >>> [axes.get_title() for axes in draw_decay(Items.of([0.0, 14.0, 60.0])).axes]
    ['product, half-life 14 days', '3 items by tier']
    """
    chosen = _law(law, half_life_days)
    importance, codes = _scored(items, chosen, active_threshold, mild_threshold)
    figure = Figure(figsize=(10.5, 4.0))
    curves, bars = figure.subplots(1, 2, width_ratios=(3, 2))
    figure.subplots_adjust(left=0.06, right=0.97, top=0.91, bottom=0.24, wspace=0.45)
    plot_forgetting_curves(
        chosen, active_threshold=active_threshold, mild_threshold=mild_threshold,
        longest_days=HALF_LIFE_RANGE_DAYS[1], ax=curves,
    )  # fmt: skip
    _draw_items(curves, items, importance, codes)
    curves.set_title(f"{law}, half-life {half_life_days:.3g} days")
    plot_tiers(count_tiers(items, half_life_days, active_threshold, mild_threshold, law=law), ax=bars)
    return figure


def decay_explorer(items: Items, *, law: str = "product") -> Any:
    """Sliders for the half-life (0.5 to 120 days) and both thresholds, over `draw_decay` and `count_tiers`.

    Returns an ipywidgets VBox that works in JupyterLab and in Voila, by mouse and by keyboard. A threshold that is
    moved past the other takes it along. Raises InvalidInput for a law without a half-life.
    """
    import ipywidgets as widgets

    _law(law, DEFAULT_HALF_LIFE_DAYS)
    look: dict[str, Any] = {
        "continuous_update": False,
        "style": {"description_width": "11em"},
        "layout": widgets.Layout(width="36em"),
    }
    low, high = (math.log10(days) for days in HALF_LIFE_RANGE_DAYS)
    half_life = widgets.FloatLogSlider(
        DEFAULT_HALF_LIFE_DAYS,
        min=low,
        max=high,
        step=0.02,
        description="Half-life (days)",
        readout_format=".1f",
        **look,
    )
    active, mild = (
        widgets.FloatSlider(value, min=0.0, max=1.0, step=0.01, description=f"{name} from importance", **look)
        for name, value in (("ACTIVE", ACTIVE_THRESHOLD), ("MILD", MILD_THRESHOLD))
    )
    counts, picture = widgets.HTML(), widgets.Image(format="png")

    def redraw(change: Any = None) -> None:
        if mild.value > active.value:
            follower = mild if change.owner is active else active
            follower.value = change.new  # calls this function once more
            return
        settings = (half_life.value, active.value, mild.value)
        counts.value = _counts_in_words(count_tiers(items, *settings, law=law), half_life.value)
        picture.value = to_png(draw_decay(items, *settings, law=law))

    for slider in (half_life, active, mild):
        slider.observe(redraw, names="value")
    redraw()
    return widgets.VBox([half_life, active, mild, counts, picture])


def to_png(figure: Figure) -> bytes:
    """The figure as a PNG file; it needs no window and leaves nothing open."""
    file = BytesIO()
    figure.savefig(file, format="png", dpi=80, pil_kwargs={"compress_level": 1})
    return file.getvalue()


def _law(name: str, half_life_days: float) -> Law:
    having = [law for law in LAWS if "half_life_days" in LAWS[law].parameters]
    if name not in having:
        raise InvalidInput(f"got the law {name!r}; allowed are those with a half-life: {', '.join(having)}")
    return make_law(name, half_life_days=half_life_days)


def _scored(items: Items, law: Law, active_threshold: float, mild_threshold: float) -> tuple[Floats, Any]:
    importance = law.importance(law.raw(items))
    return importance, tiers(importance, active_threshold, mild_threshold)


def _draw_items(ax: Axes, items: Items, importance: Floats, codes: Any) -> None:
    """Each item as a dot at its age and importance; of many, evenly chosen ones."""
    chosen = np.unique(np.linspace(0, len(items) - 1, min(len(items), _MOST_DOTS)).astype(np.intp))
    for tier in Tier:
        dots = chosen[codes[chosen] == tier]
        ax.plot(
            items.age_days[dots], importance[dots], "o",
            color=TIER_COLOURS[tier.name], markersize=4, alpha=0.6, markeredgewidth=0,
        )  # fmt: skip


def _counts_in_words(counts: dict[str, int], half_life_days: float) -> str:
    tiers_in_words = ", ".join(f"{name} {count}" for name, count in counts.items())
    return f'<p role="status">{tiers_in_words} (half-life {half_life_days:.1f} days)</p>'
