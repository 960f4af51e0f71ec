"""Growth exponents by regression of logarithms, and their picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

LINEAR = 1.05  # a larger exponent is marked
# The .975 quantiles of Student's t by degrees of freedom, from 1 to 10; larger ones are
# taken as 10, which makes the interval a little wider than it is.
_STUDENT = (
    *(12.706, 4.303, 3.182, 2.776, 2.571),
    *(2.447, 2.365, 2.306, 2.262, 2.228),
)


class Growth(NamedTuple):
    """An exponent with its 95 % interval, and the exponent of the last step alone."""

    exponent: float
    ci_low: float
    ci_high: float
    last_step: float

    @property
    def is_marked(self) -> bool:
        """Whether it grows faster than the number of events."""
        return max(self.exponent, self.last_step) > LINEAR


def fit_growth(sizes: Sequence[int], amounts: Sequence[float]) -> Growth | None:
    """Return the slope of log(amount) over log(size) by least squares.

    Its interval is that of the slope under normal errors; with two sizes it is
    unbounded. None where there are fewer than two amounts above 0.

    >>> growth = fit_growth([10, 100, 1000], [3, 30, 300])
    >>> round(growth.exponent, 3), round(growth.last_step, 3), growth.is_marked
    (1.0, 1.0, False)
    """
    pairs = [
        (size, amount)
        for size, amount in zip(sizes, amounts, strict=True)
        if amount > 0
    ]
    if len(pairs) < 2:
        return None
    x, y = np.log(np.array(pairs, float)).T
    centred = x - x.mean()
    spread = float(centred @ centred)
    slope = float(centred @ y) / spread
    last_step = float((y[-1] - y[-2]) / (x[-1] - x[-2]))
    freedom = len(pairs) - 2
    if freedom == 0:
        return Growth(slope, -np.inf, np.inf, last_step)
    residuals = y - y.mean() - slope * centred
    error = float(np.sqrt(residuals @ residuals / freedom / spread))
    margin = _STUDENT[min(freedom, len(_STUDENT)) - 1] * error
    return Growth(slope, slope - margin, slope + margin, last_step)


def draw_growth(
    sizes: Sequence[int], measured: Mapping[str, Mapping[str, Any]], file: Path
) -> None:
    """Draw seconds and peak memory of each row over the number of events, both axes
    logarithmic, into a PNG file.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(12, 5.5), layout="constrained")
    labels = {"seconds": "processor time (s)", "megabytes": "peak memory (MB)"}
    for axes, (member, label) in zip(panels, labels.items(), strict=True):
        for position, (name, row) in enumerate(measured.items()):
            marker = "os^DvPX*<>"[position % 10]
            line = "--" if position >= 10 else "-"
            if member in row:
                axes.plot(sizes, row[member], line, marker=marker, ms=5, label=name)
        axes.set(xscale="log", yscale="log", xlabel="events", ylabel=label)
        axes.grid(visible=True, which="major", alpha=0.3)
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right center", frameon=False)
    figure.savefig(file, dpi=120)
    plt.close(figure)
