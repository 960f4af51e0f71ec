"""Put sliders over the context that decay leaves.

`decay_explorer` is a thin wrapper over a pure `draw_context` of the same settings.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.settings import DEFAULT_HALF_LIFE_DAYS
from theorex_lab.eval.datasets.git_history import Commit, git_commits
from theorex_lab.eval.datasets.recorded_runs import load_simulated_team
from theorex_lab.eval.datasets.sources import data_folder
from theorex_lab.eval.metrics.access import load_log, log_of_commits
from theorex_lab.eval.metrics.access_log import AccessLog
from theorex_lab.eval.plots.decay import plot_context_change
from theorex_lab.eval.replay.context_change import (
    ContextChange,
    ContextPolicy,
    context_change,
    policy_in_force,
)
from theorex_lab.eval.tour import MAX_COMMITS, MIN_COMMITS
from theorex_lab.eval.widgets.explorer import Explorer, control, paragraph
from theorex_lab.memory.decay import LAWS, MILD_THRESHOLD, make_law

HALF_LIFE_RANGE_DAYS = (0.5, 120.0)
# What is read below the folder that THEOREX_DATA names; of sessions the folder is the
# set's name.
RECORDED_LOGS = (
    "coding_sessions",
    "git_touches_helm/touches.log.gz",
    "git_touches_pfr/touches.log.gz",
)
SIMULATED_SESSIONS = "simulation of a developer's sessions"
SIMULATED_TEAM = "simulation of a team of agents"
DEFAULT_MOMENT = 0.8
_MOST_NAMES = 25  # more of them are counted
_LAWS = tuple(name for name in LAWS if name != "constant")


def event_at(log: AccessLog, moment: float) -> int:
    """Return the number of the event at a share of a log's events.

    Args:
        log: The log.
        moment: 0 for the first event, 1 for the last one.

    Raises:
        InvalidInput: Nothing happened, or the moment is outside 0..1.

    >>> event_at(AccessLog.of([(n, "a", None, False) for n in range(11)]), 0.8)
    8
    """
    if not log.n_events or not 0.0 <= moment <= 1.0:
        raise InvalidInput(
            f"got the moment {moment!r} of a log with {log.n_events} events; allowed is"
            " 0 to 1 of one event or more"
        )
    return round(moment * (log.n_events - 1))


def draw_context(
    log: AccessLog,
    policy: ContextPolicy,
    *,
    moment: float = DEFAULT_MOMENT,
) -> Figure:
    """Draw which items the context holds, gains and loses under these settings.

    Args:
        log: The log.
        policy: The settings; they are compared with `policy_in_force`.
        moment: When the context is filled, as a share of the log's events, 0..1.

    Raises:
        InvalidInput: As `event_at`.
    """
    change = context_change(log, event_at(log, moment), policy)
    figure = Figure(figsize=(9.0, 4.6), layout="constrained")
    plot_context_change(change, ax=figure.add_subplot())
    return figure


def describe_context(
    log: AccessLog,
    policy: ContextPolicy,
    *,
    moment: float = DEFAULT_MOMENT,
) -> str:
    """Return in one line what these settings change in the context.

    Args:
        log: The log.
        policy: The settings; they are compared with `policy_in_force`.
        moment: As `draw_context` has it.

    Raises:
        InvalidInput: As `event_at`.
    """
    event = event_at(log, moment)
    change = context_change(log, event, policy)
    when = to_iso(int(log.time[log.starts[event]]))[:10]
    in_force = policy_in_force(log)
    return (
        f"{when}, {policy}: {len(change.held)} items; in force ({in_force}):"
        f" {len(change.before)}. {change.sentence()}"
        f" Known and used then: {len(change.used)}; in this context"
        f" {change.n_used(change.held)}, in that in force {change.n_used(change.before)}."
    )


def context_lists(change: ContextChange) -> str:
    """Return the items that are held, gained and lost as HTML; names are escaped."""
    parts = [
        _name_list("Gained", change.gained, change),
        _name_list("Lost", change.lost, change),
        _name_list("In the context", change.held, change),
    ]
    return "".join(parts)


def _name_list(title: str, names: Sequence[str], change: ContextChange) -> str:
    """Return a heading and a list of names, those used next marked by words."""
    rows = []
    for name in names[:_MOST_NAMES]:
        mark = " (used next)" if name in change.used else ""
        rows.append(f"<li>{escape(name)}{mark}</li>")
    n_more = len(names) - len(rows)
    more = f"<p>and {n_more:,} more</p>" if n_more else ""
    is_open = " open" if title != "In the context" else ""
    return (
        f"<details{is_open}><summary>{title}: {len(names)}</summary>"
        f"<ol>{''.join(rows)}</ol>{more}</details>"
    )


def log_sources(repository: str | Path = ".") -> dict[str, Callable[[], AccessLog]]:
    """Return the logs at hand by name, each read when it is called.

    They are your repository, recorded logs, and two simulations.

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
    sources[SIMULATED_SESSIONS] = partial(load_log, "simulated_sessions")
    sources[SIMULATED_TEAM] = _simulation
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


def decay_explorer(sources: Mapping[str, Callable[[], AccessLog]]) -> Any:
    """Return controls over `draw_context`.

    They are a choice of sources and laws, and sliders for the moment, the half-life (of
    `product`), the exponent (of `power`), the MILD threshold and the budget. They work
    in JupyterLab and in Voila, by mouse and by keyboard. A slider that the chosen law
    does not read is greyed. A line repeats in words what the picture shows, and lists
    name the items.

    Args:
        sources: By name what gives a log, as `log_sources` does. The first is shown,
            any other is read when it is chosen; why one cannot be read stands in place
            of the line.

    Returns:
        An ipywidgets VBox.

    Raises:
        InvalidInput: There is no source.
    """
    explorer = Explorer(sources, "an AccessLog")
    law = control("Dropdown", "Law", options=list(_LAWS), value="product")
    half_life = control(
        "FloatLogSlider",
        "Half-life (days)",
        readout_format=".1f",
        value=DEFAULT_HALF_LIFE_DAYS,
        min=math.log10(HALF_LIFE_RANGE_DAYS[0]),
        max=math.log10(HALF_LIFE_RANGE_DAYS[1]),
        step=0.02,
    )
    exponent = control(
        "FloatSlider", "Exponent of age", value=0.75, min=0.1, max=1.0, step=0.05
    )
    mild = control(
        "FloatSlider",
        "MILD from importance",
        value=MILD_THRESHOLD,
        min=0.0,
        max=1.0,
        step=0.01,
    )
    budget = control("IntSlider", "Tokens", value=500, min=100, max=4_000, step=50)
    moment = control(
        "FloatSlider",
        "Moment (share of events)",
        value=DEFAULT_MOMENT,
        min=0.0,
        max=1.0,
        step=0.01,
    )
    parameters = {"product": ("half_life_days", half_life)}
    parameters["power"] = ("exponent", exponent)

    def shown(log: AccessLog) -> tuple[str, Figure]:
        chosen: dict[str, float] = {}
        if law.value in parameters:
            name, slider = parameters[law.value]
            chosen[name] = slider.value
        policy = ContextPolicy(make_law(law.value, **chosen), mild.value, budget.value)
        change = context_change(log, event_at(log, moment.value), policy)
        line = paragraph(describe_context(log, policy, moment=moment.value))
        picture = draw_context(log, policy, moment=moment.value)
        return line + context_lists(change), picture

    def redraw(_change: Any = None) -> None:
        half_life.disabled = law.value != "product"
        exponent.disabled = law.value != "power"
        explorer.show(shown)

    return explorer.box([law, half_life, exponent, mild, budget, moment], redraw)


def _has_history(folder: Path) -> bool:
    try:
        return len(git_commits(folder, limit=MIN_COMMITS)) >= MIN_COMMITS
    except InvalidInput:  # no repository, or no git: then there is no history to show
        return False
