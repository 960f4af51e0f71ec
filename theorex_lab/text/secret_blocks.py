"""Secrets of many characters: private keys with or without their ends, and texts in base64 or hex that hold a secret."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from re import Match

MASK = "[masked]"
_KIND = r"[A-Z0-9 ]{0,40}(?:PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1)[ ]?-----?"
_BEGIN = rf"-----? ?BEGIN {_KIND}"
_END = rf"-----? ?END {_KIND}"
_BREAK = r"(?:\s|\\+[rnt])"
# What a key without its end goes on with: lines of base64, and headers before them.
_BODY = rf"(?:{_BREAK}{{0,80}}[\"'+> ]{{0,4}}(?:[A-Za-z0-9+/=]{{16,}}|(?=[a-z]{{0,15}}[A-Z0-9+/=])[A-Za-z0-9+/=]{{3,15}}(?={_BREAK}|\Z)|(?:Proc-Type|DEK-Info|Version|Comment|Hash|Subject): ?[^\n\\]{{1,200}}))*"
_LINES_BEFORE = r"(?:(?:\s|n\\+|r\\+){0,8}[A-Za-z0-9+/=]{4,}(?=\s|n\\|r\\|\Z))*(?:\s|n\\+)*"
_PUTTY = r"(?s)Private-Lines: ?[0-9]{1,4}.*?(?:Private-MAC: ?[0-9a-f]{1,80}|\Z)"
_AWS_ID = r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}"
_AWS_SECRET = r"(?<![A-Za-z0-9/+=])(?=[^\s]{0,39}[0-9])(?=[^\s]{0,39}[A-Z])(?=[^\s]{0,39}[a-z])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"
_NEAR_CHARACTERS = 400
_BASE64 = r"(?<![A-Za-z0-9+/_=-])(?:[A-Za-z0-9+/]{60,76}\s{1,2}(?=[A-Za-z0-9+/]{4,}))*[A-Za-z0-9+/_-]{16,}={0,2}"
_HEX = r"(?<![0-9A-Za-z])(?:0x|\\x)?(?:[0-9a-fA-F]{2}){12,}(?![0-9A-Za-z])"
# Tokens of bots and tables: no sign of theirs is rare enough to look for it first.
_DOTTED = r"(?:(?<![A-Za-z0-9_.-])|(?<=%3D)|(?<=%20)|(?<=\\n))(?:[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![\w-])|pat[A-Za-z0-9]{14}\.[0-9a-f]{32,})"
_LARGEST_DECODED_CHARACTERS = 1 << 20
_PRINTABLE_SHARE = 0.97


def mask_blocks(text: str) -> str:
    """Mask private keys: with both ends, without one of them, also where the line breaks are escaped."""
    if "Private-Lines" in text:
        text = re.sub(_PUTTY, MASK, text)
    if "BEGIN" not in text and "END" not in text:
        return text
    begins, ends = (
        [each.span() for each in re.finditer(_BEGIN, text)],
        [each.span() for each in re.finditer(_END, text)],
    )
    parts, done = [], 0
    while begins or ends:
        while begins and begins[0][0] < done:
            begins.pop(0)
        while ends and ends[0][0] < done:
            ends.pop(0)
        if not begins and not ends:
            break
        if begins and (not ends or begins[0][0] < ends[0][0]):
            start, stop = begins[0]
            closed = ends and (len(begins) < 2 or ends[0][0] <= begins[1][0])
            body = re.compile(_BODY).match(text, stop)
            end = ends[0][1] if closed else body.end() if body else stop
            if not closed and len(begins) < 2 and not text[end:].strip():
                end = len(text)
        else:
            before = re.match(_LINES_BEFORE, text[done : ends[0][0]][::-1])
            start, end = ends[0][0] - (before.end() if before else 0), ends[0][1]
        parts += [text[done:start], MASK]
        done = end
    return "".join([*parts, text[done:]])


def mask_near_ids(text: str) -> str:
    """Mask the 40 characters of an AWS secret key near the id of its key."""
    places = [each.start() for each in re.finditer(_AWS_ID, text)]

    def masked(match: Match[str]) -> str:
        from bisect import bisect

        place = bisect(places, match.start())
        near = places[max(0, place - 1) : place + 1]
        return MASK if any(abs(each - match.start()) <= _NEAR_CHARACTERS for each in near) else match[0]

    return re.sub(_AWS_SECRET, masked, text) if places else text


def mask_encoded(text: str, mask: Callable[[str], str]) -> str:
    """Mask what is the base64 or the hex of a text in which `mask` finds a secret."""

    def masked(match: Match[str]) -> str:
        decoded = _decoded(match[0])
        return MASK if decoded and re.sub(_DOTTED, MASK, mask(decoded)) != decoded else match[0]

    return re.sub(_HEX, masked, re.sub(_BASE64, masked, re.sub(_DOTTED, MASK, text)))


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
    return (
        text
        if len(text) > 7
        and len(text) >= _PRINTABLE_SHARE * len(found) * 0.5
        and printable >= _PRINTABLE_SHARE * len(text)
        else ""
    )
