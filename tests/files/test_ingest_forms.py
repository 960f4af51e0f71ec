"""Each form of transcripts becomes the captures that the hook would have written."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import transcripts as made
from transcripts import CLOCK, CWD, SESSION, captures, told, write

from theorex_lab import Event, Lab
from theorex_lab.core.clock import to_microseconds
from theorex_lab.core.ids import derived_event_id
from theorex_lab.core.project import project_of
from theorex_lab.files.ingest.words import own_words
from theorex_lab.memory.hook_payloads import BODIES


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=CLOCK) as lab:
        yield lab


def events(lab: Lab, kind: str) -> list[Event]:
    return [event for event in lab.journal.tail(0) if event.kind == kind]


def test_claude_code(lab: Lab, tmp_path: Path) -> None:
    report = lab.import_transcripts(
        write(tmp_path / "x.jsonl", made.CLAUDE), trusted=True
    )
    assert told(lab) == [
        ("prompt", "Fix the cache, always use the TTL"),
        ("tool_used", "Read"),
        ("tool_used", "Bash"),
        ("turn_ended", "go on"),
        ("turn_ended", "The TTL is fixed."),
        ("compacting", "auto"),
        ("prompt", "Now the docs"),
        ("turn_ended", "Docs are done."),
    ]
    assert report.problems == []
    assert report.projects == {
        project_of(CWD): {"sessions": 1, "prompts": 2, "tools": 2, "messages": 3}
    }
    assert [event.body["subagent"] for event in events(lab, "turn_ended")] == [
        True,
        False,
        False,
    ]
    read, bash = events(lab, "tool_used")
    assert (read.body["paths"], read.body["ok"]) == (
        {"read": ["src/cache.py"], "edited": []},
        True,
    )
    assert (bash.body["ok"], bash.body["response"], bash.body["command"]) == (
        False,
        "Exit code 2",
        "make test TOKEN=[masked]",
    )
    assert read.session == SESSION
    assert read.at == to_microseconds(made.at(4))


def test_a_capture_is_what_the_hook_writes(lab: Lab, tmp_path: Path) -> None:
    lab.import_transcripts(write(tmp_path / "x.jsonl", made.CLAUDE), trusted=True)
    found = events(lab, "tool_used")[0].body
    hook = {
        "hook_event_name": "PostToolUse",
        "cwd": CWD,
        "tool_name": "Read",
        "tool_input": {"file_path": f"{CWD}/src/cache.py"},
        "tool_response": {"type": "text", "file": {"content": "x = 1"}},
    }
    assert found == {"v": 2, **BODIES["PostToolUse"][1](hook)}


def test_codex(lab: Lab, tmp_path: Path) -> None:
    lab.import_transcripts(
        write(tmp_path / "rollout-x.jsonl", made.CODEX), trusted=True
    )
    assert told(lab) == [
        ("prompt", "Fix the cache"),
        ("tool_used", "shell"),
        ("tool_used", "apply_patch"),
        ("tool_used", "local_shell"),
        ("compacting", ""),
        ("turn_ended", "It is fixed."),
    ]
    shell, patch, listing = (event.body for event in events(lab, "tool_used"))
    assert (shell["ok"], shell["command"]) == (False, "bash -lc make test")
    assert (patch["ok"], patch["paths"]["edited"]) == (True, ["src/a.py"])
    assert listing["command"] == "ls src"
    assert {event.body["project"] for event in lab.journal.tail(0)} == {project_of(CWD)}


def test_codex_before_it_had_an_envelope(lab: Lab, tmp_path: Path) -> None:
    lab.import_transcripts(write(tmp_path / "x.jsonl", made.CODEX_BARE), trusted=True)
    expected = [
        ("prompt", "Fix the cache"),
        ("tool_used", "shell"),
        ("turn_ended", "It is fixed."),
    ]
    assert told(lab) == [*expected, ("prompt", "Thanks, now the docs")]
    assert {
        (event.session, event.at, event.body["project"])
        for event in lab.journal.tail(0)
    } == {(SESSION, to_microseconds(made.at(1)), project_of(CWD))}


def test_what_a_sub_agent_of_codex_is_asked_is_no_prompt(
    lab: Lab, tmp_path: Path
) -> None:
    rows = json.loads(json.dumps(made.CODEX))
    rows[0]["payload"]["source"] = {
        "subagent": {"thread_spawn": {"parent_thread_id": "p"}}
    }
    lab.import_transcripts(write(tmp_path / "x.jsonl", rows), trusted=True)
    assert not events(lab, "prompt")
    assert [event.body["subagent"] for event in events(lab, "turn_ended")] == [True]


@pytest.mark.parametrize("packed", [False, True])
def test_lines_in_a_hooks_form(lab: Lab, tmp_path: Path, packed: bool) -> None:
    file = tmp_path / ("x.jsonl.gz" if packed else "x.jsonl")
    content = made.lines(made.HOOK).encode()
    file.write_bytes(gzip.compress(content) if packed else content)
    lab.import_transcripts(file, project="mine", trusted=True)
    assert told(lab) == [
        ("prompt", "Fix the cache"),
        ("tool_used", "read_file"),
        ("tool_used", "Edit"),
        ("turn_ended", "It is fixed."),
        ("session_ended", ""),
    ]
    read, edit = events(lab, "tool_used")
    assert (read.body["paths"], read.body["project"]) == (
        {"read": ["src/a.py"], "edited": []},
        "mine",
    )
    assert (edit.body["paths"], edit.body["project"]) == (
        {"read": [], "edited": ["src/b.py"]},
        project_of(CWD),
    )
    assert (edit.session, edit.at) == ("s2", read.at)


def test_folders_below_the_first_that_are_not_here_are_of_its_project(
    lab: Lab, tmp_path: Path
) -> None:
    rows = [
        made.claude("user", 1, "One"),
        made.claude("user", 2, "Two", cwd=f"{CWD}/web"),
    ]
    report = lab.import_transcripts(write(tmp_path / "x.jsonl", rows))
    assert list(report.projects) == [project_of(CWD)]


def test_a_program_in_the_persons_name_says_nothing() -> None:
    for text in (
        "<system-reminder>x",
        "<local-command-stdout>x</local-command-stdout>",
        "Caveat: The messages below were generated by "
        "the user while running local commands",
        "[Request interrupted by user for tool use]",
        "<pasted-text>x</pasted-text>",
        "<system-reminder>a</system-reminder>b</system-reminder>",
        "# AGENTS.md instructions for /srv",
        "<task-notification>\nx\n</task-notification>",
    ):
        assert own_words([text]) == "", text
    assert own_words(["a < b\n<system-reminder>x</system-reminder> c"]) == "a < b\n c"
    assert (
        own_words(["# Context from my IDE setup:\nx\n## My request for Codex:\nFix it"])
        == "Fix it"
    )


def test_an_id_is_of_form_session_and_the_transcripts_own(
    lab: Lab, tmp_path: Path
) -> None:
    untimed = {**made.CLAUDE[1], "timestamp": None}
    lab.import_transcripts(write(tmp_path / "x.jsonl", [untimed]))
    assert captures(lab)[0][-1] == derived_event_id(
        "transcript", "claude", SESSION, "prompt u1"
    )


def test_an_id_with_a_time_is_the_same_in_each_session(
    lab: Lab, tmp_path: Path
) -> None:
    text = "Fix the cache, always use the TTL"
    moment = to_microseconds(made.at(1))
    content = hashlib.sha256(text.encode()).hexdigest()
    lab.import_transcripts(write(tmp_path / "x.jsonl", made.CLAUDE))
    assert captures(lab)[1][-1] == derived_event_id(
        "transcript", "claude", "", "prompt u1", moment, content
    )


def forked(named: bool, turn: str) -> list[made.Row]:
    """The session of `made.CODEX` and what was asked after its fork, a minute later."""
    own = "019df3d2-6edb-7322-b537-34d4f10cb129"  # drawn at 2026-05-04T16:29:07.675Z
    head = {"id": own, "cwd": CWD, **({"forked_from_id": SESSION} if named else {})}
    stamped = {"timestamp": "2026-05-04T16:29:07.700Z"}
    copied = [
        made.codex(
            "turn_context", 0, {"turn_id": "019df362-aa9f-7011-903e-4a0878d49fa0"}
        ),
        *made.CODEX,
    ]
    later = {"timestamp": "2026-05-04T16:30:07.000Z"}
    context = {
        "type": "turn_context",
        "payload": {"turn_id": turn} if turn else {},
        **later,
    }
    asked = {
        "type": "event_msg",
        "payload": {"type": "user_message", "message": "Another way"},
        **later,
    }
    first = {"type": "session_meta", "payload": head, **stamped}
    return [
        first,
        made.CODEX[0],
        *({**row, **stamped} for row in copied),
        context,
        asked,
    ]


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("turn", ["019df3d3-5a00-7000-8000-000000000000", ""])
def test_a_fork_of_codex_does_not_double_what_it_copied(
    lab: Lab, tmp_path: Path, named: bool, turn: str
) -> None:
    write(tmp_path / "rollout-1.jsonl", made.CODEX)
    alone = lab.import_transcripts(tmp_path, trusted=True).events
    write(tmp_path / "rollout-2.jsonl", forked(named, turn))
    report = lab.import_transcripts(tmp_path, trusted=True)
    assert (report.events, report.already, report.problems) == (1, alone, [])
    assert told(lab)[-1] == ("prompt", "Another way")
