"""The hook: which event becomes what, previews, masked secrets, and what a start of it
costs.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hostile_times import is_within
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab import Briefing, Event, Lab
from theorex_lab.app import hook
from theorex_lab.core.project import project_of
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.memory.briefing.briefing import BriefingLine
from theorex_lab.memory.briefing.briefing_file import (
    CONTEXT_FILE,
    remove_briefing,
    write_briefing,
)
from theorex_lab.memory.hook_payloads import INPUT_CHARACTERS, RESPONSE_CHARACTERS
from theorex_lab.store import lifecycle
from theorex_lab.store.lab import DEFAULT_HOME
from theorex_lab.text.redact.hints import MASK
from theorex_lab.text.redact.masking import mask, may_hold_secret
from theorex_lab.text.redact.preview import preview

Run = Callable[[object], None]
TOOL = {
    "hook_event_name": "PostToolUse",
    "session_id": "session-1",
    "cwd": "/work",
    "tool_name": "Bash",
    "tool_input": {"command": "ls", "description": "lists"},
    "tool_response": {"stdout": "a.py\nb.py", "stderr": "", "interrupted": False},
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("THEOREX_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("THEOREX_AGENT", raising=False)
    return tmp_path / "home"


@pytest.fixture
def run(home: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Feeds the hook in this process with bytes, or with the JSON of anything else."""

    def feed(payload: object) -> None:
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        hook.run()

    return feed


def events(home: Path) -> list[Event]:
    journal = SqliteJournal(home / "theorex.db")
    found = list(journal.tail(0))
    journal.close()
    return found


def start(
    payload: object, home: Path, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """The hook as a process of its own, as an agent starts it."""
    program = "from theorex_lab.app.hook import main; main()"
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    variables = {**os.environ, "THEOREX_HOME": str(home), **environment}
    return subprocess.run(
        [sys.executable, "-c", program],
        input=data,
        capture_output=True,
        env=variables,
        check=False,
    )


def test_the_names_are_those_of_the_lab() -> None:
    assert (hook.DEFAULT_HOME, lifecycle.CONTEXT_FILE) == (DEFAULT_HOME, CONTEXT_FILE)


def test_a_tool_call_is_appended_by_a_process_of_its_own(tmp_path: Path) -> None:
    before = time.time_ns() // 1000
    done = start(TOOL, tmp_path / "home", THEOREX_AGENT="qwen-sage")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (event,) = events(tmp_path / "home")
    assert (event.kind, event.agent, event.session) == (
        "tool_used",
        "qwen-sage",
        "session-1",
    )
    assert before <= event.at <= time.time_ns() // 1000
    assert event.body == {
        "v": 2,
        "tool": "Bash",
        "input": '{"command":"ls","description":"lists"}',
        "response": '{"stdout":"a.py\\nb.py","stderr":"","interrupted":false}',
        "source": "tool",
        "ok": True,
        "paths": {"read": [], "edited": []},
        "command": "ls",
        "project": project_of("/work"),
    }


def test_a_prompt_and_the_end_of_a_turn_are_appended(run: Run, home: Path) -> None:
    run(
        {
            "hook_event_name": "UserPromptSubmit",
            "session_id": "s",
            "prompt": "password=hunter2 " + "x" * 7_000,
        }
    )
    run({"hook_event_name": "Stop", "session_id": "s", "stop_hook_active": False})
    prompt, turn = events(home)
    assert (prompt.kind, prompt.agent, prompt.body["source"]) == (
        "prompt",
        "main",
        "user",
    )
    assert prompt.body["text"] == "password=[masked] " + "x" * (6_000 - 19) + "…"
    assert turn.kind == "turn_ended"
    assert turn.body == {
        "v": 2,
        "message": "",
        "source": "agent",
        "subagent": False,
        "project": "",
    }
    assert not (home / "hook.log").exists()


def test_the_end_of_a_session_starts_a_flush(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[str, ...]] = []
    monkeypatch.setattr(
        hook, "start_flush", lambda *arguments: started.append(arguments)
    )
    run({"hook_event_name": "SessionEnd", "session_id": "s", "reason": "logout"})
    run(
        {
            "hook_event_name": "SessionEnd",
            "session_id": "s",
            "transcript_path": "/logs/s.jsonl",
        }
    )
    run({"hook_event_name": "SessionEnd"})
    assert started == [(str(home), "main", "s")] * 2
    assert [event.kind for event in events(home)] == ["session_ended"] * 3
    assert b"/logs" not in (home / "theorex.db").read_bytes()


def test_the_flush_is_started_apart_from_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, Any] = {}
    monkeypatch.setattr(
        subprocess,
        "Popen",
        lambda command, **options: seen.update(options, command=command),
    )
    hook.start_flush(str(tmp_path), "main", "s 1")
    assert seen["command"] == [
        sys.executable,
        "-m",
        "theorex_lab",
        "tiers",
        "flush",
        "--session",
        "s 1",
        "--agent",
        "main",
        "--home",
        str(tmp_path),
    ]
    assert seen["start_new_session"] is True
    assert seen["cwd"] == str(tmp_path)
    assert seen["stdin"] == subprocess.DEVNULL
    assert seen["stdout"].name == seen["stderr"].name == str(tmp_path / "hook.log")


def test_the_started_process_outlives_the_hook_and_writes_to_the_log(
    tmp_path: Path,
) -> None:
    program = (
        "import sys; from theorex_lab.app import hook\n"
        "sys.executable = '/bin/echo'\n"
        f"hook.start_flush({str(tmp_path)!r}, 'main', 's')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True
    )
    assert (done.stdout, done.stderr) == (b"", b"")
    log = tmp_path / "hook.log"
    until = time.monotonic() + 60
    while not log.read_text() and time.monotonic() < until:
        time.sleep(0.01)
    assert (
        log.read_text()
        == f"-m theorex_lab tiers flush --session s --agent main --home {tmp_path}\n"
    )


def test_a_session_start_prints_the_context_and_notes_that_it_did(
    tmp_path: Path,
) -> None:
    begin = {"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"}
    assert start(begin, tmp_path).stdout == b""
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "SHARED_CONTEXT.md").write_text("# Größe\n")
    done = start(begin, tmp_path)
    assert (done.returncode, done.stdout.decode()) == (0, "# Größe\n")
    (event,) = events(tmp_path)
    assert (event.kind, event.session) == ("recalled", "s")
    assert event.body == {
        "v": 1,
        "how": "session_start",
        "query": "",
        "items": [],
        "tokens": 3,
        "project": "",
    }


def shown(home: Path, file: str, text: str, *items: str) -> None:
    """A briefing that was written in the home, with the note beside it."""
    lines = tuple(BriefingLine(item, "", text, "", 0, ()) for item in items)
    write_briefing(home / file, home / "views", lambda: Briefing(text, lines, 17))


def test_a_session_is_shown_the_briefing_of_its_project_and_what_it_was_given_is_noted(
    run: Run,
    home: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("THEOREX_AGENT", "qwen-sage")
    project = project_of(str(tmp_path))
    begin = {"hook_event_name": "SessionStart", "session_id": "s"}
    shown(home, "SHARED_CONTEXT.md", "for all\n", "1", "2")
    shown(home, f"contexts/{project}.md", "of the shop\n", "3")
    for cwd in (str(tmp_path), "/srv/elsewhere", None):
        run({**begin, "cwd": cwd})
    assert capfd.readouterr().out == "of the shop\nfor all\n"
    found = events(home)
    assert {(event.kind, event.agent, event.session) for event in found} == {
        ("recalled", "qwen-sage", "s")
    }
    assert [event.body["items"] for event in found] == [["3"], ["1", "2"]]
    assert {event.body["tokens"] for event in found} == {17}
    assert [event.body["project"] for event in found] == [project, ""]


def test_a_project_without_a_briefing_gets_one_that_shows_nothing_of_another(
    run: Run, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with Lab(home) as lab:
        lab.agent("main").write(
            "The weather station is rebooted by day.", observation_type="decision"
        )
    with Lab(home, project=project_of("/srv/shop")) as shop:
        shop.agent("main").write(
            "The ledger is rounded once.", observation_type="decision"
        )
    begin = {"hook_event_name": "SessionStart", "session_id": "s"}
    run({**begin, "cwd": "/srv/elsewhere"})
    printed = capfd.readouterr().out
    assert "weather" in printed
    assert "ledger" not in printed
    run({**begin, "cwd": "/srv/shop"})
    assert "ledger" in capfd.readouterr().out
    assert [
        event.body["project"] for event in events(home) if event.kind == "recalled"
    ] == [project_of("/srv/elsewhere"), project_of("/srv/shop")]


INFINITE = b'{"bytes":8,"crc32":%d,"tokens":Infinity,"items":["x"]}' % zlib.crc32(
    b"for all\n"
)


@pytest.mark.parametrize(
    "note",
    [
        b"",
        b"[]",
        b"{",
        b'{"bytes":3,"crc32":1,"tokens":9,"items":["x"]}',
        b"\xff",
        b"[" * 100_000,
        INFINITE,
        None,
    ],
)
def test_a_note_of_another_text_is_not_believed(
    run: Run, home: Path, note: bytes | None
) -> None:
    shown(home, "SHARED_CONTEXT.md", "for all\n", "1")
    file = home / ".SHARED_CONTEXT.md.items.json"
    if note is None:
        (home / "SHARED_CONTEXT.md").write_text("for you\n")
    else:
        file.write_bytes(note)
    run({"hook_event_name": "SessionStart"})
    (event,) = events(home)
    assert (event.body["items"], event.body["tokens"]) == ([], 2)
    remove_briefing(home / "SHARED_CONTEXT.md", home / "views")
    assert not list(home.glob("*CONTEXT*"))
    assert not file.exists()


def test_a_briefing_outside_the_home_has_no_note_beside_it(
    home: Path, tmp_path: Path
) -> None:
    shown(home, "../out/AGENTS.md", "for all\n", "1")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["AGENTS.md"]


def test_a_briefing_is_shown_where_nothing_can_be_noted(
    run: Run,
    home: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home.mkdir()
    (home / "SHARED_CONTEXT.md").write_text("for all\n")
    (home / "theorex.db").write_bytes(b"no journal " * 1_000)
    run({"hook_event_name": "SessionStart"})
    monkeypatch.setenv("THEOREX_AGENT", "../x")
    run({"hook_event_name": "SessionStart"})
    assert capfd.readouterr().out == "for all\n" * 2
    assert len((home / "hook.log").read_text().splitlines()) == 2


MESSAGE = {
    "hook_event_name": "Stop",
    "session_id": "s",
    "last_assistant_message": "The TTL was wrong",
}


@pytest.mark.parametrize(
    ("config", "kept"),
    [
        (None, True),
        ("{}", True),
        ('{"keepMessages": true}', True),
        ('{"keepMessages": false}', False),
        ('{"keep_messages": false}', False),
        ("{", False),
        ("[]", False),
        ('{"keepMessages": 0}', False),
    ],
)
def test_a_message_is_kept_unless_the_settings_say_no(
    run: Run, home: Path, config: str | None, kept: bool
) -> None:
    if config is not None:
        home.mkdir()
        (home / "config.json").write_text(config)
    run(MESSAGE)
    assert events(home)[0].body["message"] == ("The TTL was wrong" if kept else "")


def test_a_helpers_turn_a_failed_call_and_a_compacting_are_captured(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[str, ...]] = []
    monkeypatch.setattr(
        hook, "start_flush", lambda *arguments: started.append(arguments)
    )
    run({**MESSAGE, "hook_event_name": "SubagentStop", "agent_id": "a1"})
    run(
        {
            **TOOL,
            "hook_event_name": "PostToolUseFailure",
            "tool_response": None,
            "error": "Exit code 1",
        }
    )
    run(
        {
            "hook_event_name": "PreCompact",
            "session_id": "s",
            "trigger": "auto",
            "custom_instructions": "x",
            "cwd": "/work",
        }
    )
    turn, tool, compacting = events(home)
    assert (turn.kind, turn.body["subagent"], turn.body["message"]) == (
        "turn_ended",
        True,
        "The TTL was wrong",
    )
    assert (tool.kind, tool.body["ok"], tool.body["response"]) == (
        "tool_used",
        False,
        "Exit code 1",
    )
    assert compacting.kind == "compacting"
    assert compacting.body == {
        "v": 1,
        "trigger": "auto",
        "project": project_of("/work"),
    }
    assert started == [(str(home), "main", "s")]


def test_a_long_context_is_cut_between_two_lines(
    run: Run, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    home.mkdir()
    (home / "SHARED_CONTEXT.md").write_text("ä234567\n" * 40_000)
    run({"hook_event_name": "SessionStart"})
    printed = capfd.readouterr().out
    assert printed == "ä234567\n" * (lifecycle.LARGEST_CONTEXT_BYTES // 9)
    assert "was cut" in (home / "hook.log").read_text()


def test_the_hook_imports_the_standard_library_only(tmp_path: Path) -> None:
    program = (
        "import json, os, sys; before = set(sys.modules)\n"
        "from theorex_lab.app import hook\n"
        "os._exit = lambda code: print(json.dumps([code, sorted(set(sys.modules) - before)]))\n"
        "hook.main()"
    )
    variables = {**os.environ, "THEOREX_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(TOOL).encode(),
        stdout=subprocess.PIPE,
        env=variables,
        check=True,
    )
    code, modules = json.loads(done.stdout)
    assert code == 0
    assert len(events(tmp_path)) == 1
    roots = {name.partition(".")[0] for name in modules}
    assert roots - sys.stdlib_module_names == {"theorex_lab"}
    assert not roots & {"asyncio", "subprocess", "logging", "tempfile", "email", "http"}
    floors = {name.split(".")[1] for name in modules if name.startswith("theorex_lab.")}
    assert floors <= {"app", "store", "core", "journal", "text", "memory"}
    of_store = {name for name in modules if name.startswith("theorex_lab.store.")}
    assert of_store == {"theorex_lab.store.lifecycle"}
    assert "hashlib" not in modules


# What a hook waits for most of all modules of the standard library, and what a home
# without secrets never needs.
SLOW_MODULES = {"re", "enum", "json", "sqlite3", "datetime", "pathlib", "typing"}
SLOW_MODULES |= {"dataclasses", "theorex_lab.text.redact.secret_tables"}
START = {"hook_event_name": "SessionStart", "session_id": "s-1"}
ANSWER = {
    "hook_event_name": "Stop",
    "session_id": "s-1",
    "last_assistant_message": "The till rounds half up now; both tests pass.",
}
QUESTION = {
    "hook_event_name": "UserPromptSubmit",
    "session_id": "s-1",
    "prompt": "The till rounds down again. Please find out where, and mend it.",
}


def _tool(name: str, **tool_input: str) -> dict[str, Any]:
    return {
        "hook_event_name": "PostToolUse",
        "session_id": "s-1",
        "tool_name": name,
        "tool_input": tool_input,
        "tool_response": {"stdout": "2 passed", "interrupted": False},
    }


def _projects_of(home: Path) -> set[str]:
    """Return the projects whose events a home has."""
    return {event.body.get("project", "") for event in events(home)} - {""}


@pytest.mark.parametrize(
    ("event", "most_modules"),
    [
        (_tool("Edit", file_path="FOLDER/src/till.py", old_string="a"), 60),
        (_tool("Bash", command="cd FOLDER && python -m pytest tests/till.py"), 60),
        (_tool("Grep", pattern="half up", path="src"), 60),
        (START, 60),
        (ANSWER, 60),
        (QUESTION, 60),
    ],
)
def test_a_hook_imports_few_modules_and_none_that_is_slow(
    tmp_path: Path, event: dict[str, Any], most_modules: int
) -> None:
    program = (
        "import os, sys; before = set(sys.modules)\n"
        "from theorex_lab.app import hook\n"
        "def end(code):\n"
        "    new = sorted(set(sys.modules) - before)\n"
        "    os.write(2, ' '.join(new).encode())\n"
        "    os.kill(os.getpid(), 9)\n"
        "os._exit = end\n"
        "hook.main()"
    )

    def modules_of_hook(home: Path) -> set[str]:
        # A folder of its own for each home: its project's id comes of its path.
        shop = tmp_path / f"shop of {home.name}"
        shop.mkdir(exist_ok=True)
        text = json.dumps({**event, "cwd": str(shop)}).replace("FOLDER", str(shop))
        done = subprocess.run(
            [sys.executable, "-c", program],
            input=text.encode(),
            capture_output=True,
            env={**os.environ, "THEOREX_HOME": str(home), "PYTHONHASHSEED": "0"},
            check=False,
        )
        return set(done.stderr.decode().split())

    # The first hooks make the journal, draw the project's id, and note what they gave.
    # An id that looks like the start of a secret takes a closer look ever after: such a
    # home is left.
    for number in range(20):
        home = tmp_path / f"home-{number}"
        contexts = home / "contexts"
        contexts.mkdir(parents=True)
        modules_of_hook(home)
        (home / "SHARED_CONTEXT.md").write_text("- The till rounds half up.\n")
        for project in _projects_of(home):
            (contexts / f"{project}.md").write_text("- The till rounds half up.\n")
        modules_of_hook(home)
        if not may_hold_secret(" ".join(_projects_of(home))):
            break
    # What a hook draws for one event may look so too.
    modules = min((modules_of_hook(home) for _ in range(3)), key=len)
    assert "theorex_lab.store.lifecycle" in modules
    assert not modules & SLOW_MODULES, (home / "hook.log").read_text()
    assert len(modules) <= most_modules


@pytest.mark.parametrize(
    "value",
    [
        {"a": "b" * 900},
        ["x" * 20] * 900,
        "y" * 900,
        [[[1]] * 300] * 300,
        {str(n): n for n in range(900)},
    ],
)
def test_previews_are_cut_to_their_length(run: Run, home: Path, value: object) -> None:
    run({**TOOL, "tool_name": "n" * 300, "tool_input": value, "tool_response": value})
    (event,) = events(home)
    whole = (
        value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    )
    assert event.body["tool"] == "n" * 127 + "…"
    assert event.body["input"] == whole[:299] + "…"
    assert event.body["response"] == whole[:499] + "…"


def test_missing_fields_are_empty(run: Run, home: Path) -> None:
    run({"hook_event_name": "PostToolUse"})
    run({"hook_event_name": "UserPromptSubmit", "prompt": None, "session_id": None})
    tool, prompt = events(home)
    nothing = {"paths": {"read": [], "edited": []}, "command": "", "project": ""}
    assert tool.body == {
        "v": 2,
        "tool": "",
        "input": "",
        "response": "",
        "source": "tool",
        "ok": True,
        **nothing,
    }
    assert (prompt.body["text"], prompt.session) == ("", "")


@pytest.mark.parametrize(
    "session", ["a/b", "../../etc", "x" * 129, "ü", 7, ["s"], "\ud800", "a\u0000b", " "]
)
def test_a_session_id_outside_the_rule_becomes_a_hash(
    run: Run, home: Path, session: object
) -> None:
    for _ in range(2):
        run({"hook_event_name": "Stop", "session_id": session})
    first, second = events(home)
    assert first.session == second.session
    assert first.session.startswith("hash-")
    assert len(first.session) == 37


SECRETS = [
    "sk-ant-api03-AbCdEf0123456789_-xyz",
    "sk-proj-4f9d8c7b6a5e4d3c2b1a",
    "ghp_0123456789abcdefghijABCDEFGHIJ456789",
    "github_pat_11ABCDEFG0abcdefghijkl_0123456789",
    "AKIAIOSFODNN7EXAMPLE",
    "ASIAIOSFODNN7EXAMPLE",
    "AIzaSyA-0123456789abcdefghijklmnopqrstuv",
    "xoxb-123456789012-abcdefGHIJKL",
    "xoxp-1-2-3-4-abcdef",
    "xoxa-2-abcdefgh",
    "glpat-abcDEF123456ghiJKL78",
    "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "npm_0123456789abcdefghijklmnopqrstuvwxyz",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_keys_are_known_by_their_shape(secret: str) -> None:
    for text in (
        secret,
        f"use {secret}, please",
        f'"{secret}"',
        f"line\\n{secret}\\nline",
        f"https://x.org/?q={secret}",
    ):
        assert mask(text) == text.replace(secret, MASK)


# What is in «» is the secret.
NAMED = [
    "Authorization: Bearer «abc»",
    "curl -H 'Authorization: Basic «dXNlcjpwYXNz»' x",
    "authorization: token «abc123»",
    "Bearer «0a1b2c3d4e»",
    '{"Authorization": "Bearer «abcdef»"}',
    "password=«hunter2»",
    "PASSWORD=«correct.horse»",
    'password = "«correct horse»"',
    "password: «hunter2»",
    '{"password": "«a\\"b, c»"}',
    '{\\"password\\": \\"«hunter2»\\"}',
    "DB_PASS=«geheim» ./run",
    "passwd: «x»",
    "export GITHUB_TOKEN=«abcdef»",
    "https://x.org/a?token=«abc»&page=2",
    "https://x.org/?a=1&api_key=«ABC-1»",
    "client_secret: «9f8e7d6c5b»",
    "aws_secret_access_key = «wJalrXUtnFEMIK7MDENGbPx»",
    'accessToken: "«abcdef»"',
    "AccountKey=«abc123==»;EndpointSuffix=x",
    "settings['SECRET_KEY'] = '«a-b»'",
    "X-Api-Key: «abc-123-def»",
    "login --password «hunter2» --user me",
    "deploy --api-key '«abc»'",
    "postgres://admin:«p@ss»@db:5432/x",
    "redis://:«hunter2»@cache",
    "password='«never closed",
    "token=«abc»,secret=«def»",
    'apiKey => "«abc»"',
    "PASSWORD='«a»'\nTOKEN=\"«b»\"",
]


@pytest.mark.parametrize("marked", NAMED)
def test_values_are_known_by_their_names(marked: str) -> None:
    pieces = marked.split("«")
    expected = pieces[0] + "".join(
        MASK + piece.partition("»")[2] for piece in pieces[1:]
    )
    masked = mask(marked.replace("«", "").replace("»", ""))
    assert masked == expected
    assert mask(masked) == masked


@pytest.mark.parametrize("kind", ["", "RSA ", "OPENSSH ", "EC ", "ENCRYPTED "])
def test_private_keys_are_masked_whole_and_in_parts(kind: str) -> None:
    begin = f"-----BEGIN {kind}PRIVATE KEY-----"
    end = f"-----END {kind}PRIVATE KEY-----"
    lines = "MIIEow+/=\n" * 30
    for text in (
        f"{begin}\n{lines}{end}",
        f"{begin}\n{lines}",
        begin,
        (f"{begin}\n{lines}{end}").replace("\n", "\\n"),
    ):
        assert mask(f"the key:\n{text}") == f"the key:\n{MASK}"
    assert mask(f"{lines}{end}\nafter") == f"{MASK}\nafter"
    assert mask(f"a {begin}1{end} b {begin}2{end} c") == f"a {MASK} b {MASK} c"
    assert (
        mask(
            "-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQ\n-----END PGP PRIVATE KEY BLOCK-----"
        )
        == MASK
    )


@pytest.mark.parametrize(
    "text",
    [
        "commit 2842e6c0f5b1d9a7e3c4b8d6f0a1e2c3b4d5e6f7",
        "0191b7c2-5e7f-7abc-8def-0123456789ab",
        "token budget is 2000",
        "password policy: at least 12 characters",
        "max_tokens=4096",
        "tokens: 12",
        "token: 500",
        "the secret of caching: invalidate",
        "def login(password: str, token: Token | None) -> bool:",
        "password = getpass()",
        "password=self.password",
        "token = os.environ['GITHUB_TOKEN']",
        "API_KEY=$API_KEY ./run",
        'token: "${GITHUB_TOKEN}"',
        "token = next_token",
        "if token == 'abc':",
        "Token::Plus",
        "task-oriented-planning-2024-notes",
        "disk-0123456789abcdef0123",
        "sk-learn-compatible",
        "Bearer authentication",
        "the bearer of news",
        "https://example.org:8080/a@b",
        "git@github.com:me/repo.git",
        "mailto:me@example.org",
        "PWD=/home/me",
        "--- PASS: TestFoo (0.00s)",
        "bypass=true",
        "keyboard: qwertz",
        "monkey=1",
        "--token-budget 2000",
        "Enter password:\nLogin ok",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "-----BEGIN PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "key: value",
        "hf_hub_download",
        "npm_config_registry",
        "The secret: measure first",
        "secretary: Jones",
        "",
        "ünïcödé 漢字 \u0000",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert mask(text) == text


@given(st.text("0123456789abcdef-., \n", max_size=200))
def test_hashes_and_numbers_stay_as_they_are(text: str) -> None:
    assert mask(text) == text


@given(
    before=st.integers(0, 700),
    secret=st.sampled_from(SECRETS),
    repeated=st.integers(1, 300),
    shape=st.sampled_from(["text", "object", "list", "name"]),
)
def test_no_part_of_a_secret_survives_the_cut(
    before: int, secret: str, repeated: int, shape: str
) -> None:
    text = "." * before + f"{secret} " * repeated
    value = {
        "text": text,
        "object": {"stdout": text},
        "list": ["." * before, *[secret] * repeated],
        "name": {secret: {text: secret}},
    }
    for limit in (INPUT_CHARACTERS, RESPONSE_CHARACTERS):
        shown = preview(value[shape], limit)
        assert len(shown) <= limit
        assert all(
            secret[start : start + 6] not in shown for start in range(len(secret) - 5)
        )


def test_a_private_key_longer_than_every_window_is_masked() -> None:
    text = (
        "x\n"
        + f"-----BEGIN PRIVATE KEY-----\n{'MIIEow' * 5_000}\n-----END PRIVATE KEY-----\n"
        * 3
    )
    assert preview(text, 300) == f"x\n{MASK}\n{MASK}\n{MASK}\n"


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "DB_PASSWORD",
        "apiKey",
        "client-secret",
        "Authorization",
        "access_token",
        "password2",
    ],
)
def test_members_are_masked_by_their_names(key: str) -> None:
    assert (
        preview({key: 'hunter"2', "other": [1, None, True]}, 300)
        == f'{{"{key}":"{MASK}","other":[1,null,true]}}'
    )


def test_members_that_only_sound_secret_stay() -> None:
    value = {
        "tokens": 12,
        "token": 500,
        "max_token": 4096,
        "password": None,
        "key": "a",
        "secret": {"a": 1},
        "token_type": "x",
    }
    assert preview(value, 300) == json.dumps(value, separators=(",", ":"))


N = 1_000_000
HOSTILE = [
    "sk-",
    "sk-a",
    "-----BEGIN PRIVATE KEY-----",
    "-----END ",
    "-----END A PRIVATE KEY-----BEGIN ",
    "://",
    "://a:b",
    "eyJ",
    "eyJ.",
    'token="',
    "token\\",
    "token=\\",
    "password ",
    "bearer ",
    "bearer a",
    "authorization:",
    "authorization: token ",
    "--token",
    "--token ",
    "-",
    "--a",
    "api_key_key_key",
    "AKIA",
    "xoxb-",
    "pass",
    "_pass: ",
    "secret'] ",
    "token=a(",
    "token: a.",
    "api_key = {{",
    "token='{{",
    "ghp_",
    "github_pat_",
    "\\",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_masking_takes_linear_time(piece: str) -> None:
    """A tenth of a megabyte, with and without what makes every pattern run."""

    def seconds(length: int) -> float:
        text = (piece * length)[:length]
        begin = time.process_time()
        mask(text)
        mask("token=eyJ --token '-----END sk- ://a:" + text)
        return time.process_time() - begin

    assert is_within(seconds, N // 10, 2.5)


def test_a_megabyte_of_hostile_text_is_masked_within_seconds() -> None:
    text = "".join(piece * (N // len(piece) // len(HOSTILE)) for piece in HOSTILE)
    begin = time.process_time()
    mask(text)
    assert time.process_time() - begin < 10.0
