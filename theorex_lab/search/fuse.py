"""Make several ranked lists into one, by one rule for equal scores.

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
    ids: npt.NDArray[Any],
    scores: npt.NDArray[Any],
    limit: int,
) -> tuple[Ids, Scores]:
    """Return the `limit` best of `ids` and their scores, best first.

    Among equal scores the higher (newer) id comes first. This costs O(n) and a sort of `limit`
    entries, however many scores are equal.

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
    # The last key is the first that counts.
    sort_keys = (-ids, -scores)
    order = np.lexsort(sort_keys)
    best_ids = ids[order].astype(np.int64)
    best_scores = scores[order].astype(np.float64)
    return best_ids, best_scores


def _best(
    ids: npt.NDArray[Any],
    scores: npt.NDArray[Any],
    limit: int,
) -> Ids:
    """Return the indexes of the best, in no order; `limit` is below their number."""
    n_worse = len(ids) - limit
    partly_sorted = np.partition(scores, n_worse)
    threshold = partly_sorted[n_worse]
    candidates = np.flatnonzero(scores >= threshold)
    candidate_scores = scores[candidates]
    above = candidates[candidate_scores > threshold]
    equal = candidates[candidate_scores == threshold]
    n_newest = limit - len(above)
    n_older = len(equal) - n_newest
    by_age = np.argpartition(ids[equal], n_older)
    newest = by_age[n_older:]
    return np.concatenate((above, equal[newest]))


def check_mask(allowed: Mask | None, count: int) -> None:
    """Raise an error for a mask that does not fit the documents.

    Args:
        allowed: The mask; None stands for all documents.
        count: The number of documents. The mask has a truth value for each of them.

    Raises:
        InvalidInput: The mask has another shape or type.
    """
    if allowed is None:
        return
    if allowed.shape == (count,) and allowed.dtype == np.bool_:
        return
    got = f"{allowed.dtype}{allowed.shape}"
    raise InvalidInput(f"got a mask {got}; allowed is bool({count},)")


def fuse_reciprocal_rank(
    lists: Sequence[RankedList],
    k: int = 60,
) -> tuple[Ids, Scores]:
    """Return the sum over the lists of 1 / (k + rank), best first.

    The rank counts from 1 in the order of the scores. An id that a list misses gets
    nothing from it. From Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion
    outperforms Condorcet and individual rank learning methods", SIGIR 2009.

    Raises:
        InvalidInput: `k` is below 0.

    >>> ids, scores = fuse_reciprocal_rank([([1, 2], [5.0, 4.0]), ([2, 3], [0.9, 0.1])])
    >>> ids.tolist()
    [2, 1, 3]
    """
    if k < 0:
        raise InvalidInput(f"got k = {k}; allowed is 0 or more")
    ids_of_lists = [np.zeros(0, np.int64)]
    for ids, _ in lists:
        ids_of_lists.append(np.asarray(ids, np.int64))
    all_ids = np.concatenate(ids_of_lists)
    union = np.unique(all_ids)
    totals = np.zeros(len(union))
    for ids, scores in lists:
        id_array = np.asarray(ids, np.int64)
        score_array = np.asarray(scores)
        ranked_ids, _ = best_first(id_array, score_array, len(ids))
        n_ranked = len(ranked_ids)
        ranks = np.arange(1, n_ranked + 1)
        shares = 1.0 / (k + ranks)
        positions = np.searchsorted(union, ranked_ids)
        totals[positions] += shares
    return best_first(union, totals, len(union))


def distinct_ids(parts: Sequence[Ids], count: int) -> Ids:
    """Return the ids of several lists in rising order, each once.

    In place of `np.unique`, whose first call imports the masked arrays of numpy: a
    twentieth of the time that a search from the command line takes.

    Args:
        parts: The lists.
        count: All ids lie below it, and are 0 or more.

    >>> distinct_ids([np.array([4, 1]), np.array([1, 2])], 5).tolist()
    [1, 2, 4]
    """
    is_named = np.zeros(count, np.bool_)
    for ids in parts:
        is_named[ids] = True
    return np.flatnonzero(is_named)
