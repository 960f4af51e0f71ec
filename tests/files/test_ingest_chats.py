"""Messages of OpenAI's and Anthropic's form: what comes in, and what is reported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from transcripts import CLOCK, Row, answer, at, call, told, write

from theorex_lab import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=CLOCK) as lab:
        yield lab


def openai_call(name: str, **arguments: Any) -> Row:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"c-{name}", "type": "function", "function": function}],
    }


OPENAI = [
    {"role": "system", "content": "You are a clerk."},
    {"role": "user", "content": "Which port has the till?"},
    openai_call("look", path="till.toml"),
    {"role": "tool", "tool_call_id": "c-look", "content": "port = 8080"},
    {"role": "assistant", "content": "The till listens on 8080."},
    {"role": "user", "content": [{"type": "text", "text": "Write it down."}]},
    {"role": "assistant", "content": "It is written down."},
]
ANTHROPIC = [
    {"role": "user", "content": "Which port has the till?"},
    {"role": "assistant", "content": call("t1", "look", {"path": "till.toml"})},
    {"role": "user", "content": answer("t1", "port = 8080")},
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "The till listens on 8080."}],
    },
    {"role": "user", "content": "Write it down."},
    {"role": "assistant", "content": "It is written down."},
]
EXPECTED = [
    ("prompt", "Which port has the till?"),
    ("tool_used", "look"),
    ("turn_ended", "The till listens on 8080."),
    ("prompt", "Write it down."),
    ("turn_ended", "It is written down."),
]


@pytest.mark.parametrize("messages", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])
@pytest.mark.parametrize(
    "is_conversation", [False, True], ids=["lines", "conversation"]
)
def test_messages_come_in_with_their_tools(
    lab: Lab, tmp_path: Path, messages: list[Row], is_conversation: bool
) -> None:
    rows: list[Row] = [
        {**message, "timestamp": at(second)} for second, message in enumerate(messages)
    ]
    if is_conversation:
        rows = [{"id": "talk-1", "messages": rows}]
    report = lab.import_transcripts(write(tmp_path / "chat.jsonl", rows), trusted=True)
    assert told(lab) == EXPECTED
    assert report.events == len(EXPECTED)
    (used,) = lab.journal.tail(0, kinds=["tool_used"])
    assert "8080" in json.dumps(used.body)
    assert len({event.session for event in lab.journal.tail(0)}) == 1
    again = lab.import_transcripts(tmp_path / "chat.jsonl", trusted=True)
    assert (again.events, again.already) == (0, len(EXPECTED))


def test_conversations_are_sessions_of_their_own(lab: Lab, tmp_path: Path) -> None:
    rows = [
        {
            "conversation_id": f"talk-{number}",
            "created": 1_772_355_600 + number,
            "messages": OPENAI,
        }
        for number in range(3)
    ]
    lab.import_transcripts(write(tmp_path / "chat.jsonl", rows))
    assert len({event.session for event in lab.journal.tail(0)}) == 3
    assert len(told(lab)) == 3 * len(EXPECTED)


def test_what_tells_nothing_is_counted_by_its_kind(lab: Lab, tmp_path: Path) -> None:
    rows = [{**row, "timestamp": at(second)} for second, row in enumerate(OPENAI)]
    report = lab.import_transcripts(write(tmp_path / "chat.jsonl", rows)).to_dict()
    assert report["lines"] == len(rows)
    assert "system" in json.dumps(report)


def test_an_answer_without_a_call_is_reported_and_the_rest_kept(
    lab: Lab, tmp_path: Path
) -> None:
    stray = {"role": "user", "content": [*answer("t9", "x"), *OPENAI[5]["content"]]}
    rows = [
        {"id": "talk", "created_at": at(1), "messages": [*OPENAI[:5], stray, OPENAI[6]]}
    ]
    report = lab.import_transcripts(write(tmp_path / "chat.jsonl", rows))
    assert told(lab) == EXPECTED
    assert "answers a call that is not in the transcript" in " ".join(report.problems)


def test_a_failed_tool_and_arguments_that_are_no_json_are_kept(
    lab: Lab, tmp_path: Path
) -> None:
    rows = [
        {"role": "user", "content": "Look.", "timestamp": at(1)},
        {"role": "assistant", "content": call("t1", "look", {"path": "x"})},
        {"role": "user", "content": answer("t1", "no such file", failed=True)},
        {
            "role": "assistant",
            "content": "",
            "function_call": {"name": "grep", "arguments": "{not json"},
        },
        {"role": "function", "name": "grep", "content": "nothing"},
    ]
    lab.import_transcripts(write(tmp_path / "chat.jsonl", rows))
    kinds = [event.kind for event in lab.journal.tail(0)]
    assert kinds.count("tool_used") + kinds.count("tool_failed") == 2
