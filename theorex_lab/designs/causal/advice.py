"""Which gene to try for signals, and which not to, by what came of them before."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.designs.causal import SIGNALS
from theorex_lab.designs.causal.capture import checked_id, signal_member
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
    """Advice for signals. scores: of each gene, from 0; 0 where nothing is known of it.
    banned_gene_ids: not to be tried.

    preferred_gene_id: the gene of the highest score that is not banned, None where
    nothing is known.  explanation: why, a part a reason.
    """

    signal_key: str
    preferred_gene_id: str | None
    banned_gene_ids: frozenset[str]
    scores: dict[str, float]
    explanation: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {**vars(self), "banned_gene_ids": sorted(self.banned_gene_ids)}


class GeneRecord(NamedTuple):
    """What is known of a gene. best: what is expected here, aged and weighed by how
    alike the signals are; 0 where nothing is known.

    rate: the best that it did here, not aged.  attempts: the most under one key.  n,
    successes, cost, likeness: of the key that tells best; cost: the mean, NaN where
    that is not known.  prior, prior_rate, prior_attempts: whatever it was tried for.
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
    """The gene to prefer for signals, among these (ids, or genes with an `id`), and
    those that are banned.

    cheapest: prefer the cheapest of those that cannot be told from the best; None: as
    the settings say. With drift nothing is banned. Raises InvalidInput for signals or
    ids outside the rules.
    """
    named = [gene.get("id") if isinstance(gene, Mapping) else gene for gene in genes]
    ids = [*dict.fromkeys(checked_id("gene", name) for name in named)]
    how = (causal_settings(home), home.clock.now())
    given = signal_member(signals)["signals"]  # masked, as they were recorded
    with home.views.reading(evidence_view(home)) as evidence:
        return advice_from(
            evidence.table,
            given,
            ids,
            *how,
            drift_enabled=drift_enabled,
            cheapest=cheapest,
        )


def advice_from(
    table: EvidenceTable,
    signals: Sequence[str],
    ids: Sequence[str],
    settings: CausalSettings,
    now: int,
    *,
    drift_enabled: bool = False,
    cheapest: bool | None = None,
) -> GeneAdvice:
    """`get_advice` on a table of evidence, at a time (µs UTC)."""
    known = records(table, signals, ids, settings, now)
    scores = {gene: _score(record, settings) for gene, record in known.items()}
    banned = frozenset(
        gene for gene in ids if not drift_enabled and is_banned(known[gene], settings)
    )
    order = sorted(ids, key=lambda gene: -scores[gene])
    usable = [gene for gene in order if gene not in banned and scores[gene] > 0]
    told = list[str]()
    preferred = usable[0] if usable else None
    if (
        preferred
        and (settings.cheapest if cheapest is None else cheapest)
        and (cheaper := _cheaper(usable, known))
    ):
        told.append(f"cheapest_not_worse:{cheaper} than {preferred}")
        preferred = cheaper
    told = [*([f"memory_prefer:{preferred}"] if preferred else []), *told]
    if banned:
        told.append(
            f"memory_ban:{','.join([gene for gene in ids if gene in banned][:_MOST_BANS_TOLD])}"
        )
    if preferred and known[preferred].prior:
        told.append(f"gene_prior:{known[preferred].prior:.3f}")
    told += ["random_drift:enabled"] if drift_enabled else []
    return GeneAdvice(
        compute_signal_key(signals),
        preferred,
        banned,
        {gene: scores[gene] for gene in order},
        told,
    )


def records(
    table: EvidenceTable,
    signals: Sequence[str],
    ids: Sequence[str],
    settings: CausalSettings,
    now: int,
) -> dict[str, GeneRecord]:
    """What is known of each gene for these signals: under their own key, and under keys
    alike by `settings.similarity`.
    """
    parts = set(normalized_signals(signals)) or {NO_SIGNALS}
    here = _here(
        table, *table.alike(SIGNALS, parts, settings.similarity), settings, now
    )
    rows = {gene: row for gene in ids if (row := table.row(_OPTION, gene)) is not None}
    elsewhere = table.runs(np.array([*rows.values()], np.int64))
    _, rates, values = expected_success(elsewhere, now, settings.gene_half_life_days)
    priors = dict(
        zip(
            rows,
            zip(values.tolist(), rates.tolist(), elsewhere.n.tolist(), strict=True),
            strict=True,
        )
    )
    unknown = (0.0, 0.0, 0.0, 0.0, 0.0, math.nan, 0.0)
    nothing = (0.0, 0.0, 0.0)
    told = {
        gene: (
            *here.get(table.option_number(gene), unknown),
            *priors.get(gene, nothing),
        )
        for gene in ids
    }
    return {gene: GeneRecord(*known) for gene, known in told.items()}


def _here(
    table: EvidenceTable,
    rows: Ints,
    likeness: Floats,
    settings: CausalSettings,
    now: int,
) -> dict[int, tuple[float, ...]]:
    """By number of a gene: best, rate, attempts, and n, successes, cost and likeness of
    the row that tells best.
    """
    runs = table.runs(rows)
    _, rate, value = expected_success(runs, now, settings.edge_half_life_days)
    value *= likeness
    order = np.lexsort(
        (-value, runs.option)
    )  # of each gene the row that tells best comes first
    genes, first = np.unique(runs.option[order], return_index=True)
    if not len(genes):
        return {}
    most = [np.maximum.reduceat(column[order], first) for column in (rate, runs.n)]
    best = order[first]
    told = (
        value[best],
        *most,
        runs.n[best],
        runs.successes[best],
        runs.cost[best],
        likeness[best],
    )
    return dict(
        zip(
            genes.tolist(),
            zip(*(column.tolist() for column in told), strict=True),
            strict=True,
        )
    )


def _cheaper(usable: Sequence[str], known: Mapping[str, GeneRecord]) -> str | None:
    """The gene that is cheaper than the first of these and cannot be told from it in
    success; None where it is the first.

    Only what was tried under these very signals is compared, since success under others
    is another's.
    """
    same = [
        gene
        for gene in usable
        if known[gene].n >= _TOLD_FROM and known[gene].likeness == 1
    ]
    tried = [
        Option(gene, known[gene].n, known[gene].successes, known[gene].cost)
        for gene in same
    ]
    if same[:1] != [usable[0]]:
        return None
    found = tried[cheapest_not_worse(tried)]
    return found.name if found.cost < tried[0].cost else None


def _score(record: GeneRecord, settings: CausalSettings) -> float:
    return (
        record.best
        + (settings.prior_weight if record.best > 0 else settings.prior_alone)
        * record.prior
    )


def is_banned(record: GeneRecord, settings: CausalSettings) -> bool:
    """Whether a gene failed too often to be tried again: by all that it ever did, since
    success of long ago is no failure.
    """
    if record.attempts >= settings.ban_attempts:
        return record.rate < settings.ban_below
    return (
        record.prior_attempts >= settings.prior_ban_attempts
        and record.prior_rate < settings.prior_ban_below
    )
