"""Draw what every picture stands on.

That is Axes, colours, intervals, notes, legends, and words where there is nothing to
draw.
"""

import re
from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from theorex_lab.core.errors import InvalidInput
from theorex_lab.memory.intervals import Floats

# Colours of Okabe and Ito, which people with any of the common colour blindnesses tell
# apart.
TIER_COLOURS = {
    "ACTIVE": "#D55E00",
    "MILD": "#E69F00",
    "LESS": "#56B4E9",
    "SLEEPING": "#8C8C8C",
    "NEUTRAL": "#D9D9D9",
}
LINE_COLOURS = (
    "#0072B2",
    "#009E73",
    "#CC79A7",
    "#000000",
    "#D55E00",
    "#E69F00",
    "#56B4E9",
)
SHAPES = ("o", "s", "^", "D", "v", "P")
# By method its colour and mark, by number, so that it looks the same in every picture:
# memory designs and baselines, decay laws, and ways of searching.
METHOD_LOOKS = {
    "sessions": (0, "o"),
    "theorex": (4, "s"),
    "facts": (1, "^"),
    "causal": (2, "D"),
    "dreams": (5, "v"),
    "research": (6, "P"),
    "nothing": (3, "."),
    "recent_files": (3, "x"),
    "short_files": (3, "+"),
    "last_session": (3, "<"),
    "last_prompts": (3, ">"),
    "bm25": (3, "*"),
    "shuffled": (3, "1"),
    "oracle_lines": (3, "d"),
    "briefing": (0, "o"),
    "power": (0, "o"),
    "product": (4, "s"),
    "recency": (2, "^"),
    "frequency": (5, "D"),
    "weighted_sum": (6, "v"),
    "fitted": (1, "P"),
    "default": (0, "o"),
    "default_words": (6, "s"),
    "fused": (1, "^"),
    "vector": (2, "D"),
    "lexical": (4, "v"),
    "bm25_okapi": (3, "*"),
    "letters": (5, "P"),
}
LEGEND_DROP_INCHES = 0.5
_LEGEND_LETTERS = 48  # abreast
_DARK_INK_FROM = 0.4  # of the light of a cell: above, black is read more easily


class MarkLook(TypedDict, total=False):
    """How the mark of a legend looks, by matplotlib's names."""

    color: Any
    linewidth: float
    ls: str
    markersize: float
    mec: Any
    mew: float
    mfc: Any
    ms: float


class LineLook(MarkLook, total=False):
    """How a line and its marks look, by matplotlib's names."""

    fmt: str
    label: str
    marker: str


class TextLook(TypedDict, total=False):
    """How a text looks, by matplotlib's names."""

    bbox: dict[str, Any]
    color: Any
    fontsize: float | None
    path_effects: list[Any]
    weight: str
    zorder: float


class CellColours(TypedDict, total=False):
    """How values become colours, by matplotlib's names."""

    cmap: Any
    norm: Any
    vmax: float
    vmin: float


class AxesLabels(TypedDict, total=False):
    """Limits, labels and title of Axes, by matplotlib's names."""

    title: str
    xlabel: str
    xlim: tuple[float, float]
    xticklabels: Sequence[Any]
    xticks: Sequence[float]
    ylabel: str
    ylim: tuple[float, float]


def new_axes(
    ax: Axes | None,
    *,
    width: float = 8.0,
    height: float = 4.5,
) -> Axes:
    """Return `ax`, or the Axes of a new figure of this size in inches."""
    return (
        plt.subplots(figsize=(width, height), layout="constrained")[1]
        if ax is None
        else ax
    )


def figure_of(ax: Axes) -> Figure:
    """Return the whole figure that the Axes stand in."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def colour_of(number: int) -> str:
    """Return the colour of the line of this number; they come round again."""
    return LINE_COLOURS[number % len(LINE_COLOURS)]


def look_of(number: int, **more: Unpack[LineLook]) -> dict[str, Any]:
    """Return colour and marker of the line of this number, as `Axes.plot` takes them.

    What else is given is added.
    """
    return {
        "color": colour_of(number),
        "marker": SHAPES[number % len(SHAPES)],
        **more,
    }


def method_look(
    method: str, number: int = 0, **more: Unpack[LineLook]
) -> dict[str, Any]:
    """Return colour and marker of a method, as `Axes.plot` takes them.

    Args:
        method: Its name; a number at its end and what follows a colon or a blank are
            left out ("power_0.75", "recency (as shipped)").
        number: The number of the line, which decides for a name that METHOD_LOOKS
            lacks.
        more: What else is given is added.

    >>> method_look("recency") == method_look("recency (as shipped)")
    True
    """
    name = re.split(r"[: (]|_(?=[\d.]+$)", method, maxsplit=1)[0]
    if name not in METHOD_LOOKS:
        return look_of(number, **more)
    colour, marker = METHOD_LOOKS[name]
    return {"color": LINE_COLOURS[colour], "marker": marker, **more}


def finish_axes(
    ax: Axes, *, hidden: Sequence[str] = ("top", "right"), **labels: Unpack[AxesLabels]
) -> Axes:
    """Set limits, labels and title, as `Axes.set` does; return `ax`.

    Args:
        ax: The Axes.
        hidden: The edges of the frame that are hidden.
        labels: Limits, labels and title.
    """
    ax.set(**labels)
    ax.spines[list(hidden)].set_visible(False)
    return ax


def draw_interval(
    ax: Axes,
    x: Any,
    y: Any,
    *,
    ci_low: Any,
    ci_high: Any,
    level: bool = False,
    **look: Unpack[LineLook],
) -> None:
    """Draw points and the bars of their intervals.

    A bound that rounding puts on the wrong side of its point is drawn at the point.

    Args:
        ax: Where they are drawn.
        x: The positions of the points.
        y: Their heights.
        ci_low: The lower bounds of y, or of x where they are `level`.
        ci_high: The upper bounds.
        level: Whether the bars are level.
        look: How points and bars look.
    """
    middle = np.asarray(x if level else y, dtype=np.float64)
    lengths = np.maximum(
        [middle - np.asarray(ci_low), np.asarray(ci_high) - middle], 0.0
    ).reshape(2, -1)
    ax.errorbar(
        x,
        y,
        xerr=lengths if level else None,
        yerr=None if level else lengths,
        capsize=3,
        **look,
    )


def note(
    ax: Axes,
    text: str,
    at: tuple[float, float],
    points: float = 0.0,
    *,
    in_width: bool = False,
    above: float = 0.0,
    **look: Unpack[TextLook],
) -> None:
    """Write a text so many points to the right of a position, or below 0 to its left.

    It may stand outside of the axes.

    Args:
        ax: Where it is drawn.
        text: The text.
        at: The position, in the units of the data.
        points: How far to the right of it.
        in_width: The first number of `at` is a share of the width of the axes.
        above: Points over the position, centred.
        look: How the text looks.
    """
    across, upright = (
        ("center", "bottom") if above else ("right" if points < 0 else "left", "center")
    )
    settings: dict[str, Any] = {
        "fontsize": 9,
        "va": upright,
        "ha": across,
        **look,
    }
    ax.annotate(
        text,
        at,
        xycoords=("axes fraction", "data") if in_width else "data",
        xytext=(points, above),
        textcoords="offset points",
        parse_math=False,
        annotation_clip=False,
        **settings,
    )


def name_rows(ax: Axes, names: Sequence[str], **look: Unpack[TextLook]) -> None:
    """Name rows 0, 1, … from top to bottom, each with its name before."""
    ax.set_yticks(
        range(len(names)),
        list(names),
        parse_math=False,
        **look,
    )
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)


def heat_map(
    ax: Axes,
    values: Floats,
    texts: Any,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    size: float = 8.5,
    drop: float = 0.0,
    **colours: Unpack[CellColours],
) -> AxesImage:
    """Draw values as coloured cells, shape (rows, columns); NaN stays blank.

    Args:
        ax: Where they are drawn.
        values: The values.
        texts: What stands in the cells, of the same shape.
        rows: The names of the rows.
        columns: The names of the columns.
        size: The size of the texts, in points.
        drop: How far below the middle of its cell a text stands, in cells.
        colours: How values become colours.
    """
    picture = ax.imshow(values, aspect="auto", **colours)
    ax.set_xticks(
        range(len(columns)),
        list(columns),
        parse_math=False,
    )
    name_rows(ax, rows)
    # The light that a colour gives, as ITU-R BT.601 weighs it; what is blank is light.
    light = picture.to_rgba(np.ma.masked_invalid(values)) @ (0.299, 0.587, 0.114, 0.0)
    light[np.isnan(values)] = 1.0
    for (row, column), text in np.ndenumerate(texts):
        if text:
            ink = "black" if light[row, column] > _DARK_INK_FROM else "white"
            ax.text(
                column,
                row + drop,
                text,
                ha="center",
                va="center",
                fontsize=size,
                color=ink,
                zorder=3,
            )
    return picture


def key(label: str, marker: str = "", **look: Unpack[MarkLook]) -> Line2D:
    """Return a mark of a legend; without `ls` no line."""
    settings: dict[str, Any] = {"ls": "", "ms": 9, **look}
    return Line2D(
        [],
        [],
        marker=marker,
        label=label,
        **settings,
    )


def legend_below(
    ax: Axes, handles: Sequence[Any] | None = None, *, columns: int | None = None
) -> None:
    """Draw a legend under the axes and their labels.

    It has as many columns as its words leave room for. Without `handles`, it is of all
    that has a label.
    """
    shown = ax.get_legend_handles_labels()[0] if handles is None else handles
    longest = max((len(str(handle.get_label())) for handle in shown), default=1)
    drop = ScaledTranslation(0.0, -LEGEND_DROP_INCHES, figure_of(ax).dpi_scale_trans)
    ax.legend(
        handles=shown,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + drop,
        ncols=columns or max(1, _LEGEND_LETTERS // (longest + 5)),
        frameon=False,
        borderaxespad=0.0,
    )


def legend_beside(ax: Axes, handles: Sequence[Any] | None = None) -> None:
    """Draw a legend to the right of the axes.

    Without `handles`, it is of all that has a label.
    """
    ax.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0.0,
        frameon=False,
    )


def say(ax: Axes, message: str) -> Axes:
    """Draw a message in place of a picture and of its axes."""
    ax.set_axis_off()
    ax.text(
        0.5,
        0.5,
        message,
        transform=ax.transAxes,
        ha="center",
        va="center",
        color="#555555",
    )
    return ax


def frame_of(table: Any, *names: str) -> Any:
    """Return the DataFrame, or what has one as `frame`.

    Raises:
        InvalidInput: Columns are missing; the message names them.
    """
    frame = getattr(table, "frame", table)
    if missing := [name for name in names if name not in frame]:
        raise InvalidInput(
            f"got a table without {', '.join(missing)}; allowed is one with {', '.join(names)}"
        )
    return frame


def columns_of(table: Any, *names: str) -> list[Any]:
    """Return these columns of a table.

    Raises:
        InvalidInput: As `frame_of`.
    """
    frame = frame_of(table, *names)
    return [np.asarray(frame[name]) for name in names]
