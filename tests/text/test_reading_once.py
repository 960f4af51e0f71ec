"""Tests that a text which comes again is not read again."""

import pytest

from theorex_lab.memory import superseding
from theorex_lab.memory.briefing.prompt_words import words_in
from theorex_lab.memory.superseding import DatedStatement, superseded
from theorex_lab.text import extract as extracting
from theorex_lab.text.redact.hints import HintSet


def _no_marks(_word: str, _hints: object) -> tuple[str, ...]:
    return ()


class _CountingHints(HintSet):
    """Hints that count the words that are searched for them."""

    n_searched = 0

    def _hints_of(self, words: set[str]) -> dict[str, tuple[str, ...]]:
        self.n_searched += len(words)
        return super()._hints_of(words)


def test_a_word_is_searched_for_hints_once() -> None:
    hints = _CountingHints(["token", "log in"], _no_marks)
    text = "the till shows a token and asks to log in again"
    first = hints.found_in(text)
    n_words = len(set(text.split()))
    assert first == {"token", "log in"}
    assert hints.found_in(text) == first
    assert hints.found_in("the till shows it") == set()
    assert hints.n_searched == n_words + 1


def test_words_of_a_heading_are_those_of_one_text_with_it() -> None:
    pairs = [
        ("Closes issue", "42 tills"),
        ("See `maxRetries` in net/client.py #12", "PR 188 and pull/77"),
        ("Zählt ４２ Kassen", "issue ４２"),
        ("Nothing", ""),
    ]
    for text, heading in pairs:
        assert words_in(text, heading) == words_in(f"{text} {heading}")
    assert "#42" in words_in("Closes issue", "42 tills")[1]


def test_what_is_remembered_of_words_is_bounded_and_finds_the_same() -> None:
    hints = _CountingHints(["token"], _no_marks)
    hints._MOST_WORDS = 10
    for number in range(100):
        assert hints.found_in(f"word{number} token{number}") == {"token"}
    assert len(hints._plain_words) <= 11
    assert len(hints._hints_by_word) <= 11


@pytest.fixture
def texts_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give the texts that are split into tokens from now on."""
    texts: list[str] = []
    tokens = extracting._tokens

    def noted(text: str) -> list[extracting._Token]:
        texts.append(text)
        return tokens(text)

    monkeypatch.setattr(extracting, "_tokens", noted)
    return texts


def test_a_text_that_is_searched_for_concepts_is_read_once(
    texts_read: list[str],
) -> None:
    text = "The ledger of src/western_depot.py rounds totals half down"
    for surface in ("src/western_depot.py", "ledger"):
        mentions = extracting.extract_among(text, (), {surface})
        assert [mention.surface for mention in mentions] == [surface]
    assert texts_read == [text]


def test_a_text_is_split_into_concepts_once(texts_read: list[str]) -> None:
    text = "The ledger of the northern depot rounds totals half up"
    first = extracting.extract(text)
    first_labels = [mention.label for mention in first]
    first.clear()
    again = extracting.extract(text)
    assert [mention.label for mention in again] == first_labels
    assert texts_read == [text]


def test_a_statement_alone_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_text: str, _subject: str = "") -> None:
        raise AssertionError("a statement alone is compared with nothing")

    monkeypatch.setattr(superseding, "_reading", refused)
    assert superseded([DatedStatement("The till listens on port 80.", 1)]) == [None]
    assert superseded([]) == []


def test_the_words_of_a_text_are_those_of_its_parts() -> None:
    text_words, text_parts = words_in("Set `maxRetries` in net/client.py")
    more_words, more_parts = words_in("the ledger of net/client.py")
    words, parts = words_in(
        "Set `maxRetries` in net/client.py the ledger of net/client.py"
    )
    assert words == text_words | more_words
    assert parts == (text_parts | more_parts) - words
