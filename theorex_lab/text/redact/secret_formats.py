"""Secrets that are known by their own shape: the key formats of providers, addresses
that carry one, headers, cookies.

And those that are told: on command lines, where each program has its own way of taking
one (`curl -u user:X`, `mysql -pX`, `sshpass -p X`), and in a sentence: `the password is
X`, `das Passwort lautet X`, `пароль — X`, twelve words of a wallet.
"""

import re
import string

from theorex_lab.text.redact import secret_tables as tables
from theorex_lab.text.redact.hints import MASK
from theorex_lab.text.redact.secret_tables import (
    compiled,
    masked,
    masked_after,
    named_pattern,
    pattern,
    starts,
    sub_at,
)
from theorex_lab.text.secret_patterns import PATTERNS
from theorex_lab.text.secret_programs import COMMANDS
from theorex_lab.text.secret_vendors import FORMATS, PREFIXED
from theorex_lab.text.secret_words import (
    COOKIE_ATTRIBUTES,
    LOGIN_HINTS,
    PHRASE_HINTS,
    PROSE_HINTS,
    TOLD_STATES,
)


def mask_formats(text: str, hints: set[str]) -> str:
    """Mask what has the shape of a secret, the values of cookies, and base64 of user
    and password.
    """
    for prefixes, rest in PREFIXED if tables.KEYED in hints else ():
        if found := tuple(prefix for prefix in prefixes if prefix in text):
            text = tables.prefixed(found, rest).sub(MASK, text)
    for own, written in FORMATS:
        if not hints.isdisjoint(own):
            text = compiled(written).sub(masked_after, text)
    if "cookie" in hints:
        text = sub_at(
            PATTERNS["cookies"], _mask_pairs, text, starts(text, ["cookie"], 4)
        )
    if "basic" in hints or "auth" in hints:
        text = named_pattern("basic").sub(_mask_user, text)
    return text


def _mask_pairs(match: re.Match[str]) -> str:
    return match["keep"] + ";".join(map(_masked_pair, match["pairs"].split(";")))


def _masked_pair(pair: str) -> str:
    name, sign, value = pair.partition("=")
    is_drawn = (
        len(value) > 3
        and re.search("[0-9]|.{12}", value)
        and not re.match(r"\$|<|\{|\[masked", value)
    )
    return (
        name + sign + MASK
        if is_drawn and name.strip().lower() not in COOKIE_ATTRIBUTES
        else pair
    )


def _mask_user(match: re.Match[str]) -> str:
    import binascii

    value = match["value"]
    try:
        found = binascii.a2b_base64(value + "=" * (-len(value) % 4))
    except binascii.Error:
        return match[0]
    is_pair = b":" in found and all(32 <= byte < 127 or byte > 159 for byte in found)
    return masked_after(match) if is_pair else match[0]


_PROGRAM = "|".join(map(re.escape, tables.PROGRAMS))
_CALL = rf"(?<![\w.-])(?P<program>{_PROGRAM})(?:\.exe)?{pattern('arguments')}"


def mask_commands(text: str, hints: set[str]) -> str:
    """Mask what a program takes as a password on its command line."""
    if not hints.isdisjoint(("echo", "printf", "<<<")):
        text = named_pattern("piped").sub(_mask_piped, text)
        text = named_pattern("here").sub(masked_after, text)
    return (
        compiled(_CALL).sub(_mask_arguments, text) if tables.CALLED in hints else text
    )


def _mask_piped(match: re.Match[str]) -> str:
    return match[0] if MASK in match["value"] else masked(match, "value")


def _mask_arguments(match: re.Match[str]) -> str:
    arguments = match["arguments"]
    for programs, written in COMMANDS:
        if match["program"] in programs:
            arguments = compiled(written).sub(_mask_one, arguments)
    return match[0][: match.start("arguments") - match.start()] + arguments


def _mask_one(match: re.Match[str]) -> str:
    group = "value" if match["value"] is not None else "value2"
    return match[0] if match[group].startswith(MASK) else masked(match, group)


# from the beginning of what names a secret to its hint, at most: `recovery-password`
_REACH = 18
_INSIDE = frozenset(
    string.ascii_letters + "_/.$-"
)  # after one of these nothing is named


def mask_logins(text: str, hints: set[str]) -> str:
    """Mask the second of user and password: `credentials: bob / X`."""
    return sub_at(
        PATTERNS["login"], _mask_login, text, starts(text, hints & LOGIN_HINTS, 0)
    )


def mask_prose(text: str, hints: set[str]) -> str:
    """Mask what a sentence calls a password, a token or a key, where it carries digits
    or signs as no word does.
    """
    if not hints.isdisjoint(PHRASE_HINTS):
        text = named_pattern("phrase").sub(masked_after, text)
    places = starts(text, hints.intersection(PROSE_HINTS), _REACH)
    return sub_at(
        PATTERNS["spoken"],
        _mask_told,
        text,
        [at for at in places if at == 0 or text[at - 1] not in _INSIDE],
    )


def _mask_login(match: re.Match[str]) -> str:
    value = match["value"].rstrip(".;)")
    is_word = named_pattern("technical").fullmatch(value) or named_pattern(
        "code"
    ).fullmatch(value)
    return (
        match[0]
        if is_word or not re.search("[0-9@#$%^&*!]", value)
        else masked(match, "value", len(value))
    )


def _mask_told(match: re.Match[str]) -> str:
    value = re.sub(r"[.,;:)\]}*_]+$", "", match["value"])
    return (
        masked(match, "value", len(value)) if _looks_chosen(value, match) else match[0]
    )


def _looks_chosen(value: str, match: re.Match[str]) -> bool:
    """Whether a value is one that somebody chose or a machine drew, and no word of the
    sentence.
    """
    is_password = match["pass"] is not None
    bare = value.rstrip("!?")
    if (
        len(value) < 3
        or value.lower() in TOLD_STATES
        or named_pattern("code").fullmatch(value)
    ):
        return False
    if value.isdecimal():
        is_code = is_password or "code" in match["name"].lower()
        is_counted = named_pattern("unit").match(match["tail"]) or re.fullmatch(
            "(?:19|20)[0-9]{2}", value
        )
        return is_code and 4 <= len(value) <= 32 and not is_counted
    if named_pattern("technical").fullmatch(bare):
        return False
    if re.search("[0-9]", value):
        is_numbered = (
            re.fullmatch(r"[a-z]+(?:[_-][a-z]+)*[_-]?[0-9]", value) is not None
        )
        return (is_password and len(value) > 6) or (
            len(value) >= (4 if is_password else 8) and not is_numbered
        )
    if re.search("[@#$%^&*!+=~]", bare):
        is_joined = re.search(r"[\w][@#$%^&*!+=~]|[@#$%^&*!+=~]\w", bare) is not None
        return is_joined and len(value) >= (5 if is_password else 16)
    if not is_password:
        is_drawn = (
            re.fullmatch("(?=.{0,30}[a-z])(?=[a-z]{0,30}[A-Z])[A-Za-z]{20,}", value)
            is not None
        )
        return is_drawn and len(re.findall("[a-z][A-Z]", value)) > 3
    if bare.count("-") >= 3 or (
        re.search("[a-z][A-Z][a-z]", bare) and re.search("[—–→]", match["link"])
    ):
        return len(value) >= 8
    is_word = (
        re.fullmatch("[A-Za-z]{5,}", bare) is not None
        and bare.lower() not in TOLD_STATES
    )
    return (
        is_word
        and match["open"] in tuple("\"'`„“«")
        and not match["tail"].strip("\"'`»”“’ ")
    )
