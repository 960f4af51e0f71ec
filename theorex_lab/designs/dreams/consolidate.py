"""Consolidation: a trajectory becomes a strategy or is taken into one, in one
transaction, where memory gets no worse by it.

The gate: the past goals of the strategies that are touched find them among the first
three after it, as they did before. What two strategies make together is the same
whichever comes first, but for its id, and does not grow with what is repeated.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Any

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
from theorex_lab.designs.dreams.trajectories import (
    CapturedAction,
    CuratedTrajectory,
    Trajectory,
)
from theorex_lab.journal.columns import Table
from theorex_lab.journal.event import Body, Event, new_event
from theorex_lab.memory.annotations import Marks
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import TRUST
from theorex_lab.search.lexical import tokenize
from theorex_lab.text.line import one_line

_NEIGHBOURS = 5  # whose past goals a new strategy must leave alone
_FIRST = 3
_NOISE = 1e-6
_ASLEEP = -2.0
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
Append = Callable[
    ..., None
]  # appends an event, and takes over the strategy that it tells
Asked = tuple[
    str,
    str,
    str,
    # the strategy that a goal found ('' for none), the one that it must find, and the goal
]


class StrategyVectorsOfScope:
    """The vectors of the active strategies of one project and domain, as one matrix."""

    def __init__(self, dimensions: int) -> None:
        self.places: dict[str, int] = {}
        self.rows = Table(vector=("f4", dimensions), awake="?")

    def put(self, strategy_id: str, vector: Matrix | None) -> None:
        """The vector that a strategy has from now on, None where it is put to sleep."""
        if (place := self.places.setdefault(strategy_id, len(self.places))) == len(
            self.rows
        ):
            self.rows.grow(1)
        self.rows.put(
            place, vector=0.0 if vector is None else vector, awake=vector is not None
        )

    def near(self, vector: Matrix, most: int = _NEIGHBOURS) -> list[tuple[str, float]]:
        """Ids and cosines of the strategies nearest to a vector, best first."""
        scores = self._scores(vector[None])[:, 0]
        ids = [*self.places]
        best = np.argsort(-scores, kind="stable")[:most].tolist()
        return [
            (ids[place], float(scores[place]))
            for place in best
            if scores[place] > _ASLEEP
        ]

    def loses(
        self,
        asked: Sequence[Asked],
        goals: Matrix,
        changed: Mapping[str, Matrix | None],
    ) -> bool:
        """Whether one of the goals, (n, dimensions), would find its strategy no more
        once these have other vectors, or None.
        """
        places = {**self.places}
        for name in changed:
            places.setdefault(name, len(places))
        before = np.full((len(places), len(goals)), _ASLEEP, np.float32)
        before[: len(self.places)] = self._scores(goals)
        after = before.copy()
        for name, vector in changed.items():
            after[places[name]] = _ASLEEP if vector is None else goals @ vector
        olds, ones = np.array(
            [(places.get(old, -1), places[one]) for old, one, _ in asked]
        ).T
        return bool((~_lead(after, ones) & ((olds < 0) | _lead(before, olds))).any())

    def _scores(self, vectors: Matrix) -> Matrix:
        found: Matrix = np.where(
            self.rows["awake"][:, None],
            self.rows["vector"] @ vectors.T,
            np.float32(_ASLEEP),
        )
        return found


def _lead(scores: Matrix, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the strategy in each place is among the first three of its column."""
    own = scores[places, np.arange(len(places))]
    leads: NDArray[np.bool_] = (own > _ASLEEP) & (
        (scores > own + _NOISE).sum(axis=0) < _FIRST
    )
    return leads


class ActiveStrategies:
    """The active strategies of a home as a cycle holds them; what others decide
    meanwhile is taken over before each commit.
    """

    def __init__(self, home: Home) -> None:
        self.home, self.settings, self.erased = home, dream_settings(home), False
        self._vectors: dict[str, Matrix] = {}
        self.taken: set[str] = (
            set()
        )  # trajectories that others dreamt since this was made
        self._load()

    def _load(self) -> None:
        seq = self.home.journal.last_seq()
        found = made.strategies_of(self.home)
        self.vectors(*(text for one in found for text in (one.text, *one.goals)))
        self.seq = seq
        self.known = {one.id: one for one in found}
        self.said = {
            one.id: [constraint.text for constraint in one.constraints] for one in found
        }
        dimensions = self.home.embedder.dimensions
        self.scopes: dict[tuple[str, str], StrategyVectorsOfScope] = defaultdict(
            lambda: StrategyVectorsOfScope(dimensions)
        )
        for one in found:
            self.scope(one).put(one.id, self._vectors[one.text])

    def scope(self, one: Strategy) -> StrategyVectorsOfScope:
        """The strategies that one is compared with: of the same project and domain."""
        return self.scopes[one.project, one.domain]

    def vectors(self, *texts: str) -> Matrix:
        """Vectors of texts, (n, dimensions); what is not known is computed at once.
        Raises ModelUnavailable.
        """
        if lacking := [
            text for text in dict.fromkeys(texts) if text not in self._vectors
        ]:
            self._vectors |= zip(
                lacking, made.vectors_of(self.home, lacking), strict=True
            )
        return np.array([self._vectors[text] for text in texts], np.float32)

    def near(self, new: Strategy) -> list[tuple[str, float]]:
        """The nearest strategies of the same project and domain, with their cosines."""
        return self.scope(new).near(self.vectors(new.text)[0])

    def may_change(self, found: Strategy) -> bool:
        """Whether a strategy is neither used often nor pinned."""
        pinned = self.home.views.get(Marks).pinned
        return (
            found.accesses < self.settings.compaction_max_uses
            and found.id not in pinned
        )

    @contextmanager
    def writing(self) -> Iterator[Append]:
        """A transaction that begins with what others decided meanwhile; no vector is
        computed in it.
        """
        with self.home.journal.exclusive() as append:
            later = [*self.home.journal.tail(self.seq, kinds=_DECIDED)]
            self.taken |= {
                event.body["trajectory"]
                for event in later
                if event.body.get("trajectory")
            }
            self.taken |= {
                passed[0] for event in later for passed in event.body.get("passed", ())
            }
            self.erased |= any(event.kind == "erasure" for event in later)
            if later:
                self._load()

            def put(event: Event, one: Strategy | None = None) -> None:
                self.seq = append(event)
                if one is not None:
                    self.known[one.id] = replace(one, event=event.id)
                    self.scope(one).put(one.id, self._vectors[one.text])

            yield put

    def consolidate(
        self,
        trajectory: Trajectory,
        curated: CuratedTrajectory,
        new: Strategy,
        links: Sequence[Link],
    ) -> Done:
        """Take a trajectory in, with all that the dream said, or nothing of it: created
        or merged, the strategy's id and what there is to count; or held, or elsewhere
        where another dream took it, and why. `vectors` knows the strategy's.
        """
        lineage = [trajectory.goal_event, *(done.event for done in trajectory.actions)]
        with self.writing() as append:
            if trajectory.id in self.taken:
                return "elsewhere", "another dream has taken it in", {}
            if self.erased or (way := self._through_the_gate(new)) is None:
                lost = "past goals would no longer find their strategies"
                return (
                    "held",
                    "something was erased meanwhile" if self.erased else lost,
                    {},
                )
            old, one = way
            did, body = ("merged", _MERGED) if old else ("created", {})
            body = body | {"trajectory": trajectory.id, "upto": trajectory.upto}
            kind, lineage = (
                ("strategy_merged", [old.event, *lineage])
                if old
                else ("strategy", lineage)
            )
            append(_event(self.home, kind, one, body, lineage), one)
            counts = {"traces_processed": 1, f"nodes_{did}": 1}
            counts["edges_created"] = 0 if old else max(0, 3 * len(one.steps) - 2)
            counts["constraints_extracted"] = self._warn(
                one, curated.constraints, trajectory.id, append
            )
            counts["cross_edges_created"] = 0 if old else self._link(one, links, append)
            self._tidy(one, curated, append)
        return did, one.id, counts

    def _through_the_gate(
        self, new: Strategy
    ) -> tuple[Strategy | None, Strategy] | None:
        """What to write, and in whose place (None for a new one): the first way that
        leaves memory no worse.
        """
        alike = self.near(new)
        least = self.settings.merge_similarity
        near, same = (
            [self.known[found] for found, cosine in alike if cosine >= limit]
            for limit in (_ASLEEP, least)
        )
        ways = (
            (old, joined_strategies(old, new, reworded=words))
            for old in same or near[:1]
            for words in (True, False)
        )
        for old, one in (
            chain(ways, [(None, new)]) if same else chain([(None, new)], ways)
        ):
            asked = [
                (found.id, found.id, goal)
                for found in ([old] if old else near)
                for goal in found.goals
            ]
            asked += [("", one.id, new.goal)] if old else []
            if not self._loses(one, asked, {one.id: one.text}):
                return old, one
        return None

    def _loses(
        self, one: Strategy, asked: Sequence[Asked], changed: Mapping[str, str | None]
    ) -> bool:
        """Whether a goal loses its strategy once these of the scope have other texts,
        or none.
        """
        vectors = {
            name: None if text is None else self._vectors[text]
            for name, text in changed.items()
        }
        goals = self.vectors(*(goal for _, _, goal in asked))
        return bool(asked) and self.scope(one).loses(asked, goals, vectors)

    def _warn(
        self,
        one: Strategy,
        said: Iterable[tuple[str, str, str]],
        trajectory: str,
        append: Append,
    ) -> int:
        """Append the constraints that a strategy does not have yet; returns how many."""
        known, lineage = self.said.setdefault(one.id, []), [self.known[one.id].event]
        before = len(known)
        for text, fault, source in new_constraints(known, said):
            named = f"co-{derived_event_id('constraint', one.id, text)[-12:]}"
            body = {
                "constraint_id": named,
                "text": text,
                "fault": fault,
                "trajectory": trajectory,
                "source": source,
            }
            append(_event(self.home, "constraint", one, body, lineage))
        return len(known) - before

    def _link(self, one: Strategy, links: Sequence[Link], append: Append) -> int:
        """Append the links of a new strategy to others that are there; returns how
        many.
        """
        known = (
            link
            for link in dict.fromkeys(links)
            if len({*link[:2]} & self.known.keys()) == 2
        )
        kept = [link for link in known if one.id in link[:2] and link[2] in _LINKS][
            : self.settings.most_links
        ]
        for source, target, kind in kept:
            one_end, other = self.vectors(
                self.known[source].text, self.known[target].text
            )
            weight = round(min(1.0, max(0.0, float(one_end @ other))), 6)
            body = {
                "from_id": source,
                "to_id": target,
                "type": str(kind),
                "weight": weight,
            }
            append(
                _event(
                    self.home,
                    "strategy_linked",
                    one,
                    body,
                    [self.known[end].event for end in (source, target)],
                )
            )
        return len(kept)

    def _tidy(self, one: Strategy, curated: CuratedTrajectory, append: Append) -> None:
        """Take strategies into others, and put to sleep what another says too, as the
        dream asked, where nothing is lost by it.
        """
        scope = self.scope(one)
        same = self.settings.merge_similarity
        for into, gone in [*curated.groups, *(("", gone) for gone in curated.prunes)]:
            old = self.known.get(gone)
            if (
                old is None
                or gone in (one.id, into)
                or self.scope(old) is not scope
                or not self.may_change(old)
            ):
                continue
            near = [
                other
                for other, alike in self.near(old)
                if other != gone and alike >= same
            ]
            heir = self.known.get(into or next(iter(near), ""), old)
            whole = joined_strategies(heir, old) if into else heir
            asked = [
                (found.id, heir.id, goal)
                for found in (old, heir)
                for goal in found.goals
            ]
            changed = {heir.id: whole.text, gone: None}
            if (
                heir is old
                or self.scope(heir) is not scope
                or self._loses(one, asked, changed)
            ):
                continue
            if into:
                body = _MERGED | {"absorbed": gone, "why": "a dream took them for one"}
                append(
                    _event(
                        self.home,
                        "strategy_merged",
                        whole,
                        body,
                        [heir.event, old.event],
                    ),
                    whole,
                )
                self._warn(
                    whole,
                    [(said.text, said.fault, said.source) for said in old.constraints],
                    "",
                    append,
                )
            else:
                append(
                    _event(
                        self.home,
                        "strategy_compacted",
                        old,
                        {"pruned": True, "undo": False},
                        [old.event],
                    )
                )
            scope.put(gone, None)
            del self.known[gone]

    def rewrite(self, kind: str, old: Strategy, one: Strategy, **body: Any) -> str:
        """Put a strategy in other words, where goals still find it and its neighbours;
        returns why not, or ''.
        """
        self.vectors(one.text, *one.goals)
        with self.writing() as append:
            if old.id not in self.known or self.known[old.id].event != old.event:
                return "it was changed meanwhile"
            near = [self.known[found] for found, _ in self.near(one) if found != old.id]
            asked = [
                (found.id, found.id, goal)
                for found in (old, *near)
                for goal in found.goals
            ]
            if one.text != old.text and self._loses(old, asked, {old.id: one.text}):
                return "past goals would no longer find their strategies"
            append(_event(self.home, kind, one, body, [old.event]), one)
        return ""


def _event(
    home: Home, kind: str, one: Strategy, body: Body, lineage: Sequence[str]
) -> Event:
    """An event of a strategy; those of kinds that tell what it is as a whole do so."""
    told = {"state": one.state(), "source": one.source} if kind in STATED else {}
    body = {"strategy_id": one.id, "project": one.project, **told, **body}
    return new_event(kind, body, agent=one.agent, at=home.clock.now(), lineage=lineage)


def undo_merge(home: Home, given: str) -> Strategy:
    """Give up the last merge of a strategy, or that it was told shorter or put to
    sleep; returns it as it was before.

    given: the strategy's id, or the id of that event. Raises InvalidInput where nothing
    can be given up, or later changes stand on it.
    """
    named = home.journal.read(ids=[given])
    one = made.strategy_by_id(
        home, named[0].body.get("strategy_id", given) if named else given
    )
    with home.journal.exclusive() as append:
        told = list[Event]()
        for event in home.journal.tail(0, kinds=STATED):
            if event.body["strategy_id"] == one.id:
                told = told[:-1] if event.body.get("undo") else [*told, event]
        last = told[-1]
        if last.kind not in ("strategy_merged", "strategy_compacted") or (
            named and last.id != given
        ):
            allowed = (
                "what was merged, told shorter or put to sleep, and no later change"
                " stands on"
            )
            raise InvalidInput(
                f"got {given!r:.100}; allowed is {allowed}; {one.id} ends with"
                f" {last.kind} {last.id}"
            )
        body = last.body | {
            "undo": True,
            "pruned": False,
            "trajectory": "",
            "state": told[-2].body["state"],
        }
        append(_event(home, last.kind, one, body, [told[-2].id, last.id]))
    return made.strategy_by_id(home, one.id)


MOST_STEPS = 100
MOST_BRANCHES = 16
MOST_GOALS = 32
MOST_CONSTRAINTS = 32
_LEARNT = 0.1  # of its fidelity, what another trajectory adds to the confidence
_SAID_AGAIN = (
    0.8  # share of words in common from which a constraint is one that is there
)
_READ_CHARACTERS = 2_000
_CONSTRAINT_CHARACTERS = 400
_READ_STEPS = 12
Kind = tuple[str, int]  # what a step is in kind, and the how manieth of its kind it is


@lru_cache(16_384)
def kind_of(action: str) -> str:
    """What an action is in kind: its tool, the names of what it was given, and paths,
    without other values.

    >>> kind_of('get_user({"id": "mia_3"})') == kind_of('get_user({"id": "raj_1"})')
    True
    >>> kind_of("pytest -q tests/a.py") == kind_of("pytest -q tests/b.py")
    False
    """
    text = action[:_READ_CHARACTERS]
    if called := patterns.NAMED.match(text):
        places = {
            quoted
            for _, quoted in patterns.QUOTED.findall(text)
            if patterns.PLACE.search(quoted)
        }
        return " ".join(
            [
                called[1],
                *sorted(
                    places | {one or other for one, other in patterns.KEY.findall(text)}
                ),
            ]
        )
    plain = patterns.QUOTED.sub(
        lambda found: found[0] if patterns.PLACE.search(found[2]) else '""', text
    )
    return one_line(re.sub(r"\d+", "0", plain).lower(), _READ_CHARACTERS)


def strategy_from(trajectory: Trajectory, curated: CuratedTrajectory) -> Strategy:
    """What a trajectory says by itself, as a dream has read it; its steps are the
    recorded actions.
    """
    chosen = [trajectory.actions[place] for place in curated.critical]
    kinds = enumerate(_kinds(chosen))
    # Where there are too many, the first of each kind come before those that repeat
    # one.
    kept = sorted(sorted(kinds, key=lambda found: found[1][1])[:MOST_STEPS])
    whys = [curated.whys.get(place, "") for place in curated.critical]
    steps = [
        StrategyStep(*chosen[at][2:5], whys[at], 1, chosen[at].event, chosen[at].ok)
        for at, _ in kept
    ]
    source = min(trajectory.source, curated.source, key=TRUST.__getitem__)
    return Strategy(
        new_strategy_id(trajectory.id, trajectory.upto),
        trajectory.goal,
        curated.summary,
        tuple(steps),
        goals=(trajectory.goal,),
        confidence=round(curated.confidence * FIDELITY.get(trajectory.origin, 0.5), 6),
        outcome=trajectory.outcome.value,
        level=int(trajectory.level),
        domain=trajectory.domain,
        origin=trajectory.origin,
        success=int(trajectory.outcome is Ended.SUCCESS),
        failure=int(trajectory.outcome is Ended.FAILURE),
        isa_version=trajectory.isa_version,
        source=source,
        tags=trajectory.tags,
        project=trajectory.project,
        agent=trajectory.agent,
    )


def joined_strategies(
    one: Strategy, other: Strategy, *, reworded: bool = True
) -> Strategy:
    """The first with what the second adds to it. It has the better one's steps, and its
    words unless it is not `reworded`.

    A failure adds to its count and to nothing else.
    """
    best, rest = sorted((one, other), key=_rank, reverse=True)
    said = best if reworded else one
    steps, branches = (
        (best.steps, best.branches) if _failed(rest) else _aligned(best, rest)
    )
    goals = [said.goal, *sorted({*one.goals, *other.goals} - {said.goal})]
    return replace(
        one,
        goal=said.goal,
        summary=said.summary,
        steps=steps,
        branches=branches,
        goals=tuple(goals[:MOST_GOALS]),
        confidence=round(min(1.0, max(_sure(one, other), _sure(other, one))), 6),
        outcome=best.outcome,
        origin=best.origin,
        level=min(one.level, other.level),
        success=one.success + other.success,
        failure=one.failure + other.failure,
        version=one.version + 1,
        isa_version=best.isa_version,
        content=best.content or rest.content,
        tags=tuple(sorted({*one.tags, *other.tags})),
        source=min(one.source, other.source, key=TRUST.__getitem__),
    )


def _sure(one: Strategy, other: Strategy) -> float:
    """The confidence in the one with what each trajectory of the other adds that did
    not fail.
    """
    adds = 0 if _failed(other) else max(1, other.version - other.failure)
    return one.confidence + _LEARNT * FIDELITY.get(other.origin, 0.5) * adds


def _failed(strategy: Strategy) -> bool:
    return strategy.outcome == Ended.FAILURE


def _rank(strategy: Strategy) -> tuple[object, ...]:
    """By what the better way is told: success, how real it was, then the fewest steps,
    of two at least beside those that hand the work over; where it is not known to have
    succeeded, as many steps as are read at once.
    """
    length = sum(not patterns.HANDED.match(step.action) for step in strategy.steps)
    succeeded = strategy.outcome == Ended.SUCCESS
    return (
        [int(number) for number in re.findall(r"\d+", strategy.isa_version)],
        not _failed(strategy),
        succeeded,
        FIDELITY.get(strategy.origin, 0.5),
        min(length, 2 if succeeded else _READ_STEPS),
        -length,
        [step[:3] for step in strategy.steps],
        strategy.goal,
        strategy.summary,
    )


def _aligned(
    best: Strategy, rest: Strategy
) -> tuple[tuple[StrategyStep, ...], tuple[StrategyBranch, ...]]:
    """The better one's steps with how often each was seen in both, and what only the
    other did, after the step before it.
    """
    mine, others = (
        _kinds([*one.steps, *(branch.step for branch in one.branches)])
        for one in (best, rest)
    )
    steps, places = (
        [*best.steps],
        {-1: -1},
    )  # where the other's steps are among the better one's
    main = {kind: place for place, kind in enumerate(mine[: len(steps)])}
    aside = dict(zip(mine[len(steps) :], best.branches, strict=True))
    done = [
        *(StrategyBranch(place - 1, step) for place, step in enumerate(rest.steps)),
        *rest.branches,
    ]
    for number, (kind, (after, step)) in enumerate(zip(others, done, strict=True)):
        before = places[min(after, len(rest.steps) - 1)]
        if number < len(rest.steps):
            places[number] = main.get(kind, before)
        if kind in main:
            known = steps[main[kind]]
            steps[main[kind]] = known._replace(
                seen=known.seen + step.seen, why=known.why or step.why
            )
        else:
            known_at, known = aside.get(
                kind, StrategyBranch(before, step._replace(seen=0))
            )
            chosen = min(
                known, step, key=lambda found: (found.ok is not True, found[:3])
            )
            aside[kind] = StrategyBranch(
                known_at, chosen._replace(seen=known.seen + step.seen)
            )
    ordered = sorted(
        aside.values(), key=lambda branch: (-branch.step.seen, branch.step[:3])
    )
    return tuple(steps), tuple(ordered[:MOST_BRANCHES])


def _kinds(done: Iterable[StrategyStep | CapturedAction]) -> list[Kind]:
    before = Counter[str]()
    found = list[Kind]()
    for kind in (kind_of(step.action) for step in done):
        found.append((kind, before[kind]))
        before[kind] += 1
    return found


def new_constraints(
    known: list[str], said: Iterable[tuple[str, str, str]]
) -> Iterator[tuple[str, str, str]]:
    """Text, fault and source of those that no known one says already in nearly the same
    words; they are known from then on.
    """
    for text, fault, source in said:
        line = one_line(text, _CONSTRAINT_CHARACTERS)
        own = {*tokenize(line)}
        others = ({*tokenize(old)} for old in known)
        is_known = any(
            len(own & other) >= _SAID_AGAIN * len(own | other) for other in others
        )
        if line and len(known) < MOST_CONSTRAINTS and not is_known:
            known.append(line)
            fault = fault if fault in [*Fault] else Fault.UNKNOWN_FAILURE.value
            yield line, fault, source if source in TRUST else "tool"
