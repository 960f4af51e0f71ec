"""The commands of dreams' files: `theorex dream export-training`, `import` and `export`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from theorex_lab.console import command, emit, fail, keeps_secrets, open_lab, tends_project
from theorex_lab.console.agents import agent_option

_FILE = click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))


@command("export-training")
@tends_project
@click.option("--outcome", default="success", help="Only trajectories that came out so; '' for any.")
@click.option("--source", default="", help="Where they were lived, such as real_world; default: anywhere.")
@click.option("--min-actions", type=click.IntRange(1), default=3, help="Calls of tools that one must have.")
@click.option("--seed", type=click.IntRange(0), default=42, help="Seed of what is drawn.")
@click.argument("folder", metavar="OUT", type=click.Path(file_okay=False, path_type=Path))
def dream_export_training(folder: Path, **how: Any) -> None:
    """A chat for each call of a tool, train.jsonl and, a tenth, validation.jsonl, with stats.json: of the same call in a row
    every third, of one tool at most 60 %. Secrets are masked; files that are there are replaced.

    JSON: {trajectories, chats, train, validation, seed, tools}
    """
    from theorex_lab.designs.dreams.training import export_training

    told = export_training(open_lab().home, folder, **how)
    emit(told, "\n".join(f"{name:<13}{value}" for name, value in told.items()))


@command("export")
@tends_project
@_FILE
def dream_export(file: Path) -> None:
    """Evolving Memory's SQLite file, nine tables, with the trajectories, the strategies that hold and the dreams; one that is
    there is replaced.

    JSON: {file, tables: {NAME: rows}}
    """
    from theorex_lab.designs.dreams.sqlite_file import export_sqlite

    counts = export_sqlite(open_lab().home, file)
    emit({"file": str(file), "tables": counts}, "\n".join(f"{count:8d}  {table}" for table, count in counts.items()))


@command("import")
@agent_option("Whose it is.", default="main")
@click.option("--trust-own", is_flag=True, help="The file is an export of your own: its words are an agent's.")
@_FILE
@keeps_secrets
def dream_import(file: Path, **how: Any) -> None:
    """Evolving Memory's SQLite file, of any version. Importing twice imports once; a strategy that is here stays as it is.
    Links between strategies and notes of dreams are not taken in. Rows that are damaged are named. Exit code 1 where nothing could be taken in.

    JSON: {file, imported, skipped, problems}
    """
    from theorex_lab.designs.dreams.sqlite_file import import_sqlite

    found = import_sqlite(open_lab().home, file, **how)
    if not found.imported + found.skipped:
        fail(found.problems[0] if found.problems else "the file is empty", **asdict(found))
    emit(asdict(found), "\n".join([f"{found.imported:8d} new, {found.skipped} there already", *found.problems]))
