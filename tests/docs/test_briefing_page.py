"""docs/briefing.md shows briefings as they are printed now."""

from __future__ import annotations

import pytest
from briefing_page import blocks
from doc_references import ROOT

from theorex_lab.text.line import count_tokens

PAGE = (ROOT / "docs" / "briefing.md").read_text(encoding="utf-8")
BLOCKS = blocks(PAGE)
_MOST_TOKENS = 500


def test_the_page_shows_ten_briefings() -> None:
    assert len(BLOCKS) == 10


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_briefing_of_the_page_is_what_is_printed(number: int) -> None:
    shown, due = BLOCKS[number]
    assert shown == due, "run python tests/helpers/briefing_page.py docs/briefing.md"


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_briefing_of_the_page_keeps_the_form(number: int) -> None:
    shown, _ = BLOCKS[number]
    lines = [line for line in shown.splitlines() if line.startswith("- ")]
    assert count_tokens(shown) <= _MOST_TOKENS
    assert max((len(line.encode()) for line in lines), default=0) <= 240
    assert not any(line.rstrip(".").endswith("?") for line in lines)
