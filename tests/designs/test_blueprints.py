"""LaTeX blueprints: what is a statement, whose a proof is, and what is left out."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theorex_lab.designs.research.readers import blueprint, read_theorems


def read(text, **others):
    """Read a text, and others by their names, as one document."""
    files = {"main.tex": text, **{f"{name}.tex": body for name, body in others.items()}}
    return blueprint(files.items(), "x")


def names(theorems):
    return [name for name, *_ in theorems.nodes]


def links(theorems):
    return [(start, end) for start, end, _ in theorems.links]


def statement(label, body="It holds.", kind="lemma"):
    return rf"\begin{{{kind}}}\label{{{label}}} {body} \end{{{kind}}}" + "\n"


@pytest.mark.parametrize(
    ("declaration", "begin", "end"),
    [
        (r"\newtheorem{lem}[theorem]{Lemma}", r"\begin{lem}\label{a}", r"\end{lem}"),
        (r"\newtheorem*{satz}{Satz}", r"\begin{satz}\label{a}", r"\end{satz}"),
        (
            r"\declaretheorem[name=Claim, style=plain]{clm, step}",
            r"\begin{step}\label{a}",
            r"\end{step}",
        ),
        (
            r"\declaretheorem{fall}[name=Fall]",
            r"\begin{fall}[name={A, b}, label=a]",
            r"\end{fall}",
        ),
        (
            r"\newtcbtheorem[init]{box}{Box}{colback=red}{th}",
            r"\begin{box}[breakable]{Title}{a}",
            r"\end{box}",
        ),
        (
            r"\newmdtheoremenv[x=y]{rahmen}{R}",
            r"\begin{rahmen}\label{a}",
            r"\end{rahmen}",
        ),
        ("", r"\begin{theorem*}\label{a}", r"\end{theorem*}"),
        ("", r"\begin{restatable}[T]{thm}{again}\label{a}", r"\end{restatable}"),
        ("", r"\begin{undeclared}\label{a}\lean{A.b}", r"\end{undeclared}"),
        (
            r"\newenvironment{wrapped}[1]{\begin{lemma}\label{#1}}{\end{lemma}}",
            r"\begin{wrapped}{a}",
            r"\end{wrapped}",
        ),
        (
            r"\newcommand{\blem}[1][x]{\begin{lemma}\label{#1}}\def\elem{\end{lemma}}",
            r"\blem[a]",
            r"\elem",
        ),
        (
            r"\NewDocumentEnvironment{neu}{O{t} m}{\begin{lemma}[#1]\label{#2}}"
            r"{\end{lemma}}",
            r"\begin{neu}{a}",
            r"\end{neu}",
        ),
    ],
)
def test_an_environment_that_a_document_declares_is_a_statement(
    declaration, begin, end
):
    theorems = read(
        f"{declaration}\n{begin} Alpha. {end}" + statement("b", r"\uses{a}")
    )
    label = "th:a" if "tcb" in declaration else "a"
    assert names(theorems) == [label, "b"]
    assert "Alpha." in theorems.nodes[0][1]
    assert (theorems.in_source, theorems.left_out, theorems.problems) == (2, 0, [])


def test_kinds_without_a_declaration_are_known_by_their_usual_names():
    theorems = read(
        statement("a", kind="conjecture") + statement("b", r"\uses{a}", "remark")
    )
    assert names(theorems) == ["a", "b"]
    assert links(theorems) == [("b", "a")]


STATEMENTS = statement("growth") + statement("late") + statement("other")


@pytest.mark.parametrize(
    ("proof", "whose"),
    [
        (r"\begin{proof}\proves{late}\uses{growth} x\end{proof}", "late"),
        (r"\begin{proof}[Proof of Lemma~\ref{late}]\uses{growth}\end{proof}", "late"),
        (r"\begin{proof}[\cref{late}]\uses{growth}\end{proof}", "late"),
        (
            r"\begin{proof}[Proof of \ref{late} using \ref{other}]\uses{growth}"
            r"\end{proof}",
            "late",
        ),
        (r"\begin{proof}\uses{growth}\end{proof}", "other"),
        (r"\begin{proof}[Sketch of the proof]\uses{growth}\end{proof}", "other"),
        (
            r"\begin{proof}[Proof of \ref{late} and \ref{other}]\uses{growth}\end{proof}",
            "",
        ),
        (r"\begin{proof}[Proof using \ref{late}]\uses{growth}\end{proof}", ""),
        (r"\begin{proof}[Proof of Theorem 1.2]\uses{growth}\end{proof}", ""),
        (r"\begin{proof}[Proof of \ref{gone}]\uses{growth}\end{proof}", ""),
        (r"\begin{proof}\proves{gone}\uses{growth}\end{proof}", ""),
        (r"\section{Next}\begin{proof}\uses{growth}\end{proof}", ""),
        (r"\begin{lemma}No label\end{lemma}\begin{proof}\uses{growth}\end{proof}", ""),
    ],
)
def test_a_proof_belongs_to_one_statement_or_to_none_and_is_reported(proof, whose):
    theorems = read(STATEMENTS + proof)
    assert names(theorems) == ["growth", "late", "other"]
    assert links(theorems) == ([(whose, "growth")] if whose else [])
    assert bool(theorems.problems) == (not whose)


def test_a_proof_in_a_proof_keeps_the_dependencies_of_both_apart():
    theorems = read(
        statement("a")
        + statement("t")
        + r"\begin{proof}\begin{claim}\label{c}C\end{claim}"
        r"\begin{proof}\uses{a}\end{proof} so \uses{c}\end{proof}"
    )
    assert links(theorems) == [("t", "c"), ("c", "a")]


def test_a_statement_in_another_one_is_its_own():
    theorems = read(
        r"\begin{theorem}\label{t} Outer \begin{lemma}\label{i}\uses{x} inner"
        r"\end{lemma} end.\uses{i}\end{theorem}"
    )
    assert [(name, text) for name, text, _ in theorems.nodes] == [
        ("t", "Outer end."),
        ("i", "inner"),
    ]
    assert links(theorems) == [("t", "i"), ("i", "x")]


def test_what_latex_does_not_read_is_not_read():
    hidden = statement("hidden")
    theorems = read(
        "%"
        + hidden
        + r"\begin{comment}"
        + hidden
        + r"\end{comment}"
        + r"\iffalse \ifx a b \fi"
        + hidden
        + r"\else"
        + statement("shown")
        + r"\fi"
        + r"\iftrue"
        + statement("also")
        + r"\else"
        + hidden
        + r"\fi"
        + r"\begin{verbatim}"
        + hidden
        + r"\end{verbatim}"
        + r"\begin{lstlisting}[language=TeX]"
        + hidden
        + r"\end{lstlisting}"
        + r"\verb|\begin{lemma}| \lstinline!\begin{lemma}!"
        + r"50\% \begin{lemma}\label{last}100\% \\% no"
        + "\n"
        + r"\uses{shown, % because \uses{hidden}"
        + "\n also}\\end{lemma}\\endinput x"
    )
    assert names(theorems) == ["shown", "also", "last"]
    assert theorems.nodes[2][1] == r"100\% \\"
    assert links(theorems) == [("last", "shown"), ("last", "also")]
    assert theorems.problems == []


def test_environments_without_a_label_are_counted_with_their_lines():
    theorems = read("\n\\begin{lemma}x\\end{lemma}\n\n\\begin{remark}y\\end{remark}")
    assert (theorems.in_source, theorems.left_out) == (2, 2)
    assert theorems.problems == [
        "2 environments without a label were left out: main.tex:2 (lemma), main.tex:4"
        r" (remark); give each a \label"
    ]


def test_labels_count_where_they_stand():
    theorems = read(
        r"\label{outside}"
        + r"\begin{lemma}\label{a}\label{b}\begin{equation}\label{eq}x\end{equation}"
        + r"\end{lemma}"
        + statement("c", r"\uses{b, eq, outside, c}")
        + statement("a", "another one")
    )
    assert names(theorems) == ["a", "c"]
    assert links(theorems) == [("c", "a"), ("c", "a"), ("c", "outside")]
    assert (theorems.in_source, theorems.left_out) == (3, 1)
    told = " ".join(theorems.problems)
    assert "labels others have" in told or "label another one has" in told
    assert "on itself" in told


def test_what_cannot_be_followed_is_reported():
    theorems = read(
        r"\def\odd#1.{\begin{lemma}\label{#1}}"
        r"\newenvironment{loop}{\begin{loop}\begin{lemma}}{\end{lemma}}"
        r"\odd a. x \begin{loop}"
        r"\uses{a} \begin{theorem}\label{t} no end"
    )
    assert theorems.nodes == []
    assert theorems.left_out == theorems.in_source >= 3
    told = " ".join(theorems.problems)
    assert "could not be followed" in told
    assert "not closed" in told


def folder_of(path, **files):
    for name, content in files.items():
        file = path / f"{name.replace('__', '/')}.tex"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_files_are_read_where_they_are_included(tmp_path):
    outside = tmp_path / "secret.tex"
    outside.write_text(statement("secret"))
    folder = folder_of(
        tmp_path / "src",
        main=r"\documentclass{book}\newtheorem{satz}{Satz}\begin{document}"
        r"\input{chapter/two}\include{chapter/one.tex}\subimport{chapter/}{deep}"
        r"\input gone \input{../secret}\input{/etc/passwd}\input{main}\end{document}"
        + statement("behind"),
        chapter__one=r"\begin{proof}\uses{two}\end{proof}" + statement("one"),
        chapter__two=statement("two", kind="satz") + r"\input{deep2}",
        chapter__deep=statement("deep") + r"\subfile{../chapter/one}",
        chapter__deep2=statement("deep2"),
        draft=statement("draft"),
    )
    theorems = read_theorems(folder)
    assert names(theorems) == ["two", "deep2", "one", "deep", "draft"]
    told = "\n".join(theorems.problems)
    assert "1 file that is not there was left out: main.tex:1 (gone)" in told
    assert "2 files outside of the folder were left out" in told
    assert "1 file that includes itself was left out" in told
    assert r"behind \end{document}" in told
    alone = read_theorems(folder / "main.tex")
    assert names(alone) == ["two", "deep2", "one", "deep"]


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    (tmp_path / "secret.tex").write_text(statement("secret"))
    folder = folder_of(tmp_path / "src", main=statement("a") + r"\input{way}")
    (folder / "way.tex").symlink_to(tmp_path / "secret.tex")
    theorems = read_theorems(folder)
    assert names(theorems) == ["a"]
    assert "way.tex was left out" in " ".join(theorems.problems)


@pytest.mark.parametrize(
    ("encoding", "mark", "package"),
    [
        ("utf-8", b"\xef\xbb\xbf", ""),
        ("utf-16-le", b"\xff\xfe", ""),
        ("utf-16-be", b"\xfe\xff", ""),
        ("latin-1", b"", r"\usepackage[latin1]{inputenc}"),
        ("latin-1", b"", ""),
        ("mac-roman", b"", r"\usepackage[applemac]{inputenc}"),
    ],
)
def test_every_encoding_gives_the_same_letters(tmp_path, encoding, mark, package):
    text = package + "\r\n" + statement("lem:größe", "Größe.").replace("\n", "\r\n")
    file = tmp_path / "a.tex"
    file.write_bytes(mark + text.encode(encoding))
    theorems = read_theorems(file)
    assert theorems.nodes == [("lem:größe", "Größe.", ("lemma",))]
    assert bool(theorems.problems) == (encoding == "latin-1" and not package)


def test_a_file_that_is_no_text_is_reported_and_the_others_are_read(tmp_path):
    folder = folder_of(tmp_path, a=statement("a"), b=bytes(range(256)) * 9)
    theorems = read_theorems(folder)
    assert names(theorems) == ["a"]
    assert "b.tex was left out: got b.tex, which is no text" in theorems.problems[0]


KINDS = ("theorem", "lemma*", "eigen", "kasten", "remark")
PIECES = st.one_of(
    st.builds(
        lambda kind, label, used, nested: (
            f"\\begin{{{kind}}}[T]"
            + (f"\\label{{{label}}}" if label else "")
            + (f"\\uses{{{used}, % no\n }}" if used else "")
            + nested
            + f"\\end{{{kind}}}"
        ),
        st.sampled_from(KINDS),
        st.sampled_from(["", *"abcdefgh"]),
        st.sampled_from(["", "a", "b", "zz"]),
        st.sampled_from(
            [
                "",
                "$x$ 100\\%",
                r"\begin{lemma}\label{in}x\end{lemma}",
                r"\begin{align*}1\label{eq}\end{align*}",
                r"\begin{lemma}",
            ]
        ),
    ),
    st.sampled_from(
        [
            "% \\begin{lemma}\n",
            r"\begin{proof}\uses{a}\end{proof}",
            r"\begin{proof}\proves{b}\uses{c}\begin{claim}x\end{claim}\end{proof}",
            r"\begin{center}\begin{theorem}\label{k}\end{theorem}\end{center}",
            "\\section{A}\n\n",
            r"\kurz{m}{text}",
            r"\end{lemma}",
            "{",
            "}",
            "]",
        ]
    ),
)
PREAMBLE = (
    r"\newtheorem{eigen}{Eigen}\declaretheorem[name=K]{kasten}"
    r"\newcommand{\kurz}[2]{\begin{lemma}\label{#1}#2\end{lemma}}"
)
BEGUN = re.compile(
    r"\\begin\{(?:theorem|lemma\*?|eigen|kasten|remark|claim)\}|\\kurz\{"
)


@settings(max_examples=120, deadline=None)
@given(st.lists(PIECES, max_size=12))
def test_every_environment_of_the_source_is_imported_or_reported(pieces):
    body = "\n".join(pieces)
    # An open brace before a macro's call takes its argument's end: it is kept closed.
    body = body.replace("{\n", "{}\n").removesuffix("{")
    theorems = read(PREAMBLE + body)
    without_comments = re.sub(r"(?<!\\)%.*", "", body)
    assert theorems.in_source == len(BEGUN.findall(without_comments))
    assert theorems.in_source == len(theorems.nodes) + theorems.left_out
    assert len(set(names(theorems))) == len(theorems.nodes)
    assert {start for start, _ in links(theorems)} <= set(names(theorems))
    assert all(start != end for start, end in links(theorems))
    assert bool(theorems.left_out) <= bool(theorems.problems)


@pytest.mark.parametrize(
    "piece",
    [
        "{",
        "[",
        r"\begin{x}",
        r"\begin{lemma}[",
        r"\label{",
        r"\newcommand{\a}{",
        r"\def\a#1{\begin{lemma}\a}\a ",
        r"\verb|",
        r"\begin{verbatim}",
        r"\iffalse ",
        r"\begin{proof}\uses{",
        r"\input{main}",
    ],
)
def test_hostile_text_takes_time_in_proportion_to_its_length(piece):
    text = piece * (100_000 // len(piece))
    start = time.process_time()
    read(text)
    assert time.process_time() - start < 5
    start = time.process_time()
    read(text + "}" * 20_000)
    assert time.process_time() - start < 5
