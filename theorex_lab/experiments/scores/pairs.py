"""How well two sentences are told to be alike, or to contradict each other: signs weighed on other pairs than are reported."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.designs.facts.pairs import CHANGES, SIGNS, Floats, fit, signs, weigh
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data.dataset_files import read_files
from theorex_lab.experiments.data.dataset_table import DATASETS
from theorex_lab.experiments.scores.retrieval import kept_embedder
from theorex_lab.search.embed import Embedder

_BOOTSTRAPS = 500
Mask = NDArray[np.bool_]
Measure = Callable[[Floats, Floats], float]


class Pairs(NamedTuple):
    """Pairs of sentences and what people said of each: how alike (0..5), or 1 where they contradict each other, else 0."""

    first: list[str]
    second: list[str]
    told: Floats


def sentence_pairs(dataset: str) -> Pairs:
    """The pairs of stsb, sick or fever_symmetric. Raises InvalidInput for another set, and as `read_files` does."""
    readers: dict[str, Callable[[list[str]], list[tuple[str, str, float]]]] = {
        "stsb": lambda texts: [(one, two, float(like)) for one, two, like in csv.reader(io.StringIO(texts[0]))],
        "sick": _sick,
        "fever_symmetric": lambda texts: [
            (row["evidence"], row["claim"], float(row["gold_label"] == "REFUTES"))
            for row in map(json.loads, texts[0].splitlines())
        ],
    }
    if dataset not in readers:
        raise InvalidInput(f"got data set {dataset!r}; allowed are {', '.join(readers)}")
    rows = readers[dataset]([file.data.decode() for file in read_files(DATASETS[dataset]).values()])
    return Pairs([row[0] for row in rows], [row[1] for row in rows], np.array([row[2] for row in rows]))


def _sick(texts: list[str]) -> list[tuple[str, str, float]]:
    rows = [line.split("\t") for text in texts for line in text.splitlines()[1:]]
    return [(one, other, float(judged == "CONTRADICTION")) for _, one, other, _, judged in rows]


def score_duplicates(dataset: str = "stsb", *, embedder: Embedder | None = None, seed: int = 0) -> dict[str, Any]:
    """{dataset, n, metrics, baselines}: Pearson's correlation with how alike people found the sentences.

    Weights are fitted to the pairs whose SHA-256 is even, and reported on the others; n counts these.
    """
    if dataset != "stsb":
        raise InvalidInput(f"got data set {dataset!r}; allowed is stsb")
    pairs = sentence_pairs(dataset)
    made = np.array(
        [_even(one + "\n" + other) for one, other in zip(pairs.first, pairs.second, strict=True)], dtype=np.bool_
    )
    table = signs(pairs.first, pairs.second, embedder or kept_embedder())
    blend = weigh(table[~made], fit(table[made], pairs.told[made]))
    return _result(dataset, "pearson", pearson, pairs.told[~made], table[~made], blend, seed)


def score_contradictions(
    dataset: str = "fever_symmetric", *, embedder: Embedder | None = None, seed: int = 0
) -> dict[str, Any]:
    """{dataset, n, metrics, baselines}: the area under the ROC curve of telling contradictions from other pairs.

    Weights are fitted to the other of the two sets, sick and fever_symmetric; which signs are CHANGES was chosen with both
    in view, so that what is reported is how weights carry over, not how signs do.
    """
    others = {"sick": "fever_symmetric", "fever_symmetric": "sick"}
    if dataset not in others:
        raise InvalidInput(f"got data set {dataset!r}; allowed are {', '.join(others)}")
    used = embedder or kept_embedder()
    there, pairs = sentence_pairs(others[dataset]), sentence_pairs(dataset)
    changes = [SIGNS.index(sign) for sign in CHANGES]
    weights = fit(signs(there.first, there.second, used)[:, changes], there.told, penalty=10.0, rising=True)
    table = signs(pairs.first, pairs.second, used)
    result = _result(dataset, "auc", area_under_curve, pairs.told, table, weigh(table[:, changes], weights), seed)
    return {**result, "fitted_to": others[dataset]}


def _even(text: str) -> bool:
    return hashlib.sha256(text.encode()).digest()[0] % 2 == 0


def _result(
    dataset: str, name: str, measure: Measure, told: Floats, table: Floats, blend: Floats, seed: int
) -> dict[str, Any]:
    # A contradiction is as likely the less alike two sentences are, or the more: the better of both, chosen in hindsight.
    alone = {sign: table[:, SIGNS.index(sign)] for sign in ("cosine", "overlap", "negation", "length")}
    best = {sign: max(column, -column, key=lambda either: measure(either, told)) for sign, column in alone.items()}
    scored = {key: _interval(name, measure, column, told, seed) for key, column in {"blend": blend, **best}.items()}
    return {"dataset": dataset, "n": len(told), "metrics": scored.pop("blend"), "baselines": scored}


def _interval(name: str, measure: Measure, found: Floats, told: Floats, seed: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    draws = [rng.integers(0, len(told), len(told)) for _ in range(_BOOTSTRAPS)]
    low, high = np.quantile([measure(found[rows], told[rows]) for rows in draws], [0.025, 0.975]).tolist()
    return {name: measure(found, told), f"{name}_low": low, f"{name}_high": high}


def pearson(found: Floats, told: Floats) -> float:
    """Pearson's correlation; 0 where either is the same for all pairs."""
    if found.std() == 0 or told.std() == 0:
        return 0.0
    return float(np.corrcoef(found, told)[0, 1])


def area_under_curve(found: Floats, told: Floats) -> float:
    """The share of pairs of a contradiction and another in which the contradiction scores higher; equal scores count half.

    >>> area_under_curve(np.array([0.1, 0.9, 0.9]), np.array([0.0, 1.0, 0.0]))
    0.75
    """
    _, where, counts = np.unique(found, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[where]
    positive = float(told.sum())
    negative = len(told) - positive
    if not positive or not negative:
        return 0.5
    return float((ranks[told > 0].sum() - positive * (positive + 1) / 2) / (positive * negative))
