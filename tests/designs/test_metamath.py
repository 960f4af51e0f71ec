"""Metamath databases: which assertions there are, what their proofs use, and what is left
out.
"""

import gzip
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theorex_lab.designs.research.readers import metamath, read_theorems

BASE = """$c |- ( ) -> wff $.
$v ph ps $.
wph $f wff ph $.
$( Simplification. $)
ax-1 $a |- ( ph -> ph ) $.
"""
MAIN = """$[ base.mm $]
$( A comment with a $[ nofile.mm $] and $p in it $)
${
 mp.1 $e |- ph $.
 $( Restated. $)
 mp2 $p |- ps $= ( ax-1 ) AB $.
$}
todo $p |- ph $= ? $.
id $p |- ( ph -> ph ) $= wph mp2 ax-1 $.
id2 $p |- ph $( why $) $= ( ax-1 $( note ax-9 $) id ) AAB $.
"""


def links(theorems):
    return [(start, end) for start, end, _ in theorems.links]


def test_an_included_file_is_read_once_and_a_proof_may_hold_comments(tmp_path):
    (tmp_path / "base.mm").write_text(BASE)
    (tmp_path / "main.mm").write_text(MAIN + "$[ base.mm $]\n")
    for path in (tmp_path, tmp_path / "main.mm"):
        theorems = read_theorems(path)
        assert [name for name, *_ in theorems.nodes] == [
            "ax-1",
            "mp2",
            "todo",
            "id",
            "id2",
        ]
        assert links(theorems) == [
            ("mp2", "ax-1"),
            ("id", "mp2"),
            ("id", "ax-1"),
            ("id2", "ax-1"),
            ("id2", "id"),
        ]
        assert theorems.problems == []
        assert (theorems.in_source, theorems.left_out) == (5, 0)
    assert theorems.nodes[1][1] == "|- ph => |- ps"
    assert theorems.nodes[2][2] == ("theorem", "unproved")
    assert theorems.comments["mp2"] == "Restated."
    assert theorems.comments["id"] == ""


def test_a_folder_gives_all_its_databases(tmp_path):
    (tmp_path / "one.mm").write_text("a $a |- 1 $. b $p |- 2 $= a $.")
    (tmp_path / "two.mm.gz").write_bytes(
        gzip.compress(b"c $a |- 3 $. a $a |- 9 $. d $p |- 4 $= c a $.")
    )
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "three.mm").write_text("$[ four.mm $] e $p |- 5 $= f $.")
    (tmp_path / "deep" / "four.mm").write_text("f $a |- 6 $.")
    theorems = read_theorems(tmp_path)
    assert sorted(name for name, *_ in theorems.nodes) == ["a", "b", "c", "d", "e", "f"]
    # The second `a` says something else: nothing uses the first one by its name.
    assert sorted(links(theorems)) == [("b", "a"), ("d", "c"), ("e", "f")]
    assert (theorems.in_source, theorems.left_out) == (7, 1)
    assert "1 theorem whose name stands before" in theorems.problems[-1]


def test_files_that_include_each_other_are_read_once(tmp_path):
    (tmp_path / "a.mm").write_text("$[ b.mm $] a $a |- 1 $.")
    (tmp_path / "b.mm").write_text("$[ a.mm $] b $a |- 2 $.")
    theorems = read_theorems(tmp_path)
    assert sorted(name for name, *_ in theorems.nodes) == ["a", "b"]
    assert theorems.left_out == 0


def test_a_missing_file_and_one_outside_are_reported(tmp_path):
    (tmp_path / "secret.mm").write_text("s $a |- secret $.")
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "link.mm").symlink_to(tmp_path / "secret.mm")
    (folder / "main.mm").write_text(
        "$[ gone.mm $] $[ ../secret.mm $] $[ link.mm $] $[ x\na $a |- 1 $.\n"
        "b $p |- 2 $= ( far a ) AB $."
    )
    theorems = read_theorems(folder / "main.mm")
    assert [name for name, *_ in theorems.nodes] == ["a", "b"]
    told = "\n".join(theorems.problems)
    assert "main.mm:1 (gone.mm), main.mm:1 (link.mm)" in told
    assert "1 file outside of the folder was left out: main.mm:1 (../secret.mm)" in told
    assert "1 name in proofs that nothing before them has was left out: far" in told


def test_what_is_left_out_is_counted_with_its_reason():
    theorems = metamath(
        "wi $a wff x $. $a |- nameless $. a $a |- 1 $. a $a |- 2 $.\nb $p |- 3 c $p |-"
        " 4 $= a $. stray $( x $) d $e |- 5 $. e $p |- 6 $= a $. $x f $p |- 7",
        "x",
    )
    assert [name for name, *_ in theorems.nodes] == ["a", "c", "e"]
    assert (theorems.in_source, theorems.left_out) == (8, 5)
    assert theorems.problems[:4] == [
        "1 assertion without |- was left out: x.mm:1 (wi); they define the syntax",
        "1 assertion without a label was left out: x.mm:1 (?); give each a label",
        "1 assertion whose label stands before was left out: x.mm:1 (a); give each its"
        " own label",
        "2 assertions without their ends were left out: x.mm:2 (b), x.mm:2 (f); end"
        " each by $.",
    ]
    assert "(stray)" in " ".join(theorems.problems)
    assert "($x)" in " ".join(theorems.problems)


TOKENS = st.sampled_from(
    [
        "a $a |- 1 $.",
        "b $p |- 2 $= ( a ) AB $.",
        "c $p |- 3 $= a b $( no $p $) $.",
        "d $p |- 4 $( in $) $= ? $.",
        "w $a wff x $.",
        "$a |- 5 $.",
        "e $p |- 6",
        "h $e |- 7 $.",
        "v $f wff x $.",
        "$c x y $.",
        "${",
        "$}",
        "$( $p |- no $= $)",
        "$[ gone.mm $]",
        "stray",
        "$.",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(TOKENS, max_size=15), st.sampled_from([" ", "\n", "\r\n", "\t"]))
def test_every_assertion_of_the_source_is_imported_or_reported(tokens, blank):
    theorems = metamath(blank.join(tokens), "x")
    in_source = sum(
        1
        for token in tokens
        if ("$a" in token or "$p" in token) and "no $=" not in token
    )
    assert theorems.in_source == in_source
    assert theorems.in_source == len(theorems.nodes) + theorems.left_out
    assert bool(theorems.left_out) <= bool(theorems.problems)
    names = {name for name, *_ in theorems.nodes}
    assert {name for link in links(theorems) for name in link} <= names


@pytest.mark.parametrize(
    "piece",
    ["$( ", "${ ", "$[ ", "a $p |- x $= ( ", "a $a ", "$. ", "h $e |- x $. ", "x "],
)
def test_hostile_databases_take_time_in_proportion_to_their_length(piece):
    text = piece * (100_000 // len(piece)) + "z $a |- 1 $. " * 2_000
    start = time.process_time()
    metamath(text, "x")
    assert time.process_time() - start < 5
