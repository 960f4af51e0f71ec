"""Replay one log to one memory: a trial.

It is asked at every session's start and every probe. Every call has a deadline, and
what comes back is checked. What a memory gives for a probe is scored without a judge:
evidence, words of the answer, stale items, tokens.
"""

from __future__ import annotations

import json
import math
import queue
import re
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import BeforeValidator, TypeAdapter

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.errors import TheorexError
from theorex_lab.eval.adapters.protocol import EvalLog, EvalQuery, MemoryDesign
from theorex_lab.eval.metrics.sessions import Scene, scenes, share
from theorex_lab.eval.replay.projects import LogProjects
from theorex_lab.eval.replay.spared_time import seconds_used
from theorex_lab.memory.briefing.token_budget import count_tokens
from theorex_lab.memory.contract import Item

INJECT = "inject"
RETRIEVE = "retrieve"
OPENING = "opening: "  # how the problem of a memory begins that cannot be made

# What is better where it is lower, and what is neither.
LOWER_IS_BETTER = frozenset({"bleed", "stale", "waste"})
NEITHER = frozenset({"tokens"})
MAINTENANCE_RUNS = (1, 3, 10, 30)  # without events, after which it is asked again
MOST_SURVIVORS = 100  # probes that are asked again
_MOST_PROBLEMS = 20


def _nan_of_null(value: Any) -> Any:
    """Return NaN for null, as which JSON holds it."""
    return math.nan if value is None else value


Scores = dict[str, Annotated[float, BeforeValidator(_nan_of_null)]]
Target = Scene | EvalQuery
Ask = Callable[[str, tuple[Any, ...], int], Sequence[Item]]


class ScoredAnswer(NamedTuple):
    """What a memory gave at one time, scored.

    Attributes:
        unit: The session or probe.
        mode: inject or retrieve.
    """

    unit: str
    mode: str
    budget: int
    scores: Scores


@dataclass
class Trial:
    """How a memory did on a log.

    Attributes:
        log: The name of the log.
        design: The name of the memory.
        given: A `ScoredAnswer` for each unit, mode and budget; none of `retrieve` for
            a session that begins without a prompt.
        problems: What was wrong with answers that count as nothing, each with how
            often.
        cpu_seconds: The seconds that its calls took, by method.
        sizes: (µs UTC, bytes) after some of the maintenances, where the memory states
            its size.
        survivors: By number of maintenances without events, the share of questions
            that were still answered.
    """

    log: str
    design: str
    given: list[ScoredAnswer] = field(default_factory=list)
    problems: dict[str, int] = field(default_factory=dict)
    cpu_seconds: dict[str, float] = field(default_factory=dict)
    sizes: list[tuple[int, int]] = field(default_factory=list)
    survivors: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the trial as JSON values; what was not asked for is null."""
        members: dict[str, Any] = json.loads(TypeAdapter(Trial).dump_json(self))
        return members


@dataclass(frozen=True)
class Plan:
    """How memories are tried.

    Attributes:
        budgets: The budgets of a context, in tokens.
        every_days: The days between maintenances.
        timeout: The seconds that a call may take (None: any).
        seed: Draws the sample of probes.
    """

    budgets: tuple[int, ...] = (150, 500, 2_000, 8_000)
    every_days: float = 1.0
    timeout: float | None = None
    seed: int = 0


def try_out(
    log: EvalLog, name: str, make: Callable[[], MemoryDesign], plan: Plan
) -> Trial:
    """Replay a log to a memory.

    The trial names what the memory does wrong; a wrong answer counts as none.
    """
    trial = Trial(log.name, name)
    try:
        memory = GuardedMemory(make, plan.timeout)
    except MemoryFailure as error:
        trial.problems[f"{OPENING}{error}"] = 1
        projects = LogProjects(log)
        for _, target in _targets(log):
            trial.given += _answers(target, 0, plan, _nothing, projects)
        return trial
    return _Course(log, memory, plan, trial).run()


def _nothing(
    _mode: str,
    _arguments: tuple[Any, ...],
    _budget: int,
) -> list[Item]:
    """Return no items, as a memory does that could not be opened."""
    return []


def _targets(log: EvalLog) -> list[tuple[int, Target]]:
    """Return what is asked of a memory, each at its time."""
    targets: list[tuple[int, Target]] = []
    for scene in scenes(log):
        targets.append((scene.at - 1, scene))
    for probe in log.probes:
        targets.append((probe.at, probe))
    return targets


def _answers(
    target: Target,
    at: int,
    plan: Plan,
    ask: Ask,
    projects: LogProjects,
) -> Iterator[ScoredAnswer]:
    """Yield what is given within each budget, scored."""
    if isinstance(target, Scene):
        unit = target.session
        query = target.prompt
    else:
        unit = f"{target.at}:{target.query}"
        query = target.query
    for budget in plan.budgets:
        arguments_by_mode: dict[str, tuple[Any, ...]] = {INJECT: (at, budget)}
        # A session that begins without a prompt asks for nothing of its own.
        if query.strip():
            arguments_by_mode[RETRIEVE] = (query, at, budget)
        for mode, arguments in arguments_by_mode.items():
            items = ask(mode, arguments, budget)
            scores = _scores_of(target, items, mode, budget)
            if projects.are_several:
                project = projects.asking(target)
                scores["bleed"] = projects.bleed(items, project)
            yield ScoredAnswer(unit, mode, budget, scores)


def _scores_of(
    target: Target,
    items: Sequence[Item],
    mode: str,
    budget: int,
) -> Scores:
    """Return the scores of what a session or a question was given."""
    if isinstance(target, Scene):
        text = text_of(items)
        is_after_prompt = mode == RETRIEVE
        return target.score(
            text,
            budget,
            after_prompt=is_after_prompt,
        )
    return score_probe(target, items)


def text_of(items: Sequence[Item]) -> str:
    """Return the items as they would be read, a line each."""
    return "\n".join(item.text for item in items)


def score_probe(probe: EvalQuery, items: Sequence[Item]) -> dict[str, float]:
    """Return the scores of items for a probe; NaN where nothing of the kind is asked.

    Returns:
        evidence_recall: share of the events that answer it which some item rests on.
        precision: share of the items which rest on such an event. answer_words: share
        of its words that stand in the text as whole words, whatever their case. stale:
        share of its stale events which some item rests on.

    >>> score_probe(
    ...     EvalQuery(0, "where?", frozenset({"a", "b"}), ("Rome",)),
    ...     [Item("in rome", ("a",)), Item("or not", ("c",))],
    ... )["precision"]
    0.5
    """
    event_ids: set[str] = set()
    n_answering = 0
    for item in items:
        event_ids.update(item.events)
        n_answering += not probe.answers.isdisjoint(item.events)
    n_items = 0
    if probe.answers:
        n_items = len(items)
    n_answers = len(event_ids & probe.answers)
    n_stale = len(event_ids & probe.stale)
    text = text_of(items)
    folded_text = text.casefold()
    n_words = 0
    for word in probe.words:
        pattern = rf"(?<!\w){re.escape(word.casefold())}(?!\w)"
        n_words += re.search(pattern, folded_text) is not None
    return {
        "evidence_recall": share(n_answers, len(probe.answers)),
        "precision": share(n_answering, n_items),
        "answer_words": share(n_words, len(probe.words)),
        "stale": share(n_stale, len(probe.stale)),
        "tokens": float(count_tokens(text)),
    }


class MemoryFailure(TheorexError):
    """A memory raised, did not answer in time, or gave what cannot be right.

    The text says which.
    """


class GuardedMemory:
    """Calls a memory in a thread of its own, so that one that hangs is left behind.

    seconds: CPU seconds that its calls took, by the name of the method.  timeout:
    seconds that a call may take, None for any time. A thread that hangs ends with the
    process.
    """

    def __init__(
        self, make: Callable[[], MemoryDesign], timeout: float | None = None
    ) -> None:
        """Make the memory in that thread.

        Raises:
            MemoryFailure: Making it fails.
        """
        self.seconds = dict[str, float]()
        self._timeout = timeout
        self.memory: Any = None
        self._jobs: queue.SimpleQueue[tuple[str, Callable[[], Any]] | None] = (
            queue.SimpleQueue()
        )
        self._answers: queue.SimpleQueue[tuple[Any, BaseException | None]] = (
            queue.SimpleQueue()
        )
        # whether a call is still under way, and nothing can be asked any more
        self._lost = False
        threading.Thread(target=self._work, daemon=True).start()
        self.memory = self._call("make", make)

    def call(self, name: str, *arguments: Any) -> Any:
        """Return what the memory's method gives, None where it has none of that name.

        Raises:
            MemoryFailure: The call failed.
        """

        def job() -> Any:
            if not hasattr(self.memory, name):
                return None
            return getattr(self.memory, name)(*arguments)

        return self._call(name, job)

    def items(self, name: str, *arguments: Any) -> Any:
        """Return what `inject` or `retrieve` gives, read to its end.

        So a generator has the deadline too.

        Raises:
            MemoryFailure: The call failed.
        """

        def job() -> Any:
            answer = getattr(self.memory, name)(*arguments)
            return _read(answer)

        return self._call(name, job)

    def close(self) -> None:
        """Close the memory, where it can be closed, and end its thread.

        Raises:
            MemoryFailure: Closing fails.
        """
        try:
            if not self._lost:
                self.call("close")
        finally:
            self._jobs.put(None)

    def _call(self, name: str, job: Callable[[], Any]) -> Any:
        if self._lost:
            raise MemoryFailure("an earlier call did not answer in time")
        self._jobs.put((name, job))
        try:
            answer, error = self._answers.get(timeout=self._timeout)
        except queue.Empty:
            self._lost = True
            raise MemoryFailure(
                f"{name} did not answer within {self._timeout:g} s"
            ) from None
        if error is not None:
            raise MemoryFailure(
                f"{name} raised {type(error).__name__}: {error}"
            ) from error
        return answer

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            name, function = job
            begun = seconds_used()
            try:
                answer: tuple[Any, BaseException | None] = (function(), None)
            # Whatever a memory of somebody else's raises is its result; `_call` raises
            # it again as Failed.
            except (Exception, SystemExit) as error:  # noqa: BLE001
                answer = (None, error)
            seconds = seconds_used() - begun
            former_seconds = self.seconds.get(name, 0.0)
            self.seconds[name] = former_seconds + seconds
            self._answers.put(answer)


def _read(items: Any) -> Any:
    """Return items as a list, whatever holds them; anything else as it is."""
    if isinstance(items, Iterable) and not isinstance(items, str):
        return list(items)
    return items


def checked(
    items: Any,
    known_ids: Collection[str],
    tokens: int,
) -> Sequence[Item]:
    """Return the items, if they may count.

    They are texts, resting on events that were shown, within the budget.

    Raises:
        MemoryFailure: They may not count; the message says what is wrong.
    """
    if not isinstance(items, list):
        raise MemoryFailure(
            f"got a {type(items).__name__} that holds no items; allowed are (text, event ids)"
        )
    checked_items = [_checked_item(item, known_ids) for item in items]
    n_tokens = count_tokens("\n".join(item.text for item in checked_items))
    if n_tokens > tokens:
        raise MemoryFailure(f"got {n_tokens} tokens; allowed were {tokens}")
    return checked_items


def _checked_item(answer: Any, known_ids: Collection[str]) -> Item:
    """Return the item, if it may count.

    Raises:
        MemoryFailure: As `checked` does.
    """
    _check_form(answer)
    item = Item(*answer)
    event_ids = answer[1] if len(answer) == 2 else ()
    try:
        item.text.encode()
    except UnicodeEncodeError as error:
        raise MemoryFailure(
            "got half a surrogate pair in a text; allowed is whole Unicode text"
        ) from error
    if isinstance(event_ids, str) or not isinstance(event_ids, Iterable):
        raise MemoryFailure(
            f"got event ids in a {type(event_ids).__name__}; allowed are several"
        )
    # Without the id, so that all answers that are wrong in this way are counted as one
    # problem.
    if any(not isinstance(id, str) or id not in known_ids for id in event_ids):
        raise MemoryFailure(
            "got an item that rests on an unknown id; allowed are events that it was"
            " shown before"
        )
    return item


def _check_form(answer: Any) -> None:
    """Raise MemoryFailure unless an answer is (text,) or (text, event ids)."""
    is_sequence = isinstance(answer, tuple | list)
    if is_sequence and len(answer) in (1, 2) and isinstance(answer[0], str):
        return
    text = answer[0] if is_sequence and answer else answer
    raise MemoryFailure(
        f"got an item whose text is a {type(text).__name__}; allowed are (text, event"
        " ids)"
    )


class _Course:
    """The way of one memory through one log."""

    def __init__(
        self, log: EvalLog, memory: GuardedMemory, plan: Plan, trial: Trial
    ) -> None:
        self.log = log
        self.memory = memory
        self.plan = plan
        self.trial = trial
        self.known = set[str]()
        self.taken = 0
        self.problems = Counter[str]()
        self.projects = LogProjects(log)

    def run(self) -> Trial:
        """Replay the log to the memory, and return its trial."""
        last_run = self.log.events[0].at if self.log.events else 0
        in_time = sorted(_targets(self.log), key=itemgetter(0))
        for at, target in in_time:
            last_run = self._live(at, last_run)
            self._ask(at, target)
        self._survive(last_run)
        self._try("closing", self.memory.close)
        self.trial.cpu_seconds = dict(self.memory.seconds)
        self.trial.problems = dict(self.problems.most_common(_MOST_PROBLEMS))
        return self.trial

    def _live(self, until: int, last_run: int) -> int:
        """Observe what happened up to a time, with maintenance in between.

        Return the time of the last maintenance.
        """
        step = int(self.plan.every_days * MICROSECONDS_PER_DAY)
        while last_run + step < until:
            last_run += step
            self._observe(last_run)
            self._maintain(last_run)
        self._observe(until)
        return last_run

    def _observe(self, until: int) -> None:
        events = self.log.events
        end = self.taken
        while end < len(events) and events[end].at <= until:
            end += 1
        if end > self.taken:
            new = events[self.taken : end]
            self.taken = end
            self.known.update(event.id for event in new)
            self._try("observing", lambda: self.memory.call("observe", new))

    def _maintain(self, now: int) -> None:
        self._try("maintenance", lambda: self.memory.call("consolidate", now))

    def _ask(self, at: int, target: Target) -> None:
        """Ask the memory at a time, and note what it gave and its size."""
        if hasattr(self.memory.memory, "reveal"):
            self._try("reveal", lambda: self.memory.call("reveal", target))
        if self.projects.are_several:
            project = self.projects.asking(target)
            self._try("enter", lambda: self.memory.call("enter", project))
        self.trial.given += _answers(target, at, self.plan, self._items, self.projects)
        size = self._try("size", lambda: self.memory.call("size"))
        if size:
            self.trial.sizes.append((at, int(size)))

    def _enter(self, target: Target) -> None:
        """Tell the memory in which project it is asked, where there are several."""
        if self.projects.are_several:
            project = self.projects.asking(target)
            self._try("enter", lambda: self.memory.call("enter", project))

    def _items(
        self, mode: str, arguments: tuple[Any, ...], budget: int
    ) -> Sequence[Item]:
        """Return what the memory gives, none where the answer may not count."""

        def call() -> Sequence[Item]:
            return checked(
                self.memory.items(mode, *arguments),
                self.known,
                budget,
            )

        return self._try(mode, call) or []

    def _survive(self, last_run: int) -> None:
        """Ask a sample of the questions again after maintenances without events."""
        probes = []
        for probe in self.log.probes:
            if probe.answers and probe.query.strip():
                probes.append(probe)
        if not probes:
            return
        generator = np.random.default_rng(self.plan.seed)
        rows = generator.permutation(len(probes))
        sample = [probes[row] for row in rows[:MOST_SURVIVORS]]
        last = max(last_run, max(probe.at for probe in probes))
        step = int(self.plan.every_days * MICROSECONDS_PER_DAY)
        for number in range(MAINTENANCE_RUNS[-1] + 1):
            now = last + number * step
            if number:
                self._maintain(now)
            if number in (0, *MAINTENANCE_RUNS):
                self.trial.survivors[str(number)] = self._share_answered(sample, now)

    def _share_answered(self, probes: Sequence[EvalQuery], now: int) -> float:
        """Return the share of probes for which some evidence comes back."""
        moderate = [tokens for tokens in self.plan.budgets if tokens <= 2_000]
        budget = max(moderate, default=self.plan.budgets[0])
        are_answered = []
        for probe in probes:
            self._enter(probe)
            items = self._items(RETRIEVE, (probe.query, now, budget), budget)
            recall = score_probe(probe, items)["evidence_recall"]
            are_answered.append(recall > 0)
        return float(np.mean(are_answered))

    def _try(self, activity: str, call: Callable[[], Any]) -> Any:
        """Return what a call gives, None where it failed.

        Then the problem is noted, and the memory gave nothing.
        """
        try:
            return call()
        except MemoryFailure as error:
            self.problems[f"{activity}: {error}"] += 1
            return None
