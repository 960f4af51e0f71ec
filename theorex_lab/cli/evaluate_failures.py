"""What `theorex eval failures --dataset NAME` shows: failure review scored on a public data set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from theorex_lab.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

Report = tuple[dict[str, Any], str]
Metrics = dict[str, float]


def report(dataset: str) -> Report:
    """(result, text) of a data set: whoandwhen or reflexion_alfworld.

    result: dataset, n, metrics (with 95 % intervals: `_low`, `_high`), baselines and published by name, and notes.
    Raises InvalidInput for another set, and what the set's `fetch_*` raises where it cannot be read.
    """
    if dataset not in _REPORTS:
        raise InvalidInput(f"got data set {dataset!r}; allowed are {', '.join(_REPORTS)}")
    return _REPORTS[dataset]()


def _whoandwhen() -> Report:
    from theorex_lab.experiments.scores.failures import PUBLISHED, score_failures

    scores = score_failures()
    shown, gains = ["agent_accuracy", "step_accuracy"], ["agent_gain", "step_gain"]
    table = scores.frame.set_index("method")
    result = {"dataset": "whoandwhen", "n": scores.n} | _beside(table, "find_decisive", shown, gains)
    result["published"] = {"best_language_model_given_ground_truth": PUBLISHED}
    result["notes"] = [
        "questions of odd SHA-1; signs and weights were made on the even ones",
        "the algorithm-generated part; the hand-crafted part is not in the set",
        "gain: find_decisive less the baseline, paired run by run",
        "published: over all runs of that part, so not paired",
    ]
    table.loc["published, best model"] = PUBLISHED
    return result, _text(result, table, shown)


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
        shown[name] = table[name].map("{:.3f}".format)
        shown[f"{name}, 95 % interval"] = [
            f"{low:.3f} – {high:.3f}" for low, high in table[_columns(name)[1:]].to_numpy()
        ]
    head = f"{result['dataset']}, n = {result['n']}"
    return "\n".join([head, shown.to_string(), "", *result["notes"]])
