"""Recorded sessions lived again: what would have been given at the start of each, and
how much of it was then needed.
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
    """A session's start (`at`, µs UTC), what was asked and given there, and the known
    files that were then needed.

    named: of the needed files those that the given text names, `named_by_recent` those
    that the files touched last do. share, recent_files, nothing: of the needed files,
    0..1; NaN where none was needed.
    """

    session: str
    at: int
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
    """A row a session; `compared` has all scores of each memory, `of` how many sessions
    of the log could be scored.

    tokens: the budget.  design: the name of the memory whose context was given.
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
        """Columns day, sessions, needed, named (files), share, recent_files, nothing
        (means of 0..1).
        """
        frame = self.frame.assign(day=[to_iso(row.at)[:10] for row in self], sessions=1)
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
        """By memory, the mean share of the needed files that its context named, with
        its 95 % interval.

        tokens: one of the budgets that were scored, default the first; NaN for any
        other.
        """
        names = self.compared.designs
        budget = tokens or self.tokens
        return {
            name: self.compared.value(name, INJECT, budget, "file") for name in names
        }

    def gain(self, tokens: int | None = None) -> ScoreDifference:
        """How much more of the needed files the design named than the files touched
        last do, paired by session.
        """
        return self.compared.difference(
            self.design, RECENT, INJECT, tokens or self.tokens, "file"
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """The share of the needed files that was named, session by session, beside the
        files touched last.
        """
        from theorex_lab.eval.plots.comparison import plot_sessions

        return plot_sessions(self, ax=ax)


class _Watched:
    """A memory whose contexts are kept as they were given; of sessions that are not
    wanted it is asked for nothing.
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
        """Which session is asked about next; the memory itself is not told."""
        self._session = target.session if isinstance(target, Scene) else ""

    def inject(self, now: int, tokens: int) -> Sequence[Item]:
        if self._session not in self._given:
            return []
        items = list(self._memory.inject(now, tokens))
        self._given[self._session] = self._given[self._session] or text_of(
            items
        )  # of the first budget
        self._done()
        return items

    def retrieve(self, query: str, now: int, tokens: int) -> Sequence[Item]:
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
    """Let a memory live through a log of sessions, and keep what it gives at each start
    beside what was then needed.

    A session is scored from the sixth on, by `scores.session_scores`.  tokens: the
    budget of a context.  also: other budgets, which are scored in `compared`.  design:
    a design or baseline, or one's own (see `compare`).  last: only the last so many
    sessions are asked about.  settings: of the design's home.  seed: draws the
    intervals.  progress: a bar (None: in a terminal or notebook).

    Raises InvalidInput for a log of five sessions or fewer, for numbers below 1, and
    where the memory failed.
    """
    budgets = tuple(dict.fromkeys([tokens, *also]))
    if min(*budgets, 1 if last is None else last, 1) < 1:
        raise InvalidInput(
            f"got tokens {budgets} and last {last}; allowed are whole numbers from 1"
        )
    log = replace(log, probes=())
    if not (scored_sessions := scenes(log)):
        raise InvalidInput(
            f"got the log {log.name} of too few; allowed are more than {FIRST_SESSIONS}"
            " sessions"
        )
    chosen_sessions = scored_sessions[-last:] if last else scored_sessions
    memories = names_of(
        [design, *(name for name in (RECENT, NOTHING) if name != design)]
    )
    plan = Plan(budgets, seed=seed)
    with closing(
        bar(
            len(memories) * len(chosen_sessions) * len(budgets),
            0,
            progress,
            "sessions",
            "replay",
        )
    ) as progress_bar:
        # A start asks nothing, so that no vector is compared; the quick embedder saves
        # the time of a model's.
        advance = partial(progress_bar.update, 1)
        options = {"settings": settings, "embedder": HashedNgramEmbedder()}
        makers = {
            name: ReplayAdapterMaker(memory, given=options)
            for name, memory in memories.items()
        }
        trials = {
            name: _lived(log, name, make, chosen_sessions, plan, advance)
            for name, make in makers.items()
        }
    compared = Comparison(tuple(trial for trial, _ in trials.values()), plan)
    first = next(iter(trials.values()))[1]
    recent = trials[RECENT][1]
    return SessionReplay(
        [_row(scene, first, recent) for scene in chosen_sessions],
        compared,
        len(scored_sessions),
    )


def _lived(
    log: EvalLog,
    name: str,
    make: ReplayAdapterMaker,
    chosen_sessions: Sequence[Scene],
    plan: Plan,
    advance: Callable[[], None],
) -> tuple[Trial, dict[str, str]]:
    """The trial of a memory, of the wanted sessions' starts alone, and what it gave
    there.
    """
    contexts = {scene.session: "" for scene in chosen_sessions}
    trial = try_out(log, name, lambda: _Watched(make, contexts, advance), plan)
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
    scene: Scene, contexts: dict[str, str], recent: dict[str, str]
) -> ReplayedSession:
    texts = [texts.get(scene.session, "") for texts in (contexts, recent)]
    named_files, named_by_recent = (
        tuple(sorted(scene.named(text) & scene.files)) for text in texts
    )
    n = len(scene.files)
    return ReplayedSession(
        scene.session,
        scene.at,
        one_line(scene.prompt, _PROMPT_CHARACTERS),
        texts[0],
        tuple(sorted(scene.files)),
        tuple(sorted(scene.edits)),
        named_files,
        named_by_recent,
        share(len(named_files), n),
        share(len(named_by_recent), n),
        share(0, n),
    )
