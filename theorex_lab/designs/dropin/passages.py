"""Cut a file into passages that search can find one by one.

A passage is a paragraph or a point of a list. A heading is no passage; it says what the
passages below it are about.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

from theorex_lab.core.patterns import lazy_pattern

_HEADING = lazy_pattern(r" {0,3}#{1,6}[ \t]+(?P<title>.*?)[ \t#]*")
_POINT = lazy_pattern(
    r"[ \t]*(?:[-*+•]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(?P<text>.*)"
)
_RULE = lazy_pattern(r"[ \t]*(?:[-=*_`~][ \t]*){3,}\w*[ \t]*")
_ID_BYTES = 8
_BETWEEN = "\0"  # neither an agent, a project, a path nor a passage holds it


class FilePassage(NamedTuple):
    """A part of a file.

    Attributes:
        text: Its text in one line, without the sign of a list.
        heading: The heading that it stands under, '' for none.
    """

    text: str
    heading: str = ""


def file_passages(text: str) -> list[FilePassage]:
    r"""Return the passages of a file, in their order. Linear in its length.

    >>> file_passages("# Till\n\nRounds half\nup.\n\n- port 8080\n- two drawers\n")[1:]
    [FilePassage(text='port 8080', heading='Till'), FilePassage(text='two drawers', heading='Till')]
    """
    reading = _Reading()
    for line in text.splitlines():
        reading.take(line)
    reading.end_passage()
    return reading.passages


class _Reading:
    """What was read of a file so far."""

    def __init__(self) -> None:
        self.passages: list[FilePassage] = []
        self._heading = ""
        self._lines: list[str] = []

    def take(self, line: str) -> None:
        """Take in the next line."""
        heading = _HEADING.fullmatch(line)
        point = _POINT.fullmatch(line)
        if heading is not None:
            self.end_passage()
            self._heading = heading["title"]
        elif not line.strip() or _RULE.fullmatch(line):
            self.end_passage()
        elif point is not None:
            self.end_passage()
            self._lines = [point["text"].strip()]
        else:
            self._lines.append(line.strip())

    def end_passage(self) -> None:
        """End the passage that is being read, if any."""
        text = " ".join(self._lines).strip()
        if text:
            self.passages.append(FilePassage(text, self._heading))
        self._lines = []


def file_number(agent: str, project: str, path: str) -> str:
    """Return what the ids of a file's passages begin with.

    >>> len(file_number("main", "", "/memories/till.md"))
    16
    """
    return _digest(agent, project, path)


def passage_ids(number: str, passages: list[FilePassage]) -> list[str]:
    """Return the ids of a file's passages.

    A passage keeps its id while its words stay in the file, wherever they stand there.

    Args:
        number: What `file_number` gives for the file.
        passages: The passages.

    >>> twice = passage_ids("f", [FilePassage("a"), FilePassage("a")])
    >>> twice[0] == twice[1]
    False
    """
    counts: dict[str, int] = {}
    ids: list[str] = []
    for passage in passages:
        count = counts.get(passage.text, 0)
        counts[passage.text] = count + 1
        ids.append(f"{number}.{_digest(passage.text, str(count))}")
    return ids


def _digest(*parts: str) -> str:
    """Return hexadecimal digits that are the same for the same texts."""
    content = _BETWEEN.join(parts).encode()
    return blake2b(content, digest_size=_ID_BYTES).hexdigest()
