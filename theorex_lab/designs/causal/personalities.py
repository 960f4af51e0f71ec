"""Hold which personality is in force, and adapt it to outcomes.

A personality has five parameters. Attempts name the one under which they were made, so
that each is scored by what came of it. Outcomes that only an import tells do not count.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from theorex_lab.core.ids import check_agent, derived_event_id, new_event_id
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.designs.causal import FAILED, SUCCESS
from theorex_lab.designs.causal.capture import (
    PARAMETERS,
    at_most,
    checked_state,
    number_of,
    personality_key,
)
from theorex_lab.designs.causal.settings import causal_settings
from theorex_lab.journal.base import append_once
from theorex_lab.journal.columns import Names, Strings, Table
from theorex_lab.journal.event import Event, new_event
from theorex_lab.journal.view import View
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import TRUST

_KEY = lazy_pattern(r"\|".join(rf"{name}=([01]\.\d)" for name in PARAMETERS))
_MOST_HISTORY = 120
_FEWEST_OUTCOMES = 3
_FULL_OUTCOMES = 8
_RATE_WEIGHT = 0.75
_SCORE_WEIGHT = 0.25
_MOST_NUDGE = 0.1
_LEAST_NUDGE = 0.05
_MOST_NUDGED = 2
_MOST_CHANGE = 0.2
_LAST_OUTCOMES = 4
_MANY_FAILURES = 3


class PersonalityRecord(NamedTuple):
    """Hold what came of attempts under one personality.

    Attributes:
        success: How many succeeded.
        failed: How many failed.
        score: How well it does, 0..1; None before the third outcome.
    """

    success: int
    failed: int
    score: float | None


class Personalities(View):
    """Hold the states of the personality, and the outcomes under each.

    Attributes:
        states: The JSON of each state, in the order in which they were set.
        set_at: The seq of the event that set each.
        keys: The keys of the personalities that attempts name.
        sums: By key, how many succeeded and failed, and the sum of the scores.
        outcomes: Those that name a personality or a mutation: seq, failed, and whether
            they name a mutation.
    """

    name = "causal_personalities"
    code = 1
    kinds = ("attempt_closed", "personality")

    def __init__(self) -> None:
        super().__init__()
        self.states = Strings()
        self.set_at = Table(seq="i8")
        self.keys = Names()
        self.sums = Table(success="i8", failed="i8", score="f8")
        self.outcomes = Table(seq="i8", failed="?", mutated="?")

    def _personality(self, event: Event) -> None:
        if event.body["source"] == "import":
            return
        self.states.append(json.dumps(event.body["state"]))
        self.set_at.add(seq=event.seq)

    def _attempt_closed(self, event: Event) -> None:
        body = event.body
        status = body["outcome"]["status"]
        is_trusted = TRUST[body["source"]] >= TRUST["model"]
        if not is_trusted or status not in (SUCCESS, FAILED):
            return
        personality = body.get("personality")
        mutated = bool(body.get("mutation"))
        if personality or mutated:
            self.outcomes.add(
                seq=event.seq,
                failed=status == FAILED,
                mutated=mutated,
            )
        if personality:
            self._sum(personality["key"], status, body["outcome"]["score"] or 0.0)

    def _sum(self, key: str, status: str, score: float) -> None:
        """Add an outcome to those of a personality."""
        row = self.keys.number(key)
        is_new = row == len(self.sums)
        if is_new:
            self.sums.add()
        n_with_status = self.sums[status][row] + 1
        sum_of_scores = self.sums["score"][row] + score
        # The columns have the names of the statuses.
        self.sums.put(row, **{status: n_with_status, "score": sum_of_scores})

    def record(self, row: int) -> PersonalityRecord:
        """Return what came of the personality in a row of `sums`."""
        success = int(self.sums["success"][row])
        failed = int(self.sums["failed"][row])
        n_outcomes = success + failed
        if n_outcomes < _FEWEST_OUTCOMES:
            return PersonalityRecord(success, failed, None)
        rate = (success + 1) / (n_outcomes + 2)
        mean_score = float(self.sums["score"][row]) / n_outcomes
        certainty = min(1.0, n_outcomes / _FULL_OUTCOMES)
        score = _RATE_WEIGHT * rate
        score += _SCORE_WEIGHT * mean_score * certainty
        return PersonalityRecord(success, failed, score)


def current_personality(home: Home) -> dict[str, float]:
    """Return the parameters as they were set last; the defaults where they never were."""
    with home.views.reading(Personalities) as view:
        n_states = len(view.states)
        state = json.loads(view.states[n_states - 1]) if n_states else {}
    # A journal may hold what another release, or an import, took for a parameter.
    parameters = {}
    for name in PARAMETERS:
        value = number_of(state, name)
        if value is not None:
            parameters[name] = value
    return checked_state(parameters)


def personality(home: Home) -> dict[str, Any]:
    """Return the personality as it is now, and what came of each so far.

    Returns:
        state, key, statistics {key: {success, failed, score}}, and history, the last
        120 states.
    """
    with home.views.reading(Personalities) as view:
        statistics = {}
        for row, key in enumerate(view.keys):
            record = view.record(row)
            statistics[key] = record._asdict()
        texts = list(view.states)
    last_texts = texts[-_MOST_HISTORY:]
    state = current_personality(home)
    return {
        "state": state,
        "key": personality_key(state),
        "statistics": statistics,
        "history": [json.loads(text) for text in last_texts],
    }


def set_personality(
    home: Home,
    state: Mapping[str, Any],
    why: str = "set by hand",
    *,
    agent: str = "main",
    outcome_ids: Sequence[str] = (),
) -> dict[str, Any]:
    """Set parameters of the personality; the others stay.

    Args:
        home: Where it is kept.
        state: The parameters that are set, 0 to 1 each.
        why: Why they are set.
        agent: Who sets them.
        outcome_ids: Ids of the outcomes that it rests on. Nothing is set a second time
            for the last of them.

    Returns:
        As `personality` returns it.

    Raises:
        InvalidInput: As `checked_state` raises it.
    """
    now = home.clock.now()
    event_id = new_event_id(now)
    if outcome_ids:
        event_id = derived_event_id("personality", outcome_ids[-1])
    present = current_personality(home)
    whole_state = checked_state({**present, **state})
    event = new_event(
        "personality",
        {
            "state": whole_state,
            "why": why,
            "source": "agent",
            "project": home.project,
        },
        agent=check_agent(agent),
        lineage=outcome_ids,
        at=now,
        event_id=event_id,
    )
    append_once(home.journal, [event])
    return personality(home)


def adapt_personality(
    home: Home, *, drift_enabled: bool = False, seed: int = 0, agent: str = "main"
) -> dict[str, Any]:
    """Adapt the personality to the outcomes since it was set last.

    Up to two parameters go by up to .1 towards the personality that did best. Where
    three of the last four outcomes failed, or the last three mutations, it becomes more
    rigorous and takes less risk. Under drift one parameter, which is drawn, changes by
    up to .2. No parameter changes by more. Without new outcomes nothing changes.

    Args:
        home: Where it is kept.
        drift_enabled: Whether drift is on; the settings may say so too.
        seed: Of the draw.
        agent: Who adapts it.

    Returns:
        As `personality` returns it.
    """
    before = personality(home)
    recent = _recent_outcomes(home)
    nudges = _changes_towards_best(before)
    reasons = ["towards the personality that did best"] if nudges else []
    changes = dict.fromkeys(PARAMETERS, 0.0)
    changes.update(nudges)
    if recent.many_failed:
        changes["rigor"] += _MOST_NUDGE
        changes["risk_tolerance"] -= _MOST_NUDGE
        reasons.append("what was tried last failed")
    if drift_enabled or causal_settings(home).drift:
        generator = np.random.default_rng([seed, recent.n_states])
        names = list(PARAMETERS)
        name = str(generator.choice(names))
        drawn = generator.uniform(-_MOST_CHANGE, _MOST_CHANGE)
        changes[name] += float(drawn)
        reasons.append("drift")
    changed = {}
    for name, value in before["state"].items():
        change = at_most(changes[name], _MOST_CHANGE)
        changed[name] = round(value + change, 6)
    state = checked_state(changed)
    if not recent.seqs or state == before["state"]:
        return before
    outcomes = home.journal.read(seqs=recent.seqs[-_MOST_HISTORY:])
    return set_personality(
        home,
        state,
        "; ".join(reasons),
        agent=agent,
        outcome_ids=[outcome.id for outcome in outcomes],
    )


class _RecentOutcomes(NamedTuple):
    """Hold the outcomes since the personality was set last.

    Attributes:
        seqs: Their seqs.
        many_failed: Whether three of the last four failed, or the last three mutations.
        n_states: How often the personality was set.
    """

    seqs: list[int]
    many_failed: bool
    n_states: int


def _recent_outcomes(home: Home) -> _RecentOutcomes:
    """Return the outcomes since the personality was set last."""
    with home.views.reading(Personalities) as view:
        n_states = len(view.set_at)
        last_set = int(view.set_at["seq"][-1]) if n_states else 0
        is_recent = view.outcomes["seq"] > last_set
        seqs = view.outcomes["seq"][is_recent]
        failed = view.outcomes["failed"][is_recent]
        mutated = view.outcomes["mutated"][is_recent]
    last_failed = failed[-_LAST_OUTCOMES:]
    failed_mutations = failed[mutated]
    last_failed_mutations = failed_mutations[-_MANY_FAILURES:]
    most_failures = max(int(last_failed.sum()), int(last_failed_mutations.sum()))
    return _RecentOutcomes(
        seqs=seqs.tolist(),
        many_failed=most_failures >= _MANY_FAILURES,
        n_states=n_states,
    )


def _changes_towards_best(present: Mapping[str, Any]) -> dict[str, float]:
    """Return by what the parameters go towards the best personality.

    Nothing changes where the present one does as well.
    """
    scores = {}
    for key, record in present["statistics"].items():
        if record["score"] is not None:
            scores[key] = record["score"]
    best = max(scores, key=lambda key: scores[key], default="")
    wanted = _KEY.fullmatch(best)
    if wanted is None or scores[best] <= scores.get(present["key"], 0.5):
        return {}
    distances = {}
    for name, value in zip(PARAMETERS, wanted.groups(), strict=True):
        distance = float(value) - present["state"][name]
        distances[name] = round(distance, 6)
    farthest = sorted(distances, key=lambda name: -abs(distances[name]))
    changes = {}
    for name in farthest[:_MOST_NUDGED]:
        distance = distances[name]
        if abs(distance) >= _LEAST_NUDGE:
            changes[name] = at_most(distance, _MOST_NUDGE)
    return changes
