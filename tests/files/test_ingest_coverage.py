"""Every character of a document is in a part, or counted among what was left out."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ingested import cited, folder, found, page, pdf, read, told

from theorex_lab import Lab
from theorex_lab.files.ingest.documents import Account
from theorex_lab.files.ingest.text import FORMS, n_characters, read_document
from theorex_lab.memory.documents import Part
from theorex_lab.search.lexical import tokenize


def account_of(name: str, content: str | bytes) -> Account:
    """How many characters a document has, and which of them are in no part."""
    if isinstance(content, str):
        content = content.encode()
    _, problems = read_document(Path(name), name, content)
    (account,) = (problem for problem in problems if isinstance(problem, Account))
    return account


def names(parts: list[Part]) -> list[str]:
    return [part.name for part in parts]


# Headings


HEADINGS_ALONE = """# Before sailing

## Never open the lock on Mondays

## Call the pilot first

## Papers
They are in the drawer.

## At the end
"""


def test_a_heading_without_text_is_a_part() -> None:
    assert told(read("a.md", HEADINGS_ALONE)) == [
        ("Before sailing", "Before sailing", 1),
        (
            "Before sailing › Never open the lock on Mondays",
            "Never open the lock on Mondays",
            3,
        ),
        ("Before sailing › Call the pilot first", "Call the pilot first", 5),
        ("Before sailing › Papers", "They are in the drawer.", 8),
        ("Before sailing › At the end", "At the end", 10),
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "Lamps\n=====\n\nRed lamps\n---------\n\nGreen lamps\n---------\n"),
        ("a.mdx", "# Lamps\n## Red lamps\n## Green lamps"),
        (
            "a.rst",
            "=====\nLamps\n=====\n\nRed lamps\n---------\n\nGreen lamps\n-----------",
        ),
        ("a.html", "<h1>Lamps</h1><h2>Red <b>lamps</b></h2><h2>Green lamps</h2>"),
        ("a.adoc", "= Lamps\n\n== Red lamps\n\n== Green lamps\n"),
        ("a.org", "* Lamps\n** Red lamps\n** Green lamps\n"),
    ],
)
def test_headings_without_text_are_parts_of_each_form(name: str, text: str) -> None:
    parts = read(name, text)
    assert names(parts) == ["Lamps", "Lamps › Red lamps", "Lamps › Green lamps"]
    assert [part.text for part in parts] == ["Lamps", "Red lamps", "Green lamps"]


def test_the_deepest_of_nested_headings_is_found(lab: Lab, tmp_path: Path) -> None:
    text = "\n".join(f"{'#' * level} Deck {level}" for level in range(1, 7))
    lab.ingest(folder(tmp_path / "docs", {"a.md": text}))
    texts = {text for _, text in found(lab, "deck 6")}
    assert "Deck 6" in texts


def test_a_long_heading_is_kept_whole_and_its_name_is_short() -> None:
    paragraph = "The tide table is pinned to the wall of the office. " * 8
    parts = read("a.md", f"{paragraph}\n---\n\nBelow.")
    assert parts[0].text == paragraph.strip()
    assert max(len(part.name) for part in parts) < 210
    assert parts[-1].text == "Below."


def test_a_heading_with_a_link_cites_it() -> None:
    assert cited(read("a.md", "## [Chart](maps/chart.md)")) == ["maps/chart.md"]


# Heads of files


@pytest.mark.parametrize(
    "head",
    [
        "---\npermalink: notes/crane\n---\n\n---\nname: crane\ndescription: lifts boxes\n---",
        "---\ntitle: Crane # the old one\ndescription: lifts boxes\ntags:\n- x\n---",
        "---\ndescription: lifts boxes\n...",
        "+++\ntitle = 'Crane'\n# about it\ndescription = 'lifts boxes'\n+++",
        '{\n  "title": "Crane",\n  "description": "lifts boxes"\n}',
    ],
)
def test_the_head_of_a_file_is_a_part_of_it(head: str) -> None:
    parts = read("a.md", f"{head}\n\n# Crane\n\nIt is yellow.\n")
    assert names(parts) == ["a.md", "Crane"]
    assert "lifts boxes" in parts[0].text
    assert parts[1].text == "It is yellow."


def test_a_line_across_is_no_head() -> None:
    text = "---\n# Crane\n\nIt is yellow.\n\n---\n\n# Hoist\n\nIt is red.\n"
    assert names(read("a.md", text)) == ["a.md", "Crane", "Hoist"]


# Words that go on in the next line


@pytest.mark.parametrize(
    "text",
    [
        "The crane is noctur-\nnal.",
        "The crane is noctur\u00ad\n   nal.",
        "noctur‐\nnal",
    ],
)
def test_a_word_with_a_hyphen_at_the_end_of_a_line_is_found(
    text: str, lab: Lab, tmp_path: Path
) -> None:
    lab.ingest(folder(tmp_path / "docs", {"a.txt": text}))
    for query in ("nocturnal", "noctur"):
        assert len(found(lab, query)) == 1, query


def test_a_real_hyphen_at_the_end_of_a_line_stays(lab: Lab, tmp_path: Path) -> None:
    lab.ingest(folder(tmp_path / "docs", {"a.txt": "It is a well-\nknown crane."}))
    for query in ("well-known", "known", "wellknown"):
        assert len(found(lab, query)) == 1, query


def test_a_page_of_a_pdf_has_its_words_whole(lab: Lab, tmp_path: Path) -> None:
    content = pdf(page("The har-", "bour is closed for noctur-", "nal work."), page())
    report = lab.ingest(folder(tmp_path / "docs", {"a.pdf": content}))
    for query in ("harbour", "nocturnal"):
        assert len(found(lab, query)) == 1, query
    (problem,) = report.problems
    assert problem.endswith("a.pdf: there is no text on page 2; are they pictures?")


def test_a_ligature_and_a_soft_hyphen_are_no_letters_of_their_own() -> None:
    assert tokenize("ﬁle oﬃce") == tokenize("file office")
    (part,) = read("a.txt", "noc\u00adtur\u00adnal")
    assert part.text == "nocturnal"


@given(
    st.lists(st.sampled_from(["lamp", "a", "-\n", "-", "\n", " ", "é"]), max_size=30)
)
def test_words_are_cut_once(pieces: list[str]) -> None:
    text = "".join(pieces)
    whole = tokenize(text)
    assert whole[: len(tokenize(text.replace("-\n", "- \n")))] == tokenize(
        text.replace("-\n", "- \n")
    )


# Coverage


WORDS = st.text("abcdefghijxyzäß東", min_size=1, max_size=9)


MARKDOWN = st.lists(
    st.one_of(
        st.builds("{} {}".format, st.sampled_from(["#", "##", "####"]), WORDS),
        st.builds("{}\n{}".format, WORDS, st.sampled_from(["===", "---"])),
        st.builds("> # {}".format, WORDS),
        st.builds("- {}".format, WORDS),
        st.builds("```\n# {}\n```".format, WORDS),
        st.builds("<!-- {} -->".format, WORDS),
        st.builds("<details>\n<summary>{}</summary>".format, WORDS),
        st.builds("| {} |\n|---|".format, WORDS),
        st.builds("[^{}]: note".format, WORDS),
        st.builds("[{}]: http://x.y".format, WORDS),
        st.builds("import X from '{}'".format, WORDS),
        st.builds("---\nkey: {}\n---".format, WORDS),
        st.builds(":{}: value".format, WORDS),
        st.builds("\ufeff{}\u200b".format, WORDS),
        WORDS,
        st.sampled_from(["", "", "---", "+++", "```", "#", "\u200b"]),
    ),
    max_size=14,
)


@given(
    MARKDOWN, st.sampled_from(["\n", "\n\n", "\r\n"]), st.sampled_from([".md", ".txt"])
)
def test_all_of_a_text_is_in_its_parts(lines: list[str], end: str, suffix: str) -> None:
    text = end.join(lines)
    parts = read(f"a{suffix}", text)
    account = account_of(f"a{suffix}", text)
    assert set(account.left_out) <= {"marks of headings", "signs that nobody sees"}
    shown = sum(n_characters(part.text) for part in parts)
    assert shown <= account.characters
    titles = "\n".join(names(parts))
    words = [word for word in text.split() if word.strip("#=-\ufeff\u200b")]
    texts = titles + "\n".join(part.text for part in parts)
    for word in words:
        assert word.strip("\ufeff\u200b") in texts, word
    for first, second in pairwise(parts):
        assert first.line <= second.line
    if "marks of headings" not in account.left_out:
        assert shown == account.characters - sum(account.left_out.values())


RESTRUCTURED = st.lists(
    st.one_of(
        st.builds("{0}\n{1}\n".format, WORDS, st.sampled_from(["=" * 20, "-" * 20])),
        st.builds("{1}\n{0}\n{1}\n".format, WORDS, st.just("=" * 20)),
        st.builds(".. note:: {}\n\n   inside\n".format, WORDS),
        st.builds(".. {}: comment\n".format, WORDS),
        st.builds(".. unheard:: {}\n".format, WORDS),
        st.builds(":{}: value\n".format, WORDS),
        st.builds("{}\n  its definition\n".format, WORDS),
        st.builds("{}::\n\n  literal\n".format, WORDS),
        st.builds("{}\n".format, WORDS),
    ),
    max_size=9,
)


@settings(max_examples=60)
@given(RESTRUCTURED)
def test_all_of_restructured_text_is_in_its_blocks(lines: list[str]) -> None:
    text = "\n".join(lines)
    document = FORMS[".rst"](text.encode())
    shown = [block.text for block in document.blocks]
    n_shown = sum(map(n_characters, shown))
    n_marks = document.left_out.get("marks of headings", 0)
    assert n_shown + n_marks == n_characters(text)
    words = [word for word in text.split() if word.strip("=-")]
    assert [word for word in " ".join(shown).split() if word.strip("=-")] == words


HTML = st.recursive(
    WORDS,
    lambda inner: (
        st.builds(
            "<{0}>{1}</{0}>".format,
            st.sampled_from(
                "p b h1 h2 ul td div script style template noscript ruby rt title head pre"
                " details svg".split()
            ),
            st.lists(inner, max_size=3).map(" ".join),
        )
        | st.builds("<!-- {} -->".format, WORDS)
        | st.builds("<p>{}".format, inner)
        | st.builds("<![CDATA[{}]]>".format, WORDS)
        | st.builds("<img alt='{}'>".format, WORDS)
    ),
    max_leaves=12,
)


@settings(max_examples=100)
@given(HTML)
def test_all_texts_of_a_page_are_in_its_blocks_or_counted(text: str) -> None:
    from bs4 import BeautifulSoup

    document = FORMS[".html"](text.encode())
    n_shown = sum(n_characters(block.text) for block in document.blocks)
    soup = BeautifulSoup(text, "html.parser")
    strings = soup.find_all(string=True)
    images = soup.find_all("img")
    expected = sum(n_characters(string) for string in strings)
    # The text for a picture in what is unseen is unseen, and no character of a text.
    unseen = ["script", "style", "template", "noscript", "title"]
    for image in images:
        if image.find_parent(unseen) is None:
            expected += n_characters(image["alt"])
    assert n_shown + sum(document.left_out.values()) == expected
    assert document.characters == expected


CELLS = st.lists(
    st.fixed_dictionaries(
        {
            "cell_type": st.sampled_from(
                ["markdown", "code", "raw", "heading", "odd", 3]
            ),
            "source": st.one_of(
                WORDS, st.lists(WORDS, max_size=3), st.none(), st.integers()
            ),
            "outputs": st.one_of(st.none(), st.just([{"text": "shown once"}])),
        }
    )
    | st.none(),
    min_size=1,
    max_size=6,
)


@settings(max_examples=60)
@given(CELLS, st.booleans())
def test_each_cell_is_in_a_part_or_named(cells: list[object], is_old: bool) -> None:
    cells.append({"cell_type": "markdown", "source": "harmonics"})
    book = {"worksheets": [{"cells": cells}]} if is_old else {"cells": cells}
    content = json.dumps(book).encode()
    parts, problems = read_document(Path("a.ipynb"), "a.ipynb", content)
    named = [problem for problem in problems if isinstance(problem, str)]
    for number, cell in enumerate(cells, start=1):
        source = cell["source"] if isinstance(cell, dict) else None
        text = "".join(source) if isinstance(source, str | list) else None
        is_named = any(problem.startswith(f"cell {number}") for problem in named)
        is_whole = text is not None and cell["cell_type"] not in ("odd", 3)
        assert is_named != is_whole
        if text:
            shown = [f"{part.name}\n{part.text}" for part in parts]
            assert any(text in part for part in shown)
    assert "others" not in account_of("a.ipynb", content).left_out


def test_what_a_page_hides_is_counted() -> None:
    text = "<!-- TODO later --><script>run()</script><style>p{}</style><p>Seen."
    assert account_of("a.html", text) == Account(
        22, {"scripts": 5, "styles": 3, "comments": 9}
    )


def test_a_page_whose_head_is_never_closed_is_read() -> None:
    text = "<html><head><title>Crane</title><body><h1>Hoist</h1><p>It is red."
    assert told(read("a.html", text)) == [
        ("a.html", "Crane", 1),
        ("Hoist", "It is red.", 1),
    ]


def test_a_page_says_its_description_and_what_its_pictures_show() -> None:
    text = (
        "<meta name='description' content='All of the crane'>"
        "<p>See <img src='x.png' alt='a yellow crane'> here."
    )
    assert [part.text for part in read("a.html", text)] == [
        "All of the crane",
        "See  a yellow crane  here.",
    ]
