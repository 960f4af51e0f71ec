"""A text sounds as VADER says, whatever its words are and wherever they stand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vaderSentiment.vaderSentiment import (
    BOOSTER_DICT,
    NEGATE,
    SPECIAL_CASES,
    SentimentIntensityAnalyzer,
)

from theorex_lab.text import lexicon as lex
from theorex_lab.text.tone import compound_score

# Words that the rules of VADER look for beside a word of its lexicon.
RULED = (
    "at but doubt kind least never no nor of or so the this to very without yeah"
).split()
FELT = "bad bomb crash die fixed good GOOD great kiss no shit stale :) 😁 💘".split()
PLAIN = ("row", "Table", "ÉTÉ", "won't", "x")
WORDS = st.sampled_from([*RULED, *FELT, *PLAIN, *NEGATE, *BOOSTER_DICT, *SPECIAL_CASES])
ENDS = st.sampled_from(("", "", "", ".", "!", "?", "...", "!!"))
GAPS = st.sampled_from((" ", " ", "\n", "  ", "\u00a0", ""))


@pytest.fixture(scope="module")
def analyzer() -> Any:
    found = SentimentIntensityAnalyzer()
    found.lexicon.update(lex.SENTIMENT_WORDS)
    return found


@st.composite
def sentences(draw: st.DrawFn) -> str:
    """Words in any order, some of them in capitals."""
    parts = []
    for word in draw(st.lists(WORDS, max_size=14)):
        written = word.upper() if draw(st.integers(0, 5)) == 0 else word
        parts += [written, draw(ENDS), draw(GAPS)]
    return "".join(parts)


@given(sentences() | st.text(max_size=60))
@settings(max_examples=600, deadline=None)
def test_the_score_is_that_of_vader(analyzer: Any, text: str) -> None:
    score = compound_score(text, analyzer)
    assert repr(score) == repr(analyzer.polarity_scores(text)["compound"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "no",
        "good",
        "It is not good, but the crash is fixed!",
        "never so good and without a doubt great",
        "this is THE BOMB, yeah right",
        "kind of bad, at least good",
        "😁 good💘bad",
    ],
)
def test_each_rule_of_vader_holds(analyzer: Any, text: str) -> None:
    assert compound_score(text, analyzer) == analyzer.polarity_scores(text)["compound"]
