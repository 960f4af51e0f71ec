"""Which observations sleep: those all of whose concepts do."""

import numpy as np
from numpy.typing import NDArray

from theorex_lab.search.fuse import Mask

Rows = NDArray[np.int64]


class Sleepers:
    """Observations that sleep, as of the last time that they were asked for.

    Where no concept fell asleep or woke since, only new mentions are looked at.

    >>> sleepers = Sleepers()
    >>> concept_sleeps = np.array([True, False])
    >>> observation = np.array([0, 1, 1])
    >>> concept = np.array([0, 0, 1])
    >>> sleepers.now(concept_sleeps, observation, concept, n_observations=3).tolist()
    [True, False, False]
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        """Begin with no concept, no observation and no mention."""
        self._is_gone = np.zeros(0, np.bool_)
        self._is_asleep = np.zeros(0, np.bool_)
        self._n_mentions = 0

    def now(
        self,
        is_gone: Mask,
        observation: NDArray[np.integer],
        concept: NDArray[np.integer],
        *,
        n_observations: int,
    ) -> Mask:
        """Return a mask of the observations that sleep now.

        Args:
            is_gone: By concept, whether it sleeps or was pruned, (concepts,).
            observation: By mention, its observation, (mentions,). Later calls give the
                same mentions, and after them those of later observations.
            concept: By mention, its concept, (mentions,).
            n_observations: How many observations there are.
        """
        n_before = len(self._is_gone)
        is_as_before = np.array_equal(self._is_gone, is_gone[:n_before])
        if not is_as_before:
            self._forget()
        new = slice(self._n_mentions, None)
        new_observation = observation[new]
        is_awake_mention = ~is_gone[concept[new]]
        is_asleep = np.zeros(n_observations, np.bool_)
        is_asleep[: len(self._is_asleep)] = self._is_asleep
        is_asleep[new_observation] = True
        is_asleep[new_observation[is_awake_mention]] = False
        self._is_gone = is_gone
        self._is_asleep = is_asleep
        self._n_mentions = len(observation)
        return is_asleep
