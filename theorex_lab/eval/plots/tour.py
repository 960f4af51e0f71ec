"""The pictures of a tour: where work went, what changed most, what came back."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.eval.plots import axes

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_BINS = 40
# The widths of a column, in days, and how they are called.
_WIDTHS = ((1, "day"), (7, "week"), (30, "month"), (91, "quarter"), (365, "year"))
_LONGEST_NAME = 38  # letters of a name beside its row
_FIX_COLOUR = "#D55E00"
_OTHER_COLOUR = "#56B4E9"


def plot_activity(
    times: Mapping[str, Sequence[int]], *, unit: str, ax: Axes | None = None
) -> Axes:
    """Draw how often something happened in each place over time; dark is often.

    Args:
        times: By the name of a place when something happened there (µs UTC).
        unit: What is counted, in the plural.
        ax: Where to draw; None makes a figure.
    """
    ax = axes.new_axes(ax, width=9, height=0.4 * len(times) + 1.6)
    everything = [at for place in times.values() for at in place]
    if not everything:
        return axes.say(ax, f"There are no {unit}.")
    first, last = min(everything), max(everything)
    days, name = _width_for(first, last)
    edges = np.arange(
        first, last + days * MICROSECONDS_PER_DAY, days * MICROSECONDS_PER_DAY
    )
    if len(edges) < 2:
        edges = np.array([first, first + days * MICROSECONDS_PER_DAY])
    counts = np.array([np.histogram(place, edges)[0] for place in times.values()])
    # Few and many must both be seen, which roots are for.
    ax.imshow(np.sqrt(counts), aspect="auto", cmap="Blues", vmin=0)
    axes.name_rows(ax, [_short(place) for place in times])
    step = max(1, -(-(len(edges) - 1) // 4))
    columns = range(0, len(edges) - 1, step)
    ax.set_xticks(list(columns), [_day(edges[column]) for column in columns])
    for row, place in enumerate(counts):
        column = int(place.argmax())
        ink = "white" if place[column] > 0.3 * counts.max() else "black"
        ax.text(
            column,
            row,
            f"{place[column]:,}",
            ha="center",
            va="center",
            color=ink,
            size=8,
        )
    return axes.finish_axes(
        ax,
        hidden=("top", "right", "bottom", "left"),
        title=f"{unit.capitalize()} by {name}; a number marks the busiest",
    )


def plot_hotspots(
    rows: Sequence[Sequence[str | int]], *, ax: Axes | None = None
) -> Axes:
    """Draw the commits of the files that changed most, those that mend something apart.

    Args:
        rows: The path, the commits and those that mend something, of each file.
        ax: Where to draw; None makes a figure.
    """
    ax = axes.new_axes(ax, width=9, height=0.42 * len(rows) + 1.2)
    if not rows:
        return axes.say(ax, "No file changed often enough.")
    number = np.array([int(row[1]) for row in rows])
    fixes = np.array([int(row[2]) for row in rows])
    places = np.arange(len(rows))
    ax.barh(places, fixes, color=_FIX_COLOUR, label="to mend something")
    ax.barh(places, number - fixes, left=fixes, color=_OTHER_COLOUR, label="others")
    for place, (count, mended) in enumerate(zip(number, fixes, strict=True)):
        text = f" {count:,}, {mended:,} to mend"
        ax.text(count, place, text, va="center", size=8)
    axes.name_rows(ax, [_short(str(row[0])) for row in rows])
    ax.legend(loc="lower right", frameon=False, fontsize=8)
    return axes.finish_axes(
        ax, xlim=(0, 1.35 * float(number.max())), xlabel="Commits in the last year"
    )


def plot_returns(times: Mapping[str, Sequence[int]], *, ax: Axes | None = None) -> Axes:
    """Draw when each failure came, a row each.

    Args:
        times: By what failed when it did (µs UTC).
        ax: Where to draw; None makes a figure.
    """
    ax = axes.new_axes(ax, width=9, height=0.42 * len(times) + 1.3)
    if not times:
        return axes.say(ax, "No failure came back in another session.")
    for row, (_, moments) in enumerate(times.items()):
        days = [_EPOCH + timedelta(microseconds=at) for at in moments]
        place = [row] * len(days)
        ax.plot(days[:1] + days[-1:], [row, row], color="#BBBBBB", lw=1, zorder=1)
        ax.plot(days, place, "o", color=_FIX_COLOUR, ms=6, mec="white", mew=0.6, ls="")
    axes.name_rows(ax, [_short(name) for name in times])
    everything = [at for moments in times.values() for at in moments]
    ticks = np.linspace(min(everything), max(everything), 3)
    ax.set_xticks(
        [_EPOCH + timedelta(microseconds=int(at)) for at in ticks],
        [_day(at) for at in ticks],
    )
    ax.margins(x=0.04)
    return axes.finish_axes(ax, title="Each dot is a time when it failed")


def plot_told(rows: Sequence[Sequence[str | int]], *, ax: Axes | None = None) -> Axes:
    """Draw how much of what was needed a briefing told, and the last message before.

    Args:
        rows: What was needed, how often, and how often each of the two told it.
        ax: Where to draw; None makes a figure.
    """
    ax = axes.new_axes(ax, width=9, height=0.9 * len(rows) + 1.2)
    if not rows:
        return axes.say(ax, "Nothing was needed that an earlier session holds.")
    looks = (
        (2, -0.18, "the briefing", "#0072B2"),
        (3, 0.18, "the last message before", "#999999"),
    )
    for column, shift, label, colour in looks:
        for place, row in enumerate(rows):
            needed, told = int(row[1]), int(row[column])
            share = told / needed
            name = label if place == 0 else None
            ax.barh(place + shift, share, height=0.32, color=colour, label=name)
            ax.text(
                share + 0.01, place + shift, f"{told} of {needed}", va="center", size=8
            )
    axes.name_rows(ax, [fill(str(row[0]), 26) for row in rows])
    ax.legend(loc="upper center", bbox_to_anchor=(0.4, -0.28), ncols=2, frameon=False)
    return axes.finish_axes(ax, xlim=(0, 1.15), xlabel="Share that was told (0 to 1)")


def _width_for(first: int, last: int) -> tuple[int, str]:
    """Return the width of a column in days, and its name, for a stretch of time."""
    days = (last - first) / MICROSECONDS_PER_DAY
    for width, name in _WIDTHS:
        if days <= _MOST_BINS * width:
            return width, name
    return _WIDTHS[-1]


def _day(at: float) -> str:
    """Return the day of a time (µs UTC)."""
    return (_EPOCH + timedelta(microseconds=int(at))).date().isoformat()


def _short(name: str) -> str:
    """Return the end of a long path, or the beginning of a long sentence."""
    if len(name) <= _LONGEST_NAME:
        return name
    if " " in name:
        return f"{name[: _LONGEST_NAME - 1]}…"
    return f"…{name[1 - _LONGEST_NAME :]}"
