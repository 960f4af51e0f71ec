"""Modules that are imported when they are first needed, and the table of commands that
is made of them.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from theorex_lab import InvalidInput
from theorex_lab.app.cli import command_table
from theorex_lab.core.imports import import_string
from theorex_lab.core.lazy import LazyModule


def _imports_for_editors() -> dict[str, str]:
    """The modules that the table imports for type checkers alone, by the names that it
    gives them.
    """
    tree = ast.parse(Path(command_table.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    modules = {}
    for statement in block.body:
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                modules[alias.asname or alias.name] = f"{statement.module}.{alias.name}"
    return modules


def test_an_editor_follows_the_table_of_commands_to_the_modules_that_are_imported() -> (
    None
):
    stand_ins = {}
    for name, value in vars(command_table).items():
        if isinstance(value, LazyModule):
            stand_ins[name] = repr(value)
    assert stand_ins
    editors = _imports_for_editors()
    assert stand_ins == {name: repr(LazyModule(editors[name])) for name in stand_ins}


def test_every_name_stands_once_in_its_part_of_the_table_of_commands() -> None:
    product = [entry.name for job in command_table.JOBS for entry in job.commands]
    product += [group.name for group in command_table.DESIGN_GROUPS]
    assert len(product) == len(set(product))
    for group in command_table.DESIGN_GROUPS:
        names = [entry.name for entry in group.commands]
        names += [entry.printed for entry in group.commands if entry.printed]
        assert len(names) == len(set(names))


def test_a_stand_in_for_a_module_that_is_not_there_says_so_when_it_is_used() -> None:
    missing = LazyModule("theorex_lab.no_such_module")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        missing.anything  # noqa: B018


@pytest.mark.parametrize(
    "place", ["no_such_module:Name", "math:no_such_name", "math", "", ":"]
)
def test_what_a_user_names_and_cannot_be_imported_is_refused_with_the_form(
    place: str,
) -> None:
    with pytest.raises(InvalidInput, match="give module:Name"):
        import_string(place)
