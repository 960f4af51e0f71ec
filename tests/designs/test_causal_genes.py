"""Genes and capsules: what is recorded of them, marks, candidates from outside,
distilled genes, and how a task fits.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import DAY, NOW, Run
from hypothesis import given
from hypothesis import strategies as draw

from theorex_lab import FixedClock, InvalidInput, Lab
from theorex_lab.designs.causal.capture import asset_id
from theorex_lab.designs.causal.genes import (
    boost_after,
    checked_asset,
    tend_in_maintenance,
)

SIGNALS = ["log_error", "command:make"]
GENE = {
    "type": "Gene",
    "id": "gene_a",
    "category": "repair",
    "signals_match": ["log_error"],
    "strategy": ["run make clean"],
}
CAPSULE = {
    "type": "Capsule",
    "id": "capsule_a",
    "trigger": ["log_error"],
    "gene": "gene_a",
    "confidence": 0.9,
    "summary": "é 日本",
}


def tried(
    lab: Lab, name: str, *results: bool, signals: Sequence[str] = SIGNALS
) -> None:
    for success in results:
        action = lab.causal.record_attempt(
            signals, {"id": name, "category": "repair"}
        ).id
        lab.causal.close(action, "success" if success else "failed")


def test_an_asset_id_is_the_hash_of_sorted_compact_utf8() -> None:
    texts = [
        (
            '{"confidence":0.9,"gene":"gene_a","id":"capsule_a","summary":"é'
            ' 日本","trigger":["log_error"],"type":"Capsule"}'
        ),
        '{"a":0,"b":{"c":[true,null],"d":1}}',
    ]
    for text, asset in zip(
        texts, [CAPSULE, {"b": {"d": 1, "c": [True, None]}, "a": 0}], strict=True
    ):
        assert asset_id(asset) == f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
    assert (
        asset_id({})
        == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    )


@given(
    draw.dictionaries(
        draw.text(max_size=5),
        draw.integers()
        | draw.text(max_size=5)
        | draw.lists(draw.booleans(), max_size=3),
    )
)
def test_an_asset_id_hangs_on_no_order_and_not_on_itself(asset: dict[str, Any]) -> None:
    asset.pop("asset_id", None)
    turned = dict(reversed(asset.items()))
    assert asset_id({**turned, "asset_id": "sha256:old"}) == asset_id(asset)
    assert asset_id({**asset, "another member": 1}) != asset_id(asset)


def test_what_is_recorded_is_known_and_the_same_is_not_recorded_twice(lab: Lab) -> None:
    made = lab.causal.record_gene(GENE)
    assert made == {**GENE, "asset_id": asset_id(GENE)}
    lab.causal.record_capsule(CAPSULE)
    last = lab.journal.last_seq()
    assert lab.causal.record_gene(made) == made
    assert lab.journal.last_seq() == last
    lab.causal.record_gene({**GENE, "strategy": "run make again"})
    assert [gene["strategy"] for gene in lab.causal.genes()] == [["run make again"]]
    assert lab.causal.capsules() == [CAPSULE]
    assert [hit.text for hit in lab.search("make", kinds=["gene"])] == [
        "run make again"
    ]


def test_secrets_are_masked_before_the_hash(lab: Lab) -> None:
    made = lab.causal.record_gene(
        {**GENE, "strategy": ["export TOKEN=ghp_0123456789abcdefghijABCDEFGHIJ012345"]}
    )
    assert "ghp_" not in json.dumps(made)
    assert made["asset_id"] == asset_id(made)


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": "gene_а"},
        {"id": None},
        {"type": "Capsule"},
        {"category": "destroy"},
        {"signals_match": 5},
        {"strategy": [5]},
        {"signals_match": ["x"] * 65},
        {"confidence": 2},
        {"confidence": "sure"},
        {"more": float("nan")},
        {"more": {1, 2}},
        {"more": "x" * 70_000},
    ],
)
def test_what_is_no_gene_is_refused(lab: Lab, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="allowed"):
        lab.causal.record_gene({**GENE, **wrong})
    assert lab.causal.genes() == []


def test_deep_nesting_other_sources_and_taken_ids_are_refused(lab: Lab) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidInput, match="no JSON"):
        checked_asset({**GENE, "more": deep})
    with pytest.raises(InvalidInput, match="source"):
        lab.causal.record_gene(GENE, source="rumour")
    lab.causal.record_gene(GENE)
    with pytest.raises(InvalidInput, match="which a Gene has"):
        lab.causal.record_capsule({**CAPSULE, "id": "gene_a"})


@given(draw.lists(draw.booleans(), max_size=40))
def test_a_mark_stays_within_half_and_follows_the_outcomes(
    outcomes: list[bool],
) -> None:
    boost = boost_after(outcomes)
    assert -0.5 <= boost <= 0.5
    assert boost_after([*outcomes, True]) == pytest.approx(
        min(0.5, boost + (0.05 if outcomes else 0.1))
    )


def test_genes_are_marked_and_only_what_changed_is_recorded(lab: Lab) -> None:
    moon = {"context": "moon", "boost": 0.2}
    lab.causal.record_gene(
        {**GENE, "epigenetic_marks": [{"context": "", "boost": 0.5}, moon]}
    )
    lab.causal.record_gene({**GENE, "id": "gene_heard"}, source="import")
    tried(lab, "gene_a", True, True, False)
    tried(lab, "gene_heard", True)
    assert lab.causal.mark_genes() == 1
    ours, heard = lab.causal.genes()
    assert ours["epigenetic_marks"] == [moon, {"context": "", "boost": 0.05}]
    assert "epigenetic_marks" not in heard
    assert lab.causal.mark_genes() == 0


def test_what_fits_a_task(lab: Lab) -> None:
    assert lab.causal.task_match(SIGNALS) == 0
    tried(lab, "gene_a", True, True, False)
    assert lab.causal.task_match(SIGNALS) == pytest.approx(0.6 * 3 / 5 + 0.4)
    assert lab.causal.task_match([*SIGNALS, "a", "b"]) == pytest.approx(
        0.6 * 3 / 5 + 0.4 / 2
    )
    assert lab.causal.task_match(["elsewhere"]) == 0
    assert lab.causal.task_match([]) == 0


def test_ten_successes_make_a_gene_of_what_they_share_once_a_day(lab: Lab) -> None:
    lab.causal.record_gene(
        {**GENE, "strategy": ["run make clean", "run make", "open the log"]}
    )
    lab.causal.record_gene(
        {**GENE, "id": "gene_b", "strategy": ["run make clean", "run make"]}
    )
    for number in range(9):
        tried(
            lab,
            "gene_a" if number < 4 else "gene_b",
            True,
            signals=[*SIGNALS, f"only:{number}", "errsig:no rule"],
        )
    tried(lab, "gene_a", *[False] * 5)
    assert lab.causal.distill() is None
    tried(lab, "gene_b", True)
    made = lab.causal.distill()
    assert made is not None
    assert made["id"].startswith("gene_distilled_")
    assert made["strategy"] == ["run make clean", "run make"]
    assert sorted(made["signals_match"]) == ["command:make", "log_error"]
    event = [*lab.journal.tail(0, kinds=["asset"])][-1]
    assert (len(event.lineage), event.body["source"]) == (10, "model")
    tried(lab, "gene_b", *[True] * 10)
    assert lab.causal.distill() is None  # a day has to pass
    with Lab(lab.folder, clock=FixedClock(NOW + DAY)) as later:
        assert later.causal.distill() is None  # nothing is new since
        tried(later, "gene_b", *[True] * 10)
        again = later.causal.distill()
        assert again is not None
        assert again["id"] == made["id"]


def test_successes_that_share_nothing_and_those_of_other_projects_make_no_gene(
    lab: Lab,
) -> None:
    lab.causal.record_gene(GENE)
    for number in range(12):
        tried(lab, "gene_a", True, signals=[f"only:{number}"])
    assert lab.causal.distill() is None
    with Lab(lab.folder, clock=FixedClock(NOW), project="here") as here:
        tried(here, "gene_a", *[True] * 9)
        assert here.causal.distill() is None
        tried(lab, "gene_a", *[True] * 3)
        assert here.causal.distill() is None
        tried(here, "gene_a", True)
        assert here.causal.distill()["distilled_in"] == "here"


def test_the_maintenance_tends_genes_and_its_repetition_changes_nothing(
    lab: Lab,
) -> None:
    lab.causal.record_gene(GENE)
    for _ in range(10):
        action = lab.causal.record_attempt(
            SIGNALS, GENE, personality_state={"rigor": 0.9}
        ).id
        lab.causal.close(action, "success")
    assert tend_in_maintenance(lab.home, None) == "1 genes marked, 1 distilled"
    last = lab.journal.last_seq()
    assert tend_in_maintenance(lab.home, None) == "0 genes marked, 0 distilled"
    assert lab.journal.last_seq() == last
    assert any(step.name == "genes" for step in lab.maintain().steps)


def test_imported_outcomes_teach_nothing(lab: Lab) -> None:
    lab.causal.record_gene(GENE)
    tried(lab, "gene_a", *[True] * 10)
    events = [*lab.journal.tail(0, kinds=["attempt_closed"])]
    with Lab.temporary(clock=FixedClock(NOW)) as other:
        other.causal.record_gene(GENE)
        heard = [
            event._replace(
                seq=0,
                body={
                    **event.body,
                    "source": "import",
                    "personality": {"key": "x", "state": {}},
                },
            )
            for event in events
        ]
        other.journal.append(heard)
        assert (
            other.causal.mark_genes(),
            other.causal.distill(),
            other.causal.task_match(SIGNALS),
        ) == (0, None, 0)


def test_the_command_lists_genes_with_their_intervals_and_bans(
    run: Run, tmp_path: Path
) -> None:
    assert run("causal", "genes").out.startswith("no genes yet")
    with Lab(tmp_path / "home", clock=FixedClock(NOW)) as lab:
        lab.causal.record_gene({**GENE, "strategy": ["one\nother"]})
        tried(lab, "gene_a", *[False] * 4)
        tried(lab, "gene_a", True, signals=["quiet"])
    assert (
        run(
            "causal", "genes", "--signals", "log_error", "--signals", "command:make"
        ).out
        == "one other: helped 0 of 4 times (0.00 to 0.49) (banned)\n"
    )
    (row,) = run("causal", "genes", "--json").json["genes"]
    assert (row["n"], row["successes"], row["banned"]) == (5, 1, False)
