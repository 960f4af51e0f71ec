"""A prefiltered test in any case says what the pattern itself says."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab.designs.facts import wishes
from theorex_lab.memory.briefing import line_features, rule_cues
from theorex_lab.memory.briefing.cards import _BRANCH_IN_WORDS
from theorex_lab.text import caseless, worth_signs
from theorex_lab.text.caseless import CaselessTest, lower_case

PATTERNS = [
    *line_features.CUES.values(),
    line_features._ANNOUNCEMENT,
    line_features._QUESTION,
    _BRANCH_IN_WORDS,
]
for _signs in worth_signs.SIGNS.values():
    PATTERNS += [re.compile(sign, re.IGNORECASE) for _, sign in _signs]
TESTS = [CaselessTest(pattern) for pattern in PATTERNS]
for _module in (rule_cues, wishes):
    TESTS += [test for test in vars(_module).values() if isinstance(test, CaselessTest)]

# Words of the patterns, in any case, among signs that case treats in its own way.
WORDS = sorted({literal for test in TESTS for literal in test.literals})
ODD = list("ſKİıẞßΣςéÀ’'`—✅👍?.:;,-_#1L \n")
PIECES = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from(WORDS).map(str.upper),
    st.sampled_from(WORDS).map(str.title),
    st.sampled_from(ODD),
    st.sampled_from(["the", "we", "I", "s", "ing", "branch", "PASSES", "clean", "12"]),
    st.text(max_size=6),
)
TEXTS = st.lists(PIECES, max_size=14).flatmap(
    lambda pieces: st.sampled_from(["", " "]).map(lambda gap: gap.join(pieces))
)


@given(TEXTS)
def test_every_pattern_says_what_a_search_says(text: str) -> None:
    lower = lower_case(text)
    for test in TESTS:
        expected = test.pattern.search(text) is not None
        assert test.is_in(text) is expected, (test.pattern.pattern, text)
        assert test.is_in(text, lower) is expected


@given(TEXTS)
def test_lower_case_keeps_each_sign_in_its_place(text: str) -> None:
    lower = lower_case(text)
    assert lower is None or len(lower) == len(text)


@pytest.mark.parametrize(
    "text", ["ſhipped", "Kept, not loſt; ſwitched", "fİxed", "FıXED", "ſplıt"]
)
def test_signs_that_match_a_letter_of_ascii_are_searched_as_they_are(text: str) -> None:
    assert lower_case(text) is None
    done = CaselessTest(line_features.CUES["done"])
    assert done.is_in(text) is (done.pattern.search(text) is not None)


def test_nearly_every_cue_is_tried_on_few_texts_alone() -> None:
    for cue, pattern in line_features.CUES.items():
        test = CaselessTest(pattern)
        assert test.literals or pattern.pattern.startswith("^"), cue


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"a(?:b|)c", "AC"),
        (r"(?:x|y)?z", "Z"),
        (r"(?!not )done", "Done"),
        (r"[A-F]\d", "f1"),
        (r"(?m)^line", "two\nLines"),
        (r"(a)\1", "aA"),
        (r"[^a]b", "cB"),
        (r"é+t", "ÉT"),
        (r"", ""),
    ],
)
def test_other_forms_of_patterns_are_matched_too(pattern: str, text: str) -> None:
    test = CaselessTest(re.compile(pattern, re.IGNORECASE))
    assert test.is_in(text)


def test_without_the_parser_of_re_a_pattern_is_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(caseless, "_parsed", lambda _pattern: None)
    test = CaselessTest(re.compile(r"\bdone\b", re.IGNORECASE))
    assert test.literals == ()
    assert test.is_in("DONE")
    assert not test.is_in("abandoned")
