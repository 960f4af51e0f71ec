"""What `theorex eval failures --dataset NAME` shows: failure review scored on a public data set."""

from __future__ import annotations

from collections.abc import Callable
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
    lines = [f"{'':<26}{'agent':>7}  95 % interval    {'step':>6}  95 % interval"]
    for name in table.index:
        cells = [_interval(table, name, kind) for kind in ("agent_accuracy", "step_accuracy")]
        lines.append(f"{name:<26}{cells[0]:>23}   {cells[1]:>21}")
    lines.append(f"{'published, best model':<26}{PUBLISHED['agent_accuracy']:7.3f}{PUBLISHED['step_accuracy']:25.3f}")
    return result, _text(lines, result)


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
    lines = [f"  {'':<28}{'Brier':>7}  95 % interval"]
    lines += [
        f"{'*' if name == forecast.chosen else ' '} {name:<28}{_interval(table, name, 'brier'):>23}"
        for name in table.index
    ]
    return result, _text(lines, result)


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
    lines = ["trial   with  without   only with  only without   difference, 95 % interval       exact p"]
    for trial in table.index:
        row = table.loc[trial]
        lines.append(
            f"{trial:5d}{row['solved_with']:7.0f}{row['solved_without']:9.0f}{row['only_with']:12.0f}{row['only_without']:14.0f}"
            f"   {_interval(table, trial, 'difference'):>24}   {row['p_value']:10.2g}"
        )
    return result, _text(lines, result)


_REPORTS: dict[str, Callable[[], Report]] = {
    "whoandwhen": _whoandwhen,
    "taubench_airline": _taubench_airline,
    "reflexion_alfworld": _reflexion_alfworld,
}


def _columns(name: str) -> list[str]:
    return [name, f"{name}_low", f"{name}_high"]


def _row(table: pd.DataFrame, name: Any, columns: list[str]) -> Metrics:
    return {column: float(table[column][name]) for column in columns}


def _interval(table: pd.DataFrame, name: Any, kind: str) -> str:
    mean, low, high = _row(table, name, _columns(kind)).values()
    return f"{mean:.3f}  {low:.3f} – {high:.3f}"


def _text(lines: list[str], result: dict[str, Any]) -> str:
    return "\n".join([f"{result['dataset']}, n = {result['n']}", *lines, "", *result["notes"]])
