"""Designs beside peers: advice of causal memory, and the closure of research."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path

import networkx as nx
import numpy as np

from theorex_lab.clock import MICROSECONDS_PER_DAY, FixedClock, to_iso
from theorex_lab.designs.causal.capture import document_form
from theorex_lab.designs.causal.keys import compute_signal_key
from theorex_lab.designs.research.theorems import closed
from theorex_lab.experiments.bench.measure import NOW, Ground, Round, alternately, in_turn, row
from theorex_lab.home import Home
from theorex_lab.journal.event import Event, new_event
from theorex_lab.lab import Lab

GENES = [f"gene_{number}" for number in range(10)]
_SCAN = "a scan of the last 2,000 lines of memory_graph.jsonl"
_LINES, _TOOLS, _COMMANDS, _CLASSES, _CALLS = 2_000, 20, 300, 12, 50
Signals = list[str]


def mixed(seed: int = 0) -> Iterator[Signals]:
    """Signals of failing calls, without end: an error of its own each, tools, commands and classes as in Zipf's law."""
    generator, sizes = np.random.default_rng(seed), (_TOOLS, _COMMANDS, _CLASSES)
    shares = [1.0 / np.arange(1, size + 1) for size in sizes]
    while True:
        drawn = [generator.choice(len(share), _LINES, p=share / share.sum()).tolist() for share in shares]
        errors = generator.integers(0, 2**32, _LINES).tolist()
        for error, tool, command, of_class in zip(errors, *drawn, strict=True):
            own = f"errsig_norm:{error:08x}"
            yield ["log_error", own, f"tool:{tool}", f"command:{command}", f"class:{of_class}"]


def outcomes(home: Home, made: Iterator[Signals], number: int) -> Iterator[Event]:
    """Outcomes of ten genes in the quarter before NOW, from the earliest to the latest, each under signals of its own."""
    _ = home.designs  # whose kinds are known from then on
    generator = np.random.default_rng(1)
    ages = np.sort(generator.integers(0, 90 * MICROSECONDS_PER_DAY, number))[::-1].tolist()
    drawn = generator.integers(0, [[len(GENES)], [2]], (2, number)).T.tolist()
    for place, (signals, age, (gene, hit)) in enumerate(zip(islice(made, number), ages, drawn, strict=True)):
        body = {
            "signal": {"key": compute_signal_key(signals), "signals": signals, "error_signature": None}, "mutation": None,
            "gene": {"id": GENES[gene], "category": "repair"}, "action": {"id": f"act_{place}"}, "personality": None,
            "outcome": {"status": ("failed", "success")[hit], "score": float(hit), "note": "told"}, "source": "agent"}  # fmt: skip
        yield new_event("attempt_closed", body, agent="main", at=NOW - age)


def scanned(file: Path, signals: Signals, now: float) -> dict[str, float]:
    """The peer: scores of the genes that are not banned by the lines of a file, with no more than dictionaries. now: seconds."""
    edges: dict[tuple[str, str], list[float]] = {}
    priors: dict[str, list[float]] = {}
    for line in file.read_text("utf-8").splitlines()[-_LINES:]:
        event = json.loads(line)
        if event["kind"] == "outcome":
            gene, at = event["gene"]["id"], datetime.fromisoformat(event["ts"]).timestamp()
            for sums in edges.setdefault((event["signal"]["key"], gene), [0, 0, 0]), priors.setdefault(gene, [0, 0, 0]):
                sums[event["outcome"]["status"] == "failed"] += 1
                sums[2] = max(sums[2], at)
    own, best, tried = set(signals), dict[str, float](), dict[str, float]()
    for (key, gene), sums in edges.items():
        parts = set(key.split("|"))
        likeness = len(own & parts) / len(own | parts)
        if likeness >= 0.34:
            best[gene] = max(best.get(gene, 0.0), _aged(sums, now, 30) * likeness)
            tried[gene] = max(tried.get(gene, 0.0), sums[0] + sums[1])
    scores = {}
    for gene in GENES:
        here, prior = best.get(gene, 0.0), _aged(priors[gene], now, 45) if gene in priors else 0.0
        unknown = tried.get(gene, 0) < 2
        banned = here < 0.18 if not unknown else gene in priors and sum(priors[gene][:2]) >= 3 and prior < 0.12
        if not banned:
            scores[gene] = here + 0.12 * prior if here > 0 else 0.4 * prior
    return scores


def _aged(sums: Sequence[float], now: float, half_life_days: float) -> float:
    rate = (sums[0] + 1.0) / (sums[0] + sums[1] + 2.0)
    return rate * math.pow(0.5, max(0.0, now - sums[2]) / 86_400 / half_life_days)


def _beside(ground: Ground, ours: Callable[[Signals], object], made: Iterator[Signals], told: Sequence[Event]) -> Round:
    """A round of advice for the next signals, and of the scan of what was told last."""
    file, asked = ground.folder / "memory_graph.jsonl", [*islice(made, _CALLS)]
    file.write_text("".join(f"{json.dumps(document_form(event))}\n" for event in told[-_LINES:]), "utf-8")
    now = datetime.fromisoformat(to_iso(NOW)).timestamp()
    ours(asked[0])
    return alternately(in_turn(ours, asked), in_turn(lambda signals: scanned(file, signals, now), asked), calls=10)


@row("advice", "advice of a home with as many keys as rows, signals mixed", _SCAN, at_most=0.1)
def _advice(ground: Ground) -> Iterator[Round]:
    with Lab(ground.folder / "home", clock=FixedClock(NOW)) as lab:
        told = [*outcomes(lab.home, mixed(), ground.rows)]
        lab.journal.append(told)
        yield _beside(ground, lambda signals: lab.causal.get_advice(signals, GENES), mixed(), told)


_LAWS, _LINKS_OF_LAW = 1_000, 2


@row("closure", "what follows from 1,000 laws of two links each", "networkx's transitive closure", at_most=0.25)
def _closure(ground: Ground) -> Iterator[Round]:  # noqa: ARG001 - of one size
    starts = np.repeat(np.arange(1, _LAWS), _LINKS_OF_LAW)
    ends = np.random.default_rng(0).integers(0, starts)  # what comes before, so that there is no circle
    names, graph = list(map(str, range(_LAWS))), nx.DiGraph(zip(starts.tolist(), ends.tolist(), strict=True))
    yield alternately(lambda: closed(names, starts, ends), lambda: nx.transitive_closure(graph, reflexive=True))
