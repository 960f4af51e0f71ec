"""The commands of causal memory that read and write files: `theorex causal export …`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from theorex_lab.core.errors import InvalidInput
from theorex_lab.files.command_line import (
    command,
    emit,
    fail,
    keeps_secrets,
    open_lab,
    reads_project,
)
from theorex_lab.files.command_line.options import OWN_AGENT, agent_option, own_agent

_MOST_FILE_BYTES = 1_000_000
_SCOPE = click.option(
    "--scope",
    metavar="NAME",
    help="The files of this session: those below scopes/NAME in the folder.",
)


@command("export")
@reads_project
@_SCOPE
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def causal_export(folder: Path, scope: str | None) -> None:
    """FOLDER has the files of the document, with its names.

    They are memory_graph.jsonl, genes.json, capsules.json, memory_graph_state.json and
    evolution_narrative.md. A file that is there is replaced. Lines that came from such
    a file are written as they were read.

    Next: `import` reads them in another home.

    JSON: {folder, files: {…}}
    """
    from theorex_lab.designs.causal.graph_files import export_graph

    exported = export_graph(open_lab().home, _in_scope(folder, scope))
    lines = [f"{count:8d}  {name}" for name, count in exported.files.items()]
    emit({"folder": str(exported.folder), "files": exported.files}, "\n".join(lines))


def _in_scope(folder: Path, scope: str | None) -> Path:
    """Return the folder of a session's files; the folder itself without a session."""
    from theorex_lab.designs.causal.graph_files import scope_folder

    return folder if scope is None else scope_folder(folder, scope)


@command("import")
@OWN_AGENT
@click.option(
    "--trusted",
    is_flag=True,
    help="The files are your own: their outcomes count as evidence.",
)
@_SCOPE
@click.argument("path", type=click.Path(path_type=Path))
@keeps_secrets
def causal_import(
    path: Path, agent: str | None, trusted: bool, scope: str | None
) -> None:
    """PATH is a folder with the files of the document, or one of them.

    Importing them twice imports them once. What is here already stays as it is. A line
    that cannot be read is named, and the others come in. Without --trusted all is an
    import's word: it is no evidence, and closes no attempt.

    Next: `genes` and `advice` show what came in, and `export` writes it again.

    JSON: {imported, skipped, problems, files: [{file, imported, skipped, problems,
    left_out, changed}]}
    """
    from theorex_lab.designs.causal.graph_reading import import_graph

    reports = import_graph(
        open_lab().home,
        _in_scope(path, scope),
        agent=own_agent(agent),
        trusted=trusted,
    )
    files = []
    problems: list[str] = []
    n_imported = 0
    n_skipped = 0
    for report in reports:
        files.append(
            {
                "file": report.file,
                "imported": report.imported,
                "skipped": report.skipped,
                "problems": report.problems,
                "left_out": report.left_out,
                "changed": report.changed,
            }
        )
        problems += report.problems
        n_imported += report.imported
        n_skipped += report.skipped
    result: dict[str, Any] = {
        "imported": n_imported,
        "skipped": n_skipped,
        "problems": problems,
        "files": files,
    }
    if problems and not n_imported + n_skipped:
        fail(problems[0], **result)
    counts = f"{n_imported} new records, {n_skipped} were here already"
    emit(result, "\n".join([counts, *problems]))


@command("candidate")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@OWN_AGENT
@keeps_secrets
def causal_candidate(file: Path, agent: str | None) -> None:
    """FILE has a gene or a capsule in JSON, as others offer it.

    It is kept as data, a capsule with .6 of its confidence. It is no evidence, nothing
    chooses it, and it is never done. Its asset_id, where it has one, must be the hash
    of its content.

    JSON: {recorded, event}
    """
    from theorex_lab.files.formats.flat_files import parse_object
    from theorex_lab.files.formats.foreign import read_file

    size = file.stat().st_size if file.is_file() else 0
    if size > _MOST_FILE_BYTES:
        raise InvalidInput(f"got {size:,} bytes; allowed are {_MOST_FILE_BYTES:,}")
    asset = parse_object(read_file(file))
    event = open_lab().causal.record_external_candidate(asset, agent=own_agent(agent))
    if event is None:
        raise InvalidInput(
            f"got {file} without a type or an id; allowed is a Gene or a Capsule with"
            " both"
        )
    text = f"kept {event['asset']['type']} {event['asset']['id']} as a candidate"
    emit({"recorded": True, "event": event}, text)


@command("narrative")
@reads_project
@agent_option("Only of this agent.")
@click.option("--summary", is_flag=True, help="Only the last eight outcomes.")
@click.option(
    "--characters",
    type=click.IntRange(0),
    metavar="N",
    help="The length at most; default: 12,000, of a summary 4,000.",
)
def causal_narrative(agent: str | None, summary: bool, characters: int | None) -> None:
    """It tells the last outcomes, the newest last.

    Each says when it was, under which signals, what was tried, and what came of it.

    JSON: {narrative, characters}
    """
    from theorex_lab.designs.causal import narrative as narratives

    home = open_lab().home
    if summary:
        most = narratives.SUMMARY_CHARACTERS if characters is None else characters
        text = narratives.narrative_summary(home, agent=agent, characters=most)
    else:
        most = narratives.NARRATIVE_CHARACTERS if characters is None else characters
        text = narratives.narrative(home, agent=agent, characters=most)
    nothing = "nothing was tried yet"
    if home.projects is not None:
        nothing += " in this project; --all-projects tells of all"
    shown = text.rstrip("\n") or nothing
    emit({"narrative": text, "characters": len(text)}, shown)
