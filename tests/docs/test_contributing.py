"""CONTRIBUTING.md and CITATION.cff agree with the repository."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from doc_references import ROOT, code_spans

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
STEPS = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
PROJECT: dict[str, Any] = tomllib.loads(
    (ROOT / "pyproject.toml").read_text(encoding="utf-8")
)
HOW_TOS = (
    "A decay law",
    "A router",
    "A design",
    "A reader of documents",
    "A reader of transcripts",
    "A replay baseline, or an adapter",
    "A briefing section",
    "An MCP tool",
    "A command",
)


def indented_commands(text: str) -> list[str]:
    """Return the lines of a page's indented blocks, without their comments."""
    lines = re.findall(r"^    (\S.*)$", text, re.MULTILINE)
    return [line.partition("  #")[0].rstrip() for line in lines]


def commands_of(text: str) -> set[str]:
    """Return the commands of an indented block, one by one where `&&` joins them."""
    commands = set()
    for line in indented_commands(text):
        commands |= {command.strip() for command in line.split("&&")}
    return commands


def test_the_commands_of_the_set_up_are_those_of_the_readme() -> None:
    setup = CONTRIBUTING.partition("## Set-up")[2].partition("## Checks")[0]
    assert "pip install uv && uv run theorex tour" in setup
    assert "pip install uv && uv run pytest" in setup
    assert commands_of(setup) <= commands_of(README)


def test_each_step_of_the_checks_is_described_with_its_command() -> None:
    checks = CONTRIBUTING.partition("## Checks")[2].partition("## Where")[0]
    described = re.findall(r"^\| \w+ \| `(uv run [^`]+)` \|", checks, re.MULTILINE)
    steps = re.findall(r"^uv run .+$", STEPS, re.MULTILINE)
    tour = "uv run theorex tour --json"
    assert len(described) == len(steps)
    for command in described:
        assert command in steps or (command == tour and tour in STEPS)


def test_the_quick_tests_are_of_every_room_and_of_files_that_exist() -> None:
    tests = ROOT / "tests"
    listed = (tests / "slow_files.txt").read_text(encoding="utf-8").split()
    assert listed == sorted(set(listed))
    slow = {tests / name for name in listed}
    assert all(file.is_file() for file in slow)
    quick = set(tests.rglob("test_*.py")) - slow
    rooms = {path.parent.name for path in (ROOT / "theorex_lab").glob("*/__init__.py")}
    assert rooms <= {file.parent.name for file in quick}
    assert "`tests/slow_files.txt`" in CONTRIBUTING


def test_commands_of_the_toolkit_and_their_options_exist() -> None:
    import click

    from theorex_lab.app.cli import theorex

    context = click.Context(theorex)
    for span in code_spans(CONTRIBUTING):
        words = span.split()
        if words[:1] != ["theorex"] or len(words) < 2:
            continue
        command = theorex.get_command(context, words[1])
        assert command is not None, span
        if isinstance(command, click.Group) and len(words) > 2:
            command = command.get_command(context, words[2])
            assert command is not None, span
        options = {option for each in command.params for option in each.opts}
        named = {word for word in words if word.startswith("--")}
        assert named <= {*options, "--json", "--home", "--now"}, span


@pytest.mark.parametrize("title", HOW_TOS)
def test_each_how_to_names_three_files_at_most_and_its_tests(title: str) -> None:
    how_to = CONTRIBUTING.partition(f"### {title}\n")[2].partition("\n##")[0]
    assert how_to, title
    steps = re.findall(r"^\d+\. `([^`]+)`", how_to, re.MULTILINE)
    assert 1 <= len(steps) <= 3
    assert "Test" in how_to
    assert "tests/" in how_to


def test_there_is_a_how_to_for_nothing_else() -> None:
    assert tuple(re.findall(r"^### (.+)$", CONTRIBUTING, re.MULTILINE)) == HOW_TOS


def test_the_citation_has_what_the_form_requires_and_what_the_project_says() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert citation["cff-version"] == "1.2.0"
    assert citation["title"] == "theorex_lab"
    project = PROJECT["project"]
    assert citation["version"] == project["version"]
    assert citation["license"] == project["license"]
    assert citation["authors"] == project["authors"]
    assert citation["abstract"] == project["description"]
    assert set(citation["keywords"]) <= set(project["keywords"])
    (author,) = citation["authors"]
    assert author["name"] in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_the_supported_versions_have_the_present_one() -> None:
    security = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    major_and_minor = PROJECT["project"]["version"].rpartition(".")[0]
    assert f"| {major_and_minor}.x | yes |" in security


@pytest.mark.parametrize("name", ["SECURITY.md", "CONTRIBUTING.md", "CITATION.cff"])
def test_no_address_stands_where_none_is_known(name: str) -> None:
    text = Path(ROOT / name).read_text(encoding="utf-8")
    assert re.findall(r"https?://|[\w.]+@[\w.]+\.\w+", text) == []
