"""What is computed over whole memories and logs: sweeps, scans, the confidence matrix, candidates."""

from __future__ import annotations

import math
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.config import Settings
from theorex_lab.designs.facts.pairs import SharedWords, marks_of
from theorex_lab.designs.theorex import scores
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.experiments.bench.made import NOW, axon_of, texts
from theorex_lab.experiments.bench.measure import Ground, Round, alternately, in_turn, row
from theorex_lab.experiments.replay.event_log import EventLog
from theorex_lab.experiments.replay.sweep import final_tiers, sweep
from theorex_lab.experiments.scores.access_log import AccessLog
from theorex_lab.experiments.scores.signals import METHODS, labelled_messages

HALF_LIVES = np.geomspace(0.5, 180.0, 1_000).tolist()
_DEFAULTS = Settings()
_ACTIVE, _MILD, _SLEEP_DAYS = _DEFAULTS.active_threshold, _DEFAULTS.mild_threshold, _DEFAULTS.sleep_after_days
_SWEEP = f"a sweep of {len(HALF_LIVES):,} settings"


def access_log(ground: Ground) -> EventLog:
    """A year's mentions of a twentieth as many items, which have their season, so that some were last seen long ago."""
    generator, events = np.random.default_rng(0), ground.events
    items = max(events // 20, 1)
    times = np.sort(NOW - generator.integers(0, 365 * MICROSECONDS_PER_DAY, events)).tolist()
    chosen = (np.arange(events) * items // events + generator.geometric(12 / items, events)) % items
    rows = ((time, f"item {item}", n, False) for n, (time, item) in enumerate(zip(times, chosen.tolist(), strict=True)))
    return EventLog.of(AccessLog.of(rows))


def swept(recorded: EventLog) -> list[list[float]]:
    """Items by tier at each half-life, by our sweep."""
    grid = {"half_life_days": HALF_LIVES}
    done = sweep(recorded, grid, metric=final_tiers, chunk_size=len(HALF_LIVES), progress=False)
    return [list(scores.values()) for scores in done.metrics]


def ten_lines(recorded: EventLog, at: int) -> list[list[int]]:
    """The same as a user would write it in numpy."""
    times, last = np.bincount(recorded.item), np.zeros(len(recorded.names))
    last[recorded.item] = recorded.time
    age, amplifier = (at - last[times > 0]) / MICROSECONDS_PER_DAY, 1.0 + np.log(times[times > 0])
    late = age >= _SLEEP_DAYS
    found = []
    for days in HALF_LIVES:
        importance = np.exp2(age / -days) * amplifier
        mild = importance >= _MILD
        active, awake = np.count_nonzero(importance >= _ACTIVE), np.count_nonzero(mild)
        asleep = np.count_nonzero(late & ~mild)
        found.append([int(n) for n in (active, awake - active, len(age) - awake - asleep, asleep)])
    return found


@row("sweep-numpy", _SWEEP, "ten lines of numpy", at_most=1)
def _sweep_numpy(ground: Ground) -> Iterator[Round]:
    recorded = access_log(ground)
    yield alternately(lambda: swept(recorded), lambda: ten_lines(recorded, int(recorded.time[-1])))


def graph_of(axon: Axon) -> Any:
    """The axon as a networkx graph that holds what a scan reads."""
    graph = import_module("networkx").Graph()
    columns = (axon.concepts[name].tolist() for name in ("count", "last_seen"))
    for node, (times, last_seen) in enumerate(zip(*columns, strict=True)):
        graph.add_node(node, count=times, last_seen=last_seen)
    for a, b, times, last_seen in zip(*(axon.links[n].tolist() for n in ("a", "b", "count", "last_seen")), strict=True):
        if times:
            graph.add_edge(a, b, count=times, last_seen=last_seen)
    return graph


def scan_graph(graph: Any, now: int) -> list[float]:
    """The importance, before it is cut at 1, that a scan gives each concept: node by node and edge by edge."""
    half_life_days = _DEFAULTS.half_life_days
    for _, _, edge in graph.edges(data=True):
        stored = min(0.1 + 0.05 * (edge["count"] - 1), 1.0)
        age = max(now - edge["last_seen"], 0) / MICROSECONDS_PER_DAY
        strength = stored * 2 ** (-age / half_life_days)
        edge["strength"] = strength if strength >= 0.01 else 0.0
    found = []
    for node, values in graph.nodes(data=True):
        absent = 1.0
        for _, _, edge in graph.edges(node, data=True):
            absent *= 1.0 - edge["strength"]
        age = max(now - values["last_seen"], 0) / MICROSECONDS_PER_DAY
        found.append(2 ** (-age / half_life_days) * (1 + math.log(values["count"])) * (1 + 0.25 * (1 - absent)))
    return found


@row("scan", "a scan of concepts and links", "a loop over networkx", at_most=0.02)
def _scan(ground: Ground) -> Iterator[Round]:
    axon = axon_of(ground.folder, ground.rows)
    graph = graph_of(axon)
    yield alternately(lambda: scores.scan(axon, NOW, _DEFAULTS), lambda: scan_graph(graph, NOW))


@row("signals", "signals of short messages", "a search for keywords", at_most=8)
def _signals(ground: Ground) -> Iterator[Round]:
    said = (labelled_messages("ru") * 10)[: ground.rows]
    ours, keywords = METHODS["this project"], METHODS["document's words"]
    yield alternately(lambda: [ours(message) for message in said], lambda: [keywords(message) for message in said])


@row("candidates", "facts that a new one may contradict", "its words and those of every fact", at_most=0.02)
def _candidates(ground: Ground) -> Iterator[Round]:
    """The parts: sets of words, read beforehand; two words and a Jaccard of .3 must be shared."""
    corpus, held = texts(ground.rows), SharedWords()
    for number, text in enumerate(corpus):
        held.add(str(number), text)
    sets, asked = [marks_of(text) for text in corpus], [text[:-9] for text in corpus[:50]]

    def compared(text: str) -> object:
        own = marks_of(text)
        return [n for n, other in enumerate(sets) if len(own & other) >= max(2, 0.3 * len(own | other))]

    yield alternately(in_turn(held.near, asked), in_turn(compared, asked), calls=20)
