"""Run a demo: without memory, a dream in between, then with what memory gives."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from theorex_lab.core.errors import InvalidInput, ModelUnavailable
from theorex_lab.designs.dreams.agent_adapter import (
    EvolvingMemoryAdapter,
    RunMetrics,
    metrics_comparison,
)
from theorex_lab.designs.dreams.demos import agents, scripts
from theorex_lab.designs.dreams.demos.tools import DATA, TOOLS, Tool, issue_refund
from theorex_lab.designs.dreams.engine import dream
from theorex_lab.designs.dreams.migration import MigrationTransform
from theorex_lab.designs.dreams.temporary import temporary_home

if TYPE_CHECKING:
    from theorex_lab.core.settings import Settings
    from theorex_lab.search.embed import Embedder

DEMOS: dict[str, scripts.Script] = {
    "sql": scripts.sales_analyst,
    "stripe": scripts.reconciler,
    "isa": scripts.refund_clerk,
}
# The names of the document's files.
PRINTED_NAMES = {
    "beeai_benchmark": "sql",
    "beeai_distillation": "stripe",
    "isa_lifecycle": "isa",
}
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


@dataclass(frozen=True)
class DemoReport:
    """Hold what a demo showed.

    Attributes:
        name: The demo.
        without: What the run without memory took.
        with_memory: What the run with it took.
        document: The figures that the document publishes.
        memory: What the second run had before its task.
        notes: What a reader should know.
    """

    name: str
    without: RunMetrics
    with_memory: RunMetrics
    document: dict[str, Any]
    memory: str
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON holds it."""
        return {
            "demo": self.name,
            "without": self.without.to_dict(),
            "with_memory": self.with_memory.to_dict(),
            "document": self.document,
            "memory": self.memory,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        lines = [metrics_comparison(self.without, self.with_memory), ""]
        published = {
            words: RunMetrics(**self.document[name])
            for name, words in (("without", "before"), ("with", "after"))
            if name in self.document
        }
        if published:
            lines += [
                "The document's figures:",
                metrics_comparison(published["before"], published["after"]),
                "",
            ]
        lines += [*self.notes, "", "What memory gave:", self.memory or "(nothing)"]
        return "\n".join(lines)


class AddRiskLevel(MigrationTransform):
    """Carry strategies from version 1.0 to 2.0 with a level of risk.

    At its first try it fails, as a model may.
    """

    from_version = "1.0"
    to_version = "2.0"

    def __init__(self) -> None:
        self.n_tries = 0

    async def transform(
        self,
        node: Any,
        children: list[Any],
        llm: Any,  # noqa: ARG002 - a rule assesses
    ) -> tuple[Any, list[Any]]:
        """Note the level in the strategy's content: high where money moves."""
        self.n_tries += 1
        if self.n_tries == 1:
            raise ModelUnavailable("the model that assesses risks is silent", "silent")
        moves_money = any("refund" in child.action for child in children)
        level = "high" if moves_money else "low"
        node.content = f"{node.content}\n[risk_level: {level}]".strip()
        return node, children


def run_demo(
    name: str,
    *,
    model: str = "",
    settings: Settings | None = None,
    embedder: Embedder | None = None,
    change_memory: Callable[[str], str] = str,
) -> DemoReport:
    """Run a demo in a home of its own, which is gone afterwards.

    Args:
        name: sql, stripe or isa, or the document's file of it.
        model: A model of the settings that plays the agent; '' for a script.
        settings: The settings.
        embedder: The embedder.
        change_memory: What becomes of the memory's section before the agent reads it.

    Raises:
        InvalidInput: It is another demo.
        ConfigError: The model is unknown.
        ModelUnavailable: The model does not answer.
    """
    name = PRINTED_NAMES.get(name.removesuffix(".py"), name)
    if name not in DEMOS:
        raise InvalidInput(f"got the demo {name!r:.60}; allowed are {', '.join(DEMOS)}")
    about = DATA[name]
    with ExitStack() as stack:
        home = stack.enter_context(temporary_home(settings, embedder))
        decide = scripts.scripted(DEMOS[name])
        if model:
            from theorex_lab.dispatch.llm import client_for

            client = stack.enter_context(client_for(model, home.settings))
            decide = agents.model_agent(client, about["tools"])
        demo = _Demo(name, EvolvingMemoryAdapter(home), decide, change_memory)
        if name == "isa":
            return demo.run_upgrade(scripted=not model)
        return demo.run_twice(scripted=not model)


@dataclass
class _Demo:
    """Run a demo in a home."""

    name: str
    adapter: EvolvingMemoryAdapter
    decide: agents.Decide
    change_memory: Callable[[str], str]

    def run_twice(self, *, scripted: bool) -> DemoReport:
        """Run the agent, dream, and run it again for the same goal."""
        goal = DATA[self.name]["goal"]
        without = self._play(goal, "", rules=1)
        report = dream(self.adapter.home)
        memory = self.change_memory(self.adapter.memory(goal))
        with_memory = self._play(goal, memory, rules=1)
        notes = self._notes(report.dreamer, scripted=scripted)
        return self._report(without, with_memory, memory, notes)

    def run_upgrade(self, *, scripted: bool) -> DemoReport:
        """Learn under the first rules, work under the second, migrate, work again."""
        about = DATA[self.name]
        later = about["later"]
        self._play(about["goal"], "", rules=1)
        report = dream(self.adapter.home)
        memory = self.change_memory(self.adapter.memory(later))
        without = self._play(later, memory, rules=2)
        notes = self._notes(report.dreamer, scripted=scripted)
        transforms = [AddRiskLevel()]
        for _ in range(2):  # the first one fails
            phases = dream(self.adapter.home, transforms=transforms).phase_log
            for line in phases:
                if "stays" in line or line.startswith("migration"):
                    notes.append(line)
        memory = self.change_memory(self.adapter.memory(later))
        with_memory = self._play(later, memory, rules=2)
        return self._report(without, with_memory, memory, notes)

    def _play(self, goal: str, memory: str, *, rules: int) -> RunMetrics:
        """Let the agent work, check its answer, and capture what it did."""
        refund = partial(issue_refund, with_risk=rules > 1)
        tools: dict[str, Tool] = {**TOOLS, "issue_refund": refund}
        usable = {tool: tools[tool] for tool in DATA[self.name]["tools"]}
        run = agents.run_agent(self.decide, goal, usable, memory)
        success = self._is_right(run)
        outcome = "success" if success else "failure"
        self.adapter.capture(goal, run.turns, answer=run.answer, outcome=outcome)
        return replace(run.metrics, success=success)

    def _is_right(self, run: agents.AgentRun) -> bool:
        """Return whether a run reached its goal."""
        if self.name == "isa":
            refunds = [turn for turn in run.turns if turn["tool"] == "issue_refund"]
            return any(not turn["error"] for turn in refunds)
        numbers = set()
        for text in _NUMBER.findall(run.answer or ""):
            numbers.add(float(text.replace(",", "")))
        return numbers.issuperset(DATA[self.name]["expected"])

    def _notes(self, dreamer: str, *, scripted: bool) -> list[str]:
        about = DATA[self.name]
        notes = [*about["notes"], DATA["notes"]["tokens"]]
        if scripted:
            notes += about["script_notes"]
        name = "rules" if dreamer == "heuristic" else dreamer
        notes.append(DATA["notes"]["dreamer"].format(name))
        return notes

    def _report(
        self,
        without: RunMetrics,
        with_memory: RunMetrics,
        memory: str,
        notes: list[str],
    ) -> DemoReport:
        return DemoReport(
            name=self.name,
            without=without,
            with_memory=with_memory,
            document=DATA[self.name]["document"],
            memory=memory,
            notes=tuple(notes),
        )
