"""The words that tell what a text is about, and what it names exactly."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab.text.wording import (
    STOP_WORDS,
    content_words,
    numbers_of,
    overlap,
    specifics,
    stem,
)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Run the tests", "running a test"),
        ("committed, added, passed", "commits; add; passing"),
        ("The QUERY is cached", "queries, caches"),
        ("please use the linter", "linters"),
        ("сесії сховища", "Сесії сховища!"),
    ],
)
def test_two_wordings_of_one_thing_have_the_same_words(text, other):
    assert content_words(text) == content_words(other)


def test_words_that_say_nothing_are_left_out():
    assert content_words("Please do that for all of them, OK?") == frozenset()
    assert content_words(" ".join(sorted(STOP_WORDS))) == frozenset()


def test_a_path_is_one_word():
    assert "pkg/spi/provider.go" in content_words("See pkg/spi/provider.go.")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Set `max age` to 30.", ["`max age`", "30"]),
        ("See https://example.org/a?b=1 now", ["https://example.org/a?b=1"]),
        ("in @src/app.py and cmd/main.go", ["@src/app.py", "cmd/main.go"]),
        ("main.go or config.yaml", ["main.go", "config.yaml"]),
        (
            "newWatcher calls read_all and close()",
            ["newWatcher", "read_all", "close()"],
        ),
        ('say "not found" for #12', ['"not found"', "#12"]),
        ("nothing exact in here", []),
    ],
)
def test_what_a_text_names_exactly(text, names):
    assert specifics(text) == names


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("PR 168 and pull request #7", {"168", "7"}),
        ("issues/12, pull/13", {"12", "13"}),
        ("fixes #5 (not a/b#6)", {"5"}),
        ("in 3 files, 200 lines", set()),
        ("issue 1234567", set()),
    ],
)
def test_numbers_of_issues_and_pull_requests(text, numbers):
    assert numbers_of(text) == numbers


@given(st.frozensets(st.text(max_size=3)), st.frozensets(st.text(max_size=3)))
def test_an_overlap_is_a_share_and_symmetric(a, b):
    share = overlap(a, b)
    assert 0 <= share <= 1
    assert share == overlap(b, a)
    if a:
        assert overlap(a, a) == 1


@given(st.text())
def test_any_text_has_words_and_names_that_occur_in_it(text):
    for name in specifics(text):
        assert name in text
    for number in numbers_of(text):
        assert number in text
    assert all(content_words(text))


@given(st.from_regex(r"[a-z]{3,12}", fullmatch=True))
def test_a_stem_keeps_at_least_three_letters(word):
    assert len(stem(word)) >= 3


@pytest.mark.parametrize("part", ["a", "a.", "a/", "`", '"', "#1", "issue ", "aB", "_"])
def test_the_words_of_a_long_text_are_read_in_linear_time(part):
    text = part * (200_000 // len(part)) + " x"
    began = time.process_time()
    content_words(text)
    specifics(text)
    numbers_of(text)
    assert time.process_time() - began < 5
