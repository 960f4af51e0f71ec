"""The hook under hostile input, many at once, killed, and in homes that cannot be
written: always 0, nothing half written.
"""

from __future__ import annotations

import io
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_hook import TOOL, events, start

from theorex_lab.app import hook
from theorex_lab.journal.sqlite.check import check_rows
from theorex_lab.memory.hook_payloads import BODIES

CANARY = "c4n4ry-7f3a"
DEEP = (
    b'{"hook_event_name":"PostToolUse","tool_input":'
    + b"[" * 100_000
    + b"]" * 100_000
    + b"}"
)
MIDDLING = (
    b'{"hook_event_name":"PostToolUse","tool_input":'
    + b'{"a":[' * 100
    + b"]}" * 100
    + b"}"
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("THEOREX_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("THEOREX_AGENT", raising=False)
    monkeypatch.setattr(hook, "start_flush", lambda *_: None)
    return tmp_path / "home"


def feed(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    hook.run()


def log(home: Path) -> list[str]:
    file = home / "hook.log"
    return file.read_text().splitlines() if file.exists() else []


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"\x00\xff\xfe\x80" * 50,
        b"\xef\xbb\xbf",
        DEEP,
        b'{"hook_event_name":' + b"9" * 5_000 + b"}",
        b"{}",
        b'{"hook_event_name":null}',
        b'{"hook_event_name":["Stop"]}',
        b'{"hook_event_name":"PreToolUse"}',
        f'{{"hook_event_name":"{CANARY}","prompt":"{CANARY}"}}'.encode(),
        f"{CANARY} is no JSON".encode(),
    ],
)
def test_what_is_no_event_is_refused_and_noted(
    data: bytes, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed(data, monkeypatch)
    (line,) = log(home)
    assert "refused" in line or "ignored" in line
    assert CANARY not in line
    assert not (home / "theorex.db").exists()


FIELDS = (
    "session_id",
    "cwd",
    "tool_name",
    "tool_input",
    "tool_response",
    "prompt",
    "source",
    "reason",
    "error",
    "trigger",
    "last_assistant_message",
    "transcript_path",
)


@pytest.mark.parametrize(
    "value",
    [
        7,
        1.5,
        True,
        [],
        {},
        [None],
        "x",
        "\ud800",
        "\u0000",
        {"\ud800": "\udfff"},
        float("nan"),
        float("inf"),
    ],
)
def test_wrong_types_are_taken_as_far_as_they_go(
    value: object, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "PostToolUse",
        "UserPromptSubmit",
        "Stop",
        "SessionEnd",
        "SessionStart",
    ):
        feed(
            json.dumps(
                {"hook_event_name": name, **dict.fromkeys(FIELDS, value)}
            ).encode(),
            monkeypatch,
        )
    assert [event.kind for event in events(home)] == [
        "tool_used",
        "prompt",
        "turn_ended",
        "session_ended",
    ]
    others = {"v": int, "ok": bool | None, "paths": dict, "subagent": bool}
    assert all(
        isinstance(part, others.get(key, str))
        for event in events(home)
        for key, part in event.body.items()
    )
    assert log(home) == []
    assert check_rows(home / "theorex.db")[0] == []


def test_a_nested_event_is_shown_to_a_depth(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed(MIDDLING, monkeypatch)
    (event,) = events(home)
    assert event.body["input"] == '{"a":[' * 16 + '{"a":"…"}' + "]}" * 16


def _seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_an_event_of_ten_megabytes_is_taken_and_a_larger_one_refused(
    tmp_path: Path,
) -> None:
    response = {
        "stdout": "a" * 5_000_000,
        "list": [{"n": number} for number in range(400_000)],
    }
    begin = _seconds_of_children()
    done = start({**TOOL, "tool_response": response}, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert _seconds_of_children() - begin < 10
    done = start({**TOOL, "tool_response": "a" * (17 << 20)}, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(events(tmp_path)) == 1
    assert len(log(tmp_path)) == 1
    assert "more than 16777216 bytes" in log(tmp_path)[0]


NAMES = st.sampled_from([*BODIES, "SessionStart", "Other", ""])
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=12), inner, max_size=4)
    ),
    max_leaves=12,
)
EVENTS = st.fixed_dictionaries(
    {"hook_event_name": NAMES | ANYTHING}, optional=dict.fromkeys(FIELDS, ANYTHING)
)


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


@settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.binary(max_size=300)
    | st.builds(lambda value: json.dumps(value).encode(), EVENTS | ANYTHING)
)
def test_random_input_raises_nothing_and_leaves_the_journal_whole(
    shared_home: Path, data: bytes
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THEOREX_HOME", str(shared_home))
        patch.setattr(hook, "start_flush", lambda *_: None)
        before = sum(check_rows(shared_home / "theorex.db")[1].values())
        noted = len(log(shared_home))
        feed(data, patch)
        try:
            event = json.loads(data)
            shown = (
                isinstance(event, dict)
                and event.get("hook_event_name") == "SessionStart"
            )
        except ValueError:
            shown = False
        problems, counts = (
            check_rows(shared_home / "theorex.db")
            if (shared_home / "theorex.db").exists()
            else ([], {})
        )
        assert problems == []
        # Every input is an event in the journal, a line in the log, or the question for
        # the context; never two of them.
        assert (
            sum(counts.values()) - before + len(log(shared_home)) - noted + shown == 1
        )


def _begin(home: Path, payload: object) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", "from theorex_lab.app.hook import main; main()"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "THEOREX_HOME": str(home)},
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(payload).encode())
    process.stdin.close()
    return process


def test_twenty_hooks_at_once_lose_nothing(tmp_path: Path) -> None:
    processes = [
        _begin(tmp_path, {**TOOL, "session_id": f"s{number}"}) for number in range(20)
    ]
    for process in processes:
        assert process.stderr is not None
        assert process.stderr.read() == b""
        process.stderr.close()
        assert process.wait() == 0
    assert sorted(event.session for event in events(tmp_path)) == sorted(
        f"s{number}" for number in range(20)
    )
    assert log(tmp_path) == []
    assert check_rows(tmp_path / "theorex.db")[0] == []


def test_a_hook_killed_at_any_moment_leaves_the_journal_whole(tmp_path: Path) -> None:
    chance = random.Random(20260301)
    begin = time.monotonic()
    start(TOOL, tmp_path)
    usual = time.monotonic() - begin
    ended = 1
    for number in range(16):
        process = _begin(tmp_path, {**TOOL, "session_id": f"s{number}"})
        try:
            process.wait(timeout=usual * chance.uniform(0.4, 1.2))
            usual *= 0.6  # the machine was busier when it was measured
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        ended += process.wait() == 0
        assert process.stderr is not None
        process.stderr.close()
        assert check_rows(tmp_path / "theorex.db")[0] == []
    stored = events(tmp_path)
    assert ended <= 15, "the hooks were too quick to be killed"
    assert ended <= len(stored) <= 17
    assert all(event.body["tool"] == "Bash" for event in stored)
    assert start(TOOL, tmp_path).returncode == 0
    assert len(events(tmp_path)) == len(stored) + 1


def test_a_damaged_journal_is_noted_and_left_alone(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.mkdir()
    (home / "theorex.db").write_bytes(b"no database " * 1_000)
    feed(json.dumps(TOOL).encode(), monkeypatch)
    (line,) = log(home)
    assert "CorruptJournal" in line
    assert (home / "theorex.db").read_bytes() == b"no database " * 1_000


def test_an_agent_outside_the_rule_is_noted(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THEOREX_AGENT", "../Root")
    feed(json.dumps(TOOL).encode(), monkeypatch)
    (line,) = log(home)
    assert "THEOREX_AGENT" in line
    assert "'../Root'" in line


@pytest.mark.parametrize(
    "error",
    [
        KeyboardInterrupt(),
        SystemExit(3),
        MemoryError(),
        RuntimeError(CANARY),
        RecursionError(),
    ],
)
def test_whatever_breaks_is_noted_without_its_text(
    error: BaseException, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(hook, "take", fail)
    feed(json.dumps(TOOL).encode(), monkeypatch)
    (line,) = log(home)
    assert type(error).__name__ in line
    assert "test_faults_hook.py" in line
    assert CANARY not in line


def test_a_closed_standard_input_is_noted(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    hook.run()
    assert len(log(home)) == 1


def test_a_home_that_cannot_be_made_is_told_on_standard_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = start({**TOOL, "tool_input": CANARY}, tmp_path / "file" / "home")
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.startswith(b"theorex-hook: ")
    assert done.stderr.count(b"\n") == 1
    assert CANARY.encode() not in done.stderr


def test_a_reader_that_went_away_does_not_change_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "SHARED_CONTEXT.md").write_text("line\n" * 40_000)
    reader, writer = os.pipe()
    os.close(reader)
    program = "from theorex_lab.app.hook import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=b'{"hook_event_name":"SessionStart"}',
        stdout=writer,
        stderr=subprocess.PIPE,
        env={**os.environ, "THEOREX_HOME": str(tmp_path)},
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "BrokenPipeError" in log(tmp_path)[0]


def test_the_log_stays_bounded(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.mkdir()
    for _ in range(2):
        (home / "hook.log").write_bytes(b"x" * ((1 << 20) + 1))
        feed(b"no JSON", monkeypatch)
        assert len(log(home)) == 1
        assert (home / "hook.log.1").stat().st_size == (1 << 20) + 1
    feed(b"no JSON", monkeypatch)
    assert len(log(home)) == 2
    assert {path.name for path in home.iterdir()} == {"hook.log", "hook.log.1"}


def test_no_secret_reaches_the_home(tmp_path: Path) -> None:
    secret = "ghp_0123456789abcdefghijABCDEFGHIJ456789"
    event = {
        **TOOL,
        "tool_input": {"command": f"curl -H 'Authorization: Bearer {secret}'"},
        "tool_response": f"password={CANARY}",
    }
    start(event, tmp_path)
    start({"hook_event_name": secret, "prompt": CANARY}, tmp_path)
    start(
        {
            "hook_event_name": "UserPromptSubmit",
            "prompt": f"my token: '{CANARY}', {secret}",
        },
        tmp_path,
    )
    assert len(events(tmp_path)) == 2
    contents = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert secret.encode() not in contents
    assert CANARY.encode() not in contents
