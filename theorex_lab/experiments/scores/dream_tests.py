"""What dreams keep: goals and steps over many cycles, constraints where they belong, and the document's twelve tests, offline."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from theorex_lab.design import Log
from theorex_lab.designs.dreams.design import DESIGN
from theorex_lab.designs.dreams.strategies import Strategy, vectors_of
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data.datasets import fetch_taubench_airline
from theorex_lab.experiments.data.logs import load_logs
from theorex_lab.experiments.replay.memories import Housed
from theorex_lab.experiments.scores.retrieval import kept_embedder
from theorex_lab.experiments.scores.strategies import LATE, TRIALS, dreaming
from theorex_lab.lab import Lab
from theorex_lab.memory.intervals import bootstrap_mean
from theorex_lab.search.embed import Embedder

if TYPE_CHECKING:
    import pandas as pd

_TOP, _ALIKE = 3, 0.5
_LOOKS = re.compile(r"get_|search_|list_|calculate|think|transfer_")
_TASK = re.compile(r"task(\d+)")


class Cycle(NamedTuple):
    """After a cycle: trajectories dreamt so far, strategies that hold, and what is still there of all that ever was.

    found: share of past goals that find their strategy among the first three.  readable: share of past steps that their
    strategy still has, as a step or as a branch.
    """

    cycle: int
    dreamt: int
    strategies: int
    found: float
    readable: float


def survivors(dataset: str | Log = "simulated_sessions", *, cycles: int = 10, embedder: Embedder | None = None) -> pd.DataFrame:
    """A log lived through in so many equal parts, with a night after each; a row a `Cycle`.

    Raises InvalidInput for cycles below 1, and for a log without as many events.
    """
    import pandas as pd

    log = dataset if isinstance(dataset, Log) else load_logs(dataset)[0]
    if not 0 < cycles <= len(log.events):
        raise InvalidInput(f"got {cycles} cycles of {len(log.events)} events; allowed are 1 up to one an event")
    with closing(Housed([DESIGN], embedder=embedder or kept_embedder())) as memory:
        return pd.DataFrame(_lived(memory, log, cycles), columns=Cycle._fields)


def _lived(memory: Housed, log: Log, cycles: int) -> Iterator[Cycle]:
    dreams, home = memory.lab.dreams, memory.lab.home
    goals: dict[str, tuple[str, str]] = {}  # by trajectory, its goal and the strategy that it was taken into
    steps: set[tuple[str, str]] = set()
    for cycle, part in enumerate(np.array_split(np.arange(len(log.events)), cycles), start=1):
        memory.observe([log.events[place] for place in part])
        memory.consolidate(log.events[part[-1]].at + LATE)
        told = {one.id: one.goal for one in dreams.trajectories()}
        for event in memory.lab.journal.tail(0, kinds=["strategy", "strategy_merged"]):
            if goal := told.get(event.body["trajectory"]):
                goals[event.body["trajectory"]] = goal, event.body["strategy_id"]
        known = {one.id: one for one in dreams.strategies(active=None)}
        steps |= {(one.id, step.action) for one in known.values() if one.active for step in one.steps}
        vectors = vectors_of(home, [goal for goal, _ in goals.values()])
        near = [{named for named, _ in dreams.vectors.nearest(vector, _TOP)} for vector in vectors]
        found = [_holder(known, named).id in top for (_, named), top in zip(goals.values(), near, strict=True)]
        kept = [action in _held(_holder(known, named)) for named, action in steps]
        active = sum(one.active for one in known.values())
        yield Cycle(cycle, len(goals), active, *(float(np.mean(has or [1.0])) for has in (found, kept)))


def _holder(known: Mapping[str, Strategy], named: str) -> Strategy:
    """The strategy that one was taken into, itself where it was not."""
    while known[named].absorbed_by:
        named = known[named].absorbed_by
    return known[named]


def _held(strategy: Strategy) -> set[str]:
    return {step.action for step in (*strategy.steps, *(branch.step for branch in strategy.branches))}


def score_constraints(*, embedder: Embedder | None = None, seed: int = 0) -> dict[str, Any]:
    """Do constraints of trials 0 to 2 of tau-bench reach the context of similar tasks in trial 3, and of no other?

    A pair is a task with a constraint and a task that is asked for. It is similar where it is the same task, or where the
    gold actions that change something are mostly alike (Jaccard of their names, .5). {dataset, n, metrics, baselines}:
    precision and recall over all pairs; same_task, its recall for the task itself; stray, the share of pairs with the first
    prompts of simulated coding sessions that are shown. The baseline shows every constraint to every task.
    """
    runs, (log,) = fetch_taubench_airline().runs, load_logs("taubench_airline")
    gold = {run.task: {action.name for action in run.gold_actions if not _LOOKS.match(action.name)} for run in runs}
    last = [run for run in runs if run.trial == TRIALS - 1]
    asked = {run.task: next(said.text for said in run.messages if said.role == "user") for run in last}
    (other,) = load_logs("simulated_sessions")
    strange = list({event.session: event.body["text"] for event in other.events[::-1] if event.kind == "prompt"}.values())
    early = [event for event in log.events if not event.session.startswith(f"trial{TRIALS - 1}")]
    with dreaming(early, embedder or kept_embedder()) as memory:
        told = {one.id: _task(one.trajectory) for own in memory.lab.dreams.strategies() for one in own.constraints}
        shown = {task: _shown(memory.lab, query, told) for task, query in asked.items()}
        stray = [len(_shown(memory.lab, query, told)) / len({*told.values()}) for query in strange[: len(asked)]]
    pairs = [(task, of) for task in asked for of in sorted({*told.values()})]
    alike = [task == of or _jaccard(gold[task], gold[of]) >= _ALIKE for task, of in pairs]
    given = {"context": [of in shown[task] for task, of in pairs], "everything": [True] * len(pairs)}
    rows = {name: _reach(pairs, alike, has, seed) for name, has in given.items()}
    rows["context"] |= bootstrap_mean(stray, seed).named("stray")
    rows["everything"] |= dict.fromkeys(("stray", "stray_low", "stray_high"), 1.0)
    return {
        "dataset": "taubench_airline, constraints", "n": len(pairs), "constraints": len(told), "metrics": rows.pop("context"),
        "baselines": rows,
    }  # fmt: skip


def _task(trajectory: str) -> int:
    found = _TASK.search(trajectory)
    return int(found[1]) if found else -1


def _shown(lab: Lab, query: str, told: Mapping[str, int]) -> set[int]:
    """The tasks whose constraints stand in the context for a query."""
    return {told[item] for item in lab.context(query=query).items if item in told}


def _jaccard(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0


def _reach(pairs: Sequence[tuple[int, int]], alike: Sequence[bool], given: Sequence[bool], seed: int) -> dict[str, float]:
    rows = [*zip(pairs, alike, given, strict=True)]
    chosen = {
        "precision": [(asked, near) for (asked, _), near, has in rows if has],
        "recall": [(asked, has) for (asked, _), near, has in rows if near],
        "same_task": [(asked, has) for (asked, of), _, has in rows if asked == of],
    }
    told: dict[str, float] = {}
    for name, found in chosen.items():
        groups, values = zip(*(found or [(0, 0.0)]), strict=True)
        told |= bootstrap_mean(values, seed, groups).named(name)
    return told


def hypotheses(*, embedder: Embedder | None = None) -> pd.DataFrame:
    """The document's twelve tests without a paid model: columns test, document, ours, passes.

    Its traces are told here in our words, with its goals and queries. It passes where what a test is about holds, whatever
    the figures.
    """
    import pandas as pd

    told = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    used, rows = embedder or kept_embedder(), []
    for test in told["tests"]:
        ours = _cosines(used, test["texts"]) if "texts" in test else _tried(used, test, told["traces"])
        passes = all(ours[name] >= least for name, least in test["needs"].items())
        rows.append((test["test"], *(_row(test["document"], of) for of in (test["document"], ours)), passes))
    return pd.DataFrame(rows, columns=["test", "document", "ours", "passes"])


def _row(names: Mapping[str, float], values: Mapping[str, float]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {values[name]:.4g}" for name in names)


def _cosines(embedder: Embedder, texts: Sequence[str]) -> dict[str, float]:
    one, near, other, far = embedder.embed(texts)
    found = {"near": float(one @ near), "far": float(other @ far)}
    return {**found, "gap": found["near"] - found["far"]}


def _tried(embedder: Embedder, test: Mapping[str, Any], traces: Mapping[str, Any]) -> dict[str, float]:
    """A day for each trace with a night after it, then the queries."""
    ours: Counter[str] = Counter()
    with Lab.temporary(embedder=embedder) as lab:
        for name in test["traces"]:
            acts = [dict(zip(("reasoning", "action", "result", "ok"), act, strict=False)) for act in traces[name]["actions"]]
            lab.dreams.capture(traces[name]["goal"], acts, outcome=traces[name].get("outcome", "success"))
            ours.update({key: value for key, value in lab.dreams.dream().to_dict().items() if type(value) is int})
        found = [(lab.dreams.query(query), traces[name]["goal"]) for query, name in test.get("queries", {}).items()]
    right = [one for one, goal in found if one.entry is not None and goal in one.entry.goals]
    first = right[0] if right else None
    return defaultdict(float, ours) | {
        "right": len(right), "confidence": first.confidence if first else 0.0,
        "steps": len(first.entry.steps) if first and first.entry else 0,
    }  # fmt: skip
