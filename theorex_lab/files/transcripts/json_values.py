"""The objects in a document of JSON, one by one.

A document is a list, or one object over several lines, where other transcripts have an
object a line. It is read in steps: only one element of a list is held at a time, and
none that is too long.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

_BLANK = re.compile(r"[\s\0\ufeff]*")
_DECODER = json.JSONDecoder()
_STEP_BYTES = 1 << 20
# An error so near the end of what was read may be there since more follows.
_NEAR_THE_END = 16
_ENDS_INSIDE = "the file ends inside the document"


class JsonElement(NamedTuple):
    """One value of a document.

    Attributes:
        value: The value, None where it cannot be read.
        text: How it stands there.
        problem: Why it cannot be read, '' where it can.
    """

    value: object
    text: str
    problem: str = ""


_BROKEN_ELEMENT = JsonElement(
    None,
    "",
    "not JSON from here on, or nested too deeply",
)


def is_document(start: bytes) -> bool:
    r"""Return whether what begins so is one document, and no lines of objects.

    A line that a killed program left unfinished makes no document: an object follows.

    >>> is_document(b'[{"a": 1},\n'), is_document(b'{\n  "a": 1\n')
    (True, True)
    >>> is_document(b'{"a": {\n{"a": 1}\n')
    False
    """
    text = start.decode("utf-8-sig", "replace").lstrip(" \t\r\n\0\ufeff")
    if text.startswith("["):
        return True
    first_line, _, rest = text.partition("\n")
    if not rest or not text.startswith("{"):
        return False
    goes_on = first_line.rstrip().endswith(("{", "[", ",", ":"))
    return goes_on and not rest.startswith("{")


def elements_of(content: BinaryIO, longest_bytes: int) -> Iterator[JsonElement]:
    """Yield the elements of a document that is a list, else its values.

    What cannot be read is the last.

    Args:
        content: The document.
        longest_bytes: How long one element may be.
    """
    buffer = _Buffer(content, longest_bytes)
    is_list = buffer.next_sign() == "["
    if is_list:
        buffer.skip()
    while sign := buffer.next_sign():
        if is_list and sign in ",]":
            buffer.skip()
            is_list = sign != "]"
            continue
        element = buffer.value()
        yield element
        if element.problem:
            return
    if is_list:
        yield JsonElement(None, "", _ENDS_INSIDE)


class _Buffer:
    """The part of a document that is looked at."""

    def __init__(self, content: BinaryIO, longest_bytes: int) -> None:
        self._content = content
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._longest = longest_bytes
        self._text = ""
        self._offset = 0
        self._at_end = False

    def next_sign(self) -> str:
        """Return the next character that is no blank; '' at the end."""
        while True:
            blank = _BLANK.match(self._text, self._offset)
            self._offset = blank.end() if blank else self._offset
            if self._offset < len(self._text):
                return self._text[self._offset]
            if self._at_end:
                return ""
            self._more()

    def skip(self) -> None:
        """Pass over one character."""
        self._offset += 1

    def value(self) -> JsonElement:
        """Return the next value, and pass over it."""
        while True:
            element = self._element()
            if element is not None:
                return element
            if self._at_end:
                return JsonElement(None, "", _ENDS_INSIDE)
            if len(self._text) - self._offset > self._longest:
                most = self._longest >> 20
                return JsonElement(None, "", f"longer than {most} MiB")
            self._more()

    def _element(self) -> JsonElement | None:
        """Return the next value, None where more must be read for it."""
        try:
            value, end = _DECODER.raw_decode(self._text, self._offset)
        except json.JSONDecodeError as error:
            return None if _is_cut(error, self._text) else _BROKEN_ELEMENT
        except (ValueError, RecursionError):
            return _BROKEN_ELEMENT
        if end == len(self._text) and not self._at_end:
            return None  # a number may go on
        text = self._text[self._offset : end]
        self._offset = end
        return JsonElement(value, text)

    def _more(self) -> None:
        """Read on, as much as is held, so that long elements are not tried often."""
        n_bytes = max(_STEP_BYTES, len(self._text) - self._offset)
        piece = self._content.read(n_bytes)
        self._at_end = not piece
        rest = self._text[self._offset :]
        self._text = rest + self._decode(piece, self._at_end)
        self._offset = 0


def _is_cut(error: json.JSONDecodeError, text: str) -> bool:
    """Return whether a text is no JSON since it ends too early."""
    if error.msg.startswith("Unterminated string"):
        return True
    return len(text.rstrip()) - error.pos <= _NEAR_THE_END
