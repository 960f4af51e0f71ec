"""The tables of the mask, from `secrets.txt`: what secrets look like. Loaded once a text has a hint of one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from theorex_lab.text.masking import MASK
from theorex_lab.text.sections import read_sections

SECTIONS = read_sections(__file__, "secrets.txt")
PATTERNS: dict[str, str] = {}


def entries(section: str) -> Iterator[tuple[list[str], str]]:
    """The words of the key and the pattern of each entry of a section, with the patterns that it names in their places."""
    for entry in SECTIONS[section].split("\n\n"):
        key, _, pattern = entry.partition("\n  ")
        pattern = pattern.replace("\n  ", "")
        if "<<" in pattern:
            pattern = re.sub("<<([a-z ]+)>>", lambda named: PATTERNS.get(named[1], named[0]), pattern)
        yield key.split(), pattern


for _name, _pattern in entries("patterns"):
    PATTERNS[" ".join(_name)] = _pattern


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
