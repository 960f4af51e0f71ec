"""Cut a message into statements that can stand alone in one line of a briefing.

Markdown is read line by line: headings, list items, table rows, block quotes and
paragraphs. Each statement remembers the heading or the introducing line above it, which
often holds its subject. Standard library only.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from theorex_lab.core.patterns import lazy_pattern

# Shorter texts ("Done.", "Yes, do.") say nothing that stands alone.
SHORTEST_STATEMENT = 12
# A line this long that ends in no stop goes on in the next one; a shorter one was ended
# on purpose.
WRAPPED_CHARACTERS = 60
_STOPS = (".", "!", "?", ":", "…")
# What follows the marks of a fence names a language; ticks in it belong to a sentence.
_FENCE = lazy_pattern(r"\s*(`{3,}+(?!.*`)|~{3,}+)(.*)$")
_HEADING = lazy_pattern(r"\s{0,3}(#{1,6})\s+(.*)$")
_BOLD_LINE = lazy_pattern(r"\s*(?:\d+[.)]\s+)?\*\*(.{2,80}?)\*\*:?\s*$")
_BOLD_LEVEL = 7  # below the six of Markdown's own headings
# A line under a heading of one line, and one that parts what is above and below.
_UNDERLINE = lazy_pattern(r"\s{0,3}={3,}\s*$")
_RULE = lazy_pattern(r"\s{0,3}([-*_])(?:[ \t]*\1){2,}\s*$")
_BULLET = lazy_pattern(r"\s*(?:[-*+•–]|\d{1,2}[.)])\s+(.*)$")
_CHECKBOX = lazy_pattern(r"^\[[ xX]\]\s+")
# How far a line has to be indented to go on with the list item above it.
_CONTINUED = lazy_pattern(r"\t| {2,}")
_ROW = lazy_pattern(r"\s*\|(.*)\|\s*$")
# What stands between the header of a table and its rows.
_ROW_RULE = lazy_pattern(r"[\s:|-]*$")
_QUOTE_MARK = lazy_pattern(r"\s*>\s?")
# The white space after the end of a sentence, before what may begin another one.
_SENTENCE_END = lazy_pattern(
    r"""
    (?<=[.!?]) ["')\]*_]* (\s+)
    (?= ["'(\[*_`]* [A-ZА-ЯЄІЇҐÀ-Þ0-9] | ` )
    """,
    re.VERBOSE,
)
_ABBREVIATION = lazy_pattern(
    r"\b(?:e\.g|i\.e|etc|vs|cf|approx|no|fig|mr|ms|dr)\.$", re.I
)
_EMPHASIS = lazy_pattern(r"(\*\*|__)(?=\S)(.{1,200}?)(?<=\S)\1")
_LINK = lazy_pattern(r"\[([^\]\n]{1,120})\]\((?:[^()\s]|\([^()\s]*\))*\)")


class Statement(NamedTuple):
    """One statement of a message.

    Attributes:
        text: The statement without its markup, on one line.
        heading: The heading, or the introducing line, under which it stands; '' for
            none.
        is_bullet: Whether it stood in a list or a table.
        line: The number of its first line in the message, from 0.
        paragraph: The number of its paragraph, from 0.
        after_colon: Whether a line that ends in a colon introduces it.
        quoted: Whether it stood in a block quote.
        last_line: The number of its last line in the message; -1 where nobody asks.
    """

    text: str
    heading: str
    is_bullet: bool
    line: int
    paragraph: int
    after_colon: bool
    quoted: bool
    last_line: int = -1


def statements_in(text: str) -> list[Statement]:
    r"""Return the statements of a message, in their order.

    Code blocks are left out, and what is too short to say anything. A heading comes
    with the statements under it; one that has none is a statement itself.

    >>> [(s.heading, s.text) for s in statements_in("## Rules\n- Never commit to it.")]
    [('Rules', 'Never commit to it.')]
    """
    reader = _BlockReader()
    for number, line in enumerate(text.splitlines()):
        reader.read(number, line)
    reader.finish()
    return reader.statements


def sentences_in(text: str) -> list[str]:
    """Return the sentences of a paragraph.

    >>> sentences_in("Use jq, e.g. here. Never grep.")
    ['Use jq, e.g. here.', 'Never grep.']
    >>> sentences_in('It says `"Wait... Done"` now. `count` is gone.')
    ['It says `"Wait... Done"` now.', '`count` is gone.']
    """
    sentences: list[str] = []
    start = 0
    for end in _SENTENCE_END.finditer(text):
        sentence = text[start : end.start(1)]
        if _ABBREVIATION.search(sentence[-8:]) or _is_in_code(text, start, end.start()):
            continue
        sentences.append(sentence.strip())
        start = end.end()
    sentences.append(text[start:].strip())
    return [sentence for sentence in sentences if sentence]


def _is_in_code(text: str, start: int, position: int) -> bool:
    """Return whether a position stands in a code span that opened after `start`."""
    is_open = text.count("`", start, position) % 2 == 1
    return is_open and "`" in text[position:]


def plain(text: str) -> str:
    """Return a text on one line, without Markdown's emphasis and links.

    Code spans stay.

    >>> plain("**Never** use [jq](https://example.org) in `a.sh`")
    'Never use jq in `a.sh`'
    """
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    if "**" in text or "__" in text:
        text = _EMPHASIS.sub(r"\2", text)
    return " ".join(text.split())


class _Heading(NamedTuple):
    """A heading under which nothing stood so far."""

    text: str
    level: int
    line: int
    is_quoted: bool


class _BlockReader:
    """Reads a message line by line into blocks, and these into statements.

    A block is a paragraph, a list item or a row of a table.

    Attributes:
        statements: The statements of the blocks that have ended.
    """

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self._heading = ""
        self._empty_heading: _Heading | None = None
        self._intro = ""  # the last line that ends in a colon
        self._paragraph = 0
        self._fence = ""  # by which the code was opened that is being read
        # The block that is being read.
        self._lines: list[str] = []
        self._first_line = 0
        self._is_bullet = False
        self._is_quoted = False
        # A first row, whose table may yet turn out to have no header.
        self._first_row: tuple[int, str] | None = None
        self._in_table = False

    def read(self, number: int, raw_line: str) -> None:
        """Take in the next line."""
        quote_mark = _QUOTE_MARK.match(raw_line)
        line = raw_line[quote_mark.end() :] if quote_mark else raw_line
        if self._reads_code(line):
            return
        is_quoted = quote_mark is not None
        if is_quoted != self._is_quoted:
            self._end_block()
            self._is_quoted = is_quoted
        if not line.strip():
            self._end_block()
            self._paragraph += 1
            return
        row = _ROW.match(line)
        if row:
            self._read_row(number, row[1])
        elif not self._reads_mark(number, line):
            self._read_text(number, line)

    def finish(self) -> None:
        """Take in that no line is left."""
        self._end_block()
        self._note_empty_heading(level=0)

    def _reads_code(self, line: str) -> bool:
        """Return whether a line is code or a fence of it."""
        fence = _FENCE.match(line)
        if not self._fence:
            if fence is None:
                return False
            self._end_block()
            self._fence = fence[1]
            self._empty_heading = None  # it is of the code
            return True
        if fence and fence[1].startswith(self._fence) and not fence[2].strip():
            self._fence = ""
        return True

    def _reads_mark(self, number: int, line: str) -> bool:
        """Return whether a line is a heading, a rule or the start of a list item."""
        heading = _HEADING.match(line)
        if heading:
            self._end_block()
            self._begin_heading(heading[2].rstrip(" \t#"), len(heading[1]), number)
            return True
        if _UNDERLINE.match(line) and len(self._lines) == 1 and not self._is_bullet:
            title = self._lines.pop()
            self._begin_heading(title, 1, self._first_line)
            return True
        if _RULE.match(line) or _UNDERLINE.match(line):
            self._end_block()
            return True
        bold = _BOLD_LINE.match(line)
        if bold and not bold[1].endswith(_STOPS[:3]):
            self._end_block()
            self._begin_heading(bold[1], _BOLD_LEVEL, number)
            return True
        bullet = _BULLET.match(line)
        if bullet:
            self._end_block()
            body = _CHECKBOX.sub("", bullet[1], count=1)
            self._begin_block(number, body, is_bullet=True)
            return True
        return False

    def _begin_heading(self, title: str, level: int, number: int) -> None:
        self._note_empty_heading(level)
        self._heading = plain(title).strip(" :*")
        self._empty_heading = _Heading(self._heading, level, number, self._is_quoted)
        self._intro = ""
        self._paragraph += 1

    def _note_empty_heading(self, level: int) -> None:
        """Note a heading as a statement, where one of this level leaves it empty.

        A heading that has only lower ones under it is a title.
        """
        empty = self._empty_heading
        self._empty_heading = None
        if empty is None or level > empty.level:
            return
        if len(empty.text) >= SHORTEST_STATEMENT:
            statement = Statement(
                text=empty.text,
                heading="",
                is_bullet=False,
                line=empty.line,
                paragraph=self._paragraph,
                after_colon=False,
                quoted=empty.is_quoted,
                last_line=empty.line,
            )
            self.statements.append(statement)

    def _read_row(self, number: int, row: str) -> None:
        if _ROW_RULE.match(row):
            # The row above it is the header, which only names the columns.
            self._first_row = None
            self._end_block()
            self._in_table = True
            return
        cells = [plain(cell) for cell in row.split("|")]
        text = "; ".join(cell for cell in cells if cell)
        is_first = not self._in_table
        self._end_block()
        self._in_table = True
        if is_first:
            self._first_row = (number, text)
        else:
            self._note_row(number, text)

    def _note_row(self, number: int, text: str) -> None:
        self._begin_block(number, text, is_bullet=True)
        self._note_block(intro="")

    def _read_text(self, number: int, line: str) -> None:
        if self._goes_on_with(line):
            self._lines.append(line.strip())
            return
        self._end_block()
        self._begin_block(number, line, is_bullet=False)

    def _goes_on_with(self, line: str) -> bool:
        """Return whether a line of text belongs to the block that is being read."""
        if not self._lines:
            return False
        if self._is_bullet and _CONTINUED.match(line):
            return True
        last_line = self._lines[-1]
        if len(last_line) < WRAPPED_CHARACTERS or last_line.endswith(_STOPS):
            return False
        first_sign = line.lstrip()[0]
        return not first_sign.isupper()

    def _begin_block(self, number: int, line: str, *, is_bullet: bool) -> None:
        self._lines = [line.strip()]
        self._first_line = number
        self._is_bullet = is_bullet
        self._empty_heading = None

    def _end_block(self) -> None:
        """Note what was being read, if anything."""
        if self._first_row is not None:
            number, text = self._first_row
            self._first_row = None
            self._note_row(number, text)
        self._in_table = False
        if not self._lines:
            return
        if self._is_bullet:
            self._note_block(self._intro)
            return
        last_line = self._lines[-1]
        self._note_block(intro="")
        self._intro = ""
        if last_line.endswith(":"):
            self._intro = sentences_in(plain(last_line))[-1].rstrip(" :")

    def _note_block(self, intro: str) -> None:
        """Note the statements of the block, and begin no other."""
        lines = self._lines
        self._lines = []
        for sentence, first, last in _placed_sentences(lines):
            if len(sentence) < SHORTEST_STATEMENT:
                continue
            statement = Statement(
                text=sentence,
                heading=intro or self._heading,
                is_bullet=self._is_bullet,
                line=self._first_line + first,
                paragraph=self._paragraph,
                after_colon=bool(intro),
                quoted=self._is_quoted,
                last_line=self._first_line + last,
            )
            self.statements.append(statement)


def _placed_sentences(lines: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the sentences of lines with the positions of their first and last lines.

    Words are counted, which `plain` leaves in their number.
    """
    sentences = sentences_in(plain(" ".join(lines)))
    words_in_lines = [len(line.split()) for line in lines]
    line_ends = list(accumulate(words_in_lines))
    last_position = len(lines) - 1
    n_words = 0
    for sentence in sentences:
        first = bisect_right(line_ends, n_words)
        n_words += len(sentence.split())
        last = bisect_right(line_ends, n_words - 1)
        yield sentence, min(first, last_position), min(last, last_position)
