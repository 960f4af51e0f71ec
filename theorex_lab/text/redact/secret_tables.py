"""Prepare the tables of the mask: what secrets look like.

Loaded once a text has a hint of a secret.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from itertools import chain

from theorex_lab.text.redact import secret_vendors, secret_words
from theorex_lab.text.redact.hints import MASK, HintSet
from theorex_lab.text.redact.secret_patterns import PATTERNS
from theorex_lab.text.redact.secret_programs import COMMANDS
from theorex_lab.text.redact.secret_vendors import PREFIXED


def expanded(pattern_text: str) -> str:
    """Return a pattern with those that it names in their places.

    Done where it is used, since a text needs few of the patterns.
    """
    text, *references = pattern_text.split("<<")
    for reference in references:
        name, _, rest = reference.partition(">>")
        text += pattern(name) + rest
    return text


@cache
def pattern(name: str) -> str:
    """Return the pattern of this name."""
    return expanded(PATTERNS[name])


@lru_cache(2_048)
def compiled(pattern_text: str) -> re.Pattern[str]:
    """Return a verbose pattern with those that it names, compiled once.

    The `re` module forgets all of some hundred.
    """
    lines = expanded(pattern_text).split("\n")
    # Without their indentation, since the parser of `re` looks at every blank.
    joined = "".join(map(str.strip, lines))
    return re.compile(joined, re.VERBOSE)


def named_pattern(name: str) -> re.Pattern[str]:
    """Return the pattern of this name, compiled."""
    return compiled(PATTERNS[name])


def sub_at(
    pattern_text: str,
    replace: Callable[[re.Match[str]], str],
    text: str,
    starts: Iterable[int],
) -> str:
    """Replace the matches of a pattern that begin at these indices alone, as `re.sub`.

    Args:
        pattern_text: The pattern, as `compiled` takes it.
        replace: Returns what stands in place of a match.
        text: The text.
        starts: The indices, in order.
    """
    parts = []
    done = 0
    match_at = compiled(pattern_text).match
    for start in starts:
        if start < done:
            continue
        match = match_at(text, start)
        if match:
            parts.append(text[done:start])
            parts.append(replace(match))
            done = match.end()
    if not parts:
        return text
    parts.append(text[done:])
    return "".join(parts)


def starts(text: str, hints: Iterable[str], reach: int) -> list[int]:
    """Return the indices at which a match may begin, in order.

    Those are the indices of the hints, in any case, and of at most `reach` characters
    before them.
    """
    lowered, is_odd = _lowered(text)
    if is_odd:
        return list(range(len(text)))
    indices: set[int] = set()
    for hint in hints:
        index = lowered.find(hint)
        while index >= 0:
            first = max(0, index - reach)
            end = index + 1
            indices.update(range(first, end))
            index = lowered.find(hint, end)
    return sorted(indices)


# A pattern that ignores case takes one of these for a letter that it does not become in
# lower case, or they become two letters.
_ALIKE = frozenset("\u0130\u0131\u017f\u1c81\u1c82\u1c83\u1c84\u1c85")


def is_alike(text: str) -> bool:
    """Return whether patterns may match where no hint is in the lower-case text."""
    return _lowered(text)[1]


def may_have(text: str, words: Iterable[str]) -> bool:
    """Return whether a text may have one of these words, in lower case, in any case.

    >>> may_have("SET A", ["set "]), may_have("reset", ["set "])
    (True, False)
    """
    lowered, is_odd = _lowered(text)
    return is_odd or any(word in lowered for word in words)


@lru_cache(4)
def _lowered(text: str) -> tuple[str, bool]:
    """Return a text in lower case, and what `is_alike` does.

    One text is asked for by many names in turn.
    """
    lowered = text.lower()
    if text.isascii():
        return lowered, False
    has_alike = not _ALIKE.isdisjoint(text)
    is_longer = len(lowered) != len(text)
    return lowered, has_alike or is_longer


def masked(match: re.Match[str], group: str, length: int | None = None) -> str:
    """Return the match with a group masked, or its first `length` characters."""
    whole = match[0]
    offset = match.start()
    start = match.start(group) - offset
    end = match.end(group) - offset
    if length is not None:
        end = start + length
    before = whole[:start]
    after = whole[end:]
    return before + MASK + after


def masked_after(match: re.Match[str]) -> str:
    """Return the mask, after the group `keep` where the pattern has one."""
    groups = match.groupdict()
    before = groups.get("keep", "")
    return before + MASK


def _flat(groups: Iterable[Iterable[str]]) -> set[str]:
    """Return the words of all groups."""
    words = chain.from_iterable(groups)
    return set(words)


PROGRAMS = sorted(
    _flat(programs for programs, _ in COMMANDS),
    key=len,
    reverse=True,
)
_CALLED = frozenset(PROGRAMS)
# How the name of a program ends, which is asked of each word before a pattern is.
_CALL_ENDS = {"xe"}  # of .exe
for _program in PROGRAMS:
    _CALL_ENDS.add(_program[-2:])
CALLED = "<called>"
KEYED = "<keyed>"
_ALL_PREFIXES = _flat(prefixes for prefixes, _ in PREFIXED)
_PREFIXES = frozenset(map(str.lower, _ALL_PREFIXES))
_LONGEST_CALL_CHARACTERS = 40


@lru_cache(1_024)
def prefixed(prefixes: tuple[str, ...], rest: str) -> re.Pattern[str]:
    """Return the pattern of a vendor's key that begins with one of the prefixes."""
    begins = "|".join(map(re.escape, prefixes))
    parts = (
        pattern("edge"),
        f"(?:{begins})",
        expanded(rest),
        pattern("more"),
    )
    return re.compile("".join(parts), re.VERBOSE)


def _marks(word: str, hints: Iterable[str]) -> tuple[str, ...]:
    """Return what a word may hold beside its hints.

    CALLED stands for a word that ends in a program's name, KEYED for one that holds a
    vendor's key, which has no blank in it.
    """
    marks = []
    if _is_call(word):
        marks.append(CALLED)
    if not _PREFIXES.isdisjoint(hints) and _has_key(word):
        marks.append(KEYED)
    return tuple(marks)


def _is_call(word: str) -> bool:
    """Return whether a word ends in the name of a program that takes secrets."""
    if word[-2:] not in _CALL_ENDS:
        return False
    end = word[-_LONGEST_CALL_CHARACTERS:]
    name = compiled(r"[\w.-]*\Z").search(end)
    return name is not None and is_program(name[0])


def is_program(name: str) -> bool:
    """Return whether a name is that of a program that takes secrets."""
    return name.removesuffix(".exe") in _CALLED


def _has_key(word: str) -> bool:
    """Return whether a word holds a key of a vendor."""
    for prefixes, rest in PREFIXED:
        present = tuple(prefix for prefix in prefixes if prefix in word)
        if not present:
            continue
        keys = prefixed(present, rest)
        if keys.search(word):
            return True
    return False


_HINTED = (
    *secret_vendors.FORMATS,
    *secret_words.PASSWORDS,
    *secret_words.OTHER_NAMES,
)
_KEYS = _flat(hints for hints, _ in _HINTED)
for _row in secret_words.VALUES_WITHOUT_A_SIGN:
    _KEYS.update(_row[0])
_LISTED = {
    *secret_words.PROSE_HINTS,
    *secret_words.LOGIN_HINTS,
    *secret_words.PHRASE_HINTS,
    *secret_words.OTHER_HINTS,
}
_ALL_HINTS = _KEYS.union(
    _LISTED,
    _PREFIXES,
)


def _is_sign(hint: str) -> bool:
    """Return whether there are signs alone in a hint, which nearly all texts have."""
    if " " in hint:
        return False
    return not any(map(str.isalnum, hint))


_SIGNS = tuple(filter(_is_sign, _ALL_HINTS))
_words_in = HintSet(_ALL_HINTS.difference(_SIGNS), _marks).found_in


def hints_in(text: str) -> set[str]:
    """Return the hints of the tables that are in a text, in any case, with CALLED and KEYED.

    Words are remembered by the hints that they have; signs are looked for in the text.
    """
    signs = [sign for sign in _SIGNS if sign in text]
    return _words_in(text).union(signs)
