"""Score what strategies are worth.

They predict actions on tau-bench, and name files and commands in coding sessions. A
list of actions is scored against the gold one:

* name: F1 of the names, each as often as it stands.
* argument: F1 of arguments, as (name of the action, key, value); lists and objects
  count by what is in them.
* order: the length of the longest common subsequence of the names, as a share of the
  longer list.

Two lists without actions agree wholly. What hooks recorded is scored, whose inputs end
after 300 characters.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.remembering import remembered
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
from theorex_lab.memory.briefing.design_lines import design_candidates
from theorex_lab.memory.intervals import bootstrap_mean, bootstrap_means
from theorex_lab.search.embed import Embedder, Matrix
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


@remembered(1 << 12)
def called(action: str) -> tuple[str, frozenset[tuple[str, str]]]:
    """Return the name and the arguments (key, value) of a recorded call.

    >>> called('book({"flights":[{"date":"2024-05-20"}],"nights": 2})')[1] == {
    ...     ("date", "2024-05-20"),
    ...     ("nights", "2"),
    ... }
    True
    """
    name, values = call_of(action)
    if not name:
        first_word = action.split(maxsplit=1)[0]
        name = first_word.partition("(")[0]
    arguments = frozenset((key, value) for (key, _), value in values.items())
    return name, arguments


def score_actions(predicted: Sequence[str], gold: Sequence[str]) -> list[float]:
    """Return the ACTION_SCORES of recorded calls against the right ones, each 0..1.

    >>> score_actions(['get({"id": 1})', 'cancel({"id": 1})'], ['cancel({"id": 1})'])[0]
    0.6666666666666666
    """
    predicted_calls = [called(action) for action in predicted]
    gold_calls = [called(action) for action in gold]
    predicted_names = [name for name, _ in predicted_calls]
    gold_names = [name for name, _ in gold_calls]
    longer = max(len(predicted_names), len(gold_names))
    n_in_order = _common(predicted_names, gold_names)
    return [
        _f1(Counter(predicted_names), Counter(gold_names)),
        _f1(_count_arguments(predicted_calls), _count_arguments(gold_calls)),
        n_in_order / longer if longer else 1.0,
    ]


def _count_arguments(
    calls: Iterable[tuple[str, frozenset[tuple[str, str]]]],
) -> Counter[tuple[str, str, str]]:
    """Count the arguments of calls, as (name of the call, key, value)."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for name, arguments in calls:
        counts.update((name, key, value) for key, value in arguments)
    return counts


def _f1(ours: Counter[Any], right: Counter[Any]) -> float:
    """Return the F1 of two counts, 1 where both are empty."""
    both = ours.total() + right.total()
    if not both:
        return 1.0
    n_hits = (ours & right).total()
    return 2 * n_hits / both


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence."""
    row = [0] * (len(second) + 1)
    for name in first:
        above = row
        row = [0]
        for index, other in enumerate(second):
            length = max(above[index + 1], row[-1])
            if name == other:
                length = above[index] + 1
            row.append(length)
    return row[-1]


@contextmanager
def dreaming(
    events: Sequence[Event], embedder: Embedder | None
) -> Iterator[ReplayAdapter]:
    """Yield a home after the replay of these events and a maintenance."""
    with closing(_dreams_adapter(embedder)) as memory:
        memory.observe(events)
        memory.consolidate(events[-1].at + LATE)
        yield memory


def _dreams_adapter(embedder: Embedder | None) -> ReplayAdapter:
    """Return a home with the design of dreams; None is the installed embedder."""
    return ReplayAdapter([DESIGN], embedder=embedder or kept_embedder())


def first_messages(*trials: int) -> list[tuple[TauRun, str]]:
    """Return the runs of tau-bench in these trials, each with the user's first message.

    Without trials, those of all are returned.
    """
    messages = []
    for run in fetch_taubench_airline().runs:
        if trials and run.trial not in trials:
            continue
        of_user = [message for message in run.messages if message.role == "user"]
        messages.append((run, of_user[0].text))
    return messages


class _Fold(NamedTuple):
    """Runs to learn strategies from, and the runs that are then asked for.

    Attributes:
        learnt: The events of each run that is learnt from.
        queries: The runs that are asked for, each with the user's first message.
    """

    learnt: list[list[Event]]
    queries: list[tuple[TauRun, str]]


def score_taubench(*, embedder: Embedder | None = None, seed: int = 0) -> list[Result]:
    """Return what the strategy recalled for a task's first message predicts.

    The first result is of tasks never seen: strategies of the successful trials of 40
    tasks are asked for the other 10 by the first message of each trial, five times. The
    second is of the same tasks once more: strategies of trials 0 to 2 of all tasks are
    asked for by trial 3. Each result is as `beside_peers` makes it.
    """
    (log,) = load_logs("taubench_airline")
    embedder_used = embedder or kept_embedder()
    runs = first_messages()
    successes = _successful_runs(log, runs)
    earlier_trials = []
    for run, events in successes:
        if run.trial < TRIALS - 1:
            earlier_trials.append(events)
    folds_by_part = {
        "other tasks": [_fold(successes, runs, fold) for fold in range(FOLDS)],
        "the same tasks in trial 3 (a repeat)": [
            _Fold(earlier_trials, first_messages(TRIALS - 1))
        ],
    }
    results = []
    for part, folds in folds_by_part.items():
        result = _score_folds(folds, embedder_used, seed)
        results.append({"dataset": f"taubench_airline, {part}", **result})
    return results


def _successful_runs(
    log: EvalLog, runs: Sequence[tuple[TauRun, str]]
) -> list[tuple[TauRun, list[Event]]]:
    """Return the runs that earned their reward, each with its events."""
    by_session: dict[str, list[Event]] = defaultdict(list)
    for event in log.events:
        by_session[event.session].append(event)
    successes = []
    for run, _ in runs:
        if run.reward == 1:
            session = f"trial{run.trial}-task{run.task}"
            successes.append((run, by_session[session]))
    return successes


def _fold(
    successes: Sequence[tuple[TauRun, list[Event]]],
    runs: Sequence[tuple[TauRun, str]],
    fold: int,
) -> _Fold:
    """Return the runs of a fold's tasks as queries, and those of all other tasks."""
    learnt = []
    for run, events in successes:
        if run.task % FOLDS != fold:
            learnt.append(events)
    queries = []
    for run, query in runs:
        if run.task % FOLDS == fold:
            queries.append((run, query))
    return _Fold(learnt, queries)


def _score_folds(
    folds: Sequence[_Fold],
    embedder: Embedder,
    seed: int,
) -> Result:
    rows: dict[str, list[list[float]]] = defaultdict(list)
    tasks: list[int] = []
    for fold in folds:
        with dreaming([*chain(*fold.learnt)], embedder) as memory:
            dreams = memory.lab.dreams
            learnt = _Learnt.of(dreams.trajectories(), embedder)
            for run, query in fold.queries:
                tasks.append(run.task)
                strategy = dreams.query(query).entry_point
                for method, scores in _predicted(learnt, strategy, run, query):
                    rows[method].append(scores)
    names = [*ACTION_SCORES, "recalled"]
    return beside_peers(rows, names, tasks, seed=seed, first=len(ACTION_SCORES))


class _Learnt(NamedTuple):
    """The runs of a home that was taught, which all queries of a fold are asked of.

    Attributes:
        actions: What was done in each run.
        goals: What each run was to reach.
        vectors: The vectors of the goals.
        frequent: The calls that half of the runs make.
        embedder: What the goals were embedded by.
        best_actions: By the right calls that were asked for, what `best_for` returned:
            all trials of a task have the same.
    """

    actions: list[list[str]]
    goals: list[str]
    vectors: Matrix
    frequent: list[str]
    embedder: Embedder
    best_actions: dict[tuple[str, ...], list[str]]

    @classmethod
    def of(cls, trajectories: Sequence[Trajectory], embedder: Embedder) -> Self:
        """Return what is compared of these trajectories."""
        actions = [_actions(trajectory) for trajectory in trajectories]
        goals = [trajectory.goal for trajectory in trajectories]
        return cls(
            actions=actions,
            goals=goals,
            vectors=embedder.embed(goals),
            frequent=_frequent(actions),
            embedder=embedder,
            best_actions={},
        )

    def best_for(self, gold: Sequence[str]) -> list[str]:
        """Return what was done in the run whose calls are most like the right ones."""
        right_calls = tuple(gold)
        best = self.best_actions.get(right_calls)
        if best is None:
            best = max(
                self.actions,
                key=lambda actions: sum(
                    score_actions(actions, gold),
                ),
            )
            self.best_actions[right_calls] = best
        return best


def _predicted(
    learnt: _Learnt, strategy: Strategy | None, run: TauRun, query: str
) -> Iterator[tuple[str, list[float]]]:
    """Yield what each method predicts for a run's first message, scored."""
    gold = []
    for action in run.gold_actions:
        arguments = json.dumps(action.arguments, ensure_ascii=False)
        gold.append(f"{action.name}({arguments})")
    (query_vector,) = learnt.embedder.embed([query])
    cosines = learnt.vectors @ query_vector
    nearest = int(np.argmax(cosines))
    similarities = Bm25().rank(query, learnt.goals)
    nearest_by_words = int(np.argmax(similarities))

    strategy_actions = []
    if strategy:
        strategy_actions = [step.action for step in strategy.steps]
    methods = {
        STRATEGIES: strategy_actions,
        "nearest run by BM25": learnt.actions[nearest_by_words],
        "nearest run by cosine": learnt.actions[nearest],
        "most frequent actions": learnt.frequent,
        "best run, chosen by the gold": learnt.best_for(gold),
    }
    for method, actions in methods.items():
        is_recalled = float(bool(actions))
        yield method, [*score_actions(actions, gold), is_recalled]


def _actions(trajectory: Trajectory) -> list[str]:
    return [action.action for action in trajectory.actions]


def _frequent(runs: Sequence[Sequence[str]]) -> list[str]:
    """Return the calls that half of the runs make, each in its most frequent form."""
    n_runs: Counter[str] = Counter()
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    for actions in runs:
        names = set()
        for action in actions:
            name = called(action)[0]
            names.add(name)
            forms[name][action] += 1
        n_runs.update(names)
    least = _OFTEN * len(runs)
    frequent_actions = []
    for name, n in n_runs.most_common():
        if n >= least:
            ((action, _),) = forms[name].most_common(1)
            frequent_actions.append(action)
    return frequent_actions


def beside_peers(
    rows: Rows,
    names: Sequence[str],
    groups: Sequence[Any],
    *,
    seed: int,
    first: int,
) -> Result:
    """Return {n, metrics, baselines}; `strategies` are the metrics.

    Each figure is the mean of a column with its 95 % interval, drawn by group. gain: by
    how much the mean of the first columns of `strategies` is above that of the row,
    paired.

    Args:
        rows: The scores of each query, by method.
        names: The names of the columns.
        groups: The group of each query, such as its task.
        seed: Draws the intervals.
        first: How many columns count for the gain.
    """
    ours = np.array(rows[STRATEGIES], float)
    figures: dict[str, dict[str, float]] = {}
    for method, score_rows in rows.items():
        values = np.array(score_rows, float)
        differences = ours - values
        gain = differences[:, :first].mean(1, keepdims=True)
        columns = np.hstack([values, gain])
        intervals = bootstrap_means(columns, seed=seed, groups=groups)
        figures[method] = {}
        for name, interval in zip([*names, "gain"], intervals, strict=True):
            figures[method].update(interval.named(name))
    return {
        "n": len(ours),
        "metrics": figures.pop(STRATEGIES),
        "baselines": figures,
    }


def score_coding(
    log: str | EvalLog = "coding_sessions",
    *,
    embedder: Embedder | None = None,
    seed: int = 0,
) -> Result:
    """Score whether the strategy recalled for the first prompt names what is used then.

    Scores are shares of the session's files and commands among those known before. What
    was done before a session's start is remembered, and dreamt. Every method has as
    many tokens as the strategy takes, 500 at most; per_100: the mean of file and
    command for a hundred tokens. The result is as `beside_peers` makes it.

    Raises:
        InvalidInput: No session of the log can be scored.
    """
    if isinstance(log, str):
        log = load_logs(log)[0]
    with closing(_dreams_adapter(embedder)) as memory:
        rows = _coding_rows(memory, log)
    if not rows:
        raise InvalidInput(
            f"got {log.name}, whose sessions use nothing known before; give a longer"
            " log of coding"
        )
    names = ["file", "command", "per_100", "tokens"]
    sessions = range(len(rows[STRATEGIES]))
    result = beside_peers(rows, names, sessions, seed=seed, first=2)
    return {"dataset": log.name, **result}


def _coding_rows(memory: ReplayAdapter, log: EvalLog) -> dict[str, list[list[float]]]:
    """Return by method the scores of each session that uses what was known before."""
    peers: dict[str, Baseline] = {
        "BM25 over raw sessions": Bm25(),
        "recent files": Files(short=True),
    }
    rows: dict[str, list[list[float]]] = defaultdict(list)
    known_commands: set[str] = set()
    n_past = 0
    for scene in scenes(log):
        new = [event for event in log.events[n_past:] if event.at < scene.at]
        n_past += len(new)
        memory.observe(new)
        memory.consolidate(scene.at)
        for peer in peers.values():
            peer.observe(new)
        known_commands |= commands_of(new)
        of_session = [event for event in log.events if event.session == scene.session]
        needed_commands = known_commands & commands_of(of_session)
        if not needed_commands or not scene.files:
            continue
        tokens, texts = _texts_by_method(memory, peers, scene)
        for method, text in texts.items():
            rows[method].append(_named(scene, needed_commands, text, tokens))
    return rows


def _texts_by_method(
    memory: ReplayAdapter, peers: Mapping[str, Baseline], scene: Scene
) -> tuple[int, dict[str, str]]:
    """Return the tokens that the strategy takes, and what each method gives in them."""
    strategy = memory.lab.dreams.query(scene.prompt).entry_point
    text = ""
    if strategy:
        actions = [step.action for step in strategy.steps]
        text = "\n".join([strategy.summary, *actions])
    tokens = min(_TOKENS, count_tokens(text))
    texts = {STRATEGIES: text}
    for name, peer in peers.items():
        items = peer.items(scene.at, scene.prompt, tokens)
        texts[name] = "\n".join(item.text for item in items)
    return tokens, texts


def _named(
    scene: Scene,
    commands: set[str],
    text: str,
    tokens: int,
) -> list[float]:
    """Return the shares of files and commands that a text names, and its cost.

    It is [file, command, per_100, tokens]. What is beyond the tokens is not read.
    """
    within_budget = text.encode()[: BYTES_PER_TOKEN * tokens]
    text = within_budget.decode(errors="ignore")
    named_files = scene.named(text) & scene.files
    file = share(len(named_files), len(scene.files))
    n_named_commands = sum(command in text for command in commands)
    command = share(n_named_commands, len(commands))
    mean = (file + command) / 2
    per_100 = 100 * mean / max(tokens, 1)
    return [file, command, per_100, float(tokens)]


def commands_of(events: Iterable[Event]) -> set[str]:
    """Return the programs that shell calls run, each with its subcommand.

    >>> from theorex_lab.journal.event import new_event
    >>> body = {"tool": "Bash", "command": "cd pkg && go test ./... | tail -5"}
    >>> sorted(commands_of([new_event("tool_used", body, agent="main", at=1)]))
    ['cd pkg', 'go test', 'tail']
    """
    commands: set[str] = set()
    for event in events:
        if event.kind == "tool_used":
            line = event.body.get("command", "")
            commands.update(programs(line))
    return commands


def programs(command: str) -> list[str]:
    """Return the programs that a line of a shell runs, in their order.

    Each comes with its subcommand.
    """
    return _COMMAND.findall(command)


_TOP = 3
_ALIKE = 0.5
_NO_TASK = -1  # of a prompt of a coding session
_LOOKS = re.compile(r"get_|search_|list_|calculate|think|transfer_")
_TASK = re.compile(r"task(\d+)")
_SURVIVED = ["cycle", "dreamt", "strategies", "found", "readable"]


def survivors(
    log: str | EvalLog = "simulated_sessions",
    *,
    cycles: int = 10,
    embedder: Embedder | None = None,
) -> pd.DataFrame:
    """Replay a log in equal parts, with a dream after each; return a row a cycle.

    dreamt: trajectories so far.  strategies: that hold.  found: share of past goals
    that find their strategy among the first three.  readable: share of past steps, of
    ways that did not fail, that their strategy still has in kind, as a step or as a
    branch.

    Raises:
        InvalidInput: There are fewer than 1 cycles, or more than events.
    """
    if isinstance(log, str):
        log = load_logs(log)[0]
    if not 0 < cycles <= len(log.events):
        raise InvalidInput(
            f"got {cycles} cycles of {len(log.events)} events; allowed are 1 up to one"
            " an event"
        )
    with closing(_dreams_adapter(embedder)) as memory:
        rows = _cycle_rows(memory, log, cycles)
        return pd.DataFrame(rows, columns=_SURVIVED)


def _cycle_rows(
    memory: ReplayAdapter, log: EvalLog, cycles: int
) -> Iterator[tuple[float, ...]]:
    """Replay a log in so many parts; yield the figures of `survivors` after each."""
    dreams = memory.lab.dreams
    steps: set[tuple[str, str]] = set()
    parts = np.array_split(np.arange(len(log.events)), cycles)
    for cycle, part in enumerate(parts, start=1):
        memory.observe([log.events[number] for number in part])
        last_event = log.events[part[-1]]
        memory.consolidate(last_event.at + LATE)
        strategies = {
            strategy.id: strategy for strategy in dreams.strategies(active=None)
        }
        for strategy in strategies.values():
            if strategy.outcome != Ended.FAILURE:
                steps.update((strategy.id, step.action) for step in strategy.steps)
        goals = _dreamt_goals(memory)
        are_found = _are_found(memory, strategies, goals)
        are_readable = []
        for strategy_id, action in steps:
            holder = _holder(strategies, strategy_id)
            are_readable.append(kind_of(action) in _kinds_of(holder))
        n_active = sum(strategy.active for strategy in strategies.values())
        yield (
            cycle,
            len(goals),
            n_active,
            sum(are_found) / max(len(are_found), 1),
            sum(are_readable) / max(len(are_readable), 1),
        )


def _dreamt_goals(memory: ReplayAdapter) -> list[tuple[str, str]]:
    """Return the goal of each trajectory that was dreamt, and its strategy's id."""
    goal_of = {}
    for trajectory in memory.lab.dreams.trajectories():
        goal_of[trajectory.id] = trajectory.goal
    events = memory.lab.journal.tail(0, kinds=["strategy", "strategy_merged"])
    goals = []
    for event in events:
        trajectory_id = event.body["trajectory"]
        if trajectory_id in goal_of:
            goals.append((goal_of[trajectory_id], event.body["strategy_id"]))
    return goals


def _are_found(
    memory: ReplayAdapter,
    strategies: Mapping[str, Strategy],
    goals: Sequence[tuple[str, str]],
) -> list[bool]:
    """Return for each goal whether its strategy is among the nearest to it."""
    vectors = vectors_of(memory.lab.home, [goal for goal, _ in goals])
    are_found = []
    for (_, strategy_id), vector in zip(goals, vectors, strict=True):
        nearest = memory.lab.dreams.vectors.nearest(vector, _TOP)
        nearest_ids = [name for name, _ in nearest]
        are_found.append(_holder(strategies, strategy_id).id in nearest_ids)
    return are_found


def _holder(strategies: Mapping[str, Strategy], strategy_id: str) -> Strategy:
    """Return the strategy that this one was merged into, or itself."""
    strategy = strategies[strategy_id]
    while strategy.absorbed_by:
        strategy = strategies[strategy.absorbed_by]
    return strategy


def _kinds_of(strategy: Strategy) -> set[str]:
    """Return the kinds of a strategy's steps and branches."""
    branch_steps = (branch.step for branch in strategy.branches)
    return {kind_of(step.action) for step in (*strategy.steps, *branch_steps)}


def score_constraints(
    *, embedder: Embedder | None = None, seed: int = 0
) -> dict[str, Any]:
    """Score whether constraints reach the context of similar tasks, and of no other.

    The constraints are of trials 0 to 2 of tau-bench, the tasks those of trial 3. A
    pair is a query (a task, or the first prompt of one of as many simulated coding
    sessions) and a task with a constraint. It is similar where it is the same task, or
    where the names of the gold actions that change something are mostly alike (Jaccard
    .5).

    Returns:
        {dataset, n, metrics, baselines}: precision and recall over all pairs;
        same_task: recall for the task itself; stray: share of the pairs with coding
        sessions that are shown. The baseline shows everything.
    """
    runs = first_messages(TRIALS - 1)
    (log,) = load_logs("taubench_airline")
    (coding_log,) = load_logs("simulated_sessions")
    gold = _changing_actions(runs)
    coding_prompts = _first_prompts(coding_log)[: len(runs)]
    queries = [(run.task, text) for run, text in runs]
    queries += [(_NO_TASK, text) for text in coding_prompts]
    earlier = [event for event in log.events if not event.session.startswith("trial3")]
    with dreaming(earlier, embedder) as memory:
        task_of = _tasks_of_constraints(memory)
        shown_tasks = []
        for _, text in queries:
            home = memory.lab.home
            lines = design_candidates(
                home, home.clock.now(), query=text, automatic=True
            )
            shown_tasks.append({task_of.get(line.id) for line in lines})
    constrained_tasks = sorted(set(task_of.values()))
    pairs: list[tuple[float, ...]] = []
    are_shown: list[bool] = []
    for number, (task, _) in enumerate(queries):
        for other_task in constrained_tasks:
            is_similar = _alike(gold, task, other_task)
            is_same = task == other_task
            is_stray = task == _NO_TASK
            pairs.append((number, is_similar, is_same, is_stray))
            are_shown.append(other_task in shown_tasks[number])
    rows = np.array(pairs)
    everything = np.ones(len(rows))
    return {
        "dataset": "taubench_airline, constraints",
        "n": len(rows),
        "constraints": len(task_of),
        "metrics": _reach(rows, np.array(are_shown, np.int64), seed),
        "baselines": {"everything": _reach(rows, everything, seed)},
    }


def _changing_actions(
    runs: Sequence[tuple[TauRun, str]],
) -> dict[int, set[str]]:
    """Return by task the names of the gold actions that change something."""
    names_by_task = {}
    for run, _ in runs:
        names = {action.name for action in run.gold_actions}
        names_by_task[run.task] = {name for name in names if not _LOOKS.match(name)}
    return names_by_task


def _first_prompts(log: EvalLog) -> list[str]:
    """Return the first prompt of each session, that of the last session first."""
    prompts = {
        event.session: event.body["text"]
        for event in log.events[::-1]
        if event.kind == "prompt"
    }
    return [*prompts.values()]


def _tasks_of_constraints(memory: ReplayAdapter) -> dict[str, int]:
    """Return the task that each constraint comes from, by the constraint's id."""
    task_of = {}
    for strategy in memory.lab.dreams.strategies():
        for constraint in strategy.constraints:
            first_number, *_ = _TASK.findall(constraint.trajectory)
            task_of[constraint.id] = int(first_number)
    return task_of


def _alike(
    gold: Mapping[int, set[str]],
    task: int,
    other_task: int,
) -> bool:
    """Return whether two tasks are the same, or share most of their actions."""
    if task == other_task:
        return True
    names = gold.get(task, set())
    other_names = gold[other_task]
    n_common = len(names & other_names)
    n_all = len(names | other_names)
    return n_common > 0 and n_common >= _ALIKE * n_all


def _reach(
    rows: Any,
    is_shown: Any,
    seed: int,
) -> dict[str, float]:
    """Return the figures of `score_constraints` with their intervals.

    Args:
        rows: By pair the number of the query, and whether the pair is similar, the same
            task, and one with a coding session.
        is_shown: Whether the constraint is shown, by pair.
        seed: Draws the intervals.
    """
    number, is_similar, is_same, is_stray = rows.T
    among = {
        "precision": (is_shown, is_similar),
        "recall": (is_similar, is_shown),
        "same_task": (is_same, is_shown),
        "stray": (is_stray, is_shown),
    }
    figures: dict[str, float] = {}
    for name, (counted, values) in among.items():
        rows_counted = counted.astype(bool)
        if not rows_counted.any():
            continue
        groups = number[rows_counted]
        interval = bootstrap_mean(values[rows_counted], seed, groups)
        figures.update(interval.named(name))
    return figures
