"""What every part of the gate proposes by: candidates among the settings, the best of them, and halves of the records."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from theorex_lab.config import Settings
from theorex_lab.evolution.policy import policy_settings, with_changes
from theorex_lab.ids import derived_event_id
from theorex_lab.journal.event import encode

Candidate = tuple[dict[str, Any], Settings]  # changed settings by camelCase key, and the policy with them
T = TypeVar("T")

MOST_RECORDS = 100  # of each half: a bound on the work of one night
GAIN_IN_STANDARD_ERRORS = 2.0  # a proposal must stand out on the earlier records by more than chance


def digest(settings: Settings, judged: Sequence[str]) -> str:
    """The same for settings that agree in the `judged` ones (camelCase keys)."""
    values = policy_settings(settings)
    return derived_event_id("policy in force", encode([values[key] for key in judged]))


def candidates_of(
    settings: Settings, proposals: Sequence[Mapping[str, Any]], judged: Sequence[str], turned_down: frozenset[str]
) -> list[Candidate]:
    """The policy in force first, then those proposed, with nothing in their changes that stays as it is."""
    now = policy_settings(settings)
    found: list[Candidate] = [({}, settings)]
    for proposal in proposals:
        changes = {key: value for key, value in proposal.items() if now[key] != value}
        policy = with_changes(settings, changes)
        if changes and digest(policy, judged) not in turned_down:
            found.append((changes, policy))
    return found


def best_of(scores: NDArray[np.float64], candidates: Sequence[Candidate]) -> int:
    """The place of the best; of equals the one that changes least, then the first."""
    rounded = scores.round(9).tolist()
    return max(range(len(candidates)), key=lambda place: (rounded[place], -len(candidates[place][0]), -place))


def gain_stands_out(gains: NDArray[np.float64]) -> bool:
    """Whether the mean of paired gains is above 0 by more than two standard errors; NaN are left out.

    >>> gain_stands_out(np.array([1.0, 1.0, np.nan])), gain_stands_out(np.array([1.0, -1.0, 1.0]))
    (True, False)
    """
    known = gains[~np.isnan(gains)]
    if not len(known):
        return False
    return bool(known.mean() > GAIN_IN_STANDARD_ERRORS * known.std() / math.sqrt(len(known)))


def halves(records: Sequence[T], most: int) -> tuple[list[T], list[T]]:
    """The earlier and the later half, each thinned to at most `most` records, spread evenly."""
    middle = len(records) // 2
    return _thinned(records[:middle], most), _thinned(records[middle:], most)


def _thinned(records: Sequence[T], most: int) -> list[T]:
    places = np.linspace(0, len(records) - 1, min(most, len(records))).round().astype(np.int64)
    return [records[place] for place in places.tolist()]
