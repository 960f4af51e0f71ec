"""What is told without a pattern, or by a part of it, is what the pattern says."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from theorex_lab.memory.briefing import candidates, line_features
from theorex_lab.memory.briefing.rule_cues import PRACTICE
from theorex_lab.memory.briefing.rule_signs import _generality
from theorex_lab.text import corroboration, wording
from theorex_lab.text.caseless import lower_case

PIECES = [
    *("not", "Don't", "dont", "d'x", "n'a", "refused", "non-", "_no", "ne", "кеин"),
    *("PR 12", "#7", "issue ٣", "tests", "LINT", "Branches", "ſtyle", "İmports"),
    *("(3 sessions, last 2 Mar)", "(24 Feb)", "(24 Feb", "edited in 4 sessions, last"),
    *(": changed in 2 days of x, last 2 Mar", ", last 2 Mar", ".", "\n", "é", "'", "-"),
]
TEXTS = st.lists(
    st.one_of(st.sampled_from(PIECES), st.text(max_size=4)), max_size=8
).flatmap(lambda pieces: st.sampled_from(["", " "]).map(lambda gap: gap.join(pieces)))


@given(TEXTS)
def test_a_negation_is_missed_nowhere(text: str) -> None:
    if corroboration._NEGATION.search(text):
        assert corroboration._may_negate(text)


@given(TEXTS)
def test_numbers_are_those_of_the_pattern(text: str) -> None:
    pairs = wording._NUMBER.findall(text)
    assert wording.numbers_of(text) == {word or sign for word, sign in pairs}


@given(TEXTS)
def test_letters_are_counted_as_by_the_pattern(text: str) -> None:
    n_letters = len(text) - len(line_features._NO_LETTER.findall(text))
    is_worded = n_letters > line_features.LEAST_LETTERS * max(1, len(text))
    assert line_features.has_words(text) == is_worded


@given(TEXTS)
def test_practices_are_counted_the_same_in_lower_case(text: str) -> None:
    practices = {practice.lower() for practice in PRACTICE.findall(text)}
    assert _generality(text, lower_case(text)) == min(len(practices), 3) ** 0.8


@given(TEXTS)
def test_the_note_of_a_line_is_cut_as_by_one_pattern(text: str) -> None:
    day = candidates._DAY
    note = re.compile(
        rf"""
          \s*\((?:\d+\ sessions?,\ last\ )?{day}\)\.?$
        | :?\s(?:edited|changed)\ in\ \d+\ \w+\b.*,\ last\ {day}\.?$
        """,
        re.VERBOSE,
    )
    line = text.strip()
    assert candidates._without_note(line) == note.sub("", line)
