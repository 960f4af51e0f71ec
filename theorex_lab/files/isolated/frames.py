"""The parts of a reply of the process that reads files.

Each is a sign, the length of what follows, and so many bytes of JSON.
"""

from __future__ import annotations

# A reader is about to read; what it reads with is imported.
START = b">"
# What a reader returns, or a list of what it yields, where more may follow.
VALUE = b"v"
# The end of a reader's values.
END = b"."
# An error: a list of its kind, what it says, and what it names.
ERROR = b"!"
HEAD_BYTES = 9


def frame_head(sign: bytes, size: int) -> bytes:
    """Return what stands before the content of a part.

    >>> size_in(frame_head(END, 300))
    300
    """
    return sign + size.to_bytes(HEAD_BYTES - 1, "big")


def size_in(head: bytes) -> int:
    """Return how many bytes of content follow a head."""
    return int.from_bytes(head[1:], "big")
