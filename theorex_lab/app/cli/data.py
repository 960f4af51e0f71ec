"""Commands of data sets: they list the sets and download public ones."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from theorex_lab.files import command_line
from theorex_lab.files.command_line import command, emit

if TYPE_CHECKING:
    from theorex_lab.eval.datasets.data_sets import DataSetFiles, DataSetRow

_KILOBYTE = 1_000
_NAME_WIDTH = 19
_PLACE_WIDTH = 13
_SIZE_WIDTH = 8
_COMMIT_CHARACTERS = 12
_STATES = {
    "there": "was here already",
    "downloaded": "downloaded",
    "rebuilt": "rebuilt from the published transcripts",
}


@command("list", "List the data sets, with their licences and where each is.")
def data_list() -> None:
    """Packaged sets come with the toolkit; public ones are downloaded.

    A public set is looked for in the folder that $THEOREX_DATA names, then in the
    user's cache. `theorex data get NAME` downloads one into the cache.

    JSON: {sets: [{name, place, bytes, about, licence, research_only, repository,
    commit, command}]}
    """
    from theorex_lab.eval.datasets.data_sets import IS_PACKAGED, list_data
    from theorex_lab.eval.datasets.dataset_table import PACKAGED_LICENCE

    sets = list_data()
    packaged_about = f"what it is ({PACKAGED_LICENCE})"
    packaged_lines = [_columns("packaged", "", "size", packaged_about)]
    public_about = "what it is, and its licence"
    public_lines = [_columns("public", "where", "size", public_about)]
    can_get = False
    for row in sets:
        first_line = _first_line(row)
        if row.place == IS_PACKAGED:
            packaged_lines.append(first_line)
            continue
        public_lines.append(first_line)
        public_lines.append(_licence_line(row))
        if row.command:
            can_get = True
    lines = [*packaged_lines, "", *public_lines]
    if can_get:
        lines.append("")
        lines.append("`theorex data get NAME` downloads a set that is not here")
    rows = [row._asdict() for row in sets]
    text = "\n".join(lines)
    emit({"sets": rows}, text)


@command("get", "Download public data sets into the cache, and check them.")
@click.argument("names", metavar="NAME", nargs=-1, required=True)
def data_get(names: tuple[str, ...]) -> None:
    """NAME is a data set that `theorex data list` shows; several may be given.

    Each file comes from the repository where the set was published, at a pinned
    commit, and its SHA-256 is checked. What is here already is checked and stays. A
    download that was broken off goes on where it stopped. coding_sessions is rebuilt
    from the transcripts in its repository, whose commit git checks.

    JSON: {sets: [{name, licence, research_only, repository, commit, files: [{name,
    bytes, state, path, unread}]}]}
    """
    from theorex_lab.eval.datasets.data_sets import get_data

    rows: list[dict[str, Any]] = []
    texts = []
    unique_names = dict.fromkeys(names)
    for name in unique_names:
        data_set = get_data(name)
        row = asdict(data_set)
        row["files"] = [file._asdict() for file in data_set.files]
        rows.append(row)
        text = _text_of(data_set)
        texts.append(text)
    emit({"sets": rows}, "\n\n".join(texts))


_ABOUT = """Packaged sets are always here.

Public sets are looked for in the folder that $THEOREX_DATA names, then in the user's
cache.
"""
_options: dict[str, Any] = {
    "help": _ABOUT,
    "params": [*command_line.COMMON_OPTIONS],
}
data = command_line.CommandGroup(
    "data", {"list": data_list, "get": data_get}, **_options
)


def _columns(
    name: str,
    where: str,
    size: str,
    about: str,
) -> str:
    """Return a line of the list."""
    columns = (
        name.ljust(_NAME_WIDTH),
        where.ljust(_PLACE_WIDTH),
        size.rjust(_SIZE_WIDTH),
        about,
    )
    return "  ".join(columns)


def _first_line(row: DataSetRow) -> str:
    """Return what and where a set is, for people."""
    where = row.place
    if where == "packaged":
        where = ""
    size = _shown_size(row.bytes)
    return _columns(
        row.name,
        where,
        size,
        row.about,
    )


def _licence_line(row: DataSetRow) -> str:
    """Return the licence of a set for people, and what keeps one from getting it."""
    notes = [row.licence]
    if row.research_only:
        notes.append("research only")
    if row.place == "not here" and not row.command:
        notes.append("has no public address")
    licence = "; ".join(notes)
    return _columns("", "", "", licence)


def _text_of(data_set: DataSetFiles) -> str:
    """Return a set that is here now, for people."""
    lines = [data_set.name, f"  licence: {data_set.licence}"]
    if data_set.research_only:
        lines.append("  for research only: the licence allows no commercial use")
    if data_set.repository != "-":
        commit = data_set.commit[:_COMMIT_CHARACTERS]
        lines.append(f"  from github.com/{data_set.repository} at {commit}")
    for file in data_set.files:
        state = _STATES[file.state]
        size = _shown_size(file.bytes)
        lines.append(f"  {state}: {file.path} ({size})")
        if file.unread:
            lines.append(
                f"  places in the transcripts that could not be read: {file.unread}; the"
                " file's first line lists them"
            )
    return "\n".join(lines)


def _shown_size(n_bytes: int) -> str:
    """Return a size for people.

    >>> _shown_size(69_243), _shown_size(8_311_979)
    ('69 kB', '8.3 MB')
    """
    if n_bytes >= _KILOBYTE**2:
        return f"{n_bytes / _KILOBYTE**2:.1f} MB"
    return f"{n_bytes / _KILOBYTE:.0f} kB"
