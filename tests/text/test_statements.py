"""Statements of a message: whole, without markup, and none is lost but code."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab.text.statements import (
    SHORTEST_STATEMENT,
    plain,
    sentences_in,
    statements_in,
)

RULE = "Never commit to the main branch."


def texts_of(message: str) -> list[str]:
    return [statement.text for statement in statements_in(message)]


def bare(text: str) -> str:
    """Letters and digits alone: what no markup is made of."""
    return re.sub(r"[\W_]", "", text)


@pytest.mark.parametrize(
    "message",
    [
        RULE,
        f"- {RULE}",
        f"  * {RULE}",
        f"12. {RULE}",
        f"- [x] {RULE}",
        f"> {RULE}",
        f"**{RULE}**",
        "Never **commit** to the __main__ branch.",
        "Never commit to the [main](https://example.org/a_(b)) branch.",
        f"# Rules\n{RULE}",
        f"Rules\n=====\n{RULE}",
        f"Rule\n----\n{RULE}",
        f"```\ncode();\n```\n{RULE}",
        f"````\n```\n````\n{RULE}",
        f"~~~\n```\n~~~\n{RULE}",
        f"Do it\n{RULE}",
        f"{RULE}\r\n",
    ],
)
def test_a_statement_loses_its_markup(message):
    assert texts_of(message) == [RULE]


@pytest.mark.parametrize(
    "code",
    [
        f"```\n{RULE}\n```",
        f"```text\n{RULE}",
        f"~~~\n{RULE}\n```\n{RULE}\n~~~",
        f"````\n```\n{RULE}\n```\n````",
    ],
)
def test_code_has_no_statements(code):
    assert texts_of(code) == []


def test_ticks_within_a_line_open_no_code():
    assert texts_of(f"```x``` is code.\n{RULE}") == ["```x``` is code.", RULE]


def test_a_statement_has_the_heading_or_the_introducing_line_above_it():
    message = """# Plan

We start with the parser.

Rules of the house:
- Never commit to main.
- Ask before new files.

## Later
- Split the large module.
"""
    statements = statements_in(message)
    subjects = [(s.heading, s.is_bullet, s.after_colon) for s in statements]
    assert subjects == [
        ("Plan", False, False),
        ("Plan", False, False),
        ("Rules of the house", True, True),
        ("Rules of the house", True, True),
        ("Later", True, False),
    ]


def test_a_line_introduces_only_the_list_right_below_it():
    message = "Changes:\n- one thing is new\n\nNow the tests.\n- all tests pass"
    subjects = [(s.heading, s.text) for s in statements_in(message)]
    assert subjects == [
        ("Changes", "one thing is new"),
        ("", "Now the tests."),
        ("", "all tests pass"),
    ]


def test_a_heading_with_nothing_under_it_is_a_statement_itself():
    assert texts_of("# Never commit to main") == ["Never commit to main"]
    assert texts_of("## Always ask first\n## Use the linter\nIt is golangci-lint.") == [
        "Always ask first",
        "It is golangci-lint.",
    ]
    title = "# The title of it all\n## Rules of the house\nAsk before new files."
    assert texts_of(title) == ["Ask before new files."]
    assert texts_of("## How to call it\n```\ncall()\n```") == []


def test_rows_of_a_table_come_without_its_header():
    table = "| Command | Meaning |\n|---|:-:|\n| go test ./... | runs all tests |"
    assert texts_of(table) == ["go test ./...; runs all tests"]


def test_a_table_without_a_header_loses_no_row():
    assert texts_of("| never commit | to main |") == ["never commit; to main"]
    rows = "| never commit | to main |\n| ask before | new files |"
    assert texts_of(rows) == ["never commit; to main", "ask before; new files"]


def test_a_quote_ends_where_the_next_line_is_not_quoted():
    message = f"> Always run the script.\n{RULE}\n> And tell nobody of it."
    quoted = [(s.text, s.quoted) for s in statements_in(message)]
    assert quoted == [
        ("Always run the script.", True),
        (RULE, False),
        ("And tell nobody of it.", True),
    ]


def test_a_wrapped_line_goes_on_in_the_next_one_and_a_short_line_does_not():
    wrapped = "The cache is kept per session, since two sessions of one project may\n"
    assert texts_of(f"{wrapped}ask for other budgets.") == [
        plain(f"{wrapped}ask for other budgets.")
    ]
    assert texts_of("never commit to main\nuse table-driven tests") == [
        "never commit to main",
        "use table-driven tests",
    ]


def test_an_indented_line_goes_on_with_the_list_item_above_it():
    assert texts_of("- never commit\n  to the main branch\nask before new files") == [
        "never commit to the main branch",
        "ask before new files",
    ]


def test_a_statement_knows_its_first_and_last_line():
    message = (
        "Ask first. The cache is kept per session, since two sessions may\n"
        "ask for other budgets. It is small. Nobody has to think of what\n"
        "the **old one** did."
    )
    places = [(s.text.split()[0], s.line, s.last_line) for s in statements_in(message)]
    # "Ask first." is too short to say anything.
    assert places == [("The", 0, 1), ("It", 1, 1), ("Nobody", 1, 2)]


@pytest.mark.parametrize(
    ("paragraph", "sentences"),
    [
        ("Use jq, e.g. Version 1. Never grep.", 2),
        ('He said "no." Then he left.', 2),
        ("Set it to 1.5 in app.py. Done.", 2),
        ("(Ask first.) *Then* do it.", 2),
        ("Не коміть. Спитай.", 2),
        ("what? no! fine.", 1),
        ("", 0),
    ],
)
def test_sentences_end_where_another_begins(paragraph, sentences):
    parts = sentences_in(paragraph)
    assert len(parts) == sentences
    assert " ".join(parts) == paragraph


SIGNS = "ab Z.!?:;,-*_#>|`~[]()=\n\t1Жи"
MARKS_OF_LINES = [
    "\n- ",
    "\n# ",
    "\n> ",
    "\n```",
    "**",
    "\n| a |",
    "\n|-|",
    "](",
    "\u2028",
]
MARKUP = st.sampled_from([*SIGNS, *MARKS_OF_LINES])


@given(st.lists(MARKUP, max_size=120).map("".join))
def test_every_statement_occurs_in_its_message(message):
    lines = message.splitlines()
    for statement in statements_in(message):
        assert len(statement.text) >= SHORTEST_STATEMENT
        assert statement.text == " ".join(statement.text.split())
        assert 0 <= statement.line <= statement.last_line < len(lines)
        if "](" in message:
            continue  # what a link leads to is left out
        source = " ".join(lines[statement.line : statement.last_line + 1])
        assert bare(statement.text) in bare(source)


@given(st.text())
def test_any_text_has_statements(text):
    for statement in statements_in(text):
        if "](" not in text:
            assert bare(statement.text) in bare(text)


MARKS = ("", "- ", "2. ", "> ", "# ", "### ", "- [ ] ", "    ", "* **Bold:** ")
LINES = st.lists(
    st.tuples(st.sampled_from(MARKS), st.integers(0, 90), st.booleans()), max_size=12
)


@given(LINES)
def test_every_line_that_is_no_code_is_a_statement_or_a_heading(shapes):
    lines = []
    names = []
    for number, (mark, length, is_last) in enumerate(shapes):
        name = f"statement{number}x"
        names.append(name)
        filling = "so it is " * (length // 9)
        lines.append(f"{mark}{name} {filling}and so on")
        if is_last:
            lines.append("")
    statements = statements_in("\n".join(lines))
    read = " ".join(f"{s.heading} {s.text}" for s in statements)
    titles = [
        name for name, (mark, *_) in zip(names, shapes, strict=True) if "#" in mark
    ]
    for name in names:
        # A title that has only other headings under it is no statement.
        assert name in read or name in titles


@given(st.lists(st.sampled_from(["never commit now", "| never | commit |", ""])))
def test_no_row_is_lost_where_a_table_has_no_header(lines):
    statements = statements_in("\n".join(lines))
    assert len(statements) == len([line for line in lines if line])


@pytest.mark.parametrize(
    "part",
    ["# ", "*", "**a ", "`", "``` ", "[a](", "> ", "| ", "- ", ".) ", "a. ", "=", "_"],
)
def test_a_long_message_is_read_in_linear_time(part):
    message = part * (200_000 // len(part)) + "x"
    began = time.process_time()
    statements_in(message)
    assert time.process_time() - began < 5
