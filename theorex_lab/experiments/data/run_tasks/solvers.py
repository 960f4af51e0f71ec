"""Who solves the tasks: a model in two configurations, and the rules."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Protocol

from theorex_lab.dispatch.llm import ChatMessage, ModelClient
from theorex_lab.errors import ModelUnavailable
from theorex_lab.experiments.data.run_tasks.rules import answer_by_rules

MAX_TOKENS = 64
_TERSE = "Answer as briefly as possible."
_VERBOSE = (
    "You are a careful assistant. Read the task twice, follow what it says about the form of the answer, and then give"
    " the answer and nothing else: no introduction, no explanation, no repetition of the task."
)
_EXAMPLES = (
    ("Which animal barks? Answer with one word.", "Dog"),
    ("The lamp is on the shelf.\n\nQuestion: Where is the lamp? Answer in a few words.", "On the shelf"),
    ("What is 2 + 2? Answer with the number only.", "4"),
)


@dataclass(frozen=True, slots=True)
class SolverReply:
    """An answer: latency in ms, None where none came; tokens of prompt and answer, None where nobody counted them."""

    text: str
    latency_ms: float | None
    tokens: int | None = None
    error: str | None = None


class Solver(Protocol):
    """Answers prompts."""

    @property
    def name(self) -> str:
        """What its runs are recorded under."""
        ...

    @property
    def configuration(self) -> dict[str, Any]:
        """All that its answers depend on, as JSON; `model` is None where no model is asked."""
        ...

    def solve(self, prompt: str, seed: int) -> SolverReply:
        """Answer one prompt; never raises for a model that did not answer."""
        ...


@dataclass(frozen=True, slots=True)
class RuleSolver:
    """The rules; the seed is of no use to them.

    >>> RuleSolver().solve("What is 12 + 30?", 0).text
    '42'
    """

    name: str = "rules"

    @property
    def configuration(self) -> dict[str, Any]:
        """No model."""
        return {"model": None}

    def solve(self, prompt: str, seed: int) -> SolverReply:  # noqa: ARG002
        """The first rule's answer."""
        started = time.perf_counter()
        text = answer_by_rules(prompt)
        return SolverReply(text, (time.perf_counter() - started) * 1000)


@dataclass(frozen=True, slots=True)
class ModelSolver:
    """A model behind an endpoint with instructions, worked examples and a temperature."""

    name: str
    client: ModelClient
    instructions: str
    temperature: float
    examples: tuple[tuple[str, str], ...] = ()

    @property
    def configuration(self) -> dict[str, Any]:
        """Model, temperature, limit and every text that goes before the task."""
        return {
            "model": self.client.model,
            "temperature": self.temperature,
            "max_tokens": MAX_TOKENS,
            "instructions": self.instructions,
            "examples": [list(example) for example in self.examples],
        }

    def solve(self, prompt: str, seed: int) -> SolverReply:
        """One completion; an error is told in the reply."""
        messages: list[ChatMessage] = [{"role": "system", "content": self.instructions}]
        for asked, answered in self.examples:
            messages += [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]
        messages.append({"role": "user", "content": prompt})
        try:
            done = self.client.complete(messages, max_tokens=MAX_TOKENS, temperature=self.temperature, seed=seed)
        except ModelUnavailable as error:
            return SolverReply("", None, error=str(error))
        return SolverReply(done.text, done.latency_ms, done.tokens)


def local_solvers(client: ModelClient) -> list[Solver]:
    """The model greedy with terse instructions, sampled with many words and three examples, and the rules."""
    return [
        ModelSolver(f"{client.model} greedy", client, _TERSE, 0.0),
        ModelSolver(f"{client.model} sampled", client, _VERBOSE, 0.7, _EXAMPLES),
        RuleSolver(),
    ]
