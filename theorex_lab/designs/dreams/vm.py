"""Programs are run: what they ask for is gathered, and nothing is changed; whoever runs one applies it, or does not."""

from collections.abc import Callable, Container, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from theorex_lab.designs.dreams import Edge, Fault
from theorex_lab.designs.dreams.isa import LAST_PARENT, Instruction, Opcode, Program
from theorex_lab.errors import InvalidInput
from theorex_lab.text.line import one_line

MOST_INSTRUCTIONS = 500
_LOG_CHARACTERS = 200
_CLASSES = frozenset(Fault)
_MADE: dict[str, Callable[[str], Any]] = {"index": int, "confidence": float, "edge": Edge}


class Effects(SimpleNamespace):
    """What a program asks for, a list for each that an opcode adds to, in the program's order.

    critical, noise: indices of actions.  constraints: (text, fault class).  parents: (goal, summary, confidence).  children:
    (node, index, reasoning, action, result).  links: (node, node, edge).  groups: (node, node).  prunes: nodes.  reads:
    (opcode, query or node).  yields: messages.  A node that the program built is `$0`, `$1` and so on.
    """

    def __init__(self) -> None:
        super().__init__(**{opcode.adds_to: [] for opcode in Opcode if opcode.adds_to})


class Run(NamedTuple):
    """What came of a program. success: it came to its end within the limit; without it `effects` are empty.

    instructions_executed: instructions that were looked at, a HALT and those that were rejected among them.  warnings: of the parser.
    errors: instructions that were rejected, with their lines, and a limit that was hit.  side_effects: a log of what was
    gathered.
    """

    success: bool
    instructions_executed: int
    warnings: list[str]
    errors: list[str]
    side_effects: list[str]
    effects: Effects

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it, without the effects."""
        return {name: told for name, told in self._asdict().items() if name != "effects"}

    @property
    def built_parents(self) -> list[Any]:
        """(goal, summary, confidence) of strategies that the program builds."""
        return list(self.effects.parents)

    @property
    def built_children(self) -> list[Any]:
        """(node, index, reasoning, action, result) of their steps."""
        return list(self.effects.children)


def run(program: Program, *, actions: int | None = None, nodes: Container[str] | None = None,
        max_instructions: int = MOST_INSTRUCTIONS) -> Run:  # fmt: skip
    """Run a program. actions, nodes: how many actions and which nodes there are; None: any index or name will do.

    >>> from theorex_lab.designs.dreams.isa import parse
    >>> done = run(parse("MARK_CRITICAL t 0\\nMARK_CRITICAL t 7\\nHALT\\nMARK_NOISE t 1"), actions=2)
    >>> done.effects.critical, done.instructions_executed, done.errors
    ([0], 3, ["L2: MARK_CRITICAL: got the index '7'; allowed is 0 to 1"])
    """
    effects, executed, success = Effects(), 0, True
    errors, log = list[str](), list[str]()
    for instruction in program.instructions:
        opcode, where = instruction.opcode, f"L{instruction.line}:"
        if not (success := executed < max_instructions):
            errors.append(f"{where} got more instructions than max_instructions allows, {max_instructions}")
            effects = Effects()
            break
        executed += 1
        if opcode is Opcode.HALT:
            break
        try:
            values = _values(instruction, len(effects.parents), actions, nodes)
        except InvalidInput as error:
            errors.append(f"{where} {opcode.name}: {error}")
            continue
        if opcode.adds_to:
            getattr(effects, opcode.adds_to).append(tuple(values) if len(values) > 1 else values[0])
            log.append(f"{where} {instruction}"[:_LOG_CHARACTERS])
    return Run(success, executed, [*program.warnings], errors, log, effects)


def _values(instruction: Instruction, parents: int, actions: int | None, nodes: Container[str] | None) -> list[Any]:
    """The operands as what they stand for, without that of the trace. Raises InvalidInput for one that is wrong or not there."""
    if problem := instruction.problem:
        raise InvalidInput(problem)
    given, opcode = instruction.operands, instruction.opcode
    values: list[Any] = [opcode] if opcode.adds_to == "reads" else []
    for place, (kind, operand) in enumerate(zip(opcode.kinds, given, strict=False)):
        if kind == "index" and actions is not None and int(operand) >= actions:
            raise InvalidInput(f"got the index {operand!r}; allowed is {f'0 to {actions - 1}' if actions else 'none'}")
        built = operand == LAST_PARENT and parents > 0
        if kind == "node" and not built and (operand == LAST_PARENT or (nodes is not None and operand not in nodes)):
            allowed = "those that were offered, or built before"
            raise InvalidInput(f"got the node {one_line(operand, 40)!r}; allowed are {allowed}")
        if kind != "trace":
            values.append(_value(kind, given[place:], parents))
    return values


def _value(kind: str, left: Sequence[str], parents: int) -> Any:
    if kind == "constraint":
        classed = len(left) > 1 and left[-1] in _CLASSES
        return " ".join(left[: -1 if classed else None]), Fault(left[-1] if classed else "unknown_failure")
    if kind == "words":
        return " ".join(left)
    return f"${parents - 1}" if kind == "node" and left[0] == LAST_PARENT else _MADE.get(kind, str)(left[0])
