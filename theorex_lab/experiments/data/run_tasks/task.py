"""What a task is: a prompt, the check of its answer, one answer that is right and one that is wrong."""

from __future__ import annotations

from dataclasses import dataclass

from theorex_lab.experiments.data.run_tasks.checks import Check


@dataclass(frozen=True, slots=True)
class BenchmarkTask:
    """One task.

    id: query type and number.  level: 1 (copy something, or one small step) to 4 (several steps, or rare knowledge).
    right, wrong: answers that the check accepts and refuses, kept beside it so that the check itself is tested.
    """

    id: str
    query_type: str
    level: int
    prompt: str
    check: Check
    right: str
    wrong: str
