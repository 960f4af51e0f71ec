"""Texts on one line: without line breaks, control characters and what nobody sees, and short."""

import re

from theorex_lab.text.visible import visible

LINE_CHARACTERS = 300
BYTES_PER_TOKEN = 4
_LINES_READ = 20  # much of a text may be white space
# White space, control characters, and halves of surrogate pairs, which no journal holds.
_SPACE = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


def folded(text: str) -> str:
    """The whole text on one line: a space for each run of white space and control characters, none at its ends."""
    return _SPACE.sub(" ", visible(text)).strip()


def one_line(text: str, limit: int = LINE_CHARACTERS) -> str:
    """At most `limit` characters of a text on one line, … at its cut.

    >>> one_line("four" + chr(7) + " letters" + chr(0x202E), 8)
    'four le…'
    """
    line = folded(text[: _LINES_READ * limit])
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def count_tokens(text: str) -> int:
    """Tokens of a text, estimated as a quarter of its bytes in UTF-8, rounded up.

    >>> count_tokens("four letters")
    3
    """
    return -(-len(text.encode()) // BYTES_PER_TOKEN)
