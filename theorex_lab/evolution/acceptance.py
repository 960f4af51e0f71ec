"""The offline acceptance test of policies.

A policy that is proposed from earlier outcomes replaces the one in force only if it did
better on later ones. Proposals come from a fixed set and are compared on the earlier
half of the records. The later half decides, which no proposal has used. What gains on
the earlier half by no more than chance is not proposed. The parts of the policy, those
of each design, are judged apart, since their scores mean different things. Policies
that were in force are kept, and may be rolled back to.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, field, fields
from itertools import count
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import AlreadyThere, InvalidInput
from theorex_lab.core.files import exclusive, writing
from theorex_lab.core.ids import SCANNER, derived_event_id
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.readable import Report
from theorex_lab.core.settings import Settings, check_settings, save_settings
from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import Body, Event, encode, new_event
from theorex_lab.memory.contract import Home, PolicyPart, Proposal
from theorex_lab.memory.policy_file import write_policy

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
# Changed settings by camelCase key, and the policy with them.
Candidate = tuple[dict[str, Any], Settings]
T = TypeVar("T")
MOST_RECORDS = 100  # of each half: a bound on the work of one run of the maintenance
# A proposal must stand out on the earlier records by more than chance.
GAIN_IN_STANDARD_ERRORS = 2.0


@dataclass(frozen=True, repr=False)
class KeptPolicy(Report):
    """One kept policy.

    Attributes:
        number: From 1, in the order in which they were kept.
        settings: Every one of POLICY_SETTINGS, by its camelCase key.
        metrics: What was measured under it.
        reason: Why it was kept.
        parent: The number of the policy that it came from, None for the first.
        timestamp: When it was kept, ISO 8601.
        event_id: The id of its event.
        lineage: The ids of the events that it rests on.
    """

    number: int
    settings: dict[str, Any]
    metrics: dict[str, Any]
    reason: str
    parent: int | None
    timestamp: str
    event_id: str = ""
    lineage: tuple[str, ...] = field(default=())

    def _facts(self) -> tuple[str, ...]:
        return (f"number {self.number}", self.timestamp[:10], self.reason)

    @property
    def is_rollback(self) -> bool:
        """Return whether it was put in force again by a rollback to its parent."""
        if self.parent is None:
            return False
        return self.reason == f"{_ROLLED_BACK} {self.parent}"

    def to_dict(self) -> dict[str, Any]:
        """Return the policy as JSON holds it."""
        return {**asdict(self), "lineage": list(self.lineage)}


def policy_settings(settings: Settings) -> dict[str, Any]:
    """Return the policy among the settings, by camelCase keys, as JSON holds it.

    >>> policy_settings(Settings(half_life_days=7))["halfLifeDays"]
    7.0
    """
    return settings.to_dict(names=POLICY_SETTINGS)


def with_changes(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """Return the settings with `changes` (camelCase keys).

    What was left at its default stays so.

    Raises:
        ConfigError: Where the changes do not fit.
    """
    changed = {**settings.to_dict(only_given=True), **changes}
    return check_settings(changed, where="policy")


def numbered_events(journal: Journal, *parts: str) -> Iterator[Event]:
    """Yield the events whose ids follow from these parts and their numbers 1, 2, 3, ….

    Erased ones are yielded too.
    """
    for start in count(1, _READ_AT_ONCE):
        numbers = range(start, start + _READ_AT_ONCE)
        ids = [derived_event_id(*parts, number) for number in numbers]
        events = {event.id: event for event in journal.read(ids=ids, erased=True)}
        for event_id in ids:
            if event_id not in events:
                return
            yield events[event_id]


@contextmanager
def policy_lock(home: Path) -> Iterator[None]:
    """Hold what a change of policy needs to itself; another process waits.

    Raises:
        StorageError: Where the home cannot be written.
    """
    with (
        writing(home, "nothing was changed; make it writable"),
        exclusive(home / _LOCK_FILE, wait=True),
    ):
        yield


def is_policy_shared(journal: Journal) -> bool:
    """Return whether the newest policy of a journal is in force on several machines.

    Where the journal is one machine's, the policy in force stands in its config.json.
    """
    return journal.local is not journal


def policy_base(home: Home) -> Settings:
    """Return the settings that a policy is taken from.

    They are those in force; where machines share a journal, they are the newest
    policy's over the defaults, so that no policy spreads what the owner of one machine
    has set for it.
    """
    if not is_policy_shared(home.journal):
        return home.settings
    kept_policies = policies(home.journal)
    settings = kept_policies[-1].settings if kept_policies else {}
    return with_changes(Settings(), settings)


def policies(journal: Journal) -> list[KeptPolicy]:
    """Return every policy that was kept, in order, without erased ones."""
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
    """Keep a policy under the next number.

    Args:
        journal: The journal that keeps it.
        settings: The policy, as `policy_settings` gives it.
        at: The time, µs UTC.
        reason: Why it is kept, up to 500 characters.
        metrics: What was measured under it.
        parent: The policy that it came from, by default the newest.
        lineage: The ids of further events that it rests on.

    Raises:
        InvalidInput: For a reason over 500 characters.
    """
    if len(reason) > 500:
        raise InvalidInput(
            f"got a reason of {len(reason)} characters; allowed are up to 500"
        )
    while True:
        earlier_events = [*numbered_events(journal, "policy")]
        number = len(earlier_events) + 1
        origin = parent or _newest_policy(earlier_events)
        body: Body = {
            "number": number,
            "settings": dict(settings),
            "metrics": dict(metrics or {}),
            "reason": reason,
            "parent": origin.number if origin else None,
        }
        origin_ids = [origin.event_id] if origin else []
        event = new_event(
            "policy",
            body,
            agent=SCANNER,
            at=at,
            lineage=[*origin_ids, *lineage],
            event_id=derived_event_id("policy", number),
        )
        with suppress(AlreadyThere):  # another process took the number
            journal.append([event], allow_future=True)
            return _policy(event)


def _newest_policy(events: Sequence[Event]) -> KeptPolicy | None:
    """Return the newest of these kept policies that is not erased, None without one."""
    for event in reversed(events):
        if not event.erased:
            return _policy(event)
    return None


def keep(
    journal: Journal,
    settings: Settings,
    *,
    at: int,
    reason: str,
    metrics: Mapping[str, Any] | None = None,
) -> KeptPolicy:
    """Return the newest policy where it is in force, else a snapshot of the settings.

    Args:
        journal: Where policies are kept.
        settings: The settings in force.
        at: The present, in µs UTC.
        reason: Why a snapshot is made.
        metrics: How the policy did, None where nothing was measured.
    """
    current = policy_settings(settings)
    kept_policies = policies(journal)
    if kept_policies and kept_policies[-1].settings == current:
        return kept_policies[-1]
    return snapshot(journal, current, at=at, reason=reason, metrics=metrics)


def rollback(
    journal: Journal, settings: Settings, home: Path, number: int, *, at: int
) -> tuple[KeptPolicy, Settings]:
    """Put the policy of this number in force.

    What is in force is kept first, then config.json is replaced as a whole, then a new
    policy says so. Where machines share a journal that policy is all, and each machine
    takes it at its next sync. Repeating it changes nothing. Settings that the policy does not name
    stay as they are.

    Args:
        journal: Where policies are kept.
        settings: What `policy_base` gives.
        home: The home's folder, in which config.json lies.
        number: The number of the policy.
        at: The present, in µs UTC.

    Returns:
        The policy that says so, and the settings as they are now.

    Raises:
        InvalidInput: For an unknown number.
        ConfigError: Where the policy does not fit the other settings. Then nothing was
            changed.
    """
    with policy_lock(home):
        chosen = _policy_of_number(policies(journal), number)
        changes = _changed_settings(policy_settings(settings), chosen.settings)
        restored = with_changes(settings, changes)
        if changes:
            reason = f"in force before the rollback to {number}"
            keep(journal, settings, at=at, reason=reason)
            if not is_policy_shared(journal):
                write_config(home, changes)
        newest = policies(journal)[-1]
        is_repeated = newest.is_rollback and newest.parent == number
        if is_repeated and newest.settings == chosen.settings:
            return newest, restored
        policy = snapshot(
            journal,
            policy_settings(restored),
            at=at,
            reason=f"{_ROLLED_BACK} {number}",
            metrics=chosen.metrics,
            parent=chosen,
        )
        return policy, restored


def _policy_of_number(kept_policies: Sequence[KeptPolicy], number: int) -> KeptPolicy:
    """Return the policy of this number, or raise InvalidInput for an unknown one."""
    for policy in kept_policies:
        if policy.number == number:
            return policy
    numbers = ", ".join(str(policy.number) for policy in kept_policies)
    allowed = numbers or "none yet: `theorex policy --snapshot` keeps one"
    raise InvalidInput(f"got the policy number {number!r}; allowed are {allowed}")


def _changed_settings(
    current: Mapping[str, Any], proposed: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the proposed settings that differ from the current ones."""
    return {
        key: value
        for key, value in proposed.items()
        if key not in current or current[key] != value
    }


def write_config(home: Path, changes: Mapping[str, Any]) -> None:
    """Write changes (camelCase keys) into the home's config.json, as a whole.

    Raises:
        ConfigError: Where the changes do not fit.
        StorageError: Where the file cannot be written.
    """
    file = home / "config.json"
    with writing(file, "the old file is untouched"):
        save_settings(file, dict(changes))


def _policy(event: Event) -> KeptPolicy:
    """Return the policy that an event keeps."""
    body = event.body
    return KeptPolicy(
        number=body["number"],
        settings=body["settings"],
        metrics=body["metrics"],
        reason=body["reason"],
        parent=body["parent"],
        timestamp=to_iso(event.at),
        event_id=event.id,
        lineage=event.lineage,
    )


def digest(settings: Settings, judged: Sequence[str]) -> str:
    """Return a digest that is the same for settings that agree in the `judged` ones.

    Args:
        settings: The settings.
        judged: camelCase keys.
    """
    values = policy_settings(settings)
    return derived_event_id("policy in force", encode([values[key] for key in judged]))


def candidates_of(
    settings: Settings,
    proposals: Sequence[Mapping[str, Any]],
    judged: Sequence[str],
    turned_down: frozenset[str],
) -> list[Candidate]:
    """Return the policy in force, then those proposed.

    Nothing stands in their changes that stays as it is.

    Args:
        settings: The settings in force.
        proposals: The settings that each proposal names, by their keys.
        judged: The settings that make up the digest of a policy.
        turned_down: Digests of policies that are not tried again.
    """
    current = policy_settings(settings)
    candidates: list[Candidate] = [({}, settings)]
    for proposal in proposals:
        changes = {
            key: value for key, value in proposal.items() if current[key] != value
        }
        policy = with_changes(settings, changes)
        if changes and digest(policy, judged) not in turned_down:
            candidates.append((changes, policy))
    return candidates


def best_of(scores: NDArray[np.float64], candidates: Sequence[Candidate]) -> int:
    """Return the index of the best candidate.

    Among equals it is the one that changes least, then the first.
    """
    rounded = scores.round(9).tolist()

    def rank(index: int) -> tuple[float, int, int]:
        changes, _ = candidates[index]
        return rounded[index], -len(changes), -index

    return max(range(len(candidates)), key=rank)


def gain_stands_out(gains: NDArray[np.float64]) -> bool:
    """Return whether the mean of paired gains is above 0 by two standard errors.

    NaN are left out.

    >>> (
    ...     gain_stands_out(np.array([1.0, 1.0, np.nan])),
    ...     gain_stands_out(np.array([1.0, -1.0, 1.0])),
    ... )
    (True, False)
    """
    measured = gains[~np.isnan(gains)]
    if not len(measured):
        return False
    standard_error = measured.std() / math.sqrt(len(measured))
    return bool(measured.mean() > GAIN_IN_STANDARD_ERRORS * standard_error)


def halves(records: Sequence[T], most: int) -> tuple[list[T], list[T]]:
    """Return the earlier and the later half, each thinned to at most `most` records."""
    middle = len(records) // 2
    return _thinned(records[:middle], most), _thinned(records[middle:], most)


def _thinned(records: Sequence[T], most: int) -> list[T]:
    """Return at most `most` of the records, spread evenly."""
    n_records = min(most, len(records))
    positions = np.linspace(0, len(records) - 1, n_records).round().astype(np.int64)
    return [records[position] for position in positions.tolist()]


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
    """Return whether a policy that scored `after` replaces one that scored `before`.

    It is accepted where after ≥ before · (1 + margin) within a relative 1e-9, and from
    0 only where it is above 0. It is held below `min_samples`, whatever the scores.
    Else it is refused.

    Args:
        before: The score of the policy in force.
        after: The score of the proposed policy.
        n: The number of samples.
        margin: The share by which it must be better.
        min_samples: The fewest samples that decide.

    Raises:
        InvalidInput: For scores that are negative or not finite, a negative n or
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
            f"the acceptance test got {wrong}; allowed are finite numbers from 0, and min_samples"
            " from 1"
        )
    if n < min_samples:
        return "hold"
    if before == 0:
        return "accept" if after > 0 else "refuse"
    needed = before * (1 + margin) * (1 - TOLERANCE)
    return "accept" if after >= needed else "refuse"


@dataclass(frozen=True)
class AcceptanceResult:
    """The decision of the acceptance test on one part of the policy.

    Attributes:
        part: The name of the part.
        decision: accept, refuse or hold.
        before: The score of the policy in force on the later records, None where they
            are too few to be scored.
        after: The score of the proposed one on them.
        n: The number of the later records.
        margin: The share by which the proposed one had to be better.
        proposed: Changed settings by camelCase key, empty where none stood out on the
            earlier records.
        policy: The number of the accepted policy.
        repeated: Whether it was judged on these records before.
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
    """Judge a proposal for each part, and put what is accepted in force.

    The home has the settings as they are then. The same records and the same policy are
    judged once: repeating it changes nothing. Accepting keeps a copy of the policy in
    force, appends the decision, replaces config.json, and keeps the new policy. The next
    test finishes one that was killed on the way. What a rollback undid is not proposed
    again.

    Raises:
        ConfigError: Where a proposal does not fit the settings.
        StorageError: Where something cannot be written.
    """
    with policy_lock(home.folder):
        return [_Gate(home, name, part).run() for name, part in parts_of(home).items()]


def score_policy(home: Home) -> dict[str, dict[str, float | int]]:
    """Return scores of the settings on the later half of the records, by part.

    They look like {memory: {score, n}}.
    """
    return {name: dict(part.score(home)) for name, part in parts_of(home).items()}


def parts_of(home: Home) -> dict[str, PolicyPart]:
    """Return what the acceptance test judges: the parts of each design.

    Raises:
        InvalidInput: Where two parts have one name, or a part has settings that no
            policy keeps.
    """
    named_parts: list[tuple[str, PolicyPart]] = []
    for design in home.designs:
        named_parts.extend(design.policies.items())
    parts = dict(named_parts)
    if len(parts) < len(named_parts):
        raise InvalidInput(
            f"got parts of the policy named {[name for name, _ in named_parts]};"
            " allowed is one of each name"
        )
    allowed = policy_settings(home.settings)
    for name, part in parts.items():
        for key in part.settings:
            if key not in allowed:
                raise InvalidInput(
                    f"the part {name!r} has the setting {key!r}; allowed are"
                    f" {', '.join(allowed)}"
                )
    return parts


class _Gate:
    """One part of the policy in an acceptance test."""

    def __init__(self, home: Home, name: str, part: PolicyPart) -> None:
        self.home = home
        self.name = name
        self.part = part
        self.journal = home.journal
        decisions = [*numbered_events(self.journal, "gated")]
        self.number = len(decisions) + 1
        self.decisions = [
            event
            for event in decisions
            if not event.erased and event.body["part"] == name
        ]
        self.policies = policies(self.journal)

    def run(self) -> AcceptanceResult:
        """Finish the last decision, repeat an earlier one, or judge a new proposal."""
        in_force = digest(self.home.settings, self.part.settings)
        unfinished = self._unfinished(in_force)
        if unfinished is not None:
            self._put_in_force(unfinished)
            return _gated(unfinished)
        evidence = self._evidence()
        earlier = self._earlier_decision(evidence, in_force)
        if earlier is not None:
            return _gated(earlier, repeated=True)
        return self._settle(self._proposal(), evidence, in_force)

    def _unfinished(self, in_force: str) -> Event | None:
        """Return the last decision, where it was accepted and is not yet carried out.

        It only counts while the policy in force is the one that it was about, or the
        one that it leads to.
        """
        if not self.decisions:
            return None
        last = self.decisions[-1]
        if last.body["decision"] != "accept" or self._policy_of(last) is not None:
            return None
        if in_force not in (last.body["against"], last.body["result"]):
            return None
        return last

    def _evidence(self) -> str:
        """Return an id of what the records of this part come to.

        Another record, or another score of one, makes it another.
        """
        settings = self.home.settings
        rule = encode([settings.acceptance_margin, settings.acceptance_min_samples])
        records = encode(self.part.evidence(self.home))
        return derived_event_id("evidence", self.name, rule, records)

    def _earlier_decision(self, evidence: str, in_force: str) -> Event | None:
        """Return the newest decision on this evidence that is about this policy."""
        for event in reversed(self.decisions):
            judged = [event.body["against"]]
            if event.body["decision"] == "accept":
                judged.append(event.body["result"])
            if event.body["evidence"] == evidence and in_force in judged:
                return event
        return None

    def _proposal(self) -> Proposal:
        """Return the part's proposal, or raise InvalidInput for settings not its own."""
        proposal = self.part.propose(self.home, self._turned_down())
        others = proposal.changes.keys() - self.part.settings
        if others:
            allowed = ", ".join(self.part.settings)
            raise InvalidInput(
                f"the part {self.name!r} proposed {sorted(others)}; allowed are"
                f" {allowed}"
            )
        return proposal

    def _settle(
        self, proposal: Proposal, evidence: str, in_force: str
    ) -> AcceptanceResult:
        """Decide on a proposal, append the decision, and carry it out."""
        settings = self.home.settings
        decision = decide(
            proposal.before or 0.0,
            proposal.after or 0.0,
            proposal.n,
            margin=settings.acceptance_margin,
            min_samples=settings.acceptance_min_samples,
        )
        policy_number = None
        lineage = []
        if decision == "accept":
            policy = self._keep_in_force(proposal)
            policy_number = policy.number + 1
            lineage = [policy.event_id]
        changed = with_changes(settings, proposal.changes)
        body = {
            "number": self.number,
            "part": self.name,
            "decision": decision,
            "before": proposal.before,
            "after": proposal.after,
            "n": proposal.n,
            "proposed": proposal.changes,
            "margin": settings.acceptance_margin,
            "policy": policy_number,
            "evidence": evidence,
            "against": in_force,
            "result": digest(changed, self.part.settings),
        }
        event = new_event(
            "gated",
            body,
            agent=SCANNER,
            at=self.home.clock.now(),
            lineage=lineage,
            event_id=derived_event_id("gated", self.number),
        )
        self.journal.append([event], allow_future=True)
        if decision == "accept":
            self._put_in_force(event)
        return _gated(event)

    def _keep_in_force(self, proposal: Proposal) -> KeptPolicy:
        """Keep the policy in force, with its score, before another replaces it."""
        return keep(
            self.journal,
            policy_base(self.home),
            at=self.home.clock.now(),
            reason=f"in force before acceptance test {self.number}",
            metrics={self.name: {"score": proposal.before, "n": proposal.n}},
        )

    def _put_in_force(self, event: Event) -> None:
        """Do what an accepted decision leaves to do.

        That is config.json, then the policy that says it is done. Where machines share
        a journal that policy is all, and each machine takes it from there.
        """
        changes = event.body["proposed"]
        changed = with_changes(policy_base(self.home), changes)
        is_shared = is_policy_shared(self.journal)
        if not is_shared:
            write_config(self.home.folder, changes)
        metrics = {"score": event.body["after"], "n": event.body["n"]}
        policy = snapshot(
            self.journal,
            policy_settings(changed),
            at=self.home.clock.now(),
            reason=f"accepted by acceptance test {event.body['number']}",
            metrics={self.name: metrics},
            lineage=[event.id],
        )
        if is_shared:
            write_policy(self.home.folder, policy.number, policy.settings)
            self.home.take_policy()
        else:
            self.home.settings = changed

    def _policy_of(self, event: Event) -> KeptPolicy | None:
        """Return the policy that an accepted decision kept."""
        for policy in self.policies:
            if event.id in policy.lineage:
                return policy
        return None

    def _turned_down(self) -> frozenset[str]:
        """Return digests of accepted policies that somebody rolled back from."""
        digests = set()
        for event in self.decisions:
            policy = self._policy_of(event)
            if policy is not None and self._is_undone(policy):
                digests.add(event.body["result"])
        return frozenset(digests)

    def _is_undone(self, policy: KeptPolicy) -> bool:
        """Return whether a later rollback went back to before this policy."""
        for rollback_policy in self.policies:
            if not rollback_policy.is_rollback:
                continue
            restored_number = rollback_policy.parent or 0
            if restored_number < policy.number < rollback_policy.number:
                return True
        return False


def _gated(event: Event, *, repeated: bool = False) -> AcceptanceResult:
    """Return the decision that an event holds."""
    names = [
        field.name for field in fields(AcceptanceResult) if field.name != "repeated"
    ]
    values = {name: event.body[name] for name in names}
    return AcceptanceResult(**values, repeated=repeated)
