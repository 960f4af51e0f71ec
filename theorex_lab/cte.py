"""Evolving Memory's own names for what dreams do, so that its quick start runs here as it is written.

A `db_path` names a home of this toolkit beside it, of the same name without its ending; the original's SQLite file itself is
taken in and given out by `theorex dream import` and `export`.
"""

from enum import StrEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from theorex_lab.config import load_settings
from theorex_lab.designs.dreams import ISA_VERSION, Level
from theorex_lab.designs.dreams import Ended as TraceOutcome
from theorex_lab.designs.dreams.engine import MigrationTransform
from theorex_lab.designs.dreams.isa import VERSIONS, Program, Run, parse, run
from theorex_lab.designs.dreams.strategies import Strategy, TraversalState
from theorex_lab.errors import InvalidInput
from theorex_lab.home import CONFIG_FILE
from theorex_lab.lab import Lab
from theorex_lab.text.sections import read_sections

__all__ = [
    "ISA_VERSION", "BaseLLMProvider", "CTEConfig", "CognitiveTrajectoryEngine", "CognitiveVM", "DreamConfig", "HierarchyLevel", "ISAConfig",
    "InstructionParser", "MigrationTransform", "RouterConfig", "RouterPath", "TraceOutcome", "get_registry"]  # fmt: skip
HierarchyLevel = Level
# What a query leads to.
RouterPath = StrEnum("RouterPath", "ZERO_SHOT MEMORY_TRAVERSAL CONTEXT_JUMP")
_SETTINGS = dict(line.split(" = ") for line in read_sections(__file__, "cte.txt")["settings"].split("\n"))
DreamConfig = RouterConfig = ISAConfig = dict  # of the names above


class CTEConfig:
    """Settings under their names in Evolving Memory; the embedder is the home's, whatever is named here.

    >>> CTEConfig(dream=DreamConfig(merge_similarity_threshold=0.9)).settings
    {'mergeSimilarity': 0.9}
    """

    def __init__(self, db_path: str = "memory.db", **given: Any) -> None:
        """Raises InvalidInput for a name that is none of them."""
        named = {name: value for part in ("dream", "router", "isa") for name, value in given.get(part, {}).items()}
        named.pop("enable_fallback", None)  # programs are always read leniently
        if unknown := named.keys() - _SETTINGS.keys():
            raise InvalidInput(f"got the setting {min(unknown)!r}; allowed are {', '.join(_SETTINGS)}")
        self.db_path, self.settings = db_path, {_SETTINGS[name]: value for name, value in named.items()}


class BaseLLMProvider:
    """What a model of your own may be derived from; it needs `async complete(prompt, system="")`."""


class CognitiveTrajectoryEngine:
    """Trajectories, dreams and recall under the names of Evolving Memory.

    `session`, `register_migration` and `query` are those of `lab.dreams`.  llm, dreaming_llm: objects with `async complete(prompt, system="")`; the second, where it is given, does the dreaming;
    without any, rules do.
    """

    def __init__(self, llm: Any = None, db_path: str = "", *, dreaming_llm: Any = None, config: Any = None) -> None:
        chosen: CTEConfig = config or CTEConfig()
        home = Path(db_path or chosen.db_path).with_suffix("")
        settings = load_settings(home / CONFIG_FILE)
        designs = {**settings.designs, "dreams": {**settings.designs.get("dreams", {}), **chosen.settings}}
        self.lab = Lab(home, settings=settings.model_copy(update={"designs": designs}))
        self.llm = dreaming_llm or llm
        self.session, self.register_migration = self.lab.dreams.session, self.lab.dreams.register_migration
        self.query, self.close = self.lab.dreams.query, self.lab.close

    async def dream(self, domain: str | None = None) -> Any:
        """One cycle; its report has nodes_created, constraints_extracted and the rest."""
        from theorex_lab.designs.dreams.dreamers import ModelDreamer

        dreamer = None if self.llm is None else ModelDreamer.of_provider(self.llm)
        return await self.lab.dreams.adream(dreamer, domain=domain)

    def begin_traversal(self, entry_point: Strategy) -> Any:
        """Begin to follow a strategy; returns a `TraversalState`."""
        return self.lab.dreams.begin_traversal(entry_point.id)

    def next_step(self, state: TraversalState, context: str = "") -> tuple[SimpleNamespace | None, TraversalState]:
        """The next step, None at the end or where the context fits no more; the state goes on with it."""
        found = self.lab.dreams.next_step(state, context)
        return found.step and SimpleNamespace(step_index=found.number, **found.step._asdict()), state


class InstructionParser:
    """Reads programs."""

    def parse(self, text: str, isa_version: str = "latest") -> Program:
        """The program of a text."""
        return parse(text, isa_version)


class CognitiveVM:
    """Runs programs, and changes nothing."""

    def __init__(self, max_instructions: int = 500) -> None:
        self.max_instructions = max_instructions

    def execute(self, program: Program) -> Run:
        """What a program asks for."""
        return run(program, max_instructions=self.max_instructions)


def get_registry() -> Any:
    """The versions of the instruction set that are known."""
    return VERSIONS
