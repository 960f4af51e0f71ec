"""Policies: settings that were in force, kept and rolled back; and proposals for others, judged on earlier and later records."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from theorex_lab.clock import to_iso
from theorex_lab.config import Settings, check_settings, save_settings
from theorex_lab.errors import AlreadyThere, InvalidInput
from theorex_lab.ids import SCANNER, derived_event_id
from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import Body, Event, encode, new_event
from theorex_lab.journal.files import exclusive, writing

# Addresses and names of models, budgets of search and the like are no policy: a rollback leaves them as they are.
POLICY_SETTINGS = (
    "decay_law", "decay_params", "half_life_days", "fix_half_life_days", "active_threshold", "mild_threshold",
    "sleep_after_days", "prune_threshold_days", "source_weights", "context_tokens", "promotion_threshold",
    "flush_threshold", "graduation_threshold", "roles", "battery_threshold", "matrix_min_samples",
    "matrix_success_weight", "matrix_half_life_days", "dispatch_context_pct")  # fmt: skip
_LOCK_FILE, _ROLLED_BACK = "policy.lock", "rolled back to"
_READ_AT_ONCE = 64
Candidate = tuple[dict[str, Any], Settings]  # changed settings by camelCase key, and the policy with them
T = TypeVar("T")
MOST_RECORDS = 100  # of each half: a bound on the work of one night
GAIN_IN_STANDARD_ERRORS = 2.0  # a proposal must stand out on the earlier records by more than chance


@dataclass(frozen=True)
class KeptPolicy:
    """One kept policy.

    number: from 1, in the order in which they were kept.  settings: every one of POLICY_SETTINGS, by its camelCase
    key.  metrics: what was measured under it.  parent: the number of the policy that it came from, None for the first.
    """

    number: int
    settings: dict[str, Any]
    metrics: dict[str, Any]
    reason: str
    parent: int | None
    at: str
    event_id: str = ""
    lineage: tuple[str, ...] = field(default=())

    @property
    def is_rollback(self) -> bool:
        """Whether it was put in force again by a rollback to its parent."""
        return self.parent is not None and self.reason == f"{_ROLLED_BACK} {self.parent}"

    def to_dict(self) -> dict[str, Any]:
        """The policy as JSON holds it."""
        return {**asdict(self), "lineage": list(self.lineage)}


def policy_settings(settings: Settings) -> dict[str, Any]:
    """The policy among the settings, by camelCase keys, as JSON holds it.

    >>> policy_settings(Settings(half_life_days=7))["halfLifeDays"]
    7.0
    """
    return settings.model_dump(by_alias=True, include=set(POLICY_SETTINGS))


def with_changes(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """The settings with `changes` (camelCase keys); what was left at its default stays so. Raises ConfigError."""
    return check_settings({**settings.model_dump(by_alias=True, exclude_unset=True), **changes}, where="policy")


def numbered_events(journal: Journal, *parts: str) -> Iterator[Event]:
    """The events whose ids follow from these parts and their numbers 1, 2, 3, …; erased ones too."""
    for start in count(1, _READ_AT_ONCE):
        ids = [derived_event_id(*parts, number) for number in range(start, start + _READ_AT_ONCE)]
        found = {event.id: event for event in journal.read(ids=ids, erased=True)}
        for event_id in ids:
            if event_id not in found:
                return
            yield found[event_id]


@contextmanager
def policy_lock(home: Path) -> Iterator[None]:
    """Hold what a change of policy needs to itself; another process waits. Raises StorageError."""
    with writing(home, "nothing was changed; make it writable"), exclusive(home / _LOCK_FILE, wait=True):
        yield


def policies(journal: Journal) -> list[KeptPolicy]:
    """Every policy that was kept, in order; those that were erased are left out."""
    return [_policy(event) for event in numbered_events(journal, "policy") if not event.erased]


def snapshot(journal: Journal, settings: Mapping[str, Any], *, at: int, reason: str = "",
             metrics: Mapping[str, Any] | None = None, parent: KeptPolicy | None = None,
             lineage: Sequence[str] = ()) -> KeptPolicy:  # fmt: skip
    """Keep a policy (as `policy_settings` gives it) under the next number; `at` in µs UTC.

    `parent`: the policy that it came from, by default the newest. Raises InvalidInput for a reason over 500 characters.
    """
    if len(reason) > 500:
        raise InvalidInput(f"got a reason of {len(reason)} characters; allowed are up to 500")
    while True:
        before = [*numbered_events(journal, "policy")]
        number = len(before) + 1
        known = [event for event in before if not event.erased]
        origin = parent or (_policy(known[-1]) if known else None)
        body: Body = {"number": number, "settings": dict(settings), "metrics": dict(metrics or {}), "reason": reason,
                      "parent": origin.number if origin else None}  # fmt: skip
        rests_on, made = [*([origin.event_id] if origin else []), *lineage], derived_event_id("policy", number)
        event = new_event("policy", body, agent=SCANNER, at=at, lineage=rests_on, event_id=made)
        with suppress(AlreadyThere):  # another process took the number
            journal.append([event], allow_future=True)
            return _policy(event)


def keep(journal: Journal, settings: Settings, *, at: int, reason: str,
         metrics: Mapping[str, Any] | None = None) -> KeptPolicy:  # fmt: skip
    """The newest policy where it is the one in force, else a snapshot of the one in force."""
    known = policies(journal)
    if known and known[-1].settings == policy_settings(settings):
        return known[-1]
    return snapshot(journal, policy_settings(settings), at=at, reason=reason, metrics=metrics)


def rollback(journal: Journal, settings: Settings, home: Path, number: int, *, at: int) -> tuple[KeptPolicy, Settings]:
    """Put the policy of this number in force; returns the event of it and the settings as they are now.

    What is in force is kept first, then config.json is replaced as a whole, then a new policy says so; repeating it
    changes nothing. Settings that the policy does not name stay as they are. Raises InvalidInput for an unknown
    number, ConfigError where the policy does not fit the other settings; then nothing was changed.
    """
    with policy_lock(home):
        known = policies(journal)
        if (chosen := next((policy for policy in known if policy.number == number), None)) is None:
            numbers = ", ".join(str(policy.number) for policy in known)
            allowed = numbers or "none yet: `theorex policy-snapshot` keeps one"
            raise InvalidInput(f"got the policy number {number!r}; allowed are {allowed}")
        now = policy_settings(settings)
        changes = {key: value for key, value in chosen.settings.items() if key not in now or now[key] != value}
        restored = with_changes(settings, changes)
        if changes:
            keep(journal, settings, at=at, reason=f"in force before the rollback to {number}")
            write_config(home, changes)
        newest = policies(journal)[-1]
        if newest.settings == chosen.settings and newest.parent == number and newest.is_rollback:
            return newest, restored
        now, reason = policy_settings(restored), f"{_ROLLED_BACK} {number}"
        return snapshot(journal, now, at=at, reason=reason, metrics=chosen.metrics, parent=chosen), restored


def write_config(home: Path, changes: Mapping[str, Any]) -> None:
    """Write changes (camelCase keys) into the home's config.json, as a whole. Raises ConfigError, StorageError."""
    file = home / "config.json"
    with writing(file, "the old file is untouched"):
        save_settings(file, dict(changes))


def _policy(event: Event) -> KeptPolicy:
    stated = {name: event.body[name] for name in ("number", "settings", "metrics", "reason", "parent")}
    return KeptPolicy(**stated, at=to_iso(event.at), event_id=event.id, lineage=event.lineage)


def digest(settings: Settings, judged: Sequence[str]) -> str:
    """The same for settings that agree in the `judged` ones (camelCase keys)."""
    values = policy_settings(settings)
    return derived_event_id("policy in force", encode([values[key] for key in judged]))


def candidates_of(settings: Settings, proposals: Sequence[Mapping[str, Any]], judged: Sequence[str],
                  turned_down: frozenset[str]) -> list[Candidate]:  # fmt: skip
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
    return len(known) > 0 and bool(known.mean() > GAIN_IN_STANDARD_ERRORS * known.std() / math.sqrt(len(known)))


def halves(records: Sequence[T], most: int) -> tuple[list[T], list[T]]:
    """The earlier and the later half, each thinned to at most `most` records, spread evenly."""
    middle = len(records) // 2
    return _thinned(records[:middle], most), _thinned(records[middle:], most)


def _thinned(records: Sequence[T], most: int) -> list[T]:
    places = np.linspace(0, len(records) - 1, min(most, len(records))).round().astype(np.int64)
    return [records[place] for place in places.tolist()]
