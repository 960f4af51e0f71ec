"""The commands of tasks between agents: stable JSON keys, defaults from the
environment, exit codes.
"""

from __future__ import annotations

import pytest
from conftest import Run

from theorex_lab.app.cli import routing as commands
from theorex_lab.dispatch.tasks import STATES

KEYS = [
    "id",
    "from",
    "to",
    "type",
    "payload",
    "state",
    "attempt",
    "created_at",
    "claimed_at",
    "lease_until",
    "completed_at",
    "worker",
    "result",
    "from_agent",
    "to_agent",
    "task_type",
    "status",
    "submitted_at",
]
AT = ("--now", "2026-03-01T09:00:00Z", "--json")


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THEOREX_WORKER", raising=False)


def _send(run: Run, *payload: str) -> str:
    ended = run(
        "tiers",
        "a2a-send",
        "--from",
        "main",
        "--to",
        "sage",
        "--type",
        "review",
        *AT,
        "--",
        *payload,
    )
    assert ended.code == 0
    assert ended.json.keys() == {"task_id"}
    return str(ended.json["task_id"])


def test_from_one_agent_to_the_other_and_back(run: Run) -> None:
    task_id = _send(run, '{"file": "a.py"}')
    (listed,) = run("tiers", "a2a-tasks", "--agent", "sage", *AT).json["tasks"]
    assert list(listed) == KEYS
    assert listed == dict.fromkeys(KEYS) | {
        "id": task_id,
        "from": "main",
        "to": "sage",
        "type": "review",
        "payload": {"file": "a.py"},
        "state": "submitted",
        "attempt": 0,
        "created_at": "2026-03-01T09:00:00.000000Z",
        "from_agent": "main",
        "to_agent": "sage",
        "task_type": "review",
        "status": "submitted",
        "submitted_at": "2026-03-01T09:00:00.000000Z",
    }
    claimed = run(
        "tiers", "a2a-claim", "--agent", "sage", "--worker", "w1", "--lease", "60", *AT
    ).json["task"]
    assert (claimed["id"], claimed["worker"], claimed["lease_until"]) == (
        task_id,
        "w1",
        "2026-03-01T09:01:00.000000Z",
    )
    assert run("tiers", "a2a-claim", "--agent", "sage", *AT).json == {"task": None}
    refused = run("tiers", "a2a-complete", task_id, "--worker", "w2", *AT)
    assert (refused.code, list(refused.json)) == (1, ["error"])
    done = run(
        "tiers", "a2a-complete", task_id, '["fine"]', "--worker", "w1", *AT
    ).json["task"]
    assert (done["state"], done["result"], done["worker"]) == (
        "completed",
        ["fine"],
        "w1",
    )
    assert run(
        "tiers", "a2a-tasks", "--agent", "sage", "--state", "completed", *AT
    ).json == {"tasks": [done]}
    assert run(
        "tiers", "a2a-tasks", "--agent", "sage", "--state", "working", *AT
    ).json == {"tasks": []}
    assert (
        run("tiers", "a2a-fail", task_id, "too", "late", "--worker", "w1", *AT).code
        == 1
    )


@pytest.mark.parametrize(
    ("words", "payload"),
    [
        (["look", "at", "it"], "look at it"),
        (["12"], 12),
        (['"12"'], "12"),
        (["null"], None),
        (["NaN"], "NaN"),
        (["-Infinity"], "-Infinity"),
        (['{"a": 1'], '{"a": 1'),
        (["[" * 60_000], "[" * 60_000),
    ],
)
def test_a_payload_is_json_or_else_a_text(
    run: Run, words: list[str], payload: object
) -> None:
    _send(run, *words)
    assert (
        run("tiers", "a2a-claim", "--agent", "sage", *AT).json["task"]["payload"]
        == payload
    )


def test_who_works_comes_from_the_environment_or_is_the_agent(
    run: Run, monkeypatch
) -> None:
    first = _send(run, "one")
    second = _send(run, "two")
    assert (
        run("tiers", "a2a-claim", "--agent", "sage", *AT).json["task"]["worker"]
        == "sage"
    )
    assert run("tiers", "a2a-complete", first, *AT).json["task"]["result"] is None
    monkeypatch.setenv("THEOREX_AGENT", "sage")
    monkeypatch.setenv("THEOREX_WORKER", "w7")
    assert run("tiers", "a2a-claim", *AT).json["task"]["worker"] == "w7"
    failed = run("tiers", "a2a-fail", second, "no", "such", "file", *AT).json["task"]
    assert (failed["state"], failed["result"], failed["worker"]) == (
        "failed",
        "no such file",
        "w7",
    )
    assert (
        run("tiers", "a2a-send", "--to", "main", "--type", "review", "x", *AT).code == 0
    )
    assert (
        run("tiers", "a2a-tasks", "--agent", "main", *AT).json["tasks"][0]["from"]
        == "sage"
    )


def test_a_lease_that_is_over_shows_in_the_list(run: Run) -> None:
    task_id = _send(run, "x")
    run("tiers", "a2a-claim", "--agent", "sage", "--worker", "w1", *AT)
    later = ("--now", "2026-03-01T09:05:00Z", "--json")
    assert (
        run(
            "tiers", "a2a-tasks", "--agent", "sage", "--state", "submitted", *later
        ).json["tasks"][0]["id"]
        == task_id
    )
    assert (
        run("tiers", "a2a-claim", "--agent", "sage", "--worker", "w2", *later).json[
            "task"
        ]["attempt"]
        == 2
    )


def test_for_people(run: Run) -> None:
    assert run("tiers", "a2a-claim", "--agent", "sage").out == "nothing waits\n"
    assert run("tiers", "a2a-tasks", "--agent", "sage").out == "no tasks\n"
    task_id = _send(run, "a\x1b[31m\x9b\u202eb" + "c" * 200)
    claimed = run("tiers", "a2a-claim", "--agent", "sage", "--worker", "w1").out
    assert claimed.startswith(
        f'{task_id}  working by w1  review from main: "a\\u001b[31m?bccc'
    )
    assert claimed.endswith("…\n")
    assert len(claimed) < 200


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("tiers", "a2a-send", "--to", "sage", "--type", "review"), 2),
        (("tiers", "a2a-send", "--to", "sage", "x"), 2),
        (("tiers", "a2a-send", "--type", "review", "x"), 2),
        (("tiers", "a2a-send", "--to", "a/b", "--type", "review", "x"), 1),
        (("tiers", "a2a-send", "--to", "sage", "--type", "Re-View", "x"), 1),
        (("tiers", "a2a-send", "--to", "sage", "--type", "review", "1e999"), 1),
        (("tiers", "a2a-tasks", "--state", "done"), 2),
        (("tiers", "a2a-claim", "--lease", "soon"), 2),
        (("tiers", "a2a-claim", "--lease", "0"), 2),
        (("tiers", "a2a-claim", "--worker", ""), 1),
        (
            (
                "tiers",
                "a2a-complete",
            ),
            2,
        ),
        (("tiers", "a2a-complete", "nothing"), 1),
        (("tiers", "a2a-fail", "nothing"), 2),
        (("tiers", "a2a-fail", "nothing", " "), 1),
    ],
)
def test_wrong_usage_ends_with_two_and_refused_input_with_one(
    run: Run, arguments: tuple[str, ...], code: int
) -> None:
    ended = run(*arguments, "--json")
    assert (ended.code, list(ended.json)) == (code, ["error"])


def test_the_states_are_those_of_the_board() -> None:
    assert commands._STATES == STATES
