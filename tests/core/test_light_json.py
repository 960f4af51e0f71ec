"""JSON and SQLite as hooks read them: what comes out is what the standard library gives."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab.core import light_json
from theorex_lab.core.light_sqlite import sqlite3 as light_sqlite

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
PIECES = st.sampled_from(
    [
        *("{", "}", "[", "]", ",", ":", '"a"', "1", "-", "1e5", "0x", "null", "tru"),
        *("true", "NaN", "Infinity", '"\\ud83d"', '"', " ", "\n", "\x0c", "\ufeff"),
        "\0",
    ]
)


@given(VALUES, st.booleans())
def test_a_value_is_written_and_read_as_the_standard_library_does(
    value: Any, ensure_ascii: bool
) -> None:
    text = light_json.dumps(value, ensure_ascii=ensure_ascii)
    separators = (",", ":")
    expected = json.dumps(value, ensure_ascii=ensure_ascii, separators=separators)
    assert text == expected
    assert light_json.loads(text) == json.loads(text) == value
    assert light_json.loads(f" \n{text}\t ") == value


def _outcome(read: Any, content: str | bytes) -> tuple[str, str]:
    """What reading gives: a value, or an error and what it says."""
    try:
        return "value", repr(read(content))
    except (ValueError, RecursionError) as error:
        return type(error).__name__, str(error)


@given(st.lists(PIECES, max_size=9))
def test_a_text_that_is_none_is_refused_in_the_same_words(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert _outcome(light_json.loads, text) == _outcome(json.loads, text)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32-be"])
@pytest.mark.parametrize("text", ['{"a": "é"}', "[1]", " 7", '"x"', "{", "[]", ""])
def test_bytes_are_read_in_every_encoding_of_json(text: str, encoding: str) -> None:
    content = text.encode(encoding)
    assert _outcome(light_json.loads, content) == _outcome(json.loads, content)


@pytest.mark.parametrize(
    "content", [b'{"a": "\xff"}', b"{\xed\xa0\x80}", b"[\0", b"\xff"]
)
def test_bytes_that_are_no_text_are_refused_in_the_same_words(content: bytes) -> None:
    assert _outcome(light_json.loads, content) == _outcome(json.loads, content)


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises(TypeError, match="Object of type set is not JSON serializable"):
        light_json.dumps({"a": set()})
    with pytest.raises(ValueError, match="not JSON compliant"):
        light_json.dumps(float("nan"), allow_nan=False)
    around: list[Any] = []
    around.append(around)
    with pytest.raises(ValueError, match="Circular reference"):
        light_json.dumps(around)
    around.clear()
    assert light_json.dumps([around, around]) == "[[],[]]"
    assert light_json.dumps([float("nan"), float("-inf")]) == "[NaN,-Infinity]"


def test_errors_and_connections_of_sqlite_are_those_of_the_standard_library() -> None:
    assert light_sqlite.connect is sqlite3.connect
    assert light_sqlite.DatabaseError is sqlite3.DatabaseError
    assert light_sqlite.SQLITE_BUSY == sqlite3.SQLITE_BUSY


def test_without_the_modules_in_c_the_standard_library_is_asked() -> None:
    program = (
        "import sys; sys.modules.update(_json=None, _sqlite3=None)\n"
        "import types; sys.modules['sqlite3'] = types.ModuleType('sqlite3')\n"
        "from theorex_lab.core import light_json\n"
        "from theorex_lab.core.light_sqlite import sqlite3\n"
        "print(light_json.dumps(light_json.loads('{\"a\": [1]}')), sqlite3.__name__)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout.split() == ['{"a":[1]}', "sqlite3"]
