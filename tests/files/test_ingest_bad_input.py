"""Transcripts that are broken, cut, huge, hostile or none: what can be read comes in,
the rest is named.
"""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
import transcripts as made
from transcripts import CLOCK, SECRET, captures, told, write

from theorex_lab import InvalidInput, Lab
from theorex_lab.core.clock import to_microseconds
from theorex_lab.files.transcripts import folders
from theorex_lab.files.transcripts.messages import time_of
from theorex_lab.files.transcripts.records import transcript_records

PROMPT = made.claude("user", 1, "Fix the cache")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=CLOCK) as lab:
        yield lab


def test_lines_that_cannot_be_read_are_named_and_skipped(
    lab: Lab, tmp_path: Path
) -> None:
    rest = (
        "{broken\n[1]\n\n"
        + made.lines([made.claude("user", 4, made.answer("lost", "x"))])
        + "{broken too\n"
        + "[" * 100_000
    )
    file = write(
        tmp_path / "x.jsonl",
        made.lines([PROMPT])
        + rest
        + "\n"
        + made.lines([made.claude("user", 9, "Next")]),
    )
    report = lab.import_transcripts(file)
    assert told(lab) == [("prompt", "Fix the cache"), ("prompt", "Next")]
    assert report.problems == [
        "x.jsonl:2: not JSON, or nested too deeply (and 2 more like it)",
        "x.jsonl:3: no object of JSON",
        "x.jsonl:5: a tool answers a call that is not in the transcript before it",
    ]


def test_a_transcript_may_end_inside_a_line(lab: Lab, tmp_path: Path) -> None:
    file = write(tmp_path / "x.jsonl", made.lines([PROMPT]) + '{"type":"user","mess')
    report = lab.import_transcripts(file)
    assert (report.events, report.problems) == (
        1,
        ["x.jsonl:2: the transcript ends inside the line"],
    )


@pytest.mark.parametrize(
    "row",
    [
        {"message": 7},
        {"message": {"content": 7}},
        {"message": {"content": [7, {"type": "text", "text": 7}]}},
        {"uuid": [1]},
        {"sessionId": 7},
        {"timestamp": {"a": 1}},
        {"cwd": 7},
        {"cwd": "/\ud800"},
        {"sessionId": "a b\ud800", "uuid": "\ud800"},
        {
            "type": "assistant",
            "message": {"content": [{"type": "tool_use"}], "stop_reason": ["x"]},
        },
        {"message": {"content": [{"type": "tool_result", "tool_use_id": {}}]}},
        {"type": ["user"]},
        {"type": "system", "subtype": []},
        {
            "type": "attachment",
            "attachment": {
                "type": "queued_command",
                "commandMode": "prompt",
                "prompt": 7,
            },
        },
    ],
)
def test_members_of_other_types_stop_nothing(
    lab: Lab, tmp_path: Path, row: made.Row
) -> None:
    lab.import_transcripts(
        write(
            tmp_path / "x.jsonl",
            [PROMPT, {**PROMPT, **row}, made.claude("user", 9, "Next")],
        )
    )
    assert ("prompt", "Next") in told(lab)


@pytest.mark.parametrize(
    "kind", ["session_meta", "response_item", "event_msg", "turn_context", "compacted"]
)
@pytest.mark.parametrize(
    "payload",
    [
        None,
        [],
        {"type": "message", "role": "user", "content": 7},
        {"id": 7, "source": 7},
        {"type": []},
        {"type": "function_call", "arguments": "{", "call_id": []},
        {"type": "user_message", "message": 7},
    ],
)
def test_payloads_of_other_types_stop_nothing(
    lab: Lab, tmp_path: Path, kind: str, payload: object
) -> None:
    rows = [
        *made.CODEX[:4],
        {"type": kind, "timestamp": 7, "payload": payload},
        *made.CODEX[4:],
    ]
    lab.import_transcripts(write(tmp_path / "x.jsonl", rows))
    assert ("turn_ended", "It is fixed.") in told(lab)


def test_hook_events_of_other_types_stop_nothing(lab: Lab, tmp_path: Path) -> None:
    rows = [
        {"hook_event_name": "UserPromptSubmit", "prompt": 7, "session": 7},
        {"hook_event_name": "PostToolUse", "reads": "x"},
        {"hook_event_name": "Stop", "agent_text": [1], "cwd": ["x"]},
        {"hook_event_name": "Unknown"},
        *made.HOOK,
    ]
    lab.import_transcripts(write(tmp_path / "x.jsonl", rows))
    assert ("session_ended", "") in told(lab)


def test_a_version_to_come_brings_what_is_known_of_it(lab: Lab, tmp_path: Path) -> None:
    rows = [
        {"type": "novelty", "sessionId": "s", "uuid": "u"},
        {**PROMPT, "version": "99.0", "more": {"x": 1}},
    ]
    report = lab.import_transcripts(write(tmp_path / "x.jsonl", rows))
    assert (told(lab), report.problems) == ([("prompt", "Fix the cache")], [])


def test_a_line_that_is_too_long_is_skipped_without_being_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "LONGEST_LINE_BYTES", 2 << 20)
    file = tmp_path / "x.jsonl"
    with file.open("w") as opened:
        opened.write(made.lines([PROMPT]))
        opened.writelines("x" * (1 << 20) for _ in range(40))
        opened.write("\n" + made.lines([made.claude("user", 9, "Next")]))
    tracemalloc.start()
    records = list(transcript_records(str(file)))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    prompts = [fields[0]["prompt"] for kind, *fields in records if kind == "capture"]
    assert prompts == ["Fix the cache", "Next"]
    assert ["problem", 2, "the line is longer than 2 MiB"] in records
    assert most < 20 << 20


def test_a_large_transcript_is_read_in_bounded_memory(lab: Lab, tmp_path: Path) -> None:
    """Each line has some 100 KB, as of tools that read whole files; a hundred MB packed
    into little.
    """
    file = tmp_path / "x.jsonl.gz"
    with gzip.open(file, "wt", compresslevel=1) as opened:
        for number in range(1, 600, 2):
            opened.write(
                made.lines(
                    [
                        made.claude(
                            "assistant",
                            number,
                            made.call(f"t{number}", "Read", {"file_path": "a.py"}),
                        )
                    ]
                )
            )
            opened.write(
                made.lines(
                    [
                        made.claude(
                            "user",
                            number + 1,
                            made.answer(f"t{number}", "some words " * 20_000),
                        )
                    ]
                )
            )
    tracemalloc.start()
    report = lab.import_transcripts(file)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert report.events == 300
    assert most < 100 << 20


def test_secrets_and_binary_output_come_in_masked_and_readable(
    lab: Lab, tmp_path: Path
) -> None:
    rows = [
        made.claude("user", 1, f"use {SECRET}"),
        made.claude("assistant", 2, made.call("t", "Bash", {"command": "cat x"})),
        made.claude("user", 3, made.answer("t", "\0\x01\udcff\x7f" * 50 + SECRET)),
    ]
    content = (
        made.lines(rows).encode()
        + b'{"type":"user","uuid":"z","timestamp":"2026-03-01T09:01:00Z","message":'
    )
    file = tmp_path / "x.jsonl"
    file.write_bytes(content + b'{"content":"broken \xff\xfe bytes"}}\n')
    lab.import_transcripts(file)
    assert SECRET[:12] not in json.dumps([event.body for event in lab.journal.tail(0)])
    assert ("prompt", "use [masked]") in told(lab)
    assert any(text.startswith("broken ") for _, text in told(lab))
    assert lab.verify().problems == []


def test_times_of_the_future_are_the_clocks(lab: Lab, tmp_path: Path) -> None:
    lab.import_transcripts(
        write(tmp_path / "x.jsonl", [{**PROMPT, "timestamp": "2999-01-01T00:00:00Z"}])
    )
    assert [event.at for event in lab.journal.tail(0)] == [CLOCK.now() + 300_000_000]


def test_a_missing_time_is_the_neighbours(lab: Lab, tmp_path: Path) -> None:
    untimed = [
        {**made.claude("user", second, f"p{second}"), "timestamp": stated}
        for second, stated in ((1, None), (3, "?"))
    ]
    lab.import_transcripts(
        write(
            tmp_path / "x.jsonl", [untimed[0], made.claude("user", 2, "p2"), untimed[1]]
        )
    )
    assert [(event.body["text"], event.at) for event in lab.journal.tail(0)] == [
        (text, to_microseconds(made.at(2))) for text in ("p1", "p2", "p3")
    ]


def test_without_any_time_it_is_that_of_the_file(lab: Lab, tmp_path: Path) -> None:
    rows = [
        {
            "hook_event_name": "UserPromptSubmit",
            "session_id": "s",
            "prompt": f"p{number}",
        }
        for number in range(300)
    ]
    file = write(tmp_path / "x.jsonl", rows)
    os.utime(file, (1_700_000_000, 1_700_000_000))
    lab.import_transcripts(file)
    assert {event.at for event in lab.journal.tail(0)} == {1_700_000_000_000_000}
    assert told(lab) == [("prompt", f"p{number}") for number in range(300)]


def test_times_as_transcripts_state_them() -> None:
    second = to_microseconds("2026-03-01T09:00:01Z")
    for stated in (
        "2026-03-01 09:00:01Z",
        "2026-03-01 10:00:01+0100",
        "2026-03-01 09:00:01",
        "2026-03-01T09:00:01.000Z",
    ):
        assert time_of(stated) == second
    for stated in ("", "yesterday evening", 7, None, "9" * 70, "2026-99-01T00:00:00Z"):
        assert time_of(stated) is None


def test_a_folder_without_transcripts_is_refused(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    write(tmp_path / "t" / "README.md", "# Notes\n")
    write(tmp_path / "t" / "other.jsonl", '{"a":1}\n')
    (tmp_path / "t" / "x.bin").write_bytes(os.urandom(4_096))
    with pytest.raises(
        InvalidInput,
        match="in which no transcript was found; allowed are Claude Code.*other.jsonl:1",
    ):
        lab.import_transcripts(tmp_path / "t")
    with pytest.raises(InvalidInput, match="no file or folder"):
        lab.import_transcripts(tmp_path / "nowhere")
    assert captures(lab) == []


def test_links_and_special_files_are_not_followed(lab: Lab, tmp_path: Path) -> None:
    outside = write(tmp_path / "outside" / "x.jsonl", made.CLAUDE)
    write(tmp_path / "t" / "own.jsonl", [PROMPT])
    (tmp_path / "t" / "link.jsonl").symlink_to(outside)
    (tmp_path / "t" / "folder").symlink_to(outside.parent)
    os.mkfifo(tmp_path / "t" / "pipe.jsonl")
    report = lab.import_transcripts(tmp_path / "t")
    assert (report.files, report.events) == (1, 1)


def test_a_damaged_archive_brings_what_can_be_read_of_it(
    lab: Lab, tmp_path: Path
) -> None:
    rows = [
        made.claude("user", number, f"{number} {os.urandom(200).hex()}")
        for number in range(1, 50)
    ]
    packed = gzip.compress(made.lines(rows).encode())
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "x.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    write(
        tmp_path / "t" / "y.jsonl", [made.claude("user", 1, "Whole", sessionId="other")]
    )
    report = lab.import_transcripts(tmp_path / "t")
    assert ("prompt", "Whole") in told(lab)
    assert any("cannot be read further" in problem for problem in report.problems)


def test_strict_fails_where_something_could_not_be_read(
    lab: Lab, tmp_path: Path, run: object
) -> None:
    from typing import Any

    command: Any = run
    file = write(tmp_path / "x.jsonl", made.lines([PROMPT]) + "{\n")
    assert command("import", "--transcripts", str(file)).code == 0
    assert command("import", "--transcripts", str(file), "--strict").code == 1
