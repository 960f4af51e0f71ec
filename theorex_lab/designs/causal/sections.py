"""Tell contexts of causal memory: what helped, and what failed too often."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.designs.causal import SIGNALS
from theorex_lab.designs.causal.experience import (
    RemedyRecord,
    place_without_quote,
    remedy_records,
    told_records,
)
from theorex_lab.designs.causal.graph import assets_of
from theorex_lab.designs.causal.items import gene_text
from theorex_lab.designs.causal.remedies import AGAIN, WITHOUT
from theorex_lab.designs.causal.settings import causal_settings
from theorex_lab.journal.event import Event
from theorex_lab.memory.briefing.token_budget import age_in_words
from theorex_lab.memory.contract import ContextLine, ContextRequest, Home
from theorex_lab.memory.evidence import evidence_view
from theorex_lab.memory.observation import TRUST
from theorex_lab.memory.retrieve import Searcher
from theorex_lab.text.line import folded, one_line

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
        is_placed: Whether the kind of an error is known after which it was tried.
    """

    gene: str
    where: str
    n: float
    successes: float
    rate: float
    value: float
    last: int
    is_placed: bool = False


def advice_lines(home: Home, request: ContextRequest) -> Iterator[ContextLine]:
    """Yield what helped after which error, and what failed too often.

    They are of the project's own genes; for a query those that fit it, best first. What
    only a file says of a gene is not told: it may be anybody's words under the id of
    one that is known here. What was tried once is told only where nothing else is
    known of the error.
    """
    genes = {gene["id"]: gene for gene in assets_of(home, own=True)}
    histories = {}
    for history in _histories(home, set(genes), request.now):
        histories[history.gene] = history
    settings = causal_settings(home)
    events = _asset_events(home)
    records = _records_by_gene(home)
    for gene_id in _order(home, histories, request.query):
        gene = genes[gene_id]
        history = histories[gene_id]
        event = events[gene_id]
        is_tried = history.n >= settings.ban_attempts
        if is_tried and history.rate < settings.ban_below:
            yield _line(BANNED, gene, history, event, request.now)
            continue
        does_nothing = gene.get("strategy") in ([AGAIN], [WITHOUT])
        if history.rate < _HELPED_FROM or does_nothing:
            continue
        for history_there in _places_of(history, records.get(gene_id, [])):
            yield _line(HELPED, gene, history_there, event, request.now)


def _records_by_gene(home: Home) -> dict[str, list[RemedyRecord]]:
    """Return by gene what it did after each kind of error, as far as worth telling."""
    by_place: dict[str, list[RemedyRecord]] = {}
    for record in remedy_records(home):
        by_place.setdefault(record.where, []).append(record)
    by_gene: dict[str, list[RemedyRecord]] = {}
    for records in by_place.values():
        for record in told_records(records):
            by_gene.setdefault(record.gene, []).append(record)
    return by_gene


def _places_of(
    history: _GeneHistory, records: Sequence[RemedyRecord]
) -> Iterator[_GeneHistory]:
    """Yield what a gene did after each kind of error after which it helped.

    Where its errors tell no kind, that is what it did over all.
    """
    if not records and not history.is_placed:
        yield history
    by_place: dict[str, _GeneHistory] = {}
    for record in records:
        if not record.has_helped:
            continue
        where = place_without_quote(record.where)
        before = by_place.get(where, history._replace(n=0, successes=0, last=0))
        by_place[where] = before._replace(
            where=where,
            n=before.n + record.n,
            successes=before.successes + record.successes,
            last=max(before.last, record.last),
        )
    yield from by_place.values()


def _asset_events(home: Home) -> dict[str, Event]:
    """Return by id of an asset the event that told it last."""
    projects = None
    if home.projects is not None:
        projects = [*home.projects, ""]
    events: dict[str, Event] = {}
    for event in home.journal.tail(0, kinds=["asset"], projects=projects):
        asset_id = event.body["asset"]["id"]
        events[asset_id] = event
    return events


def _is_by_hand(event: Event) -> bool:
    """Return whether an agent or a person told an asset on purpose.

    What was made of a recorded session rests on events of it.
    """
    if event.lineage:
        return False
    source = event.body["source"]
    return TRUST[source] >= TRUST["agent"]


def _order(home: Home, histories: dict[str, _GeneHistory], query: str) -> Iterable[str]:
    """Return the genes in the order of the hits of a query, else the best first."""
    if query:
        hits = Searcher(home).search(
            query,
            kinds=(HELPED,),
            limit=_MOST_HITS,
            projects=home.projects,
        )
        return [hit.id for hit in hits if hit.id in histories]

    def best_first(gene: str) -> tuple[float, int, str]:
        history = histories[gene]
        return -history.value, -history.last, gene

    return sorted(histories, key=best_first)


def _line(
    kind: str, gene: dict[str, Any], history: _GeneHistory, event: Event, now: int
) -> ContextLine:
    """Return the line of a gene, with how often it worked or failed.

    Args:
        kind: The kind of the line.
        gene: The gene.
        history: What it did.
        event: The event that told it.
        now: The time (µs UTC).
    """
    days = (now - history.last) / MICROSECONDS_PER_DAY
    age = age_in_words(days)
    if kind == BANNED:
        n_failures = history.n - history.successes
        often = f"failed {n_failures:.0f}"
    else:
        often = f"worked {history.successes:.0f}"
    often = f"{often} of {history.n:.0f} times"
    sentence = f"{history.where}: {gene_text(gene)}"
    statement = f"{sentence}; {often}"
    text = f"{sentence} ({often}, {age})"
    return ContextLine(
        kind,
        "main",
        one_line(text, _LINE_CHARACTERS),
        None,
        (gene["id"],),
        (event.id,),
        f"expected success {history.value:.2f}",
        statement=folded(statement),
        at=history.last,
        automatic=not _is_by_hand(event),
    )


def _histories(home: Home, genes: set[str], now: int) -> Iterator[_GeneHistory]:
    """Yield what each of these genes did over all signals."""
    with home.views.reading(evidence_view(home)) as evidence:
        cells = evidence.table.cells(SIGNALS)
        days = causal_settings(home).edge_half_life_days
        aged = evidence.table.cells(SIGNALS, now=now, half_life_days=days)
    placed = {record.gene for record in remedy_records(home)}
    by_gene: dict[str, list[int]] = {}
    for row, option in enumerate(cells.options):
        if option in genes:
            rows_of_gene = by_gene.setdefault(option, [])
            rows_of_gene.append(row)
    for gene, rows in by_gene.items():
        n_tried = cells.n[rows].sum()
        successes = cells.successes[rows].sum()
        newest_index = int(cells.last[rows].argmax())
        newest = rows[newest_index]
        # Laplace's rule of succession.
        rate = float((successes + 1) / (n_tried + 2))
        n_left = aged.n[rows].sum()
        share_left = float(n_left / n_tried)
        yield _GeneHistory(
            gene=gene,
            where=_where(cells.keys[newest]),
            n=n_tried,
            successes=successes,
            rate=rate,
            value=rate * share_left,
            last=int(cells.last[newest]),
            is_placed=gene in placed,
        )


def _where(key: str) -> str:
    """Return what signals tell, in words that are no tool's own.

    >>> _where("causal/signal:class:a failed test|command:go test|log_error|tool:bash")
    'after go test: a failed test'
    """
    parts = {}
    signals = key.removeprefix(SIGNALS).split("|")
    for signal in signals:
        if signal.startswith(_WHERE):
            name, _, value = signal.partition(":")
            parts[name] = value
    callee = "an error"
    for name in ("command", "tool", "query_type"):
        if parts.get(name):
            callee = parts[name]
            break
    where = f"after {callee}"
    if "class" in parts:
        where += f": {parts['class']}"
    return where
