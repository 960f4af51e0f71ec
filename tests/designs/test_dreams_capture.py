"""Trajectories: the same whoever captured them, by hand, as a session of hooks, as a
dispatch; none is lost or archived undreamt.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import NOW, Meanings
from theorex_lab import Event, FixedClock, Home, InvalidInput, Lab, new_event
from theorex_lab.designs.dreams import Level
from theorex_lab.designs.dreams.capture import capture
from theorex_lab.designs.dreams.sections import strategy_lines
from theorex_lab.designs.dreams.settings import DreamSettings
from theorex_lab.designs.dreams.strategies import (
    Strategy,
    StrategyStep,
    begin_traversal,
    new_strategy_id,
    next_step,
    recall,
    strategies_of,
    undreamt,
    weighed,
)
from theorex_lab.designs.dreams.strategy_view import Strategies
from theorex_lab.designs.dreams.trajectories import Trajectories, Trajectory
from theorex_lab.memory.contract import ContextRequest


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=FixedClock(NOW), embedder=Meanings()) as opened:
        yield opened


def hook(
    kind: str, session: str = "s1", *, agent: str = "main", at: int = NOW, **body: Any
) -> Event:
    whole: dict[str, dict[str, Any]] = {
        "prompt": {"text": "", "source": "user", "project": ""},
        "tool_used": {
            "tool": "Bash",
            "input": "",
            "response": "",
            "source": "tool",
            "ok": True,
            "paths": {"read": [], "edited": []},
            "command": "",
            "project": "",
        },
        "turn_ended": {
            "message": "",
            "source": "agent",
            "subagent": False,
            "project": "",
        },
        "session_ended": {"project": ""},
    }
    return new_event(kind, {**whole[kind], **body}, agent=agent, session=session, at=at)


def kept(
    lab: Lab, goal: str, *actions: str, outcome: str = "success", **state: Any
) -> str:
    """A strategy as an engine would have made it."""
    steps = [StrategyStep("", action, "")._asdict() for action in actions]
    made = Strategy(
        "",
        goal,
        goal,
        success=int(outcome == "success"),
        failure=int(outcome == "failure"),
        goals=(goal,),
    )
    named = new_strategy_id(goal, *actions)
    body = {
        "strategy_id": named,
        "state": {**made.state(), "steps": steps, **state},
        "trajectory": "",
        "upto": 0,
        "project": "",
    }
    lab.dreams.append("strategy", {**body, "source": "agent"})
    return named


def test_what_is_captured_by_hand_is_in_the_journal_at_once(lab: Lab) -> None:
    with (
        lab.dreams.session("deploy", domain="ops", tags=["web"]) as log,
        log.trace(Level.TACTICAL, "build it") as trace,
    ):
        trace.action("needed first", "make(target='all')", "done", ok=True)
        (open_one,) = lab.dreams.trajectories()
        assert (open_one.ended_at, len(open_one.actions), open_one.outcome) == (
            None,
            1,
            "unknown",
        )
        with log.trace(4, "retry") as inner:
            inner.action("", "sleep", b"\xff\xfe no UTF-8")
            inner.end("partial", 0.5)
    outer, part = lab.dreams.trajectories()
    assert (outer.outcome, outer.domain, outer.tags, outer.confidence) == (
        "success",
        "ops",
        ("web",),
        1.0,
    )
    assert (part.parent, part.outcome, part.confidence, part.level) == (
        outer.id,
        "partial",
        0.5,
        Level.REACTIVE,
    )
    assert "no UTF-8" in part.actions[0].result
    assert lab.dreams.trajectories(waiting=True) == [outer, part]


def test_one_that_raises_is_a_failure_with_its_error_and_the_exception_goes_on(
    lab: Lab,
) -> None:
    with (
        pytest.raises(TimeoutError, match="too slow"),
        lab.dreams.session("fetch") as log,
        log.trace(),
    ):
        raise TimeoutError("too slow")
    (found,) = lab.dreams.trajectories()
    assert (found.outcome, found.fault, found.error) == (
        "failure",
        "timeout",
        "TimeoutError: too slow",
    )

    @lab.dreams.traced("add numbers")
    def add(one: int, other: int) -> int:
        return one + other

    assert add(2, other=3) == 5
    assert lab.dreams.trajectories()[-1].actions[0].action == "add(2, other=3)"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"goal": " "}, "goal"),
        ({"level": 7}, "level"),
        ({"outcome": "great"}, "outcome"),
        ({"confidence": 2}, "confidence"),
        ({"origin": "moon"}, "origin"),
        ({"actions": [{"action": ""}]}, "action 1"),
        ({"domain": ""}, "domain"),
        ({"actions": [{"action": "x", "why": 1}]}, "action 1"),
        ({"level": True}, "level"),
        ({"fault": "bad_luck"}, "fault"),
    ],
)
def test_what_is_outside_the_rules_is_told_and_nothing_is_kept(
    lab: Lab, given: dict[str, Any], told: str
) -> None:
    sound: dict[str, Any] = {"goal": "deploy", "actions": [{"action": "make"}]}
    goal = {**sound, **given}["goal"]
    actions = {**sound, **given}["actions"]
    about = {name: value for name, value in given.items() if name not in sound}
    with pytest.raises(InvalidInput, match=told):
        capture(lab.home, goal, actions, **about)
    assert [
        found
        for found in lab.dreams.trajectories()
        if not found.actions or found.outcome != "failure"
    ] == []


def test_a_session_of_hooks_is_a_trajectory_and_goes_on_as_another_once_it_was_dreamt(
    lab: Lab,
) -> None:
    lab.home.journal.append(
        [
            hook("prompt", text="Rename the docs"),
            hook("turn_ended", message="I look first"),
            hook("tool_used", command="ls docs", response="a.md"),
            hook("tool_used", command="mv docs/a.md docs/A.md"),
            hook(
                "tool_used",
                command="make check",
                response="Exit code 2\nmake: *** no rule",
            ),
            hook(
                "tool_used",
                tool="Edit",
                input='{"file_path": "docs/A.md"}',
                paths={"read": [], "edited": ["docs/A.md"]},
            ),
        ]
    )
    (found,) = lab.dreams.trajectories()
    assert (found.goal, found.source, found.ended_at) == (
        "Rename the docs",
        "user",
        None,
    )
    assert [(done.ok, done.changed) for done in found.actions] == [
        (True, False),
        (True, True),
        (False, False),
        (True, True),
    ]
    assert found.actions[0].reasoning == "I look first"
    assert lab.dreams.trajectories(waiting=True) == []
    lab.home.journal.append([hook("session_ended")])
    (waiting,) = lab.dreams.trajectories(waiting=True)
    dreamt(lab, waiting)
    assert lab.dreams.trajectories(waiting=True) == []
    lab.home.journal.append(
        [hook("tool_used", command="git commit -m x"), hook("session_ended")]
    )
    again = lab.dreams.trajectories(waiting=True)
    assert [(one.id, one.goal, len(one.actions)) for one in again] == [
        (f"{waiting.id}#2", "Rename the docs", 1)
    ]


def dreamt(lab: Lab, *passed: Trajectory, upto: int | None = None) -> None:
    known = dict.fromkeys(
        "traces_processed nodes_created nodes_merged edges_created cross_edges_created"
        " nodes_compacted constraints_extracted tokens".split(),
        0,
    )
    marks = [
        [found.id, found.upto if upto is None else upto, "too short"]
        for found in passed
    ]
    told = {
        "dream_id": "d",
        "started_at": 0,
        "ended_at": 0,
        "domain": "",
        "dreamer": "rules",
        "phase_log": [],
        "held": [],
    }
    lab.dreams.append("dream", {**known, **told, "passed": marks})


def test_what_came_while_it_was_dreamt_waits_for_the_next_dream(lab: Lab) -> None:
    lab.home.journal.append(
        [hook("prompt", text="Fix it"), hook("tool_used", command="make")]
    )
    (before,) = lab.dreams.trajectories()
    lab.home.journal.append(
        [hook("tool_used", command="make install"), hook("session_ended")]
    )
    dreamt(lab, before)
    (rest,) = lab.dreams.trajectories(waiting=True)
    assert [done.action for done in rest.actions] == ["make install"]


def test_a_dispatch_and_the_agents_it_called_are_one_trajectory(lab: Lab) -> None:
    start = {
        "trace_id": "t1",
        "task": "Count awnings",
        "query_type": "code",
        "model": None,
        "tags": [],
        "reasons": [],
        "outcome_id": None,
        "owner": None,
        "lost_after_seconds": 1.0,
        "project": "",
    }
    end = {
        "trace_id": "t1",
        "query_type": "code",
        "success": False,
        "model": "m",
        "lost": False,
        "unavailable": False,
        "attempts": [],
    }
    lab.home.journal.append(
        [
            new_event("trace_started", start, agent="main", session="run1", at=NOW),
            hook("turn_ended", "run1", agent="expert", message="There are four."),
            hook("tool_used", "run1", agent="expert", tool="python", input="len(rows)"),
            new_event("trace_ended", end, agent="main", session="run1", at=NOW),
        ]
    )
    (found,) = lab.dreams.trajectories()
    assert (found.goal, found.outcome, found.actions[0].reasoning) == (
        "Count awnings",
        "failure",
        "There are four.",
    )


def test_nothing_that_waits_for_a_dream_is_archived(lab: Lab) -> None:
    lab.home.journal.append(
        [
            hook("prompt", text="One"),
            hook("tool_used", command="make"),
            hook("session_ended"),
        ]
    )
    lab.home.journal.append(
        [hook("prompt", "s2", text="Two"), hook("session_ended", "s2")]
    )
    assert undreamt(lab.home) == {("main", "s1"): 1, ("main", "s2"): 4}
    dreamt(lab, *lab.dreams.trajectories(waiting=True))
    assert undreamt(lab.home) == {}


def test_a_killed_process_loses_no_action(tmp_path: Path) -> None:
    code = (
        "import os, sys, signal\nfrom theorex_lab import Lab\n"
        "lab = Lab(sys.argv[1])\n"
        "with lab.dreams.session('work') as log, log.trace() as trace:\n"
        "    trace.action('', 'first()', 'x')\n    trace.action('', 'second()', 'y')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)], check=False
        ).returncode
        == -9
    )
    with Lab(tmp_path) as lab:
        (found,) = lab.dreams.trajectories()
        assert [done.action for done in found.actions] == ["first()", "second()"]


def test_views_give_the_same_whatever_the_batches(lab: Lab) -> None:
    lab.home.journal.append(
        [
            hook("prompt", text="Fix it"),
            hook("tool_used", command="make"),
            hook("session_ended"),
        ]
    )
    capture(lab.home, "deploy", [{"action": "make"}])
    dreamt(lab, *lab.dreams.trajectories(waiting=True))
    kept(lab, "deploy the site", "make", "rsync")
    for kind in (Trajectories, Strategies):
        one = kind()
        other = kind()
        events = list(lab.home.journal.tail(0, kinds=kind.kinds))
        one.apply(events)
        for event in events:
            other.apply([event])
            other.load(other.columns())
        assert {name: column.tolist() for name, column in one.columns().items()} == {
            name: column.tolist() for name, column in other.columns().items()
        }


def test_what_is_not_alike_never_answers_however_trusted(lab: Lab) -> None:
    assert recall(lab.home, "implement JWT").path == "zero_shot"
    kept(
        lab,
        "implement JWT authentication tokens",
        "write(path='jwt.py')",
        "run(command='pytest')",
        confidence=1.0,
    )
    found = recall(lab.home, "implement JWT authentication")
    assert found.path == "memory_traversal"
    assert found.entry_point is not None
    assert found.entry_point.success_rate == 1.0
    assert recall(lab.home, "bake sourdough bread").path == "zero_shot"
    with pytest.raises(InvalidInput, match="query"):
        recall(lab.home, "  ")


def test_a_way_that_no_longer_fits_leads_to_another_or_to_none(lab: Lab) -> None:
    first = kept(
        lab,
        "implement JWT authentication tokens",
        "write(path='jwt.py')",
        "run(command='pytest jwt')",
    )
    second = kept(
        lab, "deploy the website to production", "rsync(site)", "restart(nginx)"
    )
    state = begin_traversal(lab.home, first)
    step = next_step(lab.home, state, "implement JWT authentication tokens").step
    assert step is not None
    assert step.action == "write(path='jwt.py')"
    jumped = next_step(lab.home, state, "deploy the website to production")
    assert (jumped.path, state.node_id, state.drifted) == ("context_jump", second, True)
    lost = next_step(lab.home, state, "zzz qqq")
    assert (lost.path, lost.step) == ("zero_shot", None)
    assert [next_step(lab.home, state).number for _ in range(3)] == [0, 1, 2]
    assert next_step(lab.home, state).step is None


def test_unknown_success_has_no_weight() -> None:
    settings = DreamSettings()
    assert weighed(settings, 0.8, 0.4, None) == pytest.approx(
        (0.5 * 0.8 + 0.3 * 0.4) / 0.8
    )


def test_the_context_tells_what_worked_for_a_task_alike_and_nothing_for_others(
    lab: Lab,
) -> None:
    named = kept(
        lab,
        "cancel the reservation of a passenger",
        "get_user(id=1)",
        "cancel_reservation(id='X')",
    )
    warned = {
        "constraint_id": "c1",
        "strategy_id": named,
        "text": "Do not refund twice: it failed with an error.",
        "fault": "logic_error",
        "trajectory": "t",
        "source": "tool",
        "project": "",
    }
    lab.dreams.append("constraint", warned)
    lines = list(
        strategy_lines(
            lab.home, ContextRequest(NOW, 500, "cancel a reservation for a passenger")
        )
    )
    assert [(line.kind, line.trusted) for line in lines] == [
        ("avoid", False),
        ("strategy", True),
    ]
    assert "1. get_user(id=1); 2. cancel_reservation(id='X')" in lines[1].text
    assert (
        list(
            strategy_lines(lab.home, ContextRequest(NOW, 500, "bake a sourdough bread"))
        )
        == []
    )
    assert len(list(strategy_lines(lab.home, ContextRequest(NOW, 500)))) == 2


def test_strategies_of_other_projects_are_not_given(tmp_path: Path) -> None:
    with Lab(tmp_path, clock=FixedClock(NOW)) as lab:
        kept(lab, "deploy the site", "make")
        body = strategies_of(lab.home)[0].state()
        other = {
            "strategy_id": "st-2",
            "state": body,
            "trajectory": "",
            "upto": 0,
            "project": "b-00000001",
            "source": "agent",
        }
        lab.dreams.append("strategy", other)
        here: Home = lab.home.in_project("a-00000001")
        assert len(strategies_of(here)) == 1
        assert len(strategies_of(lab.home)) == 2
        found = recall(here, "deploy the site")
        assert found.entry_point is not None
        assert found.entry_point.project == ""
