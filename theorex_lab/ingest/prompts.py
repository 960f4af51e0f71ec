"""What of a prompt is the person's own: without reminders, expansions of commands and pasted blocks that a program put in."""

from __future__ import annotations

import re
from collections.abc import Sequence

from theorex_lab.text.sections import read_sections

_SECTIONS = read_sections(__file__, "prompts.txt")
_NAMES = _SECTIONS["names"].replace("\n", "")
_WHOLE = re.compile(rf"(?is)\s*<({_NAMES})\b[^<>]{{0,2000}}>.*</\1\s*>\s*")
_ELEMENT = re.compile(rf"(?is)<({_NAMES})\b[^<>]{{0,2000}}>.*?(?:</\1\s*>|\Z)")
_LEFT_OVER = re.compile(rf"(?is).*</(?:{_NAMES})\s*>")
_PASTED = re.compile(r"\[Pasted text #\d+(?: \+\d+ lines)?\]")
_REQUEST = "## My request for Codex:"
_WRITTEN = tuple(line.removeprefix("= ") for line in _SECTIONS["written"].split("\n"))


def own_words(blocks: Sequence[str]) -> str:
    """The text of a prompt's blocks, '' where a program wrote all of it.

    What stands between the first and the last sign of one element is left out where it fills a block, and what comes
    before an end without a beginning: a file in a reminder may hold the reminder's end.

    >>> own_words(["<system-reminder>be brief</system-reminder>", "Fix the cache <ide_selection>x = 1</ide_selection>"])
    'Fix the cache'
    >>> own_words(["<command-name>/clear</command-name>"])
    ''
    """
    kept = [_cut(block) for block in blocks if len(blocks) == 1 or not _WHOLE.fullmatch(block)]
    return "\n".join(filter(None, kept))


def _cut(text: str) -> str:
    if "<" in text:
        text = _LEFT_OVER.sub("", _ELEMENT.sub("", text))
    text = _PASTED.sub("", text).strip()
    if text.startswith(_WRITTEN):
        return ""
    return text.rpartition(_REQUEST)[2].strip() if text.startswith("# Context from my IDE setup") else text
