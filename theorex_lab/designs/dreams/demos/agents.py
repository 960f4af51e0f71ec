"""Let an agent work for a goal: a loop of one call at a time, which a model decides."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from theorex_lab.core.errors import UnusableAnswer
from theorex_lab.designs.dreams.agent_adapter import RunMetrics
from theorex_lab.designs.dreams.demos.tools import DATA, Tool
from theorex_lab.dispatch.llm import ChatMessage, ModelClient
from theorex_lab.text.line import count_tokens

Call = dict[str, str]  # {thought, tool, input}
# Decides on the next call, and says what tokens that took, where it is known.
Decide = Callable[[list[ChatMessage]], tuple[Call, int | None]]
MOST_STEPS = 11  # as many as the document's agent took
ANSWER = "answer"
TASK_MARK = "Task: "
SEEN_MARK = "Observation: "


class AgentRun(NamedTuple):
    """Hold what an agent did.

    Attributes:
        turns: Calls of {thought, tool, input, output, error}.
        answer: What it ended with, None where it gave none.
        metrics: What that took.
    """

    turns: list[dict[str, Any]]
    answer: str | None
    metrics: RunMetrics


def run_agent(
    decide: Decide, goal: str, tools: Mapping[str, Tool], memory: str = ""
) -> AgentRun:
    """Let an agent work for a goal until it answers, eleven steps at most.

    Args:
        decide: Decides on its calls.
        goal: The goal.
        tools: Its tools.
        memory: What stands before the task.

    Raises:
        ModelUnavailable: The model does not answer.
    """
    loop = _Loop(decide, tools, _first_messages(goal, tools, memory))
    while loop.answer is None and loop.n_steps < MOST_STEPS:
        loop.step()
    n_errors = 0
    for turn in loop.turns:
        n_errors += turn["error"]
    metrics = RunMetrics(
        steps=loop.n_steps,
        tool_calls=len(loop.turns),
        tool_errors=n_errors,
        tokens=loop.n_tokens,
    )
    return AgentRun(loop.turns, loop.answer, metrics)


class _Loop:
    """Take step after step, and hold what was done."""

    def __init__(
        self,
        decide: Decide,
        tools: Mapping[str, Tool],
        messages: list[ChatMessage],
    ) -> None:
        self.decide = decide
        self.tools = tools
        self.messages = messages
        self.turns: list[dict[str, Any]] = []
        self.n_tokens = 0
        self.n_steps = 0
        self.answer: str | None = None

    def step(self) -> None:
        """Let the agent decide, and do what it decided."""
        self.n_steps += 1
        try:
            call, tokens = self.decide(self.messages)
        except UnusableAnswer:  # a step, and no call
            call = {}
            tokens = None
        text = json.dumps(call)
        if tokens is None:
            tokens = _tokens_of(self.messages, text)
        self.n_tokens += tokens
        if call.get("tool") == ANSWER:
            self.answer = call["input"]
            return
        observation = self._do(call)
        self.messages += [
            {"role": "assistant", "content": text},
            {"role": "user", "content": SEEN_MARK + observation},
        ]

    def _do(self, call: Call) -> str:
        """Call the tool; return what the agent sees of it."""
        tool = self.tools.get(call.get("tool", ""))
        if tool is None:
            return str(DATA["refused"])
        result = tool(call["input"])
        turn = {
            **call,
            "output": result.text,
            "error": not result.ok,
        }
        self.turns.append(turn)
        return result.text


def _first_messages(goal: str, tools: Iterable[str], memory: str) -> list[ChatMessage]:
    lines = [f"- {name}: {DATA['tools'][name]}" for name in tools]
    system = "\n".join([DATA["agent"], "Tools:", *lines])
    task = f"{memory}\n\n{TASK_MARK}{goal}".strip()
    return [
        {"role": "system", "content": system},
        {"role": "user", "content": task},
    ]


def _tokens_of(messages: Iterable[ChatMessage], answer: str) -> int:
    """Return the tokens of a prompt and its answer, estimated."""
    n_prompt = sum(count_tokens(message["content"]) for message in messages)
    return n_prompt + count_tokens(answer)


def model_agent(client: ModelClient, tools: Iterable[str]) -> Decide:
    """Return an agent whose steps a model decides.

    It answers in JSON of {thought, tool, input} and nothing else.

    Args:
        client: The model.
        tools: The names of its tools.
    """
    names = ("thought", "tool", "input")
    members: dict[str, Any] = {name: {"type": "string"} for name in names}
    members["tool"]["enum"] = [*tools, ANSWER]
    schema = {
        "type": "object",
        "properties": members,
        "required": list(names),
        "additionalProperties": False,
    }

    def decide(messages: list[ChatMessage]) -> tuple[Call, int | None]:
        completion = client.complete(
            messages, json_schema=schema, temperature=0.0, max_tokens=512
        )
        return completion.data, completion.tokens

    return decide
