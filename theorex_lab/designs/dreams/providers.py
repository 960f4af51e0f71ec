"""Let any model dream, by a class of the user's.

What it answers is untrusted: it is cut, parsed strictly, and applied in one transaction
or not at all.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from theorex_lab.core.errors import ModelUnavailable, UnusableAnswer
from theorex_lab.dispatch.llm import Completion
from theorex_lab.text.line import one_line

_MOST_CHARACTERS = 200_000
_PROBLEM_CHARACTERS = 300


@dataclass(frozen=True)
class LLMJsonResponse:
    """Hold JSON that a model answered.

    Attributes:
        data: The parsed value.
        raw: The text.
    """

    data: Any
    raw: str = ""


@dataclass(frozen=True)
class LLMProgramResponse:
    """Hold a program that a model answered, as text."""

    text: str


class BaseLLMProvider(ABC):
    """Ask a model: derive from it, and give it to `lab.dreams.dream(provider)`.

    Only `complete` has to be written. The other two ask by it.

    Attributes:
        name: The name that the dreams are noted under.

    >>> class Parrot(BaseLLMProvider):
    ...     async def complete(self, prompt, system=""):
    ...         return "HALT"
    >>> asyncio.run(Parrot().emit_program("what now?")).text
    'HALT'
    """

    name: str = "provider"

    @abstractmethod
    async def complete(self, prompt: str, system: str = "") -> str:
        """Return the answer to a prompt, as text.

        Args:
            prompt: What is asked.
            system: What the model is told before it.
        """

    async def complete_json(self, prompt: str, system: str = "") -> LLMJsonResponse:
        """Return the answer as JSON; a fence around it is passed over.

        Args:
            prompt: What is asked.
            system: What the model is told before it.

        Raises:
            UnusableAnswer: It is no JSON.
        """
        text = (await self.complete(prompt, system))[:_MOST_CHARACTERS]
        return LLMJsonResponse(_json_in(text), text)

    async def emit_program(self, prompt: str, system: str = "") -> LLMProgramResponse:
        """Return the answer as a program of the instruction set.

        Args:
            prompt: What is asked.
            system: What the model is told before it.
        """
        return LLMProgramResponse(await self.complete(prompt, system))


class ScriptedProvider(BaseLLMProvider):
    """Answer with texts that are there already, for tests and demos.

    Args:
        answers: The answers in turn; the last one is given again and again.

    >>> asyncio.run(ScriptedProvider(["NOP", "HALT"]).complete("what now?"))
    'NOP'
    """

    name = "scripted"

    def __init__(self, answers: Iterable[str]) -> None:
        self.answers = list(answers)
        self.prompts: list[str] = []

    async def complete(self, prompt: str, system: str = "") -> str:
        """Return the next answer; '' where there is none.

        Args:
            prompt: What is asked; it is kept.
            system: What would be told before it.
        """
        self.prompts.append(f"{system}\n{prompt}".strip())
        if not self.answers:
            return ""
        if len(self.answers) == 1:
            return self.answers[0]
        return self.answers.pop(0)


def provider_program(provider: BaseLLMProvider) -> Callable[[str], Completion]:
    """Return what asks a provider for a program."""

    async def ask(prompt: str) -> str:
        response = await provider.emit_program(prompt)
        return response.text

    return _asking(provider, ask)


def provider_text(provider: BaseLLMProvider) -> Callable[[str], Completion]:
    """Return what asks a provider for a text."""

    async def ask(prompt: str) -> str:
        return await provider.complete(prompt)

    return _asking(provider, ask)


def _asking(
    provider: BaseLLMProvider, ask: Callable[[str], Coroutine[Any, Any, str]]
) -> Callable[[str], Completion]:
    def complete(prompt: str) -> Completion:
        text = _answer(ask(prompt), provider.name)
        return Completion(text, provider.name, None, None, 0.0)

    return complete


def _answer(asked: Coroutine[Any, Any, str], name: str) -> str:
    """Return what a provider answers.

    Raises:
        ModelUnavailable: It raised something, so that what was asked about waits.
        UnusableAnswer: It answered no text.
    """
    # In a thread of its own, since a loop may run already in this one.
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(asyncio.run, asked)
    error = running.exception()
    if isinstance(error, ModelUnavailable):
        raise error
    if isinstance(error, Exception):
        problem = one_line(f"{type(error).__name__}: {error}", _PROBLEM_CHARACTERS)
        raise ModelUnavailable(f"{name} did not answer: {problem}") from error
    if error is not None:
        raise error
    text = running.result()
    if not isinstance(text, str):
        raise UnusableAnswer(f"{name} answered {text!r:.100}; allowed is a text")
    return text[:_MOST_CHARACTERS]


def _json_in(text: str) -> Any:
    """Return the JSON in an answer.

    Raises:
        UnusableAnswer: There is none.
    """
    stripped = text.strip()
    if stripped.startswith("```"):
        stripped = stripped.strip("`").removeprefix("json")
    for start in "{[":
        first = stripped.find(start)
        if first < 0:
            continue
        try:
            value, _ = json.JSONDecoder().raw_decode(stripped, first)
        except (ValueError, RecursionError):
            continue
        return value
    raise UnusableAnswer(f"got {text!r:.100}; allowed is an answer in JSON")
