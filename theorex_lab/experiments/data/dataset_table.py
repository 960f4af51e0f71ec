"""The table of public data sets: repository, commit, licence, sha256 and counts of each."""

from __future__ import annotations

from theorex_lab.experiments.data.dataset_files import DataFile, DatasetInfo
from theorex_lab.text.sections import read_sections

_TABLES = read_sections(__file__, "dataset_table.txt")
_TOUCHES = "git log --no-merges --no-renames --name-status --format='%x01%H %ct' HEAD"
# By file: the paths of an archive's members below its own.
_MEMBERS = {
    "mmlu_responses.tar": tuple(f"mmlu_{subject}.csv" for subject in _TABLES["mmlu subjects"].split()),
    "chapters.tar": tuple(f"{chapter}.tex" for chapter in _TABLES["chapters"].split()),
    "whoandwhen_algorithm_generated.tar": tuple(f"{number}.json" for number in range(1, 127)),
    "alfworld_env_results.tar": tuple(
        f"{kind}_run_logs/env_results_trial_{trial}.json"
        for kind, n_trials in (("base", 7), ("reflexion", 15))
        for trial in range(n_trials)
    ),
}


def _rows(table: str, columns: int) -> list[list[str]]:
    return [line.split(maxsplit=columns - 1) for line in _TABLES[table].splitlines()]


def _tabulated() -> dict[str, DatasetInfo]:
    files: dict[str, list[DataFile]] = {}
    for name, file, path, sha256 in _rows("files", 4):
        place = {"path": "", "derived_by": _TOUCHES} if path == "-" else {"path": path}
        files.setdefault(name, []).append(DataFile(file, sha256=sha256, members=_MEMBERS.get(file, ()), **place))
    counts = {name: dict(count.split("=") for count in held.split()) for name, held in _rows("counts", 2)}
    return {
        name: DatasetInfo(
            name, repository, commit, licence, commercial == "yes", tuple(files[name]),
            counts={held: int(number) for held, number in counts[name].items()},
        )
        for name, repository, commit, commercial, licence in _rows("sets", 5)
    }  # fmt: skip


DATASETS: dict[str, DatasetInfo] = _tabulated()
