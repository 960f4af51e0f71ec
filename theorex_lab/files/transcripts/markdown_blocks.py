"""Divide a Markdown transcript of SpecStory into blocks: each line is in one block.

What an agent printed may hold lines that look like the transcript's own: a fence, the
end of a tool's block, the heading of a message. So a heading within a fence or a tool's
block counts only where it is the transcript's own by its time, or where the fence or
block has no end.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

# What a block is.
HEADING = "heading"
TEXT = "text"
FENCE = "fence"
TOOL = "tool"
THINKING = "thinking"
RULE = "rule"
SESSION = "session"

_WRAPPED = re.compile(
    r"_\*\*(?P<bold>.{1,400})\*\*_"
    r"|###? (?:<span [^<>]{0,80}>)?\U0001F464 (?P<large>.{1,400}?)(?:</span>)?"
)
_ROLE = re.compile(
    r"(?:[\U0001F464\U0001F916] ?)?(?P<role>User|Agent|Assistant|Recap)"
    r"(?: - (?P<mark>[a-z][a-z, ]{0,40}))?(?: \((?P<about>.{0,300})\))?"
)
_TIME = re.compile(
    r"(?P<day>\d{4}-\d{2}-\d{2})[ T_](?P<hour>\d{2})[:-](?P<minute>\d{2})"
    r"(?:[:-](?P<second>\d{2})(?:\.\d{1,9})?)?"
    r"(?:\s?(?P<offset>Z|[+-]\d{2}:?\d{2})(?![\d:]))?"
)
_SESSION = re.compile(
    r"<!-- (?P<agent>[A-Za-z][\w .+-]{0,60}?) [Ss]ession (?P<id>[\w.-]{1,128})"
    r"(?: \((?P<time>[^()]{0,60})\))? -->"
)
_FENCE = re.compile(r" {0,3}(?P<signs>`{3,}|~{3,})(?P<info>[^`]*)")
_TOOL_START = re.compile(r"<tool-use\b")
_TOOL_END = re.compile(r"(?:</details>)?\s*</tool-use>")
_THINKING_START = "<think>"
_THINKING_END = "</think>"
_RULE = re.compile(r"-{3,}")
# How far a message's time may lie before that of the message above it, and after.
_EARLIER = timedelta(minutes=1)
_LATER = timedelta(days=1)
_LONGEST_LINES = 50_000  # of a fence or a tool's block


class Heading(NamedTuple):
    """The heading of a message.

    Attributes:
        role: User, Agent, Assistant or Recap.
        mark: What stands behind the role, such as `sidechain`.
        at: When, in ISO 8601; "" where it states no time.
    """

    role: str
    mark: str = ""
    at: str = ""


class SessionMark(NamedTuple):
    """The comment that names the session.

    Attributes:
        agent: The program whose session it is.
        session: The id of the session.
        at: When it began, in ISO 8601; "" where it states no time.
    """

    agent: str
    session: str
    at: str = ""


class Block(NamedTuple):
    """Lines that belong together.

    Attributes:
        kind: What they are.
        start: The first of them, from 0.
        end: The one after the last.
        whole: Whether their end is there.
    """

    kind: str
    start: int
    end: int
    whole: bool = True


def heading_in_line(line: str) -> Heading | None:
    """Return the heading that a line is, None where it is none.

    >>> heading_in_line("_**Agent - sidechain (model-1 2026-01-02 03:04:05Z)**_")
    Heading(role='Agent', mark='sidechain', at='2026-01-02T03:04:05+00:00')
    >>> heading_in_line("_**User**_"), heading_in_line("_**Note**_")
    (Heading(role='User', mark='', at=''), None)
    """
    wrapped = _WRAPPED.fullmatch(line.rstrip())
    if wrapped is None:
        return None
    role = _ROLE.fullmatch(wrapped["bold"] or wrapped["large"])
    if role is None:
        return None
    at = time_in(role["about"] or "")
    return Heading(role["role"], role["mark"] or "", at)


def session_of_line(line: str) -> SessionMark | None:
    """Return the comment that names the session, None where the line is none."""
    match = _SESSION.fullmatch(line.strip())
    if match is None:
        return None
    at = time_in(match["time"] or "")
    return SessionMark(match["agent"], match["id"], at)


def time_in(text: str, *, needs_offset: bool = False) -> str:
    """Return the last time that a text states in ISO 8601, "" where it states none.

    Args:
        text: The text.
        needs_offset: Pass over a time that states no offset from UTC.

    >>> time_in("2025-10-07 07:52Z"), time_in("2025-11-13 21:12:14-0700")
    ('2025-10-07T07:52:00+00:00', '2025-11-13T21:12:14-07:00')
    """
    time = ""
    for match in _TIME.finditer(text):
        if needs_offset and not match["offset"]:
            continue
        time = _iso(match) or time
    return time


def _iso(match: re.Match[str]) -> str:
    """Return a matched time in ISO 8601, "" where there is no such time."""
    second = match["second"] or "00"
    offset = match["offset"] or "Z"
    clock = f"{match['hour']}:{match['minute']}:{second}"
    try:
        time = datetime.fromisoformat(f"{match['day']}T{clock}{offset}")
    except ValueError:
        return ""
    return time.isoformat()


def blocks_in(lines: Sequence[str]) -> list[Block]:
    """Return the blocks of a transcript, in order; each line is in one of them."""
    return _Divider(lines).divide()


def fenced_in(lines: Sequence[str], start: int, end: int) -> list[Block]:
    """Return the fences and the lines between them, of a part of a transcript."""
    fences = _FenceLines(lines)
    blocks = []
    index = start
    while index < end:
        close = fences.end_of(index, end)
        if close is None:
            blocks.append(Block(TEXT, index, index + 1))
            index += 1
        else:
            blocks.append(Block(FENCE, index, close + 1))
            index = close + 1
    return blocks


class _FenceLine(NamedTuple):
    """A line that opens or closes a fence.

    Attributes:
        number: Which line it is, from 0.
        signs: Its backticks or tildes.
        has_language: Whether a language follows. Such a line closes no fence.
    """

    number: int
    signs: str
    has_language: bool


class _FenceLines:
    """The lines of a transcript that open or close a fence, each looked for once.

    Many fences may have no end, and each is followed to the end of its message.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self._marks: list[_FenceLine] = []
        self._indexes: list[int] = []
        self._closing: list[int] = []
        for index, line in enumerate(lines):
            mark = _fence_line(index, line)
            if mark is None:
                continue
            self._marks.append(mark)
            self._indexes.append(index)
            if not mark.has_language:
                self._closing.append(index)

    def end_of(self, start: int, end: int) -> int | None:
        """Return the line that closes a fence, None where none does or none begins.

        A fence with a language that begins within it has an end of its own.

        Args:
            start: The line that may open a fence.
            end: The line to stop at.
        """
        first = bisect_left(self._indexes, start)
        last = min(end, start + _LONGEST_LINES)
        n_passed = bisect_left(self._indexes, last)
        if first >= n_passed:
            return None
        if self._indexes[first] != start:
            return None
        if not self._may_close(start, last):
            return None
        fences = _OpenFences()
        for position in range(first, n_passed):
            mark = self._marks[position]
            fences.pass_mark(mark)
            if not fences.are_open:
                return mark.number
        return None

    def _may_close(self, start: int, last: int) -> bool:
        """Return whether a line between two lines may close a fence."""
        position = bisect_left(self._closing, start + 1)
        if position == len(self._closing):
            return False
        return self._closing[position] < last


def _fence_line(number: int, line: str) -> _FenceLine | None:
    """Return what a line opens or closes a fence with, None where it does neither."""
    match = _FENCE.fullmatch(line)
    if match is None:
        return None
    return _FenceLine(number, match["signs"], bool(match["info"].strip()))


class _OpenFences:
    """The fences that are open, one within the other."""

    def __init__(self) -> None:
        self._signs: list[str] = []

    @property
    def are_open(self) -> bool:
        """Return whether one is open."""
        return bool(self._signs)

    def pass_line(self, line: str) -> None:
        """Take the next line."""
        mark = _fence_line(0, line)
        if mark is not None:
            self.pass_mark(mark)

    def pass_mark(self, mark: _FenceLine) -> None:
        """Take the next line that opens or closes a fence."""
        if mark.has_language or not self._signs:
            self._signs.append(mark.signs)
        elif mark.signs in self._signs:
            while self._signs.pop() != mark.signs:
                pass
        elif mark.signs.startswith(self._signs[-1]):
            self._signs.pop()


class _Divider:
    """Divides the lines of one transcript."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._fences = _FenceLines(lines)
        self._headings: dict[int, Heading] = {}
        self._heading_lines: list[int] = []
        self._timed_lines: list[int] = []
        for index, line in enumerate(lines):
            heading = heading_in_line(line)
            if heading is None:
                continue
            self._headings[index] = heading
            self._heading_lines.append(index)
            if heading.at:
                self._timed_lines.append(index)
        self._is_agent = False  # whether the lines are of an agent's message
        self._last_at: datetime | None = None

    def divide(self) -> list[Block]:
        blocks: list[Block] = []
        index = 0
        while index < len(self._lines):
            block = self._block_at(index)
            blocks.append(block)
            if block.kind == HEADING:
                self._begin(self._headings[block.start])
            index = block.end
        return blocks

    def _begin(self, heading: Heading) -> None:
        self._is_agent = heading.role != "User"
        if heading.at:
            self._last_at = datetime.fromisoformat(heading.at)

    def _block_at(self, index: int) -> Block:
        line = self._lines[index]
        if index in self._headings:
            return Block(HEADING, index, index + 1)
        if session_of_line(line) is not None:
            return Block(SESSION, index, index + 1)
        if self._is_agent and _TOOL_START.match(line):
            return self._tool(index)
        if self._is_agent and line.startswith(_THINKING_START):
            return self._thinking(index)
        if _FENCE.fullmatch(line):
            return self._fence(index)
        kind = RULE if _RULE.fullmatch(line.strip()) else TEXT
        return Block(kind, index, index + 1)

    def _fence(self, index: int) -> Block:
        """Return the fence that begins at a line; without an end it is a text."""
        own_heading = self._own_heading_after(index)
        close = self._fences.end_of(index, own_heading)
        if close is None:
            return Block(TEXT, index, index + 1)
        return Block(FENCE, index, close + 1)

    def _thinking(self, index: int) -> Block:
        end = self._own_heading_after(index)
        for position in range(index, end):
            if self._lines[position].rstrip().endswith(_THINKING_END):
                return Block(THINKING, index, position + 1)
        end = self._any_heading_after(index)
        return Block(THINKING, index, end, whole=False)

    def _tool(self, index: int) -> Block:
        """Return the block of the tool that begins at a line."""
        limit = self._own_heading_after(index)
        ends = []
        for position in range(index, limit):
            line = self._lines[position].strip()
            if _TOOL_END.fullmatch(line):
                ends.append(position)
        if not ends:
            limit = self._any_heading_after(index)
            return Block(TOOL, index, limit, whole=False)
        balanced = self._balanced_end(index, limit)
        if balanced is not None:
            return Block(TOOL, index, balanced + 1)
        for position in ends:
            if self._is_followed_by_own(position):
                return Block(TOOL, index, position + 1)
        return Block(TOOL, index, ends[-1] + 1)

    def _balanced_end(self, start: int, limit: int) -> int | None:
        """Return the first end with no fence and no block of a tool open before it."""
        fences = _OpenFences()
        depth = 0
        for index in range(start, min(limit, start + _LONGEST_LINES)):
            line = self._lines[index]
            fences.pass_line(line)
            if fences.are_open:
                continue
            if _TOOL_START.match(line):
                depth += 1
            if _TOOL_END.search(line):
                depth -= 1
            if depth <= 0:
                return index
        return None

    def _is_followed_by_own(self, index: int) -> bool:
        """Return whether what follows a tool's end can be the transcript's own."""
        for position in range(index + 1, len(self._lines)):
            line = self._lines[position].strip()
            if not line:
                continue
            is_heading = position in self._headings
            is_rule = _RULE.fullmatch(line) is not None
            is_tool = _TOOL_START.match(line) is not None
            return is_heading or is_rule or is_tool
        return True

    def _any_heading_after(self, index: int) -> int:
        """Return the next line that looks like a heading, else the end."""
        position = bisect_left(self._heading_lines, index + 1)
        if position < len(self._heading_lines):
            return self._heading_lines[position]
        return len(self._lines)

    def _own_heading_after(self, index: int) -> int:
        """Return the next heading that is the transcript's own by its time.

        It is the end where there is none.
        """
        first = bisect_left(self._timed_lines, index + 1)
        for position in range(first, len(self._timed_lines)):
            line = self._timed_lines[position]
            if self._is_own(self._headings[line]):
                return line
        return len(self._lines)

    def _is_own(self, heading: Heading) -> bool:
        if self._last_at is None:
            return False
        at = datetime.fromisoformat(heading.at)
        earliest = self._last_at - _EARLIER
        latest = self._last_at + _LATER
        return earliest <= at <= latest
