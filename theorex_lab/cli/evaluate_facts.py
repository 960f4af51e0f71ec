"""What `theorex eval supersede` and `eval growth` show of a memory of facts."""

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


def growth(dataset: str | None, picture: str | None) -> Report:
    """See `measure_growth`. Raises as it does."""
    from theorex_lab.cli import write_picture
    from theorex_lab.experiments.scores.growth import measure_growth

    found = measure_growth(dataset or "simulated_sessions")
    write_picture(picture, found.plot)
    return found.result(), str(found)


def _report(result: dict[str, Any]) -> Report:
    rows = {"this project": result["metrics"], **result["baselines"]}
    names = [name for name in result["metrics"] if not name.endswith(("_low", "_high"))]
    lines = [f"{result['dataset']}, n = {result['n']:,}; in brackets 95 % intervals"]
    lines.append(f"  {'':<26}" + "".join(f"{name:<24}" for name in names))
    for method, row in rows.items():
        shown = [f"{row[name]:.3f} [{row[f'{name}_low']:.3f}, {row[f'{name}_high']:.3f}]" for name in names]
        lines.append(f"  {method:<26}" + "".join(f"{text:<24}" for text in shown))
    return result, "\n".join(line.rstrip() for line in lines)
