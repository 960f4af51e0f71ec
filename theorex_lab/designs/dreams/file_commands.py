"""The commands of dreams that read and write files: `theorex dreams export …`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from theorex_lab.files.command_line import (
    command,
    emit,
    fail,
    keeps_secrets,
    open_lab,
    tends_project,
)
from theorex_lab.files.command_line.options import OWN_AGENT, own_agent

if TYPE_CHECKING:
    from theorex_lab.designs.dreams.training import TrainingFilter

_FILE = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
_FILE_PATH = click.Path(dir_okay=False, path_type=Path)


@command("export")
@tends_project
@_FILE
def dream_export(file: Path) -> None:
    """FILE has the trajectories, the strategies that hold and the dreams.

    It is the document's database of nine tables. A file that is there is replaced. Rows
    that came from such a file are written as they were read, where nothing changed
    them.

    Next: `import` reads it in another home.

    JSON: {file, parent_nodes, child_nodes, edges, trace_sessions, trace_entries,
    action_entries, dream_journal, negative_constraints, schema_version}
    """
    from theorex_lab.designs.dreams.sqlite_export import export_sqlite

    counts = export_sqlite(open_lab().home, file)
    lines = [f"{count:8d}  {table}" for table, count in counts.items()]
    emit({"file": str(file), **counts}, "\n".join(lines))


@command("import")
@OWN_AGENT
@click.option(
    "--trusted",
    is_flag=True,
    help="The file is your own: its words are an agent's, not an import's.",
)
@_FILE
@keeps_secrets
def dream_import(file: Path, agent: str | None, trusted: bool) -> None:
    """FILE is a database as Evolving Memory writes it, of any version.

    Importing it twice imports it once. A strategy that is here already stays as it is.
    Damaged rows are named and passed over; all others come in at once, or none does.
    Trajectories that were dreamt there are not dreamt again.

    Next: `strategies` lists what came in.

    JSON: {file, imported, skipped, problems, left_out, changed}
    """
    from theorex_lab.designs.dreams.sqlite_import import import_sqlite

    report = import_sqlite(
        open_lab().home, file, agent=own_agent(agent), trusted=trusted
    )
    result: dict[str, Any] = {
        "file": report.file,
        "imported": report.imported,
        "skipped": report.skipped,
        "problems": report.problems,
        "left_out": report.left_out,
        "changed": report.changed,
    }
    if report.problems and not report.imported + report.skipped:
        fail(report.problems[0], **result)
    counts = f"{report.imported} new records, {report.skipped} were here already"
    if report.left_out:
        counts += f", {report.left_out} left out"
    emit(result, "\n".join([counts, *report.problems]))


@command("export-training-data")
@tends_project
@click.option(
    "--db",
    type=_FILE_PATH,
    metavar="FILE",
    help="Take the trajectories of this SQLite file; default: those of the memory.",
)
@click.option(
    "--output",
    type=_FILE_PATH,
    metavar="FILE",
    required=True,
    help="The file that is written; one that is there is replaced.",
)
@click.option(
    "--outcome",
    default="success",
    metavar="OUTCOME",
    help="Only trajectories that came out so; '' for all.",
)
@click.option(
    "--source",
    default="",
    metavar="SOURCE",
    help="Only where they were lived so, such as real_world.",
)
@click.option(
    "--min-actions",
    type=click.IntRange(1),
    default=3,
    metavar="N",
    help="Only trajectories with so many actions that are taken.",
)
@click.option(
    "--all-actions",
    is_flag=True,
    help="Take every action that has reasoning, not calls of tools alone.",
)
def dream_export_training_data(
    db: Path | None,
    output: Path,
    outcome: str,
    source: str,
    min_actions: int,
    all_actions: bool,
) -> None:
    """Each call of a tool that has reasoning becomes a chat, one a line.

    The goal is the system's word, the reasoning the user's, the call the answer.
    Secrets are masked. With --all-actions, actions in plain words are taken too.

    Next: `prepare-sft-dataset` splits the file for training.

    JSON: {file, chats}
    """
    from theorex_lab.designs.dreams.training import TrainingFilter

    chosen = TrainingFilter(
        outcome=outcome,
        source=source,
        min_actions=min_actions,
        calls_only=not all_actions,
    )
    n_chats = _write_chats(db, output, chosen)
    emit({"file": str(output), "chats": n_chats}, f"{n_chats} chats in {output}")


def _write_chats(db: Path | None, output: Path, chosen: TrainingFilter) -> int:
    """Write the chats of the memory or of a SQLite file; return how many."""
    from theorex_lab.designs.dreams.sqlite_import import import_sqlite
    from theorex_lab.designs.dreams.temporary import temporary_home
    from theorex_lab.designs.dreams.training import write_training_data

    if db is None:
        return write_training_data(open_lab().home, output, chosen)
    with temporary_home() as home:
        import_sqlite(home, db)
        return write_training_data(home, output, chosen)


@command("prepare-sft-dataset")
@click.option(
    "--input",
    "file",
    type=_FILE_PATH,
    metavar="FILE",
    required=True,
    help="A file of chats that `export-training-data` wrote.",
)
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where the files are written; default: the folder of the input.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=42,
    help="The seed of random draws.",
)
def dream_prepare_sft_dataset(file: Path, folder: Path | None, seed: int) -> None:
    """Three files are written: train.jsonl, val.jsonl with a tenth, and stats.json.

    Of the same answer in a row every third chat stays, of one tool at most 60 %. Files
    that are there are replaced.

    JSON: {chats, kept, train, validation, seed, tools: {…}, problems}
    """
    from theorex_lab.designs.dreams.training import prepare_training_files

    stats = prepare_training_files(file, folder or file.parent, seed=seed)
    lines = []
    for name, value in stats.items():
        if name != "problems":
            lines.append(f"{name:<12}{value}")
    emit(stats, "\n".join([*lines, *stats["problems"]]))
