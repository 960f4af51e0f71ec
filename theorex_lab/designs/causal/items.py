"""What genes and capsules have in search, the evidence that outcomes yield, and the
settings of the design.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from theorex_lab.designs.causal import FAILED, SIGNAL_KEY, SUCCESS
from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import OPTION_KEY, EvidenceRun, ItemKind, ItemText


def gene_text(asset: Mapping[str, Any]) -> str:
    """Return what a gene does, or a capsule tells, in words."""
    text = asset.get("strategy") or asset.get("summary") or asset.get("content") or ""
    return "; ".join(text) if isinstance(text, list) else str(text)


def _of_type(kind: str) -> ItemKind:
    """Return the kind of items that assets of a type are."""

    def texts(event: Event) -> Iterable[ItemText]:
        asset = event.body["asset"]
        text = gene_text(asset)
        if asset["type"] == kind and text:
            tags = tuple(asset.get("signals_match", ())[:20])
            yield ItemText(asset["id"], text, tags)

    def replaced_ids(event: Event) -> Iterable[str]:
        asset = event.body["asset"]
        if asset["type"] == kind:
            yield asset["id"]

    return ItemKind(kind.lower(), {"asset": texts}, hides={"asset": replaced_ids})


def _worked(event: Event) -> Iterable[ItemText]:
    if event.body.get("told") and event.body["outcome"]["status"] == SUCCESS:
        yield ItemText(event.id, f"{event.body['told']}; it worked")


GENE = _of_type("Gene")
CAPSULE = _of_type("Capsule")
ATTEMPT = ItemKind("attempt", {"attempt_closed": _worked})


def runs_of(event: Event) -> Iterable[EvidenceRun]:
    """Yield what an outcome tells of its gene, under its signals and whatever they were.

    What others only say is no evidence.
    """
    body = event.body
    gene = (body.get("gene") or {}).get("id")
    status = body["outcome"]["status"]
    if gene and status in (SUCCESS, FAILED) and body["source"] != "import":
        used = [body.get(name) for name in ("latency_ms", "tokens", "cost")]
        for key in (SIGNAL_KEY + body["signal"]["key"], OPTION_KEY):
            yield EvidenceRun(key, gene, status == SUCCESS, *used)
