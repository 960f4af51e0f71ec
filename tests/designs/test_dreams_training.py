"""Chats to train a model on: taken, thinned, balanced, split and masked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import NOW, Meanings, Run
from theorex_lab import FixedClock, InvalidInput, Lab
from theorex_lab.designs.dreams.sqlite_export import export_sqlite
from theorex_lab.designs.dreams.training import (
    TrainingFilter,
    prepare_training_files,
    training_chats,
    write_training_data,
)

CALLS = TrainingFilter(outcome="success", min_actions=3, calls_only=True)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=FixedClock(NOW), embedder=Meanings()) as opened:
        yield opened


def call(tool: str, argument: object) -> dict[str, Any]:
    return {"reasoning": "because", "action": f"{tool}({argument})", "ok": True}


def lived(lab: Lab) -> None:
    repeated = [call("move", 1)] * 7  # every third stays: three
    many = [call("move", number) for number in range(2, 20)]
    others = [call("turn", number) for number in range(4)]
    others.append(call("login", '{"password": "hunter2secret"}'))
    said = {"reasoning": "said", "action": "I am done"}
    lab.dreams.capture("drive", [*repeated, *many, *others, said])
    lab.dreams.capture("too short", [call("turn", 9), call("turn", 8)])
    failed = [call("turn", number) for number in range(30)]
    lab.dreams.capture("failed", failed, outcome="failure")


def answers(file: Path) -> list[str]:
    lines = file.read_text().splitlines()
    return [json.loads(line)["messages"][2]["content"] for line in lines]


def test_the_files_are_thinned_balanced_split_and_masked(
    lab: Lab, tmp_path: Path
) -> None:
    lived(lab)
    file = tmp_path / "training_data.jsonl"
    assert write_training_data(lab.home, file, CALLS) == 30
    stats = prepare_training_files(file, tmp_path / "sft")
    train = answers(tmp_path / "sft" / "train.jsonl")
    held = answers(tmp_path / "sft" / "val.jsonl")
    tools = Counter(answer.partition("(")[0] for answer in train + held)
    assert dict(tools) == {"move": 7, "turn": 4, "login": 1} == stats["tools"]
    assert (len(train), len(held)) == (11, 1)
    assert json.loads((tmp_path / "sft" / "stats.json").read_text()) == stats
    assert "hunter2secret" not in file.read_text()
    before = (tmp_path / "sft" / "train.jsonl").read_bytes()
    prepare_training_files(file, tmp_path / "sft")
    assert (tmp_path / "sft" / "train.jsonl").read_bytes() == before
    prepare_training_files(file, tmp_path / "sft", seed=7)
    assert (tmp_path / "sft" / "train.jsonl").read_bytes() != before


def test_calls_of_robots_are_calls(lab: Lab, tmp_path: Path) -> None:
    payload = 'TOOLCALL:{"name":"move_forward","args":{"speed_l":180}}'
    done = [{"reasoning": "POSE: x=125.0", "action": payload}] * 3
    lab.dreams.capture("reach the door", done, origin="sim_3d")
    chosen = CALLS._replace(source="sim_3d")
    chats = list(training_chats(lab.home, chosen))
    assert [chat["messages"][2]["content"] for chat in chats] == [payload] * 3
    write_training_data(lab.home, tmp_path / "a.jsonl", chosen)
    stats = prepare_training_files(tmp_path / "a.jsonl", tmp_path)
    assert stats["tools"] == {"move_forward": 1}


def test_other_names_are_refused_and_other_lines_are_named(
    lab: Lab, tmp_path: Path
) -> None:
    for wrong in (TrainingFilter(outcome="won"), TrainingFilter(source="moon")):
        with pytest.raises(InvalidInput, match=r"won|moon"):
            list(training_chats(lab.home, wrong))
    done = [{"reasoning": "why", "action": "act"}, {"action": "without a reason"}]
    lab.dreams.capture("one", done)
    (chat,) = lab.dreams.training_data()
    assert chat["messages"][2]["content"] == "act"
    file = tmp_path / "chats.jsonl"
    file.write_text(f'{json.dumps(chat)}\n{{"messages": []}}\nno JSON\n')
    stats = prepare_training_files(file, tmp_path)
    assert (stats["chats"], stats["train"], len(stats["problems"])) == (1, 1, 2)


def test_actions_in_plain_words_of_a_file_are_taken_on_request(
    lab: Lab, tmp_path: Path, run: Run
) -> None:
    words = [f"Read chapter {number}" for number in range(3)]
    done = [{"reasoning": "why", "action": word} for word in words]
    lab.dreams.capture("learn it", [*done, {"action": "without a reason"}])
    export_sqlite(lab.home, tmp_path / "memory.db")
    output = tmp_path / "chats.jsonl"
    arguments = ["dreams", "export-training-data", "--db", str(tmp_path / "memory.db")]
    arguments += ["--output", str(output), "--outcome", ""]
    for options, expected in ([], []), (["--all-actions"], words):
        assert run(*arguments, *options).code == 0
        assert answers(output) == expected
