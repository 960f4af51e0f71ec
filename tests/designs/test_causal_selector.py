"""Selection of genes: patterns, bans at every size of the pool, drift, and regular
expressions that would never end.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import NOW, Run
from hypothesis import given, settings
from hypothesis import strategies as draw

from theorex_lab import FixedClock, InvalidInput, Lab
from theorex_lab.core.settings import check_settings
from theorex_lab.designs.causal.genes import (
    Matcher,
    boost_of,
    drift_intensity,
    failed_genes,
    match_score,
)

SIGNALS = ["log_error", "errsig:TypeError: x is undefined", "slow_query"]


def gene(name: str, *patterns: str, **more: Any) -> dict[str, Any]:
    return {"type": "Gene", "id": name, "signals_match": list(patterns), **more}


def tried(lab: Lab, name: str, *results: bool, signals: list[str] = SIGNALS) -> None:
    for success in results:
        lab.causal.close(
            lab.causal.record_attempt(signals, {"id": name}).id,
            "success" if success else "failed",
        )


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("LOG_ERROR", True),
        ("timeout|Slow", True),
        (" slow_query ", True),
        ("timeout", False),
        ("", False),
        ("|", False),
        ("/typeerror/i", True),
        ("/typeerror/", False),
        ("/^slow_\\w+$/", True),
        ("/log.*undefined/", False),
        ("/(?:Type|Range)Error.*\\d?/g", True),
        ("/[/]/", False),
        ("//", False),
        ("/x/y", False),
    ],
)
def test_patterns(pattern: str, fits: bool) -> None:
    assert Matcher(SIGNALS).hits(pattern) is fits


@pytest.mark.parametrize(
    "pattern",
    [
        "/(a+)+$/",
        "/(a|a)*b/",
        "/(a*)*b/",
        "/(?:a?){25}b/",
        "/(?=a)a/",
        r"/(a)\1/",
        "/(a|a)(a|a)" + "(a|a)" * 30 + "b/",
        "/" + "a?" * 40 + "b/",
        "/.*.*.*.*.*b/",
        "/[[a]/",
        "/[a||b]/",
        "/a(/",
        "/a{99999999999}/",
        "/" + "a" * 500 + "/",
        "/a/x",
    ],
)
def test_a_pattern_that_could_hang_is_no_match_and_noted(pattern: str) -> None:
    matcher = Matcher(["a" * 4_000])
    began = time.perf_counter()
    assert not matcher.hits(pattern)
    assert time.perf_counter() - began < 5
    assert len(matcher.notes) == 1
    assert matcher.notes[0].startswith(pattern[:80])


@settings(max_examples=200)
@given(draw.text(alphabet="ab.*+?|()[]{}1,\\^$:-", max_size=40))
def test_no_pattern_raises_or_takes_long(regex: str) -> None:
    began = time.perf_counter()
    Matcher(["a" * 300, "ab" * 150]).hits(f"/{regex}/i")
    assert time.perf_counter() - began < 5


def test_many_costly_patterns_share_one_allowance() -> None:
    matcher = Matcher(["a" * 200] * 20)
    began = time.perf_counter()
    assert not any(matcher.hits(f"/a*a*{letter}/") for letter in "bcdefghijklmnop")
    assert time.perf_counter() - began < 10
    assert matcher.notes
    assert all(note.endswith("it may need too many steps") for note in matcher.notes)


def test_a_distilled_gene_weighs_less_and_a_mark_adds_to_what_fits() -> None:
    matcher = Matcher(SIGNALS)
    assert match_score(
        gene("gene_distilled_1", "log_error", "slow"), matcher
    ) == pytest.approx(1.6)
    marks = [
        {"context": "", "boost": 7},
        {"context": "", "boost": "x"},
        {"context": "linux", "boost": -5},
    ]
    assert match_score(gene("g", "log_error", epigenetic_marks=marks), matcher) == 1.5
    assert match_score(gene("g", "nothing", epigenetic_marks=marks), matcher) == 0
    assert boost_of({"epigenetic_marks": 5}) == 0
    assert match_score(gene("g", *["log_error"] * 9), matcher) == 1


def test_a_known_gene_wins_only_where_its_patterns_fit(lab: Lab) -> None:
    pool = [
        gene("gene_a", "log_error", "slow"),
        gene("gene_b", "log_error"),
        gene("gene_c", "elsewhere"),
    ]
    tried(lab, "gene_c", True, True)
    found = lab.causal.select_gene(SIGNALS, pool)
    assert (found.selected["id"], found.selected_by) == ("gene_a", "selector")
    tried(lab, "gene_b", True)
    found = lab.causal.select_gene(SIGNALS, pool)
    assert (found.selected["id"], found.selected_by) == (
        "gene_b",
        "memory_graph+selector",
    )
    assert [other["id"] for other in found.alternatives] == ["gene_a"]


def test_nothing_is_selected_where_nothing_fits(lab: Lab) -> None:
    for pool in (
        [],
        [gene("a", "elsewhere")],
        [
            {"id": "b"},
            {"id": "c", "signals_match": "one text"},
            {"id": "d", "signals_match": 5},
        ],
    ):
        found = lab.causal.select_gene(SIGNALS, pool)
        assert (found.selected, found.alternatives) == (None, [])
        assert found.why == ["no gene fits that may be tried"]


@pytest.mark.parametrize("wrong", [{}, {"id": ""}, {"id": "gene_а"}, {"id": 5}])
def test_a_gene_without_a_plain_id_is_refused(lab: Lab, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="gene id"):
        lab.causal.select_gene(SIGNALS, [wrong])


@pytest.fixture(scope="module")
def banning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab in which gene_0 failed four times under SIGNALS."""
    with Lab(tmp_path_factory.mktemp("causal"), clock=FixedClock(NOW)) as opened:
        tried(opened, "gene_0", *[False] * 4)
        yield opened


@settings(max_examples=60)
@given(size=draw.integers(1, 60), seed=draw.integers(0, 9))
def test_a_banned_gene_is_never_selected_whatever_the_size_of_the_pool(
    banning: Lab, size: int, seed: int
) -> None:
    pool = [
        gene("gene_0", "log_error", "slow", "undefined"),
        *(gene(f"gene_{n}", "log_error") for n in range(1, size)),
    ]
    found = banning.causal.select_gene(SIGNALS, pool, seed=seed)
    assert found.banned == {"gene_0"}
    assert "gene_0" not in {other["id"] for other in found.alternatives}
    assert found.selected is None if size == 1 else found.selected["id"] != "gene_0"
    by_drift = {
        banning.causal.select_gene(SIGNALS, pool, drift_enabled=True, seed=n).selected[
            "id"
        ]
        for n in range(20)
    }
    assert size > 2 or "gene_0" in by_drift


@settings(max_examples=60)
@given(draw.integers(1, 59), draw.integers(0, 1_000))
def test_one_pattern_never_wins_over_three_where_nothing_is_known(
    size: int, seed: int
) -> None:
    pool = [
        *(gene(f"one_{n}", "log_error") for n in range(size)),
        gene("three", "log_error", "slow", "undefined"),
    ]
    with Lab.temporary(clock=FixedClock(NOW)) as lab:
        assert (
            lab.causal.select_gene(SIGNALS, pool, seed=seed).selected["id"] == "three"
        )


def test_equals_are_drawn_by_the_seed(lab: Lab) -> None:
    pool = [gene(f"gene_{n}", "log_error") for n in range(4)]
    drawn = [
        lab.causal.select_gene(SIGNALS, pool, seed=seed).selected["id"]
        for seed in range(40)
    ]
    assert drawn == [
        lab.causal.select_gene(SIGNALS, pool, seed=seed).selected["id"]
        for seed in range(40)
    ]
    assert len(set(drawn)) > 1
    generator = np.random.default_rng(5)
    assert (
        len(
            {
                lab.causal.select_gene(SIGNALS, pool, seed=generator).selected["id"]
                for _ in range(40)
            }
        )
        > 1
    )


def test_drift_draws_among_the_best_and_says_so(lab: Lab) -> None:
    pool = [
        gene(f"gene_{n}", "log_error", *(["slow"] if n < 3 else [])) for n in range(30)
    ]
    found = [
        lab.causal.select_gene(SIGNALS, pool, drift_enabled=True, seed=seed)
        for seed in range(60)
    ]
    assert {one.selected_by for one in found} == {"selector+drift"}
    assert found[0].intensity == pytest.approx(1 / 30**0.5 + 0.3)
    best = sorted(
        (one["id"] for one in pool), key=lambda name: (int(name[5:]) >= 3, name)
    )[:15]  # ⌈30 · .4826⌉
    drawn = {one.selected["id"] for one in found}
    assert drawn <= set(best)
    assert len(drawn) > 5
    lab.home.settings = check_settings({"designs": {"causal": {"drift": True}}})
    assert lab.causal.select_gene(SIGNALS, pool).drift


@given(draw.integers(0, 10_000))
def test_drift_grows_weaker_with_the_pool(genes: int) -> None:
    implicit = drift_intensity(genes, explicit=False)
    explicit = drift_intensity(genes, explicit=True)
    assert 0 < implicit <= 1
    assert explicit == 0.7 if genes <= 1 else explicit >= implicit
    assert drift_intensity(genes + 1, explicit=False) <= implicit


def test_two_failed_capsules_ban_their_gene_but_no_imported_ones_and_not_by_drift(
    lab: Lab,
) -> None:
    pool = [gene("gene_a", "log_error", "slow"), gene("gene_b", "log_error")]
    failed = {
        "trigger": SIGNALS,
        "gene": "gene_a",
        "outcome": {"status": "failed", "score": 0.1},
    }
    lab.causal.record_capsule({"id": "capsule_1", **failed})
    for number in range(3):
        lab.causal.record_capsule({"id": f"heard_{number}", **failed}, source="import")
    assert lab.causal.select_gene(SIGNALS, pool).selected["id"] == "gene_a"
    lab.causal.record_capsule({"id": "capsule_2", **failed})
    found = lab.causal.select_gene(SIGNALS, pool)
    assert (found.selected["id"], found.banned) == ("gene_b", {"gene_a"})
    assert not lab.causal.select_gene(SIGNALS, pool, drift_enabled=True).banned


def test_capsules_of_other_signals_ban_nothing() -> None:
    failed = [
        {"trigger": trigger, "gene": "g", "outcome": {"status": "failed"}}
        for trigger in (["slow"], ["slow"], None, [5])
    ]
    assert failed_genes(failed, ["slow"]) == {"g"}
    assert failed_genes(failed, ["slow", "log_error"]) == frozenset()
    assert failed_genes(failed, []) == frozenset()


def test_a_selection_goes_into_an_attempt(lab: Lab) -> None:
    lab.causal.record_gene(gene("gene_a", "log_error", "/(x+)+/", category="repair"))
    found = lab.causal.select_gene(SIGNALS)
    told = lab.causal.record_attempt(
        SIGNALS, found.selected, selector=found.to_dict(), selected_by=found.selected_by
    ).event
    assert told["action"]["selector"]["selected"] == "gene_a"
    assert told["action"]["selector"]["why"] == [
        "/(x+)+/: a group is repeated, or looks around"
    ]
    assert told["gene"] == {"id": "gene_a", "category": "repair"}


def test_what_only_an_import_tells_is_selected_where_it_is_asked_for(
    run: Run, tmp_path: Path
) -> None:
    gene = {"type": "Gene", "id": "gene_far", "signals_match": ["log_error"]}
    capsule = {"type": "Capsule", "id": "capsule_far", "trigger": ["log_error"]}
    (tmp_path / "genes.json").write_text(json.dumps([gene]))
    (tmp_path / "capsules.json").write_text(json.dumps([capsule]))
    assert run("causal", "import", str(tmp_path)).code == 0
    select = ("causal", "select", "--signals", "log_error", "--json")
    chosen = run(*select).json
    assert (chosen["gene"], chosen["capsule"]) == (None, None)
    chosen = run(*select, "--untrusted").json
    assert chosen["gene"]["id"] == "gene_far"
    assert chosen["capsule"]["id"] == "capsule_far"


def test_signals_lead_to_a_gene_a_mutation_an_attempt_and_its_outcome(
    run: Run, tmp_path: Path
) -> None:
    gene = {"type": "Gene", "id": "gene_a", "signals_match": ["log_error"]}
    capsule = {"type": "Capsule", "id": "capsule_a", "trigger": ["log_error"]}
    (tmp_path / "genes.json").write_text(json.dumps([gene]))
    (tmp_path / "capsules.json").write_text(json.dumps([capsule]))
    run("causal", "import", str(tmp_path), "--trusted")
    signals = ("--signals", "log_error", "--json")
    run("causal", "snapshot", *signals)
    chosen = run("causal", "select", *signals).json
    mutation = run("causal", "mutation", *signals).json
    tried = (
        "--gene",
        chosen["gene"]["id"],
        "--capsule",
        chosen["capsule"]["id"],
        "--mutation",
        json.dumps(mutation),
    )
    hypothesis = run("causal", "hypothesis", *signals, *tried).json
    attempt = run(
        "causal", "attempt", *signals, *tried, "--hypothesis", hypothesis["id"]
    ).json
    for recorded in (hypothesis, attempt):
        assert recorded["event"]["mutation"] == mutation
        assert recorded["event"]["capsules"] == {"used": ["capsule_a"]}
        assert recorded["event"]["personality"]["state"]["rigor"] == 0.7
    closed = run("causal", "close", "--status", "success", "--json").json
    outcome = closed["event"]
    assert outcome["action"]["id"] == attempt["id"]
    assert outcome["mutation"]["id"] == mutation["id"]
    assert outcome["hypothesis"] == {"id": hypothesis["id"]}
    statistics = run("causal", "personality", "--json").json["statistics"]
    assert [record["success"] for record in statistics.values()] == [1]
    for wrong in ("[1]", "{}", '{"category": "mend", "risk_level": "low"}'):
        refused = run("causal", "attempt", *signals, "--mutation", wrong)
        assert refused.code == 1
    assert run("causal", "close", "--json").json["closed"] is False
