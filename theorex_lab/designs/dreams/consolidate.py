"""Make a strategy of a trajectory, or take it into one.

It is done in one transaction, where memory gets no worse by it.

Memory gets no worse where the past goals of the strategies that are touched find them
among the first three afterwards, as they did before. What two strategies make together
is the same whichever comes first, but for its id, and does not grow with what is
repeated.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import derived_event_id
from theorex_lab.designs.dreams import FIDELITY, STATED, Edge, Ended, Fault, patterns
from theorex_lab.designs.dreams import strategies as made
from theorex_lab.designs.dreams.settings import dream_settings
from theorex_lab.designs.dreams.strategies import (
    Matrix,
    Strategy,
    StrategyBranch,
    StrategyStep,
    new_strategy_id,
)
from theorex_lab.designs.dreams.tasks import is_same_task
from theorex_lab.designs.dreams.trajectories import (
    CapturedAction,
    CuratedTrajectory,
    Trajectory,
)
from theorex_lab.journal.columns import Table
from theorex_lab.journal.event import Body, Event, new_event
from theorex_lab.memory.annotations import Marks
from theorex_lab.memory.briefing.step_words import step_in_words, step_kinds
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import TRUST
from theorex_lab.search.lexical import tokenize
from theorex_lab.text.line import one_line

_NEIGHBOURS = 5  # whose past goals a new strategy must leave alone
_FIRST = 3
_NOISE = 1e-6
_ASLEEP = -2.0
_MOST_SIMILAR = 1.0  # a cosine; where it is asked for, only what is equal is merged
_DECIDED = (*STATED, "constraint", "dream", "erasure")
_LINKS = (Edge.CAUSAL, Edge.CONTEXT_JUMP)
_MERGED: Body = {
    "trajectory": "",
    "upto": 0,
    "absorbed": "",
    "why": "they are alike",
    "undo": False,
}
Link = tuple[str, str, str]  # from, to, and a type of `Edge`
Done = tuple[str, str, Mapping[str, int]]
# Appends an event, and takes over the strategy that it tells.
Append = Callable[..., None]
# The strategy that a goal found ('' for none), the one that it must find, and the goal.
GoalCheck = tuple[str, str, str]


class StrategyVectorsOfScope:
    """Hold the vectors of the active strategies of one project and domain."""

    def __init__(self, dimensions: int) -> None:
        self.row_by_id: dict[str, int] = {}
        self.rows = Table(vector=("f4", dimensions), awake="?")

    def put(self, strategy_id: str, vector: Matrix | None) -> None:
        """Take in the vector of a strategy; None where it is archived."""
        next_row = len(self.row_by_id)
        row = self.row_by_id.setdefault(strategy_id, next_row)
        if row == len(self.rows):
            self.rows.grow(1)
        if vector is None:
            self.rows.put(row, vector=0.0, awake=False)
        else:
            self.rows.put(row, vector=vector, awake=True)

    def near(self, vector: Matrix, most: int = _NEIGHBOURS) -> list[tuple[str, float]]:
        """Return ids and cosines of the strategies nearest to a vector, best first."""
        scores = self._scores(vector[None])[:, 0]
        ids = list(self.row_by_id)
        best_rows = np.argsort(-scores, kind="stable")[:most]
        nearest = []
        for row in best_rows.tolist():
            score = float(scores[row])
            if score <= _ASLEEP:
                continue
            nearest.append((ids[row], score))
        return nearest

    def loses(
        self,
        checks: Sequence[GoalCheck],
        goals: Matrix,
        changed: Mapping[str, Matrix | None],
    ) -> bool:
        """Return whether one of the goals would find its strategy no more.

        Args:
            checks: What each goal found, and what it must find.
            goals: The vectors of the goals, (n, dimensions).
            changed: The vectors that strategies would have, None for those that would
                be archived.
        """
        row_by_id = dict(self.row_by_id)
        for strategy_id in changed:
            row_by_id.setdefault(strategy_id, len(row_by_id))
        shape = (len(row_by_id), len(goals))
        before = np.full(shape, _ASLEEP, np.float32)
        n_rows = len(self.row_by_id)
        before[:n_rows] = self._scores(goals)
        after = before.copy()
        for strategy_id, vector in changed.items():
            row = row_by_id[strategy_id]
            after[row] = _ASLEEP if vector is None else goals @ vector
        old_rows = np.array([row_by_id.get(old_id, -1) for old_id, _, _ in checks])
        new_rows = np.array([row_by_id[new_id] for _, new_id, _ in checks])
        found_nothing = old_rows < 0
        must_lead = found_nothing | _lead(before, old_rows)
        does_not_lead = ~_lead(after, new_rows)
        is_lost = must_lead & does_not_lead
        return bool(is_lost.any())

    def _scores(self, vectors: Matrix) -> Matrix:
        """Return the cosine of each strategy with each vector."""
        is_awake = self.rows["awake"][:, None]
        cosines = self.rows["vector"] @ vectors.T
        scores: Matrix = np.where(is_awake, cosines, np.float32(_ASLEEP))
        return scores


def _lead(scores: Matrix, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether the strategy in each row is among its column's first three."""
    columns = np.arange(len(rows))
    row_scores = scores[rows, columns]
    is_better = scores > row_scores + _NOISE
    is_among_first = is_better.sum(axis=0) < _FIRST
    is_awake = row_scores > _ASLEEP
    leads: NDArray[np.bool_] = is_awake & is_among_first
    return leads


class ActiveStrategies:
    """Hold the active strategies of a home for a cycle.

    What others decide meanwhile is taken over before each commit.
    """

    def __init__(self, home: Home) -> None:
        self.home = home
        self.settings = dream_settings(home)
        self.erased = False
        self._vectors: dict[str, Matrix] = {}
        # Trajectories that others dreamt since this was made.
        self.taken: set[str] = set()
        self._load()

    def _load(self) -> None:
        """Read the active strategies, and the vectors of their texts and goals."""
        seq = self.home.journal.last_seq()
        strategies = made.strategies_of(self.home)
        texts = []
        for strategy in strategies:
            texts += [strategy.text, *strategy.goals]
        self.vectors(*texts)
        self.seq = seq
        self.strategies = {strategy.id: strategy for strategy in strategies}
        self.constraint_texts: dict[str, list[str]] = {}
        dimensions = self.home.embedder.dimensions
        self.scopes: dict[tuple[str, str], StrategyVectorsOfScope] = defaultdict(
            lambda: StrategyVectorsOfScope(dimensions)
        )
        for strategy in strategies:
            self.constraint_texts[strategy.id] = [
                constraint.text for constraint in strategy.constraints
            ]
            self.scope(strategy).put(strategy.id, self._vectors[strategy.text])

    def scope(self, strategy: Strategy) -> StrategyVectorsOfScope:
        """Return the strategies that one is compared with.

        They are of the same project and domain.
        """
        return self.scopes[strategy.project, strategy.domain]

    def vectors(self, *texts: str) -> Matrix:
        """Return the vectors of texts, (n, dimensions).

        Those that are not held are computed at once.

        Raises:
            ModelUnavailable: The embedder does not answer.
        """
        lacking = []
        for text in dict.fromkeys(texts):
            if text not in self._vectors:
                lacking.append(text)
        if lacking:
            computed = made.vectors_of(self.home, lacking)
            self._vectors.update(zip(lacking, computed, strict=True))
        vectors = [self._vectors[text] for text in texts]
        return np.array(vectors, np.float32)

    def near(self, new: Strategy) -> list[tuple[str, float]]:
        """Return the nearest strategies of the same scope, with cosines.

        A scope is a project and a domain.
        """
        scope = self.scope(new)
        (vector,) = self.vectors(new.text)
        return scope.near(vector)

    def may_change(self, strategy: Strategy) -> bool:
        """Return whether a strategy is neither used often nor pinned."""
        if strategy.accesses >= self.settings.compaction_max_uses:
            return False
        pinned = self.home.views.get(Marks).pinned
        return strategy.id not in pinned

    @contextmanager
    def writing(self) -> Iterator[Append]:
        """Begin a transaction with what others decided meanwhile.

        No vector is computed in it.
        """
        with self.home.journal.exclusive() as append:
            later = list(self.home.journal.tail(self.seq, kinds=_DECIDED))
            for event in later:
                self._note_decision(event)
            if later:
                self._load()

            def put(event: Event, strategy: Strategy | None = None) -> None:
                self.seq = append(event)
                if strategy is not None:
                    self.strategies[strategy.id] = replace(strategy, event=event.id)
                    self.scope(strategy).put(strategy.id, self._vectors[strategy.text])

            yield put

    def _note_decision(self, event: Event) -> None:
        """Note the trajectories that another dream took in or passed over."""
        trajectory_id = event.body.get("trajectory")
        if trajectory_id:
            self.taken.add(trajectory_id)
        for passed in event.body.get("passed", ()):
            self.taken.add(passed[0])
        if event.kind == "erasure":
            self.erased = True

    def consolidate(
        self,
        trajectory: Trajectory,
        curated: CuratedTrajectory,
        new: Strategy,
        links: Sequence[Link],
    ) -> Done:
        """Take a trajectory in, with all that the dream said, or nothing of it.

        `vectors` knows the strategy's.

        Args:
            trajectory: The trajectory.
            curated: What the dreamer made of it.
            new: The strategy that it says by itself.
            links: The links of that strategy.

        Returns:
            created or merged, the strategy's id and what there is to count; or held, or
            elsewhere where another dream took it, and why.
        """
        lineage = [trajectory.goal_event]
        lineage += [action.event for action in trajectory.actions]
        with self.writing() as append:
            if trajectory.id in self.taken:
                return "elsewhere", "another dream has taken it in", {}
            if self.erased:
                return "held", "something was erased meanwhile", {}
            way = self._through_the_gate(new)
            if way is None:
                return "held", "past goals would no longer find their strategies", {}
            old, strategy = way
            body = {"trajectory": trajectory.id, "upto": trajectory.upto}
            if old is None:
                action = "created"
                event = _event(self.home, "strategy", strategy, body, lineage)
            else:
                action = "merged"
                body = _MERGED | body
                lineage = [old.event, *lineage]
                event = _event(self.home, "strategy_merged", strategy, body, lineage)
            append(event, strategy)
            counts = {
                "traces_processed": 1,
                f"nodes_{action}": 1,
                "edges_created": 0,
                "constraints_extracted": 0,
                "cross_edges_created": 0,
            }
            counts["constraints_extracted"] = self._warn(
                strategy,
                curated.constraints,
                trajectory.id,
                append,
            )
            if old is None:
                counts["edges_created"] = max(0, 3 * len(strategy.steps) - 2)
                counts["cross_edges_created"] = self._link(strategy, links, append)
            self._tidy(strategy, curated, append)
        return action, strategy.id, counts

    def _through_the_gate(
        self, new: Strategy
    ) -> tuple[Strategy | None, Strategy] | None:
        """Return what to write, and in whose place (None for a new one).

        It is the first way that leaves memory no worse, or None.
        """
        near = []
        same = []
        for strategy_id, cosine in self.near(new):
            strategy = self.strategies[strategy_id]
            near.append(strategy)
            least = self.settings.merge_similarity
            merges_tasks = least < _MOST_SIMILAR
            if cosine >= least or (merges_tasks and _is_of_same_task(strategy, new)):
                same.append(strategy)
        for old, strategy in _ways(new, near, same):
            touched = near if old is None else [old]
            checks = _checks(touched)
            if old is not None:
                checks.append(("", strategy.id, new.goal))
            if not self._loses(strategy, checks, {strategy.id: strategy.text}):
                return old, strategy
        return None

    def _loses(
        self,
        strategy: Strategy,
        checks: Sequence[GoalCheck],
        changed: Mapping[str, str | None],
    ) -> bool:
        """Return whether a goal loses its strategy by what is `changed`.

        It maps strategies of the scope to other texts, or to None.
        """
        if not checks:
            return False
        vectors = {}
        for strategy_id, text in changed.items():
            vectors[strategy_id] = None if text is None else self._vectors[text]
        goals = self.vectors(*(goal for _, _, goal in checks))
        return self.scope(strategy).loses(checks, goals, vectors)

    def _warn(
        self,
        strategy: Strategy,
        constraints: Iterable[tuple[str, str, str]],
        trajectory: str,
        append: Append,
    ) -> int:
        """Append the constraints that a strategy does not have yet; return how many."""
        texts = self.constraint_texts.setdefault(strategy.id, [])
        lineage = [self.strategies[strategy.id].event]
        n_before = len(texts)
        for text, fault, source in new_constraints(texts, constraints):
            digest = derived_event_id("constraint", strategy.id, text)
            body = {
                "constraint_id": f"co-{digest[-12:]}",
                "text": text,
                "fault": fault,
                "trajectory": trajectory,
                "source": source,
            }
            event = _event(self.home, "constraint", strategy, body, lineage)
            append(event)
        return len(texts) - n_before

    def _link(self, strategy: Strategy, links: Sequence[Link], append: Append) -> int:
        """Append the links of a new strategy to others that exist; return how many."""
        distinct = dict.fromkeys(links)
        sound = [link for link in distinct if self._may_link(strategy, link)]
        sound = sound[: self.settings.most_links]
        for source_id, target_id, kind in sound:
            source = self.strategies[source_id]
            target = self.strategies[target_id]
            source_vector, target_vector = self.vectors(source.text, target.text)
            cosine = float(source_vector @ target_vector)
            weight = min(1.0, max(0.0, cosine))
            body = {
                "from_id": source_id,
                "to_id": target_id,
                "type": str(kind),
                "weight": round(weight, 6),
            }
            lineage = [source.event, target.event]
            event = _event(self.home, "strategy_linked", strategy, body, lineage)
            append(event)
        return len(sound)

    def _may_link(self, strategy: Strategy, link: Link) -> bool:
        """Return whether a link joins a strategy and another one that exists."""
        source, target, kind = link
        if source == target or kind not in _LINKS:
            return False
        if source not in self.strategies or target not in self.strategies:
            return False
        return strategy.id in (source, target)

    def _tidy(
        self, strategy: Strategy, curated: CuratedTrajectory, append: Append
    ) -> None:
        """Merge and prune strategies as the dream asked.

        That is done where nothing is lost by it.
        """
        for into, absorbed in curated.groups:
            if self._may_tidy(strategy, absorbed, into):
                self._absorb(strategy, into, absorbed, append)
        for pruned in curated.prunes:
            if self._may_tidy(strategy, pruned):
                self._prune(strategy, pruned, append)

    def _may_tidy(self, strategy: Strategy, removed_id: str, into: str = "") -> bool:
        """Return whether a strategy may give way to another of the same scope."""
        old = self.strategies.get(removed_id)
        if old is None or removed_id in (strategy.id, into):
            return False
        if self.scope(old) is not self.scope(strategy):
            return False
        return self.may_change(old)

    def _absorb(
        self, strategy: Strategy, into: str, absorbed: str, append: Append
    ) -> None:
        """Take a strategy into the one that the dream named."""
        old = self.strategies[absorbed]
        heir = self.strategies.get(into, old)
        if heir is old or self.scope(heir) is not self.scope(strategy):
            return
        whole = joined_strategies(heir, old)
        if self._loses_to(strategy, old, heir, whole):
            return
        body = _MERGED | {"absorbed": absorbed, "why": "a dream took them for one"}
        lineage = [heir.event, old.event]
        event = _event(self.home, "strategy_merged", whole, body, lineage)
        append(event, whole)
        constraints = []
        for constraint in old.constraints:
            members = (constraint.text, constraint.fault, constraint.source)
            constraints.append(members)
        self._warn(whole, constraints, "", append)
        self._remove(old)

    def _prune(self, strategy: Strategy, pruned: str, append: Append) -> None:
        """Archive a strategy that repeats another one."""
        old = self.strategies[pruned]
        heir = self._nearest_same(old)
        if heir is None or self._loses_to(strategy, old, heir, heir):
            return
        body = {"pruned": True, "undo": False}
        event = _event(self.home, "strategy_compacted", old, body, [old.event])
        append(event)
        self._remove(old)

    def _nearest_same(self, old: Strategy) -> Strategy | None:
        """Return the nearest other strategy that says the same; None without one."""
        for strategy_id, cosine in self.near(old):
            is_same = cosine >= self.settings.merge_similarity
            if is_same and strategy_id != old.id:
                return self.strategies[strategy_id]
        return None

    def _loses_to(
        self, strategy: Strategy, old: Strategy, heir: Strategy, whole: Strategy
    ) -> bool:
        """Return whether a goal is lost where the heir, as a whole, stands for both."""
        checks = [(old.id, heir.id, goal) for goal in old.goals]
        checks += [(heir.id, heir.id, goal) for goal in heir.goals]
        changed = {heir.id: whole.text, old.id: None}
        return self._loses(strategy, checks, changed)

    def _remove(self, old: Strategy) -> None:
        self.scope(old).put(old.id, None)
        del self.strategies[old.id]

    def rewrite(self, kind: str, old: Strategy, new: Strategy, body: Body) -> str:
        """Put a strategy in other words; return why not, or ''.

        Goals still find it and its neighbours afterwards.

        Args:
            kind: The kind of the event that tells it.
            old: The strategy as it is.
            new: The strategy in other words.
            body: What else the event has.
        """
        self.vectors(new.text, *new.goals)
        with self.writing() as append:
            current = self.strategies.get(old.id)
            if current is None or current.event != old.event:
                return "it was changed meanwhile"
            touched = [old]
            for strategy_id, _ in self.near(new):
                if strategy_id != old.id:
                    touched.append(self.strategies[strategy_id])
            checks = _checks(touched)
            changed = {old.id: new.text}
            is_reworded = new.text != old.text
            if is_reworded and self._loses(old, checks, changed):
                return "past goals would no longer find their strategies"
            event = _event(self.home, kind, new, body, [old.event])
            append(event, new)
        return ""


def _is_of_same_task(old: Strategy, new: Strategy) -> bool:
    """Return whether two strategies are of the same kind of task, in words and steps."""
    old_kinds = _step_kinds(old)
    new_kinds = _step_kinds(new)
    return any(is_same_task(goal, new.goal, old_kinds, new_kinds) for goal in old.goals)


def _step_kinds(strategy: Strategy) -> frozenset[str]:
    """Return the kinds of the steps and branches of a strategy."""
    kinds: set[str] = set()
    for step in strategy.steps:
        kinds |= step_kinds(step.action)
    for branch in strategy.branches:
        kinds |= step_kinds(branch.step.action)
    return frozenset(kinds)


def _checks(strategies: Iterable[Strategy]) -> list[GoalCheck]:
    """Return that each goal of these strategies is to find its own."""
    checks = []
    for strategy in strategies:
        checks += [(strategy.id, strategy.id, goal) for goal in strategy.goals]
    return checks


def _ways(
    new: Strategy, near: Sequence[Strategy], same: Sequence[Strategy]
) -> Iterator[tuple[Strategy | None, Strategy]]:
    """Yield the ways to write a strategy, the preferred first: old one, and result.

    It is taken into one that is the same, else stands by itself, else is taken into the
    nearest.
    """
    if not same:
        yield None, new
    for old in same or near[:1]:
        yield old, joined_strategies(old, new)
        yield old, joined_strategies(old, new, reworded=False)
    if same:
        yield None, new


def _event(
    home: Home, kind: str, strategy: Strategy, body: Body, lineage: Sequence[str]
) -> Event:
    """Return an event of a strategy; some kinds tell what it is as a whole."""
    whole: Body = {"strategy_id": strategy.id, "project": strategy.project}
    if kind in STATED:
        whole |= {"state": strategy.state(), "source": strategy.source}
    return new_event(
        kind,
        whole | body,
        agent=strategy.agent,
        at=home.clock.now(),
        lineage=lineage,
    )


def undo_merge(home: Home, target: str) -> Strategy:
    """Undo the last merge, shortening or archiving of a strategy.

    Args:
        home: Where it is.
        target: The strategy's id, or the id of that event.

    Returns:
        The strategy as it was before.

    Raises:
        InvalidInput: Nothing can be undone, or later changes stand on it.
    """
    named = home.journal.read(ids=[target])
    strategy_id = target
    if named:
        strategy_id = named[0].body.get("strategy_id", target)
    strategy = made.strategy_by_id(home, strategy_id)
    with home.journal.exclusive() as append:
        changes = _standing_changes(home, strategy.id)
        last = changes[-1]
        can_undo = last.kind in ("strategy_merged", "strategy_compacted")
        if not can_undo or (named and last.id != target):
            raise InvalidInput(
                f"got {target!r:.100}; allowed is a strategy that was merged, shortened or"
                " archived, if no later change rests on it;"
                f" {strategy.id} ends with {last.kind} {last.id}"
            )
        before = changes[-2]
        body = last.body | {
            "undo": True,
            "pruned": False,
            "trajectory": "",
            "state": before.body["state"],
        }
        event = _event(home, last.kind, strategy, body, [before.id, last.id])
        append(event)
    return made.strategy_by_id(home, strategy.id)


def _standing_changes(home: Home, strategy_id: str) -> list[Event]:
    """Return the events that tell what a strategy is, without those undone."""
    changes = []
    for event in home.journal.tail(0, kinds=STATED):
        if event.body["strategy_id"] != strategy_id:
            continue
        if not event.body.get("undo"):
            changes.append(event)
        elif changes:
            changes.pop()
    return changes


MOST_STEPS = 100
MOST_BRANCHES = 16
MOST_GOALS = 32
MOST_CONSTRAINTS = 32
_LEARNT = 0.1  # of its fidelity, what another trajectory adds to the confidence
# Share of words in common from which a constraint repeats another.
_SAID_AGAIN = 0.8
_READ_CHARACTERS = 2_000
_CONSTRAINT_CHARACTERS = 400
_READ_STEPS = 12
# What a step is in kind, and how many of its kind came before it.
Kind = tuple[str, int]


@lru_cache(16_384)
def kind_of(action: str) -> str:
    """Return what an action is in kind.

    It is its tool, the names of its arguments, and paths, without other values. A shell
    line is what it does in words.

    >>> kind_of('get_user({"id": "mia_3"})') == kind_of('get_user({"id": "raj_1"})')
    True
    >>> kind_of("pytest -q tests/a.py") == kind_of("cd web && pytest -q tests/b.py")
    True
    >>> kind_of("pytest -q tests/a.py") == kind_of("ruff check .")
    False
    """
    text = action[:_READ_CHARACTERS]
    call = patterns.NAMED.match(text)
    in_words = step_in_words(text)
    if call is None or in_words not in ("", text.strip()):
        text = in_words or text
        text = patterns.QUOTED.sub(_quoted_path, text)
        text = re.sub(r"\d+", "0", text).lower()
        return one_line(text, _READ_CHARACTERS)
    words = set()
    for key, option in patterns.KEY.findall(text):
        words.add(key or option)
    for _, value in patterns.QUOTED.findall(text):
        if patterns.PLACE.search(value):
            words.add(value)
    tool = call[1]
    return " ".join([tool, *sorted(words)])


def _quoted_path(quoted: re.Match[str]) -> str:
    """Return a quoted path as it is, any other value as an empty one."""
    if patterns.PLACE.search(quoted[2]):
        return quoted[0]
    return '""'


def strategy_from(trajectory: Trajectory, curated: CuratedTrajectory) -> Strategy:
    """Return what a trajectory says by itself, as a dream has read it.

    Its steps are the recorded actions.

    Args:
        trajectory: The trajectory.
        curated: What a dreamer made of it.
    """
    source = min(trajectory.source, curated.source, key=TRUST.__getitem__)
    fidelity = FIDELITY.get(trajectory.origin, 0.5)
    return Strategy(
        id=new_strategy_id(trajectory.id, trajectory.upto),
        goal=trajectory.goal,
        summary=curated.summary,
        steps=_steps_from(trajectory, curated),
        goals=(trajectory.goal,),
        confidence=round(curated.confidence * fidelity, 6),
        outcome=trajectory.outcome.value,
        level=int(trajectory.level),
        domain=trajectory.domain,
        origin=trajectory.origin,
        success=int(trajectory.outcome is Ended.SUCCESS),
        failure=int(trajectory.outcome is Ended.FAILURE),
        evidence={trajectory.evidence: 1} if trajectory.evidence else {},
        isa_version=trajectory.isa_version,
        source=source,
        tags=trajectory.tags,
        project=trajectory.project,
        agent=trajectory.agent,
    )


def _steps_from(
    trajectory: Trajectory, curated: CuratedTrajectory
) -> tuple[StrategyStep, ...]:
    """Return the critical actions of a trajectory as steps.

    Where there are too many, the first of each kind come before those that repeat one.
    """
    actions = [trajectory.actions[index] for index in curated.critical]
    n_before = [n_of_kind for _, n_of_kind in _kinds(actions)]
    by_repetition = sorted(range(len(actions)), key=n_before.__getitem__)
    steps = []
    for number in sorted(by_repetition[:MOST_STEPS]):
        action = actions[number]
        index = curated.critical[number]
        step = StrategyStep(
            reasoning=action.reasoning,
            action=action.action,
            result=action.result,
            why=curated.whys.get(index, ""),
            seen=1,
            event=action.event,
            ok=action.ok,
        )
        steps.append(step)
    return tuple(steps)


def joined_strategies(
    first: Strategy, second: Strategy, *, reworded: bool = True
) -> Strategy:
    """Return the first with what the second adds to it.

    It has the better one's steps, and its words unless it is not `reworded`. A failure
    adds to its count and to nothing else.

    Args:
        first: The strategy that stays, by its id.
        second: The strategy that is taken into it.
        reworded: Whether it takes the words of the better one.
    """
    best, rest = sorted((first, second), key=_rank, reverse=True)
    worded = best if reworded else first
    if _failed(rest):
        steps = best.steps
        branches = best.branches
    else:
        steps, branches = _aligned(best, rest)
    other_goals = {*first.goals, *second.goals} - {worded.goal}
    goals = [worded.goal, *sorted(other_goals)]
    confidence = max(_confidence_with(first, second), _confidence_with(second, first))
    return replace(
        first,
        goal=worded.goal,
        summary=worded.summary,
        steps=steps,
        branches=branches,
        goals=tuple(goals[:MOST_GOALS]),
        confidence=round(min(1.0, confidence), 6),
        outcome=best.outcome,
        origin=best.origin,
        level=min(first.level, second.level),
        success=first.success + second.success,
        failure=first.failure + second.failure,
        evidence=dict(Counter(first.evidence) + Counter(second.evidence)),
        version=first.version + 1,
        isa_version=best.isa_version,
        content=best.content or rest.content,
        tags=tuple(sorted({*first.tags, *second.tags})),
        source=min(first.source, second.source, key=TRUST.__getitem__),
    )


def _confidence_with(strategy: Strategy, other: Strategy) -> float:
    """Return the confidence in a strategy with what another adds.

    Each trajectory of the other that did not fail adds to it.
    """
    if _failed(other):
        return strategy.confidence
    n_adding = max(1, other.version - other.failure)
    fidelity = FIDELITY.get(other.origin, 0.5)
    added = _LEARNT * fidelity * n_adding
    return strategy.confidence + added


def _failed(strategy: Strategy) -> bool:
    return strategy.outcome == Ended.FAILURE


def _rank(strategy: Strategy) -> tuple[object, ...]:
    """Return by what the better way is told, greater for the better.

    It is success, how real it was, then the fewest steps, of two at least beside those
    that hand the work over; where it is not known to have succeeded, as many steps as
    are read at once.
    """
    length = sum(not patterns.HANDED.match(step.action) for step in strategy.steps)
    succeeded = strategy.outcome == Ended.SUCCESS
    enough_steps = 2 if succeeded else _READ_STEPS
    isa_numbers = re.findall(r"\d+", strategy.isa_version)
    return (
        list(map(int, isa_numbers)),
        not _failed(strategy),
        succeeded,
        FIDELITY.get(strategy.origin, 0.5),
        min(length, enough_steps),
        -length,
        [step[:3] for step in strategy.steps],
        strategy.goal,
        strategy.summary,
    )


def _aligned(
    best: Strategy, rest: Strategy
) -> tuple[tuple[StrategyStep, ...], tuple[StrategyBranch, ...]]:
    """Return the better one's steps and branches with what the other one adds.

    Each step has how often both did it. What only the other did becomes a branch after
    the step before it.
    """
    steps = list(best.steps)
    n_steps = len(steps)
    best_kinds = _kinds_of(best)
    index_by_kind = {kind: index for index, kind in enumerate(best_kinds[:n_steps])}
    branches = dict(zip(best_kinds[n_steps:], best.branches, strict=True))
    other_branches = [
        StrategyBranch(index - 1, step) for index, step in enumerate(rest.steps)
    ]
    other_branches += rest.branches
    last_other = len(rest.steps) - 1
    # Where the other's steps are among the better one's; -1 is before the first.
    aligned_index = {-1: -1}
    kinds = _kinds_of(rest)
    for number, (after, step) in enumerate(other_branches):
        kind = kinds[number]
        before = aligned_index[min(after, last_other)]
        index = index_by_kind.get(kind)
        if number <= last_other:
            aligned_index[number] = before if index is None else index
        if index is None:
            branch = branches.get(kind)
            branches[kind] = _branch_with(branch, before, step)
        else:
            steps[index] = _step_with(steps[index], step)
    ordered = sorted(branches.values(), key=_branch_order)
    return tuple(steps), tuple(ordered[:MOST_BRANCHES])


def _step_with(step: StrategyStep, other: StrategyStep) -> StrategyStep:
    """Return a step that was also done as another one of its kind."""
    n_seen = step.seen + other.seen
    return step._replace(seen=n_seen, why=step.why or other.why)


def _branch_order(branch: StrategyBranch) -> tuple[int, tuple[object, ...]]:
    """Return by what branches are ordered.

    It is how often they were done, then their words.
    """
    return -branch.step.seen, branch.step[:3]


def _branch_with(
    branch: StrategyBranch | None, before: int, step: StrategyStep
) -> StrategyBranch:
    """Return a branch with another step of its kind; a new one where there is none.

    It has the step that did its work, else the first in order of their words.
    """
    if branch is None:
        return StrategyBranch(before, step)
    best = min(branch.step, step, key=lambda step: (step.ok is not True, step[:3]))
    n_seen = branch.step.seen + step.seen
    best = best._replace(seen=n_seen)
    return StrategyBranch(branch.after, best)


def _kinds_of(strategy: Strategy) -> list[Kind]:
    """Return the kinds of the steps, then of the branches."""
    steps = list(strategy.steps)
    steps += [branch.step for branch in strategy.branches]
    return _kinds(steps)


def _kinds(steps: Iterable[StrategyStep | CapturedAction]) -> list[Kind]:
    """Return the kind of each step, with how many of its kind came before."""
    counts = Counter[str]()
    kinds = []
    for step in steps:
        kind = kind_of(step.action)
        kinds.append((kind, counts[kind]))
        counts[kind] += 1
    return kinds


def new_constraints(
    texts: list[str], constraints: Iterable[tuple[str, str, str]]
) -> Iterator[tuple[str, str, str]]:
    """Yield text, fault and source of the constraints that repeat none of the texts.

    One repeats another that says it in nearly the same words. What is yielded is added
    to the texts.

    Args:
        texts: The texts that are there.
        constraints: Text, fault class and source of each.
    """
    for text, fault, source in constraints:
        line = one_line(text, _CONSTRAINT_CHARACTERS)
        if not line or len(texts) >= MOST_CONSTRAINTS:
            continue
        if _is_repeated(line, texts):
            continue
        texts.append(line)
        if fault not in [*Fault]:
            fault = Fault.UNKNOWN_FAILURE.value
        if source not in TRUST:
            source = "tool"
        yield line, fault, source


def _is_repeated(line: str, texts: Iterable[str]) -> bool:
    """Return whether a line shares most of its words with one of the texts."""
    words = set(tokenize(line))
    for text in texts:
        others = set(tokenize(text))
        shared = words & others
        either = words | others
        n_shared = len(shared)
        n_all = len(either)
        if n_shared >= _SAID_AGAIN * n_all:
            return True
    return False
