"""Know the members of JSON objects that are secrets by their names."""

import re
from collections.abc import Iterable

from theorex_lab.text.redact.secret_formats import (
    is_drawn_of_letters,
    is_drawn_with_digits,
    is_drawn_with_signs,
    is_word_or_code,
)
from theorex_lab.text.redact.secret_names import MEMBER, is_ordinary
from theorex_lab.text.redact.secret_tables import compiled, named_pattern

# Beside one of these `pass` is a password, whatever its value.
_LOGIN_NAMES = frozenset({"user", "username", "login", "email", "account"})
_MOST_COUNT_DIGITS = 6
_NUMBERED_WORDS = r"[a-z]+(?:[_-][a-z]+)*[_-][0-9]{1,4}"


def is_secret_by_name(key: str, value: object) -> bool:
    """Return whether a member holds a secret, by its name."""
    if isinstance(value, bool):
        return False
    if not isinstance(value, str | int | float):
        return False
    name = compiled(MEMBER).search(key)
    if name is None:
        return False
    text = str(value)
    return not is_ordinary(name[0], ":", text, quoted=True)


def is_secret_pass(value: str, beside: Iterable[object]) -> bool:
    """Return whether the value of a member `pass` is a password.

    Reports of tests have such members too: counts, names of suites, words. Without the
    name of a user beside it, a value is a password where it looks chosen or drawn, as
    what a sentence calls one.

    Args:
        value: The value.
        beside: The names of the members of its object.

    >>> is_secret_pass("hunter2hunter2", []), is_secret_pass("integration-tests", [])
    (True, False)
    >>> is_secret_pass("swordfish", ["user", "pass"])
    True
    """
    names = {name.lower() for name in beside if isinstance(name, str)}
    if not _LOGIN_NAMES.isdisjoint(names):
        return not is_ordinary("pass", ":", value, quoted=True)
    return _looks_chosen(value)


def _looks_chosen(value: str) -> bool:
    """Return whether somebody chose a value as a password, or a machine drew it."""
    if value.isdecimal():
        return len(value) > _MOST_COUNT_DIGITS
    if _is_ordinary_pass(value):
        return False
    if re.search("[0-9]", value):
        return is_drawn_with_digits(value, is_password=True)
    if re.search("[@#$%^&*!+=~]", value.rstrip("!?")):
        return is_drawn_with_signs(value, value.rstrip("!?"), is_password=True)
    return is_drawn_of_letters(value)


def _is_ordinary_pass(value: str) -> bool:
    """Return whether a value is a placeholder, a word, code, a measure or a sentence."""
    if re.search(r"\s", value) or is_word_or_code(value):
        return True
    if re.fullmatch(_NUMBERED_WORDS, value):
        return True
    if named_pattern("placeholder").fullmatch(value):
        return True
    return named_pattern("technical").fullmatch(value) is not None
