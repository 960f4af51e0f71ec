"""The tables of the mask: what secrets look like. Loaded once a text has a hint of one."""

import re
from collections.abc import Callable, Iterable
from functools import cache, lru_cache

from theorex_lab.text import secret_vendors, secret_words
from theorex_lab.text.redact.hints import MASK, HintSet
from theorex_lab.text.secret_patterns import PATTERNS
from theorex_lab.text.secret_programs import COMMANDS
from theorex_lab.text.secret_vendors import PREFIXED


def expanded(written: str) -> str:
    """A pattern with those that it names in their places. Done where it is used: a text
    needs few of them.
    """
    text, *named = written.split("<<")
    for part in named:
        name, _, rest = part.partition(">>")
        text += pattern(name) + rest
    return text


@cache
def pattern(name: str) -> str:
    """The pattern of this name."""
    return expanded(PATTERNS[name])


@lru_cache(2_048)
def compiled(written: str) -> re.Pattern[str]:
    """A verbose pattern with those that it names, compiled once: the `re` module
    forgets all of some hundred.
    """
    lines = expanded(written).split("\n")
    # Without their indentation, since the parser of `re` looks at every blank.
    return re.compile("".join(map(str.strip, lines)), re.VERBOSE)


def named_pattern(name: str) -> re.Pattern[str]:
    """The pattern of this name, compiled."""
    return compiled(PATTERNS[name])


def sub_at(
    written: str,
    replace: Callable[[re.Match[str]], str],
    text: str,
    places: Iterable[int],
) -> str:
    """As `re.sub`, of a pattern whose matches begin at these places alone, which stand
    in order.
    """
    parts = []
    done = 0
    match_at = compiled(written).match
    for start in places:
        if start >= done and (match := match_at(text, start)):
            parts += [text[done:start], replace(match)]
            done = match.end()
    return "".join([*parts, text[done:]]) if parts else text


def starts(text: str, hints: Iterable[str], reach: int) -> list[int]:
    """The places of the hints in any case, and of at most `reach` characters before
    them, in order.
    """
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters become two
        return list(range(len(text)))
    found: set[int] = set()
    for hint in hints:
        place = lowered.find(hint)
        while place >= 0:
            found.update(range(max(0, place - reach), place + 1))
            place = lowered.find(hint, place + 1)
    return sorted(found)


def masked(match: re.Match[str], group: str, length: int | None = None) -> str:
    """The match with a group masked, or with the first `length` characters of it."""
    start = match.start(group) - match.start()
    end = match.end(group) - match.start() if length is None else start + length
    return match[0][:start] + MASK + match[0][end:]


def masked_after(match: re.Match[str]) -> str:
    """The mask, after the group `keep` where the pattern has one."""
    return match.groupdict().get("keep", "") + MASK


PROGRAMS = sorted(
    {program for programs, _ in COMMANDS for program in programs}, key=len, reverse=True
)
_CALLED = frozenset(PROGRAMS)
CALLED = "<called>"
KEYED = "<keyed>"
_PREFIXES = frozenset(prefix.lower() for prefixes, _ in PREFIXED for prefix in prefixes)
_LONGEST_CALL_CHARACTERS = 40


@lru_cache(1_024)
def prefixed(prefixes: tuple[str, ...], rest: str) -> re.Pattern[str]:
    """What a key of a vendor looks like that begins with one of the prefixes."""
    begins = "|".join(map(re.escape, prefixes))
    return re.compile(
        f"{pattern('edge')}(?:{begins}){expanded(rest)}{pattern('more')}", re.VERBOSE
    )


def _marks(word: str, hints: Iterable[str]) -> tuple[str, ...]:
    """CALLED for a word that ends in a program's name; KEYED for one that holds a
    vendor's key, which has no blank in it.
    """
    called = compiled(r"[\w.-]*\Z").search(word[-_LONGEST_CALL_CHARACTERS:])
    marks = (CALLED,) if called and called[0].removesuffix(".exe") in _CALLED else ()
    if _PREFIXES.isdisjoint(hints):
        return marks
    found = (
        (tuple(prefix for prefix in prefixes if prefix in word), rest)
        for prefixes, rest in PREFIXED
    )
    keyed = any(
        prefixes and prefixed(prefixes, rest).search(word) for prefixes, rest in found
    )
    return (*marks, KEYED) if keyed else marks


_HINTED = (
    *secret_vendors.FORMATS,
    *secret_words.PASSWORDS,
    *secret_words.OTHER_NAMES,
    *secret_words.VALUES_WITHOUT_A_SIGN,
)
_KEYS = {hint for hints, _ in _HINTED for hint in hints}
_LISTED = {
    *secret_words.PROSE_HINTS,
    *secret_words.LOGIN_HINTS,
    *secret_words.PHRASE_HINTS,
    *secret_words.OTHER_HINTS,
}
hints_in = HintSet(_KEYS | _LISTED | _PREFIXES, _marks).found_in
