"""Compute keys of signals.

The same trouble gets the same key, whatever its paths, numbers and addresses.
"""

import re
from collections.abc import Iterable, Sequence

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.designs.causal.volatile_parts import without_volatile_parts

ERROR_SIGNAL = "errsig:"
NORMALIZED = "errsig_norm:"
NO_SIGNALS = "(none)"
_OFFSET = 2166136261
_PRIME = 16777619
_SIGNATURE_UNITS = 220  # of UTF-16
MOST_SIGNALS = 256
MOST_CHARACTERS = 4_000
# white space as ECMAScript has it
_SPACES = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_TRIMMED = lazy_pattern(f"^[{_SPACES}]+|[{_SPACES}]+$")
_REPLACED = [
    (re.compile(r"[a-z]:\\[^ \n\r\t]+"), "<path>"),
    (re.compile(r"/[^ \n\r\t]+"), "<path>"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.A), "<hex>"),
    (re.compile(r"\b\d+\b", re.A), "<n>"),
    (re.compile(f"[{_SPACES}]+"), " "),
]


def stable_hash(text: str) -> str:
    """Return FNV-1a of 32 bits over the UTF-16 code units of a text.

    It has 8 hexadecimal digits.

    >>> stable_hash(""), stable_hash("a"), stable_hash("é"), stable_hash("日")
    ('811c9dc5', 'e40c292c', '6c0b6c44', '609a9a60')
    """
    number = _OFFSET
    for unit in memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"):
        number = (number ^ unit) * _PRIME & 0xFFFFFFFF
    return f"{number:08x}"


def normalize_error_signature(text: str) -> str | None:
    """Return an error without what changes from run to run; None without words.

    It is in lower case, paths, addresses and numbers are replaced, and it has up to 220
    characters. A path is what follows a slash or a drive. Beyond the published rules,
    marks stand for ids, hashes, times, durations, sizes and addresses of machines.

    >>> normalize_error_signature("TypeError: Cannot read /home/u/x.js:10 at 0xFF")
    'typeerror: cannot read <path> at <hex>'
    """
    normal = without_volatile_parts(trimmed(text)).lower()
    for pattern, replacement in _REPLACED:
        normal = pattern.sub(replacement, normal)
    # Cut by code units, as its hash counts them.
    units = normal.encode("utf-16-le", "surrogatepass")[: 2 * _SIGNATURE_UNITS]
    return units.decode("utf-16-le", "surrogatepass") or None


def trimmed(text: str) -> str:
    """Return a text without white space around it."""
    return _TRIMMED.sub("", text)


def normalized_signals(signals: Iterable[str]) -> list[str]:
    """Return signals as they are compared.

    They are trimmed, blank ones are dropped, and error signatures stand by the hash of
    their normal form.

    >>> normalized_signals([" log_error ", "", "errsig:TypeError: undefined"])
    ['log_error', 'errsig_norm:93145a81']
    """
    normalized = []
    for signal in map(trimmed, signals):
        if signal.startswith(ERROR_SIGNAL):
            error = signal.removeprefix(ERROR_SIGNAL)
            normal = normalize_error_signature(error)
            if normal:
                normalized.append(NORMALIZED + stable_hash(normal))
        elif signal:
            normalized.append(signal)
    return normalized


def compute_signal_key(signals: Iterable[str]) -> str:
    """Return the key of signals; `(none)` without any.

    They stand in it once each, in the order of their UTF-16 code units, joined by `|`.

    >>> (
    ...     compute_signal_key(["perf_bottleneck", "log_error", "log_error"]),
    ...     compute_signal_key([]),
    ... )
    ('log_error|perf_bottleneck', '(none)')
    """
    distinct = sorted(
        set(normalized_signals(signals)),
        key=lambda signal: signal.encode("utf-16-be", "surrogatepass"),
    )
    return "|".join(distinct) or NO_SIGNALS


def checked_signals(signals: Sequence[str]) -> list[str]:
    """Return signals as a list.

    Raises:
        InvalidInput: They are no sequence of texts, more than 256, or longer than 4,000
            characters.
    """
    are_texts = all(isinstance(signal, str) for signal in signals)
    if isinstance(signals, str) or not are_texts:
        raise InvalidInput(
            f"got the signals {signals!r:.200}; allowed is a list of texts, such as"
            " ['log_error']"
        )
    texts = list(signals)
    longest = max(map(len, texts), default=0)
    if len(texts) > MOST_SIGNALS or longest > MOST_CHARACTERS:
        raise InvalidInput(
            f"got {len(texts)} signals, the longest of {longest} characters; allowed"
            f" are {MOST_SIGNALS} of up to {MOST_CHARACTERS:,} characters"
        )
    return texts


def error_signature(signals: Iterable[str]) -> str | None:
    """Return the normal form of the first error among signals; None without one."""
    for signal in map(trimmed, signals):
        if not signal.startswith(ERROR_SIGNAL):
            continue
        error = signal.removeprefix(ERROR_SIGNAL)
        normal = normalize_error_signature(error)
        if normal:
            return normal
    return None


def has_error(signals: Iterable[str], tokens: Iterable[str]) -> bool:
    """Return whether a signal is one of these tokens, or begins with one.

    Signals may go on after a token that ends in a colon.

    Args:
        signals: The signals.
        tokens: What signals of errors are, or begin with.

    >>> (
    ...     has_error(["errsig:no such file"], ["log_error", "errsig:"]),
    ...     has_error(["log_errors"], ["log_error"]),
    ... )
    (True, False)
    """
    all_tokens = frozenset(tokens)
    prefixes = tuple(token for token in all_tokens if token.endswith(":"))
    for signal in map(trimmed, signals):
        if signal in all_tokens:
            return True
        if signal.startswith(prefixes):
            return True
    return False
