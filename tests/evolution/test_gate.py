"""Policies and the gate: kept whole, restored, and replaced only by one that did better
on later records.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import DAY, NOW, observation
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab import Event, FixedClock, Lab, ObservationEntry, Settings
from theorex_lab.core.ids import concept_id
from theorex_lab.core.settings import load_settings
from theorex_lab.designs.theorex.upkeep import MemoryReplay, needs, weighted_mean
from theorex_lab.evolution import acceptance as gate_module
from theorex_lab.evolution.acceptance import (
    POLICY_SETTINGS,
    AcceptanceResult,
    decide,
    gate,
    keep,
    policies,
    policy_settings,
    rollback,
    score_policy,
    snapshot,
)
from theorex_lab.evolution.outcomes import outcome_event

TOKENS = 260  # of the context: some twenty concepts
scores = st.just(0.0) | st.floats(1e-9, 1.0)


# The decision


@pytest.mark.parametrize(
    ("before", "after", "n", "verdict"),
    [
        (0.80, 0.816, 5, "accept"),
        (0.80, 0.8159, 5, "refuse"),
        (0.50, 0.51, 5, "accept"),
        (0.50, 0.31, 4, "hold"),
        (0.20, 0.90, 4, "hold"),
        (0.00, 0.00, 5, "refuse"),
        (0.00, 1e-12, 5, "accept"),
        (1e-12, 0.00, 5, "refuse"),
        (0.90, 0.90, 5, "refuse"),
    ],
)
def test_the_gate_is_relative_and_holds_on_few_samples(
    before: float, after: float, n: int, verdict: str
) -> None:
    assert decide(before, after, n) == verdict


@given(scores, scores, scores, st.integers(0, 12))
def test_what_is_accepted_stays_accepted_when_it_does_better_still(
    a: float, b: float, more: float, n: int
) -> None:
    verdict = decide(a, b, n)
    assert (verdict == "hold") == (n < 5)
    if verdict == "accept":
        assert b > a
        assert decide(a, b + more, n) == "accept"
    assert decide(a, a * 1.02, 5) == ("accept" if a else "refuse")


# Simulated journals: day after day topics are talked about, and an outcome needs some
# of them


def _outcome(labels: Sequence[str], at: int, *, success: bool = True) -> Event:
    return outcome_event(
        agent="main",
        decision="went on",
        result="as it was",
        success=success,
        settings=Settings(),
        at=at,
        concept_ids=[concept_id(label) for label in labels],
    )


def _history(rng: np.random.Generator, mentions: int) -> Iterator[Event]:
    """Forty old topics, each talked about so many times half a year ago, and later now
    and then for another reason.
    """
    for label in range(40):
        for _ in range(mentions):
            yield observation(
                "old",
                labels=[f"old topic {label}"],
                at=NOW - int(rng.integers(150, 200)) * DAY,
            )


def _days(
    rng: np.random.Generator, need: Callable[[int], str], days: int
) -> Iterator[Event]:
    """Each day two new topics come up, and the next day an outcome needs what `need`
    says of that day.
    """
    for day in range(days):
        at = NOW - (days - day) * DAY
        for topic in range(2):
            yield observation("new", labels=[f"new topic {day} {topic}"], at=at)
        # A third of old talk keeps the old topics in the list of whoever counts
        # mentions only.
        if day % 3 == 0:
            yield observation(
                "old", labels=[f"old topic {int(rng.integers(40))}"], at=at
            )
        wanted = [f"new topic {day} {topic}" for topic in range(2)]
        if need(day) == "old":
            wanted = [f"old topic {label}" for label in rng.integers(0, 12, 2).tolist()]
        yield _outcome(wanted, at + DAY // 2, success=bool(rng.random() < 0.7))


def _new(_: int) -> str:
    return "new"


def _old(_: int) -> str:
    return "old"


def _lab(
    home: Path,
    need: Callable[[int], str],
    *,
    days: int = 24,
    mentions: int = 20,
    **settings: Any,
) -> Lab:
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.json").write_text(json.dumps({"contextTokens": TOKENS, **settings}))
    lab = Lab(home, clock=FixedClock(NOW))
    rng = np.random.default_rng(20260301)
    lab.journal.append([*_history(rng, mentions), *_days(rng, need, days)])
    return lab


def _memory(lab: Lab) -> AcceptanceResult:
    said = gate(lab.home)
    return next(each for each in said if each.part == "memory")


def test_a_policy_that_serves_later_outcomes_better_is_accepted(tmp_path: Path) -> None:
    """What is needed is of yesterday, and the half-life of the settings is 120 days:
    old talk fills the context.
    """
    with _lab(tmp_path, _new, halfLifeDays=120.0, fusion="reciprocal_rank") as lab:
        before = policy_settings(lab.settings)
        said = _memory(lab)
        assert said.decision == "accept"
        assert said.before is not None
        assert said.after is not None
        assert (said.before, said.n) == (0.0, 12)
        assert said.after > 0.8
        assert (
            said.proposed.get("halfLifeDays", 0) <= 30
            or said.proposed["decayLaw"] != "product"
        )
        kept = policies(lab.journal)
        assert [each.number for each in kept] == [1, 2]
        assert said.policy == 2
        assert (kept[0].settings, kept[1].settings) == (
            before,
            policy_settings(lab.settings),
        )
        assert kept[0].metrics == {"memory": {"score": said.before, "n": 12}}
        assert kept[1].metrics == {"memory": {"score": said.after, "n": 12}}
        on_disk = load_settings(lab.config_file)
        assert policy_settings(on_disk) == kept[1].settings
        assert on_disk.fusion == "reciprocal_rank"
        assert {
            event.body["decision"] for event in lab.journal.tail(0, kinds=["gated"])
        } == {"accept"}
        assert lab.verify().ok


def test_a_half_life_too_short_is_found_out_too(tmp_path: Path) -> None:
    """What is needed was talked about twenty times half a year ago; after a half-life
    of one day it is forgotten.
    """
    with _lab(tmp_path, _old, halfLifeDays=1.0) as lab:
        said = _memory(lab)
        assert said.decision == "accept"
        assert said.before is not None
        assert said.after is not None
        assert said.after > 3 * max(said.before, 0.01)


def test_a_policy_that_the_later_outcomes_speak_against_is_refused(
    tmp_path: Path,
) -> None:
    """The earlier outcomes needed what was new, so that forgetting fast is proposed;
    the later ones need what is old.
    """
    with _lab(
        tmp_path, lambda day: "new" if day < 12 else "old", halfLifeDays=120.0
    ) as lab:
        config = lab.config_file.read_bytes()
        said = _memory(lab)
        assert said.decision == "refuse"
        assert said.before is not None
        assert said.after is not None
        assert said.after < 0.6 * said.before
        assert said.proposed
        assert said.policy is None
        assert lab.config_file.read_bytes() == config
        assert policies(lab.journal) == []


@pytest.mark.parametrize("days", [0, 1, 8])
def test_too_few_outcomes_hold_the_policy(tmp_path: Path, days: int) -> None:
    with _lab(tmp_path, _new, days=days, halfLifeDays=120.0) as lab:
        config = lab.config_file.read_bytes()
        said = _memory(lab)
        assert (said.decision, said.n, said.proposed) == ("hold", (days + 1) // 2, {})
        assert (said.before, said.after) == (None, None)
        assert lab.config_file.read_bytes() == config


def test_outcomes_whose_concepts_nobody_knew_do_not_count(tmp_path: Path) -> None:
    with _lab(tmp_path, _new, days=8, halfLifeDays=120.0) as lab:
        lab.journal.append([_outcome([f"never heard {n}"], NOW) for n in range(8)])
        said = _memory(lab)
        assert (said.decision, said.n) == ("hold", 0)


def test_the_gate_repeated_changes_nothing_and_judges_anew_when_records_come(
    tmp_path: Path,
) -> None:
    with _lab(tmp_path, _new, halfLifeDays=120.0) as lab:
        first = _memory(lab)
        seq = lab.journal.last_seq()
        config = lab.config_file.read_bytes()
        again = _memory(lab)
        assert again.repeated
        assert (again.decision, again.after) == (first.decision, first.after)
        assert (lab.journal.last_seq(), lab.config_file.read_bytes()) == (seq, config)
        lab.journal.append([_outcome(["new topic 23 0"], NOW)])
        third = _memory(lab)
        assert not third.repeated
        assert third.decision == "refuse"
        assert third.proposed == {}, (
            "the policy in force is the best of those that may be proposed"
        )


def test_what_was_rolled_back_is_not_proposed_again(tmp_path: Path) -> None:
    with _lab(tmp_path, _new, halfLifeDays=120.0) as lab:
        accepted = _memory(lab)
        turned_down = policy_settings(lab.settings)
        _, lab.settings = rollback(lab.journal, lab.settings, lab.folder, 1, at=NOW)
        assert lab.settings.half_life_days == 120.0
        assert _memory(lab).repeated, "the same records do not undo it"
        lab.journal.append([_outcome(["new topic 23 0"], NOW)])
        later = _memory(lab)
        assert not later.repeated
        assert later.proposed != accepted.proposed
        assert policy_settings(lab.settings) != turned_down


def test_an_accepted_policy_whose_process_died_is_put_in_force_by_the_next_gate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with _lab(tmp_path, _new, halfLifeDays=120.0) as lab:
        for name in ("write_config", "snapshot"):
            monkeypatch.setattr(gate_module, name, dies)
            with pytest.raises(KeyboardInterrupt):
                _memory(lab)
            monkeypatch.undo()
            lab.settings = load_settings(lab.config_file)
        said = _memory(lab)
        assert (said.decision, said.policy, said.repeated) == ("accept", 2, False)
        kept = policies(lab.journal)
        assert [each.number for each in kept] == [1, 2]
        assert kept[1].settings == policy_settings(load_settings(lab.config_file))
        assert _memory(lab).repeated


def test_settings_changed_by_hand_after_a_death_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with _lab(tmp_path, _new, halfLifeDays=120.0) as lab:
        monkeypatch.setattr(gate_module, "write_config", dies)
        with pytest.raises(KeyboardInterrupt):
            _memory(lab)
        monkeypatch.undo()
        lab.config_file.write_text(
            json.dumps(
                {"contextTokens": TOKENS, "decayLaw": "recency", "halfLifeDays": 3.0}
            )
        )
        lab.settings = load_settings(lab.config_file)
        _memory(lab)
        assert (lab.settings.decay_law, lab.settings.half_life_days) == ("recency", 3.0)


# What the score of memory measures


def test_only_what_the_journal_held_before_an_outcome_counts(tmp_path: Path) -> None:
    with Lab(tmp_path, clock=FixedClock(NOW)) as lab:
        lab.journal.append(
            [
                _outcome(["cache"], NOW - DAY),
                observation("late", labels=["cache"], at=NOW - 2 * DAY),
                _outcome(["cache", "queue"], NOW),
                observation("late", labels=["queue"], at=NOW - 2 * DAY),
            ]
        )
        needed = needs(lab.views)
        found = MemoryReplay(lab.journal, context_tokens=2_000).scores(
            needed, [Settings()]
        )
        assert np.isnan(found[0, 0]), (
            "the concept was written later, though it is dated earlier"
        )
        assert found[0, 1] == 1.0, "of the concepts known by then"


def test_a_policy_that_lists_everything_gains_nothing_where_the_budget_is_spent(
    tmp_path: Path,
) -> None:
    with _lab(tmp_path, _new) as lab:
        listing = [lab.settings.replaced(mild_threshold=bound) for bound in (0.3, 0.0)]
        forgetting = lab.settings.replaced(half_life_days=0.05)
        replay = MemoryReplay(lab.journal, context_tokens=TOKENS)
        needed = needs(lab.views)
        mean, n = weighted_mean(replay.scores(needed, [*listing, forgetting]), needed)
        assert n == 24
        assert mean[1] < mean[0] + 0.05
        assert mean[2] == 0.0, "what everything was forgotten by serves nobody"


def test_what_the_policy_in_force_took_away_is_there_for_the_others(
    tmp_path: Path,
) -> None:
    with Lab(
        tmp_path, clock=FixedClock(NOW), settings=Settings(half_life_days=1.0)
    ) as lab:
        lab.journal.append(
            [
                observation(label, labels=[label], at=NOW - 40 * DAY)
                for label in ("cache", "queue")
            ]
        )
        lab.journal.append(
            [observation("both", labels=["cache", "queue"], at=NOW - 40 * DAY)]
        )
        assert lab.theorex.prune() == 2
        lab.theorex.scan()
        lab.journal.append([_outcome(["cache"], NOW)])
        asked = [lab.settings, lab.settings.replaced(half_life_days=100.0)]
        found = MemoryReplay(lab.journal, context_tokens=2_000).scores(
            needs(lab.views), asked
        )
        assert found[:, 0].tolist() == [0.0, 0.5], "second after its equal"


def test_a_success_weighs_more_than_a_failure(tmp_path: Path) -> None:
    with Lab(tmp_path, clock=FixedClock(NOW)) as lab:
        lab.journal.append([observation("x", labels=["cache", "queue"])])
        lab.journal.append(
            [_outcome(["cache"], NOW), _outcome(["queue"], NOW, success=False)]
        )
        needed = needs(lab.views)
        assert [need.weight for need in needed] == [0.8, 0.5]
        mean, _ = weighted_mean(np.array([[1.0, 0.0]]), needed)
        assert mean[0] == pytest.approx(0.8 / 1.3)


def test_erased_outcomes_are_left_out(tmp_path: Path) -> None:
    with Lab(tmp_path, clock=FixedClock(NOW)) as lab:
        event = _outcome(["cache"], NOW)
        lab.journal.append([observation("x", labels=["cache"]), event])
        lab.erase(ids=[event.id])
        assert needs(lab.views) == []
        assert score_policy(lab.home)["memory"] == {"score": 0.0, "n": 0}


# Policies


def test_snapshots_are_numbered_and_hold_the_whole_policy(tmp_path: Path) -> None:
    with Lab(tmp_path, clock=FixedClock(NOW)) as lab:
        first = snapshot(
            lab.journal,
            policy_settings(lab.settings),
            at=NOW,
            reason="first",
            metrics={"memory": 1},
        )
        changed = lab.settings.replaced(half_life_days=3.0)
        second = snapshot(lab.journal, policy_settings(changed), at=NOW)
        assert policies(lab.journal) == [first, second]
        assert [(each.number, each.parent) for each in (first, second)] == [
            (1, None),
            (2, 1),
        ]
        assert len(first.settings) == len(POLICY_SETTINGS)
        assert (first.settings["halfLifeDays"], second.settings["halfLifeDays"]) == (
            14.0,
            3.0,
        )
        assert (first.reason, first.metrics) == ("first", {"memory": 1})
        assert second.lineage == (first.event_id,)
        assert keep(lab.journal, changed, at=NOW, reason="again") == second
        assert keep(lab.journal, lab.settings, at=NOW, reason="changed").number == 3


def test_a_number_that_another_process_takes_is_not_given_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        Lab(tmp_path, clock=FixedClock(NOW)) as lab,
        Lab(tmp_path, clock=FixedClock(NOW)) as other,
    ):
        append = lab.journal.append

        def late(events: Sequence[Event], **more: Any) -> list[int]:
            monkeypatch.undo()
            snapshot(
                other.journal, policy_settings(other.settings), at=NOW, reason="theirs"
            )
            return append(events, **more)

        monkeypatch.setattr(lab.journal, "append", late)
        mine = snapshot(
            lab.journal, policy_settings(lab.settings), at=NOW, reason="mine"
        )
        assert [(each.number, each.reason) for each in policies(lab.journal)] == [
            (1, "theirs"),
            (2, "mine"),
        ]
        assert mine.number == 2


def test_more_policies_than_are_read_at_once(tmp_path: Path) -> None:
    with Lab(tmp_path, clock=FixedClock(NOW)) as lab:
        for number in range(1, 67):
            snapshot(lab.journal, {"halfLifeDays": float(number)}, at=NOW)
        assert [each.number for each in policies(lab.journal)] == [*range(1, 67)]


def test_a_rollback_restores_the_policy_and_nothing_else(tmp_path: Path) -> None:
    with Lab(tmp_path, clock=FixedClock(NOW)) as lab:
        first = snapshot(
            lab.journal,
            policy_settings(lab.settings),
            at=NOW,
            metrics={"memory": {"score": 0.5, "n": 9}},
        )
        lab.config_file.write_text(
            json.dumps(
                {
                    "half_life_days": 3.0,
                    "mildThreshold": 0.2,
                    "contextTokens": 900,
                    "acceptanceMargin": 0.1,
                }
            )
        )
        settings = load_settings(lab.config_file)
        kept, restored = rollback(lab.journal, settings, lab.folder, 1, at=NOW)
        assert (
            policy_settings(restored)
            == policy_settings(load_settings(lab.config_file))
            == first.settings
        )
        assert json.loads(lab.config_file.read_text()) == {
            "acceptanceMargin": 0.1,
            "halfLifeDays": 14.0,
            "mildThreshold": 0.3,
            "contextTokens": 500,
        }
        assert not restored.is_set("roles")
        numbers = [
            (each.number, each.parent, each.reason) for each in policies(lab.journal)
        ]
        assert numbers == [
            (1, None, ""),
            (2, 1, "in force before the rollback to 1"),
            (3, 1, "rolled back to 1"),
        ]
        assert kept.metrics == first.metrics
        assert rollback(lab.journal, restored, lab.folder, 1, at=NOW)[0] == kept, (
            "repeating it changes nothing"
        )
        undone, back = rollback(lab.journal, restored, lab.folder, 2, at=NOW)
        assert undone.number == 4
        assert policy_settings(back) == policy_settings(settings)


def test_a_rollback_that_died_after_the_config_is_finished_by_repeating_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Lab(tmp_path, clock=FixedClock(NOW)) as lab:
        snapshot(lab.journal, policy_settings(lab.settings), at=NOW)
        lab.config_file.write_text('{"halfLifeDays": 3.0}')
        from theorex_lab.evolution import acceptance as policy_module

        real = policy_module.snapshot

        def dies(journal: Any, settings: Any, **more: Any) -> Any:
            if more["reason"].startswith("rolled back"):
                raise KeyboardInterrupt
            return real(journal, settings, **more)

        monkeypatch.setattr(policy_module, "snapshot", dies)
        with pytest.raises(KeyboardInterrupt):
            rollback(lab.journal, load_settings(lab.config_file), lab.folder, 1, at=NOW)
        monkeypatch.undo()
        rollback(lab.journal, load_settings(lab.config_file), lab.folder, 1, at=NOW)
        assert [each.reason for each in policies(lab.journal)][1:] == [
            "in force before the rollback to 1",
            "rolled back to 1",
        ]


def test_entries_of_text_are_needs_too(tmp_path: Path) -> None:
    """From the text of a decision to the concepts that it needs, with nothing handed
    in.
    """
    with Lab(tmp_path, clock=FixedClock(NOW)) as lab:
        lab.write_all(
            [ObservationEntry("Postgres keeps the ledger", "main", NOW - DAY)]
        )
        lab.journal.append(
            [
                outcome_event(
                    agent="main",
                    decision="move Postgres",
                    result="done",
                    success=True,
                    settings=lab.settings,
                    at=NOW,
                )
            ]
        )
        needed = needs(lab.views)
        assert concept_id("postgres") in needed[0].concepts
        assert (
            MemoryReplay(lab.journal, context_tokens=2_000).scores(
                needed, [lab.settings]
            )[0, 0]
            == 1.0
        )


@pytest.mark.parametrize("seed", range(4))
def test_needs_that_come_at_random_leave_the_law_as_it_is(
    tmp_path: Path, seed: int
) -> None:
    with Lab(
        tmp_path, clock=FixedClock(NOW), settings=Settings(context_tokens=TOKENS)
    ) as lab:
        rng = np.random.default_rng(seed)
        for day in range(24, 0, -1):
            labels = [f"topic {n}" for n in rng.integers(0, 60, 6)]
            wanted = [f"topic {n}" for n in rng.integers(0, 60, 3)]
            at = NOW - day * DAY
            lab.journal.append(
                [
                    observation("x", labels=list(set(labels)), at=at),
                    _outcome(wanted, at),
                ]
            )
        said = _memory(lab)
        assert (said.decision, said.proposed) == ("refuse", {})
        assert not lab.config_file.exists()
