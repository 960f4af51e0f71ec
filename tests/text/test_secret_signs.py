"""Tests that a cheap sign is in each text in which a pattern finds a secret.

The mask looks for such a sign before it tries a pattern. Each test compares with the
pattern alone, on texts that are put together from parts of secrets.
"""

import base64
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.secret_lines import LINES, filled
from theorex_lab.text.redact import secret_blocks, secret_names, secret_tables
from theorex_lab.text.redact.secret_tables import compiled, named_pattern
from theorex_lab.text.redact.secret_vendors import FORMATS

_MOST_TEXTS = 200
_ADDRESS_PATTERNS = [pattern for hints, pattern in FORMATS if hints == ("://",)]
_LINES = [line.strip() for line in LINES.splitlines() if line.strip()]


def _texts(*parts: str) -> st.SearchStrategy[str]:
    """Return texts of some of these parts, and of some letters between them."""
    fillers = st.text("aZ09_-./:@ =\n\"'", max_size=4)
    pieces = st.one_of(st.sampled_from(parts), fillers)
    return st.lists(pieces, min_size=1, max_size=12).map("".join)


@pytest.mark.parametrize("program", secret_tables.PROGRAMS)
def test_each_program_that_takes_secrets_is_seen_as_a_call(program: str) -> None:
    assert secret_tables._is_call(program)
    assert secret_tables._is_call(f"$(/usr/bin/{program}")
    assert secret_tables._is_call(f"C:\\{program}.exe")
    assert not secret_tables._is_call(f"{program}-x")


@settings(max_examples=_MOST_TEXTS, deadline=None)
@given(
    _texts(
        "://",
        "https://",
        "postgres://bob",
        ":hunter2",
        "a1B2c3D4e5F6g7",
        "AbcdefghIjklmnopqrst",
        "@db.example.org/",
    )
)
def test_each_address_with_a_secret_has_a_user(text: str) -> None:
    if any(compiled(pattern).search(text) for pattern in _ADDRESS_PATTERNS):
        assert named_pattern("user in url").search(text)


@pytest.mark.parametrize(
    ("user", "password"),
    [
        (128 * "u", 512 * "p"),
        (128 * "u", 256 * "p"),
        ("", "x"),
        (512 * "a1", ""),
        (255 * "a1" + "ab", 64 * "p"),
    ],
)
def test_an_address_with_the_longest_names_has_a_user(user: str, password: str) -> None:
    text = f"x://{user}:{password}@host.example/ "
    if any(compiled(pattern).search(text) for pattern in _ADDRESS_PATTERNS):
        assert named_pattern("user in url").search(text)


@settings(max_examples=_MOST_TEXTS, deadline=None)
@given(_texts("AKIA", "ASIA", "ABIA", "ACCA", "ABCDEFGHIJKL", "A3TX", "0123456789AB"))
def test_each_id_of_a_cloud_key_begins_with_a_sign(text: str) -> None:
    if named_pattern("aws id").search(text):
        assert secret_blocks._CLOUD_ID_START.search(text)


@pytest.mark.parametrize("start", ["AKIA", "ASIA", "ABIA", "ACCA"])
def test_a_cloud_key_near_an_id_of_each_kind_is_masked(start: str) -> None:
    key = "wJalrXUtnFEMIK7MDENGbPxRfiCYzz8AbLEKa1B2"
    text = f"{start}ABCDEFGHIJ234567 {key}"
    assert key not in secret_blocks.mask_near_ids(text)


def _starts_by_pattern(text: str, name: str) -> set[int]:
    """Return where a name begins in a text, tried at each of its characters."""
    match_at = compiled(f"(?i){name}").match
    return {index for index in range(len(text)) if match_at(text, index)}


def _check_starts(text: str) -> None:
    for entry in secret_names.NAMES:
        starts = secret_names._name_starts(text, [entry])
        assert starts == sorted(_starts_by_pattern(text, entry[1]))


@pytest.mark.parametrize("line", _LINES)
def test_names_in_a_line_are_found_where_they_begin(line: str) -> None:
    _check_starts(filled(line))


@settings(max_examples=_MOST_TEXTS, deadline=None)
@given(
    _texts(
        "password",
        "PASS",
        "subscription-key",
        "service_role key",
        "encryption_key",
        "phpsessid",
        "JSESSIONID",
        "keypass",
        "_pat",
        "oauth",
        "session_cookie",
        "mot de passe",
        "credentials",
        "salt",
        "totp_secret",
        "hook",
        "'key'",
    )
)
def test_names_are_found_where_they_begin(text: str) -> None:
    _check_starts(text)


def _decoded(content: bytes) -> str:
    """Return the text that some bytes are, looked at character by character."""
    text = content.decode("utf-8", "ignore")
    return text if secret_blocks._is_printable(text, len(content)) else ""


@settings(max_examples=_MOST_TEXTS, deadline=None)
@given(
    st.one_of(
        st.binary(min_size=8, max_size=120),
        st.text(min_size=8, max_size=80).map(
            lambda text: text.encode("utf-8", "replace")
        ),
        st.text("ab \n\r\t\x00\x7f\x1f\x85é\U0001f600", min_size=8).map(str.encode),
    )
)
def test_what_is_encoded_is_read_as_without_a_quick_look(content: bytes) -> None:
    assert secret_blocks.decoded_text(content.hex()) == _decoded(content)
    if len(content) % 3 == 0:
        digits = base64.b64encode(content).decode()
        is_hexadecimal = re.fullmatch("(?:[0-9a-fA-F]{2})+", digits) is not None
        assert is_hexadecimal or secret_blocks.decoded_text(digits) == _decoded(content)


@settings(max_examples=_MOST_TEXTS, deadline=None)
@given(
    _texts(
        "MTIzNDU2Nzg5MDEyMzQ1Njc4",
        "patABCDEFGHIJKLMN.",
        "2/123456789012345/",
        "123456789012345:",
        "0123456789abcdef",
        "0x",
        "\\x",
        "c2VjcmV0",
        "-_",
    )
)
def test_each_encoded_word_holds_sixteen_digits(word: str) -> None:
    names = ("dotted", "base64", "hex")
    if any(named_pattern(name).search(word) for name in names):
        assert secret_blocks._ENCODED.search(word)


def test_the_shortest_encoded_word_holds_sixteen_digits() -> None:
    assert secret_blocks._ENCODED.search("c2VjcmV0PTEyMzQ1")
