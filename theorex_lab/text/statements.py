"""Cut a message into statements that can stand alone in one line of a briefing.

Markdown is read line by line: headings, list items, table rows, block quotes and
paragraphs. Each statement remembers the heading or the introducing line above it, which
often holds its subject. Standard library only.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# Shorter texts ("Done.", "Yes, go on") say nothing that stands alone.
SHORTEST_STATEMENT = 12
_FENCE = re.compile(r"\s*(?:```|~~~)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(.*)$")
_BOLD_HEADING = re.compile(r"\s*(?:\d+[.)]\s+)?\*\*(.{2,80}?)\*\*:?\s*$")
_BULLET = re.compile(r"\s*(?:[-*+•–]|\d{1,2}[.)])\s+(.*)$")
_CHECKBOX = re.compile(r"\[[ xX]\]\s+")
_TABLE_ROW = re.compile(r"\s*\|(.*)\|\s*$")
# The line of a table between its header and its rows.
_TABLE_RULE = re.compile(r"[\s:|-]+$")
_QUOTE_MARK = re.compile(r"\s*>\s?")
# White space after the end of a sentence and before what may begin another one.
_SENTENCE_END = re.compile(
    r"""
    (?<=[.!?]) ["')\]*_]* \s+
    (?= ["'(\[*_`]* [A-ZА-ЯЄІЇҐÀ-Þ0-9] )
    """,
    re.VERBOSE,
)
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|approx|no|fig|mr|ms|dr)\.$", re.I)
_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)(.{1,400}?)(?<=\S)\1")
_LINK = re.compile(r"\[([^\]\n]{1,120})\]\((?:[^()\s]|\([^()\s]*\))*\)")


class Statement(NamedTuple):
    """One statement of a message.

    Attributes:
        text: The statement without its markup, on one line.
        heading: The heading, or the introducing line, under which it stands; '' for
            none.
        is_bullet: Whether it stood in a list or a table.
        line: The number of the first line of its block in the message, from 0.
        paragraph: The number of its paragraph, from 0.
        after_colon: Whether a line that ends in a colon introduces it.
        quoted: Whether it stood in a block quote.
    """

    text: str
    heading: str
    is_bullet: bool
    line: int
    paragraph: int
    after_colon: bool
    quoted: bool


def statements_in(text: str) -> list[Statement]:
    """Return the statements of a message, in their order.

    Code blocks are left out, and what is too short to say anything.

    >>> [(s.heading, s.text) for s in statements_in("## Rules\\n- Never commit to it.")]
    [('Rules', 'Never commit to it.')]
    """
    reader = _BlockReader()
    for number, line in enumerate(text.splitlines()):
        reader.read(number, line)
    reader.end_paragraph()
    statements: list[Statement] = []
    for block in reader.blocks:
        for sentence in sentences_in(block.text):
            if len(sentence) >= SHORTEST_STATEMENT:
                statements.append(block._replace(text=sentence))
    return statements


def sentences_in(text: str) -> list[str]:
    """Return the sentences of a paragraph.

    >>> sentences_in("Use jq, e.g. here. Never grep.")
    ['Use jq, e.g. here.', 'Never grep.']
    """
    sentences: list[str] = []
    for part in _SENTENCE_END.split(text):
        if sentences and _ABBREVIATION.search(sentences[-1]):
            sentences[-1] += " " + part
        else:
            sentences.append(part)
    stripped = [sentence.strip() for sentence in sentences]
    return [sentence for sentence in stripped if sentence]


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


class _BlockReader:
    """Reads a message line by line into blocks: paragraphs, list items, table rows.

    Attributes:
        blocks: The blocks that were read, each as a statement of its whole text.
    """

    def __init__(self) -> None:
        self.blocks: list[Statement] = []
        self._heading = ""
        self._intro = ""  # the last line that ends in a colon
        self._paragraph = 0
        self._lines: list[str] = []  # of the paragraph that is being read
        self._first_line = 0
        self._is_quoted = False
        self._in_code = False
        self._has_table_header = False

    def read(self, number: int, raw_line: str) -> None:
        """Take in the next line."""
        if _FENCE.match(raw_line):
            self.end_paragraph()
            self._in_code = not self._in_code
            return
        if self._in_code:
            return
        quote_mark = _QUOTE_MARK.match(raw_line)
        line = raw_line[quote_mark.end() :] if quote_mark else raw_line
        is_quoted = quote_mark is not None
        if not line.strip():
            self._read_blank()
        elif not self._is_other_block(number, line, is_quoted):
            self._read_text(number, line, is_quoted)

    def end_paragraph(self) -> None:
        """Note the paragraph that was being read, if any."""
        if self._lines:
            self._note(
                plain(" ".join(self._lines)),
                self._first_line,
                is_quoted=self._is_quoted,
            )
        self._lines = []

    def _note(
        self,
        text: str,
        line: int,
        *,
        is_quoted: bool,
        is_bullet: bool = False,
        intro: str = "",
    ) -> None:
        self.blocks.append(
            Statement(
                text=text,
                heading=intro or self._heading,
                is_bullet=is_bullet,
                line=line,
                paragraph=self._paragraph,
                after_colon=bool(intro),
                quoted=is_quoted,
            )
        )

    def _read_blank(self) -> None:
        self._note_intro()
        self.end_paragraph()
        self._paragraph += 1
        self._has_table_header = False

    def _note_intro(self) -> None:
        """Remember the line before, where it introduces what comes."""
        if self._lines and self._lines[-1].endswith(":"):
            self._intro = plain(self._lines[-1]).rstrip(":")

    def _is_other_block(self, number: int, line: str, is_quoted: bool) -> bool:
        """Read a heading, list item or table row; return whether the line is one."""
        heading = _HEADING.match(line) or _BOLD_HEADING.match(line)
        if heading:
            self._read_heading(heading[1])
            return True
        bullet = _BULLET.match(line)
        if bullet:
            self._read_bullet(number, bullet[1], is_quoted)
            return True
        row = _TABLE_ROW.match(line)
        if row:
            self._read_row(number, row[1], is_quoted)
            return True
        return False

    def _read_heading(self, title: str) -> None:
        self.end_paragraph()
        self._heading = plain(title.rstrip(" \t#")).strip(" :*")
        self._intro = ""
        self._paragraph += 1

    def _read_bullet(self, number: int, body: str, is_quoted: bool) -> None:
        self._note_intro()
        self.end_paragraph()
        text = plain(_CHECKBOX.sub("", body, count=1))
        self._note(text, number, is_quoted=is_quoted, is_bullet=True, intro=self._intro)

    def _read_row(self, number: int, row: str, is_quoted: bool) -> None:
        self.end_paragraph()
        if _TABLE_RULE.match(row):
            return
        if not self._has_table_header:
            self._has_table_header = True
            return
        cells = [plain(cell) for cell in row.split("|")]
        text = "; ".join(cell for cell in cells if cell)
        self._note(text, number, is_quoted=is_quoted, is_bullet=True)

    def _read_text(self, number: int, line: str, is_quoted: bool) -> None:
        if not self._lines:
            self._first_line = number
            self._is_quoted = is_quoted
        self._lines.append(line.strip())
