"""What a hook's event becomes: how a tool call went, what it touched and ran, in which
project, and old bodies of it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW

from theorex_lab import Event, FixedClock
from theorex_lab.core.project import project_of
from theorex_lab.designs.theorex.flash import Flash
from theorex_lab.journal.event import RAW_KINDS, VERSIONS
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.journal.view import Views
from theorex_lab.memory import hook_payloads
from theorex_lab.text.paths import is_project_path

GOLDEN = Path(__file__).parents[1] / "golden" / "captures-0.2.jsonl"


def used(
    tool: str, given: object, cwd: object = "/srv/shop", **fields: object
) -> dict[str, Any]:
    event = {
        "hook_event_name": "PostToolUse",
        "tool_name": tool,
        "tool_input": given,
        "cwd": cwd,
        **fields,
    }
    return hook_payloads.tool_used(event)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "web").mkdir()
    return tmp_path / "shop"


@pytest.mark.parametrize(
    ("response", "ok"),
    [
        ("Error: it all went wrong", True),
        (None, True),
        ({"stdout": "failed", "stderr": "error"}, True),
        ([{"type": "text"}], True),
        ({"success": True}, True),
        ({"success": False}, False),
        ({"is_error": True}, False),
        ({"isError": True}, False),
        ({"isError": False}, True),
        ({"exit_code": 0}, True),
        ({"exitCode": 1}, False),
        ({"returnCode": -9}, False),
        ({"exit_code": "1"}, True),
        ({"exitCode": None}, True),
        ({"interrupted": True}, False),
        ({"interrupted": False}, True),
        ({"status": "completed"}, True),
        ({"status": "Failed"}, False),
        ({"status": "async_launched"}, None),
        ({"status": 200}, True),
        ({"backgroundTaskId": "b1"}, None),
        ({"success": True, "exit_code": 2}, False),
        ({"success": "no"}, True),
    ],
)
def test_how_a_tool_call_went_is_what_its_event_states(
    response: object, ok: bool | None
) -> None:
    assert used("Bash", {}, tool_response=response)["ok"] is ok
    assert (
        used("Bash", {}, tool_response=response, hook_event_name="PostToolUseFailure")[
            "ok"
        ]
        is False
    )


def test_a_failed_call_shows_its_error_masked() -> None:
    body = used(
        "Bash",
        {},
        hook_event_name="PostToolUseFailure",
        error="Exit code 2: password=hunter2 " + "x" * 600,
    )
    assert body["response"].startswith("Exit code 2: password=[masked] xxx")
    assert len(body["response"]) == hook_payloads.RESPONSE_CHARACTERS


@pytest.mark.parametrize(
    "tool", ["Read", "Grep", "Glob", "LS", "NotebookRead", "read_file", "Unknown", ""]
)
def test_tools_that_read(tool: str) -> None:
    assert used(tool, {"path": "a.py"})["paths"] == {"read": ["a.py"], "edited": []}


@pytest.mark.parametrize(
    "tool",
    [
        "Edit",
        "Write",
        "MultiEdit",
        "NotebookEdit",
        "apply_patch",
        "mcp__fs__write_file",
    ],
)
def test_tools_that_edit(tool: str) -> None:
    assert used(tool, {"file_path": "/srv/shop/a.py"})["paths"] == {
        "read": [],
        "edited": ["a.py"],
    }


@pytest.mark.parametrize(
    "name", ["~", "~/a.md", "C:/a.md", "file:/a.md", "\\\\host\\a.md"]
)
def test_a_file_whose_name_reads_like_a_place_elsewhere_is_kept_where_it_lies_in_the_project(
    name: str,
) -> None:
    body = used("Edit", {"file_path": f"/srv/shop/{name}"})
    assert body["paths"]["edited"] == [f"./{name}"]
    assert is_project_path(body["paths"]["edited"][0])
    assert used("Edit", {"file_path": name})["paths"]["edited"] == []


def test_tools_name_paths_in_other_members_too() -> None:
    old = "my notes/a.md"
    new = "my notes/b.md"
    moved = used(
        "mcp__filesystem__move_file",
        {"source": f"/srv/shop/{old}", "destination": f"/srv/shop/{new}"},
    )
    assert (moved["paths"]["edited"], moved["moves"]) == ([old, new], [[old, new]])
    outside = used(
        "mcp__filesystem__move_file",
        {"source": f"/srv/shop/{old}", "destination": "/tmp/b.md"},
    )
    assert (outside["paths"]["edited"], outside["moves"]) == ([old], [[old, ""]])
    assert used("mcp__serena__replace_symbol_body", {"relative_path": old})["paths"][
        "edited"
    ] == [old]
    read = used(
        "mcp__filesystem__read_multiple_files",
        {"paths": [f"/srv/shop/{old}", 3, None, "/etc/passwd", new]},
    )
    assert read["paths"] == {"read": [old, new], "edited": []}
    for given in ({"paths": "a.md"}, {"paths": {"a": 1}}, {"paths": [["a.md"]]}):
        assert used("mcp__filesystem__read_multiple_files", given)["paths"] == {
            "read": [],
            "edited": [],
        }


def test_a_patch_names_what_it_edits() -> None:
    patch = (
        "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n*** Move to: src/b.py\n***"
        " Delete File: /etc/passwd\n"
    )
    for given in (patch, {"input": patch}):
        assert used("apply_patch", given)["paths"]["edited"] == ["src/a.py", "src/b.py"]
    assert used("Read", {"input": patch})["paths"] == {"read": [], "edited": []}


def test_paths_are_named_from_the_root_wherever_the_agent_stands(
    shop: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(shop)
    for cwd in (shop, shop / "web", link, link / "web"):
        for path in (
            shop / "web" / "a.py",
            cwd.joinpath(os.path.relpath(shop / "web" / "a.py", cwd.resolve())),
        ):
            assert used("Read", {"file_path": str(path)}, str(cwd))["paths"][
                "read"
            ] == ["web/a.py"], (cwd, path)
    for path in ("a.py", "../web/a.py", "./a.py"):
        assert used("Read", {"file_path": path}, str(shop / "web"))["paths"][
            "read"
        ] == ["web/a.py"]
    for path in (
        "../../x.py",
        str(tmp_path / "x.py"),
        "/etc/passwd",
        "~/.ssh/id",
        "a\0b",
        "web/ghp_" + "a1B2" * 9,
    ):
        assert (
            used("Read", {"file_path": path}, str(shop / "web"))["paths"]["read"] == []
        )


def test_a_worktree_names_the_same_file_the_same_way(
    shop: Path, tmp_path: Path
) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".git").write_text(f"gitdir: {shop}/.git/worktrees/tree\n")
    (shop / ".git" / "worktrees" / "tree").mkdir(parents=True)
    for git in (shop / ".git", shop / ".git" / "worktrees" / "tree"):
        (git / "HEAD").write_text("ref: refs/heads/main\n")
    (shop / ".git" / "worktrees" / "tree" / "gitdir").write_text(
        f"{tmp_path}/tree/.git\n"
    )
    body = used(
        "Edit",
        {"file_path": str(tmp_path / "tree" / "web" / "a.py")},
        str(tmp_path / "tree"),
    )
    assert body["paths"]["edited"] == ["web/a.py"]
    assert body["project"] == project_of(str(shop)) != ""


@pytest.mark.parametrize(
    "cwd",
    [
        "shop",
        None,
        7,
        ["/srv"],
        "",
        "/a\0b",
        "/\ud800",
        "/" + "x/" * 500_000,
        "/" + "y" * 4_000,
    ],
)
def test_no_folder_stops_the_capture(cwd: object) -> None:
    body = used("Read", {"file_path": "src/a.py"}, cwd)
    assert body["tool"] == "Read"
    expected = project_of(cwd) if isinstance(cwd, str) and cwd.startswith("/y") else ""
    assert body["project"] == expected
    assert body["paths"]["read"] == ["src/a.py"]
    for each in (
        hook_payloads.prompt,
        hook_payloads.turn_ended,
        hook_payloads.compacting,
        hook_payloads.session_ended,
    ):
        assert each({"cwd": cwd})["project"] == expected


@pytest.mark.parametrize(
    ("tool", "given", "command"),
    [
        ("Bash", {"command": "make test"}, "make test"),
        ("exec_command", {"cmd": "make"}, "make"),
        ("shell", {"command": ["bash", "-lc", "make"]}, "bash -lc make"),
        ("Bash", {"command": 7}, ""),
        ("Bash", "ls", ""),
        ("Edit", {"command": "view"}, ""),
        ("Bash", {"command": "login --password hunter2"}, "login --password [masked]"),
        (
            "Bash",
            {"command": "cat /srv/shop/src/a.py /etc/passwd ~/.ssh/id"},
            "cat src/a.py  ",
        ),
        ("Bash", {"command": "ls /mnt/srv/shop/a.py"}, "ls "),
        ("Bash", {"command": "x " * 2_000}, "x " * 499 + "x…"),
    ],
)
def test_the_command_is_kept_without_what_is_not_the_projects(
    tool: str, given: object, command: str
) -> None:
    assert used(tool, given)["command"] == command


def test_no_secret_survives_at_the_end_of_a_command() -> None:
    secret = "ghp_0123456789abcdefghijABCDEFGHIJ456789"
    for before in range(950, 1_000, 7):
        assert (
            "ghp_0"
            not in used("Bash", {"command": "." * before + f" {secret} " * 500})[
                "command"
            ]
        )


def test_the_end_of_a_turn_holds_the_last_message_masked_and_tells_whose_it_is() -> (
    None
):
    said = {
        "last_assistant_message": "I set password=hunter2 " + "x" * 5_000,
        "cwd": "/srv/shop",
    }
    turn = hook_payloads.turn_ended({"hook_event_name": "Stop", **said})
    assert turn["message"].startswith("I set password=[masked] xx")
    assert len(turn["message"]) == 4_000
    assert (turn["source"], turn["subagent"], turn["project"]) == (
        "agent",
        False,
        project_of("/srv/shop"),
    )
    assert (
        hook_payloads.turn_ended({"hook_event_name": "SubagentStop", **said})[
            "subagent"
        ]
        is True
    )


def test_bodies_of_every_version_are_read(tmp_path: Path) -> None:
    """A journal with the first bodies of each raw kind and with those of now; what is
    read from it must never change.
    """
    rows = [
        json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()
    ]
    journal = SqliteJournal(tmp_path / "theorex.db", clock=FixedClock(NOW))
    journal.append([Event(0, *row) for row in rows])
    found = list(journal.tail(0))
    assert {event.kind for event in found} == set(RAW_KINDS)
    assert all(event.body["v"] == VERSIONS[event.kind] for event in found)
    assert [event.body["project"] for event in found] == [""] * 6 + [
        "shop-1a2b3c4d"
    ] * 8
    read, edited, ran = (event.body for event in found[1:4])
    assert read["paths"] == {"read": ["src/cache.py"], "edited": []}
    assert edited["paths"] == {"read": [], "edited": ["src/cache.py"]}
    assert [(body["ok"], body["command"]) for body in (read, edited, ran)] == [
        (None, "")
    ] * 3
    assert found[4].body == {
        "v": 2,
        "message": "",
        "source": "agent",
        "subagent": False,
        "project": "",
    }
    for event, row in zip(found, rows, strict=True):
        assert event.body["v"] > row[-1]["v"] or event.body == row[-1]
    flash = Views(journal, tmp_path / "views").get(Flash)
    assert (flash.pending("main", "s1"), flash.pending("main", "s2")) == (
        [1, 2, 3, 4],
        [8, 9],
    )


def test_the_end_of_a_turn_knows_how_large_the_transcript_is(tmp_path: Path) -> None:
    transcript = tmp_path / "session.jsonl"
    transcript.write_bytes(b"x" * 77)
    said = {"hook_event_name": "Stop", "transcript_path": str(transcript)}
    assert hook_payloads.turn_ended(said)["transcript_bytes"] == 77
    for event in (
        {**said, "hook_event_name": "SubagentStop"},
        {**said, "transcript_path": str(tmp_path / "none")},
        {**said, "transcript_path": "relative"},
        {**said, "transcript_path": 7},
    ):
        assert "transcript_bytes" not in hook_payloads.turn_ended(event)
