"""The gate: a policy proposed from earlier outcomes replaces the one in force only if it did better on later ones.

Proposals come from a fixed set, compared on the earlier half of what was recorded; the later half, which no proposal has
seen, decides. What gains on the earlier half by no more than chance is not proposed. The parts of the policy, those of
each design, are judged apart, since their scores mean different things.
"""

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from theorex_lab.design import PolicyPart, Proposal
from theorex_lab.errors import InvalidInput
from theorex_lab.evolution import policy as store
from theorex_lab.evolution.policy import KeptPolicy, digest, policy_settings, snapshot, with_changes, write_config
from theorex_lab.home import Home
from theorex_lab.ids import SCANNER, derived_event_id
from theorex_lab.journal.event import Event, encode, new_event

GateVerdict = Literal["accept", "refuse", "hold"]

MARGIN, MIN_SAMPLES = 0.02, 5
TOLERANCE = 1e-9


def decide(before: float, after: float, n: int, *, margin: float = MARGIN,
           min_samples: int = MIN_SAMPLES) -> GateVerdict:  # fmt: skip
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
    decision: GateVerdict
    before: float | None
    after: float | None
    n: int
    margin: float
    proposed: dict[str, Any]
    policy: int | None
    repeated: bool = False

    to_dict = asdict  # as JSON holds it


def gate(home: Home) -> list[Gated]:
    """Judge a proposal for each part, and put what is accepted in force; the home has the settings as they are then.

    The same records and the same policy are judged once: repeating it changes nothing. Accepting keeps the policy in
    force, appends what the gate said, replaces config.json, and keeps the new policy; a gate that was killed on the way
    is finished by the next one. What a rollback undid is not proposed again. Raises ConfigError, StorageError.
    """
    with store.policy_lock(home.folder):
        return [_Gate(home, name, part).run() for name, part in parts_of(home).items()]


def score_policy(home: Home) -> dict[str, dict[str, float | int]]:
    """Scores of the settings on the later half of what was recorded, by part: {memory: {score, n}}."""
    return {name: dict(part.score(home)) for name, part in parts_of(home).items()}


def parts_of(home: Home) -> dict[str, PolicyPart]:
    """What the gate judges: the parts of each design.

    Raises InvalidInput where two parts have one name, or a part has settings that no policy keeps.
    """
    named = [policy for design in home.designs for policy in design.policies.items()]
    parts, kept = dict(named), policy_settings(home.settings)
    if len(parts) < len(named):
        raise InvalidInput(f"got parts of the policy named {[name for name, _ in named]}; allowed is one of each name")
    for name, part in parts.items():
        if unknown := [key for key in part.settings if key not in kept]:
            raise InvalidInput(f"the part {name!r} has the setting {unknown[0]!r}; allowed are {', '.join(kept)}")
    return parts


class _Gate:
    """One part of the policy before the gate."""

    def __init__(self, home: Home, name: str, part: PolicyPart) -> None:
        self.home, self.name, self.part, self.journal = home, name, part, home.journal
        said = [*store.numbered_events(self.journal, "gated")]
        self.number = len(said) + 1
        self.said = [event for event in said if not event.erased and event.body["part"] == name]
        self.policies = store.policies(self.journal)

    def run(self) -> Gated:
        now = digest(self.home.settings, self.part.settings)
        last = self.said[-1] if self.said else None
        unfinished = last is not None and last.body["decision"] == "accept" and self._policy_of(last) is None
        if last is not None and unfinished and now in (last.body["against"], last.body["result"]):
            self._put_in_force(last)
            return _gated(last)
        # What the records of this part come to; another record, or another score of one, makes it another.
        rule = encode([self.home.settings.gate_margin, self.home.settings.gate_min_samples])
        evidence = derived_event_id("evidence", self.name, rule, encode(self.part.evidence(self.home)))
        for event in reversed(self.said):
            judged = (event.body["against"], event.body["result"] if event.body["decision"] == "accept" else None)
            if event.body["evidence"] == evidence and now in judged:
                return _gated(event, repeated=True)
        return self._settle(self._proposal(), evidence, now)

    def _proposal(self) -> Proposal:
        proposal = self.part.propose(self.home, self._turned_down())
        if others := proposal.changes.keys() - self.part.settings:
            allowed = ", ".join(self.part.settings)
            raise InvalidInput(f"the part {self.name!r} proposed {sorted(others)}; allowed are {allowed}")
        return proposal

    def _settle(self, proposal: Proposal, evidence: str, now: str) -> Gated:
        margin, min_samples = self.home.settings.gate_margin, self.home.settings.gate_min_samples
        before, after = proposal.before or 0.0, proposal.after or 0.0
        decision = decide(before, after, proposal.n, margin=margin, min_samples=min_samples)
        number, lineage, at = None, [], self.home.clock.now()
        if decision == "accept":
            metrics = {self.name: {"score": proposal.before, "n": proposal.n}}
            reason = f"in force before gate {self.number}"
            kept = store.keep(self.journal, self.home.settings, at=at, reason=reason, metrics=metrics)
            number, lineage = kept.number + 1, [kept.event_id]
        body = {
            "number": self.number, "part": self.name, "decision": decision, "before": proposal.before,
            "after": proposal.after, "n": proposal.n, "proposed": proposal.changes, "margin": margin, "policy": number,
            "evidence": evidence, "against": now,
            "result": digest(with_changes(self.home.settings, proposal.changes), self.part.settings)}  # fmt: skip
        made, at = derived_event_id("gated", self.number), self.home.clock.now()
        event = new_event("gated", body, agent=SCANNER, at=at, lineage=lineage, event_id=made)
        self.journal.append([event], allow_future=True)
        if decision == "accept":
            self._put_in_force(event)
        return _gated(event)

    def _put_in_force(self, event: Event) -> None:
        """What an accepted gate leaves to do: config.json, then the policy that says it is done."""
        changes, reason = event.body["proposed"], f"accepted by gate {event.body['number']}"
        changed = with_changes(self.home.settings, changes)
        metrics = {"score": event.body["after"], "n": event.body["n"]}
        write_config(self.home.folder, changes)
        now, at = policy_settings(changed), self.home.clock.now()
        snapshot(self.journal, now, at=at, reason=reason, metrics={self.name: metrics}, lineage=[event.id])
        self.home.settings = changed

    def _policy_of(self, event: Event) -> KeptPolicy | None:
        """The policy that an accepted gate kept."""
        return next((policy for policy in self.policies if event.id in policy.lineage), None)

    def _turned_down(self) -> frozenset[str]:
        """Digests of accepted policies that somebody rolled back from."""
        restored = [(policy.number, policy.parent or 0) for policy in self.policies if policy.is_rollback]
        accepted = [(event, policy.number) for event in self.said if (policy := self._policy_of(event)) is not None]
        undone = (event for event, number in accepted if any(first < number < last for last, first in restored))
        return frozenset(event.body["result"] for event in undone)


def _gated(event: Event, *, repeated: bool = False) -> Gated:
    return Gated(**{field.name: event.body[field.name] for field in fields(Gated)[:-1]}, repeated=repeated)
