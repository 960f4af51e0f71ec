"""Heads of events, which SQLite makes of the stored rows.

Each row's checksum is computed over all of it, and each body is parsed, in C. The long
texts of the kinds that agents write most are left out there: what is left of a body is
mostly the same from event to event, and is checked once. A row that is not that plain,
a damaged or an erased one for instance, is odd, and is read as an event.
"""

from __future__ import annotations

from theorex_lab.core import light_json as json
from theorex_lab.core.light_sqlite import sqlite3
from theorex_lab.journal.event import VERSIONS, body_problem
from theorex_lab.journal.head_page import HeadPage, project_of_body

TYPE_CHECKING = False  # what type checkers take for true
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Row = tuple[Any, ...]

PAGE_ROWS = 5_000
# Later ones read more than JSON, as unquoted names, unless they are asked not to.
_SQLITE_VERSION = tuple(map(int, sqlite3.sqlite_version.split(".")))
_IS_STRICT = _SQLITE_VERSION < (3, 42)
_COVERS_SEQ = 1 << 32  # see `stored.row_checksum`
_ESCAPED_HALF = "\\ud"  # how the escape of half of a sign may begin
_MOST_KEPT = 20_000  # bodies without their texts
# By kind the members that are left out, each a text where it is there, and whether it
# has to be there.
_LONG_TEXTS = {
    "tool_used": {"input": False, "response": False, "command": False},
    "prompt": {"text": True},
    "turn_ended": {"message": True},
}


def _is_text(member: str, *, is_needed: bool) -> str:
    """Return the condition that a member of a body is a text, in SQL."""
    member_type = f"json_type(body, '$.{member}')"
    if is_needed:
        return f"{member_type} = 'text'"
    return f"coalesce({member_type}, 'text') = 'text'"


def _outline_column() -> str:
    """Return what has a body without its long texts, NULL where it is odd, in SQL."""
    # Half of a sign may be in a text that is left out: then the event is set aside.
    cases = [f"WHEN instr(body, '{_ESCAPED_HALF}') THEN NULL"]
    if not _IS_STRICT:
        cases.append("WHEN NOT json_valid(body) THEN NULL")
    for kind, members in _LONG_TEXTS.items():
        conditions = [f"kind = '{kind}'"]
        paths: list[str] = []
        for member, is_needed in members.items():
            conditions.append(_is_text(member, is_needed=is_needed))
            paths.append(f"'$.{member}'")
        condition = " AND ".join(conditions)
        removed = ", ".join(paths)
        cases.append(f"WHEN {condition} THEN json_remove(body, {removed})")
    kinds = ", ".join(f"'{kind}'" for kind in _LONG_TEXTS)
    cases.append(f"WHEN kind NOT IN ({kinds}) THEN body")
    return f"CASE {' '.join(cases)} END"


# The content of a row as `stored.checksum` sums it up. A text with a NUL ends there; such
# a row is odd, since its sum differs.
_CONTENT = (
    "printf('%d\x1f%s\x1f%d\x1f%s\x1f%s\x1f%s\x1f%s\x1f%s',"
    " seq, id, at, agent, session, kind, lineage, body)"
)
HEAD_COLUMNS = (
    f"seq, at, agent, session, kind, lineage, crc,"
    f" theorex_crc32(CAST({_CONTENT} AS BLOB)), {_outline_column()}"
)


class HeadReader:
    """Makes pages of heads of rows of `HEAD_COLUMNS`."""

    def __init__(self) -> None:
        # By the kind and the rest of a sound body its project; None for an odd one.
        self._projects: dict[tuple[str, str | None], str | None] = {}

    def page(self, rows: Sequence[Row]) -> tuple[HeadPage, list[int]]:
        """Return the heads of rows, and the places of the odd ones among them.

        Of these nothing is known but the seq.
        """
        page = HeadPage()
        (
            page.seqs,
            page.times,
            page.agents,
            page.sessions,
            page.kinds,
            lineages,
            checksums,
            sums,
            outlines,
        ) = zip(*rows, strict=True)
        keys = zip(page.kinds, outlines, strict=True)
        projects = [self._project(key) for key in keys]
        odd_positions: list[int] = []
        for position, project in enumerate(projects):
            is_sound = checksums[position] == sums[position] | _COVERS_SEQ
            if not is_sound or project is None or lineages[position] != "[]":
                odd_positions.append(position)
        page.projects = [project or "" for project in projects]
        page.is_unreadable = [False] * len(rows)
        return page, odd_positions

    def _project(self, key: tuple[str, str | None]) -> str | None:
        """Return the project that the rest of a body of a kind names."""
        try:
            return self._projects[key]
        except KeyError:
            kind, outline = key
            project = None if outline is None else _project_of(kind, outline)
            if len(self._projects) < _MOST_KEPT:
                self._projects[key] = project
            return project


def _project_of(kind: str, outline: str) -> str | None:
    """Return the project of a sound and current body; None for an odd one."""
    try:
        body = json.loads(outline)
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict) or "erased" in body:
        return None
    version = body.get("v")
    is_current = type(version) is int and version == VERSIONS.get(kind)
    long_texts = _LONG_TEXTS.get(kind, {})
    # Of two members of one name SQLite has left out the first.
    if not is_current or not body.keys().isdisjoint(long_texts):
        return None
    for member, is_needed in long_texts.items():
        if is_needed:
            body[member] = "…"
    if body_problem(kind, body):
        return None
    return project_of_body(body)
