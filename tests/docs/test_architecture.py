"""docs/architecture.md is true: its rooms are those of the package, and each function of
its lists names the next one.
"""

from __future__ import annotations

import importlib
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import call_paths as checker
import pytest
from doc_references import ROOMS, ROOT

TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PATHS = checker.call_paths(TEXT)
MODULE = "made_up_rooms"
SOURCE = """
from made_up_far import far_away


def begin():
    return middle()


def middle():
    from made_up_far import later as much_later

    return Worker().work(much_later)


def beside():
    import made_up_far as far

    return far.far_away()


class Worker:
    def work(self, function):
        return far_away()
"""
FAR = """
def far_away():
    pass


def later():
    pass
"""


def test_there_are_three_lists_of_functions() -> None:
    assert [path.title for path in PATHS] == [
        "Hook payload → journal → briefing",
        "Query → hits",
        "Log → comparison table",
    ]
    assert min(len(path.hops) for path in PATHS) >= 5


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.title)
def test_each_function_of_a_list_names_the_next(path: checker.CallPath) -> None:
    assert checker.problems_of(path) == []


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.title)
def test_each_function_of_a_list_can_be_imported(path: checker.CallPath) -> None:
    for hop in path.hops:
        value: object = importlib.import_module(hop.module)
        for name in hop.qualname.split("."):
            value = getattr(value, name)


def test_the_rooms_are_those_of_the_package() -> None:
    described = re.findall(r"^\| `(\w+)/` \|", TEXT, re.MULTILINE)
    assert sorted(described) == list(ROOMS)


# The checker itself, on modules that are made up.

Problems = Callable[[str], list[str]]


@pytest.fixture
def problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Problems]:
    """Give what checks a list of hops against the modules above, or changed ones."""
    monkeypatch.syspath_prepend(tmp_path)

    def check(hops: str, source: str = SOURCE) -> list[str]:
        (tmp_path / f"{MODULE}.py").write_text(source, encoding="utf-8")
        (tmp_path / "made_up_far.py").write_text(FAR, encoding="utf-8")
        checker._tree_of.cache_clear()
        importlib.invalidate_caches()
        (path,) = checker.call_paths("# A way\n\n" + textwrap.dedent(hops))
        return checker.problems_of(path)

    yield check
    checker._tree_of.cache_clear()
    assert MODULE not in sys.modules


WAY = f"""
1. `{MODULE}:begin` — begins.
2. `{MODULE}:middle` — goes on.
3. `{MODULE}:Worker.work` — works.
4. `made_up_far:far_away` — ends.
"""


def test_a_list_that_is_true_has_no_problem(problems: Problems) -> None:
    assert problems(WAY) == []


def test_a_function_that_was_renamed_is_a_problem(problems: Problems) -> None:
    renamed = SOURCE.replace("def middle", "def centre")
    assert problems(WAY, renamed) == [f"A way: {MODULE}:middle does not exist"]
    gone = SOURCE.replace("class Worker", "class Servant")
    assert problems(WAY, gone) == [f"A way: {MODULE}:Worker.work does not exist"]


def test_a_function_that_no_longer_calls_the_next_is_a_problem(
    problems: Problems,
) -> None:
    idle = SOURCE.replace("return middle()", "return None")
    assert problems(WAY, idle) == [
        f"A way: {MODULE}:begin does not name {MODULE}:middle"
    ]


def test_a_function_of_the_same_name_elsewhere_is_not_the_next(
    problems: Problems,
) -> None:
    other = SOURCE.replace(
        "from made_up_far import far_away", "from os import far_away"
    )
    assert problems(WAY, other) == [
        f"A way: {MODULE}:Worker.work does not name made_up_far:far_away"
    ]


def test_imports_inside_a_function_and_other_names_for_it_count(
    problems: Problems,
) -> None:
    assert problems(f"1. `{MODULE}:middle` — a\n2. `made_up_far:later` — b\n") == []
    assert problems(f"1. `{MODULE}:beside` — a\n2. `made_up_far:far_away` — b\n") == []
    assert problems(f"1. `{MODULE}:begin` — a\n2. `made_up_far:later` — b\n") == [
        f"A way: {MODULE}:begin does not name made_up_far:later"
    ]


def test_an_indented_function_is_called_by_the_one_that_it_stands_under(
    problems: Problems,
) -> None:
    hops = f"""
    1. `{MODULE}:begin` — begins.
    2. `{MODULE}:middle` — calls two.
       1. `made_up_far:later` — is one of them.
       2. `{MODULE}:Worker` — is the other.
    3. `{MODULE}:Worker.work` — is called by middle as well.
    """
    assert problems(hops) == []
    assert problems(hops.replace("made_up_far:later", "made_up_far:far_away")) == [
        f"A way: {MODULE}:middle does not name made_up_far:far_away"
    ]


def test_a_module_that_is_imported_when_it_is_needed_is_seen_through(
    problems: Problems,
) -> None:
    lazy = SOURCE + textwrap.dedent(
        """
        if TYPE_CHECKING:
            import made_up_far as far
        else:
            far = LazyModule("made_up_far")


        def table():
            return lambda: far.later
        """
    )
    hops = f"1. `{MODULE}:table` — a\n2. `made_up_far:later` — b\n"
    assert problems(hops, lazy) == []


def test_a_function_may_be_called_through_a_table_of_functions(
    problems: Problems,
) -> None:
    table = SOURCE + textwrap.dedent(
        """
        TABLE = {"middle": (1, middle)}


        def choose(name):
            return TABLE[name][1]()
        """
    )
    hops = f"1. `{MODULE}:choose` — a\n2. `{MODULE}:middle` — b\n"
    assert problems(hops, table) == []
    emptied = table.replace("(1, middle)", "(1, begin)")
    assert problems(hops, emptied) == [
        f"A way: {MODULE}:choose does not name {MODULE}:middle"
    ]


def test_a_command_may_be_started_in_a_process_by_its_word(problems: Problems) -> None:
    started = SOURCE + textwrap.dedent(
        """
        def start():
            run(["tidy", "--home", "x"])


        @command("tidy", "Tidy up.")
        def tidy():
            pass
        """
    )
    hops = f"1. `{MODULE}:start` — a\n2. `{MODULE}:tidy` — b\n"
    assert problems(hops, started) == []
    renamed = started.replace('command("tidy"', 'command("clean"')
    assert problems(hops, renamed) == [
        f"A way: {MODULE}:start does not name {MODULE}:tidy"
    ]


def test_a_function_may_say_which_one_before_it_calls_it(problems: Problems) -> None:
    hops = f"""
    1. `{MODULE}:begin` — begins.
    2. `{MODULE}:middle` — goes on.
    3. `{MODULE}:Worker.work` — works.
    4. `made_up_far:later` (from 2) — is called by middle too.
    """
    assert problems(hops) == []
    assert problems(hops.replace("from 2", "from 1")) == [
        f"A way: {MODULE}:begin does not name made_up_far:later"
    ]
