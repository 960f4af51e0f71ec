"""What failed in earlier sessions, and what surely helped."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.briefing.candidates import PITFALLS, fits_a_line
from theorex_lab.memory.briefing.pitfalls import pitfall_candidates
from theorex_lab.memory.briefing.session_log import ToolUse, sessions_of
from theorex_lab.memory.briefing.tool_failures import failure_of, output_lines

_DAY = 86_400_000_000
_START = 1_740_000_000_000_000  # 19 February 2025
_UNFORMATTED = "x.go:3:1: File is not properly formatted (gofmt)"


def ran(
    command: str,
    session: str,
    response: str = "",
    *,
    ok: bool | None = True,
    day: int = 0,
    tool: str = "Bash",
    source: str = "tool",
) -> Event:
    body: dict[str, Any] = {
        "tool": tool,
        "input": "",
        "response": response,
        "source": source,
        "ok": ok,
        "paths": {"read": [], "edited": []},
        "command": command,
        "project": "",
    }
    at = _START + day * _DAY
    return new_event("tool_used", body, agent="main", at=at, session=session)


def failed(command: str, session: str, response: str, *, day: int = 0) -> Event:
    return ran(command, session, response, ok=False, day=day)


def lines_of(events: list[Event], *, day: int = 10) -> list[str]:
    candidates = pitfall_candidates(sessions_of(events), _START + day * _DAY)
    return [candidate.text for candidate in candidates]


def call_of(command: str, response: str, *, ok: bool | None) -> ToolUse:
    return sessions_of([ran(command, "a", response, ok=ok)])[0].tools[0]


def test_a_formatter_helps_against_an_error_of_format() -> None:
    events = []
    for session in ("a", "b"):
        events += [
            failed("golangci-lint run", session, _UNFORMATTED),
            ran("gofmt -w pkg/x.go", session),
            ran("golangci-lint run", session),
        ]
    events.append(ran("gofmt -w .", "c"))
    assert lines_of(events) == [
        "`golangci-lint run` fails with “File is not properly formatted (gofmt)”;"
        " `gofmt -w .` helped (2 sessions, last 19 Feb)."
    ]


def test_a_build_that_succeeds_next_is_no_cure_of_an_error_of_format() -> None:
    events = []
    for session in ("a", "b"):
        events += [
            failed("golangci-lint run", session, _UNFORMATTED),
            ran("go build ./...", session),
            ran("golangci-lint run ./...", session),
        ]
    assert "helped" not in lines_of(events)[0]
    assert "worked" not in lines_of(events)[0]


def test_a_near_command_of_the_same_program_is_a_cure() -> None:
    complaint = "go: cannot write multiple packages to non-directory x"
    events = [
        failed("go build -o x ./...", "a", complaint),
        ran("ls", "a"),
        ran("go build -o x .", "a"),
    ]
    assert lines_of(events) == [
        "`go build -o x ./...` fails with “cannot write multiple packages to"
        " non-directory x”; `go build -o x .` worked (1 session, last 19 Feb)."
    ]


@pytest.mark.parametrize(
    "next_command",
    [
        "tool list",
        "tool start --help",
        "other start one --as two",
        "tool stop one --as two",
        "tool start three --for four --with five",
        "tool start --as $X",
    ],
)
def test_what_is_not_near_is_no_cure(next_command: str) -> None:
    events = [
        failed("tool start one --as two", "a", "error: unknown option '--as' here"),
        ran(next_command, "a"),
    ]
    assert lines_of(events) == []


def test_a_retry_that_still_names_what_is_unknown_is_no_cure() -> None:
    complaint = 'error: Module not found "src/x.ts" anywhere'
    retry = "bun run src/x.ts tasks list --all"
    events = [failed("bun run src/x.ts tasks list", "a", complaint), ran(retry, "a")]
    assert lines_of(events) == []


def test_an_installation_helps_against_a_missing_module() -> None:
    complaint = "error: Cannot find module 'commander' from 'src/cli.ts'"
    events = [
        failed("bun run src/cli.ts", "a", complaint),
        ran("bun install", "a"),
        ran("bun run src/cli.ts", "a"),
    ]
    assert "`bun install` helped (1 session" in lines_of(events)[0]


def test_what_failed_and_works_in_a_later_session_is_no_pitfall() -> None:
    complaint = "error: missing required argument 'name'"
    events = [failed("tool start --all", name, complaint) for name in ("a", "b")]
    assert len(lines_of(events)) == 1
    assert lines_of([*events, ran("tool start --all", "c", day=1)]) == []


def test_a_failure_that_a_pipe_hides_counts() -> None:
    response = "cat: illegal option -- A\nusage: cat [-belnstuv] [file ...]"
    events = [ran("sed -n 1p x | cat -A | head", name, response) for name in "ab"]
    line = lines_of(events)[0]
    assert line.startswith("`cat -A` fails with “illegal option -- A”; ")


def test_a_page_that_only_speaks_of_errors_is_no_failure() -> None:
    page = "All errors: what cannot be found must be reported\ncat: not found"
    assert failure_of(call_of("cat notes.md | head", page, ok=True)) is None
    assert failure_of(call_of("grep -n error x", "3:error: not found", ok=True)) is None


def test_the_shell_expands_a_pattern_without_quotes() -> None:
    events = []
    for name in ("a", "b"):
        response = "Exit code 1\n(eval):1: no matches found: --include=*.go"
        events.append(failed("grep -rn 'x y' --include=*.go .", name, response))
    assert lines_of(events) == [
        "`grep --include=*.go` fails with “no matches found: --include=*.go”; quote"
        " the pattern, which the shell expands (2 sessions, last 19 Feb)."
    ]


def test_a_file_that_is_too_long_is_read_in_parts() -> None:
    complaint = "File content (29000 tokens) exceeds maximum allowed tokens (25000)."
    events = [
        ran("", name, f"Error: {complaint}", ok=False, tool="Read") for name in "ab"
    ]
    line = lines_of(events)[0]
    assert line.startswith("Read fails with “File content (29000 tokens) exceeds")
    assert "; read the file in parts, or search in it (2 sessions" in line


def test_a_program_that_is_not_there_is_told_once_it_was_missed_twice() -> None:
    response = "Exit code 127\n(eval):1: command not found: timeout"
    events = [failed("timeout 5 go test ./...", name, response) for name in "ab"]
    assert lines_of(events[:1]) == []
    assert lines_of(events) == [
        "`timeout` fails with “command not found” (2 sessions, last 19 Feb)."
    ]


@pytest.mark.parametrize(
    ("command", "response"),
    [
        ("go build ./...", "./x.go:3:2: undefined: nothing of the kind"),
        ("go test ./...", "--- FAIL: TestX: expected 3 but got 4"),
        ("npx tsc", "src/a.ts(3,2): error TS2307: Cannot find module 'x' here"),
        ("pytest", "E   AssertionError: assert 1 == 2 failed here"),
        ("ls docs", "ls: docs: No such file or directory"),
        ("git merge x", "error: Your local changes would be overwritten by merge"),
        ("make", "The user doesn't want to proceed with this tool use: error"),
    ],
)
def test_errors_of_the_work_itself_are_no_pitfalls(command: str, response: str) -> None:
    events = [failed(command, name, response) for name in "abc"]
    assert lines_of(events) == []


def test_an_edit_that_did_not_fit_is_no_pitfall() -> None:
    response = (
        "<tool_use_error>String to replace not found in the file</tool_use_error>"
    )
    events = [ran("", name, response, ok=False, tool="Edit") for name in "abc"]
    assert lines_of(events) == []


def test_a_complaint_that_several_programs_may_have_made_is_nobodys() -> None:
    response = "Exit code 1\nsomething required is missing here"
    call = call_of("make all && tool run", response, ok=False)
    assert failure_of(call) is None
    named = call_of("make all && tool run", "tool: an option is missing", ok=False)
    failure = failure_of(named)
    assert failure is not None
    assert failure.shown == "tool run"
    assert failure.complaint == "an option is missing"


def test_output_is_read_out_of_json_that_was_cut() -> None:
    response = json.dumps({"stdout": "one\ntwo", "stderr": "tool: not found\nx"})
    call = call_of("tool", response[:-5] + "\\", ok=True)
    assert output_lines(call)[:2] == ("tool: not found", "one")


def test_the_command_before_the_output_is_no_output() -> None:
    for response in ("make x\nmake: *** y", "me@host dir % make x\nmake: *** y"):
        assert output_lines(call_of("make x", response, ok=True)) == ("make: *** y",)


def test_imported_calls_tell_no_pitfall() -> None:
    response = "(eval):1: command not found: timeout"
    events = [
        ran("timeout 5 x", name, response, ok=False, source="import") for name in "ab"
    ]
    assert lines_of(events) == []


@given(
    st.lists(
        st.tuples(st.text(max_size=60), st.text(max_size=300), st.booleans()),
        max_size=6,
    )
)
def test_each_line_fits_and_rests_on_calls(calls: list[tuple[str, str, bool]]) -> None:
    events = []
    for command, response, ok in calls:
        complaint = f"error: tool not found {response}"
        events.append(ran(f"tool {command}", "a", complaint, ok=ok))
        events.append(ran(f"tool {command}", "b", complaint, ok=ok))
    ids = {event.id for event in events}
    for candidate in pitfall_candidates(sessions_of(events), _START + _DAY):
        assert candidate.section == PITFALLS
        assert fits_a_line(candidate.text)
        assert 0 <= candidate.weight <= 1
        assert candidate.events
        assert ids.issuperset(candidate.events)


@pytest.mark.parametrize(
    ("command", "report"),
    [
        ("pytest -q", "FAILED tests/till/test_round.py::test_cents - assert 3 == 4"),
        ("go test ./...", "--- FAIL: TestRound (0.00s)"),
        ("cargo test", "test result: FAILED. 3 passed; 1 failed"),
    ],
)
def test_tests_that_failed_are_no_pitfall(command: str, report: str) -> None:
    events = [failed(command, session, report) for session in ("a", "b", "c")]
    assert lines_of(events) == []


def test_what_keeps_tests_from_running_is_a_pitfall() -> None:
    broken = "ModuleNotFoundError: No module named 'till'"
    events = [failed("pytest -q", session, broken) for session in ("a", "b", "c")]
    assert "No module named" in lines_of(events)[0]
