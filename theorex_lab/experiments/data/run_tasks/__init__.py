"""Tasks with checkable answers that the project wrote itself, at least twenty for each query type."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from theorex_lab.experiments.data.run_tasks import checks
from theorex_lab.experiments.data.run_tasks.task import BenchmarkTask


@cache
def all_tasks() -> tuple[BenchmarkTask, ...]:
    """Every task of `tasks.json`, the query types in turn, so that the first few are of every type.

    >>> [task.id for task in all_tasks()[:3]]
    ['code-01', 'math-01', 'retrieval-01']
    """
    by_type = json.loads((Path(__file__).parent / "tasks.json").read_text(encoding="utf-8"))
    tasks = (
        BenchmarkTask(f"{query_type}-{number:02}", query_type, **{**row, "check": _check(row["check"])})
        for query_type, rows in by_type.items()
        for number, row in enumerate(rows, start=1)
    )
    return tuple(sorted(tasks, key=lambda task: task.id[-2:]))


def _check(row: dict[str, Any]) -> checks.Check:
    """The check of the class that its kind names, with the lists of JSON as tuples where the class has tuples."""
    check: checks.Check = TypeAdapter(getattr(checks, row.pop("kind"))).validate_python(row)
    return check
