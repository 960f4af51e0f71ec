"""Secrets that are known by the name before them: assignments in code and settings,
options, elements, JSON members.
"""

import re

from theorex_lab.text.redact.secret_tables import (
    compiled,
    masked,
    named_pattern,
    pattern,
    starts,
    sub_at,
)
from theorex_lab.text.secret_patterns import Entry
from theorex_lab.text.secret_words import (
    OTHER_NAMES,
    PASSWORDS,
    PLAIN_WORDS,
    STATES,
    VALUES_WITHOUT_A_SIGN,
)

NAMES = (*PASSWORDS, *OTHER_NAMES)
_SUFFIX = pattern("suffix")
_NAME = f"(?:{'|'.join(name for _, name in NAMES)}){_SUFFIX}"
_REACH = 14  # from the beginning of a name to its hint, at most: `subscription-key`
_PASSWORD_NAMES = "|".join(name for _, name in PASSWORDS)
_A_PASSWORD = rf"(?i)(?:{_PASSWORD_NAMES}|pass|psk|storepw|requirepass){_SUFFIX}"
_PLAIN_WORDS = PLAIN_WORDS | STATES


def mask_names(text: str, hints: set[str]) -> str:
    """Mask the values that are assigned to a password, a token, a secret or a key."""
    hinted = [entry for entry in NAMES if entry[0][0] in hints]
    places, names = _names_in(text, hinted)
    for own, written in VALUES_WITHOUT_A_SIGN if places else ():
        if not hints.isdisjoint(own):
            row = written.replace("<<names>>", names)
            before = text
            is_named_first = "".join(written.split()).startswith("(?i)(?P<name>")
            text = (
                sub_at(row, _mask_value, text, places)
                if is_named_first
                else compiled(row).sub(_mask_value, text)
            )
            places, names = (
                (places, names) if text == before else _names_in(text, hinted)
            )
    sign = rf"(?P<sign>{pattern('sign')})"
    assignment = rf"(?i)(?P<name>{names})\\*[\"']?\]?{sign}{pattern('assigned')}"
    return sub_at(assignment, _mask_assignment, text, places) if places else text


def _names_in(text: str, hinted: list[Entry]) -> tuple[list[int], str]:
    """Where names begin in a text, at their hint or shortly before it; and the pattern
    of those that there are.
    """
    found: set[int] = set()
    names: list[str] = []
    for hints, name in hinted:
        reached = starts(
            text, hints, 0 if name.lstrip().startswith(hints[0]) else _REACH
        )
        if places := [
            place for place in reached if compiled(f"(?i){name}").match(text, place)
        ]:
            found.update(places)
            names.append(name)
    return sorted(found), f"(?:{'|'.join(names)}){_SUFFIX}"


def _mask_value(match: re.Match[str]) -> str:
    """The match with its value masked, unless that is a placeholder, an expression, or
    a word where a secret must look random.
    """
    value = match["bare"]
    groups = match.groupdict()
    is_word = (
        is_ordinary(
            match["name"],
            "=",
            value,
            quoted="flag" not in groups and "env" not in groups,
        )
        or ("flag" in groups and named_pattern("after an option").fullmatch(value))
        or (
            "pair" in groups
            and not (re.search("[0-9@#$%^&*!]", value) and len(value) > 5)
        )
        or re.fullmatch(r"[a-z]+[_-]password|(?:the|your|my)", value)
    )
    return match[0] if is_word else masked(match, "bare")


def _mask_assignment(match: re.Match[str]) -> str:
    group = "bare" if match["quote"] is None else "quoted"
    value = match[group]
    if is_ordinary(match["name"], match["sign"], value, quoted=group == "quoted"):
        return match[0]
    if group == "bare" and re.fullmatch("(?i)bearer|basic|token", value):
        return match[0]
    if group == "bare" and ":" in match["sign"] and value.isalpha() and value.islower():
        after = match.string[match.end() : match.end() + 8]
        if re.match(r"[ \t]+[^\W\d_]", after):  # a sentence goes on
            return match[0]
    return masked(match, group)


def is_ordinary(name: str, sign: str, value: str, *, quoted: bool) -> bool:
    """Whether what is assigned to a name such as `token` is no secret: a type, a
    variable, a count, a word of prose.
    """
    if not value or named_pattern("placeholder").fullmatch(value):
        return True
    is_password = compiled(_A_PASSWORD).fullmatch(name) is not None
    if (
        not is_password
        and re.fullmatch(r"[0-9.,_kKmM]{1,7}[)\]}]*", value)
        and not re.match("(?i)pin|t?otp", name)
    ):
        return True
    if named_pattern("weak").fullmatch(name) and not (
        named_pattern("random").fullmatch(value) and "/" not in value[:2]
    ):
        return True
    if quoted:
        return _is_text(name, value, is_password=is_password)
    word = value.lower().rstrip(")]}>.:!")
    if (
        word in _PLAIN_WORDS
        or named_pattern("expression").match(value)
        or word.endswith(f".{name.lower()}")
    ):
        return True
    if named_pattern("own name").fullmatch(value) and not (
        sign == "=" and name.isupper()
    ):
        return True
    if is_password:
        is_path_or_pin = (
            value.startswith(("/", "~", "."))
            or re.fullmatch("[0-9]{1,6}[})\\]]*", value) is not None
        )
        return is_path_or_pin and (
            name.lower() == "pwd" or name.lower().endswith("pass")
        )
    if value.startswith(("/", "~/", "./", "http://", "https://")):
        return True
    is_short = len(value) < 16 or "_" in value or "." in value or "-" in value
    return (
        sign != "=" and not re.search("[0-9]", value) and is_short
    )  # in prose or code


def _is_text(name: str, value: str, *, is_password: bool) -> bool:
    """Whether a quoted value is a message, a name or a template rather than a secret."""
    if re.match(r"[$#]?\{|\$[A-Za-z_(]|%\(|<[\w -]+>$|\{\{", value) and not re.search(
        r"\}[^}]{6,}$", value
    ):
        return True
    if re.match(r"[)\]},; ]", value):
        return True  # the end of a quoted label, such as of input("Password: ")
    if " " in value and not re.search(r"[0-9\"]", value):
        # A sentence: a pass phrase has no punctuation before its spaces and is short.
        return (
            value[0] == " "
            or len(value.split()) > 6
            or named_pattern("message").search(value) is not None
        )
    lowered = value.lower()
    if lowered in STATES or (
        lowered in _PLAIN_WORDS and (not is_password or len(lowered) > 3)
    ):
        return not is_password or lowered != "password"
    return is_password and lowered == name.lower()


def is_secret_member(key: str, value: object) -> bool:
    """Whether a JSON member holds a secret, by its name."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    name = compiled(rf"(?i)(?:{_NAME}|authorization|(?<![\s\S])pass)\Z").search(key)
    return name is not None and not is_ordinary(name[0], ":", str(value), quoted=True)
