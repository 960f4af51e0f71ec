"""Advise which gene to try for signals, and which not to.

Both are told by what came of them before.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.designs.causal import SIGNALS
from theorex_lab.designs.causal.capture import checked_id, signal_member
from theorex_lab.designs.causal.graph import assets_of
from theorex_lab.designs.causal.keys import (
    NO_SIGNALS,
    compute_signal_key,
    normalized_signals,
)
from theorex_lab.designs.causal.settings import CausalSettings, causal_settings
from theorex_lab.memory.contract import OPTION_KEY, Home
from theorex_lab.memory.evidence import (
    EvidenceTable,
    Option,
    cheapest_not_worse,
    evidence_view,
    expected_success,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_OPTION = f"causal/{OPTION_KEY}"
_TOLD_FROM = 5  # attempts from which a gene may be preferred for what it costs
_MOST_BANS_TOLD = 6


@dataclass(frozen=True)
class GeneAdvice:
    """Hold advice for signals.

    Attributes:
        signal_key: The key of the signals.
        preferred_gene_id: The gene of the highest score that is not banned; None where
            nothing is known.
        banned_gene_ids: The genes that are not to be tried.
        scores: Of each gene, from 0; 0 where nothing is known of it.
        explanation: Why, a part a reason.
    """

    signal_key: str
    preferred_gene_id: str | None
    banned_gene_ids: frozenset[str]
    scores: dict[str, float]
    explanation: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return the advice as JSON values."""
        members = dict(vars(self))
        members["banned_gene_ids"] = sorted(self.banned_gene_ids)
        return members


class GeneRecord(NamedTuple):
    """Hold what is known of a gene.

    Attributes:
        best: What is expected here, aged and weighed by how alike the signals are; 0
            where nothing is known.
        rate: The best that it did here, not aged.
        attempts: The most under one key.
        n, successes, cost, likeness: Those of the key that tells best. The cost is the
            mean, NaN where that is not known.
        prior, prior_rate, prior_attempts: The same whatever it was tried for.
    """

    best: float = 0.0
    rate: float = 0.0
    attempts: float = 0.0
    n: float = 0.0
    successes: float = 0.0
    cost: float = math.nan
    likeness: float = 0.0
    prior: float = 0.0
    prior_rate: float = 0.0
    prior_attempts: float = 0.0


def get_advice(
    home: Home,
    signals: Sequence[str],
    genes: Sequence[str | Mapping[str, Any]],
    drift_enabled: bool = False,
    *,
    cheapest: bool | None = None,
) -> GeneAdvice:
    """Return the gene to prefer for signals, and the genes that are banned.

    Args:
        home: Where the evidence is.
        signals: The signals.
        genes: The genes to choose among: ids, or genes with an `id`.
        drift_enabled: Ban nothing.
        cheapest: Prefer the cheapest of those not significantly worse than the best;
            None: as the settings say.

    Raises:
        InvalidInput: The signals or an id are outside the rules.
    """
    ids = []
    for gene in genes:
        gene_id = gene.get("id") if isinstance(gene, Mapping) else gene
        checked = checked_id("gene", gene_id)
        ids.append(checked)
    settings = causal_settings(home)
    now = home.clock.now()
    masked = signal_member(signals)["signals"]  # as they were recorded
    with home.views.reading(evidence_view(home)) as evidence:
        return advice_from(
            evidence.table,
            masked,
            list(dict.fromkeys(ids)),
            settings,
            now=now,
            drift_enabled=drift_enabled,
            cheapest=cheapest,
        )


def advice_from(
    table: EvidenceTable,
    signals: Sequence[str],
    ids: Sequence[str],
    settings: CausalSettings,
    *,
    now: int,
    drift_enabled: bool = False,
    cheapest: bool | None = None,
) -> GeneAdvice:
    """Return what `get_advice` does, from a table of evidence.

    Args:
        table: The evidence.
        signals: The signals, masked.
        ids: The genes to choose among, each once.
        settings: The settings of the design.
        now: The time (µs UTC) to which evidence ages.
        drift_enabled: Ban nothing.
        cheapest: As `get_advice` takes it.
    """
    by_gene = records(table, signals, ids, settings, now=now)
    scores = {gene: _score(record, settings) for gene, record in by_gene.items()}
    banned = [] if drift_enabled else _banned(ids, by_gene, settings)
    order = sorted(ids, key=lambda gene: -scores[gene])
    usable = [gene for gene in order if gene not in banned and scores[gene] > 0]
    if cheapest is None:
        cheapest = settings.cheapest
    preferred, explanation = _preference(usable, by_gene, cheapest)
    prior = by_gene[preferred].prior if preferred else 0.0
    explanation += _reservations(banned, prior, drift_enabled)
    return GeneAdvice(
        signal_key=compute_signal_key(signals),
        preferred_gene_id=preferred,
        banned_gene_ids=frozenset(banned),
        scores={gene: scores[gene] for gene in order},
        explanation=explanation,
    )


def _banned(
    ids: Sequence[str], by_gene: Mapping[str, GeneRecord], settings: CausalSettings
) -> list[str]:
    """Return the genes that are not to be tried, in their order."""
    return [gene for gene in ids if is_banned(by_gene[gene], settings)]


def _preference(
    usable: Sequence[str], by_gene: Mapping[str, GeneRecord], cheapest: bool
) -> tuple[str | None, list[str]]:
    """Return the gene that is preferred, and why; None without a usable one.

    Args:
        usable: The genes that may be tried, best first.
        by_gene: What is known of each gene.
        cheapest: Whether a cheaper one is preferred that is not significantly worse.
    """
    if not usable:
        return None, []
    best = usable[0]
    cheaper = _cheaper(usable, by_gene) if cheapest else None
    if not cheaper:
        return best, [f"memory_prefer:{best}"]
    reasons = [f"memory_prefer:{cheaper}"]
    reasons.append(f"cheapest_not_worse:{cheaper} than {best}")
    return cheaper, reasons


def _reservations(
    banned: Sequence[str], prior: float, drift_enabled: bool
) -> list[str]:
    """Return what else is to be said: of bans, of the prior used, and of drift."""
    explanation = []
    if banned:
        first_banned = ",".join(banned[:_MOST_BANS_TOLD])
        explanation.append(f"memory_ban:{first_banned}")
    if prior:
        explanation.append(f"gene_prior:{prior:.3f}")
    if drift_enabled:
        explanation.append("random_drift:enabled")
    return explanation


def records(
    table: EvidenceTable,
    signals: Sequence[str],
    ids: Sequence[str],
    settings: CausalSettings,
    *,
    now: int,
) -> dict[str, GeneRecord]:
    """Return what is known of each gene for these signals.

    It is known under their own key, and under keys alike by `settings.similarity`.

    Args:
        table: The evidence.
        signals: The signals, masked.
        ids: The genes.
        settings: The settings of the design.
        now: The time (µs UTC) to which evidence ages.

    Returns:
        A record of each id.
    """
    parts = set(normalized_signals(signals)) or {NO_SIGNALS}
    alike_rows, likeness = table.alike(SIGNALS, parts, settings.similarity)
    here = _here(table, alike_rows, likeness, settings, now)
    priors = _priors(table, ids, settings, now)
    unknown = (0.0, 0.0, 0.0, 0.0, 0.0, math.nan, 0.0)
    no_prior = (0.0, 0.0, 0.0)
    by_gene = {}
    for gene in ids:
        numbers = here.get(table.option_number(gene), unknown)
        by_gene[gene] = GeneRecord(*numbers, *priors.get(gene, no_prior))
    return by_gene


def known_gene_ids(home: Home) -> list[str]:
    """Return the genes of the home's project or of none, and those that were tried only.

    An attempt names a gene by its id, whether or not the gene itself was recorded.
    """
    recorded = [gene["id"] for gene in assets_of(home)]
    everywhere = {gene["id"] for gene in assets_of(home.in_project(""))}
    with home.views.reading(evidence_view(home)) as evidence:
        cells = evidence.table.cells(_OPTION)
        tried = [
            gene
            for key, gene in zip(cells.keys, cells.options, strict=True)
            if key == _OPTION and gene not in everywhere
        ]
    return list(dict.fromkeys([*recorded, *tried]))


def is_known_here(home: Home, signals: Sequence[str], gene: str) -> bool:
    """Return whether a gene was tried for these signals or for similar ones."""
    masked = signal_member(signals)["signals"]
    with home.views.reading(evidence_view(home)) as evidence:
        by_gene = records(
            evidence.table,
            masked,
            [gene],
            causal_settings(home),
            now=home.clock.now(),
        )
    return by_gene[gene].best > 0


def _priors(
    table: EvidenceTable, ids: Sequence[str], settings: CausalSettings, now: int
) -> dict[str, tuple[float, ...]]:
    """Return prior, rate and attempts of each gene, whatever it was tried for."""
    tried = []
    rows = []
    for gene in ids:
        row = table.row(_OPTION, gene)
        if row is not None:
            tried.append(gene)
            rows.append(row)
    runs = table.runs(np.array(rows, np.int64))
    _, rates, values = expected_success(runs, now, settings.gene_half_life_days)
    columns = [values.tolist(), rates.tolist(), runs.n.tolist()]
    numbers = zip(*columns, strict=True)
    return dict(zip(tried, numbers, strict=True))


def _here(
    table: EvidenceTable,
    rows: Ints,
    likeness: Floats,
    settings: CausalSettings,
    now: int,
) -> dict[int, tuple[float, ...]]:
    """Return what the rows tell of each gene, by its number.

    Returns:
        best, rate, attempts, and n, successes, cost and likeness of the row that tells
        best.
    """
    runs = table.runs(rows)
    _, rate, value = expected_success(runs, now, settings.edge_half_life_days)
    value *= likeness
    # The row of each gene that tells best comes first.
    order = np.lexsort((-value, runs.option))
    genes, first = np.unique(runs.option[order], return_index=True)
    if not len(genes):
        return {}
    best = order[first]
    columns = [
        value[best],
        np.maximum.reduceat(rate[order], first),
        np.maximum.reduceat(runs.n[order], first),
        runs.n[best],
        runs.successes[best],
        runs.cost[best],
        likeness[best],
    ]
    numbers = zip(*(column.tolist() for column in columns), strict=True)
    return dict(zip(genes.tolist(), numbers, strict=True))


def _cheaper(usable: Sequence[str], by_gene: Mapping[str, GeneRecord]) -> str | None:
    """Return the gene that is cheaper than the first and not significantly worse.

    None where it is the first. Only what was tried under these very signals is
    compared, since success under others is another's.
    """
    options = []
    for gene in usable:
        record = by_gene[gene]
        if record.n < _TOLD_FROM or record.likeness != 1:
            continue
        option = Option(gene, record.n, record.successes, record.cost)
        options.append(option)
    if not options or options[0].name != usable[0]:
        return None
    cheapest = options[cheapest_not_worse(options)]
    if cheapest.cost < options[0].cost:
        return cheapest.name
    return None


def _score(record: GeneRecord, settings: CausalSettings) -> float:
    """Return the score of a gene.

    It is what the gene did here, and some of what it did elsewhere.
    """
    weight = settings.prior_alone
    if record.best > 0:
        weight = settings.prior_weight
    return record.best + weight * record.prior


def is_banned(record: GeneRecord, settings: CausalSettings) -> bool:
    """Return whether a gene failed too often to be tried again.

    All that it ever did counts, since success of long ago is no failure.

    Args:
        record: What is known of the gene.
        settings: The settings of the design.
    """
    if record.attempts >= settings.ban_attempts:
        return record.rate < settings.ban_below
    return (
        record.prior_attempts >= settings.prior_ban_attempts
        and record.prior_rate < settings.prior_ban_below
    )
