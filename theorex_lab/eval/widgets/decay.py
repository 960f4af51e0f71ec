"""Put sliders over drawings.

Each `*_explorer` is a thin wrapper over a pure `draw_*` of the same settings.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.settings import DEFAULT_HALF_LIFE_DAYS
from theorex_lab.eval.datasets.git_history import Commit, git_commits
from theorex_lab.eval.datasets.recorded_runs import load_simulated_team
from theorex_lab.eval.datasets.sources import data_folder
from theorex_lab.eval.metrics.access import load_log, log_of_commits
from theorex_lab.eval.metrics.access_log import AccessLog, LogReplay
from theorex_lab.eval.plots.axes import TIER_COLOURS
from theorex_lab.eval.plots.decay import plot_forgetting_curves
from theorex_lab.eval.tour import MAX_COMMITS, MIN_COMMITS
from theorex_lab.eval.widgets.explorer import Explorer, control, paragraph
from theorex_lab.memory.decay import (
    ACTIVE_THRESHOLD,
    MILD_THRESHOLD,
    Items,
    Tier,
    make_law,
    tiers,
)

HALF_LIFE_RANGE_DAYS = (0.5, 120.0)
# What is read below the folder that THEOREX_DATA names; of sessions the folder is the
# set's name.
RECORDED_LOGS = (
    "coding_sessions",
    "git_touches_helm/touches.log.gz",
    "git_touches_pfr/touches.log.gz",
)
_MOST_DOTS = 1_000  # more of them take longer to draw and show nothing new


def count_tiers(
    items: Items,
    half_life_days: float = DEFAULT_HALF_LIFE_DAYS,
    active_threshold: float = ACTIVE_THRESHOLD,
    mild_threshold: float = MILD_THRESHOLD,
) -> dict[str, int]:
    """Return how many of the items these settings make ACTIVE, MILD and LESS.

    Raises:
        InvalidInput: As `draw_decay` does.

    >>> count_tiers(Items.of([0.0, 14.0, 60.0]))
    {'ACTIVE': 1, 'MILD': 1, 'LESS': 1}
    """
    law = make_law("product", half_life_days=half_life_days)
    codes = tiers(
        law.importance(law.raw(items)),
        active_threshold,
        mild_threshold,
    )
    return {
        tier.name: int(np.count_nonzero(codes == tier))
        for tier in (Tier.ACTIVE, Tier.MILD, Tier.LESS)
    }


def draw_decay(
    items: Items,
    half_life_days: float = DEFAULT_HALF_LIFE_DAYS,
    active_threshold: float = ACTIVE_THRESHOLD,
    mild_threshold: float = MILD_THRESHOLD,
) -> Figure:
    """Draw the items on the forgetting curves of `product` under these settings.

    The title says how many fall into each tier.

    Args:
        items: The items.
        half_life_days: The half-life, in days.
        active_threshold: The importance (0..1) from which an item is ACTIVE.
        mild_threshold: The importance (0..1) from which it is MILD.

    Raises:
        InvalidInput: The half-life is outside its range, or the thresholds are outside
            0 <= mild <= active <= 1.

    >>> [axes.get_title() for axes in draw_decay(Items.of([0.0, 14.0, 60.0])).axes]
    ['product, half-life 14 days: ACTIVE 1, MILD 1, LESS 1']
    """
    law = make_law("product", half_life_days=half_life_days)
    importance = law.importance(law.raw(items))
    figure = Figure(figsize=(8.5, 4.0))
    figure.subplots_adjust(left=0.08, right=0.9, top=0.91, bottom=0.24)
    ax = plot_forgetting_curves(
        law,
        active_threshold=active_threshold,
        mild_threshold=mild_threshold,
        longest_days=HALF_LIFE_RANGE_DAYS[1],
        ax=figure.add_subplot(),
    )
    # Each item as a dot at its age and importance; of many, evenly chosen ones.
    rows_drawn = np.unique(
        np.linspace(
            0,
            len(items) - 1,
            min(len(items), _MOST_DOTS),
        ).astype(np.intp)
    )
    codes = tiers(importance[rows_drawn], active_threshold, mild_threshold)
    for tier in Tier:
        ages = items.age_days[rows_drawn][codes == tier]
        heights = importance[rows_drawn][codes == tier]
        ax.plot(
            ages,
            heights,
            "o",
            color=TIER_COLOURS[tier.name],
            markersize=4,
            alpha=0.6,
            markeredgewidth=0,
        )
    counts = count_tiers(items, half_life_days, active_threshold, mild_threshold)
    label = ", ".join(f"{name} {count}" for name, count in counts.items())
    ax.set_title(f"product, half-life {half_life_days:.3g} days: {label}")
    return figure


def items_at_end(log: AccessLog) -> Items:
    """Return the items of a log as they stood before its last event.

    There are none where nothing happened.
    """
    if not log.n_events:
        return Items.of([])
    return LogReplay(log).snapshots([log.n_events - 1]).items


def log_sources(repository: str | Path = ".") -> dict[str, Callable[[], AccessLog]]:
    """Return the logs at hand by name, each read when it is called.

    They are your repository, recorded logs, and the simulation.

    Args:
        repository: A folder. The git history around it is there where it has at least
            30 commits (the newest 5,000 are read). A recorded log is there where the
            folder that THEOREX_DATA names holds it (of sessions, the files of each
            turn).

    Raises:
        InvalidInput: What THEOREX_DATA names is no folder.

    >>> list(log_sources("/"))[-1]
    'simulation of a team of agents'
    """
    sources: dict[str, Callable[[], AccessLog]] = {}
    where = Path(repository).resolve()
    if _has_history(where):
        top = _repository_of(where)
        sources[f"your repository: {top.name}"] = partial(_history, where)
    folder = data_folder()
    if folder:
        for recorded in RECORDED_LOGS:
            if not (folder / recorded).exists():
                continue
            name, touches, _ = recorded.partition("/")
            log_name = folder / recorded if touches else name
            sources[f"recorded: {name}"] = partial(load_log, log_name)
    sources["simulation of a team of agents"] = _simulation
    return sources


def _repository_of(folder: Path) -> Path:
    """Return the nearest folder around this one that is a repository, else this one."""
    for candidate in (folder, *folder.parents):
        if (candidate / ".git").exists():
            return candidate
    return folder


def _history(folder: Path) -> AccessLog:
    """Return the newest commits of the repository around a folder."""
    return log_of_commits(git_commits(folder, limit=MAX_COMMITS))


def _simulation() -> AccessLog:
    """Return the files of the simulated commits."""
    commits = []
    for number, activity in enumerate(load_simulated_team()):
        if activity.files:
            commit = Commit(
                str(number),
                activity.at,
                activity.text,
                activity.files,
            )
            commits.append(commit)
    return log_of_commits(commits)


def decay_explorer(sources: Mapping[str, Callable[[], Items | AccessLog]]) -> Any:
    """Return controls over `draw_decay`.

    They are a choice of sources, and sliders for the half-life (0.5 to 120 days) and
    both thresholds. They work in JupyterLab and in Voila, by mouse and by keyboard. A
    threshold that is moved past the other takes it along.

    Args:
        sources: By name what gives items, or a log whose items at its end are taken, as
            `log_sources` does. The first is shown, any other is read when it is chosen;
            why one cannot be read stands in place of the counts.

    Returns:
        An ipywidgets VBox.

    Raises:
        InvalidInput: There is no source.
    """
    explorer = Explorer(
        {name: partial(_items, read) for name, read in sources.items()},
        "Items or an AccessLog",
    )
    low, high = (math.log10(days) for days in HALF_LIFE_RANGE_DAYS)
    days: dict[str, Any] = {
        "value": DEFAULT_HALF_LIFE_DAYS,
        "min": low,
        "max": high,
        "step": 0.02,
    }
    half_life = control(
        "FloatLogSlider", "Half-life (days)", readout_format=".1f", **days
    )
    shares: dict[str, Any] = {
        "min": 0.0,
        "max": 1.0,
        "step": 0.01,
    }
    active = control(
        "FloatSlider", "ACTIVE from importance", value=ACTIVE_THRESHOLD, **shares
    )
    mild = control(
        "FloatSlider", "MILD from importance", value=MILD_THRESHOLD, **shares
    )

    def drawn(items: Items) -> tuple[str, Figure]:
        settings = (half_life.value, active.value, mild.value)
        counts = count_tiers(items, *settings)
        words = ", ".join(f"{name} {count}" for name, count in counts.items())
        line = paragraph(f"{words} (half-life {half_life.value:.1f} days)")
        return line, draw_decay(items, *settings)

    def redraw(change: Any = None) -> None:
        if mild.value > active.value:
            other = mild if change.owner is active else active
            other.value = change.new  # calls this function once more
            return
        explorer.show(drawn)

    return explorer.box([half_life, active, mild], redraw)


def _items(read: Callable[[], Items | AccessLog]) -> Items:
    """Return the items that are read, or those of the log that is read."""
    items = read()
    if isinstance(items, AccessLog):
        return items_at_end(items)
    return items


def _has_history(folder: Path) -> bool:
    try:
        return len(git_commits(folder, limit=MIN_COMMITS)) >= MIN_COMMITS
    except InvalidInput:  # no repository, or no git: then there is no history to show
        return False
