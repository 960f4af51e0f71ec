"""Outlines of events, which SQLite makes of the stored rows.

A long text is parsed and left out in C, and its row's checksum is computed over it all
the same. What is left is mostly the same from event to event: it is read and checked
once. A row of which an outline would not say all that readers are told, a damaged one
for instance, is read as a whole.
"""

from __future__ import annotations

import zlib

from theorex_lab.core import light_json as json
from theorex_lab.journal.event import (
    VERSIONS,
    Event,
    body_problem,
)
from theorex_lab.journal.outlines import LEFT_OUT, OUTLINED_KIND

TYPE_CHECKING = False  # what type checkers take for true
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from theorex_lab.core.light_sqlite import sqlite3
    from theorex_lab.journal.event import Body

    Row = tuple[Any, ...]

_MOST_KEPT = 10_000  # bodies, each without its texts
_COVERS_SEQ = 1 << 32  # see `stored.row_checksum`
_ESCAPED_HALF = "\\ud"  # how the escape of half of a sign may begin


def _joined(*columns: str) -> str:
    """Return the bytes that `stored.checksum` sums up, in SQL."""
    joined = " || x'1f' || ".join(columns)
    return f"CAST({joined} AS BLOB)"


def _outline_column() -> str:
    """Return what has the outline of a body, or the body where it has none, in SQL.

    The texts that it leaves out are texts, and have no half of a sign: such a body is
    set aside.
    """
    conditions = [
        f"kind = '{OUTLINED_KIND}'",
        f"instr(body, '{_ESCAPED_HALF}') = 0",
        "json_valid(body)",
    ]
    json_paths = []
    for name in LEFT_OUT:
        json_path = f"'$.{name}'"
        json_paths.append(json_path)
        is_text = f"coalesce(json_type(body, {json_path}), 'text') = 'text'"
        conditions.append(is_text)
    return (
        f"CASE WHEN {' AND '.join(conditions)}"
        f" THEN json_remove(body, {', '.join(json_paths)}) ELSE body END"
    )


_FIELDS = ("id", "at", "agent", "session", "kind", "lineage", "body")
_IS_SOUND = (
    f"crc = CASE WHEN crc & {_COVERS_SEQ}"
    f" THEN {_COVERS_SEQ} | theorex_crc32({_joined('seq', *_FIELDS)})"
    f" ELSE theorex_crc32({_joined(*_FIELDS)}) END"
)
OUTLINE_COLUMNS = (
    f"seq, id, at, agent, session, kind, lineage, {_outline_column()}, {_IS_SOUND}"
)


def prepare(connection: sqlite3.Connection) -> None:
    """Let a connection compute checksums, which the columns and conditions ask for."""
    connection.create_function("theorex_crc32", 1, zlib.crc32, deterministic=True)


def project_condition(projects: Sequence[str]) -> tuple[str, list[str]]:
    """Return the condition of rows that may be of some projects, in SQL.

    Only a sound row that says in the current version of its kind that it is of another
    project does not meet it. One that knows no project does, and so does a damaged one:
    whoever reads it says what is wrong with it.

    Returns:
        The condition, and its parameters.
    """
    current = [f"{kind} {version}" for kind, version in VERSIONS.items()]
    current_marks = ",".join("?" * len(current))
    project_marks = ",".join("?" * len(projects))
    # As `encode` writes a member; SQLite reads the first of two of one name, Python the
    # last.
    members = [f'"project":"{name}"' for name in projects]
    lacks_members = " AND instr(body, ?) = 0" * len(members)
    is_of_another = (
        f"kind || ' ' || json_extract(body, '$.v') IN ({current_marks})"
        " AND json_type(body, '$.project') = 'text'"
        f" AND json_extract(body, '$.project') NOT IN ({project_marks})"
    )
    condition = (
        f" AND (CASE WHEN json_valid(body){lacks_members}"
        f" THEN CASE WHEN {is_of_another} THEN {_IS_SOUND} END END) IS NOT 1"
    )
    return condition, [*members, *current, *projects]


class OutlineReader:
    """Makes events of rows of `OUTLINE_COLUMNS`.

    Bodies are shared by the events that have the same one: nobody may change them.
    """

    def __init__(self, decode: Callable[[Row], Event]) -> None:
        """Take what makes an event of a whole row, `seq` to `body`."""
        self._decode = decode
        # By its text in the file, the body of a tool call that is sound; None for one
        # that has to be read as a whole.
        self._bodies: dict[str, Body | None] = {}

    def event(self, row: Row) -> Event | None:
        """Return the event of a row; None where it has to be read as a whole."""
        seq, event_id, at, agent, session, kind, lineage, text, is_sound = row
        if not is_sound:
            return None
        if kind != OUTLINED_KIND:
            return self._decode(row)
        body = self._body(text)
        if body is None or lineage != "[]":
            return None
        return Event(seq, event_id, at, agent, session, kind, (), body)

    def _body(self, text: str) -> Body | None:
        """Return the body of a tool call; None where it has to be read as a whole."""
        try:
            return self._bodies[text]
        except KeyError:
            body = _body_of(text)
            if len(self._bodies) < _MOST_KEPT:
                self._bodies[text] = body
            return body


def _body_of(text: str) -> Body | None:
    """Return the body of a tool call; None where it is not sound, or not current."""
    if _ESCAPED_HALF in text:
        return None
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict) or "erased" in body:
        return None
    version = body.get("v")
    is_current = type(version) is int and version == VERSIONS[OUTLINED_KIND]
    has_texts = any(name in body for name in LEFT_OUT)
    if has_texts or not is_current or body_problem(OUTLINED_KIND, body):
        return None
    return body
