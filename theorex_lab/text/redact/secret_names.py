"""Mask secrets that are known by the name before them.

Those are assignments in code and settings, options and elements.
"""

import re
from collections.abc import Iterator
from functools import cache

from theorex_lab.text.redact.secret_patterns import Entry, Row
from theorex_lab.text.redact.secret_shapes import is_drawn_value
from theorex_lab.text.redact.secret_tables import (
    compiled,
    is_alike,
    masked,
    may_have,
    named_pattern,
    pattern,
    starts,
    sub_at,
)
from theorex_lab.text.redact.secret_words import (
    OTHER_NAMES,
    PASSWORDS,
    PLAIN_WORDS,
    STATES,
    VALUES_WITHOUT_A_SIGN,
)

NAMES = (*PASSWORDS, *OTHER_NAMES)
_SUFFIX = pattern("suffix")
_ANY_NAME = "|".join(name for _, name in NAMES)
_NAME = f"(?:{_ANY_NAME}){_SUFFIX}"
# What a name may have before it, where its pattern begins.
_LOOKS_BACK = re.compile(r"(?:\(\?<[=!][^()]*\))+")
_REACH = 14  # from the beginning of a name to its hint, at most: `subscription-key`
_PASSWORD = "|".join(name for _, name in PASSWORDS)
MEMBER = rf"(?i)(?:{_NAME}|authorization|(?<![\s\S])pass)\Z"
_A_PASSWORD = rf"(?i)(?:{_PASSWORD}|pass|psk|storepw|requirepass){_SUFFIX}"
# All names stand in it, as in the rows of VALUES_WITHOUT_A_SIGN: for each set of names
# that a text has, another pattern would have to be compiled.
_SIGN = pattern("sign")
_ASSIGNED = pattern("assigned")
_ASSIGNMENT = rf"""
    (?i)
    (?P<name>{_NAME})
    \\*[\"']?\]?
    (?P<sign>{_SIGN})
    {_ASSIGNED}
"""
_PLAIN_WORDS = PLAIN_WORDS | STATES
_ADDRESS_STARTS = (
    "/",
    "~/",
    "./",
    "http://",
    "https://",
)
_JOINING_SIGNS = frozenset("_.-")


def mask_names(text: str, hints: set[str]) -> str:
    """Mask the values that are assigned to a password, a token, a secret or a key."""
    entries = [entry for entry in NAMES if entry[0][0] in hints]
    name_starts = _name_starts(text, entries)
    if not name_starts:
        return text
    for row in VALUES_WITHOUT_A_SIGN:
        value_hints = row[0]
        if hints.isdisjoint(value_hints):
            continue
        masked_text = _mask_row(row, text, name_starts)
        if masked_text != text:
            text = masked_text
            name_starts = _name_starts(text, entries)
    if not name_starts:
        return text
    return sub_at(_ASSIGNMENT, _mask_assignment, text, name_starts)


def _mask_row(row: Row, text: str, name_starts: list[int]) -> str:
    """Mask the values of one row of VALUES_WITHOUT_A_SIGN.

    Args:
        row: The row.
        text: The text.
        name_starts: Where the names begin in it.
    """
    _, pattern_text, reach, words = row
    whole_pattern = _row_pattern(pattern_text)
    if _begins_with_name(pattern_text):
        return sub_at(whole_pattern, _mask_value, text, name_starts)
    if words and not may_have(text, words):
        return text
    if not reach or is_alike(text):
        return compiled(whole_pattern).sub(_mask_value, text)
    row_starts = _starts_before(text, name_starts, reach, words)
    return sub_at(whole_pattern, _mask_value, text, row_starts)


def _starts_before(
    text: str, name_starts: list[int], reach: int, words: tuple[str, ...]
) -> list[int]:
    """Return where one of these words stands shortly before a name, in order.

    Args:
        text: The text.
        name_starts: Where the names begin in it.
        reach: How many characters before a name it begins, at most.
        words: The words.
    """
    indices: set[int] = set()
    for name_start in name_starts:
        first = max(0, name_start - reach)
        before = text[first:name_start].lower()
        for word in words:
            index = before.find(word)
            while index >= 0:
                indices.add(first + index)
                index = before.find(word, index + 1)
    return sorted(indices)


@cache
def _row_pattern(pattern_text: str) -> str:
    """Return the pattern of a row with the names in it."""
    return pattern_text.replace("<<names>>", _NAME)


@cache
def _begins_with_name(pattern_text: str) -> bool:
    """Return whether the matches of a row begin with a name."""
    without_blanks = "".join(pattern_text.split())
    return without_blanks.startswith("(?i)(?P<name>")


def _name_starts(text: str, entries: list[Entry]) -> list[int]:
    """Return where names begin in a text.

    A name begins at its hint or shortly before it.
    """
    indices: set[int] = set()
    for hints, name in entries:
        reach = _reach_of(name, hints[0])
        hint_indices = starts(text, hints, 0)
        for index in hint_indices:
            near = _starts_near(text, name, index, reach)
            indices.update(near)
    return sorted(indices)


@cache
def _reach_of(name: str, hint: str) -> int:
    """Return how far before its hint a name begins, at most."""
    without_looks_back = _LOOKS_BACK.sub("", name.lstrip())
    return 0 if without_looks_back.startswith(hint) else _REACH


def _starts_near(text: str, name: str, index: int, reach: int) -> Iterator[int]:
    """Yield where a name begins whose hint stands at an index.

    Args:
        text: The text.
        name: The pattern of the name.
        index: Where the hint stands.
        reach: How far before its hint the name begins, at most.
    """
    match_near = compiled(_near_pattern(name, reach)).match
    start = max(0, index - reach)
    while start <= index:
        match = match_near(text, start)
        if match is None:
            return
        start = match.start("found")
        if start > index:
            return
        yield start
        start += 1


@cache
def _near_pattern(name: str, reach: int) -> str:
    """Return the pattern of a name that begins within so many characters."""
    return rf"(?i)[\s\S]{{0,{reach}}}?(?P<found>{name})"


def _mask_value(match: re.Match[str]) -> str:
    """Return the match with its value masked, unless that is no secret.

    No secret is a placeholder, an expression, or a word where a secret must look
    random.
    """
    if _is_word_value(match):
        return match[0]
    return masked(match, "bare")


def _is_word_value(match: re.Match[str]) -> bool:
    """Return whether the value of a match is no secret."""
    value = match["bare"]
    groups = match.groupdict()
    is_option = "flag" in groups
    is_quoted = not is_option and "env" not in groups
    if is_ordinary(match["name"], "=", value, quoted=is_quoted):
        return True
    if is_option and named_pattern("after an option").fullmatch(value):
        return True
    is_pair = "pair" in groups
    if is_pair and not _is_strong(value):
        return True
    return re.fullmatch(r"[a-z]+[_-]password|(?:the|your|my)", value) is not None


def _is_strong(value: str) -> bool:
    """Return whether a value is long and has digits or signs."""
    if len(value) <= 5:
        return False
    return re.search("[0-9@#$%^&*!]", value) is not None


def _mask_assignment(match: re.Match[str]) -> str:
    """Return the match with its value masked, unless that is no secret."""
    is_quoted = match["quote"] is not None
    group = "quoted" if is_quoted else "bare"
    value = match[group]
    if is_ordinary(match["name"], match["sign"], value, quoted=is_quoted):
        return match[0]
    if not is_quoted and _is_prose(value, match):
        return match[0]
    return masked(match, group)


def _is_prose(value: str, match: re.Match[str]) -> bool:
    """Return whether a bare value names a scheme, or is a word of a sentence."""
    if re.fullmatch("(?i)bearer|basic|token", value):
        return True
    is_word = value.isalpha() and value.islower()
    if ":" not in match["sign"] or not is_word:
        return False
    end = match.end()
    following = match.string[end : end + 8]
    return re.match(r"[ \t]+[^\W\d_]", following) is not None  # a sentence goes on


def is_ordinary(name: str, sign: str, value: str, *, quoted: bool) -> bool:
    """Return whether what is assigned to a name such as `token` is no secret.

    It is none where it is a type, a variable, a count or a word of prose.

    Args:
        name: The name.
        sign: The sign between the name and the value.
        value: The value.
        quoted: Whether the value stands in quotes.
    """
    if not value:
        return True
    if named_pattern("placeholder").fullmatch(value):
        return True
    is_vague_name = named_pattern("vague").fullmatch(name) is not None
    if is_vague_name:
        return not is_drawn_value(value)
    return _is_ordinary_value(name, sign, value, quoted=quoted)


def _is_ordinary_value(name: str, sign: str, value: str, *, quoted: bool) -> bool:
    """Return whether the value of a name that announces a secret is none."""
    is_password = compiled(_A_PASSWORD).fullmatch(name) is not None
    if not is_password and _is_count(name, value):
        return True
    weak_name = named_pattern("weak").fullmatch(name)
    is_weak_name = weak_name is not None
    if is_weak_name and not _is_random(value):
        return True
    if quoted:
        return _is_text(name, value, is_password=is_password)
    if _is_code(name, sign, value):
        return True
    if is_password:
        return _is_path_or_pin(name, value)
    return _is_address_or_word(sign, value)


def _is_address_or_word(sign: str, value: str) -> bool:
    """Return whether a bare value is a path, an address, or a word in prose or code."""
    if value.startswith(_ADDRESS_STARTS):
        return True
    if sign == "=" or re.search("[0-9]", value):
        return False
    is_joined = not _JOINING_SIGNS.isdisjoint(value)
    return is_joined or len(value) < 16


def _is_count(name: str, value: str) -> bool:
    """Return whether a value is a number, and its name not that of a code."""
    if not re.fullmatch(r"[0-9.,_kKmM]{1,7}[)\]}]*", value):
        return False
    return re.match("(?i)pin|t?otp", name) is None


def _is_random(value: str) -> bool:
    """Return whether a value looks drawn, and is no path."""
    if "/" in value[:2]:
        return False
    return named_pattern("random").fullmatch(value) is not None


def _is_code(name: str, sign: str, value: str) -> bool:
    """Return whether a bare value is a plain word, an expression or a variable."""
    word = value.lower().rstrip(")]}>.:!")
    if word in _PLAIN_WORDS:
        return True
    if word.endswith(f".{name.lower()}"):
        return True
    if named_pattern("expression").match(value):
        return True
    if not named_pattern("own name").fullmatch(value):
        return False
    return sign != "=" or not name.isupper()


def _is_path_or_pin(name: str, value: str) -> bool:
    """Return whether the value of a name such as `pwd` is a path or a few digits."""
    lower = name.lower()
    if lower != "pwd" and not lower.endswith("pass"):
        return False
    if value.startswith(("/", "~", ".")):
        return True
    return re.fullmatch("[0-9]{1,6}[})\\]]*", value) is not None


def _is_text(name: str, value: str, *, is_password: bool) -> bool:
    """Return whether a quoted value is a message, a name or a template."""
    if _is_template(value):
        return True
    if re.match(r"[)\]},; ]", value):
        return True  # the end of a quoted label, such as of input("Password: ")
    has_blanks = " " in value
    if has_blanks and not re.search(r"[0-9\"]", value):
        return _is_message(value)
    word = value.lower()
    is_plain = _is_plain_word(word, is_password=is_password)
    if not is_password:
        return is_plain
    if is_plain:
        return word != "password"
    return word == name.lower()


def _is_template(value: str) -> bool:
    """Return whether a value is filled in later: `${...}`, `<name>`."""
    if not re.match(r"[$#]?\{|\$[A-Za-z_(]|%\(|<[\w -]+>$|\{\{", value):
        return False
    return re.search(r"\}[^}]{6,}$", value) is None


def _is_message(value: str) -> bool:
    """Return whether words are a sentence.

    A pass phrase has no punctuation before its spaces and is short.
    """
    if value.startswith(" "):
        return True
    if len(value.split()) > 6:
        return True
    return named_pattern("message").search(value) is not None


def _is_plain_word(word: str, *, is_password: bool) -> bool:
    """Return whether a word says what state a secret is in, or is no secret."""
    if word in STATES:
        return True
    if is_password and len(word) <= 3:
        return False
    return word in _PLAIN_WORDS
