"""Documents: sections of each form, cut without loss; what runs over folders keep,
change, move, hide and leave alone.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest
from conftest import NOW, Run
from hypothesis import given
from hypothesis import strategies as st
from ingested import cited, folder, found, ids, notebook, page, pdf, read, told

from theorex_lab import FixedClock, InvalidInput, Lab
from theorex_lab.core.project import project_of
from theorex_lab.files.ingest.text import FORMS, TextBlock, markdown_blocks, sections
from theorex_lab.memory.documents import Documents


def counts(lab: Lab, *paths: Path, **how: bool) -> dict[str, int]:
    """What became of the files of a run, without zeros; nothing may be amiss."""
    report = lab.ingest(*paths, **how)
    assert report.problems == []
    told = asdict(report)
    return {
        what: told[what]
        for what in ("new", "changed", "unchanged", "moved", "gone")
        if told[what]
    }


# Forms


def test_markdown_is_cut_by_its_headings_alone() -> None:
    text = (
        "---\ntitle: Cellar\n---\nBefore.\n\n# One\nfirst\n```sh\n# no"
        " heading\n```\n\nTwo *words*\n---\nsecond\n\n> # quoted\n\n### Deep"
        " ###\nthird\n# Last\n"
    )
    assert told(read("a.md", text)) == [
        ("a.md", "---\ntitle: Cellar\n---\nBefore.", 1),
        ("One", "first\n```sh\n# no heading\n```", 7),
        ("One › Two *words*", "second\n\n> # quoted", 14),
        ("One › Two *words* › Deep", "third", 19),
        ("Last", "Last", 20),
    ]


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_lines_end_as_they_like(end: str) -> None:
    assert told(read("a.md", end.join(["x", "y", "# Head", "kept", "also"]))) == [
        ("a.md", "x\ny", 1),
        ("Head", "kept\nalso", 4),
    ]
    assert [
        part.text
        for part in read(
            "a.ipynb", notebook(("markdown", f"x{end}y{end}# Head{end}kept{end}"))
        )
    ] == [
        "x\ny",
        "kept",
    ]


def test_plain_text_is_one_section_and_its_signs_are_no_headings() -> None:
    assert told(read("notes.TXT", "\ufeff\n# kept\nas it is\n")) == [
        ("notes.TXT", "# kept\nas it is", 2)
    ]


RESTRUCTURED = """Cellar
======

Open ``it``. See `the map <maps/plan.rst>`_.

.. unheard:: of
   :option: word

   The body of a directive that nobody knows.

.. include:: /etc/hostname

Shelves
-------

=====  =====
left   right
=====  =====

Bottles
-------
"""


def test_restructured_text_keeps_what_no_parser_knows() -> None:
    parts = read("docs/a.rst", RESTRUCTURED + "Red.\n")
    assert [(part.name, part.line) for part in parts] == [
        ("Cellar", 4),
        ("Cellar › Shelves", 16),
        ("Cellar › Bottles", 22),
    ]
    assert "The body of a directive that nobody knows." in parts[0].text
    assert ".. include:: /etc/hostname" in parts[0].text
    assert parts[1].text.splitlines()[1] == "left   right"
    assert cited(parts) == ["docs/maps/plan.rst"]


def test_separators_within_lines_do_not_shift_the_headings() -> None:
    text = (
        "a\u2028b\x0cc\x85d\n\nCellar\n======\n\nkept\n\nShelves\n=======\n\nalso"
        " kept\n"
    )
    assert told(read("a.rst", text)) == [
        ("a.rst", "a b c d", 1),
        ("Cellar", "kept", 6),
        ("Shelves", "also kept", 11),
    ]


def test_html_shows_what_a_reader_sees() -> None:
    text = (
        "<html><head><title>Wine</title><style>unseen</style></head><body><!-- unseen"
        " --><p>Before.</p>"
        "<h1>The <em>whole <b>cel</b>lar</em></h1>\n  <p>Use <b>the <i>old</i></b>"
        " key<br>twice.</p><p><b>Never</b> "
        "alone.</p><script>unseen()</script><h2>Rows</h2><ul><li>one<li>two &amp;"
        " three</ul>"
        "<table><tr><td>left</td><td>right</td></tr></table><noscript>unseen</noscript></body></html>"
    )
    assert [(part.name, part.text) for part in read("a.html", text)] == [
        ("a.html", "Wine"),
        ("a.html (2)", "Before."),
        ("The whole cellar", "Use the old key\ntwice.\nNever alone."),
        ("The whole cellar › Rows", "one\ntwo & three\nleft\nright"),
    ]


def test_a_section_of_a_pdf_tells_its_page() -> None:
    lines = [f"The bottle of row {number} lies in the dark" for number in range(40)]
    parts = read(
        "a.pdf", pdf(page("The cellar is dark.", "Bring a lamp."), page(*lines))
    )
    assert [(part.name, part.line) for part in parts] == [
        ("page 1", 1),
        ("page 2", 2),
        ("page 2 (2)", 2),
    ]
    assert parts[0].text == "The cellar is dark.\nBring a lamp."
    assert [line for part in parts[1:] for line in part.text.split("\n")] == lines


def test_a_notebook_comes_in_without_its_outputs() -> None:
    cells = [
        ("markdown", ["# Cellar\n", "Dark."]),
        ("code", "open('door')"),
        ("raw", "rawword"),
        ("code", "x\n" * 900),
    ]
    parts = read("a.ipynb", notebook(*cells))
    assert told(parts)[:3] == [
        ("Cellar", "Dark.", 1),
        ("Cellar (2)", "```\nopen('door')\n```", 2),
        ("Cellar (3)", "rawword", 3),
    ]
    assert [part.line for part in parts[3:]] == [4, 4], "a line is the number of a cell"
    assert all("outputword" not in part.text for part in parts)


def test_links_are_resolved_from_the_folder_of_the_file() -> None:
    text = (
        "[up](../b.md) [here](c.md#part) [own](#part) [web](https://example.org/x)"
        ' [root](/etc/x) [[Wiki page]] [named](<d.md> "title") ![picture](p.png)'
        " [up](../b.md) [out](../../../x.md)"
    )
    assert cited(read("docs/sub/a.md", text)) == [
        "docs/b.md",
        "docs/sub/c.md#part",
        "docs/sub/a.md#part",
        "https://example.org/x",
        "/etc/x",
        "docs/sub/Wiki page",
        "docs/sub/d.md",
        "docs/sub/p.png",
        "../x.md",
    ]


WORDS = st.lists(
    st.text("abcdefghäß東#*.", min_size=1, max_size=90), min_size=1, max_size=400
)
SPACES = st.lists(
    st.sampled_from([" ", "\n", "\n\n", ". ", "  \n "]), min_size=1, max_size=20
)


@given(WORDS, SPACES)
def test_a_text_is_cut_by_size_without_losing_a_word(
    words: list[str], spaces: list[str]
) -> None:
    text = "".join(
        word + spaces[number % len(spaces)] for number, word in enumerate(words)
    )
    pieces = [*sections([TextBlock(0, text)], "a.txt")]
    assert [word for piece in pieces for word in piece.text.split()] == text.split()
    assert max(len(piece.text) for piece in pieces) <= 1_200
    assert len({piece.name for piece in pieces}) == len(pieces)
    lines = text.split("\n")
    for piece in pieces:
        assert piece.text.split()[0] in lines[piece.line - 1]


@given(
    st.lists(
        st.sampled_from(
            [
                "# one",
                "two",
                "===",
                "---",
                "```",
                "> x",
                "- y",
                "",
                "    z",
                "\t",
                "a\rb",
            ]
        )
    )
)
def test_markdown_of_any_shape_keeps_its_words(lines: list[str]) -> None:
    text = "\n".join(lines).replace("\r", "\n")
    kept = [
        word.strip("#")
        for block in markdown_blocks(text)
        for word in block.text.split()
        if word.strip("#=-")
    ]
    assert kept == [word.strip("#") for word in text.split() if word.strip("#=-")]


# Runs


def test_what_is_unchanged_is_skipped_and_what_changed_takes_its_place(
    lab: Lab, tmp_path: Path
) -> None:
    given = folder(
        tmp_path / "docs",
        {
            "a.md": "# Lamp\nThe lamp is red.\n# Door\nThe door is shut.\n",
            "b.txt": "Bread.",
        },
    )
    assert counts(lab, given) == {"new": 2}
    assert counts(lab, given) == {"unchanged": 2}
    first = ids(lab, "lamp")
    last = lab.journal.last_seq()
    lab.pin(first["Lamp"])
    assert "The lamp is red (1 Mar)." in lab.briefing().text
    (given / "a.md").write_text("# Window\nNew.\n# Lamp\nThe lamp is green.\n")
    assert counts(lab, given) == {"changed": 1, "unchanged": 1}
    assert lab.journal.last_seq() == last + 2
    place = project_of(str(given))
    assert found(lab, "lamp") == {(f"{place}/a.md:4 › Lamp", "The lamp is green.")}
    assert not any(
        "red" in text or "door" in text for _, text in found(lab, "red door")
    )
    assert ids(lab, "lamp") == first
    assert "The lamp is" not in lab.briefing(tokens=2_000).text, (
        "the pin is of the words that the person read"
    )
    lab.pin(first["Lamp"])
    assert "The lamp is green (1 Mar)." in lab.briefing().text
    assert lab.verify().ok


def test_sync_hides_what_is_there_no_more(lab: Lab, tmp_path: Path) -> None:
    given = folder(tmp_path / "docs", {"a.md": "lamp", "sub/b.md": "door"})
    other = folder(tmp_path / "other", {"c.md": "bread"})
    lab.ingest(given, other)
    for path in (given / "a.md", given / "sub/b.md", other / "c.md"):
        path.unlink()
    assert counts(lab, given) == {}
    assert len(found(lab, "lamp door bread")) == 3
    assert counts(lab, given, sync=True, yes=True) == {"gone": 2}
    assert found(lab, "lamp door") == set()
    assert len(found(lab, "bread")) == 1, "another folder is not this run's business"
    folder(given, {"a.md": "lamp"})
    assert counts(lab, given, sync=True) == {"new": 1}
    assert len(found(lab, "lamp")) == 1
    assert lab.verify().ok


def test_sync_of_the_project_leaves_files_from_outside_alone(tmp_path: Path) -> None:
    root = folder(tmp_path / "shop", {".git/HEAD": "", "a.md": "lamp"})
    outside = folder(tmp_path / "outside", {"b.md": "bread"})
    with Lab(
        tmp_path / "home", clock=FixedClock(NOW), project=project_of(str(root))
    ) as lab:
        lab.ingest(root, outside)
        assert found(lab, "lamp bread") == {
            ("a.md:1 › a.md", "lamp"),
            (f"{project_of(str(outside))}/b.md:1 › b.md", "bread"),
        }
        folder(root, {"copy.md": "bread"})
        assert counts(lab, root, sync=True) == {
            "unchanged": 1,
            "new": 1,
        }, "a copy is no move, what lies outside not gone"
        assert len(found(lab, "bread")) == 2


def test_a_file_that_was_moved_keeps_its_ids(lab: Lab, tmp_path: Path) -> None:
    given = folder(tmp_path / "docs", {"a.md": "# Lamp\nThe lamp is red.\n"})
    lab.ingest(given)
    first = ids(lab, "lamp")
    (given / "sub").mkdir()
    (given / "a.md").rename(given / "sub/b.md")
    assert counts(lab, given) == {"moved": 1}
    assert ids(lab, "lamp") == first
    assert [about.partition("/")[2] for about, _ in found(lab, "lamp")] == [
        "sub/b.md:2 › Lamp"
    ]
    # Another file in the old place has ids of its own: what becomes of it does not
    # touch the one that was moved.
    folder(given, {"a.md": "# Lamp\nAnother lamp.\n"})
    assert counts(lab, given) == {"new": 1, "unchanged": 1}
    assert len({hit.id for hit in lab.search("lamp", kinds=["section"])}) == 2
    (given / "a.md").unlink()
    assert counts(lab, given, sync=True) == {"gone": 1, "unchanged": 1}
    assert ids(lab, "lamp") == first
    assert lab.verify().ok


def test_a_file_moved_over_another_takes_its_place(lab: Lab, tmp_path: Path) -> None:
    given = folder(
        tmp_path / "docs", {"a.md": "The lamp is red.", "b.md": "The door is shut."}
    )
    lab.ingest(given)
    (given / "a.md").replace(given / "b.md")
    assert counts(lab, given, sync=True) == {"changed": 1, "gone": 1}
    assert {text for _, text in found(lab, "lamp door")} == {"The lamp is red."}
    assert lab.verify().ok


def test_a_dry_run_tells_and_writes_nothing(lab: Lab, tmp_path: Path) -> None:
    given = folder(tmp_path / "docs", {"a.md": "lamp", "b.md": "door"})
    assert counts(lab, given, dry_run=True) == {"new": 2}
    assert lab.journal.last_seq() == 0
    lab.ingest(given)
    folder(given, {"a.md": "lamps", "c.md": "bread"})
    (given / "b.md").unlink()
    last = lab.journal.last_seq()
    assert counts(lab, given, dry_run=True, sync=True) == {
        "new": 1,
        "changed": 1,
        "gone": 1,
    }
    assert lab.journal.last_seq() == last
    assert counts(lab, given, sync=True) == {"new": 1, "changed": 1, "gone": 1}


def test_gitignore_is_honoured_and_hidden_files_stay_out(
    lab: Lab, tmp_path: Path
) -> None:
    files = dict.fromkeys(
        [
            "kept.md",
            "draft.md",
            "build/x.md",
            "sub/draft.md",
            "sub/build/y.md",
            "sub/local.md",
            ".secret.md",
            ".hidden/z.md",
            "deep/er/draft.md",
        ],
        "lamp",
    )
    rules = {
        ".gitignore": "draft.md\n/build/\n",
        "sub/.gitignore": "!draft.md\nlocal.md\n",
        ".git/HEAD": "",
    }
    given = folder(tmp_path / "docs", {**files, **rules})

    def names(*paths: Path) -> set[str]:
        report = lab.ingest(*paths, dry_run=True)
        assert report.problems == []
        lab.ingest(*paths, agent=(agent := f"a{lab.journal.last_seq()}"))
        with lab.views.reading(Documents) as view:
            return {name.partition("/")[2] for name in view.known(agent, "")}

    assert names(given) == {"kept.md", "sub/draft.md", "sub/build/y.md"}
    assert names(given / "deep") == set(), "rules above the folder hold too"
    assert names(given / "draft.md") == {"draft.md"}, "who names a file wants it"


def test_links_out_of_the_folder_are_told_and_cycles_end(
    lab: Lab, tmp_path: Path
) -> None:
    given = folder(tmp_path / "docs", {"a.md": "lamp", "sub/b.md": "door"})
    folder(tmp_path / "outside", {"private.md": "the private diary"})
    (given / "file.md").symlink_to(tmp_path / "outside/private.md")
    (given / "out").symlink_to(tmp_path / "outside")
    for name, target in {
        "self": given,
        "sub/up": given,
        "sub/over": given / "sub",
        "loop.md": given / "loop.md",
    }.items():
        (given / name).symlink_to(target)
    report = lab.ingest(given)
    assert report.new == 2
    assert sorted(report.problems) == [
        f"{given / name}: a link that leads out of the folder; name what it leads to"
        for name in ("file.md", "out")
    ]
    assert found(lab, "private diary") == set()
    assert counts(lab, given / "out") == {"new": 1}, "the folder itself may be a link"


def test_names_of_all_kinds(lab: Lab, run: Run, tmp_path: Path) -> None:
    given = folder(
        tmp_path / "docs", {"two\nlines: x.md": "lamp", "Zürich 東京.md": "lamp"}
    )
    Path(os.fsdecode(os.fsencode(given) + b"/\xff.md")).write_text("lamp")
    report = lab.ingest(given)
    assert report.new == 2
    (problem,) = report.problems
    assert problem.endswith("its name is no text; rename it")
    assert problem.isascii()
    assert len(found(lab, "lamp")) == 2
    shown = run("search", "lamp", "--kind", "section").out
    assert len(shown.splitlines()) == 2, "a line break in a name makes no line"
    assert "\ntwo lines" not in lab.briefing("lamp").text
    assert lab.verify().ok


def test_what_is_not_there_or_not_known(lab: Lab, run: Run, tmp_path: Path) -> None:
    given = folder(
        tmp_path / "docs", {"a.md": "lamp", "b.xyz": "lamp", "empty.md": " \n"}
    )
    with pytest.raises(
        InvalidInput,
        match=r"nowhere.md', which is no file or folder; give those that are there",
    ):
        lab.ingest(given, given / "nowhere.md")
    assert lab.journal.last_seq() == 0
    report = lab.ingest(given / "b.xyz")
    assert report.problems[0].endswith(
        f"its kind is not known; allowed are {', '.join(FORMS)}"
    )
    ended = run("ingest", str(given / "b.xyz"), "--json")
    assert (ended.code, ended.json["new"]) == (1, 0)
    ended = run("ingest", str(given), "--json")
    assert (ended.code, ended.json["new"]) == (
        0,
        2,
    ), "a folder is asked for what is known alone"
    assert ended.json["problems"][0].endswith("empty.md: there is no text in it")
    assert run("ingest", str(tmp_path / "nowhere")).code == 1


def test_agents_are_apart(lab: Lab, tmp_path: Path) -> None:
    given = folder(tmp_path / "docs", {"a.md": "# Lamp\nThe lamp is red."})
    lab.ingest(given, agent="sage")
    assert not lab.agent("main").search("lamp", kinds=["section"])
    lab.ingest(given)
    hits = lab.search("lamp", kinds=["section"])
    assert {hit.agent for hit in hits} == {"main", "sage"}
    assert len({hit.id for hit in hits}) == 2
    (given / "a.md").write_text("# Lamp\nThe lamp is green.")
    assert counts(lab, given) == {"changed": 1}
    assert found(lab, "lamp", agents=["sage"]) == {
        (f"{project_of(str(given))}/a.md:2 › Lamp", "The lamp is red.")
    }
    assert lab.verify().ok


def test_a_project_has_its_own(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = folder(
        tmp_path / "shop", {".git/HEAD": "", "docs/a.md": "# Lamp\nred [x](../b.md)"}
    )
    other = folder(tmp_path / "mill", {".git/HEAD": ""})
    monkeypatch.chdir(root)
    assert run("ingest", "docs").code == 0
    (hit,) = run("search", "lamp", "--kind", "section", "--json").json["hits"]
    assert hit["subject"] == "docs/a.md:2 › Lamp", (
        "in its own project a file is named from the root"
    )
    monkeypatch.chdir(other)
    assert run("search", "lamp", "--kind", "section", "--json").json["hits"] == []
    assert (
        len(
            run("search", "lamp", "--kind", "section", "--all-projects", "--json").json[
                "hits"
            ]
        )
        == 1
    )


def test_an_erased_file_is_found_no_more(lab: Lab, tmp_path: Path) -> None:
    given = folder(tmp_path / "docs", {"a.md": "lamp", "b.md": "door"})
    lab.ingest(given)
    first = next(iter(lab.journal.tail(0, kinds=["document"])))
    assert lab.erase(ids=[first.id]) == [first.id]
    assert {text for _, text in found(lab, "lamp door")} == {"door"}
    assert lab.verify().ok
    assert counts(lab, given) == {"new": 1, "unchanged": 1}
    shutil.rmtree(given)
    assert {text for _, text in found(lab, "lamp door")} == {"lamp", "door"}
    assert lab.verify().ok
