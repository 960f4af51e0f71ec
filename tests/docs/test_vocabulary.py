"""What users read is plain: no text has a word of `vocabulary.BANNED` outside the rooms
that may use it.
"""

from __future__ import annotations

import re
from functools import cache

import click
import pytest
from shown_texts import (
    Role,
    ShownText,
    all_texts,
    docstring_texts,
    message_texts,
    notebook_texts,
    page_text,
)
from vocabulary import (
    BANNED,
    HELP_TABLES,
    WORDS_OF_USERS,
    Banned,
)

shown_texts = cache(all_texts)
_FLAGS = re.IGNORECASE | re.MULTILINE
# A command in backticks, or on an indented line of its own.
COMMAND = re.compile(
    r"`theorex (?P<span>[^`\n]+)`|^ {0,4}theorex (?P<line>[a-z].*?)(?: +#.*)?$",
    re.MULTILINE,
)
MADE_UP = '''
"""Tell what was heard. See `heard` and `theorex nightly`.

>>> heard = "heard"
"""

def confirm(heard: str) -> None:
    """Put it to sleep.

    Args:
        sleep: How long.
    """
    raise ValueError(f"the night {heard} is over" + "night")

def _hidden():
    """Put it to sleep."""
    return "sleep night".split()
'''


def is_passed_over(shown: ShownText) -> bool:
    """Return whether no word is looked for in a text."""
    return shown.role is Role.MESSAGE and shown.path.startswith(
        (*HELP_TABLES, *WORDS_OF_USERS)
    )


def uses(row: Banned, texts: list[ShownText]) -> list[str]:
    """Return where texts have a banned word, and what they should say."""
    problems = []
    for shown in texts:
        if shown.role not in row.roles or shown.path.startswith(row.allowed_in):
            continue
        for match in re.finditer(row.pattern, shown.text, _FLAGS):
            line_start = shown.text.rfind("\n", 0, match.start()) + 1
            line = shown.text[line_start:].partition("\n")[0].strip()
            if any(phrase in line for phrase in row.exceptions):
                continue
            number = shown.line + shown.text.count("\n", 0, match.start())
            if shown.path.endswith(".ipynb"):
                number = shown.line
            problems.append(
                f"{shown.path}:{number}: {shown.role} has {match[0]!r};"
                f" say {row.use!r}: {line[:90]}"
            )
    return problems


@pytest.mark.parametrize("row", BANNED, ids=lambda row: row.pattern)
def test_no_text_has_a_banned_word(row: Banned) -> None:
    texts = [shown for shown in shown_texts() if not is_passed_over(shown)]
    assert uses(row, texts) == []


def missing_commands(texts: list[ShownText]) -> list[str]:
    """Return the commands that texts name and that do not exist, with their places."""
    problems = []
    for shown in texts:
        for match in COMMAND.finditer(shown.text):
            words = match["span"] or match["line"]
            if not _is_command(words.split()):
                problems.append(f"{shown.path}: `theorex {words}` is no command")
    return problems


def _is_command(words: list[str]) -> bool:
    """Return whether words after `theorex` begin with the name of a command."""
    from theorex_lab.app.cli import theorex

    group: click.Command = theorex
    context = click.Context(theorex)
    for word in words:
        is_name = re.fullmatch(r"[a-z][a-z0-9-]*", word)
        if not isinstance(group, click.Group) or is_name is None:
            return True
        command = group.get_command(context, word)
        if command is None:
            return False
        group = command
    return True


def test_every_command_that_a_text_names_exists() -> None:
    assert missing_commands(shown_texts()) == []


def test_a_command_that_does_not_exist_is_found() -> None:
    text = "`theorex write`, `theorex --json tour`, `theorex COMMAND`\n\n"
    page = page_text("docs/made_up.md", text + "    theorex memory context\n")
    assert missing_commands([page]) == [
        "docs/made_up.md: `theorex memory context` is no command"
    ]
    page = page_text("docs/made_up.md", "`theorex facts write` `theorex facts wrote`")
    assert missing_commands([page]) == [
        "docs/made_up.md: `theorex facts wrote` is no command"
    ]


def test_every_role_has_texts() -> None:
    assert {shown.role for shown in shown_texts()} == set(Role)


def test_what_is_passed_over_exists() -> None:
    paths = {shown.path for shown in shown_texts()}
    for prefix in (*HELP_TABLES, *WORDS_OF_USERS):
        assert any(path.startswith(prefix) for path in paths), prefix


@pytest.mark.parametrize("row", BANNED, ids=lambda row: row.pattern)
def test_every_permission_is_used(row: Banned) -> None:
    for prefix in row.allowed_in:
        assert any(
            shown.path.startswith(prefix)
            and (shown.role is Role.HELP or re.search(row.pattern, shown.text, _FLAGS))
            for shown in shown_texts()
        ), f"{row.pattern}: nothing in {prefix} has it; take the permission away"
    for phrase, reason in row.exceptions.items():
        assert reason
        assert any(phrase in shown.text for shown in shown_texts()), phrase


def test_a_banned_word_is_reported_with_its_place_and_the_word_to_use() -> None:
    row = Banned(r"\b(?:heard|sleep|night)\b", "plain words")
    made_up = [
        *docstring_texts("theorex_lab/made_up.py", MADE_UP),
        *message_texts("theorex_lab/made_up.py", MADE_UP),
    ]
    assert uses(row, made_up) == [
        "theorex_lab/made_up.py:2: docstring has 'heard'; say 'plain words':"
        " Tell what was heard. See · and `theorex nightly`.",
        "theorex_lab/made_up.py:8: docstring has 'sleep'; say 'plain words':"
        " Put it to sleep.",
        "theorex_lab/made_up.py:16: docstring has 'sleep'; say 'plain words':"
        " Put it to sleep.",
        "theorex_lab/made_up.py:13: message has 'night'; say 'plain words':"
        " the night {} is over",
    ]


def test_a_row_holds_for_its_roles_rooms_and_exceptions() -> None:
    page = page_text("docs/made_up.md", "One night.\n\n```text\nnight\n```\nnight\n")
    assert len(uses(Banned("night", "x"), [page])) == 2
    assert uses(Banned("night", "x", roles=(Role.MESSAGE,)), [page]) == []
    assert uses(Banned("night", "x", allowed_in=("docs/made",)), [page]) == []
    one = Banned("night", "x", exceptions={"One night.": "a made-up reason"})
    assert [problem[:18] for problem in uses(one, [page])] == ["docs/made_up.md:6:"]


def test_prose_and_strings_of_a_notebook_are_read_and_its_code_is_not() -> None:
    cells = (
        '{"cells": [{"cell_type": "markdown", "source": ["By ", "night"]},'
        ' {"cell_type": "code", "source": ["%cd night\\n", "night = \'a night\'"]}]}'
    )
    texts = list(notebook_texts("notebooks/made_up.ipynb", cells))
    assert [shown.text for shown in texts] == ["By night", "a night"]
