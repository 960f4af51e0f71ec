"""Secrets that are told in a sentence: `the password is X`, `das Passwort lautet X`, `пароль — X`, twelve words of a wallet."""

import re
import string

from theorex_lab.text.secret_tables import SECTIONS, compiled, masked, masked_after, pattern, starts, sub_at, words

# One of these, in lower case, is in every sentence that names a password, a token or a key.
HINTS = tuple(SECTIONS["prose hints"].replace("\n", "").split("|"))
_LOGINS, _PHRASES = (frozenset(SECTIONS[name].split("|")) for name in ("login hints", "phrase hints"))
_REACH = 18  # from the beginning of what names a secret to its hint, at most: `recovery-password`
_STATES = words("told states")
_INSIDE = frozenset(string.ascii_letters + "_/.$-")  # after one of these nothing is named


def mask_logins(text: str, hints: set[str]) -> str:
    """Mask the second of user and password: `credentials: bob / X`."""
    return sub_at(pattern("login"), _mask_login, text, starts(text, hints & _LOGINS, 0))


def mask_prose(text: str, hints: set[str]) -> str:
    """Mask what a sentence calls a password, a token or a key, where it carries digits or signs as no word does."""
    if not hints.isdisjoint(_PHRASES):
        text = compiled(pattern("phrase")).sub(masked_after, text)
    places = starts(text, hints.intersection(HINTS), _REACH)
    return sub_at(pattern("spoken"), _mask_told, text, [at for at in places if at == 0 or text[at - 1] not in _INSIDE])


def _mask_login(match: re.Match[str]) -> str:
    value = match["value"].rstrip(".;)")
    is_word = re.fullmatch(pattern("technical"), value) or re.fullmatch(pattern("code"), value)
    return match[0] if is_word or not re.search("[0-9@#$%^&*!]", value) else masked(match, "value", len(value))


def _mask_told(match: re.Match[str]) -> str:
    value = re.sub(r"[.,;:)\]}*_]+$", "", match["value"])
    return masked(match, "value", len(value)) if _looks_chosen(value, match) else match[0]


def _looks_chosen(value: str, match: re.Match[str]) -> bool:
    """Whether a value is one that somebody chose or a machine drew, and no word of the sentence."""
    is_password, bare = match["pass"] is not None, value.rstrip("!?")
    if len(value) < 3 or value.lower() in _STATES or re.fullmatch(pattern("code"), value):
        return False
    if value.isdecimal():
        is_code = is_password or "code" in match["name"].lower()
        is_counted = re.match(pattern("unit"), match["tail"]) or re.fullmatch("(?:19|20)[0-9]{2}", value)
        return is_code and 4 <= len(value) <= 32 and not is_counted
    if re.fullmatch(pattern("technical"), bare):
        return False
    if re.search("[0-9]", value):
        is_numbered = re.fullmatch(r"[a-z]+(?:[_-][a-z]+)*[_-]?[0-9]", value) is not None
        return (is_password and len(value) > 6) or (len(value) >= (4 if is_password else 8) and not is_numbered)
    if re.search("[@#$%^&*!+=~]", bare):
        is_joined = re.search(r"[\w][@#$%^&*!+=~]|[@#$%^&*!+=~]\w", bare) is not None
        return is_joined and len(value) >= (5 if is_password else 16)
    if not is_password:
        is_drawn = re.fullmatch("(?=.{0,30}[a-z])(?=[a-z]{0,30}[A-Z])[A-Za-z]{20,}", value) is not None
        return is_drawn and len(re.findall("[a-z][A-Z]", value)) > 3
    if bare.count("-") >= 3 or (re.search("[a-z][A-Z][a-z]", bare) and re.search("[—–→]", match["link"])):
        return len(value) >= 8
    is_word = re.fullmatch("[A-Za-z]{5,}", bare) is not None and bare.lower() not in _STATES
    return is_word and match["open"] in tuple("\"'`„“«") and not match["tail"].strip("\"'`»”“’ ")
