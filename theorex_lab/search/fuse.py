"""Several ranked lists made into one, and the one rule by which equal scores are ordered.

A list is a pair of arrays of equal length: ids (integers, each once) and scores (finite; higher is better).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from theorex_lab.errors import InvalidInput

Ids = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
RankedList = tuple[npt.ArrayLike, npt.ArrayLike]


def best_first(ids: npt.NDArray[Any], scores: npt.NDArray[Any], limit: int) -> tuple[Ids, Scores]:
    """The `limit` best of `ids`, best first; of equal scores the higher (newer) id comes first.

    Costs O(n) and a sort of `limit` entries, however many scores are equal.

    >>> best_first(np.array([4, 7, 9]), np.array([0.5, 0.8, 0.5]), limit=2)
    (array([7, 9]), array([0.8, 0.5]))
    """
    if limit < 0:
        raise InvalidInput(f"got the limit {limit}; allowed is 0 or more")
    if limit == 0:
        ids, scores = ids[:0], scores[:0]
    elif limit < len(ids):
        threshold = np.partition(scores, len(ids) - limit)[len(ids) - limit]
        likely = np.flatnonzero(scores >= threshold)
        above, equal = likely[scores[likely] > threshold], likely[scores[likely] == threshold]
        missing = limit - len(above)
        newest = np.argpartition(ids[equal], len(equal) - missing)[len(equal) - missing :]
        chosen = np.concatenate((above, equal[newest]))
        ids, scores = ids[chosen], scores[chosen]
    order = np.lexsort((-ids, -scores))
    return ids[order].astype(np.int64), scores[order].astype(np.float64)


def check_mask(allowed: Mask | None, count: int) -> None:
    """Raise InvalidInput for a mask that has not one truth value for each of `count` documents; None is all of them."""
    if allowed is not None and (allowed.shape != (count,) or allowed.dtype != np.bool_):
        raise InvalidInput(f"got a mask {allowed.dtype}{allowed.shape}; allowed is bool({count},)")


def fuse_reciprocal_rank(lists: Sequence[RankedList], k: int = 60) -> tuple[Ids, Scores]:
    """Sum over the lists of 1 / (k + rank), rank from 1 in the order of the scores, best first.

    From Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual rank learning
    methods", SIGIR 2009. An id that a list misses gets nothing from it. `k` is 0 or more.

    >>> ids, scores = fuse_reciprocal_rank([([1, 2], [5.0, 4.0]), ([2, 3], [0.9, 0.1])])
    >>> ids.tolist()
    [2, 1, 3]
    """
    if k < 0:
        raise InvalidInput(f"got k = {k}; allowed is 0 or more")
    checked = [_checked(entry) for entry in lists]
    union = _union(checked)
    total = np.zeros(len(union))
    for ids, scores in checked:
        ranked, _ = best_first(ids, scores, len(ids))
        total[np.searchsorted(union, ranked)] += 1.0 / (k + np.arange(1, len(ranked) + 1))
    return best_first(union, total, len(union))


def _union(lists: Sequence[tuple[Ids, Scores]]) -> Ids:
    ids = np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *(ids for ids, _ in lists)]))
    return ids[np.append(True, ids[1:] != ids[:-1])] if len(ids) else ids


def _checked(entry: RankedList) -> tuple[Ids, Scores]:
    ids, scores = np.asarray(entry[0]), np.asarray(entry[1], dtype=np.float64)
    if ids.shape != scores.shape or ids.ndim != 1:
        raise InvalidInput(f"got ids of the shape {ids.shape} and scores of {scores.shape}; allowed are two equal rows")
    if len(ids) and not np.issubdtype(ids.dtype, np.integer):
        raise InvalidInput(f"got ids of the type {ids.dtype}; allowed are integers")
    in_order = np.sort(ids)
    if (in_order[1:] == in_order[:-1]).any():
        raise InvalidInput("got an id twice in one list; give each id once, with its best score")
    if not np.isfinite(scores).all():
        raise InvalidInput("got a score that is not finite; leave such an entry out of the list")
    return ids.astype(np.int64), scores
