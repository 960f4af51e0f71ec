"""Every named function and class of a source is a symbol, whatever form it is defined in,
or is reported.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theorex_lab import InvalidInput, Lab
from theorex_lab.files.ingest.code import CODE


def read(file: str, source: str | bytes) -> tuple[dict[str, str], list[str]]:
    """Return the kinds of the symbols by their names, and the problems."""
    content = source.encode() if isinstance(source, str) else source
    parts, problems = CODE.read(Path(file), file, content)
    kinds = {part.name: part.node_type.removeprefix("code_") for part in parts[1:]}
    assert len(kinds) == len(parts) - 1
    return kinds, problems


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("exports.castOff = function (rope) { return rope };", ["castOff"]),
        ("module.exports.reel = async () => 1;", ["reel"]),
        (
            "module.exports = { a, b(){}, c: () => 1, 'd-e': function(){} }",
            ["b", "c", "d-e"],
        ),
        ("module.exports = class Foo { m(){} }", ["Foo", "Foo.m"]),
        ("module.exports = class { m(){} }", ["exports", "exports.m"]),
        ("module.exports = function(){}", ["exports"]),
        ("exports.default = function(){}", ["default"]),
        ("export default function(){}", ["default"]),
        ("export default class { m(){} }", ["default", "default.m"]),
        (
            "Object.defineProperty(exports, 'x', { get: function(){ return 1 } })",
            ["x"],
        ),
        ("Object.defineProperty(A.prototype, 'x', { value(){} })", ["A.x"]),
        ("A.prototype.b = function(){ function i(){} }", ["A.b", "A.b.i"]),
        ("A.prototype = { c(){}, d: function(){} }", ["A.c", "A.d"]),
        ("A['b'] = function*(){}", ["A.b"]),
        ("let f; f = (x) => x; g ||= () => 1", ["f", "g"]),
        ("define(['x'], function(x){ function h(){}; return {b(){}} })", ["h", "b"]),
        ("(function(root){ root.f = function(){} })(this)", ["f"]),
        ("var k = exports.l = function(){}", ["l"]),
        ("const o = function p(){ p() }", ["o"]),
        ("const C = class { #q = () => 1; r = class {} }", ["C", "C.#q", "C.r"]),
        ("const routes = { get: { all(){} } }", ["routes.get.all"]),
        ("call(function named(){})", ["named"]),
        (
            "var C = (function(){ function C(){} C.prototype.go = function(){}; "
            "return C })()",
            ["C", "C.go"],
        ),
    ],
)
def test_javascript_has_many_ways_to_define_a_function(
    source: str, expected: list[str]
) -> None:
    for file in ("file.js", "file.ts"):
        kinds, problems = read(file, source)
        assert list(kinds) == expected
        assert problems == []


@pytest.mark.parametrize(
    ("file", "source", "expected"),
    [
        (
            "file.ts",
            "function f(a: string): void; function f(a: any) {}\n"
            "declare module 'x' { export function h(): void }\n"
            "namespace A.B { export abstract class Q { abstract go(): void } }",
            ["f", "f'2", "x", "x.h", "A.B", "A.B.Q", "A.B.Q.go"],
        ),
        (
            "file.py",
            "f = lambda x: x\ntype X = int\n(g := lambda: 1)\nif f:\n def k(): 0\n"
            "else:\n def k(): 1\n@d\nclass A:\n class B:\n  async def m(self):\n"
            "   self.n = lambda: 1\n",
            ["f", "X", "g", "k", "k'2", "A", "A.B", "A.B.m", "A.B.m.n"],
        ),
        (
            "file.go",
            "package a\ntype A = B\ntype I interface { M(x int) string }\n"
            "var f = func() {}\nfunc asm(x int) int\n"
            "func q() { x := func() {}; w.z = func() {} }",
            ["A", "I", "I.M", "f", "asm", "q", "q.x", "q.w.z"],
        ),
        (
            "file.rs",
            "fn main() { let f = |x| x; }\nconst F: fn() = || {};\n"
            'trait T { type X; fn a(); }\nextern "C" { fn c(); }',
            ["main", "main.f", "F", "T", "T.X", "T.a", "c"],
        ),
    ],
)
def test_other_languages_have_their_own(
    file: str, source: str, expected: list[str]
) -> None:
    kinds, problems = read(file, source)
    assert list(kinds) == expected
    assert problems == []


def test_what_a_grammar_does_not_parse_is_reported() -> None:
    kinds, problems = read(
        "file.rs", "fn a() {}\nm! { fn b() {} struct C; }\nmacro_rules! n { () => {} }"
    )
    assert list(kinds) == ["a", "n"]
    assert problems == ["definitions in macros were left out: 2, in line 2, 2"]
    calls = "".join(f"f{number}();" for number in range(100))
    _, problems = read("file.js", calls)
    assert problems == ["40 calls and imports were left out: a symbol keeps 60 of each"]


@pytest.mark.parametrize(
    ("content", "name", "is_reported"),
    [
        (
            "# -*- coding: latin-1 -*-\ndef grüße(): 'Grüß'".encode("latin-1"),
            "grüße",
            0,
        ),
        (
            "#!x\n# vim: set fileencoding=cp1251 :\ndef привет(): 1".encode("cp1251"),
            "привет",
            0,
        ),
        (b"\xef\xbb\xbf" + "def grüße(): 1".encode(), "grüße", 0),
        (b"\xff\xfe" + "def grüße(): 1".encode("utf-16-le"), "grüße", 0),
        (b"\xfe\xff" + "def grüße(): 1".encode("utf-16-be"), "grüße", 0),
        ("def grüße(): 1".encode("latin-1"), "grüße", 1),
        ("# coding: nothing\ndef grüße(): 1".encode(), "grüße", 1),
        ("x = '😀'\ndef grüße(): 1".encode(), "grüße", 0),
    ],
)
def test_a_name_has_its_letters_in_every_encoding(
    content: bytes, name: str, is_reported: int
) -> None:
    kinds, problems = read("file.py", content)
    assert list(kinds) == [name]
    assert len(problems) == is_reported


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    content = bytes(range(256)) * 20
    with pytest.raises(InvalidInput, match="no source code"):
        read("file.py", content)
    (tmp_path / "binary.py").write_bytes(content)
    (tmp_path / "latin.py").write_bytes("def grüße(): 1".encode("latin-1"))
    with Lab(tmp_path / "home") as lab:
        report = lab.ingest(tmp_path, reader=CODE)
    assert report.new == 1
    told = " ".join(report.problems)
    assert "binary.py: it holds bytes" in told
    assert "latin.py: it is no UTF-8" in told


NAME = st.sampled_from(["alpha", "größe", "b2", "_c"])
PYTHON_FORMS = st.sampled_from(
    [
        "def {name}(a, *b): return a",
        "async def {name}(): pass",
        "@decorated(1)\ndef {name}(): pass",
        "class {name}(Base):\n    def method(self):\n        def inner(): pass",
        "if x:\n    def {name}(): pass\nelse:\n    class {name}: pass",
        "try:\n    def {name}(): pass\nexcept E: pass",
        "with x:\n    class {name}:\n        class Nested: pass",
        "{name} = 3",
        "'def {name}(): pass'",
        "# def {name}(): pass",
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(PYTHON_FORMS, NAME), max_size=8))
def test_python_has_as_many_symbols_as_its_own_parser_finds(
    pieces: list[tuple[str, str]],
) -> None:
    source = "\n".join(form.format(name=name) for form, name in pieces)
    tree = ast.parse(source)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    n_definitions = sum(isinstance(node, kinds) for node in ast.walk(tree))
    symbols, problems = read("file.py", source)
    assert (len(symbols), problems) == (n_definitions, [])


# Each with how many definitions it holds.
JAVASCRIPT_FORMS = st.sampled_from(
    [
        ("function {name}(a) { return a }", 1),
        ("async function* {name}() {}", 1),
        ("class {name} extends B { m() {} static s() {} #p = () => 1 }", 4),
        ("const {name} = (a) => a", 1),
        ("var {name} = function () {}", 1),
        ("exports.{name} = function () {}", 1),
        ("module.exports = { {name}() {}, other: () => 1, value: 2 }", 2),
        ("{name}.prototype.go = function () { function inner() {} }", 2),
        ("Object.defineProperty(exports, '{name}', { get() { return 1 } })", 1),
        ("(function () { const {name} = class {} })()", 1),
        ("define(function (require) { exports.{name} = () => 1 })", 1),
        ("list.map(x => x + 1)", 0),
        ("'function {name}() {}'", 0),
        ("// function {name}() {}", 0),
        ("{name} = 3", 0),
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(JAVASCRIPT_FORMS, NAME), max_size=8))
def test_javascript_has_as_many_symbols_as_it_defines(
    pieces: list[tuple[tuple[str, int], str]],
) -> None:
    sources = [form.replace("{name}", name) for (form, _), name in pieces]
    symbols, problems = read("file.js", ";\n".join(sources))
    assert (len(symbols), problems) == (sum(count for (_, count), _ in pieces), [])
