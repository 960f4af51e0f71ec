"""Load data to try memories on.

`load_*` reads what comes with the project, `fetch_*` public sets.

A `fetch_*` looks into `$THEOREX_DATA/<set>/`, then into the user's cache, and otherwise
downloads from the repository where the set was published, at a pinned commit; the
sha256 is checked in every case. Results carry their licence: as `.licence`, or a table
in `.attrs["licence"]`.

Every `fetch_*` raises InvalidInput for a file that is not the published one, and
StorageError for one that is nowhere and cannot be downloaded.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import ConfigDict, Field

from theorex_lab.core.errors import InvalidInput
from theorex_lab.dispatch.bus import CallEnd, CallStart
from theorex_lab.dispatch.traces import Trace
from theorex_lab.eval.datasets import parsing, sources
from theorex_lab.eval.datasets.dataset_files import FileContent, members_of, read_files
from theorex_lab.eval.datasets.dataset_table import DATASETS
from theorex_lab.evolution.cases import FailureCase, case_of
from theorex_lab.memory.rows import Rows
from theorex_lab.store.lab import Lab

if TYPE_CHECKING:
    import pandas as pd

_MARK = {"recording": "local runs"}
_FILE_VERSION = 1


@dataclass(frozen=True, slots=True)
class TaskRun:
    """One answer to one task.

    model: the solver's name.  latency_ms: measured, None where no answer came.  tokens:
    of prompt and answer, None where none were counted.  response: at most 300
    characters, which are what was checked.  seed: the number of the repetition.
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

    def __repr__(self) -> str:
        models = {run.model for run in self.runs}
        return (
            f"LocalRuns({len(self.runs)} runs of"
            f" {len({run.task_id for run in self.runs})} tasks by {len(models)}"
            f" solvers, {self.header['date'][:10]})"
        )


def load_runs(path: str | Path) -> LocalRuns:
    """Return the runs in such a file.

    Raises:
        InvalidInput: The file cannot be read or holds something else, or lines are
            damaged; each is named with its number and the reason.
        NewerVersion: The file is of a newer release.
    """
    header, runs = sources.read_lines(path, TaskRun, _MARK, _FILE_VERSION)
    return LocalRuns(header, tuple(runs))


@cache
def prompts() -> dict[str, str]:
    """Return the prompt of each task, by its id.

    >>> prompts()["math-01"]
    'What is 3 + 4? Answer with the number only.'
    """
    prompt_by_task: dict[str, str] = json.loads(
        (Path(__file__).parent / "local_prompts.json").read_text(encoding="utf-8")
    )
    return prompt_by_task


def machine(packages: Iterable[str]) -> dict[str, Any]:
    """Return what times depend on: cores, system, Python and `packages`.

    Neither the host's name nor a path is among it.

    >>> sorted(machine(["numpy"]))
    ['cores', 'packages', 'python', 'system']
    """
    installed = {package.name: package.version for package in distributions()}
    system = {
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
    }
    versions = {name: installed[name] for name in packages if name in installed}
    return {**system, "python": platform.python_version(), "packages": versions}


def load_simulated_team() -> list[sources.Activity]:
    """Return the packaged simulation of a small team of agents.

    It is in the order of time, and no recorded work.

    >>> load_simulated_team()[0].agent in {
    ...     activity.agent for activity in load_simulated_team()
    ... }
    True
    """
    return sources.load(sources.packaged("simulated_team.jsonl.gz"))


def load_local_runs() -> LocalRuns:
    """Return the packaged runs of the project's own tasks by small models.

    A small offline model made them in two configurations, and rules did.

    Returns:
        The recording. Its `frame` has a row a run: model, task, success and latency.

    >>> sorted(load_local_runs().frame["model"].unique())
    ['rules', 'smollm2-135m greedy', 'smollm2-135m sampled']
    """
    return load_runs(sources.packaged("local_runs.jsonl.gz"))


def fetch_llmrouter() -> parsing.RouterScores:
    """Return LLMRouter: scores of 9 models on 5,608 training and 500 test queries."""
    info = DATASETS["llmrouter"]
    return parsing.llmrouter(read_files(info), info.licence)


def fetch_routellm() -> pd.DataFrame:
    """Return whether a weak and a strong model answered questions rightly.

    RouteLLM asked both 14,042 questions of MMLU and 1,319 of GSM8K.

    Returns:
        Columns benchmark, subject, prompt, weak_correct, strong_correct.
    """
    info = DATASETS["routellm"]
    files = read_files(info)
    table = parsing.routellm(files, members_of(files["mmlu_responses.tar"]))
    table.attrs.update(dataset=info.name, licence=info.licence)
    return table


def fetch_taubench_airline() -> parsing.TauBench:
    """Return tau-bench airline: 4 trials of each of 50 tasks by gpt-4o.

    Each has every action and its reward.
    """
    info = DATASETS["taubench_airline"]
    return parsing.taubench(read_files(info)["gpt-4o-airline.json"], info.licence)


def fetch_whoandwhen() -> parsing.WhoAndWhen:
    """Return the algorithm-generated part of Who&When: 126 failed runs.

    Several agents took part in each; the guilty agent, the step and the reason are
    labelled.
    """
    info = DATASETS["whoandwhen"]
    return parsing.whoandwhen(
        members_of(read_files(info)["whoandwhen_algorithm_generated.tar"]), info.licence
    )


def load_failed_runs(path: str | Path) -> parsing.LoadedRuns:
    """Return runs in the format of Who&When, its hand-crafted half among others.

    Args:
        path: A JSON file, or a folder of them, which are read in order.

    Returns:
        The runs, and the reason for each file that is not as it should be.

    Raises:
        InvalidInput: There is no such file, or none holds a usable run; the message
            names the first and says what is wrong.
    """
    folder = Path(path)
    files = [folder] if folder.is_file() else sorted(folder.glob("*.json"))
    if not files:
        raise InvalidInput(
            f"got {str(path)!r} without a run; allowed is a JSON file, or a folder of"
            " .json files"
        )
    members = {file.name: FileContent(str(file), file.read_bytes()) for file in files}
    loaded = parsing.readable_runs(members)
    if not loaded.runs:
        raise InvalidInput(loaded.damaged[0])
    return loaded


def fetch_reflexion_alfworld() -> parsing.Reflexion:
    """Return Reflexion on ALFWorld: 134 tasks in 15 trials with reflections.

    Another 7 trials are without.
    """
    info = DATASETS["reflexion_alfworld"]
    return parsing.reflexion(
        members_of(read_files(info)["alfworld_env_results.tar"]), info.licence
    )


def failed_cases(lab: Lab, *, agent: str | None = None) -> list[FailureCase]:
    """Return the failures of an agent, or of all, reviewed or not, oldest first.

    A failure whose run was erased is without it.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     _ = lab.outcomes.record("main", "deploy", "it broke", success=False)
    ...     [(case.task, len(case.steps)) for case in failed_cases(lab)]
    [('deploy', 2)]
    """
    cases = []
    for outcome in lab.outcomes.queue(agent=agent, again=True):
        trace: Trace | None = None
        with suppress(InvalidInput):  # erased
            trace = (
                lab.trace(outcome.trace_id) if outcome.trace_id is not None else None
            )
        cases.append(case_of(outcome, trace))
    return cases


def local_failures(lab: Lab, *, every: int = 4) -> list[FailureCase]:
    """Return the answers of a small model that the checks refused.

    The packaged recording holds them; they are recorded in `lab`.

    Args:
        lab: Where the failures are recorded.
        every: One of so many of them is taken, in the recording's order.
    """
    failed = [
        run
        for run in load_local_runs().runs
        if run.model == "smollm2-135m greedy" and not run.success
    ]
    for row in failed[::every]:
        start = CallStart(
            row.task_id,
            "local-model",
            lab.clock.now(),
            prompts()[row.task_id],
            row.query_type,
            row.model,
        )
        end = CallEnd(
            row.task_id,
            start.at,
            True,
            row.model,
            response=row.response,
        )
        lab.journal.append([start.event(), end.event(start)])
        lab.outcomes.record_of_trace(
            row.task_id, "the check of the task refused this answer", success=False
        )
    return failed_cases(lab)
