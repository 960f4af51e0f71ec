"""What the gate, policies, the maintenance and its schedule refuse, and that nothing is
changed then.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, Run

from theorex_lab import ConfigError, FixedClock, InvalidInput, Lab, StorageError
from theorex_lab.core.settings import load_settings
from theorex_lab.evolution.acceptance import (
    decide,
    policies,
    policy_settings,
    rollback,
    snapshot,
    with_changes,
)


@pytest.mark.parametrize(
    "wrong",
    [
        {"before": -0.1},
        {"after": -0.1},
        {"before": math.nan},
        {"after": math.inf},
        {"n": -1},
        {"margin": -0.02},
        {"margin": math.nan},
        {"min_samples": 0},
    ],
)
def test_the_gate_refuses_what_is_no_score(wrong: dict[str, Any]) -> None:
    given = {"before": 0.5, "after": 0.6, "n": 9, **wrong}
    with pytest.raises(
        InvalidInput, match=f"{next(iter(wrong))}.*allowed are finite numbers from 0"
    ):
        decide(**given)


@pytest.mark.parametrize("number", [0, -1, 2, 99])
def test_a_rollback_to_a_policy_that_there_is_not(tmp_path: Path, number: int) -> None:
    with Lab(tmp_path, clock=FixedClock(NOW)) as lab:
        with pytest.raises(
            InvalidInput, match=f"got the policy number {number}; allowed are none yet"
        ):
            rollback(lab.journal, lab.settings, lab.folder, number, at=NOW)
        snapshot(lab.journal, policy_settings(lab.settings), at=NOW)
        with pytest.raises(
            InvalidInput, match=f"got the policy number {number}; allowed are 1$"
        ):
            rollback(lab.journal, lab.settings, lab.folder, number, at=NOW)
        assert len(policies(lab.journal)) == 1
        assert not lab.config_file.exists()


def test_a_rollback_that_does_not_fit_the_other_settings_changes_nothing(
    tmp_path: Path,
) -> None:
    """The roles of the policy prefer a model that was taken out of the settings since."""
    with Lab(tmp_path, clock=FixedClock(NOW)) as lab:
        models = {name: {"tier": "small"} for name in ("old", "new")}
        role = {
            "agentId": "main",
            "role": "orchestrator",
            "capabilities": ["general"],
            "modelPreference": "old",
        }
        lab.config_file.write_text(json.dumps({"models": models, "roles": [role]}))
        snapshot(lab.journal, policy_settings(load_settings(lab.config_file)), at=NOW)
        lab.config_file.write_text(
            json.dumps({"models": {"new": models["new"]}, "roles": []})
        )
        content = lab.config_file.read_bytes()
        with pytest.raises(ConfigError, match="modelPreference is 'old'"):
            rollback(lab.journal, load_settings(lab.config_file), lab.folder, 1, at=NOW)
        assert lab.config_file.read_bytes() == content
        assert len(policies(lab.journal)) == 1


def test_a_policy_that_was_erased_is_not_restored(tmp_path: Path) -> None:
    with Lab(tmp_path, clock=FixedClock(NOW)) as lab:
        first = snapshot(lab.journal, policy_settings(lab.settings), at=NOW)
        lab.erase(ids=[first.event_id])
        assert policies(lab.journal) == []
        with pytest.raises(InvalidInput, match="allowed are none yet"):
            rollback(lab.journal, lab.settings, lab.folder, 1, at=NOW)
        second = snapshot(lab.journal, policy_settings(lab.settings), at=NOW)
        assert (second.number, second.parent) == (2, None)


def test_changes_that_are_no_settings(tmp_path: Path) -> None:
    with Lab(tmp_path, clock=FixedClock(NOW)) as lab:
        for changes in (
            {"halfLifeDays": -1.0},
            {"halfLife": 3.0},
            {"mildThreshold": 0.9},
        ):
            with pytest.raises(ConfigError, match="policy: "):
                with_changes(lab.settings, changes)
        with pytest.raises(InvalidInput, match="reason of 501 characters"):
            snapshot(lab.journal, {}, at=NOW, reason="x" * 501)
        assert lab.journal.last_seq() == 0


def test_a_home_that_cannot_be_locked_is_named(tmp_path: Path) -> None:
    with Lab(tmp_path / "home", clock=FixedClock(NOW)) as lab:
        snapshot(lab.journal, policy_settings(lab.settings), at=NOW)
        (lab.folder / "policy.lock").mkdir()
        with pytest.raises(StorageError, match="nothing was changed"):
            rollback(lab.journal, lab.settings, lab.folder, 1, at=NOW)
        assert lab.journal.last_seq() == 1


def test_an_agent_or_a_reviewer_outside_the_rule(tmp_path: Path) -> None:
    with Lab(tmp_path, clock=FixedClock(NOW)) as lab:
        with pytest.raises(InvalidInput, match="agent id"):
            lab.maintain(agent="../etc")
        report = lab.maintain(reviewer="oracle")
        assert [(step.name, step.ok) for step in report.steps][:3] == [
            ("judge", True),
            ("review", False),
            ("refine", True),
        ]
        assert "got the reviewer 'oracle'" in report.steps[1].detail


@pytest.mark.parametrize("at", ["24:00", "3:00", "03:60", "noon", "03:00:00", ""])
def test_a_time_that_no_clock_shows(run: Run, at: str) -> None:
    ended = run("maintain", "--schedule", "cron", "--at", at)
    assert ended.code == 2
    assert "allowed are 00:00 to 23:59" in ended.err


def test_commands_refuse_what_they_cannot_do(run: Run, tmp_path: Path) -> None:
    for arguments in (
        ["maintain", "--schedule"],
        ["maintain", "--at", "03:00"],
        ["maintain", "--schedule", "launchd"],
        ["policy", "--rollback"],
        ["policy", "--rollback", "one"],
    ):
        assert run(*arguments).code == 2, arguments
    for arguments in (
        ["policy", "--rollback", "1"],
        ["policy", "--snapshot", "--reason", "x" * 501],
        ["maintain", "--agent", "../etc"],
        ["maintain", "--schedule", "cron", "--home", str(tmp_path / "a\nb")],
    ):
        ended = run(*arguments, "--json")
        assert ended.code == 1, arguments
        assert "error" in ended.json
    assert run("policy", "--json").json == {"policies": []}
