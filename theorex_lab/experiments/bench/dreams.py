"""Dreams: programs of the instruction set, a cycle over what waits, and an action captured."""

import shlex
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from itertools import cycle
from typing import Any

from theorex_lab.clock import FixedClock
from theorex_lab.designs.dreams.isa import parse, run
from theorex_lab.designs.dreams.strategies import Strategy
from theorex_lab.experiments.bench import measure
from theorex_lab.experiments.bench.measure import NOW, Amounts, GivenVectors, Ground, Round, alternately, elapsed, row
from theorex_lab.journal.event import Event, new_event
from theorex_lab.journal.sqlite.store import open_journal
from theorex_lab.lab import Lab

_A_CYCLE = 50  # trajectories


@row("isa", "a program read and run, processor time", "shlex.split of the same lines", at_most=2)
def _isa(ground: Ground) -> Iterator[Round]:
    said = enumerate(measure.texts(ground.rows, length=4))
    lines = [f'BUILD_CHILD node {place} "{text}" "{text}" done' for place, text in said]
    ours = partial(lambda program: run(parse(program), max_instructions=len(lines)), "\n".join(lines))
    yield alternately(ours, lambda: [shlex.split(line) for line in lines])


@row("dream", "50 trajectories dreamt by rules, time that passes", "bare durable appends of what it writes", at_most=2)
def _dream(ground: Ground) -> Iterator[Round]:
    goals, bare = cycle(measure.texts(1_000, length=8)), open_journal(ground.folder)
    made = ({"reasoning": text, "action": f"run(what='{text}')", "result": text} for text in measure.texts(5))
    actions = [{**action, "ok": True} for action in made]
    with Lab(ground.folder / "home", clock=FixedClock(NOW), embedder=GivenVectors()) as lab:

        def one_round() -> Amounts:
            for _ in range(_A_CYCLE):
                lab.dreams.capture(next(goals), actions)
            before = lab.journal.last_seq()
            ours = elapsed(lambda: lab.dreams.dream(limit=_A_CYCLE))
            written = defaultdict[str, list[Event]](list)
            for event in lab.journal.tail(before, kinds=["strategy", "strategy_merged", "constraint"]):
                written[event.body["trajectory"]].append(event)
            return Amounts(ours, elapsed(lambda: [bare.append(events) for events in written.values()]))

        yield one_round
    bare.close()


@row("capture", "an action captured, time that passes", "a bare durable append", at_most=2)
def _capture(ground: Ground) -> Iterator[Round]:
    given: dict[str, Any] = {"reasoning": "why", "action": "run(what='it')", "result": "done", "ok": True}
    home = ground.folder / "home"
    with Lab(home, clock=FixedClock(NOW)) as lab, lab.dreams.session("go") as log, log.trace() as trace:
        body = {"trajectory_id": trace.id, **given}

        def bare() -> None:
            lab.journal.append([new_event("acted", body, agent="main", at=NOW)])

        yield alternately(lambda: trace.action(**given), bare, calls=50, meter=elapsed)


@row("recall", "a recall among strategies, vectors given, processor time", "the product of all vectors alone",
     at_most=3)  # fmt: skip
def _recall(ground: Ground) -> Iterator[Round]:
    goals, embedder = measure.texts(ground.rows, length=8), GivenVectors()
    with Lab(ground.folder / "home", clock=FixedClock(NOW), embedder=embedder) as lab:
        made = [Strategy(f"st-{place:012x}", goal, goal, goals=(goal,)) for place, goal in enumerate(goals)]
        known = {"trajectory": "", "upto": 0, "source": "agent", "project": ""}
        _ = lab.home.designs  # whose kinds are known from then on
        told = ({"strategy_id": one.id, "state": one.state(), **known} for one in made)
        lab.journal.append([new_event("strategy", body, agent="main", at=NOW) for body in told])
        matrix, asked = embedder.embed(goals), cycle(goals)
        vector = matrix[0]
        yield alternately(lambda: lab.dreams.query(next(asked)), lambda: matrix @ vector, calls=50)
