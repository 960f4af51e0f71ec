"""Mask what looks like a secret in a text: it becomes `[masked]`.

A hook starts for every tool call, so one look for HINTS decides whether the tables of
secrets are loaded at all, and a pattern is compiled once one of its own hints is there.
An import masks many texts, so nothing is compiled twice, and a pattern is tried where
its hints stand. Standard library only.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product

from theorex_lab.text.redact.hints import HINTS, MASK, HintSet

# what type checkers take for true; importing `typing` for it would cost every start 5
# ms
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_DEEPEST = 10_000  # of lists and objects around a value; JSON texts have fewer
_HOLDING = (list, tuple, dict)
_SHORT_CHARACTERS = (
    1_000  # of texts that may come again: names of tools, paths, commands
)
_MIDDLE_CHARACTERS = 8_000  # of texts that are masked by a door, and when appended
_SHORTEST_DRAWN_CHARACTERS = 20
_PARTING = str.maketrans(dict.fromkeys("\"'`,;:()[]{}<>.|\\", " "))
# One of these is in a text that holds signs in another form.
_ESCAPING = ("%", "&", "=3D", "\\u", "\\x", "\\/", '\\"', "\\'", "'\"'")
# One of these is in a text whose form may hide every hint.
_HIDING = ("%C", "%D", "%E", "&#", "\\u0", "\\u3", "\\u5", "\\ub")
_DRAWN = "<drawn>"  # noted beside the hints
# This name is no hint, since logs of tests are full of the word: see `names_pass`.
_PASS_NAMES = frozenset(map("".join, product("pP", "aA", "sS", "sS")))


def mask(text: str) -> str:
    """Return the text with what looks like a secret replaced by `[masked]`.

    Known by their shape are the keys of common providers, tokens, hashes and private
    keys (also without their end or their beginning), passwords in addresses and
    headers; by their name, the values of a password, a token, a secret or a key, in
    code, settings, command lines and sentences of some languages; and the base64 or hex
    of a text that holds one of these. Takes time linear in the length.

    >>> mask("export API_KEY=3x4mpl3 && git clone https://me:hunter2@example.org/a.git")
    'export API_KEY=[masked] && git clone https://me:[masked]@example.org/a.git'
    >>> mask("the token budget is 2000, the password policy is in the wiki")
    'the token budget is 2000, the password policy is in the wiki'
    """
    if len(text) <= _SHORT_CHARACTERS:
        return _masked_short(text)
    if len(text) <= _MIDDLE_CHARACTERS:
        return _masked_middle(text)
    return _masked(text)


# Long texts that were masked a short while ago, so that they need not be again.
_MASKED_LATELY: set[str] = set()
# Texts that have no hint of a secret: an event need not look at them again.
_PLAIN_LATELY: set[str] = set()
_MOST_LATELY = 2_048
_LONG_CHARACTERS = 100


def note_masked(text: str) -> None:
    """Note that a text was masked as a whole, before it was cut."""
    if len(text) >= _LONG_CHARACTERS:
        _remember(text, _MASKED_LATELY)


def _remember(text: str, lately: set[str]) -> None:
    """Note a text; begin anew where there are many."""
    if len(lately) >= _MOST_LATELY:
        lately.clear()
    lately.add(text)


def note_plain(texts: Iterable[str]) -> None:
    """Note texts in which no hint of a secret was found; a long one seldom comes again."""
    for text in texts:
        if len(text) < _LONG_CHARACTERS:
            _remember(text, _PLAIN_LATELY)


def was_masked(text: str) -> bool:
    """Return whether a text is one that `note_masked` got a short while ago."""
    return text in _MASKED_LATELY


def not_looked_at_lately(texts: Iterable[str]) -> list[str]:
    """Return the texts that were neither masked nor found plain a short while ago."""
    return [
        text
        for text in texts
        if text not in _PLAIN_LATELY and text not in _MASKED_LATELY
    ]


def _masked(text: str) -> str:
    hints = _FIRST_LOOK.found_in(text)
    masked = text
    if hints and "\n" in masked:
        from theorex_lab.text.redact.secret_encodings import mask_wrapped

        masked = mask_wrapped(masked, _masked_plain)
    if _may_be_escaped(masked, hints):
        from theorex_lab.text.redact.secret_encodings import mask_escaped

        masked = mask_escaped(masked, _masked_plain, may_hold_secret)
    if masked != text:
        return _masked_plain(masked)
    if not hints:
        _remember(text, _PLAIN_LATELY)
        return text
    return _mask_by(hints, text)


def _may_be_escaped(text: str, hints: set[str]) -> bool:
    """Return whether a text may hold a secret whose signs have another form."""
    if not hints:
        return any(sign in text for sign in _HIDING)
    if "+" in text and " " not in text:
        return True
    return any(sign in text for sign in _ESCAPING)


def _masked_plain(text: str) -> str:
    """Return a text masked, whose signs have no other form."""
    hints = _FIRST_LOOK.found_in(text)
    return _mask_by(hints, text)


def _mask_by(hints: set[str], text: str) -> str:
    """Return a text masked that has these hints."""
    if hints.difference(_MARKS):
        masked = _mask_hinted(text)
        if masked != text:
            hints = _FIRST_LOOK.found_in(masked)
        text = masked
    if _DRAWN in hints:
        from theorex_lab.text.redact.secret_blocks import mask_encoded
        from theorex_lab.text.redact.secret_shapes import mask_drawn

        text = mask_encoded(text, _mask_plain)
        text = mask_drawn(text)
    return text


_masked_short = lru_cache(1 << 13)(_masked)
_masked_middle = lru_cache(1 << 10)(_masked)


def _marks(word: str, _hints: Iterable[str]) -> tuple[str, ...]:
    """Return a mark for a long word that may be base64 or hex.

    Paths and names are in lower case and have other signs.
    """
    if len(word) < _SHORTEST_DRAWN_CHARACTERS:
        return ()
    for part in word.translate(_PARTING).split():
        is_long = len(part) >= _SHORTEST_DRAWN_CHARACTERS
        if is_long and _may_be_drawn(part):
            return (_DRAWN,)
    return ()


def _may_be_drawn(part: str) -> bool:
    """Return whether a long part of a word is no path, and no name of some words."""
    if part.isalnum() or not part.islower():
        return True
    names = part.replace("-", "_").split("_")
    longest = max(names, key=len)
    is_long = len(longest) >= _SHORTEST_DRAWN_CHARACTERS
    return is_long and longest.isalnum()


_MARKS = frozenset({_DRAWN})
_FIRST_LOOK = HintSet(HINTS, _marks)


def _mask_plain(text: str) -> str:
    if not _FIRST_LOOK.found_in(text).difference(_MARKS):
        return text
    return _mask_hinted(text)


def _mask_hinted(text: str) -> str:
    from theorex_lab.text.redact import secret_blocks, secret_formats, secret_names
    from theorex_lab.text.redact.secret_tables import hints_in

    hints = hints_in(text)
    text = secret_blocks.mask_blocks(text)
    text = secret_blocks.mask_near_ids(text)
    text = secret_formats.mask_formats(text, hints)
    text = secret_formats.mask_commands(text, hints)
    text = secret_formats.mask_logins(text, hints)
    text = secret_names.mask_names(text, hints)
    return secret_formats.mask_prose(text, hints)


@lru_cache(1 << 12)
def _may_name_secret(key: str) -> bool:
    """Return whether the name of a member has a hint of a secret."""
    hints = _FIRST_LOOK.found_in(key)
    return bool(hints.difference(_MARKS))


def names_pass(texts: Iterable[str]) -> bool:
    """Return whether one of some texts is the name `pass`, in any case.

    A member of that name may be a password, though its name is no hint of a secret.

    >>> names_pass(["text", "Pass"]), names_pass(["text", "passed"])
    (True, False)
    """
    return not _PASS_NAMES.isdisjoint(texts)


def is_secret_member(key: str, members: dict[Any, Any]) -> bool:
    """Return whether a member of a JSON object is a secret by its name.

    Args:
        key: The name of the member.
        members: The object.

    >>> is_secret_member("dbPassword", {"dbPassword": "x"})
    True
    >>> is_secret_member("max_tokens", {"max_tokens": 4096})
    False
    """
    if key in _PASS_NAMES:
        return _is_secret_pass(key, members)
    if not _may_name_secret(key):
        return False
    from theorex_lab.text.redact.secret_members import is_secret_by_name

    return is_secret_by_name(key, members[key])


def _is_secret_pass(key: str, members: dict[Any, Any]) -> bool:
    """Return whether a member with the name `pass` is a password; a number is none."""
    value = members[key]
    if not isinstance(value, str):
        return False
    from theorex_lab.text.redact.secret_members import is_secret_pass

    return is_secret_pass(value, members)


def may_hold_secret(text: str) -> bool:
    """Return whether a text has a hint of a secret, which takes little time.

    >>> may_hold_secret("the till rounds half up"), may_hold_secret("my password")
    (False, True)
    """
    hints = _FIRST_LOOK.found_in(text)
    return bool(hints)


def masked_value(value: Any, mask_text: Callable[[str], str] = mask) -> Any:
    """Return a JSON value with its texts masked, at any depth.

    Members that are secrets by their names are masked whole. Two names that become one
    get a number.

    Args:
        value: The value.
        mask_text: Masks one text.

    Raises:
        RecursionError: It holds itself.

    >>> masked_value({"password": "x", "said": ["token=abc123def"]})
    {'password': '[masked]', 'said': ['token=[masked]']}
    """
    whole = [value]
    masked_names: dict[str, str] = {}
    # Copies whose parts are to be masked, and how deep these lie: walked without calls,
    # which have a limit.
    open_copies: list[tuple[Any, int]] = [(whole, 0)]
    while open_copies:
        copy, depth = open_copies.pop()
        if depth > _DEEPEST:
            raise RecursionError("the value holds itself, or is nested too deeply")
        depth += 1
        for inner_copy in _mask_parts(copy, mask_text, masked_names):
            open_copies.append((inner_copy, depth))
    return whole[0]


def _mask_parts(
    copy: Any,
    mask_text: Callable[[str], str],
    masked_names: dict[str, str],
) -> list[Any]:
    """Mask the texts of a list or an object in their places.

    Return those of its parts that hold others. They are copies too by now.

    Args:
        copy: The list or the object.
        mask_text: Masks one text.
        masked_names: Names that were masked before; new ones are added.
    """
    inner_copies: list[Any] = []
    for key, part in copy.items() if isinstance(copy, dict) else enumerate(copy):
        if isinstance(part, str):
            copy[key] = mask_text(part)
        elif isinstance(part, _HOLDING):
            inner_copy = _copy_of(part, mask_text, masked_names)
            copy[key] = inner_copy
            if inner_copy:
                inner_copies.append(inner_copy)
    return inner_copies


def _copy_of(
    part: Any,
    mask_text: Callable[[str], str],
    masked_names: dict[str, str],
) -> Any:
    """Return a copy of a list, or one of an object with masked names."""
    if isinstance(part, dict):
        return _masked_object(part, mask_text, masked_names)
    return list(part)


def _masked_object(
    value: dict[Any, Any],
    mask_text: Callable[[str], str],
    masked_names: dict[str, str],
) -> dict[Any, Any]:
    """Return an object with its names masked, and what is a secret by its name.

    Args:
        value: The object.
        mask_text: Masks one text.
        masked_names: Names that were masked before; new ones are added.
    """
    members: dict[Any, Any] = {}
    taken = set(value)
    for key, member in value.items():
        if not isinstance(key, str):
            members[key] = member
            continue
        name = masked_names.get(key)
        if name is None:
            name = mask_text(key)
            masked_names[key] = name
        if name != key:
            name = _free_name(name, taken)
            taken.add(name)
        if member is not None and is_secret_member(key, value):
            members[name] = MASK
        else:
            members[name] = member
    return members


def _free_name(name: str, taken: set[Any]) -> str:
    """Return a masked name, with a number where an object has it already."""
    number = 1
    free = name
    while free in taken:
        number += 1
        free = f"{name} {number}"
    return free
