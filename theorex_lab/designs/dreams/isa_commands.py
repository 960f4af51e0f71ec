"""The commands of the instruction set: `theorex dream isa parse|run|versions`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import IO

import click

from theorex_lab.console import command, emit, group, open_lab

_FILE = click.argument("file", type=click.File("r", "utf-8-sig", "replace"))
_VERSION = click.option("--isa", "version", default="latest", metavar="V", help="Version of the set; default latest.")


@command("parse", "Read a program, FILE or - for standard input, and say what of it would run.")
@_FILE
@_VERSION
def isa_parse(file: IO[str], version: str) -> None:
    """Nothing is run. Exit code 1 where an instruction will be rejected; what is only passed over is a warning.

    JSON: {version, instructions: [{line, opcode, operands}], warnings, errors}
    """
    from theorex_lab.designs.dreams.isa import parse, serialize

    found = parse(file.read(), version)
    rows = [{"line": one.line, "opcode": one.opcode.name, "operands": one.operands} for one in found.instructions]
    told = {"version": found.version, "instructions": rows, "warnings": found.warnings, "errors": found.errors}
    emit(told, "\n".join([*serialize(found).splitlines(), *_problems(found.warnings, found.errors)]))
    sys.exit(bool(found.errors))


@command("run", "Run a program, FILE or - for standard input, and say what it asks for.")
@_FILE
@_VERSION
def isa_run(file: IO[str], version: str) -> None:
    """The memory is not changed. What is rejected is an error and the rest runs; exit code 1 where there are more instructions
    than isaMaxInstructions, 0 otherwise.

    JSON: {success, instructions_executed, warnings, errors, side_effects}
    """
    from theorex_lab.designs.dreams.isa import parse
    from theorex_lab.designs.dreams.items import dream_settings
    from theorex_lab.designs.dreams.vm import run

    limit = dream_settings(open_lab().home).isa_max_instructions
    done = run(parse(file.read(), version), max_instructions=limit)
    ended = "done" if done.success else "nothing is applied"
    told = [*done.side_effects, f"{done.instructions_executed} instructions; {ended}"]
    emit(done.to_dict(), "\n".join([*told, *_problems(done.warnings, done.errors)]))
    sys.exit(not done.success)


@command("versions", "Show the versions of the instruction set.")
def isa_versions() -> None:
    """The highest is the one that programs are read as where they do not say another.

    JSON: {current, supported}
    """
    from theorex_lab.designs.dreams.isa import VERSIONS

    current, known = VERSIONS.current(), VERSIONS.all_versions()
    emit({"current": current, "supported": known}, f"current: {current} of {', '.join(known)}")


def _problems(warnings: Iterable[str], errors: Iterable[str]) -> list[str]:
    return [*(f"warning  {one}" for one in warnings), *(f"ERROR    {one}" for one in errors)]


isa = group("isa", "Programs of the instruction set in which a model dreams.", isa_parse, isa_run, isa_versions)
