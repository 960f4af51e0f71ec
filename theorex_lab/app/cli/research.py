"""Commands of the lab: tune, tour, lab, compare."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from theorex_lab.app.cli.context import open_lab, write_picture
from theorex_lab.app.cli.shared_work import (
    OUT,
    SCHEDULER,
    WORKERS,
    check_out,
    name_lost,
    shared_executor,
)
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.processes import become_python, python_command
from theorex_lab.files.command_line import (
    command,
    confirm,
    emit,
    given_options,
    one_row,
    write_whole,
)
from theorex_lab.files.command_line.options import PICTURE, SEED, parse_budgets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from theorex_lab.eval.metrics.compare import Comparison
    from theorex_lab.memory.decay import Law
    from theorex_lab.memory.file_order import WorkStep

_LOG = "A git repository, a file of accesses, transcripts, or the name of a data set."
_FORMATS = ("git", "git-touches", "jsonl", "sessions")
_FEWEST_STEPS_SHOWN = 30  # whose order of files is scored


@command("tune")
@click.option(
    "--log",
    "log_file",
    metavar="FILE",
    help=f"{_LOG} Default: the sessions of this project, of whose files only the order is shown.",
)
@click.option(
    "--format",
    type=click.Choice(_FORMATS),
    help="The format of the log; default: guessed from its name.",
)
@SEED
@click.option(
    "--law",
    "law_paths",
    metavar="MODULE:NAME",
    multiple=True,
    help="Score a law of your own too; may be repeated.",
)
@click.option(
    "--write",
    is_flag=True,
    help="Put the advised settings into the home's config.json.",
)
@WORKERS
@SCHEDULER
@OUT
@PICTURE
def tune(
    log_file: str | None,
    format: str | None,
    seed: int,
    law_paths: tuple[str, ...],
    write: bool,
    workers: int,
    scheduler: str | None,
    out: Path | None,
    picture: str | None,
) -> None:
    """The log says which item was used when; the command shows which settings suit it.

    A decay law predicts from earlier uses which items are used again. The laws, their
    parameters and the thresholds of the tiers are chosen on the first part of the
    events. All scores are of the last third, the held-out events. The chosen thresholds
    forget least while the context holds no more than under the default settings.

    Then the held-out events are replayed under the default settings and under the
    fitted law. Each is also replayed by rank alone, until the context is full (budget).
    A table shows how many tokens the context takes, and how much of what was used again
    was absent from it.

    A change is advised only where the held-out events show, with a 95 % interval, that
    it is better. Otherwise the advice is to keep what you have, with the reason.
    --write puts the advised settings into config.json. The fitted law is shown in any
    case (config).

    The places of a briefing have a law for each project, which is fitted by itself on
    the project's commits or sessions; it is shown beside recency and frequency.

    --law adds a law of your own: a class of `theorex_lab.memory.decay.Law` that needs
    no arguments, or an instance of one. With --workers each law is tried by itself.

    JSON: {law, params, scores, advice: {adopt, config, why, gain, ci_low, ci_high},
    held_back, config, adopted, order_of_files, …}
    """
    from theorex_lab.eval.metrics.access import load_project_log
    from theorex_lab.eval.metrics.access import tune as fit

    if log_file is None:
        emit(*_own_order_of_files(seed))
        return
    log = load_project_log(log_file, format)
    laws = [_law_at(law_path) for law_path in law_paths]
    check_out(out)
    with shared_executor(scheduler, out) as executor:
        tuning = fit(
            log.accesses,
            seed=seed,
            laws=laws,
            executor=executor,
            workers=workers,
            out=out,
        )
    advice = tuning.advice
    lines = [
        advice["why"],
        *([json.dumps(advice["config"], indent=2)] if advice["adopt"] else []),
    ]
    if write:
        lines.append(
            _adopt(advice["config"]) if advice["adopt"] else "nothing is adopted"
        )
    write_picture(picture, tuning.plot)
    cost = (
        "{mean_context_tokens:7.0f} tokens in context, {absent_rate:4.0%} of what was"
        " used again absent"
    )
    metric_lines = [
        f"  {name.replace('_', ' '):<13} {cost.format(**metrics)}"
        for name, metrics in tuning.held_back.items()
    ]
    head = "keeping and forgetting on the scored events, were the items concepts:"
    table = tuning.frame.round(3).to_string(index=False)
    counts = (
        f"{tuning.fit.n_scored} events scored; chosen on the {tuning.fit.n_train}"
        " before them"
    )
    order: dict[str, Any] = {}
    order_lines: list[str] = []
    if len(log.steps) >= _FEWEST_STEPS_SHOWN:
        order, order_text = _order_of_files(log.steps, log.unit, seed)
        order_lines = ["", order_text]
    lines += tuning.file_problems
    if tuning.n_taken_over:
        lines.append(f"{tuning.n_taken_over} results are of an earlier run")
    text = "\n".join([table, counts, "", head, *metric_lines, "", *lines, *order_lines])
    emit(
        {
            **tuning.result(),
            "config": tuning.config_lines(),
            "adopted": write and advice["adopt"],
            "order_of_files": order,
        },
        text,
    )
    name_lost(tuning.lost)


def _own_order_of_files(seed: int) -> tuple[dict[str, Any], str]:
    """Return the order of the files that the project's sessions edited, with its scores.

    Raises:
        InvalidInput: The sessions are too few.
    """
    from theorex_lab.memory.briefing.places import steps_of_edits
    from theorex_lab.memory.briefing.session_log import recorded_sessions

    home = open_lab().home
    steps = steps_of_edits(recorded_sessions(home, home.clock.now()))
    if len(steps) < _FEWEST_STEPS_SHOWN:
        raise InvalidInput(
            f"got no --log, and {len(steps)} sessions of this project that edited files;"
            f" allowed are {_FEWEST_STEPS_SHOWN} and more: name a history with --log FILE"
        )
    order, text = _order_of_files(steps, "sessions", seed)
    return {"order_of_files": order}, text


def _order_of_files(
    steps: Sequence[WorkStep], unit: str, seed: int
) -> tuple[dict[str, Any], str]:
    """Return the scores of the order of files, and their table with a sentence."""
    from theorex_lab.eval.metrics.file_order_scores import score_file_order

    scores = score_file_order(steps, seed=seed)
    result = {
        "law": scores.law,
        "unit": unit,
        "n_steps": scores.n_steps,
        "n_scored": scores.n_scored,
        "half_life": scores.half_life,
        "scores": list(scores),
    }
    table = scores.frame.round(3).to_string(index=False)
    head = "the order of files in briefings, and how much better it is than each law:"
    return result, f"{head}\n{table}\n{scores.in_words(unit)}"


def _adopt(config: dict[str, Any]) -> str:
    from theorex_lab.core.settings import save_part, save_settings
    from theorex_lab.designs.sessions.settings import SessionSettings

    lab = open_lab()
    if "designs" in config:
        save_part(
            lab.config_file, "sessions", SessionSettings, config["designs"]["sessions"]
        )
    else:
        save_settings(lab.config_file, config)
    return f"adopted in {lab.config_file}"


def _law_at(path: str) -> Law:
    from theorex_lab.core.imports import import_string
    from theorex_lab.memory.decay import Law

    imported = import_string(path)
    law = (
        imported()
        if isinstance(imported, type) and issubclass(imported, Law)
        else imported
    )
    if not isinstance(law, Law):
        raise InvalidInput(
            f"got the law {path!r}, a {type(law).__name__}; allowed is a Law, or a"
            " class of it"
        )
    return law


@command("tour")
@click.option(
    "--repo",
    metavar="PATH",
    help="The git repository; default: the one of the working folder.",
)
@click.option(
    "--transcripts",
    metavar="PATH",
    help="Recorded sessions of coding agents: a file or a folder.",
)
@click.option(
    "--output", metavar="F", default="tour.html", help="The file of the page."
)
@click.option(
    "--keep",
    is_flag=True,
    help="Also keep the sessions in your memory, as `theorex import` does.",
)
def tour(repo: str | None, transcripts: str | None, output: str, *, keep: bool) -> None:
    """It needs no set-up, no network and no model, and leaves your memory alone.

    Of sessions of a coding agent it shows the briefing of the next one, the rules and
    commands that were learnt with the places they rest on, failures that came back and
    what helped, and what was asked again and again. It replays the last sessions too,
    and counts how much of what they needed the briefing would have told them.

    Of a git repository it shows which files changed most, which are known best by
    somebody who has left, which texts and tests may be out of date, what changes
    together, and which branches are open.

    Without options the sessions of the working folder are looked for, and you are asked
    before they are read. Sessions of Claude Code are found by themselves; --transcripts
    names others. A folder without sessions and without 30 commits gets a simulation,
    and the output says so. A repository that --repo names must be one.

    The page stands alone in one file, so that it can be sent. It holds what the history
    holds: read it before you send it. With --keep, sessions that were found count as
    your own word, and those that --transcripts names do not.

    Next: `theorex install-hooks` connects your coding agent.

    JSON: {source, briefing, findings, measured, seconds, page, …}; with --keep also
    kept
    """
    from theorex_lab.core.clock import to_microseconds
    from theorex_lab.eval.tour import run_tour

    is_named = transcripts is not None
    sessions = Path(transcripts).expanduser() if transcripts else _own_sessions(repo)
    if keep and sessions is None:
        raise InvalidInput(
            "got --keep without sessions; it keeps sessions alone, so name some with"
            " --transcripts PATH"
        )
    now = given_options().get("now")
    report = run_tour(
        Path(repo) if repo is not None else _repository_beside(transcripts),
        transcripts=sessions,
        now=to_microseconds(now) if now else None,
    )
    file = Path(output)
    write_whole(file, report.html.encode(), "--output")
    result = {**report.result(), "page": str(file)}
    text = [
        report.text,
        f"The page is {file}, with pictures and whole tables ({report.seconds:.0f} s).",
    ]
    if keep and sessions is not None:
        # Whose sessions lie at a path that somebody names is not known.
        imported = open_lab().import_transcripts(sessions, trusted=not is_named)
        result["kept"] = imported.sessions
        text.append(f"{imported.sessions} new sessions are kept in your memory.")
        if is_named:
            text.append(_KEPT_UNTRUSTED)
    emit(result, "\n\n".join(text))


_KEPT_UNTRUSTED = (
    "Their prompts do not count as your own word. `theorex import --transcripts PATH"
    " --trusted` takes in sessions of your own."
)


def _repository_beside(transcripts: str | None) -> Path | None:
    """Return the working folder where it is shown too: beside sessions found there."""
    from theorex_lab.eval.tour.sources import lacking_history

    if transcripts is not None or lacking_history(Path(), is_named=False):
        return None
    return Path()


def _own_sessions(repo: str | None) -> Path | None:
    """Return the sessions on this machine that the user wants to see.

    They are asked once, where somebody can be asked. Without a history to show, those
    of another project are offered.
    """
    from theorex_lab.eval.tour import find_own_sessions
    from theorex_lab.eval.tour.sources import lacking_history

    folder = Path(repo) if repo is not None else Path()
    is_asking = sys.stdin.isatty() and sys.stderr.isatty()
    if not folder.is_dir() or not is_asking:
        return None
    lacks_history = bool(lacking_history(folder, is_named=repo is not None))
    sessions = find_own_sessions(folder, anywhere=lacks_history)
    if sessions is None:
        return None
    question = (
        f"{sessions.path} holds sessions of {sessions.of}: {sessions.n_files} files. Read"
        " them? They stay where they are, and nothing is sent"
    )
    is_wanted = confirm(question, default=True, err=True)
    return sessions.path if is_wanted else None


@command("lab")
@click.option(
    "--port",
    type=click.IntRange(1, 65_535),
    help="The port of the server; default: chosen by JupyterLab.",
)
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@click.option(
    "--folder",
    help=(
        "The folder of notebooks; default: the checkout's, else a copy in"
        " ./theorex-notebooks."
    ),
)
@click.argument("more", nargs=-1, type=click.UNPROCESSED)
def lab(
    port: int | None, no_browser: bool, folder: str | None, more: tuple[str, ...]
) -> None:
    """The server runs until you stop it with Ctrl-C.

    The printed address holds a token made for this run. When the server is ended by
    `kill` or by a terminal that closes, its kernels end with it.

    What stands after -- goes to JupyterLab as it is, for example: theorex lab --
    --allow-root. A path in it must be absolute, since the server does not run in your
    folder.

    JSON: {folder, command}
    """
    where = _notebooks(Path(folder) if folder else None).resolve()
    options = [
        *([f"--ServerApp.port={port}"] if port else []),
        *(["--no-browser"] if no_browser else []),
        *more,
    ]
    arguments = python_command("jupyterlab", f"--ServerApp.root_dir={where}", *options)
    emit({"folder": str(where), "command": arguments}, f"notebooks in {where}")
    _become(arguments)


def _become(arguments: list[str]) -> None:
    """Run the server in the place of this process.

    Kernels run in their notebook's folder, the server does not.
    """
    become_python(arguments)


def _notebooks(folder: Path | None) -> Path:
    """Return the folder of notebooks to open.

    It is a checkout's own, else copies of the packaged ones, never written over.
    """
    import shutil

    from theorex_lab.core.files import writing

    package = Path(__file__).parents[2]
    checkout = package.parent / "notebooks"
    if folder is None and checkout.is_dir():
        return checkout
    source = checkout if checkout.is_dir() else package / "_share" / "notebooks"
    target = folder or Path("theorex-notebooks")
    with writing(target, "choose another with --folder"):
        target.mkdir(parents=True, exist_ok=True)
        for notebook in source.glob("*.ipynb"):
            if not (target / notebook.name).exists():
                shutil.copy(notebook, target)
    return target


_NEITHER = "neither probes nor more than five sessions"
_LOGS = "The name of a data set, or a path of transcripts; may be repeated."
_DESIGN = "A design, a baseline, or your class as module:Name; may be repeated."
_OUT = (
    "Keep every trial in this folder as it ends, and write comparison.json,"
    " scores.csv and report.html there. A run that is repeated goes on."
)
_SHOWN = ("mean", "evidence_recall", "precision", "bleed", "stale", "answer_words")


@command("compare")
@click.option(
    "--log", "logs", metavar="NAME|PATH", multiple=True, required=True, help=_LOGS
)
@click.option(
    "--design", "designs", metavar="NAME", multiple=True, required=True, help=_DESIGN
)
@click.option(
    "--budgets",
    default="150,500,2000,8000",
    help="Budgets in tokens, separated by commas.",
)
@click.option(
    "--every-days",
    type=float,
    default=1.0,
    help="Run the designs' maintenance after this many days.",
)
@click.option(
    "--baseline",
    metavar="NAME",
    help="The design that the others are compared with; default: the last.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    help="How many seconds one answer may take; default: no limit.",
)
@click.option(
    "--together",
    is_flag=True,
    help="Replay all logs as one, each a project of its own, and score what is mixed up.",
)
@WORKERS
@SEED
@SCHEDULER
@click.option("--out", metavar="DIR", type=click.Path(path_type=Path), help=_OUT)
@PICTURE
def compare(
    logs: tuple[str, ...],
    designs: tuple[str, ...],
    budgets: str,
    every_days: float,
    baseline: str | None,
    timeout: float | None,
    together: bool,
    workers: int,
    seed: int,
    scheduler: str | None,
    out: Path | None,
    picture: str | None,
) -> None:
    """Each log is replayed to each design, which gets a new home for it.

    A log is a recorded history of sessions, and a design is a memory. At the start of
    every session the design is asked for a context (inject), and at every question or
    first prompt for an answer (retrieve). Each budget limits these in tokens. Your own
    home is not touched.

    --log memory:PATH takes what another memory left, whatever `theorex import` reads,
    and asks for each of its texts by some words of it.

    The table has a row for each design with the score, its 95 % interval, the tokens it
    took, and whether the difference to the --baseline is significant.

    For logs where it is known what the sessions needed to know, a table ahead of it
    says how much of that the briefing, each published design and the baselines cover.
    `theorex eval needs` says more about it.

    --design takes the name of a published design (theorex, facts, dreams, causal,
    research), of a baseline, of another memory (chroma, mem0, mcp:SERVER.toml …), or
    your own class. A wrong name prints all that are allowed.

    JSON: {needs, logs, designs, paired, trials}
    """
    from theorex_lab.eval.datasets.joined import joined_log
    from theorex_lab.eval.metrics.compare import compare as run
    from theorex_lab.eval.replay.baselines import names_of

    against = baseline or designs[-1]
    if against not in designs:
        raise InvalidInput(
            f"got the baseline {against!r}; allowed is one of the designs:"
            f" {', '.join(designs)}"
        )
    names_of(designs)
    check_out(out)
    with shared_executor(scheduler, out) as executor:
        compared = run(
            [joined_log(_logs_of(logs))] if together else _logs_of(logs),
            designs,
            budgets=parse_budgets(budgets),
            every_days=every_days,
            seed=seed,
            timeout=timeout,
            executor=executor,
            workers=workers,
            out=out,
        )
    if out:
        compared.write_report(out, against)
    write_picture(picture, compared.plot)
    emit(
        compared.to_dict(against),
        "\n".join(
            [
                *_needs_tables(compared),
                _scores(compared, against),
                *_problems(compared),
            ]
        ),
    )
    name_lost([f"{trial.design} on {trial.log}" for trial in compared.lost])


def _logs_of(names: Iterable[str]) -> Iterator[Any]:
    """Yield the logs of all names, one after the other."""
    from theorex_lab.eval.datasets.logs import load_logs

    for name in names:
        yield from load_logs(name)


def _needs_tables(compared: Comparison) -> Iterator[str]:
    """Yield a table for each log with known needs; it has a row for each system."""
    from theorex_lab.eval.replay.needs import NEEDS_COLUMNS

    frame = compared.needs_frame
    for log, rows in frame.groupby("log", sort=False):
        texts = rows.apply(_value_with_interval, axis=1)
        table = rows.assign(text=texts).pivot_table(
            index="system", columns="column", values="text", aggfunc="first", sort=False
        )
        table = table.reindex(columns=list(NEEDS_COLUMNS), fill_value="").fillna("")
        title = f"{log}: recall of what the sessions needed to know"
        yield f"{title}\n{table.rename_axis(None, axis=1).to_string()}\n"
    if not frame.empty:
        yield "Recall of names, words and evidence, for diagnosis:"


def _value_with_interval(row: Any) -> str:
    """Return a mean and its interval as text."""
    return f"{row.value:.2f} [{row.ci_low:.2f}, {row.ci_high:.2f}]"


def _scores(compared: Comparison, against: str) -> str:
    """Return a row for each mode, budget, score and design.

    A row has the score, what it costs in tokens, and the verdict.
    """
    import pandas as pd

    rows = []
    for cell in sorted(
        (cell for cell in compared.cells if cell[3] in _SHOWN),
        key=lambda cell: cell[1:],
    ):
        design, mode, budget, score = cell
        verdict = ""
        if design != against:
            difference = compared.difference(
                design,
                against,
                mode=mode,
                budget=budget,
                score=score,
            )
            verdict = difference.verdict
        tokens = compared.value(*cell[:3], "tokens").value
        rows.append(
            (
                *cell[1:],
                one_row(cell[0]),
                *compared.value(*cell)[:3],
                round(tokens),
                verdict,
            )
        )
    names = [
        "mode",
        "budget",
        "score",
        "design",
        "value",
        "ci_low",
        "ci_high",
        "tokens",
        f"compared with {against}",
    ]
    return pd.DataFrame(rows, columns=names).round(3).to_string(index=False)


def _problems(compared: Comparison) -> list[str]:
    lost = compared.lost
    empty = dict.fromkeys(
        trial.log for trial in compared.trials if not trial.given and trial not in lost
    )
    lines = [f"{log}: nothing was scored; it holds {_NEITHER}" for log in empty]
    lines += compared.file_problems
    if compared.n_taken_over:
        lines.append(f"{compared.n_taken_over} results are of an earlier run")
    counted = "times; counts as nothing given"
    for trial in compared.trials:
        for message, times in trial.problems.items():
            line = f"{trial.design} on {trial.log}: {message} ({times} {counted})"
            lines.append(line)
    return lines
