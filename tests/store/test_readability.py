"""The check of how readable the package is: what it counts, and that exceptions only
shrink.
"""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "readability.py"


@pytest.fixture(scope="module")
def readability() -> ModuleType:
    pytest.importorskip("radon")
    pytest.importorskip("cognitive_complexity")
    spec = importlib.util.spec_from_file_location("readability", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("rule", "source", "expected"),
    [
        ("tuple_assignments", "a, b = 1, 2", 1),
        ("tuple_assignments", "a, b = b, a", 0),
        ("tuple_assignments", "a, b = pair()", 0),
        ("nested_comprehensions", "x = [[b for b in a] for a in y]", 1),
        ("nested_comprehensions", "x = [b for a in y for b in a]", 1),
        ("nested_comprehensions", "x = [a for a in y]", 0),
        ("conditionals", "x = (1 if a else 2) + (3 if b else 4)", 1),
        ("conditionals", "x = 1 if a else 2", 0),
        ("conditionals", "if 1 if a else 2:\n    x = 3 if b else 4", 0),
        ("walrus", "x = [b for a in y if (b := f(a))]", 1),
        ("walrus", "if (a := f()):\n    pass", 0),
        ("cyclomatic", "def f(x):\n" + "    if x: pass\n" * 9, 0),
        ("cyclomatic", "def f(x):\n" + "    if x: pass\n" * 10, 1),
        (
            "cognitive",
            (
                "def f(x):\n    for a in x:\n        if a:\n            if x:\n        "
                "        pass"
            ),
            0,
        ),
        ("cognitive", "def f(x):\n" + "    if x: pass\n" * 13, 1),
        ("positional", "def f(a, b, c, d): pass", 0),
        ("positional", "def f(a, b, c, d, e): pass", 1),
        ("positional", "def f(a, b, c, d, *, e): pass", 0),
        ("positional", "def _f(a, b, c, d, e): pass", 0),
        ("positional", "class A:\n    def f(self, a, b, c, d): pass", 0),
        ("positional", "class A:\n    def __init__(self, a, b, c, d, e): pass", 1),
        ("positional", "@command('x')\ndef f(a, b, c, d, e): pass", 0),
        ("vague_names", "def f():\n    found = 1\n    found = 2\n    kept = 3", 2),
        ("vague_names", "found = 1", 0),
    ],
)
def test_what_breaks_a_rule_is_counted(
    readability: ModuleType, rule: str, source: str, expected: int
) -> None:
    assert readability.measure("a.py", source).count(rule) == expected


def test_lines_and_nodes_are_those_of_code(readability: ModuleType) -> None:
    plain = readability.measure("a.py", "def f():\n    return 1\n")
    source = (
        '"""A file."""\n\n# A comment.\ndef f():\n    """One.\n\n    Two.\n    """\n   '
        " return 1  # one\n"
    )
    spoken = readability.measure("a.py", source)
    assert (plain.lines, spoken.lines) == (2, 2)
    assert plain.nodes == spoken.nodes


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".ci").mkdir()
    (tmp_path / "theorex_lab").mkdir()
    (tmp_path / "theorex_lab" / "a.py").write_text(
        "def f():\n    a, b = 1, 2\n    c, d = 1, 2\n"
    )
    return tmp_path


def test_exceptions_shrink_and_never_grow(
    readability: ModuleType, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = project / "theorex_lab" / "a.py"
    exceptions = project / ".ci" / "readability.json"
    at_root = ["--root", str(project)]
    assert readability.main(at_root) == 1
    assert readability.main([*at_root, "--write"]) == 0
    assert json.loads(exceptions.read_text())["tuple_assignments"] == {
        "theorex_lab/a.py:f": 2
    }
    assert readability.main(at_root) == 0

    file.write_text(file.read_text() + "    e, g = 1, 2\n")
    capsys.readouterr()
    assert readability.main([*at_root, "--write"]) == 1
    assert "theorex_lab/a.py:f: 3 assignments" in capsys.readouterr().out
    assert json.loads(exceptions.read_text())["tuple_assignments"] == {
        "theorex_lab/a.py:f": 2
    }

    file.write_text("def f():\n    a, b = 1, 2\n")
    assert readability.main(at_root) == 0
    assert "--write" in capsys.readouterr().out
    assert readability.main([*at_root, "--write"]) == 0
    assert json.loads(exceptions.read_text())["tuple_assignments"] == {
        "theorex_lab/a.py:f": 1
    }

    file.write_text("def f():\n    return 1\n\n\ndef g():\n    a, b = 1, 2\n")
    assert readability.main([*at_root, "--write"]) == 1, (
        "another function is no exception"
    )
    assert json.loads(exceptions.read_text())["tuple_assignments"] == {}
