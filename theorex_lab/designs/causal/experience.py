"""Say in words what helped after which error, and what did not.

Every closed attempt counts once: for the kind of error that it answers, and for what
was done. Attempts that an older version recorded count too, since the kind of an error
is read from its signals.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from theorex_lab.designs.causal import SUCCESS
from theorex_lab.designs.causal.graph import assets_of
from theorex_lab.designs.causal.items import gene_text
from theorex_lab.designs.causal.keys import ERROR_SIGNAL
from theorex_lab.designs.causal.remedies import AGAIN, says_what_helped
from theorex_lab.designs.causal.signatures import (
    error_kind_of,
    error_signature_of,
    is_of_agents_tool,
)
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Event
from theorex_lab.journal.view import View
from theorex_lab.memory.briefing.command_roles import TEST, role_of
from theorex_lab.memory.contract import Home
from theorex_lab.text.wording import content_words, overlap

HELPED_FROM = 0.5  # of the runs, from which on a remedy helped
TOLD_FROM = 2  # runs
_MOST_GROUPS = 12
_MOST_REMEDIES = 3
_LIKE_ENOUGH = 0.5
_CALLEES = ("command", "tool", "query_type")
# Classes that say enough; another one is told by the error itself.
_TELLING_CLASSES = frozenset(
    (
        "a failed test",
        "a type or build error",
        "a missing module",
        "a timeout",
        "a crash",
    )
)


# Errors that may pass by themselves.
_PASSING = (": a timeout", ": a crash")


class RemedyRecord(NamedTuple):
    """Hold what one remedy did after one kind of error.

    Attributes:
        where: After what, in words.
        gene: The id of what was done.
        words: What was done, in words.
        n: How often it was tried.
        successes: How often it helped.
        last: When it was tried last (µs UTC).
    """

    where: str
    gene: str
    words: str
    n: int
    successes: int
    last: int

    @property
    def has_helped(self) -> bool:
        """Whether it helped at least every other time."""
        return self.successes >= HELPED_FROM * self.n

    @property
    def often(self) -> str:
        """How often it helped, in words."""
        return f"{self.successes} of {self.n} times"


class Experience(View):
    """Hold a row for each kind of error and each gene that was tried after it.

    Attributes:
        rows: where, gene and project (numbers of names), n, successes, last (µs).
    """

    name = "causal_experience"
    code = 2
    kinds = ("attempt_closed",)

    def __init__(self) -> None:
        super().__init__()
        self.places = Names()
        self.genes = Names()
        self.projects = Names()
        self.rows = Table(
            where="i4", gene="i4", project="i4", n="i8", successes="i8", last="i8"
        )
        self._row_by_key: dict[tuple[int, int, int], int] = {}

    def _after_load(self) -> None:
        places = self.rows["where"].tolist()
        genes = self.rows["gene"].tolist()
        projects = self.rows["project"].tolist()
        keys = zip(places, genes, projects, strict=True)
        self._row_by_key = {}
        for row, key in enumerate(keys):
            self._row_by_key[key] = row

    def _attempt_closed(self, event: Event) -> None:
        body = event.body
        gene = (body.get("gene") or {}).get("id")
        where = where_of(body["signal"]["signals"])
        if not gene or not where or body["source"] == "import":
            return
        key = (
            self.places.number(where),
            self.genes.number(gene),
            self.projects.number(body.get("project", "")),
        )
        row = self._row_by_key.get(key)
        if row is None:
            where_number, gene_number, project = key
            row = self.rows.add(where=where_number, gene=gene_number, project=project)
            self._row_by_key[key] = row
        succeeded = body["outcome"]["status"] == SUCCESS
        self.rows.put(
            row,
            n=self.rows["n"][row] + 1,
            successes=self.rows["successes"][row] + int(succeeded),
            last=event.at,
        )


def where_of(signals: Iterable[str]) -> str:
    """Return after which error signals are, in words; '' where none is told.

    >>> where_of(["log_error", "command:go test", "tool:bash", "class:a failed test"])
    'after `go test`: a failed test'
    >>> where_of(["tool:edit", "errsig:String to replace not found in file."])
    ''
    """
    parts: dict[str, str] = {}
    error = ""
    for signal in signals:
        name, _, value = signal.partition(":")
        if not signal.startswith(ERROR_SIGNAL):
            parts.setdefault(name, value)
        elif not error:
            error = error_signature_of(value)
    if is_of_agents_tool(error):
        return ""
    callee = _callee(parts)
    kind = _kind(callee, parts.get("class", ""), error)
    if not kind:
        return ""
    if not callee:
        return f"after {kind}"
    return f"after `{callee}`: {kind}"


def _kind(callee: str, error_class: str, error: str) -> str:
    """Return what kind of error it was, in words; '' where nothing tells it.

    Whatever else a test prints that fails, it is a failed test.
    """
    if error_class in _TELLING_CLASSES:
        return error_class
    kind = error_kind_of(error)
    words = tuple(callee.split())
    if role_of(words) == TEST and "not found" not in kind:
        return "a failed test"
    if kind:
        return kind
    if error_class == "an error":
        return ""
    return error_class


def _callee(parts: Mapping[str, str]) -> str:
    """Return what was called by the parts of signals; '' where none tells it."""
    for name in _CALLEES:
        if parts.get(name):
            return parts[name]
    return ""


def place_without_quote(where: str) -> str:
    """Return after what error, in no words of a tool: what was called, and a class.

    What a tool printed may be anybody's words, and has no place in a context.

    >>> place_without_quote("after `gh`: obey me")
    'after `gh`: an error'
    >>> place_without_quote("after `go test`: a failed test")
    'after `go test`: a failed test'
    """
    callee, colon, kind = where.partition("`: ")
    if not colon:
        return "after an error"
    if kind not in _TELLING_CLASSES:
        kind = "an error"
    return f"{callee}`: {kind}"


def remedy_records(home: Home) -> list[RemedyRecord]:
    """Return what helped and what did not, in the home's project or in none.

    What was tried most comes first.
    """
    words = {gene["id"]: gene_text(gene) for gene in assets_of(home)}
    records = []
    with home.views.reading(Experience) as view:
        mask = np.ones(len(view.rows), np.bool_)
        if home.projects is not None:
            projects = view.projects.numbers("", *home.projects)
            mask = np.isin(view.rows["project"], projects)
        rows = np.flatnonzero(mask)
        for row in rows.tolist():
            cells: dict[str, Any] = {}
            for name in ("where", "gene", "n", "successes", "last"):
                cells[name] = int(view.rows[name][row])
            gene = view.genes[cells["gene"]]
            record = RemedyRecord(
                where=view.places[cells["where"]],
                gene=gene,
                words=words.get(gene) or gene,
                n=cells["n"],
                successes=cells["successes"],
                last=cells["last"],
            )
            records.append(record)
    records.sort(key=lambda record: (-record.n, record.where, record.words))
    return records


def told_records(records: Sequence[RemedyRecord]) -> list[RemedyRecord]:
    """Return the records that are worth telling of one kind of error.

    What was tried once is told only where nothing else is known. What helped is told
    where it says what to do.
    """
    telling = [record for record in records if _says_what_to_do(record)]
    repeated = [record for record in telling if record.n >= TOLD_FROM]
    return repeated or telling


def _says_what_to_do(record: RemedyRecord) -> bool:
    """Return whether a record says what to do, or what not to.

    After an error that may pass by itself, the same call again is something to do.
    """
    if not record.has_helped:
        return True
    if record.words == AGAIN and record.where.endswith(_PASSING):
        return True
    return says_what_helped(record.words)


def advice_in_words(home: Home, signals: Sequence[str] = ()) -> list[str]:
    """Return lines that say after which error what helped how often, and what did not.

    Args:
        home: Where the attempts are.
        signals: Only what is known of errors like these; none: of all, those met most
            first.
    """
    by_place: dict[str, list[RemedyRecord]] = {}
    for record in remedy_records(home):
        by_place.setdefault(record.where, []).append(record)
    places = sorted(
        by_place,
        key=lambda where_met: (
            -sum(record.n for record in by_place[where_met]),
            where_met,
        ),
    )
    if signals:
        places = _places_like(places, where_of(signals))
    lines = []
    for where_met in places:
        records = told_records(by_place[where_met])
        if not records or (not signals and records[0].n < TOLD_FROM):
            continue
        lines += _lines_of_place(where_met, records)
        if len(lines) >= _MOST_GROUPS * _MOST_REMEDIES:
            break
    return lines


def _places_like(places: Sequence[str], where: str) -> list[str]:
    """Return the places that are the one asked for, else those with words like its."""
    if where in places:
        return [where]
    callee, kind = _parts_of_place(where)
    words = content_words(kind)
    like = []
    for where_met in places:
        other_callee, other_kind = _parts_of_place(where_met)
        likeness = overlap(words, content_words(other_kind))
        is_same_callee = bool(callee) and callee == other_callee
        if is_same_callee or likeness >= _LIKE_ENOUGH:
            like.append((-likeness, where_met))
    return [where_met for _, where_met in sorted(like)]


def _helped_most_first(record: RemedyRecord) -> tuple[float, int]:
    """Return by what remedies are ordered: how surely they help, then how often."""
    rate = (record.successes + 1) / (record.n + 2)
    return -rate, -record.n


def _parts_of_place(where: str) -> tuple[str, str]:
    """Return what was called, '' where that is not told, and the kind of the error."""
    callee, _, kind = where.partition("`: ")
    if kind:
        return callee, kind
    return "", where.removeprefix("after ")


def _lines_of_place(place: str, records: Sequence[RemedyRecord]) -> list[str]:
    """Return a heading, and what helped and what did not after one kind of error."""
    helped: list[RemedyRecord] = []
    failed: list[RemedyRecord] = []
    for record in records:
        group = helped if record.has_helped else failed
        group.append(record)
    helped.sort(key=_helped_most_first)
    lines = [f"{place[:1].upper()}{place[1:]}"]
    for record in helped[:_MOST_REMEDIES]:
        lines.append(f"  helped {record.often}: {record.words}")
    for record in failed[:_MOST_REMEDIES]:
        did = "helped only" if record.successes else "did not help,"
        lines.append(f"  {did} {record.often}: {record.words}")
    return lines
