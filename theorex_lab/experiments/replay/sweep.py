"""Sweeps: the same recording under many settings, in process or on a pool of `concurrent.futures`, and what to choose of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from theorex_lab.config import Settings, check_settings
from theorex_lab.config_record import to_camel
from theorex_lab.designs.theorex.scores import law_of
from theorex_lab.errors import ConfigError, InvalidInput
from theorex_lab.experiments.replay.event_log import EventLog
from theorex_lab.experiments.replay.replay import replay_all
from theorex_lab.experiments.replay.tasks import run_all
from theorex_lab.memory.rows import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Changes = Mapping[str, Any]
Metrics = dict[str, float]
Metric = Callable[[EventLog, Sequence[Settings]], Sequence[Mapping[str, float]]]

MAX_TASKS = 32
CHUNK = 16
_SHOWN_COMPLAINTS = 5
_FIELDS = {to_camel(name): name for name in Settings.tunables}  # others are left to the check


def summaries(recorded: EventLog, settings: Sequence[Settings], *, every_days: float = 1.0,
              now: int | None = None) -> list[Metrics]:  # fmt: skip
    """The metric by default: `Replay.summary` of each setting. `partial(summaries, every_days=7)` scans weekly."""
    return [each.summary() for each in replay_all(recorded, settings, every_days=every_days, now=now)]


def settings_of(changes: Sequence[Changes], base: Settings | None = None) -> list[Settings]:
    """The base (default: the defaults) with each of these changes. Raises ConfigError naming all that is wrong in any."""
    kept = {} if base is None else {name: getattr(base, name) for name in base.model_fields_set}
    found, wrong = list[Settings](), list[str]()
    for each in changes:
        try:
            given = {_FIELDS.get(name, name): value for name, value in each.items()}
            found.append(check_settings({**kept, **given}, where="sweep"))
            law_of(found[-1])
        except ConfigError as error:
            wrong.append(str(error))
    if wrong:
        told = [f"{text} ({times} of the settings)" for text, times in Counter(wrong).most_common(_SHOWN_COMPLAINTS)]
        refused = f"{len(wrong)} of {len(changes)} settings are refused, most for these: {'; '.join(told)}"
        raise ConfigError(f"{refused}. Mend the grid, or give a list of the settings that are meant")
    return found


def _changes(grid: Any) -> list[dict[str, Any]]:
    """The changes of a grid or a list, under snake_case names."""
    if isinstance(grid, Mapping):
        lists = (list, tuple, np.ndarray)
        if empty := [name for name, values in grid.items() if not isinstance(values, lists) or not len(values)]:
            raise InvalidInput(f"got no list of values for {', '.join(empty)}; allowed is one or more for each")
        grid = [dict(zip(grid, values, strict=True)) for values in product(*grid.values()) if values]
    if not isinstance(grid, list | tuple) or not grid or not all(isinstance(each, Mapping) for each in grid):
        raise InvalidInput(f"got the grid {grid!r}; allowed are a dictionary of lists, or a list of dictionaries")
    plain = [{_FIELDS.get(name, name): _plain(value) for name, value in each.items()} for each in grid]
    twice = [each for each in grid if len({_FIELDS.get(name, name) for name in each}) < len(each)]
    if twice or len({tuple(each) for each in plain}) > 1:
        raise InvalidInput("got settings named twice, or not the same ones in each place; allowed are the same keys")
    return plain


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def sweep(recorded: EventLog, grid: Mapping[str, Sequence[Any]] | Sequence[Changes], *, base: Settings | None = None,
          metric: Metric = summaries, executor: Executor | None = None,
          progress: bool | None = None) -> Sweep:  # fmt: skip
    """What a metric says of the recording under many settings; the same whatever the executor.

    grid: values for each setting (snake_case or camelCase), combined; or a list of changes.
    base: the settings that are changed.  metric: for a recording and some settings, a dictionary of numbers for each; with
    a process pool a function of a module.  progress: a bar (None: in a terminal or notebook).
    What 16 settings share, or a 32nd of all on an executor, is computed once.

    Raises ConfigError naming every setting that is refused, before anything is run; InvalidInput for a grid
    or metric that does not fit.

    >>> from theorex_lab.experiments.scores.access_log import AccessLog
    >>> log = AccessLog.of([(day * 86_400_000_000, f"f{day % 7}", None, False) for day in range(30)])
    >>> done = sweep(EventLog.of(log), {"halfLifeDays": [1, 10]})
    >>> done.frame["active"].tolist()
    [2, 7]
    """
    changes = _changes(grid)
    settings = settings_of(changes, base)
    size = CHUNK if executor is None else -(-len(settings) // MAX_TASKS)
    tasks = [(recorded, settings[start : start + size], metric) for start in range(0, len(settings), size)]
    shown: dict[str, Any] = {"executor": executor, "progress": progress, "unit": "settings", "what": "sweep"}
    metrics = tuple(run_all(_measure, tasks, len(settings), **shown))
    if len({frozenset(row) for row in metrics}) > 1:
        raise InvalidInput("the metric gave figures of other names for other settings; allowed are the same for each")
    return Sweep(tuple(changes), tuple(settings), metrics)


def _measure(recorded: EventLog, settings: Sequence[Settings], metric: Metric) -> list[Metrics]:
    """The metric's rows as plain numbers. Raises InvalidInput where it gives anything else."""
    rows = [{name: _plain(value) for name, value in row.items()} for row in metric(recorded, settings)]
    if len(rows) != len(settings) or any(not isinstance(value, int | float) for row in rows for value in row.values()):
        n = len(settings)
        raise InvalidInput(f"the metric gave {rows[:1]} for {n} settings; allowed is a dictionary of numbers for each")
    return rows


@dataclass(frozen=True, eq=False)
class Sweep(Rows[dict[str, Any]]):
    """A row a setting, in the order given: what was changed, then what the metric said."""

    changes: tuple[dict[str, Any], ...]
    settings: tuple[Settings, ...]
    metrics: tuple[Metrics, ...]

    @property
    def parameters(self) -> list[str]:
        """The settings that were changed."""
        return list(self.changes[0])

    def _records(self) -> Sequence[dict[str, Any]]:
        return [{**changes, **metrics} for changes, metrics in zip(self.changes, self.metrics, strict=True)]

    def plot(self, x: str, y: str, *, metric: str, ax: Axes | None = None) -> Axes:
        """The metric over a grid of two settings, as a heat map with the lowest as a diamond.

        Where other settings vary too, each point is the lowest over them. Raises InvalidInput for a setting or metric that
        the sweep does not have, for a metric that is never a number, and for two settings that make no grid.
        """
        from theorex_lab.experiments.draw.plots import plot_sweep

        for name, allowed in ((x, self.parameters), (y, self.parameters), (metric, list(self.metrics[0]))):
            if name not in allowed:
                raise InvalidInput(f"got {name!r}; allowed are {', '.join(allowed)}")
        if self.frame[metric].isna().all():
            raise InvalidInput(f"got no {metric} that is a number; choose another metric")
        if x == y or not all(isinstance(each[name], int | float | str) for each in self.changes for name in (x, y)):
            raise InvalidInput(f"got x {x!r} and y {y!r}; allowed are two settings whose values are numbers or words")
        cells = self.frame.pivot_table(metric, y, x, "min", dropna=False)
        if (n := len(self.frame[[x, y]].drop_duplicates())) < cells.size:
            raise InvalidInput(f"got {n} pairs of {x} and {y}; allowed is each value of one with each of the other")
        return plot_sweep(cells, metric, ax=ax)

    def __repr__(self) -> str:
        return f"Sweep({len(self.settings)} settings over {', '.join(self.parameters)}; {', '.join(self.metrics[0])})"
