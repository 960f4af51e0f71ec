r"""Mask secrets in a text that is written in another form, or wrapped.

Forms are those of addresses (`%3D`), of JSON and code (`\u003d`, `\x3d`, `\/`), of HTML
(`&#61;`, `&quot;`), of the shell (`'"'"'`) and of mails (`=3D`), also one in another. A
line in such a form is read as it is meant; what is a secret then is masked as it is
written. A key that is wrapped into lines is read as one word.
"""

import re
from collections.abc import Callable

from theorex_lab.text.redact.hints import MASK
from theorex_lab.text.redact.masking import may_hold_secret

Mask = Callable[[str], str]

_NAMED = {
    "quot": '"',
    "amp": "&",
    "apos": "'",
    "lt": "<",
    "gt": ">",
    "equals": "=",
    "colon": ":",
    "commat": "@",
    "sol": "/",
    "nbsp": " ",
}
_NAMES = "|".join(_NAMED)
# A sign in another form: its number in hexadecimal or decimal digits, or its name.
_ESCAPED = re.compile(
    rf"""
      %(?P<percent>[2-7][0-9A-Fa-f])
    | (?P<bytes>(?:%[89A-Fa-f][0-9A-Fa-f]){{2,4}})
    | \\+u(?P<json>00[2-9A-Fa-f][0-9A-Fa-f]|0[1-9a-fA-F][0-9A-Fa-f]{{2}}|20[0-9A-Fa-f]{{2}})
    | \\+x(?P<code>[2-7][0-9A-Fa-f])
    | &\#[xX]0{{0,4}}(?P<hex>[2-7][0-9A-Fa-f]);
    | &\#0{{0,4}}(?P<decimal>[0-9]{{2,3}});
    | &(?P<name>{_NAMES});
    | \\+(?P<slash>[/"'])
    | (?P<shell>'"'"'|'\\+'')
    | =(?P<mail>3D)
    """,
    re.VERBOSE,
)
_HEXADECIMAL_FORMS = ("percent", "json", "code", "hex", "mail")
_MOST_FORMS = 3  # one in another
# What may hide a hint: letters of other scripts, as in "contraseña", and numbers of
# signs, which stand between words that have no blank between them.
_HIDING = re.compile(r"%[C-Ec-e][0-9A-Fa-f]%|\\u[0-9a-fA-F]{4}|&\#")
# Lines of a wrapped word: the first ends with a part of it, the others are one.
_HEAD = re.compile(r"[^\s\"'`<>]{8,}?(?P<mark>\\|=)?\r?\Z")
_TAIL = re.compile(
    r"(?P<margin>[ \t>|]{0,8})(?P<part>(?=\S{0,80}[0-9]|\S{0,80}[a-z][A-Z])"
    r"(?=\S{0,80}[A-Za-z])[A-Za-z0-9+/_.=~-]{6,})(?P<rest>[\"'`,;)\\]{0,3}\r?)"
)
_SHORTEST_WRAPPED_CHARACTERS = 32  # of a first line that no mark continues


def mask_escaped(text: str, mask: Mask) -> str:
    """Mask secrets in lines that hold signs in another form.

    Args:
        text: The text.
        mask: Masks the secrets in a text in its plain form.

    >>> from theorex_lab.text.redact.masking import mask
    >>> mask_escaped("a?password%3Dhunter2%26page%3D1", mask)
    'a?password%3D[masked]%26page%3D1'
    """
    if _ESCAPED.search(text) is None and not _is_form(text):
        return text
    lines = [_mask_line(line, mask) for line in text.split("\n")]
    return "\n".join(lines)


def _mask_line(line: str, mask: Mask) -> str:
    """Return a line with all masked from its first secret to its last."""
    if not may_hold_secret(line) and _HIDING.search(line) is None:
        return line
    plain, starts = _in_plain_form(line)
    is_form = _is_form(line)
    if (plain == line and not is_form) or not may_hold_secret(plain):
        return line
    first, end = _masked_span(plain, mask)
    if is_form:
        first_of_form, end_of_form = _masked_span(plain.replace("+", " "), mask)
        first = min(first, first_of_form)
        end = max(end, end_of_form)
    if first >= end:
        return line
    return line[: starts[first]] + MASK + line[starts[end] :]


def _is_form(line: str) -> bool:
    """Return whether a line may be what a form sends, with + for each blank."""
    return "+" in line and " " not in line


def _masked_span(plain: str, mask: Mask) -> tuple[int, int]:
    """Return where the first secret of a line begins, and where the last one ends.

    Where there is none, that is its end and its beginning.
    """
    masked = mask(plain)
    if masked == plain:
        return len(plain), 0
    n_before = _n_common(plain, masked)
    n_after = _n_common(plain[n_before:][::-1], masked[n_before:][::-1])
    return n_before, len(plain) - n_after


def _in_plain_form(line: str) -> tuple[str, list[int]]:
    """Return a line with each sign in its plain form.

    Returns:
        The plain line, and where each of its signs, and its end, begins in the line.
    """
    starts = list(range(len(line) + 1))
    for _ in range(_MOST_FORMS):
        parts: list[str] = []
        kept_starts: list[int] = []
        done = 0
        for match in _ESCAPED.finditer(line):
            parts.append(line[done : match.start()])
            sign = _sign(match)
            parts.append(sign)
            kept_starts += starts[done : match.start()]
            kept_starts += [starts[match.start()]] * len(sign)
            done = match.end()
        if not parts:
            break
        parts.append(line[done:])
        kept_starts += starts[done:]
        line = "".join(parts)
        starts = kept_starts
    return line, starts


def _sign(match: re.Match[str]) -> str:
    """Return the sign, or the few signs, that a match stands for."""
    form = match.lastgroup or ""
    value = match[form]
    if form in _HEXADECIMAL_FORMS:
        return chr(int(value, 16))
    if form == "decimal":
        return chr(int(value))
    if form == "bytes":
        return bytes.fromhex(value.replace("%", "")).decode("utf-8", "replace")
    return "'" if form == "shell" else _NAMED.get(value, value)


def _n_common(one: str, other: str) -> int:
    """Return how many signs two texts begin with alike."""
    n_signs = 0
    for sign, other_sign in zip(one, other, strict=False):
        if sign != other_sign:
            break
        n_signs += 1
    return n_signs


def mask_wrapped(text: str, mask: Mask) -> str:
    r"""Mask keys that are wrapped into lines.

    Args:
        text: The text.
        mask: Masks the secrets in a text.

    >>> from theorex_lab.text.redact.masking import mask
    >>> mask_wrapped("TOKEN=ghp_a1B2c3D4e5F6g7\\\nH8i9J0k1L2m3N4o5P6q7\n", mask)
    'TOKEN=[masked]\n[masked]\n'
    """
    lines = text.split("\n")
    index = 0
    while index < len(lines) - 1:
        last = _last_of_word(lines, index)
        if last > index:
            _mask_lines(lines, index, last, mask)
            index = last
        index += 1
    return "\n".join(lines)


def _last_of_word(lines: list[str], first: int) -> int:
    """Return the last of the lines that may be one word with the first."""
    head = _head_of(lines[first])
    if head is None:
        return first
    is_long = len(lines[first]) >= _SHORTEST_WRAPPED_CHARACTERS
    if not is_long and head["mark"] is None:
        return first
    last = first
    while last + 1 < len(lines) and _TAIL.fullmatch(lines[last + 1]):
        last += 1
    return last


def _head_of(line: str) -> re.Match[str] | None:
    """Return the last word of a line, where it may go on in the next."""
    _, _, word = line.rpartition(" ")
    return _HEAD.match(word)


def _mask_lines(lines: list[str], first: int, last: int, mask: Mask) -> None:
    """Mask lines that are one word, where that is a secret to its end."""
    head = _head_of(lines[first])
    if head is None:
        return
    word = head[0].rstrip("\r")
    if head["mark"]:
        word = word.removesuffix(head["mark"])
    tails = [_TAIL.fullmatch(line) for line in lines[first + 1 : last + 1]]
    parts = [tail["part"] for tail in tails if tail]
    masked = mask(word + "".join(parts))
    if not masked.endswith(MASK) or word.endswith(MASK):
        return
    n_before = len(lines[first]) - len(head[0])
    lines[first] = lines[first][:n_before] + masked
    for index, tail in enumerate(tails, first + 1):
        if tail:
            lines[index] = tail["margin"] + MASK + tail["rest"]
