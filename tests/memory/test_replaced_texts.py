"""Stored texts that newer ones replace, and those that stand."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from theorex_lab.memory.replaced_texts import (
    LONGEST_STATED,
    StoredText,
    newest_first,
    replaced_texts,
)

OLD = "The till service listens on port 8080."
NEW = "The till service listens on port 9090 now, not 8080."
CASES = Path(os.environ.get("THEOREX_DATA", "")).parent / "cases/15-identifiers.tsv"


def is_replaced(older: str, newer: str) -> bool:
    return replaced_texts([StoredText(older, 1), StoredText(newer, 2)])[0] is not None


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (OLD, NEW),
        (
            "The team deploys on Tuesdays.",
            "We talked. The team deploys on Fridays now.",
        ),
        ("Ann Lee lives in Bath.", "Ann Lee lives in York."),
        ("Use npm for installing.", "Use pnpm instead of npm for installing."),
        ("The port is 80. The timeout is 3 s.", "The port is 81. The timeout is 9 s."),
    ],
)
def test_a_newer_value_replaces_a_text(older: str, newer: str) -> None:
    assert is_replaced(older, newer)
    stated_again = [StoredText(newer, 2), StoredText(older, 1)]
    assert replaced_texts(stated_again) == [None, 0], "the order makes no difference"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (OLD, "The kiosk service listens on port 9090 now."),
        (OLD, OLD),
        (f"{OLD} It prints receipts at night.", NEW),
        (f"{OLD} {'It is slow. ' * LONGEST_STATED}", NEW),
        ("Run the tests 3 times.", "Run the tests 5 times."),
        ("continue work on task 011", "continue working on task 011, then review it"),
        (
            "✅ Lines 96–102 — config template — is commented out",
            "✅ Lines 746–751 — the getter — defaults to dense",
        ),
        ("Caroline: I live in Bath.", "Melanie: I live in York."),
    ],
)
def test_what_says_something_else_stands(older: str, newer: str) -> None:
    assert not is_replaced(older, newer)


def test_texts_of_another_project_stand() -> None:
    texts = [StoredText(OLD, 1, project="shop"), StoredText(NEW, 2, project="bank")]
    assert replaced_texts(texts) == [None, None]


def test_what_is_less_trusted_replaces_nothing() -> None:
    texts = [
        StoredText(OLD, 1, trust=3),
        StoredText(NEW, 2, trust=2),
        StoredText("The till service listens on port 6666 now.", 3, trust=0),
    ]
    assert replaced_texts(texts) == [None, None, None]
    trusted = [text._replace(trust=2) for text in texts[:2]]
    assert replaced_texts([*trusted, texts[2]]) == [1, None, None]


def test_a_text_that_says_the_old_value_again_holds() -> None:
    texts = [StoredText(OLD, 1), StoredText(NEW, 2), StoredText(OLD, 3)]
    assert replaced_texts(texts) == [None, 2, None]


@pytest.mark.skipif(not CASES.is_file(), reason="the cases are not here")
def test_statements_about_different_things_stand() -> None:
    with CASES.open(encoding="utf-8", newline="") as file:
        pairs = list(csv.reader(file, delimiter="\t"))
    assert len(pairs) > 10
    for older, newer in pairs:
        assert not is_replaced(older, newer), (older, newer)
        assert not is_replaced(newer, older), (newer, older)


def test_a_chain_ends_in_the_newest() -> None:
    ordered = newest_first([0.9, 0.8, 0.7, 0.6], {0: 2, 2: 3}, history=True)
    assert ordered.rows == [3, 0, 1, 2]
    assert ordered.scores == [0.9, 0.9, 0.8, 0.7]
    assert ordered.newer == {0: 3, 2: 3}
