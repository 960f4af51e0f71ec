"""What genes and capsules have in search, the evidence that outcomes yield, and the settings of the design."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from theorex_lab.config import part_of
from theorex_lab.config_record import SettingsRecord, tunable
from theorex_lab.design import OPTION_KEY, EvidenceRun, ItemKind, ItemText
from theorex_lab.designs.causal import FAILED, SIGNAL_KEY, SUCCESS
from theorex_lab.home import Home
from theorex_lab.journal.event import Event

_DAYS = 365_000


def gene_text(asset: Mapping[str, Any]) -> str:
    """What a gene does, or a capsule tells, in words."""
    strategy = asset.get("strategy") or asset.get("summary") or asset.get("content") or ""
    return "; ".join(strategy) if isinstance(strategy, list) else str(strategy)


def _of_type(kind: str) -> ItemKind:
    def texts(event: Event) -> Iterable[ItemText]:
        asset = event.body["asset"]
        if asset["type"] == kind and (text := gene_text(asset)):
            yield ItemText(asset["id"], text, tuple(asset.get("signals_match", ())[:20]))

    def replaced(event: Event) -> Iterable[str]:
        return (event.body["asset"]["id"],) if event.body["asset"]["type"] == kind else ()

    return ItemKind(kind.lower(), {"asset": texts}, hides={"asset": replaced})


def _worked(event: Event) -> Iterable[ItemText]:
    if event.body.get("told") and event.body["outcome"]["status"] == SUCCESS:
        yield ItemText(event.id, f"{event.body['told']}; it worked")


GENE, CAPSULE = _of_type("Gene"), _of_type("Capsule")
ATTEMPT = ItemKind("attempt", {"attempt_closed": _worked})


def runs_of(event: Event) -> Iterable[EvidenceRun]:
    """What an outcome tells of its gene, under its signals and whatever they were; what others only say is no evidence."""
    body = event.body
    gene, status = (body.get("gene") or {}).get("id"), body["outcome"]["status"]
    if gene and status in (SUCCESS, FAILED) and body["source"] != "import":
        used = [body.get(name) for name in ("latency_ms", "tokens", "cost")]
        for key in (SIGNAL_KEY + body["signal"]["key"], OPTION_KEY):
            yield EvidenceRun(key, gene, status == SUCCESS, *used)


class CausalSettings(SettingsRecord):
    """The settings of the design of causal memory."""

    edge_half_life_days: float | None = tunable(30.0, "of (signals, gene); null: it never ages", gt=0, le=_DAYS)
    gene_half_life_days: float | None = tunable(
        45.0, "of a gene whatever it was tried for; null: it never ages", gt=0, le=_DAYS)  # fmt: skip
    similarity: float = tunable(0.34, "likeness (Jaccard) of signals from which what they tell counts", gt=0, le=1)
    prior_weight: float = tunable(0.12, "of what a gene did elsewhere, beside what it did here", ge=0, le=1)
    prior_alone: float = tunable(0.4, "of what a gene did elsewhere, where nothing is known here", ge=0, le=1)
    ban_below: float = tunable(0.18, "expected success below which a gene is banned for signals", ge=0, le=1)
    ban_attempts: int = tunable(2, "attempts from which it may be", ge=1, le=1_000)
    prior_ban_below: float = tunable(
        0.12, "expected success below which a gene is banned that is unknown here", ge=0, le=1)  # fmt: skip
    prior_ban_attempts: int = tunable(3, "attempts from which it may be", ge=1, le=1_000)
    error_tokens: tuple[str, ...] = tunable(
        ("log_error", "errsig:"), "signals that are errors; one that ends in a colon is how they begin")  # fmt: skip
    cheapest: bool = tunable(
        True, "whether the cheapest of genes not told from the best is preferred, where costs are known")  # fmt: skip
    drift: bool = tunable(False, "whether genes are also drawn at random, bans left aside")


def causal_settings(home: Home) -> CausalSettings:
    """The settings of the design in a home. Raises ConfigError for what is wrong in them."""
    found: CausalSettings = part_of(home.settings, "causal", CausalSettings, home.config_file)
    return found
