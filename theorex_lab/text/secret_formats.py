"""Secrets that are known by their own shape: the key formats of providers, addresses that carry one, headers, cookies; and what programs
take as a password on their command lines: `curl -u user:X`, `mysql -pX`, `sshpass -p X`.
"""

import re

from theorex_lab.text import secret_tables as tables
from theorex_lab.text.masking import MASK
from theorex_lab.text.secret_tables import CALLED, COMMANDS, PREFIXED, PROGRAMS, compiled, masked, masked_after, pattern

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


_CALL = rf"(?<![\w.-])(?P<program>{'|'.join(map(re.escape, PROGRAMS))})(?:\.exe)?{pattern('arguments')}"


def mask_commands(text: str, hints: set[str]) -> str:
    """Mask what a program takes as a password on its command line."""
    if not hints.isdisjoint(("echo", "printf", "<<<")):
        text = re.sub(pattern("piped"), lambda it: it[0] if MASK in it["value"] else masked(it, "value"), text)
        text = re.sub(pattern("here"), masked_after, text)
    return compiled(_CALL).sub(_mask_arguments, text) if CALLED in hints else text


def _mask_arguments(match: re.Match[str]) -> str:
    arguments = match["arguments"]
    for programs, written in COMMANDS:
        if match["program"] in programs:
            arguments = re.sub(compiled(written), _mask_one, arguments)
    return match[0][: match.start("arguments") - match.start()] + arguments


def _mask_one(match: re.Match[str]) -> str:
    group = "value" if match["value"] is not None else "value2"
    return match[0] if match[group].startswith(MASK) else masked(match, group)
