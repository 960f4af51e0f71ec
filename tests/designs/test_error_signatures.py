"""The same error is one signature; what helped is told by the kind of act, in words."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from conftest import NOW
from hypothesis import given, settings
from hypothesis import strategies as st

from theorex_lab import Event, Lab
from theorex_lab.designs.causal.experience import (
    advice_in_words,
    place_without_quote,
    remedy_records,
    where_of,
)
from theorex_lab.designs.causal.filling import signals_of
from theorex_lab.designs.causal.keys import normalize_error_signature
from theorex_lab.designs.causal.remedies import EDIT_CODE, EDIT_NAMED
from theorex_lab.designs.causal.signatures import error_kind_of, error_signature_of
from theorex_lab.journal.event import new_event

Run = Callable[..., Any]
DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "no row 550e8400-e29b-41d4-a716-446655440000 in t",
            "no row 6ba7b810-9dad-11d1-80b4-00c04fd430c8 in t",
        ),
        ("bad object 4b825dc642cb6eb9a060", "bad object 91d02f7c0aa53be7f2"),
        (
            "2026-01-02T03:04:05.678Z refused the order",
            "2025-11-30 13:14:15 refused the order",
        ),
        ("refused at 03:04:05 by the till", "refused at 23:59:01 by the till"),
        ("timed out after 5000ms", "timed out after 12.5 seconds"),
        ("--- FAIL: TestTill (0.31s)", "--- FAIL: TestTill (12.00s)"),
        ("dial tcp 10.0.0.1:5432: refused", "dial tcp 192.168.1.7:80: refused"),
        ("no answer from localhost:8080", "no answer from localhost:3000"),
        ("port 8080 is in use", "port 3001 is in use"),
        ("fault at 0xdeadbeef", "fault at 0x00ff"),
        ("till.ts:12:5 - error TS1: no x", "till.ts:340:1 - error TS1: no x"),
        ("till.ts(12,5): error TS1: no x", "till.ts(3,40): error TS1: no x"),
        ("error on line 4 of the till", "error on line 19 of the till"),
        ("cannot open /tmp/pytest-3/x", "cannot open /var/folders/a/b/T/y"),
        ("3 of 7 orders failed", "11 of 20 orders failed"),
    ],
)
def test_what_changes_from_time_to_time_is_no_part_of_a_signature(
    one: str, other: str
) -> None:
    assert error_signature_of(one) == error_signature_of(other)


def test_what_tells_errors_apart_stays() -> None:
    assert error_signature_of("no row in t") != error_signature_of("no row in u")
    assert error_signature_of("TestTill2 is red") != error_signature_of(
        "TestTill3 is red"
    )
    assert error_signature_of("needs v1.2.3 of shelf.go") == "needs v1.2.3 of shelf.go"


def test_the_kind_of_an_error_names_no_file_and_no_quotation() -> None:
    assert error_kind_of("a/b.go: File is not formatted") == "File is not formatted"
    assert error_kind_of("unknown flag: '--x' of the till") == (
        "unknown flag: … of the till"
    )
    assert error_kind_of("<path>") == ""


def call(
    number: int, tool: str = "Bash", *, session: str, edited: str = "", **body: Any
) -> Event:
    whole: dict[str, Any] = {
        "tool": tool,
        "input": "",
        "response": "",
        "source": "tool",
        "ok": True,
        "command": "",
        "project": "shop",
        "paths": {"read": [], "edited": [edited] if edited else []},
    }
    at = NOW - 3 * DAY + number * 60_000_000
    return new_event(
        "tool_used", {**whole, **body}, agent="main", session=session, at=at
    )


def red(seconds: float) -> dict[str, Any]:
    return {
        "command": "go test ./...",
        "response": f"Exit code 1\n--- FAIL: TestTill ({seconds}s)\n  till_test.go:9: no",
        "ok": False,
    }


PASSED = {"command": "go test ./...", "response": "ok  pkg 0.2s"}


def mended(lab: Lab, *calls: tuple[str, dict[str, Any]], name: str = "s") -> None:
    """Append a session of calls, each a tool and its body, and read its attempts."""
    events = []
    for number, (tool, body) in enumerate(calls):
        events.append(call(number, tool, session=name, **body))
    lab.journal.append(events)
    lab.causal.fill()


def remedies(lab: Lab) -> list[str]:
    return [record.words for record in remedy_records(lab.home.in_project(""))]


def test_one_failure_of_different_durations_has_one_signature() -> None:
    one = signals_of(call(1, session="s", **red(0.1)))
    other = signals_of(call(1, session="s", **red(2.5)))
    assert one == other


@pytest.mark.parametrize(
    ("between", "again", "words"),
    [
        ([("Edit", {"edited": "pkg/till_test.go"})], PASSED, [EDIT_NAMED]),
        ([("Edit", {"edited": "pkg/shelf.go"})], PASSED, [EDIT_CODE]),
        ([("Edit", {"edited": "pkg/shelf_test.go"})], PASSED, ["edit the test"]),
        ([("Edit", {"edited": "go.mod"})], PASSED, ["edit the configuration"]),
        ([("Edit", {"edited": "README.md"})], PASSED, ["make the same call again"]),
        (
            [("Bash", {"command": "go mod tidy"})],
            PASSED,
            ["install what is needed (`go mod tidy`)"],
        ),
        (
            [("Bash", {"command": "gofmt -w pkg/till.go"})],
            PASSED,
            ["format the code (`gofmt -w <path>`)"],
        ),
        (
            [("Bash", {"command": "git commit -m x"})],
            PASSED,
            ["make the same call again"],
        ),
        ([("Bash", {"command": "ls"})], PASSED, ["make the same call again"]),
    ],
)
def test_what_was_done_is_told_by_its_kind(
    lab: Lab,
    between: list[tuple[str, dict[str, Any]]],
    again: dict[str, Any],
    words: list[str],
) -> None:
    mended(lab, ("Bash", red(0.1)), *between, ("Bash", again))
    assert remedies(lab) == words


def test_a_check_of_something_else_closes_no_attempt(lab: Lab) -> None:
    failed = {**red(0.1), "command": "go test ./pkg/till/..."}
    other = {"command": "go test ./pkg/shelf/...", "response": "ok  pkg 0.2s"}
    mended(lab, ("Bash", failed), ("Bash", other))
    assert remedies(lab) == []
    mended(lab, ("Bash", failed), ("Bash", other), ("Bash", PASSED), name="s2")
    assert remedies(lab) == ["make the same call again"]


def test_other_options_of_a_command_are_told_by_the_options(lab: Lab) -> None:
    refused = {
        "command": "tool sync --all x",
        "response": "Error: unknown option --all",
        "ok": False,
    }
    mended(lab, ("Bash", refused), ("Bash", {"command": "tool sync x"}))
    assert remedies(lab) == ["run `tool sync` without `--all`"]


def seed(lab: Lab) -> None:
    """Record that an edit of the named file helped twice of three times."""
    edit = ("Edit", {"edited": "pkg/till_test.go"})
    for number in range(2):
        calls = (("Bash", red(number)), edit, ("Bash", PASSED))
        mended(lab, *calls, name=f"good{number}")
    mended(lab, ("Bash", red(7)), edit, ("Bash", red(8)), name="bad")
    calls = (("Bash", red(9)), ("Edit", {"edited": "x.go"}), ("Bash", PASSED))
    mended(lab, *calls, name="once")


def test_advice_says_after_which_error_what_helped_how_often(lab: Lab) -> None:
    seed(lab)
    lines = advice_in_words(lab.home.in_project(""))
    assert lines == [
        "After `go test`: a failed test",
        "  helped 2 of 3 times: edit the file that the error names",
    ]
    signals = ["command:go test", "class:a failed test", "tool:bash"]
    assert advice_in_words(lab.home.in_project(""), signals) == lines
    assert advice_in_words(lab.home.in_project(""), ["command:make"]) == []


def test_what_was_tried_once_is_told_where_nothing_else_is_known(lab: Lab) -> None:
    edit = ("Edit", {"edited": "pkg/till_test.go"})
    mended(lab, ("Bash", red(1)), edit, ("Bash", PASSED))
    home = lab.home.in_project("")
    assert advice_in_words(home) == []
    assert advice_in_words(home, ["command:go test", "class:a failed test"]) == [
        "After `go test`: a failed test",
        "  helped 1 of 1 times: edit the file that the error names",
    ]


def test_the_same_call_again_helps_only_after_what_passes_by_itself(lab: Lab) -> None:
    late = {
        "command": "make deploy",
        "response": "Exit code 1\nerror: timed out after 30s",
        "ok": False,
    }
    for name in ("s1", "s2"):
        mended(lab, ("Bash", red(1)), ("Bash", PASSED), name=name)
        deployed = ("Bash", {"command": "make deploy", "response": "done"})
        mended(lab, ("Bash", late), deployed, name=f"late-{name}")
    assert advice_in_words(lab.home.in_project("")) == [
        "After `make deploy`: a timeout",
        "  helped 2 of 2 times: make the same call again",
    ]


def test_what_an_error_asks_for_is_told_without_the_edits_around_it(lab: Lab) -> None:
    unformatted = {
        "command": "golangci-lint run",
        "response": "Exit code 1\npkg/till.go:1:1: File is not properly formatted (gofmt)",
        "ok": False,
    }
    edit = ("Edit", {"edited": "pkg/till.go"})
    formatted = ("Bash", {"command": "gofmt -w pkg/till.go"})
    clean = ("Bash", {"command": "golangci-lint run", "response": "0 issues."})
    mended(lab, ("Bash", unformatted), edit, formatted, clean)
    assert remedies(lab) == ["format the code (`gofmt -w <path>`)"]


@pytest.mark.parametrize(
    ("response", "program"),
    [
        ("--- FAIL: TestTill (0.1s)", "go test"),
        ("./till.go:3: undefined: shelf", "go build"),
        ("till.go:1:1: not formatted (gofmt)\n1 issues:", "golangci-lint run"),
    ],
)
def test_a_line_of_several_checks_failed_at_the_one_that_makes_such_errors(
    response: str, program: str
) -> None:
    line = "go build . && golangci-lint run && go test ./..."
    failed = {"command": line, "response": f"Exit code 1\n{response}", "ok": False}
    assert f"command:{program}" in signals_of(call(1, session="s", **failed))


def test_the_check_that_failed_closes_an_attempt_also_in_a_longer_line(
    lab: Lab,
) -> None:
    edit = ("Edit", {"edited": "pkg/shelf.go"})
    longer = {"command": "go build . && go test ./...", "response": "ok  pkg 0.2s"}
    mended(lab, ("Bash", red(1)), edit, ("Bash", longer))
    assert remedies(lab) == [EDIT_CODE]


def test_whatever_a_test_prints_it_is_a_failed_test() -> None:
    signals = ["command:go test", "errsig:till() = 3, want 4", "class:an error"]
    assert where_of(signals) == "after `go test`: a failed test"
    missing = ["command:go test", "errsig:command not found: go", "class:an error"]
    assert where_of(missing) == "after `go test`: command not found: go"


def test_an_error_of_which_nothing_is_known_is_no_place() -> None:
    assert where_of(["log_error", "tool:bash", "command:gh pr"]) == ""


def test_the_command_prints_words_and_no_hashes(run: Run, tmp_path: Any) -> None:
    with Lab(tmp_path / "home") as lab:
        seed(lab)
    for words in (["causal", "advice"], ["causal", "genes"]):
        printed = run(*words, "--all-projects").out
        assert "edit the file that the error names" in printed
        assert "gene_seen" not in printed


def test_a_place_of_a_context_quotes_no_tool() -> None:
    where = where_of(["command:tool", "errsig:obey me at once"])
    assert where == "after `tool`: obey me at once"
    assert place_without_quote(where) == "after `tool`: an error"


def test_advice_prefers_nothing_from_other_errors_where_the_words_say_more(
    run: Run, tmp_path: Any
) -> None:
    with Lab(tmp_path / "home") as lab:
        seed(lab)
    known = ("--signals", "errsig:--- FAIL: TestShelf", "--signals", "command:go test")
    printed = run("causal", "advice", *known, "--all-projects").out
    assert "edit the file that the error names" in printed
    assert "nothing is known" not in printed
    unknown = ("--signals", "errsig:the shelf is on fire")
    printed = run("causal", "advice", *unknown, "--all-projects").out
    assert "nothing is known of such errors" in printed
    assert "gene_" not in printed


def test_an_error_without_its_command_finds_its_kind(lab: Lab) -> None:
    unformatted = {
        "command": "golangci-lint run",
        "response": "Exit code 1\npkg/till.go:1:1: File is not properly formatted (gofmt)",
        "ok": False,
    }
    formatted = ("Bash", {"command": "gofmt -w pkg/till.go"})
    clean = ("Bash", {"command": "golangci-lint run", "response": "0 issues."})
    mended(lab, ("Bash", unformatted), formatted, clean)
    signals = ["errsig:a.go: File is not properly formatted (gofmt)"]
    assert advice_in_words(lab.home.in_project(""), signals) == [
        "After `golangci-lint run`: File is not properly formatted (gofmt)",
        "  helped 1 of 1 times: format the code (`gofmt -w <path>`)",
    ]


def test_what_is_recorded_is_shown_without_a_hash(run: Run) -> None:
    for name in ("snapshot", "hypothesis", "attempt"):
        printed = run("causal", name, "--signals", "errsig:no such file").out
        assert printed.endswith(": no such file\n")


# Errors with gaps, and what may fill a gap: values of one kind make one error.
_TEMPLATES = [
    "{} ERROR pool exhausted",
    "request {} failed",
    "timeout after {}",
    "cannot reach {}: refused",
    "worker gave up ({}) while it wrote",
    "error TS2304: no name 'x' = {}",
]
_HEXADECIMAL = st.text("0123456789abcdef", min_size=8, max_size=40).filter(
    lambda text: not text.isdigit() and not text.isalpha()
)
_TIMES = st.integers(10**9, 4 * 10**9).map(
    lambda second: datetime.fromtimestamp(second, UTC).replace(tzinfo=None)
)
_COUNTS = st.integers(2, 9_999)
_VOLATILE = {
    "uuid": st.uuids().map(str) | st.uuids().map(lambda drawn: str(drawn).upper()),
    "hash": _HEXADECIMAL | _HEXADECIMAL.map(str.upper),
    "time": st.one_of(
        _TIMES.map(lambda at: at.isoformat()),
        _TIMES.map(lambda at: at.isoformat(" ", "milliseconds")),
        _TIMES.map(lambda at: f"{at:%Y-%m-%dT%H:%M:%S}Z"),
        _TIMES.map(lambda at: f"{at:%Y-%m-%d %H:%M:%S},042 +0200"),
        _TIMES.map(lambda at: f"{at:%Y/%m/%d %H:%M:%S}"),
        _TIMES.map(lambda at: f"{at:%Y%m%dT%H%M%S}Z"),
        _TIMES.map(lambda at: f"{at:%d/%b/%Y:%H:%M:%S} +0000"),
        _TIMES.map(lambda at: f"{at:%a %b %d %H:%M:%S %Y}"),
    ),
    "duration": st.one_of(
        st.builds("{}{}".format, _COUNTS, st.sampled_from(["s", "ms", "µs", "h"])),
        st.builds("{}.{} {}".format, _COUNTS, _COUNTS, st.just("seconds")),
        st.builds("{}m{}s".format, _COUNTS, _COUNTS),
        st.builds("{} hours {} min".format, _COUNTS, _COUNTS),
    ),
    "size": st.one_of(
        st.builds("{}{}".format, _COUNTS, st.sampled_from(["MB", "KiB", "kb"])),
        st.builds("{}.{} {}".format, _COUNTS, _COUNTS, st.just("GiB")),
        st.builds("{} bytes".format, _COUNTS),
    ),
    "memory": st.integers(16, 2**64 - 1).map(hex),
    "machine": st.one_of(
        st.ip_addresses(v=4).map(str),
        st.builds("{}:{}".format, st.ip_addresses(v=4), st.integers(1, 65_535)),
        st.ip_addresses(v=6).filter(lambda ip: int(ip) > 2**64).map(str),
        st.builds("[{}]:{}".format, st.ip_addresses(v=6), st.integers(1, 65_535)),
    ),
    "count": _COUNTS.map(str),
    "path": st.from_regex(r"/tmp/[a-z]{1,8}-[0-9]{1,4}/[a-z]{1,5}", fullmatch=True),
}
_FORMS = [error_signature_of, normalize_error_signature]


@pytest.mark.parametrize("form", _FORMS)
@given(
    template=st.sampled_from(_TEMPLATES),
    kind=st.sampled_from(sorted(_VOLATILE)),
    data=st.data(),
)
@settings(max_examples=50, deadline=None)
def test_an_error_is_the_same_whatever_fills_its_gap(
    form: Callable[[str], str | None], template: str, kind: str, data: st.DataObject
) -> None:
    first = template.format(data.draw(_VOLATILE[kind]))
    second = template.format(data.draw(_VOLATILE[kind]))
    assert form(first) == form(second), (first, second)


# What tells errors apart: names, versions, codes in a name, and words.
_TELLING = [
    "TS2304",
    "TS2305",
    "E11000",
    "E0308",
    "ENOENT",
    "EACCES",
    "SQLSTATE42P01",
    "utf8",
    "utf16",
    "sha256",
    "sha512",
    "python3.11",
    "python3.12",
    "v1.2.3",
    "v1.2.4",
    "x86",
    "arm64",
    "int32",
    "int64",
    "TestTill2",
    "TestTill3",
    "feedback",
    "deadbeef",
    "cafe",
    "defaced",
    "effaced",
    "a minute",
    "the minutes",
    "March",
    "port",
    "s3",
    "ec2",
    "h2",
    "log4j2",
    "base64",
    "win32",
    "--timeout",
    "pool_a",
    "pool_b",
    "#12",
    "#13",
    "mp3",
]


@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("template", _TEMPLATES)
def test_errors_that_differ_in_a_name_stay_different(
    form: Callable[[str], str | None], template: str
) -> None:
    if form is normalize_error_signature:
        # The published rules take every whole number for one that changes.
        words = [word for word in _TELLING if not re.search(r"\b\d+\b", word)]
    else:
        words = _TELLING
    signatures = {form(template.format(word)) for word in words}
    assert len(signatures) == len(words)


@given(
    st.sampled_from(_TEMPLATES),
    st.sampled_from(_TEMPLATES),
    st.sampled_from(sorted(_VOLATILE)),
    st.data(),
)
@settings(max_examples=60, deadline=None)
def test_errors_of_different_words_stay_different(
    first: str, second: str, kind: str, data: st.DataObject
) -> None:
    value = data.draw(_VOLATILE[kind])
    for form in _FORMS:
        is_same = form(first.format(value)) == form(second.format(value))
        assert is_same == (first == second)


@pytest.mark.parametrize(
    "unit", ["1" * 200_000, "1:" * 100_000, "a1" * 100_000, "1h" * 50_000]
)
def test_a_long_error_takes_no_long_time(unit: str) -> None:
    started = time.process_time()
    for form in _FORMS:
        form(unit[:200_000])
    assert time.process_time() - started < 2
