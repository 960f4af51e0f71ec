"""Which lines of a briefing are chosen within a budget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from theorex_lab.memory.briefing.candidates import (
    COMMANDS,
    PLACES,
    RULES,
    SECTIONS,
    WORK,
    Candidate,
)
from theorex_lab.memory.briefing.selection import BUDGET_STEPS, LEAST_WEIGHT, choose
from theorex_lab.text.wording import content_words

DISTINCT = "alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima"


def line(text: str, *, section: str = RULES, weight: float = 0.5) -> Candidate:
    return Candidate(
        section=section,
        kind="made up",
        text=text,
        weight=weight,
        at=0,
        session="",
        words=content_words(text),
        events=("e1",),
        why="made up",
    )


def size_of(lines: list[Candidate]) -> int:
    """Return the bytes of lines with their marks and titles."""
    titles = {candidate.section for candidate in lines}
    size = sum(len(f"{title}:\n".encode()) for title in titles)
    return size + sum(len(f"- {candidate.text}\n".encode()) for candidate in lines)


def lines_of_all_sections() -> st.SearchStrategy[list[Candidate]]:
    words = st.sampled_from(DISTINCT.split())
    texts = st.lists(words, min_size=1, max_size=30).map(" ".join)
    weights = st.floats(0, 1)
    made = st.builds(
        lambda text, section, weight: line(text, section=section, weight=weight),
        texts,
        st.sampled_from(SECTIONS),
        weights,
    )
    return st.lists(made, max_size=60)


@given(lines_of_all_sections(), st.integers(20, 3_000))
def test_no_budget_is_exceeded_and_no_section_takes_more_than_its_share(lines, tokens):
    chosen = choose(lines, tokens)
    assert size_of(chosen) <= 4 * tokens
    share = 0.5 if tokens >= 500 else 0.6
    for section in SECTIONS:
        in_section = [candidate for candidate in chosen if candidate.section == section]
        size = sum(len(f"- {candidate.text}\n") for candidate in in_section)
        assert size <= share * 4 * tokens


@given(lines_of_all_sections())
def test_what_stands_in_a_small_briefing_also_stands_in_a_larger_one(lines):
    smaller: list[Candidate] = []
    for tokens in BUDGET_STEPS:
        chosen = choose(lines, tokens)
        assert [candidate for candidate in smaller if candidate not in chosen] == []
        smaller = chosen


def test_room_without_a_good_line_stays_empty():
    assert choose([line("Never commit", weight=LEAST_WEIGHT / 2)], 500) == []


def test_of_lines_that_say_the_same_one_is_shown():
    lines = [
        line("Never push the main branch yourself", weight=0.9),
        line("Never push the main branch", weight=0.4),
        line("Run the linter on the whole project", weight=0.3),
    ]
    texts = [candidate.text for candidate in choose(lines, 500)]
    assert texts == [
        "Never push the main branch yourself",
        "Run the linter on the whole project",
    ]


def test_what_the_reader_has_already_is_not_repeated():
    shown = [line("Sessions are kept in one folder for each user", section=WORK)]
    other = line("The cache is emptied every night by a timer", section=WORK)
    chosen = choose([*shown, other], 500, shown=shown, whole_budget=True)
    assert chosen == [other]


def test_sections_stand_in_their_order_whatever_was_chosen_first():
    lines = [
        line("Reports live in the folder reports", section=PLACES, weight=0.9),
        line("Test with `make test`", section=COMMANDS, weight=0.5),
        line("Never commit to git", section=RULES, weight=0.2),
    ]
    sections = [candidate.section for candidate in choose(lines, 500)]
    assert sections == [RULES, COMMANDS, PLACES]


def test_a_prompt_may_fill_the_whole_budget_with_one_section():
    texts = [
        f"{word} {word}s are stored in the {word} table" for word in DISTINCT.split()
    ]
    lines = [line(text, section=WORK) for text in texts]
    limited = choose(lines, 150)
    whole = choose(lines, 150, whole_budget=True)
    assert len(limited) < len(whole)
    assert size_of(whole) <= 600
