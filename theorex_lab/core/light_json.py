"""JSON without what the standard library's `json` imports for texts that are none.

A hook's process lives for some milliseconds, and `import json` takes a third of them:
it imports `re`, `enum`, `functools` and `collections`, and reading and writing in C
needs none of them. Here the two functions in C are called that `json` calls too. What
they refuse goes to `json`, which says what is wrong with it, and so does everything where
they are missing or made in another way, as outside of CPython.
"""

from __future__ import annotations

# what type checkers take for true; importing `typing` would cost every start 5 ms
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_BLANKS = " \t\n\r"  # those of RFC 8259
_OPENING = (b"{", b"[")


class _Reading:
    """What the scanner in C asks for, as `json.JSONDecoder` has it by default."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    # A method of a dict, which a class does not bind.
    parse_constant = {
        "-Infinity": float("-inf"),
        "Infinity": float("inf"),
        "NaN": float("nan"),
    }.__getitem__


def _scanner() -> Callable[[str, int], tuple[Any, int]] | None:
    """Return what reads the value at a place of a text; None where that is not in C."""
    try:
        from _json import make_scanner

        scan: Callable[[str, int], tuple[Any, int]] = make_scanner(_Reading)  # type: ignore[arg-type]
    except (ImportError, AttributeError, TypeError):
        return None
    return scan


_SCAN = _scanner()


def loads(content: str | bytes) -> Any:
    """Return the value of a JSON text, as `json.loads` does.

    Args:
        content: The text, or its bytes in UTF-8, UTF-16 or UTF-32.

    Raises:
        ValueError: It is no JSON; the error is `json.JSONDecodeError`. Or the bytes are
            no text.
        RecursionError: It is nested too deeply.

    >>> loads('{"paths": ["a.py"], "ok": true}')
    {'paths': ['a.py'], 'ok': True}
    """
    text = _text_of(content)
    if text is not None and _SCAN is not None:
        try:
            value, end = _SCAN(text, 0)
        except (StopIteration, ValueError):
            pass  # `json` reads it, or says what is wrong
        else:
            if end == len(text) or not text[end:].strip(_BLANKS):
                return value
    import json

    return json.loads(content)


def _text_of(content: str | bytes) -> str | None:
    """Return a text; None for bytes that may be in another encoding than UTF-8."""
    if isinstance(content, str):
        return content
    if not content.startswith(_OPENING) or b"\0" in content:
        return None
    return content.decode("utf-8", "surrogatepass")


def dumps(value: object, *, ensure_ascii: bool = True, allow_nan: bool = True) -> str:
    """Return the compact JSON of a value, as `json.dumps` makes it.

    Args:
        value: The value.
        ensure_ascii: Whether each sign outside of ASCII is escaped.
        allow_nan: Whether a number may be none, or infinite.

    Raises:
        TypeError: JSON cannot hold the value.
        ValueError: The value holds itself, or a number that is not allowed.
        RecursionError: It is nested too deeply.

    >>> dumps({"text": "déjà", "ok": None}, ensure_ascii=False)
    '{"text":"déjà","ok":null}'
    """
    form = (ensure_ascii, allow_nan)
    encode = _ENCODERS.get(form) or _new_encoder(form)
    if encode is not None:
        try:
            return "".join(encode(value, 0))
        except (TypeError, ValueError, RecursionError):
            pass  # `json` says what is wrong
    import json

    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        allow_nan=allow_nan,
        separators=(",", ":"),
    )


# By whether signs are escaped and numbers that are none allowed: what writes a value.
# It notes nothing of a value, so that one serves all threads.
_ENCODERS: dict[tuple[bool, bool], Callable[[object, int], tuple[str, ...]]] = {}


def _new_encoder(
    form: tuple[bool, bool],
) -> Callable[[object, int], tuple[str, ...]] | None:
    """Make what writes values of a form, and keep it; None where that is not in C."""
    ensure_ascii, allow_nan = form
    try:
        from _json import encode_basestring, encode_basestring_ascii, make_encoder

        encode_text = encode_basestring_ascii if ensure_ascii else encode_basestring
        encode: Callable[[object, int], tuple[str, ...]] = make_encoder(
            None,
            _refuse,
            encode_text,
            None,
            ":",
            ",",
            False,
            False,
            allow_nan,
        )
    except (ImportError, TypeError):
        return None
    _ENCODERS[form] = encode
    return encode


def _refuse(value: object) -> object:
    """Refuse what JSON cannot hold, in the words of `json`."""
    kind = type(value).__name__
    raise TypeError(f"Object of type {kind} is not JSON serializable")
