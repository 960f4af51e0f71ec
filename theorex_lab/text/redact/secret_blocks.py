"""Secrets of many characters: private keys with or without their ends, and texts in
base64 or hex that hold a secret.
"""

import re
from bisect import bisect
from collections import deque
from collections.abc import Callable
from functools import lru_cache

from theorex_lab.text.redact.hints import MASK
from theorex_lab.text.redact.secret_tables import named_pattern

_NEAR_CHARACTERS = 400
_PRINTABLE_SHARE = 0.97
_SHORTEST_ENCODED_CHARACTERS = 16
_LONGEST_REMEMBERED_CHARACTERS = 200
_LARGEST_DECODED_CHARACTERS = 1 << 20


def mask_blocks(text: str) -> str:
    """Mask private keys: with both ends, without one of them, also where the line
    breaks are escaped.
    """
    if "Private-Lines" in text:
        text = named_pattern("putty").sub(MASK, text)
    if "BEGIN" not in text and "END" not in text:
        return text
    begins, ends = (
        deque(match.span() for match in named_pattern(name).finditer(text))
        for name in ("begin", "end")
    )
    parts = []
    done = 0
    while begins or ends:
        if begins and (not ends or begins[0][0] < ends[0][0]):
            start = begins[0][0]
            end = _end_of_key(text, begins, ends)
        else:
            before = named_pattern("lines before").match(text[done : ends[0][0]][::-1])
            start = ends[0][0] - (before.end() if before else 0)
            end = ends[0][1]
        parts += [text[done:start], MASK]
        done = end
        for spans in (begins, ends):
            while spans and spans[0][0] < done:
                spans.popleft()
    return "".join([*parts, text[done:]])


def _end_of_key(
    text: str, begins: deque[tuple[int, int]], ends: deque[tuple[int, int]]
) -> int:
    """Where the key ends that begins first: at its end or, without one, at the last
    line that looks like a part of it.
    """
    if ends and (len(begins) < 2 or ends[0][0] <= begins[1][0]):
        return ends[0][1]
    body = named_pattern("body").match(text, begins[0][1])
    end = body.end() if body else begins[0][1]
    return len(text) if len(begins) < 2 and not text[end:].strip() else end


def mask_near_ids(text: str) -> str:
    """Mask the 40 characters of an AWS secret key near the id of its key."""
    places = [match.start() for match in named_pattern("aws id").finditer(text)]

    def masked(match: re.Match[str]) -> str:
        place = bisect(places, match.start())
        near = places[max(0, place - 1) : place + 1]
        return (
            MASK
            if any(abs(start - match.start()) <= _NEAR_CHARACTERS for start in near)
            else match[0]
        )

    return named_pattern("aws secret").sub(masked, text) if places else text


def mask_encoded(text: str, mask: Callable[[str], str]) -> str:
    """Mask what is the base64 or the hex of a text in which `mask` finds a secret."""
    long = {word for word in text.split() if len(word) >= _SHORTEST_ENCODED_CHARACTERS}
    may_hide = any(
        len(word) > _LONGEST_REMEMBERED_CHARACTERS or _hides(word, mask)
        for word in long
    )
    return _mask_encoded(text, mask) if may_hide else text


@lru_cache(1 << 14)
def _hides(word: str, mask: Callable[[str], str]) -> bool:
    return (
        _mask_encoded(word, mask) != word
        or re.search("[A-Za-z0-9+/]{60}$", word) is not None
    )


def _mask_encoded(text: str, mask: Callable[[str], str]) -> str:
    def masked(match: re.Match[str]) -> str:
        decoded = _decoded(match[0])
        return (
            MASK
            if decoded and named_pattern("dotted").sub(MASK, mask(decoded)) != decoded
            else match[0]
        )

    text = named_pattern("dotted").sub(MASK, text)
    text = named_pattern("base64").sub(masked, text)
    return named_pattern("hex").sub(masked, text)


def _decoded(encoded: str) -> str:
    """The text that was encoded, '' where that is none."""
    import binascii

    digits = re.sub(r"\s|^0x|\\x", "", encoded[:_LARGEST_DECODED_CHARACTERS])
    try:
        if re.fullmatch("(?:[0-9a-fA-F]{2})+", digits):
            found = bytes.fromhex(digits)
        else:
            plain = digits.rstrip("=").translate({ord("-"): "+", ord("_"): "/"})
            plain = plain[: len(plain) - 1] if len(plain) % 4 == 1 else plain
            found = binascii.a2b_base64(plain + "=" * (-len(plain) % 4))
    except (binascii.Error, ValueError):
        return ""
    text = found.decode("utf-8", "ignore")
    printable = sum(map(len, re.findall(r"[ -~\n\r\t\u00a0-\uffff]+", text)))
    is_text = len(text) >= _PRINTABLE_SHARE * len(
        found
    ) * 0.5 and printable >= _PRINTABLE_SHARE * len(text)
    return text if len(text) > 7 and is_text else ""
