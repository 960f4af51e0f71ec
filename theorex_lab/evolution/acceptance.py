"""The gate: a policy proposed from earlier outcomes replaces the one in force only if
it did better on later ones.

Proposals come from a fixed set, compared on the earlier half of what was recorded; the
later half, which no proposal has seen, decides. What gains on the earlier half by no
more than chance is not proposed. The parts of the policy, those of each design, are
judged apart, since their scores mean different things. Policies that were in force are
kept, and may be rolled back to.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from itertools import count
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import AlreadyThere, InvalidInput
from theorex_lab.core.files import exclusive, writing
from theorex_lab.core.ids import SCANNER, derived_event_id
from theorex_lab.core.settings import Settings, check_settings, save_settings
from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import Body, Event, encode, new_event
from theorex_lab.memory.contract import Home, PolicyPart, Proposal

# Addresses and names of models, budgets of search and the like are no policy: a
# rollback leaves them as they are.
POLICY_SETTINGS = (
    "decay_law",
    "decay_params",
    "half_life_days",
    "fix_half_life_days",
    "active_threshold",
    "mild_threshold",
    "sleep_after_days",
    "prune_threshold_days",
    "source_weights",
    "context_tokens",
    "promotion_threshold",
    "flush_threshold",
    "graduation_threshold",
    "roles",
    "battery_threshold",
    "matrix_min_samples",
    "matrix_success_weight",
    "matrix_half_life_days",
    "dispatch_context_pct",
)
_LOCK_FILE = "policy.lock"
_ROLLED_BACK = "rolled back to"
_READ_AT_ONCE = 64
Candidate = tuple[
    dict[str, Any], Settings
]  # changed settings by camelCase key, and the policy with them
T = TypeVar("T")
MOST_RECORDS = 100  # of each half: a bound on the work of one night
GAIN_IN_STANDARD_ERRORS = (
    2.0  # a proposal must stand out on the earlier records by more than chance
)


@dataclass(frozen=True)
class KeptPolicy:
    """One kept policy.

    number: from 1, in the order in which they were kept.  settings: every one of
    POLICY_SETTINGS, by its camelCase key.  metrics: what was measured under it.
    parent: the number of the policy that it came from, None for the first.
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
        return (
            self.parent is not None and self.reason == f"{_ROLLED_BACK} {self.parent}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The policy as JSON holds it."""
        return {**asdict(self), "lineage": list(self.lineage)}


def policy_settings(settings: Settings) -> dict[str, Any]:
    """The policy among the settings, by camelCase keys, as JSON holds it.

    >>> policy_settings(Settings(half_life_days=7))["halfLifeDays"]
    7.0
    """
    return settings.to_dict(names=POLICY_SETTINGS)


def with_changes(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """The settings with `changes` (camelCase keys); what was left at its default stays
    so. Raises ConfigError.
    """
    return check_settings(
        {**settings.to_dict(only_given=True), **changes}, where="policy"
    )


def numbered_events(journal: Journal, *parts: str) -> Iterator[Event]:
    """The events whose ids follow from these parts and their numbers 1, 2, 3, …; erased
    ones too.
    """
    for start in count(1, _READ_AT_ONCE):
        ids = [
            derived_event_id(*parts, number)
            for number in range(start, start + _READ_AT_ONCE)
        ]
        found = {event.id: event for event in journal.read(ids=ids, erased=True)}
        for event_id in ids:
            if event_id not in found:
                return
            yield found[event_id]


@contextmanager
def policy_lock(home: Path) -> Iterator[None]:
    """Hold what a change of policy needs to itself; another process waits. Raises
    StorageError.
    """
    with (
        writing(home, "nothing was changed; make it writable"),
        exclusive(home / _LOCK_FILE, wait=True),
    ):
        yield


def policies(journal: Journal) -> list[KeptPolicy]:
    """Every policy that was kept, in order; those that were erased are left out."""
    return [
        _policy(event)
        for event in numbered_events(journal, "policy")
        if not event.erased
    ]


def snapshot(
    journal: Journal,
    settings: Mapping[str, Any],
    *,
    at: int,
    reason: str = "",
    metrics: Mapping[str, Any] | None = None,
    parent: KeptPolicy | None = None,
    lineage: Sequence[str] = (),
) -> KeptPolicy:
    """Keep a policy (as `policy_settings` gives it) under the next number; `at` in µs
    UTC.

    `parent`: the policy that it came from, by default the newest. Raises InvalidInput
    for a reason over 500 characters.
    """
    if len(reason) > 500:
        raise InvalidInput(
            f"got a reason of {len(reason)} characters; allowed are up to 500"
        )
    while True:
        before = [*numbered_events(journal, "policy")]
        number = len(before) + 1
        known = [event for event in before if not event.erased]
        origin = parent or (_policy(known[-1]) if known else None)
        body: Body = {
            "number": number,
            "settings": dict(settings),
            "metrics": dict(metrics or {}),
            "reason": reason,
            "parent": origin.number if origin else None,
        }
        rests_on = [*([origin.event_id] if origin else []), *lineage]
        made = derived_event_id("policy", number)
        event = new_event(
            "policy", body, agent=SCANNER, at=at, lineage=rests_on, event_id=made
        )
        with suppress(AlreadyThere):  # another process took the number
            journal.append([event], allow_future=True)
            return _policy(event)


def keep(
    journal: Journal,
    settings: Settings,
    *,
    at: int,
    reason: str,
    metrics: Mapping[str, Any] | None = None,
) -> KeptPolicy:
    """The newest policy where it is the one in force, else a snapshot of the one in
    force.
    """
    known = policies(journal)
    if known and known[-1].settings == policy_settings(settings):
        return known[-1]
    return snapshot(
        journal, policy_settings(settings), at=at, reason=reason, metrics=metrics
    )


def rollback(
    journal: Journal, settings: Settings, home: Path, number: int, *, at: int
) -> tuple[KeptPolicy, Settings]:
    """Put the policy of this number in force; returns the event of it and the settings
    as they are now.

    What is in force is kept first, then config.json is replaced as a whole, then a new
    policy says so; repeating it changes nothing. Settings that the policy does not name
    stay as they are. Raises InvalidInput for an unknown number, ConfigError where the
    policy does not fit the other settings; then nothing was changed.
    """
    with policy_lock(home):
        known = policies(journal)
        if (
            chosen := next(
                (policy for policy in known if policy.number == number), None
            )
        ) is None:
            numbers = ", ".join(str(policy.number) for policy in known)
            allowed = numbers or "none yet: `theorex policy-snapshot` keeps one"
            raise InvalidInput(
                f"got the policy number {number!r}; allowed are {allowed}"
            )
        now = policy_settings(settings)
        changes = {
            key: value
            for key, value in chosen.settings.items()
            if key not in now or now[key] != value
        }
        restored = with_changes(settings, changes)
        if changes:
            keep(
                journal,
                settings,
                at=at,
                reason=f"in force before the rollback to {number}",
            )
            write_config(home, changes)
        newest = policies(journal)[-1]
        if (
            newest.settings == chosen.settings
            and newest.parent == number
            and newest.is_rollback
        ):
            return newest, restored
        now = policy_settings(restored)
        reason = f"{_ROLLED_BACK} {number}"
        return (
            snapshot(
                journal,
                now,
                at=at,
                reason=reason,
                metrics=chosen.metrics,
                parent=chosen,
            ),
            restored,
        )


def write_config(home: Path, changes: Mapping[str, Any]) -> None:
    """Write changes (camelCase keys) into the home's config.json, as a whole. Raises
    ConfigError, StorageError.
    """
    file = home / "config.json"
    with writing(file, "the old file is untouched"):
        save_settings(file, dict(changes))


def _policy(event: Event) -> KeptPolicy:
    stated = {
        name: event.body[name]
        for name in ("number", "settings", "metrics", "reason", "parent")
    }
    return KeptPolicy(
        **stated, at=to_iso(event.at), event_id=event.id, lineage=event.lineage
    )


def digest(settings: Settings, judged: Sequence[str]) -> str:
    """The same for settings that agree in the `judged` ones (camelCase keys)."""
    values = policy_settings(settings)
    return derived_event_id("policy in force", encode([values[key] for key in judged]))


def candidates_of(
    settings: Settings,
    proposals: Sequence[Mapping[str, Any]],
    judged: Sequence[str],
    turned_down: frozenset[str],
) -> list[Candidate]:
    """The policy in force first, then those proposed, with nothing in their changes
    that stays as it is.
    """
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
    return max(
        range(len(candidates)),
        key=lambda place: (rounded[place], -len(candidates[place][0]), -place),
    )


def gain_stands_out(gains: NDArray[np.float64]) -> bool:
    """Whether the mean of paired gains is above 0 by more than two standard errors; NaN
    are left out.

    >>> (
    ...     gain_stands_out(np.array([1.0, 1.0, np.nan])),
    ...     gain_stands_out(np.array([1.0, -1.0, 1.0])),
    ... )
    (True, False)
    """
    known = gains[~np.isnan(gains)]
    return len(known) > 0 and bool(
        known.mean() > GAIN_IN_STANDARD_ERRORS * known.std() / math.sqrt(len(known))
    )


def halves(records: Sequence[T], most: int) -> tuple[list[T], list[T]]:
    """The earlier and the later half, each thinned to at most `most` records, spread
    evenly.
    """
    middle = len(records) // 2
    return _thinned(records[:middle], most), _thinned(records[middle:], most)


def _thinned(records: Sequence[T], most: int) -> list[T]:
    places = (
        np.linspace(0, len(records) - 1, min(most, len(records)))
        .round()
        .astype(np.int64)
    )
    return [records[place] for place in places.tolist()]


GateVerdict = Literal["accept", "refuse", "hold"]

MARGIN = 0.02
MIN_SAMPLES = 5
TOLERANCE = 1e-9


def decide(
    before: float,
    after: float,
    n: int,
    *,
    margin: float = MARGIN,
    min_samples: int = MIN_SAMPLES,
) -> GateVerdict:
    """Whether a policy that scored `after` replaces one that scored `before`, on `n`
    samples.

    accept where after ≥ before · (1 + margin) within a relative 1e-9, and from 0 only
    where it is above 0; hold below `min_samples`, whatever the scores; else refuse.
    Raises InvalidInput for scores that are negative or not finite, a negative n or
    margin, or min_samples below 1.

    >>> (
    ...     decide(0.80, 0.816, 5),
    ...     decide(0.80, 0.81, 5),
    ...     decide(0.2, 0.9, 4),
    ...     decide(0.0, 0.0, 5),
    ... )
    ('accept', 'refuse', 'hold', 'refuse')
    """
    numbers = {
        "before": before,
        "after": after,
        "n": n,
        "margin": margin,
        "min_samples": min_samples - 1,
    }
    wrong = {
        name: value
        for name, value in numbers.items()
        if not (math.isfinite(value) and value >= 0)
    }
    if wrong:
        raise InvalidInput(
            f"the gate got {wrong}; allowed are finite numbers from 0, and min_samples"
            " from 1"
        )
    if n < min_samples:
        return "hold"
    if before == 0:
        return "accept" if after > 0 else "refuse"
    return "accept" if after >= before * (1 + margin) * (1 - TOLERANCE) else "refuse"


@dataclass(frozen=True)
class AcceptanceResult:
    """What the gate said of one part of the policy.

    before, after: scores of the policy in force and of the proposed one on the later
    records, None where they are too few to be scored.  n: those records.  proposed:
    changed settings by camelCase key, empty where none stood out on the earlier
    records.  policy: the number of the accepted policy.  repeated: it was judged on
    these records before.
    """

    part: str
    decision: GateVerdict
    before: float | None
    after: float | None
    n: int
    margin: float
    proposed: dict[str, Any]
    policy: int | None
    repeated: bool = False

    to_dict = asdict  # as JSON holds it


def gate(home: Home) -> list[AcceptanceResult]:
    """Judge a proposal for each part, and put what is accepted in force; the home has
    the settings as they are then.

    The same records and the same policy are judged once: repeating it changes nothing.
    Accepting keeps the policy in force, appends what the gate said, replaces
    config.json, and keeps the new policy; a gate that was killed on the way is finished
    by the next one. What a rollback undid is not proposed again. Raises ConfigError,
    StorageError.
    """
    with policy_lock(home.folder):
        return [_Gate(home, name, part).run() for name, part in parts_of(home).items()]


def score_policy(home: Home) -> dict[str, dict[str, float | int]]:
    """Scores of the settings on the later half of what was recorded, by part: {memory:
    {score, n}}.
    """
    return {name: dict(part.score(home)) for name, part in parts_of(home).items()}


def parts_of(home: Home) -> dict[str, PolicyPart]:
    """What the gate judges: the parts of each design.

    Raises InvalidInput where two parts have one name, or a part has settings that no
    policy keeps.
    """
    named = [policy for design in home.designs for policy in design.policies.items()]
    parts = dict(named)
    kept = policy_settings(home.settings)
    if len(parts) < len(named):
        raise InvalidInput(
            f"got parts of the policy named {[name for name, _ in named]}; allowed is"
            " one of each name"
        )
    for name, part in parts.items():
        if unknown := [key for key in part.settings if key not in kept]:
            raise InvalidInput(
                f"the part {name!r} has the setting {unknown[0]!r}; allowed are"
                f" {', '.join(kept)}"
            )
    return parts


class _Gate:
    """One part of the policy before the gate."""

    def __init__(self, home: Home, name: str, part: PolicyPart) -> None:
        self.home, self.name, self.part, self.journal = home, name, part, home.journal
        said = [*numbered_events(self.journal, "gated")]
        self.number = len(said) + 1
        self.said = [
            event for event in said if not event.erased and event.body["part"] == name
        ]
        self.policies = policies(self.journal)

    def run(self) -> AcceptanceResult:
        now = digest(self.home.settings, self.part.settings)
        last = self.said[-1] if self.said else None
        unfinished = (
            last is not None
            and last.body["decision"] == "accept"
            and self._policy_of(last) is None
        )
        if (
            last is not None
            and unfinished
            and now in (last.body["against"], last.body["result"])
        ):
            self._put_in_force(last)
            return _gated(last)
        # What the records of this part come to; another record, or another score of
        # one, makes it another.
        rule = encode(
            [self.home.settings.gate_margin, self.home.settings.gate_min_samples]
        )
        evidence = derived_event_id(
            "evidence", self.name, rule, encode(self.part.evidence(self.home))
        )
        for event in reversed(self.said):
            judged = (
                event.body["against"],
                event.body["result"] if event.body["decision"] == "accept" else None,
            )
            if event.body["evidence"] == evidence and now in judged:
                return _gated(event, repeated=True)
        return self._settle(self._proposal(), evidence, now)

    def _proposal(self) -> Proposal:
        proposal = self.part.propose(self.home, self._turned_down())
        if others := proposal.changes.keys() - self.part.settings:
            allowed = ", ".join(self.part.settings)
            raise InvalidInput(
                f"the part {self.name!r} proposed {sorted(others)}; allowed are"
                f" {allowed}"
            )
        return proposal

    def _settle(self, proposal: Proposal, evidence: str, now: str) -> AcceptanceResult:
        margin = self.home.settings.gate_margin
        min_samples = self.home.settings.gate_min_samples
        before = proposal.before or 0.0
        after = proposal.after or 0.0
        decision = decide(
            before, after, proposal.n, margin=margin, min_samples=min_samples
        )
        number = None
        lineage = []
        at = self.home.clock.now()
        if decision == "accept":
            metrics = {self.name: {"score": proposal.before, "n": proposal.n}}
            reason = f"in force before gate {self.number}"
            kept = keep(
                self.journal, self.home.settings, at=at, reason=reason, metrics=metrics
            )
            number = kept.number + 1
            lineage = [kept.event_id]
        body = {
            "number": self.number,
            "part": self.name,
            "decision": decision,
            "before": proposal.before,
            "after": proposal.after,
            "n": proposal.n,
            "proposed": proposal.changes,
            "margin": margin,
            "policy": number,
            "evidence": evidence,
            "against": now,
            "result": digest(
                with_changes(self.home.settings, proposal.changes), self.part.settings
            ),
        }
        made = derived_event_id("gated", self.number)
        at = self.home.clock.now()
        event = new_event(
            "gated", body, agent=SCANNER, at=at, lineage=lineage, event_id=made
        )
        self.journal.append([event], allow_future=True)
        if decision == "accept":
            self._put_in_force(event)
        return _gated(event)

    def _put_in_force(self, event: Event) -> None:
        """What an accepted gate leaves to do: config.json, then the policy that says it
        is done.
        """
        changes = event.body["proposed"]
        reason = f"accepted by gate {event.body['number']}"
        changed = with_changes(self.home.settings, changes)
        metrics = {"score": event.body["after"], "n": event.body["n"]}
        write_config(self.home.folder, changes)
        now, at = policy_settings(changed), self.home.clock.now()
        snapshot(
            self.journal,
            now,
            at=at,
            reason=reason,
            metrics={self.name: metrics},
            lineage=[event.id],
        )
        self.home.settings = changed

    def _policy_of(self, event: Event) -> KeptPolicy | None:
        """The policy that an accepted gate kept."""
        return next(
            (policy for policy in self.policies if event.id in policy.lineage), None
        )

    def _turned_down(self) -> frozenset[str]:
        """Digests of accepted policies that somebody rolled back from."""
        restored = [
            (policy.number, policy.parent or 0)
            for policy in self.policies
            if policy.is_rollback
        ]
        accepted = [
            (event, policy.number)
            for event in self.said
            if (policy := self._policy_of(event)) is not None
        ]
        undone = (
            event
            for event, number in accepted
            if any(first < number < last for last, first in restored)
        )
        return frozenset(event.body["result"] for event in undone)


def _gated(event: Event, *, repeated: bool = False) -> AcceptanceResult:
    return AcceptanceResult(
        **{
            field.name: event.body[field.name]
            for field in fields(AcceptanceResult)[:-1]
        },
        repeated=repeated,
    )
