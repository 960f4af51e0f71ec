"""Texts in any encoding, and what had to be guessed of them."""

from __future__ import annotations

import codecs
import re
import unicodedata
from typing import NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.text.visible import visible

# Byte order marks. Those of UTF-32 begin as those of UTF-16 do, and come first.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# Wide encodings, and in each the other order of bytes.
_WIDE = {
    "utf-32-le": "utf-32-be",
    "utf-32-be": "utf-32-le",
    "utf-16-le": "utf-16-be",
    "utf-16-be": "utf-16-le",
}
# Control characters that no text needs; line ends, tabs, page breaks, backspaces and
# the colours of a terminal are none of them.
_CONTROLS = bytes.fromhex(
    "0001020304050607"  # before the backspace
    "0e0f101112131415161718191a"  # between the carriage return and the escape
    "1c1d1e1f7f"
)
_CONTROL = re.compile(r"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f]")
_FEW_CONTROLS = 2
_CONTROLS_IN_UTF8 = 0.1
_CONTROLS_IN_OTHERS = 0.01
# The share of a wide text's characters that are letters, digits, signs or white space.
_WIDE_SHARE = 0.98
_COMMON = "\u3000\u3002\uff0c"
_LOW = bytes(range(32)).translate(None, b"\n\r")
_LOW_SHARE = 0.2
_ASCII = bytes(range(128))
_ASCII_SHARE = 0.8
_CHECKED_CHARACTERS = 20_000
_GUESSED_BYTES = 1 << 20
# In Latin scripts a letter that is not ASCII stands alone, in others in runs.
_LATIN_RUN = 1.7
_HIGH_RUN = re.compile(rb"[\x80-\xff]+")
_SIGN_IN_WORD = re.compile(r"[A-Za-z][¡-¿×÷¤][A-Za-z]")
_DECLARED = re.compile(rb"coding[:=][ \t]*([-\w.]{1,40})")
_BROKEN = re.compile("[\udc80-\udcff]")
_MULTIBYTE = re.compile(r"[\u0080-\U0010ffff]")
# What windows-1252 has where latin-1 has control characters.
_WESTERN_BYTES = bytes(range(0x80, 0xA0))
_WESTERN_UNUSED = b"\x81\x8d\x8f\x90\x9d"
_WESTERN = "windows-1252"
_NO_TEXT = "it holds bytes that no text has; is it another kind of file?"
_MOST_NAMED = 5


class DecodedText(NamedTuple):
    """The text of a file.

    Attributes:
        text: The text, with one kind of line break and without what nobody sees.
        notes: What was guessed of it, or is odd about it.
        n_unseen: How many characters were taken out that nobody sees.
    """

    text: str
    notes: list[str]
    n_unseen: int


def decode(content: bytes, declared: str = "") -> DecodedText:
    """Return the text of a file in UTF-8, UTF-16, UTF-32 or another encoding.

    Where neither a byte order mark nor the text says the encoding, and it is no UTF-8,
    the encoding is guessed, and a note says so.

    Args:
        content: The content of the file.
        declared: The encoding that the text says of itself, '' for none.

    Raises:
        InvalidInput: Where it is no text.

    >>> decode("Zürich".encode("latin-1"))[:2]
    ('Zürich', ['read as windows-1252: a guess'])
    """
    named_encoding = declared or _declared_in(content)
    text, notes = _decoded(content, named_encoding)
    cleaned = cleaned_text(text)
    return cleaned._replace(notes=[*notes, *cleaned.notes])


def cleaned_text(text: str) -> DecodedText:
    r"""Return the text with one kind of line break, as it can be kept.

    A soft hyphen at the end of a line becomes a hyphen, as a reader sees it. Other
    characters that nobody sees are taken out, and counted.

    >>> cleaned_text("a\r\nb\u00ad\nc\u200bd")
    DecodedText(text='a\nb-\ncd', notes=[], n_unseen=1)
    """
    text = re.sub("\r\n?", "\n", text)
    text = re.sub("[\v\f\x1c-\x1e\x85\u2028\u2029]", " ", text)
    text = text.replace("\u00ad\n", "-\n")
    seen_text = visible(text)
    n_unseen = len(text) - len(seen_text)
    notes = _control_notes(seen_text)
    storable = seen_text.replace("\0", "\ufffd")
    storable = storable.encode("utf-8", "replace").decode()
    return DecodedText(storable, notes, n_unseen)


def _control_notes(text: str) -> list[str]:
    """Return a note where a text has control characters, else nothing."""
    controls = _CONTROL.findall(text)
    if not controls:
        return []
    codes = []
    for control in sorted(set(controls)):
        codes.append(f"U+{ord(control):04X}")
    listed = ", ".join(codes[:_MOST_NAMED])
    if len(codes) > _MOST_NAMED:
        listed += ", …"
    count = len(controls)
    noun = "control character" if count == 1 else "control characters"
    return [f"it has {count:,} {noun} ({listed}); the text around is read"]


def _decoded(
    content: bytes,
    declared: str,
) -> tuple[str, list[str]]:
    """Return the text of a file as it stands there, and what was guessed."""
    content = content.removeprefix(codecs.BOM_UTF8)
    for mark, encoding in _MARKS.items():
        if content.startswith(mark):
            return _lenient(content, encoding)
    wide_encoding = _wide_encoding(content)
    if wide_encoding:
        text = content.decode(wide_encoding)
        name = wide_encoding.upper()
        note = f"read as {name}: a guess, it has no byte order mark"
        return text, [note]
    has_shifts = b"\x1b" in content  # ISO-2022 looks like ASCII
    utf8_text = None if has_shifts and declared else _by_name(content, "utf-8")
    if utf8_text is not None:
        _check_controls(content, _CONTROLS_IN_UTF8)
        return utf8_text, []
    _check_controls(content, _CONTROLS_IN_OTHERS)
    return _in_another_encoding(content, declared)


def _lenient(
    content: bytes,
    encoding: str,
) -> tuple[str, list[str]]:
    """Return a text whose encoding is sure; a broken byte becomes a sign for it."""
    text = _by_name(content, encoding)
    if text is not None:
        return text, []
    text = content.decode(encoding, "replace")
    return text, [f"it is broken {encoding.upper()}: some characters are lost"]


def _count(content: bytes, counted: bytes) -> int:
    """Return how many of some bytes there are."""
    others = content.translate(None, counted)
    return len(content) - len(others)


def _check_controls(content: bytes, share: float) -> None:
    """Raise InvalidInput where a file has more control characters than a text has."""
    n_controls = _count(content, _CONTROLS)
    n_others = len(content) - n_controls
    allowed = max(_FEW_CONTROLS, share * len(content))
    if n_controls > allowed or n_controls > n_others:
        raise InvalidInput(_NO_TEXT)


def _wide_encoding(content: bytes) -> str:
    """Return the encoding of a text in UTF-16 or UTF-32 without a mark, else ''."""
    if b"\0" not in content:
        return ""
    # Half of its bytes are below those of blanks, or it is no ASCII for the most part.
    is_low = _count(content, _LOW) >= _LOW_SHARE * len(content)
    is_ascii = _count(content, _ASCII) >= _ASCII_SHARE * len(content)
    if is_ascii and not is_low:
        return ""
    for encoding in _WIDE:
        if _is_readable(content, encoding):
            return encoding
    return ""


def _is_readable(content: bytes, encoding: str) -> bool:
    """Return whether nearly all that is decoded stands in texts, and blanks do."""
    text = _by_name(content, encoding)
    if text is None:
        return False
    checked = text[:_CHECKED_CHARACTERS]
    n_readable = sum(map(_is_textual, checked))
    if n_readable < _WIDE_SHARE * len(checked):
        return False
    # The other order of bytes makes rare signs of blanks and full stops.
    beginning = content[: 4 * len(checked)]
    swapped = beginning.decode(_WIDE[encoding], "replace")
    return _n_common(checked) > _n_common(swapped)


def _n_common(text: str) -> int:
    """Return how many characters of a text stand in most texts."""
    n_common = 0
    for character in text:
        if character.isascii() or character in _COMMON:
            n_common += 1
    return n_common


def _is_textual(character: str) -> bool:
    """Return whether a character stands in texts."""
    if character in "\n\r\t":
        return True
    category = unicodedata.category(character)
    return category[0] in "LMNPSZ"


def _in_another_encoding(
    content: bytes,
    declared: str,
) -> tuple[str, list[str]]:
    """Return the text of a file that is no UTF-8, and what was guessed of it."""
    declared_text = _by_name(content, declared)
    if declared_text is not None:
        return declared_text, []
    lenient_text = content.decode("utf-8", "surrogateescape")
    n_high = len(_MULTIBYTE.findall(lenient_text))
    n_broken = len(_BROKEN.findall(lenient_text))
    if n_high > 2 * n_broken:
        text = _BROKEN.sub(_western_of, lenient_text)
        noun = "byte that is" if n_broken == 1 else "bytes that are"
        return text, [f"{n_broken:,} {noun} no UTF-8 read as windows-1252: a guess"]
    encoding = _guessed_encoding(content)
    notes = [f"read as {encoding}: a guess"]
    if encoding == _WESTERN:
        return _western(content), notes
    return content.decode(encoding, "replace"), notes


def _by_name(content: bytes, encoding: str) -> str | None:
    """Return the text in an encoding, None where it is not in it.

    Who says latin-1 means windows-1252, as browsers know.
    """
    try:
        codec = codecs.lookup(encoding)
        if codec.name == "iso8859-1":
            return _western(content)
        return content.decode(encoding)
    except (LookupError, ValueError):
        return None


def _declared_in(content: bytes) -> str:
    """Return the encoding that the first two lines of a file name, as editors do."""
    lines = content[:400].split(b"\n", 2)
    for line in lines[:2]:
        match = _DECLARED.search(line)
        if match:
            return match[1].decode("ascii", "replace")
    return ""


def _western_of(match: re.Match[str]) -> str:
    """Return the broken bytes of a text in UTF-8, read as windows-1252."""
    broken = match[0].encode("utf-8", "surrogateescape")
    return _western(broken)


def _western(content: bytes) -> str:
    """Return a text in windows-1252; the five bytes that it lacks are as in latin-1."""
    signs = {}
    for byte in _WESTERN_BYTES.translate(None, _WESTERN_UNUSED):
        signs[byte] = bytes([byte]).decode("cp1252")
    text = content.decode("latin-1")
    return text.translate(signs)


def _guessed_encoding(content: bytes) -> str:
    """Return the encoding that a text has most likely.

    Short texts in a Latin script are told apart best by their shape: their letters
    beyond ASCII stand alone, and none of them is a sign within a word.
    """
    beginning = content[:_GUESSED_BYTES]
    runs = _HIGH_RUN.findall(beginning)
    n_high = sum(map(len, runs))
    is_latin = n_high < _LATIN_RUN * len(runs)
    western_text = _western(beginning)
    if is_latin and not _SIGN_IN_WORD.search(western_text):
        return _WESTERN
    from charset_normalizer import from_bytes

    best = from_bytes(beginning).best()
    if best is None or best.encoding.startswith(("utf", "ascii")):
        return _WESTERN
    name: str = best.encoding
    return re.sub(r"^cp(125\d)$", r"windows-\1", name)
