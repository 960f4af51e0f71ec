"""Say what genes, capsules and attempts have in search.

It also says what outcomes are evidence of. A gene and a capsule are found by what they
tell to do, an attempt by what was done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from theorex_lab.designs.causal import FAILED, SIGNAL_KEY, SUCCESS
from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import OPTION_KEY, EvidenceRun, ItemKind, ItemText

_MOST_TAGS = 20


def gene_text(asset: Mapping[str, Any]) -> str:
    """Return what a gene does, or a capsule tells, in words.

    The first of strategy, summary and content that is not empty tells it.
    """
    for member in ("strategy", "summary", "content"):
        text = asset.get(member)
        if isinstance(text, list) and text:
            return "; ".join(text)
        if text:
            return str(text)
    return ""


def _of_type(kind: str) -> ItemKind:
    """Return the kind of items that assets of a type are."""

    def texts(event: Event) -> Iterable[ItemText]:
        asset = event.body["asset"]
        if asset["type"] != kind:
            return
        text = gene_text(asset)
        if text:
            patterns = asset.get("signals_match", ())
            tags = tuple(patterns[:_MOST_TAGS])
            yield ItemText(asset["id"], text, tags)

    def replaced_ids(event: Event) -> Iterable[str]:
        asset = event.body["asset"]
        if asset["type"] == kind:
            yield asset["id"]

    return ItemKind(
        kind.lower(),
        {"asset": texts},
        hides={"asset": replaced_ids},
    )


def _worked(event: Event) -> Iterable[ItemText]:
    words = event.body.get("told")
    if not words:
        return
    status = event.body["outcome"]["status"]
    if status == SUCCESS:
        yield ItemText(event.id, f"{words}; it worked")


GENE = _of_type("Gene")
CAPSULE = _of_type("Capsule")
ATTEMPT = ItemKind("attempt", {"attempt_closed": _worked})


def runs_of(event: Event) -> Iterable[EvidenceRun]:
    """Yield what an outcome tells of its gene.

    It tells it under its signals, and whatever they were. What others only say is no
    evidence.
    """
    body = event.body
    gene = body.get("gene") or {}
    gene_id = gene.get("id")
    status = body["outcome"]["status"]
    if not gene_id or status not in (SUCCESS, FAILED):
        return
    if body["source"] == "import":
        return
    signal_key = body["signal"]["key"]
    for key in (SIGNAL_KEY + signal_key, OPTION_KEY):
        yield EvidenceRun(
            key,
            gene_id,
            status == SUCCESS,
            body.get("latency_ms"),
            body.get("tokens"),
            body.get("cost"),
        )
