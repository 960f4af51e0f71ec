"""Secrets on command lines: `curl -u user:X`, `mysql -pX`, `sshpass -p X`; each program has its own way of taking one."""

from __future__ import annotations

import re

from theorex_lab.text.masking import MASK
from theorex_lab.text.secret_tables import entries, expanded, masked, masked_after, pattern

COMMANDS = tuple(entries("commands"))


def mask_commands(text: str, lowered: str) -> str:
    """Mask what a program takes as a password on its command line."""
    if "echo" in lowered or "printf" in lowered or "<<<" in lowered:
        text = re.sub(
            pattern("piped"), lambda match: match[0] if MASK in match["value"] else masked(match, "value"), text
        )
        text = re.sub(pattern("here"), masked_after, text)
    tokens = {program for programs, _ in COMMANDS for program in programs if program in lowered}
    if not tokens:
        return text
    names = "|".join(re.escape(token) for token in sorted(tokens, key=len, reverse=True))
    return re.sub(rf"(?<![\w.-])(?P<program>{names})(?:\.exe)?{pattern('arguments')}", _mask_arguments, text)


def _mask_arguments(match: re.Match[str]) -> str:
    arguments = match["arguments"]
    for programs, written in COMMANDS:
        if match["program"] in programs:
            arguments = re.sub(expanded(written), _mask_one, arguments)
    return match[0][: match.start("arguments") - match.start()] + arguments


def _mask_one(match: re.Match[str]) -> str:
    group = "value" if match["value"] is not None else "value2"
    return match[0] if match[group].startswith(MASK) else masked(match, group)
