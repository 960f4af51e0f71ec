"""What strategies are worth: the actions they foretell on tau-bench, the files and
commands they name in coding sessions.

A list of actions is scored against the gold one:

name      F1 of the names, each as often as it stands. argument  F1 of arguments, as
(name of the action, key, value); lists and objects count by what is in them. order
length of the longest common subsequence of the names, as a share of the longer list.

Two lists without actions agree wholly. What hooks recorded is scored, whose inputs end
after 300 characters.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.dreams import Ended
from theorex_lab.designs.dreams.consolidate import kind_of
from theorex_lab.designs.dreams.design import DESIGN
from theorex_lab.designs.dreams.lessons import call_of
from theorex_lab.designs.dreams.strategies import Strategy, vectors_of
from theorex_lab.designs.dreams.trajectories import Trajectory
from theorex_lab.eval.adapters.protocol import EvalLog
from theorex_lab.eval.datasets.logs import load_logs
from theorex_lab.eval.datasets.parsing import TauRun
from theorex_lab.eval.datasets.recorded_runs import fetch_taubench_airline
from theorex_lab.eval.metrics.retrieval import kept_embedder
from theorex_lab.eval.metrics.sessions import Scene, scenes, share
from theorex_lab.eval.replay.baselines import Baseline, Bm25, Files, ReplayAdapter
from theorex_lab.journal.event import Event
from theorex_lab.memory.intervals import bootstrap_mean, bootstrap_means
from theorex_lab.search.embed import Embedder
from theorex_lab.text.line import BYTES_PER_TOKEN, count_tokens

Result = dict[str, Any]
Rows = Mapping[str, Sequence[Sequence[float]]]  # by method
ACTION_SCORES = ("name", "argument", "order")
FOLDS = 5
TRIALS = 4
STRATEGIES = "strategies"  # the row that the others stand beside
LATE = 1_000_000  # µs after an event, when it is over
_TOKENS = 500
_OFTEN = 0.5
_COMMAND = re.compile(
    r"(?:^|&&|\|\|?|;|\n)\s*(?:\w+=\S*\s+)*([\w./-]+(?: [a-z][a-z-]+)?)"
)


def called(action: str) -> tuple[str, frozenset[tuple[str, str]]]:
    """The name and the arguments (key, value) of a recorded call.

    >>> called('book({"flights":[{"date":"2024-05-20"}],"nights": 2})')[1] == {
    ...     ("date", "2024-05-20"),
    ...     ("nights", "2"),
    ... }
    True
    """
    name, values = call_of(action)
    name = name or action.split(maxsplit=1)[0].partition("(")[0]
    return name, frozenset((key, value) for (key, _), value in values.items())


def score_actions(predicted: Sequence[str], gold: Sequence[str]) -> list[float]:
    """ACTION_SCORES of recorded calls against the right ones, each 0..1.

    >>> score_actions(['get({"id": 1})', 'cancel({"id": 1})'], ['cancel({"id": 1})'])[0]
    0.6666666666666666
    """
    ours, right = (
        [called(action) for action in actions] for actions in (predicted, gold)
    )
    names = [[name for name, _ in calls] for calls in (ours, right)]
    parts = [
        Counter((name, *leaf) for name, leaves in calls for leaf in leaves)
        for calls in (ours, right)
    ]
    longer = max(map(len, names))
    return [
        _f1(*map(Counter, names)),
        _f1(*parts),
        _common(*names) / longer if longer else 1.0,
    ]


def _f1(ours: Counter[Any], right: Counter[Any]) -> float:
    both = ours.total() + right.total()
    return 2 * (ours & right).total() / both if both else 1.0


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(second) + 1)
    for name in first:
        above = row
        row = [0]
        for index, other in enumerate(second):
            row.append(
                above[index] + 1 if name == other else max(above[index + 1], row[-1])
            )
    return row[-1]


@contextmanager
def dreaming(
    events: Sequence[Event], embedder: Embedder | None
) -> Iterator[ReplayAdapter]:
    """A home that lived through these events, and the night after them."""
    with closing(
        ReplayAdapter([DESIGN], embedder=embedder or kept_embedder())
    ) as memory:
        memory.observe(events)
        memory.consolidate(events[-1].at + LATE)
        yield memory


def first_messages(*trials: int) -> list[tuple[TauRun, str]]:
    """The runs of tau-bench in these trials, of all without any, each with what the
    user said first.
    """
    runs = [
        run
        for run in fetch_taubench_airline().runs
        if not trials or run.trial in trials
    ]
    return [
        (run, next(message.text for message in run.messages if message.role == "user"))
        for run in runs
    ]


def score_taubench(*, embedder: Embedder | None = None, seed: int = 0) -> list[Result]:
    """What the strategy recalled for a task's first message foretells: for tasks never
    seen, and for the same once more.

    The first: strategies of the successful trials of 40 tasks, asked for the other 10
    by the first message of each trial, five times. The second: of trials 0 to 2 of all
    tasks, asked by trial 3. A result each, as `beside_peers` makes it.
    """
    (log,), runs, used = (
        load_logs("taubench_airline"),
        first_messages(),
        embedder or kept_embedder(),
    )
    by_run: dict[str, list[Event]] = defaultdict(list)
    for event in log.events:
        by_run[event.session].append(event)
    won = [
        (run, by_run[f"trial{run.trial}-task{run.task}"])
        for run, _ in runs
        if run.reward == 1
    ]
    folds = [
        (
            [own for run, own in won if run.task % FOLDS != fold],
            [one for one in runs if one[0].task % FOLDS == fold],
        )
        for fold in range(FOLDS)
    ]
    repeat = (
        [own for run, own in won if run.trial < TRIALS - 1],
        first_messages(TRIALS - 1),
    )
    told = []
    for part, trials in {
        "other tasks": folds,
        "the same tasks in trial 3 (a repeat)": [repeat],
    }.items():
        rows: dict[str, list[list[float]]] = defaultdict(list)
        for learnt, asked in trials:
            with dreaming([*chain(*learnt)], used) as memory:
                for method, scored in chain(
                    *(_foretold(memory, run, query, used) for run, query in asked)
                ):
                    rows[method].append(scored)
        tasks = [run.task for _, asked in trials for run, _ in asked]
        found = beside_peers(rows, [*ACTION_SCORES, "recalled"], tasks, seed, 3)
        told.append({"dataset": f"taubench_airline, {part}", **found})
    return told


def _foretold(
    memory: ReplayAdapter, run: TauRun, query: str, embedder: Embedder
) -> Iterator[tuple[str, list[float]]]:
    """What each method says for a run's first message, scored."""
    gold = [
        f"{action.name}({json.dumps(action.arguments, ensure_ascii=False)})"
        for action in run.gold_actions
    ]
    trajectories = memory.lab.dreams.trajectories()
    texts = [trajectory.goal for trajectory in trajectories]
    vectors = embedder.embed([query, *texts])
    nearest = trajectories[int(np.argmax(vectors[1:] @ vectors[0]))]
    best = max(
        trajectories,
        key=lambda trajectory: sum(score_actions(_actions(trajectory), gold)),
    )
    strategy = memory.lab.dreams.query(query).entry_point
    methods = {
        STRATEGIES: [step.action for step in strategy.steps] if strategy else [],
        "nearest run by BM25": _actions(
            trajectories[int(np.argmax(Bm25().rank(query, texts)))]
        ),
        "nearest run by cosine": _actions(nearest),
        "most frequent actions": _frequent(trajectories),
        "best run, chosen by the gold": _actions(best),
    }
    for method, actions in methods.items():
        yield method, [*score_actions(actions, gold), float(bool(actions))]


def _actions(trajectory: Trajectory) -> list[str]:
    return [action.action for action in trajectory.actions]


def _frequent(trajectories: Sequence[Trajectory]) -> list[str]:
    """The calls that half of the runs make, each as it is made most often."""
    calls = [
        (called(action)[0], action)
        for trajectory in trajectories
        for action in _actions(trajectory)
    ]
    runs = Counter(
        name
        for trajectory in trajectories
        for name in {called(action)[0] for action in _actions(trajectory)}
    )
    frequent_names = [
        name for name, n in runs.most_common() if n >= _OFTEN * len(trajectories)
    ]
    return [
        Counter(action for other, action in calls if other == name).most_common(1)[0][0]
        for name in frequent_names
    ]


def beside_peers(
    rows: Rows, names: Sequence[str], groups: Sequence[Any], seed: int, first: int
) -> Result:
    """{n, metrics, baselines}: the mean of each column with its 95 % interval, drawn by
    group; `strategies` are the metrics.

    gain: by how much the mean of the first columns of `strategies` is above that of the
    row, paired.
    """
    ours = np.array(rows[STRATEGIES], float)
    figures = {}
    for method, score_rows in rows.items():
        values = np.array(score_rows, float)
        gain = (ours - values)[:, :first].mean(1, keepdims=True)
        intervals = zip(
            [*names, "gain"],
            bootstrap_means(np.hstack([values, gain]), seed=seed, groups=groups),
            strict=True,
        )
        figures[method] = {
            key: value
            for name, interval in intervals
            for key, value in interval.named(name).items()
        }
    return {"n": len(ours), "metrics": figures.pop(STRATEGIES), "baselines": figures}


def score_coding(
    log: str | EvalLog = "coding_sessions",
    *,
    embedder: Embedder | None = None,
    seed: int = 0,
) -> Result:
    """Does the strategy recalled for the first prompt name the files and commands that
    the session then uses?

    Shares of those known before; what was done before a session's start is remembered,
    and dreamt. Every method has as many tokens as the strategy takes, 500 at most;
    per_100: the mean of file and command for a hundred tokens. A result as
    `beside_peers` makes it. Raises InvalidInput for a log in which no session can be
    scored.
    """
    log = log if isinstance(log, EvalLog) else load_logs(log)[0]
    rows: dict[str, list[list[float]]] = defaultdict(list)
    with closing(
        ReplayAdapter([DESIGN], embedder=embedder or kept_embedder())
    ) as memory:
        peers: dict[str, Baseline] = {
            "BM25 over raw sessions": Bm25(),
            "recent files": Files(short=True),
        }
        known_commands = set[str]()
        n_past = 0
        for scene in scenes(log):
            new = [event for event in log.events[n_past:] if event.at < scene.at]
            n_past += len(new)
            memory.observe(new)
            memory.consolidate(scene.at)
            for peer in peers.values():
                peer.observe(new)
            known_commands |= commands_of(new)
            needed_commands = known_commands & commands_of(
                event for event in log.events if event.session == scene.session
            )
            if not (needed_commands and scene.files):
                continue
            strategy = memory.lab.dreams.query(scene.prompt).entry_point
            text = (
                "\n".join([strategy.summary, *(step.action for step in strategy.steps)])
                if strategy
                else ""
            )
            tokens = min(_TOKENS, count_tokens(text))
            items_by_peer = {
                name: peer.items(scene.at, scene.prompt, tokens)
                for name, peer in peers.items()
            }
            texts = {
                name: "\n".join(item.text for item in items)
                for name, items in items_by_peer.items()
            }
            for method, whole in {STRATEGIES: text, **texts}.items():
                rows[method].append(_named(scene, needed_commands, whole, tokens))
    if not rows:
        raise InvalidInput(
            f"got {log.name}, whose sessions use nothing known before; give a longer log of coding"
        )
    result = beside_peers(
        rows,
        ["file", "command", "per_100", "tokens"],
        range(len(rows[STRATEGIES])),
        seed,
        2,
    )
    return {"dataset": log.name, **result}


def _named(scene: Scene, commands: set[str], text: str, tokens: int) -> list[float]:
    text = text.encode()[: BYTES_PER_TOKEN * tokens].decode(errors="ignore")
    file = share(len(scene.named(text) & scene.files), len(scene.files))
    command = share(sum(command in text for command in commands), len(commands))
    return [file, command, 50 * (file + command) / max(tokens, 1), float(tokens)]


def commands_of(events: Iterable[Event]) -> set[str]:
    """The programs that shell calls run, each with its subcommand.

    >>> from theorex_lab.journal.event import new_event
    >>> body = {"tool": "Bash", "command": "cd pkg && go test ./... | tail -5"}
    >>> sorted(commands_of([new_event("tool_used", body, agent="main", at=1)]))
    ['cd pkg', 'go test', 'tail']
    """
    called = (
        event.body.get("command", "") for event in events if event.kind == "tool_used"
    )
    return {command for text in called for command in programs(text)}


def programs(command: str) -> list[str]:
    """The programs that a line of a shell runs, each with its subcommand, in their
    order.
    """
    return _COMMAND.findall(command)


_TOP = 3
_ALIKE = 0.5
_LOOKS = re.compile(r"get_|search_|list_|calculate|think|transfer_")
_TASK = re.compile(r"task(\d+)")
_SURVIVED = ["cycle", "dreamt", "strategies", "found", "readable"]


def survivors(
    log: str | EvalLog = "simulated_sessions",
    *,
    cycles: int = 10,
    embedder: Embedder | None = None,
) -> pd.DataFrame:
    """A log lived through in so many equal parts, with a night after each; a row a
    cycle.

    dreamt: trajectories so far.  strategies: that hold.  found: share of past goals
    that find their strategy among the first three.  readable: share of past steps, of
    ways that did not fail, that their strategy still has in kind, as a step or as a
    branch. Raises InvalidInput for cycles below 1, and for a log without as many
    events.
    """
    log = log if isinstance(log, EvalLog) else load_logs(log)[0]
    if not 0 < cycles <= len(log.events):
        raise InvalidInput(
            f"got {cycles} cycles of {len(log.events)} events; allowed are 1 up to one an event"
        )
    with closing(
        ReplayAdapter([DESIGN], embedder=embedder or kept_embedder())
    ) as memory:
        return pd.DataFrame(_lived(memory, log, cycles), columns=_SURVIVED)


def _lived(
    memory: ReplayAdapter, log: EvalLog, cycles: int
) -> Iterator[tuple[float, ...]]:
    dreams = memory.lab.dreams
    steps: set[tuple[str, str]] = set()
    for cycle, part in enumerate(
        np.array_split(np.arange(len(log.events)), cycles), start=1
    ):
        memory.observe([log.events[place] for place in part])
        memory.consolidate(log.events[part[-1]].at + LATE)
        told = {one.id: one.goal for one in dreams.trajectories()}
        known = {one.id: one for one in dreams.strategies(active=None)}
        made = [
            event.body
            for event in memory.lab.journal.tail(
                0, kinds=["strategy", "strategy_merged"]
            )
        ]
        goals = [
            (told[body["trajectory"]], body["strategy_id"])
            for body in made
            if body["trajectory"] in told
        ]
        steps |= {
            (one.id, step.action)
            for one in known.values()
            if one.outcome != Ended.FAILURE
            for step in one.steps
        }
        vectors = vectors_of(memory.lab.home, [goal for goal, _ in goals])
        near = [
            [name for name, _ in dreams.vectors.nearest(vector, _TOP)]
            for vector in vectors
        ]
        found = [
            _holder(known, name).id in top
            for (_, name), top in zip(goals, near, strict=True)
        ]
        kept = [
            kind_of(action) in _held(_holder(known, name)) for name, action in steps
        ]
        shares = (sum(has) / max(len(has), 1) for has in (found, kept))
        yield cycle, len(goals), sum(one.active for one in known.values()), *shares


def _holder(strategies: Mapping[str, Strategy], name: str) -> Strategy:
    """The strategy that one was taken into, itself where it was not."""
    return (
        _holder(strategies, strategies[name].absorbed_by)
        if strategies[name].absorbed_by
        else strategies[name]
    )


def _held(strategy: Strategy) -> set[str]:
    return {
        kind_of(step.action)
        for step in (*strategy.steps, *(branch.step for branch in strategy.branches))
    }


def score_constraints(
    *, embedder: Embedder | None = None, seed: int = 0
) -> dict[str, Any]:
    """Do constraints of trials 0 to 2 of tau-bench reach the context of similar tasks
    in trial 3, and of no other?

    A pair is what is asked, a task or the first prompt of one of as many simulated
    coding sessions, and a task with a constraint. It is similar where it is the same
    task, or where the names of the gold actions that change something are mostly alike
    (Jaccard .5). {dataset, n, metrics, baselines}: precision and recall over all pairs;
    same_task: recall for the task itself; stray: share of the pairs with coding
    sessions that are shown. The baseline shows everything.
    """
    asked, (log,), (other,) = (
        first_messages(TRIALS - 1),
        load_logs("taubench_airline"),
        load_logs("simulated_sessions"),
    )
    gold = {
        run.task: {
            done.name for done in run.gold_actions if not _LOOKS.match(done.name)
        }
        for run, _ in asked
    }
    prompts = {
        event.session: event.body["text"]
        for event in other.events[::-1]
        if event.kind == "prompt"
    }
    queries = [(run.task, text) for run, text in asked] + [
        (-1, text) for text in [*prompts.values()][: len(asked)]
    ]
    with dreaming(
        [event for event in log.events if not event.session.startswith("trial3")],
        embedder,
    ) as memory:
        own = [
            one
            for strategy in memory.lab.dreams.strategies()
            for one in strategy.constraints
        ]
        told = {one.id: int(_TASK.findall(one.trajectory)[0]) for one in own}
        shown = [
            {told.get(item) for item in memory.lab.context(text).items}
            for _, text in queries
        ]
    pairs = [
        (number, queries[number][0], of, of in shown[number])
        for number in range(len(queries))
        for of in sorted({*told.values()})
    ]
    rows = np.array(
        [
            (number, _alike(gold, task, of), task == of, task < 0, has)
            for number, task, of, has in pairs
        ]
    )
    about = {
        "dataset": "taubench_airline, constraints",
        "n": len(rows),
        "constraints": len(told),
    }
    everything = _reach(rows[:, :4], np.ones(len(rows)), seed)
    return {
        **about,
        "metrics": _reach(rows[:, :4], rows[:, 4], seed),
        "baselines": {"everything": everything},
    }


def _alike(gold: Mapping[int, set[str]], task: int, other_task: int) -> bool:
    left = gold.get(task, set())
    right = gold[other_task]
    return task == other_task or (
        bool(left & right) and len(left & right) >= _ALIKE * len(left | right)
    )


def _reach(rows: Any, is_shown: Any, seed: int) -> dict[str, float]:
    number, is_similar, is_same, is_stray = rows.T
    among = {
        "precision": (is_shown, is_similar),
        "recall": (is_similar, is_shown),
        "same_task": (is_same, is_shown),
        "stray": (is_stray, is_shown),
    }
    figures: dict[str, float] = {}
    for name, (counted, values) in among.items():
        if (rows_counted := counted.astype(bool)).any():
            figures |= bootstrap_mean(
                values[rows_counted], seed, number[rows_counted]
            ).named(name)
    return figures


def made_up() -> dict[str, Any]:
    """Traces of an agent's work in twelve fields, made up after those of Evolving
    Memory, by name.
    """
    return dict(
        json.loads(
            Path(__file__).with_name("dream_traces.json").read_text(encoding="utf-8")
        )
    )
