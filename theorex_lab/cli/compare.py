"""The command `compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from theorex_lab.cli import write_picture
from theorex_lab.console import command, emit, one_row
from theorex_lab.console.options import PICTURE, SEED
from theorex_lab.errors import InvalidInput

if TYPE_CHECKING:
    from theorex_lab.experiments.scores.compare import Comparison

MODES = ("inject", "retrieve")
_NEITHER = "neither probes nor more than five sessions"
_LOG = "A data set's name, or transcripts; again for more."
_DESIGN = "A design, a baseline, or your class as module:Name; again for more."
_OUT = "Keeps what is done, trial by trial; an interrupted comparison goes on from it."
_SIGN = {"stale": 1}  # where less is better
_LEADING = ("mean", "evidence_recall", "stale")


@command("compare")
@click.option("--log", "logs", metavar="NAME|PATH", multiple=True, required=True, help=_LOG)
@click.option("--design", "designs", metavar="NAME", multiple=True, required=True, help=_DESIGN)
@click.option("--budgets", default="150,500,2000,8000", help="Tokens, with commas.")
@click.option("--every-days", type=float, default=1.0, help="Days between nights.")
@click.option("--baseline", metavar="NAME", help="The design that the others are paired with; default the last.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds that one answer may take.")
@click.option("--workers", type=click.IntRange(min=1), default=1, help="Processes.")
@SEED
@click.option("--out", metavar="FILE", help=_OUT)
@PICTURE
def compare(
    logs: tuple[str, ...], designs: tuple[str, ...], budgets: str, every_days: float, baseline: str | None,
    timeout: float | None, workers: int, seed: int, out: str | None, picture: str | None,
) -> None:  # fmt: skip
    """Each design lives through each log in a home of its own and is asked at every session's start (inject) and at every
    question or first prompt (retrieve). Your own home is not touched.

    JSON: {logs, designs, paired, trials}
    """
    from concurrent.futures import ProcessPoolExecutor
    from contextlib import nullcontext

    from theorex_lab.experiments.data.logs import load_logs
    from theorex_lab.experiments.replay.baselines import names_of
    from theorex_lab.experiments.scores.compare import compare as run

    against = baseline or designs[-1]
    if against not in designs:
        raise InvalidInput(f"got the baseline {against!r}; allowed is one of the designs: {', '.join(designs)}")
    names_of(designs)
    found = [log for name in logs for log in load_logs(name)]
    with ProcessPoolExecutor(workers) if workers > 1 else nullcontext() as pool:
        compared = run(found, designs, _numbers(budgets), every_days, seed, timeout=timeout, executor=pool, resume=out)
    write_picture(picture, compared.plot)
    emit(compared.to_dict(against), "\n".join([_table(compared, against), *_problems(compared)]))


def _numbers(given: str) -> list[int]:
    try:
        return [int(part) for part in given.split(",")]
    except ValueError as error:
        raise InvalidInput(f"got the budgets {given!r}; allowed are whole numbers with commas, as 500,2000") from error


def _table(compared: Comparison, against: str) -> str:
    """A row for each budget, mode and design, best first: the leading score, what it costs, and the verdict."""
    lines = []
    for mode in MODES:
        for budget in compared.plan.budgets:
            scored = {cell[3] for cell in compared.cells if cell[1:3] == (mode, budget)}
            for score in [score for score in _LEADING if score in scored] or sorted(scored & {"answer_words"}):
                lines += ["", f"{mode}, {budget} tokens", *_rows(compared, mode, budget, score, against)]
    return "\n".join(lines[1:]) or f"nothing was scored: the logs hold {_NEITHER}"


def _rows(compared: Comparison, mode: str, budget: int, score: str, against: str) -> list[str]:
    found = {name: compared.value(name, mode, budget, score) for name in compared.designs}
    rows = [f"  {'':<18} {score.replace('_', ' '):>15}   95 % interval   tokens   beside {against}"]
    for name, (value, low, high, _) in sorted(found.items(), key=lambda item: _SIGN.get(score, -1) * item[1].value):
        tokens = compared.value(name, mode, budget, "tokens").value
        verdict = "" if name == against else compared.difference(name, against, mode, budget, score).verdict
        rows.append(f"  {one_row(name):<18} {value:15.3f}   {low:.3f} – {high:.3f} {tokens:8.0f}   {verdict}")
    return rows


def _problems(compared: Comparison) -> list[str]:
    empty = dict.fromkeys(trial.log for trial in compared.trials if not trial.given)
    return [f"{log}: nothing was scored; it holds {_NEITHER}" for log in empty] + [
        f"{trial.design} on {trial.log}: {problem} ({times} times; counts as nothing given)"
        for trial in compared.trials
        for problem, times in trial.problems.items()
    ]
