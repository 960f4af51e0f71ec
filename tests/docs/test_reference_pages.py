"""The pages of the reference have every public name once."""

from __future__ import annotations

import re

import pytest
from doc_references import ROOT

import theorex_lab
from theorex_lab import eval

REFERENCE = ROOT / "docs" / "reference"
DIRECTIVE = re.compile(r"^\.\. auto(?:class|function):: ([\w.]+)$", re.MULTILINE)
PAGES = {"theorex_lab.md": theorex_lab, "eval.md": eval}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_documents_each_public_name_of_its_package_once(page: str) -> None:
    text = (REFERENCE / page).read_text(encoding="utf-8")
    names = [name.rpartition(".")[2] for name in DIRECTIVE.findall(text)]
    assert sorted(names) == sorted(PAGES[page].__all__)


def test_parts_that_are_made_of_the_package_stand_on_a_page() -> None:
    directives = {
        "commands.md": "```{product-commands}",
        "design-commands.md": "```{design-commands}",
        "settings.md": "```{settings-table}",
    }
    for page, directive in directives.items():
        assert directive in (REFERENCE / page).read_text(encoding="utf-8")
