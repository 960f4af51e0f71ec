"""Chats that Cursor exports as Markdown, which is not the form of SpecStory.

Below the title stands when it was exported. Each message stands behind a rule and the
name of its speaker. The export has no times, no calls of tools and no folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from theorex_lab.files.transcripts.message_pieces import MessageOrigin, message_pieces
from theorex_lab.files.transcripts.pieces import Piece

CURSOR = "cursor"
_EXPORTED = re.compile(r"_Exported on [^\n]{1,100} from Cursor[^\n]{0,100}_\s*")
_LOOKED_AT_LINES = 5
_SPEAKER = re.compile(r"(?m)^---\n\n\*\*(User|Cursor)\*\*$")
_ROLES = {
    "User": "user",
    "Cursor": "assistant",
}


def looks_like_cursor(text: str) -> bool:
    r"""Return whether a text begins as Cursor's exports do.

    >>> looks_like_cursor("# Tills\n_Exported on 1/7/2026 at 00:17:50 from Cursor (2.3)_\n")
    True
    """
    lines = text.lstrip("\ufeff\r\n").split("\n", _LOOKED_AT_LINES)
    return any(_EXPORTED.fullmatch(line) for line in lines)


def cursor_pieces(
    text: str,
    session: str,
) -> Iterator[tuple[int, Piece]]:
    """Yield the pieces of an export, each with the number of its first line.

    Args:
        text: The content of the file.
        session: The session.
    """
    text = text.replace("\r\n", "\n")
    matches = [*_SPEAKER.finditer(text)]
    ends = [match.start() for match in matches[1:]]
    ends.append(len(text))
    line = 1
    counted_to = 0
    for match, end in zip(
        matches,
        ends,
        strict=False,
    ):
        start = match.end()
        line += text.count(
            "\n",
            counted_to,
            start,
        )
        counted_to = start
        speaker = match[1]
        words = text[start:end]
        message = {
            "role": _ROLES[speaker],
            "content": words.strip(),
        }
        origin = MessageOrigin(session, line)
        for piece in message_pieces(message, origin):
            yield line, piece
    if not matches:
        origin = MessageOrigin(session, line)
        yield line, origin.left_out("export in which nothing was said")
