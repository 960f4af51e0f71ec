"""Read and run the instruction set in which a model says what is worth keeping.

It has 17 opcodes, and a program has one a line, as text.

A program is read line by line. Opcodes may be written in any case; blank lines and
those that begin with `#` or `//` are skipped. Words are split as a POSIX shell does;
where a quote has no end, by quoted or plain words. Written out, an operand that holds a
line break or another control character stands as `$'…'`, as in bash. Where a program is
run, what it asks for is gathered, and nothing is changed; whoever runs one applies it,
or does not.
"""

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.dreams import ISA_VERSION, Edge, Fault
from theorex_lab.designs.dreams.opcodes import (
    LATEST,
    ISAVersionRegistry,
    Opcode,
    get_registry,
)
from theorex_lab.text.line import one_line

LAST_PARENT = "$LAST_PARENT"  # as a node: the one that the latest BUILD_PARENT made


# Kind of an operand -> its form, and what an error says of it; the others are any text.
_FORMS = {
    "index": ("[0-9]{1,9}", "a whole number from 0"),
    "edge": ("|".join(Edge), ", ".join(Edge)),
    "confidence": (r"0?\.[0-9]+|[01]\.?|1\.0+", "a number from 0 to 1"),
}


@dataclass(frozen=True, slots=True)
class Instruction:
    """Hold an opcode and its operands.

    Attributes:
        opcode: What it does.
        operands: What it does that to.
        line: Where it stood, which makes it no other instruction.
    """

    opcode: Opcode
    operands: tuple[str, ...] = ()
    line: int = field(default=0, compare=False)

    @property
    def problem(self) -> str:
        """Why it cannot be run, by its operands alone; '' where it can.

        >>> Instruction(Opcode.BUILD_PARENT, ("deploy", "Deploy it.", "nan")).problem
        "got the confidence 'nan'; allowed is a number from 0 to 1"
        """
        kinds = self.opcode.kinds
        if len(self.operands) < len(kinds):
            return (
                f"got {len(self.operands)} operands; allowed are {len(kinds)} or more:"
                f" {' '.join(kinds)}"
            )
        for kind, operand in zip(kinds, self.operands, strict=False):
            if kind not in _FORMS:
                continue
            form, allowed = _FORMS[kind]
            if not re.fullmatch(form, operand):
                value = one_line(operand, 40)
                return f"got the {kind} {value!r}; allowed is {allowed}"
        return ""

    def __str__(self) -> str:
        return " ".join([self.opcode.name, *map(_quoted, self.operands)])


@dataclass(frozen=True)
class Program:
    """Hold instructions.

    Attributes:
        instructions: In their order.
        isa_version: The version of the instruction set that they were read by.
        warnings: What of the text was passed over or read leniently, by its line.
    """

    instructions: tuple[Instruction, ...]
    isa_version: str = ISA_VERSION
    warnings: tuple[str, ...] = field(default=(), compare=False)

    @property
    def errors(self) -> tuple[str, ...]:
        """Return the instructions that will be rejected in any case.

        They come with their lines, whatever the program is run on.
        """
        errors: list[str] = []
        for instruction in self.instructions:
            problem = instruction.problem
            if problem:
                name = instruction.opcode.name
                errors.append(f"L{instruction.line}: {name}: {problem}")
        return tuple(errors)


# What a word is made of: $'…', "…", '…', an escaped sign, plain signs. A quote without
# an end is no part of one.
_PART = re.compile(
    r"""\$'(?>(?:[^'\\]|\\.)*)'|"(?>(?:[^"\\]|\\.)*)"|'[^']*'|\\.|\$|[^ \t\r\n"'\\$]+"""
)
_WORD = re.compile(rf"(?>(?:{_PART.pattern})+)|(?P<open>[\"'\\])")
_LENIENT = re.compile(r'"([^"]*)"|(\S+)')
_LIST_MARK = re.compile(r"(?:\d{1,4}[.)]|[-*•])\s+(?=[A-Za-z_])")
_PLAIN_OPERAND = re.compile(r"[\w$.,:/@%+=-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f'\\]")


def parse(
    text: str,
    isa_version: str = LATEST,
    *,
    registry: ISAVersionRegistry | None = None,
) -> Program:
    r"""Return the program in a text.

    What is no instruction becomes a warning, and the rest stands. Markdown fences, list
    marks before and a semicolon after an instruction are passed over, with a warning.

    Args:
        text: The text.
        isa_version: The version by which it is read; it has no opcodes but its own.
        registry: The versions; by default those of this process.

    Raises:
        InvalidInput: The version is unknown.

    >>> program = parse(
    ...     '1. mark_critical trace_001 0\nDELETE everything\nYIELD "all done"'
    ... )
    >>> program.instructions[1].operands, program.warnings[1]
    (('all done',), "L2: unknown opcode 'DELETE'")
    """
    versions = registry or get_registry()
    version = versions.resolve(isa_version)
    opcodes = versions.get(version)
    instructions = []
    warnings = []
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if not bare or bare.startswith(("#", "//")):
            continue
        words, line_warnings = _read_line(bare)
        name = words[0].upper() if words else ""
        if name in opcodes:
            instruction = Instruction(Opcode[name], tuple(words[1:]), number)
            instructions.append(instruction)
        elif words:
            line_warnings.append(_unknown_opcode(words[0], version))
        warnings += [f"L{number}: {warning}" for warning in line_warnings]
    return Program(tuple(instructions), version, tuple(warnings))


def _unknown_opcode(word: str, version: str) -> str:
    """Return the warning for a word that is no opcode of a version."""
    warning = f"unknown opcode {one_line(word, 40)!r}"
    if word.upper() in Opcode.__members__:
        warning += f" in version {version}"
    return warning


def serialize(program: Program) -> str:
    r"""Return a program as text, which `parse` reads as the same program.

    >>> serialize(parse('yield "say it"'))
    'YIELD "say it"\n'
    """
    return "".join(f"{instruction}\n" for instruction in program.instructions)


def _read_line(line: str) -> tuple[list[str], list[str]]:
    """Return the words of a line, none where it is to be skipped, and warnings."""
    if line.startswith(("```", "~~~")):
        return [], ["a Markdown fence was passed over"]
    warnings: list[str] = []
    mark = _LIST_MARK.match(line)
    if mark:
        line = line[mark.end() :]
        warnings.append("a list mark was passed over")
    if line.endswith(";"):
        line = line.rstrip("; \t")
        warnings.append("a semicolon was passed over")
    matches = list(_WORD.finditer(line))
    if any(match["open"] for match in matches):
        words = [quoted or plain for quoted, plain in _LENIENT.findall(line)]
        warnings.append("a quote has no end")
    else:
        words = [_PART.sub(_unquoted, match[0]) for match in matches]
    return words, warnings


def _unquoted(match: re.Match[str]) -> str:
    """Return a part of a word without its quotes."""
    part = match[0]
    if part.startswith("$'"):
        return re.sub(r"\\(?:x([0-9a-f]{2})|(.))", _unescaped, part[2:-1])
    if part.startswith('"'):
        return re.sub(r'\\(["\\])', r"\1", part[1:-1])
    if part.startswith("'"):
        return part[1:-1]
    return part.removeprefix("\\")


def _unescaped(match: re.Match[str]) -> str:
    r"""Return the character that `\xHH` or an escaped sign stands for."""
    code = match[1]
    if code:
        return chr(int(code, 16))
    return match[2]


def _quoted(operand: str) -> str:
    r"""Return an operand as a word.

    It is plain, in `"…"`, or in `$'…'` for control characters.
    """
    if _PLAIN_OPERAND.fullmatch(operand):
        return operand
    if re.search(r"[\x00-\x1f\x7f]", operand):
        escaped = _CONTROL.sub(_escaped, operand)
        return f"$'{escaped}'"
    escaped = re.sub(r'(["\\])', r"\\\1", operand)
    return f'"{escaped}"'


def _escaped(match: re.Match[str]) -> str:
    r"""Return a character as `\xHH`."""
    code = ord(match[0])
    return f"\\x{code:02x}"


MOST_INSTRUCTIONS = 500
_LOG_CHARACTERS = 200
_CLASSES = frozenset(Fault)
_MADE: dict[str, Callable[[str], Any]] = {
    "index": int,
    "confidence": float,
    "edge": Edge,
}


class ProgramEffects(SimpleNamespace):
    """Hold what a program asks for: lists that opcodes add to, in the program's order.

    A node that the program built is `$0`, `$1` and so on.

    Attributes:
        critical: Indices of actions.
        noise: Indices of actions.
        constraints: (text, fault class).
        parents: (goal, summary, confidence).
        children: (node, index, reasoning, action, result).
        links: (node, node, edge).
        groups: (node, node).
        prunes: Nodes.
        reads: (opcode, query or node).
        yields: Messages.
    """

    def __init__(self) -> None:
        lists = dict[str, list[Any]]()
        for opcode in Opcode:
            if opcode.adds_to:
                lists[opcode.adds_to] = []
        super().__init__(**lists)


class MemoryReader(Protocol):
    """Answer the opcodes that read the memory."""

    def read(self, opcode: Opcode, operand: str) -> str:
        """Return what an opcode gives, '' for nothing.

        Args:
            opcode: One of the six that begin with MEM_.
            operand: What it is given: a query, or the id of a node.

        Raises:
            InvalidInput: There is no such node.
        """


class MemoryRead(NamedTuple):
    """Hold what an opcode read in the memory, and at which line."""

    line: int
    opcode: str
    operand: str
    value: str


class ProgramRun(NamedTuple):
    """Hold what came of a program.

    Attributes:
        success: Whether it came to its end within the limit; else `effects` are empty.
        instructions_executed: Instructions that were looked at, a HALT and those that
            were rejected among them.
        warnings: Of the parser.
        errors: Instructions that were rejected, with their lines, and a limit that was
            hit.
        side_effects: A log of what was gathered.
        isa_version: The version of the instruction set.
        accumulator: What the last opcode that reads the memory gave.
        memory_reads: What each of them gave.
        output: The messages of YIELD.
    """

    success: bool
    instructions_executed: int
    warnings: list[str]
    errors: list[str]
    side_effects: list[str]
    effects: ProgramEffects
    isa_version: str
    accumulator: str
    memory_reads: list[MemoryRead]
    output: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return the run as JSON holds it, without the effects."""
        members = self._asdict()
        del members["effects"]
        members["memory_reads"] = [read._asdict() for read in self.memory_reads]
        return members


def run(
    program: Program,
    *,
    actions: int | None = None,
    nodes: Container[str] | None = None,
    memory: MemoryReader | None = None,
    max_instructions: int = MOST_INSTRUCTIONS,
) -> ProgramRun:
    r"""Run a program.

    Args:
        program: The instructions.
        actions: How many actions there are; None lets any index do.
        nodes: Which nodes there are; None lets any name do.
        memory: Answers the opcodes that read the memory; None: they give nothing.
        max_instructions: How many instructions may be run.

    >>> from theorex_lab.designs.dreams.isa import parse
    >>> result = run(
    ...     parse("MARK_CRITICAL t 0\nMARK_CRITICAL t 7\nHALT\nMARK_NOISE t 1"),
    ...     actions=2,
    ... )
    >>> result.effects.critical, result.instructions_executed, result.errors
    ([0], 3, ["L2: MARK_CRITICAL: got the index '7'; allowed is 0 to 1"])
    """
    machine = _Machine(actions, nodes, memory)
    n_executed = 0
    success = True
    for instruction in program.instructions:
        if n_executed >= max_instructions:
            machine.errors.append(
                f"L{instruction.line}: got more instructions than max_instructions"
                f" allows, {max_instructions}"
            )
            machine.effects = ProgramEffects()
            success = False
            break
        n_executed += 1
        if instruction.opcode is Opcode.HALT:
            break
        machine.execute(instruction)
    return ProgramRun(
        success=success,
        instructions_executed=n_executed,
        warnings=[*program.warnings],
        errors=machine.errors,
        side_effects=machine.log,
        effects=machine.effects,
        isa_version=program.isa_version,
        accumulator=machine.accumulator,
        memory_reads=machine.memory_reads,
        output=[*machine.effects.yields],
    )


class _Machine:
    """Run instructions, and gather what they ask for."""

    def __init__(
        self,
        n_actions: int | None,
        nodes: Container[str] | None,
        memory: MemoryReader | None,
    ) -> None:
        self.n_actions = n_actions
        self.nodes = nodes
        self.memory = memory
        self.effects = ProgramEffects()
        self.errors: list[str] = []
        self.log: list[str] = []
        self.accumulator = ""
        self.memory_reads: list[MemoryRead] = []

    def execute(self, instruction: Instruction) -> None:
        """Run an instruction; one that is wrong is rejected with its line."""
        opcode = instruction.opcode
        where = f"L{instruction.line}:"
        try:
            values = _values(
                instruction, len(self.effects.parents), self.n_actions, self.nodes
            )
            entry = f"{where} {instruction}"
            if opcode.adds_to == "reads":
                entry += self._read(instruction, values[1])
        except InvalidInput as error:
            self.errors.append(f"{where} {opcode.name}: {error}")
            return
        if not opcode.adds_to:
            return
        effect = tuple(values) if len(values) > 1 else values[0]
        gathered = getattr(self.effects, opcode.adds_to)
        gathered.append(effect)
        self.log.append(entry[:_LOG_CHARACTERS])

    def _read(self, instruction: Instruction, operand: str) -> str:
        """Read the memory; return what the log says of it.

        Raises:
            InvalidInput: There is no such node.
        """
        if self.memory is None:
            return ""
        value = self.memory.read(instruction.opcode, operand)
        self.accumulator = value
        read = MemoryRead(instruction.line, instruction.opcode.name, operand, value)
        self.memory_reads.append(read)
        return f" -> {one_line(value, _LOG_CHARACTERS)}"


def _values(
    instruction: Instruction,
    n_parents: int,
    n_actions: int | None,
    nodes: Container[str] | None,
) -> list[Any]:
    """Return the operands as what they stand for, without that of the trace.

    Raises:
        InvalidInput: One is wrong or does not exist.
    """
    problem = instruction.problem
    if problem:
        raise InvalidInput(problem)
    opcode = instruction.opcode
    operands = instruction.operands
    values: list[Any] = [opcode] if opcode.adds_to == "reads" else []
    for position, kind in enumerate(opcode.kinds):
        operand = operands[position]
        if kind == "index":
            _check_index(operand, n_actions)
        elif kind == "node":
            _check_node(operand, n_parents, nodes)
        if kind != "trace":
            values.append(_value(kind, operands[position:], n_parents))
    return values


def _check_index(operand: str, n_actions: int | None) -> None:
    """Raise an error where there is no action of an index.

    Raises:
        InvalidInput: There is none.
    """
    if n_actions is not None and int(operand) >= n_actions:
        allowed = f"0 to {n_actions - 1}" if n_actions else "none"
        raise InvalidInput(f"got the index {operand!r}; allowed is {allowed}")


def _check_node(operand: str, n_parents: int, nodes: Container[str] | None) -> None:
    """Raise an error for a node that was neither offered nor built.

    Raises:
        InvalidInput: It was not.
    """
    if operand == LAST_PARENT:
        is_missing = n_parents == 0
    elif nodes is None:
        is_missing = False
    else:
        is_missing = operand not in nodes
    if is_missing:
        allowed = "those that were offered, or built before"
        raise InvalidInput(
            f"got the node {one_line(operand, 40)!r}; allowed are {allowed}"
        )


def _value(kind: str, operands: Sequence[str], n_parents: int) -> Any:
    """Return what the first of the operands stands for, by its kind.

    Words and constraints are all that are left.
    """
    if kind == "constraint":
        return _constraint(operands)
    if kind == "words":
        return " ".join(operands)
    if kind == "node" and operands[0] == LAST_PARENT:
        return f"${n_parents - 1}"
    return _MADE.get(kind, str)(operands[0])


def _constraint(operands: Sequence[str]) -> tuple[str, Fault]:
    """Return the words of a constraint and its fault class, which may end it."""
    if len(operands) > 1 and operands[-1] in _CLASSES:
        return " ".join(operands[:-1]), Fault(operands[-1])
    return " ".join(operands), Fault.UNKNOWN_FAILURE
