"""The maintenance: every step for every agent, each by itself, safe to repeat; what schedules
it; the commands of policies.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import DAY, NOW, Meanings, Run, observation
from faults import documented, tool_event
from hostile_server import HostileServer, completion, status
from test_gate import TOKENS, _lab, _new

from theorex_lab import FixedClock, HashedNgramEmbedder, Home, Lab, StorageError
from theorex_lab.core.clock import to_iso
from theorex_lab.core.settings import check_settings, load_settings
from theorex_lab.designs.theorex import lifecycle, upkeep
from theorex_lab.evolution import maintenance as maintenance_module
from theorex_lab.evolution.lease import leased
from theorex_lab.evolution.outcomes import outcome_event
from theorex_lab.memory.observation import FIX_TYPE

STEPS = (
    "judge review refine acceptance digest flush scan graduate promote heartbeat dream"
    " attempts genes learn cards embed briefing".split()
)


@pytest.fixture(autouse=True)
def _every_design_takes_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in homes whose settings name one, so that every step runs."""
    monkeypatch.setattr(Home, "active", property(lambda home: home.designs))


def fill(lab: Lab) -> None:
    """Two agents: a failure that waits, tags that won and lost, a concept that is due
    to graduate, and old ones.
    """
    lab.journal.append(
        [
            observation("x", labels=["cache", "ttl"]),
            observation("y", labels=["queue"], agent="sage"),
        ]
    )
    lab.journal.append([observation("old", labels=["fax", "telex"], at=NOW - 45 * DAY)])
    for day in range(6, -1, -1):
        lab.journal.append(
            [
                tool_event(
                    "the upload worker met a deadlock",
                    at=NOW - day * DAY,
                    session=f"d{day}",
                )
            ]
        )
        lab.theorex.flush(f"d{day}")
    for number in range(10):
        lab.journal.append(
            [
                outcome_event(
                    agent="main",
                    decision=f"deploy {number} with the cache",
                    result="it crashed" if number == 9 else "it ran",
                    success=number != 9,
                    settings=lab.settings,
                    at=NOW - (10 - number) * 3_600_000_000,
                    tags=["deploy"],
                )
            ]
        )


def _events(lab: Lab, kind: str) -> list[dict[str, Any]]:
    return [event.body for event in lab.journal.tail(0, kinds=[kind])]


def test_the_maintenance_takes_every_step_for_every_agent(tmp_path: Path) -> None:
    with documented(tmp_path) as lab:
        fill(lab)
        report = lab.maintain(reviewer="heuristic")
        assert [step.name for step in report.steps] == STEPS
        assert (report.ran, report.ok) == (True, True)
        assert all(step.seconds == 0.0 for step in report.steps), (
            "by the lab's clock, which stands"
        )
        detail = {step.name: step.detail for step in report.steps}
        assert detail["review"].startswith(
            "0 fixes written; 1 wait on: no trace was kept"
        )
        assert detail["refine"] == "1 observations written"
        assert detail["acceptance"].startswith(
            "memory: refuse (1.000 now, 1.000 proposed, on 5 records): nothing better"
            " found"
        )
        assert detail["graduate"] == "2 concepts graduated"
        assert "2 archived" in detail["scan"]
        assert [event["steps"] for event in _events(lab, "nightly")] == [
            [step._asdict() for step in report.steps]
        ]
        assert [body["type"] for body in _events(lab, "observation")].count(
            FIX_TYPE
        ) == 0
        assert {each.agent for each in lab.journal.tail(0, kinds=["promoted"])} == {
            "main",
            "sage",
        }
        context = lab.context_file.read_text()
        assert "Known pitfalls:\n" in context
        assert "- deploy 9 with the cache failed: it crashed (1 Mar).\n" in context
        assert lab.verify().ok


def test_a_second_maintenance_at_once_changes_nothing(tmp_path: Path) -> None:
    with documented(tmp_path) as lab:
        fill(lab)
        first = lab.maintain(reviewer="heuristic")
        seq = lab.journal.last_seq()
        context = lab.context_file.read_bytes()
        second = lab.maintain(reviewer="heuristic")
        assert {event.kind for event in lab.journal.tail(seq)} == {"lease"}
        assert lab.context_file.read_bytes() == context
        assert second.ok
        assert second.steps != first.steps
        lab.agent("main").write("a new day")
        lab.maintain(reviewer="heuristic")
        assert len(_events(lab, "nightly")) == 2


def test_it_flushes_what_is_idle_for_six_hours_and_of_a_running_session_the_days_before(
    tmp_path: Path,
) -> None:
    hour = DAY // 24
    with documented(tmp_path) as lab:
        running = [
            tool_event("the queue worker met a deadlock", at=NOW - age, session="long")
            for age in (DAY, hour)
        ]
        idle = [
            tool_event(
                "the upload worker met a deadlock", at=NOW - 6 * hour, session="idle"
            )
        ]
        lab.journal.append(
            [*running, *idle, tool_event("it runs", at=NOW - 5 * hour, session="busy")]
        )
        assert lab.maintain(reviewer="heuristic").ok
        flushed = {
            each.session: each.body for each in lab.journal.tail(0, kinds=["flushed"])
        }
        assert {
            name: body["kept"] + body["let_go"] for name, body in flushed.items()
        } == {"long": 1, "idle": 1}
        assert lab.theorex.sessions() == ["long", "busy"]
        seq = lab.journal.last_seq()
        assert lab.maintain(reviewer="heuristic").ok
        assert {event.kind for event in lab.journal.tail(seq)} == {"lease"}
        lab.settings = lab.settings.replaced(session_idle_hours=1.0)
        assert lab.maintain(reviewer="heuristic").ok
        assert lab.theorex.sessions() == []


def test_no_day_of_a_session_crowds_out_another(tmp_path: Path) -> None:
    with documented(tmp_path) as lab:
        early = [
            tool_event("the upload worker met a deadlock", at=NOW - DAY + n)
            for n in range(5)
        ]
        lab.journal.append(
            [
                *early,
                *(
                    tool_event(f"the queue {n} met a deadlock", at=NOW + n)
                    for n in range(60)
                ),
            ]
        )
        done = lab.theorex.flush("s1")
        assert (done.kept, done.discarded) == (55, 10)


def test_the_maintenance_embeds_what_is_queued(tmp_path: Path) -> None:
    with Lab(
        tmp_path / "spelling", clock=FixedClock(NOW), embedder=HashedNgramEmbedder()
    ) as lab:
        lab.agent("main").write("TTL invalidation prevents cache stampedes")
        detail = {
            step.name: step.detail for step in lab.maintain(reviewer="heuristic").steps
        }
        assert detail["embed"].startswith("no vectors are made of texts")
    with Lab(tmp_path / "meaning", clock=FixedClock(NOW), embedder=Meanings()) as lab:
        lab.agent("main").write("TTL invalidation prevents cache stampedes")
        assert lab.searcher.vectors.coverage()["queued"] > 0
        detail = {
            step.name: step.detail for step in lab.maintain(reviewer="heuristic").steps
        }
        assert detail["embed"] != "0 embedded"
        assert lab.searcher.vectors.coverage()["queued"] == 0


@pytest.mark.parametrize("is_running", [False, True])
def test_texts_wait_for_an_endpoint_that_is_off_and_one_that_fails_is_a_failure(
    tmp_path: Path, is_running: bool
) -> None:
    with HostileServer(status(500)) as server:
        if not is_running:
            server.close()
        settings = check_settings({"lmStudioUrl": server.url})
        with Lab(tmp_path, clock=FixedClock(NOW), settings=settings) as lab:
            lab.agent("main").write("TTL invalidation prevents cache stampedes")
            steps = lab.maintain(reviewer="heuristic").steps
    (embed,) = [step for step in steps if step.name == "embed"]
    assert embed.ok is not is_running
    advice = "start it, or unset lmStudioUrl"
    assert (advice in embed.detail) is not is_running
    assert ("answered with the status 500" in embed.detail) is is_running


@pytest.mark.parametrize(
    ("model", "named", "reviewer", "asked"),
    [
        ({}, True, "auto", 1),
        ({}, False, "auto", 0),
        ({}, False, "heuristic", 0),
        ({"url": None}, True, "auto", 0),
        ({"costPerMillionTokens": 3}, False, "auto", 0),
        ({"costPerMillionTokens": 3}, True, "auto", 1),
    ],
)
def test_the_maintenance_judges_where_a_model_was_set_up_for_it(
    tmp_path: Path, model: dict[str, Any], named: bool, reviewer: str, asked: int
) -> None:
    with HostileServer(completion('{"score": 80}')) as server:
        models = {"qwen3-32b": {"tier": "medium", "url": server.url, **model}}
        settings = {
            "models": models,
            "roles": [],
            **({"reviewers": ["qwen3-32b"]} if named else {}),
        }
        with documented(tmp_path, **settings) as lab:
            done = lab.outcomes.record(
                "main", "raised the TTL", "it held", success=True
            )
            for _ in range(2):
                assert lab.maintain(reviewer=reviewer).ok
            assert (
                len(server.requests),
                lab.outcomes.get(done.outcome_id).judge_score,
            ) == (
                asked,
                0.8 if asked else None,
            )


def test_the_maintenance_of_an_empty_home(tmp_path: Path) -> None:
    with documented(tmp_path) as lab:
        assert lab.maintain(reviewer="heuristic").ok
        assert lab.context_file.exists()


def test_one_agent_alone(tmp_path: Path) -> None:
    with documented(tmp_path) as lab:
        fill(lab)
        lab.maintain(agent="sage", reviewer="heuristic")
        assert {each.agent for each in lab.journal.tail(0, kinds=["promoted"])} == {
            "sage"
        }
        assert _events(lab, "reviewed") == _events(lab, "graduated") == []


@pytest.mark.parametrize(
    "broken", ["refine", "gate", "lifecycle.scan", "lifecycle.promote"]
)
def test_a_step_that_fails_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise StorageError("the disk is full")

    with documented(tmp_path) as lab:
        fill(lab)
        module = maintenance_module if broken == "gate" else upkeep
        monkeypatch.setattr(f"{module.__name__}.{broken}", fails)
        report = lab.maintain(reviewer="heuristic")
        # What graduates is scanned at once, so that its step fails with the scan.
        failed = {"lifecycle.scan": {"scan", "graduate"}}.get(
            broken, {"acceptance" if broken == "gate" else broken.rpartition(".")[2]}
        )
        assert {step.name: step.ok for step in report.steps} == {
            name: name not in failed for name in STEPS
        }
        assert not report.ok
        assert all(
            "the disk is full" in step.detail
            for step in report.steps
            if step.name in failed
        )
        assert [step["ok"] for step in _events(lab, "nightly")[0]["steps"]] == [
            name not in failed for name in STEPS
        ]
        monkeypatch.undo()
        assert lab.maintain(reviewer="heuristic").ok, "the next run makes it good"
        assert len(_events(lab, "promoted")) >= 2


def test_an_agent_that_fails_stops_no_other_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = lifecycle.promote

    def fails_for_main(*arguments: Any, agent: str) -> Any:
        if agent == "main":
            raise StorageError("not for main")
        return real(*arguments, agent=agent)

    with documented(tmp_path) as lab:
        fill(lab)
        monkeypatch.setattr(lifecycle, "promote", fails_for_main)
        report = lab.maintain(reviewer="heuristic")
        assert [step.detail for step in report.steps if not step.ok] == [
            "main: not for main"
        ]
        assert {each.agent for each in lab.journal.tail(0, kinds=["promoted"])} == {
            "sage"
        }


def test_of_two_runs_at_once_one_runs_and_the_other_says_so(
    tmp_path: Path, run: Run
) -> None:
    home = tmp_path / "home"
    with documented(home) as lab:
        fill(lab)
        with leased(lab.home, "nightly") as lease:
            seq = lab.journal.last_seq()
            report = lab.maintain(reviewer="heuristic")
            assert (report.ran, report.steps) == (False, [])
            ended = run(
                "maintain", "--reviewer", "heuristic", "--json", "--now", to_iso(NOW)
            )
            until = to_iso(NOW + 600_000_000)
            assert (ended.code, ended.json) == (
                0,
                {
                    "ran": False,
                    "ok": True,
                    "steps": [],
                    "held_by": lease.holder.shown_owner,
                    "until": until,
                },
            )
            told = run("maintain", "--now", to_iso(NOW)).out
            assert "another maintenance is under way" in told
            assert f"held by {lease.holder.shown_owner} until {until}" in told
            assert lab.journal.last_seq() == seq
        assert lab.maintain(reviewer="heuristic").ran


def test_what_the_gate_accepts_is_in_force_for_the_steps_after_it(
    tmp_path: Path,
) -> None:
    """With the old half-life the old topics would be ACTIVE; with the accepted one they
    are not.
    """
    with _lab(tmp_path, _new, halfLifeDays=120.0) as lab:
        before = lab.settings
        report = lab.maintain(reviewer="heuristic")
        assert "memory: accept" in next(
            step.detail for step in report.steps if step.name == "acceptance"
        )
        assert lab.settings == load_settings(lab.config_file)
        assert lab.settings != before
        assert (
            lab.searcher.home.settings is lab.dispatcher.home.settings is lab.settings
        )
        scan = _events(lab, "scan")[-1]
        in_force = scan["policy"]["decay_law"], scan["policy"]["half_life_days"]
        assert (
            in_force
            == (lab.settings.decay_law, lab.settings.half_life_days)
            != ("product", 120.0)
        )
        assert lab.settings.context_tokens == TOKENS


# The commands


def test_the_commands_of_a_policy(run: Run, tmp_path: Path) -> None:
    assert (
        run("policy").out
        == "no policy is kept yet: keep one with `theorex policy --snapshot`\n"
    )
    kept = run("policy", "--snapshot", "--reason", "as it began", "--json").json
    assert {"number", "settings", "metrics", "reason", "parent"} <= kept.keys()
    assert kept["metrics"] == {"memory": {"score": 0.0, "n": 0}}
    (tmp_path / "home/config.json").write_text(
        '{"halfLifeDays": 3, "acceptanceMargin": 0.5}'
    )
    assert "policy 2 kept" in run("policy", "--snapshot").out
    assert [row["in_force"] for row in run("policy", "--json").json["policies"]] == [
        False,
        True,
    ]
    assert run("policy", "--rollback", "1", "--json").json["number"] == 3
    assert json.loads((tmp_path / "home/config.json").read_text()) == {
        "acceptanceMargin": 0.5,
        "halfLifeDays": 14.0,
    }
    shown = run("policy").out.splitlines()
    assert [line[0] for line in shown] == ["*", " ", "*", "*"]
    assert shown[2].endswith("rolled back to 1")
    said = run("policy", "--test", "--json").json["tested"]
    assert [(each["part"], each["decision"]) for each in said] == [("memory", "hold")]
    assert (
        run("policy", "--test").out.splitlines()[0]
        == "memory: hold, 0 records are too few"
    )


def test_the_command_of_the_maintenance(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with documented(tmp_path / "home") as lab:
        fill(lab)
    at = ("--now", to_iso(NOW))
    ended = run("maintain", "--reviewer", "heuristic", *at)
    assert ended.code == 0
    assert [line.split()[:2] for line in ended.out.splitlines()] == [
        ["ok", name] for name in STEPS
    ]
    assert run("maintain", "--reviewer", "heuristic", "--json", *at).json.keys() == {
        "ran",
        "ok",
        "steps",
    }
    assert run("verify", "--json").json["ok"]

    def fails(*_: object, **__: object) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr(maintenance_module, "refresh", fails)
    failed = run("maintain", "--reviewer", "heuristic", "--json", *at)
    assert failed.code == 1
    assert (failed.json["ok"], failed.json["error"]) == (
        False,
        "these steps of the maintenance failed: briefing",
    )
    assert (
        "FAILED briefing    the disk is full"
        in run("maintain", "--reviewer", "heuristic", *at).out
    )


# The schedule


@pytest.fixture
def awkward(tmp_path: Path) -> str:
    """A home whose name needs every kind of quoting."""
    return str(tmp_path / 'it\'s a $HOME of 100% "ours"')


def test_a_line_of_a_crontab_runs_the_maintenance(run: Run, awkward: str) -> None:
    line = run(
        "maintain", "--schedule", "cron", "--at", "04:05", "--home", awkward, "--json"
    ).json["files"]["crontab"]
    assert (
        line
        == run("maintain", "--schedule", "cron", "--at", "04:05", "--home", awkward).out
    )
    assert not Path(awkward).exists(), "it only prints"
    minute, hour, *stars, command = line.rstrip("\n").split(" ", 5)
    assert (minute, hour, stars) == ("5", "4", ["*", "*", "*"])
    # cron turns \% into % and hands the rest to sh.
    assert re.search(r"(?<!\\)%", command) is None
    done = subprocess.run(
        ["/bin/sh", "-c", f"{command} --reviewer heuristic --json".replace(r"\%", "%")],
        capture_output=True,
        text=True,
        check=True,
        env={},
    )
    assert json.loads(done.stdout)["ok"]
    assert (Path(awkward) / "SHARED_CONTEXT.md").exists()
