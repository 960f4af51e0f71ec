"""Join any agent loop and this memory: a run becomes a trajectory, a strategy a prompt.

The loop is the user's, such as a ReAct loop of a framework. What the two runs of a
comparison took is told beside each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.dreams import DEFAULT_DOMAIN
from theorex_lab.designs.dreams.sections import capture_run, memory_section
from theorex_lab.memory.contract import Home

MEMORY_MARK = "[MEMORY CONTEXT]"
DOLLARS_PER_MILLION_TOKENS = 0.15
TASKS_A_MONTH = 100_000
# Member of a turn -> names under which frameworks have it.
_NAMES = {
    "thought": ("thought", "reasoning"),
    "tool": ("tool", "tool_name"),
    "input": ("input", "tool_input"),
    "output": ("output", "tool_output"),
    "error": ("error",),
}
_MEASURES = ("steps", "tool_calls", "tool_errors", "tokens", "latency_seconds")


@dataclass(frozen=True)
class RunMetrics:
    """Hold what a run of an agent took.

    Attributes:
        tokens: Those of all prompts and answers.
        latency_seconds: How long it took; None where nobody looked at a clock.
        success: Whether the answer was right.
    """

    steps: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    tokens: int = 0
    latency_seconds: float | None = None
    success: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the members that are known."""
        members = asdict(self)
        return {name: value for name, value in members.items() if value is not None}


class EvolvingMemoryAdapter:
    """Give an agent loop the memory of a home.

    Args:
        home: The home.
        agent: Whose runs they are.
        domain: What they belong to.
        origin: Where they are lived, a key of `FIDELITY`.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     adapter = EvolvingMemoryAdapter(lab.home)
    ...     turns = [
    ...         {"thought": "look", "tool_name": "ls", "tool_input": "src"},
    ...         {"thought": "read", "tool_name": "cat", "tool_input": "src/a.py"},
    ...     ]
    ...     _ = adapter.capture("read the sources", turns, answer="two files")
    ...     report = lab.dreams.dream()
    ...     prompt = adapter.enhance("read the sources")
    >>> report.nodes_created, prompt.startswith(MEMORY_MARK)
    (1, True)
    """

    def __init__(
        self,
        home: Home,
        *,
        agent: str = "main",
        domain: str = DEFAULT_DOMAIN,
        origin: str = "agent",
    ) -> None:
        self.home = home
        self.agent = agent
        self.domain = domain
        self.origin = origin

    def capture(
        self,
        goal: str,
        iterations: Iterable[object],
        *,
        answer: str | None,
        outcome: str = "",
    ) -> str:
        """Capture a run; return the trajectory's id.

        Args:
            goal: What it was for.
            iterations: What was done, as mappings or as a framework's objects with
                `thought`, `tool_name`, `tool_input` and `tool_output`, or with these
                in their `state`. Those without a tool are passed over.
            answer: What the run ended with, None where it ended without.
            outcome: As whoever checked the answer says; '' where nobody did.

        Raises:
            InvalidInput: As `designs.dreams.capture.capture`.
        """
        turns = [turn for turn in map(turn_of, iterations) if turn.get("tool")]
        return capture_run(
            self.home,
            goal,
            turns,
            answer=answer,
            outcome=outcome,
            domain=self.domain,
            origin=self.origin,
            agent=self.agent,
        )

    def memory(self, goal: str) -> str:
        """Return what a prompt gets for a goal; '' where no strategy answers.

        Args:
            goal: The goal.
        """
        return memory_section(self.home, goal, agent=self.agent)

    def enhance(self, prompt: str) -> str:
        """Return a prompt with the memory before it, or as it is.

        Args:
            prompt: The task.
        """
        section = self.memory(prompt)
        if not section:
            return prompt
        return f"{MEMORY_MARK}\n{section}\n\n{prompt}"


def turn_of(iteration: object) -> dict[str, Any]:
    """Return an iteration of a framework as a turn.

    Args:
        iteration: A mapping, or an object with these members, or with a `state`.

    Raises:
        InvalidInput: It is a plain value.

    >>> turn_of({"thought": "look", "tool_name": "ls", "tool_input": "src"})
    {'thought': 'look', 'tool': 'ls', 'input': 'src'}
    """
    if iteration is None or isinstance(iteration, str | bytes | int | float):
        raise InvalidInput(
            f"got {iteration!r:.100} for an iteration; allowed is a mapping or an object"
            " with thought, tool_name, tool_input and tool_output"
        )
    holder = getattr(iteration, "state", iteration)
    turn: dict[str, Any] = {}
    for member, names in _NAMES.items():
        for name in names:
            value = _member(holder, name)
            if value is not None:
                turn[member] = value
                break
    return turn


def _member(holder: object, name: str) -> Any:
    if isinstance(holder, Mapping):
        return holder.get(name)
    return getattr(holder, name, None)


def metrics_comparison(without: RunMetrics, with_memory: RunMetrics) -> str:
    """Return a table of what two runs took, with what their tokens cost.

    Args:
        without: The run without memory.
        with_memory: The run with it.

    >>> print(metrics_comparison(RunMetrics(6, 5, 2, 1228), RunMetrics(3, 2, 0, 691)))
    measure            without     with   change
    steps                    6        3     -50%
    tool calls               5        2     -60%
    tool errors              2        0    -100%
    tokens               1,228      691     -44%
    success                 no       no
    100,000 tasks a month at $0.15 a million tokens: $18.42 and $10.37, $8.05 less
    """
    lines = [f"{'measure':<15}{'without':>11}{'with':>9}{'change':>9}"]
    for measure in _MEASURES:
        before = getattr(without, measure)
        after = getattr(with_memory, measure)
        if before is None or after is None:
            continue
        change = f"{after / before - 1:+.0%}" if before else "–"
        name = measure.replace("_", " ")
        lines.append(f"{name:<15}{before:>11,}{after:>9,}{change:>9}")
    words = {True: "yes", False: "no"}
    success = f"{words[without.success]:>11}{words[with_memory.success]:>9}"
    lines.append(f"{'success':<15}{success}")
    lines.append(_projection(without.tokens, with_memory.tokens))
    return "\n".join(lines)


def _projection(before: int, after: int) -> str:
    """Return what the tokens of a month's tasks cost."""
    factor = TASKS_A_MONTH * DOLLARS_PER_MILLION_TOKENS / 1e6
    costs = (before * factor, after * factor)
    saved = costs[0] - costs[1]
    direction = "less" if saved >= 0 else "more"
    return (
        f"{TASKS_A_MONTH:,} tasks a month at ${DOLLARS_PER_MILLION_TOKENS} a million"
        f" tokens: ${costs[0]:,.2f} and ${costs[1]:,.2f},"
        f" ${abs(saved):,.2f} {direction}"
    )
