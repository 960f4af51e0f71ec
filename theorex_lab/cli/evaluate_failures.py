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
    """(result, text) of a data set: whoandwhen, taubench_airline or reflexion_alfworld.

    result: dataset, n, metrics (with 95 % intervals: `_low`, `_high`), baselines and published by name, and notes.
    Raises InvalidInput for another set, and what the set's `fetch_*` raises where it cannot be read.
    """
    if dataset not in _REPORTS:
        raise InvalidInput(f"got data set {dataset!r}; allowed are {', '.join(_REPORTS)}")
    return _REPORTS[dataset]()


def _whoandwhen() -> Report:
    from theorex_lab.experiments.scores.failures import PUBLISHED, score_failures

    scores = score_failures()
    table = scores.frame.set_index("method")
    shown = _columns("agent_accuracy") + _columns("step_accuracy")
    gains = shown + _columns("agent_gain") + _columns("step_gain")
    baselines = {name: _row(table, name, gains) for name in table.index if name != "find_decisive"}
    result = {
        "dataset": "whoandwhen",
        "n": scores.n,
        "metrics": _row(table, "find_decisive", shown),
        "baselines": baselines,
        "published": {"best_language_model_given_ground_truth": PUBLISHED},
        "notes": [
            "questions of odd SHA-1; signs and weights were made on the even ones",
            "the algorithm-generated part; the hand-crafted part is not in the set",
            "gain: find_decisive less the baseline, paired run by run",
            "published: over all runs of that part, so not paired",
        ],
    }
    table.loc["published, best model"] = PUBLISHED
    return result, _text(result, table, ["agent_accuracy", "step_accuracy"])


def _taubench_airline() -> Report:
    from theorex_lab.experiments.scores.failures import predict_trial

    forecast = predict_trial()
    table = forecast.frame.set_index("design")
    shown = _columns("brier")
    baselines = {name: _row(table, name, shown + _columns("gain")) for name in table.index if name != forecast.chosen}
    result = {
        "dataset": "taubench_airline",
        "n": len(forecast.outcomes),
        "metrics": _row(table, forecast.chosen, shown),
        "chosen": forecast.chosen,
        "baselines": baselines,
        "published": {"gpt-4o": {"success_rate": 0.42}},
        "notes": [
            f"success of trial {forecast.trial} from the trials before it; Brier score, lower is better",
            "design and weights chosen by cross-validation over tasks on the earlier trials alone",
            "gain: the baseline's score less the chosen design's, paired task by task",
        ],
    }
    return result, _text(result, table, ["brier"])


def _reflexion_alfworld() -> Report:
    from theorex_lab.experiments.scores.failures import effect_of_fixes

    effect = effect_of_fixes()
    table = effect.frame.set_index("trial")
    last = table.index[-1]
    shown = ["solved_with", "solved_without", "only_with", "only_without", *_columns("difference"), "p_value"]
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
    return result, _text(result, table, ["difference"], shown[:4])


_REPORTS: dict[str, Callable[[], Report]] = {
    "whoandwhen": _whoandwhen,
    "taubench_airline": _taubench_airline,
    "reflexion_alfworld": _reflexion_alfworld,
}


def _columns(name: str) -> list[str]:
    return [name, f"{name}_low", f"{name}_high"]


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
