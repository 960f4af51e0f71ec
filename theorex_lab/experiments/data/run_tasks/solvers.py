"""Who solves the tasks: a model in two configurations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from theorex_lab.dispatch.llm import ChatMessage, ModelClient
from theorex_lab.errors import ModelUnavailable

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


@dataclass(frozen=True, slots=True)
class ModelSolver:
    """A model behind an endpoint with instructions, worked examples and a temperature; runs are recorded under `name`."""

    name: str
    client: ModelClient
    instructions: str
    temperature: float
    examples: tuple[tuple[str, str], ...] = ()

    @property
    def configuration(self) -> dict[str, Any]:
        """All that its answers depend on, as JSON: model, temperature, limit and every text that goes before the task."""
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


def local_solvers(client: ModelClient) -> list[ModelSolver]:
    """The model greedy with terse instructions and sampled with many words and three examples."""
    return [
        ModelSolver(f"{client.model} greedy", client, _TERSE, 0.0),
        ModelSolver(f"{client.model} sampled", client, _VERBOSE, 0.7, _EXAMPLES),
    ]
