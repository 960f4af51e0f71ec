"""The graph of theorems, its closure, what others published, and premises."""

import gzip
import io
import json
import os
import tarfile
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theorex_lab import InvalidInput, Lab
from theorex_lab.designs.research import RELATIONS
from theorex_lab.designs.research.premises import PremiseIndex
from theorex_lab.designs.research.readers import closure_of_theories, read_theorems
from theorex_lab.designs.research.theorems import closed

DATA = os.environ.get("THEOREX_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="THEOREX_DATA names no folder")
LINKS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30)


@pytest.fixture
def lab(tmp_path):
    with Lab(tmp_path / "home") as opened:
        yield opened


def graph(lab, *links, names="abcdef"):
    for name in names:
        lab.research.add_theorem(name, f"statement of {name}")
    for start, end in links:
        lab.research.link_theorems(start, end)


def test_a_name_stands_for_one_statement_in_a_domain(lab):
    first = lab.research.add_theorem(
        "Bernstein", "P(S > t) <= x", domain="tails", tags=["bound"]
    )
    again = lab.research.add_theorem("Bernstein", "P(S > t)   <= x\n", domain="tails")
    assert again == first
    assert first.tags == ["bound"]
    assert first.distance == 0
    with pytest.raises(InvalidInput, match="another name or domain"):
        lab.research.add_theorem("Bernstein", "something else", domain="tails")
    other = lab.research.add_theorem(
        "Bernstein", "something else", domain="approximation"
    )
    assert other.node_id != first.node_id
    with pytest.raises(InvalidInput, match="several domains"):
        lab.research.theorem("Bernstein")
    assert lab.research.theorem("Bernstein", "tails") == first


def test_links_are_checked_and_kept_once(lab):
    graph(lab, ("a", "b"))
    assert not lab.research.link_theorems("a", "b")
    assert lab.research.link_theorems("a", "b", "contradicts")
    with pytest.raises(
        InvalidInput, match="uses, generalizes, specializes, contradicts"
    ):
        lab.research.link_theorems("a", "b", "implies")
    with pytest.raises(InvalidInput, match="allowed is the id or the name"):
        lab.research.link_theorems("a", "nobody")
    drawn = lab.research.to_networkx()
    assert isinstance(drawn, nx.MultiDiGraph)
    assert drawn.number_of_edges() == 2
    assert drawn.number_of_nodes() == 6
    assert {relation for *_, relation in drawn.edges(data="relation")} == {
        "uses",
        "contradicts",
    }


def test_related_come_breadth_first_with_their_distance(lab):
    graph(lab, ("a", "b"), ("c", "a"), ("b", "d"), ("d", "e"), ("a", "d"))
    found = lab.research.find_related_theorems("a", depth=2)
    assert [(node.theorem_name, node.distance) for node in found] == [
        ("b", 1),
        ("c", 1),
        ("d", 1),
        ("e", 2),
    ]
    assert lab.research.find_related_theorems("a", depth=0) == []
    assert lab.research.find_related_theorems("f") == []
    with pytest.raises(InvalidInput):
        lab.research.find_related_theorems("a", depth=-1)


@settings(max_examples=30, deadline=None)
@given(LINKS, st.integers(0, 9), st.integers(1, 4))
def test_related_are_those_that_networkx_finds(links, start, depth):
    with Lab.temporary() as lab:
        graph(lab, *[(str(a), str(b)) for a, b in links], names="0123456789")
        drawn = nx.Graph(links)
        drawn.add_nodes_from(range(10))
        wanted = {
            node: far
            for node, far in nx.single_source_shortest_path_length(
                drawn, start, depth
            ).items()
            if far
        }
        found = lab.research.find_related_theorems(str(start), depth)
        assert {int(node.theorem_name): node.distance for node in found} == wanted
        assert [node.distance for node in found] == sorted(
            node.distance for node in found
        )
        assert lab.verify().ok


def test_circles_of_uses_are_told(lab):
    graph(lab, ("a", "b"), ("b", "c"), ("c", "a"), ("d", "d"), ("e", "f"))
    lab.research.link_theorems("f", "e", "generalizes")
    assert lab.research.cycles() == [["a", "b", "c"], ["d"]]
    assert lab.research.closure("uses").pairs == 6 + 3 * 3 - 3 + 1


@settings(max_examples=60, deadline=None)
@given(LINKS, st.sets(st.integers(0, 9), max_size=2))
def test_the_closure_is_that_of_networkx(links, free):
    drawn = nx.DiGraph([*links, *((node, end) for end in free for node in range(10))])
    drawn.add_nodes_from(range(10))
    wanted = sum(len(nx.descendants(drawn, node) | {node}) for node in range(10))
    starts, ends = np.array(links, np.int64).reshape(-1, 2).T
    assert closed(list("0123456789"), starts, ends, sorted(free)).pairs == wanted


def test_the_closure_of_a_home_reads_both_directions_and_what_always_holds(lab):
    graph(lab)
    lab.research.add_theorem("always", "x = x", tags=["unconditional"])
    lab.research.link_theorems("a", "b", "generalizes")
    lab.research.link_theorems("c", "b", "specializes")
    found = lab.research.closure("generalizes")
    reached = np.unpackbits(found.reached, axis=1)[:, : found.nodes].astype(bool)
    names = list(found.names)
    assert {names[node] for node in np.flatnonzero(reached[names.index("a")])} == {
        "a",
        "b",
        "c",
        "always",
    }
    assert (found.nodes, found.edges, found.pairs) == (7, 2, 7 + 3 + 6)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "chain.tex",
            r"\begin{lemma}\label{a}A\end{lemma}"
            r"\begin{lemma}\label{b}\uses{a}B\end{lemma}"
            r"\begin{theorem}\label{c}C\end{theorem}\begin{proof}\uses{b}D\end{proof}",
        ),
        ("chain.mm", "a $a |- 1 $. b $p |- 2 $= ( a ) A $. c $p |- 3 $= ( b ) A $."),
    ],
)
def test_the_closure_follows_the_relation_that_was_imported(lab, tmp_path, name, text):
    empty = lab.research.closure()
    assert (empty.relation, empty.pairs) == ("generalizes", 0)
    path = tmp_path / name
    path.write_text(text)
    theorems = read_theorems(path)
    lab.research.import_theorems(theorems.nodes, theorems.links)
    closure = lab.research.closure()
    assert (closure.relation, closure.nodes, closure.edges) == ("uses", 3, 2)
    assert closure.pairs == 3 + 3
    assert lab.research.closure("generalizes").pairs == 3


def test_links_both_ways_of_implication_count_as_one_relation(lab):
    for name in "abcde":
        lab.research.add_theorem(name, f"{name} = {name}")
    lab.research.link_theorems("a", "b", "uses")
    lab.research.link_theorems("b", "c", "uses")
    lab.research.link_theorems("c", "d", "specializes")
    lab.research.link_theorems("d", "e", "generalizes")
    lab.research.link_theorems("a", "e", "specializes")
    assert lab.research.closure().relation == "generalizes"


def test_importing_twice_imports_once(lab):
    nodes = [("a", "A", ()), ("b", "B", ("lemma",))]
    links = [("b", "a", "uses"), ("b", "x", "uses")]
    first = lab.research.import_theorems(nodes, links, domain="d")
    assert (first["theorems"], first["links"], first["unresolved"]) == (2, 1, ["x"])
    second = lab.research.import_theorems(
        [("a", "other", ()), *nodes[1:]], links, domain="d"
    )
    assert (
        second["theorems"],
        second["links"],
        second["known"],
        second["conflicts"],
    ) == (0, 0, 3, ["a"])
    assert lab.research.theorem("a").formal_statement == "A"
    with pytest.raises(InvalidInput):
        lab.research.import_theorems([("c", "C", ())], [("c", "c", "implies")])
    assert len(lab.research.to_networkx()) == 2


def test_search_finds_a_theorem(lab):
    lab.research.add_theorem("Hoeffding", "bounded variables have subgaussian tails")
    assert [hit.kind for hit in lab.search("subgaussian tails", kinds=["theorem"])] == [
        "theorem"
    ]


def packed(path, **members):
    with tarfile.open(path, "w:gz") as archive:
        for name, text in members.items():
            info = tarfile.TarInfo(f"{name}.tex")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    return path


def test_a_blueprint_is_read_in_folders_and_archives(tmp_path):
    text = (
        "\\begin{lemma}[A]\\label{a}\\leanok x %"
        " \\uses{no}\n\\begin{equation}\\label{eq}\\end{equation}\\end{lemma}\n\\begin{theorem}\\label{b}\\uses{eq}B\\end{theorem}\\begin{proof}\\uses{a,"  # noqa: E501
        " gone}\\end{proof}\\begin{lemma}none\\end{lemma}"
    )
    archive = packed(tmp_path / "elsewhere.tar.gz", one=text)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "one.tex").write_text(text)
    for place in (folder, archive):
        found = read_theorems(place)
        assert [node[0] for node in found.nodes] == ["a", "b"]
        assert found.nodes[0][2] == ("lemma", "formalized")
        assert found.links == [
            ("b", "a", "uses"),
            ("b", "a", "uses"),
            ("b", "gone", "uses"),
        ]
        assert len(found.problems) == 1


def test_metamath_hypotheses_are_part_of_a_statement(tmp_path):
    (tmp_path / "s.mm").write_text(
        "ax $a |- a $. ${ h.1 $e |- b $. $( It follows. $) th $p |- c $= ( wa ax ) A $."
        " $} t2 $p |- d $= ax th $."
    )
    found = read_theorems(tmp_path / "s.mm")
    assert {name: said for name, said, _ in found.nodes} == {
        "ax": "|- a",
        "th": "|- b => |- c",
        "t2": "|- d",
    }
    assert found.links == [
        ("th", "ax", "uses"),
        ("t2", "ax", "uses"),
        ("t2", "th", "uses"),
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"no gzip",
        gzip.compress(b"\0" * 70_000_000),
        gzip.compress(bytes(range(256)) * 9)[:100],
    ],
    ids=["no gzip", "a bomb", "half a file"],
)
def test_what_is_broken_or_a_bomb_is_refused(tmp_path, content):
    for name in ("x.mm.gz", "x.tar.gz"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidInput):
            read_theorems(tmp_path / name)


def test_equations_are_read_and_closed(tmp_path):
    def entry(left, right, finite=False):
        return {
            "variant": {
                "implication": {
                    "lhs": f"Equation{left}",
                    "rhs": f"Equation{right}",
                    "finite": finite,
                }
            }
        }

    told = [
        {"variant": {"unconditional": "Equation1"}},
        entry(3, 2),
        entry(3, 2),
        entry(2, 3, True),
        entry(9, 1),
    ]
    (tmp_path / "equations.txt").write_text("x = x\nx = y\ny = z\n")
    (tmp_path / "full_entries.json").write_text(json.dumps(told))
    found = closure_of_theories(tmp_path)
    assert (found.nodes, found.edges, found.pairs) == (3, 1, 6)
    assert read_theorems(tmp_path).nodes[0] == (
        "Equation1",
        "x = x",
        ("unconditional",),
    )
    (tmp_path / "full_entries.json").write_text('[{"variant": 3}]')
    with pytest.raises(InvalidInput, match="lists no implications"):
        closure_of_theories(tmp_path)
    with pytest.raises(InvalidInput, match="lacks"):
        closure_of_theories(tmp_path / "nowhere")


@needs_data
def test_the_published_graphs_are_read_exactly():
    found = closure_of_theories(Path(DATA) / "equational_theories")
    assert (found.nodes, found.edges, found.pairs) == (4_694, 10_657, 8_178_279)
    assert found.seconds < 5
    pfr = read_theorems(Path(DATA) / "pfr_blueprint")
    assert (len(pfr.nodes), len(pfr.links), pfr.problems) == (218, 497, [])
    assert {end for _, end, _ in pfr.links} <= {name for name, *_ in pfr.nodes}
    ql = read_theorems(Path(DATA) / "metamath_ql")
    assert (len(ql.nodes), len(ql.links)) == (1_188, 11_838)


def test_premises_are_those_that_neighbours_use(lab):
    graph(lab, ("a", "c"), ("b", "c"), names="abcdef")
    found = lab.research.premises("statement of a", 2)
    assert found[0][0].theorem_name in "ac"
    assert len(found) == 2
    assert PremiseIndex().suggest("x") == []


def test_every_relation_is_kept(lab):
    graph(lab)
    assert all(lab.research.link_theorems("a", "b", relation) for relation in RELATIONS)
