"""Replay the starts of recorded sessions, and score what systems give there.

It says how much of what each session needed to know a system's contexts cover, project
by project, as `eval.metrics.needs` counts it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.progress import bar
from theorex_lab.core.readable import short_repr
from theorex_lab.eval.datasets.needs_rows import ProjectNeeds
from theorex_lab.eval.metrics.needs import (
    ALL_COVERED,
    FIGURES,
    START_COVERED,
    USEFUL,
    WALL,
    ContextScore,
    SessionMean,
    mean_interval,
    mean_of_groups,
)
from theorex_lab.eval.replay.kept_calls import SharedCalls
from theorex_lab.eval.replay.needs_contexts import (
    NeedsResult,
    SystemMaker,
    chosen_sessions,
    contexts_of,
    makers_of,
    needs_calls,
    scored_contexts,
)
from theorex_lab.eval.replay.needs_systems import BRIEFING, BRIEFING_WITH
from theorex_lab.memory.rows import table_html, table_text

BUDGETS = (150, 500, 2_000)
# What a comparison shows of a system, in the order of its columns: a figure of the
# contexts of a budget. With a prompt a system has the budget twice.
NEEDS_COLUMNS: dict[str, tuple[str, int]] = {
    "start@150": (START_COVERED, 150),
    "start@500": (START_COVERED, 500),
    "start@2000": (START_COVERED, 2_000),
    "all@500+500": (ALL_COVERED, 500),
    "useful@500": (USEFUL, 500),
}
# Names of figures for a kind of need.
START_KIND = "start_kind"
ALL_KIND = "all_kind"


@dataclass(frozen=True, eq=False)
class NeedsScore:
    """How much of what sessions needed to know the contexts of systems cover.

    Attributes:
        results: How each context did.
        seed: Draws the intervals.
        lost: The calls that no worker survived, as `SYSTEM on PROJECT`.
        n_taken_over: How many calls were finished by an earlier run.
        file_problems: What was wrong with files of an earlier run.
    """

    results: tuple[NeedsResult, ...]
    seed: int = 0
    lost: tuple[str, ...] = ()
    n_taken_over: int = 0
    file_problems: tuple[str, ...] = ()

    def __repr__(self) -> str:
        n_systems = f"{len(self.systems)} systems"
        return short_repr(self, n_systems, f"{len(self.projects)} projects")

    def __str__(self) -> str:
        return f"{self!r}\n{table_text(self._shown())}"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{table_html(self._shown())}"

    def _shown(self) -> pd.DataFrame:
        """Return the rows of the frame that are means of the projects."""
        frame = self.frame
        return frame[frame["project"] == ""].drop(columns="project")

    @property
    def projects(self) -> list[str]:
        """Return the names of the projects."""
        return list(dict.fromkeys(row.project for row in self.results))

    @property
    def systems(self) -> list[str]:
        """Return the names of the systems."""
        return list(dict.fromkeys(row.system for row in self.results))

    @property
    def budgets(self) -> list[int]:
        """Return the budgets."""
        return list(dict.fromkeys(row.budget for row in self.results))

    @property
    def kinds(self) -> list[str]:
        """Return the kinds of needs."""
        kinds: set[str] = set()
        for row in self.results:
            kinds.update(row.score.all_kinds)
        return sorted(kinds)

    def sessions_of(self, project: str) -> list[str]:
        """Return the sessions of a project that were scored.

        Args:
            project: The name of the project.
        """
        sessions = [row.session for row in self.results if row.project == project]
        return list(dict.fromkeys(sessions))

    def value(
        self, system: str, budget: int, figure: str, *, project: str = ""
    ) -> SessionMean:
        """Return the mean of a figure over sessions, with its interval.

        Args:
            system: The name of the system.
            budget: The budget, in tokens.
            figure: start, all, useful, tokens or wall; or `start_kind:KIND` and
                `all_kind:KIND` for the coverage of a kind of need.
            project: The project; '' for the mean of the projects' means.
        """
        names = [project] if project else self.projects
        groups = [self._values(system, budget, figure, name) for name in names]
        if project:
            return mean_interval(groups[0], seed=self.seed)
        return mean_of_groups(groups, seed=self.seed)

    def gain(
        self, system: str, budget: int, figure: str, *, project: str = ""
    ) -> SessionMean:
        """Return what a system adds to the briefing's figure, with its interval.

        It is the mean over sessions of the difference between the two, each session
        compared with itself.

        Args:
            system: The name of the system; `briefing` must be scored too.
            budget: The budget, in tokens.
            figure: As in `value`.
            project: The project; '' for the mean of the projects' means.

        Raises:
            InvalidInput: The briefing was not scored.
        """
        if BRIEFING not in self.systems:
            raise InvalidInput(
                f"got the systems {', '.join(self.systems)}; a gain is compared with"
                f" {BRIEFING}: score it too"
            )
        groups: list[list[float]] = []
        for name in [project] if project else self.projects:
            values = self._values(system, budget, figure, name)
            without = self._values(BRIEFING, budget, figure, name)
            pairs = zip(values, without, strict=True)
            groups.append([value - other for value, other in pairs])
        return mean_of_groups(groups, seed=self.seed)

    @property
    def further_designs(self) -> list[str]:
        """Return the systems that are the briefing with a design beside it."""
        if BRIEFING not in self.systems:
            return []
        return [name for name in self.systems if name.startswith(BRIEFING_WITH)]

    def columns(self, system: str, *, project: str = "") -> dict[str, SessionMean]:
        """Return what a comparison shows of a system, by NEEDS_COLUMNS.

        Budgets that were not scored, and what no session needs, are left out.

        Args:
            system: The name of the system.
            project: The project; '' for the mean of the projects' means.
        """
        means: dict[str, SessionMean] = {}
        for column, (figure, budget) in NEEDS_COLUMNS.items():
            mean = self.value(system, budget, figure, project=project)
            if mean.n:
                means[column] = mean
        return means

    def longest_wall(self, system: str, budget: int, *, project: str = "") -> int:
        """Return the most names of files in one line of any context.

        Args:
            system: The name of the system.
            budget: The budget, in tokens.
            project: The project; '' for all.
        """
        walls = [0.0]
        for name in [project] if project else self.projects:
            walls += self._values(system, budget, WALL, name)
        return int(max(walls))

    def _values(
        self, system: str, budget: int, figure: str, project: str
    ) -> list[float]:
        """Return the values of a figure, one a session."""
        values = []
        for row in self.results:
            cell = (row.system, row.budget, row.project)
            if cell == (system, budget, project):
                values.append(_figure(row.score, figure))
        return values

    @property
    def frame(self) -> pd.DataFrame:
        """Return a row for each project, system, budget and figure.

        The columns are project, system, budget, figure, value, ci_low, ci_high and n.
        The project '' is the mean of the projects.
        """
        figures = [*FIGURES]
        for kind in self.kinds:
            figures += [f"{START_KIND}:{kind}", f"{ALL_KIND}:{kind}"]
        rows = []
        for project in [*self.projects, ""]:
            for system, budget in self._cells():
                for figure in figures:
                    mean = self.value(system, budget, figure, project=project)
                    rows.append((project, system, budget, figure, *mean))
        columns = ["project", "system", "budget", "figure"]
        columns += ["value", "ci_low", "ci_high", "n"]
        return pd.DataFrame(rows, columns=columns)

    def _cells(self) -> Iterator[tuple[str, int]]:
        """Yield each system with each budget."""
        for system in self.systems:
            for budget in self.budgets:
                yield system, budget

    def result(self) -> dict[str, Any]:
        """Return the figures as values for JSON.

        They are n (sessions), budgets, projects (name → n, systems), mean, that of the
        projects, and gains, what designs add to the briefing. Systems are name → budget
        → figure → value, ci_low, ci_high and n, with longest_wall, and start_kinds and
        all_kinds by kind.
        """
        projects = {}
        n_sessions = 0
        for project in self.projects:
            n_project_sessions = len(self.sessions_of(project))
            n_sessions += n_project_sessions
            projects[project] = {
                "n": n_project_sessions,
                "systems": self._systems_result(project),
            }
        return {
            "n": n_sessions,
            "budgets": self.budgets,
            "projects": projects,
            "mean": self._systems_result(""),
            "gains": self._gains_result(),
        }

    def _gains_result(self) -> dict[str, Any]:
        """Return what each design adds: system → budget → figure."""
        gains: dict[str, Any] = {}
        for system in self.further_designs:
            by_budget = gains.setdefault(system, {})
            for budget in self.budgets:
                by_budget[str(budget)] = {
                    figure: _for_json(self.gain(system, budget, figure))
                    for figure in (START_COVERED, ALL_COVERED)
                }
        return gains

    def _systems_result(self, project: str) -> dict[str, Any]:
        """Return the figures of each system: system → budget → figure."""
        systems: dict[str, Any] = {}
        for system, budget in self._cells():
            by_budget = systems.setdefault(system, {})
            by_budget[str(budget)] = self._figures_result(system, budget, project)
        return systems

    def _figures_result(self, system: str, budget: int, project: str) -> dict[str, Any]:
        """Return the figures of a system within a budget."""
        figures: dict[str, Any] = {}
        for name in FIGURES:
            figures[name] = _for_json(self.value(system, budget, name, project=project))
        figures["longest_wall"] = self.longest_wall(system, budget, project=project)
        for name in (START_KIND, ALL_KIND):
            by_kind = {}
            for kind in self.kinds:
                mean = self.value(system, budget, f"{name}:{kind}", project=project)
                if mean.n:
                    by_kind[kind] = _for_json(mean)
            figures[f"{name}s"] = by_kind
        return figures


def _figure(score: ContextScore, name: str) -> float:
    """Return a figure of a context by its name; NaN where there is none."""
    prefix, _, kind = name.partition(":")
    if prefix == START_KIND:
        return score.start_kinds.get(kind, math.nan)
    if prefix == ALL_KIND:
        return score.all_kinds.get(kind, math.nan)
    return score.figures[name]


def _for_json(mean: SessionMean) -> dict[str, float | int | None]:
    """Return a mean as JSON holds it: null for NaN."""
    if not mean.n:
        return {"value": None, "ci_low": None, "ci_high": None, "n": 0}
    return {
        "value": mean.value,
        "ci_low": mean.ci_low,
        "ci_high": mean.ci_high,
        "n": mean.n,
    }


def score_needs(
    projects: Sequence[ProjectNeeds],
    systems: Sequence[str] | Mapping[str, SystemMaker] = (),
    *,
    budgets: Sequence[int] = BUDGETS,
    sessions: Sequence[str] = (),
    seed: int = 0,
    executor: Executor | None = None,
    workers: int = 1,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> NeedsScore:
    """Score the contexts of systems by what sessions needed to know.

    Args:
        projects: The projects, as `load_session_needs` gives them.
        systems: Names of systems, none for all, or of memories that `compare` knows; or
            functions that make systems of one's own (see
            `eval.replay.needs_systems.NeedsSystem`), by name.
        budgets: The budgets of a context, in tokens from 1.
        sessions: Ids of the sessions that are scored; none for all.
        seed: Draws the intervals.
        executor: Any of `concurrent.futures`, Dask's too. One system on one project is
            a call, which gets names and a reference to the log.
        workers: How many processes share the calls, where no executor is given. A call
            whose process dies is tried twice more, by itself, and then named in `lost`.
        out: A folder in which the result of each call is kept as it ends. What is
            there for the same log, system, code and budgets is not asked again.
        progress: Whether there is a bar (None: in a terminal or notebook).

    Returns:
        The scores; the same, whoever does the calls.

    Raises:
        InvalidInput: A budget is below 1, a system or session is unknown, or a system
            gives something else than a text.
    """
    makers = makers_of(systems)
    _check_budgets(budgets)
    n_rows = sum(len(chosen_sessions(project, sessions)) for project in projects)
    if not n_rows:
        raise InvalidInput(
            f"got the sessions {', '.join(sessions) or 'none'}; allowed are"
            f" {', '.join(_session_names(projects))}"
        )
    shared = SharedCalls.of(executor, workers, out)
    if shared.needs_references:
        # A system that has a name is made where it is asked.
        are_own = isinstance(systems, Mapping)
        own_makers = {name: make if are_own else None for name, make in makers.items()}
        results = _of_calls(projects, own_makers, shared, budgets, sessions, progress)
    else:
        results = _in_turn(projects, makers, budgets, sessions, progress)
    return NeedsScore(
        tuple(_in_file_order(results, projects)),
        seed,
        lost=tuple(shared.lost),
        n_taken_over=shared.n_taken_over,
        file_problems=shared.file_problems,
    )


def _of_calls(
    projects: Sequence[ProjectNeeds],
    makers: Mapping[str, SystemMaker | None],
    shared: SharedCalls,
    budgets: Sequence[int],
    sessions: Sequence[str],
    progress: bool | None,
) -> list[NeedsResult]:
    """Return how each context did, where other processes ask or results are kept."""
    results = list[NeedsResult]()
    with shared.log_folder() as folder:
        assert folder is not None
        calls = needs_calls(
            projects,
            makers,
            shared,
            folder=folder,
            budgets=budgets,
            sessions=sessions,
        )
        for rows in shared.results([*calls], what="needs", progress=progress):
            results += rows or ()
    return results


def _in_turn(
    projects: Sequence[ProjectNeeds],
    makers: Mapping[str, SystemMaker],
    budgets: Sequence[int],
    sessions: Sequence[str],
    progress: bool | None,
) -> list[NeedsResult]:
    """Return how each context did, project by project, in this process."""
    results = list[NeedsResult]()
    n_rows = sum(len(chosen_sessions(project, sessions)) for project in projects)
    progress_bar = bar(
        n_rows * len(makers), unit="sessions", what="needs", progress=progress
    )
    with closing(progress_bar):
        for project in projects:
            rows = chosen_sessions(project, sessions)
            offers = [
                contexts_of(project, rows, make, budgets) for make in makers.values()
            ]
            # All systems are asked about a session before the next one, so that what
            # briefings have in common is made once.
            for session_contexts in zip(*offers, strict=True):
                for name, (row, contexts) in zip(makers, session_contexts, strict=True):
                    results += scored_contexts(project, row, name, contexts)
                    progress_bar.update(1)
    return results


def _check_budgets(budgets: Sequence[int]) -> None:
    """Raise InvalidInput unless there are budgets, whole numbers from 1."""
    are_valid = all(type(tokens) is int and tokens >= 1 for tokens in budgets)
    if not budgets or not are_valid:
        raise InvalidInput(
            f"got the budgets {budgets!r}; allowed are whole numbers of tokens from 1"
        )


def _session_names(projects: Sequence[ProjectNeeds]) -> list[str]:
    """Return the ids of all sessions."""
    names = []
    for project in projects:
        names += [row.session for row in project.sessions]
    return names


def _in_file_order(
    results: Sequence[NeedsResult], projects: Sequence[ProjectNeeds]
) -> list[NeedsResult]:
    """Return results in the order in which the files list their sessions.

    Intervals are drawn in that order.
    """
    positions: dict[tuple[str, str], int] = {}
    for project in projects:
        for row in project.sessions:
            positions[(project.name, row.session)] = len(positions)
    return sorted(results, key=lambda row: positions[(row.project, row.session)])
