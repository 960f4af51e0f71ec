"""Evolving Memory's own names for what dreams do, so that its quick start runs here as it is written.

A `db_path` names a home of this toolkit beside it, of the same name without its ending; the original's SQLite file itself is
taken in and given out by `theorex dream import` and `export`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from theorex_lab.config import load_settings
from theorex_lab.designs.dreams import ISA_VERSION, Level
from theorex_lab.designs.dreams import Ended as TraceOutcome
from theorex_lab.designs.dreams.isa import REGISTRY, Program, parse
from theorex_lab.designs.dreams.recall import Recalled, TraversalState
from theorex_lab.designs.dreams.strategies import Strategy
from theorex_lab.designs.dreams.upkeep import MigrationTransform
from theorex_lab.designs.dreams.vm import run
from theorex_lab.home import CONFIG_FILE
from theorex_lab.lab import Lab

__all__ = [
    "ISA_VERSION", "CTEConfig", "CognitiveTrajectoryEngine", "CognitiveVM", "DreamConfig", "HierarchyLevel", "ISAConfig",
    "InstructionParser", "MigrationTransform", "RouterConfig", "RouterPath", "TraceOutcome", "get_registry",
]  # fmt: skip
HierarchyLevel = Level


class RouterPath(StrEnum):
    """What a query leads to."""

    ZERO_SHOT = "zero_shot"
    MEMORY_TRAVERSAL = "memory_traversal"
    CONTEXT_JUMP = "context_jump"
