"""What `theorex eval supersede`, `signals`, `duplicates`, `contradictions` and `growth` show of a memory of facts."""

from __future__ import annotations

from typing import Any

Report = tuple[dict[str, Any], str]


def supersede(dataset: str, file: str, seed: int) -> Report:
    """See `score_fact_updates`; `file` says which of the set's, or another log. Raises InvalidInput for another set."""
    from theorex_lab.errors import InvalidInput
    from theorex_lab.experiments.scores.fact_updates import score_fact_updates

    if dataset != "fact_updates":
        raise InvalidInput(f"got data set {dataset!r}; allowed is fact_updates, with --file another log")
    return reported(score_fact_updates(file, seed=seed))


def signals(dataset: str, seed: int) -> Report:
    """See `score_signals`, which raises what this does."""
    from theorex_lab.experiments.scores.signals import score_signals

    result = score_signals(dataset, seed=seed)
    about = f"{dataset}, n = {result['n']} messages that did not choose the patterns, as {result['make']['n']} others did; last, F1 of baselines"
    return result, f"{about}\n{_by_category(result)}"


def _by_category(scored: dict[str, Any]) -> str:
    """A line for each category: precision, recall and F1 with its 95 % interval, then the F1 of the baselines."""
    lines = [f"  {'':<22}labelled  precision  recall  F1 [95 %]{'':<14} " + "   ".join(scored["baselines"])]
    for name, own in scored["metrics"].items():
        named = "high, low or none" if name == "signal" else f"all, {name}" if name in ("micro", "macro") else name
        f1 = f"{own['f1']:.3f} [{own['f1_low']:.3f}, {own['f1_high']:.3f}]"
        others = "   ".join(f"{of[name]['f1']:<{len(method)}.3f}" for method, of in scored["baselines"].items())
        shown = f"{own['precision']:<11.3f}{own['recall']:<8.3f}{f1:<24}{others}"
        lines.append(f"  {named:<22}{own['labelled']:<10}{shown if own['labelled'] else 'none to find'}".rstrip())
    return "\n".join(lines)


def pairs(part: str, dataset: str | None, seed: int) -> Report:
    """See `score_duplicates` or `score_contradictions`, as `part` says. Raises InvalidInput for another set."""
    from theorex_lab.experiments.scores import pairs

    score = pairs.score_duplicates if part == "duplicates" else pairs.score_contradictions
    return reported(score(*filter(None, [dataset]), seed=seed))


def growth(dataset: str | None, picture: str | None) -> Report:
    """See `measure_growth`. Raises as it does."""
    from theorex_lab.cli import write_picture
    from theorex_lab.experiments.scores.growth import measure_growth

    found = measure_growth(dataset or "simulated_sessions")
    write_picture(picture, found.plot)
    return found.result(), str(found)


def reported(result: dict[str, Any]) -> Report:
    """A result of {dataset, n, metrics, baselines} with a line for each method."""
    rows = {"this project": result["metrics"], **result["baselines"]}
    names = [name for name in result["metrics"] if not name.endswith(("_low", "_high"))]
    lines = [f"{result['dataset']}, n = {result['n']:,}; in brackets 95 % intervals"]
    lines.append(f"  {'':<30}" + "".join(f"{name:<26}" for name in names))
    for method, row in rows.items():
        shown = [f"{row[name]:.3f} [{row[f'{name}_low']:.3f}, {row[f'{name}_high']:.3f}]" for name in names]
        lines.append(f"  {method:<30}" + "".join(f"{text:<26}" for text in shown))
    lines += [f"{name}precision, {name}recall: from {cut:g} on" for name, cut in result.get("thresholds", {}).items()]
    return result, "\n".join(line.rstrip() for line in lines)
