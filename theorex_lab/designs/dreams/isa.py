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
from enum import IntEnum
from types import SimpleNamespace
from typing import Any, NamedTuple, Self

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.dreams import Edge, Fault
from theorex_lab.text.line import one_line

LAST_PARENT = "$LAST_PARENT"  # as a node: the one that the latest BUILD_PARENT made


class Opcode(IntEnum):
    """Name what an instruction does.

    Attributes:
        kinds: Its operands by kind; `words` and `constraint` are all that are left.
        adds_to: The list of `ProgramEffects` that it adds to.
    """

    kinds: tuple[str, ...]
    adds_to: str

    def __new__(cls, code: int, kinds: str = "", adds_to: str = "") -> Self:
        """Return a member of the value `code`."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.kinds = tuple(kinds.split())
        member.adds_to = adds_to
        return member

    MEM_PTR = 0x10, "words", "reads"
    MEM_READ = 0x11, "node", "reads"
    MEM_NEXT = 0x12, "node", "reads"
    MEM_PREV = 0x13, "node", "reads"
    MEM_PARENT = 0x14, "node", "reads"
    MEM_JMP = 0x15, "node", "reads"
    EXTRACT_CONSTRAINT = 0x20, "trace constraint", "constraints"
    MARK_CRITICAL = 0x21, "trace index", "critical"
    MARK_NOISE = 0x22, "trace index", "noise"
    BUILD_PARENT = 0x23, "goal summary confidence", "parents"
    BUILD_CHILD = 0x24, "node index reasoning action result", "children"
    LNK_NODE = 0x25, "node node edge", "links"
    GRP_NODE = 0x26, "node node", "groups"
    PRN_NODE = 0x27, "node", "prunes"
    NOP = 0xF0
    YIELD = 0xF1, "words", "yields"
    HALT = 0xF2


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
        warnings: What of the text was passed over or read leniently, by its line.
    """

    instructions: tuple[Instruction, ...]
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
    r"""\$'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|'[^']*'|\\.|\$|[^ \t\r\n"'\\$]+"""
)
_WORD = re.compile(rf"(?:{_PART.pattern})++|(?P<open>[\"'\\])")
_LENIENT = re.compile(r'"([^"]*)"|(\S+)')
_LIST_MARK = re.compile(r"(?:\d{1,4}[.)]|[-*•])\s+(?=[A-Za-z_])")
_PLAIN_OPERAND = re.compile(r"[\w$.,:/@%+=-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f'\\]")


def parse(text: str) -> Program:
    r"""Return the program in a text.

    What is no instruction becomes a warning, and the rest stands. Markdown fences, list
    marks before and a semicolon after an instruction are passed over, with a warning.

    >>> program = parse(
    ...     '1. mark_critical trace_001 0\nDELETE everything\nYIELD "all done"'
    ... )
    >>> program.instructions[1].operands, program.warnings[1]
    (('all done',), "L2: unknown opcode 'DELETE'")
    """
    instructions = []
    warnings = []
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if not bare or bare.startswith(("#", "//")):
            continue
        words, line_warnings = _read_line(bare)
        name = words[0].upper() if words else ""
        if name in Opcode.__members__:
            instruction = Instruction(Opcode[name], tuple(words[1:]), number)
            instructions.append(instruction)
        elif words:
            line_warnings.append(f"unknown opcode {one_line(words[0], 40)!r}")
        warnings += [f"L{number}: {warning}" for warning in line_warnings]
    return Program(tuple(instructions), tuple(warnings))


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
    """

    success: bool
    instructions_executed: int
    warnings: list[str]
    errors: list[str]
    side_effects: list[str]
    effects: ProgramEffects

    def to_dict(self) -> dict[str, Any]:
        """Return the run as JSON holds it, without the effects."""
        members = self._asdict()
        del members["effects"]
        return members


def run(
    program: Program,
    *,
    actions: int | None = None,
    nodes: Container[str] | None = None,
    max_instructions: int = MOST_INSTRUCTIONS,
) -> ProgramRun:
    r"""Run a program.

    Args:
        program: The instructions.
        actions: How many actions there are; None lets any index do.
        nodes: Which nodes there are; None lets any name do.
        max_instructions: How many instructions may be run.

    >>> from theorex_lab.designs.dreams.isa import parse
    >>> result = run(
    ...     parse("MARK_CRITICAL t 0\nMARK_CRITICAL t 7\nHALT\nMARK_NOISE t 1"),
    ...     actions=2,
    ... )
    >>> result.effects.critical, result.instructions_executed, result.errors
    ([0], 3, ["L2: MARK_CRITICAL: got the index '7'; allowed is 0 to 1"])
    """
    effects = ProgramEffects()
    n_executed = 0
    success = True
    errors = []
    log = []
    for instruction in program.instructions:
        opcode = instruction.opcode
        where = f"L{instruction.line}:"
        if n_executed >= max_instructions:
            errors.append(
                f"{where} got more instructions than max_instructions allows,"
                f" {max_instructions}"
            )
            effects = ProgramEffects()
            success = False
            break
        n_executed += 1
        if opcode is Opcode.HALT:
            break
        try:
            values = _values(instruction, len(effects.parents), actions, nodes)
        except InvalidInput as error:
            errors.append(f"{where} {opcode.name}: {error}")
            continue
        if opcode.adds_to:
            effect = tuple(values) if len(values) > 1 else values[0]
            gathered = getattr(effects, opcode.adds_to)
            gathered.append(effect)
            entry = f"{where} {instruction}"
            log.append(entry[:_LOG_CHARACTERS])
    return ProgramRun(success, n_executed, [*program.warnings], errors, log, effects)


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
