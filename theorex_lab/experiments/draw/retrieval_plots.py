"""Pictures of search: what each method finds, at what cost, and what weights and floor decide."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from theorex_lab.experiments.draw import axes
from theorex_lab.experiments.draw.explorer import Explorer, control, paragraph
from theorex_lab.experiments.scores.retrieval import Considered, Weights, floor_table, shown_right
from theorex_lab.memory.intervals import bootstrap_means
from theorex_lab.search.blend import WEIGHTS

DEPTHS = (1, 3, 5, 10, 25, 50)
FLOORS = tuple(np.linspace(0.0, 0.6, 13).round(2).tolist())
_FLOOR = 0.35


def plot_recall(score: Any, *, ax: Axes | None = None) -> Axes:
    """Recall against how many texts come back, a line a method; `score` is a Retrieval, or a table like its frame.

    Of a Retrieval each point has its 95 % interval over questions.
    """
    depths = (5, 10, 25, 50)
    table = axes.frame_of(score, *(f"recall@{depth}" for depth in depths))
    ax, scores = axes.new_axes(ax), getattr(score, "scores", {})
    if table.empty:
        return axes.say(ax, "nothing was scored yet")
    for number, (method, row) in enumerate(table.iterrows()):
        found = [row[f"recall@{depth}"] for depth in depths]
        look = axes.look_of(number)
        ax.plot(depths, found, label=str(method).replace("_", ", "), **look)
        for depth, span in zip(depths, bootstrap_means(scores[method]) if method in scores else (), strict=False):
            ax.vlines(depth, span.low, span.high, color=look["color"], linewidth=1)
    axes.legend_beside(ax)
    ax.set_xscale("log")
    ax.minorticks_off()
    return axes.finish_axes(ax, xticks=depths, xticklabels=depths, xlabel="Texts that come back", ylabel="Recall",
                       title="Share of the right texts among those that come back")  # fmt: skip


def plot_recall_by_tokens(score: Any, *, ax: Axes | None = None) -> Axes:
    """Recall of ten texts against their tokens, a point a method; `score` as in `plot_recall`."""
    table = axes.frame_of(score, "recall@10", "tokens")
    ax = axes.new_axes(ax)
    if table.empty:
        return axes.say(ax, "nothing was scored yet")
    for number, (method, row) in enumerate(table.iterrows()):
        ax.plot(row["tokens"], row["recall@10"], axes.shape_of(number), color=axes.colour_of(number), markersize=9)
        axes.note(ax, str(method).replace("_", ", "), (row["tokens"], row["recall@10"]), 8)
    ax.margins(x=0.25, y=0.15)
    return axes.finish_axes(ax, xlabel="Tokens of the ten texts", ylabel="Recall@10", title="What the right texts cost")


def plot_floor(table: pd.DataFrame, *, floor: float = _FLOOR, ax: Axes | None = None) -> Axes:
    """Precision and recall of ten texts over floors, columns of the table; a line marks the floor in force."""
    floors, *values = axes.columns_of(table, "floor", "precision", "recall")
    ax = axes.new_axes(ax)
    for number, (name, value) in enumerate(zip(("precision", "recall"), values, strict=True)):
        ax.plot(floors, value, label=name, **axes.look_of(number))
    ax.axvline(floor, color="#8C8C8C", linestyle=":", label=f"floor {floor:g}")
    axes.legend_beside(ax)
    return axes.finish_axes(ax, ylim=(0, 1.02), xlabel="Score below which a text does not come back",
                       ylabel="Mean over the questions", title="A floor trades recall for precision")  # fmt: skip


def draw_search(asked: Sequence[Considered], weights: Weights = WEIGHTS, floor: float = _FLOOR) -> Figure:
    """Recall by these weights beside those that ship, and what floors do to ten texts."""
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for number, (name, used) in enumerate({"as it ships": WEIGHTS, "these weights": weights}.items()):
        curve = _recall_curve(asked, used, floor)
        left.plot(DEPTHS, curve, label=f"{name}: {curve[3]:.3f} at ten", **axes.look_of(number))
    left.legend(frameon=False, loc="lower right")
    left.set_xscale("log")
    left.minorticks_off()
    left.set(xticks=DEPTHS, xticklabels=DEPTHS)
    axes.finish_axes(left, xlabel="Texts that come back", ylabel="Recall", title="Weights")
    plot_floor(floor_table(asked, weights, FLOORS), floor=floor, ax=right)
    return figure


def search_explorer(sources: Mapping[str, Callable[[], Sequence[Considered]]]) -> Any:
    """Sliders for the weights, 0 to 2, and the floor, over `draw_search`; a source gives what search considers."""
    explorer = Explorer(dict(sources), "what search considers for each question")
    span = {"min": 0.0, "max": 2.0, "step": 0.1}
    values = {**WEIGHTS, "floor": _FLOOR}.items()
    sliders = {name: control("FloatSlider", name.replace("_", " "), value=weight, **span) for name, weight in values}

    def drawn(asked: Sequence[Considered]) -> tuple[str, Figure]:
        weights = {name: slider.value for name, slider in sliders.items()}
        floor = weights.pop("floor")
        recall = floor_table(asked, weights, [floor]).recall[0]
        return paragraph(f"{len(asked)} questions: recall@10 {recall:.3f}"), draw_search(asked, weights, floor)

    return explorer.box([*sliders.values()], lambda _=None: explorer.show(drawn))


def _recall_curve(asked: Sequence[Considered], weights: Weights, floor: float) -> list[float]:
    orders = [(shown_right(texts, weights, floor), texts.wanted) for texts in asked if texts.wanted]
    return [float(np.mean([right[:depth].sum() / wanted for right, wanted in orders])) for depth in DEPTHS]
