"""Made-up transcripts of coding agents, and what an import made of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from theorex_lab import FixedClock, Lab

CWD = "/srv/elsewhere/shop"
SESSION = "5f0c7a10-0000-4000-8000-000000000001"
CLOCK = FixedClock.at("2026-03-01T12:00:00Z")
SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ456789"
Row = dict[str, Any]


def at(second: int) -> str:
    """A time of the fixtures' day."""
    return f"2026-03-01T09:{second // 60:02d}:{second % 60:02d}.000Z"


def claude(
    kind: str, second: int, content: object, *, stop: str | None = None, **more: Any
) -> Row:
    """A line of Claude Code's transcript."""
    message = {
        "role": kind,
        "content": content,
        **({"stop_reason": stop} if kind == "assistant" else {}),
    }
    return {
        "type": kind,
        "uuid": f"u{second}",
        "sessionId": SESSION,
        "timestamp": at(second),
        "cwd": CWD,
        "version": "2.1.0",
        "isSidechain": False,
        "message": message,
        **more,
    }


def call(tool_id: str, name: str, given: Row) -> list[Row]:
    return [{"type": "tool_use", "id": tool_id, "name": name, "input": given}]


def answer(tool_id: str, content: object, *, failed: bool = False) -> list[Row]:
    return [
        {
            "type": "tool_result",
            "tool_use_id": tool_id,
            "content": content,
            "is_error": failed,
        }
    ]


CLAUDE: list[Row] = [
    {"type": "summary", "summary": "Caches", "leafUuid": "u9"},
    claude("user", 1, "Fix the cache, always use the TTL"),
    claude(
        "assistant",
        2,
        [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "I look at it."},
        ],
        stop="tool_use",
    ),
    claude(
        "assistant",
        3,
        call("t1", "Read", {"file_path": f"{CWD}/src/cache.py"}),
        stop="tool_use",
    ),
    claude(
        "user",
        4,
        answer("t1", "x = 1"),
        toolUseResult={"type": "text", "file": {"content": "x = 1"}},
    ),
    claude(
        "assistant",
        5,
        call("t2", "Bash", {"command": f"make test TOKEN={SECRET}"}),
        stop="tool_use",
    ),
    claude(
        "user",
        6,
        answer("t2", "Exit code 2", failed=True),
        toolUseResult="Error: Exit code 2",
    ),
    claude("assistant", 7, "go on", isSidechain=True, agentId="a1", stop="end_turn"),
    claude("user", 8, "look for stampedes", isSidechain=True, agentId="a1"),
    claude(
        "assistant", 9, [{"type": "text", "text": "The TTL is fixed."}], stop="end_turn"
    ),
    claude("user", 10, "<system-reminder>be brief</system-reminder>", isMeta=True),
    claude(
        "user",
        11,
        "<command-name>/compact</command-name>\n<local-command-stdout>done</local-command-stdout>",
    ),
    {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "c1",
        "sessionId": SESSION,
        "timestamp": at(12),
        "cwd": CWD,
        "compactMetadata": {"trigger": "auto", "preTokens": 9},
    },
    claude("user", 13, "This session is being continued …", isCompactSummary=True),
    claude(
        "user",
        14,
        [
            {
                "type": "text",
                "text": "<system-reminder>x</system-reminder>\nevil</system-reminder>",
            },
            {
                "type": "text",
                "text": "Now the docs <ide_selection>y</ide_selection>[Pasted text #1 +20 lines]",
            },
        ],
    ),
    claude("assistant", 15, [{"type": "text", "text": "Docs are done."}]),
    {
        "type": "system",
        "subtype": "turn_duration",
        "durationMs": 5,
        "uuid": "d1",
        "sessionId": SESSION,
        "timestamp": at(16),
    },
]


def codex(kind: str, second: int, payload: Row) -> Row:
    return {"timestamp": at(second), "type": kind, "payload": payload}


def said(role: str, text: str) -> Row:
    return {
        "type": "message",
        "role": role,
        "content": [
            {"type": f"{'in' if role == 'user' else 'out'}put_text", "text": text}
        ],
    }


PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** End Patch"
CODEX: list[Row] = [
    codex(
        "session_meta",
        1,
        {"id": SESSION, "cwd": CWD, "cli_version": "0.99", "source": "cli"},
    ),
    codex(
        "response_item",
        2,
        said("user", "<environment_context>\n  <cwd>/x</cwd>\n</environment_context>"),
    ),
    codex("response_item", 3, said("user", "Fix the cache")),
    codex("event_msg", 3, {"type": "user_message", "message": "Fix the cache"}),
    codex(
        "response_item",
        4,
        {
            "type": "function_call",
            "name": "shell",
            "call_id": "c1",
            "arguments": json.dumps({"command": ["bash", "-lc", "make test"]}),
        },
    ),
    codex(
        "response_item",
        5,
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": json.dumps({"output": "boom", "metadata": {"exit_code": 2}}),
        },
    ),
    codex(
        "response_item",
        6,
        {
            "type": "custom_tool_call",
            "name": "apply_patch",
            "call_id": "c2",
            "input": PATCH,
        },
    ),
    codex(
        "response_item",
        7,
        {
            "type": "custom_tool_call_output",
            "call_id": "c2",
            "output": "Exit code: 0\nDone",
        },
    ),
    codex(
        "response_item",
        8,
        {
            "type": "local_shell_call",
            "call_id": "c3",
            "action": {"type": "exec", "command": ["ls", "src"]},
        },
    ),
    codex(
        "response_item",
        9,
        {"type": "function_call_output", "call_id": "c3", "output": "a.py"},
    ),
    codex("compacted", 10, {"message": "summary"}),
    codex("response_item", 11, said("assistant", "It is fixed.")),
    codex(
        "event_msg", 12, {"type": "task_complete", "last_agent_message": "It is fixed."}
    ),
]
CODEX_BARE: list[Row] = [
    {"id": SESSION, "timestamp": at(1), "instructions": None},
    {"record_type": "state"},
    said("user", f"<environment_context><cwd>{CWD}</cwd></environment_context>"),
    said("user", "Fix the cache"),
    {
        "type": "function_call",
        "name": "shell",
        "call_id": "c1",
        "arguments": '{"command":["ls"]}',
    },
    {"type": "function_call_output", "call_id": "c1", "output": "a.py"},
    said("assistant", "It is fixed."),
    said("user", "Thanks, now the docs"),
]
HOOK: list[Row] = [
    {"session": "s1", "hook_event_name": "SessionStart", "at": at(1), "cwd": "shop"},
    {
        "session": "s1",
        "hook_event_name": "UserPromptSubmit",
        "at": at(2),
        "prompt": "Fix the cache",
    },
    {
        "session": "s1",
        "hook_event_name": "PostToolUse",
        "at": at(3),
        "tool_name": "read_file",
        "tool_input": {"file_path": "b.py"},
        "tool_response": "x",
        "reads": ["src/a.py", "/etc/passwd"],
    },
    {
        "session_id": "s2",
        "hook_event_name": "PostToolUse",
        "cwd": CWD,
        "transcript_path": "/x",
        "tool_use_id": "t9",
        "tool_name": "Edit",
        "tool_input": {"file_path": f"{CWD}/src/b.py"},
        "tool_response": {"success": True},
    },
    {
        "session": "s1",
        "hook_event_name": "Stop",
        "at": at(4),
        "agent_text": "It is fixed.",
    },
    {"session": "s1", "hook_event_name": "SessionEnd", "at": at(5)},
]


def lines(rows: Iterable[Row]) -> str:
    """The rows as JSON Lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def write(file: Path, content: str | Iterable[Row]) -> Path:
    """Write a transcript; returns its path."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        content if isinstance(content, str) else lines(content), encoding="utf-8"
    )
    return file


def captures(lab: Lab) -> list[tuple[Any, ...]]:
    """What is in the journal: kind, session, time, body and id, without the order."""
    found = [
        (each.kind, each.session, each.at, json.dumps(each.body), each.id)
        for each in lab.journal.tail(0)
    ]
    return sorted(found)


def told(lab: Lab) -> list[tuple[str, str]]:
    """Kind and main text of each capture, in journal order."""
    names = {
        "prompt": "text",
        "turn_ended": "message",
        "tool_used": "tool",
        "compacting": "trigger",
    }
    return [
        (each.kind, str(each.body.get(names.get(each.kind, ""), "")))
        for each in lab.journal.tail(0)
    ]
