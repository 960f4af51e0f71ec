"""The data files of the package: each is read by a module beside it, and none holds an
entry twice.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import theorex_lab
from theorex_lab.core.sections import read_sections
from theorex_lab.eval.datasets import dataset_table
from theorex_lab.text import lexicon, lexicon_tables

PACKAGE = Path(theorex_lab.__file__).parent
FILES = sorted(
    path
    for suffix in ("txt", "json")
    for path in PACKAGE.rglob(f"*.{suffix}")
    if "_share" not in path.parts
)


def _sources_beside(path: Path) -> str:
    """With one kind of quotes: inside a replacement field they are single ones."""
    return "".join(
        module.read_text(encoding="utf-8") for module in path.parent.glob("*.py")
    ).replace("'", '"')


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_data_file_is_named_by_a_module_beside_it(path: Path) -> None:
    assert f'"{path.name}"' in _sources_beside(path)


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if path.suffix == ".txt"],
    ids=lambda path: path.name,
)
def test_every_section_is_read_and_holds_something(path: Path) -> None:
    sections = read_sections(str(path), path.name)
    assert sections
    assert [name for name in sections if f'"{name}"' not in _sources_beside(path)] == []
    assert all(sections.values())


def test_comments_and_blank_lines_around_a_section_are_no_part_of_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_text(
        "# of all\n\n[first part]\n# of one\none\n\ntwo\n\n[second]\n#3\n",
        encoding="utf-8",
    )
    assert read_sections(str(tmp_path / "a.py"), "a.txt") == {
        "first part": "one\n\ntwo",
        "second": "#3",
    }


def test_no_set_file_or_member_of_the_table_of_data_sets_stands_twice() -> None:
    assert len(dataset_table.DATASETS) == len(dataset_table.ALL)
    for info in dataset_table.ALL:
        names = [file.name for file in info.files]
        assert names
        assert len(names) == len(set(names))
        assert info.counts
        assert all(len(file.members) == len(set(file.members)) for file in info.files)


@pytest.mark.parametrize(
    ("section", "text"), read_sections(lexicon.__file__, "lexicon.txt").items()
)
def test_no_word_of_a_list_of_the_lexicon_stands_twice(section: str, text: str) -> None:
    words = text.split()
    assert len(words) == len(set(words)), section


def test_no_word_of_the_sentiments_stands_twice() -> None:
    words = " ".join(lexicon_tables.SENTIMENTS.values()).split()
    assert len(words) == len(set(words)) == len(lexicon.SENTIMENT_WORDS)
