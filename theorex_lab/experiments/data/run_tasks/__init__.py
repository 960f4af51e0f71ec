"""Tasks with checkable answers that the project wrote itself, at least twenty for each query type."""

from theorex_lab.experiments.data.run_tasks import (
    code_tasks,
    creative_tasks,
    general_tasks,
    math_tasks,
    retrieval_tasks,
    safety_tasks,
    synthesis_tasks,
)
from theorex_lab.experiments.data.run_tasks.task import Task

_MODULES = (
    code_tasks, math_tasks, retrieval_tasks, synthesis_tasks, creative_tasks, safety_tasks, general_tasks,
)  # fmt: skip


def all_tasks() -> tuple[Task, ...]:
    """Every task, the query types in turn, so that the first few are of every type.

    >>> [task.id for task in all_tasks()[:3]]
    ['code-01', 'math-01', 'retrieval-01']
    """
    return tuple(sorted((task for module in _MODULES for task in module.TASKS), key=lambda task: task.id[-2:]))
