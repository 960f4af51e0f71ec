"""A comparison as a page that a browser shows: scores, differences, costs, problems."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from theorex_lab.eval.metrics.compare import Comparison

_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Memories compared</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; }}
table {{ border-collapse: collapse; }}
th, td {{ padding: .2em .7em; border-bottom: 1px solid #ddd; text-align: right; }}
th:first-child, td:first-child {{ text-align: left; }}
img {{ max-width: 100%; }}
</style></head>
<body>
<h1>Memories compared</h1>
{sections}
</body></html>
"""
_DIGITS = 3
_MOST_NAMED = 12
# What is looked at first.
_FIRST = {"mean": 0, "evidence_recall": 1, "answer_words": 2}
_SCORES = (
    "Each score is a mean over sessions or questions with its 95 % interval. The mode inject"
    " is what a session starts with, retrieve what a question or a first prompt gets."
)


def report_html(compared: Comparison, baseline: str) -> str:
    """Return the page of a comparison.

    Args:
        compared: The comparison.
        baseline: The name with which the others are compared.
    """
    sections = "\n".join(_sections(compared, baseline))
    return _PAGE.format(sections=sections)


def _sections(compared: Comparison, baseline: str) -> Iterator[str]:
    """Yield the parts of the page, those with nothing to say left out."""
    logs = ", ".join(compared.logs[:_MOST_NAMED])
    n_more = len(compared.logs) - _MOST_NAMED
    more = f" and {n_more} more" if n_more > 0 else ""
    designs = ", ".join(compared.designs)
    yield f"<p>Logs: {escape(logs)}{more}. Memories: {escape(designs)}.</p>"
    yield from _drawing(compared)
    yield from _table(
        "Needs covered",
        compared.needs_frame,
        "Where readers wrote down what the sessions of a log needed to know.",
    )
    yield from _table("Scores", scores_frame(compared), _SCORES)
    yield from _table(
        f"Paired differences to {baseline}",
        differences_frame(compared, baseline),
        "On the same sessions and questions; above 0 the design scored more.",
    )
    yield from _table(
        "Costs",
        compared.costs,
        "Processor time of all calls, and bytes at the end where the memory tells.",
    )
    yield from _table(
        "Survivors",
        compared.survivors.reset_index(),
        "Share of questions still answered after so many maintenances without events.",
    )
    yield from _problems(compared)


def _table(title: str, frame: pd.DataFrame, remark: str) -> Iterator[str]:
    """Yield a table with its title; nothing for one without rows."""
    if frame.empty or len(frame.columns) < 2:
        return
    rounded = frame.round(_DIGITS)
    table = rounded.to_html(index=False, border=0, na_rep="")
    yield f"<h2>{escape(title)}</h2><p>{escape(remark)}</p>{table}"


def _drawing(compared: Comparison) -> Iterator[str]:
    """Yield the picture of scores and tokens."""
    if not compared.cells:
        return
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(layout="constrained")
    compared.plot(ax=axes)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    plt.close(figure)
    encoded = base64.b64encode(buffer.getvalue()).decode()
    yield f'<img alt="Scores against tokens" src="data:image/png;base64,{encoded}">'


def scores_frame(compared: Comparison) -> pd.DataFrame:
    """Return a row for each mode, budget, score and design, over all logs.

    The columns are mode, budget, score, design, value, ci_low, ci_high, n.
    """
    rows = []
    for design, mode, budget, score in compared.cells:
        mean = compared.value(design, mode, budget, score)
        rows.append((mode, budget, score, design, *mean))
    columns = ["mode", "budget", "score", "design", "value", "ci_low", "ci_high", "n"]
    frame = pd.DataFrame(rows, columns=columns)
    order = frame.assign(first=frame["score"].map(_FIRST).fillna(len(_FIRST)))
    by = ["first", "score", "mode", "budget"]
    ordered = order.sort_values(by, kind="stable", ignore_index=True)
    return ordered[columns]


def differences_frame(compared: Comparison, baseline: str) -> pd.DataFrame:
    """Return a row for each mode, budget, score and design but the baseline.

    The columns are mode, budget, score, design, value, ci_low, ci_high, n, verdict.
    """
    rows = []
    for design, mode, budget, score in compared.cells:
        if design == baseline:
            continue
        difference = compared.difference(
            design, baseline, mode=mode, budget=budget, score=score
        )
        rows.append((mode, budget, score, design, *difference))
    columns = ["mode", "budget", "score", "design"]
    columns += ["value", "ci_low", "ci_high", "n", "verdict"]
    return pd.DataFrame(rows, columns=columns)


def _problems(compared: Comparison) -> Iterator[str]:
    """Yield what went wrong, a line each."""
    lines = list(compared.file_problems)
    for trial in compared.trials:
        for problem, times in trial.problems.items():
            lines.append(f"{trial.design} on {trial.log}: {problem} ({times} times)")
    if lines:
        items = "".join(f"<li>{escape(line)}</li>" for line in lines)
        yield f"<h2>Problems</h2><ul>{items}</ul>"
