"""One memory lives through one log and is asked at every session's start and every probe: a trial.

What it gives for a probe is scored without a judge: evidence, words of the answer, stale items, tokens.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.design import Item, Log, MemoryDesign, Probe
from theorex_lab.experiments.replay.timed import Failed, Guarded, checked
from theorex_lab.experiments.scores.session_scores import Scene, scenes, share
from theorex_lab.memory.filling import count_tokens

INJECT, RETRIEVE = "inject", "retrieve"
PROBE_SCORES = ("evidence_recall", "answer_words", "stale", "tokens")
# What is better where it is lower, and what is neither.
LOWER_IS_BETTER = frozenset({"stale", "waste"})
NEITHER = frozenset({"tokens"})
NIGHTS = (1, 3, 10, 30)  # without events, after which it is asked again
MOST_SURVIVORS = 100  # probes that are asked again
_MOST_PROBLEMS = 20
Scores = dict[str, float]
Target = Scene | Probe
Ask = Callable[[str, tuple[Any, ...], int | None], Sequence[Item]]


class ScoredAnswer(NamedTuple):
    """What a memory gave at one time, scored. unit: the session or probe.  mode: inject or retrieve."""

    unit: str
    mode: str
    budget: int
    scores: Scores


@dataclass
class Trial:
    """How a memory did on a log.

    given: a `ScoredAnswer` for each unit, mode and budget; none of `retrieve` for a session that begins without a prompt.  problems: what was wrong with answers that count as nothing, each
    with how often.  cpu_seconds: by method.  sizes: (µs UTC, bytes) after some of the nights, where the memory tells its
    size.  survivors: by nights without events, the share of probes that were still answered.
    """

    log: str
    design: str
    given: list[ScoredAnswer] = field(default_factory=list)
    problems: dict[str, int] = field(default_factory=dict)
    cpu_seconds: dict[str, float] = field(default_factory=dict)
    sizes: list[tuple[int, int]] = field(default_factory=list)
    survivors: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The trial as JSON values; what was not asked for is null."""
        given = [
            (*about, {name: None if math.isnan(value) else value for name, value in scores.items()})
            for *about, scores in self.given
        ]
        return {**asdict(replace(self, given=[])), "given": given}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Trial:
        """The trial that `to_dict` gave. Raises TypeError, KeyError or ValueError for anything else."""
        given = [
            ScoredAnswer(
                unit, mode, budget, {name: math.nan if value is None else value for name, value in scores.items()}
            )
            for unit, mode, budget, scores in stored["given"]
        ]
        sizes = [(int(at), int(size)) for at, size in stored["sizes"]]
        return cls(**{**stored, "given": given, "sizes": sizes})


@dataclass(frozen=True)
class Plan:
    """How memories are tried: budgets in tokens, days between nights, seconds that a call may take (None: any), a seed."""

    budgets: tuple[int, ...] = (150, 500, 2_000, 8_000)
    every_days: float = 1.0
    timeout: float | None = None
    seed: int = 0


def try_out(log: Log, name: str, make: Callable[[], MemoryDesign], plan: Plan) -> Trial:
    """Let a memory live through a log; what it does wrong is named in the trial and counts as nothing given."""
    trial = Trial(log.name, name)
    try:
        memory = Guarded(make, plan.timeout)
    except Failed as error:
        trial.problems[f"opening: {error}"] = 1
        trial.given = [answer for _, target in _targets(log) for answer in _answers(target, 0, plan, lambda *_: [])]
        return trial
    return _Course(log, memory, plan, trial).run()


def _targets(log: Log) -> list[tuple[int, Target]]:
    """What is asked of a memory, each at its time."""
    return [*((scene.at - 1, scene) for scene in scenes(log)), *((probe.at, probe) for probe in log.probes)]


def _answers(target: Target, at: int, plan: Plan, ask: Ask, *, unbounded: bool = False) -> Iterator[ScoredAnswer]:
    """What is given within each budget, scored; what knows no budget is asked once, and scored on all that it gives."""
    for budgets in [plan.budgets] if unbounded else [(budget,) for budget in plan.budgets]:
        limit = None if unbounded else budgets[0]
        for mode, given in _asked(target, at, budgets[0]).items():
            scores = _score(target, ask(mode, given, limit), limit, mode)
            yield from (ScoredAnswer(_unit(target), mode, budget, scores) for budget in budgets)


def _asked(target: Target, at: int, budget: int) -> dict[str, tuple[Any, ...]]:
    """By mode, what a memory is asked: a session that begins without a prompt asks for nothing of its own."""
    query = target.prompt if isinstance(target, Scene) else target.query
    return {INJECT: (at, budget), **({RETRIEVE: (query, at, budget)} if query.strip() else {})}


def _unit(target: Target) -> str:
    return target.session if isinstance(target, Scene) else f"{target.at}:{target.query}"


def _score(target: Target, items: Sequence[Item], budget: int | None, mode: str) -> Scores:
    if isinstance(target, Scene):
        return target.score(text_of(items), budget, asked=mode == RETRIEVE)
    return score_probe(target, items)


def text_of(items: Sequence[Item]) -> str:
    """The items as they would be read, a line each."""
    return "\n".join(item.text for item in items)


def score_probe(probe: Probe, items: Sequence[Item]) -> dict[str, float]:
    """The scores of items for a probe; NaN where it asks for nothing of the kind.

    evidence_recall: share of the events that answer it which some item rests on.  answer_words: share of its words that
    stand in the text as whole words, whatever their case.  stale: share of its stale events which some item rests on.

    >>> score_probe(Probe(0, "where?", frozenset({"a", "b"}), ("Rome",)), [Item("in rome", ("a",))])
    {'evidence_recall': 0.5, 'answer_words': 1.0, 'stale': nan, 'tokens': 2.0}
    """
    given = {event for item in items for event in item.events}
    text = text_of(items)
    readable = text.casefold()
    found = sum(re.search(rf"(?<!\w){re.escape(word.casefold())}(?!\w)", readable) is not None for word in probe.words)
    return {
        "evidence_recall": share(len(given & probe.answers), len(probe.answers)),
        "answer_words": share(found, len(probe.words)),
        "stale": share(len(given & probe.stale), len(probe.stale)),
        "tokens": float(count_tokens(text)),
    }


class _Course:
    """The way of one memory through one log."""

    def __init__(self, log: Log, memory: Guarded, plan: Plan, trial: Trial) -> None:
        self.log, self.memory, self.plan, self.trial = log, memory, plan, trial
        self.known: set[str] = set()
        self.taken = 0
        self.problems: Counter[str] = Counter()
        self.unbounded = bool(getattr(memory.memory, "unbounded", False))

    def run(self) -> Trial:
        night = self.log.events[0].at if self.log.events else 0
        for at, target in sorted(_targets(self.log), key=lambda asked: asked[0]):
            night = self._live(at, night)
            self._ask(at, target)
        self._survive(night)
        self._try("closing", self.memory.close)
        self.trial.cpu_seconds = dict(self.memory.seconds)
        self.trial.problems = dict(self.problems.most_common(_MOST_PROBLEMS))
        return self.trial

    def _live(self, until: int, night: int) -> int:
        """Observe what happened up to a time, with the nights between; returns the last night."""
        step = int(self.plan.every_days * MICROSECONDS_PER_DAY)
        while night + step < until:
            night += step
            self._observe(night)
            self._night(night)
        self._observe(until)
        return night

    def _observe(self, until: int) -> None:
        events, end = self.log.events, self.taken
        while end < len(events) and events[end].at <= until:
            end += 1
        if end > self.taken:
            new, self.taken = events[self.taken : end], end
            self.known.update(event.id for event in new)
            self._try("observing", lambda: self.memory.call("observe", new))

    def _night(self, now: int) -> None:
        self._try("a night", lambda: self.memory.call("consolidate", now))

    def _ask(self, at: int, target: Target) -> None:
        if hasattr(self.memory.memory, "reveal"):
            self._try("reveal", lambda: self.memory.call("reveal", target))
        self.trial.given += _answers(target, at, self.plan, self._items, unbounded=self.unbounded)
        if size := self._try("size", lambda: self.memory.call("size")):
            self.trial.sizes.append((at, int(size)))

    def _items(self, mode: str, given: tuple[Any, ...], limit: int | None) -> Sequence[Item]:
        return self._try(mode, lambda: checked(self.memory.items(mode, *given), self.known, limit)) or []

    def _survive(self, night: int) -> None:
        """Ask a sample of the probes again after nights in which nothing happened."""
        if not (probes := [probe for probe in self.log.probes if probe.answers and probe.query.strip()]):
            return
        rows = np.random.default_rng(self.plan.seed).permutation(len(probes))[:MOST_SURVIVORS]
        chosen = [probes[row] for row in rows]
        night, step = max(night, max(probe.at for probe in probes)), int(self.plan.every_days * MICROSECONDS_PER_DAY)
        budget = max((tokens for tokens in self.plan.budgets if tokens <= 2_000), default=self.plan.budgets[0])
        limit = None if self.unbounded else budget
        for number in range(NIGHTS[-1] + 1):
            if number:
                self._night(night + number * step)
            if number in (0, *NIGHTS):
                now = night + number * step
                given = [(probe, self._items(RETRIEVE, (probe.query, now, budget), limit)) for probe in chosen]
                found = [score_probe(probe, items)["evidence_recall"] > 0 for probe, items in given]
                self.trial.survivors[str(number)] = float(np.mean(found))

    def _try(self, what: str, done: Callable[[], Any]) -> Any:
        """What a call gives, None where it failed: then the problem is noted, and the memory gave nothing."""
        try:
            return done()
        except Failed as error:
            self.problems[f"{what}: {error}"] += 1
            return None
