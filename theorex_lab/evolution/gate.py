"""The gate: a policy proposed from earlier outcomes replaces the one in force only if it did better on later ones.

Proposals come from a fixed set, compared on the earlier half of what was recorded; the later half, which no proposal has
seen, decides. What gains on the earlier half by no more than chance is not proposed. Memory (law, half-life, MILD
threshold) and routing (weights of the matrix) are judged apart, since their scores mean different things;
`policy_scoring` says what each measures and what not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from theorex_lab.config import Settings
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.errors import InvalidInput
from theorex_lab.evolution.policy import (
    Policy,
    keep,
    numbered_events,
    policies,
    policy_lock,
    policy_settings,
    snapshot,
    with_changes,
    write_config,
)
from theorex_lab.evolution.policy_scoring import (
    Call,
    MemoryReplay,
    agreement,
    calls,
    needs,
    shrunk_success,
    weighted_mean,
)
from theorex_lab.home import Home
from theorex_lab.ids import SCANNER, derived_event_id
from theorex_lab.journal.event import Event, encode, new_event
from theorex_lab.journal.view import Views
from theorex_lab.memory.decay import LAWS, PRODUCT_HALF_LIVES_DAYS

Verdict = Literal["accept", "refuse", "hold"]
T = TypeVar("T")

MARGIN = 0.02
MIN_SAMPLES = 5
TOLERANCE = 1e-9
# What a policy may propose.
LAW_NAMES = ("product", "weighted_sum", "recency", "power", "frequency")
MILD_THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
SUCCESS_WEIGHTS = (0.4, 0.6, 0.8, 1.0)
MATRIX_HALF_LIVES_DAYS = (None, 7.0, 30.0, 90.0)
# What a part of the gate judges.
PARTS = {
    "memory": ("decayLaw", "decayParams", "halfLifeDays", "fixHalfLifeDays", "activeThreshold", "mildThreshold",
               "contextTokens"),
    "routing": ("matrixMinSamples", "matrixSuccessWeight", "matrixHalfLifeDays"),
}  # fmt: skip
# Bounds on the work of one night: records of each half, and concepts scored over all of them.
MOST_RECORDS, FEWEST_RECORDS, MOST_SCORED = 100, 20, 1_000_000
GAIN_IN_STANDARD_ERRORS = 2.0  # a proposal must stand out on the earlier records by more than chance


def decide(before: float, after: float, n: int, *, margin: float = MARGIN, min_samples: int = MIN_SAMPLES) -> Verdict:
    """Whether a policy that scored `after` replaces one that scored `before`, on `n` samples.

    accept where after ≥ before · (1 + margin) within a relative 1e-9, and from 0 only where it is above 0; hold below
    `min_samples`, whatever the scores; else refuse. Raises InvalidInput for scores that are negative or not finite, a
    negative n or margin, or min_samples below 1.

    >>> decide(0.80, 0.816, 5), decide(0.80, 0.81, 5), decide(0.2, 0.9, 4), decide(0.0, 0.0, 5)
    ('accept', 'refuse', 'hold', 'refuse')
    """
    numbers = {"before": before, "after": after, "n": n, "margin": margin, "min_samples": min_samples - 1}
    wrong = {name: value for name, value in numbers.items() if not (math.isfinite(value) and value >= 0)}
    if wrong:
        raise InvalidInput(f"the gate got {wrong}; allowed are finite numbers from 0, and min_samples from 1")
    if n < min_samples:
        return "hold"
    if before == 0:
        return "accept" if after > 0 else "refuse"
    return "accept" if after >= before * (1 + margin) * (1 - TOLERANCE) else "refuse"


@dataclass(frozen=True)
class Gated:
    """What the gate said of one part of the policy.

    before, after: scores of the policy in force and of the proposed one on the later records, None where they are too
    few to be scored.  n: those records.  proposed: changed settings by camelCase key, empty where none stood out on
    the earlier records.  policy: the number of the accepted policy.  repeated: it was judged on these records before.
    """

    part: str
    decision: Verdict
    before: float | None
    after: float | None
    n: int
    margin: float
    proposed: dict[str, Any]
    policy: int | None
    repeated: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)


class Proposal(NamedTuple):
    """Changed settings, how the policy in force and the changed one did on the later records, and how many those are."""

    changes: dict[str, Any]
    before: float | None
    after: float | None
    n: int


def gate(home: Home) -> list[Gated]:
    """Judge a proposal for each part, and put what is accepted in force; the home has the settings as they are then.

    The same records and the same policy are judged once: repeating it changes nothing. Accepting keeps the policy in
    force, appends what the gate said, replaces config.json, and keeps the new policy; a gate that was killed on the way
    is finished by the next one. What a rollback undid is not proposed again. Raises ConfigError, StorageError.
    """
    found = []
    with policy_lock(home.folder):
        for part in PARTS:
            found.append(_Gate(home, part).run())
    return found


def score_policy(home: Home) -> dict[str, dict[str, float | int]]:
    """Scores of the settings on the later half of what was recorded: {memory: {score, n}, routing: {score, n}}."""
    _, later = _halves(needs(home.views), _most_records(home.views))
    replay = MemoryReplay(home.journal, context_tokens=home.settings.context_tokens)
    memory, n = weighted_mean(replay.shares(later, [home.settings]), later)
    known = calls(home.views)
    _, asked = _later_places(len(known))
    success, matched = shrunk_success(agreement(known, asked, [home.settings]), [known[place] for place in asked])
    return {
        "memory": {"score": float(memory[0]), "n": n},
        "routing": {"score": float(success[0]), "n": int(matched[0])},
    }


def propose_memory(home: Home, turned_down: frozenset[str] = frozenset()) -> Proposal:
    """The law, half-life and MILD threshold that served the earlier outcomes best, scored on the later ones."""
    earlier, later = _halves(needs(home.views), _most_records(home.views))
    if len(later) < home.settings.gate_min_samples:
        return Proposal({}, None, None, len(later))
    candidates = _candidates(home.settings, _memory_changes(home.settings), "memory", turned_down)
    replay = MemoryReplay(home.journal, context_tokens=home.settings.context_tokens)
    shares = replay.shares(earlier, [policy for _, policy in candidates])
    best = _best(weighted_mean(shares, earlier)[0], candidates)
    changes, chosen = candidates[best if gain_stands_out(shares[best] - shares[0]) else 0]
    (before, after), n = weighted_mean(replay.shares(later, [home.settings, chosen]), later)
    return Proposal(changes, float(before), float(after), n)


def propose_routing(home: Home, turned_down: frozenset[str] = frozenset()) -> Proposal:
    """The weights of the matrix whose choices did best among the earlier calls, scored on the later ones."""
    known = calls(home.views)
    earlier, later = _later_places(len(known))
    if len(later) < home.settings.gate_min_samples:
        return Proposal({}, None, None, len(later))
    candidates = _candidates(home.settings, _routing_changes(), "routing", turned_down)
    agrees = agreement(known, earlier, [policy for _, policy in candidates])
    tried = [known[place] for place in earlier]
    best = _best(shrunk_success(agrees, tried)[0], candidates)
    changes, chosen = candidates[best if _stands_out(agrees[best], agrees[0], tried) else 0]
    agrees = agreement(known, later, [home.settings, chosen])
    (before, after), n = shrunk_success(agrees, [known[place] for place in later])
    return Proposal(changes, float(before), float(after), int(n.min()))


class _Gate:
    """One part of the policy before the gate."""

    def __init__(self, home: Home, part: str) -> None:
        self.home, self.part = home, part
        self.journal = home.journal
        said = [*numbered_events(self.journal, "gated")]
        self.number = len(said) + 1
        self.said = [event for event in said if not event.erased and event.body["part"] == part]
        self.policies = policies(self.journal)

    def run(self) -> Gated:
        now = _digest(self.home.settings, self.part)
        last = self.said[-1] if self.said else None
        if last is not None and self._unfinished(last) and now in (last.body["against"], last.body["result"]):
            self._put_in_force(last)
            return _gated(last)
        evidence = self._evidence()
        for event in reversed(self.said):
            judged = (event.body["against"], event.body["result"] if event.body["decision"] == "accept" else None)
            if event.body["evidence"] == evidence and now in judged:
                return _gated(event, repeated=True)
        propose = {"memory": propose_memory, "routing": propose_routing}[self.part]
        return self._settle(propose(self.home, self._turned_down()), evidence, now)

    def _settle(self, proposal: Proposal, evidence: str, now: str) -> Gated:
        margin, min_samples = self.home.settings.gate_margin, self.home.settings.gate_min_samples
        before, after = proposal.before or 0.0, proposal.after or 0.0
        decision = decide(before, after, proposal.n, margin=margin, min_samples=min_samples)
        number, lineage = None, []
        if decision == "accept":
            metrics = {self.part: {"score": proposal.before, "n": proposal.n}}
            kept = keep(
                self.journal, self.home.settings, at=self.home.clock.now(), reason=f"in force before gate {self.number}",
                metrics=metrics,
            )  # fmt: skip
            number, lineage = kept.number + 1, [kept.event_id]
        body = {
            "number": self.number,
            "part": self.part,
            "decision": decision,
            "before": proposal.before,
            "after": proposal.after,
            "n": proposal.n,
            "proposed": proposal.changes,
            "margin": margin,
            "policy": number,
            "evidence": evidence,
            "against": now,
            "result": _digest(with_changes(self.home.settings, proposal.changes), self.part),
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

    def _put_in_force(self, event: Event) -> None:
        """What an accepted gate leaves to do: config.json, then the policy that says it is done."""
        changes = event.body["proposed"]
        changed = with_changes(self.home.settings, changes)
        write_config(self.home.folder, changes)
        snapshot(
            self.journal,
            policy_settings(changed),
            at=self.home.clock.now(),
            reason=f"accepted by gate {event.body['number']}",
            metrics={self.part: {"score": event.body["after"], "n": event.body["n"]}},
            lineage=[event.id],
        )
        self.home.settings = changed

    def _unfinished(self, event: Event) -> bool:
        return event.body["decision"] == "accept" and self._policy_of(event) is None

    def _policy_of(self, event: Event) -> Policy | None:
        """The policy that an accepted gate kept."""
        return next((each for each in self.policies if event.id in each.lineage), None)

    def _turned_down(self) -> frozenset[str]:
        """Digests of accepted policies that somebody rolled back from."""
        restored = [(each.number, each.parent or 0) for each in self.policies if each.is_rollback]
        accepted = [(event, each.number) for event in self.said if (each := self._policy_of(event)) is not None]
        return frozenset(
            event.body["result"]
            for event, number in accepted
            if any(parent < number < rollback for rollback, parent in restored)
        )

    def _evidence(self) -> str:
        """What the records of this part come to; another record, or another score of one, makes it another."""
        if self.part == "memory":
            records: list[Any] = [[need.seq, round(need.weight, 9)] for need in needs(self.home.views)]
        else:
            records = [[call.started, call.success] for call in calls(self.home.views)]
        rule = [self.home.settings.gate_margin, self.home.settings.gate_min_samples]
        return derived_event_id("evidence", self.part, encode(rule), encode(records))


def _gated(event: Event, *, repeated: bool = False) -> Gated:
    names = ("part", "decision", "before", "after", "n", "margin", "proposed", "policy")
    return Gated(**{name: event.body[name] for name in names}, repeated=repeated)


def _digest(settings: Settings, part: str) -> str:
    """The same for settings that agree in what this part judges."""
    values = policy_settings(settings)
    return derived_event_id("policy in force", encode([values[key] for key in PARTS[part]]))


def _memory_changes(settings: Settings) -> list[dict[str, Any]]:
    changes = []
    for name in LAW_NAMES:
        has_half_life = "half_life_days" in LAWS[name].parameters
        for half_life, mild in product(PRODUCT_HALF_LIVES_DAYS if has_half_life else (None,), MILD_THRESHOLDS):
            if mild <= settings.active_threshold:
                law: dict[str, Any] = {"decayLaw": name, "decayParams": {}, "mildThreshold": mild}
                changes.append(law if half_life is None else {**law, "halfLifeDays": half_life})
    return changes


def _routing_changes() -> list[dict[str, Any]]:
    pairs = product(SUCCESS_WEIGHTS, MATRIX_HALF_LIVES_DAYS)
    return [{"matrixSuccessWeight": weight, "matrixHalfLifeDays": half_life} for weight, half_life in pairs]


def _candidates(
    settings: Settings, proposals: Sequence[Mapping[str, Any]], part: str, turned_down: frozenset[str]
) -> list[tuple[dict[str, Any], Settings]]:
    """(changed settings, policy): the one in force first, then those proposed, with nothing in them that stays."""
    now = policy_settings(settings)
    found: list[tuple[dict[str, Any], Settings]] = [({}, settings)]
    for proposal in proposals:
        changes = {key: value for key, value in proposal.items() if now[key] != value}
        policy = with_changes(settings, changes)
        if changes and _digest(policy, part) not in turned_down:
            found.append((changes, policy))
    return found


def _best(scores: NDArray[np.float64], candidates: Sequence[tuple[dict[str, Any], Settings]]) -> int:
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


def _stands_out(chosen: NDArray[np.bool_], now: NDArray[np.bool_], asked: Sequence[Call]) -> bool:
    """Whether calls that only the chosen policy agrees with did better than those that only the one in force does."""
    success = np.array([call.success for call in asked], np.float64)
    ours, theirs = success[chosen & ~now], success[now & ~chosen]
    if not len(ours) or not len(theirs):
        return False
    # One success and one failure more, so that two calls alone are no proof.
    rate = (ours.sum() + theirs.sum() + 1.0) / (len(ours) + len(theirs) + 2.0)
    noise = math.sqrt(rate * (1.0 - rate) * (1.0 / len(ours) + 1.0 / len(theirs)))
    return bool(ours.mean() - theirs.mean() > GAIN_IN_STANDARD_ERRORS * noise)


def _most_records(views: Views) -> int:
    concepts = len(views.get(Axon).concepts)
    return max(FEWEST_RECORDS, min(MOST_RECORDS, MOST_SCORED // max(concepts, 1)))


def _halves(records: Sequence[T], most: int) -> tuple[list[T], list[T]]:
    """The earlier and the later half, each thinned to at most `most` records, spread evenly."""
    middle = len(records) // 2
    return _thinned(records[:middle], most), _thinned(records[middle:], most)


def _thinned(records: Sequence[T], most: int) -> list[T]:
    places = np.linspace(0, len(records) - 1, min(most, len(records))).round().astype(np.int64)
    return [records[place] for place in places.tolist()]


def _later_places(n: int) -> tuple[range, range]:
    """Places of the last calls before the middle and of the last ones after it."""
    middle = n // 2
    return range(max(0, middle - MOST_RECORDS), middle), range(max(middle, n - MOST_RECORDS), n)
