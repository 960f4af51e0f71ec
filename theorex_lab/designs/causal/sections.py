"""What contexts tell of causal memory: what helped, and what failed too often."""

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

HELPED, BANNED = "gene", "banned"  # kinds of lines
_MOST_HITS = 100
_LINE_CHARACTERS = 400
_HELPED_FROM = 0.5  # success so far from which a gene is told as one that helped
_WHERE = ("command:", "class:", "query_type:", "tool:")


class _Known(NamedTuple):
    """What a gene did over all signals. where: what it was tried after.  rate:
    (successes + 1) / (n + 2); aged, the value.  last: µs.
    """

    gene: str
    where: str
    n: float
    successes: float
    rate: float
    value: float
    last: int


def advice_lines(home: Home, wanted: ContextRequest) -> Iterator[ContextLine]:
    """What helped, and what failed too often, of the project's own genes; for a query
    those that fit it, best first.

    What only a file says of a gene is not told: it may be anybody's words under the id
    of one that is known here.
    """
    genes = {gene["id"]: gene for gene in assets_of(home, own=True)}
    known = {found.gene: found for found in _known(home, set(genes), wanted.now)}
    order: Iterable[str] = sorted(
        known, key=lambda gene: (-known[gene].value, -known[gene].last, gene)
    )
    if wanted.query:
        hits = Searcher(home).search(
            wanted.query, kinds=(HELPED,), limit=_MOST_HITS, projects=home.projects
        )
        order = [hit.id for hit in hits if hit.id in known]
    settings = causal_settings(home)
    for gene in order:
        banned = (
            known[gene].n >= settings.ban_attempts
            and known[gene].rate < settings.ban_below
        )
        if banned or (
            known[gene].rate >= _HELPED_FROM
            and genes[gene].get("strategy") not in ([AGAIN], [WITHOUT])
        ):
            yield _line(
                BANNED if banned else HELPED, genes[gene], known[gene], wanted.now
            )


def _line(kind: str, gene: dict[str, Any], known: _Known, now: int) -> ContextLine:
    age = age_in_words((now - known.last) / MICROSECONDS_PER_DAY)
    often = (
        f"failed {known.n - known.successes:.0f}"
        if kind == BANNED
        else f"worked {known.successes:.0f}"
    )
    text = one_line(
        f"{known.where}: {gene_text(gene)} ({often} of {known.n:.0f} times, {age})",
        _LINE_CHARACTERS,
    )
    return ContextLine(
        kind,
        "main",
        text,
        None,
        (gene["id"],),
        (),
        f"expected success {known.value:.2f}",
    )


def _known(home: Home, genes: set[str], now: int) -> Iterator[_Known]:
    with home.views.reading(evidence_view(home)) as evidence:
        cells = evidence.table.cells(SIGNALS)
        days = causal_settings(home).edge_half_life_days
        aged = evidence.table.cells(SIGNALS, now=now, half_life_days=days)
    by_gene: dict[str, list[int]] = {}
    for row, option in enumerate(cells.options):
        if option in genes:
            by_gene.setdefault(option, []).append(row)
    for gene, rows in by_gene.items():
        n = cells.n[rows].sum()
        hits = cells.successes[rows].sum()
        newest = rows[int(cells.last[rows].argmax())]
        rate = float((hits + 1) / (n + 2))
        left = float(aged.n[rows].sum() / n)
        yield _Known(
            gene,
            _where(cells.keys[newest]),
            n,
            hits,
            rate,
            rate * left,
            int(cells.last[newest]),
        )


def _where(key: str) -> str:
    """What signals tell in words that are no tool's own.

    >>> _where("causal/signal:class:a failed test|command:go test|log_error|tool:bash")
    'after go test: a failed test'
    """
    parts = dict(
        part.partition(":")[::2]
        for part in key.removeprefix(SIGNALS).split("|")
        if part.startswith(_WHERE)
    )
    called = parts.get("command") or parts.get("tool") or parts.get("query_type")
    return f"after {called or 'an error'}{': ' + parts['class'] if 'class' in parts else ''}"
