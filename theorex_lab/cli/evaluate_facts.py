"""What `theorex eval supersede`, `signals`, `duplicates` and `contradictions` show: facts beside trivial baselines."""

from __future__ import annotations

from typing import Any

Report = tuple[dict[str, Any], str]


def supersede(dataset: str, file: str, seed: int) -> Report:
    """See `score_fact_updates`; `file` says which of the set's, or another log. Raises InvalidInput for another set."""
    from theorex_lab.errors import InvalidInput
    from theorex_lab.experiments.scores.fact_updates import score_fact_updates

    if dataset != "fact_updates":
        raise InvalidInput(f"got data set {dataset!r}; allowed is fact_updates, with --file another log")
    return _report(score_fact_updates(file, seed=seed))


def signals(dataset: str, seed: int) -> Report:
    """See `score_signals`, which raises what this does."""
    from theorex_lab.experiments.scores.signals import ROWS, score_signals

    result = score_signals(dataset, seed=seed)
    lines = [f"{dataset}, n = {result['n']:,}; in brackets 95 % intervals; the last columns are F1", ""]
    lines.append(f"  {'':<12}labelled  precision  recall  f1" + " " * 22 + "  ".join(result["baselines"]))
    for row in ROWS:
        own = result["metrics"][row]
        f1 = f"{own['f1']:.3f} [{own['f1_low']:.3f}, {own['f1_high']:.3f}]"
        others = "  ".join(f"{of[row]['f1']:<{len(name)}.3f}" for name, of in result["baselines"].items())
        lines.append(
            f"  {row:<12}{own['labelled']:<10.0f}{own['precision']:<11.3f}{own['recall']:<8.3f}{f1:<24}{others}"
        )
    return result, "\n".join(lines)


def pairs(part: str, dataset: str | None, seed: int) -> Report:
    """See `score_duplicates` and `score_contradictions`, of which `part` names one. Raises InvalidInput for another set."""
    from theorex_lab.experiments.scores import pairs

    score = pairs.score_duplicates if part == "duplicates" else pairs.score_contradictions
    return _report(score(*filter(None, [dataset]), seed=seed))


def _report(result: dict[str, Any]) -> Report:
    rows = {"this project": result["metrics"], **result["baselines"]}
    names = [name for name in result["metrics"] if not name.endswith(("_low", "_high"))]
    lines = [f"{result['dataset']}, n = {result['n']:,}; in brackets 95 % intervals"]
    lines.append(f"  {'':<26}" + "".join(f"{name:<24}" for name in names))
    for method, row in rows.items():
        shown = [f"{row[name]:.3f} [{row[f'{name}_low']:.3f}, {row[f'{name}_high']:.3f}]" for name in names]
        lines.append(f"  {method:<26}" + "".join(f"{text:<24}" for text in shown))
    lines += [
        f"{prefix}precision, {prefix}recall: from {cut:g} on" for prefix, cut in result.get("thresholds", {}).items()
    ]
    return result, "\n".join(line.rstrip() for line in lines)
