"""What dreams keep: goals and steps over many cycles, and constraints where they belong."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from theorex_lab.design import Log
from theorex_lab.designs.dreams import Ended
from theorex_lab.designs.dreams.consolidate import kind_of
from theorex_lab.designs.dreams.design import DESIGN
from theorex_lab.designs.dreams.strategies import Strategy, vectors_of
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data.logs import load_logs
from theorex_lab.experiments.replay.baselines import Housed
from theorex_lab.experiments.scores.retrieval import kept_embedder
from theorex_lab.experiments.scores.strategies import LATE, TRIALS, dreaming, first_messages
from theorex_lab.memory.intervals import bootstrap_mean
from theorex_lab.search.embed import Embedder

_TOP, _ALIKE = 3, 0.5
_LOOKS = re.compile(r"get_|search_|list_|calculate|think|transfer_")
_TASK = re.compile(r"task(\d+)")
_SURVIVED = ["cycle", "dreamt", "strategies", "found", "readable"]


def survivors(log: str | Log = "simulated_sessions", *, cycles: int = 10, embedder: Embedder | None = None) -> pd.DataFrame:  # fmt: skip
    """A log lived through in so many equal parts, with a night after each; a row a cycle.

    dreamt: trajectories so far.  strategies: that hold.  found: share of past goals that find their strategy among the first
    three.  readable: share of past steps, of ways that did not fail, that their strategy still has in kind, as a step or as a
    branch. Raises InvalidInput for
    cycles below 1, and for a log without as many events.
    """
    log = log if isinstance(log, Log) else load_logs(log)[0]
    if not 0 < cycles <= len(log.events):
        raise InvalidInput(f"got {cycles} cycles of {len(log.events)} events; allowed are 1 up to one an event")
    with closing(Housed([DESIGN], embedder=embedder or kept_embedder())) as memory:
        return pd.DataFrame(_lived(memory, log, cycles), columns=_SURVIVED)


def _lived(memory: Housed, log: Log, cycles: int) -> Iterator[tuple[float, ...]]:
    dreams = memory.lab.dreams
    steps: set[tuple[str, str]] = set()
    for cycle, part in enumerate(np.array_split(np.arange(len(log.events)), cycles), start=1):
        memory.observe([log.events[place] for place in part])
        memory.consolidate(log.events[part[-1]].at + LATE)
        told = {one.id: one.goal for one in dreams.trajectories()}
        known = {one.id: one for one in dreams.strategies(active=None)}
        made = [event.body for event in memory.lab.journal.tail(0, kinds=["strategy", "strategy_merged"])]
        goals = [(told[body["trajectory"]], body["strategy_id"]) for body in made if body["trajectory"] in told]
        steps |= {(one.id, step.action) for one in known.values() if one.outcome != Ended.FAILURE for step in one.steps}
        vectors = vectors_of(memory.lab.home, [goal for goal, _ in goals])
        near = [[name for name, _ in dreams.vectors.nearest(vector, _TOP)] for vector in vectors]
        found = [_holder(known, name).id in top for (_, name), top in zip(goals, near, strict=True)]
        kept = [kind_of(action) in _held(_holder(known, name)) for name, action in steps]
        shares = (sum(has) / max(len(has), 1) for has in (found, kept))
        yield cycle, len(goals), sum(one.active for one in known.values()), *shares


def _holder(known: Mapping[str, Strategy], name: str) -> Strategy:
    """The strategy that one was taken into, itself where it was not."""
    return _holder(known, known[name].absorbed_by) if known[name].absorbed_by else known[name]


def _held(strategy: Strategy) -> set[str]:
    return {kind_of(step.action) for step in (*strategy.steps, *(branch.step for branch in strategy.branches))}


def score_constraints(*, embedder: Embedder | None = None, seed: int = 0) -> dict[str, Any]:
    """Do constraints of trials 0 to 2 of tau-bench reach the context of similar tasks in trial 3, and of no other?

    A pair is what is asked, a task or the first prompt of one of as many simulated coding sessions, and a task with a
    constraint. It is similar where it is the same task, or where the names of the gold actions that change something are
    mostly alike (Jaccard .5). {dataset, n, metrics, baselines}: precision and recall over all pairs; same_task: recall for the
    task itself; stray: share of the pairs with coding sessions that are shown. The baseline shows everything.
    """
    asked, (log,), (other,) = first_messages(TRIALS - 1), load_logs("taubench_airline"), load_logs("simulated_sessions")
    gold = {run.task: {done.name for done in run.gold_actions if not _LOOKS.match(done.name)} for run, _ in asked}
    prompts = {event.session: event.body["text"] for event in other.events[::-1] if event.kind == "prompt"}
    queries = [(run.task, text) for run, text in asked] + [(-1, text) for text in [*prompts.values()][: len(asked)]]
    with dreaming([event for event in log.events if not event.session.startswith("trial3")], embedder) as memory:
        own = [one for strategy in memory.lab.dreams.strategies() for one in strategy.constraints]
        told = {one.id: int(_TASK.findall(one.trajectory)[0]) for one in own}
        shown = [{told.get(item) for item in memory.lab.context(text).items} for _, text in queries]
    pairs = [(number, queries[number][0], of, of in shown[number])
             for number in range(len(queries)) for of in sorted({*told.values()})]  # fmt: skip
    rows = np.array([(number, _alike(gold, task, of), task == of, task < 0, has) for number, task, of, has in pairs])
    about = {"dataset": "taubench_airline, constraints", "n": len(rows), "constraints": len(told)}
    everything = _reach(rows[:, :4], np.ones(len(rows)), seed)
    return {**about, "metrics": _reach(rows[:, :4], rows[:, 4], seed), "baselines": {"everything": everything}}


def _alike(gold: Mapping[int, set[str]], task: int, of: int) -> bool:
    one, other = gold.get(task, set()), gold[of]
    return task == of or (bool(one & other) and len(one & other) >= _ALIKE * len(one | other))


def _reach(rows: Any, given: Any, seed: int) -> dict[str, float]:
    number, near, same, strange = rows.T
    among = {"precision": (given, near), "recall": (near, given), "same_task": (same, given), "stray": (strange, given)}
    told: dict[str, float] = {}
    for name, (chosen, values) in among.items():
        if (kept := chosen.astype(bool)).any():
            told |= bootstrap_mean(values[kept], seed, number[kept]).named(name)
    return told


def made_up() -> dict[str, Any]:
    """Traces of an agent's work in twelve fields, made up after those of Evolving Memory, by name."""
    return dict(json.loads(Path(__file__).with_name("dream_traces.json").read_text(encoding="utf-8")))
