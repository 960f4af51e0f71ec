"""How well later statements take the place of those they correct: what a search finds first when the replaced are hidden."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theorex_lab.design import Log, Probe
from theorex_lab.designs.facts.superseding import Superseding
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data.logs import load_logs
from theorex_lab.experiments.scores.retrieval import found_by, kept_embedder, remembering
from theorex_lab.memory.intervals import bootstrap_mean
from theorex_lab.search.embed import Embedder

METRICS = ("right_first", "stale_first", "in_ten", "many_in_ten")
_NEAR, _NEAREST, _MARGIN = 0.5, 0.75, 0.05
_WORD = re.compile(r"\w+")
Replaced = Callable[[Log], set[str]]


def score_fact_updates(file: str = "", *, embedder: Embedder | None = None, seed: int = 0) -> dict[str, Any]:
    """{dataset, n, metrics, baselines}; each metric with its 95 % interval (`_low`, `_high`) over the questions.

    right_first, stale_first: the first text found is one that answers, or one that was corrected. in_ten: all that answer
    are among the first ten; many_in_ten: the same of questions that several statements answer.
    file: 1k or 8k, both where it is empty, or a log with questions and corrected statements, as `load_logs` names it.
    Methods see texts and their order alone; all search as search ships, but "words alone", which searches by BM25.
    Raises InvalidInput for an unknown log, and for one whose questions no statement answers.
    """
    name = f"fact_updates/{file}" if file in ("1k", "8k") else file or "fact_updates"
    logs, used = load_logs(name), embedder or kept_embedder()
    methods: dict[str, tuple[Replaced, str]] = {
        "superseding": (replaced, "default"),
        "words alone": (lambda _: set(), "lexical"),
        "search that ships": (lambda _: set(), "default"),
        "newest of near-duplicates": (near_duplicates, "lexical"),
        "document": (by_document, "default"),
        "document, words alone": (by_document, "lexical"),
    }
    rows: dict[str, list[list[float]]] = {method: [] for method in methods}
    for log in logs:
        asked = [probe for probe in log.probes if probe.answers]
        hidden = {method: of(log) for method, (of, _) in methods.items()}
        with remembering(log, used) as lab:
            for method, (_, search) in methods.items():
                for probe in asked:
                    found = [id for id in found_by(lab, probe.query, search).events if id not in hidden[method]]
                    rows[method].append(_scores(probe, found))
    if not rows["superseding"]:
        raise InvalidInput(f"got {name!r} without a question that a statement answers; give a log with both")
    figures = {method: _figures(row, seed) for method, row in rows.items()}
    return {"dataset": name, "n": len(rows["superseding"]), "metrics": figures.pop("superseding"), "baselines": figures}


def _scores(probe: Probe, found: Sequence[str]) -> list[float]:
    first, whole = found[:1], probe.answers.issubset(found[:10])
    right, stale = (any(id in ids for id in first) for ids in (probe.answers, probe.stale))
    return [right, stale, whole, whole if len(probe.answers) > 1 else np.nan]


def _figures(rows: Sequence[Sequence[float]], seed: int) -> dict[str, float]:
    told: dict[str, float] = {}
    for metric, column in zip(METRICS, np.array(rows, float).T, strict=True):
        if len(known := column[~np.isnan(column)]):
            told |= bootstrap_mean(known, seed).named(metric)
    return told


def replaced(log: Log) -> set[str]:
    """Ids of the statements that `Superseding` no longer holds at the end of a log."""
    facts = Superseding()
    for event in log.events:
        facts.add(event.id, str(event.body["text"]))
    return {event.id for event in log.events} - set(facts.active())


def near_duplicates(log: Log) -> set[str]:
    """Baseline: ids of those that a later statement shares half of the words with (Jaccard)."""
    return _overlapping(log, _NEAR, lambda scored: [id for _, id in scored])


def by_document(log: Log) -> set[str]:
    """Baseline: the document's rule; the nearest is replaced where it shares .75 of the words and no other comes within .05.

    Statements name no category, so that each counts as a correction.
    """

    def chosen(scored: list[tuple[float, str]]) -> list[str]:
        (best, nearest), (second, _) = [*scored, (0.0, ""), (0.0, "")][:2]
        return [nearest] if best >= _NEAREST and best - second >= _MARGIN else []

    return _overlapping(log, _NEAREST - _MARGIN, chosen)


def _overlapping(log: Log, least: float, chosen: Callable[[list[tuple[float, str]]], list[str]]) -> set[str]:
    """Ids that are chosen, statement after statement, among those that hold and overlap by `least` with it."""
    words = {event.id: frozenset(_WORD.findall(str(event.body["text"]).lower())) for event in log.events}
    counts = Counter(word for of in words.values() for word in of)
    holding: dict[str, dict[str, None]] = defaultdict(dict)
    gone: set[str] = set()
    for id, own in words.items():
        # One of its rarest words is shared by all that overlap so far.
        rarest = sorted(own, key=lambda word: (counts[word], word))[: int(len(own) * (1 - least)) + 1]
        near = {other for word in rarest for other in holding[word]}
        scored = [(len(own & words[other]) / len(own | words[other]), other) for other in near]
        for old in chosen(sorted([pair for pair in scored if pair[0] >= least], reverse=True)):
            gone.add(old)
            for word in words[old]:
                holding[word].pop(old, None)
        for word in own:
            holding[word][id] = None
    return gone
