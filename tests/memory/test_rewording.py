"""A model's wording of a card's lines: what may stand, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab.memory.briefing.candidates import WORK, Candidate, dated, fits_a_line
from theorex_lab.memory.briefing.rewording import (
    bare_text,
    may_be_reworded,
    rewording_problem,
    worded_line,
)
from theorex_lab.text.wording import content_words

AT = 1_740_400_000_000_000  # 24 February 2025
DAY = 86_400_000_000


def line(
    text: str, kind: str = "done", *, at: int = AT, **features: float
) -> Candidate:
    return Candidate(
        section=WORK,
        kind=kind,
        text=dated(text, at),
        weight=0.4,
        at=at,
        session="one",
        words=content_words(text),
        events=(f"event of {text[:12]}",),
        why="what the agent concluded",
        features=features,
    )


MOVED = line(
    "Moved the session cache to `store/cache.py`, and 12 tests for LoaderPool pass"
)
UNSURE = line("The importer probably does not close its file when it reads a pipe")
LEFT = line("The migration of the till to PR 168 is not yet merged into dev", "open")
WISH = line("Asked: Add a second till to the shop with 3 drawers", "asked")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            MOVED,
            "The session cache moved to `store/cache.py`; 12 tests for LoaderPool pass.",
        ),
        (
            MOVED,
            "Moved the session cache to store/cache.py, where twelve LoaderPool tests pass.",
        ),
        (
            UNSURE,
            "When it reads a pipe, the importer probably does not close the file.",
        ),
        (LEFT, "PR 168, the migration of the till, is not yet merged into dev."),
        (WISH, "Add a second till with 3 drawers to the shop"),
    ],
)
def test_a_wording_that_says_the_same_may_stand(source: Candidate, text: str) -> None:
    assert rewording_problem(text, [source]) == ""
    assert fits_a_line(worded_line(text, [source]))


@pytest.mark.parametrize(
    ("source", "text", "why"),
    [
        (
            MOVED,
            "Moved the session cache to `store/cache.py`, and 21 tests for LoaderPool pass.",
            "21",
        ),
        (
            MOVED,
            "Moved the session cache to `store/cache.py`, and two tests for LoaderPool pass.",
            "number 2",
        ),
        (
            MOVED,
            "Moved the session cache to `store/pool.py`, and 12 tests for LoaderPool pass.",
            "store/pool.py",
        ),
        (
            MOVED,
            "Moved the session cache to lib/store/cache.py, and 12 tests for LoaderPool pass.",
            "lib/store",
        ),
        (
            MOVED,
            "Moved the session cache to `store/cache.py`, and 12 tests for Redis pass.",
            "'Redis'",
        ),
        (
            MOVED,
            "Redis: moved the session cache to `store/cache.py`, and 12 tests pass.",
            "'Redis'",
        ),
        (
            MOVED,
            'Moved the session cache, "the slow one", to `store/cache.py`.',
            "the slow one",
        ),
        (MOVED, "Moved the session cache to `store/cache.py` for issue #12.", "#12"),
        (
            MOVED,
            "Removed the session cache from `store/cache.py`, and 12 tests pass.",
            "another change",
        ),
        (
            MOVED,
            "Moved the session cache to `store/cache.py`, but 12 tests fail.",
            "adds a failure",
        ),
        (
            MOVED,
            "Moved the session cache to `store/cache.py`, and 12 tests do not pass.",
            "denies",
        ),
        (
            MOVED,
            "Moved the session cache to `store/cache.py`; always run 12 tests before lunch.",
            "turns to its reader",
        ),
        (
            MOVED,
            "Moved the session cache to `store/cache.py`. Delete the tests for LoaderPool.",
            "commands by 'delete'",
        ),
        (
            MOVED,
            "Moved the session cache to `store/cache.py` because 12 tests pass.",
            "a reason",
        ),
        (
            MOVED,
            "**Moved** the session cache to `store/cache.py`, and 12 tests pass.",
            "markup",
        ),
        (
            MOVED,
            "Moved the session cache to\n`store/cache.py`, and 12 tests pass.",
            "one line",
        ),
        (
            UNSURE,
            "The importer probably works but does not close its file.",
            "a success",
        ),
        (
            MOVED,
            "Moved the session cache among mountains where sheep graze quietly.",
            "too many words",
        ),
        (
            MOVED,
            "Moved the session cache " + "and the session cache " * 10 + "there.",
            "too long",
        ),
        (MOVED, "Moved it.", "whole statement"),
        (MOVED, "It moved the session cache to `store/cache.py`.", "stand alone"),
        (
            UNSURE,
            "The importer does not close its file when it reads a pipe.",
            "loses a doubt",
        ),
        (
            UNSURE,
            "The importer probably closes its file when it reads a pipe.",
            "denies",
        ),
        (
            LEFT,
            "There is no merge of PR 168, the migration of the till, into dev.",
            "loses something open",
        ),
        (LEFT, "The migration of the till to PR 168 is merged into dev.", "denies"),
        (WISH, "Added a second till with 3 drawers to the shop", "something done"),
        (WISH, "Don't add a second till with 3 drawers to the shop", "denies"),
    ],
)
def test_a_wording_that_says_anything_else_is_refused_with_the_reason(
    source: Candidate, text: str, why: str
) -> None:
    assert why in rewording_problem(text, [source])


def test_two_numbers_may_not_change_places() -> None:
    source = line("The run of the till took 12 seconds with 3 workers")
    swapped = "The run of the till took 3 seconds with 12 workers."
    assert "number" in rewording_problem(swapped, [source])
    assert (
        rewording_problem(
            "With 12 seconds and 3 workers the till took a run.", [source]
        )
        == ""
    )


def test_a_number_that_is_part_of_another_is_not_that_number() -> None:
    source = line("The release 1.24 of the till supports 120 drawers")
    for text in ("The release 1.2 of the till", "The release 24 of the till"):
        assert rewording_problem(f"{text} supports 120 drawers.", [source])


def test_lines_of_one_kind_and_day_may_become_one_sentence() -> None:
    sources = [
        line("Moved the receipt printer to `printer.go`"),
        line("Renamed the drawer module to `till.go`"),
    ]
    text = "Moved the receipt printer to `printer.go` and renamed the drawer module to `till.go`."
    assert rewording_problem(text, sources) == ""
    assert "another change: 'renamed'" in rewording_problem(text, sources[:1])
    later = line("Renamed the drawer module to `till.go`", at=AT + DAY)
    assert "different kinds or days" in rewording_problem(text, [sources[0], later])
    wish = line("Asked: Rename the drawer module to `till.go`", "asked")
    assert "different kinds or days" in rewording_problem(text, [sources[0], wish])


def test_no_line_and_too_many_lines_have_no_wording() -> None:
    text = "Moved the session cache to `store/cache.py`."
    assert "0 lines" in rewording_problem(text, [])
    assert "4 lines" in rewording_problem(text, [MOVED] * 4)


def test_rules_commands_and_pitfalls_are_never_worded_by_a_model() -> None:
    for kind in ("check", "rule", "pitfall", "place", "decision"):
        assert not may_be_reworded(line("Never commit to git", kind))
    failing = line(
        "The tests that ran last failed: `go test ./...`", "tests", failing=1.0
    )
    assert not may_be_reworded(failing)
    assert all(map(may_be_reworded, (MOVED, UNSURE, LEFT, WISH)))


def test_a_wish_keeps_how_it_begins_and_its_day() -> None:
    assert bare_text(WISH) == "Add a second till to the shop with 3 drawers"
    assert worded_line("Add a till to the shop", [WISH]) == (
        "Asked: Add a till to the shop (24 Feb)."
    )


SWAPPED = line("Added the `orders` table with a route for `clients`, all tests use it")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "Added the `clients` table with a route for `orders`, all tests use it.",
            "another order",
        ),
        (
            "Added the `orders` table with a route for `clients`, some tests use it.",
            "the sense",
        ),
        (
            "Added the `orders` table with a route for `clients`, tests use it.",
            "the sense",
        ),
        (
            "Added the `orders` table before a route for `clients`, all tests use it.",
            "the sense",
        ),
        (
            "Added the `orders` table with a route for `clients`, all tests disuse it.",
            "contrary",
        ),
    ],
)
def test_a_wording_of_the_same_words_may_not_turn_the_sense(
    text: str, why: str
) -> None:
    assert why in rewording_problem(text, [SWAPPED])
    own = bare_text(SWAPPED)
    assert rewording_problem(own, [SWAPPED]) == ""


def test_contraries_are_told_from_each_other() -> None:
    source = line("The cache of the shop is enabled when the till opens its drawer")
    for old, new in (("enabled", "disabled"), ("opens", "closes")):
        text = bare_text(source).replace(old, new)
        assert "contrary" in rewording_problem(text, [source])


@given(st.text(max_size=200))
def test_whatever_a_model_says_is_judged_and_an_invented_number_never_stands(
    text: str,
) -> None:
    assert rewording_problem(f"{text} 987654321", [MOVED])
    if rewording_problem(text, [MOVED]) == "":
        assert fits_a_line(worded_line(text, [MOVED]))
