"""What others offer is kept as data, and a capsule is chosen by its triggers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import NOW
from theorex_lab import FixedClock, InvalidInput, Lab
from theorex_lab.designs.causal.capture import asset_id

SIGNALS = ["log_error", "errsig:TypeError: undefined"]
GENE = {"type": "Gene", "id": "gene_a", "signals_match": ["log_error"]}
CAPSULE: dict[str, Any] = {
    "type": "Capsule",
    "id": "capsule_a",
    "trigger": ["log_error"],
    "gene": "gene_a",
    "confidence": 0.9,
    "summary": "It was mended",
}


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=FixedClock(NOW)) as opened:
        yield opened


def test_a_candidate_is_kept_with_less_confidence_and_nothing_chooses_it(
    lab: Lab,
) -> None:
    line = lab.causal.record_external_candidate(
        {**CAPSULE, "a2a": {"status": "promoted"}}
    )
    assert line is not None
    assert (line["type"], line["kind"]) == ("MemoryGraphEvent", "external_candidate")
    assert line["candidate"] == {
        "trigger": ["log_error"],
        "gene": "gene_a",
        "confidence": pytest.approx(0.54),
    }
    assert line["asset"] == {"type": "Capsule", "id": "capsule_a"}
    assert line["content"]["a2a"] == {"status": "external_candidate"}
    assert line["external"]["source"] == "external"
    gene_line = lab.causal.record_external_candidate(GENE)
    assert gene_line is not None
    assert gene_line["candidate"] is None
    assert (lab.causal.genes(), lab.causal.capsules()) == ([], [])
    assert lab.causal.select_gene(SIGNALS).selected is None
    assert lab.causal.select_capsule(SIGNALS) is None
    assert lab.causal.get_advice(SIGNALS, ["gene_a"]).preferred_gene_id is None
    assert {event.body["source"] for event in lab.journal.tail(0)} == {"import"}
    assert lab.causal.external_candidates() == [line, gene_line]


def test_a_candidate_must_be_what_its_hash_says(lab: Lab) -> None:
    signed = {**CAPSULE, "asset_id": asset_id(CAPSULE)}
    assert lab.causal.record_external_candidate(signed) is not None
    with pytest.raises(InvalidInput, match="not changed on its way"):
        lab.causal.record_external_candidate({**signed, "confidence": 1.0})
    empty: dict[str, Any] = {}
    for lacking in (empty, {"type": "Gene"}, {"id": "x"}):
        assert lab.causal.record_external_candidate(lacking) is None
    for wrong in ({"type": "Script", "id": "x"}, {**GENE, "id": "gene_\u0430"}):
        with pytest.raises(InvalidInput, match="allowed"):
            lab.causal.record_external_candidate(wrong)


def test_the_capsule_with_the_most_triggers_that_fit_is_chosen(lab: Lab) -> None:
    lab.causal.record_capsule(CAPSULE)
    both = {**CAPSULE, "id": "capsule_b", "trigger": ["log_error", "/type\\w+/i"]}
    lab.causal.record_capsule(both)
    lab.causal.record_capsule({**both, "id": "capsule_c"})
    chosen = lab.causal.select_capsule(SIGNALS)
    assert chosen is not None
    assert chosen["id"] == "capsule_b"
    assert lab.causal.select_capsule(["slow"]) is None


def test_a_capsule_that_failed_or_is_an_imports_is_not_chosen(lab: Lab) -> None:
    lab.causal.record_capsule({**CAPSULE, "outcome": {"status": "failed"}})
    lab.causal.record_capsule({**CAPSULE, "id": "capsule_b"}, source="import")
    assert lab.causal.select_capsule(SIGNALS) is None
