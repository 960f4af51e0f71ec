"""Answer the opcodes by which a program reads the strategies."""

from __future__ import annotations

from typing import NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.dreams.opcodes import Opcode
from theorex_lab.designs.dreams.strategies import (
    Strategy,
    StrategyVectors,
    floor_of,
    strategy_by_id,
)
from theorex_lab.memory.contract import Home
from theorex_lab.text.line import one_line

_QUERY_CHARACTERS = 2_000


class _Node(NamedTuple):
    """A strategy, or a step of one.

    Attributes:
        number: The index of the step; None for the strategy.
    """

    strategy: Strategy
    number: int | None

    @property
    def summary(self) -> str:
        if self.number is None:
            return self.strategy.summary or self.strategy.goal
        step = self.strategy.steps[self.number]
        return step.why or step.reasoning or step.action

    def sibling(self, distance: int) -> str:
        """Return the id of the step so many steps further, '' where there is none."""
        if self.number is None:
            return ""
        index = self.number + distance
        if not 0 <= index < len(self.strategy.steps):
            return ""
        return f"{self.strategy.id}.{index}"


class StrategyReader:
    """Read the strategies of a home.

    The id of a step is its strategy's, a dot and its number from 0.

    Args:
        home: Whose strategies they are.
        vectors: Those of the home, where they are kept.
    """

    def __init__(self, home: Home, vectors: StrategyVectors | None = None) -> None:
        self.home = home
        self.vectors = vectors or StrategyVectors(home)

    def read(self, opcode: Opcode, operand: str) -> str:
        """Return what an opcode gives, '' for nothing.

        MEM_PTR gives the id of the strategy nearest to a query, where it is alike.
        MEM_READ gives a node's summary, MEM_NEXT and MEM_PREV the ids of the steps
        beside a step, MEM_PARENT the id of its strategy. MEM_JMP gives the id of the
        node that it jumps to.

        Args:
            opcode: The opcode.
            operand: The query, or the id of the node.

        Raises:
            InvalidInput: There is no such node, or the query has no words.
            ModelUnavailable: The embedder does not answer.
        """
        if opcode is Opcode.MEM_PTR:
            return self._nearest(operand)
        node = self._node(operand)
        if opcode is Opcode.MEM_READ:
            return node.summary
        if opcode is Opcode.MEM_NEXT:
            return node.sibling(1)
        if opcode is Opcode.MEM_PREV:
            return node.sibling(-1)
        if opcode is Opcode.MEM_PARENT:
            return "" if node.number is None else node.strategy.id
        return operand

    def _nearest(self, query: str) -> str:
        """Return the id of the strategy nearest to a query, '' where none is alike."""
        line = one_line(query, _QUERY_CHARACTERS)
        if not line:
            raise InvalidInput("got a query without words; allowed is a text")
        floor = floor_of(self.home)
        for strategy_id, cosine in self.vectors.nearest(line, 1):
            if cosine >= floor:
                return strategy_id
        return ""

    def _node(self, node_id: str) -> _Node:
        """Return the node of an id.

        Raises:
            InvalidInput: There is none.
        """
        strategy_id, dot, number = node_id.partition(".")
        strategy = strategy_by_id(self.home, strategy_id)
        if not dot:
            return _Node(strategy, None)
        is_number = number.isascii() and number.isdecimal() and len(number) <= 9
        if not is_number or int(number) >= len(strategy.steps):
            raise InvalidInput(
                f"got the node {node_id!r:.100}; allowed are {strategy.id} and its"
                f" {len(strategy.steps)} steps, from {strategy.id}.0 on"
            )
        return _Node(strategy, int(number))
