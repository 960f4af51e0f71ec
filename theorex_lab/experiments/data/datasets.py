"""Data to try memories on: `load_*` for what comes with the project, `fetch_*` for public sets, `describe` for a table.

A `fetch_*` looks into `$THEOREX_DATA/<set>/`, then into the user's cache, and otherwise downloads from the repository
where the set was published, at a pinned commit; the sha256 is checked in every case. Results carry their licence: as
`.licence`, or a table in `.attrs["licence"]`. Sets that may not be used commercially warn of it with LicenceNotice.

Every `fetch_*` raises InvalidInput for a file that is not the published one, and StorageError for one that is nowhere
and cannot be downloaded.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from theorex_lab.experiments.data import local_runs, sources
from theorex_lab.experiments.data.dataset_files import Content, DataFile, DatasetInfo, members_of, read_files
from theorex_lab.experiments.data.dataset_table import DATASETS
from theorex_lab.experiments.data.parsing import conversations, graphs, pairs, routing, runs, touches

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "DATASETS",
    "DataFile",
    "DatasetInfo",
    "LicenceNotice",
    "describe",
    "fetch_aider_leaderboards",
    "fetch_equational_theories",
    "fetch_fever_symmetric",
    "fetch_git_touches_helm",
    "fetch_git_touches_pfr",
    "fetch_llmrouter",
    "fetch_locomo",
    "fetch_metamath_ql",
    "fetch_pfr_blueprint",
    "fetch_qmsum",
    "fetch_reflexion_alfworld",
    "fetch_routellm",
    "fetch_sick",
    "fetch_stsb",
    "fetch_taubench_airline",
    "fetch_whoandwhen",
    "load_local_runs",
    "load_simulated_team",
]

_noticed: set[str] = set()


class LicenceNotice(UserWarning):
    """A set's licence does not allow commercial use; given once a process for each such set."""


def describe() -> pd.DataFrame:
    """The public sets, a row each: columns name, licence, commercial_use, repository, commit, files, derived, counts.

    files: their number, members of archives counted; derived: whether the set must be made from a clone instead of
    downloaded; counts: a dict of what the set holds.

    >>> describe().loc[lambda table: table.name == "stsb", "counts"].item()["pairs"]
    1500
    """
    import pandas as pd

    rows = [
        (
            info.name,
            info.licence,
            info.commercial_use,
            f"https://github.com/{info.repository}",
            info.commit,
            sum(len(file.members) or 1 for file in info.files),
            any(file.derived_by for file in info.files),
            dict(info.counts),
        )
        for info in DATASETS.values()
    ]
    columns = ["name", "licence", "commercial_use", "repository", "commit", "files", "derived", "counts"]
    return pd.DataFrame(rows, columns=columns)


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


def fetch_git_touches_helm() -> touches.GitTouches:
    """The files touched by 5,071 commits of stanford-crfm/helm over 1,664 days."""
    return touches.git_touches(_files("git_touches_helm")["touches.log"], _licence("git_touches_helm"))


def fetch_git_touches_pfr() -> touches.GitTouches:
    """The files touched by 1,343 commits of teorth/pfr over 958 days."""
    return touches.git_touches(_files("git_touches_pfr")["touches.log"], _licence("git_touches_pfr"))


def fetch_locomo() -> conversations.Locomo:
    """LoCoMo: 10 conversations of 5,882 turns, 1,986 questions with the turns that answer them; non-commercial."""
    return conversations.locomo(_files("locomo"), _licence("locomo"))


def fetch_qmsum() -> conversations.Qmsum:
    """QMSum, validation part: 35 real meetings, 237 queries with the spans of turns that answer them."""
    return conversations.qmsum(_files("qmsum")["val.jsonl"], _licence("qmsum"))


def fetch_llmrouter() -> routing.RouterScores:
    """LLMRouter: scores of 9 models on 5,608 training and 500 test queries."""
    return routing.llmrouter(_files("llmrouter"), _licence("llmrouter"))


def fetch_routellm() -> pd.DataFrame:
    """RouteLLM: whether a weak and a strong model answered 14,042 questions of MMLU and 1,319 of GSM8K rightly.

    Columns benchmark, subject, prompt, weak_correct, strong_correct, contaminated, weak_response, strong_response.
    """
    files = _files("routellm")
    return _labelled(routing.routellm(files, members_of(files["mmlu_responses.tar"])), "routellm")


def fetch_aider_leaderboards() -> pd.DataFrame:
    """Some 200 benchmark runs of the coding tool aider: pass rates, seconds per case and cost.

    Columns board, dirname, model, edit_format, editor_model, date, test_cases, pass_rate_1 and pass_rate_2 (percent),
    seconds_per_case, total_cost_usd, prompt_tokens, completion_tokens and counts of what went wrong.
    """
    return _labelled(routing.aider(_files("aider_leaderboards")), "aider_leaderboards")


def fetch_taubench_airline() -> runs.TauBench:
    """tau-bench airline: 4 trials of each of 50 tasks by gpt-4o, with every action and its reward."""
    return runs.taubench(_files("taubench_airline")["gpt-4o-airline.json"], _licence("taubench_airline"))


def fetch_whoandwhen() -> runs.WhoAndWhen:
    """Who&When, the algorithm-generated part: 126 failed multi-agent runs with guilty agent, step and reason."""
    archive = _files("whoandwhen")["whoandwhen_algorithm_generated.tar"]
    return runs.whoandwhen(members_of(archive), _licence("whoandwhen"))


def fetch_reflexion_alfworld() -> runs.Reflexion:
    """Reflexion on ALFWorld: 134 tasks in 15 trials with written reflections, and in 7 without."""
    archive = _files("reflexion_alfworld")["alfworld_env_results.tar"]
    return runs.reflexion(members_of(archive), _licence("reflexion_alfworld"))


def fetch_stsb() -> pd.DataFrame:
    """STS benchmark, development part: 1,500 pairs; columns sentence_a, sentence_b, similarity (0 to 5)."""
    return _labelled(pairs.stsb(_files("stsb")["stsb-en-dev.csv"]), "stsb")


def fetch_sick() -> pd.DataFrame:
    """SICK: 9,927 pairs; columns split, pair_id, sentence_a, sentence_b, relatedness (1 to 5), judgement."""
    files = _files("sick")
    names = {"train": "SICK_train.txt", "trial": "SICK_trial.txt", "test": "SICK_test_annotated.txt"}
    return _labelled(pairs.sick({split: files[name] for split, name in names.items()}), "sick")


def fetch_fever_symmetric() -> pd.DataFrame:
    """Symmetric FEVER, development part: 708 pairs; columns id, claim, evidence, refuted."""
    return _labelled(pairs.fever_symmetric(_files("fever_symmetric")["fever_symmetric_dev.jsonl"]), "fever_symmetric")


def fetch_equational_theories() -> graphs.EquationalTheories:
    """4,694 laws of magmas and 10,657 direct implications, whose closure has 8,178,279 pairs."""
    return graphs.equational_theories(_files("equational_theories"), _licence("equational_theories"))


def fetch_pfr_blueprint() -> graphs.Blueprint:
    """The blueprint of a proof: 218 definitions and theorems in LaTeX, and what each of them uses."""
    return graphs.blueprint(members_of(_files("pfr_blueprint")["chapters.tar"]), _licence("pfr_blueprint"))


def fetch_metamath_ql() -> graphs.Metamath:
    """Quantum logic in Metamath: 1,140 theorems and 48 axioms with 11,838 exact uses."""
    return graphs.metamath(_files("metamath_ql")["ql.mm"], _licence("metamath_ql"))


def _files(name: str) -> dict[str, Content]:
    """The checked files of a set; to be called by a `fetch_*` itself, for the warning names the caller's caller."""
    info = DATASETS[name]
    files = read_files(info)
    if not info.commercial_use and name not in _noticed:
        _noticed.add(name)
        warnings.warn(f"{name}: {info.licence}; for research use only", LicenceNotice, stacklevel=3)
    return files


def _licence(name: str) -> str:
    return DATASETS[name].licence


def _labelled(table: pd.DataFrame, name: str) -> pd.DataFrame:
    table.attrs.update(dataset=name, licence=_licence(name))
    return table
