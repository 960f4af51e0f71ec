"""Commands of Theorex's document that stand beside its life cycle."""

from __future__ import annotations

from pathlib import Path

import click

from theorex_lab.files.command_line import command, emit, open_lab
from theorex_lab.files.command_line.options import ANY_AGENT


@command("export")
@ANY_AGENT
@click.option(
    "--layout",
    type=click.Choice(["files"]),
    default="files",
    expose_value=False,  # there is one
    help="How the memory is written: files, the document's data folder.",
)
@click.option(
    "--replace", is_flag=True, help="Write into a folder that is not empty, too."
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def export(folder: Path, agent: str | None, replace: bool) -> None:
    """DIR is the data folder of Theorex's document.

    It gets agents/AGENT/axon.json, shared-axon.json, stm.jsonl, moments, traces/ID.json
    and outcomes/ID.json; what sessions hold (flash/SESSION.json), tasks
    (a2a/AGENT/ID.json), kept policies (policy-snapshots/NUMBER.json), and a line a
    maintenance (evolution.jsonl).

    `theorex import DIR` reads it, but for flash, a2a, policy-snapshots and
    evolution.jsonl, which `theorex backup` moves to another home.

    JSON: {folder, files}
    """
    from theorex_lab.designs.theorex.document_files import export_document

    home = open_lab().theorex.home
    exported = export_document(home, folder, agent=agent, replace=replace)
    lines = [f"{count:8d}  {name}" for name, count in exported.files.items()]
    emit(
        {"folder": str(exported.folder), "files": exported.files},
        "\n".join(lines),
    )
