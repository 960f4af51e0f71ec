"""What nobody sees is dropped as a look at each character says, in less time."""

from __future__ import annotations

import random
import re
import sys

import pytest

from theorex_lab.text import visible as seen
from theorex_lab.text.visible import visible

# Signs that need a joiner or a selector beside them, and others that need none.
_NEIGHBOURS = (
    "A",
    " ",
    "1",
    "#",
    "é",
    "あ",
    "\u0627",
    "\u0915",
    "\u1820",
    "\u20e3",
    "\u26a0",
    "\u2764",
    "\ud800",
    "\udfff",
    "\U0001f3f4",
    "\U0001f468",
)
_FLAG = "".join(chr(0xE0000 + ord(letter)) for letter in "gbeng") + chr(0xE007F)


def hidden_samples() -> list[str]:
    samples = ["\u200c", "\u200d", "\ufe0f", _FLAG]
    for first, last in seen._SPANS:
        samples += [chr(first), chr(last)]
    return samples


def visible_by_each_place(text: str) -> str:
    """Return what stays, by a pattern that is tried at each place of the text."""
    pattern = seen._compiled().pattern
    _, begin, tried_everywhere = pattern.partition("])(?:(")
    assert begin, "the pattern begins with a look for what may go"
    slow = re.compile(f"(?:({tried_everywhere}")
    return slow.sub(seen._kept_part, text)


def test_what_goes_is_what_a_pattern_tried_at_each_place_drops() -> None:
    drawn = random.Random(5)
    hidden = hidden_samples()
    n_changed = 0
    n_kept = 0
    for _ in range(4_000):
        signs = drawn.choices(hidden, k=drawn.randrange(5))
        signs += drawn.choices(_NEIGHBOURS, k=drawn.randrange(8))
        drawn.shuffle(signs)
        text = "".join(signs)
        shown = visible(text)
        assert shown == visible_by_each_place(text), ascii(text)
        n_changed += shown != text
        n_kept += any(sign in shown for sign in hidden)
    assert n_changed > 1_000
    assert n_kept > 100, "some of these are needed by their neighbours"


@pytest.mark.parametrize("first", range(0, sys.maxunicode + 1, 0x10000))
def test_no_character_that_may_go_is_overlooked(first: int) -> None:
    last = min(first + 0x10000, sys.maxunicode + 1)
    numbers = range(first, last)
    text = "".join(map(chr, numbers))
    beyond = seen._beyond_ascii(f"a{text}b")
    assert beyond == "".join(sign for sign in text if not sign.isascii())


def test_a_text_is_looked_at_without_its_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[str] = []

    class Noted(frozenset[str]):
        def isdisjoint(self, other: object) -> bool:
            looked_at.append(str(other))
            return super().isdisjoint(str(other))

    visible("é")
    monkeypatch.setattr(seen, "_hidden", Noted(seen._hidden))
    text = f"{'a long line of code ' * 50}– and one dash"
    assert visible(text) is text
    assert visible("plain") == "plain"
    assert looked_at == ["–"]
