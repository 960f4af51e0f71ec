"""Mask secrets that are known by their own shape, and those that are told.

By their shape: the key formats of providers, addresses that carry one, headers,
cookies. Told: on command lines, where each program has its own way of taking
one (`curl -u user:X`, `mysql -pX`, `sshpass -p X`), and in a sentence: `the password is
X`, `das Passwort lautet X`, `пароль — X`, twelve words of a wallet.
"""

import re
import string
from functools import cache

from theorex_lab.text.redact import secret_tables as tables
from theorex_lab.text.redact.hints import MASK
from theorex_lab.text.redact.secret_patterns import PATTERNS
from theorex_lab.text.redact.secret_programs import COMMANDS
from theorex_lab.text.redact.secret_tables import (
    compiled,
    masked,
    masked_after,
    may_have,
    named_pattern,
    pattern,
    starts,
    sub_at,
)
from theorex_lab.text.redact.secret_vendors import FORMATS, PREFIXED
from theorex_lab.text.redact.secret_words import (
    COOKIE_ATTRIBUTES,
    LOGIN_HINTS,
    PHRASE_HINTS,
    PROSE_HINTS,
    TOLD_STATES,
)


def mask_formats(text: str, hints: set[str]) -> str:
    """Mask what has the shape of a secret, cookies, and base64 of user and password."""
    if tables.KEYED in hints:
        text = _mask_keys(text)
    if "://" in hints:
        hints = _without_plain_addresses(text, hints)
    for number in _format_numbers(hints):
        format_hints, pattern_text = FORMATS[number]
        also = _ALSO.get(format_hints)
        if also is None or may_have(text, also):
            text = compiled(pattern_text).sub(masked_after, text)
    if "cookie" in hints:
        cookie_starts = starts(text, ["cookie"], 4)
        text = sub_at(PATTERNS["cookies"], _mask_pairs, text, cookie_starts)
    basic_starts = starts(text, hints.intersection(("basic", "auth")), 2)
    return sub_at(PATTERNS["basic"], _mask_user, text, basic_starts)


# By the hints of a format, what is in each text of it as well.
_ALSO: dict[tuple[str, ...], tuple[str, ...]] = {
    ("machine", "default"): ("password",),
    ("login",): ("password",),
    ("-us",): tuple(f"-us{digit}" for digit in range(10)),
}


def _format_numbers(hints: set[str]) -> list[int]:
    """Return which of FORMATS have one of these hints, in their order."""
    by_hint = _numbers_by_hint()
    numbers: set[int] = set()
    for hint in hints:
        numbers.update(by_hint.get(hint, ()))
    return sorted(numbers)


@cache
def _numbers_by_hint() -> dict[str, list[int]]:
    """Return by hint which of FORMATS have it."""
    by_hint: dict[str, list[int]] = {}
    for number, (format_hints, _) in enumerate(FORMATS):
        for hint in format_hints:
            by_hint.setdefault(hint, []).append(number)
    return by_hint


def _without_plain_addresses(text: str, hints: set[str]) -> set[str]:
    """Return the hints, without that of addresses where none has a user in it.

    Args:
        text: The text.
        hints: The hints that it has.

    Returns:
        The same set where an address may hold a secret, else a smaller copy.
    """
    user = named_pattern("user in url")
    if user.search(text):
        return hints
    return hints - {"://"}


def _mask_keys(text: str) -> str:
    """Mask the keys of vendors that begin with a prefix of theirs."""
    for prefixes, rest in PREFIXED:
        present = tuple(prefix for prefix in prefixes if prefix in text)
        if not present:
            continue
        keys = tables.prefixed(present, rest)
        text = keys.sub(MASK, text)
    return text


def _mask_pairs(match: re.Match[str]) -> str:
    """Return cookies with their values masked."""
    pairs = match["pairs"].split(";")
    masked_pairs = ";".join(map(_masked_pair, pairs))
    return match["keep"] + masked_pairs


def _masked_pair(pair: str) -> str:
    """Return one cookie, masked where its value looks drawn."""
    name, sign, value = pair.partition("=")
    is_attribute = name.strip().lower() in COOKIE_ATTRIBUTES
    if is_attribute or len(value) <= 3:
        return pair
    if not re.search("[0-9]|.{12}", value):
        return pair
    if re.match(r"\$|<|\{|\[masked", value):
        return pair
    return name + sign + MASK


def _mask_user(match: re.Match[str]) -> str:
    """Return the match masked where it is the base64 of user and password."""
    import binascii

    value = match["value"]
    n_missing = -len(value) % 4
    padded = value + "=" * n_missing
    try:
        content = binascii.a2b_base64(padded)
    except ValueError:  # also for a letter that is not in ASCII, such as the long s
        return match[0]
    is_text = all(32 <= byte < 127 or byte > 159 for byte in content)
    if is_text and b":" in content:
        return masked_after(match)
    return match[0]


# A word before a blank, which may be a program with its arguments.
_CALLING = re.compile(r"(?<![\w.-])[\w.-]{2,}(?=[ \t])")
_PROGRAM = "|".join(map(re.escape, tables.PROGRAMS))
_ARGUMENTS = pattern("arguments")
_CALL = rf"(?<![\w.-])(?P<program>{_PROGRAM})(?:\.exe)?{_ARGUMENTS}"


def mask_commands(text: str, hints: set[str]) -> str:
    """Mask what a program takes as a password on its command line."""
    if "|" in text and not hints.isdisjoint(("echo", "printf", "<<<")):
        text = named_pattern("piped").sub(_mask_piped, text)
    if "<<<" in text:
        text = named_pattern("here").sub(masked_after, text)
    if tables.CALLED not in hints:
        return text
    return sub_at(_CALL, _mask_arguments, text, _call_starts(text))


def _call_starts(text: str) -> list[int]:
    """Return where programs that take secrets are called in a text."""
    call_starts = []
    for match in _CALLING.finditer(text):
        if tables.is_program(match[0]):
            call_starts.append(match.start())
    return call_starts


def _mask_piped(match: re.Match[str]) -> str:
    """Return the match with what is piped masked, unless a mask is in it."""
    if MASK in match["value"]:
        return match[0]
    return masked(match, "value")


def _mask_arguments(match: re.Match[str]) -> str:
    """Return the call of a program with the secrets in its arguments masked."""
    program = match["program"]
    arguments = match["arguments"]
    for programs, pattern_text in COMMANDS:
        if program in programs:
            arguments = compiled(pattern_text).sub(_mask_argument, arguments)
    n_before = match.start("arguments") - match.start()
    before = match[0][:n_before]
    return before + arguments


def _mask_argument(match: re.Match[str]) -> str:
    """Return an argument with its value masked, unless it is masked."""
    group = "value" if match["value"] is not None else "value2"
    if match[group].startswith(MASK):
        return match[0]
    return masked(match, group)


# How the pattern "phrase" begins.
_PHRASE_STARTS = (
    "seed",
    "mnemonic",
    "recovery",
    "backup",
    "secret",
    "wallet",
    "wiederherstellungs",
    "сид",
)
# What ends a name in the pattern "spoken", and what stands behind none.
_ENDING_HINTS = ("key", "token", "secret")
_NOT_BEHIND = frozenset(f"{string.ascii_letters}_([=.")
# From the beginning of what names a secret to its hint, at most: `recovery-password`.
_REACH = 18
# After one of these nothing is named.
_INSIDE = frozenset(string.ascii_letters + "_/.$-")
_OPENING_QUOTES = frozenset("\"'`„“«")


def mask_logins(text: str, hints: set[str]) -> str:
    """Mask the second of user and password: `credentials: bob / X`."""
    login_starts = starts(text, hints & LOGIN_HINTS, 0)
    return sub_at(PATTERNS["login"], _mask_login, text, login_starts)


def mask_prose(text: str, hints: set[str]) -> str:
    """Mask what a sentence calls a password, a token or a key.

    It is masked where it carries digits or signs as no word does.
    """
    if not hints.isdisjoint(PHRASE_HINTS):
        phrase_starts = starts(text, _PHRASE_STARTS, 0)
        text = sub_at(PATTERNS["phrase"], masked_after, text, phrase_starts)
    name_starts = []
    prose_hints = _prose_hints(text, hints.intersection(PROSE_HINTS))
    for start in starts(text, prose_hints, _REACH):
        if start == 0 or text[start - 1] not in _INSIDE:
            name_starts.append(start)
    return sub_at(PATTERNS["spoken"], _mask_told, text, name_starts)


def _prose_hints(text: str, hints: set[str]) -> set[str]:
    """Return the hints of a text, without those that end no name of a secret in it."""
    refuted = set()
    for hint in hints.intersection(_ENDING_HINTS):
        ends = starts(text, [hint], 0)
        if not any(_may_end(text, start + len(hint)) for start in ends):
            refuted.add(hint)
    return hints - refuted


def _may_end(text: str, end: int) -> bool:
    """Return whether a name of a secret in a sentence may end at an index."""
    return text[end : end + 1] not in _NOT_BEHIND


def _mask_login(match: re.Match[str]) -> str:
    """Return the match with its password masked, unless that is a word or code."""
    value = match["value"].rstrip(".;)")
    if named_pattern("technical").fullmatch(value):
        return match[0]
    if named_pattern("code").fullmatch(value):
        return match[0]
    if not re.search("[0-9@#$%^&*!]", value):
        return match[0]
    return masked(match, "value", len(value))


def _mask_told(match: re.Match[str]) -> str:
    """Return the match with its value masked, where that looks chosen or drawn."""
    value = re.sub(r"[.,;:)\]}*_]+$", "", match["value"])
    if not _looks_chosen(value, match):
        return match[0]
    return masked(match, "value", len(value))


def _looks_chosen(value: str, match: re.Match[str]) -> bool:
    """Return whether somebody chose a value or a machine drew it.

    Else it is a word of the sentence.
    """
    is_password = match["pass"] is not None
    bare = value.rstrip("!?")
    if is_word_or_code(value):
        return False
    if value.isdecimal():
        return _is_told_number(value, match)
    if named_pattern("technical").fullmatch(bare):
        return False
    if re.search("[0-9]", value):
        return is_drawn_with_digits(value, is_password=is_password)
    if re.search("[@#$%^&*!+=~]", bare):
        return is_drawn_with_signs(value, bare, is_password=is_password)
    if is_password:
        return _is_password_word(value, bare, match)
    return is_drawn_of_letters(value)


def is_word_or_code(value: str) -> bool:
    """Return whether a value is very short, tells of a state, or is code."""
    if len(value) < 3 or value.lower() in TOLD_STATES:
        return True
    return named_pattern("code").fullmatch(value) is not None


def _is_told_number(value: str, match: re.Match[str]) -> bool:
    """Return whether digits are the password or the code that the sentence tells."""
    is_password = match["pass"] is not None
    is_code = "code" in match["name"].lower()
    if not is_password and not is_code:
        return False
    return _is_code_number(value, match["tail"])


def is_drawn_with_signs(value: str, bare: str, *, is_password: bool) -> bool:
    """Return whether a value with signs is a secret: long, with a sign beside a letter.

    Args:
        value: The value.
        bare: The same without the marks at its end.
        is_password: Whether the sentence calls it a password.
    """
    joined_sign = r"[\w][@#$%^&*!+=~]|[@#$%^&*!+=~]\w"
    if re.search(joined_sign, bare) is None:
        return False
    shortest = 5 if is_password else 16
    return len(value) >= shortest


def _is_code_number(value: str, tail: str) -> bool:
    """Return whether digits are a code, and neither a count nor a year."""
    if not 4 <= len(value) <= 32:
        return False
    if named_pattern("unit").match(tail):
        return False
    return re.fullmatch("(?:19|20)[0-9]{2}", value) is None


def is_drawn_with_digits(value: str, *, is_password: bool) -> bool:
    """Return whether a value with digits is a secret, and no numbered word."""
    if is_password and len(value) > 6:
        return True
    shortest = 4 if is_password else 8
    if len(value) < shortest:
        return False
    return re.fullmatch(r"[a-z]+(?:[_-][a-z]+)*[_-]?[0-9]", value) is None


def is_drawn_of_letters(value: str) -> bool:
    """Return whether a machine drew letters: long, of both cases, changing often."""
    drawn = "(?=.{0,30}[a-z])(?=[a-z]{0,30}[A-Z])[A-Za-z]{20,}"
    if re.fullmatch(drawn, value) is None:
        return False
    changes = re.findall("[a-z][A-Z]", value)
    return len(changes) > 3


def _is_password_word(value: str, bare: str, match: re.Match[str]) -> bool:
    """Return whether a password of letters alone stands where the sentence tells one.

    Args:
        value: What the sentence calls a password.
        bare: The same without the marks at its end.
        match: The match of the sentence.
    """
    has_many_parts = bare.count("-") >= 3
    has_capital_inside = re.search("[a-z][A-Z][a-z]", bare) is not None
    is_linked = re.search("[—–→]", match["link"]) is not None
    if has_many_parts or (has_capital_inside and is_linked):
        return len(value) >= 8
    if not re.fullmatch("[A-Za-z]{5,}", bare):
        return False
    if bare.lower() in TOLD_STATES:
        return False
    is_quoted = match["open"] in _OPENING_QUOTES
    rest = match["tail"].strip("\"'`»”“’ ")
    return is_quoted and not rest
