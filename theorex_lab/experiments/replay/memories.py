"""Which memories can be compared: baselines, designs, and one's own, by name."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theorex_lab.design import Design, MemoryDesign
from theorex_lab.designs import installed
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.replay.baselines import BASELINES, make
from theorex_lab.experiments.replay.drive import Driven
from theorex_lab.journal.event import Event

Memory = str | Design | Callable[[], MemoryDesign]


class Housed(Driven):
    """Designs in a home of their own below a temporary folder, which is gone when they are closed."""

    def __init__(self, designs: Sequence[Design]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="theorex-compare-", ignore_cleanup_errors=True)
        super().__init__(designs, Path(self._folder.name) / "home")

    def size(self) -> int:
        """Bytes of the home."""
        return sum(file.stat().st_size for file in self.lab.folder.rglob("*") if file.is_file())

    def close(self) -> None:
        """Close the home and remove it."""
        self.lab.close()
        self._folder.cleanup()


@dataclass(frozen=True)
class Maker:
    """Makes a fresh memory; can be sent to another process as long as what it makes it of can."""

    memory: Memory
    other: tuple[Event, ...] = ()  # the events of another log, for `shuffled`

    def __call__(self) -> MemoryDesign:
        """A memory that has seen nothing. Raises InvalidInput for an unknown name."""
        if isinstance(self.memory, Design):
            return Housed([self.memory])
        if callable(self.memory):
            return self.memory()
        if self.memory in BASELINES:
            return make(self.memory, self.other)
        found = next((design for design in installed() if design.name == self.memory), None)
        if found is not None:
            return Housed([found])
        return Maker(_imported(self.memory))()


def names_of(memories: Sequence[Memory] | Mapping[str, Memory]) -> dict[str, Memory]:
    """Each memory under its name. Raises InvalidInput for unknown names, and for two of one name."""
    given = memories.items() if isinstance(memories, Mapping) else ((_name_of(memory), memory) for memory in memories)
    named: dict[str, Memory] = {}
    for name, memory in given:
        if name in named:
            raise InvalidInput(f"got {name} twice; allowed is each memory once")
        if isinstance(memory, str):
            check_name(memory)
        named[name] = memory
    return named


def _name_of(memory: Memory) -> str:
    return memory if isinstance(memory, str) else str(getattr(memory, "name", getattr(memory, "__name__", memory)))


def check_name(name: str) -> None:
    """Raise InvalidInput where no baseline, no design and no class `module:Name` is called so."""
    designs = [design.name for design in installed()]
    if name in BASELINES or name in designs:
        return
    if ":" not in name:
        allowed = ", ".join([*designs, *BASELINES])
        raise InvalidInput(f"got the memory {name!r}; allowed are {allowed}, or a class of yours as module:Name")
    _imported(name)


def _imported(name: str) -> Any:
    module, _, member = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), member)
    except (ImportError, AttributeError) as error:
        raise InvalidInput(
            f"got the memory {name!r}; {error}; give module:Name of something that can be imported"
        ) from error
    if isinstance(found, Design) or callable(found):
        return found
    raise InvalidInput(f"got the memory {name!r}; allowed is a class of the four methods, or a Design")
