"""What is computed over whole memories: scans, the confidence matrix, candidates."""

from __future__ import annotations

import math
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.config import Settings
from theorex_lab.designs.facts.pairs import SharedWords, marks_of
from theorex_lab.designs.theorex import scores
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.experiments.bench.made import NOW, axon_of, texts
from theorex_lab.experiments.bench.measure import Ground, Round, alternately, in_turn, row
from theorex_lab.experiments.scores.signals import METHODS, labelled_messages

_DEFAULTS = Settings()


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
