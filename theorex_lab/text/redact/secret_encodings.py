r"""Mask secrets in a text that is written in another form, or wrapped.

Forms are those of addresses (`%3D`), of JSON and code (`\u003d`, `\x3d`, `\/`), of HTML
(`&#61;`, `&quot;`), of the shell (`'"'"'`) and of mails (`=3D`), also one in another. A
line in such a form is read as it is meant; what is a secret then is masked as it is
written. A key that is wrapped into lines is read as one word.
"""

import re
from collections.abc import Callable

from theorex_lab.text.redact.hints import MASK

Mask = Callable[[str], str]
MayHold = Callable[[str], bool]

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
# A sign in another form: its number in hexadecimal or decimal digits, or its name. It
# begins with one class of signs, so that `re` skips quickly what is none of them.
_ESCAPED = re.compile(
    rf"""
    [%\\&'=](?:
      (?<=%)(?P<percent>[2-7][0-9A-Fa-f])
    | (?<=%)(?P<bytes>[89A-Fa-f][0-9A-Fa-f](?:%[89A-Fa-f][0-9A-Fa-f]){{1,3}})
    | (?<=\\)\\*u(?P<json>00[2-9A-Fa-f][0-9A-Fa-f]|0[1-9a-fA-F][0-9A-Fa-f]{{2}}|20[0-9A-Fa-f]{{2}})
    | (?<=\\)\\*x(?P<code>[2-7][0-9A-Fa-f])
    | (?<=&)\#[xX]0{{0,4}}(?P<hex>[2-7][0-9A-Fa-f]);
    | (?<=&)\#0{{0,4}}(?P<decimal>[0-9]{{2,3}});
    | (?<=&)(?P<name>{_NAMES});
    | (?<=\\)\\*(?P<slash>[/"'])
    | (?<=')(?P<shell>"'"'|\\+'')
    | (?<==)(?P<mail>3D)
    )
    """,
    re.VERBOSE,
)
_HEXADECIMAL_FORMS = ("percent", "json", "code", "hex", "mail")
_MOST_FORMS = 3  # one in another
# Of what a form sends: a sign by its number, or words with + between them.
_FORM = re.compile(r"%[2-7][0-9A-Fa-f]|(?:^|\+)[a-zA-Z-]{1,15}\+[a-zA-Z-]{1,15}\+")
# What may hide a hint: letters of other scripts, as in "contraseña", and numbers of
# signs, which stand between words that have no blank between them.
_HIDING = re.compile(r"%[C-Ec-e][0-9A-Fa-f]%|\\u[0-9a-fA-F]{4}|&\#")
# Lines of a wrapped word: the first ends with a part of it, the others are one.
_HEAD = re.compile(r"[^\s\"'`<>]{8,}?(?P<mark>\\|=)?\r?\Z")
_TAIL = re.compile(
    r"(?P<margin>[ \t>|]{0,8})(?P<part>(?=\S{0,80}[0-9]|\S{0,80}[a-z][A-Z])"
    r"(?=\S{0,80}[A-Za-z])[A-Za-z0-9+/_.=~-]{6,})(?P<rest>[\"'`,;)\\]{0,3}\r?)"
)
# Without one of these no line is part of a wrapped word.
_LONE_TAIL = re.compile(
    r"\n[ \t>|]{0,8}[A-Za-z0-9+/_.=~-]{6,}[\"'`,;)\\]{0,3}\r?(?=\n|\Z)"
)
# Of a line whose word goes on.
_MARKED_ENDS = (
    "\\",
    "=",
    "\\\r",
    "=\r",
)
_ESCAPED_QUOTE = re.compile(r"\\[\"']")
_SHORTEST_WRAPPED_CHARACTERS = 32  # of a first line that no mark continues


def mask_escaped(text: str, mask: Mask, may_hold_secret: MayHold) -> str:
    """Mask secrets in lines that hold signs in another form.

    Args:
        text: The text.
        mask: Masks the secrets in a text in its plain form.
        may_hold_secret: Returns whether there may be one in a text.

    >>> from theorex_lab.text.redact.masking import mask, may_hold_secret
    >>> mask_escaped("a?password%3Dhunter2%26page%3D1", mask, may_hold_secret)
    'a?password%3D[masked]%26page%3D1'
    """
    if _ESCAPED.search(text) is None and not _is_form(text):
        return text
    lines = []
    for line in text.split("\n"):
        if _ESCAPED.search(line) is None and not _is_form(line):
            lines.append(line)  # it is in its plain form
            continue
        masked_line = _mask_line(line, mask, may_hold_secret)
        is_masked = masked_line != line
        escaped_quote = _ESCAPED_QUOTE.search(line)
        if is_masked and escaped_quote:
            # The quote may belong to the secret, which then ends behind it.
            masked_plain = mask(line)
            masked_line = min(masked_line, masked_plain, key=_n_left)
        lines.append(masked_line)
    return "\n".join(lines)


def _n_left(line: str) -> int:
    """Return how many characters of a masked line are left."""
    left = line.replace(MASK, "")
    return len(left)


def _mask_line(line: str, mask: Mask, may_hold_secret: MayHold) -> str:
    """Return a line with all masked from its first secret to its last."""
    if not may_hold_secret(line) and _HIDING.search(line) is None:
        return line
    plain, starts = _in_plain_form(line)
    is_form = _is_form(line)
    if plain == line and not is_form:
        return line
    if not may_hold_secret(plain):
        return line
    first, end = _masked_span(plain, mask)
    if is_form:
        with_blanks = plain.replace("+", " ")
        span = _masked_span(with_blanks, mask)
        first_of_form, end_of_form = span
        first = min(first, first_of_form)
        end = max(end, end_of_form)
    if first >= end:
        return line
    start_of_secret = starts[first]
    end_of_secret = starts[end]
    before = line[:start_of_secret]
    after = line[end_of_secret:]
    return before + MASK + after


def _is_form(line: str) -> bool:
    """Return whether a line may be what a form sends, with + for each blank."""
    if "+" not in line or " " in line:
        return False
    return _FORM.search(line) is not None


def _masked_span(plain: str, mask: Mask) -> tuple[int, int]:
    """Return where the first secret of a line begins, and where the last one ends.

    Where there is none, that is its end and its beginning.
    """
    masked = mask(plain)
    if masked == plain:
        return len(plain), 0
    n_before = _n_common(plain, masked)
    # Backwards, from the ends of both to where they differ first.
    rest = plain[:n_before:-1] + plain[n_before : n_before + 1]
    masked_rest = masked[:n_before:-1] + masked[n_before : n_before + 1]
    n_after = _n_common(rest, masked_rest)
    return n_before, len(plain) - n_after


def _in_plain_form(line: str) -> tuple[str, list[int]]:
    """Return a line with each sign in its plain form.

    Returns:
        The plain line, and where each of its signs, and its end, begins in the line.
    """
    starts = list(range(len(line) + 1))
    for _ in range(_MOST_FORMS):
        parts: list[str] = []
        plain_starts: list[int] = []
        done = 0
        for match in _ESCAPED.finditer(line):
            start, end = match.span()
            sign = _sign(match)
            parts.append(line[done:start])
            parts.append(sign)
            plain_starts += starts[done:start]
            plain_starts += [starts[start]] * len(sign)
            done = end
        if not parts:
            break
        parts.append(line[done:])
        plain_starts += starts[done:]
        line = "".join(parts)
        starts = plain_starts
    return line, starts


def _sign(match: re.Match[str]) -> str:
    """Return the sign, or the few signs, that a match stands for."""
    form = match.lastgroup or ""
    value = match[form]
    if form in _HEXADECIMAL_FORMS:
        return chr(int(value, 16))
    if form == "decimal":
        return chr(int(value))
    if form == "shell":
        return "'"
    if form == "bytes":
        digits = value.replace("%", "")
        content = bytes.fromhex(digits)
        return content.decode("utf-8", "replace")
    return _NAMED.get(value, value)


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
    if _LONE_TAIL.search(text) is None:
        return text
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
    line = lines[first]
    is_long = len(line) >= _SHORTEST_WRAPPED_CHARACTERS
    if not is_long and not line.endswith(_MARKED_ENDS):
        return first
    head = _head_of(line)
    if head is None:
        return first
    if not is_long and head["mark"] is None:
        return first
    end = first + 1
    while end < len(lines):
        is_part = _TAIL.fullmatch(lines[end]) is not None
        if not is_part:
            break
        end += 1
    return end - 1


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
    mark = head["mark"]
    if mark:
        word = word.removesuffix(mark)
    following = lines[first + 1 : last + 1]
    parts = [_TAIL.sub(r"\g<part>", line) for line in following]
    masked = mask(word + "".join(parts))
    if not masked.endswith(MASK) or word.endswith(MASK):
        return
    first_line = lines[first]
    n_before = len(first_line) - len(head[0])
    lines[first] = first_line[:n_before] + masked
    for index, line in enumerate(following, first + 1):
        lines[index] = _TAIL.sub(rf"\g<margin>{MASK}\g<rest>", line)
