"""A demo: a run without memory, a dream in between, a run with what memory then gives."""

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

from theorex_lab.config import Settings
from theorex_lab.designs.dreams.items import dream_settings
from theorex_lab.designs.dreams.sections import capture_run, memory_section
from theorex_lab.dispatch.llm import client_for
from theorex_lab.errors import InvalidInput, ModelUnavailable
from theorex_lab.experiments.demos import agents
from theorex_lab.experiments.demos.tools import DATA, TOOLS, Tool, issue_refund
from theorex_lab.lab import Lab
from theorex_lab.memory.rows import Rows
from theorex_lab.search.embed import Embedder

DEMOS = {"sql": agents.sales_analyst, "stripe": agents.reconciler, "isa": agents.refund_clerk}


@dataclass(frozen=True)
class DemoReport(Rows[dict[str, Any]]):
    """What a demo showed: a row a measure, without and with memory, beside the document's.

    runs: the figures {without, with}.  document: those published.  memory: what the second run had before its task.
    """

    name: str
    runs: dict[str, dict[str, Any]]
    document: dict[str, Any]
    memory: str
    notes: tuple[str, ...]

    def _records(self) -> Sequence[dict[str, Any]]:
        return [_row(measure, self.runs, self.document) for measure in DATA["measures"]]

    def result(self) -> dict[str, Any]:
        """demo, without, with, change, document, memory, notes; for JSON."""
        change = {row["measure"]: row["change"] for row in self if row["change"] is not None}
        told = {"change": change, "document": self.document, "memory": self.memory, "notes": self.notes}
        return {"demo": self.name, **self.runs, **told}

    def __str__(self) -> str:
        table = self.frame.to_string(index=False, na_rep="–")
        return "\n".join([table, "", *self.notes, "", "What memory gave:", self.memory or "(nothing)"])


def _row(measure: str, *figures: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A measure without, with, and how it changed, of these figures; then of the document's."""
    row: dict[str, Any] = {"measure": measure}
    for prefix, runs in zip(("", "document_"), figures, strict=True):
        without, with_memory = (runs.get(name, {}).get(measure) for name in ("without", "with"))
        change = round(with_memory / without - 1, 3) if without and measure != "success" else None
        row |= {f"{prefix}without": without, f"{prefix}with": with_memory, f"{prefix}change": change}
    return row


def run_demo(
    name: str, *, model: str = "", settings: Settings | None = None, embedder: Embedder | None = None,
    given: Callable[[str], str] = str) -> DemoReport:  # fmt: skip
    """Run a demo, sql, stripe or isa, in a home of its own, which is gone afterwards.

    model: of the settings, which decides the agent's steps; '' for their wakingModel, or without one a script.  given: what
    becomes of the memory's section before the agent reads it. Raises InvalidInput for another demo, ConfigError and ModelUnavailable for a model that is
    unknown or does not answer.
    """
    if name not in DEMOS:
        raise InvalidInput(f"got the demo {name!r}; allowed are {', '.join(DEMOS)}")
    about = DATA[name]
    later = about.get("later", about["goal"])
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="theorex-"))
        lab = stack.enter_context(Lab(folder, settings=settings, embedder=embedder))
        decide = agents.scripted(DEMOS[name])
        if model := model or dream_settings(lab.home).waking_model:
            decide = agents.model_agent(stack.enter_context(client_for(model, lab.settings)), about["tools"])
        first = _play(lab, name, decide, about["goal"], "", rules=1)
        notes = [*about["notes"], *about["script"] * (not model), DATA["notes"]["tokens"]]
        notes.append(DATA["notes"]["dreamer"].format(lab.dreams.dream().dreamer))
        if name == "isa":
            first = _play(lab, name, decide, later, given(memory_section(lab.home, later)), rules=2)
            lab.dreams.register_migration(AddRisk())
            told = [*lab.dreams.dream().phase_log, *lab.dreams.dream().phase_log]
            notes += [line for line in told if "stays" in line or "migration" in line]
        memory = given(memory_section(lab.home, later))
        second = _play(lab, name, decide, later, memory, rules=2)
    return DemoReport(name, {"without": first, "with": second}, about["document"], memory, tuple(notes))


def _play(lab: Lab, name: str, decide: agents.Decide, goal: str, memory: str, *, rules: int) -> dict[str, Any]:
    """Let the agent work, check its answer, and capture what it did as what it was."""
    tools: dict[str, Tool] = {**TOOLS, "issue_refund": partial(issue_refund, with_risk=rules > 1)}
    run = agents.run_agent(decide, goal, {tool: tools[tool] for tool in DATA[name]["tools"]}, memory)
    told = {float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*(?:\.\d+)?", run.answer or "")}
    refunded = any(turn["tool"] == "issue_refund" and not turn["error"] for turn in run.turns)
    success = refunded if name == "isa" else told.issuperset(DATA[name]["expected"])
    capture_run(lab.home, goal, run.turns, answer=run.answer, outcome="success" if success else "failure")
    return {**run.figures, "success": success}


class AddRisk:
    """Carries strategies from version 1.0 to 2.0 with a level of risk; at its first try it fails."""

    from_version, to_version, tries = "1.0", "2.0", 0

    async def transform(self, node: Any, children: list[Any], llm: Any) -> tuple[Any, list[Any]]:  # noqa: ARG002
        """Note the level in the strategy's content: high where money moves."""
        self.tries += 1
        if self.tries == 1:
            raise ModelUnavailable("the model that assesses risks is silent", "silent")
        moves_money = any("refund" in child.action for child in children)
        node.content = f"{node.content}\n[risk_level: {'high' if moves_money else 'low'}]".strip()
        return node, children
