"""How work came out by what followed it, and how runs of one task become a procedure."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import NOW

from theorex_lab import Event, Lab
from theorex_lab.designs.dreams import Ended
from theorex_lab.designs.dreams.engine import dream
from theorex_lab.designs.dreams.procedure import procedure_steps
from theorex_lab.designs.dreams.sections import strategy_line
from theorex_lab.designs.dreams.strategies import strategies_of
from theorex_lab.designs.dreams.trajectories import Trajectory, trajectories_of
from theorex_lab.designs.dreams.verdicts import verdict_of_reply
from theorex_lab.journal.event import new_event

DAY = 86_400_000_000
PASSED: dict[str, Any] = {"command": "go test ./...", "response": "ok  pkg 0.2s"}
RED: dict[str, Any] = {
    "command": "go test ./...",
    "response": "Exit code 1\n--- FAIL: TestTill (0.00s)",
    "ok": False,
}
COMMIT: dict[str, Any] = {
    "command": "git commit -am 'Mend it'",
    "response": "[main 1] Mend it",
}
EDIT: dict[str, Any] = {"tool": "Edit", "edited": "till.go"}
DOCS: dict[str, Any] = {"tool": "Edit", "edited": "docs/till.md"}


def session(
    *steps: str | dict[str, Any], name: str = "s1", day: int = 9
) -> list[Event]:
    """Return a session: texts are prompts, the others calls."""
    events = []
    for number, step in enumerate(steps):
        at = NOW - day * DAY + number * 60_000_000
        if isinstance(step, str):
            body: dict[str, Any] = {"text": step, "source": "user", "project": "shop"}
            kind = "prompt"
        else:
            kind = "tool_used"
            edited = step.get("edited", "")
            call = {
                "tool": "Bash",
                "input": "",
                "response": "",
                "source": "tool",
                "ok": True,
                "command": "",
                "project": "shop",
                **step,
            }
            call.pop("edited", None)
            body = {**call, "paths": {"read": [], "edited": [edited] if edited else []}}
        event = new_event(kind, body, agent="main", session=name, at=at)
        events.append(event)
    return events


def worked_on(lab: Lab, *steps: str | dict[str, Any]) -> Trajectory:
    """Return the first trajectory of a session with these steps."""
    lab.journal.append(session(*steps))
    return trajectories_of(lab.home.in_project(""))[0]


@pytest.mark.parametrize(
    ("after", "outcome", "evidence"),
    [
        ([EDIT, PASSED], "success", "tests"),
        ([EDIT, PASSED, DOCS], "success", "tests"),
        ([EDIT, PASSED, EDIT], "unknown", ""),
        ([EDIT, RED], "failure", "tests"),
        ([EDIT, RED, EDIT, PASSED], "success", "tests"),
        ([EDIT, RED, COMMIT], "partial", "tests"),
        ([EDIT, COMMIT], "success", "commit"),
        ([EDIT], "unknown", ""),
        ([EDIT, "great, thanks"], "success", "accepted"),
        ([EDIT, RED, "perfect, commit it"], "success", "accepted"),
        ([EDIT, PASSED, "no, that's wrong"], "failure", "corrected"),
        ([EDIT, "it still fails", EDIT], "partial", "corrected"),
        ([EDIT, "it still fails", EDIT, PASSED], "success", "tests"),
        ([EDIT, "fix the till"], "failure", "asked again"),
        ([EDIT, "continue"], "unknown", ""),
        ([EDIT, "what is the status?"], "unknown", ""),
        ([EDIT, "add a test"], "success", "went on"),
        ([{"tool": "edit_file_v2"}, "add a test"], "success", "went on"),
        ([EDIT, RED, "add a test"], "failure", "tests"),
        ([{"tool": "Read"}, "add a test"], "unknown", ""),
        ([EDIT, "check the shelf"], "unknown", ""),
        ([EDIT, "could you add a test?"], "unknown", ""),
    ],
)
def test_what_follows_says_how_it_came_out(
    lab: Lab, after: list[Any], outcome: str, evidence: str
) -> None:
    trajectory = worked_on(lab, "please fix the till", *after)
    assert trajectory.goal == "Fix the till"
    assert (trajectory.outcome, trajectory.evidence) == (outcome, evidence)


def test_what_was_stated_counts_more_than_what_follows(lab: Lab) -> None:
    lab.journal.append(session("Fix the till", EDIT, PASSED))
    lab.outcomes.record("main", "fixed", "it is not", success=False, session="s1")
    (trajectory,) = trajectories_of(lab.home.in_project(""))
    assert (trajectory.outcome, trajectory.evidence) == (Ended.FAILURE, "")


def test_a_prompt_with_a_task_of_its_own_begins_another_trajectory(lab: Lab) -> None:
    lab.journal.append(
        session(
            "Fix the till", EDIT, "great, now update the docs", DOCS, "go on", COMMIT
        )
    )
    first, second = trajectories_of(lab.home.in_project(""))
    assert (first.goal, first.outcome) == ("Fix the till", Ended.SUCCESS)
    assert (second.goal, len(second.actions)) == ("Update the docs", 2)


def test_a_correction_goes_on_with_the_same_work(lab: Lab) -> None:
    lab.journal.append(session("Fix the till", EDIT, "no, change the shelf", EDIT))
    (trajectory,) = trajectories_of(lab.home.in_project(""))
    assert len(trajectory.actions) == 2


def test_a_standing_prompt_sets_no_task_and_judges_none(lab: Lab) -> None:
    standing = (
        "Update the notes with any facts about the code that would help later on."
    )
    for number in range(3):
        lab.journal.append(
            session("Fix the till", EDIT, PASSED, standing, name=f"s{number}")
        )
    names = [each.goal for each in trajectories_of(lab.home.in_project(""))]
    assert len(names) == 5
    assert names.count("Fix the till") == 3


def test_replies_are_judged_by_how_they_begin() -> None:
    assert verdict_of_reply("good, but the date is missing") == ""
    assert verdict_of_reply("merge in main and resolve conflicts") == ""
    assert verdict_of_reply("/merge-conflict") == ""
    assert verdict_of_reply("thanks! ship it") == "accepted"
    assert verdict_of_reply("you forgot the tests") == "corrected"


def test_runs_of_one_task_become_one_procedure_with_its_outcomes(lab: Lab) -> None:
    scratch = {"command": "echo done && ls"}
    runs: list[list[str | dict[str, Any]]] = [
        ["start working on task 12", EDIT, scratch, PASSED, COMMIT],
        ["continue working on #13, check the spec", EDIT, PASSED, COMMIT],
        ["work on task 14", EDIT, PASSED, "no, that's wrong"],
    ]
    for number, steps in enumerate(runs):
        lab.journal.append(session(*steps, name=f"s{number}", day=9 - number))
    dream(lab.home.in_project(""))
    (strategy,) = strategies_of(lab.home.in_project(""))
    assert (strategy.goal, strategy.runs) == ("Work on a task", 3)
    assert (strategy.success, strategy.failure) == (2, 1)
    assert strategy.evidence == {"corrected": 1, "tests": 2}
    assert strategy.known_by == "corrected by the user 1, by checks run afterwards 2"
    assert [step.text for step in procedure_steps(strategy)] == [
        "Edit `till.go`",
        "Run the tests (`go test ./...`)",
        "Commit",
    ]
    assert strategy_line(strategy).endswith("3. Commit. Worked 2 of 3 times.")
    assert lab.verify().ok


def test_changes_of_different_things_keep_their_names(lab: Lab) -> None:
    tasks = ["Fix the parser", "Repair the shelf count"]
    for number, task in enumerate(tasks):
        lab.journal.append(session(task, EDIT, PASSED, name=f"s{number}"))
    dream(lab.home.in_project(""))
    strategies = strategies_of(lab.home.in_project(""))
    assert {strategy.goal for strategy in strategies} == set(tasks)


def test_what_names_no_task_or_is_one_edit_is_passed_over(lab: Lab) -> None:
    lab.journal.append(session("go on", EDIT, PASSED, name="s1"))
    lab.journal.append(session("Fix the till", EDIT, EDIT, name="s2"))
    report = dream(lab.home.in_project(""))
    assert sorted(why for _, _, why in report.passed) == [
        "its steps are no procedure",
        "no task is named",
    ]


def steps_of(lab: Lab, *runs: list[str | dict[str, Any]]) -> list[tuple[str, int]]:
    """Return the steps of the one procedure that these sessions become."""
    for number, steps in enumerate(runs):
        lab.journal.append(session(*steps, name=f"s{number}", day=9 - number))
    dream(lab.home.in_project(""))
    (strategy,) = strategies_of(lab.home.in_project(""))
    return [(step.text, step.seen) for step in procedure_steps(strategy)]


def ran(command: str) -> dict[str, Any]:
    return {"command": command, "response": "ok"}


def test_what_differs_only_in_its_target_is_one_step(lab: Lab) -> None:
    steps = steps_of(
        lab,
        ["work on task 1", EDIT, ran("go test ./pkg/till"), ran("till list --all")],
        ["work on task 2", EDIT, ran("go test ./..."), ran("till list --json")],
    )
    assert [text.partition(" (`")[0] for text, _ in steps] == [
        "Edit `till.go`",
        "Run the tests",
        "Run `till list --all`",
    ]
    assert [seen for _, seen in steps] == [2, 2, 2]


def test_edits_stand_before_the_first_check(lab: Lab) -> None:
    shelf = {"tool": "Edit", "edited": "shelf.go"}
    steps = steps_of(
        lab, ["Fix the till", ran("go build . && go vet ./..."), EDIT, PASSED, shelf]
    )
    assert steps == [
        ("Edit `till.go`, `shelf.go`", 1),
        ("Build (`go build .`)", 1),
        ("Check the code (`go vet ./...`)", 1),
        ("Run the tests (`go test ./...`)", 1),
    ]
