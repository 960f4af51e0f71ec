"""Drop characters that nobody sees.

What a model reads of a text is what a person reads of it.

Dropped are Unicode tags, overrides, embeddings, isolates and marks of direction,
zero-width spaces and joiners, soft hyphens, byte order marks, fillers and variation
selectors. Kept is what a script or an emoji needs:

- one joiner or non-joiner after a letter of a script that joins its letters (Arabic,
  the Indic scripts and others);
- a joiner between two emoji, and one variation selector 16 after a character that has
  an emoji form;
- a variation selector of Mongolian after its letter;
- the tags of the three flags that are emoji of their own: England's, Scotland's and
  Wales'. Of other tags a message could be made.
"""

# `theorex-hook` imports this module: it is read and compiled as little as possible,
# until a text needs more.
from __future__ import annotations

# what type checkers take for true; `typing` would cost every hook some milliseconds
TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match, Pattern
    from typing import Any

_SPANS = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF9, 0xFFFB),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE01EF),
)
_SYMBOLS = "\u2190-\u2bff\U0001f000-\U0001faff"
_EMOJI = rf"[\u00a9\u00ae\u203c\u2049\u2122\u2139\u3030\u303d\u3297\u3299{_SYMBOLS}]"
_JOINING = (
    "[\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af"
    "\ua840-\ua87f\ua8e0-\uaa7f\ufb50-\ufdff\ufe70-\ufefc]"
)
_FLAGS = ("gbeng", "gbsct", "gbwls")
_LISTS = (list, tuple)
_HOLD_TEXT = (str, dict, *_LISTS)
# In a value of one of these types there is no text.
_WITHOUT_TEXT = frozenset((bool, int, float, type(None)))
_ASCII = bytes(range(128))
_hidden: frozenset[str] = frozenset()
_pattern: Pattern[str] | None = None


def visible(text: str) -> str:
    """Return the text without its characters that nobody sees.

    It is the same object where it has none. Linear in its length.

    >>> visible("ca" + chr(0x200B) + "che"), visible("caf" + chr(0xE9))
    ('cache', 'café')
    """
    global _hidden
    if text.isascii():
        return text
    if not _hidden:
        _hidden = _hidden_characters()
    if _hidden.isdisjoint(_beyond_ascii(text)):
        return text
    pattern = _pattern or _compiled()
    return pattern.sub(_kept_part, text)


def _beyond_ascii(text: str) -> str:
    """Return the characters of a text that are not in ASCII, in their order.

    In UTF-8 those have no byte in common with ASCII. To drop its bytes and look at the few
    that are left takes a third of the time of a look at each character.

    >>> _beyond_ascii("caf\u00e9 \u2013 4 \u20ac")
    '\u00e9\u2013\u20ac'
    """
    encoded = text.encode("utf-8", "surrogatepass")
    others = encoded.translate(None, _ASCII)
    return others.decode("utf-8", "surrogatepass")


def _hidden_characters() -> frozenset[str]:
    """Return all characters that may go."""
    characters: set[str] = set()
    for first, last in _SPANS:
        numbers = range(first, last + 1)
        characters.update(map(chr, numbers))
    return frozenset(characters)


def _kept_part(match: Match[str]) -> str:
    """Return what stays of characters that nobody sees."""
    return match[0] if match.lastindex else ""


def visible_value(value: Any) -> Any:
    """Return a JSON value with `visible` done to each text in it, names too.

    >>> visible_value({"tags": ["a" + chr(0xFEFF)], "n": 1})
    {'tags': ['a'], 'n': 1}
    """
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return _visible_object(value)
    if isinstance(value, _LISTS):
        return [
            visible_value(entry) if isinstance(entry, _HOLD_TEXT) else entry
            for entry in value
        ]
    return value


def _visible_object(value: dict[Any, Any]) -> dict[Any, Any]:
    """Return an object with `visible` done to its names and all texts in it.

    Most texts are in ASCII, and are told by one look.
    """
    members: dict[Any, Any] = {}
    for key, member in value.items():
        name = key
        if isinstance(key, str) and not key.isascii():
            name = visible(key)
        if isinstance(member, str):
            members[name] = member if member.isascii() else visible(member)
        elif type(member) in _WITHOUT_TEXT:
            members[name] = member
        elif isinstance(member, _HOLD_TEXT):
            members[name] = visible_value(member)
        else:
            members[name] = member
    return members


def _tag_letters(text: str) -> str:
    """Return a text in the letters of Unicode's tags."""
    return "".join(chr(0xE0000 + ord(letter)) for letter in text)


def _compiled() -> Pattern[str]:
    """Return the pattern of all that may go, with what stays in its one group."""
    global _pattern
    import re

    flags = "|".join(map(_tag_letters, _FLAGS))
    needed = (
        rf"(?<=\U0001f3f4)(?:{flags})\U000e007f"
        rf"|(?:(?<={_EMOJI})|(?<={_EMOJI}\ufe0f))\u200d(?=[{_SYMBOLS}])"
        rf"|(?<={_EMOJI})\ufe0f|(?<=[0-9#*])\ufe0f(?=\u20e3)"
        rf"|(?<={_JOINING})[\u200c\u200d](?![\u200c\u200d])"
        r"|(?<=[\u1820-\u18aa])[\u180b-\u180d\u180f]"
    )
    dropped = "".join(f"{chr(first)}-{chr(last)}" for first, last in _SPANS)
    # Each of them begins with a character that may go: what stays is looked at only there.
    _pattern = re.compile(f"(?=[{dropped}])(?:({needed})|[{dropped}]+?)")
    return _pattern
