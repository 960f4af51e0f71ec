"""Replay recorded sessions.

The replay says what would have been given at the start of each, and how much of it was
then needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.progress import bar
from theorex_lab.core.settings import Settings
from theorex_lab.eval.adapters.protocol import EvalLog, EvalQuery, MemoryDesign
from theorex_lab.eval.metrics.compare import Comparison, MeanInterval, ScoreDifference
from theorex_lab.eval.metrics.sessions import FIRST_SESSIONS, Scene, scenes, share
from theorex_lab.eval.replay.baselines import Memory, ReplayAdapterMaker, names_of
from theorex_lab.eval.replay.trials import INJECT, Plan, Trial, text_of, try_out
from theorex_lab.memory.contract import Item
from theorex_lab.memory.rows import Rows
from theorex_lab.search.embed import HashedNgramEmbedder
from theorex_lab.text.line import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RECENT = "recent_files"
NOTHING = "nothing"
_PROMPT_CHARACTERS = 80


class ReplayedSession(NamedTuple):
    """A session's start, what was asked and given there, and what was then needed.

    Attributes:
        timestamp: When it started, in µs UTC.
        named: Of the needed (known) files those that the given text names.
        named_by_recent: Those that the files touched last do.
        share: How much of the needed files the given text names, 0..1; NaN where none
            was needed.
        recent_files: The same of the files touched last.
        nothing: The same of an empty text.
    """

    session: str
    timestamp: int
    prompt: str
    given: str
    needed: tuple[str, ...]
    edits: tuple[str, ...]
    named: tuple[str, ...]
    named_by_recent: tuple[str, ...]
    share: float
    recent_files: float
    nothing: float


class SessionReplay(Rows[ReplayedSession]):
    """The replayed sessions, a row a session.

    Attributes:
        rows: The sessions.
        compared: All scores of each memory.
        of: How many sessions of the log could be scored.
        tokens: The budget.
        design: The name of the memory whose context was given.
    """

    row_class = ReplayedSession

    def __init__(
        self, rows: Sequence[ReplayedSession], compared: Comparison, of: int
    ) -> None:
        super().__init__(rows)
        self.compared = compared
        self.of = of
        self.tokens = compared.plan.budgets[0]
        self.design = compared.designs[0]

    @property
    def by_day(self) -> pd.DataFrame:
        """Return the figures of each day.

        The columns are day, sessions, needed, named (files), share, recent_files and
        nothing (means of 0..1).
        """
        frame = self.frame.assign(
            day=[to_iso(row.timestamp)[:10] for row in self], sessions=1
        )
        frame = frame.assign(
            needed=frame["needed"].map(len), named=frame["named"].map(len)
        )
        counts = ["sessions", "needed", "named"]
        means = ["share", "recent_files", "nothing"]
        return (
            frame.groupby("day")
            .agg(dict.fromkeys(counts, "sum") | dict.fromkeys(means, "mean"))
            .reset_index()
        )

    def values(self, tokens: int | None = None) -> dict[str, MeanInterval]:
        """Return the mean share of the needed files that each memory's context named.

        Each has its 95 % interval.

        Args:
            tokens: One of the budgets that were scored, the first by default; the
                values are NaN for any other.
        """
        names = self.compared.designs
        budget = tokens or self.tokens
        return {
            name: self.compared.value(name, INJECT, budget, "file") for name in names
        }

    def gain(self, tokens: int | None = None) -> ScoreDifference:
        """Return how much more of the needed files the design named than recency does.

        Recency is the files touched last; both are paired by session.

        Args:
            tokens: The budget; None is that of the rows.
        """
        return self.compared.difference(
            self.design,
            RECENT,
            mode=INJECT,
            budget=tokens or self.tokens,
            score="file",
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share of the needed files that was named, session by session.

        It is compared with the files touched last.

        Args:
            ax: Where it is drawn; None is a new figure.
        """
        from theorex_lab.eval.plots.comparison import plot_sessions

        return plot_sessions(self, ax=ax)


class _Watched:
    """A memory whose contexts are recorded as they were given.

    It is asked for nothing for sessions that are not wanted.
    """

    def __init__(
        self,
        make: Callable[[], MemoryDesign],
        contexts: dict[str, str],
        advance: Callable[[], None],
    ) -> None:
        self._memory: Any = make()
        self._given = contexts
        self._done = advance
        self._session = ""
        self.observe = self._memory.observe
        self.consolidate = self._memory.consolidate

    def reveal(self, target: Scene | EvalQuery) -> None:
        """Note which session is asked about next; the memory itself is not told."""
        self._session = target.session if isinstance(target, Scene) else ""

    def inject(self, now: int, tokens: int) -> Sequence[Item]:
        if self._session not in self._given:
            return []
        items = list(self._memory.inject(now, tokens))
        if not self._given[self._session]:  # of the first budget
            self._given[self._session] = text_of(items)
        self._done()
        return items

    def retrieve(self, query: str, now: int, tokens: int) -> Sequence[Item]:  # noqa: ARG002 - only starts are replayed
        return []

    def close(self) -> None:
        if hasattr(self._memory, "close"):
            self._memory.close()


def replay_sessions(
    log: EvalLog,
    *,
    tokens: int = 500,
    also: Sequence[int] = (),
    design: Memory = "sessions",
    last: int | None = None,
    settings: Settings | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> SessionReplay:
    """Return what a memory gives at each start of a session, beside what is needed.

    A session is scored from the sixth on, as `eval.metrics.sessions` says.

    Args:
        log: The sessions.
        tokens: The budget of a context, from 1.
        also: Other budgets, which are scored in `compared`.
        design: A design or baseline, or one's own (see `compare`).
        last: Only the last so many sessions are asked about.
        settings: Those of the design's home.
        seed: Draws the intervals.
        progress: Whether there is a bar (None: in a terminal or notebook).

    Returns:
        A row a session, with the shares of the needed files (0..1) that each context
        named.

    Raises:
        InvalidInput: The log has five sessions or fewer, a number is below 1, or the
            memory failed.
    """
    budgets = tuple(dict.fromkeys([tokens, *also]))
    if min(*budgets, 1 if last is None else last, 1) < 1:
        raise InvalidInput(
            f"got tokens {budgets} and last {last}; allowed are whole numbers from 1"
        )
    log = replace(log, probes=())
    scored_sessions = scenes(log)
    if not scored_sessions:
        raise InvalidInput(
            f"got the log {log.name} of too few; allowed are more than {FIRST_SESSIONS}"
            " sessions"
        )
    chosen_sessions = scored_sessions[-last:] if last else scored_sessions
    peers = [name for name in (RECENT, NOTHING) if name != design]
    memories = names_of([design, *peers])
    plan = Plan(budgets, seed=seed)
    n_contexts = len(memories) * len(chosen_sessions) * len(budgets)
    # A start asks nothing, so that no vector is compared; the quick embedder saves the
    # time of a model's.
    embedder = HashedNgramEmbedder()
    trials: dict[str, Trial] = {}
    contexts: dict[str, dict[str, str]] = {}
    progress_bar = bar(n_contexts, unit="sessions", what="replay", progress=progress)
    with closing(progress_bar):
        advance = partial(progress_bar.update, 1)
        for name, memory in memories.items():
            make = ReplayAdapterMaker(memory, settings=settings, embedder=embedder)
            trials[name], contexts[name] = _replayed(
                log, name, make, chosen_sessions, plan, advance
            )
    compared = Comparison(tuple(trials.values()), plan)
    first_contexts = next(iter(contexts.values()))
    rows = [_row(scene, first_contexts, contexts[RECENT]) for scene in chosen_sessions]
    return SessionReplay(rows, compared, len(scored_sessions))


def _replayed(
    log: EvalLog,
    name: str,
    make: ReplayAdapterMaker,
    chosen_sessions: Sequence[Scene],
    plan: Plan,
    advance: Callable[[], None],
) -> tuple[Trial, dict[str, str]]:
    """Return the trial of a memory, of the chosen starts alone, and what it gave there.

    Raises:
        InvalidInput: The memory failed.
    """
    contexts = {scene.session: "" for scene in chosen_sessions}
    trial = try_out(
        log,
        name,
        lambda: _Watched(make, contexts, advance),
        plan,
    )
    if trial.problems:
        raise InvalidInput(
            f"the memory {name} failed on {log.name}: {next(iter(trial.problems))};"
            " mend or replace it"
        )
    trial.given = [
        answer
        for answer in trial.given
        if answer.mode == INJECT and answer.unit in contexts
    ]
    return trial, contexts


def _row(
    scene: Scene, contexts: dict[str, str], recent_contexts: dict[str, str]
) -> ReplayedSession:
    """Return what was given at a session's start, beside what was then needed."""
    context = contexts.get(scene.session, "")
    recent = recent_contexts.get(scene.session, "")
    named_files = tuple(sorted(scene.named(context) & scene.files))
    named_by_recent = tuple(sorted(scene.named(recent) & scene.files))
    n_files = len(scene.files)
    return ReplayedSession(
        session=scene.session,
        timestamp=scene.at,
        prompt=one_line(scene.prompt, _PROMPT_CHARACTERS),
        given=context,
        needed=tuple(sorted(scene.files)),
        edits=tuple(sorted(scene.edits)),
        named=named_files,
        named_by_recent=named_by_recent,
        share=share(len(named_files), n_files),
        recent_files=share(len(named_by_recent), n_files),
        nothing=share(0, n_files),
    )
