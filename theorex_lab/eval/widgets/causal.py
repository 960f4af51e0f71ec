"""The controls over the advice of causal memory."""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from theorex_lab.eval.plots import axes
from theorex_lab.eval.plots.causal import Frame, describe_half_life, draw_advice
from theorex_lab.eval.widgets.explorer import (
    ControlSettings,
    Explorer,
    control,
    paragraph,
)


def advice_explorer(sources: Mapping[str, Frame]) -> Any:
    """Return controls over `draw_advice`.

    They are a choice of half-lives, a switch for drift, and how many genes there are.

    Args:
        sources: Attempts by name.

    Returns:
        An ipywidgets VBox.

    Raises:
        InvalidInput: There is no source.
    """
    readers = {}
    for name, table in sources.items():
        readers[name] = partial(pd.DataFrame.copy, table)
    explorer = Explorer[Frame](readers, "attempts")
    lives: ControlSettings = {
        "options": [
            ("7", 7.0),
            ("30", 30.0),
            ("45", 45.0),
            ("never ages", math.inf),
        ],
        "value": 30.0,
    }
    half_life = control("SelectionSlider", "Half-life (days)", **lives)
    drift = control("Checkbox", "Drift", value=False)
    genes = control(
        "IntSlider",
        "Genes to choose among",
        value=6,
        min=1,
        max=len(axes.LINE_COLOURS),
    )

    def drawn(attempts: Frame) -> tuple[str, Figure]:
        ageing = describe_half_life(half_life.value)
        switch = "on" if drift.value else "off"
        summary = (
            f"{len(attempts)} attempts, {ageing}, drift {switch}"
            f" among {genes.value} genes"
        )
        figure = draw_advice(attempts, half_life.value, drift.value, genes.value)
        return paragraph(summary), figure

    def redraw(_: Any = None) -> None:
        explorer.show(drawn)

    explorer.source.description = "Attempts"
    return explorer.box([half_life, drift, genes], redraw)
