"""Recorded runs of short tasks by the models of a machine, and the prompts of those tasks.

The file is gzipped JSON Lines: a header, then one run a line.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import ConfigDict, Field

from theorex_lab.experiments.data import recorded_lines
from theorex_lab.memory.rows import Rows

if TYPE_CHECKING:
    import pandas as pd

_MARK, _FILE_VERSION = {"recording": "local runs"}, 1


@dataclass(frozen=True, slots=True)
class TaskRun:
    """One answer to one task.

    model: the solver's name.  latency_ms: measured, None where no answer came.  tokens: of prompt and answer, None where
    none were counted.  response: at most 300 characters, which are what was checked.  seed: the number of the repetition.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    task_id: str
    query_type: str
    level: int
    model: str
    success: bool
    latency_ms: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None
    tokens: Annotated[int, Field(ge=0)] | None
    response: str
    error: str | None
    seed: int


@dataclass(frozen=True)
class LocalRuns(Rows[dict[str, Any]]):
    """Recorded runs with the header that says when, where and how they were made."""

    header: dict[str, Any]
    runs: tuple[TaskRun, ...]

    def _records(self) -> Sequence[dict[str, Any]]:
        return [asdict(run) for run in self.runs]

    def success_rates(self) -> pd.DataFrame:
        """Share of right answers, 0 to 1: a row a query type and one for all, a column a model."""
        table = self.frame.pivot_table("success", "query_type", "model", aggfunc="mean", sort=False)
        table.loc["all"] = self.frame.groupby("model")["success"].mean()
        return table.astype(float)

    def unsolved(self) -> list[str]:
        """Ids of the tasks that nobody ever solved."""
        return sorted({run.task_id for run in self.runs} - {run.task_id for run in self.runs if run.success})

    def __repr__(self) -> str:
        models = {run.model for run in self.runs}
        return f"LocalRuns({len(self.runs)} runs of {len({run.task_id for run in self.runs})} tasks by {len(models)} solvers, {self.header['date'][:10]})"

    def _shown(self) -> pd.DataFrame:
        return self.success_rates().reset_index()


def load_runs(path: str | Path) -> LocalRuns:
    """The runs in such a file.

    Raises InvalidInput for a file that cannot be read or holds something else, and for damaged lines, each with its
    number and the reason; NewerVersion for a file of a newer release.
    """
    header, runs = recorded_lines.read_lines(path, TaskRun, _MARK, _FILE_VERSION)
    return LocalRuns(header, tuple(runs))


@cache
def prompts() -> dict[str, str]:
    """The prompt of each task, by its id.

    >>> prompts()["math-01"]
    'What is 3 + 4? Answer with the number only.'
    """
    found: dict[str, str] = json.loads((Path(__file__).parent / "local_prompts.json").read_text(encoding="utf-8"))
    return found


def machine(packages: Iterable[str]) -> dict[str, Any]:
    """What times depend on: cores, system, Python and `packages`; neither host nor path.

    >>> sorted(machine(["numpy"]))
    ['cores', 'packages', 'python', 'system']
    """
    installed = {package.name: package.version for package in distributions()}
    return {
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: installed[name] for name in packages if name in installed},
    }
