"""The how-to pages: every file, program and command works and prints what is shown."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from doc_references import ROOT
from first_day import Newcomer, matches
from how_to_pages import PAGES, PageFile, parts_of, write

PROGRAMS = Path(sys.executable).parent
IDS = [str(path.relative_to(ROOT / "docs")) for path in PAGES]
LIST = ROOT / "docs" / "extending.md"


@pytest.mark.parametrize("path", PAGES, ids=IDS)
def test_every_example_of_a_page_works_and_prints_what_is_shown(
    path: Path, tmp_path: Path
) -> None:
    if not (PROGRAMS / "theorex").exists():
        pytest.skip("the command theorex is not installed beside this Python")
    text = path.read_text(encoding="utf-8")
    newcomer = Newcomer(tmp_path, programs=PROGRAMS)
    for step in parts_of(text):
        if isinstance(step, PageFile):
            write(step, newcomer)
            continue
        ended = newcomer.run(step)
        where = f"{step.heading}: {step.command}"
        assert ended.returncode == 0, f"{where}\n{ended.stdout}"
        assert matches(step.shown, ended.stdout), (
            f"{where}\nthe page shows:\n{step.shown}\nprinted is:\n{ended.stdout}"
        )


def test_every_page_has_an_example() -> None:
    assert [path for path in PAGES if not parts_of(path.read_text("utf-8"))] == []


def test_the_list_has_every_page() -> None:
    listed = re.findall(r"^\| \[.+?\]\((.+?)\)", LIST.read_text("utf-8"), re.MULTILINE)
    pages = [path for path in PAGES if path.parent.name == "how-to"]
    assert sorted(listed) == sorted(f"how-to/{path.name}" for path in pages)


def test_a_block_with_a_name_is_a_file_and_no_program() -> None:
    page = (
        "## One\n\n```python\n# law.py\nx = 1\n```\n\n```toml\n# p.toml\na = 1\n```\n\n"
        "```python\nprint(1)\n\n# prints:\n# 1\n```\n"
    )
    law, project, program = parts_of(page)
    assert (law, project) == (PageFile("law.py", "x = 1\n"), ("p.toml", "a = 1\n"))
    assert program == ("One", "python", "print(1)\n\n", "1\n")
