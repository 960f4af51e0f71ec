"""What `theorex eval failures --dataset NAME` shows: failure review scored on a public data set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from theorex_lab.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

Report = tuple[dict[str, Any], str]
Metrics = dict[str, float]


def report(dataset: str, path: str = "") -> Report:
    """(result, text) of a data set: whoandwhen or reflexion_alfworld.

    path: of runs that the user has in the format of whoandwhen, a file or a folder; all are scored.
    result: dataset, n, metrics (with 95 % intervals: `_low`, `_high`), baselines and published by name, and notes.
    Raises InvalidInput for another set, and what the set's `fetch_*` raises where it cannot be read.
    """
    if dataset not in _REPORTS:
        raise InvalidInput(f"got data set {dataset!r}; allowed are {', '.join(_REPORTS)}")
    if path and dataset != "whoandwhen":
        raise InvalidInput(f"got a path of runs for {dataset}; allowed is one with --dataset whoandwhen")
    return _whoandwhen(path) if path else _REPORTS[dataset]()


def _whoandwhen(path: str = "") -> Report:
    from theorex_lab.experiments.data.datasets import load_failed_runs
    from theorex_lab.experiments.scores.failures import PUBLISHED, score_failures

    scores = score_failures(load_failed_runs(path), half="all") if path else score_failures()
    shown, gains = ["agent_accuracy", "step_accuracy"], ["agent_gain", "step_gain"]
    table = scores.frame.set_index("method")
    result = {"dataset": "whoandwhen", "n": scores.n} | _beside(table, "find_decisive", shown, gains)
    result["published"] = {} if path else {"best_language_model_given_ground_truth": PUBLISHED}
    source = "the algorithm-generated part, questions of odd SHA-1; signs and weights were made on the even ones"
    notes = [
        f"all runs of {path}" if path else source,
        "runs of more than ten steps, with a user, or with known tool calls get the last call or step, not the signs",
        "gain: find_decisive less the baseline, paired run by run",
    ]
    if not path:
        notes.append("published: over all runs of that part, so not paired")
        table.loc["published, best model"] = PUBLISHED
    result["notes"] = notes
    return result, _text(result, table, [*shown, *gains])


def _reflexion_alfworld() -> Report:
    from theorex_lab.experiments.scores.failures import effect_of_fixes

    effect = effect_of_fixes()
    table = effect.frame.set_index("trial")
    last, counted = table.index[-1], ["solved_with", "solved_without", "only_with", "only_without"]
    shown = [*counted, *_columns("difference"), "p_value"]
    result = {
        "dataset": "reflexion_alfworld",
        "n": effect.with_fixes.shape[1],
        "metrics": {"by_trial": int(last), **_row(table, last, shown)},
        "trials": {str(trial): _row(table, trial, shown) for trial in table.index},
        "baselines": {"without_fixes": {"share_solved": float(effect.without[-1].mean())}},
        "published": {"with_fixes": {"solved": 134, "of": 134}, "without_fixes": {"solved": 101, "of": 134}},
        "notes": [
            "environments whose shared first trial failed; solved by a trial with fixes less solved without, in pairs",
            "one run of each arm; fixes add up from the third trial on; what they say is not told apart from the longer prompt",
        ],
    }
    return result, _text(result, table, ["difference"], counted)


_REPORTS: dict[str, Callable[[], Report]] = {"whoandwhen": _whoandwhen, "reflexion_alfworld": _reflexion_alfworld}


def _beside(table: pd.DataFrame, chosen: str, shown: Sequence[str], gains: Sequence[str]) -> dict[str, Any]:
    """The metrics of what was chosen, and the other rows with its gains over them."""
    others = [name for name in table.index if name != chosen]
    baselines = {name: _row(table, name, _columns(*shown, *gains)) for name in others}
    return {"metrics": _row(table, chosen, _columns(*shown)), "baselines": baselines}


def _columns(*names: str) -> list[str]:
    return [column for name in names for column in (name, f"{name}_low", f"{name}_high")]


def _row(table: pd.DataFrame, name: Any, columns: list[str]) -> Metrics:
    return {column: float(table[column][name]) for column in columns}


def _text(result: dict[str, Any], table: pd.DataFrame, measured: list[str], counted: Sequence[str] = ()) -> str:
    """The table for people: what was counted, then each measure with its interval."""
    shown = table[[*counted]].astype(int)
    for name in measured:
        shown[name] = ["{:.3f} [{:.3f}, {:.3f}]".format(*row) for row in table[_columns(name)].to_numpy()]
    told = shown.to_string().replace("[nan, nan]", "").replace("nan", "–")
    return "\n".join([f"{result['dataset']}, n = {result['n']}; [95 % intervals]", told, "", *result["notes"]])
