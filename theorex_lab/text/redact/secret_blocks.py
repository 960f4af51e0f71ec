"""Mask secrets of many characters.

Those are private keys, with or without their ends, and texts in base64 or hex that hold
a secret.
"""

import re
from bisect import bisect
from collections import deque
from collections.abc import Callable
from functools import lru_cache

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.text.redact.harmless_words import HarmlessWords
from theorex_lab.text.redact.hints import MASK
from theorex_lab.text.redact.secret_tables import named_pattern

# Where the begins, or the ends, of keys lie in a text, in order.
Matches = deque[re.Match[str]]
_NEAR_CHARACTERS = 400
# As the pattern "aws id" has it, but begun by a letter that is searched for quickly.
_CLOUD_ID_START = lazy_pattern("A(?:KI|SI|BI|CC)A")
_SHORTEST_DECODED_CHARACTERS = 8
# The alphabet of base64 for addresses has two signs of its own.
_PLAIN_ALPHABET = {
    ord("-"): "+",
    ord("_"): "/",
}
_PRINTABLE_SHARE = 0.97
_SHORTEST_ENCODED_CHARACTERS = 16
_LONGEST_REMEMBERED_CHARACTERS = 200
_LARGEST_DECODED_CHARACTERS = 1 << 20
# In whatever the patterns "dotted", "base64" and "hex" match.
_ENCODED = lazy_pattern("[A-Za-z0-9+/_-]{16}")
_NO_DIGITS = lazy_pattern(r"\s|^0x|\\x")
_PAIRS_OF_DIGITS = lazy_pattern("(?:[0-9a-fA-F]{2})+")
_PRINTED = lazy_pattern(r"[ -~\n\r\t\u00a0-\uffff]+")
# The bytes of UTF-8 that are no character of _PRINTED, wherever they stand.
_UNPRINTED = bytes({*range(32), 127}.difference(b"\n\r\t"))


def mask_blocks(text: str) -> str:
    """Mask private keys: with both ends, or without one of them.

    They are masked also where the line breaks are escaped.
    """
    if "Private-Lines" in text:
        text = named_pattern("putty").sub(MASK, text)
    if "BEGIN" not in text and "END" not in text:
        return text
    begins = _matches_of("begin", text)
    ends = _matches_of("end", text)
    parts: list[str] = []
    done = 0
    while begins or ends:
        start, end = _next_key(text, done, begins, ends)
        parts.append(text[done:start])
        parts.append(MASK)
        done = end
        _drop_before(done, begins)
        _drop_before(done, ends)
    parts.append(text[done:])
    return "".join(parts)


def _matches_of(name: str, text: str) -> Matches:
    """Return the matches of the pattern of this name, in order."""
    return deque(named_pattern(name).finditer(text))


def _drop_before(index: int, matches: Matches) -> None:
    """Drop the matches that begin before the index."""
    while matches and matches[0].start() < index:
        matches.popleft()


def _next_key(
    text: str,
    done: int,
    begins: Matches,
    ends: Matches,
) -> tuple[int, int]:
    """Return where the next key lies, which may lack its begin or its end.

    Args:
        text: The whole text.
        done: The index up to which it is masked.
        begins: The begins of keys from there on.
        ends: The ends of keys from there on.
    """
    is_begin_next = bool(begins)
    if begins and ends:
        is_begin_next = begins[0].start() < ends[0].start()
    if is_begin_next:
        start = begins[0].start()
        return start, _end_of_key(text, begins, ends)
    key_end = ends[0]
    text_before = text[done : key_end.start()]
    # The pattern reads backwards, from the end of the key.
    lines = named_pattern("lines before").match(text_before[::-1])
    n_characters = lines.end() if lines else 0
    return key_end.start() - n_characters, key_end.end()


def _end_of_key(text: str, begins: Matches, ends: Matches) -> int:
    """Return where the key ends that begins first.

    That is its end or, where it has none, the last line that looks like a part of it.
    """
    is_last = len(begins) < 2
    if ends and (is_last or ends[0].start() <= begins[1].start()):
        return ends[0].end()
    end = begins[0].end()
    body = named_pattern("body").match(text, end)
    if body:
        end = body.end()
    if not is_last:
        return end
    is_rest_blank = not text[end:].strip()
    return len(text) if is_rest_blank else end


def mask_near_ids(text: str) -> str:
    """Mask the 40 characters of an AWS secret key near the id of its key."""
    if _CLOUD_ID_START.search(text) is None:
        return text
    ids = named_pattern("aws id").finditer(text)
    id_starts = [match.start() for match in ids]
    if not id_starts:
        return text

    def masked(match: re.Match[str]) -> str:
        start = match.start()
        index = bisect(id_starts, start)
        # The last id before the key, and the first after it.
        neighbours = id_starts[max(0, index - 1) : index + 1]
        for id_start in neighbours:
            if abs(id_start - start) <= _NEAR_CHARACTERS:
                return MASK
        return match[0]

    return named_pattern("aws secret").sub(masked, text)


def mask_encoded(text: str, mask: Callable[[str], str]) -> str:
    """Mask what is the base64 or the hex of a text in which `mask` finds a secret."""
    plain_words = _plain_words(mask)
    if plain_words.make_up(text):
        return text
    return _mask_encoded(text, mask)


@lru_cache(4)
def _plain_words(mask: Callable[[str], str]) -> HarmlessWords:
    """Return the words in which `mask` finds no secret that is hidden."""

    def is_plain(word: str) -> bool:
        return not _may_hide(word, mask)

    return HarmlessWords(
        is_plain,
        shortest=_SHORTEST_ENCODED_CHARACTERS,
    )


def _may_hide(word: str, mask: Callable[[str], str]) -> bool:
    """Return whether a word may be, or begin, the base64 or hex of a secret."""
    if len(word) > _LONGEST_REMEMBERED_CHARACTERS:
        return True
    if _ENCODED.search(word) is None:
        return False
    return _hides(word, mask)


def _hides(word: str, mask: Callable[[str], str]) -> bool:
    """Return whether a word hides a secret, or ends in what may go on in the next."""
    if _mask_encoded(word, mask) != word:
        return True
    return re.search("[A-Za-z0-9+/]{60}$", word) is not None


def _mask_encoded(text: str, mask: Callable[[str], str]) -> str:
    """Return a text with what hides a secret masked."""
    dotted = named_pattern("dotted")

    def masked(match: re.Match[str]) -> str:
        decoded = decoded_text(match[0])
        if not decoded:
            return match[0]
        masked_text = dotted.sub(MASK, mask(decoded))
        return match[0] if masked_text == decoded else MASK

    text = dotted.sub(MASK, text)
    text = named_pattern("base64").sub(masked, text)
    return named_pattern("hex").sub(masked, text)


def decoded_text(encoded: str) -> str:
    """Return the text that was encoded, '' where that is none."""
    import binascii

    beginning = encoded[:_LARGEST_DECODED_CHARACTERS]
    digits = _NO_DIGITS.sub("", beginning)
    try:
        if _PAIRS_OF_DIGITS.fullmatch(digits):
            content = bytes.fromhex(digits)
        else:
            content = _from_base64(digits)
    except (binascii.Error, ValueError):
        return ""
    if _is_binary(content):
        return ""
    text = content.decode("utf-8", "ignore")
    if not _is_printable(text, len(content)):
        return ""
    return text


def _is_binary(content: bytes) -> bool:
    """Return whether bytes hold too many signs that no text has.

    Nearly all words are the base64 of no text, and most of those show it here. What
    stays is looked at character by character.

    Args:
        content: The bytes. Each that is in _UNPRINTED is a character of its own in
            UTF-8, whatever stands around it.
    """
    printed = content.translate(None, _UNPRINTED)
    most = len(content) * _PRINTABLE_SHARE
    return len(printed) < most


def _from_base64(digits: str) -> bytes:
    """Return the bytes of a base64 of either alphabet, with or without its end."""
    import binascii

    plain = digits.rstrip("=").translate(_PLAIN_ALPHABET)
    if len(plain) % 4 == 1:
        plain = plain[:-1]
    n_missing = -len(plain) % 4
    padded = plain + "=" * n_missing
    return binascii.a2b_base64(padded)


def _is_printable(text: str, n_bytes: int) -> bool:
    """Return whether bytes were a text.

    Args:
        text: What they are in UTF-8, without those that are none.
        n_bytes: How many they were.
    """
    if len(text) < _SHORTEST_DECODED_CHARACTERS:
        return False
    # A character has two bytes or fewer in most scripts.
    if len(text) < _PRINTABLE_SHARE * n_bytes * 0.5:
        return False
    runs = _PRINTED.findall(text)
    n_printable = sum(map(len, runs))
    return n_printable >= _PRINTABLE_SHARE * len(text)
