"""Make several ranked lists into one, by the one rule by which equal scores are ordered.

A list is a pair of arrays of equal length: ids (integers, each once) and scores
(finite; higher is better).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from theorex_lab.core.errors import InvalidInput

Ids = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
RankedList = tuple[Sequence[int] | Ids, Sequence[float] | Scores]


def best_first(
    ids: npt.NDArray[Any], scores: npt.NDArray[Any], limit: int
) -> tuple[Ids, Scores]:
    """Return the `limit` best of `ids`, best first; of equal scores the higher (newer)
    id comes first.

    Costs O(n) and a sort of `limit` entries, however many scores are equal.

    Raises:
        InvalidInput: The limit is below 0.

    >>> best_first(np.array([4, 7, 9]), np.array([0.5, 0.8, 0.5]), limit=2)
    (array([7, 9]), array([0.8, 0.5]))
    """
    if limit < 0:
        raise InvalidInput(f"got the limit {limit}; allowed is 0 or more")
    if limit == 0:
        ids = ids[:0]
        scores = scores[:0]
    elif limit < len(ids):
        best = _best(ids, scores, limit)
        ids = ids[best]
        scores = scores[best]
    order = np.lexsort((-ids, -scores))
    return ids[order].astype(np.int64), scores[order].astype(np.float64)


def _best(ids: npt.NDArray[Any], scores: npt.NDArray[Any], limit: int) -> Ids:
    """Return the indexes of the best, in no order; `limit` is below their number."""
    n_worse = len(ids) - limit
    threshold = np.partition(scores, n_worse)[n_worse]
    candidates = np.flatnonzero(scores >= threshold)
    above = candidates[scores[candidates] > threshold]
    equal = candidates[scores[candidates] == threshold]
    n_older = len(equal) - (limit - len(above))
    newest = np.argpartition(ids[equal], n_older)[n_older:]
    return np.concatenate((above, equal[newest]))


def check_mask(allowed: Mask | None, count: int) -> None:
    """Raise InvalidInput for a mask that has not one truth value for each of `count`
    documents; None is all of them.
    """
    if allowed is not None and (allowed.shape != (count,) or allowed.dtype != np.bool_):
        raise InvalidInput(
            f"got a mask {allowed.dtype}{allowed.shape}; allowed is bool({count},)"
        )


def fuse_reciprocal_rank(
    lists: Sequence[RankedList], k: int = 60
) -> tuple[Ids, Scores]:
    """Return the sum over the lists of 1 / (k + rank), rank from 1 in the order of the
    scores, best first.

    From Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and
    individual rank learning methods", SIGIR 2009. An id that a list misses gets nothing
    from it.

    Raises:
        InvalidInput: `k` is below 0.

    >>> ids, scores = fuse_reciprocal_rank([([1, 2], [5.0, 4.0]), ([2, 3], [0.9, 0.1])])
    >>> ids.tolist()
    [2, 1, 3]
    """
    if k < 0:
        raise InvalidInput(f"got k = {k}; allowed is 0 or more")
    all_ids = [np.asarray(ids, np.int64) for ids, _ in lists]
    union = np.unique(np.concatenate([np.zeros(0, np.int64), *all_ids]))
    total = np.zeros(len(union))
    for ids, scores in lists:
        ranked, _ = best_first(np.asarray(ids, np.int64), np.asarray(scores), len(ids))
        ranks = np.arange(1, len(ranked) + 1)
        total[np.searchsorted(union, ranked)] += 1.0 / (k + ranks)
    return best_first(union, total, len(union))
