"""Draw pictures of a memory.

Pure functions draw on the Axes given, or on a new figure, and return the Axes.
"""

from collections.abc import Sequence, Set
from itertools import pairwise
from typing import Any, Protocol

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import ConciseDateFormatter
from matplotlib.patheffects import withStroke

from theorex_lab.core.clock import MICROSECONDS_PER_DAY, to_microseconds
from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.plots import axes
from theorex_lab.memory.decay import (
    ACTIVE_THRESHOLD,
    MILD_THRESHOLD,
    Floats,
    Items,
    Law,
    tiers,
)
from theorex_lab.memory.intervals import bootstrap_means

GRAPH_NODES = 40  # beyond this many, labels no longer find room
_LABEL_LETTERS = 26
_BAND_OPACITY = 0.13
_MOST_POINTS = 12
_CHOSEN_LOOK = ("D", 9)
_OTHER_LOOK = ("o", 6)
_LEAST_DAYS = 30.0  # of the axis of ages
_MOST_NAMES = 8
_NAME_HEIGHT = 0.06  # of the axis of importance, that a name takes
_RANK_TICKS = (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000)
_STATUS_LOOKS = {
    "in neither": ("#BBBBBB", "."),
    "kept": (axes.LINE_COLOURS[0], "o"),
    "lost": (axes.LINE_COLOURS[4], "X"),
    "gained": (axes.LINE_COLOURS[1], "^"),
}


class ChangedContext(Protocol):
    """What a picture needs of a change, see `ContextChange`."""

    @property
    def ranking(self) -> Sequence[str]:
        """Return the known items in the order of the new settings."""

    @property
    def ranking_before(self) -> Sequence[str]:
        """Return them in the order of the settings in force."""

    @property
    def n_held(self) -> int:
        """Return how many the new context holds."""

    @property
    def n_before(self) -> int:
        """Return how many the context in force holds."""

    @property
    def held(self) -> Sequence[str]:
        """Return the items of the new context."""

    @property
    def before(self) -> Sequence[str]:
        """Return the items of the context in force."""

    @property
    def used(self) -> Set[str]:
        """Return the items that were used next."""


def plot_forgetting_curves(
    laws: Law | Sequence[Law],
    *,
    active_threshold: float = ACTIVE_THRESHOLD,
    mild_threshold: float = MILD_THRESHOLD,
    longest_days: float = 60.0,
    ax: Axes | None = None,
) -> Axes:
    """Draw importance over days since the last mention, over bands of the tiers.

    A curve is solid for one mention and dashed for ten. Links do not count; all ten
    mentions count as made at once.

    Args:
        laws: The decay laws, one or several.
        active_threshold: The importance (0..1) from which an item is ACTIVE.
        mild_threshold: The importance (0..1) from which it is MILD.
        longest_days: The end of the axis, in days, above 0.
        ax: Where it is drawn; a new figure by default.

    Returns:
        The Axes.

    Raises:
        InvalidInput: No law is given, the thresholds are outside 0 <= mild <= active <=
            1, or `longest_days` is not above 0.
    """
    all_laws = [laws] if isinstance(laws, Law) else list(laws)
    if not all_laws or not longest_days > 0:
        raise InvalidInput(
            f"got {len(all_laws)} laws and longest_days {longest_days!r}; give a law and"
            " days above 0"
        )
    tiers(
        [], active_threshold, mild_threshold
    )  # refuses thresholds that contradict each other
    ax = axes.new_axes(ax)
    ages = np.linspace(0.0, longest_days, 400)
    for number, law in enumerate(all_laws):
        colour = axes.method_look(law.name, number)["color"]
        width = 1.8 + 0.8 * (
            len(all_laws) - 1 - number
        )  # a curve that coincides with a later one shows at its sides
        once, often = (
            law.importance(law.raw(Items.of(ages, count=mentions)))
            for mentions in (1, 10)
        )
        ax.plot(
            ages,
            once,
            "-",
            color=colour,
            linewidth=width,
            label=law.name,
        )
        ax.plot(ages, often, "--", color=colour, linewidth=width)
    _draw_bands(ax, active_threshold, mild_threshold)
    mentions = [
        axes.key("1 mention", ls="-", color="#444444"),
        axes.key("10 mentions", ls="--", color="#444444"),
    ]
    axes.legend_below(
        ax,
        [*ax.get_legend_handles_labels()[0], *mentions],
        columns=4,
    )
    ax.set(
        xlim=(0, longest_days),
        ylim=(0, 1.02),
        xlabel="Days since the last mention",
        ylabel="Importance (0 to 1)",
    )
    ax.set_title("How a memory fades when it is not mentioned again")
    return ax


def plot_fading(
    concepts: Any,
    law: Law,
    *,
    now: int,
    active_threshold: float = ACTIVE_THRESHOLD,
    mild_threshold: float = MILD_THRESHOLD,
    ax: Axes | None = None,
) -> Axes:
    """Draw each concept at its age and importance, over the forgetting curve.

    The most important ones have their names.

    Args:
        concepts: The columns surface_form, importance_weight (0..1) and last_seen (UTC
            timestamps), a row a concept.
        law: The decay law in force.
        now: The time for which the ages count (µs UTC).
        active_threshold: The importance from which a concept is ACTIVE.
        mild_threshold: The importance from which it is MILD.
        ax: Where it is drawn; a new figure by default.

    Returns:
        The Axes.

    Raises:
        InvalidInput: A column is missing, or the thresholds contradict each other.
    """
    names, importance, last_times = axes.columns_of(
        concepts, "surface_form", "importance_weight", "last_seen"
    )
    ages = [(now - to_microseconds(at)) / MICROSECONDS_PER_DAY for at in last_times]
    ages = np.maximum(np.asarray(ages, dtype=float), 0.0)
    weights = np.asarray(importance, dtype=float)
    longest_days = max(_LEAST_DAYS, 1.05 * float(ages.max(initial=0.0)))
    ax = plot_forgetting_curves(
        law,
        active_threshold=active_threshold,
        mild_threshold=mild_threshold,
        longest_days=longest_days,
        ax=ax,
    )
    ax.plot(
        ages,
        weights,
        "o",
        color=axes.LINE_COLOURS[1],
        markersize=5,
        alpha=0.6,
        clip_on=False,
        zorder=4,
    )
    _name_apart(ax, names, ages, weights)
    if len(ages):
        ax.set_title(f"How present each concept is now ({len(ages):,} concepts)")
    return ax


def _name_apart(ax: Axes, names: Sequence[str], ages: Floats, weights: Floats) -> None:
    """Name the most important concepts, those whose names would not overlap.

    The oldest of those that are as important is named: there are none to its right.
    """
    longest_days = ax.get_xlim()[1]
    outline = [withStroke(linewidth=2.5, foreground="white", alpha=0.9)]
    heights: list[float] = []
    best_first = np.lexsort((-ages, -np.round(weights, 2)))
    for row in best_first.tolist():
        height = float(weights[row])
        is_apart = all(abs(height - other) > _NAME_HEIGHT for other in heights)
        if len(heights) == _MOST_NAMES:
            return
        if not is_apart:
            continue
        heights.append(height)
        label = names[row]
        if len(label) > _LABEL_LETTERS:
            label = label[: _LABEL_LETTERS - 1] + "…"
        inward = -1 if ages[row] > longest_days / 2 else 1
        axes.note(
            ax,
            label,
            (ages[row], height),
            inward * 6,
            fontsize=8.5,
            zorder=5,
            path_effects=outline,
        )


def plot_graph(
    graph: Any,
    *,
    seed: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw concepts and their links, from `AxonView.graph()`.

    The colour says the tier, the size the importance, the width the strength of a link.
    The 40 concepts of highest importance are drawn, and the picture says how many are
    left out. The layout follows from `seed` alone.
    """
    ax = axes.new_axes(ax, width=10.0, height=7.5)
    ax.set_axis_off()
    if not len(graph):
        return axes.say(ax, "No concepts yet: write something first")
    drawn_graph = _strongest(graph)
    left_out = len(graph) - len(drawn_graph)
    title = f"All {len(drawn_graph)} concepts and how they are linked"
    if left_out:
        title = (
            f"The {len(drawn_graph)} concepts of highest importance ({left_out:,} more"
            " are not drawn)"
        )
    ax.set(
        xlim=(-1.15, 1.15),
        ylim=(-1.08, 1.08),
        title=title,
    )
    at = dict(zip(drawn_graph, _layout(drawn_graph, seed), strict=True))
    for first, second, strength in drawn_graph.edges(data="strength", default=0.1):
        ends = np.array([at[first], at[second]])
        ax.plot(
            *ends.T,
            color="#7F7F7F",
            alpha=0.55,
            linewidth=0.6 + 4 * min(strength, 1.0),
            zorder=1,
        )
    for node, data in drawn_graph.nodes.items():
        diameter = 6 + 14 * data["importance_weight"]
        colour = axes.TIER_COLOURS[data["relevance_tier"]]
        ax.plot(
            *at[node],
            "o",
            color=colour,
            markersize=diameter,
            markeredgecolor="white",
            zorder=2,
        )
        outline = [withStroke(linewidth=2.5, foreground="white", alpha=0.8)]
        inward = -1 if at[node][0] > 0 else 1
        text = data["canonical_form"]
        label = (
            text if len(text) <= _LABEL_LETTERS else text[: _LABEL_LETTERS - 1] + "…"
        )
        axes.note(
            ax,
            label,
            at[node],
            inward * (diameter / 2 + 2),
            fontsize=8.5,
            zorder=3,
            path_effects=outline,
        )
    tiers_drawn = {data["relevance_tier"] for data in drawn_graph.nodes.values()}
    keys = [
        axes.key(name, "o", color=colour)
        for name, colour in axes.TIER_COLOURS.items()
        if name in tiers_drawn
    ]
    axes.legend_below(
        ax,
        [
            *keys,
            axes.key(
                "link (by strength)",
                ls="-",
                color="#7F7F7F",
            ),
        ],
        columns=6,
    )
    return ax


def plot_in_context(
    table: Any, *, tokens: int | None = None, ax: Axes | None = None
) -> Axes:
    """Draw what the context held of what was needed next, over time.

    There is a line for `oracle` and for each law, best first. A point is the mean of
    about as many events as every other. The legend has each mean with its 95 %
    interval, for which whole days are drawn.

    Args:
        table: That of `shares_in_context`: the column timestamp, then shares 0..1, a row an
            event.
        tokens: The budget, which the title names.
        ax: Where it is drawn; a new figure by default.

    Raises:
        InvalidInput: The column timestamp or oracle is missing.
    """
    times, _ = axes.columns_of(table, "timestamp", "oracle")
    ax = axes.new_axes(ax, width=9.0, height=5.0)
    if not len(times):
        return axes.say(ax, "No events yet: nothing was needed")
    points = table.groupby(
        np.arange(len(times)) * _MOST_POINTS // max(len(times), _MOST_POINTS)
    ).mean()
    shares = table.drop(columns="timestamp")
    means = dict(
        zip(
            shares,
            bootstrap_means(shares, groups=list(table["timestamp"].dt.date)),
            strict=True,
        )
    )
    for number, name in enumerate(sorted(means, key=lambda law: -means[law].mean)):
        look = (
            {"color": "#444444", "ls": "--"}
            if name == "oracle"
            else axes.method_look(name, number - 1, markersize=5)
        )
        label = (
            f"{name}: {means[name].mean:.2f} [{means[name].ci_low:.2f},"
            f" {means[name].ci_high:.2f}]"
        )
        ax.plot(
            points["timestamp"],
            points[name],
            label=label,
            **look,
        )
    ax.fill_between(
        points["timestamp"],
        points["oracle"],
        1.0,
        color="#E5E5E5",
        label="new: in no memory",
        linewidth=0,
    )
    ax.xaxis.set_major_formatter(ConciseDateFormatter(ax.xaxis.get_major_locator()))  # type: ignore[no-untyped-call]
    axes.legend_below(ax, columns=2)
    budget = "" if tokens is None else f" of {tokens:,} tokens"
    ax.set(ylim=(0, 1.02), ylabel="Share held (0 to 1)", xlabel="When it was needed")
    return axes.finish_axes(
        ax, title=f"What a context{budget} held of what was needed next"
    )


def plot_context_change(change: ChangedContext, *, ax: Axes | None = None) -> Axes:
    """Draw where each known item stands now, and where under the settings in force.

    Left of the upright line the context in force holds it; under the level line the new
    one does. A ring says that it was used next. Ranks have logarithmic axes.

    Args:
        change: The contexts, as `context_change` returns them.
        ax: Where it is drawn; a new figure by default.

    Returns:
        The Axes.
    """
    ax = axes.new_axes(ax, width=9.0)
    if not change.ranking:
        return axes.say(ax, "No items yet: nothing was used before")
    members = _by_status(change)
    for status, names in members.items():
        colour, marker = _STATUS_LOOKS[status]
        ax.plot(
            *_ranks(change, names),
            marker,
            color=colour,
            markersize=7,
            markeredgewidth=0,
            label=f"{status}: {len(names):,}",
        )
    used_names = [name for name in change.ranking if name in change.used]
    ax.plot(
        *_ranks(change, used_names),
        "o",
        markerfacecolor="none",
        color="#000000",
        markersize=12,
        label=f"used next: {len(used_names):,}",
    )
    ax.axvline(change.n_before + 0.5, color="#555555", linewidth=0.8, linestyle=":")
    ax.axhline(change.n_held + 0.5, color="#555555", linewidth=0.8, linestyle=":")
    axes.legend_beside(ax)
    _draw_rank_axes(ax, len(change.ranking))
    return axes.finish_axes(
        ax,
        xlabel="Rank under the settings in force (dotted: end of the context)",
        ylabel="Rank under these settings",
        title="What the context keeps, gains and loses",
    )


def _ranks(change: ChangedContext, names: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return the ranks of these items under the settings in force and the new ones."""
    ranks = {name: rank for rank, name in enumerate(change.ranking, start=1)}
    old_ranks = {name: rank for rank, name in enumerate(change.ranking_before, start=1)}
    ranks_before = [old_ranks[name] for name in names]
    return ranks_before, [ranks[name] for name in names]


def _draw_rank_axes(ax: Axes, n_items: int) -> None:
    """Give both axes a logarithmic scale of ranks up to this number."""
    ticks = [rank for rank in _RANK_TICKS if rank <= n_items]
    labels = [f"{rank:,}" for rank in ticks]
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks(ticks, labels)
    ax.set_yticks(ticks, labels)
    ax.minorticks_off()
    ends = (0.8, n_items * 1.25)
    ax.set(xlim=ends, ylim=ends)


def _by_status(change: ChangedContext) -> dict[str, list[str]]:
    """Return the known items by what becomes of them in the context."""
    in_new = {*change.held}
    in_force = {*change.before}
    members: dict[str, list[str]] = {status: [] for status in _STATUS_LOOKS}
    for name in change.ranking:
        if name in in_new:
            status = "kept" if name in in_force else "gained"
        else:
            status = "lost" if name in in_force else "in neither"
        members[status].append(name)
    return members


def plot_law_scores(
    table: Any, *, n_scored: int | None = None, ax: Axes | None = None
) -> Axes:
    """Draw mean reciprocal rank of each law with its 95 % bootstrap interval.

    The best is on top, the chosen one a diamond.

    Args:
        table: A fit, or its frame: columns law, mrr, ci_low, ci_high (0..1) and chosen.
        n_scored: The number of events, which the axis names.
        ax: Where it is drawn; a new figure by default.

    Raises:
        InvalidInput: A column is missing.
    """
    laws, mrr, ci_low, ci_high, chosen = axes.columns_of(
        table, "law", "mrr", "ci_low", "ci_high", "chosen"
    )
    ax = axes.new_axes(
        ax,
        width=7.5,
        height=1.4 + 0.34 * len(laws),
    )
    order = np.argsort(-np.asarray(mrr, dtype=float), kind="stable").tolist()
    for height, row in enumerate(order):
        colour = axes.method_look(str(laws[row]), 3)["color"]
        marker, size = _CHOSEN_LOOK if chosen[row] else _OTHER_LOOK
        axes.draw_interval(
            ax,
            mrr[row],
            height,
            ci_low=ci_low[row],
            ci_high=ci_high[row],
            level=True,
            fmt=marker,
            color=colour,
            markersize=size,
        )
    over = "" if n_scored is None else f" over {n_scored:,} events"
    axes.name_rows(
        ax,
        [
            f"{laws[row]}{' (chosen)' if chosen[row] else ''}  {mrr[row]:.3f}"
            for row in order
        ],
    )
    ax.set(xlabel=f"Mean reciprocal rank{over} (0 to 1)")
    ax.set_xlim(left=0)
    ax.grid(axis="x", color="#E5E5E5")
    ax.set_axisbelow(True)
    title = (
        "Which law ranks the next use best (bars: 95 % bootstrap)"
        if len(laws)
        else "No laws scored yet"
    )
    return axes.finish_axes(ax, title=title)


def _draw_bands(
    ax: Axes,
    active_threshold: float,
    mild_threshold: float,
) -> None:
    """Draw tiers as coloured bands named at the right edge.

    Thresholds are lines with their value.
    """
    bounds = (1.02, active_threshold, mild_threshold, 0.0)
    for name, (high, low) in zip(
        ("ACTIVE", "MILD", "LESS"), pairwise(bounds), strict=True
    ):
        ax.axhspan(
            low,
            high,
            color=axes.TIER_COLOURS[name],
            alpha=_BAND_OPACITY,
            linewidth=0,
            zorder=0,
        )
        if high - low > 0.05:
            axes.note(
                ax,
                name,
                (1, (low + high) / 2),
                6,
                in_width=True,
                fontsize=None,
                color="#444444",
            )
    for value in (active_threshold, mild_threshold):
        ax.axhline(value, color="#555555", linewidth=0.8, linestyle=":")


def _strongest(graph: Any) -> Any:
    """Return the part of the graph that is drawn.

    The order of its nodes and edges does not hang on their insertion.
    """
    strongest = sorted(
        graph.nodes.items(),
        key=lambda item: (
            -item[1]["importance_weight"],
            -item[1]["frequency_count"],
            str(item[0]),
        ),
    )[:GRAPH_NODES]
    part = nx.Graph()
    part.add_nodes_from(strongest)
    edges = graph.subgraph(node for node, _ in strongest).edges(data=True)
    part.add_edges_from(sorted(edges, key=lambda edge: sorted(map(str, edge[:2]))))
    return part


def _layout(graph: Any, seed: int) -> Floats:
    """Return positions in −1..1, shape (n, 2).

    They are a spring layout in which each node has a height of its own, so that labels
    at its side cover no other label.
    """
    n = len(graph)
    points = nx.spring_layout(
        graph, seed=seed, k=2.2 / np.sqrt(n), iterations=150, weight="strength"
    )
    places = np.array([points[node] for node in graph], dtype=np.float64)
    ranks = places.argsort(axis=0).argsort(axis=0) / max(n - 1, 1) * 2 - 1
    extent = np.abs(places[:, 0]).max() or 1.0
    # Half way to evenly spaced ranks: what is near stays near, but no side is empty and
    # none is full.
    return np.column_stack(
        [0.5 * places[:, 0] / extent + 0.5 * ranks[:, 0], ranks[:, 1]]
    )
