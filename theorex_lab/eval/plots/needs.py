"""A picture of what a design adds to the briefing."""

from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes

from theorex_lab.eval.plots import axes


class PairedSessions(Protocol):
    """What a picture needs of a gain, see `DesignGain`."""

    @property
    def design(self) -> str:
        """Return the name of the design."""

    def pairs(self, project: str = "", *, figure: str = "all") -> Any:
        """Return a row for each session, with the shares without and with."""


def plot_design_gain(
    gain: PairedSessions, project: str = "", *, ax: Axes | None = None
) -> Axes:
    """Draw the share of needs covered without and with a design, session by session.

    A circle is the briefing alone, a triangle the briefing with the design; where the
    two differ, a line joins them.

    Args:
        gain: What the design adds, as `design_gain` returns it.
        project: The project; '' for the first.
        ax: Where it is drawn; a new figure by default.

    Returns:
        The Axes.
    """
    pairs = gain.pairs(project)
    ax = axes.new_axes(ax, width=9.0, height=3.6)
    positions = np.arange(1, len(pairs) + 1)
    n_more = int((pairs["with"] > pairs["without"]).sum())
    n_less = int((pairs["with"] < pairs["without"]).sum())
    ax.vlines(positions, pairs["without"], pairs["with"], color="#888888", linewidth=3)
    ax.plot(
        positions,
        pairs["without"],
        "o",
        color=axes.method_look("briefing")["color"],
        markerfacecolor="white",
        markersize=9,
        label="briefing",
    )
    ax.plot(
        positions,
        pairs["with"],
        "^",
        color=axes.method_look(gain.design, 1)["color"],
        markersize=5,
        label=f"briefing with {gain.design}",
    )
    axes.legend_beside(ax)
    return axes.finish_axes(
        ax,
        xlabel="session, in the order of time",
        ylabel="share of needs covered",
        ylim=(-0.04, 1.06),
        title=(
            f"Of {len(pairs)} sessions {n_more} are told more with {gain.design},"
            f" {n_less} less"
        ),
    )
