"""The commands of the instruction set: `theorex dreams isa-run …`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import IO

import click

from theorex_lab.files.command_line import (
    command,
    emit,
    one_row,
    open_lab,
    reads_project,
)

_MOST_CHARACTERS = 1_000_000
_PROGRAM = click.argument(
    "file", type=click.File(encoding="utf-8", errors="replace"), default="-"
)
_VERSION = click.option(
    "--isa-version",
    default="latest",
    metavar="V",
    help="The version of the instruction set that it is read by.",
)


@command("isa-versions")
def isa_versions() -> None:
    """New programs and trajectories have the highest one, the current version.

    JSON: {current, supported}
    """
    from theorex_lab.designs.dreams.opcodes import get_registry

    registry = get_registry()
    versions = registry.all_versions()
    result = {"current": registry.current(), "supported": versions}
    emit(result, f"current: {registry.current()} of {', '.join(versions)}")


@command("isa-parse")
@_VERSION
@_PROGRAM
def isa_parse(file: IO[str], isa_version: str) -> None:
    """FILE is a program, one instruction a line; - or nothing is standard input.

    Nothing is run. The program is printed as it is read. What is passed over is a
    warning. An instruction that a run will reject is an error; the exit code is then 1.

    Next: `isa-run` runs it.

    JSON: {isa_version, instructions: [{line, opcode, operands}], warnings, errors}
    """
    from theorex_lab.designs.dreams.isa import parse, serialize

    program = parse(file.read(_MOST_CHARACTERS), isa_version)
    rows = [
        {
            "line": instruction.line,
            "opcode": instruction.opcode.name,
            "operands": list(instruction.operands),
        }
        for instruction in program.instructions
    ]
    result = {
        "isa_version": program.isa_version,
        "instructions": rows,
        "warnings": list(program.warnings),
        "errors": list(program.errors),
    }
    lines = serialize(program).splitlines()
    lines += _problems(program.warnings, program.errors)
    emit(result, "\n".join(lines) or "no instructions")
    sys.exit(1 if program.errors else 0)


@command("isa-run")
@reads_project
@_VERSION
@_PROGRAM
def isa_run(file: IO[str], isa_version: str) -> None:
    """FILE is a program, one instruction a line; - or nothing is standard input.

    The opcodes that begin with MEM_ read the strategies, and the answer of each is
    printed. The memory is not changed: what else a program asks for is only listed. A
    rejected instruction is an error, and the rest runs. The exit code is 1 where the
    program has more instructions than the setting isaMaxInstructions.

    JSON: {success, instructions_executed, warnings, errors, side_effects, isa_version,
    accumulator, memory_reads: [{line, opcode, operand, value}], output}
    """
    done = open_lab().dreams.run_program(file.read(_MOST_CHARACTERS), isa_version)
    lines = [one_row(entry) for entry in done.side_effects]
    lines += [f"output: {one_row(message)}" for message in done.output]
    if done.accumulator:
        lines.append(f"accumulator: {one_row(done.accumulator)}")
    ended = "" if done.success else "; it was stopped, and asks for nothing"
    lines.append(f"{done.instructions_executed} instructions{ended}")
    lines += _problems(done.warnings, done.errors)
    emit(done.to_dict(), "\n".join(lines))
    sys.exit(0 if done.success else 1)


def _problems(warnings: Iterable[str], errors: Iterable[str]) -> list[str]:
    """Return what is wrong with a program, a problem a line."""
    lines = [f"warning  {one_row(warning)}" for warning in warnings]
    lines += [f"ERROR    {one_row(error)}" for error in errors]
    return lines
