"""Heads of events, which are made of the stored rows without decoding them.

Each row's checksum is computed over all of it. The long texts of the kinds that agents
write most are looked through for what JSON does not allow, and left out: what is left of
a body is mostly the same from event to event, and is parsed and checked once. A row that
is not that plain, a damaged or an erased one for instance, is odd, and is read as an
event.
"""

from __future__ import annotations

from zlib import crc32

from theorex_lab.core import light_json as json
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.journal.event import VERSIONS, body_problem
from theorex_lab.journal.head_page import LONG_TEXTS, HeadPage, project_of_body

TYPE_CHECKING = False  # what type checkers take for true
if TYPE_CHECKING:
    import re
    from collections.abc import Collection, Sequence
    from typing import Any

    Row = tuple[Any, ...]

PAGE_ROWS = 2_000
_COVERS_SEQ = 1 << 32  # see `stored.row_checksum`
_ESCAPED_HALF = "\\ud"  # how the escape of half of a sign may begin
_MOST_KEPT = 20_000  # bodies without their texts
_LEFT_OUT = "…"  # what stands for a long text where a body is checked
_LEFT_OUT_MEMBER = rf'"\1":"{_LEFT_OUT}"'
# Signs of a text of JSON up to an escape or to its end, and an escape of a whole sign.
_SIGNS = r'[^"\\\x00-\x1f]*+'
_ESCAPE = r'\\(?:["\\/bfnrt]|u(?![dD])[0-9a-fA-F]{4})'


def _long_text(members: Sequence[str], group: str) -> re.Pattern[str]:
    """Return the pattern of a member whose text is left out.

    Args:
        members: The names of such members.
        group: How the group of the name begins.
    """
    names = "|".join(members)
    text = f'"{_SIGNS}(?>(?:{_ESCAPE}{_SIGNS})*)"'
    return lazy_pattern(f'"({group}{names})":{text}')


_PATTERNS: dict[str, re.Pattern[str]] = {}
_NAMED: dict[str, re.Pattern[str]] = {}  # with the name as a group
for _kind, _members in LONG_TEXTS.items():
    _PATTERNS[_kind] = _long_text(_members, group="?:")
    _NAMED[_kind] = _long_text(_members, group="")


class HeadReader:
    """Makes pages of heads of stored rows, `seq` to `crc`.

    Attributes:
        whole_kinds: The kinds whose rows are read as events anyway.
    """

    def __init__(self, whole_kinds: Collection[str] = ()) -> None:
        self.whole_kinds = whole_kinds
        # By the kind and what stands around the long texts of a body its project; None
        # for an odd one. What these members are called makes no difference.
        self._projects: dict[tuple[str, ...], str | None] = {}

    def page(self, rows: Sequence[Row]) -> tuple[HeadPage, list[int], list[int]]:
        """Return the heads of rows, and the positions of those that are to be read.

        First come the positions of the odd ones, of which nothing is known but the seq,
        then those of sound rows of the whole kinds.
        """
        page = HeadPage()
        (
            page.seqs,
            _,
            page.times,
            page.agents,
            page.sessions,
            page.kinds,
            lineages,
            bodies,
            checksums,
        ) = zip(*rows, strict=True)
        page.projects = [""] * len(rows)
        page.is_unreadable = [False] * len(rows)
        odd_positions: list[int] = []
        whole_positions: list[int] = []
        sums = _checksums(rows)
        contents = zip(
            page.kinds,
            lineages,
            bodies,
            checksums,
            sums,
            strict=True,
        )
        for position, (
            kind,
            lineage,
            body,
            checksum,
            row_sum,
        ) in enumerate(contents):
            if checksum != row_sum:
                odd_positions.append(position)
            elif kind in self.whole_kinds:
                whole_positions.append(position)
            elif lineage != "[]":
                odd_positions.append(position)
            else:
                project = self._project(kind, body)
                if project is None:
                    odd_positions.append(position)
                else:
                    page.projects[position] = project
        return page, odd_positions, whole_positions

    def _project(self, kind: str, body: str) -> str | None:
        """Return the project that a body of a kind names; None for an odd one."""
        pattern = _PATTERNS.get(kind)
        pieces = [body] if pattern is None else pattern.split(body)
        key = (kind, *pieces)
        try:
            return self._projects[key]
        except KeyError:
            project = _project_of(kind, body)
            if len(self._projects) < _MOST_KEPT:
                self._projects[key] = project
            return project


def _checksums(rows: Sequence[Row]) -> list[int]:
    """Return what `stored.row_checksum` returns for each row."""
    sums: list[int] = []
    for seq, event_id, at, agent, session, kind, lineage, body, _ in rows:
        head = f"{seq}\x1f{event_id}\x1f{at}\x1f{agent}\x1f{session}\x1f{kind}"
        content = f"{head}\x1f{lineage}\x1f{body}"
        row_sum = crc32(content.encode())
        sums.append(_COVERS_SEQ | row_sum)
    return sums


def _project_of(kind: str, text: str) -> str | None:
    """Return the project of a sound and current body; None for an odd one."""
    names: list[str] = []
    pattern = _NAMED.get(kind)
    if pattern is not None:
        names = pattern.findall(text)
        text = pattern.sub(_LEFT_OUT_MEMBER, text)
    # Half of a sign may be in a text that is not left out: then the event is set aside.
    if _ESCAPED_HALF in text:
        return None
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict) or "erased" in body:
        return None
    if not _is_current(kind, body) or not _are_members(names, body):
        return None
    return project_of_body(body)


def _is_current(kind: str, body: dict[str, object]) -> bool:
    """Return whether a body is sound, and of the version that this release writes."""
    version = body.get("v")
    if type(version) is not int or version != VERSIONS.get(kind):
        return False
    return not body_problem(kind, body)


def _are_members(names: Sequence[str], body: dict[str, object]) -> bool:
    """Return whether each text that was left out is of a member of the body itself.

    It may be one of an object within it, or there twice.
    """
    if len(set(names)) < len(names):
        return False
    return all(body.get(name) == _LEFT_OUT for name in names)
