"""Scans and promotions of whole memories, beside a loop over a networkx graph and bare numpy expressions."""

from __future__ import annotations

import json
import math
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus import DAY, NOW, axon_of
from measure import PYTHON, compare, note, processor_seconds, run
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture

from theorex_lab import Settings
from theorex_lab.designs.theorex import scores
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.shared import SharedWeb, promotion
from theorex_lab.memory.decay import Tier

SETTINGS = Settings()
DAYS = 86_400_000_000.0


def graph_of(axon: Axon) -> Any:
    """The axon as a networkx graph that holds what a scan reads."""
    import networkx as nx

    graph = nx.Graph()
    columns = (axon.concepts[name].tolist() for name in ("count", "last_seen", "tier"))
    for row, (count, last_seen, tier) in enumerate(zip(*columns, strict=True)):
        graph.add_node(row, count=count, last_seen=last_seen, tier=tier)
    for a, b, count, last_seen in zip(*(axon.links[n].tolist() for n in ("a", "b", "count", "last_seen")), strict=True):
        graph.add_edge(a, b, count=count, last_seen=last_seen)
    return graph


def scan_graph(graph: Any, now: int) -> list[int]:
    """The tiers that a scan gives, node by node and edge by edge."""
    for _, _, edge in graph.edges(data=True):
        stored = min(0.1 + 0.05 * (edge["count"] - 1), 1.0)
        strength = stored * 2 ** (-max(now - edge["last_seen"], 0) / DAYS / SETTINGS.half_life_days)
        edge["strength"] = strength if strength >= 0.01 else 0.0
    found = []
    for node, values in graph.nodes(data=True):
        absent = 1.0
        for _, _, edge in graph.edges(node, data=True):
            absent *= 1.0 - edge["strength"]
        age = max(now - values["last_seen"], 0) / DAYS
        raw = 2 ** (-age / SETTINGS.half_life_days) * (1 + math.log(values["count"])) * (1 + 0.25 * (1 - absent))
        tier = Tier.ACTIVE if raw >= 0.6 else Tier.MILD if raw >= 0.3 else Tier.LESS
        if tier == Tier.LESS and age >= SETTINGS.sleep_after_days:
            tier = Tier.SLEEPING
        found.append(int(tier))
    return found


def scan_columns(axon: Axon, now: int) -> NDArray[np.int8]:
    """The same as one numpy expression after the other, without anything around it."""
    table, links, n = axon.concepts, axon.links, len(axon.concepts)
    strength = np.minimum(0.1 + 0.05 * (links["count"] - 1.0), 1.0)
    strength *= np.exp2(np.minimum(links["last_seen"] - now, 0) / (DAYS * SETTINGS.half_life_days))
    strength[strength < 0.01] = 0.0
    with np.errstate(divide="ignore"):
        logs = np.log1p(-strength)
    absent = np.bincount(links["a"], weights=logs, minlength=n) + np.bincount(links["b"], weights=logs, minlength=n)
    age = np.maximum(now - table["last_seen"], 0) / DAYS
    raw = np.exp2(-age / SETTINGS.half_life_days) * (1 + np.log(table["count"])) * (1.25 - 0.25 * np.exp(absent))
    tier = np.where(raw >= 0.6, Tier.ACTIVE, np.where(raw >= 0.3, Tier.MILD, Tier.LESS)).astype(np.int8)
    tier[(tier == Tier.LESS) & (age >= SETTINGS.sleep_after_days)] = Tier.SLEEPING
    return tier


def scanned_axon(concepts: int) -> Axon:
    """An axon as the scan of the day before left it, with five links a concept."""
    axon = axon_of(concepts, 5)
    axon.concepts["tier"][:] = scan_columns(axon, NOW - DAY)
    kept = scores.links_now(axon, NOW - DAY, SETTINGS)[0]
    gone = np.ones(len(axon.links), bool)
    gone[kept] = False
    axon.links["count"][gone] = 0
    return axon


def tiers_after(axon: Axon) -> NDArray[np.int8]:
    """The tiers that the scan's event sets."""
    event = scores.scan(axon, NOW, SETTINGS)
    tier = axon.concepts["tier"].copy()
    row_of = {concept: row for row, concept in enumerate(axon.concepts["concept_id"].tolist())}
    for name, ids in event.body["tiers"].get("main", {}).items():
        tier[[row_of[concept] for concept in ids]] = Tier[name]
    return tier


@pytest.mark.parametrize(("concepts", "target"), [(10_000, 50), (100_000, 100)])
def test_scan_beside_networkx(benchmark: BenchmarkFixture, concepts: int, target: float) -> None:
    axon = scanned_axon(concepts)
    graph = graph_of(_present(axon))
    asleep = axon.concepts["tier"] == Tier.SLEEPING
    assert np.array_equal(tiers_after(axon)[~asleep], np.array(scan_graph(graph, NOW))[~asleep])
    compare(
        benchmark,
        f"scan, {concepts:,} concepts with 5 links each",
        lambda: scores.scan(axon, NOW, SETTINGS),
        lambda: scan_graph(graph, NOW),
        peer_name="a loop over networkx",
        at_least=target,
        rounds=5,
    )


def _present(axon: Axon) -> Axon:
    axon.links.keep(axon.links["count"] > 0)
    return axon


def test_scan_beside_numpy(benchmark: BenchmarkFixture) -> None:
    axon = _present(scanned_axon(1_000_000))
    compare(
        benchmark,
        "scan, 1,000,000 concepts with 5 links each",
        lambda: scores.scan(axon, NOW, SETTINGS),
        lambda: scan_columns(axon, NOW),
        peer_name="the bare numpy expression",
        at_most=3,
        rounds=5,
    )


# Not ru_maxrss: of a child that is started without copying its parent, that is the parent's peak too.
PEAK = """
import json, re, sys
sys.path[:0] = {folders!r}
from test_bench_scan import NOW, SETTINGS, _present, scanned_axon, scores
axon = _present(scanned_axon(1_000_000))
scores.scan(axon, NOW, SETTINGS)
print(json.dumps(int(re.search("VmHWM:\\s+([0-9]+) kB", open("/proc/self/status").read())[1]) / 2**20))
"""


def test_memory_of_a_scan(benchmark: BenchmarkFixture) -> None:
    """The peak of a process that makes the axon and scans it, in GiB."""
    folder = str(Path(__file__).parent)
    peaks: list[float] = []
    program = PEAK.format(folders=[folder])
    benchmark.pedantic(lambda: peaks.append(float(json.loads(run([PYTHON, "-c", program])))), rounds=5)
    note(benchmark, "peak memory of that scan", "GiB", peaks, at_most=1)


def test_promotion_is_linear(benchmark: BenchmarkFixture) -> None:
    """All concepts are new to the shared web, with two links each; the whole step, its event on disk."""
    axons = {size: axon_of(size, 2) for size in (1_000, 10_000)}
    for axon in axons.values():
        axon.concepts["last_seen"][:] = NOW
        axon.links["last_seen"][:] = NOW
    ratios = []

    def one(size: int) -> float:
        shared = SharedWeb()
        return processor_seconds(
            lambda: shared.fold([promotion(axons[size], shared, NOW, SETTINGS, agent="main")])  # type: ignore[list-item]
        )

    def one_round() -> None:
        small = statistics.median(one(1_000) for _ in range(5))
        ratios.append(one(10_000) / small)

    benchmark.pedantic(one_round, rounds=7, warmup_rounds=1)
    note(benchmark, "promote 10,000 concepts", "promote 1,000", ratios, at_most=12)
