"""The pictures of a tour: where work went, what changed most, what came back."""

import math
from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from theorex_lab.core.clock import MICROSECONDS_PER_DAY, to_iso
from theorex_lab.eval.plots import axes


class _Width(NamedTuple):
    """How wide a column of time is.

    Attributes:
        days: In days.
        name: What it is called.
    """

    days: int
    name: str


class _ToldBars(NamedTuple):
    """The bars of one of two that told what was needed.

    Attributes:
        column: Where its number stands in a row.
        shift: How far below the middle of a row its bar is.
        label: What it is called.
        colour: Its colour.
    """

    column: int
    shift: float
    label: str
    colour: str


_MOST_COLUMNS = 40
_MOST_DAYS_NAMED = 4
_WIDTHS = (
    _Width(1, "day"),
    _Width(7, "week"),
    _Width(30, "month"),
    _Width(91, "quarter"),
    _Width(365, "year"),
)
_LONGEST_NAME = 38  # letters of a name beside its row
_LETTERS_ABREAST = 26
_DARK_SHARE = 0.3  # of the fullest cell, from which on white can be read on a cell
_FIX_COLOUR = "#D55E00"
_OTHER_COLOUR = "#56B4E9"
_TOLD_BARS = (
    _ToldBars(2, -0.18, "the briefing", "#0072B2"),
    _ToldBars(3, 0.18, "the last message before", "#999999"),
)


def plot_activity(
    times: Mapping[str, Sequence[int]],
    *,
    unit: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw how often something happened in each folder over time; dark is often.

    Args:
        times: By the name of a folder when something happened there (µs UTC).
        unit: What is counted, in the plural.
        ax: Where to draw; None makes a figure.
    """
    height = 0.4 * len(times) + 1.6
    ax = axes.new_axes(ax, width=9, height=height)
    moments = _all_moments(times)
    if not moments:
        return axes.say(ax, f"There are no {unit}.")
    width = _width_for(moments)
    edges = _edges(moments, width)
    counts = [np.histogram(folder, edges)[0] for folder in times.values()]
    table = np.array(counts)
    # Few and many must both be seen, which roots are for.
    ax.imshow(
        np.sqrt(table),
        aspect="auto",
        cmap="Blues",
        vmin=0,
    )
    axes.name_rows(ax, [_short(folder) for folder in times])
    _name_columns(ax, edges)
    _mark_busiest(ax, table)
    return axes.finish_axes(
        ax,
        hidden=("top", "right", "bottom", "left"),
        title=f"{unit.capitalize()} by {width.name}; a number marks the busiest",
    )


def _edges(moments: Sequence[int], width: _Width) -> Any:
    """Return the edges of the columns between the first and the last moment."""
    step = width.days * MICROSECONDS_PER_DAY
    first = min(moments)
    n_columns = 1 + (max(moments) - first) // step
    return first + step * np.arange(n_columns + 1)


def _name_columns(ax: Axes, edges: Any) -> None:
    """Write the day at which every fourth part of the columns begins."""
    n_columns = len(edges) - 1
    step = max(1, math.ceil(n_columns / _MOST_DAYS_NAMED))
    columns = list(range(0, n_columns, step))
    ax.set_xticks(columns, [_day(edges[column]) for column in columns])


def _mark_busiest(ax: Axes, table: Any) -> None:
    """Write into the fullest column of each row how much it holds."""
    for row, counts in enumerate(table):
        column = int(counts.argmax())
        is_dark = counts[column] > _DARK_SHARE * table.max()
        ax.text(
            column,
            row,
            f"{counts[column]:,}",
            ha="center",
            va="center",
            color="white" if is_dark else "black",
            size=8,
        )


def plot_hotspots(
    rows: Sequence[Sequence[str | int]],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the commits of the files that changed most, those that mend something apart.

    Args:
        rows: The path, the commits and those that mend something, of each file.
        ax: Where to draw; None makes a figure.
    """
    height = 0.42 * len(rows) + 1.2
    ax = axes.new_axes(ax, width=9, height=height)
    if not rows:
        return axes.say(ax, "No file changed often enough.")
    positions = np.arange(len(rows))
    number = np.array([int(row[1]) for row in rows])
    fixes = np.array([int(row[2]) for row in rows])
    ax.barh(
        positions,
        fixes,
        color=_FIX_COLOUR,
        label="to mend something",
    )
    ax.barh(
        positions,
        number - fixes,
        left=fixes,
        color=_OTHER_COLOUR,
        label="others",
    )
    for position, count in enumerate(number):
        text = f" {count:,}, {fixes[position]:,} to mend"
        ax.text(
            count,
            position,
            text,
            va="center",
            size=8,
        )
    axes.name_rows(ax, [_short(str(row[0])) for row in rows])
    ax.legend(loc="lower right", frameon=False, fontsize=8)
    most = float(number.max())
    return axes.finish_axes(
        ax,
        xlim=(0, 1.35 * most),
        xlabel="Commits in the last year",
    )


def plot_returns(
    times: Mapping[str, Sequence[int]],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw when each failure came, a row each.

    Args:
        times: By what failed when it did (µs UTC), the first time first.
        ax: Where to draw; None makes a figure.
    """
    height = 0.42 * len(times) + 1.3
    ax = axes.new_axes(ax, width=9, height=height)
    if not times:
        return axes.say(ax, "No failure came back in another session.")
    for row, moments in enumerate(times.values()):
        ax.hlines(
            row,
            moments[0],
            moments[-1],
            color="#BBBBBB",
            lw=1,
            zorder=1,
        )
        ax.scatter(
            moments,
            [row] * len(moments),
            color=_FIX_COLOUR,
            edgecolors="white",
            linewidths=0.6,
            zorder=2,
        )
    axes.name_rows(ax, [_short(name) for name in times])
    everything = _all_moments(times)
    ticks = np.linspace(min(everything), max(everything), 3)
    ax.set_xticks(ticks, [_day(at) for at in ticks])
    ax.margins(x=0.04)
    return axes.finish_axes(ax, title="Each dot is a time when it failed")


def plot_told(
    rows: Sequence[Sequence[str | int]],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw how much of what was needed a briefing told, and the last message before.

    Args:
        rows: What was needed, how often, and how often each of the two told it.
        ax: Where to draw; None makes a figure.
    """
    height = 0.9 * len(rows) + 1.2
    ax = axes.new_axes(ax, width=9, height=height)
    if not rows:
        return axes.say(ax, "Nothing was needed that an earlier session holds.")
    for bars in _TOLD_BARS:
        for row, values in enumerate(rows):
            needed = int(values[1])
            n_told = int(values[bars.column])
            share = n_told / needed
            position = row + bars.shift
            ax.barh(position, share, height=0.32, color=bars.colour)
            text = f"{n_told} of {needed}"
            ax.text(share + 0.01, position, text, va="center", size=8)
    axes.name_rows(ax, [fill(str(row[0]), _LETTERS_ABREAST) for row in rows])
    keys = [axes.key(bars.label, "s", color=bars.colour) for bars in _TOLD_BARS]
    ax.legend(
        handles=keys,
        loc="upper center",
        bbox_to_anchor=(0.4, -0.28),
        ncols=2,
        frameon=False,
    )
    return axes.finish_axes(ax, xlim=(0, 1.15), xlabel="Share that was told (0 to 1)")


def _all_moments(times: Mapping[str, Sequence[int]]) -> list[int]:
    """Return the times of all rows (µs UTC)."""
    moments: list[int] = []
    for row in times.values():
        moments += row
    return moments


def _width_for(moments: Sequence[int]) -> _Width:
    """Return the narrowest columns that are few enough for these times (µs UTC)."""
    days = (max(moments) - min(moments)) / MICROSECONDS_PER_DAY
    for width in _WIDTHS:
        if days <= _MOST_COLUMNS * width.days:
            return width
    return _WIDTHS[-1]


def _day(at: float) -> str:
    """Return the day of a time (µs UTC)."""
    return to_iso(int(at))[:10]


def _short(name: str) -> str:
    """Return the end of a long path, or the beginning of a long sentence."""
    if len(name) <= _LONGEST_NAME:
        return name
    if " " in name:
        return f"{name[: _LONGEST_NAME - 1]}…"
    return f"…{name[1 - _LONGEST_NAME :]}"
