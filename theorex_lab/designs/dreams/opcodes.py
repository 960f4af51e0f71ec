"""Name the opcodes of the instruction set, and its versions.

A version is a set of opcodes. A program is read by one version, so that an opcode that
another version brings is no instruction of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum
from typing import Self

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.dreams import ISA_VERSION

LATEST = "latest"  # the name of the highest version
_VERSION = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}){0,3}")


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


class ISAVersionRegistry:
    """Hold the versions of the instruction set, each with the names of its opcodes.

    >>> registry = ISAVersionRegistry()
    >>> registry.current(), registry.all_versions(), registry.supports("1.0")
    ('1.0', ['1.0'], True)
    >>> len(registry.get("1.0"))
    17
    """

    def __init__(self) -> None:
        self._opcodes = {ISA_VERSION: frozenset(Opcode.__members__)}

    def register(self, version: str, opcodes: Iterable[str]) -> None:
        """Make a version known.

        Args:
            version: Numbers with dots, such as 2.0.
            opcodes: The names of its opcodes.

        Raises:
            InvalidInput: It is no such version, it has other opcodes already, or an
                opcode does not exist.
        """
        names = frozenset(opcodes)
        if not _VERSION.fullmatch(version):
            raise InvalidInput(
                f"got the version {version!r:.100}; allowed are numbers with dots, such"
                " as 2.0"
            )
        unknown = sorted(names - set(Opcode.__members__))
        if unknown:
            raise InvalidInput(
                f"got the opcode {unknown[0]!r:.100}; allowed are"
                f" {', '.join(Opcode.__members__)}"
            )
        if self._opcodes.get(version, names) != names:
            raise InvalidInput(
                f"got the version {version} with other opcodes; allowed is a version"
                " that is not registered yet: take the next number"
            )
        self._opcodes[version] = names

    def get(self, version: str) -> frozenset[str]:
        """Return the names of the opcodes of a version, or of `latest`.

        Raises:
            InvalidInput: The version is unknown; it names those that are known.
        """
        return self._opcodes[self.resolve(version)]

    def resolve(self, version: str) -> str:
        """Return a version, the highest one for `latest`.

        Raises:
            InvalidInput: The version is unknown; it names those that are known.
        """
        if version == LATEST:
            return self.current()
        if not self.supports(version):
            raise InvalidInput(
                f"got the version {version!r:.100}; allowed are {LATEST},"
                f" {', '.join(self.all_versions())}"
            )
        return version

    def current(self) -> str:
        """Return the highest version, which new programs and traces have."""
        return self.all_versions()[-1]

    def all_versions(self) -> list[str]:
        """Return all versions, the highest last."""
        return sorted(self._opcodes, key=version_numbers)

    def supports(self, version: str) -> bool:
        """Return whether a version is known."""
        return version in self._opcodes


def version_numbers(version: str) -> list[int]:
    """Return the numbers of a version, by which versions are ordered.

    >>> version_numbers("0.10") > version_numbers("0.9")
    True
    """
    return [int(number) for number in re.findall(r"[0-9]+", version)]


_REGISTRY = ISAVersionRegistry()


def get_registry() -> ISAVersionRegistry:
    """Return the versions of this process."""
    return _REGISTRY
