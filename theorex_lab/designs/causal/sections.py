"""Tell contexts of causal memory: what helped, and what failed too often."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.designs.causal import SIGNALS
from theorex_lab.designs.causal.filling import AGAIN, WITHOUT
from theorex_lab.designs.causal.graph import assets_of
from theorex_lab.designs.causal.items import gene_text
from theorex_lab.designs.causal.settings import causal_settings
from theorex_lab.memory.briefing.token_budget import age_in_words
from theorex_lab.memory.contract import ContextLine, ContextRequest, Home
from theorex_lab.memory.evidence import evidence_view
from theorex_lab.memory.retrieve import Searcher
from theorex_lab.text.line import one_line

# Kinds of lines.
HELPED = "gene"
BANNED = "banned"
_MOST_HITS = 100
_LINE_CHARACTERS = 400
_HELPED_FROM = 0.5  # success so far from which a gene is told as one that helped
_WHERE = ("command:", "class:", "query_type:", "tool:")


class _GeneHistory(NamedTuple):
    """Hold what a gene did over all signals.

    Attributes:
        gene: Its id.
        where: What it was tried after last.
        n: How often it was tried.
        successes: How often it succeeded.
        rate: (successes + 1) / (n + 2).
        value: The rate, aged.
        last: When it was tried last (µs).
    """

    gene: str
    where: str
    n: float
    successes: float
    rate: float
    value: float
    last: int


def advice_lines(home: Home, request: ContextRequest) -> Iterator[ContextLine]:
    """Yield what helped, and what failed too often, of the project's own genes.

    For a query they are those that fit it, best first. What only a file says of a gene
    is not told: it may be anybody's words under the id of one that is known here.
    """
    genes = {gene["id"]: gene for gene in assets_of(home, own=True)}
    histories = {
        history.gene: history for history in _histories(home, set(genes), request.now)
    }
    settings = causal_settings(home)
    for gene in _order(home, histories, request.query):
        history = histories[gene]
        strategy = genes[gene].get("strategy")
        if history.n >= settings.ban_attempts and history.rate < settings.ban_below:
            yield _line(BANNED, genes[gene], history, request.now)
        elif history.rate >= _HELPED_FROM and strategy not in ([AGAIN], [WITHOUT]):
            yield _line(HELPED, genes[gene], history, request.now)


def _order(home: Home, histories: dict[str, _GeneHistory], query: str) -> Iterable[str]:
    """Return the genes in the order of the hits of a query, else the best first."""
    if query:
        hits = Searcher(home).search(
            query, kinds=(HELPED,), limit=_MOST_HITS, projects=home.projects
        )
        return [hit.id for hit in hits if hit.id in histories]
    return sorted(
        histories,
        key=lambda gene: (-histories[gene].value, -histories[gene].last, gene),
    )


def _line(
    kind: str, gene: dict[str, Any], history: _GeneHistory, now: int
) -> ContextLine:
    """Return the line of a gene, with how often it worked or failed."""
    age = age_in_words((now - history.last) / MICROSECONDS_PER_DAY)
    if kind == BANNED:
        often = f"failed {history.n - history.successes:.0f}"
    else:
        often = f"worked {history.successes:.0f}"
    text = one_line(
        f"{history.where}: {gene_text(gene)} ({often} of {history.n:.0f} times, {age})",
        _LINE_CHARACTERS,
    )
    why = f"expected success {history.value:.2f}"
    return ContextLine(kind, "main", text, None, (gene["id"],), (), why)


def _histories(home: Home, genes: set[str], now: int) -> Iterator[_GeneHistory]:
    """Yield what each of these genes did over all signals."""
    with home.views.reading(evidence_view(home)) as evidence:
        cells = evidence.table.cells(SIGNALS)
        days = causal_settings(home).edge_half_life_days
        aged = evidence.table.cells(SIGNALS, now=now, half_life_days=days)
    by_gene: dict[str, list[int]] = {}
    for row, option in enumerate(cells.options):
        if option in genes:
            by_gene.setdefault(option, []).append(row)
    for gene, rows in by_gene.items():
        n_tried = cells.n[rows].sum()
        successes = cells.successes[rows].sum()
        newest = rows[int(cells.last[rows].argmax())]
        rate = float((successes + 1) / (n_tried + 2))
        share_left = float(aged.n[rows].sum() / n_tried)
        yield _GeneHistory(
            gene=gene,
            where=_where(cells.keys[newest]),
            n=n_tried,
            successes=successes,
            rate=rate,
            value=rate * share_left,
            last=int(cells.last[newest]),
        )


def _where(key: str) -> str:
    """Return what signals tell, in words that are no tool's own.

    >>> _where("causal/signal:class:a failed test|command:go test|log_error|tool:bash")
    'after go test: a failed test'
    """
    parts = dict[str, str]()
    for signal in key.removeprefix(SIGNALS).split("|"):
        if signal.startswith(_WHERE):
            name, _, value = signal.partition(":")
            parts[name] = value
    called = parts.get("command") or parts.get("tool") or parts.get("query_type")
    where = f"after {called or 'an error'}"
    return f"{where}: {parts['class']}" if "class" in parts else where
