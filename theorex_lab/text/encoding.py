"""The text that the bytes of a file are, whatever their encoding.

Standard library only.
"""

import codecs
import re
from typing import NamedTuple

# UTF-32 stands before UTF-16, whose mark it begins with.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")
_PER_CONTROL = 50  # so many characters of a text may hold one control character
_FEW_CONTROLS = 2
_NULS_SAMPLED = 4_096
_NULS_OF_UTF16 = 0.3  # their share, at least, in a text of mostly Latin letters


class DecodedSource(NamedTuple):
    """Hold the text of a file.

    Attributes:
        text: The text, without a byte order mark.
        encoding: The encoding that it was read in.
        problem: What a reader should know of it; '' for nothing.
        is_text: Whether it is text at all.
    """

    text: str
    encoding: str
    problem: str
    is_text: bool


def decode_bytes(content: bytes, declared: str = "") -> DecodedSource:
    r"""Return the text that these bytes are.

    A byte order mark decides, then the declared encoding, then UTF-8, then UTF-16
    without a mark; what is none of them is read as Windows-1252, which is said.

    Args:
        content: The bytes.
        declared: The encoding that the file names itself; '' for none.

    >>> decode_bytes("grüße".encode("latin-1"), "latin-1").text
    'grüße'
    >>> decode_bytes("\ufeffgrüße".encode("utf-16-le")).text
    'grüße'
    >>> decode_bytes(b"\x00\x01\x02\x03").is_text
    False
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            without_mark = content.removeprefix(mark)
            return _replaced(without_mark, encoding)
    for encoding in _candidates(content, declared):
        text = _strict(content, encoding)
        if text is not None:
            problem = _false_name(encoding, declared)
            return _decoded_text(text, encoding, problem)
    text = content.decode("cp1252", "replace")
    problem = "it is no UTF-8; it was read as Windows-1252, so check its letters"
    return _decoded_text(text, "cp1252", problem)


def _candidates(content: bytes, declared: str) -> list[str]:
    """Return the encodings that bytes without a mark may be in, the likeliest first."""
    without_mark = _utf16_without_mark(content)
    names = [declared, without_mark, "utf-8"]
    return [name for name in names if name]


def _false_name(encoding: str, declared: str) -> str:
    """Return what is to be said where a file names an encoding that it is not in."""
    if not declared or encoding == declared:
        return ""
    return f"it names the encoding {declared:.40}, and was read as {encoding}"


def _replaced(content: bytes, encoding: str) -> DecodedSource:
    """Return a text with a byte order mark; what is broken in it is replaced."""
    text = _strict(content, encoding)
    if text is not None:
        return _decoded_text(text, encoding, "")
    text = content.decode(encoding, "replace")
    problem = f"some of it is no {encoding.upper()}; those characters were replaced"
    return _decoded_text(text, encoding, problem)


def _decoded_text(text: str, encoding: str, problem: str) -> DecodedSource:
    controls = _CONTROLS.findall(text)
    most = len(text) // _PER_CONTROL
    most = max(_FEW_CONTROLS, most)
    return DecodedSource(
        text,
        encoding,
        problem,
        is_text=len(controls) <= most,
    )


def _strict(content: bytes, encoding: str) -> str | None:
    """Return the text in an encoding; None where the bytes are not in it."""
    try:
        text = codecs.decode(content, encoding)
    except (ValueError, LookupError, TypeError):
        return None
    return text if isinstance(text, str) else None


def _utf16_without_mark(content: bytes) -> str:
    """Return the kind of UTF-16 whose zero bytes these are; '' for none."""
    sample = content[:_NULS_SAMPLED]
    if len(content) % 2 or not sample:
        return ""
    even_bytes = sample[::2]
    odd_bytes = sample[1::2]
    n_even = even_bytes.count(0)
    n_odd = odd_bytes.count(0)
    many = len(sample) * _NULS_OF_UTF16
    if n_odd > many and not n_even:
        return "utf-16-le"
    if n_even > many and not n_odd:
        return "utf-16-be"
    return ""
