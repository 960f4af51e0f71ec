"""Failures of a home, each with its run; and recorded answers that their checks refused, as such failures."""

from contextlib import suppress

from theorex_lab.dispatch.bus import End, Start
from theorex_lab.dispatch.traces import Trace
from theorex_lab.errors import InvalidInput
from theorex_lab.evolution.cases import Case, case_of
from theorex_lab.experiments.data.datasets import load_local_runs, prompts
from theorex_lab.lab import Lab


def failed_cases(lab: Lab, *, agent: str | None = None) -> list[Case]:
    """The failures of an agent, or of all, reviewed or not, oldest first; one whose run was erased is without it.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     _ = lab.outcomes.record("main", "deploy", "it broke", success=False)
    ...     [(case.task, len(case.steps)) for case in failed_cases(lab)]
    [('deploy', 2)]
    """
    cases = []
    for outcome in lab.outcomes.queue(agent=agent, again=True):
        trace: Trace | None = None
        with suppress(InvalidInput):  # erased
            trace = lab.trace(outcome.trace_id) if outcome.trace_id is not None else None
        cases.append(case_of(outcome, trace))
    return cases


def local_failures(lab: Lab, *, every: int = 4) -> list[Case]:
    """A small model's answers that the packaged recording holds and its checks refused; they are recorded in `lab`.

    every: one of so many of them, in the recording's order.
    """
    failed = [run for run in load_local_runs().runs if run.model == "smollm2-135m greedy" and not run.success]
    for row in failed[::every]:
        start = Start(row.task_id, "local-model", lab.clock.now(), prompts()[row.task_id], row.query_type, row.model)
        end = End(row.task_id, start.at, True, row.model, response=row.response)
        lab.journal.append([start.event(), end.event(start)])
        lab.outcomes.record_of_trace(row.task_id, "the check of the task refused this answer", success=False)
    return failed_cases(lab)
