"""What the documents name exists: modules, functions, files, links and other pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from doc_references import ROOMS, ROOT, code_spans, references_in, resolve, unresolved

DOCUMENTS = [
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
]
IDS = [str(path.relative_to(ROOT)) for path in DOCUMENTS]
LINK = re.compile(r"\]\((?!https?:)([^()#\s]*)(?:#([\w-]+))?\)")
# What begins a path of the repository.
TOP = (
    *("docs/", "tests/", "theorex_lab/", "benchmarks/", "notebooks/", "datasets/"),
    *(".ci/", ".github/"),
)
ROOM_PATH = re.compile(rf"(?:{'|'.join(ROOMS)})/[\w./]*")
PLACEHOLDER = re.compile(r"NAME|ROOM|X\b|[<>*{}…]")
# Records of decisions tell what was true when they were taken.
RECORDS = ROOT / "docs" / "adr"


@pytest.mark.parametrize("path", DOCUMENTS, ids=IDS)
def test_every_dotted_name_of_the_package_exists(path: Path) -> None:
    assert unresolved(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=IDS)
def test_every_path_of_the_repository_exists(path: Path) -> None:
    missing = []
    for span in code_spans(path.read_text(encoding="utf-8")):
        name = span.split("::")[0]
        if PLACEHOLDER.search(name):
            continue
        if name.startswith(TOP) and " " not in name:
            missing += [] if (ROOT / name).exists() else [name]
        elif ROOM_PATH.fullmatch(name):
            is_there = (ROOT / "theorex_lab" / name).exists()
            missing += [] if is_there or path.is_relative_to(RECORDS) else [name]
    assert missing == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=IDS)
def test_every_link_leads_to_a_file_and_a_heading(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    broken = []
    for target, anchor in LINK.findall(text):
        file = path.parent / target if target else path
        if not file.exists():
            broken.append(target)
        elif anchor and anchor not in anchors(file):
            broken.append(f"{target}#{anchor}")
    assert broken == []


def anchors(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as code hosts make them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in headings
    }


def test_every_page_is_reached_from_another() -> None:
    linked = set()
    for path in [ROOT / "README.md", *DOCUMENTS]:
        text = path.read_text(encoding="utf-8")
        linked |= {(path.parent / target).resolve() for target, _ in LINK.findall(text)}
    pages = {path for path in DOCUMENTS if path.is_relative_to(ROOT / "docs")}
    assert pages - linked == set()


def glossary_rows() -> list[list[str]]:
    """Return the cells of every row of the glossary's tables, without their heads."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = []
    for line in text.splitlines():
        is_row = line.startswith("| ") and not line.startswith("| word |")
        if is_row:
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def test_every_word_is_explained_and_has_a_place() -> None:
    rows = glossary_rows()
    assert len(rows) > 80
    for row in rows:
        word, meaning, place = row
        assert (
            meaning.removesuffix("`")
            .rstrip()
            .endswith((".", *"abcdefghijklmnopqrstuvwxyz"))
        ), word
        assert place, word


def test_words_of_the_toolkit_stand_in_the_order_of_the_alphabet_once() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    toolkit = text.partition("## Words of the published systems")[0]
    words = re.findall(r"^\| ([^|]+) \|", toolkit, re.MULTILINE)
    words.remove("word")
    assert words == sorted(words, key=str.casefold)
    assert len(set(words)) == len(words)


def test_a_name_that_stands_for_nothing_is_found() -> None:
    text = "`memory.decay.Law`, `memory.decay.Lore`, `journal/base.py`, `x.py`"
    assert references_in(text) == ["memory.decay.Law", "memory.decay.Lore"]
    (problem,) = unresolved(text)
    assert "memory.decay.Lore" in problem


def test_a_name_may_be_of_an_attribute_that_instances_have() -> None:
    assert resolve("theorex_lab.memory.contract:Home") is resolve(
        "memory.contract.Home"
    )
    resolve("memory.contract.Home.journal")
    resolve("memory.contract.ContextLine.text")
