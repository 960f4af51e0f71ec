"""docs/briefing.md shows briefings as they are printed now."""

from __future__ import annotations

import pytest
from briefing_page import blocks
from doc_references import ROOT

from theorex_lab.text.line import count_tokens

PAGE = (ROOT / "docs" / "briefing.md").read_text(encoding="utf-8")
N_BRIEFINGS = 10
_MOST_TOKENS = 500


@pytest.fixture(scope="module")
def briefings() -> list[tuple[str, str]]:
    """What the page shows, and what is due; composing them takes seconds."""
    return blocks(PAGE)


def test_the_page_shows_ten_briefings(briefings: list[tuple[str, str]]) -> None:
    assert len(briefings) == N_BRIEFINGS


@pytest.mark.parametrize("number", range(N_BRIEFINGS))
def test_a_briefing_of_the_page_is_what_is_printed(
    number: int, briefings: list[tuple[str, str]]
) -> None:
    shown, due = briefings[number]
    assert shown == due, "run python tests/helpers/briefing_page.py docs/briefing.md"


@pytest.mark.parametrize("number", range(N_BRIEFINGS))
def test_a_briefing_of_the_page_keeps_the_form(
    number: int, briefings: list[tuple[str, str]]
) -> None:
    shown, _ = briefings[number]
    lines = [line for line in shown.splitlines() if line.startswith("- ")]
    assert count_tokens(shown) <= _MOST_TOKENS
    assert max((len(line.encode()) for line in lines), default=0) <= 240
    assert not any(line.rstrip(".").endswith("?") for line in lines)
