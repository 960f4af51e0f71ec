"""Patterns that are compiled when they are first used."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import theorex_lab
from theorex_lab.core.patterns import lazy_pattern


def test_a_lazy_pattern_does_what_a_compiled_one_does() -> None:
    source = r"(?P<word>[a-z]+)-(\d)"
    text = "till-1, TILL-2; key-3"
    lazy = lazy_pattern(source, re.IGNORECASE)
    compiled = re.compile(source, re.IGNORECASE)

    assert [match.group() for match in lazy.finditer(text)] == [
        "till-1",
        "TILL-2",
        "key-3",
    ]
    assert lazy.findall(text) == compiled.findall(text)
    assert lazy.sub("x", text) == compiled.sub("x", text)
    assert lazy.subn("x", text) == compiled.subn("x", text)
    assert lazy.split(text) == compiled.split(text)
    assert (lazy.pattern, lazy.flags) == (source, compiled.flags)
    assert (lazy.groups, lazy.groupindex) == (2, compiled.groupindex)
    for method in ("match", "fullmatch", "search"):
        expected = getattr(compiled, method)("key-3")
        assert getattr(lazy, method)("key-3").span() == expected.span()


def test_an_error_in_a_pattern_is_raised_at_its_first_use() -> None:
    broken = lazy_pattern("(")

    with pytest.raises(re.error):
        broken.search("x")


def test_a_pattern_has_no_other_attributes() -> None:
    with pytest.raises(AttributeError, match="no attribute 'found'"):
        lazy_pattern("x").found  # type: ignore[attr-defined]  # noqa: B018


def modules_that_compile(imports: str) -> list[str]:
    """Return the modules that compile patterns in a process that imports others.

    Args:
        imports: The lines that import them.
    """
    program = (
        "import re, sys\n"
        "compiled = []\n"
        "original = re.compile\n"
        "def counting(source, flags=0):\n"
        "    compiled.append(sys._getframe(1).f_globals['__name__'])\n"
        "    return original(source, flags)\n"
        "re.compile = counting\n"
        f"{imports}\n"
        "print(*compiled)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout.split()


def test_modules_of_words_compile_little_when_they_are_imported() -> None:
    modules = modules_that_compile(
        "import theorex_lab.text.speech_act_cues\n"
        "import theorex_lab.memory.briefing.rule_cues\n"
        "import theorex_lab.designs.facts.statement_cues"
    )
    assert modules, "others compile theirs, so that the count is one"
    assert [name for name in modules if name.endswith("_cues")] == []


def test_what_a_search_imports_compiles_few_patterns() -> None:
    modules = modules_that_compile(
        "import theorex_lab.app.cli.memory, theorex_lab.store.lab\n"
        "import theorex_lab.memory.retrieve, theorex_lab.memory.briefing.candidates\n"
        "import theorex_lab.designs.theorex.flash, theorex_lab.text.spoken"
    )
    of_package = [name for name in modules if name.startswith("theorex_lab")]
    assert len(of_package) <= 3, of_package


def test_what_a_status_imports_compiles_few_patterns(tmp_path: Path) -> None:
    modules = modules_that_compile(
        "from theorex_lab import Lab\n"
        f"with Lab({str(tmp_path)!r}) as lab:\n"
        "    lab.status()"
    )
    of_package = [name for name in modules if name.startswith("theorex_lab")]
    assert len(of_package) <= 10, of_package


_POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)(?:[*+?]|\{\d*,?\d*\})\+")


def test_no_group_has_a_possessive_quantifier() -> None:
    """Python before 3.11.5 takes in a sign too many there; an atomic group does not."""
    assert _POSSESSIVE_GROUP.search("(?:ab?c)*+")
    assert _POSSESSIVE_GROUP.search("(?:ab?c){1,3}+")
    assert not _POSSESSIVE_GROUP.search(r"(?>(?:ab?c)*)\)++[a-z]++")
    package = Path(theorex_lab.__file__).parent

    lines = [
        f"{path.relative_to(package)}:{number}: {line.strip()}"
        for path in sorted(package.rglob("*.py"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if _POSSESSIVE_GROUP.search(line)
    ]

    assert not lines, "write (?>(...)*) in place of (...)*+:\n" + "\n".join(lines)
