"""Mask secrets of many characters.

Those are private keys, with or without their ends, and texts in base64 or hex that hold
a secret.
"""

import re
from bisect import bisect
from collections import deque
from collections.abc import Callable
from functools import lru_cache

from theorex_lab.text.redact.hints import MASK
from theorex_lab.text.redact.secret_tables import named_pattern

Spans = deque[tuple[int, int]]
_NEAR_CHARACTERS = 400
_PRINTABLE_SHARE = 0.97
_SHORTEST_ENCODED_CHARACTERS = 16
_LONGEST_REMEMBERED_CHARACTERS = 200
_LARGEST_DECODED_CHARACTERS = 1 << 20


def mask_blocks(text: str) -> str:
    """Mask private keys: with both ends, or without one of them.

    They are masked also where the line breaks are escaped.
    """
    if "Private-Lines" in text:
        text = named_pattern("putty").sub(MASK, text)
    if "BEGIN" not in text and "END" not in text:
        return text
    begins = _spans_of("begin", text)
    ends = _spans_of("end", text)
    parts = []
    done = 0
    while begins or ends:
        start, end = _next_key(text, done, begins, ends)
        parts += [text[done:start], MASK]
        done = end
        _drop_before(done, begins)
        _drop_before(done, ends)
    return "".join([*parts, text[done:]])


def _spans_of(name: str, text: str) -> Spans:
    """Return where the pattern of this name matches, in order."""
    return deque(match.span() for match in named_pattern(name).finditer(text))


def _drop_before(index: int, spans: Spans) -> None:
    """Drop the spans that begin before the index."""
    while spans and spans[0][0] < index:
        spans.popleft()


def _next_key(text: str, done: int, begins: Spans, ends: Spans) -> tuple[int, int]:
    """Return where the next key lies, which may lack its begin or its end.

    Args:
        text: The whole text.
        done: The index up to which it is masked.
        begins: The begins of keys from there on.
        ends: The ends of keys from there on.
    """
    if begins and (not ends or begins[0][0] < ends[0][0]):
        return begins[0][0], _end_of_key(text, begins, ends)
    end_start, end = ends[0]
    lines = named_pattern("lines before").match(text[done:end_start][::-1])
    n_characters = lines.end() if lines else 0
    return end_start - n_characters, end


def _end_of_key(text: str, begins: Spans, ends: Spans) -> int:
    """Return where the key ends that begins first.

    That is its end or, where it has none, the last line that looks like a part of it.
    """
    if ends and (len(begins) < 2 or ends[0][0] <= begins[1][0]):
        return ends[0][1]
    body = named_pattern("body").match(text, begins[0][1])
    end = body.end() if body else begins[0][1]
    is_rest_blank = len(begins) < 2 and not text[end:].strip()
    return len(text) if is_rest_blank else end


def mask_near_ids(text: str) -> str:
    """Mask the 40 characters of an AWS secret key near the id of its key."""
    id_starts = [match.start() for match in named_pattern("aws id").finditer(text)]
    if not id_starts:
        return text

    def masked(match: re.Match[str]) -> str:
        index = bisect(id_starts, match.start())
        for id_start in id_starts[max(0, index - 1) : index + 1]:
            if abs(id_start - match.start()) <= _NEAR_CHARACTERS:
                return MASK
        return match[0]

    return named_pattern("aws secret").sub(masked, text)


def mask_encoded(text: str, mask: Callable[[str], str]) -> str:
    """Mask what is the base64 or the hex of a text in which `mask` finds a secret."""
    for word in set(text.split()):
        if _may_hide(word, mask):
            return _mask_encoded(text, mask)
    return text


def _may_hide(word: str, mask: Callable[[str], str]) -> bool:
    """Return whether a word may be, or begin, the base64 or hex of a secret."""
    if len(word) < _SHORTEST_ENCODED_CHARACTERS:
        return False
    return len(word) > _LONGEST_REMEMBERED_CHARACTERS or _hides(word, mask)


@lru_cache(1 << 14)
def _hides(word: str, mask: Callable[[str], str]) -> bool:
    """Return whether a word hides a secret, or ends in what may go on in the next."""
    if _mask_encoded(word, mask) != word:
        return True
    return re.search("[A-Za-z0-9+/]{60}$", word) is not None


def _mask_encoded(text: str, mask: Callable[[str], str]) -> str:
    def masked(match: re.Match[str]) -> str:
        decoded = _decoded(match[0])
        if not decoded:
            return match[0]
        is_secret = named_pattern("dotted").sub(MASK, mask(decoded)) != decoded
        return MASK if is_secret else match[0]

    text = named_pattern("dotted").sub(MASK, text)
    text = named_pattern("base64").sub(masked, text)
    return named_pattern("hex").sub(masked, text)


def _decoded(encoded: str) -> str:
    """Return the text that was encoded, '' where that is none."""
    import binascii

    digits = re.sub(r"\s|^0x|\\x", "", encoded[:_LARGEST_DECODED_CHARACTERS])
    try:
        if re.fullmatch("(?:[0-9a-fA-F]{2})+", digits):
            content = bytes.fromhex(digits)
        else:
            content = _from_base64(digits)
    except (binascii.Error, ValueError):
        return ""
    text = content.decode("utf-8", "ignore")
    return text if _is_printable(text, len(content)) else ""


def _from_base64(digits: str) -> bytes:
    """Return the bytes of a base64 of either alphabet, with or without its end."""
    import binascii

    plain = digits.rstrip("=").translate({ord("-"): "+", ord("_"): "/"})
    if len(plain) % 4 == 1:
        plain = plain[:-1]
    return binascii.a2b_base64(plain + "=" * (-len(plain) % 4))


def _is_printable(text: str, n_bytes: int) -> bool:
    """Return whether bytes were a text.

    Args:
        text: What they are in UTF-8, without those that are none.
        n_bytes: How many they were.
    """
    if len(text) <= 7 or len(text) < _PRINTABLE_SHARE * n_bytes * 0.5:
        return False
    runs = re.findall(r"[ -~\n\r\t\u00a0-\uffff]+", text)
    return sum(map(len, runs)) >= _PRINTABLE_SHARE * len(text)
