"""Secrets on command lines: `curl -u user:X`, `mysql -pX`, `sshpass -p X`; each program has its own way of taking one."""

import re

from theorex_lab.text.masking import MASK
from theorex_lab.text.secret_tables import CALLED, COMMANDS, PROGRAMS, compiled, masked, masked_after, pattern

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
