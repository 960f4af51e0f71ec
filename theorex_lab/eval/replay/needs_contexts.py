"""Ask systems for the contexts of a project's sessions, and score each by its needs.

One system on one project is a call of its own, which another process may do.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.adapters.protocol import EvalLog
from theorex_lab.eval.datasets.needs_rows import LogNeeds, ProjectNeeds, SessionNeeds
from theorex_lab.eval.metrics.needs import ContextScore, ContextTexts, score_context
from theorex_lab.eval.replay.baselines import ReplayAdapterMaker, memory_named
from theorex_lab.eval.replay.kept_calls import KeptCall, SharedCalls
from theorex_lab.eval.replay.memory_contexts import MemoryContexts
from theorex_lab.eval.replay.needs_systems import (
    NeedsSystem,
    named_systems,
    needs_systems,
)
from theorex_lab.eval.replay.trial_files import (
    NOT_KEPT,
    LogReference,
    file_key,
    memory_code,
    package_code,
    write_log,
)
from theorex_lab.eval.replay.trials import Plan

SystemMaker = Callable[[], NeedsSystem]


class NeedsResult(NamedTuple):
    """How one context did.

    Attributes:
        project: The name of the project.
        session: The session that begins.
        gist: What it was about.
        system: The name of the system.
        budget: The budget, in tokens.
        context: What was given.
        score: How much of the session's needs it covers.
    """

    project: str
    session: str
    gist: str
    system: str
    budget: int
    context: ContextTexts
    score: ContextScore


def makers_of(
    systems: Sequence[str] | Mapping[str, SystemMaker],
) -> Mapping[str, SystemMaker]:
    """Return what makes the systems, by name.

    Raises:
        InvalidInput: There is no system of a name.
    """
    if isinstance(systems, Mapping):
        return systems
    default = needs_systems()
    available = {**default, **named_systems()}
    makers: dict[str, SystemMaker] = {}
    for name in systems or default:
        makers[name] = available.get(name) or _memory_maker(name, available)
    return makers


def _memory_maker(name: str, available: Iterable[str]) -> SystemMaker:
    """Return what makes the system that asks the memory of a name.

    Raises:
        InvalidInput: There is neither a system nor a memory of this name.
    """
    try:
        memory_named(name)
    except InvalidInput as error:
        raise InvalidInput(
            f"got the system {name!r}; allowed are {', '.join(available)}, or a memory:"
            f" {error}"
        ) from error
    return partial(MemoryContexts, ReplayAdapterMaker(name), Plan())


def chosen_sessions(
    project: ProjectNeeds, sessions: Sequence[str]
) -> list[SessionNeeds]:
    """Return the rows of a project that are scored, in the order of their starts."""
    rows = [row for row in project.sessions if not sessions or row.session in sessions]
    return sorted(rows, key=lambda row: row.start)


def contexts_of(
    project: ProjectNeeds,
    rows: Sequence[SessionNeeds],
    make: SystemMaker,
    budgets: Sequence[int],
) -> Iterator[tuple[SessionNeeds, dict[int, ContextTexts]]]:
    """Yield what a system gives for each session, by budget."""
    events = project.log.events
    times = [event.at for event in events]
    system: Any = make()
    try:
        for row in rows:
            earlier = events[: bisect_left(times, row.start)]
            prompt = project.first_prompt(row.session)
            if hasattr(system, "reveal"):
                system.reveal(row)
            contexts = {}
            for tokens in dict.fromkeys(budgets):
                start = _checked_text(system(earlier, row.start, "", tokens))
                asked = ""
                if prompt:
                    asked = _checked_text(system(earlier, row.start, prompt, tokens))
                contexts[tokens] = ContextTexts(start, asked)
            yield row, contexts
    finally:
        if hasattr(system, "close"):
            system.close()


def _checked_text(answer: object) -> str:
    """Return what a system gave, if it is a text.

    Raises:
        InvalidInput: It is something else.
    """
    if not isinstance(answer, str):
        raise InvalidInput(
            f"got a {type(answer).__name__} as context; allowed is a str, '' for nothing"
        )
    return answer


def scored_contexts(
    project: ProjectNeeds,
    row: SessionNeeds,
    system: str,
    contexts: Mapping[int, ContextTexts],
) -> Iterator[NeedsResult]:
    """Yield how the contexts for a session did."""
    touched_files = project.touched_files.get(row.session, frozenset())
    for tokens, context in contexts.items():
        score = score_context(context, row.needs, tokens, touched_files=touched_files)
        yield NeedsResult(
            project.name, row.session, row.gist, system, tokens, context, score
        )


def needs_calls(
    projects: Iterable[ProjectNeeds],
    systems: Mapping[str, SystemMaker | None],
    shared: SharedCalls,
    *,
    folder: Path,
    budgets: Sequence[int],
    sessions: Sequence[str],
) -> Iterator[KeptCall]:
    """Yield a call for each project and system.

    Args:
        projects: The projects; each is written to a file and let go.
        systems: What makes each system; None for one that its name stands for.
        shared: Who does the calls.
        folder: Where projects get their files.
        budgets: The budgets of a context, in tokens.
        sessions: Ids of the sessions that are scored; none for all.
    """
    for project in projects:
        source = _written(project, folder)
        for name, make in systems.items():
            call = KeptCall(
                name=f"{name} on {project.name}",
                call=_score_system,
                arguments=(source, name, make, tuple(budgets), tuple(sessions)),
                shape=list[NeedsResult],
            )
            yield _with_file(call, source, make or name, shared)


def _written(project: ProjectNeeds, folder: Path) -> LogReference:
    """Write a project's log with its needs to a file."""
    needs = LogNeeds(project.sessions, project.touched_files)
    log = dataclasses.replace(project.log, name=project.name, needs=needs)
    return write_log(log, folder)


def _with_file(
    call: KeptCall,
    source: LogReference,
    system: str | SystemMaker,
    shared: SharedCalls,
) -> KeptCall:
    """Return a call with the name of the file in which its result is kept."""
    if shared.files is None:
        return call
    is_ours = system in needs_systems() or system in named_systems()
    code = package_code() if is_ours else memory_code(system)
    _, name, _, *numbers = call.arguments
    if code is None:
        shared.files.add_problem(f"{name} runs again each time: {NOT_KEPT}")
        return call
    key = file_key(source.content, "contexts", name, code, repr(numbers))
    return call._replace(key=key, folder=str(shared.files.folder))


def _score_system(
    source: LogReference,
    name: str,
    make: SystemMaker | None,
    budgets: Sequence[int],
    sessions: Sequence[str],
) -> list[NeedsResult]:
    """Return how the contexts of one system did on one project."""
    log: EvalLog = source.read()
    assert log.needs is not None
    project = ProjectNeeds(log.name, log.needs.sessions, log, log.needs.touched_files)
    rows = chosen_sessions(project, sessions)
    maker = make or makers_of([name])[name]
    results = list[NeedsResult]()
    for row, contexts in contexts_of(project, rows, maker, budgets):
        results += scored_contexts(project, row, name, contexts)
    return results
