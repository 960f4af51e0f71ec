"""Commands of exchange and growth: export, import, archive."""

from __future__ import annotations

import re
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from theorex_lab.cli import command, open_lab
from theorex_lab.clock import to_microseconds
from theorex_lab.console import emit, fail, keeps_secrets, printable, tends_project
from theorex_lab.console.agents import agent_option
from theorex_lab.errors import FilesThere

NO_BACKUP = "This is no backup: `theorex backup FILE` makes one, with the whole history."
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@command("export")
@agent_option("Only this agent's memory; default: all agents.")
@click.option("--replace", is_flag=True, help="Do not ask before files that are there are replaced.")
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(file_okay=False, path_type=Path))
def export(folder: Path | None, agent: str | None, replace: bool) -> None:
    """Graphs, sentences, short-term records, vectors, the context, a file a trace and an outcome; each replaced whole.

    This is for other programs and no backup: that is made by `theorex backup FILE`, with the whole history.

    A DIR that is not empty, or files at the places below, are asked about; other files in them are left alone. Where
    nobody can be asked the exit code is 1, unless --replace is given.

    Without DIR axons, the shared axon, what sleeps and outcomes go where agentAxonDir, sharedAxonPath, coldStorePath and
    outcomesDir in config.json say.
    """
    from theorex_lab.exchange.home_files import export_home

    lab = open_lab(all_projects=True)
    write = partial(export_home, lab.home, lab.searcher, folder and folder.expanduser(), agent=agent)
    try:
        done = write(replace=replace)
    except FilesThere as error:
        if not sys.stdin.isatty():
            raise
        click.echo(printable(str(error)), err=True)
        if not click.confirm("Replace them?", default=False, err=True):
            fail("nothing was exported", as_json=bool(click.get_current_context().obj.get("as_json")))
        done = write(replace=True)
    lines = [f"{count:8d}  {name}" for name, count in done.files.items()] + [f"({note})" for note in done.notes]
    lines.append(NO_BACKUP)
    emit({"folder": str(done.folder), "files": done.files, "notes": done.notes}, "\n".join(lines))


@command("import")
@agent_option("Whose the records are that name nobody.", default="main", show_default=True)
@click.option("--trust-own", is_flag=True, help="Keep the sources that the files name; only for exports of your own.")
@click.option("--strict", is_flag=True, help="Exit code 1 where anything could not be read.")
@click.argument("path", metavar="[PATH]", required=False, type=click.Path(path_type=Path))
@keeps_secrets
def import_(path: Path | None, agent: str, trust_own: bool, strict: bool) -> None:
    """A folder that was exported, or one file of it; the original system's files too. Importing twice imports once.

    Exit code 1 where nothing could be taken in. Without --trust-own no query is routed by the runs that come in.

    Without PATH they are looked for where agentAxonDir, sharedAxonPath, coldStorePath and outcomesDir in config.json say.
    """
    from theorex_lab.exchange.home_files import import_home

    lab = open_lab()
    reports = import_home(
        lab.home,
        lambda: lab.searcher,
        path and path.expanduser(),
        agent=agent,
        trust_own=trust_own,
    )
    result: dict[str, Any] = {
        "files": [asdict(report) for report in reports],
        "imported": sum(report.imported for report in reports),
        "skipped": sum(report.skipped for report in reports),
    }
    problems = [problem for report in reports for problem in report.problems]
    # Where nothing was new nor there already, all that the files hold was refused.
    if problems and (strict or not result["imported"] + result["skipped"]):
        fail("; ".join(problems), as_json=bool(click.get_current_context().obj.get("as_json")), **result)
    lines = [f"{report.imported:8d} new, {report.skipped} there already  {report.file}" for report in reports]
    emit(result, "\n".join([*lines, *problems]))


@command("archive")
@tends_project
@click.option(
    "--before", required=True, metavar="DATE", help="YYYY-MM-DD, or a time with its offset; older events move."
)
def archive(before: str) -> None:
    """Only what was flushed, or is of ended sessions. Search, verify and replay read it as before."""
    moment = to_microseconds(f"{before}T00:00:00Z" if _DAY.fullmatch(before) else before)
    lab = open_lab()
    done = lab.archive(moment, project=lab.home.project or None)
    emit(done._asdict(), "\n".join([f"{done.events} events archived", *done.segments]))
