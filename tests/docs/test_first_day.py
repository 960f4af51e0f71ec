"""docs/first-day.md: every command runs, in order, and prints what the page shows."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from doc_references import ROOT
from first_day import PAGE, Newcomer, matches, steps_of

TEXT = PAGE.read_text(encoding="utf-8")
STEPS = steps_of(TEXT)
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROGRAMS = Path(sys.executable).parent
HEADINGS = [
    "Install",
    "Take the tour",
    "Write",
    "Search",
    "Read the briefing",
    "Import your sessions",
    "Install the hooks",
    "Open a notebook",
    "Compare memories",
    "Fit decay laws",
    "Take in a folder",
    "Erase",
    "Complete commands with the Tab key",
    "Read results in a program",
]


@pytest.fixture
def newcomer(tmp_path: Path) -> Newcomer:
    if not (PROGRAMS / "theorex").exists():
        pytest.skip("the command theorex is not installed beside this Python")
    return Newcomer(tmp_path, programs=PROGRAMS)


def test_every_command_of_the_page_works_and_prints_what_is_shown(
    newcomer: Newcomer,
) -> None:
    for step in STEPS:
        ended = newcomer.run(step)
        where = f"{step.heading}: {step.command}"
        assert ended.returncode == 0, f"{where}\n{ended.stdout}"
        assert matches(step.shown, ended.stdout), (
            f"{where}\nthe page shows:\n{step.shown}\nprinted is:\n{ended.stdout}"
        )
    assert not (newcomer.repository / "settings.json").exists()
    assert not (newcomer.user_home / ".claude" / "settings.json").exists()


def test_every_heading_has_a_command() -> None:
    assert list(dict.fromkeys(step.heading for step in STEPS)) == HEADINGS
    assert re.findall(r"^## (.+)$", TEXT, re.MULTILINE) == [*HEADINGS, "What next"]


def test_the_installation_is_that_of_the_readme_and_of_the_project() -> None:
    install = TEXT.partition("## Install\n")[2].partition("\n## ")[0]
    commands = re.findall(r"^    (\S.*)$", install, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        assert command in README
    project: dict[str, Any] = tomllib.loads(
        (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    )["project"]
    (extras,) = re.findall(r'"\.\[([\w,]+)\]"', install)
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    assert "theorex" in project["scripts"]
    for extra in extras.split(","):
        assert f"`{extra}`" in install
    minimum = project["requires-python"].removeprefix(">=")
    assert f"Python {minimum}" in install


COMPLETIONS = [
    ("theorex sea", "search"),
    ("theorex search --lim", "--limit"),
    ("theorex search --vectors alw", "always"),
    ("theorex causal adv", "advice"),
]


@pytest.mark.parametrize(("line", "completed"), COMPLETIONS)
def test_bash_completes_commands_options_and_choices(
    newcomer: Newcomer, line: str, completed: str
) -> None:
    (source,) = [
        step.command
        for step in STEPS
        if "_THEOREX_COMPLETE=bash_source" in step.command
    ]
    words = line.split()
    quoted = " ".join(f"'{word}'" for word in words)
    ended = newcomer.shell(
        f"{source}\n"
        f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}\n"
        "_theorex_completion theorex\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    assert (ended.returncode, ended.stdout.split()) == (0, [completed])


def test_bash_completes_the_name_by_the_function(newcomer: Newcomer) -> None:
    ended = newcomer.shell(
        'eval "$(_THEOREX_COMPLETE=bash_source theorex)"; complete -p theorex'
    )
    assert "-F _theorex_completion theorex" in ended.stdout


# What the scripts for zsh and fish hand to the program at the Tab key.
ASKED = {
    "zsh": {"COMP_WORDS": "theorex sea", "COMP_CWORD": "1"},
    "fish": {"COMP_WORDS": "theorex sea", "COMP_CWORD": "sea"},
}


@pytest.mark.parametrize("shell", ASKED)
def test_zsh_and_fish_are_served_too(newcomer: Newcomer, shell: str) -> None:
    assert f"_THEOREX_COMPLETE={shell}_source theorex" in TEXT
    script = newcomer.shell(f"_THEOREX_COMPLETE={shell}_source theorex").stdout
    assert "theorex" in script
    assert f"_THEOREX_COMPLETE={shell}_complete" in script
    newcomer.environment |= {**ASKED[shell], "_THEOREX_COMPLETE": f"{shell}_complete"}
    completed = newcomer.shell("theorex").stdout
    assert re.search(r"^(plain,)?search\b", completed, re.MULTILINE)


def test_what_a_page_shows_is_compared_line_by_line() -> None:
    assert matches("a … c\n", "a b c\n")
    assert matches("…\nend\n", "one\ntwo\nend\n")
    assert matches("start\n…\n", "start\n")
    assert not matches("a … c\n", "a\nc\n")
    assert not matches("a\n", "a\nb\n")
    assert not matches("", "a\n")


def test_a_block_is_read_as_commands_with_what_they_print() -> None:
    page = (
        "# Title\n\n## One\n\n````console\n$ first \\\n  more\n```text\nout\n```\n"
        "$ second\n````\n\n## Two\n\n```python\nprint(1)\n\n# prints:\n# 1\n```\n"
    )
    first, second, third = steps_of(page)
    assert first.command == "first \\\n  more"
    assert first.shown == "```text\nout\n```\n"
    assert (second.heading, second.command, second.shown) == ("One", "second", "")
    assert (third.heading, third.language, third.shown) == ("Two", "python", "1\n")
    assert third.command == "print(1)\n\n"
