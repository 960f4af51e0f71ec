"""The rows of an agent's concepts, which are found by many ids at once."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
# Gives the row of each of some concepts, NO_ROW for one that is not there.
FindRows = Callable[[Sequence[int] | Ints], Ints]

NO_ROW = -1


def sorted_finder(rows: Ints, concept_ids: Ints) -> FindRows:
    """Return what finds rows by sorting their ids once.

    Args:
        rows: The rows.
        concept_ids: The id of the concept in each of them.

    >>> find = sorted_finder(np.array([4, 7]), np.array([30, 20]))
    >>> find([20, 25, 30]).tolist()
    [7, -1, 4]
    """
    order = np.argsort(concept_ids)
    sorted_ids = concept_ids[order]
    sorted_rows = rows[order]
    n_rows = len(rows)
    last = n_rows - 1

    def find(sought: Sequence[int] | Ints) -> Ints:
        ids = np.array(sought, np.int64)
        if not n_rows:
            return np.full(ids.shape, NO_ROW)
        positions = np.searchsorted(
            sorted_ids,
            ids,
        )
        positions = np.minimum(positions, last)
        nearest_ids = sorted_ids[positions]
        nearest_rows = sorted_rows[positions]
        return np.where(
            nearest_ids == ids,
            nearest_rows,
            NO_ROW,
        )

    return find


def dictionary_finder(row_of: Mapping[tuple[int, int], int], agent: int) -> FindRows:
    """Return what finds rows in a dictionary.

    Args:
        row_of: The rows by the numbers of their agents and the ids of their concepts.
        agent: The number of the agent.

    >>> find = dictionary_finder({(0, 20): 7, (1, 20): 8}, agent=1)
    >>> find([20, 25]).tolist()
    [8, -1]
    """

    def find(sought: Sequence[int] | Ints) -> Ints:
        rows: list[int] = []
        for concept_id in sought:
            key = (agent, concept_id)
            row = row_of.get(key, NO_ROW)
            rows.append(row)
        return np.array(rows, np.int64)

    return find
