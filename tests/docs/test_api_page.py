"""docs/api.md lists every public name, what it is, and every member of a `Lab`."""

from __future__ import annotations

import inspect
import re

import pytest
from doc_references import ROOT

import theorex_lab
from theorex_lab import Lab, TheorexError, eval

PAGE = ROOT / "docs" / "api.md"
SECTION = re.compile(r"^## (.*)$", re.MULTILINE)
ROW = re.compile(r"^\| `(\w+)` \| (.+?) \| (.*) \|$", re.MULTILINE)
MEMBER = re.compile(r"\| `Lab\.(\w+)` \| (.+?) \|$", re.MULTILINE)
MODULES = {"`theorex_lab`": theorex_lab, "`theorex_lab.eval`": eval}


def sections() -> dict[str, str]:
    """Return the text below each heading of the page."""
    _, *parts = SECTION.split(PAGE.read_text(encoding="utf-8"))
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize("heading", MODULES)
def test_every_public_name_has_a_row_and_no_other_has(heading: str) -> None:
    names = [name for name, *_ in ROW.findall(sections()[heading])]
    assert names == MODULES[heading].__all__


@pytest.mark.parametrize("heading", MODULES)
def test_a_row_says_in_a_sentence_what_the_name_is(heading: str) -> None:
    for name, sentence, _ in ROW.findall(sections()[heading]):
        assert sentence.endswith("."), name


@pytest.mark.parametrize("heading", MODULES)
def test_the_members_that_a_row_names_exist(heading: str) -> None:
    missing = []
    for name, _, members in ROW.findall(sections()[heading]):
        value = getattr(MODULES[heading], name)
        for member in re.findall(r"`(\w+)`", members):
            documented = re.search(
                rf"^\s+{member}: ", inspect.getdoc(value) or "", re.MULTILINE
            )
            if not hasattr(value, member) and documented is None:
                missing.append(f"{name}.{member}")
    assert missing == []


def test_every_member_of_a_lab_has_a_row_and_no_other_has() -> None:
    members = [name for name in dir(Lab) if not name.startswith("_")]
    listed = [name for name, _ in MEMBER.findall(sections()["What a `Lab` does"])]
    assert sorted(listed) == members


@pytest.mark.parametrize("name", theorex_lab.__all__)
def test_a_public_name_has_an_example_or_is_an_error(name: str) -> None:
    value = getattr(theorex_lab, name)
    is_error = isinstance(value, type) and issubclass(value, TheorexError)
    assert is_error or ">>>" in (inspect.getdoc(value) or "")
