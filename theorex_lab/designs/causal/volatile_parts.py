"""Find the parts of an error that change from run to run, so that it stays one error.

They are ids, hashes, times, durations, sizes and addresses of machines. The published
rules replace paths, addresses of memory and whole numbers, and know none of these. A
text without such parts keeps its published hash.
"""

import re
from collections.abc import Callable

from theorex_lab.core.patterns import lazy_pattern

_UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
_CLOCK = r"\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?"
_ZONE = r"(?:\s?(?:Z|UTC|GMT)\b|\s?[+-]\d\d:?\d\d\b)?"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_DAY_NAME = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6},?\s+)?"
_NUMBER = r"\d+(?:[.,]\d+)*"
_TIME_UNIT = (
    r"(?:ns|µs|μs|us|ms|msecs?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?"
    r"|h|hrs?|hours?|d|days?)"
)
_SIZE_UNIT = r"(?:[kmgtp]i?b|[kmgtp]i?bytes?|bytes?)"
_GROUP = r"[0-9a-f]{1,4}"
_IPV4 = r"(?:\d{1,3}\.){3}\d{1,3}"
_IPV6 = (
    rf"(?:{_GROUP}(?::{_GROUP}){{7}}"
    rf"|(?:{_GROUP}(?::{_GROUP}){{0,6}})?::(?:{_GROUP}(?::{_GROUP}){{0,6}})?)"
    r"(?:%\w+)?"
)
_PATTERNS = (
    (rf"\b{_UUID}\b", "<id>"),
    # Times: ISO 8601 with and without its marks, of logs, of mail and web servers.
    (rf"\b\d{{4}}-\d\d-\d\d(?:[t ]{_CLOCK}{_ZONE})?(?!\d)", "<time>"),
    (rf"\b\d{{4}}/\d\d/\d\d(?: {_CLOCK}{_ZONE})?(?!\d)", "<time>"),
    (r"\b\d{8}t\d{6}(?:\.\d+)?z?\b", "<time>"),
    (rf"\b{_DAY_NAME}{_MONTH}\s+\d{{1,2}}\s+{_CLOCK}(?:\s\d{{4}}\b)?", "<time>"),
    (
        rf"\b{_DAY_NAME}\d{{1,2}}[ /-]{_MONTH}[ /-]\d{{4}}(?:[ :]{_CLOCK}{_ZONE})?",
        "<time>",
    ),
    (r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b(?!:)", "<time>"),
    # Machines.
    (rf"\[{_IPV6}\](?::\d{{1,5}}\b)?", "<address>"),
    (rf"(?<![\w:.<>])(?=[0-9a-f:]*\d){_IPV6}(?![\w<>]|:[0-9a-f:])", "<address>"),
    (rf"\b{_IPV4}(?::\d{{1,5}})?\b(?![.\w])", "<address>"),
    # Durations and sizes; a number and its unit may stand apart.
    (
        rf"(?<![\w.,#-]){_NUMBER}\s?{_TIME_UNIT}(?:\s?{_NUMBER}\s?{_TIME_UNIT})*\b",
        "<duration>",
    ),
    (rf"(?<![\w.,#-]){_NUMBER}\s?{_SIZE_UNIT}\b", "<size>"),
)
_FLAGS = re.IGNORECASE | re.ASCII
_VOLATILE = [(lazy_pattern(pattern, _FLAGS), mark) for pattern, mark in _PATTERNS]
# Letters and digits in one word, which may be a hash or an id that was drawn.
_WORD = lazy_pattern(r"(?<![A-Za-z0-9])[A-Za-z0-9]{7,128}(?![A-Za-z0-9])")
_HEXADECIMAL = lazy_pattern(r"[0-9a-f]+|[0-9A-F]+")
_ALL_DIGITS_FROM = 20  # so many digits are no count
_FEWEST_CHANGES = 4  # from letters to digits and back, in an id that was drawn
_CHANGE = lazy_pattern(r"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")


def without_volatile_parts(text: str) -> str:
    """Return a text with a mark for each part that changes from run to run.

    >>> without_volatile_parts("2026-10-01T10:00:00Z pool of 10.0.0.7:5432 full after 30s")
    '<time> pool of <address> full after <duration>'
    >>> without_volatile_parts("job 01HV3Z8Q6K2M4N5P7R9S0T1V2W wrote 1.5 GiB at 3f2a9c1")
    'job <id> wrote <size> at <id>'
    >>> without_volatile_parts("error TS2304 in utf8 of sha256, python3.11 and v1.2.3")
    'error TS2304 in utf8 of sha256, python3.11 and v1.2.3'
    """
    for pattern, mark in _VOLATILE:
        text = pattern.sub(mark, text)
    mark_of: Callable[[re.Match[str]], str] = _mark_of_word
    return _WORD.sub(mark_of, text)


def _mark_of_word(match: re.Match[str]) -> str:
    """Return the mark of a word that was drawn or computed, the word where none was."""
    word = match[0]
    has_digit = any(character.isdigit() for character in word)
    if not has_digit:
        return word
    if word.isdigit():
        return "<id>" if len(word) >= _ALL_DIGITS_FROM else word
    if word[:2].lower() == "0x":
        return word  # an address of memory, which the published rules know
    if _HEXADECIMAL.fullmatch(word):
        return "<id>"
    n_changes = len(_CHANGE.findall(word))
    return "<id>" if n_changes >= _FEWEST_CHANGES else word
