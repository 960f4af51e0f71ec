"""Designs beside peers: advice of causal memory; a record, theorems near one and the
closure of research.
"""

import json
from collections.abc import Iterator
from itertools import count, islice

import networkx as nx
import numpy as np

from benchmarks.measure import NOW, Ground, Round, alternately, elapsed, in_turn, row
from theorex_lab.core.clock import MICROSECONDS_PER_DAY, FixedClock
from theorex_lab.designs.causal.capture import document_form
from theorex_lab.designs.causal.keys import compute_signal_key
from theorex_lab.designs.research.theorems import closed
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.contract import Home
from theorex_lab.store.lab import Lab

GENES = [f"gene_{number}" for number in range(10)]
_SCAN = (
    "the json module on the last 2,000 lines of memory_graph.jsonl, which a scan reads"
)
_LINES = 2_000
_TOOLS = 20
_COMMANDS = 300
_CLASSES = 12
_CALLS = 50
Signals = list[str]


def mixed(seed: int = 0) -> Iterator[Signals]:
    """Yield signals of failing calls, without end: an error of its own each, tools,
    commands and classes as in Zipf's law.
    """
    generator = np.random.default_rng(seed)
    sizes = (_TOOLS, _COMMANDS, _CLASSES)
    shares = [1.0 / np.arange(1, size + 1) for size in sizes]
    while True:
        draws = [
            generator.choice(len(share), _LINES, p=share / share.sum()).tolist()
            for share in shares
        ]
        errors = generator.integers(0, 2**32, _LINES).tolist()
        for error, tool, command, of_class in zip(errors, *draws, strict=True):
            error_signature = f"errsig_norm:{error:08x}"
            yield [
                "log_error",
                error_signature,
                f"tool:{tool}",
                f"command:{command}",
                f"class:{of_class}",
            ]


def outcomes(
    home: Home, signal_lists: Iterator[Signals], number: int
) -> Iterator[Event]:
    """Yield outcomes of ten genes in the quarter before NOW, from the earliest to the
    latest, each under signals of its own.
    """
    _ = home.designs  # whose kinds are known from then on
    generator = np.random.default_rng(1)
    ages = np.sort(generator.integers(0, 90 * MICROSECONDS_PER_DAY, number))[
        ::-1
    ].tolist()
    draws = generator.integers(0, [[len(GENES)], [2]], (2, number)).T.tolist()
    for number_of_action, (signals, age, (gene, hit)) in enumerate(
        zip(islice(signal_lists, number), ages, draws, strict=True)
    ):
        body = {
            "signal": {
                "key": compute_signal_key(signals),
                "signals": signals,
                "error_signature": None,
            },
            "mutation": None,
            "gene": {"id": GENES[gene], "category": "repair"},
            "action": {"id": f"act_{number_of_action}"},
            "personality": None,
            "outcome": {
                "status": ("failed", "success")[hit],
                "score": float(hit),
                "note": "told",
            },
            "source": "agent",
        }
        yield new_event("attempt_closed", body, agent="main", at=NOW - age)


@row(
    "advice",
    "advice of a home with as many keys as rows, signals mixed",
    _SCAN,
    at_most=0.2,
)
def _advice(ground: Ground) -> Iterator[Round]:
    file = ground.folder / "memory_graph.jsonl"
    signal_lists = [*islice(mixed(), _CALLS)]
    with Lab(ground.folder / "home", clock=FixedClock(NOW)) as lab:
        events = [*outcomes(lab.home, mixed(), ground.rows)]
        lab.journal.append(events)
        file.write_text(
            "".join(
                f"{json.dumps(document_form(event))}\n" for event in events[-_LINES:]
            ),
            "utf-8",
        )
        lab.causal.get_advice(signal_lists[0], GENES)
        ours = in_turn(
            lambda signals: lab.causal.get_advice(signals, GENES), signal_lists
        )
        yield alternately(
            ours,
            lambda: [json.loads(line) for line in file.read_text("utf-8").splitlines()],
            calls=10,
        )


_LAWS = 1_000
_LINKS_OF_LAW = 2
_LINKS_OF_NODE = 3
_DEPTH = 3
_PUBLISHED = "the published way: every level looks through all links"


@row(
    "remember",
    "a record kept, after as many as rows, time that passes",
    "a bare durable append",
    at_most=1.5,
)
def _remember(ground: Ground) -> Iterator[Round]:
    with Lab(ground.folder / "home", clock=FixedClock(NOW)) as lab:
        lab.research.remember("key.0", {"value": 0})
        (first,) = lab.journal.tail(0, kinds=["record"])
        records = []
        for number in range(ground.rows):
            body = {
                **first.body,
                "key": f"key.{number}",
                "record_id": f"rec_{number}",
            }
            records.append(new_event("record", body, agent="main", at=NOW))
        lab.journal.append(records)
        numbers = count()
        yield alternately(
            lambda: lab.research.remember(
                f"new.{next(numbers)}", {"value": "a text of some words"}, ["tag"]
            ),
            lambda: lab.journal.append(
                [new_event("record", first.body, agent="main", at=NOW)]
            ),
            calls=200,
            meter=elapsed,
        )


@row(
    "related",
    "theorems within three links, three links a theorem",
    _PUBLISHED,
    at_most=0.25,
)
def _related(ground: Ground) -> Iterator[Round]:
    shape = (_LINKS_OF_NODE * ground.rows, 2)
    links = np.random.default_rng(0).integers(0, ground.rows, shape).tolist()
    names = [f"theorem {number}" for number in range(ground.rows)]

    def published(start: int) -> set[int]:
        reached = {start}
        level = {start}
        for _ in range(_DEPTH):
            next_level = set()
            for first, second in links:
                if first in level:
                    next_level.add(second)
                if second in level:
                    next_level.add(first)
            level = next_level - reached
            reached |= level
        return reached - {start}

    with Lab(ground.folder / "home", clock=FixedClock(NOW)) as lab:
        lab.research.import_theorems(
            [(name, name, ()) for name in names],
            [(names[first], names[second], "uses") for first, second in links],
        )
        node_ids = [lab.research.theorem(name).node_id for name in names[:20]]
        lab.research.find_related_theorems(node_ids[0], _DEPTH)
        ours = in_turn(
            lambda node: lab.research.find_related_theorems(node, _DEPTH), node_ids
        )
        yield alternately(ours, in_turn(published, range(20)), calls=20)


@row(
    "closure",
    "what follows from 1,000 laws of two links each",
    "networkx's transitive closure",
    at_most=0.25,
)
def _closure(ground: Ground) -> Iterator[Round]:
    starts = np.repeat(np.arange(1, _LAWS), _LINKS_OF_LAW)
    ends = np.random.default_rng(0).integers(
        0, starts
    )  # what comes before, so that there is no circle
    names = list(map(str, range(_LAWS)))
    graph = nx.DiGraph(zip(starts.tolist(), ends.tolist(), strict=True))
    yield alternately(
        lambda: closed(names, starts, ends),
        lambda: nx.transitive_closure(graph, reflexive=True),
    )
