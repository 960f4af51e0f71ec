"""Cookies, Basic credentials and other values in headers and files of settings that need a look inside."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match

MASK = "[masked]"
_COOKIES = r"(?i)(?P<keep>(?:set-)?cookies?\\*[\"']?\]?(?:[ \t]{0,4}[:=][ \t]{0,4}|,[ ]{0,2})\\*[\"'`]?)(?P<pairs>[\w.%$-]{1,80}=[^\s;\"'`\\,<>()]{1,4096}(?:;[ \t]?[\w.%$-]{1,80}(?:=[^\s;\"'`\\]{0,4096})?){0,80})"
_ATTRIBUTES = frozenset("path domain expires max-age samesite secure httponly priority version comment".split())
_BASIC = r"(?i)(?P<keep>(?<![a-z])basic[ \t]{1,4}|[\"']_?auth\\*[\"'][ \t]{0,2}:\s{0,8}\\*[\"']|(?<![\w])_auth[ \t]{0,2}=[ \t]{0,2})(?P<value>[A-Za-z0-9+/]{6,2000}={0,2})"


def mask_headers(text: str, lowered: str) -> str:
    """Mask the values of cookies, and base64 of user and password."""
    if "cookie" in lowered:
        text = re.sub(_COOKIES, _mask_pairs, text)
    if "basic" in lowered or "auth" in lowered:
        text = re.sub(_BASIC, _mask_user, text)
    return text


def _mask_pairs(match: Match[str]) -> str:
    parts = match["pairs"].split(";")
    for place, part in enumerate(parts):
        name, sign, value = part.partition("=")
        if (
            sign
            and name.strip().lower() not in _ATTRIBUTES
            and re.search("[0-9]|.{12}", value)
            and not re.match(r"\$|<|\{|\[masked", value)
            and len(value) > 3
        ):
            parts[place] = name + sign + MASK
    return match["keep"] + ";".join(parts)


def _mask_user(match: Match[str]) -> str:
    import binascii

    value = match["value"]
    try:
        found = binascii.a2b_base64(value + "=" * (-len(value) % 4))
    except binascii.Error:
        return match[0]
    is_pair = b":" in found and all(32 <= byte < 127 or byte > 159 for byte in found)
    return match["keep"] + MASK if is_pair else match[0]
