"""Secrets that are known by their own shape: the key formats of providers, addresses that carry one, headers, cookies."""

import re

from theorex_lab.text import secret_tables as tables
from theorex_lab.text.masking import MASK
from theorex_lab.text.secret_tables import PREFIXED, compiled, masked_after, pattern

FORMATS = tuple(tables.entries("formats"))
_ATTRIBUTES = tables.words("cookie attributes")


def mask_formats(text: str, hints: set[str]) -> str:
    """Mask what has the shape of a secret, the values of cookies, and base64 of user and password."""
    for prefixes, rest in PREFIXED if tables.KEYED in hints else ():
        if found := tuple(prefix for prefix in prefixes if prefix in text):
            text = tables.prefixed(found, rest).sub(MASK, text)
    for own, written in FORMATS:
        if not hints.isdisjoint(own):
            text = compiled(written).sub(masked_after, text)
    if "cookie" in hints:
        text = tables.sub_at(pattern("cookies"), _mask_pairs, text, tables.starts(text, ["cookie"], 4))
    if "basic" in hints or "auth" in hints:
        text = compiled(pattern("basic")).sub(_mask_user, text)
    return text


def _mask_pairs(match: re.Match[str]) -> str:
    return match["keep"] + ";".join(map(_masked_pair, match["pairs"].split(";")))


def _masked_pair(pair: str) -> str:
    name, sign, value = pair.partition("=")
    is_drawn = len(value) > 3 and re.search("[0-9]|.{12}", value) and not re.match(r"\$|<|\{|\[masked", value)
    return name + sign + MASK if is_drawn and name.strip().lower() not in _ATTRIBUTES else pair


def _mask_user(match: re.Match[str]) -> str:
    import binascii

    value = match["value"]
    try:
        found = binascii.a2b_base64(value + "=" * (-len(value) % 4))
    except binascii.Error:
        return match[0]
    is_pair = b":" in found and all(32 <= byte < 127 or byte > 159 for byte in found)
    return masked_after(match) if is_pair else match[0]
