"""Previews of long texts: only what is kept is masked, and no secret at the cut leaves
a part of itself behind.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from secret_lines import VENDORS, drawn, filled

from theorex_lab.text.redact.masking import mask
from theorex_lab.text.redact.preview import masked_start, preview

LIMIT = 500
KEY_LINES = "\n".join(drawn("a", 64, f"line {number}") for number in range(50))
KEY = f"-----BEGIN PRIVATE KEY-----\n{KEY_LINES}\n-----END PRIVATE KEY-----"
PASSWORD = drawn("a", 40, "password")
SECRETS = [
    *((token, token) for token in map(filled, VENDORS[::8])),
    (KEY, KEY_LINES),
    (KEY.partition("\n")[2], KEY_LINES),
    (KEY.rpartition("\n")[0], KEY_LINES),
    (f"PASSWORD={PASSWORD}", PASSWORD),
    (f'"password": "{PASSWORD}"', PASSWORD),
    (f"https://me:{PASSWORD}@example.org/a", PASSWORD),
    (f"<password>{PASSWORD}</password>", PASSWORD),
    (f"curl -u me:{PASSWORD} x", PASSWORD),
]
_SHOWN = 8  # characters of a secret that tell nothing of the rest


@settings(max_examples=150, deadline=None)
@given(
    secret=st.sampled_from(SECRETS),
    before=st.integers(LIMIT - 120, LIMIT + 20),
    after=st.integers(0, 12_000),
    sign=st.sampled_from(["x y ", "value\n", "{},\n", "ab\t"]),
)
def test_a_secret_across_the_cut_leaves_no_part_of_itself(
    secret: tuple[str, str], before: int, after: int, sign: str
) -> None:
    text, hidden = secret
    whole = (sign * before)[:before] + " " + text + "\n" + (sign * after)[:after]
    shown = preview(whole, LIMIT)
    assert len(shown) <= LIMIT
    parts = {
        hidden[place : place + _SHOWN]
        for place in range(0, len(hidden) - _SHOWN, _SHOWN)
    }
    assert not [part for part in parts if part in shown]


@pytest.mark.parametrize("size", [10_000, 10_000_000])
def test_what_is_not_kept_is_not_read(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    monkeypatch.setattr(
        "theorex_lab.text.redact.masking.mask",
        lambda text: (read.append(len(text)), text)[1],
    )
    masked_start("word " * (size // 5), LIMIT)
    assert sum(read) < 4_000


def test_a_letter_that_only_case_folding_takes_for_base64_breaks_nothing() -> None:
    text = "basic " + "ſ" * 60 + " and basic QUJD" + "ſ" * 20
    assert mask(text) == text
