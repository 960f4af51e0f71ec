"""The table of public data sets: repository, commit, licence, sha256 and counts of each."""

from __future__ import annotations

from theorex_lab.experiments.data.dataset_files import DataFile, DatasetInfo
from theorex_lab.text.sections import read_sections

_TABLES = read_sections(__file__, "dataset_table.txt")
_TRIALS = {"base": 7, "reflexion": 15}
# By file: the paths of an archive's members below its own.
_MEMBERS = {
    "mmlu_responses.tar": tuple(f"mmlu_{subject}.csv" for subject in _TABLES["mmlu subjects"].split()),
    "whoandwhen_algorithm_generated.tar": tuple(f"{number}.json" for number in range(1, 127)),
    "alfworld_env_results.tar": tuple(
        f"{kind}_run_logs/env_results_trial_{trial}.json" for kind, n in _TRIALS.items() for trial in range(n)
    ),
}


def _rows(table: str, columns: int) -> list[list[str]]:
    return [line.split(maxsplit=columns - 1) for line in _TABLES[table].splitlines()]


def _files(wanted: str) -> tuple[DataFile, ...]:
    rows = [row for name, *row in _rows("files", 4) if name == wanted]
    return tuple(DataFile(file, path, sha256, _MEMBERS.get(file, ())) for file, path, sha256 in rows)


def _counts(wanted: str) -> dict[str, float]:
    (held,) = (row for name, row in _rows("counts", 2) if name == wanted)
    return {name: int(number) for name, _, number in (count.partition("=") for count in held.split())}


DATASETS: dict[str, DatasetInfo] = {
    name: DatasetInfo(name, repository, commit, licence, _files(name), _counts(name))
    for name, repository, commit, licence in _rows("sets", 4)
}
