"""The tables of the mask, from `secrets.txt`: what secrets look like. Loaded once a text has a hint of one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from theorex_lab.text.masking import MASK
from theorex_lab.text.sections import read_sections

SECTIONS = read_sections(__file__, "secrets.txt")


def entries(section: str) -> Iterator[tuple[list[str], str]]:
    """The words of the key and the pattern of each entry of a section, as they stand there; see `expanded`."""
    for entry in SECTIONS[section].split("\n\n"):
        key, _, written = entry.partition("\n  ")
        yield key.split(), written.replace("\n  ", "")


_PATTERNS = {" ".join(name): written for name, written in entries("patterns")}


def expanded(written: str) -> str:
    """A pattern with those that it names in their places. Done where it is used: a text needs few of them."""
    text, *named = written.split("<<")
    for part in named:
        name, _, rest = part.partition(">>")
        text += pattern(name) + rest
    return text


@cache
def pattern(name: str) -> str:
    """The pattern of this name."""
    return expanded(_PATTERNS[name])


def words(section: str) -> frozenset[str]:
    """The words of a section."""
    return frozenset(SECTIONS[section].split())


def masked(match: re.Match[str], group: str, length: int | None = None) -> str:
    """The match with a group masked, or with the first `length` characters of it."""
    start = match.start(group) - match.start()
    end = match.end(group) - match.start() if length is None else start + length
    return match[0][:start] + MASK + match[0][end:]


def masked_after(match: re.Match[str]) -> str:
    """The mask, after the group `keep` where the pattern has one."""
    return match.groupdict().get("keep", "") + MASK
