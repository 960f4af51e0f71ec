"""Data to try memories on: `load_*` for what comes with the project, `fetch_*` for public sets.

A `fetch_*` looks into `$THEOREX_DATA/<set>/`, then into the user's cache, and otherwise downloads from the repository
where the set was published, at a pinned commit; the sha256 is checked in every case. Results carry their licence: as
`.licence`, or a table in `.attrs["licence"]`.

Every `fetch_*` raises InvalidInput for a file that is not the published one, and StorageError for one that is nowhere
and cannot be downloaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data import local_runs, sources
from theorex_lab.experiments.data.dataset_files import Content, members_of, read_files
from theorex_lab.experiments.data.dataset_table import DATASETS
from theorex_lab.experiments.data.parsing import routing, runs

if TYPE_CHECKING:
    import pandas as pd


def load_simulated_team() -> list[sources.Activity]:
    """The packaged simulation of a small team of agents, in the order of time; not recorded work.

    >>> load_simulated_team()[0].agent in {activity.agent for activity in load_simulated_team()}
    True
    """
    return sources.load(sources.packaged("simulated_team.jsonl.gz"))


def load_local_runs() -> local_runs.LocalRuns:
    """The packaged runs of the project's own tasks by a small offline model, in two configurations, and by rules.

    >>> sorted(load_local_runs().frame["model"].unique())
    ['rules', 'smollm2-135m greedy', 'smollm2-135m sampled']
    """
    return local_runs.load_runs(sources.packaged("local_runs.jsonl.gz"))


def fetch_llmrouter() -> routing.RouterScores:
    """LLMRouter: scores of 9 models on 5,608 training and 500 test queries."""
    info = DATASETS["llmrouter"]
    return routing.llmrouter(read_files(info), info.licence)


def fetch_routellm() -> pd.DataFrame:
    """RouteLLM: whether a weak and a strong model answered 14,042 questions of MMLU and 1,319 of GSM8K rightly.

    Columns benchmark, subject, prompt, weak_correct, strong_correct, contaminated, weak_response, strong_response.
    """
    info = DATASETS["routellm"]
    files = read_files(info)
    table = routing.routellm(files, members_of(files["mmlu_responses.tar"]))
    table.attrs.update(dataset=info.name, licence=info.licence)
    return table


def fetch_taubench_airline() -> runs.TauBench:
    """tau-bench airline: 4 trials of each of 50 tasks by gpt-4o, with every action and its reward."""
    info = DATASETS["taubench_airline"]
    return runs.taubench(read_files(info)["gpt-4o-airline.json"], info.licence)


def fetch_whoandwhen() -> runs.WhoAndWhen:
    """Who&When, the algorithm-generated part: 126 failed multi-agent runs with guilty agent, step and reason."""
    info = DATASETS["whoandwhen"]
    return runs.whoandwhen(members_of(read_files(info)["whoandwhen_algorithm_generated.tar"]), info.licence)


def load_failed_runs(path: str | Path) -> tuple[runs.FailedRun, ...]:
    """Runs in the format of Who&When, its hand-crafted half among others: a JSON file, or those of a folder, in order.

    Raises InvalidInput where there is no such file, or one is not as it should be, naming it.
    """
    place = Path(path)
    files = sorted(place.glob("*.json")) if place.is_dir() else [place] if place.is_file() else []
    if not files:
        raise InvalidInput(f"got {str(path)!r} without a run; allowed is a JSON file, or a folder of .json files")
    return runs.whoandwhen({file.name: Content(str(file), file.read_bytes()) for file in files}, "").runs


def fetch_reflexion_alfworld() -> runs.Reflexion:
    """Reflexion on ALFWorld: 134 tasks in 15 trials with written reflections, and in 7 without."""
    info = DATASETS["reflexion_alfworld"]
    return runs.reflexion(members_of(read_files(info)["alfworld_env_results.tar"]), info.licence)
