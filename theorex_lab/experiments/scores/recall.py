"""What is remembered of queries like this one: the scores of its nearest neighbours, and of the very same query."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.scores.routing_scores import Floats, Ints

_BLOCK_QUERIES = 512


def neighbour_scores(
    vectors: NDArray[np.float32],
    scores: Floats,
    queries: NDArray[np.float32],
    k: int,
    groups: tuple[Ints, Ints] | None = None,
) -> Floats:
    """Mean scores of the k remembered queries nearest to each query, by inner product: (queries, models).

    `vectors` (n, d) and `scores` (n, models) are of what is remembered, `queries` (m, d) of what is asked. `groups`,
    of what is remembered (n,) and asked (m,), keeps to neighbours of the query's own group; where that has fewer than
    k, those there are count, and a query whose group has none gets NaN. Raises InvalidInput for a k outside 1 to n.

    >>> remembered = np.eye(2, dtype=np.float32)
    >>> neighbour_scores(remembered, np.array([[1.0, 0.0], [0.0, 1.0]]), remembered[:1], k=1)
    array([[1., 0.]])
    """
    if not 1 <= k <= len(vectors) or vectors.shape[1:] != queries.shape[1:]:
        raise InvalidInput(
            f"got k {k!r}, vectors {vectors.shape} and queries {queries.shape}; allowed are k from 1 to the number of "
            "vectors, and vectors of one length"
        )
    found = np.empty((len(queries), scores.shape[1]))
    for start in range(0, len(queries), _BLOCK_QUERIES):
        stop = start + _BLOCK_QUERIES
        near = queries[start:stop] @ vectors.T
        if groups is not None:
            near[groups[1][start:stop, None] != groups[0]] = -np.inf
        rows = np.argpartition(near, -k, axis=1)[:, -k:]
        counted = np.isfinite(np.take_along_axis(near, rows, axis=1))
        total = np.einsum("qk,qkm->qm", counted.astype(np.float64), scores[rows])
        with np.errstate(invalid="ignore"):
            found[start:stop] = total / counted.sum(axis=1, keepdims=True)
    return found


def repeat_scores(texts: Sequence[str], scores: Floats, queries: Sequence[str]) -> tuple[Floats, Floats]:
    """How often each query was met before, (queries,), and its mean scores then, (queries, models), 0 where never.

    Texts are the same where they differ in case and white space alone.

    >>> repeat_scores(["Who  is she?"], np.array([[1.0, 0.0]]), ["who is she?", "Who is he?"])
    (array([1., 0.]), array([[1., 0.],
           [0., 0.]]))
    """
    rows: dict[str, list[int]] = {}
    for number, text in enumerate(texts):
        rows.setdefault(same_text(text), []).append(number)
    counts, means = np.zeros(len(queries)), np.zeros((len(queries), scores.shape[1]))
    for number, query in enumerate(queries):
        met = rows.get(same_text(query))
        if met:
            counts[number], means[number] = len(met), scores[met].mean(axis=0)
    return counts, means


def same_text(text: str) -> str:
    """The form in which two texts are compared.

    >>> same_text(" Who  is\\nshe? ")
    'who is she?'
    """
    return " ".join(text.casefold().split())
