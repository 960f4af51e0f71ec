"""The controls over dreams: strategies and a way, as sliders change them."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from theorex_lab.eval.plots.dreams import Traces, draw_dream, dreamt
from theorex_lab.eval.widgets.explorer import Explorer, control, paragraph


def dream_explorer(sources: Mapping[str, Traces], contexts: Sequence[str]) -> Any:
    """Return sliders for mergeSimilarity and driftThreshold over `draw_dream`.

    Args:
        sources: Traces by name.
        contexts: What is met at each step of the way.

    Returns:
        An ipywidgets VBox.

    Raises:
        InvalidInput: There is no source.
    """
    readers: dict[str, Callable[[], Traces]] = {}
    for name, traces in sources.items():
        readers[name] = partial(dict, traces)
    explorer = Explorer(readers, "traces")
    merge = control(
        "FloatSlider",
        "Merge from a cosine of",
        value=0.85,
        min=0.3,
        max=1.0,
        step=0.05,
    )
    drift = control(
        "FloatSlider",
        "Drift below a cosine of",
        value=0.3,
        min=0.0,
        max=1.0,
        step=0.05,
    )

    def drawn(traces: Traces) -> tuple[str, Figure]:
        strategies, edges, way = dreamt(
            traces,
            contexts,
            merge.value,
            drift.value,
        )
        paths = ", ".join(path for _, path, _ in way)
        summary = f"{len(traces)} traces became {len(strategies)} strategies; {paths}"
        figure = draw_dream(strategies, edges, way, drift.value)
        return paragraph(summary), figure

    def redraw(_: Any = None) -> None:
        explorer.show(drawn)

    explorer.source.description = "Traces"
    return explorer.box([merge, drift], redraw)
