"""Write names beside points so that none covers another."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.transforms import Bbox

from theorex_lab.eval.plots import axes

# Steps from a point to its name, in points: the nearest are tried first.
_DISTANCES = (8, 16, 26, 38, 52, 68, 86, 106)
_DIRECTIONS = (
    (1.0, 0.0, "left"),
    (-1.0, 0.0, "right"),
    (0.7, 0.7, "left"),
    (0.7, -0.7, "left"),
    (-0.7, 0.7, "right"),
    (-0.7, -0.7, "right"),
    (0.0, 1.2, "center"),
    (0.0, -1.2, "center"),
)
_MARK_PIXELS = 7
_FONT_SIZE = 8.5

Line = tuple[tuple[float, float], tuple[float, float]]


class PointLabel(NamedTuple):
    """A name and the point that it belongs to.

    Attributes:
        text: The name.
        x: Where the point is.
        y: How high it is.
        colour: The colour of the name.
    """

    text: str
    x: float
    y: float
    colour: str


def label_points(
    ax: Axes, labels: Sequence[PointLabel], *, lines: Sequence[Line] = ()
) -> None:
    """Write each name where it covers no other name, point or line.

    Limits and scales of the Axes must stand before. A name that finds no free place
    stands at its nearest.

    Args:
        ax: Where they are written.
        labels: The names and points.
        lines: The ends of upright and level lines, each in the units of the Axes.
    """
    figure = axes.figure_of(ax)
    figure.draw_without_rendering()  # places the Axes, so that pixels are known
    marks = [_mark_box(ax, label) for label in labels]
    taken = list(marks)
    for line in lines:
        ends = ax.transData.transform(line)
        low = ends.min(axis=0)
        high = ends.max(axis=0)
        taken.append(Bbox([low, high]).padded(2))
    for label in labels:
        taken.append(_write(ax, label, marks, taken))


def _mark_box(
    ax: Axes,
    label: PointLabel,
) -> Bbox:
    """Return what the mark of a point covers, in pixels."""
    x, y = ax.transData.transform((label.x, label.y))
    return Bbox.from_extents(x, y, x, y).padded(_MARK_PIXELS)


def _write(
    ax: Axes,
    label: PointLabel,
    marks: Sequence[Bbox],
    taken: Sequence[Bbox],
) -> Bbox:
    """Write a name at its first free place; return what it covers.

    Args:
        ax: Where it is written.
        label: The name and its point.
        marks: What the marks of all points cover; no way to a name crosses them.
        taken: What no name may cover.
    """
    x, y = ax.transData.transform((label.x, label.y))
    others = [mark for mark in marks if not mark.contains(x, y)]
    note = ax.annotate(
        label.text,
        (label.x, label.y),
        xytext=(0, 0),
        textcoords="offset points",
        va="center",
        fontsize=_FONT_SIZE,
        color=label.colour,
        parse_math=False,
        zorder=4,
    )
    note.set_in_layout(False)
    for distance in _DISTANCES:
        for across, upright, side in _DIRECTIONS:
            note.set(horizontalalignment=side)
            note.xyann = (across * distance, upright * distance)
            box = note.get_window_extent()
            way = _between(x, y, box)
            is_clear = not any(way.overlaps(mark) for mark in others)
            if is_clear and _is_free(ax, box, taken):
                _lead(ax, label, note.xyann)
                return box
    note.set(horizontalalignment="left")
    note.xyann = (_DISTANCES[0], 0)
    return note.get_window_extent()


def _between(
    x: float,
    y: float,
    box: Bbox,
) -> Bbox:
    """Return what lies between a point and the nearest place of a box."""
    near_x = min(max(x, box.x0), box.x1)
    near_y = min(max(y, box.y0), box.y1)
    return Bbox.from_extents(
        min(x, near_x),
        min(y, near_y),
        max(x, near_x),
        max(y, near_y),
    )


def _is_free(
    ax: Axes,
    box: Bbox,
    taken: Sequence[Bbox],
) -> bool:
    """Return whether a box lies within the Axes and covers nothing."""
    frame = ax.get_window_extent()
    # A box without a part outside is as large as what it shares with the frame.
    shared = Bbox.intersection(box, frame)
    if shared is None:
        return False
    is_inside = tuple(shared.size) == tuple(box.size)
    if not is_inside:
        return False
    is_covered = any(box.overlaps(other) for other in taken)
    return not is_covered


def _lead(
    ax: Axes,
    label: PointLabel,
    offset: tuple[float, float],
) -> None:
    """Draw a thin line from a point to its name, where the name stands far away."""
    if max(abs(part) for part in offset) <= _DISTANCES[1]:
        return
    line = ax.annotate(
        "",
        (label.x, label.y),
        xytext=offset,
        textcoords="offset points",
        arrowprops={
            "arrowstyle": "-",
            "color": "#AAAAAA",
            "linewidth": 0.7,
        },
        zorder=1,
    )
    line.set_in_layout(False)
